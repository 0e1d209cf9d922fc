"""L(θ) = Σ_k λ_k · 1/(2 n_k) Σ_i r_k(x_i; θ)²: the physics loss, its named terms and its least-squares rows.

With a weighting, λ_k becomes what that has made of it: a number for each term, or one for each point.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import sympy as sp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from ..derivatives import Orders, point_jets
from ..networks.perceptron import trainable
from ..problem import Condition, Problem, Relation
from ..problem.evaluate import evaluate
from ..problem.jets import Place, coordinate
from .points import Points
from .weighting import Fixed, Weighting, Weights

CHUNK = 1024  # points per Jacobian block: bounds the memory of J at CHUNK × parameters


class PointResidual:
    """r(x): a relation's residual for a field at one point (or at the several places of a condition).

    Two are equal if they say the same: losses of the same problem then share their programs, and those of several
    seeds can be stacked.
    """

    def __init__(self, problem: Problem, relation: Relation) -> None:
        self.expression = problem.value(relation.residual)
        self.jets = relation.jets
        self.axes = tuple(axis.symbol for axis in problem.axes)
        # On a piece of the boundary the components of the normal follow the coordinates of a point.
        on_piece = bool(getattr(relation, "piece", ""))
        self.normals = tuple(map(coordinate, problem.normals)) if on_piece else ()
        self.unknowns = tuple(problem.unknowns)
        self.places: dict[Place, dict[int, float]] = {
            jet.place: {i: float(problem.value(at)) for i, at in enumerate(jet.place) if at is not None}
            for jet in relation.jets.values()
        }
        numbers = tuple(tuple(at.items()) for at in self.places.values())
        self._facts = (
            self.expression,
            tuple(self.jets.items()),
            self.axes,
            self.normals,
            self.unknowns,
            numbers,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PointResidual) and self._facts == other._facts

    def __hash__(self) -> int:
        return hash(self._facts)

    def __call__(self, field: Any, point: Float[Array, " columns"]) -> Float[Array, ""]:
        values: dict[sp.Symbol, Any] = {s: point[i] for i, s in enumerate((*self.axes, *self.normals))}
        point = point[: len(self.axes)]
        for place, numbers in self.places.items():
            here = {symbol: jet for symbol, jet in self.jets.items() if jet.place == place}
            at = point
            for axis, number in numbers.items():
                at = at.at[axis].set(number)
            orders: list[Orders] = [jet.orders for jet in here.values()]
            found = point_jets(field, orders)(at)
            for symbol, jet in here.items():
                values[symbol] = found[jet.orders][self.unknowns.index(jet.field)]
        return jnp.asarray(evaluate(self.expression, values, jnp), point.dtype)


class Term(eqx.Module):
    """One named term: its points, the plan's weight λ, its residual, and whether that is an equation's."""

    points: Float[Array, "points columns"]
    weight: Float[Array, ""]
    residual: PointResidual = eqx.field(static=True)
    equation: bool = eqx.field(static=True, default=False)

    def residuals(self, field: Any) -> Float[Array, " points"]:
        return jax.vmap(lambda point: self.residual(field, point))(self.points)

    def loss(self, residuals: Float[Array, " points"], weight: Float[Array, ...]) -> Float[Array, ""]:
        """1/(2n) Σ w_i r_i², with one w for all points or one for each."""
        if weight.ndim == 0:
            return weight * jnp.mean(residuals**2) / 2
        return jnp.mean(weight * residuals**2) / 2

    def row_scale(self, weight: Float[Array, ...]) -> Float[Array, " points"]:
        """√(w_i/n): with it, half the rows' squares sum to the loss."""
        count = self.points.shape[0]
        return jnp.broadcast_to(jnp.sqrt(weight / count), (count,))


class PhysicsLoss(eqx.Module):
    """The loss of a network's flat parameters θ; `field(θ)` is the network again.

    `weights` is what the weighting has adapted so far, None for the plan's own λ: an optimiser that does not adapt
    sees them as they are, frozen.
    """

    terms: tuple[Term, ...]
    fixed: Any
    unravel: Any = eqx.field(static=True)
    weighting: Weighting = Fixed()
    weights: Weights = None

    def field(self, theta: Float[Array, " p"]) -> Any:
        return eqx.combine(self.unravel(theta), self.fixed)

    def __call__(self, theta: Float[Array, " p"]) -> tuple[Float[Array, ""], Float[Array, " k"]]:
        """The weighted total and the raw terms 1/(2n) Σ r²."""
        field = self.field(theta)
        residuals = [term.residuals(field) for term in self.terms]
        parts = zip(self.terms, residuals, self.row_weights(), strict=True)
        total = jnp.sum(jnp.stack([term.loss(r, w) for term, r, w in parts]))
        return total, jnp.stack([jnp.mean(r**2) / 2 for r in residuals])

    def row_weights(self) -> tuple[Float[Array, ...], ...]:
        adapted = self.weighting if self.weights is not None else Fixed()
        return adapted.rows(self, self.weights)

    def rows(self, theta: Float[Array, " p"]) -> Float[Array, " m"]:
        field = self.field(theta)
        parts = zip(self.terms, self.row_weights(), strict=True)
        return jnp.concatenate([term.row_scale(w) * term.residuals(field) for term, w in parts])

    # ---- weights that follow θ

    def adapt(self, theta: Float[Array, " p"], weights: Weights, iteration: Int[Array, ""]) -> Weights:
        """The weights at θ after `iteration` steps, from those before (None: from the beginning)."""
        before = self.weighting.start(self) if weights is None else weights
        return self.weighting.adapt(self, theta, before, iteration)

    def weighted(self, weights: Weights) -> PhysicsLoss:
        """The same loss with these weights."""
        return replace(self, weights=weights)

    def yardstick(self, total: Float[Array, ""], terms: Float[Array, " k"]) -> Float[Array, ""]:
        """Σ_k λ_k L_k with the plan's λ: the same measure at every θ, whatever the weights have become."""
        if isinstance(self.weighting, Fixed):
            return total
        return jnp.sum(jnp.stack([term.weight for term in self.terms]) * terms)

    def equation_residuals(self, theta: Float[Array, " p"]) -> tuple[Float[Array, " _"], ...]:
        field = self.field(theta)
        return tuple(term.residuals(field) for term in self.terms if term.equation)

    def at(self, interior: Float[Array, "n axes"]) -> PhysicsLoss:
        """The same loss with its equations at other points."""
        terms = (replace(term, points=interior) if term.equation else term for term in self.terms)
        return replace(self, terms=tuple(terms))

    def traces(self, theta: Float[Array, " p"], count: int) -> Float[Array, " k"]:
        """Tr K/n for each term, K = J Jᵀ: the mean of ‖∂r(x_i)/∂θ‖² over its first `count` points."""

        def trace(term: Term) -> Float[Array, ""]:
            slope = jax.grad(lambda parameters, point: term.residual(self.field(parameters), point))
            J = jax.vmap(slope, (None, 0))(theta, term.points[:count])
            return jnp.mean(jnp.sum(J**2, axis=1))

        return jnp.stack([trace(term) for term in self.terms])

    def normal_equations(
        self, theta: Float[Array, " p"]
    ) -> tuple[Float[Array, "p p"], Float[Array, " p"], Float[Array, ""]]:
        """JᵀJ, Jᵀr and the loss, summed over blocks of points so that J is never held whole."""
        size = theta.shape[0]
        sums = jnp.zeros((size, size), theta.dtype), jnp.zeros(size, theta.dtype), jnp.zeros((), theta.dtype)

        for term, weight in zip(self.terms, self.row_weights(), strict=True):

            def add(sums: Any, block: Any, term: Term = term) -> tuple[Any, None]:
                gram, gradient, total = sums
                residual, J = self._linearised(theta, term, *block)
                return (gram + J.T @ J, gradient + J.T @ residual, total + jnp.sum(residual**2) / 2), None

            sums, _ = lax.scan(add, sums, _blocks(term, weight))
        return sums

    def jacobian(self, theta: Float[Array, " p"]) -> tuple[Float[Array, "m p"], Float[Array, " m"]]:
        """J and r whole, in the order of `rows`: for where there are fewer rows than parameters."""
        J, r = [], []
        for term, weight in zip(self.terms, self.row_weights(), strict=True):
            linearised = partial(self._linearised, theta, term)
            residual, slopes = lax.map(lambda block, at=linearised: at(*block), _blocks(term, weight))
            count = term.points.shape[0]
            J.append(slopes.reshape(-1, theta.shape[0])[:count])
            r.append(residual.reshape(-1)[:count])
        return jnp.concatenate(J), jnp.concatenate(r)

    def _linearised(
        self, theta: Float[Array, " p"], term: Term, points: Array, scale: Array
    ) -> tuple[Float[Array, " n"], Float[Array, "n p"]]:
        """The rows of a block of points, and their gradients."""

        def value(parameters: Array, point: Array) -> Array:
            return term.residual(self.field(parameters), point)

        residual, J = jax.vmap(jax.value_and_grad(value), (None, 0))(theta, points)
        return scale * residual, scale[:, None] * J


def _blocks(term: Term, weight: Float[Array, ...]) -> tuple[Array, Array]:
    """Points in equal blocks, the last filled up with copies of weight zero."""
    count = term.points.shape[0]
    size = min(CHUNK, count)
    blocks = -(-count // size)
    missing = blocks * size - count
    points = jnp.concatenate([term.points, jnp.repeat(term.points[:1], missing, axis=0)])
    scale = jnp.concatenate([term.row_scale(weight), jnp.zeros(missing, term.points.dtype)])
    return points.reshape(blocks, size, -1), scale.reshape(blocks, size)


def physics_loss(
    problem: Problem,
    network: Any,
    points: Points,
    residual_weight: float = 1.0,
    condition_weight: float = 100.0,
    weighting: Weighting | None = None,
) -> tuple[PhysicsLoss, Float[Array, " p"]]:
    """The loss for a network, and the flat parameters it starts from. λ_res = 1, λ_ic = λ_bc = 100 by default."""
    moving = trainable(network)
    theta, unravel = ravel_pytree(moving)
    fixed = eqx.partition(
        network, jax.tree.map(lambda leaf: leaf is not None, moving, is_leaf=lambda x: x is None)
    )[1]
    dtype = theta.dtype

    def term(relation: Relation, at: Any, weight: float, equation: bool) -> Term:
        residual = PointResidual(problem, relation)
        return Term(jnp.asarray(at, dtype), jnp.asarray(weight, dtype), residual, equation)

    terms = [term(equation, points.interior, residual_weight, True) for equation in problem.equations]
    terms += [
        term(condition, at, condition_weight, False)
        for condition, at in zip(problem.conditions, points.conditions, strict=True)
    ]
    return PhysicsLoss(tuple(terms), fixed, unravel, weighting or Fixed()), theta


def term_names(problem: Problem) -> tuple[str, ...]:
    """`equation` (numbered where there are several) and each condition as it is written."""
    several = len(problem.equations) > 1
    equations = [f"equation {i + 1}" if several else "equation" for i in range(len(problem.equations))]
    return (*equations, *(_left(condition) for condition in problem.conditions))


def _left(condition: Condition) -> str:
    left = condition.text.split(" = ")[0]
    return f"{left} on {condition.piece}" if condition.piece else left
