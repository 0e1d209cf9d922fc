"""NysNewton-CG: its preconditioner and directions against dense algebra, its runs against Newton's method."""

import dataclasses
import json
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from losses import Liar, Only, Quadratic, Toy, assert_the_same_split, network, rosenbrock, singly, solve

from safenet.errors import SafeNetError
from safenet.train.optimisers.lbfgs import LBFGS
from safenet.train.optimisers.nncg import NNCG, conjugate_gradients, nystrom, precondition
from safenet.train.optimisers.status import Status

MU = 1e-3


class Saddle(Toy):
    """x² − y² + y⁴"""

    def loss(self, theta):
        return theta[0] ** 2 - theta[1] ** 2 + theta[1] ** 4


def symmetric(eigenvalues, seed=0):
    """A matrix with these eigenvalues, and its eigenvectors."""
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(eigenvalues),) * 2))
    return Q @ np.diag(eigenvalues) @ Q.T, Q


def sketch(H, rank, seed=0):
    return jax.jit(lambda H: nystrom(lambda v: H @ v, jax.random.key(seed), len(H), rank))(jnp.asarray(H))


def cg(A, b, guess=None, inverse=None, limit=500, forcing=1e-12):
    A, b = jnp.asarray(A), jnp.asarray(b)
    guess = jnp.zeros_like(b) if guess is None else jnp.asarray(guess)
    inverse = inverse or (lambda v: v)
    limits = jnp.asarray(limit, jnp.int32), jnp.asarray(forcing)
    return jax.jit(lambda b: conjugate_gradients(lambda v: A @ v, inverse, b, guess, *limits))(b)


def test_a_hessian_of_low_rank_is_approximated_exactly():
    eigenvalues = np.concatenate([np.logspace(4, -2, 12), np.zeros(28)])
    H, _ = symmetric(eigenvalues)
    U, S = sketch(H, 15)
    np.testing.assert_allclose(U @ np.diag(S) @ U.T, H, atol=1e-9 * 1e4)
    np.testing.assert_allclose(S[:12], eigenvalues[:12], rtol=1e-5)
    np.testing.assert_allclose(U.T @ U, np.eye(15), atol=1e-12)


def test_nystroms_formula_is_met_for_any_positive_hessian():
    H, _ = symmetric(np.logspace(2, -2, 20))
    U, S = sketch(H, 6, seed=3)
    omega, _ = np.linalg.qr(np.asarray(jax.random.normal(jax.random.key(3), (20, 6), jnp.float64)))
    expected = H @ omega @ np.linalg.solve(omega.T @ H @ omega, omega.T @ H)
    np.testing.assert_allclose(U @ np.diag(S) @ U.T, expected, atol=1e-10)


def test_the_inverse_preconditioner_is_that_of_the_dense_one_and_flattens_the_spectrum():
    H, Q = symmetric(np.logspace(6, -3, 60))
    U, S = (np.asarray(x) for x in sketch(H, 25))
    s = S[-1]
    P = U @ np.diag((S + MU) / (s + MU)) @ U.T + np.eye(60) - U @ U.T
    v = Q[:, 7] + Q[:, 50]
    found = precondition(jnp.asarray(U), jnp.asarray(S), jnp.asarray(MU), jnp.asarray(v))
    np.testing.assert_allclose(found, np.linalg.solve(P, v), rtol=1e-6, atol=1e-9)
    damped = H + MU * np.eye(60)
    conditions = [np.linalg.cond(damped), np.linalg.cond(np.linalg.solve(P, damped))]
    assert conditions[1] < 1e-3 * conditions[0]


def test_negative_curvature_leaves_a_positive_preconditioner():
    H, _ = symmetric(np.concatenate([np.logspace(3, -2, 20), [-5.0, -0.1]]))
    U, S = sketch(H, 10)
    assert np.isfinite(U).all()
    assert (np.asarray(S) >= 0).all()
    assert float(S[0]) == pytest.approx(1e3, rel=0.05)


def test_preconditioned_conjugate_gradients_solve_in_a_fraction_of_the_steps():
    H, _ = symmetric(np.append(np.logspace(6, 0, 20), np.linspace(0.5, 0.1, 40)))
    damped, b = H + MU * np.eye(60), np.ones(60)
    U, S = sketch(H, 25)
    plain = cg(damped, b, forcing=1e-8)
    helped = cg(damped, b, inverse=lambda v: precondition(U, S, jnp.asarray(MU), v), forcing=1e-8)
    np.testing.assert_allclose(helped.x, np.linalg.solve(damped, b), rtol=1e-5, atol=1e-6)
    assert int(helped.count) < int(plain.count) / 3


def test_a_good_guess_saves_steps_and_a_bad_one_costs_nothing():
    A, _ = symmetric(np.linspace(1, 30, 25))
    b = np.arange(25.0)
    exact = np.linalg.solve(A, b)
    assert int(cg(A, b, guess=3 * exact).count) == 0  # the best multiple of it is exact
    for guess in (-exact, 1e6 * np.ones(25)):
        found = cg(A, b, guess=guess, limit=1)
        assert float(found.x @ b) > 0
    np.testing.assert_allclose(cg(A, b, guess=-np.ones(25)).x, exact, rtol=1e-9)


def test_the_direction_descends_whatever_the_curvature():
    random = np.random.default_rng(2)
    for negative in (-1.0, -30.0, -1e3):
        A, _ = symmetric(np.append(np.logspace(0, 2, 14), negative), seed=random.integers(1000))
        b, guess = random.normal(size=(2, 15))
        assert float(cg(A, b, guess=guess).x @ b) > 0
    only, _ = symmetric(-np.ones(15))
    np.testing.assert_allclose(cg(only, b, inverse=lambda v: 2 * v).x, 2 * b)


def test_the_first_step_on_a_quadratic_is_newtons():
    objective, theta = Quadratic(jnp.concatenate([jnp.logspace(5, 1, 5), jnp.ones(25)])), jnp.ones(30)
    phase = NNCG(1, damping=0.0, rank=10, forcing=1e-8)
    state, _ = phase.advance(objective, phase.start(objective, theta), 1)
    np.testing.assert_allclose(state.theta, 0, atol=1e-6)
    # The start, ten products of the sketch, one for the guess, ten for 30 parameters, and the new theta.
    assert int(state.evaluations) <= 1 + 10 + 1 + 10 + 1


def test_rosenbrock_valley_is_followed_to_its_end():
    # From 0, where a second minimum near theta_0 = −1 is out of the way.
    objective, theta = rosenbrock(30)[0], jnp.zeros(30)
    state = solve(NNCG(200, rank=10, every=5, tolerance=1e-12), objective, theta)
    np.testing.assert_allclose(state.theta, 1, atol=1e-7)
    assert int(state.iteration) < 100


@pytest.mark.slow
@pytest.mark.parametrize("damping", [1e-6, 1.0])
def test_a_network_is_trained_further_than_by_lbfgs_in_as_many_steps_whatever_the_first_damping(damping):
    objective, theta = network()
    ends = [float(solve(phase, objective, theta).total) for phase in (NNCG(100, damping), LBFGS(100))]
    assert ends[0] < 0.05 * ends[1]  # measured: 3e-6 against 1e-3


def test_the_damping_falls_with_full_newton_steps_and_rises_at_negative_curvature():
    states = singly(NNCG(2, damping=1.0), Quadratic(jnp.asarray([1.0, 2.0])), jnp.ones(2))
    assert [float(state.damping) for state in states] == [1.0, 0.5, 0.25]
    saddle = Saddle(jnp.zeros(0))
    states = singly(NNCG(1, damping=0.1), saddle, jnp.asarray([0.5, 0.1]))
    assert float(states[-1].damping) == 0.2
    assert float(states[-1].total) < float(states[0].total)


def test_the_preconditioner_is_made_anew_when_due_and_from_other_directions():
    objective, theta = rosenbrock(40)
    states = singly(NNCG(7, rank=20, every=3), objective, theta)
    same = [np.array_equal(a.U, b.U) for a, b in pairwise(states[1:])]
    assert same == [True, True, False, True, True, False]
    other = singly(NNCG(1, rank=20, seed=1), objective, theta)[-1]
    assert not np.array_equal(other.U, states[1].U)


def test_splitting_a_run_anywhere_gives_the_same_bits_also_through_a_file():
    assert_the_same_split(NNCG(30, rank=20, every=7), *rosenbrock(40), (1, 9, 0, 4, 100))


def test_failures_are_reported_and_the_best_is_kept():
    theta = jnp.asarray([1.0, 2.0])
    for objective, status in ((Liar(jnp.zeros(0)), Status.NO_STEP), (Only(theta), Status.NON_FINITE)):
        state = solve(NNCG(10), objective, theta)
        assert Status(int(state.status)) is status
        assert np.array_equal(state.best_theta, theta)
        assert int(state.iteration) == 0


def test_single_precision_is_refused_and_a_phase_survives_json():
    with pytest.raises(SafeNetError, match="LBFGS"):
        NNCG(10).start(rosenbrock(2)[0], jnp.ones(2, jnp.float32))
    phase = NNCG(100, damping=1e-3, rank=7, seed=4)
    assert NNCG(**json.loads(json.dumps(dataclasses.asdict(phase)))) == phase
