"""b·B₁(u) − a·B₂(u) = g(x) with no unknown left in it: where g is not zero, no u satisfies both conditions.

At one place that is a contradiction; where a face meets another face or the initial time, u jumps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ...errors import Place, SafeNetError
from ..evaluate import at_place, evaluate
from ..jets import Jet, coordinate
from ..language.tabulated import Tabulated
from ..relation import Condition
from .beginning import initial_values, prescribed
from .fact import fact

if TYPE_CHECKING:
    from ..problem import Problem

ROUNDING = 1e-9  # relative to the terms of a difference: less is rounding between two forms of one value
JUMP = 1e-6  # relative to the values that meet: smaller jumps are not reported
NOISE = 1e-13  # relative to the values along the faces: what float64 may compute instead of a zero


def check_agreement(problem: Problem) -> None:
    """Raise where two conditions at one place give the same quantity two values, without solving anything."""
    for first, second in combinations(problem.conditions, 2):
        if _contradict(problem, first, second):
            raise SafeNetError(
                f"conditions {first.number} ({first.text}) and {second.number} ({second.text}) contradict each other",
                "leave out one of them, or move it to the place where it holds",
                Place(("conditions", second.number - 1)),
            )


def _contradict(problem: Problem, first: Condition, second: Condition) -> bool:
    alike = first.piece == second.piece and first.free == second.free and first.jets == second.jets
    if not (alike and first.linear and second.linear):
        return False
    one = next(iter(first.jets))
    products = second.coefficient(one) * first.residual, first.coefficient(one) * second.residual
    left, right = map(problem.value, products)
    difference = sp.expand(left - right)
    if difference.free_symbols & first.jets.keys():
        return False
    nothing = dict.fromkeys(first.jets, 0.0)
    values: Mapping[sp.Symbol, Any] = {**nothing, **_some_points(problem, first)}
    with np.errstate(all="ignore"):  # what is not finite proves nothing
        terms = [evaluate(term, values, np) for term in sp.Add.make_args(difference)]
        return bool(np.any(np.abs(sum(terms)) > ROUNDING * sum(map(np.abs, terms))))


@dataclass(frozen=True)
class Clash:
    """A condition on a face that the initial values u(x, 0) = g miss by `gap`."""

    face: Condition
    gap: float


@fact
def clashes(problem: Problem) -> tuple[Clash, ...]:
    """Faces whose values, or equality at both ends, the initial values do not satisfy: u jumps there at the start."""
    return tuple(_missed(problem, order=0))


@fact
def bends(problem: Problem) -> tuple[Clash, ...]:
    """Faces whose slope, or combination of slope and value, the initial values do not satisfy: u has a kink there at
    the start."""
    return tuple(_missed(problem, order=1))


def _missed(problem: Problem, order: int) -> Iterator[Clash]:
    for face, starts in _begun(problem, order):
        if any(_to_be_found(problem, part) for part in (face.residual, *starts.values())):
            continue  # functions found from data agree with the faces, to as many digits as they have
        begin, along = problem.axes[-1], _some_points(problem, face)
        at = {**along, begin.symbol: np.asarray(begin.lo)}
        residual = problem.value(face.residual)
        with _whatever_comes():
            begun = {s: evaluate(starts[s], at_place(problem, jet, at), np) for s, jet in face.jets.items()}
            gap, *sizes = (_largest(part, at | begun) for part in (residual, *sp.Add.make_args(residual)))
            sizes += [_largest(start, at) for start in starts.values()]
            if _jump(gap, sizes, [_largest(part, along | begun) for part in sp.Add.make_args(residual)]):
                yield Clash(face, gap)


def meetings(problem: Problem) -> list[tuple[sp.Expr, dict[sp.Symbol, Any]]]:
    """Expressions, with points, that unknown functions must make zero for initial values to agree with the faces."""
    found = []
    for face, starts in _begun(problem, order=0):
        begin, begun = problem.axes[-1], {}
        for symbol, jet in face.jets.items():
            places = zip(problem.axes, jet.place, strict=True)
            begun[symbol] = starts[symbol].xreplace({a.symbol: x for a, x in places if x is not None})
        gap = problem.value(face.residual).xreplace(begun)
        if _to_be_found(problem, gap):
            found.append((gap, {**_some_points(problem, face), begin.symbol: np.full(4, begin.lo)}))
    return found


def _begun(problem: Problem, order: int) -> Iterator[tuple[Condition, dict[sp.Symbol, sp.Expr]]]:
    """Conditions on faces whose highest derivative in space is of this order, and the initial value of each jet."""
    if problem.time is None or problem.region is not None:
        return
    initial = {field: g for (field, k), g in initial_values(problem).items() if not k}
    for face in problem.conditions:
        jets = face.jets.items()
        known = all(jet.field in initial and not jet.orders[problem.time] for _, jet in jets)
        if face.initial or problem.time not in face.free or not known:
            continue
        if max(sum(jet.orders) for _, jet in jets) == order:
            yield face, {symbol: _slope(problem, initial[jet.field], jet.orders) for symbol, jet in jets}


def _to_be_found(problem: Problem, expression: sp.Expr) -> bool:
    """Whether the expression contains an unknown function."""
    return any(node.table.name in problem.curves for node in expression.atoms(Tabulated))


def _slope(problem: Problem, g: sp.Expr, orders: tuple[int, ...]) -> sp.Expr:
    """∂^orders g"""
    for axis, order in zip(problem.axes, orders, strict=True):
        g = g.diff(axis.symbol, order) if order else g
    return g


@fact
def corners(problem: Problem) -> tuple[tuple[Condition, Condition, float], ...]:
    """Pairs of conditions on faces that give an unknown different values where they meet, and by how much."""
    return tuple((first, second, gap) for first, second, gap, _ in _torn(problem))


@fact
def torn(problem: Problem) -> tuple[tuple[float | None, ...], ...]:
    """The places where given values differ, so that u jumps: corners and edges of a box, ends of the pieces of a region
    of the plane. None stands for any value of a coordinate."""
    if problem.region is None:
        return tuple({place: None for *_, place in _torn(problem)})
    return tuple(_torn_ends(problem)) if problem.plane is not None and problem.time is None else ()


def _torn_ends(problem: Problem) -> Iterator[tuple[float, float]]:
    """The points where two parts of the boundary meet that have given values which differ."""
    assert problem.plane is not None
    met: list[tuple[str, np.ndarray, float]] = []
    for condition, jet, value in _values(problem):
        for edge in problem.plane.pieces.get(condition.piece or "", ()):
            for end in () if edge.closed else edge.ends:
                at = dict(zip((axis.symbol for axis in problem.axes), end, strict=True))
                met.append((jet.field, end, _number(value, at)))
    for (name, end, a), (other, place, b) in combinations(met, 2):
        apart = _jump(abs(a - b), [abs(a), abs(b)], [abs(a), abs(b)])  # False for nan
        if name == other and apart and np.allclose(end, place, atol=NOISE, rtol=NOISE):
            yield float(end[0]), float(end[1])


def _number(value: sp.Expr, at: Mapping[sp.Symbol, Any]) -> float:
    with _whatever_comes():
        return float(evaluate(value, at, np))
    return math.nan


def _torn(problem: Problem) -> list[tuple[Condition, Condition, float, tuple[float | None, ...]]]:
    found = []
    faces = [] if problem.region is not None else list(_values(problem))
    for (first, one, left), (second, other, right) in combinations(faces, 2):
        apart = any(a is not None and b is not None for a, b in zip(one.place, other.place, strict=True))
        if one.field != other.field or apart:
            continue
        with _whatever_comes():
            along = _some_points(problem, first)
            at = at_place(problem, one, at_place(problem, other, along))
            gap, *sizes = (_largest(side, at) for side in (left - right, left, right))
            if _jump(gap, sizes, [_largest(side, along) for side in (left, right)]):
                both = (a if b is None else b for a, b in zip(one.place, other.place, strict=True))
                place = tuple(None if x is None else float(problem.value(x)) for x in both)
                found.append((first, second, gap, place))
    return found


def _jump(gap: float, meeting: list[float], along: list[float]) -> bool:
    """Whether values differ by more than rounding: sin(pi*x) at x = 1 is 1e-16, compared with 1 along the face."""
    return max(JUMP * max(meeting), NOISE * max(along)) < gap < math.inf


@contextmanager
def _whatever_comes() -> Iterator[None]:
    """Undefined values are ignored here and reported elsewhere."""
    with np.errstate(all="ignore"), suppress(SafeNetError):
        yield


def _largest(expression: sp.Expr, at: Mapping[sp.Symbol, Any]) -> float:
    return float(np.max(np.abs(evaluate(expression, at, np))))


def _values(problem: Problem) -> Iterator[tuple[Condition, Jet, sp.Expr]]:
    """The conditions u = g on faces, with u and g."""
    for condition in problem.conditions:
        given = None if condition.initial else prescribed(problem, condition)
        if given is not None and not any(given[0].orders):
            yield condition, *given


def _some_points(problem: Problem, condition: Condition) -> dict[sp.Symbol, np.ndarray]:
    """Points at which a condition holds, away from the ends of its place."""
    share = np.array([0.137, 0.379, 0.618, 0.871])
    values = {axis.symbol: axis.lo + axis.length * np.roll(share, i) for i, axis in enumerate(problem.axes)}
    if condition.piece and problem.region is not None:
        unit = np.column_stack([np.roll(share, i) for i in range(problem.region.dimension - 1)])
        points, normals = problem.region.sample_piece(condition.piece, unit)
        values |= {axis.symbol: x for axis, x in zip(problem.axes, points.T, strict=False)}
        values |= {coordinate(name): n for name, n in zip(problem.normals, normals.T, strict=True)}
    return values
