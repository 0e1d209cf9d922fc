"""A v for the curvature A of a loss L(θ) = ½‖r(θ)‖²:  ∇²L = JᵀJ + Σ_i r_i ∇²r_i, or its Gauss–Newton part JᵀJ.

Products are summed over blocks of points, so that memory is bounded by a block, not by the loss; a batch of vectors
shares the work that does not depend on them. Everything is in float64: a spectrum spans more digits than float32 has.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ..errors import SafeNetError, nearest
from ..measure.residuals import together
from ..train.objective import PhysicsLoss
from ..train.terms import Term
from ..train.weighting import Weighting

OPERATORS = ("hessian", "gauss-newton")
BLOCK = 2048  # points in one product
COLUMNS = 20  # vectors in one product: with a block of points, they keep a GPU busy within a few GB
DENSE = 10_000  # A is formed up to this many parameters: 800 MB; eigenvalues take seconds on a GPU


class Given(Weighting):
    """w_k held fixed: the weights that another weighting computed, some of them set to zero."""

    def start(self, loss: Any) -> Any:
        return loss.weights

    def adapt(self, loss: Any, theta: Any, weights: Any, iteration: Any) -> Any:
        return weights

    def rows(self, loss: Any, weights: Any) -> Any:
        return weights


class Curvature(eqx.Module):
    """v ↦ A v at θ; `operator` names A. Terms of weight zero cost nothing; every choice of terms uses one program."""

    loss: PhysicsLoss
    theta: Float[Array, " p"]
    operator: str = eqx.field(static=True)

    @property
    def size(self) -> int:
        return int(self.theta.shape[0])

    def __call__(self, v: Float[Array, " p"]) -> Float[Array, " p"]:
        total = jnp.zeros_like(v)
        for term, weight in zip(self.loss.terms, self.loss.row_weights(), strict=True):

            def add(total: Array, block: Any, term: Term = term) -> tuple[Array, None]:
                points, scale = block
                return total + self._block(term, points, scale, v), None

            def included(total: Array, blocks: Any, add: Any = add) -> Array:
                return lax.scan(add, total, blocks)[0]

            counts = jnp.any(weight > 0)
            total = lax.cond(counts, included, lambda total, _: total, total, _blocks(term, weight))
        return total

    def _block(self, term: Term, points: Array, scale: Array, v: Array) -> Array:
        def rows(theta: Array) -> Array:
            return (
                scale
                * together(self.loss.field(theta), [term.residual], [points], self.loss.numbers(theta))[0]
            )

        if self.operator == "hessian":
            gradient = jax.grad(lambda theta: jnp.sum(rows(theta) ** 2) / 2)
            return jnp.asarray(jax.jvp(gradient, (self.theta,), (v,))[1])
        _, push = jax.linearize(rows, self.theta)
        (pulled,) = jax.linear_transpose(push, self.theta)(push(v))
        return jnp.asarray(pulled)

    def dense(self) -> Float[Array, "p p"]:
        """A as a matrix: JᵀJ as in Levenberg–Marquardt, ∇²L by its products with all unit vectors."""
        if self.size > DENSE:
            raise SafeNetError(
                f"{self.size} parameters are too many for a dense matrix (at most {DENSE})",
                "leave out the dense spectrum: Lanczos quadrature has no such limit",
            )
        A = _normal_matrix(self) if self.operator == "gauss-newton" else _columns(self)
        return (A + A.T) / 2


def curvature(
    loss: PhysicsLoss, theta: Float[Array, " p"], operator: str = "hessian", term: int | None = None
) -> Curvature:
    """The curvature of a loss at θ, or of one `term` of it with the weight that it has in the loss."""
    if operator not in OPERATORS:
        raise SafeNetError(f"there is no operator {operator!r}", nearest(operator, OPERATORS))
    if theta.dtype != jnp.float64:
        raise SafeNetError(
            f"a spectrum needs float64, but the parameters are {theta.dtype}",
            "build the loss from `widened(network)`",
        )
    weights = loss.row_weights()
    if term is not None:
        weights = tuple(w if i == term else jnp.zeros_like(w) for i, w in enumerate(weights))
    return Curvature(replace(loss, weighting=Given(), weights=weights), theta, operator)


def widened(tree: Any) -> Any:
    """The same network (or weights) in float64."""
    return jax.tree.map(lambda a: jnp.asarray(a, jnp.float64) if eqx.is_inexact_array(a) else a, tree)


@eqx.filter_jit
def _normal_matrix(A: Curvature) -> Float[Array, "p p"]:
    return A.loss.normal_equations(A.theta)[0]


@eqx.filter_jit
def _columns(A: Curvature) -> Float[Array, "p p"]:
    return jnp.asarray(in_batches(A, jnp.eye(A.size, dtype=A.theta.dtype)))


def in_batches(function: Any, vectors: Float[Array, "n p"]) -> Any:
    """`function` of every row, COLUMNS rows at a time; the last batch is padded, so that one program serves all."""
    count = vectors.shape[0]
    size = min(COLUMNS, count)
    filled = jnp.concatenate([vectors, jnp.repeat(vectors[:1], -count % size, axis=0)])
    found = lax.map(jax.vmap(function), filled.reshape(-1, size, vectors.shape[1]))
    return jax.tree.map(lambda part: part.reshape(len(filled), *part.shape[2:])[:count], found)


def _blocks(term: Term, weight: Float[Array, ...]) -> tuple[Array, Array]:
    """The points and their √(w/n) in equal blocks; the last is padded with points of scale zero."""
    count = term.points.shape[0]
    size = min(BLOCK, count)
    missing = -count % size
    points = jnp.concatenate([term.points, jnp.repeat(term.points[:1], missing, axis=0)])
    scale = jnp.concatenate([term.row_scale(weight), jnp.zeros(missing, term.points.dtype)])
    return points.reshape(-1, size, points.shape[1]), scale.reshape(-1, size)
