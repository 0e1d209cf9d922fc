"""Exact solutions that are none, and statements that are no problem: refused, with what to try."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from small_problems import START, L, U, c, complaint, heat, t, u, v, x, y
from sympy import Eq, Rational, cos, exp, pi, sin, symbols

from safenet.errors import SafeNetError
from safenet.problem import Problem
from safenet.problem.jets import coordinate


def test_reference_from_the_exact_solution() -> None:
    problem = heat(exact=exp(-(pi**2) * t) * sin(pi * x))
    points, times = np.linspace(0, 1, 5), np.array(0.1)
    expected = np.exp(-(np.pi**2) * 0.1) * np.sin(np.pi * points)
    np.testing.assert_allclose(problem.reference(x=points, t=times), expected, rtol=1e-14)
    assert problem.has_reference
    assert problem.reference_accuracy == 0.0


def test_reference_of_several_fields_is_a_dict() -> None:
    problem = Problem(
        [Eq(u(t).diff(t), v(t)), Eq(v(t).diff(t), -u(t))],
        domain={t: (0, 1)},
        conditions=[Eq(u(0), 0), Eq(v(0), 1)],
        exact={u: sin(t), "v": cos(t)},
    )
    values = problem.reference(t=np.array([0.5]))
    assert set(values) == {"u", "v"}
    np.testing.assert_allclose(values["v"], np.cos(0.5))


def test_without_a_reference_there_is_none() -> None:
    assert heat().reference_accuracy is None
    assert not heat().has_reference
    with pytest.raises(SafeNetError, match="neither an exact solution nor a reference"):
        heat().reference(x=0, t=0)


def test_a_wrong_exact_solution_is_refused_with_the_terms_that_do_not_cancel() -> None:
    error = complaint(exact=exp(-9 * t) * sin(pi * x))
    assert "does not satisfy equation 1: u_t = u_xx" in error.message
    assert "u_t →" in error.remedy
    assert "-u_xx →" in error.remedy
    error = complaint(exact=exp(-(pi**2) * t) * sin(pi * x) * 2)
    assert "does not satisfy condition 1: u(x, 0) = sin(pi*x)" in error.message


@pytest.mark.parametrize(
    ("exact", "message"),
    [
        ({"w": sin(x)}, "lacks the unknown u"),
        ({"u": sin(x), "w": sin(x)}, "names w, which is not an unknown"),
        (c * sin(x), "the exact solution of u contains the unknown symbol c"),
        ("sin(w)", "the exact solution of u, column 5: the name 'w' is not known"),
        ([1, 2], "the exact solution of u is"),
    ],
)
def test_an_exact_solution_must_be_one_formula_for_each_unknown(exact: Any, message: str) -> None:
    assert message in complaint(exact=exact).message


@pytest.mark.parametrize(
    ("changes", "message", "remedy"),
    [
        ({"equations": []}, "at least one equation", ""),
        (
            {"equations": Eq(U.diff(t), c * U)},
            "equation 1: the symbol c is neither an axis (x, t) nor",
            "c = 1",
        ),
        ({"equations": Eq(x, x)}, "equation 1 is always true: SymPy reduced it to True", "differ"),
        ({"equations": [U.diff(t), U.diff(t) == 0]}, "equation 2 is always false", "sympy.Eq"),
        ({"equations": Eq(U, U, evaluate=False)}, "equation 1 is always true: both sides", ""),
        ({"equations": 3}, "contain no unknown function", "Function('u')"),
        ({"equations": Eq(x, t)}, "contain no unknown function", "Function('u')"),
        ({"equations": [U.diff(t), Eq(x, t)]}, "equation 2 (x = t) does not contain an unknown", "are u"),
        ({"equations": Eq(u(0, t).diff(t), U)}, "equation 1 fixes a place: u_t(0, t)", "move this"),
        ({"equations": Eq(u(x).diff(x), U)}, "u(x) has 1 arguments, the domain has 2 axes", "u(x, t)"),
        ({"equations": Eq(u(t, x).diff(x), 0)}, "u(t, x) has t in the place of x", "in this order"),
        ({"equations": Eq(U.diff(t), u(x + 1, t))}, "has x + 1 in the place of x", "a fixed one is a number"),
        ({"equations": Eq(U.diff(t), u(U, t))}, "in the place of x", "number"),
        ({"equations": Eq(U.diff(t), u(x, y).diff(y))}, "a derivative in y, which is not an axis", "x, t"),
        (
            {"equations": Eq(U.diff(t), v(x, t)), "unknowns": ["u"]},
            "'v' is not one of the unknowns (u)",
            "declare",
        ),
        ({"unknowns": ["u", "v"]}, "the unknown v appears in no equation", "add its equation"),
        ({"equations": Eq(U.diff(t), sp.sqrt(-2))}, "equation 1 (u_t = sqrt(2)*I) is not real", "roots"),
        ({"equations": Eq(U.diff(t), sp.erf(x))}, "equation 1: cannot compute erf in erf(x)", "use Abs"),
        (
            {"equations": Eq(sp.I * U.diff(t) + U.diff(x, 2), 0)},
            "equation 1 (I*u_t + u_xx = 0) is complex",
            "write u = v + i w",
        ),
        ({"equations": Eq(U.diff(t), sp.oo)}, "is not real and finite", "zero"),
        ({"domain": {}}, "the domain has no axis", "domain={x"),
        ({"domain": [0, 1]}, "the domain is [0, 1]", "domain={x"),
        ({"domain": {x: (0, 1), t: 1}}, "the interval of t is 1", "t = [0, 1]"),
        ({"domain": {x: (0, 1), t: "01"}}, "the interval of t is '01'", "t = [0, 1]"),
        ({"domain": {x: (1, 0), t: (0, 1)}}, "the interval of x is [1, 0]: empty or reversed", "x = [0, 1]"),
        ({"domain": {x: (0, 0), t: (0, 1)}}, "empty or reversed", "widen"),
        ({"domain": {x: (0, sp.oo), t: (0, 1)}}, "the upper end of x is oo, not a finite real", "number"),
        ({"domain": {x: (0, sp.I), t: (0, 1)}}, "not a finite real number", "number"),
        ({"domain": {x: (0, 10**400), t: (0, 1)}}, "not a finite real number", "number"),
        ({"domain": {x: (0, L), t: (0, 1)}}, "the upper end of x depends on L", "give L a number"),
        ({"domain": {x: (0, None), t: (0, 1)}}, "the upper end of x is None", "a number"),
        ({"domain": {t: (0, 1), x: (0, 1)}}, "the axis t comes before x", "u(x, t), not u(t, x)"),
        ({"domain": {x: (0, 1), "x": (0, 1), t: (0, 1)}}, "an axis appears twice: x, x, t", "one interval"),
        ({"parameters": {c: y}}, "the parameter c depends on y", "give y a number"),
        ({"parameters": {c: float("nan")}}, "the parameter c is nan, not a finite", "number"),
        ({"parameters": {c: [1]}}, "the range of c is [1]", "c = [0.01, 0.1]"),
        ({"parameters": [("c", 1)]}, "the parameters are [('c', 1)]", "parameters={name: …}"),
        ({"pieces": ["walls"]}, "the pieces are ['walls']", "pieces={name: …}"),
        ({"parameters": {x: 1}}, "x is both an axis and a parameter", "rename"),
        ({"parameters": {"u": 1}}, "u is both an unknown and a parameter", "rename"),
        ({"parameters": {"u_x": 1}}, "'u_x' already means a derivative of u", "rename"),
        (
            {"conditions": [Eq(u(2, t), 0)]},
            "condition 1 is placed at x = 2, outside the domain 0 ≤ x ≤ 1",
            "widen",
        ),
        (
            {"conditions": [START, Eq(u(-0.5, t), 0)]},
            "condition 2 is placed at x = -1/2, outside",
            "x = 0 or 1",
        ),
        ({"conditions": [START, Eq(u(L, t), 0)]}, "condition 2: the place of x depends on L", "give L"),
        ({"conditions": []}, "u has 1 time derivative but no initial condition", "add u(x, 0) = …"),
        ({"conditions": [START, Eq(x, 1)]}, "condition 2 (x = 1) does not contain an unknown", "u(0, t) = 0"),
        ({"conditions": [START, Eq(U, 1)]}, "condition 2 (u = 1) holds in the whole domain", "u(0, t)"),
        ({"conditions": [START, Eq(u(0, t), u(x, 0))]}, "mixes places of different shape", "same axes"),
        ({"conditions": [START, Eq(u(0, t), x)]}, "contains x, which its place fixes", "replace x"),
        ({"conditions": [START, True]}, "condition 2 is always true", "sympy.Eq"),
    ],
)
def test_a_statement_that_is_no_problem(changes: dict[str, Any], message: str, remedy: str) -> None:
    error = complaint(**changes)
    assert message in error.message
    assert remedy in error.remedy


def test_missing_initial_conditions_are_named() -> None:
    error = complaint(equations=Eq(U.diff(t, 2), U.diff(x, 2)))
    assert error.message == "u has 2 time derivatives but 1 initial condition"
    assert error.remedy == "add u_t(x, 0) = …"
    assert complaint(equations=Eq(U.diff(t, 2), U.diff(x, 2)), conditions=[]).remedy == (
        "add u(x, 0) = … and u_t(x, 0) = …"
    )


def test_one_unknown_may_be_named_alone() -> None:
    assert heat(unknowns="u").unknowns == ("u",)
    text = {"conditions": ["uv(x, 0) = 0"], "domain": {"x": (0, 1), "t": (0, 1)}}
    assert Problem("uv_t = uv_xx", unknowns="uv", **text).unknowns == ("uv",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unknowns": 5}, "the unknowns are 5"),
        ({"unknowns": [5]}, "the unknowns are [5]"),
        ({"remove": 5}, "remove is 5, not a shape"),
        ({"shape": "disc"}, "shape is 'disc', not a shape"),
    ],
)
def test_what_is_of_another_kind_is_refused(changes: dict[str, Any], message: str) -> None:
    assert complaint(**changes).message == message


def test_a_value_at_one_point_begins_nothing() -> None:
    """u_tt = u_xx with u(x, 0) and u(1/2, 0) = 1 would be solved as if u_t(x, 0) were given."""
    pinned = Eq(u(Rational(1, 2), 0), 1)
    error = complaint(equations=Eq(U.diff(t, 2), U.diff(x, 2)), conditions=[START, pinned])
    assert error.message == "u has 2 time derivatives but 1 initial condition"
    assert error.remedy == "add u_t(x, 0) = …"
    assert heat(conditions=[START, pinned]).conditions[1].kind == "point"


def test_a_slope_taken_after_its_place_is_explained_and_the_remedy_works() -> None:
    for value, verdict in ((0, "true"), (1, "false")):
        error = complaint(conditions=[START, Eq(u(0, t).diff(x), value)])
        assert error.message.startswith(f"condition 2 is always {verdict}")
        assert "u(0, t) does not depend on x" in error.remedy
        assert "u(x, t).diff(x).subs(x, 0)" in error.remedy
    assert heat(conditions=[START, Eq(U.diff(x).subs(x, 0), 0)]).conditions[1].text == "u_x(0, t) = 0"


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ({"x": 0.3}, "the coordinate t is missing"),
        ({"x": 0.3, "t": 0, "y": 1}, "'y' is not an axis"),
        ({"x": "left", "t": 0}, "the coordinates are not points"),
        ({"x": [0, 1], "t": [0, 0.5, 1]}, "the coordinates are not points"),
    ],
)
@pytest.mark.parametrize("known", [{"exact": exp(-(pi**2) * t) * sin(pi * x)}, {"reference": lambda x, t: x}])
def test_the_reference_asks_for_points(points: dict[str, Any], message: str, known: dict[str, Any]) -> None:
    with pytest.raises(SafeNetError, match=message):
        heat(**known).reference(**points)


def test_axes_whose_names_run_together_are_refused() -> None:
    a, aa = symbols("a aa")
    with pytest.raises(SafeNetError, match="'aa' is spelt like several other axes"):
        Problem(u(a, aa).diff(a, 2) - u(a, aa).diff(aa), domain={a: (0, 1), aa: (0, 1)})


def test_parameters_can_be_changed_but_not_invented() -> None:
    problem = heat(equations=Eq(U.diff(t), c * U.diff(x, 2)), parameters={c: 1})
    assert problem.with_parameters(c=0.5).parameters == {coordinate("c"): Rational(1, 2)}
    with pytest.raises(SafeNetError, match="has no parameter 'k'") as caught:
        problem.with_parameters(k=1)
    assert caught.value.remedy == "its parameters: c"
    with pytest.raises(SafeNetError, match="'z' is not an axis"):
        problem.axis("z")


def test_repr_shows_the_statement() -> None:
    assert repr(heat(name="heat")) == "Problem(heat: u_t = u_xx; x ∈ [0, 1], t ∈ [0, 1])"


def test_a_python_function_for_a_parameter_is_sent_to_the_tables():
    with pytest.raises(SafeNetError, match=r"the parameter c is a function\n.*Table"):
        heat(parameters={"c": lambda x: x})
