"""min over z of Σ (model(z) − value)²/σ²: Gauss–Newton with Levenberg's damping, a direct solve for each z.

At the start, the solver in the plan that does best is chosen. The sensitivities ∂model/∂z are differences of its first,
roughest pass; at the end all of its passes run, and the same sensitivities correct what the rough pass missed. z are
the numbers, transformed to have no bounds and no units (`problem.numbers`).
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from ..direct import passes
from ..direct.plan import DirectPlan
from ..errors import SafeNetError
from ..fields.unknown import Unknown
from ..measure.misfit import misfit, noise_known, scales, sigmas, unfitted
from ..measure.relative import TINY
from ..measure.thresholds import FAR, UNLIKELY
from ..problem import Problem
from ..problem.numbers import Curve
from ..run.budget import Budget
from ..run.found import Found
from ..run.progress import Monitor
from ..run.result import SOLVED_BELOW, Carried, Ending, PhaseRecord
from .plan import beside_start
from .statistics import found_numbers
from .thresholds import (
    ALIKE,
    BEGINNINGS,
    BELOW_NOISE,
    CONVERGED,
    DAMPING,
    DIFFERENCE,
    ELSEWHERE,
    EXACT,
    FAR_OFF,
    FEW,
    FOLLOWED,
    FOLLOWED_STEPS,
    LARGEST_STEP,
    MOST_STEPS,
    MOST_TRIALS,
    MOST_WEIGHTS,
    NEARER,
    SCATTER,
)

Vector = np.ndarray


class StoppedError(Exception):
    """The budget is spent, or the user has interrupted."""

    def __init__(self, interrupted: bool) -> None:
        super().__init__()
        self.interrupted = interrupted


@dataclass(frozen=True)
class Modelled:
    """A forward solve at z: its field, and model − value for each kind of data."""

    z: Vector
    carried: Carried
    gaps: list[Vector]


def carry_out(problem: Problem, inner: DirectPlan, monitor: Monitor, budget: Budget) -> Carried:
    """The best numbers and functions, and the field that belongs to them."""
    if problem.curves:
        from .smooth import SmoothFitting

        return SmoothFitting(problem, inner, monitor, budget).carry_out()
    return Fitting(problem, inner, monitor, budget).carry_out()


class Fitting:
    """One fit: its best model, its sensitivities, and how many forward solves it took."""

    def __init__(self, problem: Problem, inner: DirectPlan, monitor: Monitor, budget: Budget) -> None:
        self.problem, self.inner, self.monitor, self.budget = problem, inner, monitor, budget
        self.names = tuple(problem.unknown)
        sizes = [math.prod(getattr(number, "shape", ())) for number in problem.unknown.values()]
        ends = np.cumsum([0, *sizes]).tolist()
        self.places = {
            name: slice(*span) for name, span in zip(self.names, itertools.pairwise(ends), strict=True)
        }
        self.count = int(ends[-1])
        self.sigma = sigmas(problem)
        self.record = PhaseRecord("Gauss–Newton")
        self.rough = len(inner.passes) > 1
        self.best: Modelled | None = None
        self.first: Modelled | None = None  # at the start
        self.J = np.empty((0, self.count))
        self.searched = False  # the numbers are found, if not to the last digit

    # ---- the model

    def values(self, z: Vector) -> dict[str, Any]:
        """The value of every number, the coefficients of every function."""
        found: dict[str, Any] = {}
        for name, place in self.places.items():
            number = self.problem.unknown[name]
            value = number.at(z[place], np)
            found[name] = value.reshape(number.shape) if isinstance(number, Curve) else float(value[0])
        return found

    def solve(self, z: Vector, rough: bool) -> Modelled | None:
        """Solve the forward problem at z; None if it has no solution there, or no finite values."""
        self.record.evaluations += 1
        plan = replace(self.inner, passes=self.inner.passes[:1]) if rough else self.inner
        try:
            problem = self.problem.forward(self.values(z))
            carried = passes.carry_out(problem, plan, self.monitor, None, self.budget)
        except SafeNetError:
            if self.best is None:
                raise
            return None
        if carried.interrupted or carried.stopped:
            raise StoppedError(carried.interrupted)
        if not carried.residual < SOLVED_BELOW:
            return None
        gaps = misfit(self.problem.found(self.values(z)), carried.field)
        return Modelled(z, carried, gaps) if all(np.isfinite(gap).all() for gap in gaps) else None

    @property
    def weights(self) -> Vector:
        """1/σ of every value."""
        parts = zip(self.problem.measured, self.sigma, strict=True)
        return np.concatenate([np.broadcast_to(1 / sigma, m.values.shape) for m, sigma in parts])

    def residuals(self, model: Modelled) -> Vector:
        return np.asarray(self.weights * np.concatenate(model.gaps))

    def sensitivities(self, model: Modelled) -> None:
        """J = ∂model/∂z, column by column."""
        self.J = np.stack([self.sensitivity(model, name) for name in self.names], axis=1)

    def sensitivity(self, model: Modelled, name: str) -> Vector:
        """∂model/∂z for one number, by a difference to either side."""
        self.monitor.phase("Gauss–Newton", f"sensitivity to {name}")
        direction = np.eye(self.count)[self.places[name].start]
        for h in (DIFFERENCE, -DIFFERENCE):
            beside = self.solve(model.z + h * direction, self.rough)
            if beside is not None:
                return np.asarray((np.concatenate(beside.gaps) - np.concatenate(model.gaps)) / h)
        raise SafeNetError(
            f"{self.problem.name}: the direct solver fails near {name} = {self.values(model.z)[name]:g}, so the "
            f"sensitivity to {name} is unknown",
            "try another start",
        )

    # ---- the loop

    def carry_out(self) -> Carried:
        began = time.monotonic()
        complete = interrupted = False
        try:
            self._fit()
            complete = True
        except StoppedError as early:
            interrupted = early.interrupted
        except KeyboardInterrupt:
            interrupted = True
        self.record.seconds = time.monotonic() - began
        stopped = not (complete or interrupted)
        if self.best is None:
            field: Any = Unknown(len(self.problem.unknowns))
            return Carried(field, math.inf, [self.record], interrupted, stopped)
        field, residual = self.best.carried.field, self.best.carried.residual
        self.record.residual = residual
        return Carried(
            field,
            residual,
            records=[self.record, *(replace(r, phase=1) for r in self.best.carried.records)],
            interrupted=interrupted,
            stopped=stopped,
            winner=0,
            found=self._found() if complete or self.searched else Found(self.values(self.best.z)),
        )

    def _fit(self) -> None:
        start = self._begun()
        if start is None:
            listing = ", ".join(f"{name} = {number.start}" for name, number in self.problem.unknown.items())
            self.record.outcome = Ending.GIVEN_UP
            self.record.stop_reason = (
                f"The direct solver fails at the start, {listing}; choose another start."
            )
            return
        self.best = self.first = start
        if self.names:
            self._search()
        self.searched = True
        self._refine()
        self.record.stop_reason = (
            self.record.stop_reason or "The equations are solved; no number was to be found."
        )

    def _begun(self) -> Modelled | None:
        """The model near the start, by the solver that does best there; only its passes are kept."""
        z, plan, best = beside_start(self.count), self.inner, None
        kept, rough = plan, self.rough
        for kind in [tuple(group) for _, group in itertools.groupby(plan.passes, type)]:
            if best is not None and best.carried.residual <= kind[0].only_above:
                break
            self.inner = replace(plan, passes=kind)
            for first in (True, False) if len(kind) > 1 else (False,):
                model = self.solve(z, first)
                if model is not None and (best is None or model.carried.residual < best.carried.residual):
                    best, kept, rough = model, self.inner, first
                    break
        self.inner, self.rough = kept, rough
        return best

    def _search(self) -> None:
        self._lead_in()
        self._minimise()
        if self._unexplained():
            self._begin_elsewhere()
            self._minimise()

    def _minimise(self) -> None:
        """Descend to a minimum, with the noise estimated from the residuals."""
        self._descend(self.rough)
        for _ in range(MOST_WEIGHTS):
            if not self._reweighted():
                break
            self._descend(self.rough)

    def _unexplained(self) -> bool:
        """Whether the remaining misfit is more than noise: then there may be a lower minimum."""
        assert self.best is not None
        carried = self.best.carried
        return unfitted(self.problem.found(self.values(self.best.z)), carried.field, carried.residual)

    def _begin_elsewhere(self) -> None:
        """Continue from the best of several starts scattered around the first one, if any of them leads lower."""
        assert self.best is not None
        best, scattered = self.best, np.random.default_rng(0)
        count = len(self.names)
        starts = SCATTER * (
            np.linspace(-1, 1, ELSEWHERE)[:, None]
            if count == 1
            else scattered.uniform(-1, 1, (ELSEWHERE * count, count))
        )
        try:
            models = [model for z in starts if (model := self.solve(z, self.rough)) is not None]
            for model in sorted(models, key=self._misfit)[:FOLLOWED]:
                self.best = model
                self._descend(self.rough, most=FOLLOWED_STEPS)
                best = min(best, self.best, key=self._misfit)
        finally:
            self.best = best

    def _misfit(self, model: Modelled) -> float:
        return float(np.linalg.norm(self.residuals(model)))

    def _refine(self) -> None:
        """Run all passes at the end; the same sensitivities correct what the rough pass missed."""
        assert self.best is not None
        if not self.rough:
            return
        fine = self.solve(self.best.z, False)
        self.best = fine or self.best
        if self.names:
            self._descend(False, sensitive=False)

    def _lead_in(self) -> None:
        """Fit longer and longer beginnings of time first: far from the solution, later times lead to other minima."""
        assert self.best is not None
        problem = self.problem
        if problem.time is None or self._distance() < FAR_OFF:
            return
        z = self.best.z
        for share in BEGINNINGS:
            try:
                early = Fitting(problem.until(share), self.inner, self.monitor, self.budget)
                if sum(len(m.values) for m in early.problem.measured) <= 2 * len(self.names):
                    continue
                early.best = early.solve(z, True)
                if early.best is None:
                    continue
                early._descend(True, enough=NEARER)
            except SafeNetError:  # a condition later in time, or values without a solution
                return
            self.record.evaluations += early.record.evaluations
            z = early.best.z
        model = self.solve(z, self.rough) or self.best
        self.best = min(model, self.best, key=self._misfit)

    def _distance(self) -> float:
        """‖model − value‖/‖value‖, the largest over all kinds of data."""
        assert self.best is not None
        parts = zip(self.best.gaps, scales(self.problem), strict=True)
        return max(float(np.sqrt(np.mean(gap**2))) / size for gap, size in parts)

    def _descend(
        self, rough: bool, sensitive: bool = True, enough: float = CONVERGED, most: int = MOST_STEPS
    ) -> None:
        """Step until a step is not longer than `enough`, or gains nothing; without `sensitive`, J is not updated."""
        damping = DAMPING if sensitive else 0.0
        for _ in range(most):
            assert self.best is not None
            if sensitive:
                self.sensitivities(self.best)
            r = self.residuals(self.best)
            self.monitor.phase("Gauss–Newton", f"misfit {np.sqrt(np.mean(r**2)):.3e} at {self._told()}")
            self.record.iterations += 1
            taken, damping, over = self._step(r, damping, rough, enough)
            if over or not taken:
                why = "a further step changes nothing" if over else "no step lowers the misfit any further"
                self.record.stop_reason = f"The misfit is minimal: {why}."
                return
        self.record.stop_reason = f"Stopped after {most} steps while the misfit was still falling."
        self.record.outcome = Ending.STALLED

    def _told(self) -> str:
        assert self.best is not None
        return ", ".join(f"{name} = {value:.6g}" for name, value in self.values(self.best.z).items())

    def _step(self, r: Vector, damping: float, rough: bool, enough: float) -> tuple[bool, float, bool]:
        """(whether a step was taken, the next damping, whether it changed nothing)."""
        assert self.best is not None
        J = self.weights[:, None] * self.J
        A, g = J.T @ J, J.T @ r
        floor = 1e-12 * max(float(np.trace(A)), TINY)
        noise = math.sqrt(float(r @ r) / max(len(r) - len(self.names), 1))
        for _ in range(MOST_TRIALS):
            delta = -np.linalg.lstsq(A + np.diag(damping * np.diag(A) + floor), g, rcond=None)[0]
            delta *= min(1.0, LARGEST_STEP / max(float(np.abs(delta).max()), TINY))
            moved = float(np.linalg.norm(J @ delta))
            small = float(np.abs(delta).max()) <= enough or moved <= BELOW_NOISE * noise
            trial = self.solve(self.best.z + delta, rough)
            if trial is not None:
                new = self.residuals(trial)
                if float(new @ new) < float(r @ r):
                    self.best = trial
                    return True, damping / 10, small
            if small:
                return False, damping, True
            damping = max(10 * damping, DAMPING)
        return False, damping, False

    def _reweighted(self) -> bool:
        """Estimate σ of each kind of data with unknown noise from its residuals; whether that changed the weights."""
        assert self.best is not None
        open_ones = [i for i, m in enumerate(self.problem.measured) if m.sigma is None]
        sizes = scales(self.problem)
        gaps = {i: self.best.gaps[i] / sizes[i] for i in open_ones}
        # A few values can be met exactly, which says nothing about their noise: take that of all values.
        whole = np.concatenate([*gaps.values(), np.empty(0)])
        noise = {
            i: sizes[i] * max(float(np.sqrt(np.mean((whole if len(gap) < FEW else gap) ** 2))), EXACT)
            for i, gap in gaps.items()
        }
        ratios = [noise[i] / self.sigma[i] for i in open_ones]
        for i in open_ones:
            self.sigma[i] = noise[i]
        several = len(self.problem.measured) > 1 and bool(ratios)
        return several and (len(ratios) < len(self.sigma) or max(ratios) > ALIKE * min(ratios))

    def _found(self) -> Found:
        assert self.best is not None
        if not len(self.J):
            return Found({})
        weights, r = self.weights, self.residuals(self.best)
        model = np.concatenate([m.values for m in self.problem.measured]) + np.concatenate(self.best.gaps)
        size = float(np.linalg.norm(weights * model))
        found = found_numbers(
            self.problem, self.best.z, weights[:, None] * self.J, r, size, noise_known(self.problem)
        )
        if not self._indifferent(r, weights[:, None] * self.J):
            return found
        said = (
            "the initial guess fits almost as well as the result, so the data barely determine the unknowns"
        )
        return replace(found, warnings=(*found.warnings, said), free=True)

    def _indifferent(self, r: Vector, J: Vector) -> bool:
        """Whether the start is many standard errors away, but chance alone would explain its larger misfit."""
        if self.first is None or self.best is None:
            return False
        noise = max(float(r @ r) / max(len(r) - self.count, 1), TINY)
        first = self.residuals(self.first)
        gained = (float(first @ first) - float(r @ r)) / noise
        away = float(np.sum((J @ (self.best.z - self.first.z)) ** 2)) / noise
        return bool(gained < scipy.stats.chi2.isf(UNLIKELY, self.count) < away / FAR)
