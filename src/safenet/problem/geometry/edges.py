"""γ(s) = a + s (b − a) or c + r (cos θ(s), sin θ(s)), 0 ≤ s ≤ 1: parts of a boundary, the domain on their left.

So the outward unit normal is the tangent turned to the right, and a closed chain of edges determines its area (Green)
and its inside (the winding number), without approximation by a polygon.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

Point = tuple[float, float]
Bounds = tuple[Point, Point]  # (lower, upper)

TURN = 2 * np.pi
ROUNDING = 1e-12  # relative to the coordinates: smaller differences are rounding, not geometry


class Edge(ABC):
    """A part of a boundary; `source` is the name of the shape it came from, or ""."""

    source: str

    @property
    @abstractmethod
    def length(self) -> float: ...

    @property
    @abstractmethod
    def bounds(self) -> Bounds: ...

    @property
    @abstractmethod
    def moment(self) -> float:
        """½ ∫ x dy − y dx along the edge: round a closed chain, the enclosed area."""

    @property
    def closed(self) -> bool:
        """Whether the edge is a whole circle, which has no ends."""
        return False

    @property
    def ends(self) -> np.ndarray:
        """γ(0) and γ(1), as (2, 2)."""
        return self.at(np.array([0.0, 1.0]))[0]

    @abstractmethod
    def at(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """γ(s) and the outward unit normals there, each (n, 2)."""

    @abstractmethod
    def part(self, s0: float, s1: float) -> Self:
        """The edge from γ(s0) to γ(s1)."""

    @abstractmethod
    def reversed(self) -> Self:
        """The same points with the domain on the other side."""

    @abstractmethod
    def parameter(self, points: np.ndarray) -> np.ndarray:
        """The s of points that lie on the edge."""

    @abstractmethod
    def distance(self, points: np.ndarray) -> np.ndarray:
        """min_s |p − γ(s)| for points (n, 2)."""

    @abstractmethod
    def turn(self, points: np.ndarray) -> np.ndarray:
        """The angle through which γ − p turns along the edge: ±2π in all round a point inside a closed chain."""

    @abstractmethod
    def crossings(self, axis: int, value: float) -> list[float]:
        """The s where the edge's line or circle meets the line x_axis = value; callers ignore those outside [0, 1]."""

    def tangent(self, s: float) -> np.ndarray:
        """γ'(s)/|γ'(s)|: the normal turned to the left."""
        normal = self.at(np.array([s]))[1][0]
        return np.array([-normal[1], normal[0]])

    def clip(self, lower: ArrayLike, upper: ArrayLike) -> list[Self]:
        """The sub-edges in the closed rectangle lower ≤ x ≤ upper, including those along its border."""
        low, high = np.asarray(lower, float), np.asarray(upper, float)
        slack = ROUNDING * magnitude(low, high)
        cuts = [
            s for axis in (0, 1) for value in (low[axis], high[axis]) for s in self.crossings(axis, value)
        ]
        marks = breakpoints(cuts)
        middles = self.at((marks[1:] + marks[:-1]) / 2)[0]
        inside = np.all((middles >= low - slack) & (middles <= high + slack), axis=1)
        # A part that only touches a corner is left out: its length is rounding.
        return [self.part(s0, s1) for s0, s1 in runs(marks, inside) if (s1 - s0) * self.length > 4 * slack]


@dataclass(frozen=True)
class Segment(Edge):
    """γ(s) = start + s (end − start)."""

    start: Point
    end: Point
    source: str = ""

    @property
    def length(self) -> float:
        return float(np.hypot(*self._along))

    @property
    def bounds(self) -> Bounds:
        (a, b), (c, d) = self.start, self.end
        return (min(a, c), min(b, d)), (max(a, c), max(b, d))

    @property
    def moment(self) -> float:
        return (self.start[0] * self.end[1] - self.start[1] * self.end[0]) / 2

    @property
    def _along(self) -> np.ndarray:
        return np.subtract(self.end, self.start)

    def at(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s = np.asarray(s, float)[:, None]
        # From the nearer end: both ends are exact, and a constant coordinate stays constant.
        points = np.where(s <= 0.5, self.start + s * self._along, self.end - (1 - s) * self._along)
        normal = np.array([self._along[1], -self._along[0]]) / self.length
        return points, np.tile(normal, (len(s), 1))

    def part(self, s0: float, s1: float) -> Segment:
        start, end = (_pair(point) for point in self.at(np.array([s0, s1]))[0])
        return replace(self, start=start, end=end)

    def reversed(self) -> Segment:
        return replace(self, start=self.end, end=self.start)

    def parameter(self, points: np.ndarray) -> np.ndarray:
        share: np.ndarray = np.clip(np.subtract(points, self.start) @ self._along / self.length**2, 0.0, 1.0)
        return share

    def distance(self, points: np.ndarray) -> np.ndarray:
        points = np.asarray(points, float)
        return _norm(points - self.at(self.parameter(points))[0])

    def turn(self, points: np.ndarray) -> np.ndarray:
        return _angle_between(self.start - points, self.end - points)

    def crossings(self, axis: int, value: float) -> list[float]:
        step = self._along[axis]
        return [] if step == 0 else [(value - self.start[axis]) / step]


@dataclass(frozen=True)
class Arc(Edge):
    """γ(s) = center + radius (cos θ, sin θ), θ = begin + s (end − begin).

    If it runs counterclockwise (end > begin), the domain is inside the circle, if clockwise outside.
    """

    center: Point
    radius: float
    begin: float = 0.0
    end: float = TURN
    source: str = ""

    @property
    def sweep(self) -> float:
        return self.end - self.begin

    @property
    def length(self) -> float:
        return float(self.radius * abs(self.sweep))

    @property
    def closed(self) -> bool:
        return abs(self.sweep) >= TURN * (1 - ROUNDING)

    @property
    def bounds(self) -> Bounds:
        low, high = sorted((self.begin, self.end))
        quarters = np.arange(np.ceil(low / (np.pi / 2)), np.floor(high / (np.pi / 2)) + 1) * (np.pi / 2)
        points = self._on(np.concatenate([[low, high], quarters]))
        return _pair(points.min(axis=0)), _pair(points.max(axis=0))

    @property
    def moment(self) -> float:
        rise = np.sin(self.end) - np.sin(self.begin)
        run = np.cos(self.end) - np.cos(self.begin)
        offset = self.center[0] * rise - self.center[1] * run
        return float(self.radius * (self.radius * self.sweep + offset) / 2)

    def _on(self, theta: np.ndarray) -> np.ndarray:
        return self.center + self.radius * np.column_stack([np.cos(theta), np.sin(theta)])

    def at(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        theta = self.begin + np.asarray(s, float) * self.sweep
        radial = np.column_stack([np.cos(theta), np.sin(theta)])
        return self.center + self.radius * radial, np.sign(self.sweep) * radial

    def part(self, s0: float, s1: float) -> Arc:
        # Not begin + 1·sweep: the ends are kept exactly.
        return replace(
            self,
            begin=self.begin if s0 == 0 else float(self.begin + s0 * self.sweep),
            end=self.end if s1 == 1 else float(self.begin + s1 * self.sweep),
        )

    def reversed(self) -> Arc:
        return replace(self, begin=self.end, end=self.begin)

    def rotated(self, s: float) -> Arc:
        """A whole circle that starts at γ(s)."""
        begin = self.begin + s * self.sweep
        return replace(self, begin=begin, end=begin + self.sweep)

    def parameter(self, points: np.ndarray) -> np.ndarray:
        return np.clip(self._wrapped(points) / abs(self.sweep), 0.0, 1.0)

    def _wrapped(self, points: np.ndarray) -> np.ndarray:
        """The angle from `begin` onwards, in [−gap/2, |sweep| + gap/2): negative where `begin` is the nearer end."""
        x, y = (np.asarray(points, float) - self.center).T
        gap = max(TURN - abs(self.sweep), 0.0)
        ahead = np.mod(np.sign(self.sweep) * (np.arctan2(y, x) - self.begin), TURN)
        angle: np.ndarray = np.where(ahead > abs(self.sweep) + gap / 2, ahead - TURN, ahead)
        return angle

    def distance(self, points: np.ndarray) -> np.ndarray:
        points = np.asarray(points, float)
        ahead = self._wrapped(points)
        to_circle = np.abs(_norm(points - self.center) - self.radius)
        first, last = self.ends
        to_ends = np.minimum(_norm(points - first), _norm(points - last))
        return np.where((ahead >= 0) & (ahead <= abs(self.sweep)), to_circle, to_ends)

    def turn(self, points: np.ndarray) -> np.ndarray:
        # In two halves: the chord of a whole circle has no direction.
        return sum((self.part(s, s + 0.5)._turn_of_half(points) for s in (0.0, 0.5)), np.zeros(len(points)))

    def _turn_of_half(self, points: np.ndarray) -> np.ndarray:
        """The turn along the chord, plus a full turn for points between chord and arc."""
        if self.sweep < 0:
            return -self.reversed()._turn_of_half(points)
        first, last = self.ends
        chord = _angle_between(first - points, last - points)
        turn: np.ndarray = chord + TURN * ((chord < 0) & (_norm(points - self.center) < self.radius))
        return turn

    def crossings(self, axis: int, value: float) -> list[float]:
        ratio = (value - self.center[axis]) / self.radius
        rounding = ROUNDING * max(1.0, abs(value) / self.radius, abs(self.center[axis]) / self.radius)
        if abs(ratio) > 1 + rounding:
            return []
        # A tangent line touches once: two crossings, a square root of rounding apart, would cut out a sliver.
        ratio = np.sign(ratio) if abs(ratio) > 1 - rounding else ratio
        angle = np.arccos(ratio) if axis == 0 else np.arcsin(ratio)
        other = -angle if axis == 0 else np.pi - angle
        ahead = np.mod(np.sign(self.sweep) * (np.array([angle, other]) - self.begin), TURN)
        return [float(s) for s in ahead / abs(self.sweep)]


def breakpoints(parameters: Sequence[float], slack: float = 1e-13) -> np.ndarray:
    """0 = s₀ < s₁ < … < 1: the parameters inside (0, 1), sorted, each once."""
    marks = [0.0]
    for s in sorted(parameters):
        if marks[-1] + slack < s < 1 - slack:
            marks.append(float(s))
    return np.array([*marks, 1.0])


def runs(marks: np.ndarray, wanted: np.ndarray) -> list[tuple[float, float]]:
    """The intervals between marks that are wanted, neighbours joined."""
    joined: list[tuple[float, float]] = []
    for s0, s1, keep in zip(marks[:-1], marks[1:], wanted, strict=True):
        if keep and joined and joined[-1][1] == s0:
            joined[-1] = (joined[-1][0], float(s1))
        elif keep:
            joined.append((float(s0), float(s1)))
    return joined


def magnitude(*coordinates: np.ndarray) -> float:
    """The largest |coordinate|, which rounding is relative to."""
    return float(max(np.max(np.abs(values)) for values in coordinates))


def area(edges: Sequence[Edge]) -> float:
    """½ ∮ x dy − y dx (Green): exact for segments and arcs."""
    return float(np.sum([edge.moment for edge in edges]))


def signed_distance(edges: Sequence[Edge], points: np.ndarray) -> np.ndarray:
    """± min over the edges of |p − γ|: negative where closed chains of edges wind round p."""
    points = np.asarray(points, float)
    distance = np.full(len(points), np.inf)
    turned = np.zeros(len(points))
    for edge in edges:
        distance = np.minimum(distance, edge.distance(points))
        turned += edge.turn(points)
    return np.where(turned > TURN / 2, -distance, distance)


def meetings(a: Edge, b: Edge, slack: float) -> np.ndarray:
    """The points (k, 2) where two edges meet: crossings, touching points, and the ends of what they share."""
    ends = [edge.ends for edge in (a, b) if not edge.closed]
    # Ends first: where a crossing is also a corner, the corner's coordinates are the exact ones.
    candidates = np.concatenate([*ends, _carriers_meet(a, b, slack)])
    on_both = (a.distance(candidates) <= slack) & (b.distance(candidates) <= slack)
    return candidates[on_both]


def _carriers_meet(a: Edge, b: Edge, slack: float) -> np.ndarray:
    """Where the lines or circles that carry two edges meet."""
    match a, b:
        case Segment(), Segment():
            return _lines_meet(a, b)
        case Segment(), Arc():
            return _line_meets_circle(a, b, slack)
        case Arc(), Segment():
            return _line_meets_circle(b, a, slack)
        case Arc(), Arc():
            return _circles_meet(a, b, slack)
    raise TypeError(f"{type(a).__name__} and {type(b).__name__} are not both segments or arcs")


NOWHERE = np.empty((0, 2))


def _lines_meet(a: Segment, b: Segment) -> np.ndarray:
    u, v, w = a._along, b._along, np.subtract(b.start, a.start)
    determinant = _cross(u, v)
    if abs(determinant) <= ROUNDING * a.length * b.length:
        return NOWHERE  # parallel: what they share ends at an end of one of them
    return np.array([a.start + u * (_cross(w, v) / determinant)])


def _line_meets_circle(line: Segment, arc: Arc, slack: float) -> np.ndarray:
    direction = line._along / line.length
    foot = line.start + direction * np.dot(np.subtract(arc.center, line.start), direction)
    return _symmetric(foot, direction, float(_norm(foot - arc.center)), arc.radius, slack)


def _circles_meet(a: Arc, b: Arc, slack: float) -> np.ndarray:
    apart = np.subtract(b.center, a.center)
    distance = float(_norm(apart))
    if distance <= slack:
        return NOWHERE  # concentric: nothing in common, or one circle, where shared parts end at ends
    along = (distance + (a.radius - b.radius) * (a.radius + b.radius) / distance) / 2
    unit = apart / distance
    # A touching point may be off by the square root of rounding on the radical line; the circle itself is exact.
    if abs(abs(along) - a.radius) <= slack:
        along = float(np.copysign(a.radius, along))
    return _symmetric(a.center + along * unit, np.array([-unit[1], unit[0]]), abs(along), a.radius, slack)


def _symmetric(
    foot: np.ndarray, direction: np.ndarray, near: float, radius: float, slack: float
) -> np.ndarray:
    """foot ± √(radius² − near²) direction; one point where the line touches the circle."""
    if abs(near - radius) <= slack:
        return foot[None, :]
    if near > radius:
        return NOWHERE
    half = np.sqrt((radius - near) * (radius + near)) * direction
    return np.array([foot - half, foot + half])


def _pair(point: np.ndarray) -> Point:
    return float(point[0]), float(point[1])


def _norm(vectors: np.ndarray) -> np.ndarray:
    length: np.ndarray = np.hypot(vectors[..., 0], vectors[..., 1])
    return length


def _cross(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    product: np.ndarray = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
    return product


def _angle_between(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The angle from u to v in (−π, π]."""
    # + 0.0 turns −0 into 0, so that half a turn always has the same sign.
    angle: np.ndarray = np.arctan2(_cross(u, v) + 0.0, np.sum(u * v, axis=-1))
    return angle
