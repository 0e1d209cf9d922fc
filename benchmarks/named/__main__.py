"""Methods that the paper mentions and no suite covers: one measured line each, in results/named.json.

python -m benchmarks.named epgp         a Gaussian process on exact solutions (EPGP) beside our series of these (modes)
python -m benchmarks.named conserved    mass and energy as terms of the loss: with and without, the same plan
python -m benchmarks.named pays         schedules and networks that the paper names: with and without, small
python -m benchmarks.named fno          a Fourier neural operator on Burgers' equation with random initial values
"""

from __future__ import annotations

import datetime
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

import safenet as sn
from safenet.backend import device_name
from safenet.bench.work import commit

from . import conserved, fno, pays

RESULTS = Path(__file__).parents[2] / "results" / "named.json"
VALUES, SIGMA = 200, 1e-8  # data that replace the initial values; their noise, which is rounding


def epgp() -> Iterator[tuple[str, dict[str, Any]]]:
    """The paper's linear problems: modes from the conditions; EPGP from 200 values in place of initial conditions."""
    for name in ("wave", "convection", "heat2d"):
        problem = sn.library.problem(name)
        rng = np.random.default_rng(0)
        low, high = np.array([*problem.bounds.values()], float).T
        at = dict(
            zip(problem.axis_names, (low + (high - low) * rng.random((VALUES, len(low)))).T, strict=True)
        )
        data = sn.Data(**at, u=problem.reference(**at), sigma=SIGMA)
        text = sn.dumps(problem)
        for condition in problem.conditions:
            if condition.initial:
                text = text.replace(f'    "{condition.text}",\n', "")
        lines = {"modes": (problem, sn.Modes()), "epgp": (sn.loads(text, data=data), sn.Posterior())}
        for kind, (stated, solver) in lines.items():
            began = time.process_time()
            sol = sn.solve(stated, solver, monitor=sn.Monitor())
            spent = time.process_time() - began
            error = float(
                np.sqrt(np.mean(np.square(_error(problem, sol))) / np.mean(np.square(_exact(problem))))
            )
            told = {"l2re": error, "cpu_seconds": round(spent, 2), "outcome": sol.result.outcome}
            yield f"{name}, {kind}", told


def _grid(problem: sn.Problem) -> dict[str, np.ndarray]:
    sides = [np.linspace(float(a), float(b), 41) for a, b in problem.bounds.values()]
    return dict(zip(problem.axis_names, map(np.ravel, np.meshgrid(*sides, indexing="ij")), strict=True))


def _exact(problem: sn.Problem) -> np.ndarray:
    return np.asarray(problem.reference(**_grid(problem)))


def _error(problem: sn.Problem, sol: Any) -> np.ndarray:
    return np.asarray(sol(**_grid(problem))) - _exact(problem)


STUDIES = {"epgp": epgp, "conserved": conserved.study, "pays": pays.study, "fno": fno.study}


def main() -> None:
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:] or STUDIES:
        began = time.process_time()
        lines: dict[str, Any] = {}
        for case, numbers in STUDIES[name]():
            lines[case] = numbers
            found[name] = {
                "command": f"python -m benchmarks.named {name}",
                "commit": commit(),
                "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
                "device": device_name(),
                "jax": jax.__version__,
                "cpu_seconds": round(time.process_time() - began, 1),
                "lines": lines,
            }
            RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
            print(case, numbers, flush=True)


if __name__ == "__main__":
    main()
