"""(expr₁, expr₂, …)(symbols) as one Python function, for integrators that evaluate it thousands of times.

`evaluate` walks the tree at every call; here it is walked once and written as a list of assignments, in which a shared
part occurs once. The text consists of numbered variables, operators and names of this module: nothing a user wrote.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import sympy as sp

from ..problem.evaluate import COMPOSED, UNARY, constant
from ..problem.language.tabulated import Tabulated
from ..problem.language.where import Where

LONGEST_POWER = 64  # an integer power up to this is a product: exact for negative bases


def compiled(
    expressions: Sequence[sp.Expr], symbols: Sequence[sp.Symbol], xp: ModuleType = np, scalar: bool = False
) -> Callable[..., tuple[Any, ...]]:
    """A function of the symbols' values that returns all expressions: for arrays of `xp`, or for Python floats.

    `scalar`: for floats, which is faster for few numbers. The values are those of arrays, also nan and ∞.
    """
    lines: list[str] = []
    known: dict[sp.Basic, str] = {symbol: f"x{i}" for i, symbol in enumerate(symbols)}
    tables: dict[str, Any] = {}
    results = [_written(expression, known, lines, tables) for expression in expressions]
    arguments = ", ".join(f"x{i}" for i in range(len(symbols)))
    body = [f"def function({arguments}):", *lines, f"    return ({''.join(f'{one}, ' for one in results)})"]
    names: dict[str, Any] = {"f": SCALARS if scalar else _arrays(xp), "nan": math.nan, "__builtins__": {}}
    names |= {name: _looked_up(node, scalar, xp) for name, node in tables.items()}
    exec("\n".join(body), names)
    function: Callable[..., tuple[Any, ...]] = names["function"]
    return function


def _looked_up(node: Tabulated, scalar: bool, xp: ModuleType) -> Callable[..., Any]:
    def value(*at: Any) -> Any:
        found = node.computed([xp.asarray(x, float) for x in at], xp)
        return float(found) if scalar else found

    return value


def _written(
    node: sp.Basic, known: dict[sp.Basic, str], lines: list[str], tables: dict[str, Tabulated]
) -> str:
    """The name of a node's value; the assignments that it needs are appended to `lines`, and tabulated functions added
    to `tables`."""
    if node in known:
        return known[node]
    if isinstance(node, Tabulated):
        at = [_written(x, known, lines, tables) for x in node.at]
        tables[f"t{len(tables)}"] = node
        known[node] = f"v{len(lines)}"
        lines.append(f"    {known[node]} = t{len(tables) - 1}({', '.join(at)})")
        return known[node]
    if node.is_number:
        known[node] = f"({constant(node)!r})"
        return known[node]
    parts = [_written(part, known, lines, tables) for part in node.args]
    known[node] = f"v{len(lines)}"
    lines.append(f"    {known[node]} = {_operation(node, parts)}")
    return known[node]


def _operation(node: sp.Basic, parts: list[str]) -> str:
    if isinstance(node, sp.Add):
        return " + ".join(parts)
    if isinstance(node, sp.Mul):
        return "*".join(parts)
    if isinstance(node, sp.Pow):
        return _power(node, parts)
    if isinstance(node, Where):
        return f"f.where({', '.join(parts)})"
    if isinstance(node, (sp.Max, sp.Min)):
        name, text = "maximum" if isinstance(node, sp.Max) else "minimum", parts[0]
        for part in parts[1:]:
            text = f"f.{name}({text}, {part})"
        return text
    if type(node) in COMPOSED:
        return f"f.{type(node).__name__}({parts[0]})"
    names = {**UNARY, sp.atan2: "arctan2", sp.Heaviside: "heaviside"}
    return f"f.{names[type(node)]}({', '.join(parts)})"


def _power(node: sp.Pow, parts: list[str]) -> str:
    base, exponent = node.args
    if exponent.is_Integer and 1 <= abs(int(exponent)) <= LONGEST_POWER:
        product = "*".join([parts[0]] * abs(int(exponent)))
        return f"f.inverse({product})" if exponent.is_negative else product
    if exponent == sp.Rational(1, 2):
        return f"f.sqrt({parts[0]})"
    if exponent == -sp.Rational(1, 2):
        return f"f.inverse(f.sqrt({parts[0]}))"
    if base == sp.E:
        return f"f.exp({parts[1]})"
    return f"f.power({parts[0]}, {parts[1]})"


def _safe(function: Callable[..., float], like: Callable[..., Any]) -> Callable[..., float]:
    """The function, but where it raises (no value, a pole, an overflow) the nan or ∞ of NumPy's `like`."""

    def computed(*values: float) -> float:
        try:
            return function(*values)
        except (OverflowError, ValueError, ZeroDivisionError):
            with np.errstate(all="ignore"):
                return float(like(*map(np.float64, values)))

    return computed


def _composed(xp: Any) -> dict[str, Callable[[Any], Any]]:
    def of(rule: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        return lambda z: rule(xp, z)

    return {kind.__name__: of(rule) for kind, rule in COMPOSED.items()}


_MATH = {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
_PLAIN: dict[str, Callable[..., Any]] = {
    name: _safe(getattr(math, _MATH.get(name, name)), getattr(np, name))
    for name in UNARY.values()
    if hasattr(math, _MATH.get(name, name))
}
SCALARS = SimpleNamespace(
    **_PLAIN,
    **{
        name: _safe(rule, like)
        for (name, rule), like in zip(
            _composed(SimpleNamespace(**_PLAIN)).items(), _composed(np).values(), strict=True
        )
    },
    abs=abs,
    # Every comparison with nan is false; max and min of Python would drop it.
    sign=lambda z: 1.0 if z > 0 else -1.0 if z < 0 else z,
    sqrt=_safe(math.sqrt, np.sqrt),
    power=_safe(math.pow, np.power),
    inverse=_safe(lambda z: 1 / z, lambda z: 1 / z),
    arctan2=math.atan2,
    maximum=lambda a, b: a if a > b or a != a else b,
    minimum=lambda a, b: a if a < b or a != a else b,
    heaviside=lambda z, middle: 1.0 if z > 0 else 0.0 if z < 0 else middle if z == 0 else z,
    where=lambda g, a, b: a if g > 0 else b,
)


@cache
def _arrays(xp: ModuleType) -> SimpleNamespace:
    return SimpleNamespace(
        **{name: getattr(xp, name) for name in UNARY.values()},
        **_composed(xp),
        sqrt=xp.sqrt,
        power=xp.power,
        inverse=lambda z: 1 / z,
        arctan2=xp.arctan2,
        maximum=xp.maximum,
        minimum=xp.minimum,
        heaviside=xp.heaviside,
        where=lambda g, a, b: xp.where(g > 0, a, b),
    )
