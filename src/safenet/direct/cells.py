"""min_a ‖F(u_a)‖ on cells, split where the remainder is largest: the direct phase for regions, fronts and layers.

Level by level: solve, measure each cell's share of ‖r‖², split the cells that hold most of it, across the axis along
which their amplitudes decay least. A solution on large cells is the first guess on their parts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..fields.cells import Cell, CellForm, restricted
from ..measure.heldout import held_out
from ..measure.rows.cells import CellRows
from ..measure.rows.newton import newton
from ..problem import Problem
from ..problem.facts.structure import breaks
from ..problem.geometry.edges import Segment
from ..run.progress import Monitor
from .direct import FAILED, Direct, oversampling


@dataclass(frozen=True)
class Subdivision:
    """Polynomials of `degree` on at most as many cells as `unknowns` amplitudes allow.

    At each level the cells with `share` of the squared remainder are split, a sixth of all cells at least.
    """

    degree: int = 6
    unknowns: int = 40_000
    share: float = 0.3
    tolerance: float = 1e-10
    only_above: float = 0.0
    name: str = "cells"

    def run(self, problem: Problem, monitor: Monitor, state: Direct | None = None) -> Iterator[Direct]:
        state = state or Direct(cursor={"cells": first_cells(problem), "poor": 0, "share": math.inf})
        cells = [tuple((float(a), float(b)) for a, b in cell) for cell in state.cursor["cells"]]
        while True:
            size = len(cells) * len(problem.unknowns) * (self.degree + 1) ** len(problem.axes)
            if size > self.unknowns and state.network is not None:
                limit = f"the limit of {self.unknowns} amplitudes is reached; a larger --budget raises it"
                yield replace(state, done=True, reason=limit)
                return
            monitor.phase(self.name, f"{len(cells)} cells, {size} amplitudes")
            rows = CellRows(problem, cells, self.degree, oversampling(problem))
            start = np.zeros(size)
            if isinstance(state.network, CellForm):
                start = np.asarray(restricted(state.network, cells).amplitudes).ravel()
            steps = 20 if state.network is None else 6
            result = newton(
                rows, start, problem.linear, iterations=steps, tolerance=1e-6, report=monitor.step
            )
            current = rows.form(result.amplitudes)
            residual = held_out(problem, current).worst
            monitor.level(size, residual)
            shares = rows.shares(result.amplitudes)
            # A thin layer shows no gain before its cells are as thin; a linear problem can afford to get there, unless
            # it only gets worse: conditions that contradict each other are missed the more, the finer the cells.
            least = min(residual, float(state.cursor.get("least", math.inf)))
            worse = problem.linear and residual > max(3 * least, 1.0)
            unresolved = problem.linear and FAILED < residual < math.inf
            gained = shares.sum() < 0.9 * state.cursor["share"]
            poor = 0 if (gained or unresolved) and not worse else int(state.cursor["poor"]) + 1
            cells = split(problem, current, shares, self.share)
            finite = bool(np.isfinite(result.amplitudes).all())
            state = Direct(
                network=current if finite else state.network,
                residual=residual if finite else state.residual,
                iterations=state.iterations + result.iterations,
                evaluations=state.evaluations + result.evaluations,
                cursor={"cells": cells, "poor": poor, "share": float(shares.sum()), "least": least},
            )
            if not finite:
                yield replace(
                    state, done=True, given_up=state.network is None, reason="the residual is not finite"
                )
                return
            if residual <= self.tolerance or poor >= 3:
                below = f"the held-out residual is below {self.tolerance:.0e}"
                idle = "smaller cells no longer reduce the residual"
                yield replace(state, done=True, reason=below if residual <= self.tolerance else idle)
                return
            yield state


def subdivision_obstacle(problem: Problem) -> str | None:
    """Why a problem cannot be solved on cells, or None if it can."""
    if len(problem.axes) > 3:
        return f"cells of {len(problem.axes)} axes would have too many amplitudes"
    return None


def first_cells(problem: Problem) -> list[Cell]:
    """The box cut where the symbols break and along every straight side of the region that is parallel to an axis;
    only cells that hold some of it."""
    cuts = zip(problem.axes, breaks(problem), strict=True)
    lines = [{axis.lo, axis.hi, *places} for axis, places in cuts]
    region = problem.region
    if region is not None:
        for edge in region.edges:
            for i in range(2):
                if isinstance(edge, Segment) and edge.start[i] == edge.end[i]:
                    lines[i].add(float(edge.start[i]))
    spans = [list(itertools.pairwise(_distinct(line))) for line in lines]
    return [cell for cell in itertools.product(*spans) if _present(problem, cell)]


def _distinct(values: set[float]) -> list[float]:
    """In order, without those that differ by a rounding."""
    ordered = sorted(values)
    reach = ordered[-1] - ordered[0]
    return [v for i, v in enumerate(ordered) if i == 0 or v - ordered[i - 1] > 1e-9 * reach]


def _present(problem: Problem, cell: Cell) -> bool:
    if problem.region is None:
        return True
    lower, upper = np.array(cell[:2]).T
    return str(problem.region.classify(lower, upper)[0]) != "outside"


def split(problem: Problem, form: CellForm, shares: np.ndarray, share: float) -> list[Cell]:
    """The cells of the next level."""
    order = np.argsort(-shares)
    above = np.searchsorted(np.cumsum(shares[order]), share * shares.sum()) + 1
    chosen = set(order[: max(int(above), len(order) // 6, 1)].tolist())
    amplitudes = np.asarray(form.amplitudes)
    by_field = (0, *range(2, amplitudes.ndim))
    scale = np.maximum(np.sqrt(np.mean(amplitudes**2, axis=by_field)), 1e-300)
    cells: list[Cell] = []
    for index, cell in enumerate(form.cells):
        if index not in chosen:
            cells.append(cell)
            continue
        parts = [cell]
        for axis in _rough_axes(amplitudes[index], scale):
            parts = [half for part in parts for half in halves(part, axis)]
        cells += [part for part in parts if _present(problem, part)]
    return cells


def _rough_axes(amplitudes: np.ndarray, scale: np.ndarray) -> Sequence[int]:
    """The axes along which a cell's highest amplitudes are within a third of the worst axis'."""
    relative = amplitudes / scale.reshape(-1, *[1] * (amplitudes.ndim - 1))
    tails = [np.linalg.norm(np.moveaxis(relative, i, 0)[-2:]) for i in range(1, amplitudes.ndim)]
    return [i for i, tail in enumerate(tails) if 3 * tail >= max(tails)]


def halves(cell: Cell, axis: int) -> list[Cell]:
    low, high = cell[axis]
    middle = (low + high) / 2
    return [(*cell[:axis], ends, *cell[axis + 1 :]) for ends in ((low, middle), (middle, high))]
