"""The solutions of the hostile problems: in closed form, by SciPy at 1e-12, or by mpmath."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
from scipy.integrate import solve_bvp, solve_ivp
from scipy.special import erfcx, mathieu_a

from ..problems import Answer, vectorised


def beam(load: float) -> Answer:
    """u⁗ − κu = 1, clamped at both ends."""

    def u(x: float) -> Any:
        k = mp.mpf(load) ** (mp.mpf(1) / 4)
        rows = mp.matrix(
            [
                [1, 0, 1, 0],
                [0, 1, 0, 1],
                [mp.cosh(k), mp.sinh(k), mp.cos(k), mp.sin(k)],
                [mp.sinh(k), mp.cosh(k), -mp.sin(k), mp.cos(k)],
            ]
        )
        a = mp.lu_solve(rows, mp.matrix([1 / mp.mpf(load), 0, 1 / mp.mpf(load), 0]))
        z = k * mp.mpf(x)
        return a[0] * mp.cosh(z) + a[1] * mp.sinh(z) + a[2] * mp.cos(z) + a[3] * mp.sin(z) - 1 / mp.mpf(load)

    return vectorised(u)


def troesch(x: Any) -> Any:
    """u″ = 8 sinh 8u, u(0) = 0, u(1) = 1"""
    mesh = np.concatenate([np.linspace(0, 0.8, 400), np.linspace(0.8, 1, 1600)[1:]])
    found = solve_bvp(
        lambda s, y: [y[1], 8 * np.sinh(8 * y[0])],
        lambda a, b: [a[0], b[0] - 1],
        mesh,
        np.stack([mesh**20, 20 * mesh**19]),
        tol=1e-11,
        max_nodes=200_000,
    )
    assert found.success
    return found.sol(x)[0]


def van_der_pol(t: Any) -> Any:
    """u″ = 50(1 − u²)u′ − u"""
    found = solve_ivp(
        lambda _, y: [y[1], 50 * (1 - y[0] ** 2) * y[1] - y[0]],
        (0, 100),
        [2, 0],
        "Radau",
        rtol=1e-11,
        atol=1e-13,
        dense_output=True,
        jac=lambda _, y: [[0, 1], [-100 * y[0] * y[1] - 1, 50 * (1 - y[0] ** 2)]],
    )
    return found.sol(t)[0]


def rapid(x: Any) -> Any:
    """((1 + 0.9 sin 300x) u′)′ = 0 by ∫ dx/(1 + a sin bx), turn by turn."""
    a, b = 0.9, 300.0
    root = np.sqrt(1 - a * a)

    def integral(s: Any) -> Any:
        z = b * np.asarray(s, dtype=float)
        turns = np.floor((z + np.pi) / (2 * np.pi))
        rest = z - 2 * np.pi * turns
        return 2 / (b * root) * (np.arctan((np.tan(rest / 2) + a) / root) + np.pi * turns)

    value = (integral(x) - integral(0.0)) / (integral(1.0) - integral(0.0))
    flux = 1 / (integral(1.0) - integral(0.0))
    return {"u": value, "f": flux + 0 * np.asarray(x)}


def sudden(x: Any, t: Any) -> Any:
    """u_t = u_xx/10 with u(0, t) = e^{−((t−c)/w)²}: (1 − x) g(t) and a sine series of the rest."""
    c, w, a = 0.4137, 0.002, 0.1
    s = (t - c) / w
    g, total = np.exp(-(s**2)), 0.0
    for k in range(1, 3000):
        rate = a * (k * np.pi) ** 2
        # rate ∫ e^{−rate(t−s)} g(s) ds
        z = rate * w / 2 - s
        with np.errstate(all="ignore"):
            late = np.sqrt(np.pi) * np.exp((rate * w / 2) ** 2 - rate * (t - c)) * np.where(z < -5, 1.0, 0.0)
            near = np.where(z < -5, 0.0, np.sqrt(np.pi) / 2 * g * erfcx(np.maximum(z, -5)))
        bracket = g - rate * w * np.where(z < -5, late, near)
        total = total - 2 / (k * np.pi) * bracket * np.sin(k * np.pi * x)
    return (1 - x) * g + total


def warmed(x: Any, t: Any) -> Any:
    """u_t = u_xx/100 from e^{−((x−0.3)/w)²}, w = 1/500, between zeros: images."""
    w2, total = 0.002**2, 0.0
    spread = w2 + 4 * 0.01 * t
    for n in range(-3, 4):
        for sign, place in ((1, 0.3 + 2 * n), (-1, -0.3 + 2 * n)):
            total = total + sign * np.sqrt(w2 / spread) * np.exp(-((x - place) ** 2) / spread)
    return total


def parabola(x: Any, t: Any, rate: float = 1.0) -> Any:
    """u_t = u_xx from x(1 − x)"""
    total = 0.0
    for k in range(1, 400, 2):
        total = total + 8 / (k * np.pi) ** 3 * np.exp(-rate * (k * np.pi) ** 2 * t) * np.sin(k * np.pi * x)
    return total


def odd(values: Any) -> Answer:
    """u_tt = u_xx between zeros, from rest: (f(x + t) + f(x − t))/2, f continued as an odd function of period 2."""

    def f(s: Any) -> Any:
        s = np.mod(s + 1, 2) - 1
        return np.sign(s) * values(np.abs(s))

    return lambda x, t: (f(x + t) + f(x - t)) / 2


def skewed(x: Any, y: Any, eps: float = 0.002) -> Any:
    """ε Δu = u_x, u = sin πy at x = 0 and 0 elsewhere."""
    root = np.sqrt(1 + (2 * eps * np.pi) ** 2)
    up, down = (1 + root) / (2 * eps), -2 * eps * np.pi**2 / (1 + root)
    far = np.exp(down - up)
    shape = (np.exp(down * x) - np.exp(down + up * (x - 1))) / (1 - far)
    return shape * np.sin(np.pi * y)


def barenblatt(x: Any, t: Any) -> Any:
    """u_t = (u²)_xx: s^{−1/3}(1 − x²/(12 s^{2/3}))₊, s = t + 1"""
    s = (t + 1) ** (1 / 3)
    return np.maximum(1 - x**2 / (12 * s**2), 0) / s


def breather(x: Any, t: Any) -> Any:
    w = 0.8
    root = np.sqrt(1 - w * w)
    return 4 * np.arctan(root / w * np.sin(w * t) / np.cosh(root * x))


def constrained(t: Any) -> Any:
    """u′ = −u + v, u + v = 2 sin t, u(0) = 0"""
    u = (4 * np.sin(t) - 2 * np.cos(t) + 2 * np.exp(-2 * t)) / 5
    return {"u": u, "v": 2 * np.sin(t) - u}


K = float(mathieu_a(0, 5.0))


def rods(x: Any) -> Any:
    flux = 1 / (1 / 3 + 2 / 3 * 1e-6)
    return {"u": np.where(x < 1 / 3, flux * x, flux / 3 + (x - 1 / 3) * flux * 1e-6), "f": flux + 0 * x}


def broken(x: Any) -> Any:
    """u″ = 1 left of ½ and 1/10 right of it, u and u′ continuous, u(0) = u(1) = 0."""
    slope = -(1 / 8 + 1 / 4 + 1 / 80)
    left = slope * x + x**2 / 2
    right = slope / 2 + 1 / 8 + (slope + 0.5) * (x - 0.5) + (x - 0.5) ** 2 / 20
    return np.where(x < 0.5, left, right)
