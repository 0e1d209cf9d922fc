"""Does it pay? A network or schedule that the paper names beside its own, and the same without it: small trials.

A tenth of schedule 1 (3,000 steps of Adam, 1,000 of L-BFGS) on 2,000 points, 200 on each condition; where another
schedule is named, both sides have about as many steps. Medians over the seeds, which run one after the other.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator
from typing import Any

import safenet as sn
from safenet.solving import door

PROBLEMS = ("convection", "reaction", "burgers")  # wave stays near an error of 1 in so few steps
SEEDS, SCALE, POINTS, ON_CONDITIONS = (0, 1, 2), 0.1, 2_000, 200
LITERAL = {"k": "L"}  # the reading of the printed network that reproduces most
SECOND_ORDER = {"features": 32, "width": 16, "precision": "float64", "scale": 1.0}

# What is tried: (without it, with it), each a method, a schedule and options.
PAIRS: dict[str, tuple[tuple[str, Any, dict[str, Any]], tuple[str, Any, dict[str, Any]]]] = {
    "adaptive activations, PINN": (("pinn", "paper-1", {}), ("pinn", "paper-1", {"adaptive": True})),
    "adaptive activations, SAFE-NET": (
        ("safe-net-literal", "paper-1", LITERAL),
        ("safe-net-literal", "paper-1", {**LITERAL, "adaptive": True}),
    ),
    "MultiAdam, PINN": (("pinn", "paper-1", {}), ("pinn", "multiadam", {"precision": "float32"})),
    "MultiAdam, SAFE-NET": (
        ("safe-net-literal", "paper-1", LITERAL),
        ("safe-net-literal", "multiadam", {**LITERAL, "precision": "float32"}),
    ),
    "radial beside Fourier features, SAFE-NET": (
        ("safe-net-literal", "paper-1", LITERAL),
        ("safe-net-literal", "paper-1", {**LITERAL, "embedding": "hybrid"}),
    ),
    # 200 steps of NysNewton-CG cost more than 200 of L-BFGS: the seconds are told.
    "NysNewton-CG after L-BFGS, PINN": (
        ("pinn", [sn.Adam(1_100), sn.LBFGS(3_200)], {"precision": "float64", "scale": 1.0}),
        ("pinn", [sn.Adam(1_100), sn.LBFGS(3_000), sn.NNCG(200)], {"precision": "float64", "scale": 1.0}),
    ),
    "a second network for the residual (multi-stage), SAFE-NET": (
        ("safe-net", "levenberg-marquardt", SECOND_ORDER),
        ("safe-net", "multi-stage", SECOND_ORDER),
    ),
}


def study() -> Iterator[tuple[str, dict[str, Any]]]:
    known: dict[str, dict[str, Any]] = {}
    for name, sides in PAIRS.items():
        for problem in PROBLEMS:
            each = []
            for side in sides:
                key = f"{problem} {side}"
                known[key] = known.get(key) or _measured(problem, *side)
                each.append(known[key])
            without, with_ = each
            told = {f"{key}_without": value for key, value in without.items()}
            yield f"{problem}: {name}", told | {f"{key}_with": value for key, value in with_.items()}


def _measured(problem: str, method: str, schedule: Any, options: dict[str, Any]) -> dict[str, Any]:
    settings = {"scale": SCALE, "points": POINTS, "condition_points": ON_CONDITIONS, **options}
    errors, began, stated = [], time.process_time(), sn.library.problem(problem)
    for seed in SEEDS:
        plan = sn.Train(method, schedule, seed=seed, **settings).plan(stated)
        (solution,) = door.carry_out([door.Job(stated, plan, None)], estimate=False)
        errors.append(solution.result.l2re)
    failed = math.inf  # a run that diverged has no error
    error = statistics.median(failed if e is None else float(e) for e in errors)
    return {"l2re": error, "cpu_seconds": round((time.process_time() - began) / len(SEEDS), 1)}
