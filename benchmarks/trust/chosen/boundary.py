"""u(x) on a line: narrow, resonant, singular, with layers, not unique, with too few or too many conditions."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
from scipy.special import airy, ellipj, erf, erfi

from ..problems import Answer, Trial, vectorised


def line(
    family: str,
    equations: str,
    conditions: str,
    answer: Answer | None,
    why: str = "",
    ends: tuple[Any, Any] = (0, 1),
    unknowns: str = "u",
) -> Trial:
    return Trial(
        family, equations.split("; "), conditions.split("; "), {"x": ends}, answer, tuple(unknowns), why
    )


def source(center: float, width: float) -> tuple[str, Answer]:
    """u″ = −e^{−((x−c)/w)²}/w, u(0) = u(1) = 0"""

    def bend(x: Any) -> Any:
        s = (x - center) / width
        return -(np.sqrt(np.pi) / 2 * (x - center) * erf(s) + width / 2 * np.exp(-(s**2)))

    text = f"u_xx = -exp(-((x - {center!r})/{width!r})**2)/{width!r}"
    return text, lambda x: bend(x) - (1 - x) * bend(0.0) - x * bend(1.0)


def resonant(value: float) -> Answer:
    """u″ + λu = 1, u(0) = u(1) = 0"""

    def u(x: float) -> Any:
        s = mp.sqrt(mp.mpf(value))
        return (1 - mp.cos(s * x) - (1 - mp.cos(s)) / mp.sin(s) * mp.sin(s * x)) / s**2

    return vectorised(u)


def turning(eps: float, left: float, right: float) -> Answer:
    """ε u″ − x u′ + u = 0 on (−1, 1)"""

    def u(x: float) -> Any:
        def even(s: float) -> Any:
            return mp.hyp1f1(mp.mpf(-1) / 2, mp.mpf(1) / 2, mp.mpf(s) ** 2 / (2 * mp.mpf(eps)))

        return (right - left) / 2 * x + (right + left) / 2 * even(x) / even(1)

    return vectorised(u)


def bratu(value: float) -> Answer:
    theta = float(mp.findroot(lambda s: s - mp.sqrt(mp.mpf(value) / 2) * mp.cosh(s / 2), 0.5))
    return lambda x: -2 * np.log(np.cosh((x - 0.5) * theta) / np.cosh(theta / 2))


ZERO = "u(0) = 0; u(1) = 0"
DIRICHLET = "u(0) = 0; u(1) = 1"
TRIALS = [
    # ---- narrow
    *[
        line("narrow", source(c, w)[0], ZERO, source(c, w)[1])
        for c, w in ((0.43217, 1e-5), (0.7, 1e-3), (0.31, 0.02))
    ],
    line(
        "narrow",
        "u_x = -1e4*exp(-((x - 0.3)/0.0001)**2)*u",
        "u(0) = 1",
        lambda x: np.exp(-np.sqrt(np.pi) / 2 * (erf((x - 0.3) / 1e-4) + 1)),
    ),
    line(
        "narrow",
        "u_x = -1e5*exp(-((x - 0.3)/0.0001)**2)*u",
        "u(0) = 1",
        lambda x: np.exp(-10 * np.sqrt(np.pi) / 2 * (erf((x - 0.3) / 1e-4) + 1)),
    ),
    line(
        "narrow",
        "u_xx = 2e6*(3e6*(x - 0.61803)**2 - 1)/(1 + 1e6*(x - 0.61803)**2)**3",
        f"u(0) = {1 / (1 + 1e6 * 0.61803**2)!r}; u(1) = {1 / (1 + 1e6 * (1 - 0.61803) ** 2)!r}",
        lambda x: 1 / (1 + 1e6 * (x - 0.61803) ** 2),
    ),
    line(
        "narrow",
        "u_xx - u**3 = -2e4*tanh(100*(x - 0.41))*sech(100*(x - 0.41))**2 - tanh(100*(x - 0.41))**3",
        "u(0) = -1; u(1) = 1",
        lambda x: np.tanh(100 * (x - 0.41)),
    ),
    # ---- resonant
    *[
        line("resonant", f"u_xx + {v!r}*u = 1", ZERO, resonant(v))
        for v in (9.8696, 9.87, 39.4784, 88.8, 88.82643960980423)
    ],
    line("resonant", "u_xx + u = 0", "u(0) = 1; u(pi) = -1", None, "c sin x", (0, "pi")),
    line("resonant", "u_xx + u = 0", "u(0) = 1; u(pi) = 1", None, "none", (0, "pi")),
    line("resonant", "u_xx + pi**2*u = cos(pi*x)", ZERO, None, "c sin πx"),
    line("resonant", "u_xx + pi**2*u = sin(pi*x)", ZERO, None, "none"),
    line("resonant", "u_xx + 4*pi**2*u = 1", "u(0) = u(1); u_x(0) = u_x(1)", None, "c cos 2πx + d sin 2πx"),
    line("resonant", "u_xx + pi**2*u = cos(2*pi*x)", "u_x(0) = 0; u_x(1) = 0", None, "c cos πx"),
    line("resonant", "u_xxxx = 1", "u_xx(0) = 0; u_xxx(0) = 0; u_xx(1) = 0; u_xxx(1) = 0", None, "none"),
    line(
        "resonant",
        "u_xx + u = 1",
        "u(0) = 0; u(1) = 0",
        lambda x: 1 - np.cos(x) - (1 - np.cos(1)) / np.sin(1) * np.sin(x),
    ),
    line(
        "resonant",
        "u_x + 2*pi*v = 1; v_x - 2*pi*u = 0",
        "u(0) = u(1); v(0) = v(1)",
        None,
        "turns freely",
        unknowns="uv",
    ),
    # ---- wave numbers
    *[
        line("wave number", f"u_xx + {k}**2*u = 0", DIRICHLET, lambda x, k=k: np.sin(k * x) / np.sin(k))
        for k in (10, 50, 200)
    ],
    line(
        "wave number",
        "u_xx + 2500*u = 0; v_xx + 2500*v = 0",
        "u_x(0) - 50*v(0) = 0; v_x(0) + 50*u(0) = 100; u_x(1) + 50*v(1) = 0; v_x(1) - 50*u(1) = 0",
        lambda x: {"u": np.cos(50 * x), "v": np.sin(50 * x)},
        unknowns="uv",
    ),
    line("wave number", "u_xx + 1e4*(1 + x)**2*u = 0", "u(0) = 1; u_x(0) = 0", lambda x: _cylinder(x)),
    # ---- layers
    *[
        line("layer", f"{e!r}*u_xx + u_x = 0", DIRICHLET, lambda x, e=e: np.expm1(-x / e) / np.expm1(-1 / e))
        for e in (0.1, 1e-2, 1e-3, 1e-4)
    ],
    line("layer", "1e-4*u_xx - u = -1", ZERO, lambda x: 1 - np.cosh(100 * (x - 0.5)) / np.cosh(50)),
    line("layer", "1e-6*u_xx = u", "u(0) = 1; u(1) = 0", lambda x: np.exp(-1000 * x)),
    line(
        "layer",
        "0.01*u_xx + x*u_x = 0",
        "u(-1) = -1; u(1) = 1",
        lambda x: erf(x / np.sqrt(0.02)) / erf(1 / np.sqrt(0.02)),
        ends=(-1, 1),
    ),
    line("layer", "0.01*u_xx + u*u_x = 0", "u(-1) = -1; u(1) = 1", lambda x: _burgers(x, 0.01), ends=(-1, 1)),
    line(
        "layer",
        "0.02*u_xx - x*u_x = 0",
        "u(-1) = 0; u(1) = 1",
        lambda x: 0.5 + erfi(x / 0.2) / erfi(5) / 2,
        ends=(-1, 1),
    ),
    line(
        "layer",
        "0.001*u_xx - u_x = -1",
        ZERO,
        lambda x: x - np.exp((x - 1) / 0.001) * -np.expm1(-x / 0.001) / -np.expm1(-1000.0),
    ),
    line(
        "turning point",
        "0.005*u_xx - x*u_x + u = 0",
        "u(-1) = 1; u(1) = 2",
        turning(0.005, 1, 2),
        ends=(-1, 1),
    ),
    line(
        "turning point", "0.05*u_xx - x*u_x + u = 0", "u(-1) = 1; u(1) = 2", turning(0.05, 1, 2), ends=(-1, 1)
    ),
    line(
        "turning point", "0.2*u_xx - x*u_x + u = 0", "u(-1) = 1; u(1) = 1", turning(0.2, 1, 1), ends=(-1, 1)
    ),
    line("turning point", "0.001*u_xx - x*u = 0", "u(-1) = 1; u(1) = 0", lambda x: _airy(x), ends=(-1, 1)),
    line(
        "turning point",
        "0.005*u_xx - x*u_x = 0",
        "u(-1) = 1; u(1) = 2",
        None,
        "every constant, to e⁻¹⁰⁰",
        (-1, 1),
    ),
    # ---- singular, degenerate
    line("singular", "x*u_x = u/2", "u(1) = 1", np.sqrt),
    line("singular", "x*u_x = 2*u", "u(1) = 1", lambda x: x**2),
    line("singular", "x*u_xx + u_x = -4*x", "u(1) = 0; u_x(0) = 0", lambda x: 1 - x**2),
    line("singular", "x**2*u_xx + x*u_x - u/4 = 0", DIRICHLET, np.sqrt),
    line("singular", "u_xx = -x**(-1/2)", ZERO, lambda x: 4 / 3 * (x - x**1.5)),
    line("singular", "u_xx = 15/4*sqrt(x)", DIRICHLET, lambda x: x**2.5),
    line("singular", "x*u_x = 0", "u(1) = 1", lambda x: 1 + 0 * x),
    line("discontinuous", "u_xx = sign(x - 0.37)", ZERO, lambda x: _bent(x, 0.37)),
    line("discontinuous", "u_x = heaviside(x - 1/3)", "u(0) = 0", lambda x: np.maximum(x - 1 / 3, 0)),
    line("discontinuous", "u_xx = 2*abs(x - 1/2)", ZERO, lambda x: np.abs(x - 0.5) ** 3 / 3 - 1 / 24),
    line(
        "discontinuous",
        "f = (1 + 9*heaviside(x - 1/2))*u_x; f_x = 0",
        DIRICHLET,
        lambda x: _two_rods(x),
        unknowns="uf",
    ),
    # ---- nonlinear: several solutions, one, none
    *[line("several", f"u_xx + {v}*exp(u) = 0", ZERO, bratu(v), "two") for v in (1, 2, 3.5)],
    line("nonlinear", "u_xx + 3.6*exp(u) = 0", ZERO, None, "none beyond 3.5138"),
    line("nonlinear", "u_xx + 6*exp(u) = 0", ZERO, None, "none beyond 3.5138"),
    line("several", "u_xx = 3/2*u**2", "u(0) = 4; u(1) = 1", lambda x: 4 / (1 + x) ** 2, "two"),
    line("nonlinear", "u_xx = sinh(u)", "u(0) = 1; u(1) = 0", lambda x: _collocated(x)),
    line("nonlinear", "u_x**2 = 1", ZERO, None, "no smooth one"),
    line("several", "u_x**2 + u**2 = 1", "u(0) = 0", None, "±sin"),
    line("nonlinear", "u_xx + u - u**3 = 0", "u(0) = 0; u_x(0) = 0.5", lambda x: _elliptic(x), ends=(0, 3)),
    line("several", "u**2 = x + 1", "u(0) = 1", None, "either sign, at every x"),
    line("nonlinear", "u_x = u**2", "u(0) = 1/2", lambda x: 1 / (2 - x)),
    line(
        "several",
        "u_xx + v*u = 0; v_x = 0",
        "u(0) = 0; u(1) = 0; u_x(0) = 1",
        None,
        "any v = (nπ)²",
        unknowns="uv",
    ),
    line("several", "u_xx + 20*u - u**3 = 0", ZERO, None, "0, and ± a wave"),
    line("several", "u_xx = -30*u**2", ZERO, None, "0, and a positive one"),
    # ---- free, or too much
    line("free", "u_xx = v", "u(0) = 0; u(1) = 0; v(0) = 1", None, "an unknown is free", unknowns="uv"),
    line("free", "u_xx = v**2", ZERO, None, "an unknown is free", unknowns="uv"),
    line("free", "u_xx = cos(pi*x)", "u_x(0) = 0; u_x(1) = 0", None, "u + c"),
    line("free", "u_xx = 1", "u(0) = 0", None, "u + c x"),
    line("free", "u_xxx = 1", ZERO, None, "u + c x(1 − x)"),
    line(
        "free",
        "u_x + v_x = 1; u_x + v_x = 1",
        "u(0) = 0; v(0) = 0",
        None,
        "one equation twice",
        unknowns="uv",
    ),
    line("free", "u_xx = x", "u(0) = u(1)", None, "u + c"),
    line("overdetermined", "u_xx = 0", "u(0) = 0; u(1) = 1; u_x(1/2) = 2", None, "none"),
    line("overdetermined", "u_x = 1", "u(0) = 0; u(1) = 2", None, "none"),
    line("overdetermined", "u_x = 1; u_xx = 1", "u(0) = 0", None, "none"),
    line(
        "overdetermined",
        "u_xx = 0",
        "u(0) = 0; u(1) = 1; u_x(1/2) = 1",
        lambda x: x,
        "one too many, and they agree",
    ),
    line("overdetermined", "u_xx = 1", "u_x(0) = 0; u_x(1) = 0", None, "none"),
]


def _cylinder(x: Any) -> Any:
    """u″ + k²(1 + x)²u = 0 by Bessel functions of order ¼ in z = k(1 + x)²/2."""
    k = mp.mpf(100)

    def pair(s: Any, n: Any) -> Any:
        return mp.sqrt(1 + s) * mp.besselj(n, k * (1 + s) ** 2 / 2)

    order = mp.mpf(1) / 4
    basis = [(pair(0, n), mp.diff(lambda s, n=n: pair(s, n), 0)) for n in (order, -order)]
    (a, da), (b, db) = basis
    first, second = db / (a * db - b * da), -da / (a * db - b * da)
    return np.array(
        [
            float(first * pair(mp.mpf(float(s)), order) + second * pair(mp.mpf(float(s)), -order))
            for s in np.ravel(x)
        ]
    ).reshape(np.shape(x))


def _burgers(x: Any, eps: float) -> Any:
    """ε u″ + u u′ = 0, odd: a tanh(a x/2ε) with a tanh(a/2ε) = 1"""
    a = float(mp.findroot(lambda s: s * mp.tanh(s / (2 * eps)) - 1, 1.0))
    return a * np.tanh(a * x / (2 * eps))


def _airy(x: Any) -> Any:
    scale = 1000.0 ** (1 / 3)

    def pair(s: Any) -> Any:
        a, _, b, _ = airy(scale * np.asarray(s, dtype=float))
        return a, b

    (a0, b0), (a1, b1), (a, b) = pair(-1.0), pair(1.0), pair(x)
    return (b1 * a - a1 * b) / (a0 * b1 - a1 * b0)


def _bent(x: Any, c: float) -> Any:
    def bend(s: Any) -> Any:
        return np.sign(s - c) * (s - c) ** 2 / 2

    return bend(x) - (1 - x) * bend(0.0) - x * bend(1.0)


def _two_rods(x: Any) -> Any:
    flux = 1 / (0.5 + 0.05)
    return {"u": np.where(x < 0.5, flux * x, 0.5 * flux + (x - 0.5) * flux / 10), "f": flux + 0 * x}


def _collocated(x: Any) -> Any:
    from scipy.integrate import solve_bvp

    mesh = np.linspace(0, 1, 201)
    found = solve_bvp(
        lambda s, y: [y[1], np.sinh(y[0])],
        lambda a, b: [a[0] - 1, b[0]],
        mesh,
        np.stack([1 - mesh, mesh * 0 - 1]),
        tol=1e-12,
        max_nodes=100_000,
    )
    return found.sol(x)[0]


def _elliptic(x: Any) -> Any:
    """u″ + u − u³ = 0, u(0) = 0: a √2 k/√(1 + k²) … sn; the amplitude from u′(0) = ½."""
    # u = A sn(b x, k²): b² (1 + k²) = 1, A² = 2 k² b², A b = ½.
    m = float(mp.findroot(lambda m: mp.sqrt(2 * m) / (1 + m) - mp.mpf(1) / 2, 0.15))
    b = 1 / np.sqrt(1 + m)
    return np.sqrt(2 * m) * b * ellipj(b * x, m)[0]
