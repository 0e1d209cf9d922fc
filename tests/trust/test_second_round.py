"""What a hostile user found in a second round: each line was confident and wrong, or never ended."""

import numpy as np
import pytest
import sympy as sp

import safenet as sn

MIDPOINT = """
name = "angle"
unknowns = ["u"]
equations = ["u_xx + u_yy = 0"]
conditions = ["u = 0 on a", "u = 0 on b", "u_n = n_x*y + n_y*x on c"]
[domain]
x = [-1, 1]
y = [-1, 1]
remove = [{ box = { x = [0, 1], y = [-1, 0] } }]
[pieces]
a = "x = 0"
b = "y = 0"
c = "rest"
"""


def test_a_side_whose_middle_lies_on_a_line_is_not_on_that_line():
    """The middle of the side y = 1 has x = 0, and "x = 0" is another side."""
    problem = sn.loads(MIDPOINT)
    lengths = {name: sum(edge.length for edge in edges) for name, edges in problem.region.pieces.items()}
    assert lengths == pytest.approx({"a": 1, "b": 1, "c": 6})
    angle = sn.solve(problem, monitor=sn.Monitor())
    assert angle(x=-0.5, y=0.25) == pytest.approx(-0.125, abs=1e-9)


@pytest.mark.parametrize("factor", ["exp(-60*x)", "(x + 1/100)**8", "exp(-25*x**2)/(1 + x)"])
def test_a_factor_of_an_equation_changes_nothing(factor):
    """u = x/100 + cos 10x + B sin 10x, however small the factor is where the equation holds."""
    problem = sn.Problem(
        f"{factor}*(u_xx + 100*u - x) = 0", domain={"x": (0, 1)}, conditions=["u(0) = 1", "u(1) = 0"]
    )
    x, B = np.linspace(0, 1, 11), -(0.01 + np.cos(10)) / np.sin(10)
    exact = x / 100 + np.cos(10 * x) + B * np.sin(10 * x)
    np.testing.assert_allclose(sn.solve(problem, monitor=sn.Monitor())(x=x), exact, atol=1e-11)


def test_a_factor_that_is_zero_on_a_part_of_the_domain_stays():
    problem = sn.Problem(
        "where(x < 1/2, 1, 0)*(u_xx - 1) = 0", domain={"x": (0, 1)}, conditions=["u(0) = 0", "u(1) = 0"]
    )
    (equation,) = problem.equations
    assert equation.residual.subs(problem.axes[0].symbol, 0.75) == 0


@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
def test_rates_that_are_not_real_at_the_start_end_at_once():
    """(−1)^(1/3) is no real number; SciPy's first step would never end."""
    root = sn.Problem("u_t = -u**(1/3)", domain={"t": (0, 1)}, conditions=["u(0) = -1"])
    result = sn.solve(root, budget="20s", monitor=sn.Monitor()).result
    assert result.outcome == "given up"
    assert "no real, finite value at t = 0, u = -1" in result.stop_reason
    assert result.seconds < 15


LINEAR = """
name = "linear"
unknowns = ["u"]
equations = ["u_xx + u_yy + u_zz = 0"]
conditions = ["u = z on s"]
[pieces]
s = "rest"
[domain]
x = [-1, 1]
y = [-1, 1]
z = [-1, 1]
shape = [{ ball = { center = [0, 0, 0], radius = 1 } }]
"""


def test_a_solution_without_second_derivatives_has_a_residual_of_rounding():
    """u = z was found to 2e-16, and its residual, rounding over rounding, was 83 %."""
    pytest.importorskip("gmsh")
    ball = sn.solve(sn.loads(LINEAR), monitor=sn.Monitor())
    assert ball.result.outcome == "solved"
    assert ball.result.residual < 1e-9


def test_a_narrow_source_far_from_zero_does_not_overflow():
    """e^(−1000 ((x − 0.9)² + …)) as a product of exponentials is ∞ · 0."""
    from safenet.problem.weak_form import weak_form

    problem = sn.loads(
        LINEAR.replace('= 0"]', '= -exp(-1000*((x - 9/10)**2 + y**2 + z**2))"]').replace("u = z", "u = 0")
    )
    ((source, *_), *_) = weak_form(problem).rows
    x, y, z = (axis.symbol for axis in problem.axes)
    (bump,) = source.atoms(sp.exp)
    assert float(bump.subs({x: 0.9, y: 0, z: 0})) == pytest.approx(1, rel=1e-9)


@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
def test_a_value_at_a_point_does_not_balance_a_source():
    """Slopes of zero on all sides: ∫ f must be zero, and a value at a point lets nothing flow."""
    sides = ["u_x(0, y) = 0", "u_x(1, y) = 0", "u_y(x, 0) = 0", "u_y(x, 1) = 0", "u(0, 0) = 0"]
    box = {"x": (0, 1), "y": (0, 1)}
    for source, outcome in (("cos(pi*x)", "solved"), ("cos(pi*x) + 1/20", "not solved")):
        result = sn.solve(sn.Problem(f"u_xx + u_yy = {source}", domain=box, conditions=sides)).result
        assert result.outcome == outcome
        assert (result.estimate is None) == (outcome == "not solved")


def test_each_side_of_an_or_is_a_part_of_the_boundary():
    """`x = 0 or x = 2` where the domain ends at 1: a slip of the pen, and the wall x = 1 would be the rest's."""
    text = MIDPOINT.replace('a = "x = 0"', 'a = "x = 0 or x = 2"')
    with pytest.raises(sn.SafeNetError, match="alternative 2 of the piece 'a' selects nothing"):
        sn.loads(text)
