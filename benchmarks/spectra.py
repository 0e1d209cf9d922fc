"""The paper's explanation, measured: spectra after 3k, 30k and 100k iterations of Adam, beside the printed λ_max.

    python benchmarks/spectra.py results/spectra.json --minutes 25 [--scale 0.01]

First what takes how long, then every case at 3k iterations, then the later ones. Each result is written as soon as it
exists; what the file holds is not done again, and training goes on from the states beside it (OUT-states/). `--scale`
multiplies iterations, points, probes and the sizes of the networks, for a trial on a small machine.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import safenet as sn
from safenet.analysis import (
    Spectrum,
    curvature,
    eigenvalue_spectrum,
    feature_grams,
    quadrature_spectrum,
    tangent_kernels,
    widened,
)
from safenet.bench.printed import tables
from safenet.networks.methods import Method, build
from safenet.training.adam import Adam, AdamState
from safenet.training.checkpoint import fill, leaves, pack, unpack, write_atomically
from safenet.training.objective import PhysicsLoss, physics_loss, term_names
from safenet.training.points import Points, sample
from safenet.training.status import Status, sentence
from safenet.training.weighting import weighting

CASES = tuple(
    (problem, method)
    for problem in ("wave", "convection", "burgers")
    for method in ("safe-net-literal", "safe-net", "pinn")
)
STAGES = (3_000, 30_000, 100_000)
POINTS = (20_000, 2_000)
CHUNK = 500  # iterations between two looks at the clock


class Study:
    """The file of results, the clock, and the sizes."""

    def __init__(self, store: Path, minutes: float, scale: float) -> None:
        self.store, self.scale = store, scale
        self.deadline = time.monotonic() + 60 * minutes
        self.found: dict[str, Any] = json.loads(store.read_text()) if store.exists() else {}
        self.found |= {
            "what": "Adam alone, float32; spectra in float64 on the same points; seed 0",
            "command": f"python benchmarks/spectra.py results/{store.name} --scale {scale:g}",
            "commit": os.environ.get("COMMIT", ""),
            "device": str(jax.devices()[0].device_kind),
            "jax": jax.__version__,
            "date": datetime.date.today().isoformat(),
            "points": [self.size(count) for count in POINTS],
        }
        self.cases: dict[tuple[str, str], Case] = {}
        self.found.setdefault("timings", {})
        self.found.setdefault("runs", {})

    def size(self, count: int, least: int = 1) -> int:
        return max(least, round(self.scale * count))

    def network(self, method: Method) -> Method:
        features = self.size(method.features, 16) if method.features else 0
        return replace(method, features=features, width=self.size(method.width, 6))

    @property
    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def keep(self, group: str, name: str, result: dict[str, Any]) -> None:
        self.found[group][name] = result
        self.store.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self.store, (json.dumps(self.found, indent=1) + "\n").encode())
        print(name, json.dumps(result)[:400], flush=True)

    def case(self, problem_name: str, method: str) -> Case:
        """Made once: its programs stay compiled from one stage to the next."""
        folder = self.store.with_name(f"{self.store.stem}-states")
        folder.mkdir(parents=True, exist_ok=True)
        if (problem_name, method) not in self.cases:
            states = folder / f"{problem_name}-{method}.npz"
            self.cases[problem_name, method] = Case(self, problem_name, method, states)
        return self.cases[problem_name, method]


class Case:
    """One network on one problem: trained in float32, looked at in float64."""

    def __init__(self, study: Study, problem_name: str, method: str, states: Path) -> None:
        self.study, self.states = study, states
        self.problem, self.method = sn.library.problem(problem_name), study.network(sn.METHODS[method])
        self.points: Points = sample(self.problem, *(study.size(n, 50) for n in POINTS), "uniform", 0)
        network = build(self.problem, self.method, key=jax.random.key(0), dtype=jnp.float32)
        weights = weighting(self.method)
        self.loss, theta = physics_loss(self.problem, network, self.points, weighting=weights)
        self.wide, _ = physics_loss(self.problem, widened(network), self.points, weighting=weights)
        self.phase = Adam(study.size(STAGES[-1]))
        self.state: AdamState = self.phase.start(self.loss, theta)
        if states.exists():
            self.state = fill(self.state, unpack(states)[0])

    def train(self, iterations: int) -> bool:
        """Up to so many iterations in all; False if the time ends before. A run that broke down stays where it did."""
        while self.runs and int(self.state.iteration) < iterations and not self.study.late:
            count = min(CHUNK, iterations - int(self.state.iteration))
            self.state, _ = self.phase.advance(self.loss, self.state, count)
        write_atomically(self.states, pack(leaves(self.state), {}))
        if int(self.state.iteration) > iterations:
            print(f"{self.states} is beyond {iterations} iterations: remove it to begin again", flush=True)
            return False
        return int(self.state.iteration) == iterations or not self.runs

    @property
    def runs(self) -> bool:
        return int(self.state.status) in (Status.RUNNING, Status.FINISHED)

    def widened(self) -> tuple[PhysicsLoss, Any]:
        """The loss with the weights of the state, and its parameters, in float64."""
        return self.wide.weighted(widened(self.state.weights)), self.state.theta.astype(jnp.float64)

    def look(self) -> dict[str, Any]:
        """Spectra, kernels and Gram matrices at the state's parameters."""
        loss, theta = self.widened()
        network = loss.field(theta)
        names = term_names(self.problem)
        found: dict[str, Any] = {
            "iterations": int(self.state.iteration),
            "status": sentence(self.state.status),
            "loss": float(loss(theta)[0]),
            "l2re": sn.Solution(self.problem, network, sn.Plan()).error().l2re,
            "parameters": int(theta.size),
        }
        for operator in ("hessian", "gauss-newton"):
            spectrum, seconds = timed(
                lambda op=operator: eigenvalue_spectrum(op, curvature(loss, theta, op).dense())
            )
            found[operator] = {**spectrum.to_json(), "decades": decades(spectrum), "seconds": seconds}
        found["terms"] = {}
        for i, name in enumerate(names):
            part = quadrature_spectrum("hessian", curvature(loss, theta, "hessian", i), 2, 60)
            found["terms"][name] = {"lambda_max": part.lambda_max, "lambda_min": part.lambda_min}
        kernels = tangent_kernels(loss, theta, names)
        found["kernels"] = {name: kernel.to_json() for name, kernel in kernels.items()}
        found["grams"] = {name: gram.to_json() for name, gram in feature_grams(self.problem, network).items()}
        return found


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    result = work()
    return result, round(time.perf_counter() - began, 2)


def decades(spectrum: Spectrum) -> dict[str, list[int]]:
    """How many eigenvalues are in each decade, [exponent, positive, negative]: the density without a kernel."""
    values = spectrum.nodes.ravel()
    values = values[np.abs(values) > spectrum.rounding]
    exponents = np.floor(np.log10(np.abs(values))).astype(int)
    return {
        str(e): [int(np.sum((exponents == e) & (values > 0))), int(np.sum((exponents == e) & (values < 0)))]
        for e in sorted(set(exponents.tolist()))
    }


def printed(problem: str, method: str, iterations: int) -> float | None:
    """The paper's λ_max; its SAFE-NET is `safe-net-literal`, and it has none at 30k."""
    for table in tables():
        for cell in table.cells if table.quantity == "lambda_max" else ():
            asked = round(100_000 * cell.options.get("scale", 1.0))
            if (cell.problem, cell.method) == (problem, method) and asked == iterations:
                return cell.value
    return None


def timings(study: Study) -> None:
    """Lanczos with the paper's 100 probes of 200 steps, and all eigenvalues of JᵀJ, on wave; compiled and again."""
    loss, theta = study.case("wave", "safe-net").widened()
    probes, steps = study.size(100), study.size(200, 10)
    programs: dict[str, Callable[[], Spectrum]] = {
        "gauss-newton, dense": lambda: eigenvalue_spectrum(
            "", curvature(loss, theta, "gauss-newton").dense()
        ),
        "hessian, Lanczos": lambda: quadrature_spectrum("", curvature(loss, theta), probes, steps),
        "hessian, dense": lambda: eigenvalue_spectrum("", curvature(loss, theta).dense()),
    }
    for name, program in programs.items():
        if name in study.found["timings"] or study.late:
            continue
        _, first = timed(program)
        spectrum, again = timed(program)
        result = {"seconds": again, "with_compilation": first, "lambda_max": spectrum.lambda_max}
        size = {"products": math.prod(spectrum.nodes.shape)} if not spectrum.exact else {}
        study.keep("timings", name, {**result, **size, "parameters": int(theta.size)})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    given = parser.parse_args()
    study = Study(given.store, given.minutes, given.scale)
    if given.only in "timings":
        timings(study)
    for stage, (problem, method) in itertools.product(STAGES, CASES):
        name = f"{problem} {method} {stage}"
        if study.late or name in study.found["runs"] or given.only not in name:
            continue
        case = study.case(problem, method)
        reached, seconds = timed(lambda case=case, stage=stage: case.train(study.size(stage)))
        if reached:
            result = {
                "training_seconds": seconds,
                "paper_lambda_max": printed(problem, method, stage),
                **case.look(),
            }
            study.keep("runs", name, {"problem": problem, "method": method, **result})


if __name__ == "__main__":
    main()
