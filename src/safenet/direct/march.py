"""[t₀, t₀ + h], slab after slab: the decay of one slab's coefficients sets the length and the grid of the next.

How a slab is solved (on cells, on a grid or with a series) is up to the pass.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..measure.heldout import driven, held_out
from ..measure.relative import TINY
from ..measure.rows.newton import Newton
from ..problem import Problem
from ..problem.facts.narrow import narrow
from ..problem.facts.structure import breaks
from ..run.budget import Budget
from ..run.progress import Monitor
from ..trees import tree_leaves
from .ending import failure
from .state import Direct, Parts, levels
from .thresholds import (
    AIM,
    COARSER,
    FINEST,
    HEAD_START,
    HOPELESS,
    INSIDE,
    LONGER,
    MARCH_SHARE,
    QUARTER,
    QUIET,
    REACHES,
    SHORTER,
    SLAB_POINTS,
    SPACE,
    STUCK,
    STUCK_ABOVE,
)

Grid = list[Any]  # the discretisation of space, in a form that JSON can hold
Span = tuple[float, float]


@dataclass(frozen=True)
class Slab:
    """A solved slab: its form, the tails of its coefficients (parts × axes, time last), and the multiplications
    it took."""

    form: Any
    tails: np.ndarray
    newton: Newton
    work: float


@dataclass(frozen=True)
class Attempt:
    """A solved slab, and its tails relative to what is allowed: `rough` and `late` are at most 1 if it is resolved."""

    slab: Slab
    span: Span
    rough: float  # the tail in space
    late: float  # the tail in time; infinite where Newton failed
    ideal: float  # the length that would be short enough

    @property
    def length(self) -> float:
        return self.span[1] - self.span[0]


@dataclass(frozen=True)
class SlabMarch(ABC):
    """Slabs whose highest coefficients are below `tail` of the largest, on a grid that is refined where they are not.

    A march is given up if it would cost more than `work` multiplications, if many of the shortest slabs follow each
    other (a jump that does not smooth out) or, without `insist`, if no slab is short enough (a kink at the start).
    """

    name: ClassVar[str] = "marching"
    marches: ClassVar[bool] = True
    tail: float = 1e-6
    work: float = 1e12
    insist: bool = False
    time: int = 8
    slabs: int = 16
    shortest: float = 1e-5  # the shortest slab, relative to the whole time
    only_above: float = 0.0

    @abstractmethod
    def obstacle(self, problem: Problem) -> str | None:
        """Why a problem cannot be marched this way, or None if it can."""

    @abstractmethod
    def first(self, problem: Problem) -> Grid:
        """The grid of the first slab."""

    @abstractmethod
    def words(self, grid: Grid) -> str:
        """The grid in words, for progress lines."""

    @abstractmethod
    def slab(
        self, problem: Problem, monitor: Monitor, budget: Budget, grid: Grid, span: Span, form: Any
    ) -> Slab:
        """Solve the slab after `form`, the solution so far. Where the grid must not get finer, its tails are zero."""

    @abstractmethod
    def finer(self, problem: Problem, grid: Grid, tails: np.ndarray) -> Grid:
        """The grid, refined where it does not resolve the solution."""

    @abstractmethod
    def coarser(self, problem: Problem, grid: Grid, slab: Slab, t: float) -> Grid:
        """The grid, coarsened where the solution at t, the end of the slab, allows it."""

    @abstractmethod
    def joined(self, form: Any, slab: Slab, span: Span) -> Any:
        """`form`, continued by the slab."""

    @property
    def foreseen(self) -> tuple[float, float]:
        """(cost relative to other marches, residual): slabs with h^time ∝ tail, times the `fineness` of the grid."""
        return float(self.tail ** (-1 / self.time)) * self.fineness, self.tail

    @property
    def fineness(self) -> float:
        """How the grid grows with the digits: for a smooth solution, in proportion along each of two axes."""
        return math.log(self.tail) ** 2

    def spare(self, tail: float) -> bool:
        """Whether fewer coefficients along an axis suffice: those dropped would be small enough if they decay on."""
        return bool(tail ** (1 / COARSER) < AIM * SPACE * self.tail)

    def kinked(self, tried: Sequence[tuple[float, float]]) -> bool:
        """Whether the first slab is hopeless, given the lengths tried so far and their tails in time."""
        return False

    def stuck(self, problem: Problem, slab: Slab, span: Span, count: int) -> str:
        """The reason to give up after `count` of the shortest slabs in a row."""
        return (
            f"no progress after {count} of the shortest slabs in a row: at t = {span[0]:.4g} the solution changes too "
            "fast, or jumps; smooth the data, or add a little diffusion"
        )

    def within(self, work: float) -> SlabMarch:
        return replace(self, work=self.allowed(work))

    def allowed(self, work: float) -> float:
        """The multiplications it may spend of a budget; the first march is never given up for its cost."""
        return self.work if self.insist else MARCH_SHARE * work

    # ---- the loop

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        if state is None:
            axis = problem.axes[-1]
            cursor = {"t": axis.lo, "h": axis.length / self.slabs, "grid": self.first(problem)}
            state = Direct(cursor={**cursor, "worst": 0.0, "work": 0.0, "stuck": []})
        return levels(state, budget, partial(self._next, problem, monitor, budget))

    def _next(self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct) -> Direct:
        """The state after the next slab, which is repeated, shorter or on a finer grid, until it is resolved."""
        axis, cursor, parts = problem.axes[-1], state.cursor, Parts(budget)
        t, h, work, grid = float(cursor["t"]), float(cursor["h"]), float(cursor["work"]), cursor["grid"]
        iterations, evaluations = state.iterations, state.evaluations
        share, least = (t - axis.lo) / axis.length, self._least(problem)
        tried: list[tuple[float, float]] = []  # lengths tried for this slab, and their tails in time
        while not parts.over():
            span = self._span(problem, t, h)
            monitor.phase(self.name, f"t = {t:.4g} … {span[1]:.4g}, {self.words(grid)}", share)
            slab = _audible(problem, self.slab(problem, monitor, budget, grid, span, state.field))
            if slab.newton.stopped:
                break
            iterations += slab.newton.iterations
            evaluations += slab.newton.evaluations
            work += slab.work
            spent = replace(state, iterations=iterations, evaluations=evaluations)
            if work > self.work * (HEAD_START + share):
                return _given_up(spent, f"given up at t = {t:.4g}: to this accuracy it would cost too much")
            found = self._judged(slab, span)
            # A coarse grid also raises the tail in time, and a long slab that in space: treat the larger one first.
            if found.rough > max(found.late, 1.0):
                grid = self.finer(problem, grid, slab.tails[:, :-1])
                continue
            if found.late > 1 and found.length > least:
                tried = [*tried, (found.length, found.late)] if slab.newton.converged else []
                if t > axis.lo or self.insist or not self.kinked(tried):
                    h = self.shorter(found, tried, least)
                    continue
            return self._behind(problem, monitor, spent, found, grid, work)
        return replace(state, stopped=True)

    def _least(self, problem: Problem) -> float:
        """The length of the shortest slab: shorter if the data have narrow features."""
        return min(self.shortest * problem.axes[-1].length, narrow(problem).gap(-1) / FINEST)

    def _span(self, problem: Problem, t: float, h: float) -> Span:
        """From t to t + h, or to the end or to a break in time if that is about as far."""
        *_, seams = breaks(problem)
        stop = next((place for place in seams if place > t), problem.axes[-1].hi)
        return t, stop if t + REACHES * h >= stop else t + h

    def _judged(self, slab: Slab, span: Span) -> Attempt:
        h = span[1] - span[0]
        if not slab.newton.converged:
            return Attempt(slab, span, 0.0, math.inf, QUARTER * h)
        rough = float(slab.tails[:, :-1].max(initial=0.0)) / (SPACE * self.tail)
        late = float(slab.tails[:, -1].max()) / self.tail
        change = np.clip((AIM / max(late, TINY)) ** (1 / self.time), SHORTER, LONGER)
        return Attempt(slab, span, rough, late, h * float(change))

    def shorter(self, found: Attempt, tried: Sequence[tuple[float, float]], least: float) -> float:
        """The next length to try for a slab that does not resolve time."""
        return found.ideal

    def _behind(
        self, problem: Problem, monitor: Monitor, state: Direct, found: Attempt, grid: Grid, work: float
    ) -> Direct:
        """The state after a slab that is resolved or cannot be improved: joined to the others, or the march's end."""
        axis, slab, (t, end) = problem.axes[-1], found.slab, found.span
        converged = slab.newton.converged
        residual = held_out(problem, slab.form, SLAB_POINTS, found.span).worst if converged else math.inf
        # In the first slab, a jump in the data looks as bad as the end of a solution, but is none.
        hopeless = residual > HOPELESS and (t > axis.lo or not converged)
        if found.late > 1 and (hopeless or not self.insist):
            reason, over = failure(problem, state.field, t, "Newton's method fails even on the shortest slab")
            if not (over or hopeless):
                reason = f"given up at t = {t:.4g}: no slab is short enough for this accuracy"
            return self._ended(state, reason, over)
        least = self._least(problem)
        stuck = [*map(float, state.cursor["stuck"]), residual] if found.length <= (1 + INSIDE) * least else []
        if len(stuck) >= STUCK and max(stuck) > STUCK_ABOVE * self.tail:
            return self._ended(state, self.stuck(problem, slab, found.span, len(stuck)), True)
        form, worst = self.joined(state.field, slab, found.span), max(float(state.cursor["worst"]), residual)
        cursor = {
            "t": end,
            "h": max(found.ideal, least),
            "grid": self.coarser(problem, grid, slab, end),
            "worst": worst,
            "work": work,
            "stuck": stuck,
        }
        monitor.level(form.parameters, worst)
        done = end >= axis.hi
        reason = f"reached t = {axis.hi:g}" if done else ""
        return replace(state, field=form, residual=worst, cursor=cursor, done=done, reason=reason)

    def _ended(self, state: Direct, reason: str, over: bool) -> Direct:
        """Give up. A coarse march cannot tell blow-up or a jump from rapid change, so a finer pass is tried."""
        return _given_up(state, reason, final=over and not self.insist, suspect=over and self.insist)


def _audible(problem: Problem, slab: Slab) -> Slab:
    """The slab with tails relative to what a narrow source produces, if that is larger than u.

    Before a narrow pulse u = 0; its first tiny values need not be resolved.
    """
    if not narrow(problem).cuts[-1]:
        return slab
    arrays = [np.abs(np.asarray(leaf)).max(initial=0.0) for leaf in tree_leaves(slab.form)]
    size, least = max(arrays), QUIET * narrow(problem).gap(-1) * driven(problem)
    return replace(slab, tails=slab.tails * min(1.0, size / least)) if least > 0 else slab


def _given_up(state: Direct, reason: str, final: bool = False, suspect: bool = False) -> Direct:
    return replace(state, done=True, given_up=True, final=final, suspect=suspect, reason=reason)
