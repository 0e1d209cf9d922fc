"""A problem in picometres or terametres has the same outcome and estimate as in metres."""

import pytest

import safenet as sn


def heat(length, duration, sides, start, flux="u_x"):
    return sn.Problem(
        f"u_t = {length}**2/{duration} * diff({flux}, x)/10",
        domain={"x": (0, length), "t": (0, duration)},
        conditions=[*sides, f"u(x, 0) = {start}"],
    )


@pytest.mark.parametrize("length", ["1e-12", "1e-9", "1e12"])
@pytest.mark.parametrize("duration", ["1", "1e-12", "1e12"])
def test_a_known_solution_is_solved_in_any_units(length, duration):
    solution = sn.solve(
        heat(length, duration, ["u(0, t) = 0", f"u({length}, t) = 0"], f"sin(pi*x/{length})"), sn.Modes()
    )
    assert solution.result.outcome == sn.Outcome.SOLVED
    assert solution.result.estimate < 1e-14


@pytest.mark.parametrize("length", ["1e-12", "1e12"])
def test_slopes_on_the_sides_are_solved_in_any_units(length):
    solution = sn.solve(
        heat(length, "1", ["u_x(0, t) = 0", f"u_x({length}, t) = 0"], f"cos(pi*x/{length})"), sn.Modes()
    )
    assert solution.result.outcome == sn.Outcome.SOLVED
    assert solution.result.estimate < 1e-13


@pytest.mark.parametrize("length", ["1e-12", "1e12"])
@pytest.mark.parametrize("solver", [sn.LeastSquares(), sn.Cells()], ids=["series", "cells"])
def test_coefficients_that_vary_are_solved_in_any_units(length, solver):
    problem = sn.Problem(
        f"diff((1 + x/{length})*u_x, x) = u/{length}**2",
        domain={"x": (0, length)},
        conditions=["u(0) = 1", f"u_x({length}) = 0"],
    )
    solution = sn.solve(problem, solver)
    assert solution.result.outcome == sn.Outcome.SOLVED
    assert solution.result.estimate < 1e-10


def test_what_has_no_single_solution_is_still_refused_in_nanometres():
    problem = sn.Problem(
        "u_xx + (pi*10**9)**2*u = 0", domain={"x": (0, "1e-9")}, conditions=["u(0) = 0", "u(1e-9) = 0"]
    )
    with pytest.warns(sn.SafeNetWarning):
        assert sn.solve(problem, sn.Cells()).result.outcome != sn.Outcome.SOLVED
