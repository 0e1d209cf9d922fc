"""Conditions of every kind: each says where it holds by its arguments; the rest is an equation like any other."""

from sympy import Eq, Function, cos, exp, pi, sin, symbols, tan

import safenet as sn

x, y, t = symbols("x y t")
u = Function("u")
U, W, S = u(x, t), u(x, y), u(x)  # in time, in the plane, on a line
heat = Eq(U.diff(t), U.diff(x, 2))

problems = {
    "Robin: a wall that loses heat in proportion to its own": sn.Problem(
        heat,
        domain={x: (0, 1), t: (0, 1)},
        conditions=[
            Eq(u(x, 0), cos(x)),
            Eq(U.diff(x).subs(x, 0), 0),
            Eq(U.diff(x).subs(x, 1) + tan(1) * u(1, t), 0),
        ],
        exact=exp(-t) * cos(x),
    ),
    "periodic: a ring": sn.Problem(
        heat,
        domain={x: (0, 2 * pi), t: (0, 1)},
        conditions=[
            Eq(u(x, 0), sin(x) + cos(2 * x)),
            Eq(u(0, t), u(2 * pi, t)),
            Eq(U.diff(x).subs(x, 0), U.diff(x).subs(x, 2 * pi)),
        ],
        exact=exp(-t) * sin(x) + exp(-4 * t) * cos(2 * x),
    ),
    "a sign on the way round: u(1, t) = −u(0, t)": sn.Problem(
        heat,
        domain={x: (0, 1), t: (0, 0.1)},
        conditions=[
            Eq(u(x, 0), cos(pi * x)),
            Eq(u(1, t), -u(0, t)),
            Eq(U.diff(x).subs(x, 1), -U.diff(x).subs(x, 0)),
        ],
        exact=exp(-(pi**2) * t) * cos(pi * x),
    ),
    "a point: slopes on all sides leave a constant open, which one value fixes": sn.Problem(
        Eq(W.diff(x, 2) + W.diff(y, 2), 0),
        domain={x: (0, 1), y: (0, 1)},
        conditions=[
            Eq(W.diff(x).subs(x, 0), 0),
            Eq(W.diff(x).subs(x, 1), 2),
            Eq(W.diff(y).subs(y, 0), 0),
            Eq(W.diff(y).subs(y, 1), -2),
            Eq(u(0, 0), 5),
        ],
        exact=x**2 - y**2 + 5,
    ),
    "higher derivatives: a beam, clamped on the left, free on the right": sn.Problem(
        Eq(S.diff(x, 4), 1),
        domain={x: (0, 1)},
        conditions=[
            Eq(u(0), 0),
            Eq(S.diff(x).subs(x, 0), 0),
            Eq(S.diff(x, 2).subs(x, 1), 0),
            Eq(S.diff(x, 3).subs(x, 1), 0),
        ],
        exact=x**2 * (x**2 - 4 * x + 6) / 24,
    ),
    "inside: a value measured in the middle instead of at the end": sn.Problem(
        Eq(S.diff(x, 2) + S**2, x**4 + 2),
        domain={x: (0, 1)},
        conditions=[Eq(u(0), 0), Eq(u(0.5), 0.25)],
        exact=x**2,
    ),
}
errors = {}
for title, problem in problems.items():
    errors[title] = sn.solve(problem).error()
    kinds = ", ".join(dict.fromkeys(condition.kind for condition in problem.conditions))
    print(f"{title}\n  understood as {kinds}\n  {errors[title]}")
