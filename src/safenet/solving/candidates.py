"""variants of a plan → trials → the one that is chosen: by its loss or residual, never by the error.

A schedule that searches a rate, or a method that searches weights, has candidates. One seed tries them (`Plan.scouts`)
and the others run what it chose; what came of the search is beside their runs, in `search.json`.
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

from ..problem import Problem
from ..problem.toml import dumps
from ..run.checkpoint import write_atomically
from ..train.recipes import SCOUT, Plan
from ..train.run import Trained

SEARCH = "search.json"  # what came of the variants, beside a run of a seed that has not tried them itself


def searches(problems: Sequence[Problem], plans: Sequence[Plan]) -> list[list[int]]:
    """The places of plans that differ in their seed only and have variants; of any other, each by itself."""
    found: dict[tuple[str, str], list[int]] = {}
    for i, (problem, plan) in enumerate(zip(problems, plans, strict=True)):
        key = (dumps(problem), replace(plan, seed=SCOUT).to_json()) if plan.variants else (str(i), "")
        found.setdefault(key, []).append(i)
    return list(found.values())


def candidate_folder(folder: Path, plan: Plan, name: str | int) -> Path:
    """Where a candidate of a plan is saved: beside the others, or in the run folder itself if it is the only one."""
    if not plan.variants:
        return folder
    inside = folder / f"candidate-{name}"
    inside.mkdir(exist_ok=True)
    return inside


def known_search(folder: Path | None, plan: Plan) -> list[dict[str, Any]] | None:
    """What came of the candidates, if that is known already."""
    if folder is None or plan.scouts:
        return None
    try:
        found: list[dict[str, Any]] = json.loads((folder / SEARCH).read_text("utf-8"))
        whole = [fact["chosen"] for fact in found].count(True) == 1 and len(found) == len(plan.variants)
    except (OSError, ValueError, TypeError, KeyError):  # none, or damaged: a search finds the same again
        return None
    return found if whole else None


def write_search(folder: Path | None, told: Sequence[dict[str, Any]]) -> None:
    if folder is not None and jax.process_index() == 0:
        write_atomically(folder / SEARCH, json.dumps(told, indent=1).encode())


def chosen_index(told: Sequence[dict[str, Any]]) -> int:
    """Which of the candidates was chosen: the only one, if the plan is a single run."""
    return next((i for i, facts in enumerate(told) if facts["chosen"]), 0)


def best_of(problem: Problem, plan: Plan, trials: Sequence[Trained]) -> int:
    """Which of the candidates wins: by the final loss or the held-out residual, after any that diverged.

    The reference is not asked, by construction: a `Trained` knows nothing of it.
    """

    def rank(i: int) -> tuple[bool, float, float]:
        measures = final_loss(problem, plan.candidates[i], trials[i]), finite_or_none(trials[i].residual)
        loss, residual = (math.inf if value is None else value for value in measures)
        first, tie = (loss, residual) if plan.select == "loss" else (residual, loss)
        return trials[i].outcome == "diverged", first, tie

    return min(range(len(trials)), key=rank)


def final_loss(problem: Problem, plan: Plan, trained: Trained) -> float | None:
    """Σ λ_k L_k after the last iteration, with the plan's λ: where weights adapt, totals do not compare."""
    if not len(trained.history):
        return None
    weights = [plan.residual_weight] * len(problem.equations)
    weights += [plan.condition_weight] * len(problem.conditions)
    return finite_or_none(float(np.dot(weights, trained.history[-1, 2:])))


def told_of(problem: Problem, plan: Plan, trials: Sequence[Trained]) -> list[dict[str, Any]]:
    """What came of each candidate, and which is chosen; nothing where there is no choice."""
    best = best_of(problem, plan, trials)
    return [
        {
            **variant,
            "loss": final_loss(problem, candidate, trial),
            "residual": finite_or_none(trial.residual),
            "outcome": trial.outcome,
            "stop_reason": trial.stop_reason,
            "iterations": sum(record.iterations for record in trial.records),
            "seconds": round(sum(record.seconds for record in trial.records), 3),
            "chosen": trial is trials[best],
        }
        for variant, candidate, trial in zip(plan.variants, plan.candidates, trials, strict=False)
    ]


def finite_or_none(value: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if value is not None and math.isfinite(value) else None
