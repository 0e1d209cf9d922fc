"""min_a ‖F(u_a)‖ on cells, split where the residual is largest: the direct solver for regions, fronts and layers.

Level by level: solve, measure each cell's share of ‖r‖², split the cells that hold most of it, across the axis along
which their coefficients decay least. The solution on large cells is the initial guess on their parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from ..fields.cells import Cell, restricted
from ..measure.heldout import held_out
from ..measure.rows.cells import CellRows
from ..measure.rows.newton import newton
from ..measure.rows.relation import oversampling
from ..measure.rows.splitting import first_cells, halves, present, split
from ..measure.rows.start import from_conditions
from ..problem import Problem
from ..problem.facts.direction import fastest_wave, own_waves
from ..problem.facts.narrow import narrow
from ..problem.facts.posedness import insoluble
from ..run.budget import Budget
from ..run.progress import Monitor
from .one_pass import OnePass
from .state import Direct, levels
from .thresholds import (
    CELL_DEGREE,
    CELL_TOLERANCE,
    CELLS_COST,
    CELLS_GAIN,
    CELLS_SHARE,
    CELLS_SIZES,
    FINEST,
    FIRST_STEPS,
    LATER_STEPS,
    LINE_DEGREE,
    LONGEST_WAVE,
    PLANE_DEGREE,
    POOR,
    RESIDUAL_SHARE,
    UNSOLVED,
    WORSE,
)


@dataclass(frozen=True)
class Cells(OnePass):
    """Polynomials of `degree` on cells, with at most `unknowns` coefficients in all.

    Each level splits the cells that hold `share` of the squared residual, and at least a sixth of all cells. By default
    the degree is high where it costs little: on a line, and for linear problems in the plane.

    Examples:
        >>> sn.Cells().obstacle(decay)  # None: it suits
    """

    name: ClassVar[str] = "cells"
    degree: int | None = None
    unknowns: int = 40_000
    share: float = 0.3
    tolerance: float = 1e-10
    only_above: float = 0.0

    def obstacle(self, problem: Problem) -> str | None:
        if problem.region is not None and problem.plane is None:
            return "cells do not support three-dimensional shapes"
        if len(problem.axes) > 3:
            return f"cells of {len(problem.axes)} axes would have too many coefficients"
        return None

    def aimed(self, tol: float) -> Cells:
        return replace(self, tolerance=max(self.tolerance, RESIDUAL_SHARE * tol))

    def passes(self, problem: Problem) -> tuple[Cells, ...]:
        return (replace(self, degree=self._degree(problem)),)

    def within(self, work: float) -> Cells:
        return replace(self, unknowns=int(np.clip(CELLS_SHARE * work / CELLS_COST, *CELLS_SIZES)))

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        state = state or Direct(cursor={"cells": self._first(problem), "poor": 0, "share": math.inf})
        return levels(state, budget, partial(self._level, problem, monitor, budget))

    def _degree(self, problem: Problem) -> int:
        if self.degree is not None:
            return self.degree
        if len(problem.axes) == 1:
            return LINE_DEGREE
        return PLANE_DEGREE if problem.linear and len(problem.axes) == 2 else CELL_DEGREE

    def _first(self, problem: Problem) -> list[Cell]:
        """The first cells: none is longer than a half wave of the data or the equations on a line, than two waves of
        the equations elsewhere, as far as there is room for that."""
        cells, axes = first_cells(problem), range(len(problem.axes))
        line = len(axes) == 1
        phases = (fastest_wave(problem),) if line else own_waves(problem)
        longest = LONGEST_WAVE if line else float(self._degree(problem))
        room = self.unknowns / len(problem.unknowns) / (self._degree(problem) + 1) ** len(axes)
        while 2 * len(cells) < room:
            turned = [phases[i] * max(cell[i][1] - cell[i][0] for cell in cells) for i in axes]
            if max(turned) <= longest:
                break
            parts = (half for cell in cells for half in halves(cell, int(np.argmax(turned))))
            cells = [part for part in parts if present(problem, part)]
        return cells

    def _level(self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct) -> Direct:
        degree, nothing = self._degree(problem), state.field is None
        cells = [tuple((float(a), float(b)) for a, b in cell) for cell in state.cursor["cells"]]
        size = len(cells) * len(problem.unknowns) * (degree + 1) ** len(problem.axes)
        if size > self.unknowns and not nothing:
            more = "sn.Cells(unknowns=…)" if math.isinf(budget.total) else "a larger budget"
            limit = f"stopped at {self.unknowns:,} coefficients: {more} allows more"
            return replace(state, done=True, reason=limit)
        monitor.phase(self.name, f"{len(cells)} cells, {size} coefficients")
        rows_of = partial(CellRows, cells=cells, degrees=degree, oversampling=oversampling(problem))
        rows = rows_of(problem)
        solve = partial(
            newton,
            rows,
            linear=problem.linear,
            iterations=FIRST_STEPS if nothing else LATER_STEPS,
            tolerance=CELL_TOLERANCE,
            report=monitor.step,
            stop=budget.over,
        )
        result = (
            from_conditions(rows, rows_of, solve)
            if nothing
            else solve(np.asarray(restricted(state.field, cells).coefficients).ravel())
        )
        if result.stopped:
            return replace(state, stopped=True)
        current = rows.form(result.coefficients)
        residual = held_out(problem, current).worst
        monitor.level(size, residual)
        shares = rows.shares(result.coefficients)
        finite = bool(np.isfinite(result.coefficients).all())
        behind = Direct(
            field=current if finite else state.field,
            residual=residual if finite else state.residual,
            iterations=state.iterations + result.iterations,
            evaluations=state.evaluations + result.evaluations,
            cursor={
                "cells": split(problem, current, shares, self.share),
                "poor": _poor(problem, state, residual, float(shares.sum())),
                "share": float(shares.sum()),
                "least": min(residual, float(state.cursor.get("least", math.inf))),
            },
        )
        return self._ended(behind, finite)

    def _ended(self, state: Direct, finite: bool) -> Direct:
        if not finite:
            reason = "the residual is not finite"
            return replace(state, done=True, given_up=state.field is None, reason=reason)
        if state.residual <= self.tolerance:
            below = f"the held-out residual is below {self.tolerance:.0e}"
            return replace(state, done=True, reason=below)
        if state.cursor["poor"] >= POOR:
            idle = "smaller cells no longer reduce the residual"
            reason = idle if math.isfinite(state.residual) else "the residual is not finite"
            return replace(state, done=True, reason=reason)
        return state


def _poor(problem: Problem, before: Direct, residual: float, squares: float) -> int:
    """How many levels in a row have gained nothing.

    A thin layer shows no gain before the cells are as thin as it is. A linear problem can afford to get there, unless
    the residual grows: conditions that contradict each other are missed by more on finer cells. On a line, where cells
    are cheap, it may grow before the cells are shorter than a wave.
    """
    least = min(residual, float(before.cursor.get("least", math.inf)))
    worse = problem.linear and len(problem.axes) > 1 and residual > max(WORSE * least, 1.0)
    unresolved = problem.linear and UNSOLVED < residual < math.inf and not insoluble(problem)
    # If conditions contradict, the sum of squares shrinks with the cells while the residual stays: use the residual.
    gained = (
        squares < CELLS_GAIN * before.cursor["share"]
        if not insoluble(problem)
        else residual < CELLS_GAIN * float(before.cursor.get("least", math.inf))
    )
    return (
        0
        if ((gained or unresolved) and not worse) or _coarse(problem, before)
        else int(before.cursor["poor"]) + 1
    )


def _coarse(problem: Problem, before: Direct) -> bool:
    """Whether the cells do not resolve the narrow features of the data yet: until they do, residuals mean nothing."""
    sizes = np.diff(np.array(before.cursor["cells"], dtype=float)).squeeze(2).min(axis=0)
    return any(size > narrow(problem).gap(i) / FINEST for i, size in enumerate(sizes))
