"""Newton's method starts from the conditions, extended into the domain; from zero where that finds no solution."""

from functools import partial

import numpy as np
import pytest
import scipy

import safenet as sn
from safenet.direct.evolve.assembly import Assembly
from safenet.direct.evolve.evolve import meshed
from safenet.direct.evolve.steady import steady
from safenet.measure.rows.cells import CellRows
from safenet.measure.rows.newton import Newton, newton
from safenet.measure.rows.splitting import even_cells
from safenet.measure.rows.start import extension, from_conditions

LINE, SQUARE = {"x": (0, 1)}, {"x": (0, 1), "y": (0, 1)}
SIDES = ["u(0, y) = {}", "u(1, y) = {}", "u(x, 0) = {}", "u(x, 1) = {}"]
BALL = sn.Ball((0, 0, 0), 1)


def guessed(problem, cells, degree):
    simple = extension(problem)
    rows = CellRows(simple, cells, degree, 1.5)
    return rows.form(newton(rows, np.zeros(rows.unknowns), linear=True).coefficients)


@pytest.mark.parametrize(
    ("equation", "conditions"),
    [
        ("u_xx = 1/u", ["u(0) = 2", "u(1) = 2"]),
        ("u_xx = log(u)", ["u(0) = 2", "u(1) = 2"]),
        ("u_xx = sqrt(u)", ["u(0) = 1", "u(1) = 2"]),
        ("u_xx = 2*sqrt(u)", ["u(0) = 1", "u_x(1) = 0"]),
        ("diff(u**3*u_x, x) = -1", ["u(0) = 1", "u(1) = 1"]),
        ("diff(u**2*u_x, x) = -1", ["u(0) = 1", "u(1) = 1"]),
    ],
)
@pytest.mark.parametrize("solver", [sn.LeastSquares(), sn.Cells()], ids=["series", "cells"])
def test_problems_without_a_derivative_at_zero_are_solved(equation, conditions, solver):
    solution = sn.solve(sn.Problem(equation, domain=LINE, conditions=conditions), solver)
    assert solution.result.outcome == sn.Outcome.SOLVED
    assert solution.result.estimate < 1e-9


def test_a_nonlinear_diffusion_is_the_root_of_a_parabola():
    problem = sn.Problem("diff(u**3*u_x, x) = -1", domain=LINE, conditions=["u(0) = 1", "u(1) = 1"])
    x = np.linspace(0, 1, 11)
    assert sn.solve(problem)(x=x) == pytest.approx((1 + 2 * x * (1 - x)) ** 0.25, abs=1e-12)


def test_in_a_square_too():
    problem = sn.Problem("u_xx + u_yy = 1/u", domain=SQUARE, conditions=[side.format(2) for side in SIDES])
    assert sn.solve(problem, sn.LeastSquares(unknowns=300)).result.residual < 1e-2


def test_between_two_ends_the_guess_is_a_line():
    problem = sn.Problem("u_xx = u**2", domain={"x": (0, 2)}, conditions=["u(0) = 1", "u(2) = 5"])
    x = np.linspace(0, 2, 9)[:, None]
    found = guessed(problem, [((0.0, 1.0),), ((1.0, 2.0),)], 4).jets(x, [(0,)])[0,]
    assert found[:, 0] == pytest.approx(1 + 2 * x[:, 0], abs=1e-3)


def test_between_walls_the_guess_is_harmonic():
    conditions = ["u(0, y) = -y**2", "u(1, y) = 1 - y**2", "u(x, 0) = x**2", "u(x, 1) = x**2 - 1"]
    problem = sn.Problem("u_xx + u_yy = u**2", domain=SQUARE, conditions=conditions)
    points = np.random.default_rng(0).random((50, 2))
    found = guessed(problem, even_cells(problem, 4), 5).jets(points, [(0, 0)])[0, 0]
    assert found[:, 0] == pytest.approx(points[:, 0] ** 2 - points[:, 1] ** 2, abs=1e-3)


def test_in_a_slab_the_guess_keeps_the_initial_values():
    problem = sn.Problem(
        "u_tt = u_xx - u**3",
        domain={"x": (0, 1), "t": (0, 1)},
        conditions=["u(x, 0) = 1 + x", "u_t(x, 0) = x", "u(0, t) = cos(t)", "u(1, t) = 2 + t"],
    )
    simple = extension(problem, marched=True)
    span = (0.0, 0.1)
    rows = CellRows(simple, [((0.0, 1.0), span)], [4, 3], 1.3, span)
    form = rows.form(newton(rows, np.zeros(rows.unknowns), linear=True).coefficients)
    points = np.random.default_rng(0).random((20, 2)) * [1, 0.1]
    x, t = points.T
    assert form.jets(points, [(0, 0)])[0, 0][:, 0] == pytest.approx(1 + x + x * t, abs=1e-9)


def test_zero_is_tried_where_the_guess_leads_nowhere():
    problem = sn.Problem("u_xx = u**2", domain=LINE, conditions=["u(0) = 1", "u(1) = 5"])
    rows_of = partial(CellRows, cells=[((0.0, 1.0),)], degrees=4, oversampling=1.5)
    tried = []

    def solve(start):
        tried.append(start)
        return Newton(start, 1.0, 1, 1, converged=False)

    found = from_conditions(rows_of(problem), rows_of, solve)
    assert [start.any() for start in tried] == [True, False]
    assert found.iterations == 2


def test_linear_problems_and_zero_conditions_need_no_guess():
    assert extension(sn.Problem("u_xx = u", domain=LINE, conditions=["u(0) = 1", "u(1) = 1"])) is None
    assert extension(sn.Problem("u_xx = exp(u)", domain=LINE, conditions=["u(0) = 0", "u(1) = 0"])) is None


def test_the_lower_of_two_solutions_is_found():
    # Bratu's problem, raised by 2: u(1/2) = 2 + 2 log cosh(θ/4), θ = √6 cosh(θ/4) with two roots, near 3.3 and 6.6.
    problem = sn.Problem("u_xx = -3*exp(u - 2)", domain=LINE, conditions=["u(0) = 2", "u(1) = 2"])
    theta = scipy.optimize.brentq(lambda s: s - np.sqrt(6) * np.cosh(s / 4), 2.0, 4.5, xtol=1e-14)
    with pytest.warns(sn.SafeNetWarning, match="another solution"):
        solution = sn.solve(problem)
    assert solution(x=0.5) == pytest.approx(2 + 2 * np.log(np.cosh(theta / 4)), abs=1e-12)


def test_triangles_and_tetrahedra_start_from_their_sides():
    problem = sn.Problem(
        "u_xx + u_yy + u_zz = 1/u",
        domain=dict.fromkeys("xyz", (-1, 1)),
        shape=BALL,
        pieces={"rim": "rest"},
        conditions=["u = 2 on rim"],
    )
    found = steady(Assembly(problem, meshed(problem, 0)), None, print, lambda: False)
    assert found is not None
    # u'' + 2u'/r = 1/u: u falls by about (1 − r²)/(6 u) towards the middle.
    assert 1.9 < found.min() < 2 - 1 / 12
