"""Fit: unknown numbers and functions by Gauss–Newton, the field by a direct solver; and its plan as data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..direct.plan import DirectPlan
from ..direct.solver import Pass
from ..problem import Problem
from ..problem.facts.posedness import left_open
from .linearised import obstacle as not_linearised

GENERIC = 0.0137  # in z: special values mislead, as n = 1 makes a problem linear, and a = b a saddle


@dataclass(frozen=True)
class Fit:
    """Find unknown numbers and functions from data: Gauss–Newton around a direct `solver`, by default Auto's choice.

    Examples:
        >>> t = np.linspace(0, 1, 20)
        >>> problem = decay.finding("k").with_data(sn.Data(t=t, u=np.exp(-0.7 * t)))
        >>> round(float(sn.solve(problem, sn.Fit()).found["k"]), 6)
        0.7
    """

    solver: Any = "auto"
    name: ClassVar[str] = "fit"

    def obstacle(self, problem: Problem) -> str | None:
        """Why it does not suit a problem, or None if it does."""
        if not problem.data:
            return "there are no data to find its numbers from"
        if problem.curves and (why := not_linearised(problem)):
            return why
        free = left_open(problem)
        return (
            f"its conditions alone do not fix the solution, and a direct solver cannot use data as conditions ({free})"
            if free
            else None
        )


@dataclass(frozen=True)
class FitPlan(DirectPlan):
    """Gauss–Newton over the unknowns; the passes are run for each set of values."""

    solver: str = "fit"
    passes: tuple[Pass, ...] = ()
    inner: str = ""  # the direct solver that was asked for: "auto" if none was

    def to_json(self) -> str:
        return json.dumps({**json.loads(super().to_json()), "inner": self.inner}, indent=1)

    @staticmethod
    def from_json(text: str) -> FitPlan:
        plan = DirectPlan.from_json(text)
        return FitPlan(plan.solver, plan.passes, plan.reasons, plan.tol, json.loads(text).get("inner", ""))


def beside_start(count: int) -> np.ndarray:
    """z slightly off zero: facts that hold there hold for almost all values."""
    return GENERIC * (1 + 0.1 * np.arange(count))


def generic(problem: Problem) -> Problem:
    """The forward problem at values slightly off the start, where its facts are those of almost all values."""
    numbers = zip(problem.unknown.items(), beside_start(len(problem.unknown)), strict=True)
    return problem.forward({name: float(number.at(z, np)) for (name, number), z in numbers})
