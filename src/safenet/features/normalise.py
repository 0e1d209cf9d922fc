"""φ ↦ (φ − mean φ)/(‖φ − mean φ‖ + ε), or a fixed scale: what stands between features and network."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float
from scipy.stats import qmc

from ..problem import Problem
from .base import Features

NORMALISATIONS = ("point", "fixed", "none")
EPSILON = 1e-3


class PointNormalised(Features):
    """(φ − mean φ)/(‖φ − mean φ‖₂ + 10⁻³) over the features of one point: the paper's normalisation."""

    inner: Features

    @property
    def size(self) -> int:
        return self.inner.size

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        features = self.inner(point)
        centred = features - jnp.mean(features)
        square = jnp.sum(centred**2)
        # √ has no derivative at 0, where all features are equal: there the quotient is 0 anyway.
        norm = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)
        return centred / (norm + EPSILON)


class Scaled(Features):
    """φ/s with one fixed s: the derivatives keep the shape of the features'."""

    inner: Features
    scale: Float[Array, ""]

    @property
    def size(self) -> int:
        return self.inner.size

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        return self.inner(point) / jax.lax.stop_gradient(self.scale)


def normalised(features: Features, how: str, problem: Problem, dtype: DTypeLike) -> Features:
    """`point`: the paper's; `fixed`: s = root mean square of ‖φ‖ over the box at the start; `none`."""
    if how == "point":
        return PointNormalised(features)
    if how == "none":
        return features
    unit = qmc.Sobol(len(problem.axes), scramble=False).random_base2(9)
    low = np.array([axis.lo for axis in problem.axes])
    length = np.array([axis.length for axis in problem.axes])
    values = jax.vmap(features)(jnp.asarray(low + length * unit, dtype))
    return Scaled(features, jnp.sqrt(jnp.mean(jnp.sum(values**2, axis=1))))
