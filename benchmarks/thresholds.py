"""Which problem depends on which threshold? Each is halved and doubled in turn, and everything is solved again.

    python -m benchmarks.thresholds results/thresholds.json [--only AIM] [--problems wave] [--longest 5]
                                                            [--workers 9] [--minutes 30]

The thresholds are those of direct solves: safenet.direct.thresholds, safenet.measure.thresholds and
safenet.solving.thresholds. The problems are those of the library and of examples/ whose default solve takes less than
`--longest` seconds. A problem has changed if its outcome or its work (iterations, evaluations, coefficients) has, or
its error or residual by more than 10 %, above rounding. Runs already in the file are not repeated; seconds are not
compared. After `--minutes` the processes are killed, and the same command continues.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import subprocess
import sys
import time
import warnings
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

from . import workers

MODULES = ("direct", "measure", "solving")
FACTORS = {"halved": 0.5, "doubled": 2.0}
EXAMPLES = Path(__file__).parents[1] / "examples"
ROUNDING = 1e-12  # errors and residuals below this are all the same
START = 120.0  # seconds for imports, the estimate and the reference
CHANGED = 1.1  # a number this many times as large or as small has changed


def module(family: str) -> Any:
    return importlib.import_module(f"safenet.{family}.thresholds")


def thresholds() -> dict[str, Any]:
    """{"direct.AIM": 0.3, …}: numbers, and tuples and dicts of numbers."""
    found = {}
    for family in MODULES:
        for name, value in vars(module(family)).items():
            if name.isupper() and isinstance(value, (int, float, tuple, dict)):
                found[f"{family}.{name}"] = value
    return found


def scaled(value: Any, factor: float) -> Any:
    """The value times the factor; an integer stays an integer, at least 1."""
    if isinstance(value, dict):
        return {key: scaled(part, factor) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(scaled(part, factor) for part in value)
    return max(1, round(factor * value)) if isinstance(value, int) else factor * value


def problems() -> list[str]:
    from safenet import library

    return [*library.names(), *sorted(str(path) for path in EXAMPLES.glob("*.toml"))]


def solved(name: str) -> dict[str, Any]:
    """The result of a default solve."""
    import safenet as sn

    problem = sn.read(name) if name.endswith(".toml") else sn.library.problem(name)
    try:
        result = sn.solve(problem, monitor=sn.Monitor()).result
    except Exception as error:  # a threshold may make a solver fail: that is a finding
        return {"outcome": f"{type(error).__name__}: {error}"}
    l2re = result.l2re["pooled"] if isinstance(result.l2re, dict) else result.l2re
    return {
        "outcome": str(result.outcome),
        "error": l2re,
        "residual": result.residual,
        "work": [result.iterations, result.evaluations, result.parameters],
        "seconds": result.seconds,  # of the solver alone: a new process spends time on imports
    }


def child(changes: dict[str, float], names: list[str]) -> None:
    """Set the thresholds before importing anything that uses them, then solve; print a line of JSON per problem."""
    for key, factor in changes.items():
        family, name = key.split(".")
        setattr(module(family), name, scaled(getattr(module(family), name), factor))
    warnings.simplefilter("ignore")
    for name in names:
        print(json.dumps({"problem": name, **solved(name)}), flush=True)


def run(task: tuple[str, dict[str, float], list[str], float, float]) -> tuple[str, dict[str, Any]]:
    """(name, {problem: result}) from a process of its own, which is killed after its time limit."""
    name, changes, names, seconds, until = task
    left = until - time.time()
    if left <= 0:
        return name, {}
    command = [sys.executable, "-m", "benchmarks.thresholds", "--child", json.dumps([changes, names])]
    missing = {"outcome": "takes too long"} if seconds < left else None  # None: the deadline came first
    try:
        text = subprocess.run(
            command, capture_output=True, text=True, timeout=min(seconds, left), check=True
        ).stdout
    except subprocess.TimeoutExpired as late:
        text = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
    whole = [line for line in text.splitlines(keepends=True) if line.endswith("\n")]
    found = {line.pop("problem"): line for line in map(json.loads, whole)}
    # The first missing problem was cut off; those after it were not tried.
    first = next((each for each in names if each not in found), None)
    return name, found | ({first: missing} if first is not None and missing is not None else {})


def difference(before: dict[str, Any], after: dict[str, Any]) -> str:
    """«error ×3.1, work ×1.4»; empty if nothing has changed."""
    if before["outcome"] != after["outcome"]:
        return f"{before['outcome']} → {after['outcome']}"
    said = []
    for part in ("error", "residual"):
        old, new = (max(one.get(part) or 0.0, ROUNDING) for one in (before, after))
        if not 1 / CHANGED < new / old < CHANGED:
            said.append(f"{part} ×{new / old:.2g}")
    if before.get("work") != after.get("work"):
        old, new = (math.prod(one.get("work") or [1]) for one in (before, after))
        said.append(f"work ×{(new / max(old, 1)) ** (1 / 3):.2g}")
    return ", ".join(said)


def row(key: str, value: Any, runs: dict[str, Any], base: dict[str, Any]) -> str:
    cells = []
    for way in FACTORS:
        found = runs.get(f"{key} {way}")
        if not found:
            cells.append("not run")
            continue
        changes = {Path(p).stem: difference(base[p], r) for p, r in found.items() if base.get(p)}
        cells.append("; ".join(f"{p}: {text}" for p, text in changes.items() if text) or "–")
    return f"| {key} | {value} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("--only", default="", help="thresholds whose name contains this")
    parser.add_argument("--problems", default="", help="problems whose name contains this")
    parser.add_argument("--longest", type=float, default=5.0, help="seconds of a default solve")
    parser.add_argument("--workers", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--minutes", type=float, default=60.0, help="end by then")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(*json.loads(given.child))
        return
    if given.store is None:
        parser.error("say where the results are kept, e.g. results/thresholds.json")
    kept = json.loads(given.store.read_text()) if given.store.exists() else {"runs": {}}
    kept["code"] = sorted({*kept.get("code", []), workers.code()})
    until = time.time() + 60 * given.minutes
    workers.one_thread()

    def keep(asked: dict[str, tuple[dict[str, float], list[str], float]]) -> None:
        """Run what is missing, and save it; repeat, as a process ends at the first problem that takes too long."""
        while time.time() < until:
            tasks = []
            for name, (changes, names, seconds) in asked.items():
                left = [each for each in names if each not in kept["runs"].get(name, {})]
                if left:
                    tasks.append((name, changes, left, seconds, until))
            if not tasks:
                break
            with ThreadPool(given.workers) as pool:
                for name, found in pool.imap_unordered(run, tasks):
                    kept["runs"].setdefault(name, {}).update(found)
                    given.store.write_text(json.dumps(kept, indent=1))

    named = [name for name in problems() if given.problems in Path(name).stem]
    # One by one: a single long solve must not end the others.
    alone = {f"as they are: {name}": ({}, [name], START + 10 * given.longest) for name in named}
    keep(alone)
    base = {name: kept["runs"].get(f"as they are: {name}", {}).get(name, {}) for name in named}
    names = [name for name in named if base[name].get("seconds", math.inf) < given.longest]
    limit = START + 10 * sum(base[name]["seconds"] for name in names)
    chosen = {key: value for key, value in thresholds().items() if given.only in key}
    keep({f"{key} {way}": ({key: factor}, names, limit) for key in chosen for way, factor in FACTORS.items()})
    print(f"{len(names)} problems\n\n| threshold | value | halved | doubled |\n|---|---|---|---|")
    for key, value in chosen.items():
        print(row(key, value, kept["runs"], base))


if __name__ == "__main__":
    main()
