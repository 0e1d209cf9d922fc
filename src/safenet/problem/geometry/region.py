"""∂Ω = γ₁ ∪ … ∪ γₙ: a domain of the plane, the named pieces of its boundary, its corners and its samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ...errors import Place, SafeNetError, nearest
from .body import Selector, both_select, check_chosen, check_selectors, rest_of, selected
from .boundary import Corner, boundary, corner_between, middle, neighbours, trace, where
from .edges import (
    ROUNDING,
    Arc,
    Bounds,
    Edge,
    area,
    breakpoints,
    magnitude,
    meetings,
    signed_distance,
)
from .shapes import Combination, Difference, Shape

INSIDE = (0.382, 0.724)  # fractions of a part: "x = 0" holds at both only if it holds on the whole part
LOOKS = 256  # places on an edge where a selector is evaluated: it may switch once between neighbours
NEAREST = 1e-4  # of the domain, least distance to an end: closer, |x| < 1e-5 holds on both edges of a corner


class Region:
    """The domain of a shape, with names for the pieces of its boundary.

    A piece is chosen by a predicate on boundary points (n, 2), by the name of a shape or a pattern of names ("c*"), by
    several of these, or by "rest": what no other piece has chosen. Points closer than `tolerance`, relative to the
    coordinates, are the same.
    """

    dimension = 2

    def __init__(
        self, shape: Shape, pieces: Mapping[str, Selector] | None = None, *, tolerance: float = ROUNDING
    ) -> None:
        self.shape = shape
        self.tolerance = tolerance * magnitude(*(np.array(corner) for corner in shape.bounds))
        _check_removed(shape, self.tolerance)
        self.loops = trace(boundary(shape, self.tolerance), self.tolerance)
        self.edges = tuple(edge for loop in self.loops for edge in loop)
        _check_parts(shape, self.loops)
        self.pieces, self.unnamed = _divide(self, dict(pieces or {}))

    def __repr__(self) -> str:
        return f"Region({self.shape!r}, pieces: {', '.join(self.pieces) or 'none'})"

    @cached_property
    def measure(self) -> float:
        """½ ∮ x dy − y dx."""
        return area(self.edges)

    @cached_property
    def _boxes(self) -> np.ndarray:
        """The bounds of each edge, (edges, 2, 2)."""
        return np.array([edge.bounds for edge in self.edges])

    def _near(self, lower: np.ndarray, upper: np.ndarray) -> list[Edge]:
        """The edges whose bounds meet a rectangle; the others cannot meet it."""
        below = self._boxes[:, 0] <= upper + self.tolerance
        above = self._boxes[:, 1] >= lower - self.tolerance
        return [self.edges[i] for i in np.flatnonzero(np.all(below & above, axis=1))]

    @cached_property
    def bounds(self) -> Bounds:
        """(lower, upper): the smallest box that contains the domain."""
        lower, upper = self._boxes[:, 0].min(axis=0), self._boxes[:, 1].max(axis=0)
        return (float(lower[0]), float(lower[1])), (float(upper[0]), float(upper[1]))

    def extent(self, name: str) -> float:
        """∫ ds along a piece."""
        return sum(edge.length for edge in self._piece(name))

    @property
    def some_point(self) -> np.ndarray:
        return np.asarray(self.edges[0].ends[0])

    @property
    def nameless(self) -> float:
        """The length that belongs to no piece."""
        return sum(edge.length for edge in self.unnamed)

    def signed_distance(self, points: np.ndarray) -> np.ndarray:
        """The distance to the boundary for points (n, 2), negative inside, 0 within the tolerance."""
        distance = signed_distance(self.edges, points)
        return np.where(np.abs(distance) <= self.tolerance, 0.0, distance)

    def contains(self, points: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """Whether points lie in the closed domain widened (slack > 0) or narrowed (slack < 0) by `slack`."""
        return self.signed_distance(points) <= slack

    @cached_property
    def corners(self) -> tuple[Corner, ...]:
        """The re-entrant corners, where the interior angle exceeds π and solutions are singular."""
        found = [corner_between(a, b) for loop in self.loops for a, b in neighbours(loop)]
        return tuple(corner for corner in found if corner.angle > np.pi + 1e-6)

    def sample_piece(self, name: str, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points and outward normals at the fractions `unit`, (n,) or (n, 1), of a piece's length."""
        return along(self._piece(name), np.ravel(unit))

    def classify(self, lower: ArrayLike, upper: ArrayLike) -> np.ndarray:
        """For each open rectangle lower < x < upper, given as (m, 2) and (m, 2): "inside", "outside" or "cut"."""
        low, high = np.atleast_2d(np.asarray(lower, float)), np.atleast_2d(np.asarray(upper, float))
        depth = signed_distance(self.edges, (low + high) / 2)
        kinds = np.where(depth < 0, "inside", "outside")
        # A boundary farther off than half a diagonal does not reach in: only the others are checked one by one.
        for i in np.flatnonzero(np.abs(depth) <= np.hypot(*(high - low).T) / 2 + self.tolerance):
            if self._cuts(low[i], high[i]):
                kinds[i] = "cut"
        return kinds

    def _cuts(self, lower: np.ndarray, upper: np.ndarray) -> bool:
        """Whether a part of the boundary runs through the open rectangle."""
        within = (part for edge in self._near(lower, upper) for part in edge.clip(lower, upper))
        # Only a segment can run along the border; an arc that touches it is inside on both sides of that point.
        inner = lower + self.tolerance, upper - self.tolerance
        return any(
            isinstance(part, Arc) or bool(np.all((inner[0] < at) & (at < inner[1])))
            for part, at in ((part, middle(part)[0]) for part in within)
        )

    def _piece(self, name: str) -> tuple[Edge, ...]:
        if name not in self.pieces:
            raise SafeNetError(f"the boundary has no piece {name!r}", nearest(name, self.pieces))
        return self.pieces[name]


def along(edges: Sequence[Edge], unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """γ and its outward normals at the fractions `unit` of the length of a chain of edges."""
    unit = np.asarray(unit, float)
    stops = np.cumsum([0.0, *(edge.length for edge in edges)])
    travelled = unit * stops[-1]
    index = np.clip(np.searchsorted(stops, travelled, side="right") - 1, 0, len(edges) - 1)
    points, normals = np.empty((len(unit), 2)), np.empty((len(unit), 2))
    for i in np.unique(index):
        here = index == i
        s = np.clip((travelled[here] - stops[i]) / edges[i].length, 0.0, 1.0)
        points[here], normals[here] = edges[i].at(s)
    return points, normals


# --- checks ---


def _check_parts(shape: Shape, loops: Sequence[Sequence[Edge]]) -> None:
    outer = [loop for loop in loops if area(loop) > 0]
    if not outer:
        raise SafeNetError(f"the domain {shape!r} is empty", "remove less, or start from a larger shape")
    if len(outer) > 1:
        places = ", ".join(where(middle(loop[0])[0]) for loop in outer)
        raise SafeNetError(
            f"the domain {shape!r} falls into {len(outer)} parts that do not touch along an edge (at {places})",
            "join them, or solve a problem on each",
        )


def _check_removed(shape: Shape, tolerance: float) -> None:
    """Every B of A − B − … must lie in A: a hole that leaves the domain is probably a mistake."""
    if not isinstance(shape, Difference):
        return
    base, *removed = shape.parts()
    outline = boundary(base, tolerance)
    for part in removed:
        beyond = _sticks_out(boundary(part, tolerance), outline, tolerance)
        if beyond > 8 * tolerance:
            verb = "removed shapes" if isinstance(part, Combination) else "removed shape"
            raise SafeNetError(
                f"the {verb} {part!r} leaves {base!r} by {beyond:.3g}",
                "move or shrink it; it may share edges with the outer shape, and end there",
                Place(("domain", "remove")),
            )


def _sticks_out(edges: Sequence[Edge], outline: Sequence[Edge], tolerance: float) -> float:
    """How far the boundary of a removed shape lies outside the base, 0 if it stays inside."""
    farthest = 0.0
    for edge in edges:
        cuts = [s for other in outline for s in edge.parameter(meetings(edge, other, tolerance))]
        marks = breakpoints(cuts)
        # Both ends and the middle of each part between crossings, and some places between these.
        s = np.unique(np.concatenate([np.linspace(a, b, 33) for a, b in pairwise(marks)]))
        farthest = max(farthest, float(signed_distance(outline, edge.at(s)[0]).max()))
    return farthest


# --- pieces ---


def _divide(
    region: Region, selectors: dict[str, Selector]
) -> tuple[dict[str, tuple[Edge, ...]], tuple[Edge, ...]]:
    """The edges of each piece, and those that belong to none."""
    check_selectors(region.shape, selectors)
    owned: dict[str, list[Edge]] = {name: [] for name in selectors}
    unnamed: list[Edge] = []
    rest = rest_of(selectors)
    size = float(np.max(np.subtract(*region.bounds[::-1])))
    for edge in region.edges:
        for part, name in _shared_out(edge, {n: s for n, s in selectors.items() if n != rest}, size):
            (owned[name] if name else owned[rest] if rest else unnamed).append(part)
    check_chosen(region.shape, ((name, bool(parts)) for name, parts in owned.items()))
    for name, selector in selectors.items():
        for k, one in enumerate(selector if isinstance(selector, tuple) else ()):
            if not any(_selected(part, one, np.array(INSIDE)).all() for part in owned[name]):
                raise SafeNetError(
                    f"alternative {k + 1} of the piece {name!r} selects nothing of the boundary of {region.shape!r}",
                    "leave it out, or mend it: each side of an `or` must be a part of the boundary",
                    Place(("pieces", name)),
                )
    return {name: tuple(parts) for name, parts in owned.items()}, tuple(unnamed)


def _shared_out(edge: Edge, selectors: Mapping[str, Selector], size: float) -> list[tuple[Edge, str]]:
    """The edge cut where a selector switches, each part with the name of its piece or ""."""
    looks = _looks(edge, size)
    switches = {s for selector in selectors.values() for s in _switches(edge, selector, looks)}
    marks = breakpoints(list(switches), slack=1e-12)
    parts = []
    for s0, s1 in pairwise(marks):
        places = s0 + (s1 - s0) * np.array(INSIDE)
        chosen = [name for name, selector in selectors.items() if _selected(edge, selector, places).all()]
        if len(chosen) > 1:
            raise both_select(chosen, where(edge.at(places)[0][0]))
        parts.append((edge.part(s0, s1), chosen[0] if chosen else ""))
    return parts


def _selected(edge: Edge, selector: Selector, s: np.ndarray) -> np.ndarray:
    return selected(selector, edge.source, edge.at(s)[0])


def _looks(edge: Edge, size: float) -> np.ndarray:
    """0 < s < 1, evenly spaced, and ever closer towards both ends: y < 1e-3 chooses a part of the sides, too.

    The ends are left out: a corner is on two edges, and x == 0 there must not choose a part of the other edge. The
    same holds for an arc, whose distance from a tangent x = 0 grows with the square of s.
    """
    even = (np.arange(LOOKS) + 0.5) / LOOKS
    nearest = NEAREST * (np.sqrt(edge.radius * size) if isinstance(edge, Arc) else size)
    halvings = np.arange(1, max(0.0, np.log2(even[0] * edge.length / nearest)) + 1)
    towards = even[0] * 0.5**halvings
    return np.concatenate([towards[::-1], even, 1 - towards])


def _switches(edge: Edge, selector: Selector, looks: np.ndarray) -> list[float]:
    """Where a selector changes its answer along the edge, to 1e-13 by bisection."""
    answers = _selected(edge, selector, looks)
    found = []
    for i in np.flatnonzero(answers[1:] != answers[:-1]):
        low, high = looks[i], looks[i + 1]
        while high - low > 1e-13:
            half = (low + high) / 2
            same = _selected(edge, selector, np.array([half]))[0] == answers[i]
            low, high = (half, high) if same else (low, half)
        found.append(float((low + high) / 2))
    return found
