"""solution → its estimated error, and the outcome of the run: solved, not solved, …

"solved" requires an estimated error below 10 % of the solution, an estimate that explains the residual, and no doubt
that the problem determines its solution. A small residual alone is not enough: Allen–Cahn's equation is met to 4 % by a
network that is wrong by 55 %. Without an estimate the outcome is "unverified".
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ..measure.estimate import ADRIFT, Estimate, adrift, estimated
from ..measure.misfit import unfitted
from ..measure.scores import field_errors_json
from ..measure.thresholds import ROUGH
from ..measure.verdict.accepting import (
    accepted,
    knows_its_error,
    reckoned,
    share,
    undetermined,
    unmet,
)
from ..measure.verdict.failing import cause
from ..measure.verdict.others import another
from ..problem import Problem
from ..problem.facts.conservation import carriers
from ..problem.facts.posedness import insoluble, left_free
from ..problem.facts.undecided import undecided
from ..run.budget import Budget, SpentError
from ..run.progress import Monitor
from ..run.result import SOLVED_BELOW, Carried, Ending, Outcome, Result, pooled
from ..solution import Solution
from .along_a_line import apart
from .auto import Auto
from .thresholds import UNEXPLAINED

NOT_ENDED = "the error is estimated only where all parts are done"
OWN_TERMS = "the problem alone is underdetermined; your own loss terms may determine it, which is not checked"


def judge(solution: Solution, carried: Carried, clock: Budget, decided: bool, resumable: bool) -> None:
    """Set the outcome, and warn if the problem is not solved. `decided`: the problem has no other solution."""
    result = solution.result
    residual, estimate = result.residual, pooled(result.estimate)
    # If u jumps, only the error shows whether the problem is solved, and its estimate needs three grids.
    unsure = getattr(solution.field, "weak", False) and estimate is None
    missed = unsure or residual is None or residual > SOLVED_BELOW
    interrupted = carried.interrupted or result.outcome == Outcome.INTERRUPTED
    if interrupted:
        result.outcome = Outcome.INTERRUPTED
        result.stop_reason += _onward(resumable)
    elif carried.stopped:
        result.stopped = True
        result.outcome = _stopped(solution, carried, decided, missed)
        result.stop_reason = _spent(solution, clock) + _onward(resumable)
    elif result.outcome == Outcome.OUT_OF_TIME and not missed:
        result.stop_reason += _onward(resumable)  # solved, as far as can be told without an estimate
    elif carried.ending == Ending.GIVEN_UP:
        result.outcome = Outcome.GIVEN_UP
        result.warnings.append(result.stop_reason)
    elif carried.ending == Ending.DIVERGED:
        result.outcome = Outcome.DIVERGED
        result.warnings.append(f"diverged: {result.stop_reason}")
    elif missed or not decided or (estimate or 0.0) > SOLVED_BELOW:
        result.outcome = Outcome.NOT_SOLVED
    elif unfitted(solution.problem, solution.field, residual or 0.0) or _open(carried):
        result.outcome = Outcome.NOT_SOLVED  # a warning has said so
    elif estimate is None and not _from_data(solution, carried):
        result.outcome = Outcome.UNVERIFIED
        result.warnings.append(
            f"the error is not estimated: all that is known is the residual of {residual:.0e} on unseen points"
        )
    else:
        above = _above(solution)
        result.outcome = Outcome.NOT_SOLVED if above and estimate is not None else Outcome.SOLVED
        result.warnings += [above] if above else []
    if missed and estimate is not None:  # the estimate explains nothing of so large a residual
        if estimate < SOLVED_BELOW:
            result.estimate = estimate = None
        result.estimate_left = max(result.estimate_left or 0.0, 1.0)
    result.estimate_at_least = estimate is not None and (result.estimate_left or 0.0) > ROUGH
    told = result.outcome == Outcome.GIVEN_UP or (residual is None and result.outcome == Outcome.DIVERGED)
    if missed and not (told or interrupted):
        result.warnings.append(f"not solved: {_cause(solution, residual, unsure)}")


def _cause(solution: Solution, residual: float | None, unsure: bool) -> str:
    result, plan = solution.result, solution.plan
    if unsure:
        return result.stop_reason if residual is None else f"the error is not known; {result.stop_reason}"
    by_newton = result.outcome == Outcome.NOT_SOLVED and not plan.trains
    return cause(solution.problem, solution.field, residual, by_newton) or result.stop_reason


def _stopped(solution: Solution, carried: Carried, decided: bool, missed: bool) -> Outcome:
    """The outcome of a run that its budget ended; more time does not help if something is left undetermined."""
    if not decided or _open(carried) or _free(solution):
        return Outcome.NOT_SOLVED  # a warning has said why
    complete = not missed and _complete(solution, carried, solution.result.residual or 0.0)
    return Outcome.SOLVED if complete else Outcome.OUT_OF_TIME


def _complete(solution: Solution, carried: Carried, residual: float) -> bool:
    """Whether a run that its budget ended is solved all the same: its error is known without the rest of its plan.

    This can be so for a network, whose error is estimated independently of its training. A direct solver estimates it
    from the difference between its levels, which is reliable only once the solver has made enough of them.
    """
    result, problem = solution.result, solution.problem
    error = pooled(result.estimate)
    if not solution.plan.trains or error is None or error > SOLVED_BELOW:
        return False
    if unfitted(problem, solution.field, residual):
        return False
    above = _above(solution)
    result.warnings += [above] if above else []
    return not (above or _open(carried))


def _told_of(result: Result) -> Estimate | None:
    """The estimate recorded in a result."""
    error = pooled(result.estimate)
    return None if error is None else Estimate(error, result.estimate_left or 0.0, result.estimate_since)


def _free(solution: Solution) -> bool:
    """Whether a training was given a problem that leaves something free, with nothing of the user's own to fix it."""
    problem = solution.problem
    fixed = problem.data or own_terms(solution.plan) or solution.result.estimate is not None
    return solution.plan.trains and not fixed and bool(left_free(problem))


def own_terms(plan: Any) -> bool:
    """Whether terms of the user's own are in the loss, which may say what the problem does not."""
    return any(name.startswith("term ") for name in getattr(plan, "own", ()))


def _spent(solution: Solution, clock: Budget) -> str:
    """A sentence on how the budget ended the run."""
    result, left = solution.result, clock.left
    if solution.plan.trains and not result.iterations:
        return f"Compiling took all of the budget of {clock.total:g} s: no step was made; give it more time."
    spent = f"The budget of {clock.total:g} s is spent"
    if left >= 0:
        spent = (
            f"Stopped with {left:.0f} s of the {clock.total:g} s budget left: the next part would take longer"
        )
    late = result.estimate is None and result.outcome == Outcome.OUT_OF_TIME
    known = "no time was left to estimate the error" if solution.plan.trains or left < 0 else NOT_ENDED
    unknown = f"; {known}" if late else ""
    return f"{spent}; the best is kept{unknown}."


def _onward(resumable: bool) -> str:
    return " The run can be resumed." if resumable else " To be able to resume a run, give a folder (out=…)."


def _open(carried: Carried) -> bool:
    """Whether the data leave unknown numbers undetermined."""
    return carried.found is not None and carried.found.free


def _from_data(solution: Solution, carried: Carried) -> bool:
    """Whether a direct solver used measured values: what it finds then has standard errors.

    A network that meets the data to within the noise may be far off where there are none.
    """
    return not solution.plan.trains and (carried.found is not None or bool(solution.problem.data))


def unsaid(problem: Problem, field: object) -> list[str]:
    """Sentences on what a solution with jumps takes as conserved, where the equations leave a choice."""
    if not getattr(field, "weak", False):
        return []
    return [
        f"{v} is treated as conserved across jumps, as its equation is written; if {h}*{v} is the conserved quantity "
        f"(jumps then have other speeds), write the equation of {h}*{v}"
        for v, h in carriers(problem)
    ]


def _above(solution: Solution) -> str | None:
    """A warning if the requested tolerance is missed, or if it is not known whether it is met.

    The tolerance of a solver that was named is one of the error if its field knows its error, else one of residuals.
    """
    tol = getattr(solution.plan, "tol", None)
    own = getattr(solution.field, "error", None) is not None
    chosen = getattr(solution.plan, "inner", solution.result.solver) == Auto.name
    if tol is None or not (own or solution.plan.trains or chosen):
        return None
    result, problem = solution.result, solution.problem
    size, why = pooled(result.estimate), "there is no estimate of the error"
    if size is not None and size > tol:
        return f"the tolerance of {tol:g} is missed: the error is estimated at {size:.1e}"
    if size is not None:
        # The same rule decides whether a tolerance ends a training.
        trains = solution.plan.trains
        why = accepted(problem, solution.field, _told_of(result), result.residual or 0.0)[1] if trains else ""
    return f"whether the tolerance of {tol:g} is met is not known: {why}" if why else None


def _others(solution: Solution, clock: Budget) -> list[str]:
    """A warning about another solution, if there is one."""
    far = another(solution.problem, solution.field, clock)
    if far is None:
        return []
    return [
        f"there is another solution, up to {far:.2g} away from this one; add a condition that tells them apart"
    ]


def _beside_an_integration(solution: Solution, found: Estimate) -> Estimate:
    """The estimate, at least what an integration from the one end with conditions differs by."""
    far = apart(solution.problem, solution.field) if np.isfinite(found.error) else None
    if far is None:
        return found
    if far[-1] > SOLVED_BELOW > found.error:
        (axis,) = solution.problem.axes
        solution.result.warnings.append(
            f"an integration from the end of {axis.name} that has all conditions gives another solution; to have the "
            f"problem integrated, call its axis t instead of {axis.name}"
        )
    known = [*found.fields, found.error] if found.fields else found.error
    *fields, together = np.maximum(far, known).tolist()
    return replace(found, error=together, fields=tuple(fields))


def _weighed(solution: Solution) -> bool:
    """Warn if the estimate is large or explains little of the residual; False if it cannot be trusted."""
    result, residual = solution.result, solution.result.residual or 0.0
    if far := unmet(solution.problem, solution.field, residual):
        result.warnings.append(far)
        return False
    elif (size := pooled(result.estimate)) is not None and size > SOLVED_BELOW:
        result.warnings.append(f"the error is estimated at {share(size)} of the solution")
    elif (
        size is not None
        and (result.estimate_left or 0.0) > ROUGH
        and result.estimate_since is None  # otherwise most of the residual comes from a jump at the start
        and UNEXPLAINED < residual <= SOLVED_BELOW  # above, it is not solved anyway
    ):
        result.warnings.append(
            f"the residual of {share(residual)} is mostly left unexplained: the error may be far larger "
            "than the estimate"
        )
        return False
    return True


def _late(solution: Solution, carried: Carried) -> None:
    """No time for an estimate: report the difference of the last two levels, if there are two."""
    result, apart = solution.result, carried.apart
    result.outcome = Outcome.OUT_OF_TIME
    stopped, how = result.stop_reason.rstrip("."), "too little of the budget was left to estimate the error"
    if apart is not None and np.isfinite(apart).all():
        *fields, pooled = (float(share) for share in apart)
        result.estimate = field_errors_json(solution.problem.unknowns, pooled, fields)
        result.estimate_left = 1.0
        how = "the error is what the last two levels differ by"
    elif carried.interrupted:
        how = (
            "the error could not be estimated within two seconds; in Python, solution.estimate() takes the time "
            "it needs"
        )
    result.stop_reason = f"{stopped}; {how}." if stopped else f"{how[0].upper()}{how[1:]}."


def _ended(former: Result) -> bool:
    """Whether an earlier run came to the end of its plan, so that its measurements still hold."""
    return former.outcome.complete and not former.stopped


def _told(former: Result) -> bool:
    """Whether a run that has ended has an estimate, or was too far off for one."""
    return former.estimate is not None or (former.residual is not None and former.residual > SOLVED_BELOW)


def estimate(
    solution: Solution, carried: Carried, monitor: Monitor, clock: Budget, former: Result | None
) -> bool:
    """Estimate the error of a solve that came to its end, or take the estimate over from a `former` result.

    A solve that was given up has seen the solution end, or jump, which no correction can account for. False if the
    problem does not determine its solution: then there is no estimate.
    """
    began, result, problem = time.monotonic(), solution.result, solution.problem
    known = knows_its_error(solution.field)
    if result.residual is None or (carried.ending in (Ending.GIVEN_UP, Ending.DIVERGED) and not known):
        return True
    if undecided(problem) and not getattr(solution.field, "weak", False):
        return False  # the doubts have said why
    if result.residual > SOLVED_BELOW and insoluble(problem):
        return False  # without a solution there is no error
    clock.found = True
    if clock.over() and not known:
        _late(solution, carried)
        return True
    decided = True
    try:
        if adrift(problem, solution.field):
            result.warnings.append(ADRIFT)
            return False
        if former is not None and _ended(former) and _told(former):
            result.estimate, result.estimate_left, result.estimate_since = (
                former.estimate,
                former.estimate_left,
                former.estimate_since,
            )
        elif (
            found := carried.estimate or estimated(problem, solution.field, monitor, clock, result.residual)
        ) and (why := undetermined(problem, found)):
            decided = own_terms(solution.plan) and bool(left_free(problem)) and not found.lost
            result.warnings.append(OWN_TERMS if decided else why)
        elif found:
            found = _beside_an_integration(
                solution, reckoned(problem, solution.field, found, result.residual)
            )
            result.estimate = field_errors_json(problem.unknowns, found.error, found.fields)
            result.estimate_left, result.estimate_since = found.left, found.since
            result.warnings += _others(solution, clock)
        decided = _weighed(solution) and decided
    except SpentError:
        _late(solution, carried)
    except KeyboardInterrupt:
        result.outcome = Outcome.INTERRUPTED
        result.stop_reason = "Interrupted while the error was estimated."
    result.wall_seconds = round(result.wall_seconds + time.monotonic() - began, 3)
    return decided
