"""[t₀, t₀ + h], slab after slab: how the last one's amplitudes decay says how long the next is to be, and how fine.

What is done within a slab, on cells or on a tensor grid, is up to the phase.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..measure.heldout import held_out
from ..measure.rows.newton import Newton
from ..problem import Problem
from ..problem.facts.evolution import time_obstacle as time_obstacle
from ..problem.facts.structure import breaks
from ..run.progress import Monitor
from .direct import HOPELESS, Direct
from .ending import failure

AIM = 0.3  # at this share of the allowed tail: a slab that misses it is solved again
# What is not resolved in space is rough, and what is rough changes fast: unless it is well below what time must
# resolve, time would follow noise.
SPACE = 0.1
STUCK = 30  # of the shortest slabs in a row that leave a remainder: time does not get easier

Grid = list[Any]  # what space is divided into, as JSON can hold it
Span = tuple[float, float]


@dataclass(frozen=True)
class Slab:
    """What came of a slab: its form, the tails of its amplitudes (parts × axes, time last), and the multiplications."""

    form: Any
    tails: np.ndarray
    newton: Newton
    work: float


@dataclass(frozen=True)
class SlabMarching(ABC):
    """Slabs whose highest amplitudes are below `tail` of the largest, on a grid made finer where they are not.

    Given up early where it would cost more than `work` multiplications, where the shortest slabs come in a long row (a
    jump that does not smooth out) or, unless it is to `insist`, where no slab is short enough (a kink at the start).
    """

    tail: float = 1e-6
    work: float = 1e12
    insist: bool = False
    time: int = 8
    slabs: int = 16
    shortest: float = 1e-5  # slab, relative to the whole time
    only_above: float = 0.0
    name: str = "marching"

    @abstractmethod
    def first(self, problem: Problem) -> Grid:
        """The grid of the first slab."""

    @abstractmethod
    def words(self, grid: Grid) -> str:
        """The grid, for the line of progress."""

    @abstractmethod
    def slab(self, problem: Problem, monitor: Monitor, grid: Grid, span: Span, form: Any) -> Slab:
        """Solved behind `form`, all that there is so far. Where the grid is as fine as may be, its tails are zero."""

    @abstractmethod
    def finer(self, grid: Grid, tails: np.ndarray) -> Grid:
        """More of the grid where it does not resolve the solution."""

    @abstractmethod
    def coarser(self, problem: Problem, grid: Grid, slab: Slab, t: float) -> Grid:
        """Less of it where the end of a slab, t, does not need so much."""

    @abstractmethod
    def joined(self, form: Any, slab: Slab, span: Span) -> Any:
        """`form` and the slab behind it."""

    def kinked(self, tried: Sequence[tuple[float, float]]) -> bool:
        """Whether the first slab is hopeless after so many lengths and tails in time."""
        return False

    @abstractmethod
    def stuck(self, problem: Problem, slab: Slab, span: Span, count: int) -> str:
        """What `count` of the shortest slabs in a row say."""

    def run(self, problem: Problem, monitor: Monitor, state: Direct | None = None) -> Iterator[Direct]:
        axis = problem.axes[-1]
        if state is None:
            cursor = {"t": axis.lo, "h": axis.length / self.slabs, "grid": self.first(problem)}
            state = Direct(cursor={**cursor, "worst": 0.0, "work": 0.0, "stuck": []})
        t, h, worst, work = (float(state.cursor[name]) for name in ("t", "h", "worst", "work"))
        grid: Grid = state.cursor["grid"]
        stuck = [float(residual) for residual in state.cursor["stuck"]]
        form, iterations, evaluations = state.network, state.iterations, state.evaluations
        *_, seams = breaks(problem)
        tried: list[tuple[float, float]] = []  # lengths of this slab, and the tails in time
        while t < axis.hi:
            stop = next((place for place in seams if place > t), axis.hi)
            span = (t, stop if t + 1.01 * h >= stop else t + h)
            h = span[1] - t
            share = (t - axis.lo) / axis.length
            monitor.phase(self.name, f"t = {t:.4g} … {span[1]:.4g}, {self.words(grid)}", share)
            slab = self.slab(problem, monitor, grid, span, form)
            result, tails = slab.newton, slab.tails
            iterations, evaluations = iterations + result.iterations, evaluations + result.evaluations
            work += slab.work
            if work > self.work * (0.25 + share):
                reason = f"given up at t = {t:.4g}: to this accuracy it would cost too much"
                yield replace(state, done=True, given_up=True, reason=reason)
                return
            rough, late = tails[:, :-1].max(initial=0.0) / (SPACE * self.tail), tails[:, -1].max() / self.tail
            ideal = h * float(np.clip((AIM / max(late, 1e-300)) ** (1 / self.time), 0.2, 2))
            # Either fault shows as the other, too: the greater one is mended first.
            if result.converged and rough > max(late, 1.0):
                grid = self.finer(grid, tails[:, :-1])
                continue
            late = math.inf if not result.converged else late
            if late > 1 and h > self.shortest * axis.length:
                tried = [*tried, (h, late)] if result.converged else []
                if t > axis.lo or self.insist or not self.kinked(tried):
                    h = ideal if result.converged else h / 4
                    continue
            residual = held_out(problem, slab.form, 256, span).worst if result.converged else math.inf
            # In the first slab a jump in the data looks as bad as the end of a solution; it is not.
            hopeless = residual > HOPELESS and (t > axis.lo or not result.converged)
            if late > 1 and (hopeless or not self.insist):
                reason, over = failure(problem, form, t)
                if not (over or hopeless):
                    reason = f"given up at t = {t:.4g}: no slab is short enough for this accuracy"
                # What a rough march takes for the end may be a fast stretch.
                final, suspect = over and not self.insist, over and self.insist
                yield replace(state, done=True, given_up=True, final=final, suspect=suspect, reason=reason)
                return
            worst = max(worst, residual)
            stuck = [*stuck, residual] if h <= (1 + 1e-9) * self.shortest * axis.length else []
            if len(stuck) >= STUCK and max(stuck) > 10 * self.tail:
                reason = self.stuck(problem, slab, span, len(stuck))
                # What a rough march takes for a jump may be a thin layer.
                final = not self.insist
                yield replace(state, done=True, given_up=True, final=final, suspect=not final, reason=reason)
                return
            tried = []
            form = self.joined(form, slab, span)
            t, h = span[1], max(ideal, self.shortest * axis.length)
            grid = self.coarser(problem, grid, slab, t)
            state = Direct(
                network=form,
                residual=worst,
                iterations=iterations,
                evaluations=evaluations,
                cursor={"t": t, "h": h, "grid": grid, "worst": worst, "work": work, "stuck": stuck},
                done=t >= axis.hi,
                reason=f"reached t = {axis.hi:g}" if t >= axis.hi else "",
            )
            monitor.level(form.parameters, worst)
            yield state
