"""Rows of a Newton step: the Jacobian by complex steps, norms by converged quadrature, what one slab hands on."""

import math

import numpy as np
import pytest
import sympy as sp

from safenet import library
from safenet.fields.basis import AxisBasis
from safenet.measure.rows.newton import newton
from safenet.measure.rows.series import CONDITION_WEIGHT, Collocation, kronecker, widen
from safenet.problem import loads

PAIR = loads("""
unknowns = ["u", "v"]
equations = ["u_t + u*v_x**2 = x*v + k*u_xx", "v_t + sin(u)*v = u_x*v_t*t"]
conditions = [
    "u(0, t) = t", "u_x(2, t) + u(2, t)**2 = 0", "v(0, t) = v(2, t)", "v(1, 1/2)*u(1, 1/2) = 1",
    "u(x, 0) = x**2", "v(x, 0) = cos(x)",
]
[domain]
x = [0, 2]
t = [0, 1]
[parameters]
k = 0.3
""")
BASES = (
    (AxisBasis("chebyshev", 3, 0.0, 2.0), AxisBasis("chebyshev", 2, 0.0, 1.0)),
    (AxisBasis("periodic", 2, 0.0, 2.0), AxisBasis("fourier", 1, 0.0, 1.0)),
)


def test_the_jacobian_is_the_derivative_of_the_residual():
    collocation = Collocation(PAIR, BASES)
    coefficients = np.random.default_rng(0).normal(size=collocation.unknowns) / 2
    jacobian, residual = collocation.linearise(coefficients)
    np.testing.assert_allclose(residual, collocation.residual(coefficients), rtol=1e-13, atol=1e-13)
    # Im r(a + ih e_k)/h has no cancellation: with h = 1e-100 it is the derivative to rounding.
    steps = 1e-100j * np.eye(collocation.unknowns)
    columns = [collocation.residual(coefficients + step).imag / 1e-100 for step in steps]
    np.testing.assert_allclose(jacobian, np.stack(columns, axis=1), rtol=1e-12, atol=1e-12)


def test_squares_of_rows_sum_to_mean_squares_of_residuals():
    # The wave equation for u = T_2(2x−1) T_3(2t−1), whose residual is a polynomial: Gauss nodes are exact.
    bases = ((AxisBasis("chebyshev", 8, 0.0, 1.0), AxisBasis("chebyshev", 4, 0.0, 1.0)),)
    collocation = Collocation(library.wave(), bases)
    coefficient = np.zeros((9, 5))
    coefficient[2, 3] = 1
    residual = collocation.residual(coefficient.ravel())
    x, t = sp.symbols("x t")
    u = sp.chebyshevt(2, 2 * x - 1) * sp.chebyshevt(3, 2 * t - 1)
    u_0 = sp.sin(sp.pi * x) + sp.sin(4 * sp.pi * x) / 2

    def mean_square(expression):
        over_x = sp.integrate(sp.expand(expression**2), (x, 0, 1))
        return float(sp.integrate(over_x, (t, 0, 1)))

    expected = [
        mean_square(u.diff(t, 2) - 4 * u.diff(x, 2)),
        *(CONDITION_WEIGHT**2 * mean_square(u.subs(x, face)) for face in (0, 1)),
        CONDITION_WEIGHT**2 * mean_square(u.subs(t, 0) - u_0),
        CONDITION_WEIGHT**2 * mean_square(u.diff(t).subs(t, 0)),
    ]
    counts = [len(block.weights) for block in collocation.blocks]
    found = [np.sum(rows**2) for rows in np.split(residual, np.cumsum(counts)[:-1])]
    assert counts[0] == math.prod(len(nodes) for nodes, _ in collocation.nodes)
    # u(x, 0) is compared with sines, for which the nodes converge but are not exact.
    np.testing.assert_allclose(np.delete(found, 3), np.delete(expected, 3), rtol=1e-12)
    assert found[3] == pytest.approx(expected[3], rel=1e-5)


def test_a_slab_continues_value_and_velocity_of_the_one_before():
    """Wave on 0.3 ≤ t ≤ 0.5, handed the exact state at 0.3: the exact solution comes out."""
    wave = library.wave()
    bases = ((AxisBasis("sine", 4, 0.0, 1.0), AxisBasis("chebyshev", 16, 0.3, 0.5)),)
    asked = []

    def exact(x, t, k):
        """∂_t^k u"""
        parts = ((1, 2 * np.pi, np.pi), (0.5, 8 * np.pi, 4 * np.pi))
        return sum(c * w**k * np.sin(m * x) * np.cos(w * t + k * np.pi / 2) for c, w, m in parts)

    def handover(field, k, points):
        asked.append((field, k))
        np.testing.assert_array_equal(points[:, 1], 0.3)
        return exact(points[:, 0], 0.3, k)

    collocation = Collocation(wave, bases, handover)
    assert asked == [(0, 0), (0, 1)]
    form = collocation.form(newton(collocation, np.zeros(collocation.unknowns), linear=True).coefficients)
    points = np.random.default_rng(1).random((50, 2)) * [1, 0.2] + [0, 0.3]
    found = form.jets(points, [(0, 0), (0, 1)])
    for k in (0, 1):
        # cos 8πt over 0.8 of a period: degree 16 leaves 1e-15 of it; velocities are 8π larger.
        expected = exact(*points.T, k)
        np.testing.assert_allclose(found[(0, k)][:, 0], expected, rtol=0, atol=1e-9)


def test_coefficients_of_a_field_are_the_tensor_of_its_products():
    collocation = Collocation(PAIR, BASES)
    coefficients = np.arange(float(collocation.unknowns))
    form = collocation.form(coefficients)
    assert [np.shape(a) for a in form.coefficients] == [(4, 3), (5, 3)]
    assert form.coefficients[1][0, 2] == 4 * 3 + 2
    # One coefficient alone is one product, field by field.
    unit = np.zeros(collocation.unknowns)
    unit[4 * 3 + 3 * 1 + 0] = 1
    point = np.array([[0.3, 0.8]])
    value = collocation.form(unit).jets(point, [(0, 0)])[(0, 0)][0]
    np.testing.assert_allclose(value, [0, math.cos(2 * math.pi * 0.3 / 2)], atol=1e-15)


def test_kronecker_is_numpys():
    random = np.random.default_rng(0)
    tables = [random.normal(size=shape) for shape in ((3, 2), (2, 4), (5, 1))]
    np.testing.assert_allclose(
        kronecker(tables), np.kron(np.kron(tables[0], tables[1]), tables[2]), rtol=1e-15
    )


@pytest.mark.parametrize("kind", ["fourier", "periodic", "sine", "cosine", "chebyshev"])
def test_widening_keeps_the_function_and_narrowing_its_low_modes(kind):
    def bases(modes):
        return ((AxisBasis(kind, modes, 0.0, 2.0), AxisBasis("chebyshev", 2, 0.0, 1.0)),)

    problem = library.wave()
    small, large = (Collocation(problem, bases(modes)) for modes in (3, 6))
    random = np.random.default_rng(2)
    form = small.form(random.normal(size=small.unknowns))
    points = random.random((20, 2))
    wide = large.form(widen(form, large.bases))
    np.testing.assert_allclose(
        wide.jets(points, [(0, 0)])[(0, 0)], form.jets(points, [(0, 0)])[(0, 0)], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_array_equal(widen(wide, small.bases), np.ravel(form.coefficients[0]))


def test_tails_are_the_worst_of_the_fields():
    collocation = Collocation(PAIR, BASES)
    u, v = np.zeros((4, 3)), np.zeros((5, 3))
    u[0, 0], u[3, 0] = 4, 3  # the highest of four polynomials in x
    v[1, 0], v[0, 2] = 1, 1  # a low frequency in x; the highest frequency in t
    np.testing.assert_allclose(
        collocation.form(np.concatenate([u.ravel(), v.ravel()])).tails(), [0.6, math.sqrt(0.5)], rtol=1e-14
    )
