"""Problems that mislead particular solvers: pulses at sides, aliases, cusps, hidden constraints, wrong conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_bvp, solve_ivp

from .stated import ENDS, LINE, SIDES, SQUARE, STRIP, one

RING = {"x": (0, "2*pi"), "t": (0, 1)}
ZERO = "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0; u(x, 1) = 0"


def pulse(s: Any, center: float = 0.3137, width: float = 0.003) -> Any:
    return np.exp(-(((s - center) / width) ** 2))


def passed(t: Any, delta: float = 1e-6) -> Any:
    """u′ = u/(|t − ½| + δ): (½ + δ)/(½ − t + δ), then times (t − ½ + δ)/δ"""
    before = (0.5 + delta) / (np.maximum(0.5 - t, 0) + delta)
    return before * (np.maximum(t - 0.5, 0) + delta) / delta


def late(t: Any) -> Any:
    """u′ = u² − 1 from 1 + δ: (u − 1)/(u + 1) = δ/(2 + δ) e^{2t}; δ as rounded to a float"""
    delta = (1 + 1e-9) - 1
    r = delta / (2 + delta) * np.exp(2 * t)
    return (1 + r) / (1 - r)


def pendulum(t: Any) -> Any:
    """On a circle of radius 1 from (1, 0): θ″ = −cos θ, and the tension is θ′² − sin θ"""
    end = float(np.max(t)) + 1e-9
    found = solve_ivp(
        lambda _, y: [y[1], -np.cos(y[0])],
        (0, end),
        [0, 0],
        "DOP853",
        rtol=1e-13,
        atol=1e-14,
        dense_output=True,
    )
    angle, speed = found.sol(t)
    return {"u": np.cos(angle), "v": np.sin(angle), "w": speed**2 - np.sin(angle)}


def corner_layer(x: Any) -> Any:
    """ε u″ + u u′ = u, u(0) = −1, u(1) = 3/2, ε = 1/200: a layer inside"""
    mesh = np.linspace(0, 1, 4001)
    near = np.tanh(75 * (mesh - 0.25))
    found = solve_bvp(
        lambda s, y: [y[1], 200 * (y[0] - y[0] * y[1])],
        lambda a, b: [a[0] + 1, b[0] - 1.5],
        mesh,
        np.stack([mesh - 0.25 + 0.75 * near, 1 + 56.25 * (1 - near**2)]),
        tol=1e-8,
        max_nodes=400_000,
    )
    assert found.success
    return found.sol(x)[0]


def slope(x: Any, y: Any) -> Any:
    """Δu = 0, u_x(1, y) = 1, zero on the other sides"""
    total = 0.0
    for k in range(1, 4001, 2):
        a = k * np.pi
        total = total + 4 / a**2 * np.sin(a * y) * (np.exp(a * (x - 1)) - np.exp(-a * (x + 1))) / (
            1 + np.exp(-2 * a)
        )
    return total


def stepped(x: Any, t: Any) -> Any:
    """u_t = u_xx, 1 at x = 0 and 0 at x = 1, from sin πx"""
    total = 1 - x + np.exp(-(np.pi**2) * t) * np.sin(np.pi * x)
    for k in range(1, 3000):
        total = total - 2 / (k * np.pi) * np.exp(-((k * np.pi) ** 2) * t) * np.sin(k * np.pi * x)
    return total


def bell(x: Any, t: Any, nu: float = 1e-3) -> Any:
    """A front of u_t + u u_x = ν u_xx between 1 and 0."""
    return 1 / (1 + np.exp(np.clip((x - 0.3 - t / 2) / (2 * nu), -700, 700)))


def powers(x: Any) -> Any:
    """u″ = |x − 0.3|^{−1/2}: 4/3 |x − 0.3|^{3/2} and a straight line"""

    def bend(s: Any) -> Any:
        return 4 / 3 * np.abs(s - 0.3) ** 1.5

    return bend(x) - (1 - x) * bend(0.0) - x * bend(1.0)


def logs(x: Any) -> Any:
    """u″ = log x: x²/2 log x − 3x²/4 + 3x/4"""
    return x**2 / 2 * np.log(x) - 3 * x**2 / 4 + 3 * x / 4


TRIALS = [
    # ---- pulses at a side
    one(
        "narrow",
        "u_t + u_x = 0",
        "u(0, t) = exp(-((t - 0.3137)/0.003)**2); u(x, 0) = 0",
        STRIP,
        lambda x, t: pulse(t - x),
    ),
    one(
        "narrow",
        "u_tt = u_xx",
        "u(0, t) = exp(-((t - 0.3137)/0.01)**2); u(1, t) = 0; u(x, 0) = 0; u_t(x, 0) = 0",
        {"x": (0, 1), "t": (0, 0.9)},
        lambda x, t: pulse(t - x, width=0.01),
    ),
    # ---- coefficients that are nearly singular
    one("narrow", "u_t = u/(abs(t - 1/2) + 1e-6)", "u(0) = 1", {"t": (0, 1)}, passed),
    one(
        "narrow",
        "f = ((x - 1/2)**2 + 1e-6)*u_x; f_x = 0",
        "u(0) = 0; u(1) = 1",
        LINE,
        lambda x: {
            "u": (np.arctan(1e3 * (x - 0.5)) / np.arctan(500.0) + 1) / 2,
            "f": 1e-3 / (2 * np.arctan(500.0)) + 0 * x,
        },
        unknowns="uf",
    ),
    one("singular", "u_xx = log(x)", ENDS, LINE, logs),
    one("singular", "u_xx = abs(x - 0.3)**(-1/2)", ENDS, LINE, powers),
    one("singular", "u_t = t**(-9/10)", "u(0) = 0", {"t": (0, 1)}, lambda t: 10 * t**0.1),
    # ---- constraints that are hidden
    one(
        "constraint",
        "u_tt = -w*u; v_tt = -w*v - 1; u**2 + v**2 = 1",
        "u(0) = 1; u_t(0) = 0; v(0) = 0; v_t(0) = 0",
        {"t": (0, 3)},
        pendulum,
        unknowns="uvw",
    ),
    one(
        "constraint",
        "u_t = u_xx - p_x; u_x = 0",
        "u(0, t) = sin(t); u(1, t) = sin(t); p(0, t) = 0; u(x, 0) = 0",
        STRIP,
        lambda x, t: {"u": np.sin(t) + 0 * x, "p": -x * np.cos(t)},
        unknowns="up",
    ),
    one(
        "constraint",
        "u_t = u_xx - p_x; u_x = 0",
        "u(0, t) = sin(t); u(1, t) = 2*sin(t); p(0, t) = 0; u(x, 0) = 0",
        STRIP,
        None,
        "as much must leave as enters",
        unknowns="up",
    ),
    # ---- late
    one("blow-up", "u_t = u**2 - 1", f"u(0) = {1 + 1e-9!r}", {"t": (0, 12)}, None, "infinite at 10.7"),
    one("blow-up", "u_t = u**2 - 1", f"u(0) = {1 + 1e-9!r}", {"t": (0, 10)}, late),
    one(
        "blow-up",
        "u_t = u_xx + u**3",
        "u_x(0, t) = 0; u_x(1, t) = 0; u(x, 0) = 1",
        {"x": (0, 1), "t": (0, 0.6)},
        None,
        "infinite at 1/2",
    ),
    one(
        "chaotic",
        "u_t = -u*u_x - u_xx - u_xxxx",
        "u(x, 0) = cos(x/16)*(1 + sin(x/16))",
        {"x": (0, "32*pi"), "t": (0, 1200)},
        None,
        "e^{0.09·1200} times a rounding",
        periodic=("x",),
    ),
    # ---- several solutions
    one("several", "u_xx + sin(u) = 0", "u(0) = 0; u(4) = 0", {"x": (0, 4)}, None, "rest, and two waves"),
    one("several", "u_xx + u**3 = 0", ENDS, LINE, None, "rest, and waves of any number"),
    one("several", "u*u_xx + u_x**2 = -1", ENDS, LINE, None, "±√(x(1 − x))"),
    one("several", "u_xx + u_yy + 30*u - u**3 = 0", ZERO, SQUARE, None, "rest, and two bumps"),
    # ---- conditions of the wrong kind
    one(
        "ill-posed",
        "u_t = u_xx",
        f"{SIDES}; u(x, 1) = x*(1 - x)",
        STRIP,
        None,
        "an end in place of a start",
    ),
    one(
        "heat",
        "u_t = u_xx",
        f"{SIDES}; u_t(x, 0) = sin(pi*x)",
        STRIP,
        lambda x, t: -np.exp(-(np.pi**2) * t) * np.sin(np.pi * x) / np.pi**2,
        "the rate in place of the values, which follow",
    ),
    one(
        "convection",
        "u_t + u_x = 0",
        "u_x(0, t) = 0; u(x, 0) = cos(pi*x)",
        STRIP,
        lambda x, t: np.cos(np.pi * np.maximum(x - t, 0)),
        "a bend that runs",
    ),
    one(
        "ill-posed",
        "u_tt = u_xx",
        f"{SIDES}; u(x, 0) = 0; u(x, sqrt(2)) = x*(1 - x)",
        {"x": (0, 1), "t": (0, "sqrt(2)")},
        None,
        "small divisors sin(k π √2)",
    ),
    # ---- corners
    one(
        "mixed corner",
        "u_xx + u_yy = 0",
        "u(0, y) = 0; u_x(1, y) = 1; u(x, 0) = 0; u(x, 1) = 0",
        SQUARE,
        slope,
        "clash",
    ),
    one(
        "discontinuous",
        "u_t = u_xx",
        "u(0, t) = 1; u(1, t) = 0; u(x, 0) = sin(pi*x)",
        STRIP,
        stepped,
        "clash",
    ),
    # ---- aliases: zero at every node of a grid of 2ⁿ cells
    one("oscillating", "u_xx = -(256*pi)**2*sin(256*pi*x)", ENDS, LINE, lambda x: np.sin(256 * np.pi * x)),
    one(
        "oscillating",
        "u_xx + u_yy = -2*(64*pi)**2*sin(64*pi*x)*sin(64*pi*y)",
        ZERO,
        SQUARE,
        lambda x, y: np.sin(64 * np.pi * x) * np.sin(64 * np.pi * y),
    ),
    one(
        "oscillating",
        "u_t + u_x = 0",
        "u(x, 0) = sin(512*x)",
        RING,
        lambda x, t: np.sin(512 * (x - t)),
        periodic=("x",),
    ),
    one(
        "oscillating",
        "u_t + u*u_x = u_xx/10",
        "u(x, 0) = 1 + sin(256*x)/1000",
        RING,
        lambda x, t: 1 + 1e-3 * np.exp(-(256**2) * t / 10) * np.sin(256 * (x - t)),
        periodic=("x",),
    ),
    one(
        "oscillating",
        "u_t = 100000*cos(100000*t)*u",
        "u(0) = 1",
        {"t": (0, 1)},
        lambda t: np.exp(np.sin(1e5 * t)),
    ),
    # ---- little viscosity, moving layers
    one(
        "layer",
        "u_t + u*u_x = 0.001*u_xx",
        "u(-1, t) = 1; u(2, t) = 0; u(x, 0) = 1/(1 + exp((x - 0.3)/0.002))",
        {"x": (-1, 2), "t": (0, 1)},
        bell,
    ),
    one(
        "layer",
        "u_t + u_x = 0",
        "u(0, t) = tanh((-t - 0.2)/0.002); u(x, 0) = tanh((x - 0.2)/0.002)",
        {"x": (0, 1), "t": (0, 0.7)},
        lambda x, t: np.tanh((x - t - 0.2) / 0.002),
    ),
    one("layer", "0.005*u_xx + u*u_x = u", "u(0) = -1; u(1) = 3/2", LINE, corner_layer),
    # ---- degenerate
    one(
        "degenerate",
        "u_t = x**2*u_xx + 2*x*u_x",
        "u(1, t) = exp(2*t); u(x, 0) = x",
        STRIP,
        lambda x, t: x * np.exp(2 * t),
    ),
    one(
        "degenerate",
        "u_t = 3*u**2*u_xx + 6*u*u_x**2",
        "u(-5, t) = 0; u(5, t) = 0; u(x, 0) = sqrt(max(1 - x**2/12, 0))",
        {"x": (-5, 5), "t": (0, 1)},
        lambda x, t: (1 + t) ** -0.25 * np.sqrt(np.maximum(1 - x**2 / (12 * (1 + t) ** 0.5), 0)),
        "a front of infinite slope",
    ),
    # ---- stiff
    one(
        "stiff",
        "u_t = -100000*(u - v**2); v_t = -v",
        "u(0) = 1; v(0) = 1",
        {"t": (0, 3)},
        lambda t: {
            "u": (1e5 * np.exp(-2 * t) - 2 * np.exp(-1e5 * t)) / (1e5 - 2),
            "v": np.exp(-t),
        },
        unknowns="uv",
    ),
]
