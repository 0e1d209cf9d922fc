"""The user's numbers, SymPy or text in one canonical form: real symbols of the same names, exact numbers."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.logic.boolalg import BooleanAtom

from ..errors import Place, SafeNetError, about
from .evaluate import constant
from .jets import coordinate, exact_numbers
from .language.names import Names
from .language.text import parse_expression
from .language.where import without_piecewise
from .pieces import On
from .relation import Axis

if TYPE_CHECKING:
    from .problem import Problem


def name_of(symbol: Any) -> str:
    if isinstance(symbol, str):
        return symbol
    if isinstance(symbol, AppliedUndef):
        return str(symbol.func.__name__)
    return str(getattr(symbol, "name", None) or getattr(symbol, "__name__", symbol))


def canonical(expression: sp.Basic) -> Any:
    """The same expression with exact numbers, real symbols of the same names, and `Piecewise` as `where`."""
    expression = exact_numbers(expression)
    real = {symbol: coordinate(symbol.name) for symbol in expression.atoms(sp.Symbol)}
    return without_piecewise(expression.xreplace(real))


def rebuilt(expression: sp.Basic) -> Any:
    """The same expression in SymPy's automatic form: factor() leaves 2*(x + 1), which becomes 2*x + 2."""
    return expression.func(*map(rebuilt, expression.args)) if expression.args else expression


def expression_of(value: Any, label: str, axes: Sequence[str] = (), parameters: Sequence[str] = ()) -> Any:
    """A number, SymPy expression or text as a canonical expression; text is parsed, never evaluated."""
    if isinstance(value, str):
        return parse_expression(value, Names(tuple(axes), (), tuple(parameters)), label)
    try:
        expression = sp.sympify(value, strict=True)
    except sp.SympifyError:
        expression = None
    if not isinstance(expression, sp.Expr):
        remedy = "give a number or a SymPy expression"
        if callable(value):
            remedy += "; a Python function goes into tables: tables={name: sn.Table(function, x=(0, 1))}"
        shown = f"a {type(value).__name__}" if callable(value) else repr(value)
        raise SafeNetError(f"{label} is {shown}", remedy)
    return canonical(expression)


def equation_statements(given: Any) -> list[sp.Eq]:
    """One equation or a list of them, in canonical form."""
    found = []
    for index, statement in enumerate(given if isinstance(given, (list, tuple)) else [given]):
        with about("equations", index):
            found.append(statement_of(statement, f"equation {index + 1}"))
    if not found:
        raise SafeNetError("a problem needs at least one equation")
    return found


def condition_statements(given: Any) -> list[On]:
    """Conditions in canonical form; those placed by their arguments have an empty piece name."""
    found = []
    for index, one in enumerate(given if isinstance(given, (list, tuple)) else [given]):
        piece, statement = (one.piece, one.statement) if isinstance(one, On) else ("", one)
        with about("conditions", index):
            found.append(On(piece, statement_of(statement, f"condition {index + 1}")))
    return found


def statement_of(statement: Any, label: str) -> sp.Eq:
    """An unevaluated Eq in canonical form; plain expressions mean «= 0»."""
    if isinstance(statement, (bool, BooleanAtom)):
        verdict = bool(statement)  # from Python's ==, or SymPy's Eq, to which u(0, t).diff(x) is 0 at once
        raise SafeNetError(
            f"{label} is always {str(verdict).lower()}: SymPy reduced it to {verdict}",
            "use sympy.Eq(left, right) rather than =="
            if isinstance(statement, bool)
            else "check that both sides differ; u(0, t) does not depend on x, so write a slope there as "
            "u(x, t).diff(x).subs(x, 0)",
        )
    if not isinstance(statement, sp.Eq):
        if not isinstance(statement, (sp.Expr, int, float)):
            raise SafeNetError(f"{label} is not an equation: {statement!r}", "use sympy.Eq(left, right)")
        statement = sp.Eq(sp.sympify(statement, strict=True), 0, evaluate=False)
    lhs, rhs = canonical(statement.lhs), canonical(statement.rhs)
    if lhs - rhs == 0:
        raise SafeNetError(
            f"{label} is always true: both sides are {lhs}",
            "a term is missing on one side, or the line can go",
        )
    return sp.Eq(lhs, rhs, evaluate=False)


def number_of(value: Any, label: str) -> sp.Expr:
    number = expression_of(value, label)
    if number.free_symbols:
        missing = ", ".join(sorted(str(symbol) for symbol in number.free_symbols))
        raise SafeNetError(f"{label} depends on {missing}, which has no value", f"give {missing} a number")
    try:
        constant(number)
    except SafeNetError:
        raise SafeNetError(f"{label} is {value}, not a finite real number", "give a number, e.g. 1") from None
    return number


def ends_of(name: str, ends: Any, parameters: Mapping[sp.Symbol, sp.Expr]) -> tuple[sp.Expr, sp.Expr]:
    """The two ends of an axis, as stated."""
    known = [symbol.name for symbol in parameters]
    if not isinstance(ends, (tuple, list, sp.Tuple)) or len(ends) != 2:
        raise SafeNetError(f"the interval of {name} is {ends!r}", f"give two numbers: {name} = [0, 1]")
    return (
        expression_of(ends[0], f"the lower end of {name}", (), known),
        expression_of(ends[1], f"the upper end of {name}", (), known),
    )


def axis_of(name: str, low: sp.Expr, high: sp.Expr, parameters: Mapping[sp.Symbol, sp.Expr]) -> Axis:
    lower = number_of(low.xreplace(dict(parameters)), f"the lower end of {name}")
    upper = number_of(high.xreplace(dict(parameters)), f"the upper end of {name}")
    lo, hi = constant(lower), constant(upper)
    if not lo < hi:
        remedy = f"write {name} = [{high}, {low}]" if hi < lo else f"widen it: {name} = [0, 1]"
        raise SafeNetError(f"the interval of {name} is [{low}, {high}]: empty or reversed", remedy)
    return Axis(coordinate(name), lower, upper, lo, hi)


def listed_unknowns(given: Any) -> tuple[str, ...] | None:
    """The unknowns as named by the user, of which one may be given as a string; None if they are to be found."""
    listed = [given] if isinstance(given, str) else given
    if listed is None:
        return None
    if not isinstance(listed, (list, tuple)) or not all(isinstance(name, str) for name in listed):
        raise SafeNetError(
            f"the unknowns are {given!r}", 'list their names: unknowns=["u", "v"]', Place(("unknowns",))
        )
    return tuple(listed)


def unknowns_of(statements: Sequence[sp.Eq], known: Container[str] = ()) -> tuple[str, ...]:
    """The undefined functions in the equations, in order of appearance."""
    found: dict[str, None] = {}
    for statement in statements:
        for node in sp.preorder_traversal(statement):
            if isinstance(node, AppliedUndef) and node.func.__name__ not in known:
                _check_symbolic(node)
                found.setdefault(node.func.__name__)
    if not found:
        raise SafeNetError(
            "the equations contain no unknown function",
            "write the unknown with its arguments, e.g. u = Function('u'), Eq(u(x, t).diff(t), …)",
        )
    return tuple(found)


def _check_symbolic(node: AppliedUndef) -> None:
    """SymPy's implemented_function("k", f) looks like an unknown k, but is not one."""
    if hasattr(node.func, "_imp_"):
        name, ends = node.func.__name__, ", ".join(f"{x}=(0, 1)" for x in node.args)
        raise SafeNetError(
            f"{name} is a numerical function without a formula",
            f'write {name} = Function("{name}") and give tables={{"{name}": sn.Table(f, {ends})}}',
        )


def exact_of(problem: Problem, given: Any) -> dict[str, sp.Expr]:
    """The exact solution of each unknown, from one expression or one per unknown."""
    fields = given if isinstance(given, Mapping) else {problem.unknowns[0]: given}
    parameters = [symbol.name for symbol in problem.parameters]
    known = {axis.symbol for axis in problem.axes} | problem.parameters.keys()
    found: dict[str, sp.Expr] = {}
    for field, value in ((name_of(key), value) for key, value in fields.items()):
        with about("exact", field):
            label = f"the exact solution of {field}"
            found[field] = rebuilt(expression_of(value, label, problem.axis_names, parameters))
            for symbol in sorted(found[field].free_symbols - known, key=str):
                raise SafeNetError(f"{label} contains the unknown symbol {symbol}")
    with about("exact"):
        for field in problem.unknowns:
            if field not in found:
                raise SafeNetError(f"the exact solution lacks the unknown {field}", f"add {field} = …")
        for field in found:
            if field not in problem.unknowns:
                raise SafeNetError(f"the exact solution names {field}, which is not an unknown")
    return {field: found[field] for field in problem.unknowns}
