"""Triangles of a region, with sides bent to its arcs: the Delaunay triangulation of points as dense as a size asks.

On the boundary points are one local size apart; inside they are the centres of squares, halved down to that size, and
are smoothed. The boundary gets more points where Delaunay has left out a part of it. Sizes grow with the distance from
small arcs and re-entrant corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy

from ...errors import SafeNetError
from .edges import Arc, Edge
from .region import Region

GRADE = 0.35  # growth of the size with the distance
ROUND = 16  # the least number of sides around a circle
CORNER = 1 / 6  # factor of the size at a re-entrant corner
SMOOTHINGS, REPAIRS = 4, 12
# Twice a triangle's area over the square of its longest side: flatter ones lie on a straight boundary.
LEAST_QUALITY = 1e-3


@dataclass(frozen=True)
class Mesh:
    """Quadratic triangles: nodes (n, 2), the vertices first; cells (m, 6), three corners, then the middles of the sides
    between corners 0–1, 1–2, 2–0; `sides`: piece → (k, 3), two corners and the middle of each side of the boundary.

    For tetrahedra: nodes (n, 3), cells (m, 10) with middles 0–1, 1–2, 2–0, 0–3, 1–3, 2–3, and sides (k, 6)."""

    nodes: np.ndarray
    vertices: int
    cells: np.ndarray
    sides: dict[str, np.ndarray]


@dataclass
class _Outline:
    """Boundary points, each once, and segments between them with the edge each lies on."""

    points: list[np.ndarray]
    segments: list[tuple[int, int]]
    homes: list[tuple[str, Edge]]


def mesh_of(region: Region, size: float, around: int = ROUND) -> Mesh:
    """Triangles whose sides are about `size` long, shorter at re-entrant corners; a circle has at least `around`."""
    sizes = _Sizes(region, size, around)
    outline = _outline(sizes)
    inner = _inside(sizes)
    for _ in range(SMOOTHINGS):
        inner = _smoothed(region, outline, inner)
    for _ in range(REPAIRS):
        cells = _triangles(region, np.array([*outline.points, *inner]))
        broken = _missing(cells, outline)
        if not broken:
            return _quadratic(np.array([*outline.points, *inner]), cells, outline)
        for k in sorted(broken, reverse=True):
            _halve(outline, k)
        near = scipy.spatial.KDTree(np.array(outline.points)).query(inner)[0] if len(inner) else np.empty(0)
        inner = inner[near > 0.5 * _spacing(outline, inner)] if len(inner) else inner
    raise SafeNetError(
        f"no triangles were found for {region!r} with sides of {size:.3g}", "choose another solver"
    )


# ---- points


@dataclass(frozen=True)
class _Sizes:
    """min(size, that of each arc and re-entrant corner + GRADE · distance) at points."""

    region: Region
    size: float
    around: int

    def __call__(self, points: np.ndarray) -> np.ndarray:
        found = np.full(len(points), self.size)
        for edge in self.region.edges:
            if isinstance(edge, Arc):
                own = min(self.size, 2 * np.pi * edge.radius / self.around)
                found = np.minimum(found, own + GRADE * edge.distance(points))
        for corner in self.region.corners:
            found = np.minimum(found, CORNER * self.size + GRADE * np.hypot(*(points - corner.point).T))
        return found


def _outline(sizes: _Sizes) -> _Outline:
    region = sizes.region
    outline = _Outline([], [], [])
    index: dict[tuple[int, int], int] = {}

    def number(point: np.ndarray) -> int:
        x, y = np.round(point / (4 * region.tolerance)).astype(np.int64)
        for key in ((x + i, y + j) for i in (0, -1, 1) for j in (0, -1, 1)):
            if key in index:
                return index[key]
        index[x, y] = len(outline.points)
        outline.points.append(point)
        return index[x, y]

    parts = [(name, edge) for name, edges in region.pieces.items() for edge in edges]
    for name, edge in [*parts, *(("", edge) for edge in region.unnamed)]:
        s = _shares(sizes, edge)
        numbers = [number(point) for point in edge.at(s)[0]]
        for first, second in pairwise(numbers):
            outline.segments.append((first, second))
            outline.homes.append((name, edge))
    return outline


def _shares(sizes: _Sizes, edge: Edge) -> np.ndarray:
    """0 = s₀ < s₁ < … = 1 with points as dense along the edge as the size asks."""
    s = np.linspace(0, 1, 401)
    density = edge.length / sizes(edge.at(s)[0])
    total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(s))])
    least = 3 if edge.closed else 2 if isinstance(edge, Arc) else 1
    count = max(least, int(np.ceil(total[-1])))
    return np.asarray(np.interp(np.linspace(0, total[-1], count + 1), total, s))


def _spacing(outline: _Outline, points: np.ndarray) -> np.ndarray:
    """The length of the boundary segments nearest to each point."""
    ends = np.array(outline.points)
    lengths = np.zeros(len(ends))
    for a, b in outline.segments:
        length = np.hypot(*(ends[a] - ends[b]))
        lengths[a], lengths[b] = max(lengths[a], length), max(lengths[b], length)
    nearest = scipy.spatial.KDTree(ends).query(points)[1]
    return np.asarray(lengths[nearest])


def _inside(sizes: _Sizes) -> np.ndarray:
    """The centres of squares, halved until they are as small as the size, that are not too near the boundary."""
    region, size = sizes.region, sizes.size
    (a, b), (c, d) = region.bounds
    across = np.ceil(np.array([c - a, d - b]) / size).astype(int)
    ticks = [low + size * (np.arange(n) + 0.5) for low, n in zip((a, b), across, strict=True)]
    centres = np.stack([grid.ravel() for grid in np.meshgrid(*ticks)], axis=1)
    width, kept = size, []
    while len(centres):
        wanted = sizes(centres)
        fine = wanted >= 0.75 * width
        kept.append(centres[fine])
        quarters = np.array([(i, j) for i in (-1, 1) for j in (-1, 1)]) * width / 4
        centres = (centres[~fine][:, None, :] + quarters).reshape(-1, 2)
        width /= 2
    points = np.concatenate(kept)
    depth = -region.signed_distance(points)
    return points[depth > 0.6 * sizes(points)]


def _smoothed(region: Region, outline: _Outline, inner: np.ndarray) -> np.ndarray:
    """Every inner point moved to the mean of its neighbours."""
    if not len(inner):
        return inner
    points = np.array([*outline.points, *inner])
    cells = _triangles(region, points)
    ends = np.concatenate([cells[:, [0, 1]], cells[:, [1, 2]], cells[:, [2, 0]]])
    ends = np.concatenate([ends, ends[:, ::-1]])
    count = np.bincount(ends[:, 0], minlength=len(points))
    mean = np.stack([np.bincount(ends[:, 0], points[ends[:, 1], i], len(points)) for i in (0, 1)], axis=1)
    moved = mean / np.maximum(count, 1)[:, None]
    first = len(outline.points)
    return np.where(count[first:, None] > 0, moved[first:], inner)


# ---- triangles


def _triangles(region: Region, points: np.ndarray) -> np.ndarray:
    """Delaunay's triangles within the region, counterclockwise."""
    cells = scipy.spatial.Delaunay(points).simplices
    a, b, c = (points[cells[:, k]] for k in range(3))
    twice = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    cells = np.where((twice > 0)[:, None], cells, cells[:, [0, 2, 1]])
    longest = np.max([np.sum((p - q) ** 2, axis=1) for p, q in ((a, b), (b, c), (c, a))], axis=0)
    solid = np.abs(twice) > LEAST_QUALITY * longest
    inside = region.signed_distance((a + b + c) / 3) < 0
    return np.asarray(cells[solid & inside])


def _missing(cells: np.ndarray, outline: _Outline) -> list[int]:
    """The segments of the boundary that are not sides of triangles."""
    ends = np.sort(np.concatenate([cells[:, [0, 1]], cells[:, [1, 2]], cells[:, [2, 0]]]), axis=1)
    known = set(map(tuple, ends.tolist()))
    return [k for k, (a, b) in enumerate(outline.segments) if (min(a, b), max(a, b)) not in known]


def _halve(outline: _Outline, k: int) -> None:
    (a, b), home = outline.segments[k], outline.homes[k]
    outline.points.append(_middle(home[1], outline.points[a], outline.points[b]))
    new = len(outline.points) - 1
    outline.segments[k : k + 1] = [(a, new), (new, b)]
    outline.homes[k : k + 1] = [home, home]


def _middle(edge: Edge, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The point of an edge half way between two of its points."""
    if not isinstance(edge, Arc):
        return np.asarray((a + b) / 2)
    away = (a + b) / 2 - edge.center
    return np.asarray(edge.center + edge.radius * away / np.hypot(*away))


def _quadratic(points: np.ndarray, cells: np.ndarray, outline: _Outline) -> Mesh:
    """The mesh with the middles of all sides added; those on the boundary lie on its arcs."""
    used = np.unique(cells)
    renumber = np.full(len(points), -1)
    renumber[used] = np.arange(len(used))
    corners = renumber[cells]
    ends = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]), axis=1)
    sides, which = np.unique(ends, axis=0, return_inverse=True)
    vertices = points[used]
    middles = vertices[sides].mean(axis=1)
    place = {tuple(side): i for i, side in enumerate(sides.tolist())}
    pieces: dict[str, list[tuple[int, int, int]]] = {}
    for (a, b), (name, edge) in zip(outline.segments, outline.homes, strict=True):
        first, second = int(renumber[a]), int(renumber[b])
        i = place[min(first, second), max(first, second)]
        middles[i] = _middle(edge, points[a], points[b])
        pieces.setdefault(name, []).append((first, second, len(vertices) + i))
    whole = np.concatenate([corners, len(vertices) + which.reshape(3, -1).T], axis=1)
    nodes = np.concatenate([vertices, middles])
    return Mesh(nodes, len(vertices), whole, {name: np.array(rows) for name, rows in pieces.items()})
