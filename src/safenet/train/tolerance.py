"""‖e‖/‖u‖ ≤ tol, checked during training: a run may end once its own error estimate says so.

An estimate takes seconds, a held-out residual does not, and the error falls about as the residual does. So the next
estimate is made when the residual has fallen to √(tol/error) of its value, and at least to half. Checks come after
fixed numbers of steps, never by the clock, so that an interrupted run ends at the same bits. If the budget cuts an
estimate short, the run ends there, and on resume the estimate is made again.
"""

from __future__ import annotations

import math
from typing import Any

from ..measure.estimate import Estimate, estimated
from ..measure.heldout import held_out
from ..measure.verdict.accepting import accepted, unestimated
from ..problem import Problem
from ..run.budget import Budget, SpentError
from ..run.progress import Monitor
from ..run.result import SOLVED_BELOW

HALF = 0.5


class Goal:
    """A tolerance, the held-out residual at which the error is estimated next, and the estimate that met it."""

    def __init__(self, tol: float | None) -> None:
        self.tol, self.wanted = tol, SOLVED_BELOW
        self.met: Estimate | None = None

    def reached(self, problem: Problem, field: Any, monitor: Monitor, budget: Budget) -> bool:
        """Whether the estimated error of this field is at most the tolerance.

        Raises SpentError, and leaves the goal unchanged, if there is no time for the estimate.
        """
        residual = held_out(problem, field).worst
        if self.tol is None or not residual <= self.wanted:
            return False
        told = not unestimated(problem, field)
        found = estimated(problem, field, monitor, budget, residual) if told else None
        if found and found.cut:
            budget.spent = True
            raise SpentError
        error, why = accepted(problem, field, found, residual, self.tol)
        if not why:
            self.met = found
            return True
        self.wanted = residual * (HALF if math.isinf(error) else min(HALF, math.sqrt(self.tol / error)))
        return False

    @property
    def sentence(self) -> str:
        assert self.met is not None
        return f"The error is estimated at {self.met.error:.1e}, within the tolerance of {self.tol:g}."
