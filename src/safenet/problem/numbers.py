"""nu = { start = 0.1, above = 0 }: an unknown number, a parameter whose value is to be found from data;
k = { of = ["x"], start = 1, above = 0 }: an unknown function of some of the axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ..errors import Place, SafeNetError, about, nearest
from .evaluate import constant
from .functions import Table
from .language.names import check_constant
from .language.tabulated import Tabulated
from .reading import name_of, number_of
from .splines import Line, Spline

if TYPE_CHECKING:
    from .domain import Domain
    from .problem import Problem

KEYS = ("start", "above", "below", "of", "cells", "smooth")


@dataclass(frozen=True)
class Number:
    """An unknown number between the bounds `above` and `below`, if given; `value` is what was found, at first None.

    A solver varies a free number z, with the start at z = 0. The value is start + |start|·z without bounds,
    above + (start − above)·eᶻ above one bound, and logistic in z between two. So z has no unit, and no step leaves the
    bounds.
    """

    start: sp.Expr
    above: sp.Expr | None = None
    below: sp.Expr | None = None
    value: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def z(self) -> Any:
        """The free number z of the current value."""
        return self.free(constant(self.current))

    @property
    def current(self) -> sp.Expr:
        """The number that the equations use: the value found, else the start."""
        return self.start if self.value is None else number_of(self.value, "a value")

    @property
    def stated(self) -> Any:
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

    def free(self, value: Any) -> Any:
        """The z at which the number has a value."""
        start, low, high = self._ends
        if low is None and high is None:
            return (value - start) / (abs(start) or 1.0)
        if high is None:
            return np.log((value - low) / (start - low))  # type: ignore[operator]
        if low is None:
            return np.log((high - value) / (high - start))
        return np.log((value - low) / (high - value) * (high - start) / (start - low))

    def slope(self, z: Any) -> Any:
        """∂value/∂z."""
        start, low, high = self._ends
        if low is None and high is None:
            return (abs(start) or 1.0) + 0.0 * z
        value = self.at(z, np)
        if high is None:
            return value - low
        return value - high if low is None else (value - low) * (high - value) / (high - low)


CELLS = {1: 24, 2: 10, 3: 5}  # axes of an unknown function → cells along each; smooth where data say nothing


@dataclass(frozen=True)
class Curve(Number):
    """An unknown function of the axes `of`: a cubic spline on `cells` cells along each, whose coefficients lie
    between the bounds, and therefore so does the function."""

    of: tuple[str, ...] = ()
    cells: int = 0
    smooth: float | None = None  # the weight of smoothness; None: determined from the data

    @property
    def current(self) -> sp.Expr:
        raise TypeError("a function has no one value")

    @property
    def z(self) -> Any:
        value = constant(self.start) if self.value is None else np.asarray(self.value)
        return np.broadcast_to(self.free(value), self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.cells + 3,) * len(self.of)

    @property
    def size(self) -> int:
        return prod(self.shape)

    def table(self, name: str, domain: Domain) -> Table:
        """The function at its current values: those found, else the start."""
        axes = [domain.axes[domain.axis_names.index(axis)] for axis in self.of]
        lines = tuple(Line.uniform(axis.lo, axis.hi, self.cells) for axis in axes)
        value = constant(self.start) if self.value is None else self.value
        own = Spline(lines, np.array(np.broadcast_to(value, self.shape), float))
        return Table(None, name=name, of=self.of, own=own)


def numbers_of(given: Any) -> dict[str, Number]:
    """`unknown={"nu": 0.1}`, `{"nu": {"start": 0.1, "above": 0}}`, or a list of names, each starting from 1."""
    if isinstance(given, (str, sp.Symbol)):
        given = [given]
    entries = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given or ())
    found = {}
    for key, value in entries.items():
        with about("unknown", name_of(key)):
            check_constant("unknown number", name_of(key))
            found[name_of(key)] = _number(name_of(key), value)
    return found


def _number(name: str, given: Any) -> Number:
    if isinstance(given, Number):
        return given
    table = given if isinstance(given, Mapping) else {} if given is None else {"start": given}
    for key in table:
        if key not in KEYS:
            raise SafeNetError(f"the unknown {name} has no property {key!r}", nearest(key, KEYS))
    above, below = (
        None if table.get(key) is None else number_of(table[key], f"{key} of {name}")
        for key in ("above", "below")
    )
    if above is not None and below is not None and not constant(above) < constant(below):
        raise SafeNetError(
            f"the bounds of {name} exclude every value: above {above} and below {below}",
            "exchange the two bounds",
        )
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
    return _curve(name, number, table) if "of" in table else number


def _curve(name: str, number: Number, table: Mapping[str, Any]) -> Curve:
    axes = [table["of"]] if isinstance(table["of"], (str, sp.Symbol)) else list(table["of"])
    of = tuple(name_of(axis) for axis in axes)
    if not 1 <= len(of) <= max(CELLS) or len(set(of)) < len(of):
        raise SafeNetError(f"the unknown {name} is a function of {of}", f'write {name} = {{ of = ["x"] }}')
    cells = table.get("cells", CELLS[len(of)])
    if type(cells) is not int or not 1 <= cells <= 200:
        raise SafeNetError(f"the unknown {name} has {cells} cells", "give a whole number from 1 to 200")
    smooth = table.get("smooth")
    if smooth is not None:
        smooth = constant(number_of(smooth, f"smooth of {name}"))
        if smooth <= 0:
            raise SafeNetError(f"smooth of {name} is {smooth:g}", "give a positive number, e.g. 1e-6")
    return Curve(number.start, number.above, number.below, None, of, cells, smooth)


def _usual(above: sp.Expr | None, below: sp.Expr | None) -> sp.Expr:
    """The default start: 1, or the middle of two bounds, or 1 away from a single bound."""
    if above is None and below is None:
        return sp.Integer(1)
    if above is None or below is None:
        return below - 1 if above is None else above + 1  # type: ignore[operator]
    return (above + below) / 2


def with_unknown(parameters: Any, numbers: Mapping[str, Number]) -> Any:
    """The parameters together with the unknown numbers at their current values."""
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
    scalars = {name: number for name, number in numbers.items() if not isinstance(number, Curve)}
    return known | {name: number.current for name, number in scalars.items()}


def curves_of(problem: Domain, numbers: Mapping[str, Number]) -> dict[str, Table]:
    """The unknown functions at their current values."""
    found = {}
    for name, number in numbers.items():
        if isinstance(number, Curve):
            with about("unknown", name):
                for axis in number.of:
                    if axis not in problem.axis_names:
                        raise SafeNetError(
                            f"the unknown {name} depends on {axis}, which is not an axis of the domain",
                            f"the axes are {', '.join(problem.axis_names)}",
                        )
                found[name] = number.table(name, problem)
    return found


def check_unknown(problem: Problem) -> None:
    """Raise unless each unknown is in an equation or a condition, and not in the domain, which must be known."""
    residuals = [relation.residual for relation in (*problem.equations, *problem.conditions)]
    used = {s.name for residual in residuals for s in residual.free_symbols}
    used |= {node.table.name for residual in residuals for node in residual.atoms(Tabulated)}
    placed = {s.name: axis for axis, ends in problem.bounds.items() for end in ends for s in end.free_symbols}
    for name in problem.unknown:
        with about("unknown", name):
            if name in placed:
                raise SafeNetError(
                    f"an end of the domain depends on the unknown {name}",
                    f"scale the axis so that its ends are known: {placed[name]} = {name}*s, 0 ≤ s ≤ 1",
                )
            if name not in used:
                raise SafeNetError(
                    f"the unknown {name} appears in no equation and no condition", "leave it out"
                )
