"""Direct solves beside specialised packages and codes: seconds of the whole process to an equal error.

    pip install '.[direct-peers]'
    python -m benchmarks.direct results/direct_peers.json [--only TEXT] [--rounds 3]
    python -m benchmarks.direct results/direct_peers.json --table

Each run is a process of its own, imports included, from compiled bytecode; each round runs all systems in turn. A
system has several settings (a tolerance, or modes and steps), from rough to fine. The error is at the final time,
against a closed form, a run with 64-bit mantissas, or a far finer run of another system (kept as `truth`). The ratio is
ours over theirs, at the smallest error that both reach. `cpu` is processor time, on all cores together. Our `errors`
are of each unknown over all times, as `estimate` is: at five moments (200 without space) and at more before the first
of them, each weighted by the time around it. Systems that are not installed are left out, with a message.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .fem import scikit_fem
from .others import dedalus, fenicsx
from .problems import MANY, MOMENTS, PROBLEMS, compared, early, places
from .spectral import collocated, exponax, numpy_plane, split_steps
from .systems import Settings, numpy_etdrk4, ours, pypde, scipy_ivp
from .table import draw, table

# BLAS threads that wait for each other add processor time when other jobs use the cores, too.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
# Suited to triangles of degree 2; and problems on which the peers' finest settings are less accurate than on others.
ROUGHER = {"cavity": (1e-2, 3e-3), "gray-scott": (1e-3, 1e-4, 1e-5), "shear-layer": (1e-4, 1e-5, 1e-6)}
SYSTEMS: dict[str, Callable[..., dict[str, Any]]] = {
    "safenet": ours,
    "SciPy": scipy_ivp,
    "NumPy": numpy_etdrk4,
    "NumPy, plane": numpy_plane,
    "split steps": split_steps,
    "Chebyshev": collocated,
    "exponax": exponax,
    "py-pde": pypde,
    "scikit-fem": scikit_fem,
    "Dedalus": dedalus,
    "FEniCSx": fenicsx,
}
# Environment variables that may name a separate interpreter for a system.
PYTHONS = {
    "Dedalus": "DEDALUS_PYTHON",
    "FEniCSx": "FENICSX_PYTHON",
    "exponax": "EXPONAX_PYTHON",
    "py-pde": "EXPONAX_PYTHON",
}
RUNS: dict[str, dict[str, list[Settings]]] = {
    "lorenz": {"SciPy": [("DOP853", 1e-8, 1e-10), ("DOP853", 1e-11, 1e-13), ("DOP853", 1e-13, 1e-15)]},
    "robertson": {"SciPy": [("Radau", 1e-5, 1e-10), ("Radau", 1e-8, 1e-13), ("LSODA", 1e-9, 1e-15)]},
    "robertson-long": {"SciPy": [("Radau", 1e-6, 1e-16), ("Radau", 1e-8, 1e-18), ("LSODA", 1e-9, 1e-19)]},
    "hires": {"SciPy": [("Radau", 1e-5, 1e-9), ("Radau", 1e-8, 1e-12), ("LSODA", 1e-9, 1e-13)]},
    "kuramoto-sivashinsky": {
        "NumPy": [(256, 200), (512, 1000), (512, 4000)],
        "exponax": [(256, 200), (512, 1000), (512, 4000)],
        "Dedalus": [(256, 1000), (512, 4000)],
    },
    "kuramoto-sivashinsky-long": {"NumPy": [(512, 16000), (512, 64000)]},
    "kdv": {"NumPy": [(256, 2000), (512, 10000)], "Dedalus": [(256, 2000), (512, 10000)]},
    "schroedinger": {"split steps": [(256, 500), (512, 2000), (512, 10000)]},
    "allen-cahn": {
        "NumPy": [(256, 100), (512, 400), (1024, 2000)],
        "py-pde": [(256, 1e-3)],
        "Dedalus": [(256, 100), (512, 500)],
    },
    "burgers": {
        "NumPy": [(1024, 1000), (2048, 4000), (4096, 10000)],
        "exponax": [(1024, 1000), (2048, 4000), (4096, 10000)],
        "Dedalus": [(1024, 1000), (2048, 4000)],
    },
    "gray-scott": {"exponax": [(128, 200), (160, 400)], "NumPy, plane": [(128, 200), (160, 400)]},
    "shear-layer": {"exponax": [(128, 200), (192, 400)]},
    "heat-plane": {"exponax": [(32, 1), (64, 1)]},
    "allen-cahn-space": {"exponax": [(32, 100), (64, 400)]},
    "fitzhugh-nagumo": {"NumPy, plane": [(48, 100), (64, 400), (96, 2000)]},
    "cahn-hilliard": {"NumPy, plane": [(48, 200), (64, 1000), (96, 4000)]},
    "fisher-plane": {
        "exponax": [(48, 40), (64, 200), (96, 1000)],
        "NumPy, plane": [(48, 40), (64, 200), (96, 1000)],
    },
    "advection-diffusion": {"Chebyshev": [(16, 0), (24, 0)]},
    "wave-speed": {"Chebyshev": [(20, 1e-5), (28, 1e-8)]},
    "cavity": {"scikit-fem": [(32, 2), (48, 2), (64, 2)], "FEniCSx": [(32, 2), (48, 2), (64, 2)]},
    "l-shape": {"scikit-fem": [(4, 4), (4, 16), (5, 24)]},
    "helmholtz": {"scikit-fem": [(5, 0), (6, 0)]},
    "helmholtz-impedance": {"scikit-fem": [(5, 0), (6, 0)]},
}
FINEST: dict[str, tuple[str, Settings]] = {
    "robertson": ("SciPy", ("Radau", 1e-12, 1e-17)),
    "robertson-long": ("SciPy", ("Radau", 1e-12, 1e-22)),
    "hires": ("SciPy", ("Radau", 1e-12, 1e-16)),
    "kuramoto-sivashinsky": ("NumPy", (1024, 20000)),
    "kuramoto-sivashinsky-long": ("NumPy", (512, 320000)),
    "kdv": ("NumPy", (1024, 40000)),
    "burgers": ("NumPy", (8192, 20000)),
    "allen-cahn": ("NumPy", (2048, 10000)),
    "schroedinger": ("split steps", (1024, 50000)),
    "gray-scott": ("NumPy, plane", (256, 1600)),
    "fitzhugh-nagumo": ("NumPy, plane", (128, 4000)),
    "cahn-hilliard": ("NumPy, plane", (96, 8000)),
    "fisher-plane": ("NumPy, plane", (128, 3000)),
    "shear-layer": ("exponax", (256, 1600)),
    "heat-plane": ("exponax", (128, 1)),
    "allen-cahn-space": ("exponax", (96, 1000)),
    "advection-diffusion": ("Chebyshev", (32, 0)),
    "wave-speed": ("Chebyshev", (56, 1e-11)),
    "cavity": ("scikit-fem", (40, 3)),
    "l-shape": ("scikit-fem", (6, 40)),
}


def truth(name: str) -> list[list[list[float]]]:
    """Values far more accurate than those compared: of each unknown, at each moment for which they are known."""
    if name in FINEST:
        system, settings = FINEST[name]
        return list(run(system, name, settings, limit=3600)["values"])
    if name == "lorenz":
        return lorenz_by_taylor()
    phase = 40 * np.multiply(*places(name))
    return [[np.cos(phase).tolist()], [np.sin(phase).tolist()]][: len(compared(name))]


STEPPED = ("NumPy", "NumPy, plane", "split steps")  # systems whose runs can end at any time
SHORT = 200  # the fewest steps to an early time


def early_truth(name: str) -> list[list[list[float]]] | None:
    """The same before the first moment; None if no other system can compute them."""
    system, settings = FINEST.get(name, ("", ()))
    if system == "SciPy":
        return list(run(system, name, settings, limit=3600)["early"])
    if system not in STEPPED:
        return None
    n, steps = settings
    end, found = ending(name), []
    for until in early(name, end):
        count = max(SHORT, MOMENTS * math.ceil(steps * until / end / MOMENTS))
        found.append([field[-1] for field in SYSTEMS[system](name, n, count, float(until))["values"]])
    return [list(line) for line in zip(*found, strict=True)]


def lorenz_by_taylor(end: int = 20, order: int = 24, per_unit: int = 40) -> list[list[list[float]]]:
    h, state = np.longdouble(1) / per_unit, np.ones(3, np.longdouble)
    powers, third = h ** np.arange(order + 1), np.longdouble(8) / 3
    found: list[list[float]] = []
    for step in range(1, end * per_unit + 1):
        x, y, z = series = np.zeros((3, order + 1), np.longdouble)
        series[:, 0] = state
        for n in range(order):
            xz, xy = x[: n + 1] @ z[n::-1], x[: n + 1] @ y[n::-1]
            series[:, n + 1] = 10 * (y[n] - x[n]), 28 * x[n] - xz - y[n], xy - third * z[n]
            series[:, n + 1] /= n + 1
        state = series @ powers
        if step % (end * per_unit // MANY) == 0:
            found.append([float(value) for value in state])
    return [[[value] for value in line] for line in zip(*found, strict=True)]


# ---- processes


def run(system: str, name: str, settings: Settings, limit: float = 300) -> dict[str, Any]:
    """One run in a process of its own, with its seconds from start to end."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    python = os.environ.get(PYTHONS.get(system, ""), sys.executable)
    command = [python, "-m", "benchmarks.direct", "--one", json.dumps([system, name, settings])]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            env={key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
            | ONE_THREAD,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no end in {limit:g} s"}
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["?"])[-1], "seconds": seconds}
    return {**json.loads(done.stdout.splitlines()[-1]), "seconds": seconds, "cpu": cpu}


def error(name: str, values: Any, exact: Any) -> float:
    """The error at the end, of all unknowns together; the largest of any if one unknown far exceeds the others."""
    if name == "robertson-long":
        return max(field_errors([field[-1:] for field in values], [field[-1:] for field in exact]))
    own, other = (np.concatenate([field[-1] for field in side]) for side in (values, exact))
    return float(np.linalg.norm(own - other) / np.linalg.norm(other))


def field_errors(values: Any, exact: Any, times: np.ndarray | None = None) -> list[float]:
    """The error of each unknown over all known moments; with `times`, each is weighted by the time around it."""
    found = []
    for own, other in zip(values, exact, strict=True):
        a, b = (np.array(side[-len(other) :]) for side in (own, other))
        if times is not None:
            middles = (times[1:] + times[:-1]) / 2
            root = np.sqrt(np.diff([0.0, *middles, times[-1]]))[:, None]
            a, b = root * a, root * b
        found.append(float(np.linalg.norm(a - b) / np.linalg.norm(b)))
    return found


def ending(name: str) -> float:
    """The final time of a problem file."""
    return float(tomllib.loads(PROBLEMS[name])["domain"]["t"][1])


def over_time(name: str, found: dict[str, Any], exact: Any, begun: Any) -> list[float]:
    """The errors of our run over time, including the early times if they are known."""
    if begun is None:
        return field_errors(found["values"], exact)
    end, count = ending(name), len(exact[0])
    times = np.array([*early(name, end), *(end * np.arange(1, count + 1) / count)])
    joined = [
        [[*first, *then] for first, then in zip(*parts, strict=True)]
        for parts in ((found["early"], found["values"]), (begun, exact))
    ]
    return field_errors(*joined, times)


def measured(name: str, rounds: int, exact: Any, begun: Any) -> list[dict[str, Any]]:
    """All settings of all systems, round by round, with median seconds."""
    plan: list[tuple[str, Settings]] = [("safenet", (tol,)) for tol in ROUGHER.get(name, TOLERANCES)]
    plan += [(system, one) for system, settings in RUNS[name].items() for one in settings]
    rows: dict[tuple[str, Settings], dict[str, Any]] = {}
    for _ in range(rounds):
        for system, settings in plan:
            row = rows.setdefault((system, settings), {"system": system, "settings": settings, "laps": []})
            if "failed" in row:
                continue
            found = run(system, name, settings)
            row |= {key: found[key] for key in ("failed", "estimate", "outcome") if key in found}
            if "values" in found:
                row["laps"].append([round(found["seconds"], 3), round(found["cpu"], 3)])
                row["seconds"], row["cpu"] = (
                    statistics.median(side) for side in zip(*row["laps"], strict=True)
                )
                row["error"] = error(name, found["values"], exact)
                if system == "safenet":
                    row["errors"] = over_time(name, found, exact, begun)
            shown = [row.get(key) for key in ("error", "seconds", "cpu", "errors", "estimate", "failed")]
            print(name, system, settings, *shown, flush=True)
    return list(rows.values())


def ratios(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """For each peer, the smallest error that both reach, and our seconds over theirs to it: wall and processor."""
    known = [row for row in rows if row.get("error") is not None]
    own = [row for row in known if row["system"] == "safenet"]
    found: dict[str, dict[str, float]] = {}
    for system in dict.fromkeys(row["system"] for row in known if row["system"] != "safenet"):
        theirs = [row for row in known if row["system"] == system]
        if own and theirs:
            common = 1.001 * max(min(r["error"] for r in own), min(r["error"] for r in theirs))
            pair = [[r for r in side if r["error"] <= common] for side in (own, theirs)]
            wall, cpu = (
                min(r[unit] for r in pair[0]) / min(r[unit] for r in pair[1]) for unit in ("seconds", "cpu")
            )
            found[system] = {"error": common, "wall": wall, "cpu": cpu}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="print what is stored, and draw docs/direct.png")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.table:
        print(table(json.loads(given.out.read_text())))
        draw(json.loads(given.out.read_text()), Path("docs/direct.png"))
        return
    if given.one:
        system, name, settings = json.loads(given.one)
        print(json.dumps(SYSTEMS[system](name, *settings)))
        return
    stored = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    for name in PROBLEMS:
        if given.only in name:
            exact = stored.get(name, {}).get("truth") or truth(name)
            begun = stored.get(name, {}).get("early") or early_truth(name)
            rows = measured(name, given.rounds, exact, begun)
            stored[name] = {"truth": exact, "early": begun, "rows": rows, "ratios": ratios(rows)}
            print(name, stored[name]["ratios"])
            if given.out:
                given.out.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
