"""Does the paper's description train? Schedule 1 in full, one seed, float32 and float64, with loss and error curves.

    python benchmarks/does_it_train.py results/does-it-train.json [--runs runs/train] [--workers 4] [--minutes 9]

Cases already in the file are not run again; one that was stopped is continued from its run folder by a later call.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

POINTS = 200  # points kept of each curve
ADAM = {"adam": 0, "lbfgs": 30_000}  # iterations before each phase


def cases() -> list[dict[str, Any]]:
    """Four methods on two problems, and the literal network with either normalisation and either k (frequencies)."""
    base = [
        {"problem": problem, "method": method, "precision": precision}
        for precision in ("float32", "float64")
        for problem in ("wave", "burgers")
        for method in ("safe-net-literal", "safe-net", "pinn", "rbf-p")
    ]
    # On wave, the length is 1, so k = 1 and k = L are the same.
    variants = [("wave", "batch", "1"), *(("burgers", n, k) for n in ("point", "batch") for k in ("1", "L"))]
    literal = [
        {"problem": p, "method": "safe-net-literal", "precision": "float32", "normalise": n, "k": k}
        for p, n, k in variants
        if (p, n, k) != ("burgers", "point", "L")  # already in `base`: the paper's rule gives it
    ]
    return [*base[:8], *literal, *base[8:]]


def name(case: dict[str, Any]) -> str:
    return " ".join(str(value) for value in case.values())


def run(case: dict[str, Any], scale: float, folder: Path) -> dict[str, Any]:
    """Run one case in this process, from the beginning or from where it was stopped."""
    import numpy as np

    import safenet as sn
    from safenet.measure.scores import errors

    problem = sn.library.problem(case["problem"])
    errors_file = folder / "errors.json"
    curve: list[tuple[int, float]] = json.loads(errors_file.read_text()) if errors_file.exists() else []

    class Watch(sn.Monitor):
        iteration = done = 0
        looked = 0.0

        def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
            self.done, self.iteration = ADAM[name] * scale, 0

        def losses(self, iteration: int, total: int, loss: float, terms: Any) -> None:
            self.iteration = iteration

        def network(self, current: Any) -> None:
            if time.monotonic() - self.looked > 2:
                measured = errors(problem, current())
                curve.append((round(self.done) + self.iteration, float(f"{measured.l2re:.3e}")))
                self.looked = time.monotonic()
                errors_file.write_text(json.dumps(curve))

    options = {key: value for key, value in case.items() if key not in ("problem", "method")}
    if (folder / "plan.json").exists():
        solution = sn.resume(folder, monitor=Watch())
    else:
        training = sn.Train(case["method"], "paper-1", scale=scale, **options)
        solution = sn.solve(problem, training, monitor=Watch(), out=folder)
    rows = solution.history[np.unique(np.linspace(0, len(solution.history) - 1, POINTS).astype(int)), :2]
    result = solution.result.to_json()
    facts = ("l2re", "residual", "parameters", "iterations", "evaluations", "seconds", "outcome", "device")
    phases = [
        {
            key: phase[key]
            for key in ("name", "iterations", "evaluations", "seconds", "outcome", "stop_reason")
        }
        for phase in result["phases"]
    ]
    return {
        **case,
        **{fact: result[fact] for fact in facts},
        "phases": phases,
        "loss": [[int(i), float(f"{total:.3e}")] for i, total in rows],
        "error": curve,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--runs", type=Path, default=Path("runs/train"))
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        case = json.loads(given.case)
        print(json.dumps(run(case, given.scale, given.runs / name(case).replace(" ", "-"))))
        return
    import jax

    store = json.loads(given.store.read_text()) if given.store.exists() else {"runs": {}}
    store |= {
        "what": "schedule 1 in full: 30k Adam, 10k L-BFGS; 20k + 2k points per condition, seed 0",
        "command": "python benchmarks/does_it_train.py results/does-it-train.json",
        "commit": os.environ.get("COMMIT", ""),
        "device": str(jax.devices()[0].device_kind),
        "jax": jax.__version__,
        "date": datetime.date.today().isoformat(),
    }
    todo = [case for case in cases() if given.only in name(case) and name(case) not in store["runs"]]
    deadline = time.monotonic() + 60 * given.minutes

    def work(case: dict[str, Any]) -> None:
        if time.monotonic() > deadline:
            return
        command = [sys.executable, __file__, str(given.store)]
        command += ["--scale", str(given.scale), "--runs", str(given.runs)]
        environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        try:
            done = subprocess.run(
                [*command, "--case", json.dumps(case)],
                capture_output=True,
                text=True,
                env=environment,
                timeout=max(5.0, deadline - time.monotonic()),
            )
        except subprocess.TimeoutExpired:
            print(f"{name(case):<40} stopped, to be continued", flush=True)
            return
        if done.returncode:
            print(f"{name(case):<40} failed: {done.stderr[-600:]}", flush=True)
            return
        result = json.loads(done.stdout.splitlines()[-1])
        store["runs"][name(case)] = result
        given.store.parent.mkdir(parents=True, exist_ok=True)
        given.store.write_text(json.dumps(store))
        stops = "; ".join(f"{p['name']} {p['iterations']} {p['outcome']}" for p in result["phases"])
        print(f"{name(case):<40} {result['l2re']:.2e}  {result['seconds']:.0f} s  {stops}", flush=True)

    with ThreadPoolExecutor(given.workers) as pool:
        list(pool.map(work, todo))


if __name__ == "__main__":
    main()
