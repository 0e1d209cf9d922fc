"""The solution in other programs: NumPy, xarray (and netCDF), ParaView. Needs pip install 'safenet-pde[data]'."""

import sys
from pathlib import Path

import numpy as np
from sympy import Eq, Function, cos, pi, sin, symbols

import safenet as sn

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "runs")
folder.mkdir(parents=True, exist_ok=True)
x, y, t = symbols("x y t")
u = Function("u")
U = u(x, y, t)
drum = sn.Problem(
    Eq(U.diff(t, 2), U.diff(x, 2) + U.diff(y, 2)),
    domain={x: (0, 1), y: (0, 1), t: (0, 1)},
    conditions=[
        *(Eq(U.subs(side, wall), 0) for side in (x, y) for wall in (0, 1)),
        Eq(u(x, y, 0), sin(pi * x) * sin(2 * pi * y)),
        Eq(U.diff(t).subs(t, 0), 0),
    ],
    exact=sin(pi * x) * sin(2 * pi * y) * cos(5**0.5 * pi * t),
    name="drum",
)
sol = sn.solve(drum)
print(sol.error())

# NumPy: call it with arrays, or take a grid. Along an axis, say how many points, or which.
ticks, fields = sol.grid(x=51, y=51, t=[0, 0.25, 0.5])
print("grid:", {name: len(values) for name, values in ticks.items()}, "→ u", fields["u"].shape)
np.savez(folder / "drum.npz", **ticks, **fields)

# xarray: the names of the axes come along, and what was solved. Derivatives work in the same way.
data = sol.to_xarray(x=51, y=51, t=21)
strongest = abs(sol.diff("t").to_xarray(x=51, y=51, t=21).u_t).max("t")
print("largest speed over time, at x = 0.5, y = 0.26:", f"{float(strongest.sel(x=0.5, y=0.26)):.4f}")
data.to_netcdf(folder / "drum.nc")

# ParaView: a file for each time, and the .pvd file that lists them.
movie = sol.to_vtk(folder / "drum", x=51, y=51, t=21)
print(f"In ParaView, open {movie}")
