"""Lanczos quadrature and Hessian-vector products against what is known: matrices, finite differences, dense spectra."""

import json
from unittest import mock

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.analysis import curvature, eigenvalue_spectrum, lanczos_quadrature, quadrature_spectrum
from safenet.analysis.density import Spectrum
from safenet.measure.points import sample
from safenet.networks.methods import build, method
from safenet.train.objective import physics_loss


class Matrix:
    """A dense symmetric matrix as an operator."""

    def __init__(self, A):
        self.A, self.size = A, A.shape[0]

    def __call__(self, v):
        return self.A @ v


jax.tree_util.register_pytree_node(Matrix, lambda m: ((m.A,), None), lambda _, children: Matrix(*children))


def with_eigenvalues(values, seed=0):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))
    return Matrix(jnp.asarray(Q @ np.diag(values) @ Q.T))


RICCATI = """
name = "riccati"
unknowns = ["u"]
equations = ["u_x + u**2 = 0"]
conditions = ["u(0) = 1"]
domain = { x = [0, 1] }
"""


@pytest.fixture(scope="module")
def small():
    """Two hidden layers of five on u' + u² = 0, at points that blocks of 16 do not divide."""
    problem = sn.loads(RICCATI)
    network = build(problem, method("pinn", width=5, depth=2), key=jax.random.key(1))
    with mock.patch("safenet.analysis.curvature.BLOCK", 16):
        yield physics_loss(problem, network, sample(problem, 47, 13, "sobol", 0))


def test_all_steps_on_a_known_spectrum_give_its_eigenvalues_and_moments():
    values = np.array([-3.0, -1.0, 0.5, 1.0, 2.0, 4.0, 7.0, 11.0])
    nodes, weights, _ = lanczos_quadrature(with_eigenvalues(values), probes=7, steps=50)
    assert nodes.shape == (7, 8)
    np.testing.assert_allclose(nodes, np.tile(values, (7, 1)), atol=1e-10)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    # With many probes the weights are those of the density: 1/8 for each eigenvalue, within a few sampling errors.
    _, many, _ = lanczos_quadrature(with_eigenvalues(values), probes=2000, steps=8)
    error = many.std(axis=0) / np.sqrt(2000)
    assert np.all(np.abs(many.mean(axis=0) - 1 / 8) < 4 * error)


def test_a_krylov_space_that_ends_early_gives_no_spurious_eigenvalues():
    values = np.zeros(40)
    values[:3] = [1.0, 2.0, 5.0]
    nodes, weights, _ = lanczos_quadrature(with_eigenvalues(values), probes=3, steps=30)
    for row, weight in zip(nodes, weights, strict=True):
        distance = np.abs(row[weight > 0, None] - np.array([0.0, 1.0, 2.0, 5.0])).min(axis=1)
        assert distance.max() < 1e-7


def test_without_copies_a_clustered_spectrum_keeps_its_share():
    """Plain Lanczos would find the isolated eigenvalue again and again in 60 steps."""
    values = np.concatenate([np.linspace(0, 1, 199), [1e4]])
    spectrum = quadrature_spectrum("", with_eigenvalues(values), probes=5, steps=60)
    assert all(np.sum(row > 5e3) == 1 for row in spectrum.nodes)


@pytest.mark.parametrize("steps", [1, 4, 12, 40])
@pytest.mark.parametrize("sign", [0, -1])
def test_a_quadrature_bounds_the_condition_from_below_and_claims_no_more(steps, sign):
    """Its nodes need not be eigenvalues: of two, ±1, one step sees one node near zero."""
    values = np.logspace(-9, 0, 40)
    values[::2] *= 2 * sign + 1
    A = with_eigenvalues(values)
    for seed in range(5):
        nodes, _, reaches = lanczos_quadrature(A, 2, steps, seed)
        assert np.all(np.abs(nodes[..., None] - values).min(axis=-1) <= reaches + 1e-14)
        spectrum = quadrature_spectrum("", A, 2, steps, seed)
        assert 1 <= spectrum.condition_at_least <= 1.001e9
        assert (spectrum.condition, spectrum.rank) == (None, None)
    facts = quadrature_spectrum("", A, 1, steps).to_json()
    json.loads(json.dumps(facts, allow_nan=False))
    assert (facts["condition"], facts["rank"], facts["trace_error"]) == (None, None, None)


def test_the_bound_of_the_condition_grows_with_the_steps_up_to_the_condition():
    A = with_eigenvalues(np.logspace(-3, 0, 60))
    bounds = [quadrature_spectrum("", A, 2, steps).condition_at_least for steps in (5, 20, 60)]
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(1e3)


@pytest.mark.parametrize("operator", ["hessian", "gauss-newton"])
def test_products_agree_with_finite_differences(small, operator):
    loss, theta = small
    v = jax.random.normal(jax.random.key(2), theta.shape)
    h = 1e-5
    if operator == "hessian":
        gradient = jax.jit(jax.grad(lambda t: loss(t)[0]))
        expected = (gradient(theta + h * v) - gradient(theta - h * v)) / (2 * h)
    else:
        rows = jax.jit(lambda t: loss.rows(t))
        Jv = (rows(theta + h * v) - rows(theta - h * v)) / (2 * h)
        expected = jax.jit(lambda u: jax.vjp(loss.rows, theta)[1](u)[0])(Jv)
    found = eqx.filter_jit(lambda A, v: A(v))(curvature(loss, theta, operator), v)
    # Central differences: h² of truncation and ε/h of rounding, both near 1e-10 of the largest entry.
    np.testing.assert_allclose(found, expected, atol=1e-7 * float(jnp.abs(expected).max()))


def test_the_dense_matrix_is_the_hessian_and_its_terms_add_up(small):
    loss, theta = small
    A = np.asarray(curvature(loss, theta).dense())
    expected = jax.jit(jax.hessian(lambda t: loss(t)[0]))(theta)
    np.testing.assert_allclose(A, expected, atol=1e-9 * np.abs(A).max())
    parts = [np.asarray(curvature(loss, theta, term=k).dense()) for k in range(len(loss.terms))]
    np.testing.assert_allclose(sum(parts), A, atol=1e-12 * np.abs(A).max())
    J = jax.jit(jax.jacobian(lambda t: loss.rows(t)))(theta)
    G = np.asarray(curvature(loss, theta, "gauss-newton").dense())
    np.testing.assert_allclose(G, J.T @ J, atol=1e-12 * np.abs(G).max())


@pytest.mark.parametrize("operator", ["hessian", "gauss-newton"])
def test_quadrature_agrees_with_the_dense_spectrum(small, operator):
    loss, theta = small
    A = curvature(loss, theta, operator)
    exact = eigenvalue_spectrum(operator, A.dense())
    found = quadrature_spectrum(operator, A, probes=40, steps=30)
    assert found.lambda_max == pytest.approx(exact.lambda_max, rel=1e-3)
    assert found.lambda_min == pytest.approx(exact.lambda_min, rel=1e-3, abs=1e-3 * exact.lambda_max)
    for power in (1, 2):
        trace, error = found.moment(power)
        # Positive and negative eigenvalues may cancel in a trace, not in its error.
        assert 0 < error < 0.5 * np.sum(np.abs(exact.nodes) ** power)
        assert abs(trace - exact.moment(power)[0]) < 4 * error


def test_a_density_counts_every_eigenvalue_once():
    values = np.array([[-2.0, -1e-3, 0.0, 1e-5, 1.0, 3.0, 3.0, 50.0]])
    spectrum = Spectrum("", 8, values, np.full((1, 8), 1 / 8), exact=True)
    masses = []
    for sign in (1, -1):
        decades, density = spectrum.density(sign)
        masses.append(np.trapezoid(density, decades))
    assert masses == pytest.approx([5 / 8, 2 / 8], abs=1e-3)
    assert spectrum.rank == pytest.approx(7)
    assert spectrum.condition == pytest.approx(50 / 1e-5)
    assert spectrum.negative == pytest.approx(2 / 8)


def test_what_cannot_be_done_is_said(small):
    loss, theta = small
    with pytest.raises(sn.SafeNetError, match=r"(?s)no operator 'hesian'.*hessian"):
        curvature(loss, theta, "hesian")
    with pytest.raises(sn.SafeNetError, match="float64"):
        curvature(loss, theta.astype(jnp.float32))
    with pytest.raises(sn.SafeNetError, match="too few"):
        lanczos_quadrature(curvature(loss, theta), probes=0)
