"""u = Re Σ_k a_k q_k(z⁴) + Σ_j [b₀ log|ζ_j| + Re Σ_k b_k ζ_j^{−k}]   with Δu = 0 in a square with four holes.

The square is [−1/2, 1/2]², the holes are discs of radius 1/10 around (±0.3, ±0.3), and u is 1 on the square and
0 on the circles.  ζ_j = (i^{−j} z − c)/(R e^{iπ/4}) is the position relative to hole j.  The solution does not
change under x → −x, y → −y or x ↔ y, which leaves the powers of z⁴, the same b for all holes, and real
coefficients.  u − 1 continues across the sides of the square as an odd function, so its corners are not
singular, and the series converges geometrically.

Each term is harmonic, so the error u − u* is harmonic too and, by the maximum principle, nowhere larger than on the
boundary, where it can be measured: a rigorous bound.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safenet.reference.reference import Array, Reference

Complex = NDArray[np.complex128]
HALF_SIDE = 0.5
RADIUS = 0.1
CENTRE = 0.3 + 0.3j
# Coordinates computed in double precision miss the boundary by less than this.
ROUNDING = 1e-12
# How many polynomials, how many multipoles, and boundary points on each piece; see the test for what fewer give.
POLYNOMIALS, MULTIPOLES, POINTS = 32, 22, 400


class Series(NamedTuple):
    """The coefficients a, b, and the recurrence of the polynomials q_k."""

    recurrence: list[tuple[Array, float]]
    coefficients: Array


def boundary(points: int) -> tuple[Complex, Complex]:
    """Points on half a side and on half a circle, which symmetry repeats eight times; dense towards the corner."""
    s = (np.arange(points) + 0.5) / points
    side = HALF_SIDE * (1 + 1j * np.sin(np.pi * s / 2))
    circle = CENTRE + RADIUS * np.exp(1j * np.pi * (s + 0.25))
    return side, circle


def orthogonal_recurrence(w: Complex, degree: int) -> list[tuple[Array, float]]:
    """s q_{k+1} = w q_k − Σ_j h_j q_j, orthonormal on the given points and their conjugates.

    The powers of w themselves differ by fifteen orders of magnitude along the side of the square.
    """
    q = np.ones((1, w.size), dtype=np.complex128)
    recurrence = []
    for _ in range(degree):
        new, h = w * q[-1], np.zeros(len(q))
        # Twice: one pass leaves the rounding errors of the projections.
        for _ in range(2):
            projection = np.real(q.conj() @ new) / w.size
            new, h = new - projection @ q, h + projection
        size = float(np.sqrt(np.mean(np.abs(new) ** 2)))
        recurrence.append((h, size))
        q = np.vstack([q, new / size])
    return recurrence


def basis(z: Complex, recurrence: list[tuple[Array, float]], multipoles: int) -> Array:
    """All terms at the points, one column each."""
    w = quarter_turn_invariant(z)
    q = np.ones((len(recurrence) + 1, z.size), dtype=np.complex128)
    for k, (h, size) in enumerate(recurrence):
        q[k + 1] = (w * q[k] - h @ q[: k + 1]) / size
    turns = np.array([1, -1j, -1, 1j])
    zeta = (turns[:, None] * z - CENTRE) / (RADIUS * np.exp(0.25j * np.pi))
    poles = np.empty((multipoles, z.size))
    power = np.ones_like(zeta)
    for k in range(multipoles):
        power = power / zeta
        poles[k] = power.real.sum(axis=0)
    return np.vstack([q.real, np.log(np.abs(zeta)).sum(axis=0), poles]).T


def quarter_turn_invariant(z: Complex) -> Complex:
    """w = (z/r)⁴, with r half the diagonal: at most 1."""
    return (z / (HALF_SIDE * (1 + 1j))) ** 4


@cache
def fitted(polynomials: int = POLYNOMIALS, multipoles: int = MULTIPOLES) -> Series:
    """Least squares on the boundary, with the given numbers of terms."""
    side, circle = boundary(POINTS)
    recurrence = orthogonal_recurrence(quarter_turn_invariant(side), polynomials)
    A = basis(np.concatenate([side, circle]), recurrence, multipoles)
    target = np.concatenate([np.ones(POINTS), np.zeros(POINTS)])
    return Series(recurrence, np.linalg.lstsq(A, target, rcond=None)[0])


def evaluate(x: Array, y: Array) -> Array:
    """u, nan outside the square and strictly inside the holes."""
    z = (x + 1j * y).ravel()
    first = np.abs(x).ravel() + 1j * np.abs(y).ravel()
    inside = (np.maximum(first.real, first.imag) <= HALF_SIDE + ROUNDING) & (
        np.abs(first - CENTRE) >= RADIUS - ROUNDING
    )
    series = fitted()
    u = np.full(z.size, np.nan)
    u[inside] = basis(z[inside], series.recurrence, MULTIPOLES) @ series.coefficients
    return u.reshape(x.shape)


def four_holes() -> Reference:
    """Δu = 0 on [−1/2, 1/2]² without four discs of radius 1/10 at (±0.3, ±0.3); u = 1 outside, u = 0 on them."""
    return Reference(
        evaluate=evaluate,
        accuracy=1e-12,
        origin="Harmonic polynomials, logarithms and multipoles fitted on the boundary; below 1e-12 at every point "
        "by the maximum principle.",
    )
