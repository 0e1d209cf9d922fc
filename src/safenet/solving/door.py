"""problem → solution: plan, run, measure, estimate. The command line and Python both enter here.

sn.solve(problem)                                  Auto: chooses from the facts and says why
sn.solve(problem, sn.March(tail=1e-8))             directly: Modes, LeastSquares, March, Cells
sn.solve(problem, sn.Train("pinn", "paper-1"))     a network
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import library
from ..direct import passes
from ..direct.plan import DirectPlan
from ..errors import SafeNetError, SafeNetWarning
from ..inverse import fit, posterior
from ..inverse.identifiability import determined
from ..inverse.plan import FitPlan
from ..inverse.posterior import PosteriorPlan
from ..measure.finite import check_finite
from ..measure.misfit import complaints, fit_json, fitted
from ..measure.scores import errors, errors_json
from ..measure.verdict.accepting import knows_its_error
from ..problem import Problem
from ..problem.facts.posedness import doubts, left_open
from ..run.budget import Budget
from ..run.budget import seconds as budget_seconds
from ..run.device import device_name, process_index
from ..run.folder import check_checkpoints, former_result, held, prepare
from ..run.found import Found
from ..run.notebook import NotebookMonitor, in_notebook
from ..run.plans import Job
from ..run.progress import Lines, Monitor
from ..run.result import SOLVED_BELOW, Carried, Result, finite_or_none, pooled
from ..run.threads import one_thread
from ..solution import Solution, read_plan, read_problem
from . import judging
from .plans import plan_for
from .thresholds import JUST_A_MOMENT

if TYPE_CHECKING:
    from ..train.solver import Own, Train
    from .plans import AnyPlan, AnySolver


def solve(
    problem: Problem | str | Path,
    solver: AnySolver | str = "auto",
    *,
    out: str | Path | None = None,
    force: bool = False,
    budget: float | str | Budget | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Solve a problem: a `Problem`, a name of the library, or the path of a problem file.

    `solver`: Auto, the default, chooses one; or give one, such as March() or Train(), or its name.
    `out`: the run folder, in which an interrupted run can be resumed; `force` overwrites an earlier run there.
    `budget`: seconds, or a text such as "5m"; when it is spent, the best so far is returned. `monitor` receives the
    progress: by default lines on standard error after two seconds; `Monitor()` is silent.

    After `jax.distributed.initialize`, call it in every process: all devices share the points, the first one writes.

    Examples:
        >>> solution = sn.solve(decay, out="runs/first")
        >>> solution.result.outcome
        <Outcome.SOLVED: 'solved'>
    """
    clock = _clock(budget)
    stated = problem_of(problem)
    _examine(stated)
    folder = None if out is None else Path(out)
    with held(None if process_index() else folder):
        job = _job(stated, solver, clock, folder, force)
        return _warned(carry_out([job], _watcher(monitor), clock)[0])


def solve_many(
    problems: Problem | Iterable[Problem],
    solver: AnySolver | str = "auto",
    *,
    seeds: Iterable[int] = (0,),
    rates: Iterable[float] = (),
    out: str | Path | None = None,
    force: bool = False,
    budget: float | str | Budget | None = None,
    monitor: Monitor | None = None,
    together: bool | None = None,
) -> list[Solution]:
    """Solve every problem at every rate and seed: a list in the order problems, rates, seeds.

    `rates` are for the first Adam; those of later ones stay in proportion. `together`: batch runs that differ only in
    values, such as the parameters of a problem (for schedules of Adam, L-BFGS and SSBroyden). The default is to batch
    on a GPU, and to run one after another on a CPU, where that is faster. With `out`, the runs are kept in out/0,
    out/1, … `budget` is for all of them together.

    Examples:
        >>> family = [decay.with_parameters(k=value) for value in (1, 2)]
        >>> [round(float(each(t=1.0)), 4) for each in sn.solve_many(family)]
        [0.3679, 0.1353]
    """
    stated = [problem_of(p) for p in ([problems] if isinstance(problems, (Problem, str, Path)) else problems)]
    for problem in stated:
        _examine(problem)
    jobs: list[Job] = []
    clock, runs = _clock(budget), list(product(stated, tuple(rates) or (None,), seeds))
    each = Budget(clock.total / max(len(runs), 1))
    for problem, rate, seed in runs:
        place = None if out is None else Path(out) / str(len(jobs))
        job = _job(problem, solver, each, None, force)
        job = replace(job, plan=job.plan.seeded(seed))
        if rate is not None:
            job = replace(job, plan=_trained(job.plan).at_rate(rate))
        jobs.append(replace(job, folder=_prepared(place, job, force)))
    return [_warned(solution) for solution in carry_out(jobs, _watcher(monitor), clock, together)]


def resume(
    folder: str | Path,
    solver: Train | None = None,
    *,
    budget: float | str | Budget | None = None,
    monitor: Monitor | None = None,
) -> Solution:
    """Continue an interrupted run; the result is the same as without the interruption.

    `solver`: give the same `Train` again if the run uses code of your own (a network, terms, an optax optimiser).
    `budget`: the time for this part of the run; its plan stays as it is.

    Examples:
        >>> stopped = sn.solve(decay, out="runs/stopped", budget="60s")
        >>> sn.resume("runs/stopped").result.outcome
        <Outcome.SOLVED: 'solved'>
    """
    clock, folder = _clock(budget), Path(folder)
    problem, plan = read_problem(folder), read_plan(folder)
    own = None if solver is None else solver.own
    missing = getattr(plan, "own", ())
    if missing and own is None:
        raise SafeNetError(
            f"the run in {folder} has code of your own: {', '.join(missing)}",
            "give it again: sn.resume(folder, sn.Train(…))",
        )
    with held(None if process_index() else folder):
        check_checkpoints(folder)
        return _warned(carry_out([Job(problem, plan, folder, own)], _watcher(monitor), clock)[0])


def problem_of(problem: Problem | str | Path) -> Problem:
    """A problem as it is, one of the library by its name, or one from a file."""
    return problem if isinstance(problem, Problem) else library.named(str(problem))


def _clock(budget: float | str | Budget | None) -> Budget:
    """A clock that starts now, or the given one, which is running already."""
    if isinstance(budget, Budget):
        return budget
    return Budget() if budget is None else Budget(budget_seconds(str(budget)))


def _job(problem: Problem, solver: AnySolver | str, clock: Budget, folder: Path | None, force: bool) -> Job:
    limited = None if clock.total == float("inf") else clock.total
    plan = plan_for(problem, solver, limited)
    own: Own | None = getattr(solver, "own", None)
    if own is not None and folder is not None and _trained(plan).own_network and not _trained(plan).factory:
        raise SafeNetError(
            "a run with a network of your own can only be saved together with the function that makes it",
            "give that function, defined in a module: sn.Train(network=make), make(key) → module; or leave out `out`",
        )
    job = Job(problem, plan, None, own)
    return replace(job, folder=_prepared(folder, job, force))


def _trained(plan: AnyPlan) -> Any:
    if isinstance(plan, DirectPlan):
        raise SafeNetError("rates apply to trained networks, not to direct solvers", "use sn.Train(…)")
    return plan


def _prepared(folder: Path | None, job: Job, force: bool) -> Path | None:
    return None if folder is None or process_index() else prepare(folder, job.problem, job.plan, force)


def _watcher(monitor: Monitor | None) -> Monitor:
    """The monitor; by default, only the first of several processes prints progress."""
    if monitor is not None:
        return monitor
    if process_index():
        return Monitor()
    return NotebookMonitor() if in_notebook() else Lines()


def _examine(problem: Problem) -> None:
    """Before anything is computed, refuse what cannot be computed and warn about doubts."""
    check_finite(problem)
    for text in doubts(problem):
        warnings.warn(f"{problem.name}: {text}", SafeNetWarning, stacklevel=3)


def _warned(solution: Solution) -> Solution:
    """The solution, after issuing the warnings that came up during its solve."""
    said = doubts(solution.problem)
    for text in solution.result.warnings:
        if text not in said:
            warnings.warn(f"{solution.problem.name}: {text}", SafeNetWarning, stacklevel=3)
    return solution


def carry_out(
    jobs: Sequence[Job],
    monitor: Monitor | None = None,
    clock: Budget | None = None,
    together: bool | None = None,
    estimate: bool = True,
) -> list[Solution]:
    """Carry out every plan, measure its solution, estimate its error, and save it if it has a folder."""
    monitor, clock = monitor or Monitor(), clock or Budget()
    monitor.limit(clock.began + clock.total)
    solutions = []
    try:
        for job, carried, told, seconds in _carried(jobs, monitor, clock, together):
            former = former_result(job.folder)
            seconds = time.monotonic() - clock.began if len(jobs) == 1 else seconds
            with one_thread():
                carried = _determined(job, carried, clock)
                solution = _measured(job, carried, told, seconds + (former.wall_seconds if former else 0.0))
                _judged(solution, job, carried, monitor, clock, former, estimate)
            if job.folder is not None and process_index() == 0:
                try:
                    solution.save(job.folder)
                except SafeNetError as obstacle:  # e.g. a full disk: the solution is returned all the same
                    solution.result.warnings.append(f"the run is not saved: {obstacle.message}")
            solutions.append(solution)
    finally:  # a traceback keeps the monitor alive, and it would go on showing progress
        monitor.ended()
    return solutions


def _determined(job: Job, carried: Carried, clock: Budget) -> Carried:
    """Add standard errors of the trained parameters; if the budget is spent, only the identifiability check."""
    if not job.plan.trains or not carried.found:
        return carried
    problem = job.problem.found(carried.found.values)
    far = carried.interrupted or clock.left <= 0
    residual = math.inf if far else carried.residual
    return replace(carried, found=determined(problem, carried.field, carried.found, residual))


def _judged(
    solution: Solution,
    job: Job,
    carried: Carried,
    monitor: Monitor,
    clock: Budget,
    former: Result | None,
    estimate: bool,
) -> None:
    """Estimate the solution's error, if that is asked for and possible, and decide its outcome."""
    settled = not (carried.found and carried.found.free) and (
        isinstance(job.plan, PosteriorPlan) or not (job.problem.data and left_open(job.problem))
    )
    decided = True
    known = knows_its_error(solution.field)
    known = known or carried.apart is not None
    left = clock
    if carried.interrupted:
        # A user who interrupts will not wait long, and for a network far from a solution an estimate says nothing.
        worth = job.plan.trains and (solution.result.residual or 1.0) < SOLVED_BELOW
        estimate, left = estimate and worth, Budget(JUST_A_MOMENT)
    elif carried.stopped and job.plan.trains:
        left = Budget(max(clock.left, 0.0))  # the time that was kept for the end
    if estimate and settled and (known or not carried.stopped or job.plan.trains):
        decided = judging.estimate(solution, carried, monitor, left, former)
    if carried.found and (relative := pooled(solution.result.estimate)) is not None:
        solution.result.found = carried.found.to_json(relative)
    judging.judge(solution, carried, clock, decided, resumable=job.folder is not None)
    if not job.plan.trains:  # for a training, the optimisers' own time is given separately
        solution.result.seconds = solution.result.wall_seconds


def _carried(
    jobs: Sequence[Job], monitor: Monitor, clock: Budget, together: bool | None
) -> list[tuple[Job, Carried, list[dict[str, Any]], float]]:
    """(job, what its plan produced, its candidates, seconds): direct plans one by one, trainings as a batch."""
    ends: dict[int, tuple[Carried, list[dict[str, Any]], float]] = {}
    trained = []
    for i, job in enumerate(jobs):
        if isinstance(job.plan, DirectPlan):
            began = time.monotonic()
            with one_thread():
                found = _directly(job, job.plan, job.watcher or monitor, clock)
            ends[i] = found, [], time.monotonic() - began
        else:
            trained.append(i)
    if trained:
        from ..train import candidates

        began = time.monotonic()
        results = candidates.carried_out([jobs[i] for i in trained], monitor, together, clock)
        each = (time.monotonic() - began) / len(trained)
        ends |= {i: (*result, each) for i, result in zip(trained, results, strict=True)}
    return [(job, *ends[i]) for i, job in enumerate(jobs)]


def _directly(job: Job, plan: DirectPlan, monitor: Monitor, clock: Budget) -> Carried:
    if isinstance(plan, FitPlan):
        return fit.carry_out(job.problem, plan, monitor, clock)
    if isinstance(plan, PosteriorPlan):
        return posterior.carry_out(job.problem, plan, monitor, clock)
    return passes.carry_out(job.problem, plan, monitor, job.folder, clock, resume=job.folder is not None)


def _measured(job: Job, carried: Carried, told: list[dict[str, Any]], seconds: float) -> Solution:
    """The solution with its measured errors: it is chosen before this, so they cannot influence the choice."""
    plan, found = job.plan, carried.found or Found({})
    problem = job.problem.found(found.values) if found.values else job.problem
    field = carried.field
    measured = errors(problem, field, measured=carried.measured)
    l2re = errors_json(measured, len(problem.unknowns))
    own = getattr(field, "parameters", None)
    result = Result(
        problem=problem.name,
        solver=plan.solver,
        method=plan.method,
        recipe=plan.recipe,
        seed=plan.seed,
        l2re={k: finite_or_none(v) for k, v in l2re.items()}
        if isinstance(l2re, dict)
        else finite_or_none(l2re),
        max_error=finite_or_none(measured.max_error),
        reference_accuracy=measured.floor,
        residual=finite_or_none(measured.held_out.worst),
        parameters=own if isinstance(own, int) else _parameter_count(field),
        iterations=sum(record.iterations for record in carried.records),
        evaluations=sum(record.evaluations for record in carried.records),
        seconds=round(sum(record.seconds for record in carried.records), 3),
        wall_seconds=round(seconds, 3),
        precision=plan.precision,
        device=device_name(),
        stop_reason=carried.stop_reason,
        reasons=list(plan.reasons),
        warnings=[
            *doubts(problem),
            *found.warnings,
            *_unfit(problem, carried),
            *judging.unsaid(problem, field),
        ],
        phases=carried.records,
        candidates=told,
        found=found.to_json(measured.held_out.worst),
        correlations=found.correlations,
        fit=fit_json(fitted(problem, field)),
    )
    factory = job.own.factory if job.own is not None else None
    return Solution(problem, field, plan, carried.history, result, factory=factory)


def _parameter_count(network: Any) -> int:
    from ..networks.perceptron import parameter_count

    return parameter_count(network)


def _unfit(problem: Problem, carried: Carried) -> list[str]:
    """Complaints about the data, which need a solution that meets its equations."""
    return complaints(problem, carried.field, carried.residual) if carried.residual < SOLVED_BELOW else []
