"""Kinds that nobody had listed, and those that were listed as known failures, each with its proof."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from .stated import SIDES, STRIP, one

RING = {"x": (0, "2*pi"), "t": (0, 2)}


def growing(start: float, rate: float) -> Any:
    """u′ = r (u − u³): u = z/√(1 + z² − a²), z = a e^{rt}"""

    def found(x: Any, t: Any) -> Any:
        z = start * np.exp(rate * t)
        return z / np.sqrt(1 + z**2 - start**2)

    return found


@cache
def _ring(waves: int) -> Any:
    """u_t = u_xx + u − u³ from 1 + cos(kx)/10 by 12 cosines of kx and Radau."""
    n, grid = np.arange(12), np.arange(64) * 2 * np.pi / 64
    table = np.cos(np.outer(grid, n))
    back = np.linalg.pinv(table)
    found = solve_ivp(
        lambda s, c: (1 - (waves * n) ** 2) * c - back @ (table @ c) ** 3,
        (0, 2),
        np.eye(12)[0] + np.eye(12)[1] / 10,
        "Radau",
        rtol=1e-11,
        atol=1e-13,
        dense_output=True,
    )
    return found.sol


def ring(waves: int) -> Any:
    def found(x: Any, t: Any) -> Any:
        table = np.cos(waves * np.outer(np.ravel(x), np.arange(12)))
        return np.sum(table * _ring(waves)(np.ravel(t)).T, axis=1).reshape(np.shape(x))

    return found


def plucked(x: Any, t: Any) -> Any:
    """d'Alembert: the mean of the odd continuation of ½ − |x − ½| at x ± t"""

    def shape(s: Any) -> Any:
        s = np.mod(s + 1, 2) - 1
        return np.sign(s) * np.minimum(np.abs(s), 1 - np.abs(s))

    return (shape(x + t) + shape(x - t)) / 2


def cooling(x: Any, t: Any) -> Any:
    """Σ 4/(πk) sin kπx e^{−k²π²t} over odd k: from 1 to sides 0"""
    k = np.arange(1, 2000, 2)[:, None]
    at = np.ravel(x), np.ravel(t)
    found = np.sum(4 / (np.pi * k) * np.sin(k * np.pi * at[0]) * np.exp(-((k * np.pi) ** 2) * at[1]), axis=0)
    return found.reshape(np.shape(x))


BOX = {"x": (0, 1), "y": (0, 1), "t": (0, 0.1)}
ALL_SIDES = "u(0, y, t) = 0; u(1, y, t) = 0; u(x, 0, t) = 0; u(x, 1, t) = 0"
TRIALS = [
    # ---- between the steps of a run, and between the waves of a grid
    *(
        one(
            "growing",
            "u_t = u_xx/100 + 10*(u - u**3)",
            f"u(x, 0) = {start!r}; u_x(0, t) = 0; u_x(1, t) = 0",
            {"x": (0, 1), "t": (0, end)},
            growing(start, 10),
        )
        for start, end in ((1e-6, 3), (1e-6, 5), (1e-3, 2))
    ),
    *(
        one(
            "stiff",
            "u_t = u_xx + u - u**3",
            f"u(x, 0) = 1 + cos({waves}*x)/10",
            RING,
            ring(waves),
            periodic=("x",),
        )
        for waves in (8, 20)
    ),
    # ---- what is not smooth
    one("wave", "u_tt = u_xx", f"{SIDES}; u(x, 0) = 1/2 - abs(x - 1/2); u_t(x, 0) = 0", STRIP, plucked),
    one(
        "heat",
        "u_t = u_xx + u_yy",
        f"{ALL_SIDES}; u(x, y, 0) = 1",
        BOX,
        lambda x, y, t: cooling(x, t) * cooling(y, t),
        "it jumps",
    ),
]
