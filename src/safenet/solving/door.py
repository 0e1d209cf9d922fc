"""problem → solution: plan, train, choose, measure. The one door that the command line and Python share."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import jax

from ..backend import device_name
from ..direct.direct import FAILED
from ..errors import SafeNetError, SafeNetWarning
from ..measure.estimate import adrift, estimated, missed_data
from ..measure.finite import check_finite
from ..problem import Problem
from ..problem.facts.posedness import doubts
from ..problem.toml import dumps
from ..run.checkpoint import unpack, write_atomically
from ..run.progress import Lines, Monitor
from ..solution import Solution, errors, errors_json, read_plan, read_problem, undamaged
from ..train.batch import train_many
from ..train.optimisers.adam import Adam
from ..train.recipes import Plan, make_plan
from ..train.run import GIVEN_UP, Trained, train
from .candidates import (
    SEARCH,
    candidate_folder,
    chosen_index,
    finite_or_none,
    known_search,
    searches,
    told_of,
    write_search,
)
from .old_budget import Deadline, Spent
from .old_budget import seconds as budget_seconds

OUT_OF_TIME = "out of time"  # the outcome of a run that its budget has stopped


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
    domain, k, embedding, weighting, …; and `budget`, seconds or a text such as "5m": when it is spent, the best so far
    comes back.

    `monitor` is told of the progress: by default lines on standard error after two seconds, `Monitor()` is silent.
    """
    began = time.monotonic()
    _examine(problem)
    plan = make_plan(problem, method_name=method, recipe=recipe, seed=seed, **options)
    folder = None if out is None or jax.process_index() else prepare(Path(out), problem, plan, force)
    watch = _watcher(monitor)
    if options.get("budget") is not None:
        watch = Deadline(watch, budget_seconds(str(options["budget"])), began)
    return _warned(carry_out(problem, plan, watch, folder, began=began))


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
    the order of the solutions, each to be loaded or resumed alone. A `budget` sets sizes here; no clock stops a run.
    """
    problems = [problems] if isinstance(problems, Problem) else list(problems)
    for problem in problems:
        _examine(problem)
    runs = []
    for problem, rate, seed in product(problems, tuple(rates) or (None,), seeds):
        plan = make_plan(problem, method_name=method, recipe=recipe, seed=seed, **options)
        runs.append((problem, plan if rate is None else _at_rate(plan, rate)))
    folders = []
    if out is not None and not jax.process_index():
        folders = [prepare(Path(out) / str(i), *run, force) for i, run in enumerate(runs)]
    watch = _watcher(monitor)
    solutions = carry_out_many([run[0] for run in runs], [run[1] for run in runs], watch, together, folders)
    return [_warned(solution) for solution in solutions]


def _watcher(monitor: Monitor | None) -> Monitor:
    """Who is told of the progress: of several processes only the first speaks unasked."""
    if monitor is not None:
        return monitor
    return Monitor() if jax.process_index() else Lines()


def _examine(problem: Problem) -> None:
    """Before anything is computed: what cannot be computed is refused, doubts are told."""
    check_finite(problem)
    for text in doubts(problem):
        warnings.warn(f"{problem.name}: {text}", SafeNetWarning, stacklevel=3)


def _warned(solution: Solution) -> Solution:
    """The solution, with a warning where the solve itself found it wanting."""
    result, said = solution.result, doubts(solution.problem)
    found = [text for text in result["warnings"] if text not in said]
    missed = solution.plan.recipe == "default" and (result["residual"] or 0.0) > FAILED
    if result["outcome"] == GIVEN_UP:
        found.append(result["stop_reason"])
    elif missed and result["outcome"] != "interrupted":
        found.append(f"not solved: its own equations or conditions are missed by {result['residual']:.0%}")
    for text in found:
        warnings.warn(f"{solution.problem.name}: {text}", SafeNetWarning, stacklevel=3)
    return solution


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
    return _warned(carry_out(problem, plan, _watcher(monitor), folder, resuming=True))


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
    problem: Problem,
    plan: Plan,
    monitor: Monitor | None,
    folder: Path | None,
    resuming: bool = False,
    began: float | None = None,
) -> Solution:
    """Train every candidate of the plan, one after another, each in a folder of its own if there are several.

    Where another seed tries the variants, the one that it chooses follows. The clock started at `began`.
    """
    began = time.monotonic() if began is None else began
    former = _former_result(folder) if resuming and folder is not None else {}
    told = known_search(folder, plan)
    trials: list[Trained] = []
    for number, candidate in enumerate(() if told else plan.candidates, 1):
        inside = None if folder is None else candidate_folder(folder, plan, number)
        trials.append(train(problem, candidate, monitor, inside, resuming))
        if trials[-1].interrupted:
            break
    told = told or told_of(problem, plan, trials)
    if trials and (plan.scouts or trials[-1].interrupted):
        trained = replace(trials[chosen_index(told)], interrupted=trials[-1].interrupted)
    else:
        write_search(folder, told)
        inside = None if folder is None else candidate_folder(folder, plan, "chosen")
        trained = train(problem, plan.settled[chosen_index(told)], monitor, inside, resuming)
    earlier = float(former.get("wall_seconds", 0.0))
    solution = _measured(problem, plan, trained, told, earlier + time.monotonic() - began)
    if isinstance(monitor, Deadline) and monitor.spent:
        solution.result |= _out_of_time(
            monitor.budget, "the best is kept, and a run with a folder can be resumed"
        )
    _estimate(solution, monitor, former)
    if folder is not None and jax.process_index() == 0:
        solution.save(folder)
    return solution


def _estimate(solution: Solution, monitor: Monitor | None, former: Mapping[str, Any]) -> None:
    """By how much a solve of the default recipe that came to its end thinks it is wrong, unless a `former` one said.

    One that was given up has seen the solution end, or jump, and of that no correction knows.
    """
    began, result = time.monotonic(), solution.result
    if solution.plan.recipe != "default" or result["outcome"] in ("interrupted", OUT_OF_TIME, GIVEN_UP):
        return
    try:
        if adrift(solution.problem, solution.network):
            result["warnings"].append(
                "moved along its axis, the solution would meet all conditions as well, to nine digits: where its layer "
                "is they do not say, and no error is estimated; if a symmetry says it, solve one half"
            )
            return
        known, left, since = (former.get(f"estimate{part}") for part in ("", "_left", "_since"))
        if known is None and (found := estimated(solution.problem, solution.network, monitor)):
            known, left, since = found.error, found.left, found.since
        result |= {"estimate": known, "estimate_left": left, "estimate_since": since}
        if data := missed_data(solution.problem, solution.network):
            result["warnings"].append(
                f"the solution is {data.times:.0e} times as large as its data and does not meet them: "
                f"{data.relation.text} is missed by {data.missed:.0%}; the problem has no solution, or nearly none (an "
                "eigenvalue is hit, a condition is on the wrong side, or time runs backwards)"
            )
        elif known is not None and known > FAILED:
            result["warnings"].append(f"the error is estimated at {known:.0%} of the solution")
    except Spent:
        assert isinstance(monitor, Deadline)
        result |= _out_of_time(monitor.budget, "the solution is complete, its error was not estimated")
    except KeyboardInterrupt:
        result |= {
            "outcome": "interrupted",
            "stop_reason": "Interrupted while the error was estimated; "
            "the solution is complete, and a run with a folder can be resumed.",
        }
    result["wall_seconds"] = round(result["wall_seconds"] + time.monotonic() - began, 3)


def _out_of_time(budget: float, left: str) -> dict[str, str]:
    """What a run says that its budget has stopped."""
    return {"outcome": OUT_OF_TIME, "stop_reason": f"The budget of {budget:g} s is spent; {left}."}


def _former_result(folder: Path) -> dict[str, Any]:
    """What a run says of itself that came to a result before."""
    path = folder / "result.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


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
        inside = [candidate_folder(folders[i], plans[i], name) for i, name, _ in runs if folders]
        watching = [watchers[i] for i in where if watchers]
        variants = [plan for *_, plan in runs]
        return train_many([problems[i] for i in where], variants, monitor, together, inside, watching)

    told: dict[int, list[dict[str, Any]]] = {}
    ends: dict[int, Trained] = {}
    hosts: dict[int, list[int]] = {}
    for members in searches(problems, plans):
        known = next((found for i in members if (found := known_search(places[i], plans[i]))), None)
        if known:
            told |= dict.fromkeys(members, known)
        else:
            hosts[next((i for i in members if plans[i].scouts), members[0])] = members
    runs = [(i, number, plan) for i in hosts for number, plan in enumerate(plans[i].candidates, 1)]
    trials: dict[int, list[Trained]] = {}
    for (host, *_), trained in zip(runs, run(runs), strict=True):
        trials.setdefault(host, []).append(trained)
    for host, members in hosts.items():
        told |= dict.fromkeys(members, told_of(problems[host], plans[host], trials[host]))
        if plans[host].scouts:
            ends[host] = trials[host][chosen_index(told[host])]
    rest = [i for i in range(len(plans)) if i not in ends]
    settled = []
    for i in rest:
        best, scouts = chosen_index(told[i]), plans[i].scouts  # a scout goes on where it was as a candidate
        settled.append((i, best + 1 if scouts else "chosen", plans[i].settled[best]))
        if not scouts:
            write_search(places[i], told[i])
    ends |= dict(zip(rest, run(settled), strict=True))
    each = (time.monotonic() - began) / max(len(plans), 1)
    solutions = [_measured(problems[i], plan, ends[i], told[i], each) for i, plan in enumerate(plans)]
    for solution, folder in zip(solutions, places, strict=True):
        _estimate(solution, monitor, {} if folder is None else _former_result(folder))
        if folder is not None:
            solution.save(folder)
    return solutions


def _measured(
    problem: Problem, plan: Plan, trained: Trained, told: Sequence[dict[str, Any]], seconds: float
) -> Solution:
    """The solution of the candidate that is chosen first and measured then."""
    solution = Solution(problem, trained.network, plan, trained.history)
    solution.result = result_json(problem, plan, trained, seconds) | {"candidates": list(told)}
    return solution


def result_json(problem: Problem, plan: Plan, trained: Trained, seconds: float) -> dict[str, Any]:
    """What a run has to say for itself; every number here was measured, none is a setting."""
    measured = errors(problem, trained.network)
    l2re = errors_json(measured, len(problem.unknowns))
    return {
        "problem": problem.name,
        "method": plan.method,
        "recipe": plan.recipe,
        "seed": plan.seed,
        "l2re": {k: finite_or_none(v) for k, v in l2re.items()}
        if isinstance(l2re, dict)
        else finite_or_none(l2re),
        "max_error": finite_or_none(measured.max_error),
        "reference_accuracy": measured.floor,
        "estimate": None,
        "estimate_left": None,
        "estimate_since": None,
        "residual": finite_or_none(measured.held_out.worst),
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
        "warnings": list(doubts(problem)),
        "phases": [vars(record) for record in trained.records],
    }
