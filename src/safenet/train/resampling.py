"""x_i ~ p(x) ∝ |r(x)|/mean |r| + 1: points where the residual is large, for the same loss (RAD; Wu et al., 2023).

A point drawn with probability π gets a share proportional to 1/π, so the weighted mean over the points estimates the
mean over the domain, whatever their density. Without these shares the loss itself would change: it would ask for more
where the residual is large, at the expense of everything else where no network can follow, as at a kink.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..measure.points import inside
from ..problem import Problem
from .objective import PhysicsLoss

FLOOR = 1.0  # the authors' choice for most problems; no share is then above 2
CANDIDATES = 8  # for each point drawn


def adaptive_points(
    problem: Problem, loss: PhysicsLoss, theta: Float[Array, " p"], count: int, seed: tuple[int, ...]
) -> np.ndarray:
    """`count` points of the domain, drawn by the residuals at theta, with their shares in a last column.

    Deterministic: the same theta and seed give the same points.
    """
    random = np.random.default_rng(seed)
    pool = inside(problem, range(len(problem.axes)), CANDIDATES * count, lambda *shape: random.random(shape))
    size = np.asarray(_sizes(loss.at(jnp.asarray(pool, theta.dtype)), theta), dtype=float)
    # With a perfect fit, or an infinite residual, no point is preferred.
    mean = np.mean(size)
    density = (size / mean if 0 < mean < np.inf else 0.0 * size) + FLOOR
    probability = inclusion(np.where(np.isfinite(density), density, FLOOR), count)
    # Systematic sampling: a single random number draws every point with exactly its probability.
    steps = np.cumsum(probability)
    drawn = np.searchsorted(steps, np.arange(count) + random.random())
    drawn = np.minimum(drawn, len(pool) - 1)  # the probabilities sum to `count` up to rounding
    shares = 1 / probability[drawn]
    return np.column_stack([pool[drawn], shares * count / shares.sum()])


def even_points(loss: PhysicsLoss) -> Float[Array, "n columns"]:
    """The loss's points with equal shares, so that drawing new ones later does not compile another program."""
    points = next(term.points for term in loss.terms if term.equation)
    return jnp.concatenate([points, jnp.ones_like(points[:, :1])], axis=1)


def inclusion(density: np.ndarray, count: int) -> np.ndarray:
    """π_i = min(1, c density_i) with Σ π = count."""
    certain = np.zeros(len(density), dtype=bool)
    while True:
        scale = (count - certain.sum()) / density[~certain].sum()
        more = ~certain & (scale * density >= 1)
        if not more.any():
            return np.where(certain, 1.0, scale * density)
        certain |= more


@eqx.filter_jit
def _sizes(loss: PhysicsLoss, theta: Float[Array, " p"]) -> Float[Array, " n"]:
    """√Σ r² over the equations, at every point."""
    sizes: Array = jnp.linalg.norm(jnp.stack(loss.equation_residuals(theta)), axis=0)
    return sizes
