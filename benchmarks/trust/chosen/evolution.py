"""u(x, t): fronts, clashes, resonance in time, shocks, ill-posed and underdetermined starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import erf, erfc

from ..problems import Answer, Trial


def strip(
    family: str,
    equations: str,
    conditions: str,
    answer: Answer | None,
    why: str = "",
    x: tuple[Any, Any] = (0, 1),
    end: float = 1,
    unknowns: str = "u",
) -> Trial:
    domain = {"x": x, "t": (0, end)}
    return Trial(family, equations.split("; "), conditions.split("; "), domain, answer, tuple(unknowns), why)


SIDES = "u(0, t) = 0; u(1, t) = 0"
ROUND = (0, "2*pi")
LOOP = "u(0, t) = u(2*pi, t)"
LOOPS = f"{LOOP}; u_x(0, t) = u_x(2*pi, t)"


def heat(k: int, a: float) -> Answer:
    return lambda x, t: np.exp(-a * (k * np.pi) ** 2 * t) * np.sin(k * np.pi * x)


def series(x: Any, t: Any, coefficients: Any, rate: float, count: int = 400) -> Any:
    return sum(
        coefficients(k) * np.exp(-rate * (k * np.pi) ** 2 * t) * np.sin(k * np.pi * x)
        for k in range(1, count)
    )


def front(x: Any, t: Any, nu: float = 0.02) -> Any:
    """A travelling wave of u_t + u u_x = ν u_xx between 1 and 0."""
    return 1 / (1 + np.exp((x - 0.3 - t / 2) / (2 * nu)))


def cole_hopf(x: Any, t: Any, nu: float = 0.05) -> Any:
    """u_t + u u_x = ν u_xx, u(x, 0) = −sin πx, by Gauss–Hermite quadrature."""
    nodes, weights = np.polynomial.hermite.hermgauss(100)
    y = np.asarray(x)[..., None] - np.sqrt(4 * nu * np.asarray(t))[..., None] * nodes
    f = np.exp(-np.cos(np.pi * y) / (2 * np.pi * nu))
    return -(weights * np.sin(np.pi * y) * f).sum(axis=-1) / (weights * f).sum(axis=-1)


def soliton(x: Any, t: Any) -> Any:
    return 2 / np.cosh(x - 4 * t) ** 2


TRIALS = [
    # ---- parabolic
    strip("heat", "u_t = u_xx/10", f"{SIDES}; u(x, 0) = sin(pi*x)", heat(1, 0.1)),
    strip("heat", "u_t = u_xx", f"{SIDES}; u(x, 0) = sin(5*pi*x)", heat(5, 1.0)),
    strip("heat", "u_t = u_xx/100", f"{SIDES}; u(x, 0) = sin(20*pi*x)", heat(20, 0.01)),
    strip(
        "heat",
        "u_t = u_xx/10",
        "u_x(0, t) = 0; u_x(1, t) = 0; u(x, 0) = cos(3*pi*x)",
        lambda x, t: np.exp(-0.9 * np.pi**2 * t) * np.cos(3 * np.pi * x),
    ),
    strip(
        "heat",
        "u_t = u_xx",
        "u(0, t) = exp(-t); u(1, t) = exp(-t)*cos(1); u(x, 0) = cos(x)",
        lambda x, t: np.exp(-t) * np.cos(x),
    ),
    strip(
        "growing",
        "u_t = u_xx/10 + 20*u",
        f"{SIDES}; u(x, 0) = sin(pi*x)",
        lambda x, t: np.exp((20 - np.pi**2 / 10) * t) * np.sin(np.pi * x),
    ),
    strip(
        "growing",
        "u_t = u_xx/10 + 80*u",
        f"{SIDES}; u(x, 0) = sin(9*pi*x)",
        None,
        "sin πx grows by e^{72}",
        end=1,
    ),
    strip(
        "narrow",
        "u_t = u_xx/10 + sin(pi*x)*100*exp(-(100*(t - 0.37))**2)",
        f"{SIDES}; u(x, 0) = 0",
        lambda x, t: _kicked(x, t),
    ),
    strip(
        "narrow",
        "u_t + u_x = 0",
        "u(0, t) = 0; u(x, 0) = exp(-(100*(x - 0.217))**2)",
        lambda x, t: np.exp(-((100 * (x - t - 0.217)) ** 2)),
        end=0.5,
    ),
    strip(
        "narrow",
        "u_t = u_xx/1000",
        f"{SIDES}; u(x, 0) = exp(-(50*(x - 1/2))**2)",
        lambda x, t: _spread(x, t, 1e-3, 50),
    ),
    strip(
        "discontinuous",
        "u_t = u_xx",
        f"{SIDES}; u(x, 0) = 1",
        lambda x, t: series(x, t, lambda k: 4 / (k * np.pi) * (k % 2), 1.0, 2000),
        "clash",
    ),
    strip(
        "discontinuous",
        "u_t = u_xx/10",
        f"{SIDES}; u(x, 0) = 1 - abs(2*x - 1)",
        lambda x, t: series(x, t, lambda k: 8 / (k * np.pi) ** 2 * np.sin(k * np.pi / 2), 0.1, 2000),
    ),
    strip(
        "discontinuous",
        "u_t = u_xx/10",
        f"{SIDES}; u(x, 0) = heaviside(x - 1/2)",
        lambda x, t: series(
            x, t, lambda k: 2 * (np.cos(k * np.pi / 2) - np.cos(k * np.pi)) / (k * np.pi), 0.1, 2000
        ),
        "jump",
    ),
    strip(
        "discontinuous",
        "u_t = u_xx",
        "u(0, t) = 1; u(20, t) = 0; u(x, 0) = 0",
        lambda x, t: erfc(x / np.sqrt(4 * t)),
        "clash",
        (0, 20),
    ),
    strip(
        "convection",
        "u_t + u_x = u_xx/1000",
        f"{LOOPS}; u(x, 0) = sin(x)",
        lambda x, t: np.exp(-t / 1000) * np.sin(x - t),
        x=ROUND,
    ),
    strip(
        "convection",
        "u_t + 50*u_x = 0",
        f"{LOOP}; u(x, 0) = sin(x)",
        lambda x, t: np.sin(x - 50 * t),
        x=ROUND,
    ),
    strip(
        "convection",
        "u_t + 30*u_x = 0",
        f"{LOOP}; u(x, 0) = exp(sin(x))",
        lambda x, t: np.exp(np.sin(x - 30 * t)),
        x=ROUND,
    ),
    strip(
        "convection",
        "u_t + x*u_x = 0",
        "u(x, 0) = sin(3*x)",
        lambda x, t: np.sin(3 * x * np.exp(-t)),
        x=(-1, 1),
    ),
    strip(
        "convection",
        "u_t + u_x = 0",
        "u(0, t) = sin(10*t); u(x, 0) = 0",
        lambda x, t: np.where(t > x, np.sin(10 * (t - x)), 0.0),
    ),
    strip(
        "convection",
        "u_t + u_x = 0",
        "u(0, t) = 1; u(x, 0) = 0",
        lambda x, t: np.heaviside(t - x, 0.5),
        "clash",
    ),
    # ---- waves
    strip(
        "wave",
        "u_tt = u_xx",
        f"{SIDES}; u(x, 0) = sin(pi*x); u_t(x, 0) = 0",
        lambda x, t: np.sin(np.pi * x) * np.cos(np.pi * t),
    ),
    strip(
        "wave",
        "u_tt = 4*u_xx",
        f"{SIDES}; u(x, 0) = sin(8*pi*x); u_t(x, 0) = 0",
        lambda x, t: np.sin(8 * np.pi * x) * np.cos(16 * np.pi * t),
        end=3,
    ),
    strip(
        "wave",
        "u_tt = u_xx + sin(pi*x)*cos(pi*t)",
        f"{SIDES}; u(x, 0) = 0; u_t(x, 0) = 0",
        lambda x, t: t * np.sin(np.pi * t) / (2 * np.pi) * np.sin(np.pi * x),
        end=5,
    ),
    strip(
        "wave",
        "u_tt = u_xx",
        f"{SIDES}; u(x, 0) = 1 - abs(2*x - 1); u_t(x, 0) = 0",
        lambda x, t: (_tent(x + t) + _tent(x - t)) / 2,
    ),
    strip(
        "wave",
        "u_tt = u_xx - u",
        f"{LOOPS}; u(x, 0) = cos(3*x); u_t(x, 0) = 0",
        lambda x, t: np.cos(3 * x) * np.cos(np.sqrt(10) * t),
        x=ROUND,
    ),
    strip(
        "wave",
        "u_t = -v_xx; v_t = u_xx",
        f"{LOOPS}; v(0, t) = v(2*pi, t); v_x(0, t) = v_x(2*pi, t); u(x, 0) = cos(2*x); v(x, 0) = sin(2*x)",
        lambda x, t: {"u": np.cos(2 * x - 4 * t), "v": np.sin(2 * x - 4 * t)},
        x=ROUND,
        unknowns="uv",
    ),
    # ---- nonlinear
    strip(
        "nonlinear",
        "u_t + u*u_x = 0.02*u_xx",
        "u(-1, t) = 1; u(2, t) = 0; u(x, 0) = 1/(1 + exp((x - 0.3)/0.04))",
        front,
        x=(-1, 2),
    ),
    strip(
        "nonlinear",
        "u_t + u*u_x = 0.05*u_xx",
        "u(-1, t) = 0; u(1, t) = 0; u(x, 0) = -sin(pi*x)",
        cole_hopf,
        x=(-1, 1),
    ),
    strip(
        "nonlinear",
        "u_t + 6*u*u_x + u_xxx = 0",
        "u(-20, t) = u(20, t); u_x(-20, t) = u_x(20, t); u_xx(-20, t) = u_xx(20, t); u(x, 0) = 2*sech(x)**2",
        soliton,
        x=(-20, 20),
    ),
    strip(
        "nonlinear",
        "u_t = u_xx + u*(1 - u)",
        "u(-20, t) = 1; u(30, t) = 0; u(x, 0) = (1 + exp(x/sqrt(6)))**(-2)",
        lambda x, t: (1 + np.exp((x - 5 * t / np.sqrt(6)) / np.sqrt(6))) ** -2.0,
        "clash",
        x=(-20, 30),
    ),
    strip(
        "nonlinear",
        "u_t = u_xx + u - u**3",
        "u(-15, t) = -1; u(15, t) = 1; u(x, 0) = tanh(x/sqrt(2))",
        lambda x, t: np.tanh(x / np.sqrt(2)) + 0 * t,
        x=(-15, 15),
    ),
    strip(
        "nonlinear",
        "u_t + u*u_x = 0",
        "u(-1, t) = 0; u(1, t) = 0; u(x, 0) = -sin(pi*x)",
        lambda x, t: _inviscid(x, t),
        x=(-1, 1),
        end=0.25,
    ),
    # ---- no one answer
    strip(
        "shock",
        "u_t + u*u_x = 0",
        "u(-1, t) = 0; u(1, t) = 0; u(x, 0) = -sin(pi*x)",
        None,
        "a shock at 1/π",
        x=(-1, 1),
    ),
    strip("shock", "u_t + u*u_x = 0", f"{LOOP}; u(x, 0) = sin(x)", None, "a shock at 1", x=ROUND, end=2),
    strip("shock", "u_t + u**2*u_x = 0", f"{LOOP}; u(x, 0) = 2 + sin(x)", None, "a shock", x=ROUND, end=2),
    strip("shock", "u_t + u_x**2/2 = 0", "u(x, 0) = abs(x)", None, "a kink", x=(-1, 1), end=0.5),
    strip("shock", "u_t + u_x**2/2 = 0", "u(x, 0) = -abs(x)", None, "a kink", x=(-1, 1), end=0.5),
    strip(
        "shock", "u_t + u_x**2 = 0", f"{LOOP}; u(x, 0) = cos(x)", None, "characteristics meet", x=ROUND, end=2
    ),
    strip("ill-posed", "u_t = -u_xx", f"{SIDES}; u(x, 0) = x*(1 - x)", None, "backwards"),
    strip("ill-posed", "u_t = -u_xx/10", f"{SIDES}; u(x, 0) = exp(x)*sin(pi*x)", None, "backwards"),
    strip(
        "ill-posed",
        "u_tt = -u_xx",
        f"{SIDES}; u(x, 0) = x*(1 - x); u_t(x, 0) = 0",
        None,
        "Cauchy's problem of Laplace's equation",
    ),
    strip(
        "ill-posed",
        "u_t = v_x; v_t = -u_x",
        f"{LOOP}; v(0, t) = v(2*pi, t); u(x, 0) = exp(cos(x)); v(x, 0) = 0",
        None,
        "elliptic",
        x=ROUND,
        unknowns="uv",
        end=30,
    ),
    strip("free", "u_t = u_xx", "u(0, t) = 0; u(x, 0) = sin(pi*x)", None, "a side is free"),
    strip("free", "u_t = u_xx/10", "u(x, 0) = sin(pi*x)", None, "both sides are free"),
    strip("free", "u_t = u_xx", f"{SIDES}", None, "no start"),
    strip("free", "u_tt = u_xx", f"{SIDES}; u(x, 0) = sin(pi*x)", None, "no speed at the start"),
    strip("free", "u_t = u_xx + v", f"{SIDES}; u(x, 0) = 0", None, "an unknown is free", unknowns="uv"),
    strip(
        "free",
        "u_t = u_xx",
        "u(0, t) = u(1, t); u(x, 0) = sin(2*pi*x)",
        lambda x, t: np.exp(-4 * np.pi**2 * t) * np.sin(2 * np.pi * x),
        "assumed to be periodic",
    ),
    strip(
        "overdetermined",
        "u_t + u_x = 0",
        "u(0, t) = 0; u(1, t) = 0; u(x, 0) = sin(pi*x)",
        None,
        "nothing flows in at x = 1",
    ),
    strip("overdetermined", "u_t = u_xx; u_t = 2*u_xx", f"{SIDES}; u(x, 0) = sin(pi*x)", None, "two rates"),
    strip("blow-up", "u_t = u_xx + u**2", f"{SIDES}; u(x, 0) = 40*sin(pi*x)", None, "infinite soon"),
    strip("blow-up", "u_t = u_xx + exp(u)", f"{SIDES}; u(x, 0) = 5*sin(pi*x)", None, "infinite soon"),
]


def _kicked(x: Any, t: Any) -> Any:
    """v′ = −a v + 100 e^{−(100(t−c))²}"""
    a, c, w = np.pi**2 / 10, 0.37, 0.01
    grown = erf((t - c) / w - a * w / 2) - erf(-c / w - a * w / 2)
    return np.sin(np.pi * x) * np.sqrt(np.pi) / 2 * np.exp(-a * (t - c) + (a * w) ** 2 / 4) * grown


def _spread(x: Any, t: Any, rate: float, steep: float) -> Any:
    """A diffusing Gaussian between walls, by images."""
    wide = 1 / steep**2 + 4 * rate * t
    images = sum((-1) ** n * np.exp(-((x - n - 0.5) ** 2) / wide) for n in range(-4, 5))
    return images / steep / np.sqrt(wide)


def _tent(s: Any) -> Any:
    """1 − |2x − 1|, odd and of period 2."""
    s = np.mod(s + 1, 2) - 1
    return np.sign(s) * (1 - np.abs(2 * np.abs(s) - 1))


def _inviscid(x: Any, t: Any) -> Any:
    """x = s − sin(πs) t along a characteristic, by Newton's method."""
    s = np.array(x, dtype=float)
    for _ in range(200):
        s = s - (s - np.sin(np.pi * s) * t - x) / (1 - np.pi * np.cos(np.pi * s) * t)
    return -np.sin(np.pi * s)
