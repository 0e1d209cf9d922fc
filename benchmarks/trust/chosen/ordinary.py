"""u′ = f(t, u): narrow, stiff, growing, chaotic, switched, blowing up."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import airy, dawsn, erf, jv

from ..problems import Answer, Trial


def one(
    family: str, equation: str, start: str, end: float | str, answer: Answer | None, why: str = ""
) -> Trial:
    return Trial(family, [equation], start.split("; "), {"t": (0, end)}, answer, why=why)


def system(
    family: str, names: str, equations: str, start: str, end: float, answer: Any, why: str = ""
) -> Trial:
    unknowns = tuple(names)
    return Trial(family, equations.split("; "), start.split("; "), {"t": (0, end)}, answer, unknowns, why)


def integrated(names: str, flow: Any, start: list[float], end: float) -> Answer:
    """By Dormand–Prince (DOP853) at its tightest tolerance."""

    def answer(t: Any) -> Any:
        found = solve_ivp(flow, (0, end), start, "DOP853", rtol=2.3e-14, atol=1e-14, dense_output=True)
        values = found.sol(t)
        return dict(zip(names, values, strict=True)) if len(names) > 1 else values[0]

    return answer


def pulse(height: float, center: float, width: float, rate: float = 1.0) -> Answer:
    """u′ = −a u + h e^{−((t−c)/w)²}, u(0) = 0"""

    def u(t: Any) -> Any:
        grown = erf((t - center) / width - rate * width / 2) - erf(-center / width - rate * width / 2)
        size = height * width * np.sqrt(np.pi) / 2
        return size * np.exp(-rate * (t - center) + (rate * width) ** 2 / 4) * grown

    return u


def duffing(_: float, y: Any) -> Any:
    return [y[1], -0.3 * y[1] + y[0] - y[0] ** 3]


def lorenz(_: float, y: Any) -> Any:
    return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]


def roessler(_: float, y: Any) -> Any:
    return [-y[1] - y[2], y[0] + 0.2 * y[1], 0.2 + y[2] * (y[0] - 5.7)]


def robertson(t: Any) -> Any:
    def flow(_: float, y: Any) -> Any:
        slow, fast = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return [slow, -slow - fast, fast]

    found = solve_ivp(flow, (0, 40), [1, 0, 0], "Radau", rtol=1e-11, atol=1e-15, dense_output=True)
    return dict(zip("uvw", found.sol(t), strict=True))


def kepler(t: Any) -> Any:
    """Eccentricity 0.9 from perihelion, by Kepler's equation."""
    e, mean = 0.9, np.mod(np.asarray(t), 2 * np.pi)
    anomaly = np.where(mean < np.pi, mean + e, mean - e)
    for _ in range(60):
        anomaly = anomaly - (anomaly - e * np.sin(anomaly) - mean) / (1 - e * np.cos(anomaly))
    return {"u": np.cos(anomaly) - e, "v": np.sqrt(1 - e**2) * np.sin(anomaly)}


CUBED = "(u**2 + v**2)**1.5"
TRIALS = [
    # ---- narrow
    one("narrow", "u_t = -u + 10000*exp(-(10000*(t - 5.137))**2)", "u(0) = 0", 10, pulse(1e4, 5.137, 1e-4)),
    one("narrow", "u_t = -u + 100*exp(-(100*(t - 5.137))**2)", "u(0) = 0", 10, pulse(100, 5.137, 0.01)),
    one("narrow", "u_t = -u + 20*exp(-(20*(t - 5.137))**2)", "u(0) = 0", 10, pulse(20, 5.137, 0.05)),
    one("narrow", "u_t = -u + 1e6*exp(-(1e6*(t - 77.7))**2)", "u(0) = 0", 100, pulse(1e6, 77.7, 1e-6)),
    one(
        "narrow",
        "u_t = -1000*u + 1e4*exp(-(1e4*(t - 0.6181))**2)",
        "u(0) = 0",
        1,
        pulse(1e4, 0.6181, 1e-4, 1e3),
    ),
    one(
        "narrow",
        "u_t = 1/(1 + (1e4*(t - 2.2222))**2)*1e4",
        "u(0) = 0",
        5,
        lambda t: np.arctan(1e4 * (t - 2.2222)) + np.arctan(1e4 * 2.2222),
    ),
    one(
        "narrow",
        "u_t = 500*sech(1000*(t - 3.3))**2",
        "u(0) = 0",
        7,
        lambda t: (np.tanh(1000 * (t - 3.3)) + 1) / 2,
    ),
    one(
        "narrow",
        "u_t = -1e4*exp(-(1e4*(t - 1.2345))**2)*u",
        "u(0) = 1",
        3,
        lambda t: np.exp(-np.sqrt(np.pi) / 2 * (erf(1e4 * (t - 1.2345)) + 1)),
    ),
    one(
        "narrow",
        "u_t = sin(t) + 300*exp(-(300*(t - 1))**2) + 3e4*exp(-(3e4*(t - 2))**2)",
        "u(0) = 0",
        4,
        lambda t: 1 - np.cos(t) + np.sqrt(np.pi) / 2 * (erf(300 * (t - 1)) + erf(3e4 * (t - 2)) + 2),
    ),
    one(
        "narrow",
        "u_tt = -u + 1e3*exp(-(1e3*(t - 4.71))**2)",
        "u(0) = 0; u_t(0) = 0",
        12,
        lambda t: _kicked(t, 4.71, 1e-3),
    ),
    # ---- stiff
    one("stiff", "u_t = -1e6*(u - cos(t)) - sin(t)", "u(0) = 1", 2, np.cos),
    one("stiff", "u_t = -1e6*(u - cos(t)) - sin(t)", "u(0) = 2", 2, lambda t: np.cos(t) + np.exp(-1e6 * t)),
    one("stiff", "u_t = -50*(u - t**2) + 2*t", "u(0) = 1", 2, lambda t: t**2 + np.exp(-50 * t)),
    one("stiff", "u_t = -1000*u**3 + 1000*cos(t)**3 - sin(t)", "u(0) = 1", 3, np.cos),
    one("stiff", "u_tt = -1001*u_t - 1000*u", "u(0) = 1; u_t(0) = -1", 3, lambda t: np.exp(-t)),
    system(
        "stiff",
        "uvw",
        "u_t = -0.04*u + 1e4*v*w; v_t = 0.04*u - 1e4*v*w - 3e7*v**2; w_t = 3e7*v**2",
        "u(0) = 1; v(0) = 0; w(0) = 0",
        40,
        robertson,
    ),
    system(
        "stiff",
        "uv",
        "u_t = -1000*(u - v); v_t = -v",
        "u(0) = 1; v(0) = 1",
        5,
        lambda t: {"u": 1000 / 999 * np.exp(-t) - np.exp(-1000 * t) / 999, "v": np.exp(-t)},
    ),
    # ---- growing
    one("growing", "u_t = 50*(u - cos(t)) - sin(t)", "u(0) = 1", 5, None, "moves with rounding"),
    one("growing", "u_t = 20*(u - cos(3*t)) - 3*sin(3*t)", "u(0) = 1", 5, None, "moves with rounding"),
    one("growing", "u_t = 5*(u - cos(t)) - sin(t)", "u(0) = 1", 3, np.cos),
    one("growing", "u_t = 50*u", "u(0) = 1", 5, lambda t: np.exp(50 * t)),
    one("growing", "u_t = u**2 - u*t", "u(0) = 0", 5, lambda t: 0 * t),
    one("growing", "u_tt = 100*u", "u(0) = 1; u_t(0) = -10", 8, None, "e^{−10t} drowns in e^{10t}"),
    one("growing", "u_tt = 100*u", "u(0) = 1; u_t(0) = -10", 1, lambda t: np.exp(-10 * t)),
    one("growing", "u_tt = t*u", "u(0) = 1; u_t(0) = 0", 5, lambda t: _airy(t)),
    one("growing", "u_t = 2*t*u + 1", "u(0) = 0", 3, lambda t: np.exp(t**2) * np.sqrt(np.pi) / 2 * erf(t)),
    one("growing", "u_t = 1 - 2*t*u", "u(0) = 0", 8, dawsn),
    one("growing", "u_t = 10*(u - t**2) + 2*t", "u(0) = 0", 6, None, "e^{60} times a rounding of t²"),
    # ---- chaotic and oscillating
    system(
        "chaotic",
        "uvw",
        "u_t = 10*(v - u); v_t = u*(28 - w) - v; w_t = u*v - 8/3*w",
        "u(0) = 1; v(0) = 1; w(0) = 1",
        8,
        integrated("uvw", lorenz, [1, 1, 1], 8),
    ),
    system(
        "chaotic",
        "uvw",
        "u_t = 10*(v - u); v_t = u*(28 - w) - v; w_t = u*v - 8/3*w",
        "u(0) = 1; v(0) = 1; w(0) = 1",
        60,
        None,
        "e^{0.9·60} times a rounding",
    ),
    system(
        "chaotic",
        "uvw",
        "u_t = -v - w; v_t = u + 0.2*v; w_t = 0.2 + w*(u - 5.7)",
        "u(0) = 1; v(0) = 1; w(0) = 0",
        30,
        integrated("uvw", roessler, [1, 1, 0], 30),
    ),
    one("chaotic", "u_tt = -0.3*u_t + u - u**3", "u(0) = 1.5; u_t(0) = 0", 20, lambda t: _duffing(t)),
    one("oscillating", "u_tt = -10000*u", "u(0) = 1; u_t(0) = 0", 3, lambda t: np.cos(100 * t)),
    one("oscillating", "u_t = cos(300*t)", "u(0) = 0", 5, lambda t: np.sin(300 * t) / 300),
    one("oscillating", "u_t = cos(20000*t)", "u(0) = 0", 1, lambda t: np.sin(20000 * t) / 20000),
    one("oscillating", "u_tt + u = cos(t)", "u(0) = 0; u_t(0) = 0", 40, lambda t: t * np.sin(t) / 2),
    one(
        "oscillating",
        "u_tt + u_t/(t + 1) + u = 0",
        f"u(0) = {float(jv(0, 1.0))!r}; u_t(0) = {-float(jv(1, 1.0))!r}",
        30,
        lambda t: jv(0, t + 1),
    ),
    system(
        "oscillating",
        "uv",
        f"u_tt = -u/{CUBED}; v_tt = -v/{CUBED}",
        "u(0) = 0.1; v(0) = 0; u_t(0) = 0; v_t(0) = 4.358898943540674",
        6.283185307179586,
        kepler,
    ),
    # ---- fast switches
    one(
        "switch",
        "u_t = u*(1 - u)*200*(t - 0.5)",
        "u(0) = 0.5",
        1,
        lambda t: 1 / (1 + np.exp(-100 * ((t - 0.5) ** 2 - 0.25))),
    ),
    one("switch", "u_t = 10*u*(1 - u)", "u(0) = 1e-8", 3, lambda t: 1 / (1 + (1e8 - 1) * np.exp(-10 * t))),
    one(
        "switch",
        "u_t = heaviside(t - 1) - heaviside(t - 1.0001)",
        "u(0) = 0",
        2,
        lambda t: np.clip(t - 1, 0, 1e-4),
    ),
    one("switch", "u_t = sign(sin(10*t))", "u(0) = 0", 2, lambda t: np.arccos(np.cos(10 * t)) / 10),
    one("switch", "u_t = abs(t - 0.7)", "u(0) = 0", 2, lambda t: ((t - 0.7) * np.abs(t - 0.7) + 0.49) / 2),
    one("switch", "u_t = max(0, sin(t))*u", "u(0) = 1", 9, lambda t: np.exp(_positive_sine(t))),
    one("switch", "u_t = where(t < 1/3, 1, -1)", "u(0) = 0", 1, lambda t: np.minimum(t, 2 / 3 - t)),
    # ---- blow-up, more than one solution, degenerate
    one("blow-up", "u_t = u**2", "u(0) = 1", 2, None, "infinite at t = 1"),
    one("blow-up", "u_t = 1 + u**2", "u(0) = 0", 3, None, "infinite at t = π/2"),
    one("blow-up", "u_t = exp(u)", "u(0) = 0", 1.5, None, "infinite at t = 1"),
    one("blow-up", "u_t = u**2", "u(0) = 1", 0.99, lambda t: 1 / (1 - t)),
    one("blow-up", "u_tt = 2*u**3", "u(0) = 1; u_t(0) = 1", 1.2, None, "infinite at t = 1"),
    one("blow-up", "u_t = -1/u", "u(0) = 1", 1, None, "zero, and its slope infinite, at t = 1/2"),
    one("not unique", "u_t = sqrt(abs(u))", "u(0) = 0", 2, None, "leaves zero at any time"),
    one("not unique", "u_t = 3*abs(u)**(2/3)", "u(0) = 0", 1, None, "leaves zero at any time"),
    one("not unique", "u_t = sqrt(abs(u))", "u(0) = 1", 2, lambda t: (1 + t / 2) ** 2),
    one("not unique", "u_t = -sqrt(abs(u))", "u(0) = 1", 1.9, lambda t: (1 - t / 2) ** 2),
    one("degenerate", "t*u_t = 2*u", "u(0) = 0", 1, None, "c t²"),
    one("degenerate", "u_t = u/(t + 1e-6)", "u(0) = 1e-6", 1, lambda t: t + 1e-6),
    one("degenerate", "u_t = 1/(2*sqrt(t + 1e-10))", "u(0) = 1e-5", 1, lambda t: np.sqrt(t + 1e-10)),
]


def _kicked(t: Any, center: float, width: float) -> Any:
    """∫ sin(t − s) e^{−((s−c)/w)²}/w ds, by Gaussian quadrature over six widths."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    t = np.asarray(t, dtype=float)
    low, high = np.maximum(center - 6 * width, 0), np.minimum(t, center + 6 * width)
    half = np.maximum(high - low, 0) / 2
    s = low + half * (1 + nodes[:, None])
    return (weights[:, None] * half * np.sin(t - s) * np.exp(-(((s - center) / width) ** 2)) / width).sum(
        axis=0
    )


def _airy(t: Any) -> Any:
    a, _, b, _ = airy(t)
    a0, da0, b0, db0 = airy(0.0)
    return (db0 * a - da0 * b) / (a0 * db0 - da0 * b0)


def _duffing(t: Any) -> Any:
    return integrated("u", duffing, [1.5, 0.0], 20)(t)


def _positive_sine(t: Any) -> Any:
    """∫₀ᵗ max(0, sin)"""
    turns, rest = np.divmod(t, 2 * np.pi)
    return 2 * turns + 1 - np.cos(np.minimum(rest, np.pi))
