"""min_a ‖F(Σ a_k φ_k)‖² on the whole box: Gauss–Newton for the coefficients, the basis fixed by the symbols."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from ..measure.heldout import held_out
from ..measure.rows.newton import newton
from ..measure.rows.relation import oversampling
from ..measure.rows.series import Collocation, widen
from ..measure.rows.start import from_conditions
from ..problem import Problem
from ..problem.facts.posedness import insoluble
from ..run.budget import Budget
from ..run.progress import Monitor
from .bases import axis_bases, first_modes, unknowns_of
from .one_pass import OnePass
from .state import Direct, levels
from .thresholds import (
    FIRST_LEVEL,
    HALVED,
    LEAST_SQUARES_COST,
    LEAST_SQUARES_SHARE,
    LEAST_SQUARES_SIZES,
    POOR,
    RESIDUAL_SHARE,
    UNSOLVED,
)


@dataclass(frozen=True)
class LeastSquares(OnePass):
    """Least squares for the coefficients of one series on the whole box, with more and more modes.

    Stops when the held-out residual is below `tolerance`, no longer improves, or the next level would have more
    than `unknowns` coefficients. `general` is the basis along axes without detected structure: `fourier` (the
    paper's harmonics) or `chebyshev`; by default harmonics for linear problems and polynomials for others.

    Examples:
        >>> sn.solve(decay, sn.LeastSquares()).result.outcome
        <Outcome.SOLVED: 'solved'>
    """

    name: ClassVar[str] = "least-squares"
    tolerance: float = 1e-11
    unknowns: int = 2600
    least: int = 6
    growth: float = 1.4
    general: str | None = None
    only_above: float = 0.0

    def obstacle(self, problem: Problem) -> str | None:
        if problem.region is not None:
            return "its domain is not a box"
        size = unknowns_of(axis_bases(problem, first_modes(problem, self.least), self._basis(problem)))
        return f"its first level would have {size} coefficients" if self._too_large(size, True) else None

    def _too_large(self, size: int, first: bool) -> bool:
        return size > self.unknowns * (FIRST_LEVEL if first else 1)

    def aimed(self, tol: float) -> LeastSquares:
        return replace(self, tolerance=max(self.tolerance, RESIDUAL_SHARE * tol))

    def passes(self, problem: Problem) -> tuple[LeastSquares, ...]:
        return (replace(self, general=self._basis(problem)),)

    def within(self, work: float) -> LeastSquares:
        size = (LEAST_SQUARES_SHARE * work / LEAST_SQUARES_COST) ** (1 / 3)
        return replace(self, unknowns=int(np.clip(size, *LEAST_SQUARES_SIZES)))

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        state = state or Direct(cursor={"modes": first_modes(problem, self.least), "poor": 0})
        return levels(state, budget, partial(self._level, problem, monitor, budget))

    def _basis(self, problem: Problem) -> str:
        return self.general or ("fourier" if problem.linear else "chebyshev")

    def _level(self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct) -> Direct:
        modes, nothing = list(state.cursor["modes"]), state.field is None
        bases = axis_bases(problem, modes, self._basis(problem))
        size = unknowns_of(bases)
        if self._too_large(size, nothing):
            reason = f"stopped: the next level needs more than {self.unknowns} coefficients"
            return replace(state, done=True, given_up=nothing, reason=reason)
        monitor.phase(self.name, f"{size} coefficients")
        rows_of = partial(Collocation, bases=bases, oversampling=oversampling(problem))
        rows = rows_of(problem)
        solve = partial(newton, rows, linear=problem.linear, report=monitor.step, stop=budget.over)
        result = from_conditions(rows, rows_of, solve) if nothing else solve(widen(state.field, bases))
        if result.stopped:
            return replace(state, stopped=True)
        current = rows.form(result.coefficients)
        residual = held_out(problem, current).worst
        monitor.level(size, residual)
        # While nothing is resolved at all (a thin layer, a high frequency), more modes are the only hope; a linear
        # problem can afford them, at one solve per level. On a line, cells get there sooner.
        unresolved = problem.linear and UNSOLVED < residual < math.inf and not insoluble(problem)
        unresolved = unresolved and len(problem.axes) > 1
        hopeful = residual < HALVED * state.residual or unresolved
        modes = [max(count + 1, math.ceil(count * self.growth)) for count in modes]
        state = Direct(
            field=current if residual < state.residual else state.field,
            residual=min(residual, state.residual),
            iterations=state.iterations + result.iterations,
            evaluations=state.evaluations + result.evaluations,
            cursor={"modes": modes, "poor": 0 if hopeful else int(state.cursor["poor"]) + 1},
        )
        return ended(state, self.tolerance)


def ended(state: Direct, tolerance: float) -> Direct:
    """The state after a level: done if its residual is within the tolerance or several levels in a row were poor."""
    if state.residual <= tolerance:
        return replace(state, done=True, reason=f"the held-out residual is below {tolerance:.0e}")
    if state.cursor["poor"] >= POOR:
        nothing = state.field is None
        idle = "more modes no longer reduce the held-out residual"
        reason = "the residual is not finite" if nothing else idle
        return replace(state, done=True, given_up=nothing, reason=reason)
    return state
