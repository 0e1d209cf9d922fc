"""Ω in d dimensions with ∂Ω in named pieces: the protocol that samplers, measures and pictures use for domains.

A `Region` in the plane implements it with edges, a `Solid` in space with faces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Protocol

import numpy as np

from ...errors import Place, SafeNetError, nearest
from .shapes import Shape
from .values import Ends

Predicate = Callable[[np.ndarray], np.ndarray]
Selector = Predicate | str | tuple[Any, ...]
Draw = Callable[[int, int], np.ndarray]  # (n, columns) -> points of the unit cube, new ones at every call

REST = "rest"
ROUNDS = 12  # of rejection sampling, each with twice as many points, before it is given up


class Body(Protocol):
    """A bounded domain, and the pieces of its boundary by name."""

    shape: Shape
    dimension: int

    @property
    def pieces(self) -> Mapping[str, Any]: ...

    @property
    def bounds(self) -> Ends:
        """(lower, upper): the corners of a box that holds the domain."""

    @property
    def measure(self) -> float:
        """Its area or volume."""

    @property
    def some_point(self) -> np.ndarray:
        """A point of the closed domain."""

    @property
    def nameless(self) -> float:
        """The length or area of the boundary that belongs to no piece."""

    def extent(self, name: str) -> float:
        """The length or area of a piece."""

    def contains(self, points: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """Whether points (n, d) lie in the closed domain widened (slack > 0) or narrowed (slack < 0) by `slack`."""

    def signed_distance(self, points: np.ndarray) -> np.ndarray:
        """The distance to the boundary, negative inside; for a combined solid it may be too small in magnitude."""

    def sample_piece(self, name: str, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points and outward normals (n, d) of a piece, uniform for uniform `unit` (n, d − 1); nan in rows that miss
        it, as on a face that is cut."""


def points_inside(body: Body, count: int, draw: Draw, box: Ends, columns: int = 0) -> np.ndarray:
    """`count` points of the domain as fractions of a box around it, with further `columns` of the same draws."""
    lower, upper = (np.array(corner) for corner in box)
    tries = int(np.ceil(1.2 * count * np.prod(upper - lower) / body.measure)) + 16

    def kept(tries: int) -> np.ndarray:
        unit = draw(tries, body.dimension + columns)
        inside = body.contains(lower + (upper - lower) * unit[:, : body.dimension])
        return np.asarray(unit[inside][:count])

    return _enough(kept, count, tries)


def points_on(
    body: Body, name: str, count: int, draw: Draw, columns: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`count` points of a piece with their normals, with further `columns` of the same draws."""

    def kept(tries: int) -> np.ndarray:
        unit = draw(tries, body.dimension - 1 + columns)
        points, normals = body.sample_piece(name, unit[:, : body.dimension - 1])
        rows = np.column_stack([points, normals, unit[:, body.dimension - 1 :]])
        return np.asarray(rows[np.isfinite(points[:, 0])][:count])

    found, d = _enough(kept, count, count), body.dimension
    return found[:, :d], found[:, d : 2 * d], found[:, 2 * d :]


def _enough(kept: Callable[[int], np.ndarray], count: int, tries: int) -> np.ndarray:
    """`count` rows from one sequence, so that they are spread evenly: if too few are kept, from a longer one."""
    for _ in range(ROUNDS):
        found = kept(tries)
        if len(found) == count:
            return found
        tries *= 2
    raise SafeNetError(
        f"{ROUNDS} rounds of sampling found {len(found)} of {count} points",
        "the domain, or a piece of its boundary, is too thin compared with the shapes it is made of",
    )


def check_selectors(shape: Shape, selectors: Mapping[str, Selector]) -> None:
    """Raise unless every selector that is text names a shape or is `rest`, which may occur once."""
    names = {leaf.name for leaf in shape.primitives() if leaf.name}
    if REST in names:
        raise SafeNetError(
            f"a shape is named {REST!r}",
            f"choose another name: {REST!r} means the boundary that belongs to no other piece",
        )
    words = {name: selector for name, selector in selectors.items() if isinstance(selector, str)}
    for name, word in words.items():
        if word != REST and not any(fnmatchcase(known, word) for known in names):
            known = nearest(word, [*names, REST])
            raise SafeNetError(f"no shape is named {word!r}", known, Place(("pieces", name)))
    *others, last = [name for name, word in words.items() if word == REST] or [""]
    if others:
        remedy = f'use "{REST}" for one piece only'
        raise SafeNetError(f"two pieces are the {REST}", remedy, Place(("pieces", last)))


def selected(selector: Selector, source: str, points: np.ndarray) -> np.ndarray:
    """Which of these boundary points, all on the shape named `source`, a selector chooses."""
    if isinstance(selector, tuple):
        chosen: np.ndarray = np.any([selected(one, source, points) for one in selector], axis=0)
        return chosen
    if isinstance(selector, str):
        return np.full(len(points), bool(source) and fnmatchcase(source, selector))
    answer = np.asarray(selector(points))
    if answer.shape != (len(points),):
        raise SafeNetError(
            f"a condition on {len(points)} boundary points answered with shape {answer.shape}",
            "return one truth value for each row of points (n, 2), such as lambda p: p[:, 0] == 0",
        )
    return answer.astype(bool)


def rest_of(selectors: Mapping[str, Selector]) -> str | None:
    """The name of the piece that is `rest`, or None."""
    return next((name for name, one in selectors.items() if isinstance(one, str) and one == REST), None)


def check_chosen(shape: Shape, sizes: Iterable[tuple[str, bool]]) -> None:
    """Raise if a piece is empty."""
    for name, something in sizes:
        if not something:
            raise SafeNetError(
                f"the piece {name!r} selects nothing of the boundary of {shape!r}",
                "check its condition at points of the boundary; a condition such as x == 0 needs an edge at x = 0",
                Place(("pieces", name)),
            )


def both_select(names: list[str], place: str) -> SafeNetError:
    return SafeNetError(
        f"the pieces {names[0]!r} and {names[1]!r} both select the boundary at {place}",
        "let each part of the boundary belong to one piece",
        Place(("pieces", names[1])),
    )
