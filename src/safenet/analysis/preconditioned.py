"""Wᵀ A W with W Wᵀ = H: the curvature seen by an optimiser that multiplies the gradient by H.

L-BFGS      H from its pairs. Q is an orthonormal basis of the span of all s and y. Within the span H is a small matrix
            N = QᵀHQ, outside it is γ:  W = √γ (I − QQᵀ) + Q N^½ Qᵀ
Levenberg   H = (JᵀJ + μD)⁻¹ = (L Lᵀ)⁻¹,  W = L⁻ᵀ

The spectrum of WᵀAW is that of HA: a condition number near 1 means that one step with this H reaches the minimum.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from ..train.objective import PhysicsLoss
from ..train.optimisers.lbfgs import LBFGS, LBFGSState, quasi_newton
from ..train.optimisers.levenberg import SCALE_FLOOR
from ..train.optimisers.status import CAPACITY, Status
from .curvature import Curvature, curvature


class QuasiNewton(eqx.Module):
    """W of an L-BFGS state, which is symmetric."""

    Q: Float[Array, "p k"]
    root: Float[Array, "k k"]
    gamma: Float[Array, ""]

    def half(self, v: Float[Array, " p"]) -> Float[Array, " p"]:
        inside = self.Q.T @ v
        return jnp.sqrt(self.gamma) * (v - self.Q @ inside) + self.Q @ (self.root @ inside)

    transposed = half


class Damped(eqx.Module):
    """W = L⁻ᵀ of JᵀJ + μD = L Lᵀ."""

    L: Float[Array, "p p"]

    def half(self, v: Float[Array, " p"]) -> Float[Array, " p"]:
        return solve_triangular(self.L, v, lower=True, trans=1)

    def transposed(self, v: Float[Array, " p"]) -> Float[Array, " p"]:
        return solve_triangular(self.L, v, lower=True)


class Preconditioned(eqx.Module):
    """v ↦ Wᵀ A W v."""

    A: Curvature
    W: QuasiNewton | Damped

    @property
    def size(self) -> int:
        return self.A.size

    def __call__(self, v: Float[Array, " p"]) -> Float[Array, " p"]:
        return self.W.transposed(self.A(self.W.half(v)))

    def dense(self) -> Float[Array, "p p"]:
        M = _each(self.W, _each(self.W, self.A.dense()).T)
        return (M + M.T) / 2


@eqx.filter_jit
def _each(W: QuasiNewton | Damped, rows: Float[Array, "n p"]) -> Float[Array, "n p"]:
    return jax.vmap(W.transposed)(rows)


def lbfgs_state(loss: PhysicsLoss, theta: Float[Array, " p"], steps: int = 100) -> LBFGSState:
    """Run L-BFGS from θ for at most `steps` steps: the state holds its pairs and the θ that it reached."""
    phase = LBFGS(steps)
    state = phase.start(loss, theta)
    while int(state.status) == Status.RUNNING:
        state, _ = phase.advance(loss, state, min(steps, CAPACITY))
    return state


@eqx.filter_jit
def quasi_newton_half(state: LBFGSState) -> QuasiNewton:
    """W of the pairs of an L-BFGS state."""
    pairs = jnp.concatenate([state.S, state.Y]).T.astype(jnp.float64)
    lengths = jnp.linalg.norm(pairs, axis=0)
    # Unused slots are zero; QR turns them into arbitrary orthonormal columns, on which H is γ.
    Q, _ = jnp.linalg.qr(pairs / jnp.where(lengths > 0, lengths, 1))

    def times(v: Float[Array, " p"]) -> Float[Array, " p"]:
        return -quasi_newton(replace(state, gradient=v)).astype(jnp.float64)

    N = Q.T @ jax.vmap(times, in_axes=1, out_axes=1)(Q)
    values, vectors = jnp.linalg.eigh((N + N.T) / 2)
    root = (vectors * jnp.sqrt(jnp.maximum(values, 0))) @ vectors.T
    return QuasiNewton(Q, root, jnp.where(state.stored > 0, state.gamma, 1))


@eqx.filter_jit
def damped_half(loss: PhysicsLoss, theta: Float[Array, " p"], damping: float) -> Damped:
    """W of Levenberg–Marquardt at θ: D = diag(JᵀJ) with the optimiser's floor."""
    gram = loss.normal_equations(theta)[0]
    diagonal = jnp.diagonal(gram)
    D = jnp.maximum(diagonal, SCALE_FLOOR * jnp.max(diagonal))
    return Damped(jnp.linalg.cholesky(gram + damping * jnp.diag(D)))


def seen_by_lbfgs(
    loss: PhysicsLoss, theta: Float[Array, " p"], operator: str = "hessian", steps: int = 100
) -> tuple[Preconditioned, dict[str, Any]]:
    """The curvature that L-BFGS sees where `steps` steps from θ have led it; and the facts of that run."""
    state = lbfgs_state(loss, theta, steps)
    facts = {"steps": int(state.iteration), "pairs": int(state.stored), "loss": float(state.total)}
    return Preconditioned(curvature(loss, state.theta, operator), quasi_newton_half(state)), facts


def seen_by_levenberg(
    loss: PhysicsLoss, theta: Float[Array, " p"], operator: str = "hessian", damping: float = 1e-2
) -> Preconditioned:
    """The curvature that Levenberg–Marquardt with damping μ sees at θ."""
    return Preconditioned(curvature(loss, theta, operator), damped_half(loss, theta, damping))
