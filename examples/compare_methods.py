"""Methods side by side on a problem of two scales, u″ = f with u = sin 2πx + sin 20πx/10: the paper's network, a plain
one with the same points and the same schedule, and the default, which chooses network and schedule from the symbols."""

from sympy import Eq, Function, pi, sin, symbols

import safenet as sn

x = symbols("x")
u = Function("u")
exact = sin(2 * pi * x) + sin(20 * pi * x) / 10
two_scales = sn.Problem(
    Eq(u(x).diff(x, 2), exact.diff(x, 2)), on={x: (0, 1)}, where=[Eq(u(0), 0), Eq(u(1), 0)], exact=exact
)
# A fifth of 200 Levenberg–Marquardt steps, so that it ends in seconds; recipe="paper-1" is the paper's own schedule.
same = {"recipe": "levenberg-marquardt", "scale": 0.2, "points": 500, "width": 12, "seed": 0}
runs = {
    "safe-net-literal": {"method": "safe-net-literal", "features": 48, **same},
    "pinn": {"method": "pinn", **same},
    "the default": {},
}
results = {}
print(f"{'':18}{'L2RE':>9}{'iterations':>12}{'seconds':>9}{'parameters':>12}")
for name, options in runs.items():
    result = results[name] = sn.solve(two_scales, sn.Train(**options)).result
    numbers = (
        f"{result['l2re']:9.1e}{result['iterations']:12}{result['seconds']:9.1f}{result['parameters']:12}"
    )
    print(f"{name:18}{numbers}", flush=True)
