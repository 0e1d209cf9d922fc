"""Shapes in space, regions in time, many dimensions, shocks: errors and times beside goals and references.

    python -m benchmarks.beyond [results/beyond.json] [--only TEXT] [--budget 3000s]

Each case is a process of its own, imports included: `wall` and `cpu` (of all cores together) are those of the solve,
without the reference. `error` is measured against a reference, `estimated` is the solve's own estimate. `--budget`
replaces each case's own, for a machine shared with other programs: there `cpu` is what counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from .cases import CASES


def solved(name: str, budget: str | None = None) -> dict[str, Any]:
    import safenet as sn
    from safenet.bench.work import commit
    from safenet.run.device import device_name

    case = CASES[name]
    began, cpu = time.monotonic(), time.process_time()
    problem = sn.read(case.file)
    if case.parameters:
        problem = problem.with_parameters(**dict(case.parameters))
    solver: Any = sn.Train() if case.solver == "train" else case.solver
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = sn.solve(problem, solver, budget=budget or case.budget)
    row: dict[str, Any] = {
        "name": name,
        "command": f"python -m benchmarks.beyond results/beyond.json --only {name!r}",
        "commit": commit(),
        "device": f"{device_name()}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.0f}",
        "date": time.strftime("%Y-%m-%d"),
        "budget": budget or case.budget,
        "outcome": str(solution.result.outcome),
        "wall": round(time.monotonic() - began, 1),
        "cpu": round(time.process_time() - cpu, 1),
        "estimated": solution.result.estimate,
        "residual": solution.result.residual,
    }
    try:
        row["scores"] = {key: float(value) for key, value in case.score(solution).items()}
    except Exception as error:  # a run that was given up lacks values in places
        row["scores"], row["missing"] = {}, f"{type(error).__name__}: {error}"[:200]
    return row


def told(row: dict[str, Any]) -> str:
    case, scores = CASES[row["name"]], row.get("scores", {})
    parts = [
        f"{key} {scores[key]:.1e} (goal {goal:.0e})"
        if key in scores
        else f"{key} not known (goal {goal:.0e})"
        for key, goal in case.goals.items()
    ]
    met = all(key in scores and scores[key] <= goal for key, goal in case.goals.items())
    time_of = f"{row.get('wall', '?')} s wall, {row.get('cpu', '?')} s CPU (goal {case.seconds:g} s)"
    return (
        f"{'met   ' if met else 'MISSED'} {row['name']:<36} {', '.join(parts)}; {time_of}; {row['outcome']}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", nargs="?", help="a JSON file that keeps the rows")
    parser.add_argument("--only", default="", help="lines whose names hold this text")
    parser.add_argument("--budget", help="in place of each line's own")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print("ROW " + json.dumps(solved(given.one, given.budget)), flush=True)
        return
    rows = {}
    if given.store and Path(given.store).exists():
        rows = {row["name"]: row for row in json.loads(Path(given.store).read_text("utf-8"))}
    for name in (name for name in CASES if given.only in name):
        words = ["--one", name, *(["--budget", given.budget] if given.budget else [])]
        run = subprocess.run(
            [sys.executable, "-m", "benchmarks.beyond", *words], capture_output=True, text=True
        )
        found = [line[4:] for line in run.stdout.splitlines() if line.startswith("ROW ")]
        rows[name] = (
            json.loads(found[0]) if found else {"name": name, "outcome": f"failed: {run.stderr[-300:]}"}
        )
        print(told(rows[name]), flush=True)
        if given.store:
            Path(given.store).write_text(json.dumps(list(rows.values()), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
