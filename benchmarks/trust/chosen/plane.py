"""u(x, y): squares and regions; corners, wave numbers, layers, missing and contradictory sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problems import Answer, Trial

SQUARE = {"x": (0, 1), "y": (0, 1)}


def square(
    family: str, equations: str, conditions: str, answer: Answer | None, why: str = "", unknowns: str = "u"
) -> Trial:
    return Trial(family, equations.split("; "), conditions.split("; "), SQUARE, answer, tuple(unknowns), why)


def around(left: str, right: str, below: str, above: str) -> str:
    return f"u(0, y) = {left}; u(1, y) = {right}; u(x, 0) = {below}; u(x, 1) = {above}"


ZERO = around("0", "0", "0", "0")
TOP = around("0", "0", "0", "sin(pi*x)")
TRIALS = [
    square(
        "poisson",
        "u_xx + u_yy = 0",
        TOP,
        lambda x, y: np.sin(np.pi * x) * np.sinh(np.pi * y) / np.sinh(np.pi),
    ),
    square(
        "poisson",
        "u_xx + u_yy = -13*pi**2*sin(2*pi*x)*sin(3*pi*y)",
        ZERO,
        lambda x, y: np.sin(2 * np.pi * x) * np.sin(3 * np.pi * y),
    ),
    square("poisson", "u_xx + u_yy = 0", around("0", "y", "0", "x"), lambda x, y: x * y),
    square("poisson", "u_xx + u_yy = -1", ZERO, lambda x, y: _torsion(x, y), "corner"),
    square(
        "poisson", "u_xx + u_yy = 0", around("0", "0", "0", "1"), lambda x, y: _lid(x, y), "jumps in corners"
    ),
    square(
        "poisson",
        "u_xx + u_yy = exp(x)*y",
        around("y", "exp(1)*y", "0", "exp(x)"),
        lambda x, y: np.exp(x) * y,
    ),
    square(
        "mixed corner",
        "u_xx + u_yy = 0",
        "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0; u_y(x, 1) = sin(pi*x)",
        lambda x, y: np.sin(np.pi * x) * np.sinh(np.pi * y) / np.pi / np.cosh(np.pi),
    ),
    square(
        "mixed corner",
        "u_xx + u_yy = 2*x",
        "u(0, y) = 0; u_x(1, y) = y**2; u(x, 0) = 0; u_y(x, 1) = 2*x",
        lambda x, y: x * y**2,
    ),
    square(
        "wave number",
        "u_xx + u_yy + 400*u = 0",
        around("sin(12*y)", "cos(16)*sin(12*y)", "0", "cos(16*x)*sin(12)"),
        lambda x, y: np.cos(16 * x) * np.sin(12 * y),
    ),
    square("wave number", "u_xx + u_yy + 19.7392*u = 1", ZERO, lambda x, y: _nearly(x, y, 19.7392)),
    square("resonant", "u_xx + u_yy + 2*pi**2*u = 1", ZERO, None, "none"),
    square(
        "resonant", "u_xx + u_yy + 5*pi**2*u = sin(pi*x)*sin(pi*y)", ZERO, None, "two eigenfunctions are free"
    ),
    square(
        "layer",
        "u_xx + u_yy = 400*u",
        around("1", "0", "exp(-20*x)", "exp(-20*x)"),
        lambda x, y: np.exp(-20 * x) + 0 * y,
        "clash",
    ),
    square(
        "layer",
        "0.01*(u_xx + u_yy) + u_x = 0",
        around("0", "1", "(exp(-100*x) - 1)/(exp(-100) - 1)", "(exp(-100*x) - 1)/(exp(-100) - 1)"),
        lambda x, y: np.expm1(-100 * x) / np.expm1(-100) + 0 * y,
    ),
    square(
        "narrow",
        "u_xx + u_yy = (4e4*((x - 0.43)**2 + (y - 0.37)**2) - 400)*exp(-100*((x - 0.43)**2 + (y - 0.37)**2))",
        around(
            *(
                f"exp(-100*(({x} - 0.43)**2 + ({y} - 0.37)**2))"
                for x, y in ((0, "y"), (1, "y"), ("x", 0), ("x", 1))
            )
        ),
        lambda x, y: np.exp(-100 * ((x - 0.43) ** 2 + (y - 0.37) ** 2)),
    ),
    square(
        "nonlinear",
        "u_xx + u_yy = u**3 - 2*pi**2*sin(pi*x)*sin(pi*y) - (sin(pi*x)*sin(pi*y))**3",
        ZERO,
        lambda x, y: np.sin(np.pi * x) * np.sin(np.pi * y),
    ),
    square(
        "nonlinear",
        "u_xx + u_yy + exp(u) = exp(sin(pi*x)*sin(pi*y)) - 2*pi**2*sin(pi*x)*sin(pi*y)",
        ZERO,
        lambda x, y: np.sin(np.pi * x) * np.sin(np.pi * y),
        "and another, about 6 high: e^u grows faster than any multiple of u",
    ),
    square("nonlinear", "u_xx + u_yy + 8*exp(u) = 0", ZERO, None, "none beyond 6.81"),
    # ---- no one answer
    square(
        "ill-posed", "u_xx + u_yy = 0", "u(x, 0) = exp(-10*x**2); u_y(x, 0) = 0", None, "Cauchy's problem"
    ),
    square(
        "ill-posed",
        "u_xx + u_yy = 0",
        "u(0, y) = 0; u(1, y) = 0; u(x, 0) = sin(pi*x); u_y(x, 0) = 0",
        None,
        "Hadamard's",
    ),
    square(
        "ill-posed",
        "u_xx + u_yy = 0",
        "u(0, y) = 0; u(1, y) = 0; u(x, 1) = x*(1 - x); u_y(x, 1) = 0",
        None,
        "Hadamard's",
    ),
    square(
        "ill-posed",
        "u_xx = u_yy",
        around("0", "0", "0", "x*(1 - x)"),
        None,
        "Dirichlet's problem of the wave equation",
    ),
    square("free", "u_xx + u_yy = 1", "u(0, y) = 0; u(1, y) = 0; u(x, 0) = 0", None, "a side is free"),
    square(
        "free",
        "u_xx + u_yy = 0",
        "u_x(0, y) = 0; u_x(1, y) = 0; u_y(x, 0) = cos(pi*x); u_y(x, 1) = cos(pi*x)",
        None,
        "u + c",
    ),
    square("free", "u_x + v_y = 0", "u(0, y) = 1; v(x, 0) = 0", None, "an unknown is free", "uv"),
    square("free", "u_xx + u_yy = 0", "u(0, y) = y", None, "three sides are free"),
    square(
        "overdetermined",
        "u_xx + u_yy = 1",
        "u_x(0, y) = 0; u_x(1, y) = 0; u_y(x, 0) = 0; u_y(x, 1) = 0",
        None,
        "none",
    ),
    square("overdetermined", "u_xx + u_yy = 0", f"{TOP}; u_y(x, 0) = 0", None, "none"),
    square("overdetermined", "u_x = y; u_y = -x", "u(0, 0) = 0", None, "none"),
    square("overdetermined", "u_x = y; u_y = x", "u(0, 0) = 0", lambda x, y: x * y, "two equations"),
]


def _torsion(x: Any, y: Any) -> Any:
    """−Δu = 1: x(1 − x)/2 and a series that cancels it at y = 0 and 1."""
    total = x * (1 - x) / 2
    for k in range(1, 400, 2):
        a = k * np.pi
        # cosh(a(y − ½))/cosh(a/2) without overflow
        shape = (np.exp(-a * y) + np.exp(-a * (1 - y))) / (1 + np.exp(-a))
        total = total - 4 / a**3 * np.sin(a * x) * shape
    return total


def _lid(x: Any, y: Any) -> Any:
    """u = 1 on the upper side, 0 on the others: by its series (a conformal map would do, too)."""
    total = 0.0
    for k in range(1, 4001, 2):
        a = k * np.pi
        total = total + 4 / a * np.sin(a * x) * (np.exp(-a * (1 - y)) - np.exp(-a * (1 + y))) / (
            1 - np.exp(-2 * a)
        )
    return total


def _nearly(x: Any, y: Any, value: float) -> Any:
    """Δu + λu = 1 by its double sine series, λ = 2π²(1 + 4e-7)."""
    total = 0.0
    for k in range(1, 200, 2):
        a, s = k * np.pi, np.lib.scimath.sqrt(value - (k * np.pi) ** 2)
        # v″ + s²v = 4/(kπ), v(0) = v(1) = 0 for each k
        part = (1 - np.cos(s * (y - 0.5)) / np.cos(s / 2)) / s**2
        total = total + 4 / a * np.real(part) * np.sin(a * x)
    return total
