"""Smooth solutions on boxes that are periodic, or continued by parity: Fourier grids and exponential steps.

A first run finds the modes, from the tail of the spectrum, and the step sizes, from the error of each step. A second
one has more modes and steps shorter by a factor r ≤ 2. Its error is the difference of the two divided by r⁵ − 1, as the
steps are of order 5. The sum of the first run's step errors tells how large r must be: near 1, if stability and not
accuracy limited the steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...errors import SafeNetError
from ...measure.relative import TINY
from ...problem import Problem
from ...problem.facts.agreement import clashes
from ...problem.facts.fact import fact
from ...problem.facts.semilinear import semilinear
from ...problem.facts.structure import axis_kinds, breaks
from ...run.budget import Budget
from ...run.progress import Monitor
from ..bases import first_modes
from ..ending import failure
from ..one_pass import OnePass
from ..state import Direct
from ..thresholds import (
    ASKED_FOR,
    EARLY_COST,
    FIRST_LEVEL_OF_STEPS,
    FOURIER_BEGINNING,
    FOURIER_GAPS,
    FOURIER_LOOK,
    FOURIER_LOOSE,
    FOURIER_MORE,
    FOURIER_PATIENCE,
    FOURIER_RATIOS,
    FOURIER_SAFER,
    FOURIER_SPLITS,
    FOURIER_TAIL,
    FOURIER_WIDER,
    LAST_LEVEL_OF_STEPS,
    MORE_DIGITS,
    OVERHEAD,
    ROUGH_FIRST,
    WIDEST,
)
from .adams import VALUES, Adams
from .between import Between
from .exponential import Evolution, beginning, check_pins, missed
from .recorder import Recorder
from .settling import first_level
from .trail import Trail
from .waves import Waves, squares

ORDER = 5  # of the global error, at least: the corrector's is 6


@dataclass(frozen=True)
class Fourier(OnePass):
    """Exponential time steps on a Fourier grid of at most `points`.

    Steps are shortened until the estimated error of every unknown is below `tolerance`. Gives up if it would cost more
    than `work` (points of the grid times evaluations), or if the spectrum does not decay.

    Examples:
        >>> solver = sn.Fourier()
        >>> print(solver.obstacle(decay) is None)
        False
    """

    name: ClassVar[str] = "fourier"
    tolerance: float = 1e-8
    points: int = 2**21
    work: float = 8e9
    rough: bool = True  # in the plane and in space, find a rough solution first
    only_above: float = 0.0

    def obstacle(self, problem: Problem) -> str | None:
        """Why a problem has no smooth Fourier series as its solution, or None if it may have one."""
        try:
            semilinear(problem)
            check_pins(problem)
        except SafeNetError as refusal:
            return refusal.message
        kinds = axis_kinds(problem).values()
        if len(problem.axes) < 2 or any("general" in own[:-1] for own in kinds):
            return "it is not periodic, odd or even along each axis of space"
        if any(breaks(problem)) or clashes(problem):
            return "its formulas or its initial values are not smooth"
        if first_waves(problem, self.tolerance, self.points) is None:
            return "its initial values are not smooth, or too fine for a grid"
        return None

    def aimed(self, tol: float) -> Fourier:
        return replace(self, tolerance=tol, work=ASKED_FOR * self.work, rough=False)

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        """A state for each run; a resumed solve starts again. In the plane and in space, a rough solution is first."""
        best: Direct | None = None
        rough = self.rough and len(problem.axes) > 2 and self.tolerance < ROUGH_FIRST
        tolerances = (ROUGH_FIRST, self.tolerance) if rough else (self.tolerance,)
        spent = 0.0
        for tolerance in tolerances:
            work = self.work if best is None else MORE_DIGITS * self.work
            if best is not None and spent * _times_dearer(problem, tolerance / tolerances[0]) > work:
                yield replace(best, reason=f"{best.reason}; more digits would cost too much")
                return
            march = _March(replace(self, tolerance=tolerance, work=work), problem, monitor, budget)
            for one in self._level(march, best or Direct()):
                if one.given_up and best is not None:
                    reason = f"{best.reason}; the more accurate run: {one.reason}"
                    kept = replace(one, field=best.field, residual=best.residual, given_up=False)
                    yield replace(kept, final=True, reason=reason)
                    return
                if one.done and not one.given_up and tolerance != tolerances[-1]:
                    best, spent = one, march.cost
                    one = replace(one, done=False, final=False)
                elif one.stopped and best is not None:  # worth more than a part of the finer one
                    one = replace(best, done=False, final=False, stopped=True)
                yield one

    def _level(self, march: _March, before: Direct) -> Iterator[Direct]:
        """Runs with shorter steps until the difference between two is small enough; it counts on from `before`."""

        def counted(kept: Direct, run: Trail) -> Direct:
            evaluations = before.evaluations + march.evaluations
            return replace(kept, iterations=kept.iterations + len(run.steps), evaluations=evaluations)

        try:
            trail = march.explore()
        except KeyboardInterrupt:  # keep what has been computed
            if (form := march.recorded()) is not None:
                yield Direct(form)
            raise
        kept = counted(Direct(iterations=before.iterations), trail)
        if trail.ended:
            yield march.end(trail, kept)
            return
        kept = replace(kept, field=trail.form)
        yield kept
        ratio = _shorter(trail.local / march.solver.tolerance)
        for split in range(1, FOURIER_SPLITS + 1):
            finer = march.repeat(trail, ratio)
            kept = counted(kept, finer)
            if finer.ended:
                yield march.end(finer, kept)
                return
            gain = ratio**ORDER - 1
            error = np.hypot(finer.differences(trail) / gain, np.maximum(finer.represented, finer.tail))
            ratio = _shorter(float(error.max()) / march.solver.tolerance)
            dear = ratio * march.last > MORE_DIGITS * march.solver.work
            done = float(error.max()) < march.solver.tolerance or split == FOURIER_SPLITS or dear
            trail = finer
            reason = _reached(march, len(trail.steps), float(error.max()))
            found, worst = replace(trail.form, error=error), float(error[-1])
            kept = replace(kept, field=found, residual=worst, done=done, final=done, reason=reason)
            march.monitor.level(found.parameters, worst)
            yield kept
            if done:
                return


def _times_dearer(problem: Problem, ratio: float) -> float:
    """The relative cost of a tolerance `ratio` times as large: steps of order 5, an exponentially falling spectrum."""
    finer = 1 + math.log(ratio) / math.log(FOURIER_TAIL * ROUGH_FIRST)
    return float(ratio ** (-1 / 5) * finer ** (len(problem.axes) - 1))


@fact
def first_waves(problem: Problem, tolerance: float, most: int) -> Waves | None:
    """The fewest modes that resolve the initial values; None if no grid of at most `most` points does."""
    kinds = tuple(tuple(axis_kinds(problem)[name][:-1]) for name in problem.unknowns)
    modes = [max(8, m) for m in first_modes(problem, 8)[:-1]]
    while True:
        waves = Waves(problem.axes[:-1], kinds, tuple(modes))
        if waves.points > most or max(waves.shape) > WIDEST:
            return None
        values = beginning(problem, waves)
        if not np.isfinite(values).all():
            return None
        start = waves.forward(values)
        rough = (waves.tails(start) > FOURIER_TAIL * tolerance) | (missed(problem, waves, start) > tolerance)
        if not rough.any():
            return waves
        modes = [math.ceil(FOURIER_MORE * m) if more else m for m, more in zip(modes, rough, strict=True)]


class _March:
    """The runs of one problem, and what they have cost on all grids."""

    def __init__(self, solver: Fourier, problem: Problem, monitor: Monitor, budget: Budget) -> None:
        self.solver, self.problem, self.monitor, self.budget = solver, problem, monitor, budget
        self.axis = problem.axes[-1]
        self.evolution: Evolution | None = None  # on the current grid
        self._left = 0, 0.0  # evaluations and cost on the grids before it
        self.last = 0.0  # the cost of the last run
        self.recorder = Recorder(solver.tolerance)

    @property
    def evaluations(self) -> int:
        return self._left[0] + (self.evolution.evaluations if self.evolution else 0)

    @property
    def cost(self) -> float:
        """Evaluations times points of the grid, plus an overhead for each evaluation."""
        own = self.evolution
        return self._left[1] + (own.evaluations * (own.waves.points + OVERHEAD) if own else 0.0)

    def _on(self, waves: Waves) -> Evolution:
        """The problem on another grid."""
        self._left, self.evolution = (self.evaluations, self.cost), Evolution(self.problem, waves)
        return self.evolution

    def explore(self) -> Trail:
        """The first run, restarted if its beginning needs more modes than the initial values.

        What the first steps lose stays lost, and the difference of two runs would not show the error of the steps.
        """
        waves = first_waves(self.problem, self.solver.tolerance, self.solver.points)
        assert waves is not None
        while not isinstance(found := self._explored(waves), Trail):
            waves, self.recorder = found, Recorder(self.solver.tolerance)
        return found

    def _explored(self, waves: Waves) -> Trail | Waves:
        """Steps T/2^j, longer or shorter as their errors require, and more modes where the tail is large; if that is
        at the beginning, only the wider grid is returned."""
        evolution = self._on(waves)
        adams, allowed = Adams(evolution), FOURIER_LOOSE * self.solver.tolerance
        y, unit, place = evolution.start(), 2**LAST_LEVEL_OF_STEPS, 0
        trail, recorder = Trail([], waves, t=self.axis.lo), self.recorder
        recorder.add(self.axis.lo, evolution.unknowns(self.axis.lo, y), waves)
        level = first_level(evolution, y, self.axis, self.solver.tolerance)
        sizes = np.zeros(len(y))
        calm, patience = 0, VALUES  # steps since the last change, and how many before a longer one is tried
        while place < unit:
            t = self.axis.lo + self.axis.length * place / unit
            h = self.axis.length / 2**level
            if len(trail.steps) % FOURIER_LOOK == 0:
                rho = evolution.slopes(t, y)
                while not adams.bears(h, rho) and level < LAST_LEVEL_OF_STEPS:
                    level, h, calm = level + 1, h / 2, 0
            self._show(t, waves)
            with np.errstate(all="ignore"):
                after, difference = adams.step(t, y, h)
            error, sizes = _error(y, after, difference, sizes)
            if not error < allowed:
                level += _levels(error / allowed)
                calm, patience = 0, min(2 * patience, FOURIER_PATIENCE)
                if level > LAST_LEVEL_OF_STEPS:
                    return self._ended(trail, recorder, "failed", t)
                continue
            tails = waves.tails(after)
            if len(trail.steps) in FOURIER_GAPS and 2 ** len(waves.axes) * waves.points <= self.solver.points:
                tails = np.maximum(tails, FOURIER_TAIL * evolution.dropped(t, y, h))
            if (tails > FOURIER_TAIL * self.solver.tolerance).any():
                wider = self._wider(waves, tails)
                if wider.points > self.solver.points or max(wider.shape) > WIDEST:
                    return self._ended(trail, recorder, "modes", t)
                if place < FOURIER_BEGINNING * unit:
                    return wider
                y, waves = waves.onto(wider, y), wider
                evolution = self._on(waves)
                adams, rho = adams.moved(evolution), evolution.slopes(t, y)
                continue
            y, place, calm = after, place + unit // 2**level, calm + 1
            trail.steps.append((t, h))
            trail.grids.append(waves)
            trail.local += error
            state = evolution.unknowns(t + h, y)
            recorder.add(t + h, state, waves)
            trail.keep(state)
            if stop := self._over((t + h - self.axis.lo) / self.axis.length):
                return self._ended(trail, recorder, stop, t + h)
            longer = level > FIRST_LEVEL_OF_STEPS and place % (unit // 2 ** (level - 1)) == 0
            if longer and calm >= patience and FOURIER_SAFER * error < allowed and adams.bears(2 * h, rho):
                level, calm = level - 1, 0
        trail.waves, trail.snapshots[len(trail.steps)] = waves, (waves, evolution.unknowns(self.axis.hi, y))
        trail.form = recorder.form(self.axis.hi)
        return trail

    def recorded(self) -> Any:
        """The first run as far as it got."""
        recorder = self.recorder
        recorder.times = recorder.times[: len(recorder.states)]
        return recorder.form()

    def _wider(self, waves: Waves, tails: np.ndarray) -> Waves:
        rough = tails > FOURIER_TAIL * self.solver.tolerance
        modes = (
            math.ceil(FOURIER_WIDER * m) if more else m for m, more in zip(waves.modes, rough, strict=True)
        )
        return replace(waves, modes=tuple(modes))

    def repeat(self, rough: Trail, ratio: float) -> Trail:
        """Another run with its steps shortened by this ratio, and with more modes at every time.

        Each step uses the method that it had in the other run: only then does their difference show how errors fall.
        """
        # For a spectrum that falls like e^{−ck}: enough modes for the tail to fall by ratio^5, too.
        more = 1 + ORDER * math.log(ratio) / -math.log(FOURIER_TAIL * self.solver.tolerance)
        grids = [replace(one, modes=tuple(math.ceil(more * m) for m in one.modes)) for one in rough.grids]
        waves, before = grids[0], self.cost
        evolution = self._on(waves)
        y, adams = evolution.start(), Adams(evolution)
        trail = Trail([], waves, t=self.axis.lo, single=rough.starting)
        recorder = Recorder(0.1 * self.solver.tolerance)
        recorder.add(self.axis.lo, evolution.unknowns(self.axis.lo, y), waves)
        between = Between(recorder)
        for number, steps in rough.refined(ratio):
            if (wider := grids[number - 1]).modes != waves.modes:
                between.flush(adams)
                y, waves, evolution = waves.onto(wider, y), wider, self._on(wider)
                adams = adams.moved(evolution)
            self._show(steps[0][0], waves)
            for t, h in steps:
                with np.errstate(all="ignore"):
                    after, _ = adams.step(t, y, h, single=t < trail.starting)
                    state = evolution.unknowns(t + h, after)
                    between.add(adams, t, h, y, state)
                y = after
            trail.steps += steps
            trail.grids += [waves] * len(steps)
            if number in rough.snapshots:
                trail.snapshots[len(trail.steps)] = waves, state
            if not np.isfinite(y).all():
                return self._ended(trail, recorder, "failed", t)
            if self.budget.over():
                return self._ended(trail, recorder, "stopped", t + h)
        between.flush(adams)
        trail.waves, self.last = waves, self.cost - before
        trail.form, trail.represented = recorder.form(self.axis.hi), recorder.represented
        tails = [float(waves.tails(state[f : f + 1]).max()) for f in range(len(state))]
        trail.tail = np.array([*tails, max(tails)])
        return trail

    def _show(self, t: float, waves: Waves) -> None:
        share = (t - self.axis.lo) / self.axis.length
        self.monitor.phase(self.solver.name, f"t = {t:.4g}, {' × '.join(map(str, waves.modes))} modes", share)

    def _over(self, share: float) -> str:
        if self.budget.over():
            return "stopped"
        return "cost" if self.cost > self.solver.work * (share + EARLY_COST) else ""

    def _ended(self, trail: Trail, recorder: Recorder, why: str, t: float) -> Trail:
        trail.form = recorder.form()
        trail.ended, trail.t = why, t
        return trail

    def end(self, trail: Trail, kept: Direct) -> Direct:
        """The state after a run that did not reach the end."""
        if trail.ended == "stopped":
            return replace(kept, field=kept.field or trail.form, stopped=True)
        reasons = {
            "cost": f"given up at t = {trail.t:.4g}: it would cost too much",
            "modes": f"given up at t = {trail.t:.4g}: too steep, it would need more Fourier modes than allowed",
        }
        reason = reasons.get(trail.ended) or failure(self.problem, trail.form, trail.t)[0]
        return replace(kept, field=None, residual=math.inf, done=True, given_up=True, reason=reason)


def _reached(march: _March, steps: int, error: float) -> str:
    text, tolerance = f"reached t = {march.axis.hi:g} in {steps} steps", march.solver.tolerance
    above = f"{text}; the estimated error is above the tolerance of {tolerance:.0e}"
    return text if error <= tolerance else above


def _shorter(times: float) -> float:
    """The ratio by which to shorten steps if the error is so many times the tolerance."""
    wanted = 1.1 * max(times, 1.0) ** (1 / ORDER) if np.isfinite(times) else FOURIER_RATIOS[1]
    return min(max(wanted, FOURIER_RATIOS[0]), FOURIER_RATIOS[1])


def _levels(times: float) -> int:
    """How often to halve a step whose error is so many times the allowed one."""
    return max(1, math.ceil(math.log2(times) / 6)) if np.isfinite(times) else 2


def _error(
    y: np.ndarray, after: np.ndarray, difference: np.ndarray, sizes: np.ndarray
) -> tuple[float, np.ndarray]:
    """The largest relative error of a step over the parts of y, and their sizes (of zero parts: after the step)."""
    space = tuple(range(1, y.ndim))
    own, next_, apart = (np.sqrt(np.sum(squares(one), axis=space)) for one in (y, after, difference))
    sizes = np.maximum(np.where(own > 0, own, next_), 0.99 * sizes)
    return float(np.max(apart / np.maximum(sizes, 1e-3 * max(float(sizes.max()), TINY)))), sizes
