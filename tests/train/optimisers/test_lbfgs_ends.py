"""How L-BFGS ends: lost memory, no step, infinity, tolerances, single precision."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from losses import (
    Barrier,
    Liar,
    Network,
    Only,
    Quadratic,
    Rosenbrock,
    Toy,
    gradient,
    network,
    rosenbrock,
    solve,
)

from safenet.train.optimisers.lbfgs import LBFGS
from safenet.train.optimisers.status import PATIENCE, Status


def test_lost_memory_is_replaced_by_steepest_descent():
    objective, theta = rosenbrock(10)
    phase = LBFGS(400)
    state, _ = phase.advance(objective, phase.start(objective, theta), 30)
    # Pairs from which every step vanishes, and pairs from which the direction points uphill.
    for gamma, S in ((1e-40, 0 * state.S), (-1.0, 0 * state.S)):
        broken = dataclasses.replace(state, gamma=jnp.asarray(gamma), S=S)
        after, trace = phase.advance(objective, broken, 1)
        s = after.theta - state.theta
        cosine = -s @ state.gradient / jnp.linalg.norm(s) / jnp.linalg.norm(state.gradient)
        np.testing.assert_allclose(cosine, 1, rtol=1e-10)
        assert int(trace.length) == 1
        assert int(after.stored) == 1
        end, _ = phase.advance(objective, after, 400)
        np.testing.assert_allclose(end.theta, 1, atol=1e-4)


def test_no_step_is_reported_and_theta_kept():
    objective, theta = Liar(jnp.zeros(0)), jnp.asarray([1.0, 2.0])
    state = solve(LBFGS(10), objective, theta)
    assert Status(int(state.status)) is Status.NO_STEP
    assert np.array_equal(state.theta, theta)
    assert int(state.iteration) == 0
    assert int(state.evaluations) <= 26


def test_non_finite_surroundings_stop_the_run_and_keep_the_best():
    theta = jnp.asarray([1.0, 2.0])
    state = solve(LBFGS(10), Only(theta), theta)
    assert Status(int(state.status)) is Status.NON_FINITE
    assert np.array_equal(state.theta, theta)
    assert np.array_equal(state.best_theta, theta)
    assert float(state.best_total) == 3
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state))
    nowhere = LBFGS(10).start(Only(theta), theta + 1)
    assert Status(int(nowhere.status)) is Status.NON_FINITE


def test_overshoot_into_infinity_is_only_an_overshoot():
    objective, theta = Barrier(jnp.asarray([1e-3, 1.0, 1.0])), jnp.asarray([0.0, 0.9999, 0.0])
    state = solve(LBFGS(200), objective, theta)
    a = np.asarray(objective.data)
    # theta − 3 + a / (1 − theta) = 0
    np.testing.assert_allclose(state.theta, 2 - np.sqrt(1 + a), atol=1e-5)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-10])
def test_gradient_tolerance_is_met(tolerance):
    objective, theta = Quadratic(jnp.asarray([1.0, 3.0])), jnp.asarray([1.0, -2.0])
    state = solve(LBFGS(500, tolerance=tolerance), objective, theta)
    assert Status(int(state.status)) is Status.GRADIENT
    assert jnp.abs(gradient(objective, state.theta)).max() <= tolerance


def test_slow_decrease_stops_at_the_first_step_below_the_tolerance():
    objective, theta = network()
    phase = LBFGS(500, tolerance=1e-3)
    state, trace = phase.advance(objective, phase.start(objective, theta), 500)
    totals = np.asarray(trace.terms[: int(trace.length), 0])
    relative = -np.diff(totals) / totals[:-1]
    assert Status(int(state.status)) is Status.DECREASE
    assert relative[-1] < 1e-3
    assert (relative[:-1] >= 1e-3).all()


def test_single_precision_is_respected_under_strict_promotion():
    with jax.numpy_dtype_promotion("strict"):
        objective = Rosenbrock(jnp.zeros(0))
        theta = jnp.asarray([-1.2, 1.0, 0.3], jnp.float32)
        phase = LBFGS(200)
        state, trace = phase.advance(objective, phase.start(objective, theta), 200)
    assert {leaf.dtype.name for leaf in jax.tree.leaves((state, trace))} == {"float32", "float64", "int32"}
    # In float64 is only what the recursion cancels in.
    assert [name for name, leaf in vars(state).items() if leaf.dtype == jnp.float64] == ["SY", "gamma"]
    np.testing.assert_allclose(state.theta, 1, atol=2e-3)


class Stairs(Toy):
    """½ Σ a (theta − 1)² + 1, its value in steps of 1e-5 or 1e-9, its gradient smooth: at the end of its digits."""

    def loss(self, theta):
        smooth = jnp.sum(self.data * (theta - 1) ** 2) / 2 + 1
        step = 1e-5 if theta.dtype == jnp.float32 else 1e-9
        return smooth + lax.stop_gradient(jnp.round(smooth / step) * step - smooth)


def stairs(dtype):
    return Stairs(jnp.logspace(-3, 3, 20, dtype=dtype)), jnp.zeros(20, dtype)


def test_a_loss_that_is_rounded_does_not_hide_its_minimum():
    objective, theta = stairs(jnp.float32)
    phase = LBFGS(500)
    state, trace = phase.advance(objective, phase.start(objective, theta), 500)
    # By the values, theta is known to √(2e-5/1e-3) = 0.14; the slopes lead to it, over steps that no value confirms.
    np.testing.assert_allclose(state.theta, 1, atol=1e-4)
    assert Status(int(state.status)) is Status.GRADIENT
    totals = np.asarray(trace.terms[: int(trace.length), 0])
    assert np.sum(np.diff(totals) == 0) > 20
    assert (totals[1:] <= np.minimum.accumulate(totals)[:-1] * (1 + np.sqrt(np.finfo(np.float32).eps))).all()


@pytest.mark.parametrize(("dtype", "patience"), [(jnp.float32, PATIENCE), (jnp.float64, 1)])
def test_a_step_without_decrease_is_a_stall_where_one_step_can_tell(dtype, patience):
    objective, theta = stairs(dtype)
    phase = LBFGS(500)
    states = [phase.start(objective, theta)]
    while len(states) < 2 or float(states[-1].total) < float(states[-2].total):
        states.append(phase.advance(objective, states[-1], 1)[0])
    before = states[-2]
    for idle in {0, patience - 2, patience - 1} - {-1}:
        after, _ = phase.advance(objective, dataclasses.replace(before, idle=jnp.asarray(idle, jnp.int32)), 1)
        expected = Status.DECREASE if idle == patience - 1 else Status.RUNNING
        assert Status(int(after.status)) is expected


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_pairs_are_kept_whatever_the_unit_of_the_loss(unit):
    objective, theta = Quadratic(unit * jnp.asarray([1.0, 7.0, 50.0])), jnp.ones(3)
    phase = LBFGS(5, tolerance=0.0)
    state, _ = phase.advance(objective, phase.start(objective, theta), 5)
    assert int(state.stored) == int(state.iteration) > 2


def test_network_in_single_precision_is_trained_until_its_gradient_is_rounding():
    objective, theta = network()
    short = Network(objective.data.astype(jnp.float32))
    state = solve(LBFGS(1500), short, theta.astype(jnp.float32))
    assert int(state.evaluations) < 1.3 * int(state.iteration)
    # By the values alone the search ends at 6e-6, from 4e2; the same 1500 steps in float64 reach 6e-7.
    assert float(objective(state.theta.astype(jnp.float64))[0]) < 2e-6


def test_phase_survives_json():
    phase = LBFGS(100, history=7, tolerance=1e-12)
    assert LBFGS(**json.loads(json.dumps(dataclasses.asdict(phase)))) == phase
