"""nu = { start = 0.1, above = 0 }: an unknown number, a parameter whose value is to be found from data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..errors import Place, SafeNetError, about, nearest
from .evaluate import constant
from .reading import name_of, number_of

if TYPE_CHECKING:
    from .problem import Problem

KEYS = ("start", "above", "below")


@dataclass(frozen=True)
class Number:
    """An unknown number between `above` and `below`, where given; `value` is what was found, None before that.

    A solver moves the free number z with value(0) = start: start + |start|·z without bounds, above + (start − above)·eᶻ
    above a bound, and a logistic function of z between two. So z has no unit, and no step leaves the bounds.
    """

    start: sp.Expr
    above: sp.Expr | None = None
    below: sp.Expr | None = None
    value: float | None = None

    @property
    def current(self) -> sp.Expr:
        """What the equations have in its place: the value, or the start."""
        return self.start if self.value is None else number_of(self.value, "a value")

    @property
    def stated(self) -> Number:
        """As it was stated, before anything was found."""
        return replace(self, value=None)

    @cached_property
    def _ends(self) -> tuple[float, float | None, float | None]:
        low, high = (None if end is None else constant(end) for end in (self.above, self.below))
        return constant(self.start), low, high

    def at(self, z: Any, xp: ModuleType) -> Any:
        """The number at a free z, with NumPy or JAX."""
        start, low, high = self._ends
        if low is None and high is None:
            return start + (abs(start) or 1.0) * z
        if high is None:
            return low + (start - low) * xp.exp(z)  # type: ignore[operator]
        if low is None:
            return high - (high - start) * xp.exp(z)
        return low + (high - low) / (1 + (high - start) / (start - low) * xp.exp(-z))

    def free(self, value: float) -> float:
        """The z at which the number has a value."""
        from math import log

        start, low, high = self._ends
        if low is None and high is None:
            return (value - start) / (abs(start) or 1.0)
        if high is None:
            return log((value - low) / (start - low))  # type: ignore[operator]
        if low is None:
            return log((high - value) / (high - start))
        return log((value - low) / (high - value) * (high - start) / (start - low))

    def slope(self, z: float) -> float:
        """∂value/∂z."""
        import numpy as np

        start, low, high = self._ends
        if low is None and high is None:
            return abs(start) or 1.0
        value = float(self.at(z, np))
        if high is None:
            return value - low  # type: ignore[operator]
        return value - high if low is None else (value - low) * (high - value) / (high - low)


def numbers_of(given: Any) -> dict[str, Number]:
    """`unknown={"nu": 0.1}`, `{"nu": {"start": 0.1, "above": 0}}`, or a list of names, each starting from 1."""
    if isinstance(given, (str, sp.Symbol)):
        given = [given]
    entries = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given or ())
    found = {}
    for key, value in entries.items():
        with about("unknown", name_of(key)):
            found[name_of(key)] = _number(name_of(key), value)
    return found


def _number(name: str, given: Any) -> Number:
    if isinstance(given, Number):
        return given
    table = given if isinstance(given, Mapping) else {} if given is None else {"start": given}
    for key in table:
        if key == "of":
            raise SafeNetError(
                f"the unknown {name} is a function of {table[key]}, and only numbers can be found so far",
                f"write it as a formula of unknown numbers, e.g. {name}0 + {name}1*x",
            )
        if key not in KEYS:
            raise SafeNetError(f"the unknown {name} has no property {key!r}", nearest(key, KEYS))
    above, below = (
        None if table.get(key) is None else number_of(table[key], f"{key} of {name}") for key in KEYS[1:]
    )
    if above is not None and below is not None and not constant(above) < constant(below):
        raise SafeNetError(f"{name} has no value above {above} and below {below}", "exchange the two bounds")
    start = table.get("start")
    if start is None:
        start = _usual(above, below)
    number = Number(number_of(start, f"the start of {name}"), above, below)
    at, low, high = number._ends
    if (low is not None and at <= low) or (high is not None and at >= high):
        bounds = [f"above {above}"] * (above is not None) + [f"below {below}"] * (below is not None)
        raise SafeNetError(
            f"{name} starts at {number.start}, and must be {' and '.join(bounds)}", "start inside the bounds"
        )
    return number


def _usual(above: sp.Expr | None, below: sp.Expr | None) -> sp.Expr:
    """1, or what is inside the bounds: the middle, or 1 beyond the only one."""
    if above is None and below is None:
        return sp.Integer(1)
    if above is None or below is None:
        return below - 1 if above is None else above + 1  # type: ignore[operator]
    return (above + below) / 2


def with_unknown(parameters: Any, numbers: Mapping[str, Number]) -> Any:
    """The parameters, and the unknown numbers among them at their current values."""
    if not numbers:
        return parameters
    known = {name_of(key): value for key, value in dict(parameters or {}).items()}
    for name in numbers:
        if name in known:
            raise SafeNetError(
                f"{name} is both a parameter and an unknown number",
                f"leave it out of the parameters, and start it there: {name} = {{ start = {known[name]} }}",
                Place(("unknown", name)),
            )
    return known | {name: number.current for name, number in numbers.items()}


def check_unknown(problem: Problem) -> None:
    """An unknown number is in an equation or a condition, and not in the domain, which must be known."""
    used = {
        s.name
        for relation in (*problem.equations, *problem.conditions)
        for s in relation.residual.free_symbols
    }
    placed = {s.name: axis for axis, ends in problem.bounds.items() for end in ends for s in end.free_symbols}
    for name in problem.unknown:
        with about("unknown", name):
            if name in placed:
                raise SafeNetError(
                    f"the domain ends at the unknown {name}",
                    f"scale the axis so that its ends are known: {placed[name]} = {name}*s, 0 ≤ s ≤ 1",
                )
            if name not in used:
                raise SafeNetError(
                    f"the unknown {name} appears in no equation and no condition", "leave it out"
                )
