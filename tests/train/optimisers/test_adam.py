"""Adam against a loop written by hand, and the reasons for which a run of it ends."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.status import CAPACITY, Status, sentence

jax.config.update("jax_enable_x64", True)

TRACES = []


class Toy(eqx.Module):
    """total = ½ ‖rows‖²; a scalar toy overrides the call."""

    A: jax.Array

    def rows(self, theta):
        return self.A @ jnp.tanh(theta) - 1

    def __call__(self, theta):
        TRACES.append("traced")
        squares = self.rows(theta) ** 2 / 2
        terms = jnp.stack([jnp.sum(squares[:2]), jnp.sum(squares[2:])])
        return jnp.sum(terms), terms

    def normal_equations(self, theta):
        raise NotImplementedError


class Slope(Toy):
    """total = theta · A: a constant gradient, in which Adam's step is the rate itself."""

    def __call__(self, theta):
        total = theta @ self.A
        return total, total[None]


class Cliff(Toy):
    """½ ‖theta‖² above 1, and NaN once theta_0 < 1."""

    def __call__(self, theta):
        total = theta @ theta / 2 + jnp.where(theta[0] < 1, jnp.nan, 0)
        return total, total[None]


class Quartic(Toy):
    def __call__(self, theta):
        total = jnp.sum(self.A * theta**4)
        return total, total[None]


def toy(dtype=np.float64):
    A = np.random.default_rng(0).normal(size=(6, 4))
    return Toy(jnp.asarray(A, dtype)), jnp.asarray([0.3, -0.2, 0.1, 0.5], dtype)


def identical(a, b):
    return all(
        np.array_equal(x, y, equal_nan=True)
        for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


@pytest.mark.parametrize("staircase", [False, True])
def test_trajectory_is_that_of_an_optax_loop(staircase):
    objective, theta = toy()
    phase = Adam(300, rate=1e-2, decay=0.5, every=70, staircase=staircase)
    state, trace = phase.advance(objective, phase.start(objective, theta), 300)

    optimiser = optax.scale_by_adam()
    memory, totals, by_hand = optimiser.init(theta), [], theta
    value, slope = jax.jit(lambda t: objective(t)[0]), jax.jit(jax.grad(lambda t: objective(t)[0]))
    for i in range(300):
        with jax.numpy_dtype_promotion("standard"):  # which optax relies on
            update, memory = optimiser.update(slope(by_hand), memory)
        by_hand = by_hand - 1e-2 * 0.5 ** (i // 70 if staircase else i / 70) * update
        totals.append(float(value(by_hand)))

    np.testing.assert_allclose(state.theta, by_hand, rtol=1e-11)
    np.testing.assert_allclose(trace.terms[:300, 0], totals, rtol=1e-11)
    np.testing.assert_allclose(trace.terms[:300, 1:].sum(1), totals, rtol=1e-11)
    assert int(trace.length) == 300
    assert np.isnan(trace.terms[300:]).all()
    assert int(state.evaluations) == 301
    assert Status(int(state.status)) is Status.FINISHED
    gradient = jax.grad(lambda t: objective(t)[0])(state.theta)
    np.testing.assert_allclose(state.gradient_norm, np.abs(gradient).max(), rtol=1e-9)


def test_rate_decays_by_its_factor_over_each_period():
    objective, theta = Slope(jnp.asarray([1.0, -2.0])), jnp.zeros(2)
    for staircase, exponent in ((False, lambda i: i / 5), (True, lambda i: i // 5)):
        phase = Adam(20, rate=0.01, decay=0.9, every=5, staircase=staircase)
        _, trace = phase.advance(objective, phase.start(objective, theta), 20)
        steps = -np.diff(np.concatenate([[0], trace.terms[:20, 0]])) / 3  # |A|·1 = 3 times the rate
        np.testing.assert_allclose(
            steps, [0.01 * 0.9 ** exponent(i) for i in range(20)], rtol=2e-8
        )  # ε = 1e-8


def test_chunks_of_any_size_give_the_same_bits_and_compile_once():
    objective, theta = toy()
    phase = Adam(200, rate=3e-3, patience=150)
    whole, rows = phase.advance(objective, phase.start(objective, theta), 200)
    TRACES.clear()
    state, pieces = phase.start(objective, theta), []
    for count in (1, 64, 0, 35, 500):
        state, trace = phase.advance(objective, state, count)
        pieces.append(trace.terms[: int(trace.length)])
    assert identical(whole, state)
    assert np.array_equal(np.concatenate(pieces), rows.terms[:200])
    assert not TRACES  # neither start nor advance was traced again


def test_more_iterations_continue_a_finished_run():
    objective, theta = toy()
    short, long = Adam(50), Adam(80)
    state, _ = short.advance(objective, short.start(objective, theta), 80)
    assert int(state.iteration) == 50
    continued, _ = long.advance(objective, state, 80)
    whole, _ = long.advance(objective, long.start(objective, theta), 80)
    assert identical(continued, whole)


def test_best_is_the_lowest_loss_seen_and_not_the_last():
    objective, theta = toy()
    phase = Adam(100, rate=1.0, decay=1.0)  # far too large: it overshoots and comes back
    state, trace = phase.advance(objective, phase.start(objective, theta), 100)
    lowest = np.nanmin(trace.terms[:, 0])
    assert float(state.best_total) == lowest < float(state.total)
    np.testing.assert_allclose(objective(state.best_theta)[0], lowest, rtol=1e-12)


def test_non_finite_loss_stops_before_theta_is_overwritten():
    objective, theta = Cliff(jnp.zeros(1)), jnp.asarray([1.0495, 0.0])
    phase = Adam(100, rate=1e-2, decay=1.0)
    state, trace = phase.advance(objective, phase.start(objective, theta), 100)
    assert Status(int(state.status)) is Status.NON_FINITE
    assert "NaN" in sentence(state.status)
    assert int(trace.length) == int(state.iteration) == 4  # 1.0495 − 5 · 0.01 < 1
    assert int(state.evaluations) == 6
    np.testing.assert_allclose(state.theta, [1.0095, 0], atol=1e-4)
    assert np.array_equal(state.theta, state.best_theta)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state))
    again, trace = phase.advance(objective, state, 10)
    assert identical(again, state)
    assert int(trace.length) == 0


def test_non_finite_start_does_not_run():
    phase = Adam(10)
    state = phase.start(Cliff(jnp.zeros(1)), jnp.zeros(2))
    after, _ = phase.advance(Cliff(jnp.zeros(1)), state, 10)
    assert Status(int(after.status)) is Status.NON_FINITE
    assert int(after.evaluations) == 1


def test_plateau_stops_after_exactly_the_patience():
    objective, theta = Slope(jnp.asarray([1e-9])), jnp.asarray([1e9])  # total 1, falling by 1e-12 a step
    phase = Adam(400, patience=37)
    state, _ = phase.advance(objective, phase.start(objective, theta), 400)
    assert Status(int(state.status)) is Status.PLATEAU
    assert int(state.iteration) == 37


def test_steady_improvement_is_no_plateau():
    objective, theta = Slope(jnp.asarray([1.0])), jnp.asarray([10.0])  # 1e-5 to 2e-5 of the total a step
    for patience, status in ((5, Status.PLATEAU), (11, Status.FINISHED)):
        phase = Adam(400, rate=1e-4, decay=1.0, patience=patience)
        state, _ = phase.advance(objective, phase.start(objective, theta), 400)
        assert Status(int(state.status)) is status


def test_divergence_stops_and_keeps_the_best():
    objective, theta = Quartic(jnp.ones(1)), jnp.ones(1)
    phase = Adam(100, rate=100.0)
    state, _ = phase.advance(objective, phase.start(objective, theta), 100)
    assert Status(int(state.status)) is Status.DIVERGED
    assert int(state.iteration) == 1  # 99⁴ > 1e6
    assert np.array_equal(state.best_theta, theta)


def test_refresh_follows_the_new_objective_with_the_old_moments():
    objective, theta = toy()
    other = Toy(2 * objective.A)
    phase = Adam(100, rate=1e-2)
    state, _ = phase.advance(objective, phase.start(objective, theta), 20)
    state = phase.refresh(other, state)
    assert float(state.best_total) == float(state.total)
    np.testing.assert_allclose(state.total, other(state.theta)[0], rtol=1e-12)
    after, _ = phase.advance(other, state, 1)

    gradient = jax.grad(lambda t: other(t)[0])(state.theta)
    with jax.numpy_dtype_promotion("standard"):
        update, _ = phase.transformation.update(gradient, state.moments)
    np.testing.assert_allclose(after.theta, state.theta + update, rtol=1e-12)
    assert int(after.evaluations) == 21 + 1 + 1
    assert int(after.iteration) == 21


def test_single_precision_is_respected_under_strict_promotion():
    with jax.numpy_dtype_promotion("strict"):
        objective, theta = toy(np.float32)
        phase = Adam(20, patience=5)
        state, trace = phase.advance(objective, phase.start(objective, theta), 20)
    assert {leaf.dtype.name for leaf in jax.tree.leaves((state, trace))} == {"float32", "int32"}


def test_too_large_a_count_is_refused_with_the_remedy():
    objective, theta = toy()
    phase = Adam(10_000)
    with pytest.raises(ValueError, match="smaller counts"):
        phase.advance(objective, phase.start(objective, theta), CAPACITY + 1)


def test_phase_survives_json():
    phase = Adam(100, rate=2e-3, staircase=True, patience=7)
    again = Adam(**json.loads(json.dumps(dataclasses.asdict(phase))))
    assert again == phase
    assert hash(again) == hash(phase)


def test_every_status_has_a_sentence():
    assert len({sentence(status) for status in Status}) == len(Status)
