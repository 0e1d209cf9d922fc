"""Elements on rectangles: a corner's singular function, waves through impedance sides, coefficients that vary."""

from pathlib import Path

import numpy as np
import pytest

import safenet as sn
from safenet.direct import Elements
from safenet.direct.elements.galerkin import reference
from safenet.direct.elements.mesh import corners, mesh, on_side
from safenet.direct.elements.solver import _Part
from safenet.fields.saved import field_skeleton
from safenet.problem.facts.elliptic import elliptic
from safenet.run.checkpoint import fill, leaves


def stated(equations, conditions, unknowns=("u",), more=""):
    listing = "\n".join(
        f"{key} = {list(value)!r}".replace("'", '"')
        for key, value in (("unknowns", unknowns), ("equations", equations), ("conditions", conditions))
    )
    return sn.loads(f"{listing}\n[domain]\n{more or 'x = [0, 1]' + chr(10) + 'y = [0, 1]'}")


def at_points(solution, exact):
    x, y = np.random.default_rng(1).random((2, 400))
    own, true = solution(x=x, y=y), exact(x, y)
    values = np.concatenate([own[name] for name in own]) if isinstance(own, dict) else own
    return float(np.linalg.norm(values - true) / np.linalg.norm(true))


L_SHAPE = """x = [-1, 1]
y = [-1, 1]
remove = [{ box = { x = [-1, 0], y = [-1, 0] } }]
[pieces]
walls = "rest"
"""


def test_the_singular_function_of_a_corner_is_found_on_layers_that_close_in_on_it():
    singular = "(x**2 + y**2)**(1/3)*sin(2/3*(atan2(y, x) + pi/2))"
    problem = stated(["u_xx + u_yy = 0"], [f"u = {singular} on walls"], more=L_SHAPE)
    solution = sn.solve(problem, sn.Elements(tolerance=1e-6), monitor=sn.Monitor())
    x, y = np.random.default_rng(1).random((2, 400))  # the quadrant opposite the one that is missing
    exact = (x**2 + y**2) ** (1 / 3) * np.sin(2 / 3 * (np.arctan2(y, x) + np.pi / 2))
    error = np.linalg.norm(solution(x=x, y=y) - exact) / np.linalg.norm(exact)
    assert error < 1e-6
    assert error < 10 * solution.result.estimate < 1e-5
    widths = sorted(high - low for cell in solution.field.cells for low, high in cell)
    assert widths[0] < 0.01 * widths[-1]


@pytest.mark.parametrize("size", [1, 1e-6])
def test_rectangles_lie_at_a_side_whatever_its_length(size):
    """A condition ends at x = 1/2: the thinnest layer beyond it, 1e-7 of the length, is on the other side."""
    problem = stated(
        ["u_xx + u_yy = 0"],
        ["u = 0 on left", "u = 1 on right", "n_x*u_x + n_y*u_y = 0 on walls"],
        more=f"""x = [0, {size}]
y = [0, {size}]
[pieces]
left = "y = 0 and x < {size / 2}"
right = "y = 0 and x > {size / 2}"
walls = "rest"
""",
    )
    system = elliptic(problem)
    grid = mesh(problem, system, 1, dict.fromkeys(corners(system), 9))
    taken = [place for side in system.sides for place in on_side(grid, side) if side.place == 0 and side.axis]
    assert len(taken) == len(set(taken)) == len(grid.lines[0]) - 1


def test_a_plane_wave_leaves_through_impedance_sides():
    k, a, b = 20, 16, 12
    phase = f"({a}*x + {b}*y)"
    sides = (("x", "1", 1, a), ("x", "0", -1, a), ("y", "1", 1, b), ("y", "0", -1, b))
    conditions = []
    for axis, place, sign, wave in sides:
        at = f"{place}, y" if axis == "x" else f"x, {place}"
        here = phase.replace(axis, place)
        conditions += [
            f"{sign}*u_{axis}({at}) + {k}*v({at}) = ({k} - {sign * wave})*sin({here})",
            f"{sign}*v_{axis}({at}) - {k}*u({at}) = ({sign * wave} - {k})*cos({here})",
        ]
    equations = [f"{name}_xx + {name}_yy + {k**2}*{name} = 0" for name in "uv"]
    solution = sn.solve(
        stated(equations, conditions, "uv"), sn.Elements(tolerance=1e-7), monitor=sn.Monitor()
    )
    wave = lambda x, y: np.concatenate([np.cos(a * x + b * y), np.sin(a * x + b * y)])  # noqa: E731
    assert at_points(solution, wave) < 1e-7
    assert at_points(solution, wave) < 10 * solution.result.estimate["pooled"]


def test_coefficients_may_vary_and_have_slopes_and_sides_may_be_robin():
    exact = "exp(x)*sin(2*y)"
    left = "(1 + x)*u_xx + (2 + y**2)*u_yy + y*u_x - 3*u_y + x*u"
    right = f"((1 + x) - 4*(2 + y**2) + y + x)*{exact} - 6*exp(x)*cos(2*y)"
    conditions = [
        "u(0, y) = sin(2*y)",
        "u_x(1, y) + 2*u(1, y) = 3*exp(1)*sin(2*y)",
        "u_y(x, 0) = 2*exp(x)",
        "(1 + x)*u(x, 1) = (1 + x)*exp(x)*sin(2)",
    ]
    solution = sn.solve(stated([f"{left} = {right}"], conditions), sn.Elements(), monitor=sn.Monitor())
    assert at_points(solution, lambda x, y: np.exp(x) * np.sin(2 * y)) < 1e-9
    form = solution.field
    assert fill(field_skeleton(solution.problem, form.spec()), leaves(form)) == form


@pytest.mark.parametrize(
    ("equation", "conditions", "why"),
    [
        (
            "u_xx + u_yy = u**2",
            ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 1"],
            "not steady and linear",
        ),
        ("u_xx + u_xy + u_yy = 1", ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"], "highest"),
        ("u_xx + u_yy = 1", ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0"], "no condition"),
        ("u_xx + u_yy = 1", ["u_y(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"], "normal"),
    ],
)
def test_what_is_of_another_kind_is_left_to_others(equation, conditions, why):
    assert why in Elements().obstacle(stated([equation], conditions))


def test_a_domain_with_holes_of_right_angles_goes_to_elements_and_a_disc_does_not():
    assert elliptic(stated(["u_xx + u_yy = -1"], ["u = 0 on walls"], more=L_SHAPE)).sides
    plan = sn.solving.plans.plan_for(stated(["u_xx + u_yy = -1"], ["u = 0 on walls"], more=L_SHAPE))
    assert plan.passes[0].name == "elements"
    disc = L_SHAPE.replace("box = { x = [-1, 0], y = [-1, 0] }", "disc = { center = [0, 0], radius = 0.5 }")
    assert "parallel" in Elements().obstacle(stated(["u_xx + u_yy = -1"], ["u = 0 on walls"], more=disc))


@pytest.mark.parametrize("degree", [4, 9])
def test_nodes_carry_polynomials_and_their_slopes_exactly(degree):
    nodes, points, weights, values, slopes, to_chebyshev = reference(degree)
    power = nodes**degree
    assert np.allclose(values @ power, points**degree, atol=1e-13)
    assert np.allclose(slopes @ power, degree * points ** (degree - 1), atol=1e-11)
    assert np.isclose(weights @ points ** (2 * degree), 2 / (2 * degree + 1), rtol=1e-12)
    assert np.allclose(
        np.polynomial.chebyshev.chebval(points, to_chebyshev @ power), points**degree, atol=1e-13
    )


def test_the_digits_of_a_small_system_are_taken_beyond_the_tolerance():
    found = sn.solve(Path(__file__).parents[2] / "examples" / "poisson-neumann.toml", sn.Elements())
    assert found.error().l2re < 1e-13
    assert found.result.estimate < 1e-12
    assert found.result.parameters < 1000


@pytest.mark.parametrize("tol", [1e-5, 1e-8])
def test_the_estimate_of_short_waves_is_within_ten_times(tol):
    """Degree 14: a level gains digits by the dozen, and the estimate follows."""
    problem = stated(
        ["u_xx + u_yy + 900*u = (900 - 400*(x**2 + y**2))*cos(20*x*y)"],
        ["u(0, y) = 1", "u(1, y) = cos(20*y)", "u(x, 0) = 1", "u(x, 1) = cos(20*x)"],
    )
    solution = sn.solve(problem, Elements(tolerance=tol), monitor=sn.Monitor())
    true = at_points(solution, lambda x, y: np.cos(20 * x * y))
    assert true < tol
    assert true / 3 < solution.result.estimate < 10 * true


def test_an_error_falls_by_the_order_that_levels_show():
    """Errors ∝ n^−6 on 2, 3, 4 parts: the differences of three levels give that of the last."""
    errors = [np.array([float(n) ** -6]) for n in (2, 3, 4)]
    part = _Part()
    for gap, parts in ((errors[0], 1.5), (errors[1], 4 / 3)):
        part.differs(gap, parts, cut=False)
    assert np.isclose(part.error[0], errors[2][0])


def heated_side(x, y):
    """u = 1 on the side y = 1 of the unit square, 0 on the others: Σ 4 sin(k x) sinh(k y)/(k sinh k), k = π, 3π, …"""
    n = np.arange(1, 400, 2) * np.pi
    grown = np.exp(n * (y[:, None] - 1)) * (1 - np.exp(-2 * n * y[:, None])) / (1 - np.exp(-2 * n))
    return np.sum(4 / n * np.sin(n * x[:, None]) * grown, axis=1)


def test_a_side_at_another_value_than_its_neighbours_is_solved_with_an_honest_estimate():
    """The solution jumps in two corners: layers there alone would leave 1e-8 of the degree unseen."""
    square = stated(["u_xx + u_yy = 0"], ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 1"])
    with pytest.warns(sn.SafeNetWarning, match="values differ where sides meet"):
        solution = sn.solve(square, monitor=sn.Monitor())
    x, y = np.random.default_rng(0).uniform(0, 0.95, (2, 500))
    error = np.linalg.norm(solution(x=x, y=y) - heated_side(x, y)) / np.linalg.norm(heated_side(x, y))
    assert solution.result.outcome is sn.Outcome.SOLVED
    assert error < 3 * solution.result.estimate < 1e-9


def test_a_re_entrant_corner_is_refined_beside_corners_where_the_solution_jumps():
    """The tails at a jump never fall: they must not keep layers from the corner of an L-shape."""
    problem = stated(
        ["u_xx + u_yy = 0"],
        ["u = 0 on walls", "u = 1 on top"],
        more=L_SHAPE.replace("[pieces]", '[pieces]\ntop = "y = 1"'),
    )
    rough, fine = (
        sn.solve(problem, sn.Elements(tolerance=tol), monitor=sn.Monitor()) for tol in (1e-4, 1e-6)
    )
    assert rough.result.outcome is fine.result.outcome is sn.Outcome.SOLVED
    x, y = np.random.default_rng(0).uniform(0, 0.95, (2, 500))
    values = fine(x=x, y=y)
    apart = np.linalg.norm(rough(x=x, y=y) - values) / np.linalg.norm(values)
    assert apart < 3 * rough.result.estimate
    assert fine.result.estimate < 1e-6


def test_a_difference_far_below_the_last_at_a_corner_counts_itself():
    """Values and slopes that disagree in two corners: the last cut leaves 3e-10 of 1e-5, and an error of 5e-10."""
    clash = stated(["u_xx + u_yy = 0"], ["u(0, y) = 0", "u_x(1, y) = 1", "u(x, 0) = 0", "u(x, 1) = 0"])
    solution = sn.solve(clash, monitor=sn.Monitor())
    k = np.arange(1, 400, 2) * np.pi

    def exact(x, y):  # u_x(1, y) = 1 = Σ 4 sin(k y)/k
        grown = np.exp(k * (x[:, None] - 1)) - np.exp(-k * (x[:, None] + 1))
        return np.sum(4 * np.sin(k * y[:, None]) / k**2 * grown / (1 + np.exp(-2 * k)), axis=1)

    points = np.random.default_rng(0).uniform(0, 0.9, (200, 2))
    found = solution(x=points[:, 0], y=points[:, 1])
    error = np.linalg.norm(found - exact(*points.T)) / np.linalg.norm(found)
    assert error < 10 * solution.result.estimate < 1e-7


def helmholtz(squared):
    """u_xx + u_yy + k² u = f with u = 0 on all sides, and its solution as a sum of sines: f_mn/(k² − π²(m² + n²))."""
    problem = stated(
        [f"u_xx + u_yy + {squared}*u = x*(1 - x)*y*(1 - y)*exp(x*y)"],
        ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"],
    )
    nodes, weights = np.polynomial.legendre.leggauss(2000)
    nodes, weights, m = (nodes + 1) / 2, weights / 2, np.arange(1, 801)
    sines = np.sin(np.pi * np.outer(m, nodes)) * weights
    own = nodes * (1 - nodes)
    source = 4 * sines @ (own[:, None] * own * np.exp(np.outer(nodes, nodes))) @ sines.T
    amplitudes = source / (squared - np.pi**2 * (m[:, None] ** 2 + m**2))
    return problem, lambda x, y: np.sum(
        np.sin(np.pi * np.outer(x, m)) @ amplitudes * np.sin(np.pi * np.outer(y, m)), axis=1
    )


# 1745 = 31² + 28² = 41² + 8²: close to an eigenvalue, little of the source is almost all of the solution.
@pytest.mark.parametrize("squared", [130**2, (1745 + 1e-2) * np.pi**2])
def test_waves_of_the_equation_are_resolved_before_levels_that_agree_are_believed(squared):
    """Coarse levels agree on u ≈ f/k² to four digits; the waves are in no residual and in no difference of theirs."""
    problem, exact = helmholtz(squared)
    solution = sn.solve(problem, monitor=sn.Monitor())
    true = at_points(solution, exact)
    assert solution.result.outcome == "solved"
    assert true < 1e-8
    assert true / 10 < solution.result.estimate


def test_waves_beyond_what_elements_resolve_are_refused():
    problem, _ = helmholtz(10.0**10)
    with pytest.warns(sn.SafeNetWarning, match="the equations carry waves"):
        solution = sn.solve(problem, Elements(), monitor=sn.Monitor())
    assert solution.result.outcome == "given up"
