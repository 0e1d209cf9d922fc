"""Levenberg–Marquardt against dense least squares, SciPy, and its own promise on the reduction ratio."""

import dataclasses
import json
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from safenet import SafeNetError
from safenet.train.optimisers.levenberg import SCALE_FLOOR, LevenbergMarquardt
from safenet.train.optimisers.status import Status

jax.config.update("jax_enable_x64", True)

CALLS = {"loss": 0, "normal equations": 0}


def count(what):
    CALLS[what] += 1


class Toy(eqx.Module):
    """total = ½ ‖rows‖², J by brute force."""

    data: jax.Array

    def rows(self, theta):
        raise NotImplementedError

    def __call__(self, theta):
        total = jnp.sum(self.rows(theta) ** 2) / 2
        return total, total[None]

    def normal_equations(self, theta):
        J, rows = jax.jacfwd(self.rows)(theta), self.rows(theta)
        return J.T @ J, J.T @ rows, jnp.sum(rows**2) / 2


class Linear(Toy):
    def rows(self, theta):
        return self.data @ theta - 1


class Rosenbrock(Toy):
    def rows(self, theta):
        return jnp.stack([10 * (theta[1] - theta[0] ** 2), 1 - theta[0]])


class Counted(Rosenbrock):
    def __call__(self, theta):
        jax.debug.callback(lambda _: count("loss"), theta[0])
        return super().__call__(theta)

    def normal_equations(self, theta):
        jax.debug.callback(lambda _: count("normal equations"), theta[0])
        return super().normal_equations(theta)


class Exponentials(Toy):
    """a e^(−bx) + c e^(−dx) fitted to data that no such sum meets."""

    def rows(self, theta):
        a, b, c, d = theta
        x = jnp.linspace(0, 4, 50)
        return a * jnp.exp(-b * x) + c * jnp.exp(-d * x) - self.data


class Network(Toy):
    """A tanh network fitted to data, with a Jacobian that is far from full rank."""

    scale: jax.Array

    def rows(self, theta):
        w, b, a = jnp.split(theta * self.scale, 3)
        x = jnp.linspace(-1, 1, 40)
        return (jnp.tanh(x[:, None] * w + b) @ a - self.data) / jnp.sqrt(40.0)


class Liar(Rosenbrock):
    """Normal equations with the gradient's sign wrong: every step goes up."""

    def normal_equations(self, theta):
        gram, gradient, total = super().normal_equations(theta)
        return gram, -gradient, total


class Indefinite(Toy):
    """A Gram matrix [[1, 2], [2, 1]] has no Cholesky factor until the damping exceeds 1."""

    def rows(self, theta):
        return theta

    def normal_equations(self, theta):
        return jnp.asarray([[1.0, 2.0], [2.0, 1.0]]), theta, theta @ theta / 2


class Only(Toy):
    """Finite at one theta, NaN everywhere else."""

    def rows(self, theta):
        return theta + jnp.where(jnp.all(theta == self.data), 0, jnp.nan)


class NanJacobian(Toy):
    """√theta: a loss of 0.25 at 1/2, but an infinite derivative at 0."""

    def rows(self, theta):
        return jnp.sqrt(theta) + 1


def exponentials():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 4, 50)
    y = 2 * np.exp(-0.5 * x) + np.exp(-3 * x) + 0.05 * rng.normal(size=50)
    return Exponentials(jnp.asarray(y)), jnp.asarray([1.0, 1.0, 0.5, 2.0])


def network(scale=1.0):
    theta = np.random.default_rng(1).normal(size=30) * np.repeat([3, 1, 0.3], 10)
    return Network(jnp.sin(5 * jnp.linspace(-1, 1, 40)), jnp.asarray(scale)), jnp.asarray(theta) / scale


@eqx.filter_jit
def _linearised(objective, theta):
    return jax.jacfwd(objective.rows)(theta), objective.rows(theta)


def linearised(objective, theta):
    return [np.asarray(x) for x in _linearised(objective, theta)]


def solve(phase, objective, theta):
    state = phase.start(objective, theta)
    while int(state.status) == Status.RUNNING:
        state, _ = phase.advance(objective, state, 200)
    return state


def singly(phase, objective, theta):
    states = [phase.start(objective, theta)]
    while int(states[-1].status) == Status.RUNNING:
        states.append(phase.advance(objective, states[-1], 1)[0])
    return states


def test_one_undamped_step_solves_a_linear_problem():
    A = np.random.default_rng(0).normal(size=(30, 12)) * np.logspace(-3, 3, 12)
    phase = LevenbergMarquardt(1, damping=0.0)
    state = solve(phase, Linear(jnp.asarray(A)), jnp.ones(12))
    exact = np.linalg.lstsq(A, np.ones(30))[0]
    # Cholesky's accuracy does not depend on the columns' sizes, here from 1e-3 to 1e3.
    np.testing.assert_allclose(state.theta, exact, rtol=1e-8)
    assert int(state.evaluations) == 3
    assert Status(int(state.status)) is Status.FINISHED


@pytest.mark.parametrize("damping", [1e-4, 1e-2, 1.0, 100.0])
def test_damped_step_minimises_the_augmented_least_squares(damping):
    objective, theta = network()
    phase = LevenbergMarquardt(1, damping=damping)
    vars(phase)["ratio"] = -1e9  # any step is accepted: a value that is refused to users
    state, _ = phase.advance(objective, phase.start(objective, theta), 1)
    J, r = linearised(objective, theta)
    D = np.sum(J**2, 0)
    D = np.maximum(D, SCALE_FLOOR * D.max())
    augmented = np.vstack([J, np.diag(np.sqrt(damping * D))])
    delta = np.linalg.lstsq(augmented, np.concatenate([-r, np.zeros(30)]))[0]
    np.testing.assert_allclose(state.theta - theta, delta, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(
    "make", [network, exponentials, lambda: (Rosenbrock(jnp.zeros(0)), jnp.asarray([-1.2, 1.0]))]
)
def test_every_accepted_step_keeps_its_reduction_ratio(make):
    objective, theta = make()
    states = singly(LevenbergMarquardt(60, ratio=0.25, tolerance=1e-6), objective, theta)
    moves = [(a, b) for a, b in pairwise(states) if int(b.iteration) > int(a.iteration)]
    assert len(moves) > 5
    for a, b in moves:
        J, r = linearised(objective, a.theta)
        delta = np.asarray(b.theta - a.theta)
        promised = (r @ r - np.sum((r + J @ delta) ** 2)) / 2
        fell = float(a.total - b.total)
        # The damped prediction never exceeds the reduction of the linearised rows.
        assert fell >= 0.25 * promised * (1 - 1e-6) - 1e-14
        np.testing.assert_allclose(b.total, objective(b.theta)[0], rtol=1e-9)


def test_linear_rows_have_ratio_one_and_lower_the_damping_fastest():
    A = jnp.asarray(np.random.default_rng(0).normal(size=(10, 3)))
    phase = LevenbergMarquardt(5, damping=1e-1, patience=0)
    states = singly(phase, Linear(A), jnp.ones(3))
    np.testing.assert_allclose([float(s.damping) for s in states[:4]], 0.1 * 0.25 ** np.arange(4), rtol=1e-5)


def test_damping_settles_at_the_edge_of_acceptable_steps():
    objective, theta = network()
    phase = LevenbergMarquardt(60, patience=0)
    states = singly(phase, objective, theta)
    at_edge = 0
    for a, b in pairwise(states[20:]):
        J, r = linearised(objective, a.theta)
        D = np.sum(J**2, 0)
        D = np.maximum(D, SCALE_FLOOR * D.max())
        # A thirtieth of the damping that was left behind: is its step still acceptable?
        mu = float(b.damping) / 30
        delta = np.linalg.solve(J.T @ J + mu * np.diag(D), -J.T @ r)
        promised = delta @ (mu * D * delta - J.T @ r) / 2
        at_edge += float(a.total - objective(a.theta + delta)[0]) < 0.1 * promised
    assert at_edge > 20  # of 40


def test_rosenbrock_is_solved_to_rounding():
    state = solve(LevenbergMarquardt(100), Rosenbrock(jnp.zeros(0)), jnp.asarray([-1.2, 1.0]))
    np.testing.assert_allclose(state.theta, 1, rtol=1e-10)
    assert int(state.iteration) < 40


def test_exponential_fit_ends_where_scipys_does():
    objective, theta = exponentials()
    state = solve(LevenbergMarquardt(200, decrease=1e-12), objective, theta)
    jacobian = jax.jit(jax.jacfwd(objective.rows))
    scipys = scipy.optimize.least_squares(
        lambda t: np.asarray(objective.rows(jnp.asarray(t))),
        np.asarray(theta),
        jac=lambda t: np.asarray(jacobian(jnp.asarray(t))),
        method="lm",
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
    )
    np.testing.assert_allclose(state.total, scipys.cost, rtol=1e-10)
    order = (slice(None), [2, 3, 0, 1])[int((state.theta[1] > state.theta[3]) != (scipys.x[1] > scipys.x[3]))]
    np.testing.assert_allclose(np.asarray(state.theta)[order], scipys.x, rtol=1e-4)


def test_rank_deficient_network_is_fitted():
    objective, theta = network()
    state = solve(LevenbergMarquardt(300), objective, theta)
    assert float(state.total) < 1e-7 * float(objective(theta)[0])


def test_units_of_the_parameters_do_not_matter():
    traces = []
    for scale in (1.0, 1e4):
        objective, theta = network(scale)
        phase = LevenbergMarquardt(15)
        traces.append(phase.advance(objective, phase.start(objective, theta), 15)[1].terms[:15, 0])
    np.testing.assert_allclose(*traces, rtol=1e-6)


def test_rejected_trials_cost_a_loss_but_no_jacobian():
    objective, theta = Counted(jnp.zeros(0)), jnp.asarray([-1.2, 1.0])
    CALLS.update({"loss": 0, "normal equations": 0})
    phase = LevenbergMarquardt(10, damping=1e-8)
    state, _ = phase.advance(objective, phase.start(objective, theta), 10)
    jax.block_until_ready(state.theta)
    jax.effects_barrier()
    assert int(state.iteration) == CALLS["normal equations"] == 10
    assert CALLS["loss"] > 11  # the start, ten accepted trials, and the rejected ones
    assert int(state.evaluations) == CALLS["loss"] + CALLS["normal equations"]


def test_missing_cholesky_factor_is_a_rejected_trial():
    objective, theta = Indefinite(jnp.zeros(0)), jnp.asarray([1.0, 1.0])
    phase = LevenbergMarquardt(1, damping=0.3)
    state, _ = phase.advance(objective, phase.start(objective, theta), 1)
    # 0.3 and 0.6 have no factor and cost nothing; 2.4 has one: (1 + 2.4 + 2) δ = −1.
    np.testing.assert_allclose(state.theta, 1 - 1 / 5.4, rtol=1e-12)
    assert int(state.evaluations) == 1 + 1 + 1


def test_chunks_of_any_size_give_the_same_bits():
    objective, theta = network()
    phase = LevenbergMarquardt(40)
    whole, rows = phase.advance(objective, phase.start(objective, theta), 40)
    state, pieces = phase.start(objective, theta), []
    for chunk in (1, 9, 0, 17, 100):
        state, trace = phase.advance(objective, state, chunk)
        pieces.append(trace.terms[: int(trace.length)])
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(state), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(np.concatenate(pieces), rows.terms[: int(rows.length)])


def test_no_step_is_reported_and_theta_kept():
    theta = jnp.asarray([-1.2, 1.0])
    state = solve(LevenbergMarquardt(10, trials=7), Liar(jnp.zeros(0)), theta)
    assert Status(int(state.status)) is Status.NO_STEP
    assert np.array_equal(state.theta, theta)
    assert int(state.iteration) == 0
    assert int(state.evaluations) == 1 + 1 + 7


@pytest.mark.parametrize("kind", [Only, NanJacobian])
def test_non_finite_numbers_stop_the_run_and_keep_the_best(kind):
    theta = jnp.asarray([1.0, 0.0])
    state = solve(LevenbergMarquardt(10), kind(theta), theta)
    assert Status(int(state.status)) is Status.NON_FINITE
    assert np.array_equal(state.theta, theta)
    assert np.array_equal(state.best_theta, theta)
    assert int(state.iteration) == 0


def test_stationary_point_is_recognised_without_a_trial():
    phase = LevenbergMarquardt(10, tolerance=1e-9)
    state = solve(phase, Rosenbrock(jnp.zeros(0)), jnp.ones(2))
    assert Status(int(state.status)) is Status.GRADIENT
    assert int(state.evaluations) == 2
    assert int(state.iteration) == 0


@pytest.mark.parametrize("damping", [1e-2, 1e4])  # the large one makes the very first steps short
def test_slow_decrease_over_the_patience_stops(damping):
    objective, theta = exponentials()
    phase = LevenbergMarquardt(200, damping=damping, decrease=1e-2, patience=4)
    start = phase.start(objective, theta)
    state, trace = phase.advance(objective, start, 200)
    totals = np.concatenate([start.total[None], trace.terms[: int(trace.length), 0]])
    over_patience = 1 - totals[4:] / totals[:-4]
    assert Status(int(state.status)) is Status.DECREASE
    assert over_patience[-1] < 1e-2
    assert (over_patience[:-1] >= 1e-2).all()


def test_single_precision_is_refused_with_a_remedy():
    with pytest.raises(SafeNetError, match="LBFGS"):
        LevenbergMarquardt(10).start(Rosenbrock(jnp.zeros(0)), jnp.ones(2, jnp.float32))


def test_strict_promotion_is_respected():
    with jax.numpy_dtype_promotion("strict"):
        objective, theta = Rosenbrock(jnp.zeros(0)), jnp.asarray([-1.2, 1.0])
        phase = LevenbergMarquardt(10)
        state, trace = phase.advance(objective, phase.start(objective, theta), 10)
    assert {leaf.dtype.name for leaf in jax.tree.leaves((state, trace))} == {"float64", "int32"}


def test_phase_survives_json():
    phase = LevenbergMarquardt(100, damping=1e-3, ratio=0.2, patience=5)
    assert LevenbergMarquardt(**json.loads(json.dumps(dataclasses.asdict(phase)))) == phase
