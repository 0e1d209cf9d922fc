"""variants of a plan → trials → the best of them, by its loss or residual, never by its error.

A schedule that searches over rates, or a method that searches over weights, has candidates. One seed tries them
(`Plan.scouts`); the other seeds run the one it chose, and keep the outcome of the search in `search.json`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..fields.unknown import Unknown
from ..problem import Problem
from ..problem.toml import dumps
from ..run.budget import Budget
from ..run.checkpoint import write_atomically
from ..run.folder import SEARCH
from ..run.plans import Job
from ..run.progress import Monitor
from ..run.result import Carried, Ending, finite_or_none
from .batch import train_runs
from .plan import SCOUT, Plan
from .run import Run

Told = list[dict[str, Any]]  # the outcome of each candidate, as in result.json


def carried_out(
    jobs: Sequence[Job],
    monitor: Monitor,
    together: bool | None = None,
    budget: Budget | None = None,
) -> list[tuple[Carried, Told]]:
    """For each job, the result of its plan and the outcome of its candidates.

    Plans that differ only in their seed share one search, in the folder of the seed that makes it, or of the first. An
    interruption ends everything: a single job returns its best candidate so far, several return none and are resumed
    from their folders.
    """
    told: dict[int, Told] = {}
    ends: dict[int, Carried] = {}
    hosts: dict[int, list[int]] = {}
    for members in searches([job.problem for job in jobs], [job.plan for job in jobs]):
        known = next((found for i in members if (found := known_search(jobs[i].folder, jobs[i].plan))), None)
        if known:
            told |= dict.fromkeys(members, known)
        else:
            hosts[next((i for i in members if jobs[i].plan.scouts), members[0])] = members

    def run(entries: Sequence[tuple[int, str | int, Plan]]) -> list[Carried]:
        runs = []
        for i, name, plan in entries:
            job = jobs[i]
            folder = None if job.folder is None else candidate_folder(job.folder, job.plan, name)
            runs.append(Run(job.problem, plan, job.watcher or monitor, folder, job.own, budget))
        found = train_runs(runs, monitor, together, watched=any(job.watcher for job in jobs))
        if len(jobs) > 1 and any(end.interrupted for end in found):
            raise KeyboardInterrupt
        return found

    entries = [(i, number, plan) for i in hosts for number, plan in enumerate(jobs[i].plan.candidates, 1)]
    trials: dict[int, list[Carried]] = {}
    for (host, *_), end in zip(entries, run(entries), strict=False):  # an interruption leaves the rest out
        trials.setdefault(host, []).append(end)
    for host, members in hosts.items():
        trials.setdefault(host, [_late(jobs[host])])
        told |= dict.fromkeys(members, told_of(jobs[host].problem, jobs[host].plan, trials[host]))
        last = trials[host][-1]
        cut = last.interrupted or last.stopped
        if jobs[host].plan.scouts or cut:
            best = trials[host][chosen_index(told[host])]
            ends[host] = replace(best, interrupted=last.interrupted, stopped=last.stopped)
        if cut:  # a search that has not ended decides nothing for the other seeds
            ends |= {i: _late(jobs[i]) for i in members if i != host}
    rest = [i for i in range(len(jobs)) if i not in ends]
    settled: list[tuple[int, str | int, Plan]] = []
    for i in rest:
        plan, best_at = jobs[i].plan, chosen_index(told[i])
        if plan.scouts:  # it continues as its own candidate, without a tolerance
            settled.append((i, best_at + 1, plan.candidates[best_at]))
        else:
            settled.append((i, "chosen", plan.settled[best_at]))
            write_search(jobs[i].folder, told[i])
    ends |= {i: _late(jobs[i]) for i in rest}
    ends |= dict(zip(rest, run(settled), strict=False))
    return [(ends[i], told[i]) for i in range(len(jobs))]


def _late(job: Job) -> Carried:
    """Of a run for which no time was left."""
    return Carried(Unknown(len(job.problem.unknowns)), math.inf, stopped=True)


def searches(problems: Sequence[Problem], plans: Sequence[Plan]) -> list[list[int]]:
    """Indices of plans: those with variants that differ only in their seed together, any other plan by itself."""
    found: dict[tuple[str, str], list[int]] = {}
    for i, (problem, plan) in enumerate(zip(problems, plans, strict=True)):
        key = (dumps(problem), replace(plan, seed=SCOUT).to_json()) if plan.variants else (str(i), "")
        found.setdefault(key, []).append(i)
    return list(found.values())


def candidate_folder(folder: Path, plan: Plan, name: str | int) -> Path:
    """Where a candidate of a plan is saved: in its own subfolder, or in the run folder itself if there is only one."""
    if not plan.variants:
        return folder
    inside = folder / f"candidate-{name}"
    inside.mkdir(exist_ok=True)
    return inside


def known_search(folder: Path | None, plan: Plan) -> list[dict[str, Any]] | None:
    """The saved outcome of the candidates, if there is one."""
    if folder is None or plan.scouts:
        return None
    try:
        found: list[dict[str, Any]] = json.loads((folder / SEARCH).read_text("utf-8"))
        whole = [fact["chosen"] for fact in found].count(True) == 1 and len(found) == len(plan.variants)
    except (OSError, ValueError, TypeError, KeyError):  # missing or damaged: a new search finds the same
        return None
    return found if whole else None


def write_search(folder: Path | None, told: Sequence[dict[str, Any]]) -> None:
    if folder is not None and jax.process_index() == 0:
        write_atomically(folder / SEARCH, json.dumps(told, indent=1).encode())


def chosen_index(told: Sequence[dict[str, Any]]) -> int:
    """The index of the chosen candidate; 0 if the plan is a single run."""
    return next((i for i, facts in enumerate(told) if facts["chosen"]), 0)


def best_of(problem: Problem, plan: Plan, trials: Sequence[Carried]) -> int:
    """The index of the winner: the lowest final loss or held-out residual, with diverged candidates behind the others.

    Last of all is one that was stopped while it compiled and has no network. The reference cannot decide, by
    construction: a `Carried` knows nothing of it.
    """

    def rank(i: int) -> tuple[bool, bool, float, float]:
        measures = final_loss(problem, plan.candidates[i], trials[i]), finite_or_none(trials[i].residual)
        loss, residual = (math.inf if value is None else value for value in measures)
        first, tie = (loss, residual) if plan.select == "loss" else (residual, loss)
        return isinstance(trials[i].field, Unknown), trials[i].ending == Ending.DIVERGED, first, tie

    return min(range(len(trials)), key=rank)


def final_loss(problem: Problem, plan: Plan, trained: Carried) -> float | None:
    """Σ λ_k L_k after the last iteration, with the plan's λ: totals with adapted weights are not comparable."""
    if not len(trained.history):
        return None
    weights = plan.weighing.each(problem)
    return finite_or_none(float(np.dot(weights, trained.history[-1, 2 : 2 + len(weights)])))


def told_of(problem: Problem, plan: Plan, trials: Sequence[Carried]) -> list[dict[str, Any]]:
    """The outcome of each candidate, and which is chosen; empty if there is no choice."""
    best = best_of(problem, plan, trials)
    return [
        {
            **variant,
            "loss": final_loss(problem, candidate, trial),
            "residual": finite_or_none(trial.residual),
            "outcome": str(trial.ending),
            "stop_reason": trial.stop_reason,
            "iterations": sum(record.iterations for record in trial.records),
            "seconds": round(sum(record.seconds for record in trial.records), 3),
            "chosen": trial is trials[best],
        }
        for variant, candidate, trial in zip(plan.variants, plan.candidates, trials, strict=False)
    ]
