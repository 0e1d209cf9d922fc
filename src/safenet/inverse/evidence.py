"""p(y | prior): the marginal likelihood of data under a Gaussian prior on coefficients, and the posterior.

a = D z, z ~ N(0, s² I); conditions C a = d hold; y = A a + noise of variance v. In the singular directions of A, p is
a product of one-dimensional Gaussians, so that every ratio v/s² costs no more than a sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..measure.relative import TINY
from .thresholds import HELD, NEGLIGIBLE, RATIOS


@dataclass(frozen=True)
class Rows:
    """Equations for the coefficients, at most as many as coefficients (by QR): R, Qᵀy, and |y|² beyond the range."""

    matrix: np.ndarray
    data: np.ndarray
    beyond: float
    count: int

    @staticmethod
    def of(matrix: np.ndarray, data: np.ndarray) -> Rows:
        if len(matrix) <= matrix.shape[1]:
            return Rows(matrix, data, 0.0, len(data))
        Q, R = np.linalg.qr(matrix)
        inside = Q.T @ data
        return Rows(R, inside, float(np.sum((data - Q @ inside) ** 2)), len(data))


@dataclass(frozen=True)
class Trial:
    """One prior, with one row for each ratio v/s²: the log-evidence, and the posterior of z = shift + basis w."""

    scale: np.ndarray  # D
    shift: np.ndarray  # the z that meets the conditions
    left: np.ndarray  # the directions that the conditions leave free
    seen: np.ndarray  # the directions of w that the data see, as rows
    logs: np.ndarray  # (ratios,) log p(y)
    means: np.ndarray  # (ratios, directions) of w
    variances: np.ndarray  # (ratios, directions)
    noise: np.ndarray  # (ratios,) v

    @property
    def basis(self) -> np.ndarray:
        """The directions of z that w multiplies, first those that the data see."""
        rows, size = self.seen.shape
        if rows == size:
            return np.asarray(self.left @ self.seen.T)
        Q, _ = np.linalg.qr(self.seen.T, mode="complete")
        return np.asarray(self.left @ np.hstack([self.seen.T, Q[:, rows:]]))


def tried(conditions: Rows, data: Rows, scale: np.ndarray, known: bool) -> Trial:
    """The evidence of a prior with standard deviations s·`scale`; the noise v is 1 if `known`, else the likeliest."""
    shift, left = _held(conditions, scale)
    B = (data.matrix * scale) @ left
    y = data.data - (data.matrix * scale) @ shift
    U, S, Vt = np.linalg.svd(B, full_matrices=False)
    c = U.T @ y
    beyond = data.beyond + float(np.sum((y - U @ c) ** 2))  # a difference of squares would be rounding
    n, r = data.count, len(S)
    lam = RATIOS[:, None]
    spread = S**2 + lam
    quadratic = np.sum(c**2 / spread, axis=1) + beyond / RATIOS
    s2 = 1 / RATIOS if known else np.maximum(quadratic / n, TINY)
    logs = -0.5 * (
        n * np.log(s2) + np.sum(np.log(spread), axis=1) + (n - r) * np.log(RATIOS) + quadratic / s2
    )
    means = np.zeros((len(RATIOS), left.shape[1]))
    variances = np.broadcast_to(s2[:, None], means.shape).copy()
    means[:, :r] = S * c / spread
    variances[:, :r] = s2[:, None] * lam / spread
    return Trial(scale, shift, left, Vt, logs, means, variances, s2 * RATIOS)


def _held(conditions: Rows, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(z that meets the conditions, the directions along which it may still move)."""
    size = len(scale)
    if not conditions.count:
        return np.zeros(size), np.eye(size)
    U, S, Vt = np.linalg.svd(conditions.matrix * scale, full_matrices=True)
    S = np.concatenate([S, np.zeros(size - len(S))])
    tight = HELD * S[0]
    gain = S / (S**2 + tight**2)
    rows = min(U.shape[1], size)
    shift = Vt[:rows].T @ (gain[:rows] * (U.T @ conditions.data)[:rows])
    free = tight / np.sqrt(S**2 + tight**2)
    open_ones = free > NEGLIGIBLE
    return shift, Vt[open_ones].T * free[open_ones]


@dataclass(frozen=True)
class Averaged:
    """Coefficients a ~ N(mean, F Fᵀ), averaged over all trials by their evidence; `noise` is the root of v."""

    mean: np.ndarray
    factor: np.ndarray
    noise: float


def averaged(trials: Sequence[Trial]) -> Averaged:
    """The moments of the mixture, which include the spread of the trials' means."""
    best = max(float(trial.logs.max()) for trial in trials)
    shares = [np.exp(trial.logs - best) for trial in trials]
    total = sum(float(share.sum()) for share in shares)
    parts = [
        (trial, share / total)
        for trial, share in zip(trials, shares, strict=True)
        if share.sum() > NEGLIGIBLE * total
    ]
    whole = sum(float(share.sum()) for _, share in parts)
    centres, columns, noise = [], [], 0.0
    for trial, share in parts:
        share, D = share / whole, trial.scale[:, None]
        weight = float(share.sum())
        inner, basis = share @ trial.means / weight, trial.basis
        centres.append((weight, trial.scale * (trial.shift + basis @ inner)))
        spread = np.sqrt(share)[:, None] * (trial.means - inner)
        within = np.sqrt(share @ trial.variances)
        seen = np.linalg.norm(spread, axis=1) > 0
        columns += [D * (basis * within), D * (basis @ spread[seen].T)]
        noise += float(share @ trial.noise)
    mean = np.asarray(sum(weight * centre for weight, centre in centres))
    columns += [math.sqrt(weight) * (centre - mean)[:, None] for weight, centre in centres]
    # Fᵀ is the triangle of a QR: its rounding is relative to each column, that of a covariance matrix is not.
    triangle: np.ndarray = np.linalg.qr(np.hstack(columns).T, mode="r")  # type: ignore[assignment]
    return Averaged(mean, triangle.T, math.sqrt(noise))
