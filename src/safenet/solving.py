"""problem → solution: plan, train, measure. The one door that the command line and Python share."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from .backend import device_name
from .errors import SafeNetError
from .problem import Problem
from .problem.toml import dumps
from .solution import Solution, errors, errors_json, read_plan, read_problem, undamaged
from .training.checkpoint import unpack, write_atomically
from .training.progress import Monitor
from .training.recipes import Plan, make_plan
from .training.run import Trained, train


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

    `options`: precision, scale (of the iterations), interior, condition (numbers of points), sampler, and the
    network's: features, width, depth, activation, frequencies, amplitudes, normalise, domain.
    """
    plan = make_plan(problem, method_name=method, recipe=recipe, seed=seed, **options)
    folder = None if out is None else prepare(Path(out), problem, plan, force)
    return carry_out(problem, plan, monitor, folder)


def resume(folder: str | Path, *, monitor: Monitor | None = None) -> Solution:
    """Go on with an interrupted run: the result is that of a run that was never interrupted."""
    folder = Path(folder)
    problem, plan = read_problem(folder), read_plan(folder)
    checkpoint = folder / "checkpoint.npz"
    if checkpoint.exists():
        with undamaged(checkpoint, "remove it, and --resume starts the same plan from the beginning"):
            unpack(checkpoint)
    return carry_out(problem, plan, monitor, folder, resuming=True)


def prepare(folder: Path, problem: Problem, plan: Plan, force: bool) -> Path:
    """A run folder with the problem and the plan, so that a kill at any moment leaves something to resume."""
    texts = {"problem.toml": dumps(problem), "plan.json": plan.to_json()}
    try:
        _check_free(folder, force)
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("checkpoint.npz", "solution.npz", "result.json"):
            (folder / name).unlink(missing_ok=True)
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
    began = time.monotonic()
    trained = train(problem, plan, monitor, folder, resuming)
    solution = Solution(problem, trained.network, plan, trained.history)
    solution.result = result_json(problem, plan, trained, time.monotonic() - began)
    if folder is not None:
        solution.save(folder)
    return solution


def result_json(problem: Problem, plan: Plan, trained: Trained, seconds: float) -> dict[str, Any]:
    """What a run has to say for itself; every number here was measured, none is a setting."""
    measured = errors(problem, trained.network)

    def number(value: float | None) -> float | None:
        return value if value is not None and math.isfinite(value) else None

    l2re = errors_json(measured, len(problem.unknowns))
    return {
        "problem": problem.name,
        "method": plan.method,
        "recipe": plan.recipe,
        "seed": plan.seed,
        "l2re": {k: number(v) for k, v in l2re.items()} if isinstance(l2re, dict) else number(l2re),
        "max_error": number(measured.max_error),
        "reference_accuracy": measured.floor,
        "residual": number(measured.held_out.worst),
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
        "phases": [vars(record) for record in trained.records],
    }
