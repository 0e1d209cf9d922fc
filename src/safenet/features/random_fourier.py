"""φ(v) = [cos 2πBv; sin 2πBv] with B_ij ~ N(0, σ_j²), drawn once: random Fourier features (Tancik et al., 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from ..derivatives import Jets, Orders, composed, linear
from ..problem import Problem
from .base import Features, Frozen, Unscaled, box, table
from .sincos import sin_cos


class RandomFourier(Features):
    """m cosines, then the same m sines; B (m, d) is frozen."""

    B: Frozen
    inputs: Features
    operators: ClassVar[tuple[str, ...]] = ("table",)

    @property
    def size(self) -> int:
        return 2 * int(self.B.array.shape[0])

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        phase = 2 * math.pi * (self.B.value @ self.inputs(point))
        return jnp.concatenate([jnp.cos(phase), jnp.sin(phase)])

    def table(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        zero = (0,) * x.shape[0]
        turned = linear(self.B.value, table(self.inputs, x, orders))
        phase = {alpha: 2 * math.pi * value for alpha, value in turned.items()}
        sine, cosine = sin_cos(phase[zero])
        # cos and sin have the slopes −sin and cos: one step of a quarter turn for both.
        turns = [(cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine)]
        both = {alpha: jnp.concatenate([value, value]) for alpha, value in phase.items()}
        return composed(lambda k: jnp.concatenate(turns[k % 4]), both, orders)


def random_fourier(
    problem: Problem,
    features: int,
    sigma_space: float,
    sigma_time: float,
    inputs: Features | None = None,
    *,
    key: Array,
    dtype: DTypeLike,
) -> RandomFourier:
    """`features`/2 random directions, with a standard deviation for the axes of space and one for time."""
    sigma = jnp.array([sigma_time if axis.is_time else sigma_space for axis in problem.axes], dtype)
    B = sigma * jax.random.normal(key, (max(1, features // 2), len(problem.axes)), dtype)
    return RandomFourier(Frozen(B), inputs or Unscaled(*box(problem)))
