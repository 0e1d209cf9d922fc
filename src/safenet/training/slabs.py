"""min_a ‖F(u_a)‖ on cells in a slab [t₀, t₀ + h], slab after slab: the direct phase for fronts, layers and kinks.

Space is cut where the amplitudes of a cell do not decay and joined again where those of the whole would; the length of
the next slab follows from how the amplitudes decay in time. So the cells travel with what they resolve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..networks.cells import Cell, CellForm, interpolation
from ..problem import Problem
from ..problem.structure import breaks
from .cell_rows import CellRows
from .collocation import Handover
from .direct import HOPELESS, Direct
from .ending import failure, jump
from .heldout import held_out
from .newton import Newton, newton
from .progress import Monitor
from .subdivision import first_cells, halves

AIM = 0.3  # at this share of the allowed tail: a slab that misses it is solved again
# What is not resolved in space is rough, and what is rough changes fast: unless it is well below what time must
# resolve, time would follow noise.
SPACE = 0.1
STUCK = 30  # of the shortest slabs in a row that leave a remainder: time does not get easier
STEP = 6.0  # multiplications of a Newton step, in units of cells · width³


@dataclass(frozen=True)
class CellMarching:
    """Polynomials of degree `space` and `time` on cells whose highest amplitudes are below `tail` of the largest.

    Given up early where it would cost more than `work` multiplications, where the shortest slabs come in a long row (a
    jump that does not smooth out) or, unless it is to `insist`, where no slab is short enough (a kink at the start).
    """

    tail: float = 1e-6
    work: float = 1e12
    insist: bool = False
    space: int = 12
    time: int = 8
    slabs: int = 16
    shortest: float = 1e-5  # slab and
    narrowest: float = 1e-5  # cell, relative to their axes: a jump is never resolved
    only_above: float = 0.0
    name: str = "marching on cells"

    def run(self, problem: Problem, monitor: Monitor, state: Direct | None = None) -> Iterator[Direct]:
        time = problem.time
        assert time is not None
        start, end = problem.axes[time].lo, problem.axes[time].hi
        duration = end - start
        if state is None:
            cells = list(dict.fromkeys(cell[:time] for cell in first_cells(problem)))
            state = Direct(
                cursor={"t": start, "h": duration / self.slabs, "cells": cells, "worst": 0.0, "work": 0.0}
            )
        stuck = [float(residual) for residual in state.cursor.get("stuck", ())]
        t, h, worst, work = (float(state.cursor[name]) for name in ("t", "h", "worst", "work"))
        spaces: list[Cell] = [tuple((float(a), float(b)) for a, b in c) for c in state.cursor["cells"]]
        form = state.network if isinstance(state.network, CellForm) else None
        iterations, evaluations = state.iterations, state.evaluations
        seams = breaks(problem)
        while t < end:
            stop = next((place for place in seams[time] if place > t), end)
            span = (t, stop if t + 1.01 * h >= stop else t + h)
            h = span[1] - t
            monitor.phase(
                self.name,
                f"t = {t:.4g} … {span[1]:.4g}, {len(spaces)} {'cell' if len(spaces) == 1 else 'cells'}",
                (t - start) / duration,
            )
            rows, result = self._slab(problem, monitor, spaces, span, form)
            iterations, evaluations = iterations + result.iterations, evaluations + result.evaluations
            work += result.iterations * len(spaces) * rows.width**3 * STEP
            if work > self.work * (0.25 + (t - start) / duration):
                reason = f"given up at t = {t:.4g}: to this accuracy it would cost too much"
                yield replace(state, done=True, given_up=True, reason=reason)
                return
            slab = rows.form(result.amplitudes)
            tails = _tails(slab)
            # Cells that are as narrow as may be are as good as can be.
            widths = np.diff(rows.box[:, :time]).squeeze(2) / rows.lengths[:time]
            tails[:, :time][widths <= self.narrowest] = 0.0
            rough, late = tails[:, :time].max() / (SPACE * self.tail), tails[:, time].max() / self.tail
            ideal = h * float(np.clip((AIM / max(late, 1e-300)) ** (1 / self.time), 0.2, 2))
            # Either fault shows as the other, too: the greater one is mended first.
            if result.converged and rough > max(late, 1.0):
                spaces = self._finer(spaces, tails[:, :time])
                continue
            late = math.inf if not result.converged else late
            if late > 1 and h > self.shortest * duration:
                h = ideal if result.converged else h / 4
                continue
            residual = held_out(problem, slab, 256, span).worst if result.converged else math.inf
            # In the first slab a jump in the data looks as bad as the end of a solution; it is not.
            hopeless = residual > HOPELESS and (t > start or not result.converged)
            if late > 1 and (hopeless or not self.insist):
                kink = f"given up at t = {t:.4g}: no slab is short enough for this accuracy"
                reason, final = failure(problem, form, t) if hopeless else (kink, False)
                yield replace(state, done=True, given_up=True, final=final, reason=reason)
                return
            worst = max(worst, residual)
            stuck = [*stuck, residual] if h <= (1 + 1e-9) * self.shortest * duration else []
            if len(stuck) >= STUCK and max(stuck) > 10 * self.tail:
                reason = jump(problem, slab, len(stuck))
                # What a rough march takes for a jump may be a thin layer.
                final = not self.insist
                yield replace(state, done=True, given_up=True, final=final, suspect=not final, reason=reason)
                return
            form = slab if form is None else _joined(form, slab)
            t, h = span[1], max(ideal, self.shortest * duration)
            spaces = self._coarser(spaces, slab, t, seams)
            state = Direct(
                network=form,
                residual=worst,
                iterations=iterations,
                evaluations=evaluations,
                cursor={"t": t, "h": h, "cells": spaces, "worst": worst, "work": work, "stuck": stuck},
                done=t >= end,
                reason=f"reached t = {end:g}" if t >= end else "",
            )
            monitor.level(form.parameters, worst)
            yield state

    def _slab(
        self,
        problem: Problem,
        monitor: Monitor,
        spaces: Sequence[Cell],
        span: tuple[float, float],
        form: CellForm | None,
    ) -> tuple[CellRows, Newton]:
        cells = [(*cell, span) for cell in spaces]
        degrees = [*[self.space] * len(spaces[0]), self.time]
        before = None if form is None else _ending(form, span[0])
        rows = CellRows(problem, cells, degrees, 1.3, span, None if before is None else handed_over(before))
        guess = np.zeros(rows.unknowns) if before is None else _extrapolated(before, rows, span)
        return rows, newton(rows, guess, problem.linear, report=monitor.step)

    def _finer(self, spaces: Sequence[Cell], tails: np.ndarray) -> list[Cell]:
        """Cells halved along every axis that they do not resolve."""
        found: list[Cell] = []
        for cell, tail in zip(spaces, tails, strict=True):
            parts = [cell]
            for axis in np.flatnonzero(tail > SPACE * self.tail):
                parts = [half for part in parts for half in halves(part, int(axis))]
            found += parts
        return found

    def _coarser(
        self, spaces: Sequence[Cell], slab: CellForm, t: float, seams: Sequence[Sequence[float]]
    ) -> list[Cell]:
        """Neighbours of the same size joined where one polynomial serves both at the end of the slab."""
        cells = list(spaces)
        for axis in range(len(cells[0])):
            pairs = [(a, b) for a, b in _pairs(cells, axis) if cells[a][axis][1] not in seams[axis]]
            if not pairs:
                continue
            wholes = [_union(cells[a], cells[b]) for a, b in pairs]
            state = _interpolated(slab, wholes, slab.degrees[:-1], t, 0)
            scale = _scales(slab)
            smooth = _tails(CellForm(state, tuple(wholes), slab.degrees[:-1]), scale).max(axis=1)
            gone: set[int] = set()
            joined = []
            for pair, whole, tail in zip(pairs, wholes, smooth, strict=True):
                if tail < AIM * SPACE * self.tail and not gone & set(pair):
                    gone |= set(pair)
                    joined.append(whole)
            cells = sorted([*(cell for i, cell in enumerate(cells) if i not in gone), *joined])
        return cells


def _scales(form: CellForm) -> np.ndarray:
    """The largest amplitude of each field in any cell."""
    amplitudes = np.abs(np.asarray(form.amplitudes))
    return np.maximum(amplitudes.max(axis=(0, *range(2, amplitudes.ndim))), 1e-300)


def _tails(form: CellForm, scale: np.ndarray | None = None) -> np.ndarray:
    """(cells, axes): the largest of the two highest amplitudes along each axis, relative to the field's."""
    scale = _scales(form) if scale is None else scale
    relative = np.abs(np.asarray(form.amplitudes)) / scale.reshape(-1, *[1] * len(form.degrees))
    highest = (np.moveaxis(relative, i + 2, 1)[:, -2:] for i in range(len(form.degrees)))
    return np.stack([part.reshape(len(relative), -1).max(axis=1) for part in highest], axis=1)


def _pairs(cells: Sequence[Cell], axis: int) -> list[tuple[int, int]]:
    """Cells of the same size, one behind the other along an axis."""
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
    return CellForm(np.asarray(form.amplitudes)[here], tuple(form.cells[i] for i in here), form.degrees)


def handed_over(before: CellForm) -> Handover:
    def handover(index: int, k: int, points: np.ndarray) -> np.ndarray:
        orders = (*(0,) * (points.shape[1] - 1), k)
        return before.jets(points, [orders])[orders][:, index]

    return handover


def _interpolated(
    form: CellForm, cells: Sequence[Cell], degrees: Sequence[int], t: float, k: int
) -> np.ndarray:
    """The amplitudes of ∂_t^k u at time t on cells of space: (cells, fields, degrees + 1 …)."""
    _, nodes, inverses = zip(*map(interpolation, degrees), strict=True)
    grid = np.stack([m.ravel() for m in np.meshgrid(*nodes, indexing="ij")], axis=1)
    low, high = np.moveaxis(np.array(cells), 2, 0)[:, :, None]
    points = (low + high) / 2 + (high - low) / 2 * grid
    at = np.concatenate([points, np.full((*points.shape[:2], 1), t)], axis=2).reshape(-1, len(degrees) + 1)
    orders = (*(0,) * len(degrees), k)
    values = form.jets(at, [orders])[orders].reshape(len(cells), *map(len, nodes), -1)
    for axis, inverse in enumerate(inverses, 1):
        values = np.moveaxis(np.tensordot(inverse, values, axes=((1,), (axis,))), 0, axis)
    return np.moveaxis(values, -1, 1)


def _extrapolated(before: CellForm, rows: CellRows, span: tuple[float, float]) -> np.ndarray:
    """u + (t − t₀) u_t from the slab's start: the first guess."""
    spaces = [cell[:-1] for cell in rows.cells]
    value, slope = (_interpolated(before, spaces, rows.degrees[:-1], span[0], k) for k in range(2))
    rise = (span[1] - span[0]) / 2 * slope
    amplitudes = np.zeros((*value.shape, rows.degrees[-1] + 1))
    amplitudes[..., 0], amplitudes[..., 1] = value + rise, rise
    return amplitudes.ravel()


def _joined(first: CellForm, second: CellForm) -> CellForm:
    amplitudes = np.concatenate([np.asarray(first.amplitudes), np.asarray(second.amplitudes)])
    return CellForm(amplitudes, first.cells + second.cells, first.degrees)
