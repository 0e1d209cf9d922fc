"""u | data: linear equations with constant coefficients, exact solutions as features, a Gaussian prior on them (EPGP).

u = u_p + Σ a_n φ_n, every φ_n an exact solution. The variance of a_n is that of a Matérn or squared exponential process
at the wave numbers of φ_n. The posterior is averaged over amplitude, correlation lengths, smoothness and noise, by
their evidence.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from ..direct.modes import Modes
from ..direct.plan import DirectPlan
from ..fields.unknown import Unknown
from ..measure.heldout import held_out
from ..problem import Problem
from ..run.budget import Budget
from ..run.plans import check_suits
from ..run.progress import Monitor
from ..run.result import Carried, PhaseRecord
from .inference import wave_count
from .likeliest import Likeliest
from .thresholds import COEFFICIENTS


@dataclass(frozen=True)
class Posterior:
    """The Gaussian posterior of a solution, given data: its mean, and its standard deviation by `sol.std(…)`.

    For linear equations with constant coefficients, where data take the place of conditions. At most `coefficients`
    exact solutions are combined.

    Examples:
        >>> data = sn.Data(t=[0.0, 0.5, 1.0], u=[3.0, 1.8196, 1.1036], sigma=1e-4)
        >>> sol = sn.solve(sn.Problem("u_t = -u", domain={"t": (0, 1)}, data=data), sn.Posterior())
        >>> print(f"{sol(t=0.0):.3f} ± {sol.std(t=0.0):.4f}")
        3.000 ± 0.0001
    """

    coefficients: int = COEFFICIENTS
    name: ClassVar[str] = "posterior"

    def obstacle(self, problem: Problem) -> str | None:
        """Why it does not suit a problem, or None if it does."""
        if not problem.data:
            return "there are no data"
        if problem.curves:
            name = next(iter(problem.curves))
            return f"{name} is an unknown function; a posterior needs constant coefficients"
        if why := Modes().obstacle(problem):
            return why
        bent = [m.name for m in problem.measured if not m.linear]
        if bent:
            return f"the measured values of {bent[0]} are not linear in the unknowns"
        if not wave_count(problem, self.coefficients):
            return f"it needs more than {self.coefficients} exact solutions: raise `coefficients`"
        return None

    def plan(self, problem: Problem) -> PosteriorPlan:
        check_suits(self, problem)
        values = sum(len(m.values) for m in problem.measured)
        numbers = f", {len(problem.unknown)} unknown numbers" if problem.unknown else ""
        reason = (
            f"{values} measured values{numbers}, linear with constant coefficients: exact solutions with a Gaussian "
            "prior; mean and standard deviation given the data"
        )
        return PosteriorPlan(reasons=(reason,), coefficients=self.coefficients)


@dataclass(frozen=True)
class PosteriorPlan(DirectPlan):
    """A posterior from exact solutions with at most `coefficients` coefficients."""

    solver: str = Posterior.name
    passes: tuple[Any, ...] = ()
    coefficients: int = COEFFICIENTS

    def to_json(self) -> str:
        known = {"solver": self.solver, "passes": [], "reasons": self.reasons}
        return json.dumps({**known, "coefficients": self.coefficients}, indent=1)

    @staticmethod
    def from_json(text: str) -> PosteriorPlan:
        data = json.loads(text)
        return PosteriorPlan(reasons=tuple(data["reasons"]), coefficients=int(data["coefficients"]))


def carry_out(problem: Problem, plan: PosteriorPlan, monitor: Monitor, budget: Budget) -> Carried:
    """The likeliest values of unknown numbers, if there are any, and the posterior for them as a field."""
    began = time.monotonic()
    record, interrupted = PhaseRecord(Posterior.name), False
    search = Likeliest(problem, wave_count(problem, plan.coefficients), monitor, budget)
    try:
        search.carry_out()
    except KeyboardInterrupt:
        interrupted = True
    best = search.best
    field: Any = Unknown(len(problem.unknowns)) if best is None else best.field()
    record.residual = held_out(best.problem if best else problem, field).worst
    record.iterations = record.evaluations = search.evaluations
    record.seconds = time.monotonic() - began
    record.stop_reason = best.said() if best else ""
    stopped = budget.over() and not (best and best.complete)
    return Carried(field, record.residual, [record], interrupted, stopped, found=search.found())
