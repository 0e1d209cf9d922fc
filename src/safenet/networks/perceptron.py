"""u(x) = W_n σ(… σ(W_1 φ(x) + b_1) …) + b_n: SAFE-NET (one hidden layer) and the plain PINN (four).

With ω₀ > 0 the first layer is sin(ω₀ (W_1 φ + b_1)), as in SIREN (Sitzmann et al., 2020); the others keep σ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from ..features import Features, Frozen

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": jnp.tanh,
    "sine": jnp.sin,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "swish": jax.nn.swish,
}


class Perceptron(eqx.Module):
    """Features, then layers W, b with the activation between them; `omega_0` > 0 makes the first a sine."""

    features: Features
    weights: tuple[Float[Array, ...], ...]
    biases: tuple[Float[Array, ...], ...]
    activation: str = eqx.field(static=True)
    omega_0: float = eqx.field(static=True, default=0.0)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        sigma = ACTIVATIONS[self.activation]
        value = self.features(point)
        for layer, (weight, bias) in enumerate(zip(self.weights[:-1], self.biases[:-1], strict=True)):
            value = weight @ value + bias
            value = jnp.sin(self.omega_0 * value) if self.omega_0 and layer == 0 else sigma(value)
        return self.weights[-1] @ value + self.biases[-1]

    @property
    def parameters(self) -> int:
        return sum(int(np.size(leaf)) for leaf in jax.tree.leaves(trainable(self)))


def perceptron(
    features: Features,
    fields: int,
    width: int,
    depth: int,
    activation: str,
    omega_0: float = 0.0,
    *,
    key: Array,
    dtype: DTypeLike,
) -> Perceptron:
    """`depth` hidden layers of `width`: Glorot uniform weights (a first sine layer: U(−1/d, 1/d)), zero biases."""
    sizes = [features.size, *[width] * depth, fields]
    glorot = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)
    keys = jax.random.split(key, len(sizes) - 1)
    shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
    weights = [glorot(k, shape, dtype) for k, shape in zip(keys, shapes, strict=True)]
    if omega_0:
        bound = 1 / features.size
        weights[0] = jax.random.uniform(keys[0], shapes[0], dtype, -bound, bound)
    biases = tuple(jnp.zeros(rows, dtype) for rows, _ in shapes)
    return Perceptron(features, tuple(weights), biases, activation, omega_0)


def trainable(network: Any) -> Any:
    """The leaves an optimiser may move: all arrays but the frozen ones."""

    def moves(node: Any) -> bool:
        return not isinstance(node, Frozen) and eqx.is_inexact_array(node)

    return eqx.filter(network, jax.tree.map(moves, network, is_leaf=lambda node: isinstance(node, Frozen)))
