"""The problems of the comparison with other systems, as problem files, and the points at which values are compared."""

from __future__ import annotations

import json

import numpy as np

STEADY = ("l-shape", "helmholtz", "helmholtz-impedance", "cavity")
ORDINARY = ("lorenz", "robertson", "robertson-long", "hires")
MOMENTS = 5  # times at which a run is compared: T/5, 2T/5, …, T
MANY = 200  # as above, for systems without space
EARLY = 12  # times before the first of these, each half the next: much of the error may be there
EARLIER = 40  # as above, for systems without space


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
    "robertson-long": toml(
        ["a", "b", "c"],
        ["a_t = -0.04*a + 1e4*b*c", "b_t = 0.04*a - 1e4*b*c - 3e7*b**2", "c_t = 3e7*b**2"],
        ["a(0) = 1", "b(0) = 0", "c(0) = 0"],
        {},
        1e11,
    ),
    "kuramoto-sivashinsky": toml(
        ["u"],
        ["u_t + u*u_x + u_xx + u_xxxx = 0"],
        ["u(x, 0) = cos(x/16)*(1 + sin(x/16))"],
        {"x": ("0", "32*pi")},
        50,
        4,
    ),
    "kuramoto-sivashinsky-long": toml(
        ["u"],
        ["u_t + u*u_x + u_xx + u_xxxx = 0"],
        ["u(x, 0) = cos(x/16)*(1 + sin(x/16))"],
        {"x": ("0", "32*pi")},
        200,
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
    "fitzhugh-nagumo": toml(
        ["u", "v"],
        ["u_t = (u_xx + u_yy)/100 + 10*(u - u**3 - v)", "v_t = (v_xx + v_yy)/200 + u - v/2"],
        ["u(x, y, 0) = sin(2*pi*x)*cos(2*pi*y)", "v(x, y, 0) = cos(2*pi*x)/5"],
        {"x": ("0", "1"), "y": ("0", "1")},
        2,
        2,
    ),
    "cahn-hilliard": toml(
        ["u"],
        [
            "u_t = 6*u*u_x**2 + 3*u**2*u_xx + 6*u*u_y**2 + 3*u**2*u_yy - u_xx - u_yy"
            " - (u_xxxx + 2*u_xxyy + u_yyyy)/400"
        ],
        ["u(x, y, 0) = (cos(2*pi*x) + cos(4*pi*y)*sin(2*pi*x))/10"],
        {"x": ("0", "1"), "y": ("0", "1")},
        0.05,
        4,
    ),
    "fisher-plane": toml(
        ["u"],
        ["u_t = (u_xx + u_yy)/100 + 5*u*(1 - u)"],
        ["u(x, y, 0) = exp(-20*(sin(pi*x)**2 + sin(pi*y)**2))"],
        {"x": ("-1/2", "1/2"), "y": ("-1/2", "1/2")},
        2,
        2,
    ),
    "hires": toml(
        [f"y{i}" for i in range(1, 9)],
        [
            "y1_t = -1.71*y1 + 0.43*y2 + 8.32*y3 + 0.0007",
            "y2_t = 1.71*y1 - 8.75*y2",
            "y3_t = -10.03*y3 + 0.43*y4 + 0.035*y5",
            "y4_t = 8.32*y2 + 1.71*y3 - 1.12*y4",
            "y5_t = -1.745*y5 + 0.43*y6 + 0.43*y7",
            "y6_t = -280*y6*y8 + 0.69*y4 + 1.71*y5 - 0.43*y6 + 0.69*y7",
            "y7_t = 280*y6*y8 - 1.81*y7",
            "y8_t = -280*y6*y8 + 1.81*y7",
        ],
        ["y1(0) = 1", *(f"y{i}(0) = 0" for i in range(2, 8)), "y8(0) = 0.0057"],
        {},
        321.8122,
    ),
    "advection-diffusion": toml(
        ["u"],
        ["u_t + u_x + u_y/2 = (u_xx + u_yy)/20"],
        ["u(x, y, 0) = sin(pi*x)*sin(pi*y)"],
        {"x": ("0", "1"), "y": ("0", "1")},
        0.5,
        0,
        ["u(0, y, t) = 0", "u(1, y, t) = 0", "u(x, 0, t) = 0", "u(x, 1, t) = 0"],
    ),
    "wave-speed": toml(
        ["u"],
        ["u_tt = (1 + x*y/2)*(u_xx + u_yy)"],
        ["u(x, y, 0) = sin(pi*x)*sin(2*pi*y)", "u_t(x, y, 0) = 0"],
        {"x": ("0", "1"), "y": ("0", "1")},
        1,
        0,
        ["u(0, y, t) = 0", "u(1, y, t) = 0", "u(x, 0, t) = 0", "u(x, 1, t) = 0"],
    ),
    "cavity": """unknowns = ["u", "v", "p"]
equations = [
    "u*u_x + v*u_y + p_x = (u_xx + u_yy)/1000", "u*v_x + v*v_y + p_y = (v_xx + v_yy)/1000", "u_x + v_y = 0",
]
conditions = [
    "u(x, 1) = 16*x**2*(1 - x)**2", "v(x, 1) = 0", "u(x, 0) = 0", "v(x, 0) = 0",
    "u(0, y) = 0", "v(0, y) = 0", "u(1, y) = 0", "v(1, y) = 0", "p(0, 0) = 0",
]
domain = { x = [0, 1], y = [0, 1] }
""",
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


BOXES: dict[str, tuple[int, float, float]] = {
    # number of space axes, their lower end, their length; problems not listed are on a line from −1 to 1
    "kuramoto-sivashinsky": (1, 0.0, 32 * np.pi),
    "kuramoto-sivashinsky-long": (1, 0.0, 32 * np.pi),
    "kdv": (1, -20.0, 40.0),
    "schroedinger": (1, -30.0, 60.0),
    "heat-plane": (2, -1.0, 2.0),
    "gray-scott": (2, 0.0, 1.0),
    "fitzhugh-nagumo": (2, 0.0, 1.0),
    "cahn-hilliard": (2, 0.0, 1.0),
    "fisher-plane": (2, -0.5, 1.0),
    "advection-diffusion": (2, 0.0, 1.0),
    "wave-speed": (2, 0.0, 1.0),
    "shear-layer": (2, 0.0, 2 * np.pi),
    "allen-cahn-space": (3, 0.0, 1.0),
}


def early(name: str, end: float) -> np.ndarray:
    """Times before the first moment, crowded at the start."""
    count, first = (EARLIER, end / MANY) if name in ORDINARY else (EARLY, end / MOMENTS)
    return first * 2.0 ** np.arange(-count, 0)


def places(name: str) -> list[np.ndarray]:
    """The points in space at which values are compared: they are on the grid of every system."""
    if name in ORDINARY:
        return []
    if name in STEADY:
        ticks = (np.arange(12) + 0.5) / 12
        return [one.ravel() for one in np.meshgrid(ticks, ticks, indexing="ij")]
    axes, low, length = BOXES.get(name, (1, -1.0, 2.0))
    count = {1: 64, 2: 16, 3: 8}[axes]
    line = low + length * np.arange(count) / count
    return [one.ravel() for one in np.meshgrid(*[line] * axes, indexing="ij")]


def compared(name: str) -> tuple[str, ...]:
    """The unknowns whose errors count; a pressure follows from the others and is left out."""
    return {
        "lorenz": ("x", "y", "z"),
        "robertson": ("a", "b", "c"),
        "robertson-long": ("a", "b", "c"),
        "hires": tuple(f"y{i}" for i in range(1, 9)),
        "schroedinger": ("u", "v"),
        "gray-scott": ("u", "v"),
        "fitzhugh-nagumo": ("u", "v"),
        "shear-layer": ("u", "v"),
        "cavity": ("u", "v"),
        "helmholtz-impedance": ("u", "v"),
    }.get(name, ("u",))
