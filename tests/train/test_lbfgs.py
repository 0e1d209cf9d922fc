"""L-BFGS against dense BFGS, SciPy, and the conditions its steps must meet."""

import dataclasses
import io
import json
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from jax import lax

from safenet.run.checkpoint import fill, leaves
from safenet.train.optimisers.lbfgs import LBFGS, quasi_newton
from safenet.train.optimisers.status import PATIENCE, Status

jax.config.update("jax_enable_x64", True)

CALLS = []


class Toy(eqx.Module):
    data: jax.Array

    def loss(self, theta):
        raise NotImplementedError

    def __call__(self, theta):
        total = self.loss(theta)
        return total, jnp.stack([total, 2 * total])

    def rows(self, theta):
        raise NotImplementedError

    def normal_equations(self, theta):
        raise NotImplementedError


class Quadratic(Toy):
    def loss(self, theta):
        return jnp.sum(self.data * theta**2) / 2


class Rosenbrock(Toy):
    def loss(self, theta):
        return jnp.sum(100 * (theta[1:] - theta[:-1] ** 2) ** 2 + (1 - theta[:-1]) ** 2)


class Counted(Rosenbrock):
    """Says each time the device evaluates it."""

    def loss(self, theta):
        jax.debug.callback(lambda _: CALLS.append(1), theta[0])
        return super().loss(theta)


class Network(Toy):
    """−u'' = π² sin πx on [−1, 1], u(±1) = 0, for a tanh network: the kind of loss this is meant for."""

    def u(self, theta, x):
        w_1, b_1, w_2, b_2, w_3 = jnp.split(theta, [10, 20, 120, 130])
        return w_3 @ jnp.tanh(w_2.reshape(10, 10) @ jnp.tanh(w_1 * x + b_1) + b_2)

    def loss(self, theta):
        u_xx = jax.vmap(jax.grad(jax.grad(self.u, 1), 1), (None, 0))(theta, self.data)
        residual = u_xx + jnp.pi**2 * jnp.sin(jnp.pi * self.data)
        ends = jnp.stack([self.u(theta, jnp.asarray(end, theta.dtype)) for end in (-1.0, 1.0)])
        return jnp.mean(residual**2) / 2 + 50 * jnp.sum(ends**2)


class Only(Toy):
    """Finite at one theta, NaN everywhere else."""

    def loss(self, theta):
        return jnp.sum(theta) + jnp.where(jnp.all(theta == self.data), 0, jnp.nan)


class Barrier(Toy):
    """−log(1 − x) + x²/2 − 3x: infinite beyond 1, so that the first steps overshoot into NaN."""

    def loss(self, theta):
        return jnp.sum(theta**2 / 2 - 3 * theta - jnp.log(1 - theta) * self.data)


@jax.custom_jvp
def uphill(theta):
    return jnp.sum(theta**2)


@uphill.defjvp
def _(primals, tangents):
    return uphill(primals[0]), -2 * primals[0] @ tangents[0]


class Liar(Toy):
    """theta² with the sign of its gradient wrong: no step can lower it."""

    def loss(self, theta):
        return uphill(theta)


@eqx.filter_jit
def value(objective, theta):
    return objective.loss(theta)


@eqx.filter_jit
def gradient(objective, theta):
    return jax.grad(lambda t: objective(t)[0])(theta)


def assert_the_same_split(phase, objective, theta, counts):
    """A whole run, and one in pieces that goes through a file after each: the same bits in state and trace."""
    whole, rows = phase.advance(objective, phase.start(objective, theta), phase.iterations)
    state, pieces = phase.start(objective, theta), []
    for count in counts:
        state, trace = phase.advance(objective, state, count)
        pieces.append(trace.terms[: int(trace.length)])
        saved = {name: np.asarray(leaf) for name, leaf in leaves(state).items()}
        state = fill(phase.start(objective, theta), saved)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(state), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(np.concatenate(pieces), rows.terms[: phase.iterations])
    assert Status(int(state.status)) is Status.FINISHED


def solve(phase, objective, theta, chunk=500):
    state = phase.start(objective, theta)
    while int(state.status) == Status.RUNNING:
        state, _ = phase.advance(objective, state, chunk)
    return state


def singly(phase, objective, theta):
    """The states after each accepted step, one call each."""
    states = [phase.start(objective, theta)]
    while int(states[-1].status) == Status.RUNNING:
        state, trace = phase.advance(objective, states[-1], 1)
        if int(trace.length):
            states.append(state)
        else:
            break
    return states


def rosenbrock(p):
    return Rosenbrock(jnp.zeros(0)), jnp.asarray(np.resize([-1.2, 1.0], p))


def network(seed=0):
    theta = np.random.default_rng(seed).normal(size=140) * np.repeat([1, 0.5, 0.3], [10, 10, 120])
    return Network(jnp.linspace(-1, 1, 64)), jnp.asarray(theta)


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
