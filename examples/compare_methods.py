"""Methods side by side on a problem of two scales, u″ = f with u = sin 2πx + sin 20πx/10: the paper's network, a plain
one with the same points and the same schedule, and the default, a direct solver chosen from the symbols."""

from sympy import Eq, Function, pi, sin, symbols

import safenet as sn

x = symbols("x")
u = Function("u")
exact = sin(2 * pi * x) + sin(20 * pi * x) / 10
two_scales = sn.Problem(
    Eq(u(x).diff(x, 2), exact.diff(x, 2)),
    domain={x: (0, 1)},
    conditions=[Eq(u(0), 0), Eq(u(1), 0)],
    exact=exact,
)
# 40 Levenberg–Marquardt steps, so that it ends in seconds; "paper-1" is the paper's own schedule.
same = {"schedule": [sn.LevenbergMarquardt(40)], "points": 500, "width": 12}
solvers = {
    "safe-net-literal": sn.Train("safe-net-literal", features=48, **same),
    "pinn": sn.Train("pinn", **same),
    "the default": sn.Auto(),
}
results = {}
print(f"{'':18}{'L2RE':>9}{'iterations':>12}{'seconds':>9}{'parameters':>12}")
for name, solver in solvers.items():
    r = results[name] = sn.solve(two_scales, solver).result
    print(f"{name:18}{r.l2re:9.1e}{r.iterations:12}{r.seconds:9.1f}{r.parameters:12}", flush=True)
