"""ρ(λ) = Σ_i w_i δ(λ − λ_i): the spectrum of a symmetric matrix, from its eigenvalues or from Lanczos quadrature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .lanczos import PROBES, STEPS, lanczos_quadrature

WIDTH = 0.1  # of a density's Gaussian kernel, in decades
REACH = 16  # a density shows this many decades below the largest |λ|: the rest is rounding


@dataclass(frozen=True)
class Spectrum:
    """The nodes λ and weights w of ρ, one row per probe; an `exact` spectrum has one row with all eigenvalues.

    `operator` names the matrix (hessian or gauss-newton), `size` is the number of its rows.
    """

    operator: str
    size: int
    nodes: np.ndarray
    weights: np.ndarray
    exact: bool

    @property
    def _seen(self) -> np.ndarray:
        return self.nodes[self.weights > 0]

    @property
    def lambda_max(self) -> float:
        return float(self._seen.max())

    @property
    def lambda_min(self) -> float:
        return float(self._seen.min())

    @property
    def rounding(self) -> float:
        """p ε max|λ|: an eigenvalue below this cannot be told from zero."""
        return float(self.size * np.finfo(float).eps * np.abs(self._seen).max())

    @property
    def condition(self) -> float:
        """max|λ| / min|λ| over the eigenvalues above rounding; an estimate unless the spectrum is exact."""
        sizes = np.abs(self._seen)
        return float(sizes.max() / sizes[sizes > self.rounding].min()) if sizes.max() > 0 else float("inf")

    @property
    def rank(self) -> float:
        """How many eigenvalues are above rounding (a mean over probes unless exact)."""
        return self.size * self.mass(self.rounding, np.inf) + self.size * self.mass(-np.inf, -self.rounding)

    @property
    def negative(self) -> float:
        """The share of eigenvalues below zero, beyond rounding."""
        return self.mass(-np.inf, -self.rounding)

    def mass(self, low: float, high: float) -> float:
        """The share of eigenvalues in (low, high]."""
        inside = (self.nodes > low) & (self.nodes <= high)
        return float((self.weights * inside).sum(axis=1).mean())

    def moment(self, power: int) -> tuple[float, float]:
        """Tr A^power, and the standard error of its mean over the probes (0 if exact)."""
        each = self.size * (self.weights * self.nodes**power).sum(axis=1)
        error = (
            0.0 if self.exact else float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else np.inf
        )
        return float(each.mean()), error

    def density(self, sign: int = 1, width: float = WIDTH) -> tuple[np.ndarray, np.ndarray]:
        """log₁₀|λ| and ρ per decade on the positive (or negative) side, smoothed by a Gaussian of `width` decades.

        Eigenvalues of a loss span ten decades and more: on a linear scale, a kernel that shows the largest hides all
        others. Both sides and the mass below rounding add up to one; for a matrix of zeros both sides are empty.
        """
        if not np.any(self._seen):
            return np.empty(0), np.empty(0)
        top = np.log10(np.abs(self._seen).max())
        decades = np.arange(top - REACH, top + 5 * width, width / 4)
        inside = (sign * self.nodes > self.rounding) & (self.weights > 0)
        places, weights = np.log10(np.abs(self.nodes[inside])), self.weights[inside] / len(self.nodes)
        kernel = np.exp(-(((decades[:, None] - places[None]) / width) ** 2) / 2) / (
            width * np.sqrt(2 * np.pi)
        )
        return decades, kernel @ weights

    def to_json(self) -> dict[str, Any]:
        trace, square = self.moment(1), self.moment(2)
        facts = {
            "operator": self.operator,
            "lambda_max": self.lambda_max,
            "lambda_min": self.lambda_min,
            "condition": self.condition if np.isfinite(self.condition) else None,
            "rank": round(self.rank, 1),
            "negative": self.negative,
            "trace": trace[0],
            "trace_square": square[0],
            "exact": self.exact,
        }
        if self.exact:
            return facts
        return facts | {
            "probes": len(self.nodes),
            "steps": self.nodes.shape[1],
            "trace_error": trace[1],
            "trace_square_error": square[1],
        }


def eigenvalue_spectrum(operator: str, matrix: Float[Array, "p p"]) -> Spectrum:
    """The exact spectrum of a dense symmetric matrix, computed on the device that holds the matrix."""
    eigenvalues = np.asarray(jnp.linalg.eigvalsh(matrix))[None]
    size = eigenvalues.size
    return Spectrum(operator, size, eigenvalues, np.full((1, size), 1 / size), exact=True)


def quadrature_spectrum(
    operator: str, A: Any, probes: int = PROBES, steps: int = STEPS, seed: int = 0
) -> Spectrum:
    """The spectrum as estimated by Lanczos quadrature."""
    return Spectrum(operator, A.size, *lanczos_quadrature(A, probes, steps, seed), exact=False)
