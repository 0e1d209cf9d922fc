"""expr(x, t, …) as array arithmetic: a SymPy tree walked with NumPy or JAX, nothing compiled or executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import sympy as sp

from ..errors import SafeNetError
from .language.tabulated import Tabulated
from .language.where import Where

if TYPE_CHECKING:
    from .jets import Jet
    from .problem import Problem

UNARY: dict[type[sp.Basic], str] = {
    sp.sin: "sin",
    sp.cos: "cos",
    sp.tan: "tan",
    sp.asin: "arcsin",
    sp.acos: "arccos",
    sp.atan: "arctan",
    sp.sinh: "sinh",
    sp.cosh: "cosh",
    sp.tanh: "tanh",
    sp.exp: "exp",
    sp.log: "log",
    sp.Abs: "abs",
    sp.sign: "sign",
}
COMPOSED: dict[type[sp.Basic], Callable[[ModuleType, Any], Any]] = {
    sp.sech: lambda xp, z: 1 / xp.cosh(z),
    sp.csch: lambda xp, z: 1 / xp.sinh(z),
    sp.coth: lambda xp, z: 1 / xp.tanh(z),
    sp.sec: lambda xp, z: 1 / xp.cos(z),
    sp.csc: lambda xp, z: 1 / xp.sin(z),
    sp.cot: lambda xp, z: 1 / xp.tan(z),
}
OTHERS = (sp.Max, sp.Min, sp.atan2, sp.Heaviside)
PARTIAL = (sp.tan, sp.asin, sp.acos, sp.log)  # undefined for some arguments
JUMPS = (sp.sign, sp.Heaviside, Where)
KINKS = (sp.Abs, sp.Max, sp.Min, *JUMPS)

REMEDY = "use " + ", ".join(sorted(f.__name__ for f in (*UNARY, *COMPOSED, *OTHERS))) + ", Piecewise, sqrt"
SMOOTH = (
    "a jump has no slope: smooth it, e.g. (1 + tanh(x/0.01))/2 for heaviside(x), or write a smooth formula in pieces, "
    "where(x > 0, x**2, 0) for max(x, 0)**2"
)


def computable(expression: sp.Expr) -> None:
    """Raise if `expression` contains a function that `evaluate` would refuse, before anything is computed."""
    operations = (sp.Add, sp.Mul, sp.Pow, *UNARY, *COMPOSED, *OTHERS, Where)
    todo = [expression]
    while todo:
        node = todo.pop()
        if isinstance(node, Tabulated):
            todo += node.at
            continue
        if node.is_Symbol or node.is_number:
            continue
        if not isinstance(node, operations):
            _refuse(node)
        todo += node.args


def evaluate(expression: sp.Expr, values: Mapping[sp.Symbol, Any], xp: ModuleType) -> Any:
    """The value of `expression` where each symbol has the given array (or number); shared parts are computed once."""
    memo: dict[sp.Basic, Any] = {}

    def walk(node: sp.Basic) -> Any:
        if node not in memo:
            memo[node] = compute(node)
        return memo[node]

    def compute(node: sp.Basic) -> Any:
        if isinstance(node, sp.Symbol):
            try:
                return values[node]
            except KeyError:
                raise SafeNetError(f"the symbol {node} has no value in {expression}") from None
        if isinstance(node, Where):
            g, a, b = node.args
            holds = walk(g) > 0
            return xp.where(holds, piece(a, holds), piece(b, ~holds))
        if isinstance(node, Tabulated):
            return node.computed([xp.asarray(walk(x)) for x in node.at], xp, values.get(node.coefficients))
        return constant(node) if node.is_number else _combine(node, walk, xp)

    def piece(part: sp.Expr, holds: Any) -> Any:
        """A piece, evaluated at 1 where it does not hold: if undefined there, it would make the gradient 0 · ∞."""
        if not _fragile(part):
            return walk(part)
        inside = {symbol: xp.where(holds, walk(symbol), 1.0) for symbol in part.free_symbols}
        with np.errstate(all="ignore"):
            return evaluate(part, inside, xp)

    return walk(expression)


@lru_cache(maxsize=4096)
def constant(number: sp.Expr) -> float:
    """The float64 nearest to a number, refusing what is complex or out of range.

    SymPy finds the nearest one, but sin(exp(exp(99))) would keep it busy for ever. So plain float64 arithmetic
    comes first; if a part of the number overflows, as in 1/cosh(1000), the float64 result is used.
    """

    def rough(node: sp.Basic) -> np.float64:
        if isinstance(node, Tabulated):
            return np.float64(node.computed([rough(x) for x in node.at], np))
        return _combine(node, rough, np) if node.args else np.float64(float(node))

    try:
        with np.errstate(all="raise", under="ignore"):
            rough(number)
        digits = True
    except (FloatingPointError, OverflowError):
        digits = False
    except (SafeNetError, TypeError):
        digits = True  # a function only SymPy knows, or no number at all
    try:
        with np.errstate(all="ignore"):
            value = complex(number) if digits else complex(rough(number))
    except (TypeError, OverflowError):
        value = complex("nan")
    if value.imag or not isfinite(value.real):
        raise SafeNetError(f"{number} is not a real number that float64 can hold")
    return value.real


def _combine(node: sp.Basic, walk: Callable[[sp.Basic], Any], xp: ModuleType) -> Any:
    """One operation of the tree, its arguments computed by `walk`."""
    if isinstance(node, sp.Add):
        terms = [walk(term) for term in node.args]
        return sum(terms[1:], start=terms[0])
    if isinstance(node, sp.Mul):
        product = walk(node.args[0])
        for factor in node.args[1:]:
            product = product * walk(factor)
        return product
    if isinstance(node, sp.Pow):
        return _power(node, walk, xp)
    if isinstance(node, (sp.Max, sp.Min)):
        combine = xp.maximum if isinstance(node, sp.Max) else xp.minimum
        extreme = walk(node.args[0])
        for argument in node.args[1:]:
            extreme = combine(extreme, walk(argument))
        return extreme
    if type(node) in UNARY:
        return getattr(xp, UNARY[type(node)])(walk(node.args[0]))
    if type(node) in COMPOSED:
        return COMPOSED[type(node)](xp, walk(node.args[0]))
    if isinstance(node, sp.atan2):
        return xp.arctan2(*map(walk, node.args))
    if isinstance(node, sp.Heaviside):
        return xp.heaviside(*map(walk, node.args))
    _refuse(node)


def _fragile(part: sp.Expr) -> bool:
    """Whether a part may have no value or no slope somewhere."""
    powers = (power for power in part.atoms(sp.Pow) if not power.base.is_number)
    return part.has(*PARTIAL, *COMPOSED) or any(
        not (power.exp.is_Integer and power.exp.is_positive) for power in powers
    )


def _refuse(node: sp.Basic) -> NoReturn:
    raise SafeNetError(
        f"cannot compute {node.func.__name__} in {node}", SMOOTH if node.has(sp.DiracDelta) else REMEDY
    )


def _power(node: sp.Pow, walk: Callable[[sp.Basic], Any], xp: ModuleType) -> Any:
    base, exponent = node.args
    if exponent.is_Integer and 1 <= abs(int(exponent)) <= 64:
        result = _integer_power(walk(base), abs(int(exponent)))
        return 1 / result if exponent.is_negative else result
    if exponent == sp.Rational(1, 2):
        return xp.sqrt(walk(base))
    if exponent == -sp.Rational(1, 2):
        return 1 / xp.sqrt(walk(base))
    if base == sp.E:
        return xp.exp(walk(exponent))
    if base.is_number and base.is_positive and not exponent.is_number:
        return xp.exp(walk(exponent) * constant(sp.log(base)))
    return walk(base) ** walk(exponent)


def _integer_power(value: Any, count: int) -> Any:
    """value**count by repeated multiplication: exact derivatives at 0 and for negative bases."""
    result = value if count & 1 else None
    while count := count >> 1:
        value = value * value
        if count & 1:
            result = value if result is None else result * value
    return result


def at_place(problem: Problem, jet: Jet, points: Mapping[sp.Symbol, Any]) -> dict[sp.Symbol, Any]:
    """The points at which a jet is evaluated, with its fixed coordinates as numbers.

    Substituting these into the formula would make SymPy compute constants of any size.
    """
    places = zip(problem.axes, jet.place, strict=True)
    return {
        **points,
        **{axis.symbol: np.asarray(constant(problem.value(x))) for axis, x in places if x is not None},
    }
