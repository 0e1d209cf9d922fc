"""A problem from SymPy: what is read off the symbols, and the sentence for every statement that is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from small_problems import START, L, U, c, complaint, heat, p, t, u, v, x, y
from sympy import Eq, Function, Rational, cos, exp, pi, sin, symbols

from safenet.problem import Problem
from safenet.problem.jets import coordinate

# ---- what is read


@pytest.mark.parametrize(
    ("condition", "kind", "free", "text"),
    [
        (Eq(u(0, t), 0), "dirichlet", (1,), "u(0, t) = 0"),
        (Eq(u(Rational(1, 2), t), 0), "dirichlet", (1,), "u(1/2, t) = 0"),
        (Eq(U.diff(x).subs(x, 1), cos(t)), "neumann", (1,), "u_x(1, t) = cos(t)"),
        (Eq(U.diff(x).subs(x, 1) + 4 * u(1, t), 2), "robin", (1,), "4*u(1, t) + u_x(1, t) = 2"),
        (Eq(u(0, t), u(1, t)), "periodic", (1,), "u(0, t) = u(1, t)"),
        (Eq(U.diff(x).subs(x, 0), U.diff(x).subs(x, 1)), "periodic", (1,), "u_x(0, t) = u_x(1, t)"),
        (Eq(u(0, t), 2 * u(1, t)), "general", (1,), "u(0, t) = 2*u(1, t)"),
        (Eq(u(0, t) + u(1, t), 0), "general", (1,), "u(0, t) + u(1, t) = 0"),
        (Eq(u(0, t), u(Rational(1, 2), t)), "general", (1,), "u(0, t) = u(1/2, t)"),
        (Eq(u(0, t), U.diff(x).subs(x, 1)), "general", (1,), "u(0, t) = u_x(1, t)"),
        (Eq(u(x, 0), sin(pi * x)), "initial", (0,), "u(x, 0) = sin(pi*x)"),
        (Eq(U.diff(t).subs(t, 0), x), "initial", (0,), "u_t(x, 0) = x"),
        (Eq(u(x, 1), x), "general", (0,), "u(x, 1) = x"),
        (Eq(u(0, 0), 1), "point", (), "u(0, 0) = 1"),
        (u(0, t) - 3, "dirichlet", (1,), "u(0, t) - 3 = 0"),
    ],
)
def test_kinds_and_places_of_conditions(condition: Any, kind: str, free: tuple[int, ...], text: str) -> None:
    found = heat(conditions=[START, condition]).conditions[1]
    assert (found.kind, found.free, found.text) == (kind, free, text)
    assert found.initial == (kind == "initial")


def test_a_derivative_at_a_place_is_read_in_every_way_sympy_writes_it() -> None:
    u_x = Function("u")(x, t).diff(x)
    ways = [
        u_x.subs(t, 0),
        sp.Derivative(u(x, 0), x),
        sp.Subs(u_x, t, 0),
        sp.Subs(sp.Derivative(u(x, t), x), t, 0),
    ]
    texts = {heat(conditions=[START, Eq(way, 1)]).conditions[1].text for way in ways}
    assert texts == {"u_x(x, 0) = 1"}
    corner = heat(conditions=[START, Eq(U.diff(x, t).subs({x: 0, t: 0}), 1)]).conditions[1]
    assert corner.places == ((0, 0),)


def test_a_derivative_at_a_place_of_the_only_axis_within_a_formula() -> None:
    # SymPy's cache takes Subs objects for equal that differ in their bound variable only.
    f = u(x)
    problem = Problem(
        f.diff(x, 2) + f, domain={x: (0, 1)}, conditions=[Eq(sp.cos(f.diff(x).subs(x, 0)) + pi, 1)]
    )
    assert problem.conditions[0].text == "cos(u_x(0)) + pi = 1"


def test_exactly_the_needed_derivatives() -> None:
    # Kuramoto–Sivashinsky: u, u_x, u_xx, u_xxxx, u_t and no u_xxx
    problem = heat(equations=Eq(U.diff(t) + U * U.diff(x), -U.diff(x, 2) - U.diff(x, 4)))
    assert {jet.orders for jet in problem.equations[0].jets.values()} == {
        (0, 0),
        (1, 0),
        (2, 0),
        (4, 0),
        (0, 1),
    }
    assert problem.order(0) == 4
    assert problem.time_order("u") == 1
    assert not problem.linear


def test_mixed_derivatives_in_any_order_are_one_jet() -> None:
    w = u(x, y, t)
    equation = Eq(w.diff(x, y, x, t), w.diff(t, x, y, x) * 2 + w.diff(y, 2, x))
    problem = Problem(equation, domain={x: (0, 1), y: (0, 2), t: (0, 3)}, conditions=[Eq(u(x, y, 0), 0)])
    assert {jet.orders for jet in problem.equations[0].jets.values()} == {(2, 1, 1), (1, 2, 0)}
    assert problem.equations[0].text == "u_xxyt = 2*u_xxyt + u_xyy"


def test_a_derivative_of_a_formula_is_carried_out() -> None:
    problem = heat(equations=Eq(U.diff(t), sp.Derivative(c * x * U.diff(x), x)), parameters={c: 2})
    assert problem.equations[0].residual == sp.sympify("u_t - c*x*u_xx - c*u_x", locals=_locals())


def _locals() -> dict[str, sp.Symbol]:
    return {name: coordinate(name) for name in ("u_t", "u_xx", "u_x", "c", "x")}


@pytest.mark.parametrize(
    ("equation", "linear"),
    [
        (Eq(U.diff(t), sin(x) * U.diff(x, 2) + U + exp(t)), True),
        (Eq(U.diff(t), U * U.diff(x)), False),
        (Eq(U.diff(t), sp.Abs(U)), False),
        (Eq(U.diff(t) * (1 + U), U * U.diff(t) + 1), True),  # the products cancel
    ],
)
def test_linearity(equation: Eq, linear: bool) -> None:
    assert heat(equations=equation).linear is linear


def test_a_nonlinear_condition_makes_the_problem_nonlinear() -> None:
    assert heat().linear
    assert not heat(conditions=[START, Eq(U.diff(x).subs(x, 0), u(0, t) ** 4)]).linear


def test_coefficients_and_source() -> None:
    (equation,) = heat(equations=Eq(U.diff(t), c * x * U + sin(t)), parameters={c: 3}).equations
    assert equation.coefficient(coordinate("u")) == -coordinate("c") * coordinate("x")
    assert equation.source == sin(coordinate("t"))


def test_numbers_are_exact() -> None:
    problem = heat(domain={x: (0, 0.1), t: (0, np.float64(1e-4))}, parameters={c: 0.3})
    assert problem.axes[0].upper == Rational(1, 10)
    assert problem.axes[1].upper == Rational(1, 10_000)
    assert list(problem.parameters.values()) == [Rational(3, 10)]
    assert (problem.axes[0].lo, problem.axes[0].hi, problem.axes[0].length) == (0.0, 0.1, 0.1)


def test_symbols_with_other_assumptions_are_the_same_symbols() -> None:
    x2, t2 = symbols("x t", positive=True)
    other = Problem(
        Eq(u(x2, t2).diff(t2), u(x2, t2).diff(x2, 2)),
        domain={x2: (0, 1), t2: (0, 1)},
        conditions=[Eq(u(x2, 0), sin(pi * x2))],
    )
    assert other == heat()


def test_several_unknowns() -> None:
    a, b, q = u(x, y), v(x, y), p(x, y)
    stokes = Problem(
        [
            Eq(a.diff(x, 2) + a.diff(y, 2), q.diff(x)),
            Eq(b.diff(x, 2) + b.diff(y, 2), q.diff(y)),
            a.diff(x) + b.diff(y),
        ],
        domain={x: (0, 1), y: (0, 1)},
        conditions=[Eq(u(x, 1), 1), Eq(v(x, 1), 0), Eq(p(0, 0), 0)],
    )
    assert stokes.unknowns == ("u", "p", "v")
    assert [stokes.order(axis, "p") for axis in (0, 1)] == [1, 1]
    assert stokes.time is None
    assert stokes.time_order("u") == 0
    assert [condition.kind for condition in stokes.conditions] == ["dirichlet", "dirichlet", "point"]


def test_steady_and_one_axis_problems() -> None:
    ode = Problem(Eq(u(x).diff(x, 2), -u(x)), domain={x: (0, pi)}, conditions=[Eq(u(0), 0), Eq(u(pi), 0)])
    assert [(condition.kind, condition.free) for condition in ode.conditions] == [("dirichlet", ())] * 2
    start = Problem(Eq(u(t).diff(t), -u(t)), domain={t: (0, 1)}, conditions=[Eq(u(0), 1)])
    assert start.conditions[0].kind == "initial"
    assert start.axis("t") == start.axis(t) == start.time == 0


def test_a_single_condition_needs_no_list() -> None:
    assert heat(conditions=START) == heat()


def test_places_and_ends_may_be_parameters() -> None:
    problem = heat(
        domain={x: (0, L), t: (0, 1)},
        conditions=[START, Eq(u(0, t), u(L, t)), Eq(u(L, t), 0)],
        parameters={L: 2 * pi},
    )
    assert problem.axes[0].upper == 2 * pi
    assert problem.conditions[1].kind == "periodic"
    assert problem.conditions[2].places == ((2 * pi, None),)
    longer = problem.with_parameters(L=7)
    assert longer.axes[0].hi == 7
    assert longer.conditions[2].places == ((7, None),)


def test_text_for_numbers_is_parsed_and_never_evaluated() -> None:
    problem = heat(domain={"x": ("0", "2*pi"), "t": (0, "c")}, parameters={"c": "sqrt(2)"})
    assert [axis.upper for axis in problem.axes] == [2 * pi, sp.sqrt(2)]
    for bad in ({"parameters": {"c": "__import__('os')"}}, {"domain": {x: (0, "exit()"), t: (0, 1)}}):
        assert (
            "has no meaning" in complaint(**bad).message or "brackets are empty" in complaint(**bad).message
        )


# ---- equality


def test_equal_up_to_sides_sign_order_and_names_of_numbers() -> None:
    wanted = heat(conditions=[START, Eq(u(0, t), 0)])
    assert wanted == heat(
        equations=Eq(U.diff(x, 2), U.diff(t)), conditions=[Eq(0, u(0, t), evaluate=False), START]
    )
    assert wanted == heat(
        equations=Eq(U.diff(t), c * U.diff(x, 2)), conditions=[START, Eq(u(0, t), 0)], parameters={c: 1}
    )
    assert hash(wanted) == hash(heat(conditions=[Eq(u(0, t), 0), START], name="other", title="Heat"))
    assert wanted == heat(
        conditions=[Eq(u(L, t), 0), START], domain={x: (L, 1), t: (L, 1)}, parameters={L: 0}
    )
    assert wanted == wanted.with_reference(lambda **_: 0)


def test_different_problems_differ() -> None:
    problems = [
        heat(),
        heat(equations=Eq(U.diff(t), 2 * U.diff(x, 2))),
        heat(conditions=[Eq(u(x, 0), 0)]),
        heat(conditions=[START, Eq(u(0, t), 0)]),
        heat(domain={x: (0, 2), t: (0, 1)}),
        heat(equations=Eq(v(x, t).diff(t), v(x, t).diff(x, 2)), conditions=[Eq(v(x, 0), sin(pi * x))]),
    ]
    assert len(set(problems)) == len(problems)
    assert heat() != "heat"


# ---- the exact solution


# ---- complaints


def test_a_slope_at_a_place_is_read_along_the_axis_of_its_own_problem():
    """SymPy's cache gives u_x(0) of the first problem for u_t(0) of the second."""
    for axis in "xt":
        problem = Problem(
            f"u_{axis}{axis} = -u", domain={axis: (0, 1)}, conditions=["u(0) = 0", f"u_{axis}(0) - 1 = 0"]
        )
        assert problem.conditions[1].text == f"u_{axis}(0) - 1 = 0"
        assert [jet.orders for jet in problem.conditions[1].jets.values()] == [(1,)]
