"""Kinds of problems on no earlier list, and those listed as known failures, each with its proof."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import erf, erfc, erfi

from .known import TORUS, TRIANGLE
from .stated import LINE, SIDES, SQUARE, STRIP, one

RING = {"x": (0, "2*pi"), "t": (0, 2)}
TO_ONE = {"x": (0, "2*pi"), "t": (0, 1)}
SYMMETRIC = {"x": (-1, 1)}


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


def pointed(place: float) -> Any:
    """d'Alembert for a string plucked at `place`."""

    def shape(s: Any) -> Any:
        s = np.mod(s + 1, 2) - 1
        x = np.abs(s)
        return np.sign(s) * np.where(x < place, x / place, (1 - x) / (1 - place))

    return lambda x, t: (shape(x + t) + shape(x - t)) / 2


def rooted(x: Any, t: Any) -> Any:
    """√t (e^{−z²} − √π z erfc z), z = x/(2√t): √t at x = 0, and nothing before"""
    root = np.sqrt(np.maximum(t, 1e-300))
    z = x / (2 * root)
    return root * (np.exp(-z * z) - np.sqrt(np.pi) * z * erfc(z))


def followed(rates: Any, start: list[float], end: float, method: str = "DOP853", **more: Any) -> Any:
    """t → y(t), by SciPy at its tightest."""

    @cache
    def found() -> Any:
        return solve_ivp(
            rates, (0, end), start, method, rtol=1e-12, atol=1e-13, dense_output=True, **more
        ).sol

    return lambda t: found()(np.ravel(t)).reshape(len(start), *np.shape(t))


def pulse(t: Any) -> Any:
    """1000 e^{−(1000 (t − c))²}"""
    return 1000 * np.exp(-((1000 * (t - 0.3337)) ** 2))


def drifting(x: Any, t: Any) -> Any:
    """Cole and Hopf: m − 2ν φ_x/φ, φ = 2 + cos(x − mt) e^{−νt}"""
    z, decay = x - 10 * t, np.exp(-t / 10)
    return 10 + 0.2 * np.sin(z) * decay / (2 + np.cos(z) * decay)


def breather(x: Any, t: Any) -> Any:
    return 4 * np.arctan(0.8 / 0.6 * np.cos(0.6 * t) / np.cosh(0.8 * x))


BOX = {"x": (0, 1), "y": (0, 1), "t": (0, 0.1)}
SPIKE = "1e4*max(0, 1 - 1e4*abs(u - 0.3))"
NO_SLOPES = "u_x(0, t) = 0; u_x(1, t) = 0"
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
    one(
        "wave",
        "u_tt = u_xx",
        f"{SIDES}; u(x, 0) = min(x/0.3, (1 - x)/0.7); u_t(x, 0) = 0",
        {"x": (0, 1), "t": (0, 3)},
        pointed(0.3),
    ),
    one(
        "heat",
        "u_t = u_xx",
        "u(x, 0) = 0; u(0, t) = sqrt(t); u(15, t) = 0",
        {"x": (0, 15), "t": (0, 1)},
        rooted,
    ),
    # ---- terms that are narrow in an unknown
    one(
        "narrow", f"u_t = u_xx + 1 + {SPIKE}", f"u(x, 0) = 0; {NO_SLOPES}", STRIP, None, "it is stepped over"
    ),
    one(
        "narrow", f"u_t = u_xx + {SPIKE}", f"{SIDES}; u(x, 0) = sin(pi*x)", STRIP, None, "it is stepped over"
    ),
    one(
        "stiff",
        "u_t = u_xx + 1 + tanh(5*(u - 0.3))",
        f"u(x, 0) = 0; {NO_SLOPES}",
        STRIP,
        lambda x, t: followed(lambda s, u: 1 + np.tanh(5 * (u - 0.3)), [0.0], 1.0)(t)[0],
    ),
    # ---- free parameters, and problems without a solution
    one("not unique", "u_tt = sqrt(abs(u))", "u(0) = 0; u_t(0) = 0", {"t": (0, 5)}, None, "t⁴/144"),
    one(
        "not unique",
        "u_tt = sqrt(abs(u))",
        "u(0) = 1/144; u_t(0) = -4/144",
        {"t": (0, 2)},
        None,
        "or 0 from 1 on",
    ),
    *(
        one(
            "free",
            f"u_x + ({speed})*u_y = sin(x)",
            "u(0, 0) = 0",
            TORUS,
            None,
            "∫ dy/(c + cos y) = 2π/√(c² − 1): closed lines",
            periodic=("x", "y"),
        )
        for speed in ("5/4 + cos(y)", "sqrt(2) + cos(y)", "2 + cos(x)")
    ),
    one(
        "convection",
        "u_x + (2 + cos(y))*u_y = sin(x)",
        "u(0, 0) = 0",
        TORUS,
        lambda x, y: 1 - np.cos(x),
        periodic=("x", "y"),
    ),
    one(
        "free",
        "u_xx + u_yy + 5*pi**2*u = 0",
        "u = 0 on rim",
        SQUARE,
        None,
        "an eigenfunction",
        shape=TRIANGLE,
    ),
    one(
        "overdetermined",
        "u_xx + u_yy = sin(x)**2",
        "u(0, 0) = 0",
        TORUS,
        None,
        "no mean",
        periodic=("x", "y"),
    ),
    one(
        "several",
        "u_xx + u_yy + 2*exp(u) = 0",
        "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0; u(x, 1) = 0",
        SQUARE,
        None,
        "Bratu's problem has two",
    ),
    one(
        "ill-posed",
        "x*u_t = u_xx",
        "u(x, 0) = sin(pi*x); u(-1, t) = 0; u(1, t) = 0",
        {**SYMMETRIC, "t": (0, 1)},
        None,
    ),
    # ---- e^{−1/ε} decides
    one(
        "turning point",
        "u_xx/100 - x*u_x = 0",
        "u(-1) = -1; u(1) = 1",
        SYMMETRIC,
        lambda x: erfi(x * np.sqrt(50)) / erfi(np.sqrt(50)),
    ),
    one("turning point", "u_xx/100 - x*u_x = 0", "u(-1) = 1; u(1) = 1", SYMMETRIC, lambda x: 1 + 0 * x),
    one(
        "turning point",
        "u_xx/10 - x*u_x = 0",
        "u(-1) = -1; u(1) = 1",
        SYMMETRIC,
        lambda x: erfi(x * np.sqrt(5)) / erfi(np.sqrt(5)),
    ),
    one("degenerate", "x*u_xx + u_x = 1", "u(-1) = -1; u(1) = 1", SYMMETRIC, lambda x: x),
    # ---- resonances, constraints, drift
    one(
        "resonant", "u_tt + u = cos(t)", "u(0) = 0; u_t(0) = 0", {"t": (0, 100)}, lambda t: t * np.sin(t) / 2
    ),
    one(
        "resonant",
        "u_tt + (1 + 0.2*cos(2*t))*u = 0",
        "u(0) = 1; u_t(0) = 0",
        {"t": (0, 100)},
        lambda t: followed(lambda s, y: [y[1], -(1 + 0.2 * np.cos(2 * s)) * y[0]], [1.0, 0.0], 100.0)(t)[0],
    ),
    one(
        "constraint",
        "u_t = v; u = sin(t)",
        "u(0) = 0",
        {"t": (0, 2)},
        lambda t: {"u": np.sin(t), "v": np.cos(t)},
        unknowns="uv",
    ),
    one(
        "constraint",
        "x_tt = -z*x; y_tt = -z*y; x**2 + y**2 = 1",
        "x(0) = 1; x_t(0) = 0; y(0) = 0; y_t(0) = 1",
        {"t": (0, 3)},
        lambda t: {"x": np.cos(t), "y": np.sin(t), "z": 1 + 0 * t},
        unknowns="xyz",
    ),
    one(
        "heat",
        "u_t = u_xx + 1 + sin(x)",
        "u(x, 0) = 0",
        RING,
        lambda x, t: t + np.sin(x) * (1 - np.exp(-t)),
        periodic=("x",),
    ),
    one(
        "convection",
        "u_t + u*u_x = u_xx/10",
        "u(x, 0) = 10 + 0.2*sin(x)/(2 + cos(x))",
        RING,
        drifting,
        periodic=("x",),
    ),
    # ---- numbers that are too large
    one("blow-up", "u_t = 1000*u", "u(0) = 1", {"t": (0, 1)}, None, "e^1000 is no number"),
    one("poisson", "u_xx = 1e-300", "u(0) = 0; u(1) = 0", LINE, lambda x: 1e-300 * x * (x - 1) / 2),
    # ---- waves that a grid cannot represent
    one(
        "wave number",
        "u_t = u_xx/1600 + u**3 - ((1 + t)*sin(40*x))**3 + (2 + t)*sin(40*x)",
        "u(x, 0) = sin(40*x)",
        {"x": (0, "2*pi"), "t": (0, 0.5)},
        lambda x, t: (1 + t) * np.sin(40 * x),
        periodic=("x",),
    ),
    one(
        "wave number",
        "u_t = -v_xx/2 - (u**2 + v**2)*v; v_t = u_xx/2 + (u**2 + v**2)*u",
        "u(x, 0) = cos(12*x); v(x, 0) = sin(12*x)",
        TO_ONE,
        lambda x, t: {"u": np.cos(12 * x - 71 * t), "v": np.sin(12 * x - 71 * t)},
        unknowns="uv",
        periodic=("x",),
    ),
    one(
        "wave",
        "u_tt = u_xx - sin(u)",
        "u(x, 0) = 4*atan(0.8/0.6/cosh(0.8*x)); u_t(x, 0) = 0",
        {"x": (-40, 40), "t": (0, 20)},
        breather,
        periodic=("x",),
    ),
    # ---- narrow in time, on a grid
    one(
        "narrow",
        "u_t = u_xx + 1000*exp(-(1000*(t - 0.3337))**2)*cos(x)",
        "u(x, 0) = 0",
        TO_ONE,
        lambda x, t: (
            np.cos(x)
            * np.exp(0.3337 - t + 0.25e-6)
            * np.sqrt(np.pi)
            / 2
            * (1 + erf(1000 * (t - 0.3337) - 0.0005))
        ),
        periodic=("x",),
    ),
    one(
        "narrow",
        "u_t = u_xx - u**2 + 1000*exp(-(1000*(t - 0.3337))**2)",
        "u(x, 0) = 1",
        TO_ONE,
        lambda x, t: followed(lambda s, u: pulse(s) - u**2, [1.0], 1.0, max_step=2e-4)(t)[0],
        periodic=("x",),
    ),
    one(
        "stiff",
        "u_t = -100000*(u - cos(t)) - sin(t)",
        "u(0) = 2",
        {"t": (0, 2)},
        lambda t: np.cos(t) + np.exp(-1e5 * t),
    ),
    one(
        "stiff",
        "u_tt = 1000*(1 - u**2)*u_t - u",
        "u(0) = 2; u_t(0) = 0",
        {"t": (0, 1500)},
        lambda t: followed(
            lambda s, y: [y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]], [2.0, 0.0], 1500.0, "Radau"
        )(t)[0],
    ),
]
