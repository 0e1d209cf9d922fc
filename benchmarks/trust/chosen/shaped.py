"""Shapes with cusps, corners and eigenvalues; rings; jumps with and without conservation; solvers chosen by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import jn_zeros, jv

from .tempting import RING, one

BOX = {"x": (-1, 1), "y": (-1, 1)}
DISC = 'shape = [{ disc = { center = [0, 0], radius = 1 } }]\n[pieces]\nrim = "rest"\n'
# Two discs that touch from inside: their boundaries meet at an angle of zero.
CUSP = (
    "shape = [{ disc = { center = [0, 0], radius = 1 } }]\n"
    'remove = [{ disc = { center = [0.5, 0], radius = 0.5 } }]\n[pieces]\nrim = "rest"\n'
)
CORNER = 'remove = [{ box = { x = [0, 1], y = [-1, 0] } }]\n[pieces]\nrim = "rest"\n'


def ramp(x: Any, t: Any) -> Any:
    """u_t + u_x = 0 on a ring from x: x − t, with a jump from 2π to 0"""
    return np.mod(x - t, 2 * np.pi)


def dented(x: Any, y: Any) -> Any:
    """r^{2/3} sin 2φ/3 around a corner of 270°, φ from the side that points downwards, through the domain"""
    angle = np.mod(np.arctan2(y, x), 2 * np.pi)
    return np.hypot(x, y) ** (2 / 3) * np.sin(2 / 3 * angle)


def _cooled(x: Any, y: Any, t: Any) -> Any:
    """1 − r² = Σ 8 J₀(k r)/(k³ J₁(k))"""
    zeros = jn_zeros(0, 60)
    r = np.hypot(x, y)
    return sum(8 / (k**3 * jv(1, k)) * np.exp(-(k**2) * t / 10) * jv(0, k * r) for k in zeros)


def _ring(x: Any, t: Any) -> Any:
    """512 waves, LSODA on the nodes' values with the exact heat factor."""
    n = 512
    k = np.fft.rfftfreq(n, 1 / n)
    nodes = 2 * np.pi * np.arange(n) / n

    def rate(s: float, v: Any) -> Any:
        u = np.fft.irfft(np.fft.rfft(v) * 1.0, n)
        return np.fft.irfft(-(k**2) / 10 * np.fft.rfft(v), n) + u - u**3

    found = solve_ivp(
        rate, (0, 2), np.tanh(8 * np.sin(nodes)), "BDF", rtol=1e-10, atol=1e-12, dense_output=True
    )
    values = found.sol(np.ravel(t))
    out = []
    for column, place in zip(values.T, np.ravel(x), strict=True):
        c = np.fft.rfft(column) / n
        c[1:-1] *= 2
        out.append(float(np.real(np.sum(c * np.exp(1j * k * place)))))
    return np.array(out).reshape(np.shape(x))


def _struck(t: Any) -> Any:
    """u′ = −u³ + a pulse of width 1/1000 at c: by SciPy, which is told where the pulse is"""
    c, w = 0.7071, 1e-3
    t = np.asarray(t, dtype=float)
    found = solve_ivp(
        lambda s, u: 1000 * np.exp(-(((s - c) / w) ** 2)) - u**3,
        (c - 8 * w, c + 8 * w),
        [0.0],
        "DOP853",
        rtol=1e-12,
        atol=1e-15,
        max_step=w / 20,
        dense_output=True,
    )
    inside = found.sol(np.clip(t, c - 8 * w, c + 8 * w))[0]
    end = found.y[0, -1]
    after = end / np.sqrt(1 + 2 * end**2 * np.maximum(t - c - 8 * w, 0))
    return np.where(t < c - 8 * w, 0.0, np.where(t > c + 8 * w, after, inside))


K0 = float(jn_zeros(0, 1)[0])
TRIALS = [
    # ---- shapes
    one(
        "resonant", f"u_xx + u_yy + {K0**2!r}*u = 1", "u = 0 on rim", BOX, None, "J₀ to rounding", shape=DISC
    ),
    one(
        "resonant",
        "u_xx + u_yy + 5.78*u = 1",
        "u = 0 on rim",
        BOX,
        lambda x, y: (1 - jv(0, np.sqrt(5.78) * np.hypot(x, y)) / jv(0, np.sqrt(5.78))) / 5.78,
        shape=DISC,
    ),
    one(
        "singular",
        "u_xx + u_yy = 0",
        "u = x**2 - y**2 + x on rim",
        BOX,
        lambda x, y: x**2 - y**2 + x,
        shape=CUSP,
    ),
    one(
        "singular",
        "u_xx + u_yy = 0",
        "u = (x**2 + y**2)**(1/3)*sin(2/3*where(y < 0, atan2(y, x) + 2*pi, atan2(y, x))) on rim",
        BOX,
        dented,
        shape=CORNER,
    ),
    one(
        "heat",
        "u_t = (u_xx + u_yy)/10",
        "u = 0 on rim; u(x, y, 0) = 1 - x**2 - y**2",
        {**BOX, "t": (0, 1)},
        lambda x, y, t: _cooled(x, y, t),
        shape=DISC,
    ),
    one("free", "u_xx + u_yy = x", "u_n = 0 on rim", BOX, None, "u + c", shape=DISC),
    one("overdetermined", "u_xx + u_yy = 1", "u_n = 0 on rim", BOX, None, "none", shape=DISC),
    # ---- rings: a drift, a jump at the seam
    one(
        "convection",
        "u_t + u_x = 1",
        "u(x, 0) = sin(x)",
        {"x": (0, "2*pi"), "t": (0, 20)},
        lambda x, t: t + np.sin(x - t),
        periodic=("x",),
    ),
    one("discontinuous", "u_t + u_x = 0", "u(x, 0) = x", RING, ramp, "a jump at the seam", periodic=("x",)),
    one(
        "nonlinear",
        "u_t + u*u_x = u_xx/50",
        "u(x, 0) = x",
        RING,
        None,
        "a jump at the seam, and no one says so",
        periodic=("x",),
    ),
    # ---- jumps, conserved or not
    one(
        "shock",
        "u*u_t + u**2*u_x = 0",
        "u(-1, t) = 2; u(x, 0) = where(x < 0, 2, 1)",
        {"x": (-1, 1), "t": (0, 0.5)},
        None,
        "u²/2 conserved, or u: speeds 14/9 and 3/2",
    ),
    one(
        "shock",
        "u_t + u*u_x = 0; v_t + u*v_x = 0",
        "u(-1, t) = 2; v(-1, t) = 1; u(x, 0) = where(x < 0, 2, 0); v(x, 0) = where(x < 0, 1, 2)",
        {"x": (-1, 1), "t": (0, 0.5)},
        None,
        "u v_x has no meaning where both jump",
        unknowns="uv",
    ),
    one(
        "discontinuous",
        "u_t + u*u_x = 0",
        "u(-1, t) = 1; u(x, 0) = where(x < 0, 1, 0)",
        {"x": (-1, 1), "t": (0, 0.8)},
        lambda x, t: np.where(x < t / 2, 1.0, 0.0),
        "a shock",
        solver="conserve",
    ),
    # ---- each solver, chosen by name
    one(
        "heat",
        "u_t = u_xx/10 + u - u**3",
        "u(x, 0) = tanh(sin(x)*8)",
        {"x": (0, "2*pi"), "t": (0, 2)},
        lambda x, t: _ring(x, t),
        periodic=("x",),
        solver="fourier",
    ),
    one(
        "poisson",
        "u_xx + u_yy + u_zz + u_ww = -4*pi**2*sin(pi*x)*sin(pi*y)*sin(pi*z)*sin(pi*w)",
        "; ".join(
            f"u({', '.join(str(end) if axis == each else each for each in 'xyzw')}) = 0"
            for axis in "xyzw"
            for end in (0, 1)
        ),
        dict.fromkeys("xyzw", (0, 1)),
        lambda x, y, z, w: np.prod([np.sin(np.pi * s) for s in (x, y, z, w)], axis=0),
        solver="sparse",
    ),
    one(
        "narrow",
        "u_xx + u_yy + u_zz + u_ww = 1e4*(4e4*(x - 0.37)**2 - 2)*exp(-1e4*(x - 0.37)**2)",
        "; ".join(
            f"u({', '.join(str(end) if axis == each else each for each in 'xyzw')}) = "
            + ("0" if axis == "x" else "exp(-1e4*(x - 0.37)**2)")
            for axis in "xyzw"
            for end in (0, 1)
        ),
        dict.fromkeys("xyzw", (0, 1)),
        lambda x, y, z, w: np.exp(-1e4 * (x - 0.37) ** 2),
    ),
    one(
        "nonlinear",
        "u_t = u_xx + u_yy - u**3",
        "u = 0 on rim; u(x, y, 0) = 0",
        {**BOX, "t": (0, 1)},
        lambda x, y, t: 0 * x,
        "nothing moves",
        shape=DISC,
        solver="evolve",
    ),
    one(
        "narrow",
        "u_t = 1000*exp(-(1000*(t - 0.7071))**2) - u**3",
        "u(0) = 0",
        {"t": (0, 2)},
        lambda t: _struck(t),
        solver="integrate",
    ),
]
