"""Two unknowns: Schrödinger's equation i ψ_t = −ψ_xx in a box, for ψ = u + i v.

The start is a mixture of the two lowest states, which beats: the particle swings between left and right.
"""

import numpy as np
from sympy import Eq, Function, cos, pi, sin, symbols

import safenet as sn

x, t = symbols("x t")
u, v = Function("u"), Function("v")

box = sn.Problem(
    [Eq(u(x, t).diff(t), -v(x, t).diff(x, 2)), Eq(v(x, t).diff(t), u(x, t).diff(x, 2))],
    domain={x: (0, 1), t: (0, 0.25)},
    conditions=[
        *(Eq(psi(wall, t), 0) for psi in (u, v) for wall in (0, 1)),
        Eq(u(x, 0), sin(pi * x) + sin(2 * pi * x)),
        Eq(v(x, 0), 0),
    ],
    exact={  # checked against every line above, and used only to score
        u: sin(pi * x) * cos(pi**2 * t) + sin(2 * pi * x) * cos(4 * pi**2 * t),
        v: -sin(pi * x) * sin(pi**2 * t) - sin(2 * pi * x) * sin(4 * pi**2 * t),
    },
    name="particle-in-a-box",
    title="Particle in a box",
)
sol = sn.solve(box)
error = sol.error()
print(f"Pooled: {error}")
for name, value in error.fields.items():
    print(f"  {name}: relative L2 error {value:.1e}")

# The values are a dict, one array for each unknown; probability must be conserved.
places, times = np.linspace(0, 1, 201), np.linspace(0, 0.25, 6)
psi = sol(x=places[:, None], t=times)
density = psi["u"] ** 2 + psi["v"] ** 2
probability = np.trapezoid(density, places, axis=0)
mean = np.trapezoid(places[:, None] * density, places, axis=0) / probability
for time, where, total in zip(times, mean, probability, strict=True):
    print(f"  t = {time:.2f}: mean place {where:.3f}, probability {total:.9f}")
