"""Polynomials on cells: rows against finite differences, exact polynomials, corners, holes, time, convergence."""

from __future__ import annotations

import itertools
import math
import re
import warnings

import numpy as np
import pytest
import sympy as sp
from scipy.special import erfcx

import safenet as sn
from safenet.direct import LeastSquares
from safenet.direct.cells import Cells, first_cells, split
from safenet.direct.state import Direct
from safenet.fields.field import values
from safenet.measure.estimate import estimated
from safenet.measure.heldout import grid, held_out
from safenet.measure.rows.cells import CellRows
from safenet.measure.rows.newton import newton
from safenet.measure.thresholds import ROUGH
from safenet.problem import Box, Disc, On, Polygon, Problem, loads
from safenet.run.budget import Budget
from safenet.run.progress import Monitor
from safenet.solving.auto import Auto

x, y, t = sp.symbols("x y t")
u, v, p = (sp.Function(name) for name in "uvp")
U = u(x, y)
LAPLACIAN = U.diff(x, 2) + U.diff(y, 2)


def poisson(exact, **domain):
    """Δu = Δ(exact) with u = exact on the whole boundary: the exact solution is known and may be anything."""
    given = {"domain": {x: (0, 1), y: (0, 1)}, "pieces": {"all": "rest"}, **domain}
    source = sp.diff(exact, x, 2) + sp.diff(exact, y, 2)
    return Problem(sp.Eq(LAPLACIAN, source), conditions=[On("all", sp.Eq(U, exact))], exact=exact, **given)


def last(problem, **phase):
    return list(Cells(**phase).run(problem, Monitor(), Budget()))[-1]


def error(problem, network):
    at = grid(problem, (41, 41) + (9,) * (len(problem.axes) - 2))
    values = network.jets(np.stack(at, axis=1), [(0,) * len(at)])[(0,) * len(at)][:, 0]
    exact = problem.reference(**dict(zip(problem.axis_names, at, strict=True)))
    return np.linalg.norm(values - exact) / np.linalg.norm(exact)


FLOW = """
unknowns = ["u", "v", "p"]
equations = ["u*u_x + v*u_y + p_x = u_xx + u_yy", "u*v_x + v*v_y + p_y = v_xx + v_yy", "u_x + v_y = 0"]
conditions = ["u = y on inlet", "v = 0 on inlet", "u*n_x + v*n_y = 0 on walls", "u = 0 on walls",
    "p = 3*min(u, 0) on outlet", "u_n = v on outlet"]
[domain]
x = [0, 2]
y = [0, 1]
remove = [{ disc = { center = [1, 0.5], radius = 0.2 } }]
[pieces]
inlet = "x = 0"
outlet = "x = 2"
walls = "rest"
"""


def test_the_jacobian_is_the_derivative_of_the_residual():
    problem = loads(FLOW)
    cells = [((0.0, 1.0), (0.0, 1.0)), ((1.0, 2.0), (0.0, 0.5)), ((1.0, 2.0), (0.5, 1.0))]
    rows = CellRows(problem, cells, 3, 1.4)
    random = np.random.default_rng(0)
    at, direction = random.normal(size=(2, rows.unknowns))
    jacobian, residual = rows.linearise(at)
    np.testing.assert_allclose(residual, rows.residual(at), rtol=1e-12)
    step = 1e-6
    difference = (rows.residual(at + step * direction) - rows.residual(at - step * direction)) / (2 * step)
    applied = rows.applied(jacobian, direction)
    np.testing.assert_allclose(applied, difference, rtol=1e-6, atol=1e-6 * np.abs(applied).max())


def test_the_step_is_that_of_dense_least_squares():
    problem = poisson(sp.sin(3 * x) * sp.exp(y))
    rows = CellRows(problem, [((0.0, 0.5), (0.0, 1.0)), ((0.5, 1.0), (0.0, 1.0))], 5, 1.5)
    jacobian, residual = rows.linearise(np.zeros(rows.unknowns))
    dense = np.stack([rows.applied(jacobian, unit) for unit in np.eye(rows.unknowns)], axis=1)
    step, minimum = rows.solve(jacobian, residual)
    best = np.linalg.lstsq(dense, -residual)[0]
    assert minimum == pytest.approx(np.linalg.norm(dense @ best + residual), rel=1e-6)
    np.testing.assert_allclose(dense @ step, dense @ best, atol=1e-7)


@pytest.mark.parametrize(
    "domain",
    [
        {},
        {"remove": [Box(x=(0, 0.5), y=(0.5, 1))]},
        {"remove": [Disc((0.5, 0.5), 0.2)]},
        {"shape": Disc((0.5, 0.5), 0.5)},
        {"shape": Polygon([(0, 0), (1, 0), (0.5, 1)])},
    ],
    ids=["box", "L", "hole", "disc", "triangle"],
)
def test_a_polynomial_solution_is_found_on_any_region(domain):
    problem = poisson(x**3 * y + y**2 - x, **domain)
    state = last(problem, degree=5, tolerance=1e-8)
    assert error(problem, state.field) < 1e-7
    assert held_out(problem, state.field).worst < 1e-6


def test_the_error_falls_level_by_level_at_a_hole():
    """log r around a hole: analytic, with a singularity in the hole that polynomials on one cell cannot follow."""
    problem = poisson(sp.log((x - 0.5) ** 2 + (y - 0.4) ** 2), remove=[Disc((0.5, 0.4), 0.2)])
    states = list(Cells(degree=6, unknowns=1500).run(problem, Monitor(), Budget()))
    errors = [error(problem, state.field) for state in states]
    assert errors[-1] < 1e-4
    assert errors[-1] < 0.01 * errors[0]


def test_cells_gather_at_a_corner_that_the_solution_feels():
    """At the re-entrant corner of an L the solution is like r^(2/3): cells shrink there and nowhere else."""
    problem = Problem(
        sp.Eq(LAPLACIAN, -1),
        domain={x: (-1, 1), y: (-1, 1)},
        remove=[Box(x=(0, 1), y=(-1, 0))],
        pieces={"all": "rest"},
        conditions=[On("all", sp.Eq(U, 0))],
    )
    network = last(problem, degree=5, unknowns=2500).field
    cells = np.array(network.cells)
    sizes = (cells[:, :, 1] - cells[:, :, 0]).min(axis=1)
    nearest = np.abs(np.clip(0.0, cells[:, :, 0], cells[:, :, 1])).max(axis=1)
    assert sizes[nearest == 0].min() < 0.1
    assert sizes[nearest > 0.3].min() >= 0.125


def test_flow_between_plates_is_found_by_newton():
    """Poiseuille: u = y(1 − y), p = −2νx, a polynomial that solves the nonlinear equations."""
    text = FLOW.replace("u = y on inlet", "u = y*(1 - y) on inlet").replace(
        "u*n_x + v*n_y = 0 on walls", "v = 0 on walls"
    )
    text = text.replace("p = 3*min(u, 0) on outlet", "p = 0 on outlet").replace("u_n = v", "v = 0")
    text = text.replace("remove = [{ disc = { center = [1, 0.5], radius = 0.2 } }]\n", "")
    problem = loads(text)
    state = last(problem, degree=4, tolerance=1e-8)
    at = np.random.default_rng(0).random((40, 2)) * [2, 1]
    values = state.field.jets(at, [(0, 0)])[0, 0]
    exact = np.stack([at[:, 1] * (1 - at[:, 1]), 0 * at[:, 0], 2 * (2 - at[:, 0])], axis=1)
    np.testing.assert_allclose(values, exact, atol=1e-7)


def test_time_is_an_axis_like_another():
    """Heat on a disc: u = e^{−t}·(x² − y²) + 4t·… with a source made to fit."""
    w = u(x, y, t)
    exact = sp.exp(-t) * (x**2 - y**2) + t * x
    source = sp.diff(exact, t) - sp.diff(exact, x, 2) - sp.diff(exact, y, 2)
    problem = Problem(
        sp.Eq(w.diff(t), w.diff(x, 2) + w.diff(y, 2) + source),
        domain={x: (-1, 1), y: (-1, 1), t: (0, 1)},
        shape=Disc((0, 0), 1),
        pieces={"rim": "rest"},
        conditions=[On("rim", sp.Eq(w, exact)), sp.Eq(u(x, y, 0), exact.subs(t, 0))],
        exact=exact,
    )
    assert error(problem, last(problem, degree=5, unknowns=3000).field) < 1e-5


def test_a_run_goes_on_from_any_level_to_the_same_result():
    problem = poisson(sp.exp(x) * sp.sin(9 * y), remove=[Box(x=(0, 0.5), y=(0.5, 1))])
    phase = Cells(degree=4, unknowns=800)
    states = list(phase.run(problem, Monitor(), Budget()))
    middle = states[1]
    again = Direct(**{**vars(middle), "cursor": dict(middle.cursor)})
    final = list(phase.run(problem, Monitor(), Budget(), again))[-1]
    assert final.field.cells == states[-1].field.cells
    np.testing.assert_array_equal(final.field.coefficients, states[-1].field.coefficients)


def test_first_cells_follow_the_straight_sides():
    problem = poisson(x, domain={x: (0, 4), y: (0, 2)}, remove=[Box(x=(0, 2), y=(1, 2))])
    assert sorted(first_cells(problem)) == [((0, 2), (0, 1)), ((2, 4), (0, 1)), ((2, 4), (1, 2))]


def test_splitting_covers_the_same_region():
    problem = poisson(sp.exp(3 * x) * sp.cos(5 * y), remove=[Disc((0.5, 0.5), 0.2)])
    rows = CellRows(problem, first_cells(problem), 4, 1.5)
    form = rows.form(newton(rows, np.zeros(rows.unknowns), True).coefficients)
    cells = first_cells(problem)
    for _ in range(3):
        cells = split(problem, form, np.ones(len(form.cells)), 1.0)
        rows = CellRows(problem, cells, 4, 1.5)
        form = rows.form(newton(rows, np.zeros(rows.unknowns), True).coefficients)
    assert len(cells) > 8
    at = np.stack(grid(problem, (60, 60)), axis=1)
    assert (form.locate(at) >= 0).all()
    for a, b in itertools.combinations(np.array(cells), 2):
        assert np.any(np.minimum(a[:, 1], b[:, 1]) <= np.maximum(a[:, 0], b[:, 0]) + 1e-12), (a, b)


def test_what_has_no_solution_is_not_called_solved():
    """Δu = −1 in a disc that lets nothing out: only jumps between cells can take it up, and they are measured."""
    n_x, n_y = sp.symbols("n_x n_y")
    problem = Problem(
        sp.Eq(LAPLACIAN, -1),
        domain={x: (-1, 1), y: (-1, 1)},
        shape=Disc((0, 0), 1),
        pieces={"rim": "rest"},
        conditions=[On("rim", sp.Eq(n_x * U.diff(x) + n_y * U.diff(y), 0))],
    )
    for state in Cells(degree=4, unknowns=1200).run(problem, Monitor(), Budget()):
        measured = held_out(problem, state.field)
        if len(state.field.cells) > 1:
            assert measured.jumps > 0.1
    assert max(measured.equations) < 0.05


def test_a_smooth_function_has_no_jumps():
    problem = poisson(x**3 * y + y**2 - x)
    rows = CellRows(problem, [((0.0, 0.5), (0.0, 1.0)), ((0.5, 1.0), (0.0, 1.0))], 5, 1.5)
    form = rows.form(newton(rows, np.zeros(rows.unknowns), True).coefficients)
    assert held_out(problem, form).jumps < 1e-9


def waves(k):
    """((2 + sin kx) u_x)_x = 1, u(0) = 0, u(1) = 1, and u at 1001 places: ∫ (x + C)/(2 + sin kx) dx."""
    problem = Problem(
        f"diff((2 + sin({k}*x))*u_x, x) = 1", domain={"x": (0, 1)}, conditions=["u(0) = 0", "u(1) = 1"]
    )
    s, w = np.polynomial.legendre.leggauss(8)
    at = (np.arange(1000)[:, None] + (s + 1) / 2) / 1000
    one, more = ((part / (2 + np.sin(k * at)) * w / 2000).sum(axis=1) for part in (1.0, at))
    each = more + (1 - more.sum()) / one.sum() * one
    return problem, np.concatenate([[0.0], np.cumsum(each)])


def off(form, truth):
    return np.linalg.norm(values(form, np.linspace(0, 1, 1001)[:, None])[:, 0] - truth) / np.linalg.norm(
        truth
    )


def test_on_a_line_no_first_cell_is_longer_than_a_half_wave_of_a_coefficient():
    problem, truth = waves(100)
    first, *_, state = Cells().run(problem, Monitor(), Budget())
    assert len(first.field.cells) == 32
    assert first.residual < 1e-2
    assert off(state.field, truth) < 1e-8
    assert [type(each) for each in Auto().choice(problem)[0]] == [Cells, LeastSquares]


def test_cells_too_long_for_a_wave_have_an_estimate_that_does_not_explain_the_residual():
    """The corrected solution jumped as much as the solution, but its jumps were not measured."""
    problem, truth = waves(100)
    ends = np.linspace(0, 1, 11).tolist()
    rows = CellRows(problem, [((low, high),) for low, high in itertools.pairwise(ends)], 16, 2.0)
    form = rows.form(newton(rows, np.zeros(rows.unknowns), True).coefficients)
    found = estimated(problem, form)
    assert found.error < off(form, truth) / 2
    assert found.left > ROUGH


def test_what_allows_more_coefficients_depends_on_whether_there_is_a_budget():
    problem = poisson(sp.exp(x) * sp.sin(9 * y))
    for budget, more in ((Budget(), r"sn\.Cells\(unknowns=…\)"), (Budget(600.0), "a larger budget")):
        *_, state = Cells(degree=4, unknowns=60).run(problem, Monitor(), budget)
        assert re.fullmatch(f"stopped at 60 coefficients: {more} allows more", state.reason)


def ringing(squared):
    """u'' + k² u = f with f(0) = f(1) = 0, and u as a sum of sines."""
    problem = Problem(
        f"u_xx + {squared}*u = x**2*(1 - x)**2*exp(x)",
        domain={"x": (0, 1)},
        conditions=["u(0) = 0", "u(1) = 0"],
    )
    nodes, weights = np.polynomial.legendre.leggauss(2000)
    nodes, weights, m = (nodes + 1) / 2, weights / 2, np.arange(1, 1001)
    source = 2 * np.sin(np.pi * np.outer(m, nodes)) @ (weights * nodes**2 * (1 - nodes) ** 2 * np.exp(nodes))
    amplitudes = source / (squared - np.pi**2 * m**2)
    x = np.linspace(0, 1, 301)
    return problem, x, np.sin(np.pi * np.outer(x, m)) @ amplitudes


@pytest.mark.parametrize("squared", [200**2, 311.3**2, 305**2])
def test_waves_of_an_equation_on_a_line_are_resolved_and_squared_condition_numbers_recovered(squared):
    """The normal equations lose digits that refinement finds again: 2e-6 after one pass, 1e-13 after several."""
    problem, x, truth = ringing(squared)
    solution = sn.solve(problem, monitor=Monitor())
    assert solution.result.outcome == "solved"
    error = np.linalg.norm(solution(x=x) - truth) / np.linalg.norm(truth)
    assert error < 1e-9  # of the sum of sines
    assert solution.result.estimate < 1e-11


def test_an_equation_next_to_its_eigenvalue_is_not_solved_without_its_wave():
    problem, x, truth = ringing((100**2 + 1e-3) * np.pi**2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.SafeNetWarning)
        solution = sn.solve(problem, monitor=Monitor(), budget=4)
    error = np.linalg.norm(solution(x=x) - truth) / np.linalg.norm(truth)
    assert solution.result.outcome != "solved" or error < 10 * solution.result.estimate


def test_a_thin_layer_on_a_line_is_left_to_cells_soon():
    """ε u″ + (1 + x) u′ = 0, ε = 1e-4: u′ ∝ e^{−(x + x²/2)/ε}. No series of a thousand terms resolves it."""
    layer = sn.Problem(
        "u_xx/10000 + (1 + x)*u_x = 0", domain={"x": (0, 1)}, conditions=["u(0) = 0", "u(1) = 1"]
    )
    solution = sn.solve(layer, monitor=sn.Monitor())
    series = solution.result.phases[0]
    assert solution.result.outcome is sn.Outcome.SOLVED
    assert (series.name, series.iterations) == ("least-squares", 4)
    at = np.linspace(0, 1e-3, 200)
    start, here = math.sqrt(5000), (1 + at) * math.sqrt(5000)  # ∫ u′ by scaled error functions
    truth = 1 - erfcx(here) / erfcx(start) * np.exp(start**2 - here**2)
    assert np.allclose(solution(x=at), truth, atol=1e-11)


def test_first_cells_short_as_a_wave_lie_in_the_region():
    """k = 30 on a disc: the corners of its box are no cells."""
    disc = Problem(
        sp.Eq(LAPLACIAN + 900 * U, 0),
        conditions=[On("rim", sp.Eq(U, 1))],
        domain={x: (-1, 1), y: (-1, 1)},
        shape=Disc((0, 0), 1),
        pieces={"rim": "rest"},
    )
    cells = Cells()._first(disc)
    nearest = [np.hypot(*(np.clip(0, low, high) for low, high in cell)) for cell in cells]
    assert len(cells) > 16
    assert max(nearest) < 1
