"""VTK files for ParaView: a field on a grid of its box, or on cells that fill its region.

sol.to_vtk("runs/heat")       runs/heat.vtr for a box, .vtu for a region, or .pvd with one such file for each time
sol.export("disc.vtu")        triangles of a region in the plane, tetrahedra of a body in space
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SafeNetError, saving
from ..fields.triangles import Triangles
from ..measure.scores import evaluate_network
from ..problem.geometry.mesh import mesh_of
from ..problem.geometry.region import Region
from ..problem.geometry.solid import Solid
from ..problem.geometry.tetrahedra import obstacle, tetrahedra
from ..solution import Solution
from .cuts import named
from .export import INSTALL, export_times, label, table

ENDINGS = (".vtr", ".vtu", ".pvd", ".vtk")
ALONG = {2: 60, 3: 24}  # cells along area^(1/2) or volume^(1/3) of a region, if its solver had no cells
AROUND = 24  # cells around a circle
KINDS = {(2, 6): 22, (3, 10): 24, (3, 4): 10}  # (dimension, nodes of a cell) → VTK's number
Cells = tuple[np.ndarray, np.ndarray]  # nodes (n, d), cells (m, k)


def to_vtk(solution: Solution, path: str | Path, derivatives: Sequence[str] = (), **counts: Any) -> Path:
    """Write files that ParaView opens, and return the one to open there.

    A box is written as a rectilinear grid, `.vtr`, and so is the plane (x, t); a region is written as cells that follow
    its boundary, `.vtu`. With time and two or three axes of space, each time is a file of its own, and a `.pvd` file
    lists them.
    """
    try:
        import pyevtk.hl  # noqa: F401
        from pyevtk.vtk import VtkGroup
    except ImportError:
        raise SafeNetError("to_vtk needs pyevtk", INSTALL) from None
    problem = solution.problem
    series = problem.time is not None and len(problem.axes) > 2
    if len(problem.axes) - series > 3:
        raise SafeNetError(
            f"VTK has three axes of space, and {problem.name} has {len(problem.axes) - series}"
        )
    path = Path(path)
    ending = path.suffix.lower() if path.suffix.lower() in ENDINGS else ""
    stem = path.with_suffix("") if ending else path
    if ending == ".vtu" and problem.region is None:
        raise SafeNetError(f"{problem.name} is a box, which has no cells", f"write a grid: {path.stem}.vtr")
    cells = problem.region is not None and ending != ".vtr"
    with saving(path):
        stem.parent.mkdir(parents=True, exist_ok=True)
        times, write = (_on_cells if cells else _on_grid)(solution, derivatives, counts)
        if not series:
            return write(stem, 0)
        group = VtkGroup(str(stem))
        for k, time in enumerate(times):
            group.addFile(str(write(stem.with_name(f"{stem.name}_{k:04d}"), k)), float(time))
        group.save()
    return stem.with_name(f"{stem.name}.pvd")


Write = Callable[[Path, int], Path]


def _on_grid(
    solution: Solution, derivatives: Sequence[str], counts: Mapping[str, Any]
) -> tuple[np.ndarray, Write]:
    from pyevtk.hl import gridToVTK

    ticks, fields, _ = table(solution, derivatives, counts)
    *space, times = ticks.values()
    series = solution.problem.time is not None and len(ticks) > 2
    axes = space if series else [*space, times]
    coordinates = [*axes, *[np.zeros(1)] * (3 - len(axes))]
    shape = tuple(map(len, coordinates))

    def write(where: Path, k: int) -> Path:
        # In VTK, the first axis varies fastest.
        data = {
            name: np.asfortranarray((v[..., k] if series else v).reshape(shape)) for name, v in fields.items()
        }
        gridToVTK(str(where), *coordinates, pointData=data)
        return where.with_name(f"{where.name}.vtr")

    return times, write


def _on_cells(
    solution: Solution, derivatives: Sequence[str], counts: Mapping[str, Any]
) -> tuple[np.ndarray, Write]:
    from pyevtk.hl import unstructuredGridToVTK

    problem = solution.problem
    times = export_times(solution, counts)
    nodes, cells = cells_of(
        solution, {name: n for name, n in counts.items() if problem.axis(name) != problem.time}
    )
    names = [derivatives] if isinstance(derivatives, str) else derivatives
    shown = [(label(solution, name), solution, name) for name in problem.unknowns]
    shown += [(text, *own) for text, own in zip(names, named(solution, names) if names else [], strict=True)]
    places = [*nodes.T, *[np.zeros(len(nodes))] * (3 - nodes.shape[1])]
    kind = np.full(len(cells), KINDS[nodes.shape[1], cells.shape[1]], np.uint8)
    ends = np.arange(1, len(cells) + 1) * cells.shape[1]

    def write(where: Path, k: int) -> Path:
        points = nodes if not len(times) else np.column_stack([nodes, np.full(len(nodes), times[k])])
        data, zero = {}, (0,) * len(problem.axes)
        for text, one, name in shown:
            values = evaluate_network(one.field, points, one.orders or zero)
            data[text] = np.ascontiguousarray(values[:, problem.unknowns.index(name)])
        unstructuredGridToVTK(
            str(where), *map(np.ascontiguousarray, places), cells.ravel(), ends, kind, pointData=data
        )
        return where.with_name(f"{where.name}.vtu")

    return times, write


def cells_of(solution: Solution, counts: Mapping[str, Any]) -> Cells:
    """The solver's cells; else triangles or tetrahedra, as many along an axis as `counts` asks for."""
    body, field, problem = solution.problem.region, solution.field, solution.problem
    assert body is not None
    if isinstance(field, Triangles) and not counts:
        return np.asarray(field.nodes), np.asarray(field.cells)
    for name, count in counts.items():
        if np.ndim(count) or count < 2:
            raise SafeNetError(
                f"{name} = {count} is not a number of points, 2 or more",
                f"give one, e.g. {name}=41; a .vtr takes given points",
            )
    size = body.measure ** (1 / body.dimension) / ALONG[body.dimension]
    size = min([problem.axes[problem.axis(name)].length / (n - 1) for name, n in counts.items()] or [size])
    if isinstance(body, Region):
        mesh = mesh_of(body, size, AROUND)
    elif obstacle(body) is None:
        mesh = tetrahedra(body, size, AROUND)
    else:
        return _cut(body, size)
    return mesh.nodes, mesh.cells


def _cut(body: Solid, size: float) -> Cells:
    """Cubes of six tetrahedra each, cut where the distance to the surface is zero."""
    lower, upper = (np.array(corner) for corner in body.bounds)
    count = np.ceil((upper - lower) / size).astype(int) + 1
    ticks = [np.linspace(a, b, n) for a, b, n in zip(lower, upper, count, strict=True)]
    nodes = np.stack([part.ravel() for part in np.meshgrid(*ticks, indexing="ij")], axis=1)
    number = np.arange(len(nodes)).reshape(count)
    paths = []
    for order in permutations(range(3)):  # from a cube's first corner to its last, an axis at a time
        steps = np.vstack([np.zeros(3, int), np.cumsum(np.eye(3, dtype=int)[list(order)], axis=0)])
        corners = [
            number[tuple(slice(s, n - 1 + s) for s, n in zip(step, count, strict=True))] for step in steps
        ]
        paths.append(np.stack([corner.ravel() for corner in corners], axis=1))
    level = body.signed_distance(nodes)
    whole = np.concatenate(paths)
    whole = whole[(level[whole] < 0).any(axis=1)]
    # Corners inside come first: one leaves a tetrahedron; two or three leave a prism, cut into three tetrahedra.
    whole = np.take_along_axis(whole, np.argsort(level[whole] >= 0, axis=1, kind="stable"), axis=1)
    inside = (level[whole] < 0).sum(axis=1)
    made, ends = [whole[inside == 4]], list[np.ndarray]()

    def between(pairs: np.ndarray) -> np.ndarray:
        first = len(nodes) + sum(map(len, ends))
        ends.append(pairs)
        return np.arange(first, first + len(pairs))

    def prism(a: list[np.ndarray], b: list[np.ndarray]) -> None:
        six = [*a, *b]
        made.extend(
            np.stack([six[i] for i in own], axis=1) for own in ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5))
        )

    a, b, c, d = whole[inside == 3].T
    prism([a, b, c], [between(np.stack([corner, d], axis=1)) for corner in (a, b, c)])
    a, b, c, d = whole[inside == 2].T
    prism(*([p, *(between(np.stack([p, q], axis=1)) for q in (c, d))] for p in (a, b)))
    a, *others = whole[inside == 1].T
    made.append(np.stack([a, *(between(np.stack([a, q], axis=1)) for q in others)], axis=1))
    pairs = np.concatenate(ends)
    p, q = level[pairs].T
    share = (p / np.where(p == q, 1.0, p - q))[:, None]
    nodes = np.concatenate([nodes, nodes[pairs[:, 0]] * (1 - share) + nodes[pairs[:, 1]] * share])
    used, cells = np.unique(np.concatenate(made), return_inverse=True)
    return nodes[used], cells.reshape(-1, 4)
