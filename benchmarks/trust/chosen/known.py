"""Kinds of confidently wrong answers and of false alarms found by a second hostile trial, each with its proof."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import erfc

from .shaped import BOX, DISC
from .stated import LINE, SQUARE, STRIP, one

TRIANGLE = 'shape = [{ polygon = { vertices = [[0, 0], [1, 0], [0, 1]] } }]\n[pieces]\nrim = "rest"\n'
BITTEN = 'remove = [{ box = { x = [0, 1], y = [-1, 0] } }]\n[pieces]\nrim = "rest"\n'
SLIT = (
    'remove = [{ disc = { center = [0.5, 0.6], radius = 0.2 } }]\n[pieces]\nslit = "y = 0 and x < 0"\n'
    'free = "y = 0 and x > 0"\nrim = "rest"\n'
)
TORUS = {"x": (0, "2*pi"), "y": (0, "2*pi")}
SPREAD = {"x": (-1, 1), "t": (0, 0.5)}
ORBIT = "x_tt = -x/(x**2 + y**2)**(3/2); y_tt = -y/(x**2 + y**2)**(3/2)"


def spike(width: float) -> Any:
    """u″ = u − e^{−ξ²/w²}/w, ξ = x − ½: √π/4 e^{w²/4} Σ e^{∓ξ} erfc(w/2 ∓ ξ/w), less its values at the ends"""

    def free(xi: Any) -> Any:
        sides = (np.exp(-s * xi) * erfc(width / 2 - s * xi / width) for s in (1, -1))
        return np.sqrt(np.pi) / 4 * np.exp(width**2 / 4) * sum(sides)

    return lambda x: free(x - 0.5) - free(0.5) * np.cosh(x - 0.5) / np.cosh(0.5)


def kepler(e: float) -> Any:
    """x = cos E − e, y = √(1 − e²) sin E with E − e sin E = t"""

    def found(t: Any) -> dict[str, Any]:
        mean = np.mod(np.ravel(np.asarray(t, dtype=float)), 2 * np.pi)
        E = np.array([brentq(lambda E, m=m: E - e * np.sin(E) - m, 0, 2 * np.pi, xtol=1e-15) for m in mean])
        x, y = np.cos(E) - e, np.sqrt(1 - e * e) * np.sin(E)
        return {"x": x.reshape(np.shape(t)), "y": y.reshape(np.shape(t))}

    return found


def leaving(x: Any, t: Any) -> Any:
    """w = u − ½: w_t = w_xx/100 + w − 4w³ from 10⁻¹³ cos πx, by 24 cosines of w: no rounding of ½"""
    k, nodes = np.arange(24), (np.arange(48) + 0.5) / 48
    table = np.cos(np.pi * np.outer(nodes, k))
    back = np.linalg.pinv(table)
    found = solve_ivp(
        lambda s, c: (1 - (np.pi * k) ** 2 / 100) * c - 4 * (back @ (table @ c) ** 3),
        (0, 40),
        np.eye(24)[1] * 1e-13,
        "RK45",
        rtol=1e-9,
        atol=1e-22,
        max_step=0.05,
        dense_output=True,
    )
    waves = np.cos(np.pi * np.outer(np.ravel(x), k))
    return 0.5 + np.sum(waves * found.sol(np.ravel(t)).T, axis=1).reshape(np.shape(x))


def slit(x: Any, y: Any) -> Any:
    """√r cos φ/2: zero at φ = π, with zero slope at φ = 0"""
    return np.sqrt(np.hypot(x, y)) * np.cos(np.arctan2(y, x) / 2)


TRIALS = [
    # ---- on shapes
    one(
        "resonant",
        "u_xx + u_yy + 5*pi**2*u = 1",
        "u = 0 on rim",
        SQUARE,
        None,
        "sin 2πx sin πy + sin πx sin 2πy has no sign: its integral is not 0",
        shape=TRIANGLE,
    ),
    one(
        "resonant",
        "u_xx + u_yy + 2*pi**2*u = 1",
        "u = 0 on rim",
        BOX,
        None,
        "sin πx sin πy on three squares",
        shape=BITTEN,
    ),
    one("free", "u_xx + u_yy = 2", "u_x = 2*x on rim; u(0, 0) = 0", BOX, None, "+ c y", shape=DISC),
    one(
        "overdetermined",
        "u_xx + u_yy = x + 0.01",
        "u_n = 0 on rim; u(0, 0) = 0",
        BOX,
        None,
        "∫ = π/100",
        shape=DISC,
    ),
    one(
        "poisson",
        "u_xx + u_yy = x",
        "u_n = 0 on rim; u(0, 0) = 0",
        BOX,
        lambda x, y: x * (x**2 + y**2 - 3) / 8,
        shape=DISC,
    ),
    one(
        "poisson",
        "1e-9*u_xx + 1e-9*u_yy = 4e-9",
        "u = 0 on rim",
        BOX,
        lambda x, y: x**2 + y**2 - 1,
        "",
        shape=DISC,
    ),
    one(
        "mixed corner",
        "u_xx + u_yy = 0",
        "u = 0 on slit; u_n = 0 on free; u = sqrt(sqrt(x**2 + y**2))*cos(atan2(y, x)/2) on rim",
        {"x": (-1, 1), "y": (0, 1)},
        slit,
        "second derivatives without a mean square",
        shape=SLIT,
    ),
    # ---- what is free
    one("free", "u_x + u_y = sin(x - y)", "u(0, 0) = 0", TORUS, None, "f(x − y)", periodic=("x", "y")),
    one(
        "convection",
        "u_x + u_y + u = sin(x - y)",
        "u(0, 0) = 0",
        TORUS,
        lambda x, y: np.sin(x - y),
        periodic=("x", "y"),
    ),
    one("free", "u_t + sign(x)*u_x = 0", "u(x, 0) = cos(pi*x)", SPREAD, None, "where |x| < t"),
    one(
        "convection",
        "u_t + x*u_x = 0",
        "u(x, 0) = cos(pi*x)",
        SPREAD,
        lambda x, t: np.cos(np.pi * x * np.exp(-t)),
    ),
    one("not unique", "u_t = 3*abs(u)**(2/3)", "u(0) = -1", {"t": (0, 2)}, None, "0 from t = 1 on, or not"),
    one("several", "u_t = -sqrt(abs(u))", "u(0) = 1", {"t": (0, 3)}, None, "0 from t = 2 on, or below"),
    one("power", "u_t = sqrt(u)", "u(0) = 1", {"t": (0, 2)}, lambda t: (1 + t / 2) ** 2),
    # ---- what is narrow
    *(
        one(
            "narrow",
            f"u_xx = u - {1 / width!r}*exp(-((x - 0.5)/{width!r})**2)",
            "u(0) = 0; u(1) = 0",
            LINE,
            spike(width),
        )
        for width in (1e-6, 1e-7, 1e-9)
    ),
    one(
        "narrow",
        "z_t = 1e4*max(0, 1 - 1e4*abs(a - 0.3141)); a_t = 1",
        "z(0) = 0; a(0) = 0",
        {"t": (0, 1)},
        lambda t: {"z": np.where(t > 0.3141, 1.0, 0.0), "a": np.asarray(t)},
        unknowns="za",
    ),
    # ---- what grows, and what does not
    one(
        "growing",
        "u_t = u_xx/100 + 4*u*(1 - u)*(u - 1/2)",
        "u(x, 0) = 1/2 + 1e-13*cos(pi*x); u_x(0, t) = 0; u_x(1, t) = 0",
        {"x": (0, 1), "t": (0, 40)},
        leaving,
    ),
    *(
        one(
            "growing",
            ORBIT,
            f"x(0) = {1 - e!r}; x_t(0) = 0; y(0) = 0; y_t(0) = sqrt({(1 + e) / (1 - e)!r})",
            {"t": (0, f"{2 * turns}*pi")},
            kepler(e),
            unknowns="xy",
        )
        for e, turns in ((0.5, 10), (0.9, 10), (0.99, 3))
    ),
    one(
        "wave",
        "1e-14*u_t = 1e-14*v_x; v_t = u_x",
        "u(0, t) = 0; u(1, t) = 0; u(x, 0) = sin(pi*x); v(x, 0) = 0",
        STRIP,
        lambda x, t: {"u": np.sin(np.pi * x) * np.cos(np.pi * t), "v": np.cos(np.pi * x) * np.sin(np.pi * t)},
        unknowns="uv",
    ),
]
