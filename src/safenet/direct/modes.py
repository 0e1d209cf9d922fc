"""u = u_p + Σ a_n φ_n, each φ_n an exact solution of the equations: only the conditions are left to be met.

For linear equations with constant coefficients. u_p answers the sources, the φ_n are the waves of the box with the
exponents of the dispersion relation, and the amplitudes a_n are found from the conditions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..errors import SafeNetError
from ..fields.modes import ModalForm, waves
from ..measure.heldout import held_out
from ..problem import Problem
from ..problem.facts.dispersion import symbol
from ..problem.facts.waves import families, forced, open_axes
from ..run.progress import Monitor
from .direct import Direct, ended, first_modes
from .modal_rows import all_together, amplitudes_of, decoupled, wave_by_wave


@dataclass(frozen=True)
class Modes:
    """Levels of more and more waves, along the axes whose data are not resolved, until the conditions are met.

    Stops when the held-out residual is below `tolerance`, no longer improves, or the next level would have more than
    `modes` amplitudes (`unknowns` where they are one dense system).
    """

    tolerance: float = 1e-12
    modes: int = 5000
    unknowns: int = 1500
    least: int = 6
    growth: float = 2.0
    only_above: float = 0.0
    name: str = "modes"

    def run(self, problem: Problem, monitor: Monitor, state: Direct | None = None) -> Iterator[Direct]:
        state = state or Direct(cursor={"modes": first_modes(problem, self.least), "poor": 0})
        counts, poor = list(state.cursor["modes"]), int(state.cursor["poor"])
        along = open_axes(problem)
        source = forced(problem, along[-1])
        known = None if source is None else ModalForm((waves(source),))
        apart = decoupled(problem)
        limit, solve = (self.modes, wave_by_wave) if apart else (self.unknowns, all_together)
        # Where all is one system, its cost grows with the third power: smaller steps.
        growth = self.growth if apart else math.sqrt(self.growth)
        while True:
            found = families(problem, counts, along)
            size = sum(map(amplitudes_of, found))
            if size > limit:
                nothing = state.network is None
                reason = f"more than {limit} amplitudes would be needed"
                yield replace(state, done=True, given_up=nothing, reason=reason)
                return
            monitor.phase(self.name, f"{size} amplitudes")
            parts, tails = solve(problem, found, known, counts)
            current = ModalForm((*parts, *(known.parts if known is not None else ())))
            residual = held_out(problem, current).worst
            monitor.level(size, residual)
            poor = 0 if residual < 0.5 * state.residual else poor + 1
            coarse = [tail > 0.01 * self.tolerance for tail in tails]
            counts = [
                max(count + 1, math.ceil(growth * count)) if rough or not any(coarse) else count
                for count, rough in zip(counts, coarse, strict=True)
            ]
            state = Direct(
                network=current if residual < state.residual else state.network,
                residual=min(residual, state.residual),
                iterations=state.iterations + 1,
                evaluations=state.evaluations + 1,
                cursor={"modes": counts, "poor": poor},
            )
            state = ended(state, self.tolerance)
            yield state
            if state.done:
                return


def modes_obstacle(problem: Problem) -> str | None:
    """Why the solution is not a sum of exact solutions that the symbols give, or None if it may be."""
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
