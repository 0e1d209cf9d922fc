"""The first cells, and smaller ones where the residual is large."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ...fields.cells import Cell, CellForm
from ...problem import Problem
from ...problem.facts.structure import breaks
from ...problem.geometry.edges import Segment
from ..relative import TINY
from ..thresholds import DISTINCT, LEAST_SPLIT, LONGER, ROUGH_AXIS


def first_cells(problem: Problem) -> list[Cell]:
    """The box, cut where formulas break and along every straight side of the region that is parallel to an axis; only
    cells that contain a part of the region."""
    cuts = zip(problem.axes, breaks(problem), strict=True)
    lines = [{axis.lo, axis.hi, *places} for axis, places in cuts]
    region = problem.plane
    if region is not None:
        for edge in region.edges:
            for i in range(2):
                if isinstance(edge, Segment) and edge.start[i] == edge.end[i]:
                    lines[i].add(float(edge.start[i]))
    spans = [list(itertools.pairwise(_distinct(line))) for line in lines]
    return [cell for cell in itertools.product(*spans) if present(problem, cell)]


def even_cells(problem: Problem, count: int) -> list[Cell]:
    """At least `count` cells that are about as wide as they are high: the first cells, of which the longest are halved
    again and again. Durations count relative to the whole time."""
    reach = max(axis.length for axis in problem.axes[:2])
    unit = [axis.length if axis.is_time else reach for axis in problem.axes]
    cells = first_cells(problem)
    while len(cells) < count:
        sizes = np.diff(np.array(cells), axis=2).squeeze(2) / unit
        long = sizes.max(axis=1) > sizes.max() / LONGER
        axes = sizes.argmax(axis=1).tolist()
        parts = [
            halves(cell, i) if halve else [cell] for cell, i, halve in zip(cells, axes, long, strict=True)
        ]
        cells = [part for part in itertools.chain(*parts) if present(problem, part)]
    return cells


def _distinct(values: set[float]) -> list[float]:
    """The values in order, without those that differ only by rounding."""
    ordered = sorted(values)
    reach = ordered[-1] - ordered[0]
    return [v for i, v in enumerate(ordered) if i == 0 or v - ordered[i - 1] > DISTINCT * reach]


def present(problem: Problem, cell: Cell) -> bool:
    if problem.plane is None:
        return True
    lower, upper = np.array(cell[:2]).T
    return str(problem.plane.classify(lower, upper)[0]) != "outside"


def split(problem: Problem, form: CellForm, shares: np.ndarray, share: float) -> list[Cell]:
    """The cells of the next level: those with this `share` of the squared residual are halved along rough axes."""
    order = np.argsort(-shares)
    above = np.searchsorted(np.cumsum(shares[order]), share * shares.sum()) + 1
    chosen = set(order[: max(int(above), int(LEAST_SPLIT * len(order)), 1)].tolist())
    coefficients = np.asarray(form.coefficients)
    by_field = (0, *range(2, coefficients.ndim))
    scale = np.maximum(np.sqrt(np.mean(coefficients**2, axis=by_field)), TINY)
    cells: list[Cell] = []
    for index, cell in enumerate(form.cells):
        if index not in chosen:
            cells.append(cell)
            continue
        parts = [cell]
        for axis in _rough_axes(coefficients[index], scale):
            parts = [half for part in parts for half in halves(part, axis)]
        cells += [part for part in parts if present(problem, part)]
    return cells


def _rough_axes(coefficients: np.ndarray, scale: np.ndarray) -> Sequence[int]:
    """The axes along which a cell's highest coefficients are within a third of the worst axis'."""
    relative = coefficients / scale.reshape(-1, *[1] * (coefficients.ndim - 1))
    tails = [np.linalg.norm(np.moveaxis(relative, i, 0)[-2:]) for i in range(1, coefficients.ndim)]
    return [i for i, tail in enumerate(tails) if ROUGH_AXIS * tail >= max(tails)]


def halves(cell: Cell, axis: int) -> list[Cell]:
    low, high = cell[axis]
    middle = (low + high) / 2
    return [(*cell[:axis], ends, *cell[axis + 1 :]) for ends in ((low, middle), (middle, high))]
