"""K = J Jᵀ, J = ∂r/∂θ: the tangent kernel; under gradient flow the residuals obey ṙ = −K r.

Along each eigenvector of K the residual decays independently, as e^{−κ_i t}: the largest κ sets the largest stable
step, and what lies along the small ones is learnt last. If r are the rows of the loss ½‖r‖², the nonzero κ are the
eigenvalues of the Gauss–Newton matrix JᵀJ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from ..train.objective import PhysicsLoss
from ..train.terms import Term

POINTS = 128  # per term
ITERATIONS = 10_000  # of gradient descent, after which `remaining` gives the share of the loss that is left
DAMPING = 1e-6  # γ/κ_max in the effective dimension


@dataclass(frozen=True)
class Kernel:
    """The rows r (n,) and their Jacobian J (n, p)."""

    residual: np.ndarray
    jacobian: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        return np.asarray(self.jacobian @ self.jacobian.T)

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(self.matrix)
        return np.maximum(values[::-1], 0.0), vectors[:, ::-1]

    @property
    def eigenvalues(self) -> np.ndarray:
        """κ_1 ≥ κ_2 ≥ … ≥ 0"""
        return self._eigen[0]

    @property
    def condition(self) -> float:
        """κ_max/κ_min; unless κ_min is `resolved`, a lower bound by the rounding n ε κ_max."""
        values = self.eigenvalues
        return float(values[0] / max(values[-1], self._rounding)) if values[0] > 0 else float("inf")

    @property
    def resolved(self) -> bool:
        """Whether all eigenvalues are above rounding."""
        return bool(self.eigenvalues[-1] > self._rounding)

    @property
    def _rounding(self) -> float:
        return float(len(self.eigenvalues) * np.finfo(float).eps * self.eigenvalues[0])

    def effective_dimension(self, damping: float = DAMPING) -> float:
        """Σ κ_i/(κ_i + γ), γ = damping · κ_max: the number of directions in which the kernel exceeds γ."""
        values = self.eigenvalues
        return float(np.sum(values / (values + damping * values[0]))) if values[0] > 0 else 0.0

    @property
    def alignment(self) -> np.ndarray:
        """(v_i·r)²/‖r‖²: the share of the residual along each eigenvector, largest eigenvalue first."""
        size = float(self.residual @ self.residual)
        shares: np.ndarray = (self._eigen[1].T @ self.residual) ** 2
        return shares / size if size > 0 else shares

    def left(self, iterations: int = ITERATIONS) -> np.ndarray:
        """Σ_i (v_i·r) (1 − κ_i/κ_max)^n v_i: what n steps of gradient descent at the rate 1/κ_max leave of r."""
        values, vectors = self._eigen
        if not values[0] > 0:
            return self.residual
        left: np.ndarray = vectors @ ((1 - values / values[0]) ** iterations * (vectors.T @ self.residual))
        return left

    @property
    def loss(self) -> float:
        """½‖r‖²"""
        return float(self.residual @ self.residual) / 2

    def remaining_loss(self, iterations: int = ITERATIONS) -> float:
        """½‖r‖² after n steps of gradient descent."""
        left = self.left(iterations)
        return float(left @ left) / 2

    def remaining(self, iterations: int = ITERATIONS) -> float:
        """The share of the loss that n steps of gradient descent leave; shares of different losses do not compare."""
        return self.remaining_loss(iterations) / self.loss if self.loss > 0 else 0.0

    @property
    def stiffest(self) -> np.ndarray:
        """Jᵀv_1/‖Jᵀv_1‖: the parameter direction in which the loss curves most; 0 if no parameter changes r."""
        direction = self.jacobian.T @ self._eigen[1][:, 0]
        length = np.linalg.norm(direction)
        return np.asarray(direction / length if length > 0 else direction)

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": len(self.residual),
            "kappa_max": float(self.eigenvalues[0]),
            "condition": self.condition if np.isfinite(self.condition) else None,
            "effective_dimension": self.effective_dimension(),
            "remaining": self.remaining(),
            "loss": self.loss,
            "remaining_loss": self.remaining_loss(),
        }


def tangent_kernels(
    loss: PhysicsLoss, theta: Float[Array, " p"], names: tuple[str, ...], points: int = POINTS
) -> dict[str, Kernel]:
    """The kernel of the whole `loss` and of each of its terms, at the first `points` points of each term.

    Rows are weighted, √(w/n) r, with n the number of points used.
    """
    found = {}
    for name, term, weight in zip(names, loss.terms, loss.row_weights(), strict=True):
        total = term.points.shape[0]
        count = min(points, total)
        residual, jacobian = (np.asarray(part) for part in _rows(loss, theta, term, count))
        scale = np.sqrt(total / count) * np.asarray(term.row_scale(weight))[:count]
        found[name] = Kernel(scale * residual, scale[:, None] * jacobian)
    whole = Kernel(
        np.concatenate([kernel.residual for kernel in found.values()]),
        np.concatenate([kernel.jacobian for kernel in found.values()]),
    )
    return {"loss": whole, **found}


@eqx.filter_jit
def _rows(loss: PhysicsLoss, theta: Array, term: Term, count: int) -> tuple[Array, Array]:
    def value(parameters: Array, point: Array) -> Array:
        return term.residual(loss.field(parameters), point, loss.numbers(parameters))

    return jax.vmap(jax.value_and_grad(value), (None, 0))(theta, term.points[:count])


def field_kernel(
    loss: PhysicsLoss, theta: Float[Array, " p"], points: Float[Array, "n axes"], field: int = 0
) -> Kernel:
    """∇u(x_i)·∇u(x_j)/n: the kernel of the network itself, as an integral operator over the points."""
    values, jacobian = (np.asarray(part) for part in _field_rows(loss, theta, points, field))
    scale = 1 / np.sqrt(len(values))
    return Kernel(scale * values, scale * jacobian)


@eqx.filter_jit
def _field_rows(loss: PhysicsLoss, theta: Array, points: Array, field: int) -> tuple[Array, Array]:
    def value(parameters: Array, point: Array) -> Array:
        found: Array = loss.field(parameters)(point)[field]
        return found

    return jax.vmap(jax.value_and_grad(value), (None, 0))(theta, points)
