"""φ_i(x) = exp(−‖x − c_i‖²/σ_i²) / Σ_j exp(−‖x − c_j‖²/σ_j²): normalised radial functions, and monomials beside them.

The quotient is a softmax, which subtracts the largest exponent first: far from all centres every φ underflows and
φ/Σφ would be 0/0. Only ‖·‖² is formed, whose gradient at a centre is 0, not the 0/0 of ‖·‖.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from ..fields.derivatives import Jets, Orders, added, composed, linear, product
from .base import Features, stacked, table


class Radial(Features):
    """Centres c (n, d) and log σ (n), both trainable, in the units of `inputs`."""

    centres: Float[Array, "features axes"]
    log_sigma: Float[Array, " features"]
    inputs: Features
    operators: ClassVar[tuple[str, ...]] = ("image",)

    @property
    def size(self) -> int:
        return int(self.centres.shape[0])

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        square = jnp.sum((self.inputs(point) - self.centres) ** 2, axis=1)
        return jax.nn.softmax(-square * jnp.exp(-2 * self.log_sigma))

    def image(
        self, W: Float[Array, "rows features"], x: Float[Array, "axes points"], orders: Sequence[Orders]
    ) -> Jets:
        """W e/Σe with e_i = exp(−‖x − c_i‖²/σ_i²), and Σe one number per point: W is applied first."""
        zero = (0,) * x.shape[0]
        inputs = table(self.inputs, x, orders)
        squares = []
        for axis, centre in enumerate(self.centres.T):
            distance = {alpha: value[axis] for alpha, value in inputs.items()}
            distance[zero] = distance[zero] - centre[:, None]
            squares.append(product(distance, distance, orders))
        factor = -jnp.exp(-2 * self.log_sigma)[:, None]
        exponent = {alpha: factor * value for alpha, value in added(*squares).items()}
        e = jnp.exp(exponent[zero] - lax.stop_gradient(jnp.max(exponent[zero], axis=0)))
        tables = composed(lambda k: e, exponent, orders)
        total = {alpha: jnp.sum(value, axis=0, keepdims=True) for alpha, value in tables.items()}
        quotient = composed(lambda k: (-1) ** k * math.factorial(k) / total[zero] ** (k + 1), total, orders)
        return product(linear(W, tables), quotient, orders)


def radial(inputs: Features, features: int, sigma: float, *, key: Array, dtype: DTypeLike) -> Radial:
    """c ~ N(0, 1) in the units of `inputs`; every σ_i starts at `sigma`."""
    centres = jax.random.normal(key, (features, inputs.size), dtype)
    return Radial(centres, jnp.full(features, math.log(sigma), dtype), inputs)


class Monomials(Features):
    """Π_i x_i^{α_i} for all |α| ≤ degree: 1, x, y, x², xy, y² for two inputs and degree 2."""

    inputs: Features
    degree: int = eqx.field(static=True)
    operators: ClassVar[tuple[str, ...]] = ("table",)

    @property
    def factors(self) -> list[tuple[int, ...]]:
        """For each monomial, by ascending degree, the indices of the inputs that are multiplied."""
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

    def table(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        inputs = table(self.inputs, x, orders)
        rows = []
        for chosen in self.factors:
            row: Jets = {(0,) * x.shape[0]: jnp.ones_like(x[:1])}
            for i in chosen:
                row = product(row, {alpha: value[i : i + 1] for alpha, value in inputs.items()}, orders)
            rows.append(row)
        return stacked(rows, orders)
