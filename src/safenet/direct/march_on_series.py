"""min_a ‖F(Σ a_k φ_k)‖ in a slab [t₀, t₀ + h], slab after slab: for conditions that no grid can impose.

Each slab is one dense system, so its size is the limit: a front in the plane needs many modes in space, which leaves a
lower degree in time, in shorter slabs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from ..fields.series import Bases, LinearForm, Piecewise, appended
from ..measure.rows.newton import newton
from ..measure.rows.relation import handed_over
from ..measure.rows.series import Collocation, widen
from ..measure.rows.start import from_conditions
from ..measure.thresholds import ROWS_BEYOND
from ..problem import Problem
from ..problem.facts.evolution import time_obstacle
from ..run.budget import Budget
from ..run.progress import Monitor
from .bases import axis_bases, first_modes, unknowns_of
from .march import Grid, Slab, SlabMarch, Span
from .thresholds import COARSER, MORE_MODES, SERIES_COST, SERIES_SHARE, SERIES_SIZES, SPACE


@dataclass(frozen=True)
class MarchOnSeries(SlabMarch):
    """Series of at most `unknowns` coefficients; the grid is the modes of each axis, the degree in time last."""

    name: ClassVar[str] = "marching with series"
    time: int = 6
    slabs: int = 8
    shortest: float = 1e-4
    work: float = 2.5e12
    unknowns: int = 3200
    least: int = 8
    lowest: int = 4  # the lowest degree in time

    def obstacle(self, problem: Problem) -> str | None:
        """Why a problem cannot be marched in time with one series a slab, or None if it can."""
        if obstacle := time_obstacle(problem):
            return obstacle
        size = unknowns_of(axis_bases(problem, self.first(problem), "chebyshev", (0.0, 1.0)))
        return f"a slab would need {size} coefficients" if size > self.unknowns else None

    def within(self, work: float) -> MarchOnSeries:
        size = int(np.clip((SERIES_SHARE * work / SERIES_COST) ** (1 / 3), *SERIES_SIZES))
        return replace(self, unknowns=size, work=self.allowed(work))

    def first(self, problem: Problem) -> Grid:
        return [*first_modes(problem, self.least)[:-1], self.time]

    def words(self, grid: Grid) -> str:
        return f"{' × '.join(map(str, grid))} modes"

    def slab(
        self,
        problem: Problem,
        monitor: Monitor,
        budget: Budget,
        grid: Grid,
        span: Span,
        form: Piecewise | None,
    ) -> Slab:
        bases = axis_bases(problem, grid, "chebyshev", span)
        before = None if form is None else form.pieces[-1]
        handover = None if before is None else handed_over(before)
        rows_of = partial(Collocation, bases=bases, handover=handover, oversampling=ROWS_BEYOND)
        rows = rows_of(problem)
        solve = partial(newton, rows, linear=problem.linear, report=monitor.step, stop=budget.over)
        result = (
            from_conditions(rows, rows_of, solve, span)
            if before is None
            else solve(_constant(before, bases, span[0]))
        )
        solved = rows.form(result.coefficients)
        tails = np.array(solved.tails())[None]
        # The equation contains ∂_t^q u, in which the highest coefficient of u counts T_n^(q)(1) times as much.
        tails[:, -1] *= max(_steepest(grid[-1], problem.time_order(name)) for name in problem.unknowns)
        if self.finer(problem, grid, tails[:, :-1]) == grid:
            tails[:, :-1] = 0.0
        return Slab(solved, tails, result, result.iterations * rows.rows * rows.unknowns**2)

    def finer(self, problem: Problem, grid: Grid, tails: np.ndarray) -> Grid:
        """More modes, and a lower degree in time if they would not fit; the same grid if nothing fits."""
        *space, degree = grid
        coarse = tails[0] > SPACE * self.tail
        more = [math.ceil(MORE_MODES * n) if rough else n for n, rough in zip(space, coarse, strict=True)]
        for lower in range(degree, min(degree, self.lowest) - 1, -1):
            if unknowns_of(axis_bases(problem, [*more, lower], "chebyshev", (0.0, 1.0))) <= self.unknowns:
                return [*more, lower]
        return grid

    def coarser(self, problem: Problem, grid: Grid, slab: Slab, t: float) -> Grid:
        """Fewer modes where the coefficients, decaying on as they do, would still be small enough."""
        *space, degree = grid
        fewer = [
            max(self.least, int(n / COARSER)) if self.spare(tail) else n
            for n, tail in zip(space, slab.tails[0], strict=False)
        ]
        return [*fewer, degree]

    def joined(self, form: Piecewise | None, slab: Slab, span: Span) -> Piecewise:
        return appended(form, slab.form, span)


def _steepest(n: int, q: int) -> float:
    """T_n^(q)(1) = Π_{k<q} (n² − k²)/(2k + 1), the largest value of a Chebyshev polynomial's derivative."""
    return math.prod((n**2 - k**2) / (2 * k + 1) for k in range(q))


def _constant(before: LinearForm, bases: Bases, t: float) -> np.ndarray:
    """The state at the slab's start, constant in time: the initial guess."""
    frozen = []
    for own, axes in zip(before.coefficients, before.bases, strict=True):
        state = np.tensordot(np.asarray(own), axes[-1](np.array([t]))[0], axes=1)
        tensor = np.zeros((*state.shape, axes[-1].size))
        tensor[..., 0] = state
        frozen.append(tensor)
    return widen(LinearForm(tuple(frozen), before.bases), bases)
