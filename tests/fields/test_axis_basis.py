"""φ_k(x) and its derivatives against SymPy, nodes against converged quadrature, tails by hand."""

import math

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import sympy as sp

from safenet.fields.basis import AxisBasis

LOWER, UPPER = -0.5, 2.25
KINDS = ["fourier", "periodic", "sine", "cosine", "chebyshev"]
x = sp.Symbol("x")


def functions(kind, modes):
    """The functions of the module's docstring, in its order."""
    s = (x - sp.Rational(LOWER)) / sp.Rational(UPPER - LOWER)
    k = range(1, modes + 1)
    return {
        "fourier": [1, *(sp.cos(i * sp.pi * s) for i in k), *(sp.sin(i * sp.pi * s) for i in k)],
        "periodic": [1, *(sp.cos(2 * sp.pi * i * s) for i in k), *(sp.sin(2 * sp.pi * i * s) for i in k)],
        "sine": [sp.sin(i * sp.pi * s) for i in k],
        "cosine": [1, *(sp.cos(i * sp.pi * s) for i in k)],
        "chebyshev": [sp.chebyshevt(i, 2 * s - 1) for i in range(modes + 1)],
    }[kind]


@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("modes", [1, 6])
@pytest.mark.parametrize("kind", KINDS)
def test_every_derivative_is_that_of_the_named_functions(kind, modes, order):
    basis = AxisBasis(kind, modes, LOWER, UPPER)
    points = np.array([LOWER, -0.1, 0.7, 2.0, UPPER])
    symbolic = [sp.lambdify(x, sp.diff(f, x, order), "mpmath") for f in functions(kind, modes)]
    with mpmath.workdps(40):
        expected = np.array([[float(f(mpmath.mpf(p))) for f in symbolic] for p in points])
    assert basis.size == len(symbolic)
    # A rounding of the phase, 1e-16 of at most 6π, is multiplied by ω^order like the value itself.
    tolerance = 1e-14 * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(basis(points, order), expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(basis(jnp.asarray(points), order, jnp), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_one_point_and_a_grid_of_points_keep_their_shapes(kind):
    basis = AxisBasis(kind, 3, LOWER, UPPER)
    assert basis(np.float64(0.3)).shape == (basis.size,)
    assert basis(np.full((2, 5), 0.3), 1).shape == (2, 5, basis.size)


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_are_a_quadrature_that_integrates_products_exactly(kind):
    basis = AxisBasis(kind, 5, LOWER, UPPER)
    z, w = np.polynomial.legendre.leggauss(64)
    reference = basis((LOWER + UPPER) / 2 + basis.length / 2 * z)
    exact = reference.T @ (w[:, None] / 2 * reference)
    for count in (math.ceil(1.3 * basis.size), 2 * basis.size):
        nodes, weights = basis.nodes(count)
        assert len(nodes) == len(weights) == count
        assert weights.sum() == pytest.approx(1, abs=1e-14)
        assert nodes.min() >= LOWER
        assert nodes.max() <= UPPER
        table = basis(nodes)
        # The half-range harmonics are no polynomials: their Gauss nodes converge, but are exact nowhere.
        tolerance = {"fourier": 0.05 if count < 20 else 1e-10}.get(kind, 1e-13)
        np.testing.assert_allclose(table.T @ (weights[:, None] * table), exact, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", ["sine", "cosine", "periodic"])
def test_series_are_discretely_orthogonal_on_their_nodes(kind):
    basis = AxisBasis(kind, 7, LOWER, UPPER)
    nodes, weights = basis.nodes(basis.size + 1)
    gram = basis(nodes).T @ (weights[:, None] * basis(nodes))
    np.testing.assert_allclose(gram - np.diag(np.diagonal(gram)), 0, atol=1e-14)


@pytest.mark.parametrize(
    ("kind", "filled", "tail"),
    [
        # Nine frequencies 0 … 8, of which the highest quarter is {7, 8}; sine and cosine of one count together.
        ("periodic", {7: 3.0, 8 + 2: 4.0}, 0.6),
        ("periodic", {8: 2.0, 8 + 8: 1.0, 3: 2.0}, math.sqrt(5) / 3),
        ("fourier", {8 + 7: 3.0, 0: 4.0}, 0.6),
        ("chebyshev", {7: 1.0, 6: 1.0}, math.sqrt(0.5)),
        ("cosine", {6: 1.0}, 0.0),
        # Eight sines: {7, 8}, in the places 6 and 7.
        ("sine", {6: 3.0, 5: 4.0}, 0.6),
        ("sine", {}, 0.0),
    ],
)
def test_tail_is_the_share_of_the_highest_quarter_of_the_frequencies(kind, filled, tail):
    basis = AxisBasis(kind, 8, LOWER, UPPER)
    values = np.zeros((2, basis.size, 3))
    for place, value in filled.items():
        values[1, place, 2] = value
    assert basis.tail(values, 1) == pytest.approx(tail, abs=1e-15)


@pytest.mark.parametrize("order", range(5))
def test_a_derivative_of_a_period_is_one_of_its_coefficients(order):
    basis, rng = AxisBasis("periodic", 7, -1.0, 2.5), np.random.default_rng(0)
    x, coefficients = rng.uniform(-1, 2.5, 40), rng.normal(size=(basis.size, 3))
    expected = basis(x, order) @ coefficients
    np.testing.assert_allclose(
        basis(x) @ basis.differentiated(coefficients, order), expected, atol=1e-13 * np.abs(expected).max()
    )
