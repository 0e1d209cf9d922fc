"""F(u) = 0 at the nodes of a tensor grid in a slab [t₀, t₀ + h], slab after slab: in the plane and in space.

A Newton step costs about ten products of the grid with a small matrix for each axis. In return, the conditions must fix
each unknown axis by axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..fields.series import Piecewise, appended
from ..measure.rows.grid import TensorRows, beginning, continued
from ..measure.rows.grid_conditions import tensor_obstacle
from ..measure.rows.newton import newton
from ..measure.thresholds import FORCING, LINEAR_FORCING
from ..problem import Problem
from ..problem.facts.evolution import time_obstacle
from ..run.budget import Budget
from ..run.progress import Monitor
from .bases import first_modes
from .march import Attempt, Grid, Slab, SlabMarch, Span
from .thresholds import AIM, COARSER, FINER, GRID_VALUES, KINK, KINK_BELOW, KINK_TRIES, SHORTER, SPACE


@dataclass(frozen=True)
class MarchOnGrid(SlabMarch):
    """Values at the nodes of each axis and at `time` Radau nodes; the grid is their number along each space axis."""

    name: ClassVar[str] = "marching on a grid"
    least: int = 8
    most: int = 400_000  # values in a slab: the grid is not refined beyond that
    widest: int = 400  # nodes along an axis, at most

    def obstacle(self, problem: Problem) -> str | None:
        """Why a problem cannot be marched in time on a grid, or None if it can."""
        if found := time_obstacle(problem) or tensor_obstacle(problem):
            return found
        values = math.prod(self._coarsest(problem)) * self.time * len(problem.unknowns)
        return f"a slab would need {values} values" if values > GRID_VALUES else None

    def _coarsest(self, problem: Problem) -> Grid:
        return [2 * modes + 1 for modes in first_modes(problem, self.least)[:-1]]

    def first(self, problem: Problem) -> Grid:
        """The grid that resolves the initial values."""
        grid = self._coarsest(problem)
        while True:
            rows = TensorRows(problem, grid, self.time, problem.axes[-1].bounds, beginning(problem))
            finer = self.finer(problem, grid, rows.starting_tails[None])
            if finer == grid or FINER * rows.unknowns > self.most:
                return grid
            grid = finer

    def words(self, grid: Grid) -> str:
        return f"{' × '.join(map(str, [*grid, self.time]))} nodes"

    def slab(
        self,
        problem: Problem,
        monitor: Monitor,
        budget: Budget,
        grid: Grid,
        span: Span,
        form: Piecewise | None,
    ) -> Slab:
        start = beginning(problem) if form is None else continued(form.pieces[-1], span[0])
        rows = TensorRows(problem, grid, self.time, span, start)
        rows.forcing = LINEAR_FORCING if problem.linear else FORCING
        result = newton(rows, rows.guess(), problem.linear, report=monitor.step, stop=budget.over)
        if problem.linear and rows.unfinished and result.converged:
            rows.forcing = FORCING
            result = newton(rows, result.coefficients, False, report=monitor.step, stop=budget.over)
        solved = rows.form(result.coefficients)
        found = np.array(solved.tails())
        full = FINER * rows.unknowns > self.most
        found[:-1] = [
            0.0 if full or count >= self.widest else tail for count, tail in zip(grid, found, strict=False)
        ]
        return Slab(solved, found[None], result, rows.work)

    def finer(self, problem: Problem, grid: Grid, tails: np.ndarray) -> Grid:
        return [
            _alike(count, max(count, min(FINER * count, self.widest))) if tail > SPACE * self.tail else count
            for count, tail in zip(grid, tails[0], strict=True)
        ]

    def coarser(self, problem: Problem, grid: Grid, slab: Slab, t: float) -> Grid:
        """Fewer nodes where the coefficients, decaying on as they do, would still be small enough."""
        return [
            _alike(count, max(self.least, count / COARSER)) if self.spare(tail) else count
            for count, tail in zip(grid, slab.tails[0], strict=False)
        ]

    def joined(self, form: Piecewise | None, slab: Slab, span: Span) -> Piecewise:
        return appended(form, slab.form, span)

    def shorter(self, found: Attempt, tried: Sequence[tuple[float, float]], least: float) -> float:
        """The length that follows from how the tail fell with the last two: more slowly than for a smooth solution
        if, for example, the data disagree at a corner."""
        if len(tried) < 2:
            return found.ideal
        (long, before), (short, after) = tried[-2:]
        rate = np.clip(math.log(before / after) / math.log(long / short), KINK, self.time)
        share = float(np.clip((AIM / after) ** (1 / rate), SHORTER, 1.0))
        return max(share * found.length, min(found.ideal, least / 2))

    def kinked(self, tried: Sequence[tuple[float, float]]) -> bool:
        """Whether small tails hardly fall with the slab's length, as for √t: the data disagree at a corner.

        No grid resolves that; cells that are narrow there do.
        """
        last = tried[-KINK_TRIES - 1 :]
        if len(last) <= KINK_TRIES or last[0][1] * self.tail > KINK_BELOW:
            return False
        (long, before), (short, after) = last[0], last[-1]
        return math.log(before / after) < KINK * math.log(long / short)


def _alike(count: int, wanted: float) -> int:
    """A number near `wanted`, odd if `count` is: a periodic axis has a sine for each cosine, and the mean."""
    found = math.ceil(wanted)
    return found + (found - count) % 2
