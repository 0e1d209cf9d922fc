"""Which way equations go: what grows without bound, what enters and is not given, what the start forbids."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from sympy.utilities.lambdify import implemented_function

import safenet as sn
from safenet.errors import SafeNetError
from safenet.problem.facts.direction import closed_lines, entering, leaving, runaway
from safenet.problem.facts.posedness import doubts, left_free
from safenet.problem.facts.undecided import undecided

STRIP, SQUARE = "x = [0, 1], t = [0, 1]", "x = [0, 1], y = [0, 1]"
SIDES = "u(0, t) = 0; u(1, t) = 0; u(x, 0) = sin(pi*x)"


def stated(equations: str, conditions: str, domain: str = STRIP, unknowns: str = "u") -> sn.Problem:
    def listed(text: str) -> str:
        return ", ".join(f'"{each}"' for each in text.split("; "))

    names = ", ".join(f'"{name}"' for name in unknowns)
    return sn.loads(
        f"unknowns = [{names}]\nequations = [{listed(equations)}]\nconditions = [{listed(conditions)}]\n"
        f"domain = {{ {domain} }}\n"
    )


ILL_POSED = {
    "heat backwards": ("u_t = -u_xx", SIDES),
    "backwards on one half": ("u_t = (x - 1/2)*u_xx", SIDES),
    "backwards from some time on": ("u_t = cos(4*t)*u_xx", SIDES),
    "Laplace in time": ("u_tt = -u_xx", f"{SIDES}; u_t(x, 0) = 0"),
    "a beam with the wrong sign": (
        "u_tt = u_xxxx",
        f"{SIDES}; u_t(x, 0) = 0; u_xx(0, t) = 0; u_xx(1, t) = 0",
    ),
    "Hadamard's": ("u_xx + u_yy = 0", "u(0, y) = 0; u(1, y) = 0; u(x, 1) = x; u_y(x, 1) = 0", SQUARE),
    "with coefficients": ("u_xx + (1 + x)*u_yy = 0", "u(x, 0) = x; u_y(x, 0) = 0", SQUARE),
    "Cauchy and Riemann": ("u_x = v_y; u_y = -v_x", "u(x, 0) = x; v(x, 0) = 0", SQUARE, "uv"),
    "Burgers backwards": ("u_t = u_xx/2 + u*u_x", "u(0, t) = 0; u(1, t) = 0; u(x, 1) = sin(pi*x)"),
    "backwards with a sink": ("u_t = -u_xx/10 - u**2", SIDES),
    "nonlinear Laplace in time": ("u_tt = -u_xx + u**2", f"{SIDES}; u_t(x, 0) = 0"),
    "heat sideways": ("u_t = u_xx", "u(0, t) = 0; u_x(0, t) = t; u(x, 0) = 0"),
}
WELL_POSED = {
    "heat": ("u_t = u_xx", SIDES),
    "growth that is bounded": ("u_t = u_xx/10 + 20*u", SIDES),
    "waves": ("u_tt = u_xx", f"{SIDES}; u_t(x, 0) = 0"),
    "a double root": ("u_t = v_x; v_t = 0", "u(x, 0) = x; v(x, 0) = x; u(0, t) = 0", STRIP, "uv"),
    "a beam": ("u_tt = -u_xxxx", f"{SIDES}; u_t(x, 0) = 0; u_xx(0, t) = 0; u_xx(1, t) = 0"),
    "Schroedinger": (
        "u_t = -v_xx; v_t = u_xx",
        f"{SIDES}; v(0, t) = 0; v(1, t) = 0; v(x, 0) = 0",
        STRIP,
        "uv",
    ),
    "Laplace": ("u_xx + u_yy = 0", "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0; u(x, 1) = x*(1 - x)", SQUARE),
    "transport": ("u_x + u_y = 0", "u(0, y) = y; u(x, 0) = -x", SQUARE),
    "Burgers": ("u_t = u_xx/10 + u*u_x", SIDES),
    "porous, of either sign": ("u_t = diff(u*u_x, x)", SIDES),
    "shallow water": (
        "u_t = -v*u_x - u*v_x; v_t = -v*v_x - u_x",
        "u(0, t) = 1; v(1, t) = 0; u(x, 0) = 1; v(x, 0) = 0",
        STRIP,
        "uv",
    ),
    "a fourth order that damps": (
        "u_t = -u_xx - u_xxxx/100 - u*u_x",
        f"{SIDES}; u_xx(0, t) = 0; u_xx(1, t) = 0",
    ),
    "a side is free": ("u_xx + u_yy = 0", "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0", SQUARE),
}


@pytest.mark.parametrize("name", ILL_POSED)
def test_short_waves_that_grow_without_bound_are_named(name: str) -> None:
    (text,) = runaway(stated(*ILL_POSED[name]))
    assert "without bound" in text


@pytest.mark.parametrize("name", WELL_POSED)
def test_what_is_well_posed_is_left_in_peace(name: str) -> None:
    assert runaway(stated(*WELL_POSED[name])) == ()


@pytest.mark.parametrize(
    ("equation", "conditions", "ends"),
    [
        ("u_t + u_x = 0", "u(x, 0) = x", ["x = 0"]),
        ("u_t + u_x = 0", "u(1, t) = 1; u(x, 0) = x", ["x = 0"]),
        ("u_t + u_x = 0", "u(0, t) = 0; u(x, 0) = x", []),
        ("-u_t + u_x = 0", "u(x, 0) = x", ["x = 1"]),
        ("u_t - (x - 1/2)*u_x = 0", "u(x, 0) = x", ["x = 0", "x = 1"]),
        ("u_t + (x - 1/2)*u_x = 0", "u(x, 0) = x", []),
        ("u_t + sin(7*t)*u_x = 0", "u(0, t) = 0; u(x, 0) = x", ["x = 1"]),
        ("u_t + u_x = 0", "u(0, t) = u(1, t); u(x, 0) = sin(2*pi*x)", []),
        ("u_t + u_x = u_xx", SIDES, []),
        ("u_t + u*u_x = 0", "u(x, 0) = x", []),  # which way depends on u
    ],
)
def test_where_u_enters_something_must_be_given(equation: str, conditions: str, ends: list[str]) -> None:
    found = entering(stated(equation, conditions))
    assert [text.split("at ")[1].split(",")[0] for text in found] == ends


@pytest.mark.parametrize(("start", "said"), [("1", True), ("0", False), ("x*0", False)])
def test_a_start_that_a_constraint_forbids_has_no_solution(start: str, said: bool) -> None:
    found = undecided(stated("u_t = v; u = t**2", f"u(0) = {start.replace('x*', '')}", "t = [0, 1]", "uv"))
    assert any("there is no solution" in text for text in found) == said


@pytest.mark.parametrize(
    ("equation", "missing"),
    [
        ("x**2*u_xx + x*u_x + u_yy = 0", 0),
        ("u_xx + u_x/x + u_yy/x**2 = 0", 0),
        ("x*u_xx + u_x + x*u_yy = 0", 0),
        ("(1 + x)*u_xx + u_yy = 0", 1),
    ],
)
def test_no_condition_is_missed_where_an_equation_degenerates(equation: str, missing: int) -> None:
    """Polar coordinates at r = 0."""
    problem = stated(
        equation,
        "u(1, y) = cos(y); u(x, 0) = u(x, 2*pi); u_y(x, 0) = u_y(x, 2*pi)",
        'x = [0, 1], y = [0, "2*pi"]',
    )
    assert len(left_free(problem)) == missing


def test_a_function_of_numbers_is_no_unknown() -> None:
    x, u = sp.Symbol("x"), sp.Function("u")
    k = implemented_function("k", lambda x: 1 + x)
    with pytest.raises(SafeNetError, match="without a formula") as refused:
        sn.Problem(sp.Eq(u(x).diff(x, 2), k(x)), conditions=[sp.Eq(u(0), 0)], domain={"x": (0, 1)})
    assert "sn.Table" in str(refused.value.remedy)


def test_a_coefficient_that_jumps_is_to_be_written_with_its_flux() -> None:
    with pytest.raises(SafeNetError, match="cannot be differentiated") as refused:
        stated("diff((1 + 9*heaviside(x - 1/2))*u_x, x) = 0", "u(0) = 0; u(1) = 1", "x = [0, 1]")
    assert "f = k*u_x" in str(refused.value.remedy)


def test_a_wave_that_no_equation_restricts_is_named_by_its_periods():
    problem = sn.Problem(
        "2*u_x - u_y = cos(2*pi*x)",
        domain={"x": (0, 1), "y": (0, 1)},
        conditions=["u(0, 0) = 0"],
        periodic=["x", "y"],
    )
    (reason,) = closed_lines(problem)
    assert "restricts a wave with 1 period along x and 2 periods along y" in reason


@pytest.mark.parametrize(
    ("equation", "conditions", "ends"),
    [
        ("u_t + u_x = 0", "u(0, t) = 0; u(1, t) = 0; u(x, 0) = sin(pi*x)", ["x = 1"]),
        ("u_t - u_x = 0", "u(0, t) = 0; u(1, t) = 0; u(x, 0) = sin(pi*x)", ["x = 0"]),
        ("u_t + u_x = 0", "u(0, t) = 0; u(x, 0) = sin(pi*x)", []),
        ("u_t + (x - 1/2)*u_x = 0", "u(1, t) = 0; u(x, 0) = 0", ["x = 1"]),
        ("u_t + (t - 1/2)*u_x = 0", "u(0, t) = 0; u(1, t) = 0; u(x, 0) = 0", []),
        ("u_t + u_x = u_xx", "u(0, t) = 0; u(1, t) = 0; u(x, 0) = 0", []),
        ("u_t + u_x = 0", "u(0, t) = u(1, t); u(x, 0) = sin(2*pi*x)", []),
    ],
)
def test_a_condition_where_what_is_carried_leaves_is_one_too_many(
    equation: str, conditions: str, ends: list[str]
) -> None:
    said = leaving(stated(equation, conditions))
    assert [text.split(",")[0].split("leaves at ")[1] for text in said] == ends
    assert set(said) <= set(doubts(stated(equation, conditions)))


def test_an_oscillation_in_time_is_no_backward_problem():
    """u_t = u_xx + cos t with u(x, 0) = u(x, 2π): u = Re (1 − cosh k(1 − x)/cosh k) e^{it}/i, k² = i."""
    oscillation = sn.Problem(
        "u_t = u_xx + cos(t)",
        domain={"x": (0, 1), "t": (0, "2*pi")},
        conditions=["u(0, t) = 0", "u_x(1, t) = 0", "u(x, 0) = u(x, 2*pi)"],
    )
    solution = sn.solve(oscillation, monitor=sn.Monitor())
    k, (x, t) = np.sqrt(1j), np.random.default_rng(0).uniform((0, 0), (1, 6), (200, 2)).T
    truth = (np.exp(1j * t) / 1j * (1 - np.cosh(k * (1 - x)) / np.cosh(k))).real
    assert solution.result.outcome is sn.Outcome.SOLVED
    assert np.allclose(solution(x=x, t=t), truth, atol=1e-12)
