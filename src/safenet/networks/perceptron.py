"""u(x) = W_n σ(… σ(W_1 φ(x) + b_1) …) + b_n: SAFE-NET (one hidden layer) and the plain PINN (four).

With ω₀ > 0 the first layer is sin(ω₀ (W_1 φ + b_1)), as in SIREN (Sitzmann et al., 2020); the others keep σ.

`__call__` defines the network, at one point; `propagate` computes the same, with derivatives, at many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float
from numpy.polynomial import Polynomial

from ..features import Features, Frozen
from ..features.base import image
from ..features.sincos import sin_cos
from ..fields.derivatives import Jets, Orders, added, composed, elementwise, linear

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": jnp.tanh,
    "sine": jnp.sin,
    "relu": jax.nn.relu,
    "gelu": jax.nn.gelu,
    "swish": jax.nn.swish,
}

STEEP = 10.0  # factor of the trained slopes, so that they move as fast as the authors' do


class Perceptron(eqx.Module):
    """Features, then layers W, b with the activation between them; if `omega_0` > 0, the first activation is a sine."""

    features: Features
    weights: tuple[Float[Array, ...], ...]
    biases: tuple[Float[Array, ...], ...]
    activation: str = eqx.field(static=True)
    omega_0: float = eqx.field(static=True, default=0.0)
    skip: Float[Array, "fields features"] | None = None
    slopes: Float[Array, " layers"] | None = None  # a of σ(10 a z), if they are trained
    operators: ClassVar[tuple[str, ...]] = ("propagate",)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        sigma = ACTIVATIONS[self.activation]
        features = value = self.features(point)
        for layer, (weight, bias) in enumerate(zip(self.weights[:-1], self.biases[:-1], strict=True)):
            value = self._steeper(layer) * (weight @ value + bias)
            value = jnp.sin(self.omega_0 * value) if self.omega_0 and layer == 0 else sigma(value)
        value = self.weights[-1] @ value + self.biases[-1]
        return value if self.skip is None else value + self.skip @ features

    def propagate(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        """{α: ∂^α u}, arrays of (fields, points), for `orders`, which must include all orders below each of them."""
        zero = (0,) * x.shape[0]
        weights, biases = self.weights, [bias[:, None] for bias in self.biases]
        first = weights[0] if self.skip is None else jnp.concatenate([weights[0], self.skip])
        jets = image(self.features, first, x, orders)
        past = {alpha: value[len(weights[0]) :] for alpha, value in jets.items()}
        jets = added({alpha: value[: len(weights[0])] for alpha, value in jets.items()}, {zero: biases[0]})
        for layer, (weight, bias) in enumerate(zip(weights[1:], biases[1:], strict=True)):
            activation = self.activation
            if self.slopes is not None:
                steeper = self._steeper(layer)
                jets = {alpha: steeper * value for alpha, value in jets.items()}
            if self.omega_0 and layer == 0:
                jets, activation = {alpha: self.omega_0 * value for alpha, value in jets.items()}, "sine"
            jets = composed(slopes(activation, jets[zero]), jets, orders)
            jets = added(linear(weight, jets), {zero: bias})
        return jets if self.skip is None else added(jets, past)

    def _steeper(self, layer: int) -> Any:
        """10 a of a layer: 1 initially, and if not trained (Jagtap, Kawaguchi and Karniadakis, 2020)."""
        return 1 if self.slopes is None else STEEP * self.slopes[layer]

    @property
    def perceptron(self) -> Perceptron:
        """The part whose parameters are trained: all of it."""
        return self

    def without_data(self) -> Perceptron:
        """The network to be added to another one: itself, since it contains no data."""
        return self

    @property
    def parameters(self) -> int:
        return parameter_count(self)


def slopes(activation: str, h: Float[Array, ...]) -> Callable[[int], Float[Array, ...]]:
    """k ↦ σ^(k)(h), all from one table of tanh h, or of sin h and cos h, where σ is one of them."""
    if activation == "tanh":
        s = jnp.tanh(h)
        return lambda k: _tanh_slope(s, k)
    if activation == "sine":
        waves = sin_cos(h)
        return lambda k: (-1) ** (k // 2) * waves[k % 2]
    return elementwise(ACTIVATIONS[activation], h)


def _tanh_slope(s: Float[Array, ...], k: int) -> Float[Array, ...]:
    """tanh^(k) = (1 − s²) Q_k(s) with s = tanh, Q_1 = 1 and Q_{k+1} = (1 − s²) Q_k′ − 2 s Q_k."""
    if k == 0:
        return s
    s2, Q = Polynomial([0.0, 0.0, 1.0]), Polynomial([1.0])
    for _ in range(k - 1):
        Q = (1 - s2) * Q.deriv() - s2.deriv() * Q
    slope: Array = (1 - s) * (1 + s) * reduce(lambda value, a: value * s + a, Q.coef[::-1].tolist())
    return slope


def perceptron(
    features: Features,
    fields: int,
    width: int,
    depth: int,
    activation: str,
    omega_0: float = 0.0,
    skip: bool = False,
    adaptive: bool = False,
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
    past = jnp.zeros((fields, features.size), dtype) if skip else None
    steep = jnp.full(depth, 1 / STEEP, dtype) if adaptive else None
    return Perceptron(features, tuple(weights), biases, activation, omega_0, past, steep)


def trainable(network: Any) -> Any:
    """The leaves an optimiser may move: all arrays but the frozen ones."""

    def moves(node: Any) -> bool:
        shape = isinstance(node, jax.ShapeDtypeStruct) and jnp.issubdtype(node.dtype, jnp.inexact)
        return not isinstance(node, Frozen) and bool(eqx.is_inexact_array(node) or shape)

    return eqx.filter(network, jax.tree.map(moves, network, is_leaf=lambda node: isinstance(node, Frozen)))


def parameter_count(network: Any) -> int:
    """The number of trainable parameters of any network (or of its shapes)."""
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(trainable(network)))
