"""λ_k · 1/(2 n_k) Σ_i r_k(x_i)²: the terms of a loss, a problem's and the user's own, and their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..measure.residuals import PointResidual
from ..problem import Condition, Problem


class Term(eqx.Module):
    """One term: its points, the plan's weight λ, its residual, and whether that is an equation's.

    All equations of a loss have the same points. If these are denser in some places, their `shares` (1 on average) turn
    the mean over the points into the mean over the domain.
    """

    points: Float[Array, "points columns"]
    weight: Float[Array, ""]
    residual: PointResidual
    equation: bool = eqx.field(static=True, default=False)
    shares: Float[Array, " points"] | None = None
    measured: bool = eqx.field(static=True, default=False)  # data: each row is a point and its value

    def mean(self, values: Float[Array, " points"]) -> Float[Array, ""]:
        return jnp.mean(values if self.shares is None else self.shares * values)

    def loss(self, residuals: Float[Array, " points"], weight: Float[Array, ...]) -> Float[Array, ""]:
        """1/(2n) Σ w_i r_i², with one w for all points or one for each."""
        if weight.ndim == 0:
            return weight * jnp.mean(residuals**2) / 2
        return jnp.mean(weight * residuals**2) / 2

    def row_scale(self, weight: Float[Array, ...]) -> Float[Array, " points"]:
        """√(w_i/n), with which half the sum of the rows' squares is the loss."""
        count = self.points.shape[0]
        return jnp.broadcast_to(jnp.sqrt(weight / count), (count,))


class OwnTerm(eqx.Module):
    """The user's own term: `residuals(network)` are the values to drive to zero, however `function` computes them."""

    weight: Float[Array, ""]
    function: Callable[[Any], Any] = eqx.field(static=True)
    name: str = eqx.field(static=True)

    def residuals(self, field: Any) -> Float[Array, " n"]:
        return jnp.ravel(jnp.asarray(self.function(field)))

    def rows(self, field: Any) -> Float[Array, " n"]:
        """√(w/n) r: half the sum of their squares is the weighted term."""
        r = self.residuals(field)
        return jnp.sqrt(self.weight / r.size) * r


def own_name(function: Any) -> str:
    """The name of the user's own term in a history."""
    return str(getattr(function, "__name__", type(function).__name__))


def term_names(problem: Problem) -> tuple[str, ...]:
    """`equation` (numbered if there are several); each condition by its left side, or as written if it compares two
    places: u(0, t), u(x, 0), u on inlet, u(0, t) = u(1, t); and `data u` for measured values."""
    several = len(problem.equations) > 1
    equations = [f"equation {i + 1}" if several else "equation" for i in range(len(problem.equations))]
    measured = (f"data {one.name}" for one in problem.measured)
    return (*equations, *(_left(condition) for condition in problem.conditions), *measured)


def _left(condition: Condition) -> str:
    if len(condition.places) > 1:
        return condition.text
    left = condition.text.split(" = ")[0]
    return f"{left} on {condition.piece}" if condition.piece else left
