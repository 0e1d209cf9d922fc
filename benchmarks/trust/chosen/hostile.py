"""Where a solver is tempted: wrong sides, hidden narrowness, weak restoring forces, constraints, mixed types, drift."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import jv

from ..problems import Answer, Trial
from .hostile_answers import (
    K,
    barenblatt,
    beam,
    breather,
    broken,
    constrained,
    odd,
    parabola,
    rapid,
    rods,
    skewed,
    sudden,
    troesch,
    van_der_pol,
    warmed,
)

LINE, SQUARE, STRIP = {"x": (0, 1)}, {"x": (0, 1), "y": (0, 1)}, {"x": (0, 1), "t": (0, 1)}
ENDS = "u(0) = 0; u(1) = 0"
SIDES = "u(0, t) = 0; u(1, t) = 0"


def one(
    family: str,
    equations: str,
    conditions: str,
    domain: dict[str, tuple[Any, Any]],
    answer: Answer | None,
    why: str = "",
    unknowns: str = "u",
    **more: Any,
) -> Trial:
    return Trial(
        family, equations.split("; "), conditions.split("; "), domain, answer, tuple(unknowns), why, **more
    )


TRIALS = [
    # ---- conditions on the wrong side, or too few in a way that no count shows
    one(
        "layer",
        "0.02*u_xx + u_x = 0",
        "u(1) = 1; u_x(1) = 1",
        LINE,
        lambda x: 1 + 0.02 - 0.02 * np.exp((1 - x) / 0.02),
    ),
    one(
        "ill-posed",
        "u_t + u_x = 0",
        "u(1, t) = 0; u(x, 0) = sin(pi*x)",
        STRIP,
        None,
        "a value where u leaves",
    ),
    one("free", "u_t + u_x = 0", "u(x, 0) = sin(pi*x)", STRIP, None, "no value where u enters"),
    one("free", "u_t - (x - 1/2)*u_x = 0", "u(x, 0) = cos(x)", STRIP, None, "u enters on both sides"),
    one(
        "convection",
        "u_t + (x - 1/2)*u_x = 0",
        "u(x, 0) = cos(x)",
        STRIP,
        lambda x, t: np.cos(0.5 + (x - 0.5) * np.exp(-t)),
    ),
    one(
        "wave",
        "u_t = v_x; v_t = u_x",
        f"{SIDES}; u(x, 0) = sin(pi*x); v(x, 0) = 0",
        STRIP,
        lambda x, t: {"u": np.sin(np.pi * x) * np.cos(np.pi * t), "v": np.cos(np.pi * x) * np.sin(np.pi * t)},
        unknowns="uv",
    ),
    one(
        "overdetermined",
        "u_t = v_x; v_t = u_x",
        f"{SIDES}; v(0, t) = 0; u(x, 0) = sin(pi*x); v(x, 0) = 0",
        STRIP,
        None,
        "v at a side follows",
        unknowns="uv",
    ),
    one(
        "ill-posed",
        "u_x = v_y; u_y = -v_x",
        "u(x, 0) = x*(1 - x); v(x, 0) = 0",
        SQUARE,
        None,
        "Cauchy's problem, as a system",
        "uv",
    ),
    one(
        "free",
        "u_xxxx + 2*u_xxyy + u_yyyy = 1",
        "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0; u(x, 1) = 0",
        SQUARE,
        None,
        "a plate needs two conditions on a side",
    ),
    one(
        "free",
        "u_x = v; u_xx = v_x",
        "u(0) = 0; u(1) = 1; v(0) = 1",
        LINE,
        None,
        "one equation follows from the other",
        "uv",
    ),
    one(
        "growing",
        "u_t = u_xx",
        "u_x(0, t) = -20*u(0, t); u(1, t) = exp(400*t - 20); u(x, 0) = exp(-20*x)",
        {"x": (0, 1), "t": (0, 0.04)},
        lambda x, t: np.exp(400 * t - 20 * x),
    ),
    # ---- against the direction of time
    one(
        "ill-posed",
        "u_t = -u_xx",
        f"{SIDES}; u(x, 0) = sin(pi*x)",
        {"x": (0, 1), "t": (0, 0.1)},
        lambda x, t: np.exp(np.pi**2 * t) * np.sin(np.pi * x),
        "backwards, from values that have a past",
    ),
    one(
        "ill-posed",
        "u_t = x*u_xx",
        "u(-1, t) = 0; u(1, t) = 0; u(x, 0) = sin(pi*x)",
        {"x": (-1, 1), "t": (0, 1)},
        None,
        "backwards where x < 0",
    ),
    one(
        "ill-posed",
        "u_t = cos(t)*u_xx",
        f"{SIDES}; u(x, 0) = x*(1 - x)",
        {"x": (0, 1), "t": (0, 4)},
        None,
        "backwards from π/2 on, and behind π beyond the start",
    ),
    one(
        "poisson",
        "y*u_xx + u_yy = 0",
        "u(0, y) = -y**3; u(1, y) = 3 - y**3; u(x, -1) = 3*x**2 + 1; u(x, 1) = 3*x**2 - 1",
        {"x": (0, 1), "y": (-1, 1)},
        lambda x, y: 3 * x**2 - y**3,
        "Tricomi: too many conditions, and they agree",
    ),
    # ---- drift and weak restoring forces
    one("free", "u_xx = sin(x)", "u(0) = u(2*pi); u_x(0) = u_x(2*pi)", {"x": (0, "2*pi")}, None, "u + c"),
    one(
        "overdetermined",
        "u_xx = 1 + sin(x)",
        "u(0) = u(2*pi); u_x(0) = u_x(2*pi)",
        {"x": (0, "2*pi")},
        None,
        "none",
    ),
    one(
        "heat",
        "u_t = u_xx + 1",
        "u(0, t) = u(2*pi, t); u_x(0, t) = u_x(2*pi, t); u(x, 0) = sin(x)",
        {"x": (0, "2*pi"), "t": (0, 5)},
        lambda x, t: t + np.exp(-t) * np.sin(x),
    ),
    one(
        "resonant",
        "u_xx = 1",
        "u_x(0) = 0; u_x(1) + 1e-10*u(1) = 1",
        LINE,
        lambda x: (x**2 - 1) / 2,
    ),
    one(
        "resonant",
        "u_xx - 1e-9*u = sin(x)",
        "u(0) = u(2*pi); u_x(0) = u_x(2*pi)",
        {"x": (0, "2*pi")},
        lambda x: -np.sin(x) / (1 + 1e-9),
    ),
    one(
        "resonant",
        f"u_xx + ({K!r} - 10*cos(2*x))*u = 1",
        "u_x(0) = 0; u_x(pi) = 0",
        {"x": (0, "pi")},
        None,
        "Mathieu's eigenvalue, to rounding",
    ),
    one("resonant", "u_xxxx - 500.564*u = 1", f"{ENDS}; u_x(0) = 0; u_x(1) = 0", LINE, beam(500.564)),
    one("resonant", "u_xxxx - 480*u = 1", f"{ENDS}; u_x(0) = 0; u_x(1) = 0", LINE, beam(480.0)),
    one(
        "resonant",
        "u_xx + u_yy + (13*pi**2 + 1e-6)*u = 1e-6*sin(3*pi*x)*sin(2*pi*y)",
        "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0; u(x, 1) = 0",
        SQUARE,
        lambda x, y: np.sin(3 * np.pi * x) * np.sin(2 * np.pi * y),
    ),
    # ---- degenerate and singular
    one("degenerate", "x*u_xx + u_x = -4*x", "u(1) = 0", LINE, lambda x: 1 - x**2),
    one("degenerate", "x**2*u_xx - 2*x*u_x + 2*u = 0", "u(1) = 1", LINE, None, "c x + (1 − c) x²"),
    one(
        "degenerate", "x**2*u_xx + x*u_x + (x**2 - 1)*u = 0", "u(1) = 1", LINE, lambda x: jv(1, x) / jv(1, 1)
    ),
    one(
        "degenerate",
        "u_t = 2*u*u_xx + 2*u_x**2",
        "u(-6, t) = 0; u(6, t) = 0; u(x, 0) = max(1 - x**2/12, 0)",
        {"x": (-6, 6), "t": (0, 3)},
        barenblatt,
        "a front with a kink",
    ),
    one(
        "singular",
        "u_xx + u_yy = 0",
        "u(-1, y) = sqrt((sqrt(1 + y**2) - 1)/2); u(1, y) = sqrt((sqrt(1 + y**2) + 1)/2); u(x, 0) = sqrt(max(x, 0)); "
        "u(x, 1) = sqrt((sqrt(x**2 + 1) + x)/2)",
        {"x": (-1, 1), "y": (0, 1)},
        lambda x, y: np.sqrt((np.hypot(x, y) + x) / 2),
    ),
    # ---- coefficients that jump or turn quickly
    one(
        "discontinuous",
        "f = (1 + 999999*heaviside(x - 1/3))*u_x; f_x = 0",
        "u(0) = 0; u(1) = 1",
        LINE,
        lambda x: rods(x),
        unknowns="uf",
    ),
    one(
        "discontinuous",
        "(1 + 9*heaviside(x - 1/2))*u_xx = 1",
        ENDS,
        LINE,
        lambda x: broken(x),
    ),
    one(
        "oscillating",
        "f = (1 + 0.9*sin(300*x))*u_x; f_x = 0",
        "u(0) = 0; u(1) = 1",
        LINE,
        rapid,
        unknowns="uf",
    ),
    one(
        "oscillating",
        "u_t = 1000*cos(10000*t)*u",
        "u(0) = 1",
        {"t": (0, 1)},
        lambda t: np.exp(0.1 * np.sin(1e4 * t)),
    ),
    one(
        "oscillating",
        "u_tt + 10000*u = cos(100*t)",
        "u(0) = 0; u_t(0) = 0",
        {"t": (0, 20)},
        lambda t: t * np.sin(100 * t) / 200,
    ),
    # ---- narrow data in places where nothing else is
    one(
        "narrow",
        "u_t = u_xx/10",
        "u(0, t) = exp(-((t - 0.4137)/0.002)**2); u(1, t) = 0; u(x, 0) = 0",
        STRIP,
        sudden,
    ),
    one("narrow", "u_t = u_xx/100", f"{SIDES}; u(x, 0) = exp(-((x - 0.3)/0.002)**2)", STRIP, warmed),
    one(
        "narrow",
        "u_xx + u_yy = 1600*(1600*((x - 0.43)**2 + (y - 0.37)**2)*4 - 4)*exp(-1600*((x - 0.43)**2 + (y - 0.37)**2))",
        "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0; u(x, 1) = 0",
        SQUARE,
        lambda x, y: np.exp(-1600 * ((x - 0.43) ** 2 + (y - 0.37) ** 2)),
    ),
    # ---- stiff, fast, constrained
    one("stiff", "u_tt = 50*(1 - u**2)*u_t - u", "u(0) = 2; u_t(0) = 0", {"t": (0, 100)}, van_der_pol),
    one(
        "stiff",
        "u_t = u_xx - 1e6*(u - sin(pi*x))",
        f"{SIDES}; u(x, 0) = 0",
        STRIP,
        lambda x, t: np.sin(np.pi * x) * 1e6 / (1e6 + np.pi**2) * -np.expm1(-(1e6 + np.pi**2) * t),
    ),
    one(
        "constraint", "u_t = -u + v; u + v = 2*sin(t)", "u(0) = 0", {"t": (0, 6)}, constrained, unknowns="uv"
    ),
    one(
        "constraint",
        "u_t = v; u = t**2",
        "u(0) = 0",
        {"t": (0, 2)},
        lambda t: {"u": t**2, "v": 2 * t},
        unknowns="uv",
    ),
    one(
        "constraint",
        "u_t = v; u = t**2",
        "u(0) = 1",
        {"t": (0, 2)},
        None,
        "they clash at the start",
        unknowns="uv",
    ),
    one(
        "constraint",
        "u_t = v; u + w = 1; w_t = -v",
        "u(0) = 0",
        {"t": (0, 2)},
        None,
        "v is free",
        unknowns="uvw",
    ),
    # ---- nonlinear
    one("nonlinear", "u_xx = 8*sinh(8*u)", "u(0) = 0; u(1) = 1", LINE, troesch),
    one("blow-up", "u_t = u_xx + u**2", f"{SIDES}; u(x, 0) = 60*sin(pi*x)", STRIP, None, "infinite soon"),
    one(
        "not unique",
        "u_t = u_xx + sqrt(abs(u))",
        f"{SIDES}; u(x, 0) = 0",
        STRIP,
        None,
        "leaves zero at any time",
    ),
    one(
        "nonlinear",
        "u_x**2 + u_y**2 = 1",
        "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0; u(x, 1) = 0",
        SQUARE,
        None,
        "no smooth one",
    ),
    one(
        "layer",
        "0.0004*u_xx = u**3 - u",
        "u(0) = -1; u(1) = 1",
        LINE,
        lambda x: np.tanh((x - 0.5) / (0.02 * np.sqrt(2))),
        "the place of the layer is held by e⁻⁷⁰",
    ),
    one(
        "several",
        "u_xx + u_yy + 3*exp(u) = 0",
        "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0; u(x, 1) = 0",
        SQUARE,
        None,
        "two below 6.81",
    ),
    # ---- data that clash, waves
    one("heat", "u_t = u_xx", f"{SIDES}; u(x, 0) = x*(1 - x)", STRIP, parabola),
    one(
        "wave",
        "u_tt = u_xx",
        f"{SIDES}; u(x, 0) = x*(1 - x); u_t(x, 0) = 0",
        STRIP,
        odd(lambda s: s * (1 - s)),
    ),
    one(
        "wave",
        "u_tt = u_xx",
        f"{SIDES}; u(x, 0) = 1; u_t(x, 0) = 0",
        STRIP,
        odd(lambda s: 1 + 0 * s),
        "jumps",
    ),
    one(
        "wave",
        "u_tt = u_xx - sin(u)",
        "u(-20, t) = 4*atan(0.75*sin(0.8*t)*sech(12)); u(20, t) = 4*atan(0.75*sin(0.8*t)*sech(12)); u(x, 0) = 0; "
        "u_t(x, 0) = 2.4*sech(0.6*x)",
        {"x": (-20, 20), "t": (0, 10)},
        breather,
    ),
    one(
        "discontinuous",
        "u_t + u*u_x = 0",
        "u(-1, t) = 0; u(x, 0) = heaviside(x)",
        {"x": (-1, 1), "t": (0, 0.8)},
        lambda x, t: np.clip(x / np.maximum(t, 1e-300), 0, 1),
        "a fan",
    ),
    one(
        "convection",
        "0.002*(u_xx + u_yy) = u_x",
        "u(0, y) = sin(pi*y); u(1, y) = 0; u(x, 0) = 0; u(x, 1) = 0",
        SQUARE,
        skewed,
    ),
    one(
        "layer",
        "u_xx + 1e-6*u_yy = -(4 + 9e-6)*pi**2*sin(2*pi*x)*cos(3*pi*y)",
        "u(0, y) = 0; u(1, y) = 0; u(x, 0) = sin(2*pi*x); u(x, 1) = -sin(2*pi*x)",
        SQUARE,
        lambda x, y: np.sin(2 * np.pi * x) * np.cos(3 * np.pi * y),
    ),
]
