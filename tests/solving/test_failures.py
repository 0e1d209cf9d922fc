"""A failed solve warns with its cause and what to try, and ends early where symbols say that there is no solution."""

import re
import warnings

import pytest

import safenet as sn
from safenet.run.budget import Budget
from safenet.run.progress import Monitor

LINE, TIME = {"x": (0, 1)}, {"t": (0, 1)}


def levels(solver, problem):
    (each,) = solver.passes(problem)
    return len(list(each.run(problem, Monitor(), Budget())))


def failed(problem, match):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = sn.solve(problem).result
    assert any(re.search(match, str(one.message)) for one in said if one.category is sn.SafeNetWarning)
    assert result.outcome == sn.Outcome.NOT_SOLVED
    return result


def test_an_equation_without_a_value_is_named():
    problem = sn.Problem("u_xx = 1/u - u", domain=LINE, conditions=["u_x(0) = 0", "u_x(1) = 0"])
    result = failed(problem, r"1/u has no finite value at the function found \(u = 0, .*write u as a guess")
    assert result.stop_reason == "the residual is not finite"


def test_where_newtons_method_is_stuck_uniqueness_is_no_matter():
    problem = sn.Problem("u_xx = sqrt(u) - 1", domain=LINE, conditions=["u_x(0) = 0", "u_x(1) = 0"])
    result = failed(problem, "Newton's method cannot go on")
    assert not any("unique" in text for text in result.warnings)
    assert "if there is a solution far from them" in result.warnings[-1]


@pytest.mark.parametrize(
    ("equations", "conditions"),
    [
        ("u_t = -u", ["u(0) = 1", "u(1) = 1"]),
        ("u_tt = -u", ["u(0) = 1", "u(1) = 1", "u_t(0) = 4"]),
        (["u_t = v", "v_t = u"], ["u(0) = 1", "u(1) = 1", "v(0) = 1"]),
    ],
)
def test_conditions_that_contradict_each_other_end_a_solve_soon(equations, conditions):
    problem = sn.Problem(equations, domain=TIME, conditions=conditions)
    result = failed(problem, "seem to contradict each other; leave some of them out")
    assert result.estimate is None
    assert levels(sn.LeastSquares(), problem) <= 6
    assert levels(sn.Cells(), problem) <= 6


def test_conditions_that_agree_are_solved_though_there_are_too_many():
    problem = sn.Problem("u_t = -u", domain=TIME, conditions=["u(0) = 1", "u(1) = exp(-1)"])
    with pytest.warns(sn.SafeNetWarning, match="only where they agree"):
        solution = sn.solve(problem)
    assert solution.result.outcome == sn.Outcome.SOLVED
    assert solution.result.estimate < 1e-12


def test_an_equation_that_ends_inside_is_refused_soon():
    problem = sn.Problem("x*u_x + u = 0", domain={"x": (-1, 1)}, conditions=["u(1) = 1"])  # u = 1/x
    assert failed(problem, r"vanishes near x = 0, where solutions may be infinite").estimate is None
    assert levels(sn.LeastSquares(), problem) <= 6
    assert levels(sn.Cells(), problem) <= 6


def test_a_smooth_solution_of_such_an_equation_is_found():
    problem = sn.Problem("x*u_x + u = 2*x", domain={"x": (-1, 1)}, conditions=["u(1) = 1"])  # u = x
    assert sn.solve(problem)(x=-0.5) == pytest.approx(-0.5, abs=1e-12)
