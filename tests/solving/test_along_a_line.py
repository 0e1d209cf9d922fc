"""Conditions at one end of a line: an integration from there is independent of least squares."""

import numpy as np
import pytest
from scipy.special import airy

import safenet as sn
from safenet.solving.along_a_line import apart


def on_a_line(equation, conditions, high):
    return sn.Problem(equation, domain={"x": (0, high)}, conditions=conditions)


def test_a_solution_that_other_solutions_outgrow_is_not_believed():
    """Ai decays and Bi grows: 17 digits of Ai(0) and Ai'(0) fix Ai(15) to none, and least squares found it to 12."""
    value, slope, *_ = airy(0)
    start = [f"u(0) = {value:.17g}", f"u_x(0) = {slope:.17g}"]
    with (
        pytest.warns(sn.SafeNetWarning, match="the error is estimated at"),
        pytest.warns(sn.SafeNetWarning, match="call its axis t instead of x"),
    ):
        solution = sn.solve(on_a_line("u_xx = x*u", start, 15), monitor=sn.Monitor())
    assert solution.result.outcome is sn.Outcome.NOT_SOLVED


@pytest.mark.parametrize(
    ("equation", "conditions", "exact"),
    [
        ("u_x = -3*u", ["u(2) = 1"], lambda x: np.exp(6 - 3 * x)),
        (
            "u_xxx + u_x = 0",
            ["u(2) = 1", "u_x(2) = 1", "u_xx(2) = 1"],
            lambda x: 2 - np.cos(x - 2) + np.sin(x - 2),
        ),
        ("u_xx = u_x*u", ["u(0) = 0", "u_x(0) = 1/2"], lambda x: np.tan(x / 2)),
    ],
)
def test_it_agrees_with_what_least_squares_find_from_either_end(equation, conditions, exact):
    solution = sn.solve(on_a_line(equation, conditions, 2), monitor=sn.Monitor())
    assert solution.result.outcome is sn.Outcome.SOLVED
    x = np.linspace(0, 2, 50)
    assert np.allclose(solution(x=x), exact(x), rtol=1e-9)
    assert apart(solution.problem, solution.field)[-1] < 1e-9


def test_conditions_at_both_ends_are_no_initial_values():
    both = on_a_line("u_xx = u", ["u(0) = 1", "u(2) = 0"], 2)
    assert apart(both, sn.solve(both, monitor=sn.Monitor()).field) is None
