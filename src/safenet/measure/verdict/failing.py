"""Why a solve failed and what to try, as the end of a sentence that begins with "not solved:"."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...problem import Problem
from ...problem.evaluate import evaluate
from ...problem.facts.posedness import insoluble
from ..heldout import interior_points, jets_at, points_of
from .accepting import share


def _remainder(problem: Problem) -> str:
    name = problem.unknowns[0]
    return f"write {name} as a guess plus a new unknown, e.g. {name} = 1 + {'v' if name == 'w' else 'w'}"


def cause(problem: Problem, field: Any, residual: float | None, by_newton: bool) -> str | None:
    """The cause; None if nothing is known but how the run ended."""
    if residual is None:
        return _without_value(problem, field)
    missed = f"residual {share(residual)} on unseen points"
    if why := insoluble(problem):
        return f"{missed}; {why}"
    if not by_newton or problem.linear or problem.time is not None:
        return missed
    start = "the values of the conditions, extended into the domain"
    return f"{missed}. Newton's method starts from {start}; if there is a solution far from them, {_remainder(problem)}"


def _without_value(problem: Problem, field: Any) -> str | None:
    """u_xx = 1/u where u = 0."""
    for relation in (*problem.equations, *problem.conditions):
        at = points_of(problem, relation, interior_points(problem))
        known = jets_at(problem, field, relation, at)
        with np.errstate(all="ignore"):
            left = np.broadcast_to(evaluate(problem.value(relation.residual), known, np), len(at))
        places = np.flatnonzero(~np.isfinite(left))
        values = {
            str(jet): float(np.broadcast_to(known[jet], len(at))[k])
            for jet in relation.jets
            for k in places[:1]
        }
        if len(places) and np.isfinite(list(values.values())).all():
            listing = ", ".join(f"{name} = {value:.3g}" for name, value in values.items())
            return f"{relation.text} has no finite value at the function found ({listing}); {_remainder(problem)}"
    return None
