"""problem → solution: plan, train, choose, measure. The one door that the command line and Python share."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .backend import device_name
from .errors import SafeNetError, SafeNetWarning
from .problem import Problem
from .problem.posedness import left_free
from .problem.toml import dumps
from .solution import Solution, errors, errors_json, read_plan, read_problem, undamaged
from .training.adam import Adam
from .training.batch import train_many
from .training.checkpoint import unpack, write_atomically
from .training.estimate import estimated_error
from .training.progress import Monitor
from .training.recipes import SCOUT, Plan, make_plan
from .training.run import Trained, train

SEARCH = "search.json"  # what came of the variants, beside a run of a seed that has not tried them itself


def solve(
    problem: Problem,
    *,
    method: str = "safe-net",
    recipe: str = "default",
    seed: int = 0,
    out: str | Path | None = None,
    force: bool = False,
    monitor: Monitor | None = None,
    **options: Any,
) -> Solution:
    """Solve `problem`; with `out`, in a run folder that survives an interruption.

    After `jax.distributed.initialize` all processes call it alike: their devices share the points, the first writes.

    `options`: precision, scale (of the iterations), interior, condition (numbers of points), sampler, and the
    network's, which are the fields of `Method`: features, width, depth, activation, frequencies, amplitudes, normalise,
    domain, k, embedding, weighting, ….
    """
    _warn(problem)
    plan = make_plan(problem, method_name=method, recipe=recipe, seed=seed, **options)
    folder = None if out is None or jax.process_index() else prepare(Path(out), problem, plan, force)
    return carry_out(problem, plan, monitor, folder)


def solve_many(
    problems: Problem | Iterable[Problem],
    *,
    seeds: Iterable[int] = (0,),
    rates: Iterable[float] = (),
    method: str = "safe-net",
    recipe: str = "default",
    out: str | Path | None = None,
    force: bool = False,
    monitor: Monitor | None = None,
    together: bool | None = None,
    **options: Any,
) -> list[Solution]:
    """[solve(problem, rate, seed, …) for problem in problems for rate in rates for seed in seeds].

    A rate is that of the first Adam; those of later ones stay in proportion. `together`: as one program what differs in
    numbers only, such as problems in the values of their parameters, where the recipe is of Adam and L-BFGS; by default
    on a GPU, and one after another on a CPU, where that is faster. With `out` each has a run folder: out/0, out/1, … in
    the order of the solutions, each to be loaded or resumed alone.
    """
    problems = [problems] if isinstance(problems, Problem) else list(problems)
    for problem in problems:
        _warn(problem)
    runs = []
    for problem, rate, seed in product(problems, tuple(rates) or (None,), seeds):
        plan = make_plan(problem, method_name=method, recipe=recipe, seed=seed, **options)
        runs.append((problem, plan if rate is None else _at_rate(plan, rate)))
    folders = []
    if out is not None and not jax.process_index():
        folders = [prepare(Path(out) / str(i), *run, force) for i, run in enumerate(runs)]
    return carry_out_many([run[0] for run in runs], [run[1] for run in runs], monitor, together, folders)


def _warn(problem: Problem) -> None:
    for text in left_free(problem):
        warnings.warn(f"{problem.name}: {text}", SafeNetWarning, stacklevel=3)


def _at_rate(plan: Plan, rate: float) -> Plan:
    """The plan with another rate of its first Adam, and those of later ones in proportion."""
    if not any(isinstance(phase, Adam) for phase in plan.phases):
        raise SafeNetError(
            f"the recipe {plan.recipe} has no rate", "leave out the rates, or use a recipe with Adam: paper-1"
        )
    if any("rate" in variant for variant in plan.variants):
        raise SafeNetError(
            f"the recipe {plan.recipe} chooses among rates of its own", "leave out the rates, or use paper-1"
        )
    if not 0 < rate < math.inf:
        raise SafeNetError(f"the rate is {rate}", "give a positive number, e.g. 1e-3")
    return replace(plan._varied(rate=rate), variants=plan.variants)


def resume(folder: str | Path, *, monitor: Monitor | None = None) -> Solution:
    """Go on with an interrupted run: the result is that of a run that was never interrupted."""
    folder = Path(folder)
    problem, plan = read_problem(folder), read_plan(folder)
    for checkpoint in _checkpoints(folder):
        with undamaged(checkpoint, "remove it, and --resume starts the same plan from the beginning"):
            unpack(checkpoint)
    return carry_out(problem, plan, monitor, folder, resuming=True)


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("checkpoint.npz")) + sorted(folder.glob("candidate-*/checkpoint.npz"))


def prepare(folder: Path, problem: Problem, plan: Plan, force: bool) -> Path:
    """A run folder with the problem and the plan, so that a kill at any moment leaves something to resume."""
    texts = {"problem.toml": dumps(problem), "plan.json": plan.to_json()}
    try:
        _check_free(folder, force)
        folder.mkdir(parents=True, exist_ok=True)
        for former in (
            *_checkpoints(folder),
            *(folder / name for name in ("solution.npz", "result.json", SEARCH)),
        ):
            former.unlink(missing_ok=True)
        for name, text in texts.items():
            write_atomically(folder / name, text.encode())
    except OSError as obstacle:
        raise SafeNetError(f"cannot write to {folder}: {obstacle.strerror}", "choose another --out") from None
    return folder


def _check_free(folder: Path, force: bool) -> None:
    """Nothing that a user has is ever overwritten, except an earlier run, and that only when asked to."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / "plan.json").is_file():
        kind = "a folder with other files" if folder.is_dir() else "a file"
        remedy = "choose another --out" + ("; --force overwrites only a run" if force else "")
        raise SafeNetError(f"{folder} is {kind}, not a run; nothing was changed", remedy)
    if not force:
        raise SafeNetError(
            f"{folder} holds a run already; nothing was changed",
            f"go on with it by --resume {folder}, choose another --out, or overwrite it with --force",
        )


def carry_out(
    problem: Problem, plan: Plan, monitor: Monitor | None, folder: Path | None, resuming: bool = False
) -> Solution:
    """Train every candidate of the plan, one after another, each in a folder of its own if there are several.

    Where another seed tries the variants, the one that it chooses follows.
    """
    began = time.monotonic()
    told = _search(folder, plan)
    trials: list[Trained] = []
    for number, candidate in enumerate(() if told else plan.candidates, 1):
        inside = None if folder is None else _candidate_folder(folder, plan, number)
        trials.append(train(problem, candidate, monitor, inside, resuming))
        if trials[-1].interrupted:
            break
    told = told or _told(problem, plan, trials)
    if trials and (plan.scouts or trials[-1].interrupted):
        trained = replace(trials[_choice(told)], interrupted=trials[-1].interrupted)
    else:
        write_search(folder, told)
        inside = None if folder is None else _candidate_folder(folder, plan, "chosen")
        trained = train(problem, plan.settled[_choice(told)], monitor, inside, resuming)
    solution = _measured(problem, plan, trained, told, time.monotonic() - began)
    _estimate(solution, monitor, _former_estimate(folder) if resuming and folder is not None else None)
    if folder is not None and jax.process_index() == 0:
        solution.save(folder)
    return solution


def _estimate(solution: Solution, monitor: Monitor | None, known: float | None = None) -> None:
    """By how much a solve of the default recipe that came to its end thinks it is wrong, if that is not `known` yet."""
    began, result = time.monotonic(), solution.result
    if solution.plan.recipe != "default" or result["outcome"] == "interrupted":
        return
    try:
        if known is None:
            known = estimated_error(solution.problem, solution.network, monitor)
        result["estimate"] = known
    except KeyboardInterrupt:
        result |= {
            "outcome": "interrupted",
            "stop_reason": "Interrupted while the error was estimated; "
            "the solution is complete, and the estimate can be resumed.",
        }
    result["wall_seconds"] = round(result["wall_seconds"] + time.monotonic() - began, 3)


def _former_estimate(folder: Path) -> float | None:
    """What a finished run says of itself."""
    path = folder / "result.json"
    return json.loads(path.read_text()).get("estimate") if path.exists() else None


def carry_out_many(
    problems: Sequence[Problem],
    plans: Sequence[Plan],
    monitor: Monitor | None = None,
    together: bool | None = None,
    folders: Sequence[Path] = (),
    watchers: Sequence[Monitor] = (),
) -> list[Solution]:
    """`carry_out` for each problem and its plan; with a folder each, going on from what is saved there.

    Plans that differ in their seed only are one search, in the folder of the seed that makes it, or of the first.
    """
    began = time.monotonic()
    places: Sequence[Path | None] = folders or [None] * len(plans)

    def run(runs: Sequence[tuple[int, str | int, Plan]]) -> list[Trained]:
        """Each, by the folder and the watcher of the plan at its place."""
        where = [i for i, *_ in runs]
        inside = [_candidate_folder(folders[i], plans[i], name) for i, name, _ in runs if folders]
        watching = [watchers[i] for i in where if watchers]
        variants = [plan for *_, plan in runs]
        return train_many([problems[i] for i in where], variants, monitor, together, inside, watching)

    told: dict[int, list[dict[str, Any]]] = {}
    ends: dict[int, Trained] = {}
    hosts: dict[int, list[int]] = {}
    for members in _searches(problems, plans):
        known = next((found for i in members if (found := _search(places[i], plans[i]))), None)
        if known:
            told |= dict.fromkeys(members, known)
        else:
            hosts[next((i for i in members if plans[i].scouts), members[0])] = members
    runs = [(i, number, plan) for i in hosts for number, plan in enumerate(plans[i].candidates, 1)]
    trials: dict[int, list[Trained]] = {}
    for (host, *_), trained in zip(runs, run(runs), strict=True):
        trials.setdefault(host, []).append(trained)
    for host, members in hosts.items():
        told |= dict.fromkeys(members, _told(problems[host], plans[host], trials[host]))
        if plans[host].scouts:
            ends[host] = trials[host][_choice(told[host])]
    rest = [i for i in range(len(plans)) if i not in ends]
    settled = []
    for i in rest:
        best, scouts = _choice(told[i]), plans[i].scouts  # a scout goes on where it was as a candidate
        settled.append((i, best + 1 if scouts else "chosen", plans[i].settled[best]))
        if not scouts:
            write_search(places[i], told[i])
    ends |= dict(zip(rest, run(settled), strict=True))
    each = (time.monotonic() - began) / max(len(plans), 1)
    solutions = [_measured(problems[i], plan, ends[i], told[i], each) for i, plan in enumerate(plans)]
    for solution, folder in zip(solutions, places, strict=True):
        _estimate(solution, monitor, None if folder is None else _former_estimate(folder))
        if folder is not None:
            solution.save(folder)
    return solutions


def _searches(problems: Sequence[Problem], plans: Sequence[Plan]) -> list[list[int]]:
    """The places of plans that differ in their seed only and have variants; of any other, each by itself."""
    found: dict[tuple[str, str], list[int]] = {}
    for i, (problem, plan) in enumerate(zip(problems, plans, strict=True)):
        key = (dumps(problem), replace(plan, seed=SCOUT).to_json()) if plan.variants else (str(i), "")
        found.setdefault(key, []).append(i)
    return list(found.values())


def _candidate_folder(folder: Path, plan: Plan, name: str | int) -> Path:
    """Where a candidate of a plan is saved: beside the others, or in the run folder itself if it is the only one."""
    if not plan.variants:
        return folder
    inside = folder / f"candidate-{name}"
    inside.mkdir(exist_ok=True)
    return inside


def _search(folder: Path | None, plan: Plan) -> list[dict[str, Any]] | None:
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


def _choice(told: Sequence[dict[str, Any]]) -> int:
    """Which of the candidates was chosen: the only one, if the plan is a single run."""
    return next((i for i, facts in enumerate(told) if facts["chosen"]), 0)


def chosen(problem: Problem, plan: Plan, trials: Sequence[Trained]) -> int:
    """Which of the candidates wins: by the final loss or the held-out residual, after any that diverged.

    The reference is not asked, by construction: a `Trained` knows nothing of it.
    """

    def rank(i: int) -> tuple[bool, float, float]:
        measures = final_loss(problem, plan.candidates[i], trials[i]), _number(trials[i].residual)
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
    return _number(float(np.dot(weights, trained.history[-1, 2:])))


def _told(problem: Problem, plan: Plan, trials: Sequence[Trained]) -> list[dict[str, Any]]:
    """What came of each candidate, and which is chosen; nothing where there is no choice."""
    best = chosen(problem, plan, trials)
    return [
        {
            **variant,
            "loss": final_loss(problem, candidate, trial),
            "residual": _number(trial.residual),
            "outcome": trial.outcome,
            "stop_reason": trial.stop_reason,
            "iterations": sum(record.iterations for record in trial.records),
            "seconds": round(sum(record.seconds for record in trial.records), 3),
            "chosen": trial is trials[best],
        }
        for variant, candidate, trial in zip(plan.variants, plan.candidates, trials, strict=False)
    ]


def _measured(
    problem: Problem, plan: Plan, trained: Trained, told: Sequence[dict[str, Any]], seconds: float
) -> Solution:
    """The solution of the candidate that is chosen first and measured then."""
    solution = Solution(problem, trained.network, plan, trained.history)
    solution.result = result_json(problem, plan, trained, seconds) | {"candidates": list(told)}
    return solution


def _number(value: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if value is not None and math.isfinite(value) else None


def result_json(problem: Problem, plan: Plan, trained: Trained, seconds: float) -> dict[str, Any]:
    """What a run has to say for itself; every number here was measured, none is a setting."""
    measured = errors(problem, trained.network)
    l2re = errors_json(measured, len(problem.unknowns))
    return {
        "problem": problem.name,
        "method": plan.method,
        "recipe": plan.recipe,
        "seed": plan.seed,
        "l2re": {k: _number(v) for k, v in l2re.items()} if isinstance(l2re, dict) else _number(l2re),
        "max_error": _number(measured.max_error),
        "reference_accuracy": measured.floor,
        "estimate": None,
        "residual": _number(measured.held_out.worst),
        "parameters": trained.network.parameters,
        "iterations": sum(record.iterations for record in trained.records),
        "evaluations": sum(record.evaluations for record in trained.records),
        "seconds": round(sum(record.seconds for record in trained.records), 3),
        "wall_seconds": round(seconds, 3),
        "precision": plan.precision,
        "device": device_name(),
        "outcome": trained.outcome,
        "stop_reason": trained.stop_reason,
        "reasons": list(plan.reasons),
        "warnings": list(left_free(problem)),
        "phases": [vars(record) for record in trained.records],
    }
