"""L(θ) = Σ_k λ_k · 1/(2 n_k) Σ_i r_k(x_i; θ)²: the physics loss, its named terms and its least-squares rows."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import sympy as sp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from ..derivatives import Orders, point_jets
from ..networks.perceptron import trainable
from ..problem import Condition, Problem, Relation
from ..problem.evaluate import evaluate
from ..problem.jets import Place
from .points import Points

CHUNK = 1024  # points per Jacobian block: bounds the memory of J at CHUNK × parameters


class PointResidual:
    """r(x): a relation's residual for a field at one point (or at the several places of a condition)."""

    def __init__(self, problem: Problem, relation: Relation) -> None:
        self.problem = problem
        self.expression = problem.value(relation.residual)
        self.jets = relation.jets
        self.places: tuple[Place, ...] = tuple(dict.fromkeys(jet.place for jet in relation.jets.values()))

    def __call__(self, field: Any, point: Float[Array, " axes"]) -> Float[Array, ""]:
        values: dict[sp.Symbol, Any] = {axis.symbol: point[i] for i, axis in enumerate(self.problem.axes)}
        for place in self.places:
            here = {symbol: jet for symbol, jet in self.jets.items() if jet.place == place}
            at = point
            for axis, value in enumerate(place):
                if value is not None:
                    at = at.at[axis].set(float(self.problem.value(value)))
            orders: list[Orders] = [jet.orders for jet in here.values()]
            found = point_jets(field, orders)(at)
            for symbol, jet in here.items():
                values[symbol] = found[jet.orders][self.problem.unknowns.index(jet.field)]
        return jnp.asarray(evaluate(self.expression, values, jnp), point.dtype)


class Term(eqx.Module):
    """One named term: its points, its weight λ and its residual."""

    points: Float[Array, "points axes"]
    weight: Float[Array, ""]
    residual: PointResidual = eqx.field(static=True)

    def residuals(self, field: Any) -> Float[Array, " points"]:
        return jax.vmap(lambda point: self.residual(field, point))(self.points)

    @property
    def row_scale(self) -> Float[Array, ""]:
        return jnp.sqrt(self.weight / self.points.shape[0])


class PhysicsLoss(eqx.Module):
    """The loss of a network's flat parameters θ; `field(θ)` is the network again."""

    terms: tuple[Term, ...]
    fixed: Any
    unravel: Any = eqx.field(static=True)

    def field(self, theta: Float[Array, " p"]) -> Any:
        return eqx.combine(self.unravel(theta), self.fixed)

    def __call__(self, theta: Float[Array, " p"]) -> tuple[Float[Array, ""], Float[Array, " k"]]:
        field = self.field(theta)
        losses = jnp.stack([jnp.mean(term.residuals(field) ** 2) / 2 for term in self.terms])
        weights = jnp.stack([term.weight for term in self.terms])
        return jnp.sum(weights * losses), losses

    def rows(self, theta: Float[Array, " p"]) -> Float[Array, " m"]:
        field = self.field(theta)
        return jnp.concatenate([term.row_scale * term.residuals(field) for term in self.terms])

    def normal_equations(
        self, theta: Float[Array, " p"]
    ) -> tuple[Float[Array, "p p"], Float[Array, " p"], Float[Array, ""]]:
        """JᵀJ, Jᵀr and the loss, summed over blocks of points so that J is never held whole."""
        size = theta.shape[0]
        gram, gradient = jnp.zeros((size, size), theta.dtype), jnp.zeros(size, theta.dtype)
        total = jnp.zeros((), theta.dtype)
        for term in self.terms:

            def value(parameters: Array, point: Array, term: Term = term) -> Array:
                return term.residual(self.field(parameters), point)

            def block(carry: Any, part: Any, term: Term = term, value: Any = value) -> tuple[Any, None]:
                gram, gradient, total = carry
                points, scale = part
                residual, jacobian = jax.vmap(jax.value_and_grad(value), (None, 0))(theta, points)
                residual, jacobian = scale * residual, scale[:, None] * jacobian
                return (
                    gram + jacobian.T @ jacobian,
                    gradient + jacobian.T @ residual,
                    total + jnp.sum(residual**2) / 2,
                ), None

            points, scale = _blocks(term)
            (gram, gradient, total), _ = lax.scan(block, (gram, gradient, total), (points, scale))
        return gram, gradient, total


def _blocks(term: Term) -> tuple[Array, Array]:
    """Points in equal blocks, the last filled up with copies of weight zero."""
    count = term.points.shape[0]
    size = min(CHUNK, count)
    blocks = -(-count // size)
    missing = blocks * size - count
    points = jnp.concatenate([term.points, jnp.repeat(term.points[:1], missing, axis=0)])
    scale = jnp.concatenate([jnp.full(count, term.row_scale), jnp.zeros(missing, term.points.dtype)])
    return points.reshape(blocks, size, -1), scale.reshape(blocks, size)


def physics_loss(
    problem: Problem,
    network: Any,
    points: Points,
    residual_weight: float = 1.0,
    condition_weight: float = 100.0,
) -> tuple[PhysicsLoss, Float[Array, " p"]]:
    """The loss for a network, and the flat parameters it starts from. λ_res = 1, λ_ic = λ_bc = 100 by default."""
    moving = trainable(network)
    theta, unravel = ravel_pytree(moving)
    fixed = eqx.partition(
        network, jax.tree.map(lambda leaf: leaf is not None, moving, is_leaf=lambda x: x is None)
    )[1]
    dtype = theta.dtype

    def term(relation: Relation, at: Any, weight: float) -> Term:
        return Term(jnp.asarray(at, dtype), jnp.asarray(weight, dtype), PointResidual(problem, relation))

    terms = [term(equation, points.interior, residual_weight) for equation in problem.equations]
    terms += [
        term(condition, at, condition_weight)
        for condition, at in zip(problem.conditions, points.conditions, strict=True)
    ]
    return PhysicsLoss(tuple(terms), fixed, unravel), theta


def term_names(problem: Problem) -> tuple[str, ...]:
    """`equation` (numbered where there are several) and each condition as it is written."""
    several = len(problem.equations) > 1
    equations = [f"equation {i + 1}" if several else "equation" for i in range(len(problem.equations))]
    return (*equations, *(_left(condition) for condition in problem.conditions))


def _left(condition: Condition) -> str:
    return condition.text.split(" = ")[0]
