"""φ(v) = [cos 2πBv; sin 2πBv] with B_ij ~ N(0, σ_j²), drawn once: random Fourier features (Tancik et al., 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from ..fields.derivatives import Jets, Orders, expanded, linear
from ..problem import Problem
from ..problem.jets import along
from .base import Coordinates, Features, Frozen, Unscaled, box, table, turned_image
from .sincos import sin_cos


class RandomFourier(Features):
    """m cosines, then the same m sines; B (m, d) is frozen."""

    B: Frozen
    inputs: Coordinates  # affine, so that a phase has one slope along each axis
    operators: ClassVar[tuple[str, ...]] = ("image",)

    @property
    def size(self) -> int:
        return 2 * int(self.B.array.shape[0])

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        phase = 2 * math.pi * (self.B.value @ self.inputs(point))
        return jnp.concatenate([jnp.cos(phase), jnp.sin(phase)])

    def image(
        self, W: Float[Array, "rows features"], x: Float[Array, "axes points"], orders: Sequence[Orders]
    ) -> Jets:
        """∂_i (C cos + S sin) = κ_i (S cos − C sin), where κ_i is the phases' slope along axis i."""
        axes = x.shape[0]
        zero, first = (0,) * axes, [along(axis, axes) for axis in range(axes)]
        inputs = table(self.inputs, x, [zero, *first])
        phase = {alpha: 2 * math.pi * value for alpha, value in linear(self.B.value, inputs).items()}
        slopes = [phase[alpha][:, 0] for alpha in first]
        sine, cosine = sin_cos(phase[zero])
        C, S = jnp.split(W, 2, axis=1)
        quarters = [(C, S), (S, -C), (-C, -S), (-S, C)]
        weights = {}
        for alpha in expanded(orders):
            factors = [slopes[i] for i, n in enumerate(alpha) for _ in range(n)]
            turned = quarters[sum(alpha) % 4]
            weights[alpha] = jnp.concatenate([math.prod(factors, start=own) for own in turned], axis=1)
        return turned_image(weights, jnp.concatenate([cosine, sine]), orders)


def random_fourier(
    problem: Problem,
    features: int,
    sigma_space: float,
    sigma_time: float,
    inputs: Coordinates | None = None,
    *,
    key: Array,
    dtype: DTypeLike,
) -> RandomFourier:
    """`features`/2 random directions, with a standard deviation for the axes of space and one for time."""
    sigma = jnp.array([sigma_time if axis.is_time else sigma_space for axis in problem.axes], dtype)
    B = sigma * jax.random.normal(key, (max(1, features // 2), len(problem.axes)), dtype)
    return RandomFourier(Frozen(B), inputs or Unscaled(*box(problem)))
