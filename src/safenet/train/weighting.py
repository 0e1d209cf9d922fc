"""L = Σ_k 1/(2 n_k) Σ_i w_ki r_k(x_i)²: where the weights w come from.

fixed   w_k = λ_k, the plan's numbers
ntk     w_k = Σ_j Tr K_j / Tr K_k with K = J Jᵀ, J = ∂r/∂θ               one per term    (Wang, Yu, Perdikaris, 2022)
rba     w_i = 2 λ_i²,  λ_i ← γ λ_i + η |r_i| / max|r|,  from λ_i = 0    one per point   (Anagnostopoulos et al., 2024)

A weighting is numbers; its weights are a pytree of arrays in Adam's state, so whole chunks of iterations stay on the
device and a run can be split anywhere without changing a bit. Weights are arguments of the loss and are never
differentiated. Before the first adaptation they are None and the loss uses the plan's λ.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float, Int

from ..networks.methods import Method

# None, or the pytree that the weighting makes.
Weights = Any


class Weighting(eqx.Module):
    """A rule for the weights, from the loss's terms, `residuals` and `traces`; the first `adapt` begins at `start`."""

    @abstractmethod
    def start(self, loss: Any) -> Weights: ...

    @abstractmethod
    def adapt(
        self, loss: Any, theta: Float[Array, " p"], weights: Weights, iteration: Int[Array, ""]
    ) -> Weights:
        """The weights at theta, which was reached after `iteration` steps."""

    @abstractmethod
    def rows(self, loss: Any, weights: Weights) -> tuple[Float[Array, ...], ...]:
        """w of each term: one number, or one for each of its points."""


class Fixed(Weighting):
    """w_k = λ_k: nothing to adapt and nothing to carry."""

    def start(self, loss: Any) -> None:
        return None

    def adapt(self, loss: Any, theta: Float[Array, " p"], weights: None, iteration: Int[Array, ""]) -> None:
        return None

    def rows(self, loss: Any, weights: None) -> tuple[Float[Array, ""], ...]:
        return tuple(term.weight for term in loss.terms)


class NTK(Weighting):
    """w_k = Σ_j T_j / T_k, T = Tr K/n at the first `points` points of a term, recomputed every `every` iterations.

    T is the mean squared norm of single-point gradients. If all terms have equally many points, n cancels and this is
    the printed rule with Tr K; by that rule a condition at a single point would count 300 times as much.
    """

    every: int = eqx.field(static=True, default=1000)
    points: int = eqx.field(static=True, default=300)

    def start(self, loss: Any) -> Float[Array, " k"]:
        return jnp.stack([term.weight for term in loss.terms])

    def adapt(
        self,
        loss: Any,
        theta: Float[Array, " p"],
        weights: Float[Array, " k"],
        iteration: Int[Array, ""],
    ) -> Float[Array, " k"]:
        due = iteration % self.every == 0

        def anew() -> Float[Array, " k"]:
            return jnp.where(due, balance(loss.traces(theta, self.points)), weights)

        adapted: Array = lax.cond(anywhere(due), anew, lambda: weights)
        return adapted

    def rows(self, loss: Any, weights: Float[Array, " k"]) -> tuple[Float[Array, ""], ...]:
        return tuple(weights)


@custom_vmap
def anywhere(due: Bool[Array, ""]) -> Bool[Array, ""]:
    """`due`; in a batch of seeds, whether any of them is due: a `cond` on a single number computes only one branch."""
    return due


@anywhere.def_vmap
def _of_a_batch(size: int, batched: list[bool], due: Bool[Array, " seeds"]) -> tuple[Bool[Array, ""], bool]:
    return jnp.any(due), False


def balance(traces: Float[Array, " k"]) -> Float[Array, " k"]:
    """Σ_j T_j / T_k; 1 for a term that no parameter affects (built into the network), which has no rate to balance."""
    total = jnp.sum(traces)
    # Gradients that cancel leave a rounding error of a few ε, relatively, and traces are their squares.
    moved = traces > 16 * jnp.finfo(traces.dtype).eps ** 2 * total
    return jnp.where(moved, total / jnp.where(moved, traces, 1), 1)


class RBA(Weighting):
    """mean((λ r)²) for the equations, λ_i ← γ λ_i + η |r_i| / max|r| in every iteration; conditions keep their λ."""

    decay: float = eqx.field(static=True, default=0.999)
    rate: float = eqx.field(static=True, default=0.01)

    def start(self, loss: Any) -> tuple[Float[Array, " points"], ...]:
        return tuple(jnp.zeros_like(term.points[:, 0]) for term in loss.terms if term.equation)

    def adapt(
        self,
        loss: Any,
        theta: Float[Array, " p"],
        weights: tuple[Float[Array, " _"], ...],
        iteration: Int[Array, ""],
    ) -> tuple[Float[Array, " _"], ...]:
        residuals = loss.equation_residuals(theta)
        return tuple(self._next(lam, jnp.abs(r)) for lam, r in zip(weights, residuals, strict=True))

    def _next(self, lam: Float[Array, " points"], size: Float[Array, " points"]) -> Float[Array, " points"]:
        largest = jnp.max(size)
        return self.decay * lam + self.rate * size / jnp.where(largest > 0, largest, 1)

    def rows(self, loss: Any, weights: tuple[Float[Array, " _"], ...]) -> tuple[Float[Array, ...], ...]:
        # The factor 2, because the printed term is mean((λ r)²), without the ½ of all others.
        points = iter(weights)
        return tuple(2 * next(points) ** 2 if term.equation else term.weight for term in loss.terms)


def weighting(chosen: Method) -> Weighting:
    """The weighting that a method declares."""
    if chosen.weighting == "ntk":
        return NTK(chosen.ntk_every, chosen.ntk_points)
    if chosen.weighting == "rba":
        return RBA(chosen.rba_decay, chosen.rba_rate)
    return Fixed()
