"""ρ(λ) = Σ_i w_i δ(λ − λ_i): the spectrum of a symmetric matrix, from its eigenvalues or from Lanczos quadrature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..run.result import finite_or_none
from .lanczos import PROBES, STEPS, lanczos_quadrature

WIDTH = 0.1  # of a density's Gaussian kernel, in decades
REACH = 16  # a density shows this many decades below the largest |λ|: the rest is rounding


@dataclass(frozen=True)
class Spectrum:
    """The nodes λ and weights w of ρ, one row per probe; an `exact` spectrum has one row with all eigenvalues.

    `operator` names the matrix (hessian or gauss-newton), `size` is the number of its rows. An eigenvalue of it lies
    within `reaches` of each node of a quadrature.
    """

    operator: str
    size: int
    nodes: np.ndarray
    weights: np.ndarray
    exact: bool
    reaches: np.ndarray | None = None

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
    def condition(self) -> float | None:
        """max|λ| / min|λ| over the eigenvalues above rounding; None of a quadrature, which sees no small ones."""
        return self.condition_at_least if self.exact else None

    @property
    def condition_at_least(self) -> float:
        """A lower bound of the condition: by the smallest eigenvalue that is surely above rounding."""
        seen = self.weights > 0
        sizes = np.abs(self.nodes[seen])
        reaches = np.zeros_like(sizes) if self.reaches is None else self.reaches[seen]
        sure = sizes - reaches > self.rounding
        if not sizes.max() > 0:
            return float("inf")
        return float(sizes.max() / np.min((sizes + reaches)[sure], initial=sizes.max()))

    @property
    def rank(self) -> float | None:
        """How many eigenvalues are above rounding; None of a quadrature."""
        return float(np.sum(np.abs(self._seen) > self.rounding)) if self.exact else None

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
            "condition": finite_or_none(self.condition),
            "rank": None if self.rank is None else round(self.rank),
            "negative": self.negative,
            "trace": trace[0],
            "trace_square": square[0],
            "exact": self.exact,
        }
        if self.exact:
            return facts
        return facts | {
            "condition_at_least": finite_or_none(self.condition_at_least),
            "probes": len(self.nodes),
            "steps": self.nodes.shape[1],
            "trace_error": finite_or_none(trace[1]),
            "trace_square_error": finite_or_none(square[1]),
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
    nodes, weights, reaches = lanczos_quadrature(A, probes, steps, seed)
    return Spectrum(operator, A.size, nodes, weights, exact=False, reaches=reaches)
