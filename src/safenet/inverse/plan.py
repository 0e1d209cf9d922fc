"""Fit: the numbers by Gauss–Newton, the field by a direct solver; and its plan as data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from ..direct.plan import DirectPlan
from ..problem import Problem
from ..problem.facts.posedness import left_free

GENERIC = 0.0137  # in z: n = 1 makes a linear problem, and the plan must suit those beside it


@dataclass(frozen=True)
class Fit:
    """Find unknown numbers from data: Gauss–Newton over them, with a direct `solver` inside, by default Auto's choice."""

    solver: Any = "auto"
    name: ClassVar[str] = "fit"

    def obstacle(self, problem: Problem) -> str | None:
        """Why it does not suit a problem, or None if it does."""
        if not problem.data:
            return "there are no data to find its numbers from"
        free = left_free(problem)
        return f"without data the problem leaves something free, so no direct solver can be inside: {free[0]}" if free else None


@dataclass(frozen=True)
class FitPlan:
    """Gauss–Newton over the unknown numbers; `inner` is what is solved for each set of values."""

    inner: DirectPlan
    reasons: tuple[str, ...] = ()

    solver: ClassVar[str] = "fit"
    seed: ClassVar[int] = 0
    precision: ClassVar[str] = "float64"
    method: ClassVar[None] = None
    recipe: ClassVar[None] = None
    variants: ClassVar[tuple[dict[str, float], ...]] = ()
    settled: ClassVar[tuple[Any, ...]] = ()
    scouts: ClassVar[bool] = True

    @property
    def candidates(self) -> tuple[FitPlan, ...]:
        return (self,)

    @property
    def passes(self) -> tuple[Any, ...]:
        return self.inner.passes

    def to_json(self) -> str:
        return json.dumps(
            {"solver": self.solver, "inner": json.loads(self.inner.to_json()), "reasons": self.reasons}, indent=1
        )

    @staticmethod
    def from_json(text: str) -> FitPlan:
        data = json.loads(text)
        return FitPlan(DirectPlan.from_json(json.dumps(data["inner"])), tuple(data["reasons"]))


def generic(problem: Problem) -> Problem:
    """The forward problem at values beside the start: its facts are those of almost all values."""
    import numpy as np

    values = {
        name: float(number.at(GENERIC * (1 + 0.1 * i), np)) for i, (name, number) in enumerate(problem.unknown.items())
    }
    return problem.forward(values)
