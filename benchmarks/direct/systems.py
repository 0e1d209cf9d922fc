"""Ours and other systems, each with settings from rough to fine: values at the points and times of `problems`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .problems import MANY, MOMENTS, ORDINARY, PROBLEMS, STEADY, compared, early, places

Settings = tuple[Any, ...]


# ---- ours


def ours(name: str, tol: float) -> dict[str, Any]:
    import safenet as sn
    from safenet.problem.toml import loads

    problem = loads(PROBLEMS[name])
    sol = sn.solve(problem, sn.Auto(tol=tol), monitor=sn.Monitor())
    space = problem.axes if name in STEADY else problem.axes[:-1]
    at = {axis.name: ticks for axis, ticks in zip(space, places(name), strict=True)}
    if name in STEADY:
        found, begun = [sol(**at)], 0
    else:
        axis, count = problem.axes[-1], MANY if name in ORDINARY else MOMENTS
        regular = [*(axis.lo + axis.length * k / count for k in range(1, count)), axis.hi]
        moments = np.array([*(axis.lo + early(name, axis.length)), *regular])
        begun = len(moments) - count
        spread = {name: np.tile(ticks, len(moments)) for name, ticks in at.items()}
        every = sol(**spread, t=np.repeat(moments, len(places(name)[0]) if at else 1))
        fields = every if isinstance(every, dict) else {problem.unknowns[0]: every}
        rows = {each: np.reshape(values, (len(moments), -1)) for each, values in fields.items()}
        found = [{each: values[k] for each, values in rows.items()} for k in range(len(moments))]
    whole = [one if isinstance(one, dict) else {problem.unknowns[0]: one} for one in found]
    estimate, names = sol.result.estimate, compared(name)
    own = estimate if isinstance(estimate, dict) else {names[0]: estimate}
    every = [[np.atleast_1d(one[each]).tolist() for one in whole] for each in names]
    return {
        "values": [line[begun:] for line in every],
        "early": [line[:begun] for line in every],
        "estimate": [own.get(each) for each in names],
        "outcome": str(sol.result.outcome),
    }


# ---- SciPy


def scipy_ivp(name: str, method: str, rtol: float, atol: float) -> dict[str, Any]:
    from scipy.integrate import solve_ivp

    def lorenz(t: float, y: np.ndarray) -> list[float]:
        return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]

    def robertson(t: float, y: np.ndarray) -> list[float]:
        a, b = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return [a, -a - b, b]

    def hires(t: float, y: np.ndarray) -> list[float]:
        swap = 280 * y[5] * y[7]
        return [
            -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
            1.71 * y[0] - 8.75 * y[1],
            -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
            8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
            -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
            -swap + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
            swap - 1.81 * y[6],
            -swap + 1.81 * y[6],
        ]

    rates, start, end = {
        "lorenz": (lorenz, [1.0, 1.0, 1.0], 20.0),
        "robertson": (robertson, [1.0, 0.0, 0.0], 1e4),
        "robertson-long": (robertson, [1.0, 0.0, 0.0], 1e11),
        "hires": (hires, [1.0, *[0.0] * 6, 0.0057], 321.8122),
    }[name]
    sol = solve_ivp(rates, (0, end), start, method=method, rtol=rtol, atol=atol, dense_output=True)
    moments = end * np.arange(1, MANY + 1) / MANY
    return {
        key: [[[value] for value in line] for line in sol.sol(times).tolist()]
        for key, times in {"values": moments, "early": early(name, end)}.items()
    }


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
LINES["kuramoto-sivashinsky-long"] = (*LINES["kuramoto-sivashinsky"][:-1], 200.0)


def numpy_etdrk4(name: str, n: int, steps: int, until: float | None = None) -> dict[str, Any]:
    low, length, symbol, start, kind, end = LINES[name]
    end = until or end
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
    v, found = np.fft.rfft(start(x)), []
    for step in range(1, steps + 1):
        nv = rest(v)
        a = e2 * v + q * nv
        na = rest(a)
        b = e2 * v + q * na
        nb = rest(b)
        c = e2 * a + q * (2 * nb - nv)
        v = e * v + nv * f1 + 2 * (na + nb) * f2 + rest(c) * f3
        if step % (steps // MOMENTS) == 0:
            found.append(np.fft.irfft(v, n)[:: n // 64].tolist())
    return {"values": [found]}


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
    # Its values are at cell centres; their Fourier series gives values at our points.
    waves = np.fft.rfft(final.data) / n
    k, theta = np.arange(len(waves)), 2 * np.pi * (np.arange(64) / 64 - 0.5 / n)
    table = np.exp(1j * np.outer(theta, k)) * np.where((k > 0) & (2 * k < n), 2.0, 1.0)
    return {"values": [[(table @ waves).real.tolist()]]}
