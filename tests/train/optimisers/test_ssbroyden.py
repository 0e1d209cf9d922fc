"""Self-scaled Broyden against its formulas written out with NumPy, the conditions its steps must meet, and L-BFGS."""

import dataclasses
import json
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from losses import (
    Liar,
    Only,
    Quadratic,
    Rosenbrock,
    assert_the_same_split,
    gradient,
    network,
    rosenbrock,
    singly,
    solve,
    value,
)

from safenet.errors import SafeNetError
from safenet.train.optimisers.inverse import ROOM, Inverse, rank_two
from safenet.train.optimisers.lbfgs import LBFGS
from safenet.train.optimisers.ssbroyden import SSBroyden
from safenet.train.optimisers.status import Status

FAMILIES = ["broyden", "bfgs"]


def written_out(family, H, s, y, curvature, learnt):
    """The update as printed (Urbán, Stefanou and Pons, equations 7 to 23), for one pair."""
    p = len(s)
    h, b = y @ H @ y / (s @ y), curvature / (s @ y)
    a = h * b - 1
    rho_minus = min(1, h * (1 - np.sqrt(a / (a + 1))))
    theta_minus, theta_plus = (rho_minus - 1) / a, 1 / rho_minus
    theta = max(theta_minus, min(theta_plus, (1 - b) / b)) if family == "broyden" else 0.0
    sigma = 1 + a * theta
    tau_1, root = min(1, 1 / b), sigma ** (-1 / (p - 1))
    tau = tau_1 * min(root, 1 / theta) if theta > 0 else min(tau_1 * root, sigma)
    tau = tau if learnt else h / sigma
    phi = (1 - theta) / (1 + a * theta)
    v = np.sqrt(y @ H @ y) * (s / (y @ s) - H @ y / (y @ H @ y))
    middle = H - np.outer(H @ y, H @ y) / (y @ H @ y) + phi * np.outer(v, v)
    return middle / tau + np.outer(s, s) / (y @ s)


def self_scaled(family, H, s, y, curvature, learnt):
    """H after the pair."""
    return updated(H, rank_two(family, s, y, H @ y, curvature, learnt)).matrix


def updated(H, update):
    before = dataclasses.replace(
        Inverse.identity(len(H), H.dtype), base=H, scale=jnp.ones(()), unit=jnp.zeros(())
    )
    return before.updated(update, jnp.asarray(True), jnp.asarray(False))


def pairs(count):
    """(H, s, y, sᵀH⁻¹s) with H and the Hessian y = B s independent, and the step long or short for H."""
    random = np.random.default_rng(4)
    for i in range(count):
        root, other = random.normal(size=(2, 7, 7))
        H, B = root @ root.T + 0.1 * np.eye(7), other @ other.T + 0.1 * np.eye(7)
        s = random.normal(size=7)
        B *= 10.0 ** (i % 7 - 3)
        yield H, s, B @ s, s @ np.linalg.solve(H, s)


@pytest.mark.parametrize("learnt", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_update_is_the_printed_formula(family, learnt):
    thetas = set()
    for H, s, y, curvature in pairs(35):
        found = self_scaled(family, *map(jnp.asarray, (H, s, y, curvature, learnt)))
        np.testing.assert_allclose(
            found, written_out(family, H, s, y, curvature, learnt), rtol=1e-9, atol=1e-9
        )
        thetas.add(bool(curvature / (s @ y) < 1))
    assert thetas == {True, False}  # both branches of τ were taken


@pytest.mark.parametrize("family", FAMILIES)
def test_h_stays_symmetric_positive_and_satisfies_the_secant_equation(family):
    for H, s, y, curvature in pairs(35):
        after = np.asarray(self_scaled(family, *map(jnp.asarray, (H, s, y, curvature, True))))
        np.testing.assert_allclose(after @ y, s, rtol=1e-8, atol=1e-9)
        assert np.array_equal(after, after.T)
        assert np.linalg.eigvalsh(after)[0] > 0


def test_updates_that_wait_beside_h_give_the_same_products_as_h_written_out():
    random = np.random.default_rng(5)
    waiting, written = Inverse.identity(7, jnp.float64).divided(), np.eye(7)
    for i, (_, s, y, _) in enumerate(pairs(2 * ROOM + 3)):
        B = y / np.linalg.norm(y) + s  # any pair with s·y > 0 will do
        s = s if s @ B > 0 else -s
        update = rank_two(
            "broyden", *map(jnp.asarray, (s, B, written @ B, s @ np.linalg.solve(written, s), i > 0))
        )
        written = np.asarray(updated(jnp.asarray(written), update).matrix)
        waiting = waiting.updated(update, jnp.asarray(True), jnp.asarray(False)).settled()
        v, u = random.normal(size=(2, 7))
        for product, vector in zip(waiting.times(jnp.asarray(v), jnp.asarray(u)), (v, u), strict=True):
            np.testing.assert_allclose(
                product, written @ vector, rtol=1e-9, atol=1e-9 * np.abs(written).max()
            )
        assert int(waiting.waiting) == (i + 1) % ROOM
    waiting = waiting.undivided()
    dropped = waiting.updated(update, jnp.asarray(False), jnp.asarray(False))
    assert np.array_equal(dropped.matrix, waiting.matrix)
    forgotten = waiting.updated(update, jnp.asarray(True), jnp.asarray(True))
    assert np.array_equal(forgotten.matrix, np.eye(7))


def test_an_update_that_overflows_is_left_out():
    """A direction that is nan would be replaced by steepest descent for the rest of the run."""
    assert rank_two("broyden", *map(jnp.asarray, (np.ones(3), np.ones(3), np.ones(3), 1.0, True))).finite
    tiny = jnp.full(3, 1e-200)
    update = rank_two("broyden", tiny, tiny, tiny, jnp.asarray(1.0), jnp.asarray(True))
    assert not update.finite


def test_without_scaling_the_bfgs_family_is_bfgs():
    for H, s, y, curvature in pairs(35):
        if curvature <= s @ y:  # b <= 1: τ = 1
            V = np.eye(7) - np.outer(y, s) / (s @ y)
            expected = V.T @ H @ V + np.outer(s, s) / (s @ y)
            found = self_scaled("bfgs", *map(jnp.asarray, (H, s, y, curvature, True)))
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_carries_out_these_updates_along_wolfe_steps(family):
    objective, theta = rosenbrock(8)
    states = singly(SSBroyden(25, family), objective, theta)
    assert len(states) == 26
    H = np.eye(8)
    for i, (a, b) in enumerate(pairwise(states)):
        np.testing.assert_allclose(a.H.matrix, H, rtol=1e-6, atol=1e-9)
        s, y = np.asarray(b.theta - a.theta), np.asarray(b.gradient - a.gradient)
        # Along −H g: sᵀH⁻¹s is −α s·g, whatever α was.
        H = np.asarray(a.H.matrix)
        H = written_out(family, H, s, y, s @ np.linalg.solve(H, s), i > 0)
        before, after = gradient(objective, a.theta) @ s, gradient(objective, b.theta) @ s
        assert value(objective, b.theta) <= value(objective, a.theta) + 1e-4 * before + 1e-15
        assert abs(after) <= 0.9 * abs(before) * (1 + 1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_ill_conditioned_quadratic_takes_a_fifth_of_the_steps_of_lbfgs(family):
    objective, theta = Quadratic(jnp.logspace(0, 6, 40)), jnp.ones(40)
    state, other = (
        solve(phase, objective, theta)
        for phase in (SSBroyden(500, family, 1e-9), LBFGS(2000, tolerance=1e-9))
    )
    assert Status(int(state.status)) is Status.GRADIENT
    assert float(state.total) < 1e-18
    assert int(state.iteration) < int(other.iteration) / 5
    assert int(state.evaluations) < int(other.evaluations) / 5


@pytest.mark.parametrize("family", FAMILIES)
def test_rosenbrock_valley_is_followed_to_its_end(family):
    objective, theta = rosenbrock(30)
    state = solve(SSBroyden(1000, family, tolerance=1e-12), objective, theta)
    np.testing.assert_allclose(state.theta, 1, atol=1e-8)


@pytest.mark.slow
def test_on_a_network_it_goes_further_than_lbfgs_in_as_many_steps():
    objective, theta = network()
    ends = [float(solve(phase, objective, theta).total) for phase in (SSBroyden(1000), LBFGS(1000))]
    assert ends[0] < 1e-4 * ends[1]  # measured: 5e-13 against 2e-6


def test_a_step_takes_little_more_than_one_evaluation():
    objective, theta = network()
    phase = SSBroyden(500)
    state, _ = phase.advance(objective, phase.start(objective, theta), 500)
    assert int(state.iteration) == 500
    assert int(state.evaluations) < 1.5 * 500  # 674; from α = 1 always 934


def test_splitting_a_run_anywhere_gives_the_same_bits_also_through_a_file():
    assert_the_same_split(SSBroyden(120), *network(), (1, 49, 0, 7, 200))


def test_a_spoilt_h_is_replaced_by_steepest_descent():
    objective, theta = rosenbrock(10)
    phase = SSBroyden(400)
    state, _ = phase.advance(objective, phase.start(objective, theta), 30)
    # From which every step vanishes, and from which the direction points uphill.
    for factor in (1e-40, -1.0, jnp.nan):
        H = dataclasses.replace(
            state.H, base=factor * state.H.matrix, d=0 * state.H.d, scale=jnp.ones(()), unit=jnp.zeros(())
        )
        spoilt = dataclasses.replace(state, H=H, direction=-(H.matrix @ state.gradient))
        after, trace = phase.advance(objective, spoilt, 1)
        s = after.theta - state.theta
        cosine = -s @ state.gradient / jnp.linalg.norm(s) / jnp.linalg.norm(state.gradient)
        np.testing.assert_allclose(cosine, 1, rtol=1e-10)
        assert int(trace.length) == 1
        end, _ = phase.advance(objective, after, 400)
        np.testing.assert_allclose(end.theta, 1, atol=1e-4)


class Rounded(Rosenbrock):
    """1 + Rosenbrock, of which seven digits are right: its gradient has all of them."""

    def loss(self, theta):
        digits = 1e-7 * jnp.sin(1e12 * jnp.sum(theta))
        return (1 + super().loss(theta)) * (1 + jax.lax.stop_gradient(digits))


def test_rounding_of_the_loss_is_seen_where_a_search_fails_and_does_not_end_the_run():
    objective, seen = Rounded(jnp.zeros(0)), []
    for start in (0.5, 0.6, 0.7, 0.8):  # whether a search fails is a matter of the last bits
        state = solve(SSBroyden(500, tolerance=1e-10), objective, jnp.full(10, start))
        assert Status(int(state.status)) is not Status.NO_STEP
        np.testing.assert_allclose(state.theta, 1, atol=1e-4)
        seen.append(float(state.noise))
    assert any(seen)
    assert all(1e-7 < noise < 1e-5 for noise in seen if noise)


def test_failures_are_reported_and_the_best_is_kept():
    theta = jnp.asarray([1.0, 2.0])
    for objective, status in ((Liar(jnp.zeros(0)), Status.NO_STEP), (Only(theta), Status.NON_FINITE)):
        state = solve(SSBroyden(10), objective, theta)
        assert Status(int(state.status)) is status
        assert np.array_equal(state.best_theta, theta)
        assert int(state.iteration) == 0


def test_slow_decrease_stops_at_the_first_step_below_the_tolerance():
    objective, theta = network()
    phase = SSBroyden(500, tolerance=0.03)
    state, trace = phase.advance(objective, phase.start(objective, theta), 500)
    totals = np.asarray(trace.terms[: int(trace.length), 0])
    relative = -np.diff(totals) / totals[:-1]
    assert Status(int(state.status)) is Status.DECREASE
    assert relative[-1] < 0.03
    assert (relative[:-1] >= 0.03).all()


def test_what_cannot_be_run_is_refused_with_a_remedy():
    with pytest.raises(SafeNetError, match="LBFGS"):
        SSBroyden(10).start(rosenbrock(2)[0], jnp.ones(2, jnp.float32))
    with pytest.raises(SafeNetError, match="did you mean 'broyden'"):
        SSBroyden(10, family="broiden")
    phase = SSBroyden(100, "bfgs", tolerance=1e-12)
    assert SSBroyden(**json.loads(json.dumps(dataclasses.asdict(phase)))) == phase
