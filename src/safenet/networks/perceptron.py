"""u(x) = W_n σ(… σ(W_1 φ(x) + b_1) …) + b_n: SAFE-NET (one hidden layer) and the plain PINN (four)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from ..features import Features

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": jnp.tanh,
    "sine": jnp.sin,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "swish": jax.nn.swish,
}


class Perceptron(eqx.Module):
    """Features, then layers W, b with the activation between them; Glorot uniform weights, zero biases."""

    features: Features
    weights: tuple[Float[Array, ...], ...]
    biases: tuple[Float[Array, ...], ...]
    activation: str = eqx.field(static=True)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        sigma = ACTIVATIONS[self.activation]
        value = self.features(point)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            value = sigma(weight @ value + bias)
        return self.weights[-1] @ value + self.biases[-1]

    @property
    def parameters(self) -> int:
        return sum(int(np.size(leaf)) for leaf in jax.tree.leaves(trainable(self)))


def perceptron(
    features: Features, fields: int, width: int, depth: int, activation: str, *, key: Array, dtype: DTypeLike
) -> Perceptron:
    """`depth` hidden layers of `width`."""
    sizes = [features.size, *[width] * depth, fields]
    glorot = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)
    keys = jax.random.split(key, len(sizes) - 1)
    shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
    weights = tuple(glorot(k, shape, dtype) for k, shape in zip(keys, shapes, strict=True))
    biases = tuple(jnp.zeros(rows, dtype) for rows, _ in shapes)
    return Perceptron(features, weights, biases, activation)


def trainable(network: Any) -> Any:
    """The leaves an optimiser may move: all arrays but the fixed feature scale."""
    mask = jax.tree.map(eqx.is_inexact_array, network)
    mask = eqx.tree_at(_scales, mask, replace_fn=lambda _: False) if _scales(network) else mask
    return eqx.filter(network, mask)


def _scales(tree: Any) -> list[Any]:
    scale = getattr(getattr(tree, "features", None), "scale", None)
    return [] if scale is None else [scale]
