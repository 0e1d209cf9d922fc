"""A closed surface of triangles from a file: inside by counting ray crossings, distance to the nearest triangle."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ...errors import SafeNetError
from .faces import Face
from .shapes import Primitive
from .values import Ends, a_name, shown_name

PAIRS = 2_000_000  # of points and triangles that are processed together
CLOSE = 1e-2  # relative to a surface's size: within this of the surface, distances are exact
# A rotation unlike any in a drawing: rays along an axis would hit the edges of parts made with right angles.
TILT = (0.4142, 0.7321, 0.2361)
KINDS = (".stl", ".obj", ".ply", ".off")


@dataclass(frozen=True, repr=False)
class Surface(Primitive):
    """The inside of a closed surface of triangles in a file (.stl, .obj, .ply, .off), read by trimesh.

    Examples:
        >>> from pathlib import Path
        >>> vertices = "v 0 0 0\\nv 1 0 0\\nv 0 1 0\\nv 0 0 1\\n"
        >>> _ = Path("corner.obj").write_text(vertices + "f 1 3 2\\nf 1 2 4\\nf 1 4 3\\nf 2 3 4\\n")
        >>> sn.Surface("corner.obj").bounds
        ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    """

    file: str
    name: str = ""
    key: str = ""  # a hash of the triangles, which tells surfaces apart
    vertices: np.ndarray = field(default_factory=lambda: np.empty((0, 3)), compare=False)
    triangles: np.ndarray = field(default_factory=lambda: np.empty((0, 3), int), compare=False)

    def __init__(self, file: Any, name: str = "") -> None:
        """`file` is a path, or a surface that has been read."""
        if isinstance(file, Surface):
            vertices, triangles, file = file.vertices, file.triangles, file.file
        elif isinstance(file, (str, Path)):
            vertices, triangles = _read(Path(file))
        else:
            raise SafeNetError(f"the file of a surface is {file!r}", 'write Surface("part.stl")')
        key = sha256(_in_order(vertices[triangles]).tobytes()).hexdigest()
        for what, value in (("file", Path(file).name), ("key", key), ("name", a_name(name, "a surface"))):
            object.__setattr__(self, what, value)
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", triangles)

    def __repr__(self) -> str:
        return f"Surface({', '.join([repr(self.file), *shown_name(self.name)])})"

    @property
    def text(self) -> str:
        """The contents of a file with its triangles, exact to the last digit, to be saved beside a problem file."""
        corners = [" ".join(map(repr, vertex)) for vertex in self.vertices.tolist()]
        ends = self.triangles.tolist()
        if self.file.endswith(".stl"):
            facets = (
                "facet normal 0 0 0\nouter loop\n"
                + "".join(f"vertex {corners[i]}\n" for i in triangle)
                + "endloop\nendfacet\n"
                for triangle in ends
            )
            return "".join(["solid surface\n", *facets, "endsolid surface\n"])
        if self.file.endswith(".obj"):
            rows = (f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in ends)
            return "".join([*(f"v {corner}\n" for corner in corners), *rows])
        rows = (f"3 {a} {b} {c}\n" for a, b, c in ends)
        points = (f"{corner}\n" for corner in corners)
        if self.file.endswith(".off"):
            return "".join([f"OFF\n{len(corners)} {len(ends)} 0\n", *points, *rows])
        header = (
            f"ply\nformat ascii 1.0\nelement vertex {len(corners)}\nproperty double x\nproperty double y\n"
            f"property double z\nelement face {len(ends)}\nproperty list uchar int vertex_indices\nend_header\n"
        )
        return "".join([header, *points, *rows])

    @cached_property
    def bounds(self) -> Ends:
        return tuple(self.vertices.min(axis=0).tolist()), tuple(self.vertices.max(axis=0).tolist())

    @property
    def faces(self) -> tuple[Face, ...]:
        return (Facets(self.corners, self.name),)

    @cached_property
    def corners(self) -> np.ndarray:
        """(triangles, 3, 3)"""
        return np.asarray(self.vertices[self.triangles])

    def level(self, points: np.ndarray) -> np.ndarray:
        points = np.asarray(points, float)
        return np.asarray(np.where(self._inside(points), -1.0, 1.0) * self._distance(points))

    def _inside(self, points: np.ndarray) -> np.ndarray:
        """Whether a ray crosses an odd number of triangles; only those above its cell of a grid are tested."""
        lower, upper = (np.array(corner) for corner in self.bounds)
        within = np.flatnonzero(np.all((points > lower) & (points < upper), axis=1))
        found = np.zeros(len(points), bool)
        corners, start, lists, cell = self._columns
        turned = points[within] @ _tilt().T
        cells = cell(turned[:, :2])
        counts = start[cells + 1] - start[cells]
        cuts = np.searchsorted(np.cumsum(counts), np.arange(PAIRS, counts.sum(), PAIRS))
        for rows in np.split(np.arange(len(within)), cuts):
            own = np.repeat(rows, counts[rows])
            place = np.arange(len(own)) - np.repeat(np.cumsum(counts[rows]) - counts[rows], counts[rows])
            above = _above(turned[own], corners[lists[start[cells[own]] + place]])
            crossed = np.bincount(own[above], minlength=len(within))
            found[within[rows]] = crossed[rows] % 2 == 1
        return found

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """The triangles, rotated so that no ray runs along one, and for each cell of a grid below them those above."""
        corners = self.corners @ _tilt().T
        low, high = corners[:, :, :2].min(axis=(0, 1)), corners[:, :, :2].max(axis=(0, 1))
        across = int(np.clip(np.sqrt(len(corners)), 1, 1024))

        def cell(flat: np.ndarray) -> np.ndarray:
            share = np.clip((across * (flat - low) / (high - low)).astype(int), 0, across - 1)
            return np.asarray(share[..., 0] * across + share[..., 1])

        ends = [np.divmod(cell(corners[:, :, :2]), across)]
        first = np.stack([part.min(axis=1) for part in ends[0]], axis=1)
        size = np.stack([part.max(axis=1) for part in ends[0]], axis=1) - first + 1
        counts = size.prod(axis=1)
        which = np.repeat(np.arange(len(corners)), counts)
        place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        row, column = np.divmod(place, size[which, 1])
        cells = (first[which, 0] + row) * across + first[which, 1] + column
        start = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=across**2))])
        return corners, start, which[np.argsort(cells, kind="stable")], cell

    @cached_property
    def _tree(self) -> tuple[scipy.spatial.KDTree, float]:
        """The middles of the triangles, and the largest distance of a corner from its middle."""
        middles = self.corners.mean(axis=1)
        return scipy.spatial.KDTree(middles), float(
            np.linalg.norm(self.corners - middles[:, None], axis=2).max()
        )

    def _distance(self, points: np.ndarray) -> np.ndarray:
        """To the nearest triangle; exact near the surface, where more are tried until none can be nearer."""
        tree, reach = self._tree
        near_enough = CLOSE * float(np.ptp(self.bounds))
        found, left, count = np.full(len(points), np.inf), np.arange(len(points)), min(8, len(self.corners))
        while len(left):
            away, near = (v.reshape(len(left), count) for v in tree.query(points[left], k=count))
            for rows in np.array_split(np.arange(len(left)), max(1, -(-len(left) * count // PAIRS))):
                own = _to_triangles(points[left[rows], None], self.corners[near[rows]])
                found[left[rows]] = own.min(axis=1)
            if count == len(self.corners):
                break
            left = left[away[:, -1] - reach < np.minimum(found[left], near_enough)]
            count = min(4 * count, len(self.corners))
        return found

    def to_data(self) -> dict[str, Any]:
        return {"surface": {"file": self.file} | self._named()}


@dataclass(frozen=True, eq=False)
class Facets(Face):
    """All triangles of a surface."""

    corners: np.ndarray
    source: str = ""

    @cached_property
    def _crossed(self) -> np.ndarray:
        a, b, c = self.corners.transpose(1, 0, 2)
        return np.cross(b - a, c - a)

    @cached_property
    def _areas(self) -> np.ndarray:
        return np.asarray(np.linalg.norm(self._crossed, axis=1) / 2)

    @property
    def measure(self) -> float:
        return float(self._areas.sum())

    def at(self, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        stops = np.concatenate([[0.0], np.cumsum(self._areas)])
        travelled = unit[:, 0] * stops[-1]
        which = np.clip(np.searchsorted(stops, travelled, side="right") - 1, 0, len(self.corners) - 1)
        u = np.clip((travelled - stops[which]) / np.maximum(self._areas[which], 1e-300), 0.0, 1.0)
        # With √u the points are uniform in area.
        root, v = np.sqrt(u)[:, None], unit[:, 1:2]
        a, b, c = self.corners[which].transpose(1, 0, 2)
        points = (1 - root) * a + root * ((1 - v) * b + v * c)
        return points, self._crossed[which] / (2 * self._areas[which])[:, None]


def _tilt() -> np.ndarray:
    return np.asarray(scipy.spatial.transform.Rotation.from_rotvec(TILT).as_matrix())


def _above(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Whether triangles (n, 3, 3) are above points (n, 3): around them in the first two axes, and higher."""
    flat, p = corners[:, :, :2], points[:, None, :2]
    along, away = np.roll(flat, -1, axis=1) - flat, p - flat
    # Each corner's share is that of the triangle between p and the opposite side.
    turns = along[:, :, 0] * away[:, :, 1] - along[:, :, 1] * away[:, :, 0]
    around = np.all(turns > 0, axis=1) | np.all(turns < 0, axis=1)
    with np.errstate(all="ignore"):
        share = np.roll(turns, -1, axis=1) / turns.sum(axis=1, keepdims=True)
        height = np.sum(share * corners[:, :, 2], axis=1)
    return np.asarray(around & (height > points[:, 2]))


def _to_triangles(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """|p − T| for points (n, 1, 3) and triangles (n, k, 3, 3): to the plane where p is above T, else to its sides."""
    a, b, c = (corners[:, :, i] for i in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=2, keepdims=True), 1e-300)
    above = np.ones(corners.shape[:2], bool)
    sides = []
    for p, q in ((a, b), (b, c), (c, a)):
        along, away = q - p, points - p
        above &= np.sum(np.cross(along, away) * normal, axis=2) >= 0
        share = np.sum(away * along, axis=2) / np.maximum(np.sum(along**2, axis=2), 1e-300)
        sides.append(np.linalg.norm(away - np.clip(share, 0, 1)[:, :, None] * along, axis=2))
    height = np.abs(np.sum((points - a) * normal, axis=2))
    return np.asarray(np.where(above, height, np.min(sides, axis=0)))


def _in_order(corners: np.ndarray) -> np.ndarray:
    """The triangles in an order that does not depend on the file: each from its least corner on, and sorted."""
    ranks = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)[1].reshape(-1, 3)
    turned = (np.argmin(ranks, axis=1)[:, None] + np.arange(3)) % 3
    rows = np.take_along_axis(ranks, turned, axis=1)
    order = np.lexsort(rows.T[::-1])
    return np.ascontiguousarray(np.take_along_axis(corners, turned[:, :, None], axis=1)[order])


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a closed surface whose normals point outwards."""
    if path.suffix.lower() not in KINDS:
        raise SafeNetError(
            f"cannot read a surface from {path.name}", f"give a file that ends in {', '.join(KINDS)}"
        )
    if not path.is_file():
        raise SafeNetError(f"there is no file {path}", "put the surface file into the problem file's folder")
    try:
        import trimesh
    except ImportError:
        raise SafeNetError(
            f"{path.name} cannot be read without trimesh", 'install it: pip install "safenet-pde[shapes]"'
        ) from None
    try:
        mesh = trimesh.load_mesh(path)
        mesh.merge_vertices()
        closed = bool(mesh.is_watertight)
        if closed:
            mesh.fix_normals()
    except Exception as error:  # a damaged file has any number of ways to go wrong
        raise SafeNetError(f"cannot read {path.name}: {error}", "is it a file of triangles?") from None
    if not closed:
        raise SafeNetError(
            f"the surface in {path.name} is not closed",
            "close its holes: every side of a triangle belongs to two of them",
        )
    return np.asarray(mesh.vertices, float), np.asarray(mesh.faces, int)
