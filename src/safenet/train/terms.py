"""λ_k · 1/(2 n_k) Σ_i r_k(x_i)²: the terms of a loss, a problem's and the user's own, and their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..measure.residuals import PointResidual, together
from ..problem import Condition, Problem


class Term(eqx.Module):
    """One named term: its points, the plan's weight λ, its residual, and whether that is an equation's.

    The equations of a loss have all the same points. Where points were drawn more densely in some places, their
    `shares` (1 on average) make the mean over them the mean over the domain again.
    """

    points: Float[Array, "points columns"]
    weight: Float[Array, ""]
    residual: PointResidual
    equation: bool = eqx.field(static=True, default=False)
    shares: Float[Array, " points"] | None = None
    measured: bool = eqx.field(static=True, default=False)  # data, each value beside its point

    def mean(self, values: Float[Array, " points"]) -> Float[Array, ""]:
        return jnp.mean(values if self.shares is None else self.shares * values)

    def residuals(self, field: Any) -> Float[Array, " points"]:
        return together(field, [self.residual], [self.points])[0]

    def loss(self, residuals: Float[Array, " points"], weight: Float[Array, ...]) -> Float[Array, ""]:
        """1/(2n) Σ w_i r_i², with one w for all points or one for each."""
        if weight.ndim == 0:
            return weight * jnp.mean(residuals**2) / 2
        return jnp.mean(weight * residuals**2) / 2

    def row_scale(self, weight: Float[Array, ...]) -> Float[Array, " points"]:
        """√(w_i/n): with it, half the rows' squares sum to the loss."""
        count = self.points.shape[0]
        return jnp.broadcast_to(jnp.sqrt(weight / count), (count,))


class OwnTerm(eqx.Module):
    """A term that the user wrote: `residuals(network)` gives numbers to be made zero, by whatever it computes."""

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
    """What a term of the user's is called in a history."""
    return str(getattr(function, "__name__", type(function).__name__))


def term_names(problem: Problem) -> tuple[str, ...]:
    """`equation` (numbered where there are several), `data u` for what is measured, and each condition by its left
    side, or as it is written where it compares two places: u(0, t), u(x, 0), u on inlet, u(0, t) = u(1, t)."""
    several = len(problem.equations) > 1
    equations = [f"equation {i + 1}" if several else "equation" for i in range(len(problem.equations))]
    measured = (f"data {one.name}" for one in problem.measured)
    return (*equations, *(_left(condition) for condition in problem.conditions), *measured)


def _left(condition: Condition) -> str:
    if len(condition.places) > 1:
        return condition.text
    left = condition.text.split(" = ")[0]
    return f"{left} on {condition.piece}" if condition.piece else left
