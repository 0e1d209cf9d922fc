"""u(0, t) = 0, u_t(x, 0) = g, u = 0 on walls: its arguments, or a named piece, say where a condition holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from ..errors import SafeNetError, about
from .equations import relation_of
from .evaluate import constant
from .geometry.body import REST
from .jets import Place
from .language.notation import written
from .pieces import On, check_piece
from .reading import number_of
from .relation import Condition, Relation
from .sides import placed, ties

if TYPE_CHECKING:
    from .problem import Problem


def conditions_of(problem: Problem, given: Sequence[On]) -> tuple[tuple[Condition, ...], tuple[str, ...]]:
    """The conditions of a problem whose domain and unknowns are known, and sentences on added periodic ones."""
    found = []
    for index, one in enumerate(given):
        label = f"condition {index + 1}"
        with about("conditions", index):
            if one.piece:
                check_piece(one.piece, tuple(problem.pieces), label)
                check_place(problem, one, label)
            found += [
                replace(_condition(problem, at, label), number=index + 1) for at in placed(problem, one)
            ]
    _check_rest(problem, given, found)
    more, said = ties(problem, found)
    return (*found, *(_condition(problem, one, "periodic") for one in more)), said


def _check_rest(problem: Problem, given: Sequence[On], found: Sequence[Condition]) -> None:
    """u(1, y) = 1 together with walls = "rest": x = 1 is also one of the walls, so both conditions would hold there."""
    rest = [c for c in found if problem.pieces.get(given[c.number - 1].piece) == REST]
    for own in (c for c in found if not given[c.number - 1].piece):
        both = next((c for c in rest if c.places == own.places and _fields(c) & _fields(own)), None)
        if both is None:
            continue
        piece = given[both.number - 1].piece
        index = next(i for i in range(len(problem.axes)) if i not in own.free)
        with about("conditions", own.number - 1):
            raise SafeNetError(
                f"condition {own.number} ({own.text}) holds on a side that also belongs to {piece}, the {REST}",
                f'name the side: [pieces] side = "{problem.axes[index].name} = {own.places[0][index]}", and write the '
                f"condition on side; {piece} then means the remaining sides",
            )


def _fields(condition: Condition) -> set[str]:
    return {jet.field for jet in condition.jets.values()}


def _condition(problem: Problem, given: On, label: str) -> Condition:
    relation = relation_of(problem, given.statement, label, problem.normals if given.piece else ())
    if not relation.jets:
        raise SafeNetError(
            f"{label} ({relation.text}) does not contain an unknown", f"write e.g. {_example(problem)} = 0"
        )
    places = tuple(dict.fromkeys(jet.place for jet in relation.jets.values()))
    if given.piece:
        return _on_piece(problem, relation, given.piece)
    free = _free_axes(problem, relation, places, label)
    for place in places:
        _check_inside(problem, place, label)
    _check_region(problem, places, free, f"{label} ({relation.text})")
    fixed = {axis.symbol for i, axis in enumerate(problem.axes) if i not in free}
    for symbol in sorted(relation.residual.free_symbols & fixed, key=str):
        raise SafeNetError(
            f"{label} ({relation.text}) contains {symbol}, which its place fixes",
            f"replace {symbol} by its value there",
        )
    kind = _kind(problem, relation, places, free)
    return Condition(relation.text, relation.statement, relation.residual, relation.jets, kind, free, places)


def _example(problem: Problem) -> str:
    """u(0, t)"""
    arguments = [str(problem.axes[0].lower), *problem.axis_names[1:]]
    return f"{problem.unknowns[0]}({', '.join(arguments)})"


def _free_axes(problem: Problem, relation: Relation, places: Sequence[Place], label: str) -> tuple[int, ...]:
    """The axes along which a condition holds: the same for all unknowns in it, and never all axes."""
    free, *others = {tuple(i for i, value in enumerate(place) if value is None) for place in places}
    if others:
        raise SafeNetError(
            f"{label} ({relation.text}) mixes places of different shape",
            "all unknowns of one condition must be free along the same axes",
        )
    if len(free) == len(problem.axes):
        if problem.pieces or problem.region is not None:
            some = next(iter(problem.pieces), "PIECE")
            raise SafeNetError(
                f"{label} ({relation.text}) does not say where it holds",
                f"name a piece of the boundary: {relation.text} on {some}",
            )
        raise SafeNetError(
            f"{label} ({relation.text}) holds in the whole domain",
            f"fix an axis, e.g. {_example(problem)} = …, or add it to the equations",
        )
    return free


def _check_inside(problem: Problem, place: Place, label: str) -> None:
    for axis, value in zip(problem.axes, place, strict=True):
        if value is None:
            continue
        number = constant(number_of(value, f"{label}: the place of {axis.name}"))
        slack = 1e-12 * axis.length
        if not axis.lo - slack <= number <= axis.hi + slack:
            raise SafeNetError(
                f"{label} is placed at {axis.name} = {value}, outside the domain "
                f"{axis.lower} ≤ {axis.name} ≤ {axis.upper}",
                f"move it to {axis.name} = {axis.lower} or {axis.upper}, or widen the domain",
            )


def _check_region(problem: Problem, places: Sequence[Place], free: tuple[int, ...], shown: str) -> None:
    """With a region, conditions hold on its pieces, at its points, or at the start of time."""
    space = [i for i in range(len(problem.axes)) if i != problem.time]
    fixed = [i for i in space if i not in free]
    if problem.region is None or not fixed:
        return
    if len(places) > 1:
        raise SafeNetError(
            f"{shown} ties two places together, which a region does not allow",
            "state conditions on its pieces one by one; periodic ones need a box without pieces and holes",
        )
    (place,) = places
    if len(fixed) < len(space):
        at = f"{problem.axes[fixed[0]].name} = {place[fixed[0]]}"
        raise SafeNetError(
            f"{shown} is placed at {at}, but on this domain a condition on the boundary names a piece",
            f'name the piece, e.g. [pieces] side = "{at}", and write {problem.unknowns[0]} = … on side',
        )
    point = np.array([[place[i] for i in space]], dtype=float)
    if not problem.region.contains(point, 1e-9 * max(problem.axes[i].length for i in space))[0]:
        raise SafeNetError(f"{shown} is placed outside the domain", "move it inside")


def _on_piece(problem: Problem, relation: Relation, piece: str) -> Condition:
    """A condition along a named piece, at every time."""
    text = f"{_with_slopes(problem, relation.text)} on {piece}"
    free = tuple(range(len(problem.axes)))
    everywhere: tuple[Place, ...] = ((None,) * len(free),)
    return Condition(
        text,
        relation.statement,
        relation.residual,
        relation.jets,
        _slope_kind(relation),
        free,
        everywhere,
        piece,
    )


def check_place(problem: Problem, given: On, label: str) -> None:
    """Raise if a condition on a named piece also fixes a place by its arguments."""
    relation = relation_of(problem, given.statement, label, problem.normals)
    if any(value is not None for jet in relation.jets.values() for value in jet.place):
        text = f"{_with_slopes(problem, relation.text)} on {given.piece}"
        raise SafeNetError(
            f"{label} ({text}) fixes a place and names a piece",
            f"write {problem.unknowns[0]} = … on {given.piece}, or give the place alone",
        )


def _with_slopes(problem: Problem, text: str) -> str:
    """The text with n_x*u_x + n_y*u_y, in SymPy's order of terms, shortened to u_n."""
    space = [axis.name for axis in problem.axes if not axis.is_time]
    for field in problem.unknowns:
        terms = sp.Add(*(sp.Symbol(f"n_{x}") * sp.Symbol(f"{field}_{x}") for x in space))
        text = text.replace(written(terms), f"{field}_n")
    return text


# ---- initial · dirichlet · neumann · robin · periodic · point · general, by what is fixed and where


def _kind(problem: Problem, relation: Relation, places: Sequence[Place], free: tuple[int, ...]) -> str:
    fixed = [i for i in range(len(problem.axes)) if i not in free]
    if len(places) > 1:
        periodic = len(fixed) == 1 and _matches_ends(problem, relation, fixed[0])
        return "periodic" if periodic else "general"
    if problem.time is not None and fixed == [problem.time]:
        return "initial" if places[0][problem.time] == problem.axes[problem.time].lower else "general"
    return "point" if len(fixed) > 1 else _slope_kind(relation)


def _slope_kind(relation: Relation) -> str:
    values = any(not any(jet.orders) for jet in relation.jets.values())
    slopes = any(any(jet.orders) for jet in relation.jets.values())
    if values and slopes:
        return "robin"
    return "neumann" if slopes else "dirichlet"


def _matches_ends(problem: Problem, relation: Relation, index: int) -> bool:
    """Whether the relation is ∂^α u(lower) = ∂^α u(upper) along an axis."""
    if len(relation.jets) != 2:
        return False
    (a, first), (b, second) = relation.jets.items()
    axis = problem.axes[index]
    same = first.field == second.field and first.orders == second.orders
    ends = {first.place[index], second.place[index]} == {axis.lower, axis.upper}
    return bool(same and ends and sp.expand(relation.residual.xreplace({a: b})) == 0)
