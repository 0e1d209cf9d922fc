"""x_i ~ p(x) ∝ |r(x)|^k / mean |r|^k + c: interior points where the residual is large (RAD; Wu et al., 2023)."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..measure.points import inside
from ..problem import Problem
from .objective import PhysicsLoss

POWER, FLOOR = 1.0, 1.0  # k and c: their choice for most problems
CANDIDATES = 8  # for each point that is drawn


def adaptive_points(
    problem: Problem, loss: PhysicsLoss, theta: Float[Array, " p"], count: int, seed: tuple[int, ...]
) -> np.ndarray:
    """`count` of the domain's points, drawn for the residuals at theta: the same for the same theta and seed."""
    random = np.random.default_rng(seed)
    pool = inside(problem, range(len(problem.axes)), CANDIDATES * count, lambda *shape: random.random(shape))
    size = np.asarray(_sizes(loss.at(jnp.asarray(pool, theta.dtype)), theta), dtype=float) ** POWER
    # A perfect fit, or one that is infinite somewhere, leaves nothing to prefer.
    mean = np.mean(size)
    density = (size / mean if 0 < mean < np.inf else 0.0 * size) + FLOOR
    density = np.where(np.isfinite(density), density, FLOOR)
    return pool[random.choice(len(pool), count, replace=False, p=density / density.sum())]


@eqx.filter_jit
def _sizes(loss: PhysicsLoss, theta: Float[Array, " p"]) -> Float[Array, " n"]:
    """√Σ r² over the equations, at every point."""
    sizes: Array = jnp.linalg.norm(jnp.stack(loss.equation_residuals(theta)), axis=0)
    return sizes
