"""PirateNet (Wang et al., 2024): gated residual blocks that start as the identity.

    U = σ(W_U φ + b_U),  V = σ(W_V φ + b_V)
    f = σ(W₁ x + b₁),    z = f ⊙ U + (1 − f) ⊙ V        of the block's first layer, and again of its second
    x ← α σ(W₃ z + b₃) + (1 − α) x,                     α = 0 at the start: u = W φ + b, linear in the features

Every W is diag(exp s) V with a trainable s ~ N(1, 0.1²), the authors' random weight factorisation. Their additions to
training (weights by tangent kernels, causal weights, a last layer fitted to the initial values) are not included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from ..features import Features
from ..features.base import image, table
from ..fields.derivatives import Jets, Orders, added, composed, linear, product
from .perceptron import ACTIVATIONS, parameter_count, slopes

FACTOR_MEAN, FACTOR_DEVIATION = 1.0, 0.1


class Dense(eqx.Module):
    """diag(exp s) V x + b"""

    s: Float[Array, " rows"]
    V: Float[Array, "rows columns"]
    b: Float[Array, " rows"]

    @property
    def matrix(self) -> Float[Array, "rows columns"]:
        return jnp.exp(self.s)[:, None] * self.V

    def __call__(self, x: Float[Array, " columns"]) -> Float[Array, " rows"]:
        return self.matrix @ x + self.b

    def jets(self, inner: Jets) -> Jets:
        zero = next(iter(inner))
        return added(linear(self.matrix, inner), {(0,) * len(zero): self.b[:, None]})


class Pirate(eqx.Module):
    """Features, two gates, `blocks` of three layers each as wide as the features, and a linear last layer."""

    features: Features
    gates: tuple[Dense, Dense]
    blocks: tuple[tuple[Dense, Dense, Dense], ...]
    alpha: Float[Array, " blocks"]
    weights: tuple[Float[Array, "fields features"]]
    biases: tuple[Float[Array, " fields"]]
    activation: str = eqx.field(static=True)
    operators: ClassVar[tuple[str, ...]] = ("propagate",)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        sigma = ACTIVATIONS[self.activation]
        x = self.features(point)
        U, V = (sigma(gate(x)) for gate in self.gates)
        for alpha, (first, second, third) in zip(self.alpha, self.blocks, strict=True):
            z = x
            for layer in (first, second):
                f = sigma(layer(z))
                z = f * U + (1 - f) * V
            x = alpha * sigma(third(z)) + (1 - alpha) * x
        return self.weights[0] @ x + self.biases[0]

    def propagate(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        zero = (0,) * x.shape[0]

        def sigma(jets: Jets) -> Jets:
            return composed(slopes(self.activation, jets[zero]), jets, orders)

        jets = table(self.features, x, orders)
        U, V = (
            sigma(added(image(self.features, gate.matrix, x, orders), {zero: gate.b[:, None]}))
            for gate in self.gates
        )
        apart = added(U, {alpha: -value for alpha, value in V.items()})
        for alpha, (first, second, third) in zip(self.alpha, self.blocks, strict=True):
            z = jets
            for layer in (first, second):
                z = added(V, product(sigma(layer.jets(z)), apart, orders))
            h = sigma(third.jets(z))
            jets = added(
                {beta: alpha * value for beta, value in h.items()},
                {beta: (1 - alpha) * value for beta, value in jets.items()},
            )
        return added(linear(self.weights[0], jets), {zero: self.biases[0][:, None]})

    @property
    def parameters(self) -> int:
        return parameter_count(self)


def pirate(
    features: Features, fields: int, blocks: int, activation: str, *, key: Array, dtype: DTypeLike
) -> Pirate:
    """`blocks` blocks with factorised Glorot weights, zero biases and α = 0."""
    width = features.size
    glorot = jax.nn.initializers.glorot_normal(in_axis=1, out_axis=0)

    def dense(key: Array) -> Dense:
        scale_key, weight_key = jax.random.split(key)
        s = FACTOR_MEAN + FACTOR_DEVIATION * jax.random.normal(scale_key, (width,), dtype)
        W = glorot(weight_key, (width, width), dtype)
        return Dense(s, W / jnp.exp(s)[:, None], jnp.zeros(width, dtype))

    *keys, last = jax.random.split(key, 3 + 3 * blocks)
    layers = [dense(each) for each in keys]
    return Pirate(
        features,
        (layers[0], layers[1]),
        tuple((layers[i], layers[i + 1], layers[i + 2]) for i in range(2, len(layers), 3)),
        jnp.zeros(blocks, dtype),
        (glorot(last, (fields, width), dtype),),
        (jnp.zeros(fields, dtype),),
        activation,
    )
