"""What L-BFGS and Levenberg–Marquardt see, against the matrices that they multiply the gradient by."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_lanczos_spectra import RICCATI

import safenet as sn
from safenet.analysis import curvature, lbfgs_state, seen_by_lbfgs, seen_by_levenberg
from safenet.analysis.preconditioned import quasi_newton_half
from safenet.measure.points import sample
from safenet.networks.methods import build, method
from safenet.train.objective import physics_loss
from safenet.train.optimisers.lbfgs import quasi_newton


@pytest.fixture(scope="module")
def small():
    problem = sn.loads(RICCATI)
    network = build(problem, method("pinn", width=5, depth=1), key=jax.random.key(1))
    return physics_loss(problem, network, sample(problem, 60, 20, "sobol", 0))


@pytest.mark.parametrize("steps", [pytest.param(4, marks=pytest.mark.slow), 12])
def test_the_root_squared_is_the_inverse_that_lbfgs_multiplies_by(small, steps):
    """Most of the 50 slots stay unwritten; with 12 pairs, s and y span every direction there is."""
    state = lbfgs_state(*small, steps=steps)
    assert int(state.stored) > 0
    identity = jnp.eye(state.theta.size)
    H = jax.vmap(lambda v: -quasi_newton(replace(state, gradient=v)))(identity)
    W = jax.vmap(quasi_newton_half(state).half)(identity)
    np.testing.assert_allclose(W @ W, H, atol=1e-9 * float(jnp.abs(H).max()))


def test_lbfgs_sees_the_spectrum_of_its_inverse_times_the_hessian(small):
    loss, theta = small
    seen, facts = seen_by_lbfgs(loss, theta, steps=12)
    state = lbfgs_state(loss, theta, 12)
    assert facts["loss"] == float(state.total) < float(loss(theta)[0])
    H = jax.vmap(lambda v: -quasi_newton(replace(state, gradient=v)))(jnp.eye(theta.size))
    A = curvature(loss, state.theta).dense()
    expected = np.sort(np.linalg.eigvals(np.asarray(H @ A)).real)
    found = np.linalg.eigvalsh(seen.dense())
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    v = jax.random.normal(jax.random.key(0), theta.shape)
    np.testing.assert_allclose(seen(v), seen.dense() @ v, rtol=1e-6, atol=1e-6)


def test_levenberg_marquardt_sees_eigenvalues_between_zero_and_one(small):
    loss, theta = small
    seen = seen_by_levenberg(loss, theta, "gauss-newton", damping=1e-6)
    values = np.linalg.eigvalsh(seen.dense())
    assert values[0] > -1e-9
    assert 0.999 < values[-1] <= 1
    raw = np.linalg.eigvalsh(curvature(loss, theta, "gauss-newton").dense())
    # The upper half spans decades; seen through (JᵀJ + μD)⁻¹ it is one number.
    half = len(values) // 2
    assert raw[-1] / raw[half] > 100 * values[-1] / values[half]
