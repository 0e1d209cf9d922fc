"""An equation of your own, in SymPy: a rod that conducts better to the right and radiates like a black body.

u_t = ((1 + x) u_x)_x − u⁴,   u(0, t) = e^(−t),   u_x(1, t) = 0,   u(x, 0) = 1
"""

import sys
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import RectBivariateSpline
from sympy import Eq, Function, exp, symbols

import safenet as sn

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs")
x, t = symbols("x t")
u = Function("u")


def finite_differences(nodes):
    """Something independent to compare with: `nodes` in x, integrated in time by SciPy."""
    places, h = np.linspace(0, 1, nodes, retstep=True)
    conductivity = 1 + places[:-1] + h / 2  # between the nodes

    def rate(time, values):
        flux = conductivity * np.diff(values, prepend=np.exp(-time)) / h
        return np.diff(flux, append=-flux[-1]) / h - values**4

    times = np.linspace(0, 1, 101)
    run = solve_ivp(rate, (0, 1), np.ones(nodes - 1), "LSODA", times, rtol=1e-9, atol=1e-9, lband=1, uband=1)
    spline = RectBivariateSpline(places, times, np.vstack([np.exp(-times), run.y]))
    return lambda x, t: spline(x, t, grid=False)


rod = sn.Problem(
    Eq(u(x, t).diff(t), ((1 + x) * u(x, t).diff(x)).diff(x) - u(x, t) ** 4),
    domain={x: (0, 1), t: (0, 1)},
    conditions=[
        Eq(u(0, t), exp(-t)),  # the left end cools
        Eq(u(x, t).diff(x).subs(x, 1), 0),  # the right end is insulated
        Eq(u(x, 0), 1),
    ],
    reference=finite_differences(401),  # may be left out: it only scores, the solver never sees it
    title="A rod that conducts and radiates",
    name="rod",
)
sol = sn.solve(rod)
error = sol.error()
print(f"Against finite differences: {error}")
print(f"At the right end, at t = 1: u = {sol(x=1, t=1):.6f}")
print(f"The slope at the left end then: u_x = {sol.diff(x)(x=0, t=1):.6f}")

folder.mkdir(parents=True, exist_ok=True)
sol.plot().savefig(folder / "rod.png")
print(f"A picture is in {folder / 'rod.png'}")
