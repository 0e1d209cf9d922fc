"""φ_i(x) = exp(−‖x − c_i‖²/σ_i²) / Σ_j exp(−‖x − c_j‖²/σ_j²): normalised radial functions, and monomials beside them.

The quotient is a softmax, which subtracts the largest exponent first: far from all centres every φ underflows and
φ/Σφ would be 0/0. Only ‖·‖² is formed, whose gradient at a centre is 0, not the 0/0 of ‖·‖.
"""

from __future__ import annotations

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from .base import Features


class Radial(Features):
    """Centres c (n, d) and log σ (n), both trainable, in the units of `inputs`."""

    centres: Float[Array, "features axes"]
    log_sigma: Float[Array, " features"]
    inputs: Features

    @property
    def size(self) -> int:
        return int(self.centres.shape[0])

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        square = jnp.sum((self.inputs(point) - self.centres) ** 2, axis=1)
        return jax.nn.softmax(-square * jnp.exp(-2 * self.log_sigma))


def radial(inputs: Features, features: int, sigma: float, *, key: Array, dtype: DTypeLike) -> Radial:
    """c ~ N(0, 1) in the units of `inputs`; every σ_i starts at `sigma`."""
    centres = jax.random.normal(key, (features, inputs.size), dtype)
    return Radial(centres, jnp.full(features, math.log(sigma), dtype), inputs)


class Monomials(Features):
    """Π_i x_i^{α_i} for all |α| ≤ degree: 1, x, y, x², xy, y² for two inputs and degree 2."""

    inputs: Features
    degree: int = eqx.field(static=True)

    @property
    def factors(self) -> list[tuple[int, ...]]:
        """For each monomial the inputs that are multiplied, by ascending degree."""
        axes = range(self.inputs.size)
        return [
            chosen
            for total in range(self.degree + 1)
            for chosen in itertools.combinations_with_replacement(axes, total)
        ]

    @property
    def size(self) -> int:
        return len(self.factors)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        x = self.inputs(point)
        one = jnp.ones((), x.dtype)
        return jnp.stack([math.prod((x[i] for i in chosen), start=one) for chosen in self.factors])
