"""u(x) = N₀(x) + Σ_m ψ_m(x) N_m(x): the functions of the conditions carry what the network adds to them.

A solution often keeps the shape of its data for a while, or is that shape times something smooth: sin(20πx) sin(πy) e⁻ᵗ
for heat in a plate. A network that must make the product itself, out of tanh, spends its layers on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..features import Features
from ..features.base import table
from ..fields.derivatives import Jets, Orders, added, product, propagated
from .perceptron import Perceptron


class Modulated(eqx.Module):
    """`inner` has 1 + M outputs for each field, for the M functions ψ of `carriers`."""

    inner: Perceptron
    carriers: Features
    operators: ClassVar[tuple[str, ...]] = ("propagate",)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        outputs = self.inner(point).reshape(-1, 1 + self.carriers.size)
        return outputs[:, 0] + outputs[:, 1:] @ self.carriers(point)

    def propagate(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        psi = table(self.carriers, x, orders)
        jets = propagated(self.inner, x, orders)
        width = 1 + self.carriers.size
        fields = []
        for start in range(0, len(self.inner.biases[-1]), width):
            own = {alpha: value[start : start + width] for alpha, value in jets.items()}
            carried = product({alpha: value[1:] for alpha, value in own.items()}, psi, orders)
            sums = {alpha: jnp.sum(value, axis=0, keepdims=True) for alpha, value in carried.items()}
            fields.append(added({alpha: value[:1] for alpha, value in own.items()}, sums))
        return {
            alpha: jnp.concatenate([jnp.broadcast_to(field[alpha], (1, x.shape[1])) for field in fields])
            for alpha in fields[0]
        }

    # What others ask of a perceptron.

    @property
    def features(self) -> Features:
        return self.inner.features

    @property
    def weights(self) -> tuple[Float[Array, ...], ...]:
        return self.inner.weights

    @property
    def biases(self) -> tuple[Float[Array, ...], ...]:
        return self.inner.biases

    @property
    def parameters(self) -> int:
        return self.inner.parameters
