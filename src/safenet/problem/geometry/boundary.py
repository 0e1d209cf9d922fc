"""∂(A ∪ B), ∂(A ∖ B): the edges of a shape, cut where primitives meet and kept where they bound; loops and corners.

Every edge of every box, disc and polygon is cut where it meets another, and a part is kept if exactly one side of it is
inside. So the boundary consists of segments and arcs, exact to rounding, whatever was united or removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import cast

import numpy as np

from ...errors import SafeNetError
from .edges import (
    TURN,
    Arc,
    Edge,
    Point,
    Segment,
    area,
    breakpoints,
    meetings,
)
from .shapes import Shape
from .values import Ends

PROBE = 1e-8  # a step off the boundary, relative to the domain: thinner slits are not resolved


@dataclass(frozen=True)
class Corner:
    """A corner of the domain: Ω near `point` is 0 < r, direction < θ < direction + angle."""

    point: Point
    angle: float
    direction: float


def boundary(shape: Shape, tolerance: float) -> list[Edge]:
    """The edges of ∂(interior of the shape), oriented with the interior on the left."""
    whole, owner = _all_edges(shape)
    marks, vertices = _cut_points(whole, owner, tolerance)
    cut = [_cut(edge, vertices[list(at)]) for edge, at in zip(whole, marks, strict=True)]
    sides = _sides_kept([part for parts in cut for part in parts], shape, probe_step(shape.bounds, tolerance))
    _drop_repeated([part for parts in cut for part in parts], sides, tolerance)
    return _joined(cut, sides, tolerance)


def probe_step(bounds: Ends, tolerance: float) -> float:
    """A step off the boundary: small against the domain, large against rounding."""
    return max(PROBE * float(np.linalg.norm(np.subtract(bounds[1], bounds[0]))), 16 * tolerance)


def _all_edges(shape: Shape) -> tuple[list[Edge], list[int]]:
    """All edges of all primitives, and which primitive each belongs to; named ones first, so that names are kept."""
    leaves = sorted(shape.primitives(), key=lambda leaf: not leaf.name)
    pairs = [(edge, i) for i, leaf in enumerate(leaves) for edge in leaf.edges]
    return [edge for edge, _ in pairs], [i for _, i in pairs]


def _cut_points(whole: list[Edge], owner: list[int], tolerance: float) -> tuple[list[list[int]], np.ndarray]:
    """For each edge the vertices on it, as indices, and the vertices (k, 2), each once."""
    # Corners first: a point that falls on one takes its exact coordinates.
    vertices = [tuple(end) for edge in whole if not edge.closed for end in edge.ends]
    marks: list[list[int]] = [[] for _ in whole]
    boxes = np.array([edge.bounds for edge in whole])
    for i, j in combinations(range(len(whole)), 2):
        apart = np.any(boxes[i, 0] > boxes[j, 1] + tolerance) or np.any(boxes[j, 0] > boxes[i, 1] + tolerance)
        if owner[i] == owner[j] or apart:
            continue
        for point in meetings(whole[i], whole[j], tolerance):
            index = _index(vertices, point, tolerance)
            marks[i].append(index)
            marks[j].append(index)
    return marks, np.array(vertices, float).reshape(-1, 2)


def _index(vertices: list[tuple[float, ...]], point: np.ndarray, tolerance: float) -> int:
    """The index of a point in the list; a new point is appended."""
    if vertices:
        distance = np.hypot(*(np.array(vertices) - point).T)
        closest = int(np.argmin(distance))
        if distance[closest] <= 4 * tolerance:
            return closest
    vertices.append(tuple(point))
    return len(vertices) - 1


def _cut(edge: Edge, at: np.ndarray) -> list[Edge]:
    """The parts of an edge between points on it, which become the exact ends of the parts."""
    if len(at) == 0:
        return [edge]
    s = edge.parameter(at)
    if isinstance(edge, Arc) and edge.closed:
        edge = edge.rotated(float(s[0]))
        s = np.mod(s[1:] - s[0], 1.0)
    marks = breakpoints(list(s), slack=1e-11)
    parts = [edge.part(s0, s1) for s0, s1 in pairwise(marks)]
    return [_snapped(part, at) for part in parts]


def _snapped(part: Edge, vertices: np.ndarray) -> Edge:
    """A segment with its ends moved to the vertices they stand for; an arc meets these by its angles."""
    if not isinstance(part, Segment):
        return part
    start, end = (vertices[np.argmin(np.hypot(*(vertices - p).T))] for p in (part.start, part.end))
    near = 1e-9 * part.length
    moved = replace(part)
    if np.hypot(*(start - part.start)) <= near:
        moved = replace(moved, start=(float(start[0]), float(start[1])))
    if np.hypot(*(end - part.end)) <= near:
        moved = replace(moved, end=(float(end[0]), float(end[1])))
    return moved


def _sides_kept(parts: list[Edge], shape: Shape, step: float) -> np.ndarray:
    """1 where the inside is on the left only, −1 on the right only, 0 where the part bounds nothing."""
    middles, normals = (np.array(values) for values in zip(*map(middle, parts), strict=True))
    left, right = (shape.contains(middles + sign * step * normals) for sign in (-1, 1))
    kept: np.ndarray = left.astype(int) - right.astype(int)
    return kept


def _drop_repeated(parts: list[Edge], sides: np.ndarray, tolerance: float) -> None:
    """Of parts that coincide only the first bounds: `sides` of the others becomes 0."""
    middles = np.array([middle(part)[0] for part in parts])
    for j in range(len(parts)):
        earlier = np.flatnonzero(sides[:j])
        same = earlier[np.hypot(*(middles[earlier] - middles[j]).T) <= 8 * tolerance]
        if any(np.isclose(parts[i].length, parts[j].length, rtol=1e-9) for i in same):
            sides[j] = 0


def _joined(cut: list[list[Edge]], sides: np.ndarray, tolerance: float) -> list[Edge]:
    """The kept parts; neighbours on one edge are joined again if no other part ends between them."""
    kept = [part for part, side in zip((p for parts in cut for p in parts), sides, strict=True) if side]
    ends = np.array([part.ends for part in kept]).reshape(-1, 2)
    result: list[Edge] = []
    first = 0
    for parts in cut:
        signs = sides[first : first + len(parts)]
        first += len(parts)
        chain: list[tuple[Edge, int]] = []
        for part, sign in zip(parts, signs, strict=True):
            if sign and chain and chain[-1][1] == sign and _smooth(chain[-1][0], part, ends, tolerance):
                chain[-1] = (_concatenated(chain[-1][0], part), sign)
            elif sign:
                chain.append((part, sign))
        if (
            len(chain) > 1
            and chain[0][1] == chain[-1][1]
            and _smooth(chain[-1][0], chain[0][0], ends, tolerance)
        ):
            chain[0] = (_concatenated(chain.pop()[0], chain[0][0]), chain[0][1])
        result += [_tidy(part if sign > 0 else part.reversed()) for part, sign in chain]
    return result


def _smooth(a: Edge, b: Edge, ends: np.ndarray, tolerance: float) -> bool:
    """Whether b, on the same line or circle, starts where a ends, and nothing else ends there."""
    meet, start = a.ends[1], b.ends[0]
    here = np.hypot(*(ends - meet).T) <= 8 * tolerance
    return bool(np.hypot(*(meet - start)) <= 8 * tolerance and np.sum(here) == 2)


def _concatenated(a: Edge, b: Edge) -> Edge:
    if isinstance(a, Arc) and isinstance(b, Arc):
        return replace(a, end=a.end + b.sweep)
    return replace(cast(Segment, a), end=cast(Segment, b).end)


def _tidy(edge: Edge) -> Edge:
    """The same arc with `begin` in [0, 2π), which is easier to read."""
    if not isinstance(edge, Arc):
        return edge
    turns = TURN * np.floor(edge.begin / TURN)
    return replace(edge, begin=float(edge.begin - turns), end=float(edge.end - turns))


def trace(edges: list[Edge], tolerance: float) -> tuple[tuple[Edge, ...], ...]:
    """The edges as closed chains, the outer one first; at a vertex the next edge bounds the same part of the inside."""
    starts = np.array([edge.ends[0] for edge in edges]).reshape(-1, 2)
    left = set(range(len(edges)))
    loops = []
    while left:
        chain = [min(left)]
        while True:
            left.discard(chain[-1])
            here = np.flatnonzero(np.hypot(*(starts - edges[chain[-1]].ends[1]).T) <= 16 * tolerance)
            after = min(here, key=lambda j: _opening(edges[chain[-1]], edges[j]), default=-1)
            if after == chain[0]:
                break
            if after not in left:
                raise SafeNetError(
                    f"the boundary does not close at {where(edges[chain[-1]].ends[1])}",
                    "move apart the shapes that almost touch there",
                )
            chain.append(int(after))
        loops.append(tuple(edges[i] for i in chain))
    return tuple(sorted(loops, key=lambda loop: -area(loop)))


def _opening(a: Edge, b: Edge) -> float:
    """The interior angle in (0, 2π) from a to b, seen from near their vertex: curvature tells cusps from slits."""
    reach = 1e-3 * min(a.length, b.length)
    back = a.at(np.array([1 - reach / a.length]))[0][0] - a.ends[1]
    ahead = b.at(np.array([reach / b.length]))[0][0] - b.ends[0]
    return float(np.mod(np.arctan2(back[1], back[0]) - np.arctan2(ahead[1], ahead[0]), TURN))


def neighbours(loop: Sequence[Edge]) -> list[tuple[Edge, Edge]]:
    return list(zip(loop, [*loop[1:], loop[0]], strict=True))


def corner_between(a: Edge, b: Edge) -> Corner:
    """The corner from a to b; the angle comes from the exact tangents, its multiple of 2π from `_opening`."""
    back, ahead = -a.tangent(1.0), b.tangent(0.0)
    direction = float(np.arctan2(ahead[1], ahead[0]))
    angle = np.arctan2(back[1], back[0]) - direction
    angle += TURN * np.round((_opening(a, b) - angle) / TURN)
    point = b.ends[0]
    return Corner((float(point[0]), float(point[1])), float(angle), direction)


def middle(edge: Edge) -> tuple[np.ndarray, np.ndarray]:
    """γ(½) and the outward normal there."""
    points, normals = edge.at(np.array([0.5]))
    return points[0], normals[0]


def where(point: Iterable[float]) -> str:
    return f"({', '.join(f'{round(float(value), 12) + 0.0:.6g}' for value in point)})"
