"""u' = L u + N(u):   û = e^{hL} u + h [ f₁ N(u) + 2 f₂ (N(a) + N(b)) + f₃ N(c) ],  L diagonal.

Exponential time differencing Runge–Kutta of order four (Cox & Matthews 2002).  The linear part is exact, so
a stiff diffusion costs no stability.  The weights f₁, f₂, f₃ are quotients that cancel catastrophically as
hL → 0; their means over a circle around hL are the same numbers without the cancellation (Kassam &
Trefethen 2005).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from safenet.reference.reference import Array

# Points on the upper half of the circle; the lower half is the complex conjugate since L is real.
CONTOUR = np.exp(1j * np.pi * (np.arange(1, 33) - 0.5) / 32)


class Weights(NamedTuple):
    """e^{hL}, e^{hL/2}, the half step ∫₀^{h/2} e^{sL} ds, and h f₁, h f₂, h f₃."""

    full: Array
    half: Array
    stage: Array
    first: Array
    middle: Array
    last: Array


def weights(linear: Array, h: float) -> Weights:
    """The weights of one step h, by the mean over the circle of radius 1 around each hL."""
    z = h * linear[:, None] + CONTOUR
    e = np.exp(z)

    def mean(values: np.ndarray) -> Array:
        return h * np.real(values.mean(axis=1))

    return Weights(
        full=np.exp(h * linear),
        half=np.exp(h * linear / 2),
        stage=mean((np.exp(z / 2) - 1) / z),
        first=mean((-4 - z + e * (4 - 3 * z + z**2)) / z**3),
        middle=mean((2 + z + e * (z - 2)) / z**3),
        last=mean((-4 - 3 * z - z**2 + e * (4 - z)) / z**3),
    )


def advance(u: Array, nonlinear: Callable[[Array], Array], w: Weights) -> Array:
    """One step."""
    N_u = nonlinear(u)
    a = w.half * u + w.stage * N_u
    N_a = nonlinear(a)
    b = w.half * u + w.stage * N_a
    N_b = nonlinear(b)
    c = w.half * a + w.stage * (2 * N_b - N_u)
    return w.full * u + w.first * N_u + 2 * w.middle * (N_a + N_b) + w.last * nonlinear(c)


def etdrk4(
    linear: Array, nonlinear: Callable[[Array], Array], initial: Array, times: Array, step: float
) -> Array:
    """u(times[j]) in row j, where u(times[0]) = initial; equal steps of at most `step` between two times."""
    u = initial
    states = [u]
    for duration in np.diff(times):
        count = int(np.ceil(duration / step))
        w = weights(linear, duration / count)
        for _ in range(count):
            u = advance(u, nonlinear, w)
        states.append(u)
    return np.stack(states)
