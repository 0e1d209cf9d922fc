"""φ₀(z) = e^z, φ_{j+1}(z) = (φ_j(z) − 1/j!)/z: the factors of exponential steps, for numbers and matrices."""

from __future__ import annotations

import math

import numpy as np

from ...measure.relative import TINY

SERIES_BELOW = 3.0  # |z| below which the recurrence cancels, and the power series converges
TERMS = 32
SINGULAR = 1e6  # condition number of the eigenvectors above which the doubling formulas lose fewer digits


def phi(z: np.ndarray, count: int = 4) -> np.ndarray:
    """(count, …): φ₀, φ₁, φ₂, … of each number."""
    z = np.asarray(z, dtype=complex)
    small = np.abs(z) < SERIES_BELOW
    near, far = np.where(small, z, 0), np.where(small, 1.0, z)
    # Near zero: the power series of the last φ, then downwards φ_j = z φ_{j+1} + 1/j!, which does not cancel.
    series = np.zeros_like(z)
    for n in reversed(range(TERMS)):
        series = series * near + 1 / math.factorial(n + count - 1)
    found, recurrence = np.empty((count, *z.shape), complex), [np.exp(z)]
    for j in range(1, count):
        recurrence.append((recurrence[-1] - 1 / math.factorial(j - 1)) / far)
    for j in reversed(range(1, count)):
        found[j] = np.where(small, series, recurrence[j])
        series = series * near + 1 / math.factorial(j - 1)
    found[0] = recurrence[0]
    return found


def phi_matrices(matrices: np.ndarray, count: int = 4) -> np.ndarray:
    """(count, …, n, n): φ_j of each small matrix, by eigenvectors or, where they are nearly dependent, by doubling."""
    values, vectors = np.linalg.eig(matrices)
    with np.errstate(all="ignore"):
        good = np.linalg.cond(vectors) < SINGULAR
    safe = np.where(good[..., None, None], vectors, np.eye(matrices.shape[-1]))
    scaled = safe[None] * phi(values, count)[..., None, :]
    found = scaled @ np.linalg.inv(safe)[None]
    if not good.all():
        found[:, ~good] = _doubled(matrices[~good], count)
    return np.asarray(found)


def _doubled(matrices: np.ndarray, count: int) -> np.ndarray:
    """φ_k(2z) = 2^{−k} (φ₀(z) φ_k(z) + Σ_{j≤k} φ_j(z)/(k − j)!), from the power series at z/2^s."""
    one = np.broadcast_to(np.eye(matrices.shape[-1]), matrices.shape)
    size = max(float(np.abs(matrices).sum(axis=-1).max()), TINY)
    halvings = max(0, math.ceil(math.log2(size / 0.5)))
    z = matrices / 2**halvings
    found = []
    for j in range(count):
        series = np.zeros_like(z)
        for n in reversed(range(TERMS)):
            series = series @ z + one / math.factorial(n + j)
        found.append(series)
    for _ in range(halvings):
        found = [
            (found[0] @ found[k] + sum(found[j] / math.factorial(k - j) for j in range(1, k + 1))) / 2**k
            if k
            else found[0] @ found[0]
            for k in range(count)
        ]
    return np.array(found)
