"""φ_j^(ℓ)(x) = c_j^(ℓ) Π_i {sin | cos}(ω_i^(ℓ) x_i): trainable Fourier products, 2^d for each frequency set ℓ; in more
than three dimensions products of two axes at a time, four for each set.

For two axes, in the paper's order: sin·cos, cos·sin, sin·sin, cos·cos.

Derivatives stay within a set: ∂^α P_p = ± ω^α P_q for its products P, where q swaps sines and cosines on the axes of
odd α_i. So W ∂^α φ = W_α P with other numbers in W_α, and all derivatives are one matrix product with one table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from ..fields.derivatives import Jets, Orders, expanded, matmul
from ..problem import Problem
from .base import Features, Joined, turned_image
from .sincos import sin_cos

MOST = 3  # axes: with more, there would be too many products of all axes, 2^d for each frequency set
FREQUENCIES = ("harmonic", "gaussian", "uniform", "box")
AMPLITUDES = ("unit", "gaussian", "uniform", "xavier", "decay", "slow")
LENGTHS = ("auto", "1", "L", "axis")


def sine_patterns(axes: int) -> list[tuple[bool, ...]]:
    """Which factors are sines, for each product: mixed ones first, then all sines, then all cosines."""
    mixed = [p for p in itertools.product((True, False), repeat=axes) if any(p) and not all(p)]
    return [*mixed, (True,) * axes, (False,) * axes]


def turned(pattern: tuple[bool, ...], alpha: Orders) -> tuple[int, tuple[bool, ...]]:
    """(±1, q) of ∂^α P_p = ± ω^α P_q: sin → cos → −sin → −cos on every axis."""
    minus = sum((n + 1 - is_sine) // 2 for n, is_sine in zip(alpha, pattern, strict=True))
    return (-1) ** minus, tuple(is_sine ^ (n % 2 == 1) for n, is_sine in zip(alpha, pattern, strict=True))


class FourierProducts(Features):
    """N frequency sets ω (N, d) and amplitudes c (N, 2^d), both trainable; phases start at `origin`."""

    omega: Float[Array, "sets axes"]
    amplitude: Float[Array, "sets products"]
    origin: tuple[float, ...] = eqx.field(static=True)
    operators: ClassVar[tuple[str, ...]] = ("image",)

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

    def image(
        self, W: Float[Array, "rows features"], x: Float[Array, "axes points"], orders: Sequence[Orders]
    ) -> Jets:
        """W_α P for all α at once; the columns are ordered product by product here, not set by set."""
        scaled = W.reshape(-1, *self.amplitude.shape) * self.amplitude
        weights = {alpha: self._turned(scaled, alpha) for alpha in expanded(orders)}
        return turned_image(weights, self._products(x), orders)

    def table(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        products = self._products(x).reshape(*self.amplitude.shape[::-1], -1)
        patterns = sine_patterns(self.omega.shape[1])
        found = {}
        for alpha in orders:
            signs, others = zip(*(turned(pattern, alpha) for pattern in patterns), strict=True)
            factor = self.amplitude * self._power(alpha)[:, None] * jnp.asarray(signs, x.dtype)
            moved = products[np.array([patterns.index(other) for other in others])]
            found[alpha] = (factor[:, :, None] * moved.swapaxes(0, 1)).reshape(self.size, -1)
        return found

    def squares(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        """{α: ∂^α Σ_j φ_j²}, by Σ_p c_p² P_p² = Σ_S A_S Π_{i∈S} cos 2ω_i x_i over the sets S of axes.

        A_S = 2^−d Σ_p ± c_p², with a minus for each sine in S, since 2 sin² = 1 − cos 2·.
        """
        axes = len(self.origin)
        signs = np.where(np.array(sine_patterns(axes)), -1, 1)
        doubled = [(2 * s * c, (c - s) * (c + s)) for s, c in self._waves(x)]
        tables: dict[tuple[bool | None, ...], Array] = {}
        rows: dict[Orders, dict[tuple[bool | None, ...], Array]] = {alpha: {} for alpha in orders}
        for S in itertools.product((False, True), repeat=axes):
            A = self.amplitude**2 @ jnp.asarray(np.prod(signs[:, np.array(S)], axis=1), x.dtype) / 2**axes
            for alpha in orders:
                if any(n and not inside for n, inside in zip(alpha, S, strict=True)):
                    continue
                sign, sines = turned((False,) * axes, alpha)
                kind = tuple(is_sine if inside else None for is_sine, inside in zip(sines, S, strict=True))
                factors = (doubled[i][not is_sine] for i, is_sine in enumerate(kind) if is_sine is not None)
                tables.setdefault(kind, math.prod(factors, start=jnp.ones((), x.dtype)))
                rows[alpha][kind] = sign * 2 ** sum(alpha) * self._power(alpha) * A
        if (
            jax.default_backend() != "cpu"
        ):  # there, XLA fuses the sums with the tables, which are never written to memory
            return {alpha: _sum_of_products(row, tables, x.shape[1]) for alpha, row in rows.items()}
        shape = self.omega.shape[0], x.shape[1]
        beside = jnp.concatenate([jnp.broadcast_to(value, shape) for value in tables.values()])
        nothing = jnp.zeros_like(self.omega[:, 0])
        weights = [jnp.concatenate([row.get(kind, nothing) for kind in tables]) for row in rows.values()]
        return dict(zip(orders, jnp.split(matmul(jnp.stack(weights), beside), len(orders)), strict=True))

    def _waves(self, x: Float[Array, "axes points"]) -> list[tuple[Array, Array]]:
        """The sines and cosines of all sets, axis by axis."""
        return [sin_cos(self.omega[:, i, None] * (x[i] - origin)) for i, origin in enumerate(self.origin)]

    def _products(self, x: Float[Array, "axes points"]) -> Float[Array, "features points"]:
        """P, ordered product by product: the first product of all sets, then the second, …"""
        waves = self._waves(x)
        patterns = sine_patterns(len(self.origin))
        return jnp.concatenate(
            [math.prod(wave[not is_sine] for wave, is_sine in zip(waves, p, strict=True)) for p in patterns]
        )

    def _turned(
        self, scaled: Float[Array, "rows sets products"], alpha: Orders
    ) -> Float[Array, "rows features"]:
        """W_α: the columns moved to where ∂^α puts them, times factors, whose gradient is one sum over the rows."""
        patterns = sine_patterns(self.omega.shape[1])
        sources = {}
        for j, pattern in enumerate(patterns):
            sign, other = turned(pattern, alpha)
            sources[other] = sign, scaled[:, :, j]
        signs, columns = zip(*(sources[pattern] for pattern in patterns), strict=True)
        factors = jnp.concatenate([sign * self._power(alpha) for sign in signs])
        return factors * jnp.concatenate(columns, axis=1)

    def _power(self, alpha: Orders) -> Float[Array, " sets"]:
        """ω^α"""
        factors = (self.omega[:, i] for i, n in enumerate(alpha) for _ in range(n))
        return math.prod(factors, start=jnp.ones_like(self.omega[:, 0]))


def _sum_of_products(
    weights: Mapping[Any, Float[Array, " sets"]], tables: Mapping[Any, Array], points: int
) -> Float[Array, "1 points"]:
    """Σ_kinds Σ_sets w T"""
    terms = [weight[:, None] * tables[kind] for kind, weight in weights.items()]
    total = jnp.sum(sum(terms[1:], start=terms[0]), axis=0, keepdims=True)
    return jnp.broadcast_to(total, (1, points))


def fourier_products(
    problem: Problem,
    features: int,
    frequencies: str,
    amplitudes: str,
    k: str = "auto",
    *,
    key: Array,
    dtype: DTypeLike,
) -> Features:
    """`features`/2^d frequency sets, initialised as named; for more than MOST axes, products of two axes at a time."""
    axes = len(problem.axes)
    if axes <= MOST:
        return _products(problem, range(axes), features // 2**axes, (frequencies, amplitudes, k), key, dtype)
    pairs = axis_pairs(axes, max(1, features // 4))
    parts = [
        OnAxes(
            _products(problem, pair, features // (4 * len(pairs)), (frequencies, amplitudes, k), own, dtype),
            pair,
        )
        for pair, own in zip(pairs, jax.random.split(key, len(pairs)), strict=True)
    ]
    return Joined(tuple(parts))


def axis_pairs(axes: int, most: int) -> list[tuple[int, int]]:
    """(0, 1), (1, 2), …, then (0, 2), …: the first `most` pairs of axes, but enough of them to have every axis."""
    steps = (pair for step in range(1, axes) for pair in ((i, (i + step) % axes) for i in range(axes)))
    return list(dict.fromkeys((min(pair), max(pair)) for pair in steps))[: max(most, axes - 1)]


class OnAxes(Features):
    """φ(x_i, x_j): features of some of the axes; their derivatives along the others are zero."""

    inner: FourierProducts
    axes: tuple[int, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        return self.inner.size

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        return self.inner(point[jnp.array(self.axes)])

    def table(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        return self._spread(orders, lambda own: self.inner.table(x[jnp.array(self.axes)], own))

    def image(
        self, W: Float[Array, "rows features"], x: Float[Array, "axes points"], orders: Sequence[Orders]
    ) -> Jets:
        return self._spread(orders, lambda own: self.inner.image(W, x[jnp.array(self.axes)], own))

    def _spread(self, orders: Sequence[Orders], jets: Callable[[list[Orders]], Jets]) -> Jets:
        """The jets of the inner features, by orders for all axes."""
        own = {
            alpha: tuple(alpha[i] for i in self.axes)
            for alpha in orders
            if sum(alpha) == sum(alpha[i] for i in self.axes)
        }
        found = jets(list(dict.fromkeys(own.values())))
        return {alpha: found[inner] for alpha, inner in own.items()}


def _products(
    problem: Problem,
    among: Sequence[int],
    sets: int,
    names: tuple[str, str, str],
    key: Array,
    dtype: DTypeLike,
) -> FourierProducts:
    """Products of all the axes `among`; the formulas of frequencies and amplitudes are beside their names below."""
    (frequencies, amplitudes, k), own = names, [problem.axes[i] for i in among]
    axes, sets = len(own), max(1, sets)
    frequency_key, amplitude_key = jax.random.split(key)
    if frequencies == "box":
        index = decoupled_indices(axes, sets)
        omega = index * np.pi / np.array([axis.length for axis in own])
        origin = tuple(axis.lo for axis in own)
    else:
        index = np.arange(1, sets + 1)[:, None] * np.ones((1, axes))
        origin = (0.0,) * axes
        if frequencies == "harmonic":  # ω = ℓπ/k
            length = np.broadcast_to(harmonic_length(problem, k), len(problem.axes))
            omega = index * np.pi / length[list(among)]
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
    else:  # ℓ⁻²: the spectrum of a smooth function, so that no high mode dominates the first residual; `slow` is ℓ⁻¹
        decay = np.max(index, axis=1) ** (-1.0 if amplitudes == "slow" else -2.0)
        amplitude = jnp.asarray(np.repeat(decay[:, None], shape[1], axis=1), dtype)
    return FourierProducts(jnp.asarray(omega, dtype), amplitude, origin)


def harmonic_length(problem: Problem, k: str = "auto") -> float | np.ndarray:
    """k of ω = ℓπ/k: `auto` is the paper's, L for homogeneous Dirichlet conditions on [0, L] and otherwise 1.

    `1` and `L` force either. Where no axis has such conditions, L is the length of the first one. `axis` gives every
    axis its own length.
    """
    if k == "axis":
        return np.array([axis.length for axis in problem.axes])
    lengths = [axis.length for i, axis in enumerate(problem.axes) if _vanishes_on_faces(problem, i)]
    if k == "L":
        return [*lengths, problem.axes[0].length][0]
    return lengths[0] if lengths and k == "auto" else 1.0


def named_length(problem: Problem, k: str) -> str:
    """`auto` if k gives the same frequencies, so that one network has one name; else k."""
    return "auto" if np.all(harmonic_length(problem, k) == harmonic_length(problem)) else k


def _vanishes_on_faces(problem: Problem, index: int) -> bool:
    """Whether u = 0 is required on both faces of an axis."""
    faces = {
        jet.place[index]
        for condition in problem.conditions
        if condition.kind == "dirichlet" and problem.value(condition.source) == 0
        for jet in condition.jets.values()
    }
    return {problem.axes[index].lower, problem.axes[index].upper} <= faces


def decoupled_indices(axes: int, sets: int) -> np.ndarray:
    """(i, j, …), combinations of low indices with the smallest product first: the axes do not share one index ℓ."""
    reach = max(2, math.ceil(2 * sets ** (1 / axes)))
    combinations = np.array(list(itertools.product(range(1, reach + 1), repeat=axes)), dtype=float)
    order = np.lexsort((*combinations.T[::-1], np.prod(combinations, axis=1)))
    return combinations[order[:sets]]
