"""Does the advice of `sn.spectrum` help? It is followed on problems that its rules were not derived from.

    python benchmarks/diagnosis.py results/diagnosis.json [--only kdv]

Each case is trained, analysed (`sn.spectrum`), and trained again with the settings of each advice, for as many
iterations (a tenth of them for Levenberg–Marquardt). Both runs are compared by the loss with the weights of the first
run, the worst held-out residual, and the relative L² error, a score that no run has seen.
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

import safenet as sn
from safenet.run.checkpoint import write_atomically

POINTS = {"points": 300, "condition_points": 60}
ADAM = {
    "schedule": "paper-4",
    "scale": 0.006,
    "precision": "float64",
    "sampler": "sobol",
    **POINTS,
}  # 600 steps
TENTH = 0.3  # of 200 Levenberg–Marquardt steps
PINN = {"method": "pinn", "depth": 2, "width": 16}
UNIT = {"method": "safe-net", "features": 32, "width": 16, "amplitudes": "unit"}

TEXTS = {
    "klein-gordon": """
unknowns = ["u"]
equations = ["u_tt - u_xx + u**3 = (x*cos(5*pi*t) + (x*t)**3)**3 - 25*pi**2*x*cos(5*pi*t) + 6*x**3*t - 6*x*t**3"]
conditions = ["u(0, t) = 0", "u(1, t) = cos(5*pi*t) + t**3", "u(x, 0) = x", "u_t(x, 0) = 0"]
domain = { x = [0, 1], t = [0, 1] }
exact = { u = "x*cos(5*pi*t) + (x*t)**3" }
""",
    "kdv": """
unknowns = ["u"]
equations = ["u_t + 6*u*u_x + u_xxx = 0"]
conditions = [
  "u(-4, t) = 2/cosh(-4 - 4*t)**2", "u(6, t) = 2/cosh(6 - 4*t)**2",
  "u_x(6, t) = -4*sinh(6 - 4*t)/cosh(6 - 4*t)**3", "u(x, 0) = 2/cosh(x)**2",
]
domain = { x = [-4, 6], t = [0, 0.5] }
exact = { u = "2/cosh(x - 4*t)**2" }
""",
    "poisson": """
unknowns = ["u"]
equations = ["u_xx + u_yy = -72*pi**2*sin(6*pi*x)*sin(6*pi*y)"]
conditions = ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]
domain = { x = [0, 1], y = [0, 1] }
exact = { u = "sin(6*pi*x)*sin(6*pi*y)" }
""",
    "layer": """
unknowns = ["u"]
equations = ["u_x - 0.05*u_xx = 1"]
conditions = ["u(0) = 0", "u(1) = 0"]
domain = { x = [0, 1] }
exact = { u = "x - (exp(20*(x - 1)) - exp(-20))/(1 - exp(-20))" }
""",
    "schrodinger": """
unknowns = ["u", "v"]
equations = ["u_t + v_xx/2 + (u**2 + v**2)*v = 0", "v_t - u_xx/2 - (u**2 + v**2)*u = 0"]
conditions = [
  "u(-4, t) = cos(t/2)/cosh(4)", "u(4, t) = cos(t/2)/cosh(4)", "u(x, 0) = 1/cosh(x)",
  "v(-4, t) = sin(t/2)/cosh(4)", "v(4, t) = sin(t/2)/cosh(4)", "v(x, 0) = 0",
]
domain = { x = [-4, 4], t = [0, 1.5] }
exact = { u = "cos(t/2)/cosh(x)", v = "sin(t/2)/cosh(x)" }
""",
}
TRANSPORT = """
unknowns = ["u"]
equations = ["{factor}*(u_t + u_x) = 0"]
conditions = ["u(0, t) = -sin(2*pi*t)", "u(x, 0) = sin(2*pi*x)"]
domain = {{ x = [0, 1], t = [0, 1] }}
exact = {{ u = "sin(2*pi*(x - t))" }}
"""
TEXTS |= {f"transport × {factor}": TRANSPORT.format(factor=factor) for factor in ("200", "0.005")}
# 500 Adam and 1500 L-BFGS steps in single precision.
SINGLE = {**ADAM, "schedule": "paper-3b", "scale": 0.05, "precision": "float32"}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "klein-gordon, pinn": ("klein-gordon", ADAM | PINN),
    "kdv, pinn": ("kdv", ADAM | PINN),
    "layer, pinn": ("layer", ADAM | PINN),
    "layer, float32": ("layer", SINGLE | PINN),
    "transport × 200, pinn": ("transport × 200", ADAM | PINN),
    "transport × 0.005, pinn": ("transport × 0.005", ADAM | PINN),
    "poisson, unit amplitudes": ("poisson", ADAM | UNIT),
    "heat2d, pinn": ("heat2d", ADAM | PINN),
    "schrodinger, pinn": ("schrodinger", ADAM | PINN),
    "reaction, float32": ("reaction", SINGLE | PINN),
}


def problem_of(name: str) -> sn.Problem:
    return sn.loads(f'name = "{name}"\n{TEXTS[name]}') if name in TEXTS else sn.library.problem(name)


def trained(problem: sn.Problem, settings: dict[str, Any]) -> tuple[sn.Solution, dict[str, Any]]:
    began = time.perf_counter()
    options = {key: value for key, value in settings.items() if key != "method"}
    solution = sn.solve(problem, sn.Train(settings["method"], **options))
    weights = [1.0] * len(problem.equations) + [100.0] * len(problem.conditions)
    error = solution.result.l2re
    return solution, {
        "loss": float(np.dot(weights, solution.history[-1, 2:])),
        "residual": solution.result.residual,
        "l2re": error["pooled"] if isinstance(error, dict) else error,
        "iterations": solution.result.iterations,
        "seconds": round(time.perf_counter() - began, 1),
    }


def verdict(before: dict[str, Any], after: dict[str, Any], other_weights: bool) -> str:
    """Judged by what a user without an exact solution can see; losses with other weights are not comparable."""
    measures = ["residual"] if other_weights else ["loss", "residual"]
    lower = [after[measure] < before[measure] for measure in measures]
    return "helped" if all(lower) else "mixed" if any(lower) else "did not help"


def examined(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """The advice for the untrained and for the trained network, and the result of following it."""
    problem = problem_of(name)
    look = {"operator": "gauss-newton", **POINTS}
    network = {key: value for key, value in settings.items() if key not in ("schedule", "scale", *POINTS)}
    untrained = sn.spectrum(problem, **look, **network)
    solution, before = trained(problem, settings)
    followed = {}
    for when, analysis in (("untrained", untrained), ("trained", sn.spectrum(solution, **look))):
        for advice in analysis.advice:
            if advice.about in followed:
                continue
            changed = settings | dict(advice.settings)
            if "schedule" in advice.settings:
                changed["scale"] = TENTH
            _, after = trained(problem, changed)
            followed[advice.about] = {
                "when": when,
                "advice": str(advice),
                "value": advice.value,
                "settings": dict(advice.settings),
                "after": after,
                "verdict": verdict(before, after, "weight_grid" in advice.settings),
            }
    return {"before": before, "followed": followed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    given = parser.parse_args()
    found = json.loads(given.store.read_text()) if given.store.exists() else {"cases": {}}
    found |= {
        "what": "each advice followed once, seed 0",
        "command": f"python benchmarks/diagnosis.py results/{given.store.name}",
        "device": str(jax.devices()[0].device_kind),
        "jax": jax.__version__,
        "date": datetime.date.today().isoformat(),
    }
    for name, case in CASES.items():
        if given.only in name and name not in found["cases"]:
            found["cases"][name] = examined(*case)
            write_atomically(given.store, (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode())
            print(name, json.dumps(found["cases"][name], ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
