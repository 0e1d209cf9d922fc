"""A second network on what the first has left: what it starts from, what it gains, and that it resumes to the bit."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from carrying import train

import safenet as sn
from running import Interrupter
from safenet.measure.heldout import held_out
from safenet.measure.points import sample
from safenet.networks import build, method
from safenet.networks.staged import Staged
from safenet.run.progress import Monitor
from safenet.train import run as training
from safenet.train.objective import physics_loss
from safenet.train.optimisers.levenberg import LevenbergMarquardt
from safenet.train.plan import Plan
from safenet.train.run import Run
from safenet.train.solver import Train
from safenet.train.staging import Stage, dominant_frequencies, error_sizes

POISSON = sn.loads("""
name = "poisson"
unknowns = ["u"]
equations = ["u_xx + u_yy = 0"]
conditions = ["u(0, y) = 0", "u(2, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]
domain = { x = [0, 2], y = [0, 1] }
""")
STEADY = sn.loads("""
name = "steady"
unknowns = ["u"]
equations = ["u_xx = sin(pi*x) + u"]
conditions = ["u(-1) = 0", "u(1) = 0"]
domain = { x = [-1, 1] }
""")
LOGISTIC = sn.loads("""
name = "logistic"
unknowns = ["u"]
equations = ["u_t = u*(1 - u)"]
conditions = ["u(0) = 1/10"]
exact = { u = "1/(1 + 9*exp(-t))" }
domain = { t = [0, 6] }
""")
SMALL = {"features": 8, "width": 4, "points": 60, "condition_points": 10}


def plan(problem, *phases, **options):
    return replace(Train("safe-net", "levenberg-marquardt", **SMALL | options).plan(problem), phases=phases)


def assert_same(found, expected):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)


def wave_of(*indices):
    """sin with so many half waves along each axis, as a field."""
    omega = jnp.asarray(indices, float) * jnp.pi / jnp.asarray([axis.length for axis in POISSON.axes])
    return lambda point: 1e-3 * jnp.prod(jnp.sin(omega * point))[None]


@pytest.mark.parametrize("indices", [(1, 1), (6, 2), (11, 17)])
def test_the_dominant_frequency_of_a_known_residual_is_found(indices):
    found = dominant_frequencies(POISSON, wave_of(*indices)) / np.pi * np.array([2, 1])
    # Half waves: a sine of k is, in cosines, strongest at k − 1 or k + 1.
    np.testing.assert_allclose(found, indices, atol=1.001)


def test_the_size_of_the_error_is_read_off_its_residual():
    """An error of size 1e-3 at a high frequency, of which the operator makes 1e-3 κ²."""
    field = wave_of(11, 17)
    network = build(POISSON, method("safe-net", features=8, width=4), key=jax.random.key(0))
    loss, _ = physics_loss(POISSON, network, sample(POISSON, 500, 20, "sobol", 0))
    (size,) = error_sizes(POISSON, loss, field, dominant_frequencies(POISSON, field))
    assert 0.3e-3 < size < 1.5e-3


def test_data_leave_the_size_of_the_second_network_as_it_is():
    t = np.linspace(0, 6, 7)
    told = LOGISTIC.with_data(sn.Data(t=t, u=1 / (1 + 9 * np.exp(-t)), sigma=0.1))
    network = build(LOGISTIC, method("safe-net", features=8, width=4), key=jax.random.key(0))
    sizes = []
    for problem in (LOGISTIC, told):
        loss, theta = physics_loss(problem, network, sample(problem, 50, 1, "sobol", 0))
        sizes.append(error_sizes(problem, loss, loss.field(theta), np.ones(1)))
    assert sizes[0] == sizes[1] > 0


@pytest.mark.slow
def test_the_second_network_begins_at_the_first_and_only_it_is_moved():
    both = plan(STEADY, LevenbergMarquardt(3), Stage(3, features=8, width=4))
    run = Run(STEADY, both, Monitor(), None)
    run.optimise(both.phases[0])
    run.index, run.state, first = 1, None, run.best
    run._stage(both.phases[1].network)
    loss, theta = run.loss_and_theta()
    points = jnp.linspace(-1, 1, 9)[:, None]
    np.testing.assert_array_equal(jax.vmap(loss.field(theta))(points), jax.vmap(first)(points))
    run.optimise(both.phases[1])
    assert isinstance(run.best, Staged)
    assert np.any(jax.vmap(run.best)(points) != jax.vmap(first)(points))
    assert_same(run.best.first.array, first)
    assert run.best.parameters == first.parameters + run.best.second.parameters


@pytest.mark.slow
@pytest.mark.parametrize("problem", [STEADY, LOGISTIC], ids=["steady", "logistic"])
def test_two_stages_end_far_below_one_of_as_many_steps(problem):
    """Linear and nonlinear; the first network alone gets twice the steps (measured: 200 and 250 times)."""
    steps, options = 40, {"points": 200}
    longer = train(problem, plan(problem, LevenbergMarquardt(2 * steps, patience=0), **options))
    second = Stage(steps, features=32, width=8, patience=0)
    staged = train(problem, plan(problem, LevenbergMarquardt(steps, patience=0), second, **options))
    assert staged.residual < 0.1 * longer.residual


@pytest.mark.slow
def test_a_third_stage_stands_on_the_second_and_is_saved(tmp_path):
    stages = (LevenbergMarquardt(3), Stage(3, features=8, width=4), Stage(3, features=8, width=4))
    trained = train(STEADY, plan(STEADY, *stages))
    assert isinstance(trained.field.first.array, Staged)
    solution = sn.Solution(STEADY, trained.field, plan(STEADY, *stages), trained.history)
    again = sn.load(solution.save(tmp_path / "run"))
    np.testing.assert_array_equal(again(x=[-0.4, 0.9]), solution(x=[-0.4, 0.9]))
    assert Plan.from_json(solution.plan.to_json()) == solution.plan


def test_on_hard_conditions_the_second_network_is_hard_too_and_brings_no_data_of_its_own():
    problem, chosen = sn.library.problem("wave"), method("safe-net", hard=True, features=8, width=4)
    points = sample(problem, 50, 5, "sobol", 0)
    loss, theta = physics_loss(problem, build(problem, chosen, key=jax.random.key(0)), points)
    network = Stage(1, features=8, width=4).network(problem, loss, theta, chosen, jax.random.key(1))
    loss, theta = physics_loss(problem, network, points)
    assert max(held_out(problem, loss.field(theta + 0.1), 64).conditions) < 1e-12


@pytest.mark.slow
def test_an_interruption_at_any_moment_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHUNK_SECONDS", 0.0)  # a look after every step
    stages = plan(STEADY, LevenbergMarquardt(3), Stage(3, features=8, width=4))
    watch = Interrupter(0)
    whole = train(STEADY, stages, watch)
    assert watch.calls >= 14
    for n in range(1, watch.calls + 1):
        folder = tmp_path / str(n)
        folder.mkdir()
        assert train(STEADY, stages, Interrupter(n), folder).interrupted
        resumed = train(STEADY, stages, None, folder, resume=True)
        assert_same(resumed.field, whole.field)
        np.testing.assert_array_equal(resumed.history, whole.history)
