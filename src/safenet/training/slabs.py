"""min_a ‖F(u_a)‖ on cells in a slab [t₀, t₀ + h], slab after slab: the direct phase for fronts, layers and kinks.

Space is cut where the amplitudes of a cell do not decay and joined again where they decay more than they need to; the
length of the next slab follows from how the amplitudes decay in time. So the cells travel with what they resolve.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..networks.basis import AxisBasis
from ..networks.cells import Cell, CellForm
from ..problem import Problem
from .cell_rows import CellRows
from .direct import HOPELESS, Direct
from .heldout import held_out
from .newton import Newton, newton
from .progress import Monitor
from .subdivision import _halves, first_cells

SAFETY = 0.3  # aim at this share of the allowed tail: a slab that fails is solved twice


@dataclass(frozen=True)
class CellMarching:
    """Polynomials of degree `space` and `time` on cells whose highest amplitudes stay below `tail`, relatively."""

    tail: float = 1e-8
    space: int = 12
    time: int = 8
    slabs: int = 16
    unknowns: int = 40_000  # of one slab
    shortest: float = 1e-5
    only_above: float = 0.0
    name: str = "marching on cells"

    def run(self, problem: Problem, monitor: Monitor, state: Direct | None = None) -> Iterator[Direct]:
        time = problem.time
        assert time is not None
        start, end = problem.axes[time].lo, problem.axes[time].hi
        degrees = [self.time if i == time else self.space for i in range(len(problem.axes))]
        if state is None:
            spaces = [cell[:time] for cell in first_cells(problem)]
            state = Direct(cursor={"t": start, "h": (end - start) / self.slabs, "cells": spaces, "worst": 0.0})
        cursor = state.cursor
        t, h, worst = float(cursor["t"]), float(cursor["h"]), float(cursor["worst"])
        spaces = [tuple((float(a), float(b)) for a, b in cell) for cell in cursor["cells"]]
        form = state.network if isinstance(state.network, CellForm) else None
        iterations, evaluations = state.iterations, state.evaluations
        while t < end:
            span = (t, end if t + 1.01 * h >= end else t + h)
            cells = [(*cell, span) for cell in spaces]
            size = len(cells) * len(problem.unknowns) * math.prod(degree + 1 for degree in degrees)
            shortest = span[1] - t <= self.shortest * (end - start)
            if size > self.unknowns:
                yield replace(state, done=True, given_up=True, reason=f"given up at t = {t:.4g}: a slab would need {size} amplitudes")
                return
            monitor.phase(self.name, f"t = {t:.4g} … {span[1]:.4g}, {len(cells)} cells", (t - start) / (end - start))
            before = None if form is None else self._last(form, t)
            rows = CellRows(problem, cells, degrees, 1.3, span, None if before is None else _handover(before, time))
            guess = np.zeros(rows.unknowns) if before is None else _constant(before, rows, t)
            result = newton(rows, guess, problem.linear, report=monitor.step)
            iterations, evaluations = iterations + result.iterations, evaluations + result.evaluations
            tails = self._tails(rows, result, time)
            coarse = tails[:, :time].max(axis=1) > 0.1 * self.tail
            late = float(tails[:, time].max())
            ideal = (span[1] - t) * min(2.0, max(0.2, (SAFETY * self.tail / max(late, 1e-300)) ** (1 / self.time)))
            if not shortest and (not result.converged or late > self.tail):
                h = (span[1] - t) / 4 if not result.converged else ideal
                continue
            if not result.converged:
                yield replace(state, done=True, given_up=True, reason=f"Newton fails at t = {t:.4g} however short the slab: the solution may not exist beyond")
                return
            if coarse.any():
                spaces = [part for cell, tail, cut in zip(spaces, tails, coarse, strict=True) for part in (self._cut(cell, tail) if cut else [cell])]
                continue
            slab = rows.form(result.amplitudes)
            residual = held_out(problem, slab, 256, span).worst
            worst = max(worst, residual)
            form = slab if form is None else joined(form, slab)
            t, h = span[1], ideal
            spaces = self._merged(spaces, tails[:, :time])
            state = Direct(
                network=form,
                residual=worst,
                iterations=iterations,
                evaluations=evaluations,
                cursor={"t": t, "h": h, "cells": spaces, "worst": worst},
                done=t >= end,
                reason=f"reached t = {end:g}" if t >= end else "",
            )
            monitor.level(form.parameters, worst)
            yield state

    def _tails(self, rows: CellRows, result: Newton, time: int) -> np.ndarray:
        """(cells, axes): the highest two amplitudes of each axis, relative to the largest of the field anywhere."""
        amplitudes = np.abs(np.asarray(rows.form(result.amplitudes).amplitudes))
        scale = amplitudes.reshape(*amplitudes.shape[:2], -1).max(axis=2).max(axis=0)
        relative = amplitudes / np.maximum(scale, 1e-300).reshape(1, -1, *[1] * (amplitudes.ndim - 2))
        return np.stack(
            [
                np.moveaxis(relative, i + 2, 0)[-2:].max(axis=0).reshape(len(relative), -1).max(axis=1)
                for i in range(len(rows.degrees))
            ],
            axis=1,
        )

    def _last(self, form: CellForm, t: float) -> CellForm:
        """The cells that end at t."""
        box = np.array(form.cells)
        here = np.flatnonzero(np.abs(box[:, -1, 1] - t) <= 1e-12 * max(abs(t), 1.0))
        return CellForm(np.asarray(form.amplitudes)[here], tuple(form.cells[i] for i in here), form.degrees)

    def _cut(self, cell: Cell, tails: np.ndarray) -> list[Cell]:
        parts = [cell]
        for axis in range(len(cell)):
            if tails[axis] > 0.1 * self.tail:
                parts = [half for part in parts for half in _halves(part, axis)]
        return parts

    def _merged(self, spaces: Sequence[Cell], tails: np.ndarray) -> list[Cell]:
        """Two halves of a cell become one where the whole, 2^degree times less smooth, is smooth enough."""
        if len(spaces[0]) > 1:
            return list(spaces)
        limit = 0.1 * SAFETY * self.tail / 2.0**self.space
        found: list[Cell] = []
        i = 0
        while i < len(spaces):
            if i + 1 < len(spaces) and max(tails[i, 0], tails[i + 1, 0]) < limit:
                (a, b), (c, d) = spaces[i][0], spaces[i + 1][0]
                if abs((b - a) - (d - c)) < 1e-9 * (d - a):
                    found.append(((a, d),))
                    i += 2
                    continue
            found.append(spaces[i])
            i += 1
        return found


def _handover(before: CellForm, time: int):
    def handover(index: int, k: int, points: np.ndarray) -> np.ndarray:
        orders = tuple(k if i == time else 0 for i in range(points.shape[1]))
        return before.jets(points, [orders])[orders][:, index]

    return handover


def _constant(before: CellForm, rows: CellRows, t: float) -> np.ndarray:
    """The state at the slab's start, at every time."""
    units = [AxisBasis("chebyshev", degree, -1.0, 1.0) for degree in rows.degrees[:-1]]
    nodes = [np.cos(np.pi * (np.arange(unit.size) + 0.5) / unit.size) for unit in units]
    inverses = [np.linalg.inv(unit(at)) for unit, at in zip(units, nodes, strict=True)]
    grid = np.stack([m.ravel() for m in np.meshgrid(*nodes, indexing="ij")], axis=1)
    low, high = rows.box[:, :-1, 0], rows.box[:, :-1, 1]
    points = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * grid
    flat = np.concatenate([points, np.full((*points.shape[:2], 1), t)], axis=2).reshape(-1, rows.axes)
    zero = (0,) * rows.axes
    values = before.jets(flat, [zero])[zero].reshape(len(rows.cells), *(u.size for u in units), -1)
    for axis, inverse in enumerate(inverses, 1):
        values = np.moveaxis(np.tensordot(inverse, values, axes=((1,), (axis,))), 0, axis)
    amplitudes = np.zeros((len(rows.cells), values.shape[-1], *(degree + 1 for degree in rows.degrees)))
    amplitudes[..., 0] = np.moveaxis(values, -1, 1)
    return amplitudes.ravel()


def joined(first: CellForm, second: CellForm) -> CellForm:
    """Both, where one ends and the other begins."""
    amplitudes = np.concatenate([np.asarray(first.amplitudes), np.asarray(second.amplitudes)])
    return CellForm(amplitudes, first.cells + second.cells, first.degrees)
