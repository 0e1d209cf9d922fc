"""A ∪ B, A ∖ B, A ∩ B of boxes, discs, polygons, balls, …: a domain as the user writes it.

    Box(x=(0, 4), y=(0, 2)) - Box(x=(0, 2), y=(1, 2)) - Disc(center=(3, 1), radius=0.2, name="hole")

A shape is a value: comparable, hashable, printed as it is written, and stored as plain data. What solvers need of it
(its boundary, pieces, samples) is in `region.py` for the plane and in `solid.py` for space; `solids.py` has balls and
the shapes that exist only in space.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import SafeNetError
from .edges import ROUNDING, Arc, Edge, Point, Segment, signed_distance
from .faces import Face, Flat
from .simple import meeting, signed_area
from .values import Ends, a_name, a_point, a_radius, an_interval, plain, shown, shown_name


class Shape(ABC):
    """A closed set of the plane or of space; `+` or `|` unites, `-` subtracts, `&` intersects."""

    @property
    @abstractmethod
    def bounds(self) -> Ends:
        """(lower, upper) corners of a box that contains the shape."""

    @property
    def dimension(self) -> int:
        """2 in the plane, 3 in space, any number for boxes and balls."""
        return len(self.bounds[0])

    @property
    @abstractmethod
    def axes(self) -> tuple[str, ...]:
        """The names of the axes in order, or () where no box has named them."""

    @abstractmethod
    def level(self, points: np.ndarray) -> np.ndarray:
        """φ(p) ≤ 0 in the closed shape: the signed distance of a box, disc, …; min and max of these if combined."""

    @abstractmethod
    def primitives(self) -> tuple[Primitive, ...]:
        """The boxes, discs and polygons it is made of, as written from left to right."""

    @abstractmethod
    def to_data(self) -> dict[str, Any]:
        """Plain data for JSON or TOML, such as {"disc": {"center": [0.3, 0.3], "radius": 0.1}}."""

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Shape:
        """The inverse of `to_data`."""
        from .written import from_data

        return from_data(data)

    def contains(self, points: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """φ(p) ≤ slack for points (n, d): also true on a side that two removed shapes share, unlike in a `Region`."""
        return self.level(np.asarray(points, float)) <= slack

    def __add__(self, other: Shape) -> Union:
        return Union(self, other) if isinstance(other, Shape) else NotImplemented

    __or__ = __add__

    def __sub__(self, other: Shape) -> Difference:
        return Difference(self, other) if isinstance(other, Shape) else NotImplemented

    def __and__(self, other: Shape) -> Intersection:
        return Intersection(self, other) if isinstance(other, Shape) else NotImplemented


class Primitive(Shape):
    """A box, a disc, a ball, …: a leaf, which may have a name. In the plane it has edges, in space faces."""

    name: str

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The boundary of a shape in the plane, counterclockwise."""
        raise SafeNetError(f"{self!r} is not in the plane")

    @property
    def faces(self) -> tuple[Face, ...]:
        """The boundary of a shape in space."""
        raise SafeNetError(f"{self!r} is not in space")

    @property
    def axes(self) -> tuple[str, ...]:
        return ()

    def primitives(self) -> tuple[Primitive, ...]:
        return (self,)

    def _named(self) -> dict[str, str]:
        return {"name": self.name} if self.name else {}


@dataclass(frozen=True, init=False, repr=False)
class Box(Primitive):
    """A box, lower ≤ (x, y, …) ≤ upper: Box(x=(0, 4), y=(0, 2)); the order of the keywords is that of the axes.

    Examples:
        >>> step = sn.Box(x=(0, 4), y=(0, 2)) - sn.Box(x=(0, 1), y=(0, 1))
    """

    labels: tuple[str, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    name: str

    def __init__(self, *, name: str = "", **intervals: Sequence[float]) -> None:
        if len(intervals) < 2:
            given = ", ".join(intervals) or "none"
            raise SafeNetError(
                f"a box has two axes or more, and got {given}", "write Box(x=(0, 1), y=(0, 2))"
            )
        ends = [an_interval(axis, interval) for axis, interval in intervals.items()]
        # Set by hand, in a frozen dataclass: the keywords are axis names that only the user knows.
        object.__setattr__(self, "labels", tuple(intervals))
        object.__setattr__(self, "lower", tuple(low for low, _ in ends))
        object.__setattr__(self, "upper", tuple(high for _, high in ends))
        object.__setattr__(self, "name", a_name(name, "a box"))

    def __repr__(self) -> str:
        sides = [f"{axis}={shown(ends)}" for axis, ends in self._intervals()]
        return f"Box({', '.join([*sides, *shown_name(self.name)])})"

    def _intervals(self) -> list[tuple[str, Point]]:
        return list(zip(self.axes, zip(self.lower, self.upper, strict=True), strict=True))

    @property
    def axes(self) -> tuple[str, ...]:
        return self.labels

    @property
    def bounds(self) -> Ends:
        return self.lower, self.upper

    @property
    def edges(self) -> tuple[Edge, ...]:
        if self.dimension > 2:
            return super().edges
        (a, b), (c, d) = self.lower, self.upper
        return _chain([(a, b), (c, b), (c, d), (a, d)], self.name)

    @property
    def faces(self) -> tuple[Face, ...]:
        ends = (np.array(self.lower), np.array(self.upper))
        return tuple(
            Flat.of_box(*ends, axis, end, self.name) for axis in range(len(ends[0])) for end in (0, 1)
        )

    def level(self, points: np.ndarray) -> np.ndarray:
        # Two differences, not |p − middle| − half: a point with a side's coordinate is exactly on it.
        beyond = np.maximum(self.lower - points, points - self.upper)
        outside = np.maximum(beyond, 0.0)
        level: np.ndarray = np.linalg.norm(outside, axis=1) + np.minimum(beyond.max(axis=1), 0.0)
        return level

    def to_data(self) -> dict[str, Any]:
        return {"box": {axis: plain(ends) for axis, ends in self._intervals()} | self._named()}


@dataclass(frozen=True, repr=False)
class Disc(Primitive):
    """A disc, |p − center| ≤ radius.

    Examples:
        >>> ring = sn.Disc((0, 0), 1) - sn.Disc((0, 0), 0.25, name="hole")
    """

    center: Point
    radius: float
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", a_point(self.center, "the center of a disc"))
        object.__setattr__(self, "radius", a_radius(self.radius, f"the disc at {shown(self.center)}"))
        object.__setattr__(self, "name", a_name(self.name, "a disc"))

    def __repr__(self) -> str:
        fields = [f"center={shown(self.center)}", f"radius={shown(self.radius)}"]
        return f"Disc({', '.join([*fields, *shown_name(self.name)])})"

    @property
    def bounds(self) -> Ends:
        (x, y), r = self.center, self.radius
        return (x - r, y - r), (x + r, y + r)

    @property
    def edges(self) -> tuple[Edge, ...]:
        return (Arc(self.center, self.radius, source=self.name),)

    def level(self, points: np.ndarray) -> np.ndarray:
        away = points - self.center
        return np.hypot(away[:, 0], away[:, 1]) - self.radius

    def to_data(self) -> dict[str, Any]:
        return {"disc": {"center": plain(self.center), "radius": plain(self.radius)} | self._named()}


@dataclass(frozen=True, repr=False)
class Polygon(Primitive):
    """A polygon: the inside of v₀ v₁ … v₀, given in either direction; the last side, back to v₀, is added.

    Examples:
        >>> triangle = sn.Polygon([(0, 0), (1, 0), (0, 1)])
    """

    vertices: tuple[Point, ...]
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.vertices, Iterable):
            raise SafeNetError(
                f"the vertices of a polygon are {self.vertices!r}", "write Polygon([(0, 0), (1, 0), (0, 1)])"
            )
        vertices = [a_point(vertex, "a vertex of a polygon") for vertex in self.vertices]
        if len(vertices) > 1 and vertices[0] == vertices[-1]:
            vertices.pop()
        object.__setattr__(self, "vertices", tuple(vertices))
        object.__setattr__(self, "name", a_name(self.name, "a polygon"))
        _check_polygon(self)

    def __repr__(self) -> str:
        corners = ", ".join(shown(vertex) for vertex in self.vertices)
        return f"Polygon({', '.join([f'[{corners}]', *shown_name(self.name)])})"

    @property
    def bounds(self) -> Ends:
        (a, b), (c, d) = np.min(self.vertices, axis=0), np.max(self.vertices, axis=0)
        return (float(a), float(b)), (float(c), float(d))

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        turned = signed_area(self.vertices) > 0
        return _chain(self.vertices if turned else self.vertices[::-1], self.name)

    def level(self, points: np.ndarray) -> np.ndarray:
        return signed_distance(self.edges, points)

    def to_data(self) -> dict[str, Any]:
        return {"polygon": {"vertices": [plain(vertex) for vertex in self.vertices]} | self._named()}


@dataclass(frozen=True, repr=False)
class Combination(Shape):
    """A combination of two shapes."""

    first: Shape
    second: Shape

    def __post_init__(self) -> None:
        a, b = self.first.axes, self.second.axes
        if a and b and a != b:
            raise SafeNetError(
                f"the axes of {self.first!r} are {', '.join(a)}, those of {self.second!r} are {', '.join(b)}",
                "name the axes of every box alike, in the same order",
            )
        if self.first.dimension != self.second.dimension:
            raise SafeNetError(
                f"{self.first!r} has {self.first.dimension} dimensions, {self.second!r} has {self.second.dimension}",
                "unite and remove shapes of as many dimensions",
            )

    @property
    def axes(self) -> tuple[str, ...]:
        return self.first.axes or self.second.axes

    def primitives(self) -> tuple[Primitive, ...]:
        return self.first.primitives() + self.second.primitives()

    def parts(self) -> tuple[Shape, ...]:
        """(A, B, C) of A ∘ B ∘ C, which is (A ∘ B) ∘ C."""
        first = self.first
        return (*(first.parts() if isinstance(first, type(self)) else (first,)), self.second)

    def _shown(self, sign: str) -> str:
        second = f"({self.second!r})" if isinstance(self.second, Combination) else repr(self.second)
        # Python's & binds more weakly than + and -.
        mixed = isinstance(self.first, Combination) and (
            isinstance(self, Intersection) != isinstance(self.first, Intersection)
        )
        return f"{f'({self.first!r})' if mixed else repr(self.first)} {sign} {second}"


class Union(Combination):
    """A ∪ B, written A + B or A | B."""

    def __repr__(self) -> str:
        return self._shown("+")

    @property
    def bounds(self) -> Ends:
        (a, b), (c, d) = self.first.bounds, self.second.bounds
        return tuple(map(min, a, c)), tuple(map(max, b, d))

    def level(self, points: np.ndarray) -> np.ndarray:
        level: np.ndarray = np.minimum(self.first.level(points), self.second.level(points))
        return level

    def to_data(self) -> dict[str, Any]:
        return {"union": [part.to_data() for part in self.parts()]}


class Difference(Combination):
    """A without the inside of B, written A - B."""

    def __repr__(self) -> str:
        return self._shown("-")

    @property
    def bounds(self) -> Ends:
        return self.first.bounds

    def level(self, points: np.ndarray) -> np.ndarray:
        level: np.ndarray = np.maximum(self.first.level(points), -self.second.level(points))
        return level

    def to_data(self) -> dict[str, Any]:
        return {"difference": [part.to_data() for part in self.parts()]}


class Intersection(Combination):
    """A ∩ B, written A & B: half a disc is Disc((0, 0), 1) & Box(x=(-1, 1), y=(0, 1))."""

    def __repr__(self) -> str:
        return self._shown("&")

    @property
    def bounds(self) -> Ends:
        (a, b), (c, d) = self.first.bounds, self.second.bounds
        lower = tuple(map(max, a, c))
        return lower, tuple(map(max, lower, map(min, b, d)))

    def level(self, points: np.ndarray) -> np.ndarray:
        level: np.ndarray = np.maximum(self.first.level(points), self.second.level(points))
        return level

    def to_data(self) -> dict[str, Any]:
        return {"intersection": [part.to_data() for part in self.parts()]}


def _chain(vertices: Sequence[Point], source: str) -> tuple[Edge, ...]:
    following = [*vertices[1:], vertices[0]]
    return tuple(Segment(a, b, source) for a, b in zip(vertices, following, strict=True))


def _check_polygon(shape: Polygon) -> None:
    vertices = shape.vertices
    if len(set(vertices)) < 3:
        raise SafeNetError(f"{shape!r} has fewer than three different vertices", "give at least three")
    if len(set(vertices)) < len(vertices):
        repeated = next(vertex for i, vertex in enumerate(vertices) if vertex in vertices[:i])
        raise SafeNetError(f"{shape!r} visits {shown(repeated)} twice", "give every vertex once")
    lower, upper = shape.bounds
    size = np.subtract(upper, lower)
    (dx, dy), from_first = np.subtract(vertices[1], vertices[0]), np.subtract(vertices, vertices[0])
    across = from_first @ np.array([-dy, dx])
    if np.abs(across).max() <= ROUNDING * float(np.sum(size**2)):
        raise SafeNetError(f"{shape!r} has no area", "its vertices lie on one line: move one of them")
    place = meeting(vertices, ROUNDING)
    if place is not None:
        raise SafeNetError(
            f"the sides of {shape!r} cross or touch each other at {shown([float(f'{v:.6g}') for v in place])}",
            "give the vertices in the order in which the boundary meets them",
        )
