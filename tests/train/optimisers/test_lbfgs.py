"""L-BFGS against dense BFGS, SciPy, and the conditions its steps must meet."""

import io
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from losses import (
    Barrier,
    Quadratic,
    Rosenbrock,
    gradient,
    network,
    rosenbrock,
    singly,
    solve,
    value,
)

from safenet.train.optimisers.lbfgs import LBFGS, quasi_newton
from safenet.train.optimisers.status import Status

jax.config.update("jax_enable_x64", True)

CALLS = []


class Counted(Rosenbrock):
    """Says each time the device evaluates it."""

    def loss(self, theta):
        jax.debug.callback(lambda _: CALLS.append(1), theta[0])
        return super().loss(theta)


@pytest.mark.parametrize("iterations", [1, 3, 6, 14])
def test_direction_is_that_of_dense_bfgs_from_the_last_pairs(iterations):
    objective, theta = rosenbrock(8)
    states = singly(LBFGS(iterations, history=6), objective, theta)
    pairs = [
        (np.asarray(b.theta - a.theta), np.asarray(b.gradient - a.gradient)) for a, b in pairwise(states)
    ][-6:]
    s, y = pairs[-1]
    H = np.eye(8) * (s @ y) / (y @ y)
    for s, y in pairs:
        V = np.eye(8) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)
    np.testing.assert_allclose(quasi_newton(states[-1]), -H @ states[-1].gradient, rtol=1e-8)


@pytest.mark.parametrize(
    "make", [lambda: rosenbrock(20), network, lambda: (Barrier(jnp.ones(3)), jnp.zeros(3))]
)
def test_every_accepted_step_satisfies_the_strong_wolfe_conditions(make):
    objective, theta = make()
    states = singly(LBFGS(80, tolerance=1e-7), objective, theta)
    assert len(states) > 5
    for a, b in pairwise(states):
        # With s = α d the conditions for φ are those for α φ: the step length drops out.
        s = np.asarray(b.theta - a.theta)
        before, after = gradient(objective, a.theta) @ s, gradient(objective, b.theta) @ s
        assert before < 0
        assert value(objective, b.theta) <= value(objective, a.theta) + 1e-4 * before + 1e-15
        assert abs(after) <= 0.9 * abs(before) * (1 + 1e-6)


def test_ill_conditioned_quadratic_takes_no_more_work_than_scipy():
    objective, theta = Quadratic(jnp.logspace(0, 6, 40)), jnp.ones(40)
    state = solve(LBFGS(2000, history=50, tolerance=1e-9), objective, theta)
    assert float(state.gradient_norm) < 1e-4  # from 1e6
    assert float(state.total) < 1e-9

    a = np.asarray(objective.data)
    scipys = scipy.optimize.minimize(
        lambda t: (a @ t**2 / 2, a * t),
        np.ones(40),
        jac=True,
        method="L-BFGS-B",
        options={"maxcor": 50, "ftol": 0, "gtol": float(state.gradient_norm), "maxiter": 2000},
    )
    assert int(state.iteration) < 1.3 * scipys.nit
    assert int(state.evaluations) < 1.3 * scipys.nfev


@pytest.mark.parametrize("p", [2, 100])
def test_rosenbrock_valley_is_followed_to_its_end(p):
    objective, theta = rosenbrock(p)
    state = solve(LBFGS(2000, tolerance=1e-12), objective, theta)
    # In 100 dimensions a second minimum exists near theta_0 = −1; this start does not lead there.
    np.testing.assert_allclose(state.theta, 1, atol=1e-8)
    assert Status(int(state.status)) in (Status.GRADIENT, Status.DECREASE)
    scipys = scipy.optimize.minimize(
        scipy.optimize.rosen,
        np.asarray(theta),
        jac=scipy.optimize.rosen_der,
        method="L-BFGS-B",
        options={"maxcor": 50, "ftol": 0, "gtol": 1e-9, "maxiter": 2000, "maxfun": 5000},
    )
    assert int(state.iteration) < 1.4 * scipys.nit + 10
    assert int(state.evaluations) < 1.4 * scipys.nfev + 10


def test_network_needs_little_more_than_one_evaluation_per_iteration():
    for seed in range(3):
        objective, theta = network(seed)
        state = solve(LBFGS(500), objective, theta)
        assert int(state.iteration) == 500
        assert int(state.evaluations) < 1.25 * 500
        assert float(state.total) < 1e-4 * float(objective(theta)[0])


def test_evaluations_are_counted_exactly():
    objective, theta = Counted(jnp.zeros(0)), rosenbrock(10)[1]
    CALLS.clear()
    phase = LBFGS(60)
    state = phase.start(objective, theta)
    for count in (7, 20, 33):
        state, trace = phase.advance(objective, state, count)
        jax.block_until_ready(state.theta)
        jax.effects_barrier()
        assert len(CALLS) == int(state.evaluations)
        assert int(trace.length) == count
    assert int(state.evaluations) > 60


def test_first_step_is_cautious():
    objective, theta = Quadratic(1e-3 * jnp.ones(2)), jnp.asarray([1e6, 0.0])
    state, _ = LBFGS(1).advance(objective, LBFGS(1).start(objective, theta), 1)
    first = theta - state.theta
    # |g|₁ = 1000: the first trial moves theta by 1, is far too short, and tenfold steps follow.
    assert 1 < float(first[0]) <= 2e6
    assert int(state.evaluations) <= 8
    unit = Quadratic(jnp.ones(2))
    state, _ = LBFGS(1).advance(unit, LBFGS(1).start(unit, jnp.asarray([0.5, 0.0])), 1)
    assert float(state.theta[0]) == 0.0  # 1/|g|₁ = 2 > 1, so the step is 1, which is Newton's


def test_chunks_of_any_size_give_the_same_bits():
    objective, theta = network()
    phase = LBFGS(150, history=20)
    whole, rows = phase.advance(objective, phase.start(objective, theta), 150)
    state, pieces = phase.start(objective, theta), []
    for count in (1, 49, 0, 7, 200):
        state, trace = phase.advance(objective, state, count)
        pieces.append(trace.terms[: int(trace.length)])
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(state), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(np.concatenate(pieces), rows.terms[:150])
    assert Status(int(state.status)) is Status.FINISHED
    assert np.array_equal(rows.terms[:150, 2], 2 * rows.terms[:150, 0])
    assert (np.diff(rows.terms[:150, 0]) < 0).all()


def test_saved_leaves_continue_the_run_exactly():
    objective, theta = network(1)
    phase = LBFGS(150, history=20)
    state, _ = phase.advance(objective, phase.start(objective, theta), 40)
    leaves, treedef = jax.tree.flatten(state)
    file = io.BytesIO()
    np.savez(file, *leaves)
    file.seek(0)
    saved = np.load(file)
    loaded = jax.tree.unflatten(treedef, [jnp.asarray(saved[f"arr_{i}"]) for i in range(len(leaves))])
    for a, b in zip(
        *(jax.tree.leaves(phase.advance(objective, x, 110)) for x in (state, loaded)), strict=True
    ):
        assert np.array_equal(a, b, equal_nan=True)


def test_batch_of_thetas_runs_as_each_alone():
    objective, phase = Rosenbrock(jnp.zeros(0)), LBFGS(50, history=8)
    thetas = jnp.asarray(np.random.default_rng(3).normal(size=(5, 6)))

    def run(theta):
        return phase.advance(objective, phase.start(objective, theta), 50)

    batch, traces = jax.vmap(run)(thetas)
    assert len(set(np.asarray(batch.evaluations))) > 1  # the searches were of different lengths
    for i, theta in enumerate(thetas):
        state, trace = run(theta)
        np.testing.assert_allclose(batch.theta[i], state.theta, rtol=0, atol=1e-9)
        np.testing.assert_allclose(batch.total[i], state.total, rtol=0, atol=1e-9)
        assert int(batch.evaluations[i]) == int(state.evaluations)
        assert int(traces.length[i]) == int(trace.length)
        assert int(batch.status[i]) == int(state.status)


def test_in_a_batch_none_waits_for_the_searches_of_another():
    objective, phase = Counted(jnp.zeros(0)), LBFGS(50, history=8)
    thetas = jnp.asarray(np.random.default_rng(3).normal(size=(5, 6)))
    begun = jax.vmap(lambda theta: phase.start(objective, theta))(thetas)
    jax.effects_barrier()
    CALLS.clear()
    after, _ = jax.vmap(lambda state: phase.advance(objective, state, 50))(begun)
    jax.effects_barrier()
    evaluations = np.asarray(after.evaluations - begun.evaluations)
    assert len(CALLS) == 5 * evaluations.max()
