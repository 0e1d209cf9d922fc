"""φ: point → features. `a + b` joins two feature maps.

On a batch, features give jets (see `derivatives`): `table(x, orders)` is {α: ∂^α φ}, arrays of (features, points), and
`image(W, x, orders)` is {α: ∂^α W φ}. Both are optional: without `image`, W multiplies the table; without `table`, the
map itself is differentiated. An `image` is worth writing if W can be applied first, since W φ has fewer rows than φ. A
rule that accepts an `Operator` among its orders is named in the class's `operators`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ..fields.derivatives import (
    Jets,
    Orders,
    added,
    by_rule,
    collected,
    knows,
    linear,
    matmul,
    propagated,
    whole,
)
from ..problem import Problem
from ..problem.jets import along


class Frozen(eqx.Module):
    """An array that belongs to the features but not to θ: no gradient reaches it and no optimiser moves it.

    It is a node of its own, so `trainable` finds it by its type anywhere in a tree, without a list of names.
    """

    array: Float[Array, ...]

    @property
    def value(self) -> Float[Array, ...]:
        return lax.stop_gradient(self.array)


class Features(eqx.Module):
    """A map from one point to a vector; `size` is its length."""

    @property
    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]: ...

    def __add__(self, other: Features) -> Joined:
        return Joined((*_parts(self), *_parts(other)))


class Joined(Features):
    """[φ; ψ; …]"""

    parts: tuple[Features, ...]
    operators: ClassVar[tuple[str, ...]] = ("table", "image")

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        return jnp.concatenate([part(point) for part in self.parts])

    def table(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        return stacked([table(part, x, orders) for part in self.parts], orders)

    def image(
        self, W: Float[Array, "rows features"], x: Float[Array, "axes points"], orders: Sequence[Orders]
    ) -> Jets:
        columns = jnp.split(W, np.cumsum([part.size for part in self.parts])[:-1], axis=1)
        parts = zip(self.parts, columns, strict=True)
        return added(*(image(part, column, x, orders) for part, column in parts))


def table(features: Features, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
    """{α: ∂^α φ} by the features' own rule, or by nested forward mode."""
    if knows(features, "table"):
        return by_rule(features, "table", (x,), orders)
    return propagated(features, x, orders)


def stacked(tables: Sequence[Jets], orders: Sequence[Orders]) -> Jets:
    """{α: [∂^α φ; ∂^α ψ; …]}"""
    zero = (0,) * len(orders[0])
    count = max(found[zero].shape[1] for found in tables)
    return {
        alpha: jnp.concatenate([whole(found.get(alpha), found[zero], count) for found in tables])
        for alpha in orders
        if any(alpha in found for found in tables)
    }


def image(
    features: Features,
    W: Float[Array, "rows features"],
    x: Float[Array, "axes points"],
    orders: Sequence[Orders],
) -> Jets:
    """{α: ∂^α W φ} by the features' own rule, or from their table."""
    if knows(features, "image"):
        return by_rule(features, "image", (W, x), orders)
    return linear(W, table(features, x, orders))


def turned_image(
    weights: dict[Orders, Float[Array, "rows features"]],
    P: Float[Array, "features points"],
    orders: Sequence[Orders],
) -> Jets:
    """{α: W_α P}: all derivatives in one product, if those of a table are the same table with other weights W_α.

    `weights` has W_α for every part of an Operator, too.
    """
    beside = jnp.concatenate([collected(weights, alpha) for alpha in orders])
    return dict(zip(orders, jnp.split(matmul(beside, P), len(orders)), strict=True))


def _parts(features: Features) -> tuple[Features, ...]:
    return features.parts if isinstance(features, Joined) else (features,)


class Coordinates(Features):
    """2 (x − lower)/(upper − lower) − 1: the point itself, scaled to [−1, 1]."""

    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)
    operators: ClassVar[tuple[str, ...]] = ("table",)

    @property
    def size(self) -> int:
        return len(self.lower)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " axes"]:
        return 2 * unit(point, self.lower, self.upper) - 1

    def table(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        return affine(self, [2 / (b - a) for a, b in zip(self.lower, self.upper, strict=True)], x, orders)


class UnitBox(Coordinates):
    """(x − lower)/(upper − lower): the point itself, scaled to [0, 1]."""

    operators: ClassVar[tuple[str, ...]] = ("table",)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " axes"]:
        return unit(point, self.lower, self.upper)

    def table(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        return affine(self, [1 / (b - a) for a, b in zip(self.lower, self.upper, strict=True)], x, orders)


class Unscaled(Coordinates):
    """x: the point itself, in the problem's own units."""

    operators: ClassVar[tuple[str, ...]] = ("table",)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " axes"]:
        return point

    def table(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        return affine(self, [1.0] * len(self.lower), x, orders)


def affine(
    coordinates: Coordinates,
    slopes: Sequence[float],
    x: Float[Array, "axes points"],
    orders: Sequence[Orders],
) -> Jets:
    """The values of the coordinates, and ∂_i of the i-th, which is constant; all other derivatives are zero."""
    first = jnp.diag(jnp.asarray(slopes, x.dtype))
    values = jax.vmap(coordinates, in_axes=1, out_axes=1)(x)
    return straight(values, {axis: first[:, [axis]] for axis in range(len(slopes))}, orders)


def straight(
    values: Float[Array, "rows points"], slopes: dict[int, Float[Array, "rows 1"]], orders: Sequence[Orders]
) -> Jets:
    """The jets of values that are linear along each axis, with constant slopes."""
    axes = len(orders[0])
    first = {along(axis, axes): slope for axis, slope in slopes.items()}
    wanted = {alpha: collected(first, alpha) for alpha in orders}
    return {(0,) * axes: values} | {alpha: slope for alpha, slope in wanted.items() if slope is not None}


def unit(
    point: Float[Array, " axes"], lower: tuple[float, ...], upper: tuple[float, ...]
) -> Float[Array, " axes"]:
    """(x − lower)/(upper − lower), rounded so that both faces are hit exactly: 0 and 1."""
    low, high = jnp.asarray(lower, point.dtype), jnp.asarray(upper, point.dtype)
    return (point - low) / (high - low)


def box(problem: Problem) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The lower and the upper corner of the domain's box."""
    return tuple(axis.lo for axis in problem.axes), tuple(axis.hi for axis in problem.axes)
