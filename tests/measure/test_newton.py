"""Least squares against NumPy's, Newton's rate and its answer on the Bratu problem, whose solution is known."""

import itertools
import math

import numpy as np
import pytest
import scipy.optimize

from safenet.fields.basis import AxisBasis
from safenet.measure.rows.newton import least_squares, newton
from safenet.measure.rows.series import Collocation
from safenet.problem import loads


def system(rows, columns, condition, seed=0):
    """J = U diag(σ) Vᵀ with σ from 1 down to 1/condition, and a right-hand side with a part outside its range."""
    random = np.random.default_rng(seed)
    U, _ = np.linalg.qr(random.normal(size=(rows, columns)))
    V, _ = np.linalg.qr(random.normal(size=(columns, columns)))
    J = np.asfortranarray(U * np.geomspace(1, 1 / condition, columns) @ V.T)
    return J, -J @ random.normal(size=columns) + 0.1 * random.normal(size=rows)


@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e8])
def test_the_step_is_numpys_least_squares_solution(condition, orthogonal):
    J, r = system(60, 25, condition)
    step, minimum = least_squares(J.copy(order="F"), r, orthogonal)
    expected, squares, *_ = np.linalg.lstsq(J, -r)
    # The solution of a least-squares problem is known to (condition² · residual) roundings, no better.
    error = np.linalg.norm(step - expected) / np.linalg.norm(expected)
    assert error < 1e-15 * (
        100 + condition + 10 * condition**2 * np.sqrt(squares[0]) / np.linalg.norm(expected)
    )
    assert minimum == pytest.approx(math.sqrt(squares[0]), rel=1e-9)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_columns_of_any_scale_are_alike(orthogonal):
    J, r = system(40, 12, 10.0)
    scale = np.geomspace(1e-9, 1e9, 12)
    step, _ = least_squares(np.asfortranarray(J * scale), r, orthogonal)
    np.testing.assert_allclose(step * scale, np.linalg.lstsq(J, -r)[0], rtol=1e-11)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_redundant_and_empty_columns_cost_no_digits(orthogonal):
    J, _ = system(40, 12, 10.0)
    r = J @ np.random.default_rng(1).normal(size=12)
    redundant = np.asfortranarray(np.column_stack([J, J @ np.ones((12, 3)), np.zeros(40)]))
    step, minimum = least_squares(redundant.copy(order="F"), r, orthogonal)
    assert np.linalg.norm(redundant @ step + r) < 1e-13 * np.linalg.norm(r)
    assert minimum < 1e-12 * np.linalg.norm(r)
    assert np.abs(step).max() < 1e3
    assert step[-1] == 0


def test_a_nearly_singular_system_is_solved_to_its_residual():
    J, r = system(60, 25, 1e14)
    step, _ = least_squares(J.copy(order="F"), r, orthogonal=True)
    best = np.linalg.norm(J @ np.linalg.lstsq(J, -r)[0] + r)
    assert np.linalg.norm(J @ step + r) <= best * (1 + 1e-8)


BRATU = loads("""
unknowns = ["u"]
equations = ["u_xx + k*exp(u) = 0"]
conditions = ["u(0) = 0", "u(1) = 0"]
[domain]
x = [0, 1]
[parameters]
k = 2
""")


def bratu(modes=24):
    return Collocation(BRATU, ((AxisBasis("chebyshev", modes, 0.0, 1.0),),), oversampling=2.0)


def exact(x):
    """u = −2 log(cosh(θ(x − ½)/2)/cosh(θ/4)) with θ = √(2k) cosh(θ/4), on the lower branch."""
    theta = scipy.optimize.brentq(lambda q: q - 2 * math.cosh(q / 4), 0, 4, xtol=1e-15)
    return -2 * np.log(np.cosh(theta * (x - 0.5) / 2) / math.cosh(theta / 4))


def test_newton_converges_quadratically_to_the_solution():
    collocation, norms = bratu(), []
    found = newton(
        collocation,
        np.zeros(collocation.unknowns),
        linear=False,
        tolerance=1e-13,
        report=lambda iteration, norm: norms.append(norm),
    )
    assert found.converged
    x = np.linspace(0, 1, 41)
    values = collocation.form(found.coefficients).jets(x[:, None], [(0,)])[(0,)][:, 0]
    np.testing.assert_allclose(values, exact(x), rtol=0, atol=1e-12)
    # ‖r_{k+1}‖ ≤ C ‖r_k‖² until rounding, with one C for all steps; a linear rate would need C → ∞.
    above = [norm for norm in norms if norm > 1e-13]
    assert len(above) >= 3
    assert all(after < 2 * before**2 for before, after in itertools.pairwise(above))
    assert found.norm == pytest.approx(np.linalg.norm(collocation.residual(found.coefficients)))


def test_a_linear_problem_takes_one_step_from_anywhere():
    problem = loads("""
unknowns = ["u"]
equations = ["u_xx = -pi**2*sin(pi*x)"]
conditions = ["u(0) = 0", "u(1) = 1"]
[domain]
x = [0, 1]
""")
    collocation = Collocation(problem, ((AxisBasis("chebyshev", 20, 0.0, 1.0),),), oversampling=2.0)
    far = np.random.default_rng(0).normal(size=collocation.unknowns)
    found = newton(collocation, far, linear=True)
    assert (found.iterations, found.evaluations, found.converged) == (1, 1, True)
    x = np.linspace(0, 1, 21)
    values = collocation.form(found.coefficients).jets(x[:, None], [(0,)])[(0,)][:, 0]
    np.testing.assert_allclose(values, np.sin(np.pi * x) + x, rtol=0, atol=1e-12)


def test_a_problem_without_solution_is_not_called_solved():
    # Beyond k = 3.51 the Bratu problem has none: whatever Newton ends with leaves a residual.
    collocation = Collocation(
        BRATU.with_parameters(k=6), ((AxisBasis("chebyshev", 24, 0.0, 1.0),),), oversampling=2.0
    )
    found = newton(collocation, np.zeros(collocation.unknowns), linear=False)
    assert found.norm > 1e-2
    assert np.isfinite(found.coefficients).all()


def test_a_residual_that_is_not_finite_ends_the_iteration_where_it_was():
    problem = loads("""
unknowns = ["u"]
equations = ["u_xx = log(u - 1)"]
conditions = ["u(0) = 0", "u(1) = 0"]
[domain]
x = [0, 1]
""")
    collocation = Collocation(problem, ((AxisBasis("chebyshev", 6, 0.0, 1.0),),))
    found = newton(collocation, np.zeros(collocation.unknowns), linear=False)
    assert not found.converged
    np.testing.assert_array_equal(found.coefficients, 0)
