"""c_k' = (5 − λ_k) c_k − 5 (u³)_k,   u = Σ c_k cos kπx,   λ_k = 10⁻⁴ (kπ)²:  the Allen–Cahn modes.

The solution is even and 2-periodic, so cosines suffice.  `python tests/reference/allen_cahn_solver.py` solves it,
writes the data that `allen_cahn()` reads into the package, and prints how far a finer solution lies away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from etdrk4 import etdrk4
from scipy.fft import dct

from safenet.reference.allen_cahn_series import DATA, DIFFUSIVITY, REACTION, SEAM_DECAY, evaluate
from safenet.reference.reference import Array

MODES = 2048
STEP = 5e-4
# What is kept of the remainder: the modes above stay below 1e-9 in sum, the Chebyshev tail below 1e-11.
KEPT_MODES = 1024
DEGREE = 64
# Rounding to multiples of this costs about 1e-10 at any point, and makes the file compressible.
QUANTUM = 2.0**-42


def initial_coefficients(modes: int) -> Array:
    """c_k = ½(a_{k−1} + a_{k+1}) in x² cos πx = Σ c_k cos kπx, where x² = Σ a_k cos kπx.

    Exact, since samples on a grid would alias the slow tail onto every mode.
    """
    k = np.arange(1, modes + 1)
    a = np.concatenate([[1 / 3], 4 * (-1.0) ** k / (k * np.pi) ** 2])
    c = np.empty(modes)
    c[0] = a[1] / 2
    c[1] = a[0] + a[2] / 2
    c[2:] = (a[1:-2] + a[3:]) / 2
    return c


def decay_rates(modes: int) -> Array:
    """λ_k = 10⁻⁴ (kπ)²."""
    k = np.arange(modes, dtype=np.float64)
    return DIFFUSIVITY * (np.pi * k) ** 2


def seam_coefficients(t: Array, modes: int) -> Array:
    """c_k e^{−(λ_k + 10)t}, the cosine coefficients of e^{−10t} H, one row per time."""
    return initial_coefficients(modes) * np.exp(-np.multiply.outer(t, decay_rates(modes) + SEAM_DECAY))


def solve(times: Array, modes: int = MODES, step: float = STEP) -> Array:
    """c_k(times[j]) in row j, for times[0] = 0."""
    points = 2 * modes

    def cube(c: Array) -> Array:
        # Modes up to 3·modes fold back at 2·points, beyond the last mode kept: the projection is exact.
        u = dct(np.pad(np.append(c[0], c[1:] / 2), (0, points - modes)), type=3)
        u_k = dct(u**3, type=2)[:modes] / points
        u_k[0] /= 2
        return -REACTION * u_k

    return etdrk4(REACTION - decay_rates(modes), cube, initial_coefficients(modes), times, step)


def values(coefficients: Array, x: Array) -> Array:
    """u(times[j], x) in row j."""
    modes = np.arange(coefficients.shape[1])
    return coefficients @ np.cos(np.pi * np.multiply.outer(modes, x))


def make_coefficients() -> Array:
    """R_jk, by interpolation at the Chebyshev–Lobatto points of √t, which cluster towards t = 0."""
    t = ((1 - np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)) / 2) ** 2
    remainder = solve(t)[:, :KEPT_MODES] - seam_coefficients(t, KEPT_MODES)
    # The points run from −1 to 1, the transform from 1 to −1.
    R = dct(remainder[::-1], type=1, axis=0) / DEGREE
    R[[0, -1]] /= 2
    return np.round(R / QUANTUM) * QUANTUM


class Difference(NamedTuple):
    """‖u − v‖/‖v‖ and max |u − v| over a grid."""

    relative_l2: float
    maximum: float


def difference(u: Array, v: Array) -> Difference:
    return Difference(float(np.linalg.norm(u - v) / np.linalg.norm(v)), float(np.max(np.abs(u - v))))


def refinement_study(modes: int = MODES, step: float = STEP, rows: int = 100) -> dict[str, Difference]:
    """How far u moves under refinement, on 257 points of [−1, 1] and the times 1/rows, 2/rows, …, 1."""
    x, t = np.linspace(-1, 1, 257), np.linspace(0, 1, rows + 1)
    u = values(solve(t, modes, step)[1:], x)
    return {
        "twice the modes": difference(u, values(solve(t, 2 * modes, step)[1:], x)),
        "half the time step": difference(u, values(solve(t, modes, step / 2)[1:], x)),
        "shipped data": difference(evaluate(*np.broadcast_arrays(x, t[1:, None])), u),
    }


def main() -> None:
    DATA.parent.mkdir(exist_ok=True)
    np.savez_compressed(DATA, coefficients=make_coefficients())
    print(f"{DATA.name}: {DATA.stat().st_size} bytes")
    for what, moved in refinement_study().items():
        print(f"{what:20s} relative L2 {moved.relative_l2:.1e}   max {moved.maximum:.1e}")


if __name__ == "__main__":
    main()
