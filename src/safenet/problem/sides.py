"""Statements about whole sides of a box, turned into conditions placed by their arguments.

    periodic = ["x"]              u(0, y) = u(1, y), u_x(0, y) = u_x(1, y), …: as many as the order asks for
    walls = "y = 0 or y = 1"      u = 0 on walls is u(x, 0) = 0 and u(x, 1) = 0
    walls = "rest"                all sides that belong to no other piece and are not periodic

So a box with named sides is solved like one without names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..errors import Place, SafeNetError, about, nearest
from .geometry.body import REST
from .jets import coordinate
from .language.names import Names
from .language.text import parse_expression
from .pieces import ON_THE_LINE, On, alternatives, check_name
from .relation import Axis, Condition

if TYPE_CHECKING:
    from .problem import Problem

Side = tuple[int, int]  # an axis, and 0 for its lower end, 1 for its upper one


def periodic_axes(axes: Sequence[Axis], given: Any) -> tuple[str, ...]:
    """The names of the periodic axes, which are axes of space."""
    names = [axis.name for axis in axes if not axis.is_time]
    listed = (given,) if isinstance(given, str) else given
    if not isinstance(listed, (list, tuple)):
        raise SafeNetError(
            f"periodic is {given!r}", f'list the axes: periodic = ["{names[0]}"]', Place(("periodic",))
        )
    found = tuple(str(getattr(name, "name", name)) for name in listed)
    for index, name in enumerate(found):
        if name not in names:
            remedy = nearest(str(name), names) if names else "time cannot be periodic"
            raise SafeNetError(f"{name!r} is not an axis of space", remedy, Place(("periodic", index)))
    return tuple(dict.fromkeys(found))


def sides_of(
    axes: Sequence[Axis],
    pieces: Mapping[str, str],
    periodic: Sequence[str],
    parameters: Mapping[sp.Symbol, sp.Expr],
) -> dict[str, tuple[Side, ...]] | None:
    """The sides of a box that each piece names, or None if a piece is not made of whole sides."""
    found: dict[str, tuple[Side, ...]] = {}
    rest = None
    for name, text in pieces.items():
        with about("pieces", name):
            check_name(name)
        if text == REST:
            if rest is not None:
                raise SafeNetError(
                    f"two pieces are the {REST}", f'use "{REST}" for one piece only', Place(("pieces", name))
                )
            rest = name
            continue
        sides = [_side(one, axes, parameters) for one in alternatives(text)]
        if None in sides:
            return None
        found[name] = tuple(side for side in sides if side is not None)
    _check_once(axes, found, periodic)
    if rest is not None:
        taken = {side for sides in found.values() for side in sides}
        left = [(i, end) for i, axis in enumerate(axes) if not _kept(axis, periodic) for end in (0, 1)]
        found[rest] = tuple(side for side in left if side not in taken)
    return found


def _kept(axis: Axis, periodic: Sequence[str]) -> bool:
    return axis.is_time or axis.name in periodic


def _side(text: str, axes: Sequence[Axis], parameters: Mapping[sp.Symbol, sp.Expr]) -> Side | None:
    """The side that `x = 0` selects, or None if x neither begins nor ends at 0."""
    left, sign, right = (part.strip() for part in text.partition("="))
    index = next((i for i, axis in enumerate(axes) if axis.name == left and not axis.is_time), None)
    if index is None or not sign or re.search(r"[<>=]|\band\b", right):
        return None
    try:
        value = parse_expression(right, Names(parameters=tuple(p.name for p in parameters)), text)
    except SafeNetError:
        return None  # the reader of regions says what is wrong
    axis, number = axes[index], value.xreplace(dict(parameters))
    if not number.is_number:
        return None
    ends = [k for k, end in enumerate(axis.bounds) if abs(float(number) - end) <= ON_THE_LINE * axis.length]
    return (index, ends[0]) if ends else None


def _check_once(axes: Sequence[Axis], found: Mapping[str, Sequence[Side]], periodic: Sequence[str]) -> None:
    owners: dict[Side, str] = {}
    for name, sides in found.items():
        for side in sides:
            axis = axes[side[0]]
            where = f"{axis.name} = {(axis.lower, axis.upper)[side[1]]}"
            if axis.name in periodic:
                raise SafeNetError(
                    f"the piece {name} is the side {where}, and {axis.name} is periodic: it has no sides",
                    f"leave out the piece, or {axis.name} in periodic",
                    Place(("pieces", name)),
                )
            if owners.setdefault(side, name) != name:
                raise SafeNetError(
                    f"the pieces {owners[side]!r} and {name!r} both select the side {where}",
                    "let each part of the boundary belong to one piece",
                    Place(("pieces", name)),
                )


def placed(problem: Problem, given: On) -> list[On]:
    """`u = 0 on walls` → one condition by arguments for each side of the piece; other conditions stay as they are."""
    if not given.piece or problem.sides is None or given.piece not in problem.sides:
        return [given]
    return [On("", _at(problem, given.statement, axis, end)) for axis, end in problem.sides[given.piece]]


def _at(problem: Problem, statement: sp.Eq, index: int, end: int) -> sp.Eq:
    """The statement at a side: its axis is fixed, and the normal is known."""
    axis = problem.axes[index]
    normals = {coordinate(name): sp.Integer(0) for name in problem.normals}
    normals[coordinate(f"n_{axis.name}")] = sp.Integer(2 * end - 1)
    value = (axis.lower, axis.upper)[end]
    left, right = (
        sp.Subs(side.xreplace(normals), axis.symbol, value) for side in (statement.lhs, statement.rhs)
    )
    return sp.Eq(left, right, evaluate=False)


# ---- periodic


def missing_ties(problem: Problem, conditions: Sequence[Condition]) -> tuple[list[On], list[str]]:
    """∂^k u(lower) = ∂^k u(upper) for every k below the order for which it is not stated: on axes declared periodic,
    and on axes with only some of them, such as u(0, t) = u(1, t) alone. The latter are also reported as sentences."""
    found, said = [], []
    for index, axis in enumerate(problem.axes):
        if axis.is_time or problem.region is not None:
            continue
        asked = axis.name in problem.periodic
        others = tuple(k for k in range(len(problem.axes)) if k != index)
        faces = [c for c in conditions if c.free == others]
        for field in problem.unknowns:
            own = [c for c in faces if any(jet.field == field for jet in c.jets.values())]
            tied = [next(iter(c.jets.values())).orders for c in own if c.kind == "periodic"]
            matched = {orders[index] for orders in tied if sum(orders) == orders[index]}
            if asked and len(tied) < len(own):
                _refuse_face(axis, next(c for c in own if c.kind != "periodic"))
            order = problem.order(index, field)
            wanted = max(order or problem.order(index), 1) if asked else order
            if not asked and (not matched or len(tied) < len(own) or len(own) >= order):
                continue
            more = [k for k in range(wanted) if k not in matched]
            found += [On("", _tie(problem, field, index, k)) for k in more]
            if not asked and more:
                said.append(_said(problem, field, index, more))
    return found, said


def _refuse_face(axis: Axis, condition: Condition) -> None:
    raise SafeNetError(
        f"{axis.name} is periodic, and {condition.text} is stated on one of its sides",
        f"leave out the condition, or {axis.name} in periodic",
        Place(("conditions", condition.number - 1)),
    )


def _tie(problem: Problem, field: str, index: int, order: int) -> sp.Eq:
    axis = problem.axes[index]
    u = sp.Function(field)(*(each.symbol for each in problem.axes))
    slope = u.diff(axis.symbol, order) if order else u
    ends = (sp.Subs(slope, axis.symbol, end) for end in (axis.lower, axis.upper))
    return sp.Eq(*ends, evaluate=False)


def _said(problem: Problem, field: str, index: int, orders: Sequence[int]) -> str:
    axis = problem.axes[index]
    names = [f"{field}_{axis.name * k}" if k else field for k in orders]
    verb = "is" if len(names) == 1 else "are"
    return (
        f"{field} is assumed to be periodic along {axis.name}: {', '.join(names)} {verb} set equal at both ends as "
        f"well, because the equations are of order {problem.order(index, field)} in {axis.name}. "
        f'To say so explicitly: periodic = ["{axis.name}"].'
    )


def ties(problem: Problem, conditions: Sequence[Condition]) -> tuple[list[On], tuple[str, ...]]:
    with about("periodic"):
        found, said = missing_ties(problem, conditions)
    return found, tuple(said)
