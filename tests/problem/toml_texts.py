"""Problem files as text."""

from __future__ import annotations

from sympy import Eq, Function, pi, sin, symbols

from safenet.problem import Problem

WAVE = """\
name = "wave"
unknowns = ["u"]
equations = ["u_tt = c**2*u_xx"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x) + sin(4*pi*x)/2", "u_t(x, 0) = 0"]
exact = { u = "sin(pi*x)*cos(2*pi*t) + sin(4*pi*x)*cos(8*pi*t)/2" }      # optional, checked
[domain]                              # in the order of the arguments; t last where there is time
x = [0, 1]                            # numbers, or expressions in quotes: [0, "2*pi"]
t = [0, 1]
[parameters]                          # optional
c = 2
"""

CAVITY = """\
name = "cavity"
title = "Lid-driven cavity, \\"steady\\""
unknowns = ["u", "v", "p"]
equations = [
    "u*u_x + v*u_y + p_x = nu*(u_xx + u_yy)",
    "u*v_x + v*v_y + p_y = nu*(v_xx + v_yy)",
    "u_x + v_y = 0",
]
conditions = [
    "u(x, 1) = 1", "v(x, 1) = 0",
    "u(x, 0) = 0",
    "v(x, 0) = 0",
    # the sides
    'u(0, y) = 0', 'v(0, y) = 0', 'u(1, y) = 0', 'v(1, y) = 0',
    "p(0, 0) = 0",
]
domain = { x = [0, 1], y = [0.0, "L"] }
parameters.nu = 1e-2
parameters.L = "cos(0)"
"""


def sympy_wave() -> Problem:
    x, t = symbols("x t")
    u = Function("u")
    return Problem(
        Eq(u(x, t).diff(t, 2), 4 * u(x, t).diff(x, 2)),
        domain={x: (0, 1), t: (0, 1)},
        conditions=[
            Eq(u(0, t), 0),
            Eq(u(1, t), 0),
            Eq(u(x, 0), sin(pi * x) + sin(4 * pi * x) / 2),
            Eq(u(x, t).diff(t).subs(t, 0), 0),
        ],
    )
