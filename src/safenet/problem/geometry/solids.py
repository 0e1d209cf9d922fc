"""Balls, cylinders, cones, and shapes of the plane extruded along an axis or turned about one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import SafeNetError
from .edges import ROUNDING, Arc, Edge, signed_distance
from .faces import Face, Flat, Sphere, Turned, Wall
from .region import Region
from .shapes import Polygon, Primitive, Shape
from .values import Ends, a_name, a_number, a_place, a_radius, plain, shown, shown_name


@dataclass(frozen=True, repr=False)
class Ball(Primitive):
    """A ball, |p − center| ≤ radius, in as many dimensions as `center` has coordinates.

    Examples:
        >>> shell = sn.Ball((0, 0, 0), 1) - sn.Ball((0, 0, 0), 0.25, name="core")
    """

    center: tuple[float, ...]
    radius: float
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", a_place(self.center, "the center of a ball", None))
        object.__setattr__(self, "radius", a_radius(self.radius, f"the ball at {shown(self.center)}"))
        object.__setattr__(self, "name", a_name(self.name, "a ball"))

    def __repr__(self) -> str:
        fields = [f"center={shown(self.center)}", f"radius={shown(self.radius)}"]
        return f"Ball({', '.join([*fields, *shown_name(self.name)])})"

    @property
    def bounds(self) -> Ends:
        return tuple(c - self.radius for c in self.center), tuple(c + self.radius for c in self.center)

    @property
    def edges(self) -> tuple[Edge, ...]:
        if self.dimension > 2:
            return super().edges
        x, y = self.center
        return (Arc((x, y), self.radius, source=self.name),)

    @property
    def faces(self) -> tuple[Face, ...]:
        return (Sphere(np.array(self.center), self.radius, self.name),)

    def level(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(points - self.center, axis=1) - self.radius)

    def to_data(self) -> dict[str, Any]:
        return {"ball": {"center": plain(self.center), "radius": plain(self.radius)} | self._named()}


class Round(Primitive):
    """A profile (r, s) of the half-plane r ≥ 0, turned about the line center + s axis."""

    @property
    @abstractmethod
    def profile(self) -> Shape: ...

    @property
    @abstractmethod
    def line(self) -> tuple[np.ndarray, np.ndarray]:
        """Its center, and its axis as a vector of any length."""

    @cached_property
    def _edges(self) -> tuple[Edge, ...]:
        """The edges of the profile that are not on the axis, where they would bound nothing."""
        return tuple(edge for edge in Region(self.profile).edges if not _on_axis(edge))

    @cached_property
    def frame(self) -> np.ndarray:
        """Two unit vectors across the axis, and the axis."""
        along = self.line[1] / np.linalg.norm(self.line[1])
        across = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        across /= np.linalg.norm(across)
        return np.stack([across, np.cross(along, across), along])

    @cached_property
    def bounds(self) -> Ends:
        """The bounds of all circles that the edges trace: along ±x, the largest ±s a_x + r √(1 − a_x²)."""
        center, along = self.line[0], self.frame[2]
        ends = []
        for sign in (-1, 1):
            directions = np.column_stack([np.sqrt(np.maximum(1 - along**2, 0.0)), sign * along])
            reach = [max(_support(edge, way) for edge in self._edges) for way in directions]
            ends.append(center + sign * np.array(reach))
        return tuple(ends[0].tolist()), tuple(ends[1].tolist())

    @property
    def faces(self) -> tuple[Face, ...]:
        return tuple(Turned(edge, self.line[0], self.frame, self.name) for edge in self._edges)

    def level(self, points: np.ndarray) -> np.ndarray:
        away = np.asarray(points, float) - self.line[0]
        s = away @ self.frame[2]
        r = np.linalg.norm(away - s[:, None] * self.frame[2], axis=1)
        flat = np.column_stack([r, s])
        distance = np.min([edge.distance(flat) for edge in self._edges], axis=0)
        inside = signed_distance(self._outline, flat) < 0
        # The profile's edge on the axis is no boundary: a point there is inside if a point next to it is.
        inside |= (r <= self._near) & (
            signed_distance(self._outline, flat + np.array([2 * self._near, 0.0])) < 0
        )
        return np.asarray(np.where(inside, -distance, distance))

    @cached_property
    def _outline(self) -> tuple[Edge, ...]:
        return Region(self.profile).edges

    @cached_property
    def _near(self) -> float:
        return 1e3 * ROUNDING * float(np.max(np.abs(self.profile.bounds)))


@dataclass(frozen=True, repr=False)
class Revolution(Round):
    """A shape of the half-plane (r, s), r ≥ 0, turned about the line center + s axis.

    Examples:
        >>> ring = sn.Revolution(sn.Disc((1, 0), 0.25))
    """

    shape: Shape
    center: tuple[float, ...] = (0.0, 0.0, 0.0)
    axis: tuple[float, ...] = (0.0, 0.0, 1.0)
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _of_the_plane(self.shape, "revolution"))
        object.__setattr__(self, "center", a_place(self.center, "the center of a revolution"))
        object.__setattr__(self, "axis", a_place(self.axis, "the axis of a revolution"))
        object.__setattr__(self, "name", a_name(self.name, "a revolution"))
        if not any(self.axis):
            raise SafeNetError("the axis of a revolution has no direction", "give e.g. (0, 0, 1)")
        if self.shape.bounds[0][0] < -1e-9:
            raise SafeNetError(
                f"the shape {self.shape!r} crosses the axis it is turned about",
                "its first coordinate is the distance from the axis: keep it at 0 or above",
            )

    def __repr__(self) -> str:
        fields = [repr(self.shape), f"center={shown(self.center)}", f"axis={shown(self.axis)}"]
        return f"Revolution({', '.join([*fields, *shown_name(self.name)])})"

    @property
    def profile(self) -> Shape:
        return self.shape

    @property
    def line(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.center), np.array(self.axis)

    def to_data(self) -> dict[str, Any]:
        numbers = {"center": plain(self.center), "axis": plain(self.axis)}
        return {"revolution": {"shape": self.shape.to_data(), **numbers} | self._named()}


@dataclass(frozen=True, repr=False)
class Cylinder(Round):
    """A cylinder: the points within `radius` of the line from `start` to `end`, between its ends.

    Examples:
        >>> pipe = sn.Cylinder((0, 0, 0), (0, 0, 2), 0.5)
    """

    start: tuple[float, ...]
    end: tuple[float, ...]
    radius: float
    name: str = ""

    def __post_init__(self) -> None:
        _ends(self, "cylinder")
        object.__setattr__(self, "radius", a_radius(self.radius, "a cylinder"))

    def __repr__(self) -> str:
        fields = [f"{key}={shown(getattr(self, key))}" for key in ("start", "end", "radius")]
        return f"Cylinder({', '.join([*fields, *shown_name(self.name)])})"

    @cached_property
    def profile(self) -> Shape:
        return _trapezoid(self.line[1], self.radius, self.radius)

    @property
    def line(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.start), np.subtract(self.end, self.start)

    def to_data(self) -> dict[str, Any]:
        numbers = {"start": plain(self.start), "end": plain(self.end), "radius": plain(self.radius)}
        return {"cylinder": numbers | self._named()}


@dataclass(frozen=True, repr=False)
class Cone(Round):
    """A cone from a disc of `radius` at `start` to one of radius `top` at `end`, by default a point.

    Examples:
        >>> funnel = sn.Cone((0, 0, 0), (0, 0, 1), 0.5, top=0.1)
    """

    start: tuple[float, ...]
    end: tuple[float, ...]
    radius: float
    top: float = 0.0
    name: str = ""

    def __post_init__(self) -> None:
        _ends(self, "cone")
        object.__setattr__(self, "radius", a_radius(self.radius, "a cone"))
        object.__setattr__(self, "top", a_number(self.top, "the radius of a cone at its end"))
        if self.top < 0:
            raise SafeNetError(f"a cone has radius {shown(self.top)} at its end", "give 0 for a tip")

    def __repr__(self) -> str:
        fields = [f"{key}={shown(getattr(self, key))}" for key in ("start", "end", "radius", "top")]
        return f"Cone({', '.join([*fields, *shown_name(self.name)])})"

    @cached_property
    def profile(self) -> Shape:
        return _trapezoid(self.line[1], self.radius, self.top)

    @property
    def line(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.start), np.subtract(self.end, self.start)

    def to_data(self) -> dict[str, Any]:
        numbers = {key: plain(getattr(self, key)) for key in ("start", "end", "radius", "top")}
        return {"cone": numbers | self._named()}


@dataclass(frozen=True, repr=False)
class Extrusion(Primitive):
    """A shape of the plane of the first two axes, extruded from `bottom` to `top` along the third.

    Examples:
        >>> prism = sn.Extrusion(sn.Polygon([(0, 0), (1, 0), (0, 1)]), 0, 2)
    """

    shape: Shape
    bottom: float
    top: float
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _of_the_plane(self.shape, "extrusion"))
        object.__setattr__(self, "bottom", a_number(self.bottom, "the bottom of an extrusion"))
        object.__setattr__(self, "top", a_number(self.top, "the top of an extrusion"))
        object.__setattr__(self, "name", a_name(self.name, "an extrusion"))
        if self.bottom >= self.top:
            raise SafeNetError(
                f"an extrusion reaches from {shown(self.bottom)} to {shown(self.top)}", "give it a height"
            )

    def __repr__(self) -> str:
        fields = [repr(self.shape), shown(self.bottom), shown(self.top)]
        return f"Extrusion({', '.join([*fields, *shown_name(self.name)])})"

    @cached_property
    def _region(self) -> Region:
        return Region(self.shape)

    @property
    def bounds(self) -> Ends:
        lower, upper = self._region.bounds
        return (*lower, self.bottom), (*upper, self.top)

    @property
    def faces(self) -> tuple[Face, ...]:
        lower, upper = (np.array(corner) for corner in self.bounds)
        ends = (Flat.of_box(lower, upper, 2, end, self.name) for end in (0, 1))
        return (*(Wall(e, self.bottom, self.top, self.name) for e in self._region.edges), *ends)

    def level(self, points: np.ndarray) -> np.ndarray:
        points = np.asarray(points, float)
        across = self._region.signed_distance(points[:, :2])
        along = np.maximum(self.bottom - points[:, 2], points[:, 2] - self.top)
        outside = np.hypot(np.maximum(across, 0.0), np.maximum(along, 0.0))
        return np.asarray(outside + np.minimum(np.maximum(across, along), 0.0))

    def to_data(self) -> dict[str, Any]:
        numbers = {"bottom": plain(self.bottom), "top": plain(self.top)}
        return {"extrusion": {"shape": self.shape.to_data(), **numbers} | self._named()}


def _of_the_plane(shape: Any, what: str) -> Shape:
    found = shape if isinstance(shape, Shape) else Shape.from_data(shape)
    if found.dimension != 2:
        raise SafeNetError(f"{found!r} is not in the plane", f"the shape of a {what} has two axes")
    return found


def _ends(solid: Cylinder | Cone, what: str) -> None:
    for key in ("start", "end"):
        object.__setattr__(solid, key, a_place(getattr(solid, key), f"the {key} of a {what}"))
    object.__setattr__(solid, "name", a_name(solid.name, f"a {what}"))
    if solid.start == solid.end:
        raise SafeNetError(f"a {what} begins and ends at {shown(solid.start)}", "give it a height")


def _trapezoid(along: np.ndarray, radius: float, top: float) -> Polygon:
    height = float(np.linalg.norm(along))
    corners = [(0.0, 0.0), (radius, 0.0), (top, height), (0.0, height)]
    return Polygon(tuple(dict.fromkeys(corners)))


def _on_axis(edge: Edge) -> bool:
    (a, b), (c, d) = edge.bounds
    return max(abs(a), abs(c)) <= 1e-9 * max(abs(b), abs(d), abs(d - b))


def _support(edge: Edge, way: np.ndarray) -> float:
    """max over the edge of γ · way."""
    reach = float((edge.ends @ way).max())
    if isinstance(edge, Arc):
        farthest = np.asarray(edge.center) + edge.radius * way / np.linalg.norm(way)
        if edge.distance(farthest[None, :])[0] <= 1e-9 * edge.radius:
            reach = max(reach, float(farthest @ way))
    return reach
