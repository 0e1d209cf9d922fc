"""The paper's explanation, tested: spectra after 3k, 30k and 100k iterations of Adam, beside the printed λ_max.

    python benchmarks/spectra.py results/spectra.json --minutes 9 [--scale 0.01] [--points 2000 200]

First timings, then every case at 3k iterations, then at 100k and at 30k. Each result is written as soon as it exists;
results already in the file are not repeated, and training continues from the states beside it (OUT-states/, a few MB:
copy them, too). Processes with different `--only` may share the file, as one network does not fill a GPU. No spectrum
is begun in the last `--reserve` seconds, which only train. `--scale` multiplies iterations, points, probes and the
sizes of the networks, for a trial on a small machine.

JᵀJ is diagonalised; for the Hessian, Lanczos finds both ends with 4 probes of 100 steps (`--dense`: all eigenvalues).
"""

from __future__ import annotations

import argparse
import datetime
import fcntl
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import safenet as sn
from safenet.analysis import (
    Curvature,
    Spectrum,
    curvature,
    eigenvalue_spectrum,
    feature_grams,
    quadrature_spectrum,
    tangent_kernels,
    widened,
)
from safenet.backend import cache_compilations
from safenet.measure.points import Points, sample
from safenet.measure.scores import errors
from safenet.networks.methods import Method, build
from safenet.paper import tables
from safenet.run.checkpoint import fill, leaves, pack, unpack, write_atomically
from safenet.train.objective import PhysicsLoss, physics_loss
from safenet.train.optimisers.adam import Adam, AdamState
from safenet.train.optimisers.status import Status, sentence
from safenet.train.terms import term_names
from safenet.train.weighting import weighting

CASES = tuple(
    (problem, method)
    for problem in ("wave", "convection", "burgers")
    for method in ("safe-net-literal", "safe-net", "pinn")
)
STAGES = (3_000, 30_000, 100_000)
LOOKS = (3_000, 100_000, 30_000)  # the paper prints the first two
POINTS = (20_000, 2_000)
CHUNK = 500  # iterations between two readings of the clock
EXACT = 1000  # parameters up to which all eigenvalues are computed anywhere


class Study:
    """The file of results, the clock, and the sizes."""

    def __init__(
        self, store: Path, minutes: float, reserve: float, scale: float, points: Sequence[int], dense: bool
    ) -> None:
        self.store, self.scale, self.reserve, self.dense = store, scale, reserve, dense
        self.points = [self.size(count, 50) for count in points]
        self.deadline = time.monotonic() + 60 * minutes
        self.found: dict[str, Any] = json.loads(store.read_text()) if store.exists() else {}
        self.found |= {
            "what": "Adam alone, float32; spectra in float64 on the same points; seed 0",
            "command": f"python benchmarks/spectra.py results/{store.name} --scale {scale:g}"
            + ("" if tuple(points) == POINTS else " --points {} {}".format(*points)),
            "points": self.points,
        }
        self.machine = {
            "device": str(jax.devices()[0].device_kind),
            "jax": jax.__version__,
            "commit": os.environ.get("COMMIT", ""),
            "date": datetime.date.today().isoformat(),
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

    @property
    def no_more_looks(self) -> bool:
        return time.monotonic() + self.reserve > self.deadline

    def keep(self, group: str, name: str, result: dict[str, Any]) -> None:
        self.store.parent.mkdir(parents=True, exist_ok=True)
        with self.store.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.store.exists():  # another process may have added to it
                known = json.loads(self.store.read_text())
                self.found |= {key: known[key] for key in ("timings", "runs")}
            self.found[group][name] = {**result, **self.machine}
            write_atomically(self.store, (json.dumps(self.found, indent=1) + "\n").encode())
        print(name, json.dumps(result)[:400], flush=True)

    def case(self, problem_name: str, method: str) -> Case:
        """The case, made only once: its programs stay compiled from one stage to the next."""
        folder = self.store.with_name(f"{self.store.stem}-states")
        folder.mkdir(parents=True, exist_ok=True)
        if (problem_name, method) not in self.cases:
            self.cases[problem_name, method] = Case(self, problem_name, method, folder)
        return self.cases[problem_name, method]


class Case:
    """One network on one problem: trained in float32, analysed in float64."""

    def __init__(self, study: Study, problem_name: str, method: str, folder: Path) -> None:
        self.study = study
        self.problem, self.method = sn.library.problem(problem_name), study.network(sn.METHODS[method])
        self.points: Points = sample(self.problem, *study.points, "uniform", 0)
        network = build(self.problem, self.method, key=jax.random.key(0), dtype=jnp.float32)
        weights = weighting(self.method)
        self.loss, theta = physics_loss(self.problem, network, self.points, weighting=weights)
        self.wide, _ = physics_loss(self.problem, widened(network), self.points, weighting=weights)
        self.phase = Adam(study.size(STAGES[-1]))
        self.state: AdamState = self.phase.start(self.loss, theta)
        stages = sorted({study.size(stage) for stage in STAGES})
        self.files = {stage: folder / f"{problem_name}-{method}-{stage}.npz" for stage in stages}
        self.latest = folder / f"{problem_name}-{method}.npz"

    def reach(self, iterations: int) -> bool:
        """Go to the state after these iterations, from a file or by training, which saves the stages that it passes.

        False if the time is up before. A run that broke down stays where it did.
        """
        path = next((path for path in (self.files[iterations], self.latest) if path.exists()), None)
        if path is not None:
            self.state = fill(self.state, unpack(path)[0])
        here = before = int(self.state.iteration)
        if here > iterations:
            raise SystemExit(
                f"{self.latest} is at {here}, but {self.files[iterations]} is missing: remove it"
            )
        while self.runs and here < iterations and not self.study.late:
            stop = min(stage for stage in self.files if stage > here)
            self.state, _ = self.phase.advance(self.loss, self.state, min(CHUNK, stop - here))
            here = int(self.state.iteration)
            if here in self.files:
                self._save(self.files[here])
        if here > before:
            self._save(self.latest)
        return here == iterations or not self.runs

    def _save(self, path: Path) -> None:
        write_atomically(path, pack(leaves(self.state), {}))

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
            "l2re": errors(self.problem, network).l2re,
            "parameters": int(theta.size),
        }
        for operator in ("hessian", "gauss-newton"):
            spectrum, seconds = timed(lambda op=operator: self._spectrum(op, curvature(loss, theta, op)))
            found[operator] = {**spectrum.to_json(), "seconds": seconds}
            if spectrum.exact:
                found[operator]["decades"] = decades(spectrum)
        found["terms"] = {}
        for i, name in enumerate(names):
            part = quadrature_spectrum("hessian", curvature(loss, theta, "hessian", i), 2, 60)
            found["terms"][name] = {"lambda_max": part.lambda_max, "lambda_min": part.lambda_min}
        kernels = tangent_kernels(loss, theta, names)
        found["kernels"] = {name: kernel.to_json() for name, kernel in kernels.items()}
        found["grams"] = {name: gram.to_json() for name, gram in feature_grams(self.problem, network).items()}
        return found

    def _spectrum(self, operator: str, A: Curvature) -> Spectrum:
        """All eigenvalues if that is quick or requested, else the ends."""
        gpu = jax.default_backend() != "cpu"
        if A.size <= EXACT or (gpu and (operator == "gauss-newton" or self.study.dense)):
            return eigenvalue_spectrum(operator, A.dense())
        return quadrature_spectrum(operator, A, *((4, 100) if gpu else (2, 60)))


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
    """Seconds of Lanczos (the paper's 100 probes of 200 steps) and of all eigenvalues, on wave; also with compiling."""
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


COLOURS = {"safe-net-literal": "#1f77b4", "safe-net": "#d62728", "pinn": "#7f7f7f"}


def draw(runs: dict[str, Any], path: Path) -> None:
    """Eigenvalues of JᵀJ per decade, for each problem and stage; crosses: the paper's λ_max."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    problems = list(dict.fromkeys(problem for problem, _ in CASES))
    stages = STAGES[0], STAGES[-1]
    figure, axes = plt.subplots(
        len(stages), len(problems), figsize=(11, 5.5), layout="constrained", sharex=True, sharey=True
    )
    for (row, stage), (column, problem) in itertools.product(enumerate(stages), enumerate(problems)):
        axis = axes[row, column]
        for method, colour in COLOURS.items():
            found = runs.get(f"{problem} {method} {stage}")
            if found is None:
                continue
            counts = {int(decade): count[0] for decade, count in found["gauss-newton"]["decades"].items()}
            ends = range(min(counts) - 1, max(counts) + 2)
            heights = [counts.get(decade, 0.5) for decade in ends]
            label = f"{method}, error {found['l2re']:.2g}"
            axis.step([10.0**end for end in ends], heights, where="post", color=colour, label=label)
            if found["paper_lambda_max"]:
                axis.plot(found["paper_lambda_max"], 0.7, "x", color=colour, clip_on=False)
        axis.set(xscale="log", yscale="log", ylim=(0.7, 6e3), title=f"{problem}, {stage:,} iterations")
        axis.legend(fontsize=7, frameon=False)
    figure.supxlabel("eigenvalue of JᵀJ (crosses: the paper's λ_max)")
    figure.supylabel("how many in its decade")
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--reserve", type=float, default=90.0, metavar="SECONDS", help="for the last look")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--points", type=int, nargs=2, default=POINTS, help="inside, and on each condition")
    parser.add_argument("--dense", action="store_true", help="all eigenvalues of the Hessian, too")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--draw", type=Path, metavar="F.png", help="no measuring: a picture of the file")
    given = parser.parse_args()
    if given.draw:
        return draw(json.loads(given.store.read_text())["runs"], given.draw)
    cache_compilations()
    study = Study(given.store, given.minutes, given.reserve, given.scale, given.points, given.dense)
    if given.only in "timings":
        timings(study)
    for stage, (problem, method) in itertools.product(LOOKS, CASES):
        name = f"{problem} {method} {stage}"
        if study.late or name in study.found["runs"] or given.only not in name:
            continue
        case = study.case(problem, method)
        reached, seconds = timed(lambda case=case, stage=stage: case.reach(study.size(stage)))
        print(f"{name}: iteration {int(case.state.iteration)} after {seconds} s", flush=True)
        if reached and not study.no_more_looks:
            result, looked = timed(case.look)
            shown = {"paper_lambda_max": printed(problem, method, stage)}
            clock = {"training_seconds": seconds, "look_seconds": looked}
            study.keep("runs", name, {"problem": problem, "method": method, **clock, **shown, **result})


if __name__ == "__main__":
    main()
