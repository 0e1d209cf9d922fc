"""Lines parallel to the axes, ever closer towards corners, and the rectangles between them inside the domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...fields.cells import Cell
from ...problem import Problem
from ...problem.facts.elliptic import Elliptic, Side
from ...problem.facts.structure import breaks
from ..thresholds import GRADED

Corner = tuple[float, float]


@dataclass(frozen=True)
class Mesh:
    """`lines` along both axes, and the (i, j) of each rectangle in the domain."""

    lines: tuple[np.ndarray, np.ndarray]
    places: tuple[tuple[int, int], ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        x, y = self.lines
        return tuple(((float(x[i]), float(x[i + 1])), (float(y[j]), float(y[j + 1]))) for i, j in self.places)


def corners(system: Elliptic) -> tuple[Corner, ...]:
    """The ends of all sides: where the boundary turns, or a condition ends."""
    found = set()
    for side in system.sides:
        for along in (side.low, side.high):
            found.add((side.place, along) if side.axis == 0 else (along, side.place))
    return tuple(sorted(found))


def mesh(problem: Problem, system: Elliptic, parts: int, layers: Mapping[Corner, int]) -> Mesh:
    """The distances between corners divided into `parts`; next to each corner the first part is divided further, into
    `layers` that get ever thinner."""
    lines = []
    for axis in range(2):
        base = sorted({corner[axis] for corner in layers} | {*breaks(problem)[axis]})
        graded = {
            place: max((count for corner, count in layers.items() if corner[axis] == place), default=0)
            for place in base
        }
        lines.append(np.array(_lines(base, graded, parts)))
    x, y = ((line[1:] + line[:-1]) / 2 for line in lines)
    middles = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    inside = problem.contains(middles.reshape(-1, 2)).reshape(len(x), len(y))
    places = tuple((int(i), int(j)) for i, j in np.argwhere(inside))
    return Mesh((lines[0], lines[1]), places)


def _lines(base: list[float], layers: dict[float, int], parts: int) -> list[float]:
    found: set[float] = set(base)
    for low, high in pairwise(base):
        width = (high - low) / parts
        found |= {low + k * width for k in range(1, parts)}
        found |= {low + width * GRADED**k for k in range(1, layers[low] + 1)}
        found |= {high - width * GRADED**k for k in range(1, layers[high] + 1)}
    return sorted(found)


def on_side(mesh: Mesh, side: Side) -> list[tuple[int, int]]:
    """(number of the rectangle, number of its first line along the side) of all rectangles at a side."""
    across = mesh.lines[side.axis]
    line = int(np.argmin(np.abs(across - side.place)))
    own = line - 1 if side.sign > 0 else line
    along = mesh.lines[1 - side.axis]  # the ends of the side are among them: nothing is rounded
    return [
        (number, place[1 - side.axis])
        for number, place in enumerate(mesh.places)
        if place[side.axis] == own
        and side.low <= along[place[1 - side.axis]]
        and along[place[1 - side.axis] + 1] <= side.high
    ]
