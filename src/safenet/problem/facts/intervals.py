"""[f](B) ⊇ { f(x) : x ∈ B }: the range of a formula over boxes, by interval arithmetic on its SymPy tree.

An interval is a pair of arrays, one entry for each box. Every operation encloses the range of its arguments' ranges,
widened by a few roundings, so that a formula cannot take a value outside: even a feature narrower than any grid of
points is between the two ends. A part without a bound (a division by an interval that contains zero, an unknown
function) is (−∞, ∞).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ..evaluate import constant
from ..language.tabulated import Tabulated
from ..language.where import Where

Interval = tuple[np.ndarray, np.ndarray]
WIDER = 4 * np.finfo(float).eps  # of a result: NumPy's functions are within an ulp or two


def enclosure(expression: sp.Expr, boxes: Mapping[sp.Symbol, Interval]) -> Interval:
    """The range of `expression` over every box; a symbol without one is unbounded."""
    memo: dict[sp.Basic, Interval] = {}
    shape = np.broadcast_shapes(*(low.shape for low, _ in boxes.values()))

    def walk(node: sp.Basic) -> Interval:
        if node not in memo:
            memo[node] = _widened(_one(node, walk, boxes, shape))
        return memo[node]

    with np.errstate(all="ignore"):
        return walk(expression)


def _one(
    node: Any, walk: Callable[[Any], Interval], boxes: Mapping[sp.Symbol, Interval], shape: tuple[int, ...]
) -> Interval:
    if node.is_Symbol:
        return boxes[node] if node in boxes else _all(shape)
    if node.is_number:
        try:
            value = np.full(shape, constant(node))
        except SafeNetError:
            return _all(shape)
        return value, value
    if isinstance(node, sp.Pow):
        return _power(node, walk, shape)
    rule = RULES.get(type(node))
    if rule is not None:
        return rule(*map(walk, node.args))
    if isinstance(node, Tabulated):
        least, most = node.table.spline.range(node.orders)
        return np.full(shape, least), np.full(shape, most)
    if isinstance(node, Where):
        condition, yes, no = map(walk, node.args)
        first, second = condition[1] > 0, condition[0] <= 0
        both = _hull(yes, no)
        low = np.where(first & second, both[0], np.where(first, yes[0], no[0]))
        return low, np.where(first & second, both[1], np.where(first, yes[1], no[1]))
    return _all(shape)


def _all(shape: tuple[int, ...]) -> Interval:
    return np.full(shape, -np.inf), np.full(shape, np.inf)


def _widened(interval: Interval) -> Interval:
    low, high = interval
    wide = WIDER * np.maximum(np.abs(low), np.abs(high))
    wide = np.where(np.isfinite(wide), wide, 0.0)
    lost = np.isnan(low) | np.isnan(high)
    return np.where(lost, -np.inf, low - wide), np.where(lost, np.inf, high + wide)


def _hull(*intervals: Interval) -> Interval:
    low, high = (np.stack(np.broadcast_arrays(*ends)) for ends in zip(*intervals, strict=True))
    return low.min(axis=0), high.max(axis=0)


def _add(*terms: Interval) -> Interval:
    return np.asarray(sum(low for low, _ in terms)), np.asarray(sum(high for _, high in terms))


def _mul(*factors: Interval) -> Interval:
    product = factors[0]
    for other in factors[1:]:
        # 0 · ∞ is 0: an end that is infinite is not reached.
        ends = [np.nan_to_num(a * b, nan=0.0, posinf=np.inf, neginf=-np.inf) for a in product for b in other]
        product = np.minimum.reduce(ends), np.maximum.reduce(ends)
    return product


def _power(node: sp.Pow, walk: Callable[[Any], Interval], shape: tuple[int, ...]) -> Interval:
    base, exponent = node.args
    if base == sp.E:
        return _monotone(np.exp)(walk(exponent))
    if exponent.is_Integer:
        found = _whole_power(walk(base), abs(int(exponent)))
        return _reciprocal(found) if exponent.is_negative else found
    low, high = walk(base)
    if exponent.is_number and exponent.is_real:
        power = float(exponent)
        ends = np.maximum(low, 0.0) ** power, np.maximum(high, 0.0) ** power
        return _hull((ends[0], ends[0]), (ends[1], ends[1]))
    if base.is_number and base.is_positive:
        return _monotone(np.exp)(_mul(walk(exponent), walk(sp.log(base))))
    return _all(shape)


def _whole_power(interval: Interval, count: int) -> Interval:
    low, high = interval
    ends = low**count, high**count
    if count % 2:
        return ends
    least = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(*ends))
    return least, np.maximum(*ends)


def _reciprocal(interval: Interval) -> Interval:
    low, high = interval
    around = (low <= 0) & (high >= 0)
    first, second = 1 / np.where(around, 1.0, high), 1 / np.where(around, 1.0, low)
    # With zero at one end only, the other end still bounds it from one side.
    below = np.where(around, np.where(low == 0, 1 / high, -np.inf), first)
    above = np.where(around, np.where(high == 0, 1 / low, np.inf), second)
    return below, above


def _monotone(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Interval], Interval]:
    return lambda interval: (function(interval[0]), function(interval[1]))


def _sine(shift: float) -> Callable[[Interval], Interval]:
    """sin(x + shift): its values at the ends, and ±1 if a maximum or minimum lies between."""

    def found(interval: Interval) -> Interval:
        low, high = interval[0] + shift, interval[1] + shift
        ends = np.sin(low), np.sin(high)
        turn = 2 * np.pi
        # A large phase is itself rounded: a little room on both sides.
        room = WIDER * np.maximum(np.abs(low), np.abs(high))
        top = np.floor((high + room - np.pi / 2) / turn) >= np.ceil((low - room - np.pi / 2) / turn)
        bottom = np.floor((high + room + np.pi / 2) / turn) >= np.ceil((low - room + np.pi / 2) / turn)
        wild = ~np.isfinite(low) | ~np.isfinite(high)
        below, above = (
            np.where(bottom | wild, -1.0, np.minimum(*ends)),
            np.where(top | wild, 1.0, np.maximum(*ends)),
        )
        return below, above

    return found


def _tangent(interval: Interval) -> Interval:
    low, high = interval
    pole = np.floor((high - np.pi / 2) / np.pi) >= np.ceil((low - np.pi / 2) / np.pi)
    wild = pole | ~np.isfinite(low) | ~np.isfinite(high)
    return np.where(wild, -np.inf, np.tan(low)), np.where(wild, np.inf, np.tan(high))


def _even(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Interval], Interval]:
    """A function that grows with |x|."""

    def found(interval: Interval) -> Interval:
        low, high = interval
        sizes = np.abs(low), np.abs(high)
        least = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(*sizes))
        return function(least), function(np.maximum(*sizes))

    return found


def _extreme(choose: Any) -> Callable[..., Interval]:
    def found(*parts: Interval) -> Interval:
        return choose.reduce([low for low, _ in parts]), choose.reduce([high for _, high in parts])

    return found


def _logarithm(interval: Interval) -> Interval:
    low, high = (np.log(np.maximum(end, 0.0)) for end in interval)
    return low, high


_cosine, _hyperbolic = _sine(np.pi / 2), _even(np.cosh)
RULES: dict[Any, Callable[..., Interval]] = {
    sp.Add: _add,
    sp.Mul: _mul,
    sp.exp: _monotone(np.exp),
    sp.log: _logarithm,
    sp.sin: _sine(0.0),
    sp.cos: _cosine,
    sp.tan: _tangent,
    sp.sinh: _monotone(np.sinh),
    sp.cosh: _hyperbolic,
    sp.tanh: _monotone(np.tanh),
    sp.atan: _monotone(np.arctan),
    sp.asin: _monotone(lambda x: np.arcsin(np.clip(x, -1, 1))),
    sp.acos: lambda i: (np.arccos(np.clip(i[1], -1, 1)), np.arccos(np.clip(i[0], -1, 1))),
    sp.Abs: _even(lambda x: x),
    sp.sign: _monotone(np.sign),
    sp.Heaviside: lambda i, *_: (np.heaviside(i[0], 0.0), np.heaviside(i[1], 1.0)),
    sp.Max: _extreme(np.maximum),
    sp.Min: _extreme(np.minimum),
    sp.sech: lambda i: _reciprocal(_hyperbolic(i)),
    sp.csch: lambda i: _reciprocal(_monotone(np.sinh)(i)),
    sp.coth: lambda i: _reciprocal(_monotone(np.tanh)(i)),
    sp.sec: lambda i: _reciprocal(_cosine(i)),
    sp.csc: lambda i: _reciprocal(_sine(0.0)(i)),
    sp.cot: lambda i: _reciprocal(_tangent(i)),
}
