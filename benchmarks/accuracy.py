"""How accurate is `safenet solve P`, how long does it take, and does it know how accurate it is?

    python benchmarks/accuracy.py results/accuracy.json --machine "two cores" [--repeats 3] [--only TEXT] [--minutes 9]

Default solves of every problem with a known solution, each in a process of its own: error, estimated error, held-out
residual, processor seconds of the solve (without imports; wall-clock seconds are stored, too). Problems that the file
already has for the machine are not run again. The exact solution is read only to score the result.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

# relative L2 errors: the paper's best by any method, the best published, our aims on an H200 and on two cores
AIMS: dict[str, tuple[float | None, float | None, float, float]] = {
    "wave": (9.8e-4, 1e-11, 1e-10, 1e-10),
    "wave-hard": (None, None, 1e-6, 1e-6),
    "convection": (3.8e-3, None, 1e-10, 1e-10),
    "convection-50": (None, 5.4e-6, 1e-8, 1e-6),
    "reaction": (8.8e-3, 2.9e-5, 1e-8, 1e-6),
    "diffusion": (8.2e-5, None, 1e-10, 1e-10),
    "nh-heat": (2.1e-4, None, 1e-9, 1e-9),
    "heat2d": (3.6e-4, 6.2e-2, 1e-8, 1e-6),
    "burgers": (2.9e-4, 1.6e-8, 1e-8, 1e-5),
    "allen-cahn": (7.3e-5, 9.4e-7, 1e-6, 1e-4),
    "backstep": (2.1e-1, 8.2e-2, 5e-3, 5e-2),
}
OTHERS = ("convection-30", "reaction-10", "heat-bump", "burgers-two", "helmholtz", "four-holes", "cavity")
# Problem files of the repository with an exact solution; nobody's table has them.
EXAMPLES = ("kdv", "kdv-periodic", "klein-gordon", "poisson-neumann")


def child(name: str) -> dict[str, Any]:
    """A default solve in this process."""
    import safenet as sn
    from safenet.run.result import pooled

    path = Path(__file__).parents[1] / "examples" / f"{name}.toml"
    problem = sn.read(path) if name in EXAMPLES else sn.library.problem(name)
    began, used = time.perf_counter(), time.process_time()
    result = sn.solve(problem).result.to_json()
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    kept = ("reference_accuracy", "residual", "parameters", "outcome", "stop_reason")
    return {
        "l2re": pooled(result["l2re"]),
        "estimate": pooled(result["estimate"]),
        "seconds": round(seconds, 2),
        "cpu": round(cpu, 2),
        **{key: result[key] for key in kept},
        "phases": [
            {key: phase[key] for key in ("name", "residual", "seconds", "outcome")}
            for phase in result["phases"]
        ],
    }


def measure(name: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", name]
    found: dict[str, Any] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return found


def summary(name: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the runs, and the last run's phases."""
    medians = {
        key: statistics.median(run[key] for run in runs)
        for key in ("l2re", "estimate", "residual", "seconds", "cpu", "parameters")
        if all(run[key] is not None for run in runs)
    }
    paper, published, *aims = AIMS.get(name, (None, None))
    # Below the accuracy of the reference, the ratio would compare with the reference's own error.
    floor = runs[0]["reference_accuracy"] or 0.0
    ratio = medians["estimate"] / medians["l2re"] if {"l2re", "estimate"} <= medians.keys() else None
    return {
        **medians,
        "estimate/l2re": ratio if ratio and medians["l2re"] > max(2 * floor, 1e-14) else None,
        "repeats": len(runs),
        "spread": [min(run["l2re"] for run in runs), max(run["l2re"] for run in runs)],
        "paper": paper,
        "published": published,
        "aims": aims,
        "outcome": runs[-1]["outcome"],
        "stop_reason": runs[-1]["stop_reason"],
        "phases": runs[-1]["phases"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("--machine", help="what the results are kept under")
    parser.add_argument("--repeats", type=int, default=3, help="of a solve; the median is kept")
    parser.add_argument("--only", default="")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(child(given.child)))
        return
    if given.store is None or given.machine is None:
        parser.error("say where the results are kept, and the machine they are kept under")

    store = json.loads(given.store.read_text()) if given.store.exists() else {"machines": {}}
    machine = store["machines"].setdefault(given.machine, {"runs": {}})
    machine |= {
        "command": f'python benchmarks/accuracy.py results/accuracy.json --machine "{given.machine}"',
        "commit": os.environ.get("COMMIT", ""),
        "cores": os.cpu_count(),
        "date": datetime.date.today().isoformat(),
    }
    deadline = time.monotonic() + 60 * given.minutes
    for name in (*AIMS, *OTHERS, *EXAMPLES):
        if given.only not in name or name in machine["runs"]:
            continue
        runs = []
        for _ in range(given.repeats):
            if time.monotonic() > deadline:
                break
            runs.append(measure(name))
            # Direct solvers use no random numbers: two long runs that agree to the bit are enough.
            if len(runs) == 2 and runs[0]["cpu"] > 15 and runs[0]["l2re"] == runs[1]["l2re"]:
                break
        if runs:
            machine["runs"][name] = found = summary(name, runs)
            given.store.write_text(json.dumps(store, indent=1))
            print(
                f"{name:<16} {found['l2re']:.1e}  estimated {found.get('estimate', float('nan')):.1e}  "
                f"{found['cpu']:.1f} s of the processor  {len(runs)} runs",
                flush=True,
            )


if __name__ == "__main__":
    main()
