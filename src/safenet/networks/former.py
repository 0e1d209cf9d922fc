"""PINNsFormer (Zhao et al., 2024): attention over a short sequence of later times.

    x ↦ [x, x + Δ e_t, …, x + (k − 1) Δ e_t] ↦ embedding ↦ encoder ↦ decoder ↦ layers ↦ u of the first

with the activation ω₁ sin + ω₂ cos everywhere. Only the output for the point itself is returned, and its derivatives
are those of this map: differentiating a sum over the whole sequence would mix the derivatives of its steps.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from .perceptron import parameter_count

STEPS, DELTA = 5, 1e-4  # the pseudo-sequence
MODEL, HEADS = 32, 2
FORWARD = 256  # width of the layers within encoder and decoder
BIAS = 0.01  # initial value, as in the authors' code


class Wave(eqx.Module):
    """ω₁ sin x + ω₂ cos x"""

    omega: Float[Array, " two"]

    def __call__(self, x: Float[Array, ...]) -> Float[Array, ...]:
        return self.omega[0] * jnp.sin(x) + self.omega[1] * jnp.cos(x)


class Layer(eqx.Module):
    """W x + b, along the last axis."""

    W: Float[Array, "rows columns"]
    b: Float[Array, " rows"]

    def __call__(self, x: Float[Array, "*steps columns"]) -> Float[Array, "*steps rows"]:
        return x @ self.W.T + self.b


class Layers(eqx.Module):
    """W₃ w(W₂ w(W₁ x))"""

    layers: tuple[Layer, Layer, Layer]
    waves: tuple[Wave, Wave]

    def __call__(self, x: Float[Array, "steps columns"]) -> Float[Array, "steps rows"]:
        first, second, third = self.layers
        return third(self.waves[1](second(self.waves[0](first(x)))))


class Attention(eqx.Module):
    """softmax(Q Kᵀ/√d) V for each head, then a layer."""

    query: Layer
    key: Layer
    value: Layer
    out: Layer

    def __call__(
        self, x: Float[Array, "steps model"], context: Float[Array, "steps model"]
    ) -> Float[Array, "steps model"]:
        steps, model = x.shape

        def heads(values: Array) -> Array:
            return values.reshape(steps, HEADS, model // HEADS).swapaxes(0, 1)

        Q, K, V = heads(self.query(x)), heads(self.key(context)), heads(self.value(context))
        shares = jax.nn.softmax(Q @ K.swapaxes(1, 2) / math.sqrt(model // HEADS), axis=-1)
        return self.out((shares @ V).swapaxes(0, 1).reshape(steps, model))


class Block(eqx.Module):
    """x + attention, then x + layers, each of a wave of x; then a wave. The decoder attends to the encoder's output."""

    attention: Attention
    layers: Layers
    waves: tuple[Wave, Wave, Wave]

    def __call__(self, x: Array, context: Array | None = None) -> Array:
        y = self.waves[0](x)
        x = x + self.attention(y, y if context is None else context)
        x = x + self.layers(self.waves[1](x))
        return self.waves[2](x)


class Former(eqx.Module):
    embedding: Layer
    encoder: Block
    decoder: Block
    head: Layers

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        # Time is the last axis of a problem; without time, the sequence goes along the last axis of space.
        shift = DELTA * jnp.arange(STEPS, dtype=point.dtype)[:, None]
        towards = jnp.zeros_like(point).at[-1].set(1)
        embedded = self.embedding(point + shift * towards)
        return self.head(self.decoder(embedded, self.encoder(embedded)))[0]

    @property
    def parameters(self) -> int:
        return parameter_count(self)


def former(axes: int, fields: int, width: int, *, key: Array, dtype: DTypeLike) -> Former:
    """`width` is that of the last layers (the authors': 512); Glorot weights, biases of 0.01, ω₁ = ω₂ = 1."""
    keys = iter(jax.random.split(key, 32))
    glorot = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)

    def layer(columns: int, rows: int) -> Layer:
        return Layer(glorot(next(keys), (rows, columns), dtype), jnp.full(rows, BIAS, dtype))

    def wave() -> Wave:
        return Wave(jnp.ones(2, dtype))

    def layers(columns: int, hidden: int, rows: int) -> Layers:
        return Layers((layer(columns, hidden), layer(hidden, hidden), layer(hidden, rows)), (wave(), wave()))

    def block() -> Block:
        attention = Attention(*(layer(MODEL, MODEL) for _ in range(4)))
        return Block(attention, layers(MODEL, FORWARD, MODEL), (wave(), wave(), wave()))

    return Former(layer(axes, MODEL), block(), block(), layers(MODEL, width, fields))
