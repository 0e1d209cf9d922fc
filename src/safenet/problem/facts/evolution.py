"""u(t₀) → u(t₁), t₀ < t₁: can a problem be solved from start to end, one time slab after another?"""

from __future__ import annotations

from ..problem import Problem
from .fact import fact


@fact
def time_obstacle(problem: Problem) -> str | None:
    """Why a problem cannot be solved forwards in time, or None if it can."""
    if problem.region is not None:
        return "its domain is not a box"
    if problem.time is None:
        return "it has no time axis"
    if not any(problem.time_order(name) for name in problem.unknowns):
        return "no equation has a time derivative"
    for condition in problem.conditions:
        if problem.time not in condition.free and not condition.initial:
            return f"the condition {condition.text} holds at a fixed time and is not an initial condition"
    return None
