"""φ_j^(ℓ)(x) = c_j^(ℓ) Π_i {sin | cos}(ω_i^(ℓ) x_i): trainable Fourier products, 2^d for each frequency set ℓ.

For two axes, in the paper's order: sin·cos, cos·sin, sin·sin, cos·cos.
"""

from __future__ import annotations

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from ..problem import Problem
from .base import Features

FREQUENCIES = ("harmonic", "gaussian", "uniform", "box")
AMPLITUDES = ("unit", "gaussian", "uniform", "xavier", "decay")
LENGTHS = ("auto", "1", "L")


def sine_patterns(axes: int) -> list[tuple[bool, ...]]:
    """Which factors are sines, for each product: mixed ones first, then all sines, then all cosines."""
    mixed = [p for p in itertools.product((True, False), repeat=axes) if any(p) and not all(p)]
    return [*mixed, (True,) * axes, (False,) * axes]


class FourierProducts(Features):
    """N frequency sets ω (N, d) and amplitudes c (N, 2^d), both trainable; phases start at `origin`."""

    omega: Float[Array, "sets axes"]
    amplitude: Float[Array, "sets products"]
    origin: tuple[float, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        return int(self.amplitude.shape[0] * self.amplitude.shape[1])

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        phase = self.omega * (point - jnp.asarray(self.origin, point.dtype))
        sine, cosine = jnp.sin(phase), jnp.cos(phase)
        products = []
        for pattern in sine_patterns(phase.shape[1]):
            product = jnp.ones_like(sine[:, 0])
            for axis, is_sine in enumerate(pattern):
                product = product * (sine if is_sine else cosine)[:, axis]
            products.append(product)
        return (self.amplitude * jnp.stack(products, axis=1)).ravel()


def fourier_products(
    problem: Problem,
    features: int,
    frequencies: str,
    amplitudes: str,
    k: str = "auto",
    *,
    key: Array,
    dtype: DTypeLike,
) -> FourierProducts:
    """`features`/2^d frequency sets, initialised as the names say (the formulas are beside each name below)."""
    axes = len(problem.axes)
    sets = max(1, features // 2**axes)
    frequency_key, amplitude_key = jax.random.split(key)
    if frequencies == "box":
        index = decoupled_indices(axes, sets)
        omega = index * np.pi / np.array([axis.length for axis in problem.axes])
        origin = tuple(axis.lo for axis in problem.axes)
    else:
        index = np.arange(1, sets + 1)[:, None] * np.ones((1, axes))
        origin = (0.0,) * axes
        if frequencies == "harmonic":  # ω = ℓπ/k
            omega = index * np.pi / harmonic_length(problem, k)
        elif frequencies == "gaussian":  # ω ~ N(0, π²)
            omega = np.pi * jax.random.normal(frequency_key, (sets, axes), dtype)
        else:  # ω ~ U(0, 2π)
            omega = jax.random.uniform(frequency_key, (sets, axes), dtype, 0.0, 2 * math.pi)
    shape = (sets, 2**axes)
    if amplitudes == "unit":
        amplitude = jnp.ones(shape, dtype)
    elif amplitudes == "gaussian":
        amplitude = jax.random.normal(amplitude_key, shape, dtype)
    elif amplitudes == "uniform":
        amplitude = jax.random.uniform(amplitude_key, shape, dtype)
    elif amplitudes == "xavier":  # U(−√(6/n), √(6/n)), n inputs
        bound = math.sqrt(6 / axes)
        amplitude = jax.random.uniform(amplitude_key, shape, dtype, -bound, bound)
    else:  # ℓ⁻²: the spectrum of a smooth function, so that no high mode dominates the first residual
        decay = np.max(index, axis=1) ** -2.0
        amplitude = jnp.asarray(np.repeat(decay[:, None], shape[1], axis=1), dtype)
    return FourierProducts(jnp.asarray(omega, dtype), amplitude, origin)


def harmonic_length(problem: Problem, k: str = "auto") -> float:
    """k of ω = ℓπ/k: `auto` is the paper's, L for homogeneous Dirichlet conditions on [0, L] and otherwise 1.

    `1` and `L` force either. Where no axis has such conditions, L is the length of the first one.
    """
    lengths = [axis.length for i, axis in enumerate(problem.axes) if _vanishes_on_faces(problem, i)]
    if k == "L":
        return [*lengths, problem.axes[0].length][0]
    return lengths[0] if lengths and k == "auto" else 1.0


def _vanishes_on_faces(problem: Problem, index: int) -> bool:
    """Whether u = 0 is asked for on both faces of an axis."""
    faces = {
        jet.place[index]
        for condition in problem.conditions
        if condition.kind == "dirichlet" and problem.value(condition.source) == 0
        for jet in condition.jets.values()
    }
    return {problem.axes[index].lower, problem.axes[index].upper} <= faces


def decoupled_indices(axes: int, sets: int) -> np.ndarray:
    """(i, j, …) with every combination of low indices, nearest the origin first: ω and λ are not tied together."""
    reach = max(2, math.ceil(2 * sets ** (1 / axes)))
    combinations = np.array(list(itertools.product(range(1, reach + 1), repeat=axes)), dtype=float)
    order = np.lexsort((*combinations.T[::-1], np.prod(combinations, axis=1)))
    return combinations[order[:sets]]
