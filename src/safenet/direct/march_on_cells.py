"""min_a ‖F(u_a)‖ on cells in a slab [t₀, t₀ + h], slab after slab: for fronts, layers and kinks.

Cells of space are split where their coefficients do not decay, and joined again where those of the union would: they
travel with what they resolve.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ..fields.cells import Cell, CellForm, interpolation
from ..measure.relative import TINY
from ..measure.rows.cells import CellRows
from ..measure.rows.grid_lines import along
from ..measure.rows.newton import newton
from ..measure.rows.relation import handed_over
from ..measure.rows.splitting import first_cells, halves
from ..measure.rows.start import from_conditions
from ..measure.thresholds import ROWS_BEYOND
from ..problem import Problem
from ..problem.facts.evolution import time_obstacle
from ..problem.facts.structure import breaks
from ..run.budget import Budget
from ..run.progress import Monitor
from .ending import jump
from .march import Grid, Slab, SlabMarch, Span
from .thresholds import AIM, CELL_STEP, SPACE


@dataclass(frozen=True)
class MarchOnCells(SlabMarch):
    """Polynomials of degree `space` and `time` on cells that are split and joined on the way; the grid lists them."""

    name: ClassVar[str] = "marching on cells"
    space: int = 12
    narrowest: float = 1e-5  # the narrowest cell, relative to its axes: a jump is never resolved

    @property
    def fineness(self) -> float:
        return float(self.tail ** (-1 / self.space))  # cells of width^space ∝ tail

    def obstacle(self, problem: Problem) -> str | None:
        """Why a problem cannot be marched in time on cells, or None if it can."""
        return time_obstacle(problem) or (
            None if len(problem.axes) == 2 else "it does not have exactly one space axis"
        )

    def first(self, problem: Problem) -> Grid:
        return list(dict.fromkeys(cell[:-1] for cell in first_cells(problem)))

    def words(self, grid: Grid) -> str:
        return f"{len(grid)} {'cell' if len(grid) == 1 else 'cells'}"

    def slab(
        self,
        problem: Problem,
        monitor: Monitor,
        budget: Budget,
        grid: Grid,
        span: Span,
        form: CellForm | None,
    ) -> Slab:
        spaces = _cells(grid)
        degrees = [*[self.space] * len(spaces[0]), self.time]
        before = None if form is None else _ending(form, span[0])
        handover = None if before is None else handed_over(before)
        rows_of = partial(
            CellRows,
            cells=[(*cell, span) for cell in spaces],
            degrees=degrees,
            oversampling=ROWS_BEYOND,
            span=span,
            handover=handover,
        )
        rows = rows_of(problem)
        solve = partial(newton, rows, linear=problem.linear, report=monitor.step, stop=budget.over)
        result = (
            from_conditions(rows, rows_of, solve, span)
            if before is None
            else solve(_extrapolated(before, rows, span))
        )
        solved = rows.form(result.coefficients)
        tails = _tails(solved)
        # Cells of the least width cannot be improved.
        widths = np.diff(rows.box[:, :-1]).squeeze(2) / rows.lengths[:-1]
        tails[:, :-1][widths <= self.narrowest] = 0.0
        return Slab(solved, tails, result, result.iterations * len(spaces) * rows.width**3 * CELL_STEP)

    def finer(self, problem: Problem, grid: Grid, tails: np.ndarray) -> Grid:
        """The cells, halved along every axis that they do not resolve."""
        found: list[Cell] = []
        for cell, tail in zip(_cells(grid), tails, strict=True):
            parts = [cell]
            for axis in np.flatnonzero(tail > SPACE * self.tail):
                parts = [half for part in parts for half in halves(part, int(axis))]
            found += parts
        return found

    def coarser(self, problem: Problem, grid: Grid, slab: Slab, t: float) -> Grid:
        """The cells; neighbours of the same size are joined if one polynomial fits both at the end of the slab."""
        cells, form, seams = _cells(grid), slab.form, breaks(problem)
        for axis in range(len(cells[0])):
            pairs = [(a, b) for a, b in _pairs(cells, axis) if cells[a][axis][1] not in seams[axis]]
            if not pairs:
                continue
            wholes = [_union(cells[a], cells[b]) for a, b in pairs]
            state = _interpolated(form, wholes, form.degrees[:-1], t, 0)
            smooth = _tails(CellForm(state, tuple(wholes), form.degrees[:-1]), _scales(form)).max(axis=1)
            gone: set[int] = set()
            joined = []
            for pair, whole, tail in zip(pairs, wholes, smooth, strict=True):
                if tail < AIM * SPACE * self.tail and not gone & set(pair):
                    gone |= set(pair)
                    joined.append(whole)
            cells = sorted([*(cell for i, cell in enumerate(cells) if i not in gone), *joined])
        return list(cells)

    def joined(self, form: CellForm | None, slab: Slab, span: Span) -> CellForm:
        behind: CellForm = slab.form
        if form is None:
            return behind
        coefficients = np.concatenate([np.asarray(form.coefficients), np.asarray(behind.coefficients)])
        return CellForm(coefficients, form.cells + behind.cells, form.degrees)

    def stuck(self, problem: Problem, slab: Slab, span: Span, count: int) -> str:
        return jump(problem, slab.form, count)


def _cells(grid: Grid) -> list[Cell]:
    return [tuple((float(a), float(b)) for a, b in cell) for cell in grid]


def _scales(form: CellForm) -> np.ndarray:
    """The largest coefficient of each field in any cell."""
    coefficients = np.abs(np.asarray(form.coefficients))
    return np.asarray(np.maximum(coefficients.max(axis=(0, *range(2, coefficients.ndim))), TINY))


def _tails(form: CellForm, scale: np.ndarray | None = None) -> np.ndarray:
    """(cells, axes): the larger of the two highest coefficients along each axis, relative to the field's scale."""
    scale = _scales(form) if scale is None else scale
    relative = np.abs(np.asarray(form.coefficients)) / scale.reshape(-1, *[1] * len(form.degrees))
    highest = (np.moveaxis(relative, i + 2, 1)[:, -2:] for i in range(len(form.degrees)))
    return np.stack([part.reshape(len(relative), -1).max(axis=1) for part in highest], axis=1)


def _pairs(cells: Sequence[Cell], axis: int) -> list[tuple[int, int]]:
    """Pairs of neighbours of the same size along an axis."""
    begins = {
        tuple(ends if i != axis else ends[0] for i, ends in enumerate(c)): k for k, c in enumerate(cells)
    }
    found = []
    for k, cell in enumerate(cells):
        other = begins.get(tuple(ends if i != axis else ends[1] for i, ends in enumerate(cell)))
        if other is not None and math.isclose(*(e[1] - e[0] for e in (cell[axis], cells[other][axis]))):
            found.append((k, other))
    return found


def _union(cell: Cell, other: Cell) -> Cell:
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(cell, other, strict=True))


def _ending(form: CellForm, t: float) -> CellForm:
    """The cells that end at t."""
    here = [i for i, cell in enumerate(form.cells) if cell[-1][1] == t]
    return CellForm(np.asarray(form.coefficients)[here], tuple(form.cells[i] for i in here), form.degrees)


def _interpolated(
    form: CellForm, cells: Sequence[Cell], degrees: Sequence[int], t: float, k: int
) -> np.ndarray:
    """The coefficients of ∂_t^k u at time t on cells of space: (cells, fields, degrees + 1 …)."""
    _, nodes, inverses = zip(*map(interpolation, degrees), strict=True)
    grid = np.stack([m.ravel() for m in np.meshgrid(*nodes, indexing="ij")], axis=1)
    low, high = np.moveaxis(np.array(cells), 2, 0)[:, :, None]
    points = (low + high) / 2 + (high - low) / 2 * grid
    at = np.concatenate([points, np.full((*points.shape[:2], 1), t)], axis=2).reshape(-1, len(degrees) + 1)
    orders = (*(0,) * len(degrees), k)
    values = form.jets(at, [orders])[orders].reshape(len(cells), *map(len, nodes), -1)
    for axis, inverse in enumerate(inverses, 1):
        values = along(inverse, values, axis)
    return np.moveaxis(values, -1, 1)


def _extrapolated(before: CellForm, rows: CellRows, span: Span) -> np.ndarray:
    """u + (t − t₀) u_t from the slab's start: the initial guess."""
    spaces = [cell[:-1] for cell in rows.cells]
    value, slope = (_interpolated(before, spaces, rows.degrees[:-1], span[0], k) for k in range(2))
    rise = (span[1] - span[0]) / 2 * slope
    coefficients = np.zeros((*value.shape, rows.degrees[-1] + 1))
    coefficients[..., 0], coefficients[..., 1] = value + rise, rise
    return coefficients.ravel()
