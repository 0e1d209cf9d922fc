"""Tetrahedra of a solid, with sides bent to its surface: made by Gmsh, which is an extra (`safenet-pde[shapes]`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from ...errors import SafeNetError
from .mesh import Mesh
from .shapes import Box, Combination, Difference, Disc, Intersection, Polygon, Shape, Union
from .solid import Solid
from .solids import Ball, Extrusion, Round

TAG = tuple[int, int]  # Gmsh's (dimension, number) of an entity
MIDDLES = (4, 5, 6, 7, 9, 8)  # our middles of a tetrahedron's sides, as columns in Gmsh's order
BETWEEN = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))  # the corners of these sides
SURFACES = 6, 5, 1  # algorithms to try: Frontal; Delaunay, which copes with the tip of a cone; MeshAdapt
BENT = 0.1  # least over largest Jacobian of a bent cell: 1 if it is straight, below 0 if it is inside out


@cache
def obstacle(solid: Solid) -> str | None:
    """Why a solid cannot be divided into tetrahedra here, or None."""
    if solid.dimension != 3:
        return f"there are no tetrahedra of {solid.dimension} dimensions"
    for leaf in solid.shape.primitives():
        if not isinstance(leaf, (Box, Ball, Round, Extrusion)):
            return f"{leaf!r} is a surface from a file; tetrahedra need boxes, balls, cylinders, cones, …"
    try:
        import gmsh
    except (ImportError, OSError):
        return 'tetrahedra need Gmsh, which cannot be imported: pip install "safenet-pde[shapes]"'
    return None if hasattr(gmsh, "model") else "Gmsh cannot be used"


@contextmanager
def _gmsh() -> Iterator[Any]:
    """Gmsh with a model of its own, silent, closed afterwards."""
    import gmsh

    gmsh.initialize(readConfigFiles=False, interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.option.setNumber("General.NumThreads", 1)
        yield gmsh
    finally:
        gmsh.finalize()


def tetrahedra(solid: Solid, size: float, around: int) -> Mesh:
    """Tetrahedra whose sides are about `size` long, or shorter: a circle has `around` of them."""
    with _gmsh() as gmsh:
        try:
            _built(gmsh, solid.shape)
            gmsh.model.occ.synchronize()
            _generated(gmsh, size, 2 * np.pi * _thinnest(solid.shape) / around, around)
        except SafeNetError:
            raise
        except Exception as error:  # Gmsh raises plain exceptions, with its own words
            raise SafeNetError(
                f"Gmsh makes no tetrahedra of {solid.shape!r}: {str(error)[:200]}",
                "use a network: --solver train",
            ) from None
        numbers, places, _ = gmsh.model.mesh.getNodes()
        kinds, _, cells = gmsh.model.mesh.getElements(3)
        side_kinds, _, sides = gmsh.model.mesh.getElements(2)
    if list(kinds) != [11] or list(side_kinds) != [9]:
        raise SafeNetError(f"Gmsh makes no tetrahedra of {solid.shape!r}", "use a network: --solver train")
    index = np.zeros(int(numbers.max()) + 1, int)
    index[numbers.astype(int)] = np.arange(len(numbers))
    ten = index[cells[0].astype(int)].reshape(-1, 10)
    ten = np.column_stack([ten[:, :4], ten[:, list(MIDDLES)]])
    return _numbered(solid, places.reshape(-1, 3), ten, index[sides[0].astype(int)].reshape(-1, 6))


def _generated(gmsh: Any, size: float, round_size: float, around: int) -> None:
    """Quadratic tetrahedra, by the first algorithm for surfaces that works."""
    for option, value in {
        "Mesh.MeshSizeMax": size,
        # The tip of a cone has no radius: cells would shrink to nothing there.
        "Mesh.MeshSizeMin": min(size, round_size) / 2,
        "Mesh.MeshSizeFromCurvature": around,
        "Mesh.MeshSizeExtendFromBoundary": 1,
        "Mesh.Algorithm3D": 1,
        "Mesh.RandomSeed": 1,
    }.items():
        gmsh.option.setNumber(option, value)
    for algorithm in SURFACES:
        try:
            gmsh.model.mesh.clear()
            gmsh.option.setNumber("Mesh.Algorithm", algorithm)
            gmsh.model.mesh.generate(3)
            break
        except Exception:  # of Gmsh; that of the last algorithm is passed on
            if algorithm == SURFACES[-1]:
                raise
    gmsh.model.mesh.setOrder(2)
    _straightened(gmsh)


def _thinnest(shape: Shape) -> float:
    """The least radius or half width of the shapes that a solid is made of, or of what is turned or extruded."""
    if isinstance(shape, Combination):
        return min(_thinnest(shape.first), _thinnest(shape.second))
    if isinstance(shape, (Round, Extrusion)):
        return _thinnest(shape.profile if isinstance(shape, Round) else shape.shape)
    return float(np.min(np.subtract(*shape.bounds[::-1]))) / 2


def _straightened(gmsh: Any) -> None:
    """Straighten the sides of cells that bending has turned inside out, or nearly so, as at a cone's tip, until there
    are none. (Where Gmsh's own optimiser of nodes fails, it ends the whole process.)"""
    mesh = gmsh.model.mesh
    tags, cells = mesh.getElementsByType(11)
    cells, done = cells.reshape(-1, 10).astype(int), np.zeros(len(tags), bool)
    while True:
        least, most = (mesh.getElementQualities(tags, name) for name in ("minDetJac", "maxDetJac"))
        bad = (least < BENT * most) & ~done
        if not bad.any():
            return
        done |= bad
        numbers, places, _ = mesh.getNodes()
        place = dict(zip(numbers.tolist(), places.reshape(-1, 3), strict=True))
        for cell in cells[bad].tolist():
            for (i, j), k in zip(BETWEEN, MIDDLES, strict=True):
                mesh.setNode(cell[k], (place[cell[i]] + place[cell[j]]) / 2, [])


def _numbered(solid: Solid, nodes: np.ndarray, cells: np.ndarray, sides: np.ndarray) -> Mesh:
    """The mesh with corners first, and every side of the boundary turned outwards and given to its piece."""
    used, corners = np.unique(cells), np.unique(cells[:, :4])
    # A removed shape may reach beyond the solid, and Gmsh keeps that part of its faces.
    sides = sides[np.isin(sides, used).all(axis=1)]
    order = np.concatenate([corners, np.setdiff1d(used, corners)])
    index = np.full(len(nodes), -1)
    index[order] = np.arange(len(order))
    nodes, cells, sides = nodes[order], index[cells], index[sides]
    a, b, c = (nodes[sides[:, k]] for k in range(3))
    middle, normal = (a + b + c) / 3, np.cross(b - a, c - a)
    step = 1e-3 * np.sqrt(np.linalg.norm(normal, axis=1, keepdims=True))
    unit = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    inward = solid.shape.level(middle + step * unit) < solid.shape.level(middle - step * unit)
    sides[inward] = sides[inward][:, [0, 2, 1, 5, 4, 3]]
    names = list(solid.pieces)
    owners = _owners(solid, nodes[sides], middle)
    pieces = {name: sides[owners == k] for k, name in enumerate([*names, ""]) if np.any(owners == k)}
    return Mesh(nodes, len(corners), cells, pieces)


def _owners(solid: Solid, nodes: np.ndarray, middle: np.ndarray) -> np.ndarray:
    """The piece of each side: the selectors choose it at its middle, for the shape on which all of its nodes lie."""
    leaves = solid.leaves
    flat = nodes.reshape(-1, 3)
    away = np.array([np.abs(leaf.level(flat)).reshape(nodes.shape[:2]).max(axis=1) for leaf in leaves])
    nearest = np.argmin(away - 1e-9 * np.arange(len(leaves), 0, -1)[:, None], axis=0)
    found = np.full(len(nodes), len(solid.pieces))
    for k, leaf in enumerate(leaves):
        here = np.flatnonzero(nearest == k)
        if len(here):
            own = solid.owners(leaf.name, middle[here])
            found[here] = np.where(own < 0, len(solid.pieces), own)
    return found


# ---- shapes in Gmsh


def _built(gmsh: Any, shape: Shape) -> list[TAG]:
    occ = gmsh.model.occ
    if isinstance(shape, Combination):
        first, second = _built(gmsh, shape.first), _built(gmsh, shape.second)
        join = {Union: occ.fuse, Difference: occ.cut, Intersection: occ.intersect}[type(shape)]
        found: list[TAG] = join(first, second)[0]
        return found
    if isinstance(shape, Box):
        return [_box(occ, shape)]
    if isinstance(shape, Ball) and shape.dimension == 3:
        return [(3, occ.addSphere(*shape.center, shape.radius))]
    if isinstance(shape, (Disc, Ball)):
        return [(2, occ.addDisk(*shape.center, 0, shape.radius, shape.radius))]
    if isinstance(shape, Polygon):
        corners = [occ.addPoint(x, y, 0) for x, y in shape.vertices]
        lines = [occ.addLine(p, q) for p, q in zip(corners, [*corners[1:], corners[0]], strict=True)]
        return [(2, occ.addPlaneSurface([occ.addCurveLoop(lines)]))]
    if isinstance(shape, Extrusion):
        flat = _built(gmsh, shape.shape)
        occ.translate(flat, 0, 0, shape.bottom)
        raised = occ.extrude(flat, 0, 0, shape.top - shape.bottom)
        return [tag for tag in raised if tag[0] == 3]
    if isinstance(shape, Round):
        return _turned(gmsh, shape)
    raise SafeNetError(f"{shape!r} cannot be divided into tetrahedra", "use a network: --solver train")


def _box(occ: Any, box: Box) -> TAG:
    lengths = np.subtract(box.upper, box.lower)
    if box.dimension == 2:
        return 2, occ.addRectangle(*box.lower, 0, *lengths)
    return 3, occ.addBox(*box.lower, *lengths)


def _turned(gmsh: Any, shape: Round) -> list[TAG]:
    """The profile, with its second axis along z, turned about z and moved to its line. If it does not reach the axis,
    in two halves: Gmsh cannot mesh a surface that closes in both directions, such as that of a whole ring."""
    occ, parts = gmsh.model.occ, 2 if shape.profile.bounds[0][0] > 0 else 1
    turned = []
    for k in range(parts):
        flat = _built(gmsh, shape.profile)
        occ.rotate(flat, 0, 0, 0, 1, 0, 0, np.pi / 2)
        occ.rotate(flat, 0, 0, 0, 0, 0, 1, 2 * np.pi * k / parts)
        raised = occ.revolve(flat, 0, 0, 0, 0, 0, 1, 2 * np.pi / parts)
        turned.append([tag for tag in raised if tag[0] == 3])
    solids: list[TAG] = occ.fuse(*turned)[0] if parts == 2 else turned[0]
    center, frame = shape.line[0], shape.frame
    matrix = np.column_stack([frame.T, center])
    occ.affineTransform(solids, [*matrix.ravel().tolist(), 0, 0, 0, 1])
    return solids
