"""u(x, t) = ½(ũ₀(x + ct) + ũ₀(x − ct)):  u_tt = c² u_xx,  u(0, t) = u(1, t) = 0,  u(x, 0) = u₀(x),  u_t(x, 0) = 0.

ũ₀ is u₀ on [0, 1], odd about 0 and of period 2 (d'Alembert 1747): the string, let go at rest, sends half its shape
each way, and the ends send it back upside down.  Where u₀'' does not vanish at an end, ũ₀'' jumps there, and so do
u_xx, u_xt and u_tt along the characteristics that start there; the formula holds across them all the same.
"""

from __future__ import annotations

import numpy as np

from safenet.reference.reference import Array, Reference


def lopsided(x: Array) -> Array:
    """x(1 − x) e^{sin 3x}: zero at the ends, with every sine in it, and u₀'' = 4 and 4.54 at the ends."""
    return x * (1 - x) * np.exp(np.sin(3 * x))


def continued(y: Array) -> Array:
    """ũ₀(y) = sign(s) u₀(|s|),  s = y − 2⌊y/2 + ½⌋ in [−1, 1]: odd, of period 2."""
    s = y - 2 * np.round(y / 2)
    return np.sign(s) * lopsided(np.abs(s))


def d_alembert(x: Array, t: Array, c: float) -> Array:
    """u(x, t), any real x and t."""
    return (continued(x + c * t) + continued(x - c * t)) / 2


def wave_hard(c: float) -> Reference:
    """u_tt = c² u_xx on [0, 1]², u(0, t) = u(1, t) = 0, u(x, 0) = x(1 − x) e^{sin 3x}, u_t(x, 0) = 0."""

    def evaluate(x: Array, t: Array) -> Array:
        return d_alembert(x, t, c)

    return Reference(
        evaluate=evaluate,
        # x ± ct is rounded to |c| times the last digit before it is folded back; u₀' is of order one.
        accuracy=1e-14 * max(1.0, abs(c)),
        origin="d'Alembert's formula with the odd continuation of period 2: exact up to rounding.",
    )
