"""Direct solves beside those who do only this: seconds of the whole process to an equal error.

    pip install '.[direct-peers]'
    python -m benchmarks.direct results/direct_peers.json [--only TEXT] [--rounds 3]

Each run is a process of its own, imports included; rounds visit all systems in turn. A system has several settings
(a tolerance, or modes and steps), from rough to fine. The error is at the final time, against a closed form or
against 64-bit mantissas or a run that is far finer; the ratio is ours over theirs, at the smallest error that both
reach. `cpu` is processor time, on all cores together. What is not installed is left out and said.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .problems import PROBLEMS, compared, places
from .systems import Settings, exponax, numpy_etdrk4, ours, pypde, scikit_fem, scipy_ivp

TOLERANCES = (1e-4, 1e-6, 1e-8)
SYSTEMS: dict[str, Callable[..., dict[str, Any]]] = {
    "safenet": ours,
    "SciPy": scipy_ivp,
    "NumPy": numpy_etdrk4,
    "exponax": exponax,
    "py-pde": pypde,
    "scikit-fem": scikit_fem,
}
RUNS: dict[str, dict[str, list[Settings]]] = {
    "lorenz": {"SciPy": [("DOP853", 1e-8, 1e-10), ("DOP853", 1e-11, 1e-13), ("DOP853", 1e-13, 1e-15)]},
    "robertson": {"SciPy": [("Radau", 1e-5, 1e-10), ("Radau", 1e-8, 1e-13), ("LSODA", 1e-9, 1e-15)]},
    "kuramoto-sivashinsky": {
        "NumPy": [(256, 200), (512, 1000), (512, 4000)],
        "exponax": [(256, 200), (512, 1000), (512, 4000)],
    },
    "kdv": {"NumPy": [(256, 2000), (512, 10000)], "exponax": [(256, 2000), (512, 10000)]},
    "schroedinger": {},
    "allen-cahn": {"NumPy": [(256, 100), (512, 400), (1024, 2000)], "py-pde": [(256, 1e-3), (512, 1e-3)]},
    "burgers": {
        "NumPy": [(1024, 1000), (2048, 4000), (4096, 10000)],
        "exponax": [(1024, 1000), (2048, 4000), (4096, 10000)],
        "py-pde": [(1024, 1e-5)],
    },
    "gray-scott": {"exponax": [(128, 200), (256, 400)]},
    "shear-layer": {},
    "heat-plane": {"exponax": [(32, 1), (64, 1)]},
    "allen-cahn-space": {"exponax": [(32, 100), (64, 400)]},
    "l-shape": {"scikit-fem": [(4, 4), (4, 16), (5, 24)]},
    "helmholtz": {"scikit-fem": [(5, 0), (6, 0)]},
    "helmholtz-impedance": {"scikit-fem": [(5, 0), (6, 0)]},
}
BY_OTHERS: dict[str, tuple[str, Settings]] = {
    "gray-scott": ("exponax", (256, 1200)),
    "heat-plane": ("exponax", (128, 1)),
    "allen-cahn-space": ("exponax", (96, 1000)),
    "l-shape": ("scikit-fem", (6, 40)),
}
FINEST = {
    "kuramoto-sivashinsky": (1024, 20000),
    "kdv": (1024, 40000),
    "burgers": (8192, 20000),
    "allen-cahn": (2048, 10000),
}


def truth(name: str) -> list[list[float]] | None:
    """The final values far beyond what is compared; None where only systems are compared with each other."""
    if name in FINEST:
        return list(numpy_etdrk4(name, *FINEST[name])["values"])
    if name == "robertson":
        return list(scipy_ivp(name, "Radau", 1e-12, 1e-17)["values"])
    if name == "lorenz":
        return lorenz_by_taylor()
    if name in BY_OTHERS:
        system, settings = BY_OTHERS[name]
        return list(SYSTEMS[system](name, *settings)["values"])
    if name.startswith("helmholtz"):
        phase = 40 * np.multiply(*places(name))
        return [np.cos(phase).tolist(), np.sin(phase).tolist()][: len(compared(name))]
    return None


def lorenz_by_taylor(end: int = 20, order: int = 24, per_unit: int = 40) -> list[list[float]]:
    h, state = np.longdouble(1) / per_unit, np.ones(3, np.longdouble)
    powers, third = h ** np.arange(order + 1), np.longdouble(8) / 3
    for _ in range(end * per_unit):
        x, y, z = series = np.zeros((3, order + 1), np.longdouble)
        series[:, 0] = state
        for n in range(order):
            xz, xy = x[: n + 1] @ z[n::-1], x[: n + 1] @ y[n::-1]
            series[:, n + 1] = 10 * (y[n] - x[n]), 28 * x[n] - xz - y[n], xy - third * z[n]
            series[:, n + 1] /= n + 1
        state = series @ powers
    return [[float(value)] for value in state]


# ---- processes


def run(system: str, name: str, settings: Settings, limit: float = 300) -> dict[str, Any]:
    """One run in a process of its own, with the seconds from its start to its end."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "benchmarks.direct", "--one", json.dumps([system, name, settings])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"no end in {limit:g} s"}
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["?"])[-1], "seconds": seconds}
    return {**json.loads(done.stdout.splitlines()[-1]), "seconds": seconds, "cpu": cpu}


def error(values: list[list[float]], exact: list[list[float]]) -> float:
    own, other = np.concatenate(values), np.concatenate(exact)
    return float(np.linalg.norm(own - other) / np.linalg.norm(other))


def measured(name: str, rounds: int) -> list[dict[str, Any]]:
    """All settings of all systems, round by round; the median of the seconds."""
    exact = truth(name)
    plan = [("safenet", (tol,)) for tol in TOLERANCES]
    plan += [(system, one) for system, settings in RUNS[name].items() for one in settings]
    rows: dict[tuple[str, Settings], dict[str, Any]] = {}
    for _ in range(rounds):
        for system, settings in plan:
            row = rows.setdefault((system, settings), {"system": system, "settings": settings, "laps": []})
            if "failed" in row:
                continue
            found = run(system, name, settings)
            row |= {key: found[key] for key in ("failed", "estimate", "cpu") if key in found}
            if "values" in found:
                row["laps"].append(found["seconds"])
                row["seconds"] = statistics.median(row["laps"])
                row["error"] = None if exact is None else error(found["values"], exact)
            print(
                name,
                row["system"],
                row["settings"],
                row.get("error"),
                row.get("seconds"),
                row.get("failed", ""),
            )
    return list(rows.values())


def ratios(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """For each peer the smallest error that both reach, and our seconds to it over theirs."""
    known = [row for row in rows if row.get("error") is not None]
    own = [row for row in known if row["system"] == "safenet"]
    found = {}
    for system in dict.fromkeys(row["system"] for row in known if row["system"] != "safenet"):
        theirs = [row for row in known if row["system"] == system]
        if own and theirs:
            common = 1.001 * max(min(r["error"] for r in own), min(r["error"] for r in theirs))
            ours_, peer = (min(r["seconds"] for r in side if r["error"] <= common) for side in (own, theirs))
            found[system] = common, ours_ / peer
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        system, name, settings = json.loads(given.one)
        print(json.dumps(SYSTEMS[system](name, *settings)))
        return
    stored = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    for name in PROBLEMS:
        if given.only in name:
            stored[name] = {"rows": measured(name, given.rounds)}
            stored[name]["ratios"] = ratios(stored[name]["rows"])
            print(name, stored[name]["ratios"])
            if given.out:
                given.out.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
