"""Ablation: which idea lowers the error by which factor? One change at a time, equal processor time for all networks.

    python benchmarks/ablation_accuracy.py results/ablation.json [--minutes 20] [--seconds 8] [--only wave]

Small networks on few points, so that a run takes under a minute on one core: the factors between runs matter, not the
errors themselves. Unless its name says otherwise, a case is `safe-net` (32 features, 8 neurons) by Levenberg–Marquardt
on 1000 points and 100 per condition, seed 0. A network may use `--seconds` of processor time; neither compiling nor
other programs on the machine count. Cases already in the file are not run again.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

import safenet as sn
from safenet.run.checkpoint import write_atomically
from safenet.run.plans import Job
from safenet.solving.door import carry_out
from safenet.solving.plans import plan_for
from safenet.train.phases import Phase
from safenet.train.staging import Stage

PROBLEMS = ("wave", "reaction", "burgers")
NETWORK: dict[str, Any] = {"features": 32, "width": 8}
FIRST = {"features": 16, "width": 6}  # of two stages; the second has the size of the others
POINTS = {"points": 1_000, "condition_points": 100}
MANY = 10**6  # iterations: the clock ends the run
LM = sn.LevenbergMarquardt(MANY)
DIRECT_SECONDS = 60.0  # of processor time; no linear problem comes close to it
LITERAL = {"frequencies": "harmonic", "amplitudes": "unit", "normalise": "point"}

Case = tuple[str, Any]


def trained(options: dict[str, Any], *phases: Phase) -> sn.Train:
    return sn.Train("safe-net", phases, **POINTS, **NETWORK | options)


def cases(linear: bool) -> list[Case]:
    """(name, solver); most cases are compared with the first."""
    direct = (
        {"least squares": sn.LeastSquares(), "modes": sn.Modes()}
        if linear
        else {"marching": sn.March(on="series", tail=1e-3), "cell marching": sn.March(on="cells", tail=1e-6)}
    )
    networks: list[tuple[str, dict[str, Any], tuple[Phase, ...]]] = [
        ("safe-net, LM", {}, (LM,)),
        ("a: literal", LITERAL, (LM,)),
        ("a: + box frequencies", LITERAL | {"frequencies": "box"}, (LM,)),
        ("a: + amplitude decay", {"normalise": "point"}, (LM,)),
        ("b: Adam", {}, (sn.Adam(MANY),)),
        ("b: L-BFGS", {}, (sn.LBFGS(MANY),)),
        ("b: SSBroyden", {}, (sn.SSBroyden(MANY),)),
        ("c: frozen frequencies", {"train_features": False}, (LM,)),
        ("d: hard conditions", {"hard": True}, (LM,)),
        ("e: two stages", FIRST, (sn.LevenbergMarquardt(60), Stage(MANY, **NETWORK))),
        ("f: adaptive points", {}, (replace(LM, resample=20),)),
    ]
    return [
        *((name, trained(options, *phases)) for name, options, phases in networks),
        *((f"g: {name}", solver) for name, solver in direct.items()),
    ]


class Deadline(sn.Monitor):
    """Ctrl-C after `seconds` of processor time, not counting each phase's time up to the end of its first step."""

    def __init__(self, seconds: float, direct: bool) -> None:
        self.seconds, self.used = seconds, 0.0
        self.last = time.process_time() if direct else None

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        if detail == "compiling":
            self.last = None

    def losses(self, iteration: int, total: int, loss: float, terms: Any) -> None:
        self._look()

    def step(self, iteration: int, loss: float) -> None:
        self._look()

    def _look(self) -> None:
        now = time.process_time()
        self.used += 0.0 if self.last is None else now - self.last
        self.last = now
        if self.used > self.seconds:
            raise KeyboardInterrupt


def run(name: str, case: Case, seconds: float) -> dict[str, Any]:
    """Run one case until it ends or its time is up."""
    problem = sn.library.problem(name)
    _, solver = case
    direct = not isinstance(solver, sn.Train)
    watch = Deadline(DIRECT_SECONDS if direct else seconds, direct)
    result = carry_out([Job(problem, plan_for(problem, solver))], watch, estimate=False)[0].result
    facts = ("l2re", "residual", "parameters", "iterations", "evaluations", "seconds", "outcome")
    return {fact: getattr(result, fact) for fact in facts} | {"processor_seconds": round(watch.used, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seconds", type=float, default=8.0, help="processor time of a network's training")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--note", default="", help="what to know about the machine, e.g. «cores were shared»")
    given = parser.parse_args()
    store: dict[str, Any] = json.loads(given.store.read_text()) if given.store.exists() else {"runs": {}}
    store |= {
        "what": f"seed 0, float64, 1000 points and 100 per condition, {given.seconds:g} s of processor time a network",
        "command": f"python benchmarks/ablation_accuracy.py results/{given.store.name} --seconds {given.seconds:g}",
        "commit": os.environ.get("COMMIT", ""),
        "device": str(jax.devices()[0].device_kind),
        "note": given.note,
        "jax": jax.__version__,
        "date": datetime.date.today().isoformat(),
    }
    deadline = time.monotonic() + 60 * given.minutes
    every = [(f"{p}, {case[0]}", p, case) for p in PROBLEMS for case in cases(sn.library.problem(p).linear)]
    for name, problem, case in every:
        if name in store["runs"] or given.only not in name or time.monotonic() > deadline:
            continue
        try:
            store["runs"][name] = run(problem, case, given.seconds)
        except sn.SafeNetError as error:
            store["runs"][name] = {"outcome": "failed", "stop_reason": str(error)}
        given.store.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(given.store, (json.dumps(store, indent=1) + "\n").encode())
        print(f"{name:<40} {json.dumps(store['runs'][name])}", flush=True)


if __name__ == "__main__":
    main()
