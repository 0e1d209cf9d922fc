"""Σ c_fα(x, y) ∂^α u_f = g on rectangles: steady linear equations of second order, ready for their weak form.

The second derivatives in an equation are u_xx and u_yy of one unknown, its own. On each side each unknown has a given
value, or a given normal derivative to which values of any unknowns may be added (Robin, impedance).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ..geometry.boundary import Corner, corner_between
from ..geometry.edges import Segment
from ..jets import Orders, coordinate
from ..problem import Problem
from ..relation import Condition
from .agreement import clashes
from .fact import fact
from .jumping import jumping
from .structure import breaks

STRAIGHT = 1e-6  # of an angle: less is rounding


@dataclass(frozen=True)
class Side:
    """A straight part of the boundary across `axis` at `place`, from `low` to `high`, outward along `sign`.

    `conditions[f]` is the one of unknown f; `slopes[f]` says whether it has a derivative.
    """

    axis: int
    place: float
    low: float
    high: float
    sign: int
    conditions: tuple[Condition, ...]
    slopes: tuple[bool, ...]


@dataclass(frozen=True)
class Elliptic:
    """The equation of each unknown: coefficients by (unknown, orders), and its right-hand side."""

    terms: tuple[dict[tuple[int, Orders], sp.Expr], ...]
    sources: tuple[sp.Expr, ...]
    sides: tuple[Side, ...]


@fact
def elliptic(problem: Problem) -> Elliptic:
    """The problem in this form; raises SafeNetError with the reason if that is impossible."""
    if len(problem.axes) != 2 or problem.time is not None or not problem.linear:
        raise SafeNetError("it is not steady and linear in a plane")
    if len(problem.equations) != len(problem.unknowns):
        raise SafeNetError("it does not have one equation for each unknown")
    if (any(breaks(problem)) and not jumping(problem)) or clashes(problem):
        raise SafeNetError("its formulas or its data break")
    by_owner: dict[int, tuple[dict[tuple[int, Orders], sp.Expr], sp.Expr]] = {}
    for equation in problem.equations:
        terms: dict[tuple[int, Orders], sp.Expr] = {}
        for symbol, jet in equation.jets.items():
            coefficient = problem.value(equation.coefficient(symbol))
            if coefficient != 0:
                terms[problem.unknowns.index(jet.field), jet.orders] = coefficient
        second = {key for key in terms if sum(key[1]) == 2}
        owners = {f for f, _ in second}
        if any(sum(orders) > 2 for _, orders in terms) or {orders for _, orders in second} != {
            (2, 0),
            (0, 2),
        }:
            raise SafeNetError("an equation does not have u_xx and u_yy as its highest derivatives")
        if len(owners) != 1 or owners & by_owner.keys():
            raise SafeNetError("its second derivatives are coupled")
        by_owner[owners.pop()] = terms, problem.value(equation.source)
    own = [by_owner[f] for f in range(len(problem.unknowns))]
    return Elliptic(tuple(t for t, _ in own), tuple(g for _, g in own), _sides(problem))


def _sides(problem: Problem) -> tuple[Side, ...]:
    """The straight parts of the boundary, each with one condition for each unknown."""
    found: dict[tuple[int, float, float, float, int], list[Condition]] = {}
    for condition in problem.conditions:
        for place in _places(problem, condition):
            found.setdefault(place, []).append(condition)
    region = problem.plane
    length = sum(high - low for _, _, low, high, _ in found)
    whole = 2 * sum(a.length for a in problem.axes) if region is None else sum(e.length for e in region.edges)
    if abs(length - whole) > 1e-9 * whole:
        raise SafeNetError("some of its boundary has no condition, or is not parallel to an axis")
    return tuple(_side(problem, place, conditions) for place, conditions in found.items())


def _places(problem: Problem, condition: Condition) -> list[tuple[int, float, float, float, int]]:
    """(axis, place, low, high, sign) of every part of the boundary on which a condition holds."""
    if condition.piece:
        assert problem.plane is not None
        return [_of_edge(edge) for edge in problem.plane.pieces[condition.piece]]
    if len(condition.places) != 1 or len(condition.free) != 1:
        raise SafeNetError(f"the condition {condition.text} does not hold on one side of the domain")
    (along,) = condition.free
    axis, value = 1 - along, float(problem.value(sp.sympify(condition.places[0][1 - along], strict=True)))
    ends = problem.axes[axis].bounds
    if value not in ends:
        raise SafeNetError(f"the condition {condition.text} does not hold on one side of the domain")
    return [(axis, value, *problem.axes[along].bounds, 1 if value == ends[1] else -1)]


def _of_edge(edge: object) -> tuple[int, float, float, float, int]:
    if not isinstance(edge, Segment) or not any(a == b for a, b in zip(edge.start, edge.end, strict=True)):
        raise SafeNetError("its boundary is not parallel to the axes")
    axis = next(i for i in range(2) if edge.start[i] == edge.end[i])
    low, high = sorted((float(edge.start[1 - axis]), float(edge.end[1 - axis])))
    normal = edge.at(np.array([0.5]))[1][0]
    return axis, float(edge.start[axis]), low, high, int(np.sign(normal[axis]))


def _side(problem: Problem, place: tuple[int, float, float, float, int], conditions: list[Condition]) -> Side:
    axis, own = place[0], {}
    normal = {coordinate(name): sp.Integer(place[4] * (i == axis)) for i, name in enumerate(problem.normals)}
    for condition in conditions:
        slopes = set()
        for symbol, jet in condition.jets.items():
            if sum(jet.orders) and problem.value(condition.coefficient(symbol)).xreplace(normal) != 0:
                if sum(jet.orders) > 1 or not jet.orders[axis]:
                    raise SafeNetError(f"{condition.text} has a derivative that is not along the normal")
                slopes.add(jet.field)
        fields = sorted(slopes or {jet.field for jet in condition.jets.values()})
        if len(fields) != 1 or fields[0] in own:
            raise SafeNetError(f"{condition.text} does not belong to one unknown")
        own[fields[0]] = condition, bool(slopes)
    if set(own) != set(problem.unknowns):
        raise SafeNetError("a side does not have one condition for each unknown")
    ordered = [own[name] for name in problem.unknowns]
    return Side(*place, tuple(c for c, _ in ordered), tuple(s for _, s in ordered))


@fact
def vertices(problem: Problem) -> tuple[tuple[Corner, str, str], ...]:
    """The corners of a region of the plane, including flat ones where two pieces meet; each with the pieces of its
    first and last side, between which its angle is measured."""
    region = problem.plane
    if region is None:
        return ()
    edges = [(edge, name) for name, own in region.pieces.items() for edge in own]
    return tuple(
        (corner_between(before, after), first, last)
        for (before, last), (after, first) in product(edges, edges)
        if np.hypot(*np.subtract(before.ends[1], after.ends[0])) <= 4 * region.tolerance
        and not (before is after and before.closed)
    )


@fact
def infinite_corners(problem: Problem) -> tuple[tuple[float, float], ...]:
    """Corners of a region at which u ~ r^λ with λ < 1, whatever the data: π/ω, and π/2ω where a value meets a slope.

    Second derivatives are not square-integrable there, so least squares find neither u nor a useful residual.
    """
    if problem.plane is None or max(problem.order(i) for i in range(2)) != 2:
        return ()
    values = {c.piece for c in problem.conditions if any(not any(jet.orders) for jet in c.jets.values())}
    found = []
    for corner, first, last in vertices(problem):
        most = np.pi if (first in values) == (last in values) else np.pi / 2
        if corner.angle > most * (1 + STRAIGHT):
            found.append(corner.point)
    return tuple(found)
