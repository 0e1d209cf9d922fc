"""θ₀ = argmin Σ |N(x_i; θ) − u(x_i)|²: a network that starts from a solution.

If both have the same structure, the parameters are copied. Otherwise L-BFGS fits the network to the values of the
solution at interior points. The user's own network is checked first.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import SafeNetError
from ..fields.derivatives import batch_jets
from ..fields.field import values
from ..measure.points import inside
from ..problem import Problem
from .objective import flattened
from .optimisers.lbfgs import LBFGS
from .optimisers.status import CAPACITY, Status
from .thresholds import FIT_POINTS, FIT_STEPS


def started_from(field: Any, network: Any, problem: Problem, seed: int) -> Any:
    """The network with the parameters of another field or, if the structures differ, fitted to its values."""
    one, other = ((jax.tree.structure(m), [*map(np.shape, jax.tree.leaves(m))]) for m in (field, network))
    if one == other:
        return jax.tree.map(lambda a, b: jnp.asarray(a, b.dtype) if eqx.is_array(b) else b, field, network)
    return _fitted(field, network, problem, seed)


class Misfit(eqx.Module):
    """½ mean ((N(x_i; θ) − u_i)/‖u‖)²: every field counts relative to its own size."""

    points: Float[Array, "n axes"]
    target: Float[Array, "n fields"]
    fixed: Any
    unravel: Any = eqx.field(static=True)

    def field(self, theta: Float[Array, " p"]) -> Any:
        return eqx.combine(self.unravel(theta), self.fixed)

    def __call__(self, theta: Float[Array, " p"]) -> tuple[Float[Array, ""], Float[Array, " 1"]]:
        value = (0,) * self.points.shape[1]
        size = jnp.maximum(jnp.sqrt(jnp.mean(self.target**2, axis=0)), jnp.finfo(theta.dtype).tiny)
        missed = (batch_jets(self.field(theta), self.points, [value])[value] - self.target) / size
        total = jnp.mean(missed**2) / 2
        return total, total[None]


def _fitted(field: Any, network: Any, problem: Problem, seed: int) -> Any:
    random = np.random.default_rng([seed, 1])
    points = inside(problem, range(len(problem.axes)), FIT_POINTS, lambda *shape: random.random(shape))
    given = values(field, points)
    known = np.isfinite(given).all(axis=1)  # an interrupted march has no values beyond its end
    theta, unravel, fixed = flattened(network)
    at, target = jnp.asarray(points[known], theta.dtype), jnp.asarray(given[known], theta.dtype)
    misfit: Any = Misfit(at, target, fixed, unravel)
    phase = LBFGS(FIT_STEPS)
    state = phase.start(misfit, theta)
    while int(state.status) == Status.RUNNING:
        state, _ = phase.advance(misfit, state, CAPACITY)
    return misfit.field(state.best_theta)


def checked_network(problem: Problem, network: Any, dtype: Any) -> Any:
    """The user's network in the plan's precision; an error if it does not map a point to the fields."""
    cast = jax.tree.map(
        lambda leaf: jnp.asarray(leaf, dtype) if eqx.is_inexact_array(leaf) else leaf, network
    )
    point = jax.ShapeDtypeStruct((len(problem.axes),), dtype)
    try:
        out = eqx.filter_eval_shape(lambda net, at: net(at), cast, point)
    except Exception as error:
        raise SafeNetError(
            f"the network cannot be called with a point of {len(problem.axes)} coordinates: {error}",
            f"it must map an array ({', '.join(problem.axis_names)}) to an array of {len(problem.unknowns)} fields",
        ) from None
    if getattr(out, "shape", None) != (len(problem.unknowns),):
        raise SafeNetError(
            f"the network gives {getattr(out, 'shape', out)} for a point, and the unknowns are "
            f"{', '.join(problem.unknowns)}",
            f"it must return an array of shape ({len(problem.unknowns)},)",
        )
    return cast
