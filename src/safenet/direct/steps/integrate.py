"""y′ = f(t, y): a system without space, by SciPy's integrators, run repeatedly with tighter tolerances.

DOP853 is used as long as accuracy limits its steps, LSODA if stability would: then h·|Re λ| of the symbolic Jacobian
stays near DOP853's limit. The difference of two runs is the error of the looser one. How fast it falls from run to run
gives the error of the tightest run, whose steps are kept as polynomials. LSODA's errors follow from its defects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy

from ...errors import SafeNetError
from ...fields.basis import AxisBasis
from ...fields.pieces import TimePieces, hermite
from ...measure.compiled import compiled
from ...measure.heldout import interior_points
from ...measure.relative import TINY
from ...problem import Problem
from ...problem.facts.first_order import FirstOrder, first_order, singular_start
from ...problem.facts.narrow import narrow
from ...problem.facts.structure import breaks
from ...run.budget import Budget
from ...run.progress import Monitor
from ..ending import failure
from ..one_pass import OnePass
from ..state import Direct
from ..thresholds import (
    ATOL_QUANTILE,
    ATOL_SHARE,
    BLURRED,
    FEELING,
    FIRST_ATOL,
    HALVINGS,
    LEAST_STEPS,
    LOOSE_TO_TIGHT,
    MISSED,
    MISSED_MORE,
    NO_DIGIT,
    SHORTER_STEPS,
    STIFF_AHEAD,
    STIFF_CHECK,
    STIFF_LIMIT,
    STIFF_TIMES,
    TIGHTEST,
)
from .nodes import derivatives_at_nodes
from .richardson import EPS, Tightening
from .stiff import Defects, integrals, within

A_FEW_ROUNDINGS = 16 * EPS


@dataclass(frozen=True)
class Integrate(OnePass):
    """SciPy's DOP853 or LSODA for systems without space.

    It is run with smaller and smaller relative tolerances, down to far below `tolerance`, and once more if the
    estimated error is above `tolerance`. Gives up after `steps` steps.

    Examples:
        >>> solution = sn.solve(decay, sn.Integrate())
        >>> round(float(solution(t=1.0)), 6)  # exp(-1)
        0.367879
    """

    name: ClassVar[str] = "integrate"
    tolerance: float = 1e-8
    steps: int = 200_000
    only_above: float = 0.0

    def obstacle(self, problem: Problem) -> str | None:
        """Why a problem is not a system y′ = f(t, y), or None if it is."""
        try:
            if singular_start(problem):
                t = problem.axes[0]
                return f"a rate is 0/0 at {t.name} = {t.lo:g}, where it begins (start a little later)"
        except SafeNetError as refusal:
            return refusal.message
        return None

    def aimed(self, tol: float) -> Integrate:
        return replace(self, tolerance=tol)

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        """One state for each run; runs take seconds, so a resumed solve starts again."""
        system, state = System.of(problem), Direct()
        tightest = max(TIGHTEST, _blurred(problem))
        tolerances = sorted({max(self.tolerance * share, tightest) for share in LOOSE_TO_TIGHT}, reverse=True)
        if len(tolerances) == 1:  # one run alone would not show its error
            tolerances = [10 * tightest, tightest]
        times, tightening, defects = interior_points(problem), Tightening(), Defects(problem)
        atol, stiff = np.full(len(system.start), FIRST_ATOL * max(np.abs(system.start).max(), 1.0)), False
        while tolerances:
            rtol = tolerances.pop(0)
            monitor.phase(self.name, f"{'LSODA' if stiff else 'DOP853'}, relative tolerance {rtol:.0e}")
            track = system.track(rtol, rtol * atol, stiff, self.steps, budget)
            stiff = track.stiff
            if not (stiff or track.ended):
                allowed = max(MISSED * self.tolerance, MISSED_MORE * rtol)
                system.halve(track, rtol, rtol * atol, allowed, self.steps, budget)
            state = replace(state, iterations=state.iterations + track.steps, evaluations=system.evaluations)
            if track.ended:
                yield self._ended(problem, system, track, state)
                return
            found = system.form(track)
            # More steps in a transient lower what is rarely reached there, which would demand still more steps.
            atol = np.maximum(_scales(track.values), atol if defects.runs else 0.0)
            if stiff:
                error = defects.after(found)
                tolerances = defects.then(rtol, self.tolerance, tightest)
            else:
                error = tightening.after(rtol, np.asarray(found.jets(times, [(0,)])[0,]))
                if self._short(float(error.max()), rtol, tolerances) and rtol > tightest:
                    # A tenth of what is needed if the error is proportional to the tolerance of the run.
                    tolerances = [max(tightest, 0.1 * rtol * self.tolerance / float(error.max()))]
            state = replace(
                state,
                field=system.form(track, error),
                residual=float(error[-1]),
                done=not tolerances,
                reason=f"reached t = {problem.axes[-1].hi:g} in {track.steps} steps",
            )
            monitor.level(found.parameters, float(error[-1]))
            yield state

    def _short(self, error: float, rtol: float, planned: list[float]) -> bool:
        """Whether no planned run will meet the tolerance, judging by two runs that share digits."""
        if not planned:
            return error > self.tolerance
        return len(planned) == 1 and error < NO_DIGIT and bool(error * planned[0] > self.tolerance * rtol)

    def _ended(self, problem: Problem, system: System, track: Track, state: Direct) -> Direct:
        """The state after a run that ended early: out of time, out of steps, or where the solution itself ends."""
        kept = system.form(track) if len(track.times) > 1 else None
        t = float(track.times[-1])
        if track.ended == "undefined":
            at = [
                f"{name} = {track.values[-1][i]:.4g}"
                for name, i in zip(problem.unknowns, system.places, strict=True)
            ]
            reason = f"the rates of change have no real, finite value at t = {t:.4g}, {', '.join(at)}"
            reason += "; if that is so at this time alone, start a little later" * (t == system.span[0])
            return replace(state, field=kept, done=True, given_up=True, final=True, reason=reason)
        if track.ended == "stopped":
            return replace(state, field=state.field or kept, stopped=True)
        if track.ended == "steps" and np.isfinite(getattr(state.field, "error", np.nan)).all():
            return replace(state, done=True)  # the run before reached the end
        reason, over = failure(problem, kept, t)
        if track.ended == "steps":
            reason, over = f"given up at t = {t:.4g} after {track.steps} steps", False
        return replace(state, field=kept, done=True, given_up=True, final=over, reason=reason)


@dataclass
class Track:
    """The nodes of a run and the states there; for LSODA also the coefficients within each step."""

    times: list[float]
    values: list[np.ndarray]
    inner: list[np.ndarray] = field(default_factory=list)
    stiff: bool = False
    steps: int = 0
    ended: str = ""  # why it did not reach the end: "stopped", "steps", "failed", "undefined"; "" if it did


class System:
    """f, its Jacobian and the derivatives along a solution, compiled from the symbols."""

    def __init__(self, system: FirstOrder, span: tuple[float, ...]) -> None:
        self.start, self.span, self.places = system.start, span, system.places
        names = (system.time, *system.state)
        self._rates = compiled(system.rates, names, scalar=True)
        slopes = [rate.diff(y) for rate in system.rates for y in system.state]
        self._slopes = compiled(slopes, names, scalar=True)
        self._all_rates = compiled(system.rates, names)
        self._system = system
        # Features too wide for narrow() to report must not fit between the stages of a step.
        driven = any(system.time in rate.free_symbols for rate in system.rates)
        self.longest = (span[-1] - span[0]) / LEAST_STEPS if driven else np.inf
        self.runs = 0
        self.side = span[0], span[-1]  # at a break, f is evaluated on the side of the current steps
        self.evaluations = 0

    @staticmethod
    def of(problem: Problem) -> System:
        axis, (places,) = problem.axes[0], breaks(problem)
        return System(first_order(problem), (axis.lo, *places, axis.hi))

    @cached_property
    def _derivatives(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        return derivatives_at_nodes(self._system)

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        low, high = self.side
        return np.array(self._rates(min(max(t, low), high), *y.tolist()))

    def jacobian(self, t: float, y: np.ndarray) -> np.ndarray:
        return np.array(self._slopes(t, *y.tolist())).reshape(len(y), len(y))

    def track(self, rtol: float, atol: np.ndarray, stiff: bool, most: int, budget: Budget) -> Track:
        """Integrate from break to break to the end; again from the start, by LSODA, if the system turns out stiff.

        The longest step is shorter in every run: two runs with the same steps would not show their error.
        """
        self.runs += 1
        track = Track([self.span[0]], [self.start], stiff=stiff)
        for low, high in pairwise(self.span):
            steps = self._stiff_steps if stiff else self._steps
            self.side = self._beside(low, high)
            with np.errstate(all="ignore"):
                if not np.isfinite(self.rates(low, track.values[-1])).all():
                    track.ended = "undefined"
                    break
            solver = (scipy.integrate.LSODA if stiff else scipy.integrate.DOP853)(
                self.rates,
                low,
                track.values[-1],
                high,
                rtol=rtol,
                atol=atol,
                max_step=self.longest / SHORTER_STEPS**self.runs,
                **({"jac": self.jacobian} if stiff else {}),
            )
            track.ended = steps(solver, track, most, budget)
            if track.ended == "stiff":
                return self.track(rtol, atol, True, most, budget)
            if track.ended:
                break
        track.steps = len(track.times) - 1
        if not stiff:
            kept = _thinned(np.array(track.times), self.span)
            track.times, track.values = ([part[i] for i in kept] for part in (track.times, track.values))
        return track

    def _beside(self, low: float, high: float) -> tuple[float, float]:
        """The ends of a piece of time, just inside its breaks, whose positions are rounded."""
        inside = low > self.span[0], high < self.span[-1]
        return low + A_FEW_ROUNDINGS * abs(low) * inside[0], high - A_FEW_ROUNDINGS * abs(high) * inside[1]

    def _steps(self, solver: Any, track: Track, most: int, budget: Budget) -> str:
        limited = 0  # checks in a row at which stability decided the step
        while solver.status == "running":
            with np.errstate(all="ignore"):
                solver.step()
            if solver.status == "failed":
                return "failed"
            track.times.append(solver.t)
            track.values.append(solver.y.copy())
            if len(track.times) % STIFF_CHECK == 0:
                limited = limited + 1 if self._at_limit(solver) else 0
                if limited >= STIFF_TIMES:
                    return "stiff"
                if budget.over():
                    return "stopped"
            if len(track.times) > most:
                return "steps"
        return ""

    def _at_limit(self, solver: Any) -> bool:
        """Whether h·|Re λ| is near the limit of stability, and the rest would take many such steps."""
        h = solver.step_size
        if (solver.t_bound - solver.t) / h < STIFF_AHEAD:
            return False
        slopes = self.jacobian(solver.t, solver.y)
        return bool(np.isfinite(slopes).all() and -h * np.linalg.eigvals(slopes).real.min() > STIFF_LIMIT)

    def _stiff_steps(self, solver: Any, track: Track, most: int, budget: Budget) -> str:
        while solver.status == "running":
            with np.errstate(all="ignore"):
                solver.step()
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                return "failed"
            if solver.t == solver.t_old:
                return "failed"
            track.inner.append(within(solver))
            track.times.append(solver.t)
            track.values.append(solver.y.copy())
            if len(track.times) % STIFF_CHECK == 0 and budget.over():
                return "stopped"
            if len(track.times) > most:
                return "steps"
        return ""

    def halve(
        self, track: Track, rtol: float, atol: np.ndarray, allowed: float, most: int, budget: Budget
    ) -> None:
        """Insert nodes, up to `most`, where the polynomial between two misses the equation: the derivatives at a node
        may be those of a narrow feature next to it, which the integrator's steps do not notice."""
        for _ in range(HALVINGS):
            times, values = np.array(track.times), np.array(track.values)
            for i in reversed(np.flatnonzero(self._missed(times, values, allowed)).tolist()):
                if budget.over():
                    track.ended = "stopped"
                    return
                low, middle = times[i], float(times[i : i + 2].mean())
                self.side = self._beside(low, middle)[0], middle
                found = scipy.integrate.solve_ivp(
                    self.rates, (low, middle), values[i], "DOP853", rtol=rtol, atol=atol
                )
                if not found.success:
                    return
                track.times.insert(i + 1, middle)
                track.values.insert(i + 1, found.y[:, -1])
            if len(track.times) == len(times) or len(track.times) > most:
                return

    def _missed(self, times: np.ndarray, values: np.ndarray, allowed: float) -> np.ndarray:
        """Which pieces miss y′ = f inside: over half their length, by more than `allowed` of the largest |y|."""
        halves, missed = np.diff(times) / 2, np.zeros(len(times) - 1, dtype=bool)
        inner = self._hermite(times, values)
        orders = [end - place for place, end in pairwise((*self.places, values.shape[1]))]
        sizes = np.abs(values).max(axis=0)
        for z in (-0.7, 0.1, 0.8):
            unit = [
                AxisBasis("chebyshev", inner.shape[-1] - 1, -1.0, 1.0)(np.array([z]), k)[0]
                for k in range(max(orders) + 1)
            ]
            with np.errstate(all="ignore"):
                y = [
                    (inner[:, f] @ unit[k]) * halves**-k
                    for f, order in enumerate(orders)
                    for k in range(order)
                ]
                last = [place + order - 1 for place, order in zip(self.places, orders, strict=True)]
                rates = self._all_rates(times[:-1] + halves * (1 + z), *y)
                for f, (order, j) in enumerate(zip(orders, last, strict=True)):
                    left = np.abs((inner[:, f] @ unit[order]) * halves ** -float(order) - rates[j]) * halves
                    missed |= ~(left <= allowed * max(sizes[j], TINY))
        return missed

    def form(self, track: Track, error: np.ndarray | None = None) -> TimePieces:
        """The steps as polynomials: Hermite's, from symbolic derivatives, or LSODA's own."""
        times, fields = np.array(track.times), len(self.places)
        if track.inner:
            inner = integrals(np.stack(track.inner), times, np.array(track.values), self.places)
        else:
            inner = self._hermite(times, np.array(track.values))
        unknown = np.full(fields + 1, np.nan) if error is None else error
        return TimePieces(tuple(inner[:, f] for f in range(fields)), times, unknown, ((),) * fields)

    def _hermite(self, times: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Polynomials from as many derivatives as are finite at every node: those of √|u| at rest at 0 are not."""
        halves, ends, spans = np.diff(times) / 2, [], []
        joints = {0, *np.flatnonzero(np.isin(times, self.span)).tolist(), len(times) - 1}
        for low, high in pairwise(sorted(joints)):
            part = slice(low, high + 1)
            # At a break the derivatives are those of this side.
            at = np.clip(times[part], *self._beside(times[low], times[high]))
            with np.errstate(all="ignore"):
                ends.append(self._derivatives(at, values[part]))
            spans.append(halves[low:high])
        finite = np.isfinite(np.concatenate(ends)).all(axis=(0, 1))
        known = max(2, int(np.argmin(finite)) if not finite.all() else finite.size)
        return np.concatenate([hermite(e[..., :known], h) for e, h in zip(ends, spans, strict=True)])


def _thinned(times: np.ndarray, breaks: tuple[float, ...]) -> np.ndarray:
    """Which nodes to keep: not those that make a piece far shorter than the next. An integrator's first steps are
    tiny, and differences between neighbours divided by them are rounding."""
    kept, length = [len(times) - 1], 0.0
    for i in range(len(times) - 2, -1, -1):
        own = times[kept[-1]] - times[i]
        before = own if i == 0 else times[i] - times[i - 1]
        if i == 0 or times[i] in breaks or (own >= FEELING * length and before >= FEELING**2 * own):
            length = 0.0 if times[i] in breaks else own  # beyond a break all pieces may be shorter
            kept.append(i)
    return np.array(kept[::-1])


def _blurred(problem: Problem) -> float:
    """The effect of rounding t on a narrow feature far from t = 0: no smaller tolerance can be met there."""
    axis = problem.axes[0]
    return BLURRED * float(np.finfo(float).eps) * max(abs(axis.lo), abs(axis.hi)) / narrow(problem).gap(0)


def _scales(values: list[np.ndarray]) -> np.ndarray:
    """The size below which a component counts as small: a share of a value that it rarely falls below."""
    sizes = np.abs(np.array(values))
    low, largest = np.quantile(sizes, ATOL_QUANTILE, axis=0), sizes.max(axis=0)
    scales = ATOL_SHARE * np.where(low > 0, low, FIRST_ATOL * np.where(largest > 0, largest, sizes.max()))
    return np.asarray(np.maximum(scales, TINY))
