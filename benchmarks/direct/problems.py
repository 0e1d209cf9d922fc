"""The problems that are solved beside others, as files, and where their values are compared."""

from __future__ import annotations

import json

import numpy as np

STEADY = ("l-shape", "helmholtz", "helmholtz-impedance")


def toml(
    unknowns: list[str],
    equations: list[str],
    starts: list[str],
    axes: dict[str, tuple[str, str]],
    end: float,
    order: int = 0,
    more: list[str] | None = None,
) -> str:
    """A problem file; unknowns and their derivatives below `order` are periodic along every axis."""
    conditions = [*starts, *(more or [])]
    for name in unknowns:
        for axis, ends in axes.items():
            for k in range(order):
                shown = f"{name}_{axis * k}" if k else name
                places = [", ".join([*(x if a == axis else a for a in axes), "t"]) for x in ends]
                conditions.append(f"{shown}({places[0]}) = {shown}({places[1]})")
    listing = {"unknowns": unknowns, "equations": equations, "conditions": conditions}
    lines = [f"{key} = {json.dumps(value)}" for key, value in listing.items()]
    sides = [f"{axis} = {json.dumps(list(ends))}" for axis, ends in axes.items()]
    return "\n".join([*lines, "[domain]", *sides, f"t = [0, {end}]"])


GRAY_SCOTT = "exp(-80*((x - 1/2)**2 + (y - 1/2)**2))"
PROBLEMS: dict[str, str] = {
    "lorenz": toml(
        ["x", "y", "z"],
        ["x_t = 10*(y - x)", "y_t = x*(28 - z) - y", "z_t = x*y - 8/3*z"],
        ["x(0) = 1", "y(0) = 1", "z(0) = 1"],
        {},
        20,
    ),
    "robertson": toml(
        ["a", "b", "c"],
        ["a_t = -0.04*a + 1e4*b*c", "b_t = 0.04*a - 1e4*b*c - 3e7*b**2", "c_t = 3e7*b**2"],
        ["a(0) = 1", "b(0) = 0", "c(0) = 0"],
        {},
        1e4,
    ),
    "kuramoto-sivashinsky": toml(
        ["u"],
        ["u_t + u*u_x + u_xx + u_xxxx = 0"],
        ["u(x, 0) = cos(x/16)*(1 + sin(x/16))"],
        {"x": ("0", "32*pi")},
        50,
        4,
    ),
    "kdv": toml(["u"], ["u_t + 6*u*u_x + u_xxx = 0"], ["u(x, 0) = 6*sech(x)**2"], {"x": ("-20", "20")}, 1, 3),
    "schroedinger": toml(
        ["u", "v"],
        ["u_t = -v_xx/2 - (u**2 + v**2)*v", "v_t = u_xx/2 + (u**2 + v**2)*u"],
        [
            "u(x, 0) = sech(x + 5)*cos(x) + sech(x - 5)*cos(x)",
            "v(x, 0) = sech(x + 5)*sin(x) - sech(x - 5)*sin(x)",
        ],
        {"x": ("-30", "30")},
        5,
        2,
    ),
    "allen-cahn": toml(
        ["u"],
        ["u_t = u_xx/1000 + 5*u - 5*u**3"],
        ["u(x, 0) = cos(pi*x)/2 + 3*sin(2*pi*x)/10"],
        {"x": ("-1", "1")},
        1,
        2,
    ),
    "burgers": toml(
        ["u"], ["u_t + u*u_x = u_xx/(100*pi)"], ["u(x, 0) = -sin(pi*x)"], {"x": ("-1", "1")}, 1, 2
    ),
    "gray-scott": toml(
        ["u", "v"],
        ["u_t = 2e-5*(u_xx + u_yy) - u*v**2 + 0.04*(1 - u)", "v_t = 1e-5*(v_xx + v_yy) + u*v**2 - 0.1*v"],
        [f"u(x, y, 0) = 1 - {GRAY_SCOTT}/2", f"v(x, y, 0) = {GRAY_SCOTT}/4"],
        {"x": ("0", "1"), "y": ("0", "1")},
        200,
        2,
    ),
    "shear-layer": toml(
        ["u", "v", "p"],
        [
            "u_t + u*u_x + v*u_y = -p_x + (u_xx + u_yy)/1000",
            "v_t + u*v_x + v*v_y = -p_y + (v_xx + v_yy)/1000",
            "u_x + v_y = 0",
        ],
        ["u(x, y, 0) = tanh(8*sin(y))", "v(x, y, 0) = sin(x)/20"],
        {"x": ("0", "2*pi"), "y": ("0", "2*pi")},
        2,
        2,
        ["p(0, 0, t) = 0"],
    ),
    "heat-plane": toml(
        ["u"],
        ["u_t = (u_xx + u_yy)/100"],
        ["u(x, y, 0) = exp(-40*(x**2 + y**2))"],
        {"x": ("-1", "1"), "y": ("-1", "1")},
        1,
        2,
    ),
    "allen-cahn-space": toml(
        ["u"],
        ["u_t = (u_xx + u_yy + u_zz)/100 + u - u**3"],
        ["u(x, y, z, 0) = (cos(2*pi*x) + cos(2*pi*y)*sin(2*pi*z))/5"],
        {"x": ("0", "1"), "y": ("0", "1"), "z": ("0", "1")},
        5,
        2,
    ),
    "l-shape": """unknowns = ["u"]
equations = ["u_xx + u_yy = -1"]
conditions = ["u = 0 on walls"]
[domain]
x = [-1, 1]
y = [-1, 1]
remove = [{ box = { x = [-1, 0], y = [-1, 0] } }]
[pieces]
walls = "rest"
""",
    "helmholtz": """unknowns = ["u"]
equations = ["u_xx + u_yy + 2500*u = (2500 - 1600*(x**2 + y**2))*cos(40*x*y)"]
conditions = ["u(0, y) = 1", "u(1, y) = cos(40*y)", "u(x, 0) = 1", "u(x, 1) = cos(40*x)"]
domain = { x = [0, 1], y = [0, 1] }
""",
    "helmholtz-impedance": """unknowns = ["u", "v"]
equations = [
    "u_xx + u_yy + 2500*u = (2500 - 1600*(x**2 + y**2))*cos(40*x*y)",
    "v_xx + v_yy + 2500*v = (2500 - 1600*(x**2 + y**2))*sin(40*x*y)",
]
conditions = [
    "u_x(1, y) + 50*v(1, y) = (50 - 40*y)*sin(40*y)", "v_x(1, y) - 50*u(1, y) = (40*y - 50)*cos(40*y)",
    "-u_x(0, y) + 50*v(0, y) = 0", "-v_x(0, y) - 50*u(0, y) = -40*y - 50",
    "u_y(x, 1) + 50*v(x, 1) = (50 - 40*x)*sin(40*x)", "v_y(x, 1) - 50*u(x, 1) = (40*x - 50)*cos(40*x)",
    "-u_y(x, 0) + 50*v(x, 0) = 0", "-v_y(x, 0) - 50*u(x, 0) = -40*x - 50",
]
domain = { x = [0, 1], y = [0, 1] }
""",
}


def places(name: str) -> list[np.ndarray]:
    """The points of space at which the final values are compared: on every grid that a system may have."""
    if name in ("lorenz", "robertson"):
        return []
    axes = {"gray-scott": 2, "shear-layer": 2, "heat-plane": 2, "allen-cahn-space": 3}.get(name, 1)
    if name in STEADY:
        ticks = (np.arange(12) + 0.5) / 12
        return [one.ravel() for one in np.meshgrid(ticks, ticks, indexing="ij")]
    low, length = {
        "kuramoto-sivashinsky": (0.0, 32 * np.pi),
        "kdv": (-20.0, 40.0),
        "schroedinger": (-30.0, 60.0),
        "gray-scott": (0.0, 1.0),
        "allen-cahn-space": (0.0, 1.0),
        "shear-layer": (0.0, 2 * np.pi),
    }.get(name, (-1.0, 2.0))
    count = {1: 64, 2: 16, 3: 8}[axes]
    return [
        one.ravel() for one in np.meshgrid(*[low + length * np.arange(count) / count] * axes, indexing="ij")
    ]


def compared(name: str) -> tuple[str, ...]:
    return {
        "lorenz": ("x", "y", "z"),
        "robertson": ("a", "b", "c"),
        "schroedinger": ("u", "v"),
        "gray-scott": ("u", "v"),
        "shear-layer": ("u", "v"),
        "helmholtz-impedance": ("u", "v"),
    }.get(name, ("u",))
