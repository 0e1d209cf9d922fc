"""Conservation laws whose solutions jump: finite volumes on finer and finer grids, compared with each other.

Residuals at points mean nothing at a jump. The error is estimated in the mean of |u|, from three grids: with the
differences d and d′ of two successive pairs, and the rate 2^p = d/d′, it is d′/(2^p − 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ...errors import SafeNetError
from ...fields.averages import Averages
from ...fields.field import values
from ...measure.heldout import interior_points
from ...measure.relative import TINY, shares
from ...problem import Problem
from ...problem.evaluate import evaluate
from ...problem.facts.conservation import conservation
from ...problem.facts.fact import fact
from ...run.budget import Budget
from ...run.progress import Monitor
from ..one_pass import OnePass
from ..state import Direct, levels
from ..thresholds import (
    JUMPS_STAY,
    SOURCE_RESOLVED,
    SOURCE_TIMES,
    SPAN_OF_A_JUMP,
    VOLUME_POINTS,
    VOLUME_RATES,
    VOLUME_STORED,
    VOLUMES_ACROSS,
    VOLUMES_SEEN,
)
from .scheme import Scheme, sides_given


@dataclass(frozen=True)
class Conserve(OnePass):
    """Finite volumes for conservation laws with jumps.

    The cells along each axis are doubled until the estimated error is below `tolerance`, up to `cells` in all. `work`
    limits the cells times the steps of a grid.

    Examples:
        >>> sn.Conserve(tolerance=1e-3).obstacle(decay) is None
        False
    """

    name: ClassVar[str] = "conserve"
    tolerance: float = 5e-3
    cells: int = 2**19
    work: float = 3e9
    only_above: float = 0.0

    def obstacle(self, problem: Problem) -> str | None:
        """Why a problem is no conservation law that finite volumes can solve, or None if it is one."""
        try:
            conservation(problem)
            sides_given(problem)
        except SafeNetError as refusal:
            return refusal.message
        return None

    def aimed(self, tol: float) -> Conserve:
        return replace(self, tolerance=tol)

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        """A state for each grid; a resumed run continues with the next."""
        state = state or Direct(
            cursor={"across": VOLUMES_SEEN[len(problem.axes) - 1][0], "steps": 0, "apart": None}
        )
        return levels(state, budget, partial(self._level, problem, monitor, budget))

    def _level(self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct) -> Direct:
        across, axes = int(state.cursor["across"]), len(problem.axes) - 1
        cells = (across,) * axes
        # Twice the cells along each axis take twice the steps.
        work = math.prod(cells) * 2 * int(state.cursor["steps"])
        if math.prod(cells) > self.cells or work > self.work or _too_many(problem, across):
            reason = f"stopped at {across // 2} cells along each axis: a finer grid exceeds the limits on "
            stiff = "; a source acts faster than waves cross such a cell, so the speed of jumps is not known"
            return self._ended(
                state, f"{reason}cells, work or storage{stiff * bool(state.cursor.get('unresolved'))}"
            )
        seen = across in VOLUMES_SEEN[axes]
        monitor.phase(self.name, f"{' × '.join(map(str, cells))} cells")
        found, steps, t = first_grid(problem, across) if seen else solved(problem, cells, monitor, budget)
        if found is None:
            return self._cut_short(state, t, steps)
        error, apart = self._error(problem, state, found)
        if unresolved := _stiffness(problem, found, across) > SOURCE_RESOLVED:
            error = np.full_like(error, np.nan)  # grids may agree on jumps that move at a wrong speed
        found = replace(found, error=error)
        cursor = {"across": 2 * across, "steps": steps, "apart": apart, "unresolved": unresolved}
        worst = float(error[-1])
        monitor.level(found.parameters, worst)
        now = Direct(found, worst, state.iterations + 1, state.evaluations + 3 * steps, cursor)
        if worst < self.tolerance:
            return self._ended(
                now,
                f"estimated error below {self.tolerance:g} in the mean of |u|, {across} cells along each axis",
            )
        return now

    def _cut_short(self, state: Direct, t: float, steps: int) -> Direct:
        """The state when time ran out, or when u is no longer finite."""
        if steps >= 0:
            return replace(state, stopped=True)
        reason = f"the solution is no longer finite at t = {t:.4g}"
        if state.field is None:
            return replace(state, done=True, given_up=True, reason=reason)
        return self._ended(state, f"{reason} on a finer grid")

    def _ended(self, state: Direct, reason: str) -> Direct:
        return replace(state, done=True, final=True, reason=f"{reason}; errors are in the mean of |u| (L¹)")

    def _error(self, problem: Problem, state: Direct, found: Averages) -> tuple[np.ndarray, float | None]:
        """The error of each field and of all, from the previous grid and the rate at which two differences fell."""
        unknown = np.full(len(problem.unknowns) + 1, np.nan)
        if state.field is None:
            return unknown, None
        apart = _apart(problem, found, state.field)
        before = state.cursor["apart"]
        if before is None:
            return unknown, float(apart[-1])
        rate = float(np.clip(before / max(float(apart[-1]), TINY), *VOLUME_RATES))
        return apart / (rate - 1), float(apart[-1])


def _stiffness(problem: Problem, found: Averages, across: int) -> float:
    """The most relaxation times of the sources that pass while a wave crosses a cell, at some of the stored times."""
    means, times = np.asarray(found.values), np.asarray(found.times)
    scheme, every = Scheme(problem, means.shape[2:]), max(1, len(times) // SOURCE_TIMES)
    worst = max(scheme.stiffness(t, u) for t, u in zip(times[::every], means[::every], strict=True))
    return float(worst * means.shape[2] / across)  # stored cells may be larger


def solved(
    problem: Problem, cells: tuple[int, ...], monitor: Monitor, budget: Budget
) -> tuple[Averages | None, int, float]:
    """(field, steps, time reached) on one grid; no field if it was stopped or, with −1 steps, u is no longer finite."""
    scheme, axis = Scheme(problem, cells), problem.axes[-1]
    u = scheme.start()
    # As many snapshots as cells across, if they fit into memory; in the plane, cells are merged to that end.
    merged = 1 if len(cells) == 1 else max(1, max(cells) // VOLUMES_ACROSS)
    store = math.prod(cells) // merged ** len(cells) * len(u)
    times = np.linspace(axis.lo, axis.hi, int(np.clip(VOLUME_STORED // store, 17, max(cells))) + 1)
    means, steps = [_merged(u, merged)], 0
    for before, end in pairwise(times):
        share = (before - axis.lo) / axis.length
        monitor.phase(Conserve.name, f"t = {before:.4g}, {' × '.join(map(str, cells))} cells", share)
        u, count = scheme.advance(before, u, end)
        steps += int(count)
        if not np.isfinite(u).all():
            return None, -1, float(end)
        means.append(_merged(np.asarray(u), merged))
        if budget.over():
            return None, steps, float(end)
    ends = tuple(one.lo for one in scheme.axes), tuple(one.hi for one in scheme.axes)
    unknown = np.full(len(u) + 1, np.nan)
    return Averages(np.stack(means), times, unknown, *ends, scheme.periodic), steps, float(axis.hi)


@fact
def first_grid(problem: Problem, across: int) -> tuple[Averages | None, int, float]:
    """The solution on a coarse grid, which shows whether it jumps; a solve begins with it."""
    return solved(problem, (across,) * (len(problem.axes) - 1), Monitor(), Budget())


def _merged(u: np.ndarray, count: int) -> np.ndarray:
    """Means over blocks of count × count cells."""
    if count == 1:
        return u
    fields, nx, ny = u.shape
    return np.asarray(u.reshape(fields, nx // count, count, ny // count, count).mean(axis=(2, 4)))


def _too_many(problem: Problem, across: int) -> bool:
    """Whether, on a line, cells times snapshots are too many to store; fewer snapshots would be too coarse in time."""
    return len(problem.axes) == 2 and across**2 * len(problem.unknowns) > 4 * VOLUME_STORED


def _apart(problem: Problem, one: Any, other: Any) -> np.ndarray:
    """mean |u − v| / mean |u| over scattered points: of each field, and of all."""
    points = interior_points(problem, VOLUME_POINTS)
    first, second = values(one, points), values(other, points)
    sizes, gaps = np.mean(np.abs(first), axis=0), np.mean(np.abs(first - second), axis=0)
    return shares(gaps, sizes, gaps.sum() / max(float(sizes.sum()), TINY))


@fact
def steepens(problem: Problem) -> bool:
    """Whether the largest step between neighbouring cells hardly falls when cells are halved: u jumps, or nearly."""
    if not conservation(problem).nonlinear:
        return _jumps_are_given(problem)
    rough, fine = (_largest_step(problem, across) for across in VOLUMES_SEEN[len(problem.axes) - 1])
    return bool(fine > JUMPS_STAY * rough > 0)  # nan is no jump


def _largest_step(problem: Problem, across: int) -> float:
    """The largest difference of neighbours at any time; 0 if it is less than a tenth of the span of all values."""
    found, _, _ = first_grid(problem, across)
    if found is None:
        return math.nan
    means = np.asarray(found.values)
    largest = max(float(np.abs(np.diff(means, axis=axis)).max()) for axis in range(2, means.ndim))
    return largest if largest > SPAN_OF_A_JUMP * float(np.ptp(means)) else 0.0


def _jumps_are_given(problem: Problem) -> bool:
    """Whether the data jump, which pure transport carries along: the largest step between neighbouring initial
    values, or in time from them through the values given on a side, does not fall with four times as many."""
    rough, fine = (_largest_given(problem, across) for across in (64, 256))
    return bool(fine > JUMPS_STAY * rough > 0)


def _largest_given(problem: Problem, across: int) -> float:
    axes, time = len(problem.axes) - 1, problem.axes[-1]
    scheme = Scheme(problem, (across,) * axes)
    start, times = scheme.start(), time.lo + time.length * (np.arange(across) + 0.5) / across
    largest, size = (
        max(float(np.abs(np.diff(start, axis=i + 1)).max()) for i in range(axes)),
        np.abs(start).max(),
    )
    for (axis, end), fields in sides_given(problem).items():
        along = [scheme.centres[i] for i in range(axes) if i != axis]
        mesh = iter(np.meshgrid(*along, times, indexing="ij"))
        place = problem.axes[axis].bounds[end]
        at = {one.symbol: place if i == axis else next(mesh) for i, one in enumerate(problem.axes)}
        for name, value in fields.items():
            if value is not None:
                shape = (across,) * axes
                given = np.broadcast_to(evaluate(value, at, np), shape)
                first = start[problem.unknowns.index(name)].take(-end, axis=axis)
                walked = np.concatenate([np.asarray(first)[..., None], given], axis=-1)
                size = max(size, np.abs(given).max())
                largest = max(largest, float(np.abs(np.diff(walked, axis=-1)).max()))
    return largest if largest > 1e-9 * size else 0.0
