"""Direct solves beside those who do only this: seconds of the whole process to an equal error.

    pip install '.[direct-peers]'
    python benchmarks/direct_peers.py results/direct_peers.json [--only TEXT] [--rounds 3]

Each run is a process of its own, imports included; rounds visit all systems in turn. A system has several settings
(a tolerance, or modes and steps), from rough to fine. The error is at the final time, against a closed form or
against 64-bit mantissas or a run of NumPy's that is far finer; the ratio is ours over theirs, at the smallest error
that both reach. What is not installed is left out and said.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Settings = tuple[Any, ...]


def toml(
    unknowns: list[str],
    equations: list[str],
    starts: list[str],
    axes: dict[str, tuple[str, str]],
    end: float,
    order: int = 0,
    more: list[str] | None = None,
) -> str:
    """A problem file; unknowns and their derivatives below `order` are periodic along every axis."""
    conditions = [*starts, *(more or [])]
    for name in unknowns:
        for axis, ends in axes.items():
            for k in range(order):
                shown = f"{name}_{axis * k}" if k else name
                places = [", ".join([*(x if a == axis else a for a in axes), "t"]) for x in ends]
                conditions.append(f"{shown}({places[0]}) = {shown}({places[1]})")
    listing = {"unknowns": unknowns, "equations": equations, "conditions": conditions}
    lines = [f"{key} = {json.dumps(value)}" for key, value in listing.items()]
    sides = [f"{axis} = {json.dumps(list(ends))}" for axis, ends in axes.items()]
    return "\n".join([*lines, "[domain]", *sides, f"t = [0, {end}]"])


GRAY_SCOTT = "exp(-80*((x - 1/2)**2 + (y - 1/2)**2))"
PROBLEMS: dict[str, str] = {
    "lorenz": toml(
        ["x", "y", "z"],
        ["x_t = 10*(y - x)", "y_t = x*(28 - z) - y", "z_t = x*y - 8/3*z"],
        ["x(0) = 1", "y(0) = 1", "z(0) = 1"],
        {},
        20,
    ),
    "robertson": toml(
        ["a", "b", "c"],
        ["a_t = -0.04*a + 1e4*b*c", "b_t = 0.04*a - 1e4*b*c - 3e7*b**2", "c_t = 3e7*b**2"],
        ["a(0) = 1", "b(0) = 0", "c(0) = 0"],
        {},
        1e4,
    ),
    "kuramoto-sivashinsky": toml(
        ["u"],
        ["u_t + u*u_x + u_xx + u_xxxx = 0"],
        ["u(x, 0) = cos(x/16)*(1 + sin(x/16))"],
        {"x": ("0", "32*pi")},
        50,
        4,
    ),
    "kdv": toml(["u"], ["u_t + 6*u*u_x + u_xxx = 0"], ["u(x, 0) = 6*sech(x)**2"], {"x": ("-20", "20")}, 1, 3),
    "schroedinger": toml(
        ["u", "v"],
        ["u_t = -v_xx/2 - (u**2 + v**2)*v", "v_t = u_xx/2 + (u**2 + v**2)*u"],
        [
            "u(x, 0) = sech(x + 5)*cos(x) + sech(x - 5)*cos(x)",
            "v(x, 0) = sech(x + 5)*sin(x) - sech(x - 5)*sin(x)",
        ],
        {"x": ("-30", "30")},
        5,
        2,
    ),
    "allen-cahn": toml(
        ["u"],
        ["u_t = u_xx/1000 + 5*u - 5*u**3"],
        ["u(x, 0) = cos(pi*x)/2 + 3*sin(2*pi*x)/10"],
        {"x": ("-1", "1")},
        1,
        2,
    ),
    "burgers": toml(
        ["u"], ["u_t + u*u_x = u_xx/(100*pi)"], ["u(x, 0) = -sin(pi*x)"], {"x": ("-1", "1")}, 1, 2
    ),
    "gray-scott": toml(
        ["u", "v"],
        ["u_t = 2e-5*(u_xx + u_yy) - u*v**2 + 0.04*(1 - u)", "v_t = 1e-5*(v_xx + v_yy) + u*v**2 - 0.1*v"],
        [f"u(x, y, 0) = 1 - {GRAY_SCOTT}/2", f"v(x, y, 0) = {GRAY_SCOTT}/4"],
        {"x": ("0", "1"), "y": ("0", "1")},
        200,
        2,
    ),
    "shear-layer": toml(
        ["u", "v", "p"],
        [
            "u_t + u*u_x + v*u_y = -p_x + (u_xx + u_yy)/1000",
            "v_t + u*v_x + v*v_y = -p_y + (v_xx + v_yy)/1000",
            "u_x + v_y = 0",
        ],
        ["u(x, y, 0) = tanh(8*sin(y))", "v(x, y, 0) = sin(x)/20"],
        {"x": ("0", "2*pi"), "y": ("0", "2*pi")},
        2,
        2,
        ["p(0, 0, t) = 0"],
    ),
}
TOLERANCES = (1e-4, 1e-6, 1e-8)


# ---- ours


def ours(name: str, tol: float) -> dict[str, Any]:
    import safenet as sn
    from safenet.problem.toml import loads

    problem = loads(PROBLEMS[name])
    sol = sn.solve(problem, sn.Auto(tol=tol), monitor=sn.Monitor())
    axes = {axis.name: ticks for axis, ticks in zip(problem.axes[:-1], places(name), strict=True)}
    found = sol(**axes, t=problem.axes[-1].hi)
    values = found if isinstance(found, dict) else {problem.unknowns[0]: found}
    estimate = sol.result.estimate
    return {
        "values": [np.atleast_1d(values[one]).tolist() for one in compared(name)],
        "estimate": estimate["pooled"] if isinstance(estimate, dict) else estimate,
    }


def places(name: str) -> list[np.ndarray]:
    """The points of space at which the final values are compared: on every grid that a system may have."""
    ticks = np.arange(16) / 16
    if name in ("lorenz", "robertson"):
        return []
    if name in ("gray-scott", "shear-layer"):
        length = 1.0 if name == "gray-scott" else 2 * np.pi
        x, y = np.meshgrid(length * ticks, length * ticks, indexing="ij")
        return [x.ravel(), y.ravel()]
    low, length = {
        "kuramoto-sivashinsky": (0.0, 32 * np.pi),
        "kdv": (-20.0, 40.0),
        "schroedinger": (-30.0, 60.0),
    }.get(name, (-1.0, 2.0))
    return [low + length * np.arange(64) / 64]


def compared(name: str) -> tuple[str, ...]:
    return {
        "lorenz": ("x", "y", "z"),
        "robertson": ("a", "b", "c"),
        "schroedinger": ("u", "v"),
        "gray-scott": ("u", "v"),
        "shear-layer": ("u", "v"),
    }.get(name, ("u",))


# ---- SciPy


def scipy_ivp(name: str, method: str, rtol: float, atol: float) -> dict[str, Any]:
    from scipy.integrate import solve_ivp

    def lorenz(t: float, y: np.ndarray) -> list[float]:
        return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]

    def robertson(t: float, y: np.ndarray) -> list[float]:
        a, b = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return [a, -a - b, b]

    rates, start, end = (lorenz, [1, 1, 1], 20) if name == "lorenz" else (robertson, [1, 0, 0], 1e4)
    sol = solve_ivp(rates, (0, end), start, method=method, rtol=rtol, atol=atol, dense_output=True)
    return {"values": [[value] for value in sol.y[:, -1].tolist()]}


# ---- NumPy: Cox and Matthews' ETDRK4 as Kassam and Trefethen wrote it, for one unknown on a line


LINES: dict[
    str, tuple[float, float, Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any], float]
] = {
    # low, length, linear symbol of k, u0(x), nonlinear û of (u, ik), end
    "kuramoto-sivashinsky": (
        0.0,
        32 * np.pi,
        lambda k: k**2 - k**4,
        lambda x: np.cos(x / 16) * (1 + np.sin(x / 16)),
        "advection",
        50.0,
    ),
    "kdv": (-20.0, 40.0, lambda k: 1j * k**3, lambda x: 6 / np.cosh(x) ** 2, "kdv", 1.0),
    "burgers": (-1.0, 2.0, lambda k: -(k**2) / (100 * np.pi), lambda x: -np.sin(np.pi * x), "advection", 1.0),
    "allen-cahn": (
        -1.0,
        2.0,
        lambda k: 5 - k**2 / 1000,
        lambda x: np.cos(np.pi * x) / 2 + 0.3 * np.sin(2 * np.pi * x),
        "cubic",
        1.0,
    ),
}


def numpy_etdrk4(name: str, n: int, steps: int) -> dict[str, Any]:
    low, length, symbol, start, kind, end = LINES[name]
    x, k = low + length * np.arange(n) / n, 2 * np.pi / length * np.arange(n // 2 + 1)
    kept, ik = np.arange(n // 2 + 1) <= n // 3, 1j * k

    def rest(v: np.ndarray) -> np.ndarray:
        u = np.fft.irfft(v, n)
        if kind == "cubic":
            return np.asarray(np.fft.rfft(-5 * u**3) * kept)
        return np.asarray((-3.0 if kind == "kdv" else -0.5) * ik * np.fft.rfft(u * u) * kept)

    h = end / steps
    lin = h * symbol(k)
    e, e2 = np.exp(lin), np.exp(lin / 2)
    z = lin[:, None] + np.exp(2j * np.pi * (np.arange(64) + 0.5) / 64)
    mean = (lambda f: h * f.mean(axis=1)) if kind == "kdv" else (lambda f: h * f.mean(axis=1).real)
    q = mean((np.exp(z / 2) - 1) / z)
    f1 = mean((-4 - z + np.exp(z) * (4 - 3 * z + z**2)) / z**3)
    f2 = mean((2 + z + np.exp(z) * (-2 + z)) / z**3)
    f3 = mean((-4 - 3 * z - z**2 + np.exp(z) * (4 - z)) / z**3)
    v = np.fft.rfft(start(x))
    for _ in range(steps):
        nv = rest(v)
        a = e2 * v + q * nv
        na = rest(a)
        b = e2 * v + q * na
        nb = rest(b)
        c = e2 * a + q * (2 * nb - nv)
        v = e * v + nv * f1 + 2 * (na + nb) * f2 + rest(c) * f3
    return {"values": [np.fft.irfft(v, n)[:: n // 64].tolist()]}


# ---- exponax


def exponax(name: str, n: int, steps: int) -> dict[str, Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    import exponax as ex
    import jax.numpy as jnp

    if name == "gray-scott":
        stepper = ex.stepper.reaction.GrayScott(
            2, 1.0, n, 200 / steps, diffusivity_1=2e-5, diffusivity_2=1e-5, feed_rate=0.04, kill_rate=0.06
        )
        x = np.arange(n) / n
        bump = np.exp(-80 * ((x[:, None] - 0.5) ** 2 + (x - 0.5) ** 2))
        start = np.stack([1 - bump / 2, bump / 4])
    else:
        low, length, _, formula, _, end = LINES[name]
        start = formula(low + length * np.arange(n) / n)[None]
        stepper = {
            "kuramoto-sivashinsky": lambda: ex.stepper.KuramotoSivashinskyConservative(
                1, length, n, end / steps
            ),
            "kdv": lambda: ex.stepper.KortewegDeVries(
                1, length, n, end / steps, convection_scale=-6.0, dispersivity=-1.0, hyper_diffusivity=0.0
            ),
            "burgers": lambda: ex.stepper.Burgers(1, length, n, end / steps, diffusivity=1 / (100 * np.pi)),
        }[name]()
    final = np.asarray(jax.jit(ex.repeat(stepper, steps))(jnp.asarray(start)))
    if final.ndim == 3:
        return {"values": [one[:: n // 16, :: n // 16].ravel().tolist() for one in final]}
    return {"values": [final[0, :: n // 64].tolist()]}


# ---- py-pde


def pypde(name: str, n: int, dt: float) -> dict[str, Any]:
    import pde

    low, length, _, formula, _, end = LINES[name]
    right = {
        "allen-cahn": "laplace(u)/1000 + 5*u - 5*u**3",
        "burgers": f"laplace(u)/{100 * math.pi} - u*d_dx(u)",
    }[name]
    grid = pde.CartesianGrid([[low, low + length]], n, periodic=True)
    state = pde.ScalarField(grid, formula(grid.axes_coords[0]))
    final = pde.PDE({"u": right}).solve(state, t_range=end, dt=dt, adaptive=True, tracker=None)
    # Values in the middle of its cells: to our points by the Fourier series through them.
    waves = np.fft.rfft(final.data) / n
    k, theta = np.arange(len(waves)), 2 * np.pi * (np.arange(64) / 64 - 0.5 / n)
    table = np.exp(1j * np.outer(theta, k)) * np.where((k > 0) & (2 * k < n), 2.0, 1.0)
    return {"values": [(table @ waves).real.tolist()]}


SYSTEMS: dict[str, Callable[..., dict[str, Any]]] = {
    "safenet": ours,
    "SciPy": scipy_ivp,
    "NumPy": numpy_etdrk4,
    "exponax": exponax,
    "py-pde": pypde,
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
    if name == "gray-scott":
        return list(run("exponax", name, (512, 1600), 1200)["values"])
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


def run(system: str, name: str, settings: Settings, limit: float = 600) -> dict[str, Any]:
    """One run in a process of its own, with the seconds from its start to its end."""
    began = time.monotonic()
    command = [sys.executable, __file__, "--one", json.dumps([system, name, settings])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"no end in {limit:g} s"}
    seconds = time.monotonic() - began
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["?"])[-1], "seconds": seconds}
    return {**json.loads(done.stdout.splitlines()[-1]), "seconds": seconds}


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
            row |= {key: found[key] for key in ("failed", "estimate") if key in found}
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
