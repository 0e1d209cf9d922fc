"""estimate → the error, or why it is not known: one rule for a training that ends at a tolerance and for its judge.

An error counts as known if the problem determines its solution, the solution meets its data, and the estimate explains
most of the residual. What is called "solved" afterwards is decided in `solving.judging`, by these rules and others.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...problem import Problem
from ...problem.facts.elliptic import infinite_corners
from ...problem.facts.posedness import left_free, left_open
from ...problem.facts.undecided import undecided
from ...run.result import SOLVED_BELOW
from ..estimate import ADRIFT, Estimate, adrift, missed_data
from ..misfit import unfitted
from ..thresholds import HARDLY, ROUGH, ROUNDING, UNSEEN, UNSEEN_ON_SHAPES


def accepted(
    problem: Problem, field: Any, found: Estimate | None, residual: float, tol: float | None = None
) -> tuple[float, str]:
    """The error, ∞ if it is not known; and why it does not show that the problem is solved within `tol`, or ""."""
    why = unestimated(problem, field)
    if found is None or why:
        return math.inf, why or "there is no estimate of the error"
    if why := undetermined(problem, found) or unmet(problem, field, residual) or "":
        return math.inf, why
    if unfitted(problem, field, residual):
        return math.inf, "the solution does not explain the data"
    left = reckoned(problem, field, found, residual).left
    if not left <= ROUGH:
        return math.inf, f"the error is estimated at {found.error:.1e} or more"
    most = min(tol or SOLVED_BELOW, SOLVED_BELOW)
    return found.error, "" if found.error <= most else f"the error is estimated at {found.error:.1e}"


def unestimated(problem: Problem, field: Any) -> str:
    """Why no error of this solution can be estimated, as far as that is clear without an estimate, or ""."""
    if getattr(field, "weak", False):
        return ""
    if problem.data and (free := left_open(problem)):
        return free
    return next(iter(undecided(problem)), "") or (ADRIFT if adrift(problem, field) else "")


def reckoned(problem: Problem, field: Any, found: Estimate, residual: float) -> Estimate:
    """The estimate; with corners where least squares find neither u nor its correction, `left` is at least 1."""
    if residual > ROUNDING and not knows_its_error(field) and infinite_corners(problem):
        return replace(found, left=max(found.left, 1.0))
    return found


def unmet(problem: Problem, field: Any, residual: float) -> str | None:
    """A sentence on a solution that is far larger than its data and does not meet them."""
    data = missed_data(problem, field, residual)
    if data is None:
        return None
    return (
        f"the solution is {data.times:.0e} times as large as its data and does not meet them: "
        f"the residual of {data.relation.text} is {share(data.missed)}; the problem probably has no solution "
        "(an eigenvalue is hit, a condition is on the wrong side, or time runs backwards)"
    )


def undetermined(problem: Problem, found: Estimate) -> str | None:
    """Why no error is given if the problem does not decide between this solution and others, or None."""
    if found.lost:
        return found.lost
    if found.seen < (UNSEEN if problem.region is None else UNSEEN_ON_SHAPES):
        return (
            "the solution is not unique, or there is none: adding a multiple of some function changes no equation or "
            "condition; no error is estimated"
        )
    if left_free(problem) and found.seen < HARDLY:
        return "the conditions leave something free (see above), so no error is estimated"
    if found.left > ROUGH and found.seen < HARDLY and found.since is None:
        return (
            "the estimate does not explain the residual, and the equations and conditions nearly leave one component "
            "of the solution free, so no reliable error can be given"
        )
    if found.noise > SOLVED_BELOW:
        return (
            f"rounding errors of the data are amplified to {share(found.noise)} of the solution: in double precision "
            "the problem does not determine it, and no error is estimated"
        )
    return None


def knows_its_error(field: Any) -> bool:
    """Whether a field carries its solver's own error: then an estimate costs nothing, even when time has run out."""
    error = getattr(field, "error", None)
    return error is not None and bool(np.isfinite(np.asarray(error)).all())


def share(value: float) -> str:
    """A share as a percentage; a huge one as a power of ten."""
    return f"{value:.0%}" if value < 100 else f"{value:.0e}"
