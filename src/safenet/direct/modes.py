"""u = u_p + Σ a_n φ_n, each φ_n an exact solution of the equations: only the conditions remain to be met.

For linear equations with constant coefficients. u_p is a particular solution for the sources, the φ_n are the waves of
the box with exponents from the dispersion relation, and the coefficients a_n follow from the conditions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from ..errors import SafeNetError
from ..fields.modes import ModalForm, waves
from ..measure.heldout import held_out
from ..problem import Problem
from ..problem.facts.dispersion import symbol
from ..problem.facts.waves import families, forced, open_axes
from ..run.budget import Budget
from ..run.progress import Monitor
from .bases import first_modes
from .least_squares import ended
from .modal_rows import all_together, coefficients_of, decoupled, wave_by_wave
from .one_pass import OnePass
from .state import Direct, levels
from .thresholds import HALVED, MODES_COST, MODES_SHARE, MODES_SIZES, RESIDUAL_SHARE, RESOLVED


@dataclass(frozen=True)
class Modes(OnePass):
    """A sum of exact solutions (waves); each level adds more along the axes whose data are not resolved yet.

    Stops when the held-out residual is below `tolerance`, no longer improves, or the next level would have more than
    `modes` coefficients (`unknowns` if they form one dense system).

    Examples:
        >>> sn.solve("wave", sn.Modes()).result.outcome
        <Outcome.SOLVED: 'solved'>
    """

    name: ClassVar[str] = "modes"
    tolerance: float = 1e-12
    modes: int = 5000
    unknowns: int = 1500
    least: int = 6
    growth: float = 2.0
    only_above: float = 0.0

    def obstacle(self, problem: Problem) -> str | None:
        """Why the solution is not a sum of exact solutions known from the symbols, or None if it may be."""
        if problem.region is not None:
            return "its domain is not a box"
        if not problem.linear:
            return "it is not linear"
        try:
            symbol(problem)
            forced(problem, open_axes(problem)[-1])
        except SafeNetError as error:
            return error.message
        return None

    def aimed(self, tol: float) -> Modes:
        return replace(self, tolerance=max(self.tolerance, RESIDUAL_SHARE * tol))

    def within(self, work: float) -> Modes:
        size = (MODES_SHARE * work / MODES_COST) ** (1 / 3)
        return replace(self, unknowns=int(np.clip(size, *MODES_SIZES)))

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        state = state or Direct(cursor={"modes": first_modes(problem, self.least), "poor": 0})
        source = forced(problem, open_axes(problem)[-1])
        known = None if source is None else ModalForm((waves(source),))
        return levels(state, budget, partial(self._level, problem, monitor, known))

    def _level(self, problem: Problem, monitor: Monitor, known: ModalForm | None, state: Direct) -> Direct:
        counts, apart = list(state.cursor["modes"]), decoupled(problem)
        limit, solve = (self.modes, wave_by_wave) if apart else (self.unknowns, all_together)
        # The cost of one dense system grows with the third power of its size: take smaller steps.
        growth = self.growth if apart else math.sqrt(self.growth)
        found = families(problem, counts, open_axes(problem))
        size = sum(map(coefficients_of, found))
        if size > limit:
            reason = f"stopped: the next level needs more than {limit} coefficients"
            return replace(state, done=True, given_up=state.field is None, reason=reason)
        monitor.phase(self.name, f"{size} coefficients")
        parts, tails = solve(problem, found, known, counts)
        current = ModalForm((*parts, *(known.parts if known is not None else ())))
        residual = held_out(problem, current).worst
        monitor.level(size, residual)
        coarse = [tail > RESOLVED * self.tolerance for tail in tails]
        counts = [
            max(count + 1, math.ceil(growth * count)) if rough or not any(coarse) else count
            for count, rough in zip(counts, coarse, strict=True)
        ]
        poor = 0 if residual < HALVED * state.residual else int(state.cursor["poor"]) + 1
        state = Direct(
            field=current if residual < state.residual else state.field,
            residual=min(residual, state.residual),
            iterations=state.iterations + 1,
            evaluations=state.evaluations + 1,
            cursor={"modes": counts, "poor": poor},
        )
        return ended(state, self.tolerance)
