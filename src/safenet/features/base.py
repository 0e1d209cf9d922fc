"""φ: point → features. `a + b` joins two feature maps."""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ..problem import Problem


class Frozen(eqx.Module):
    """An array that belongs to the features but not to θ: no gradient reaches it and no optimiser moves it.

    A node of its own, so that `trainable` finds it by type wherever it stands and no list of names is kept.
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

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        return jnp.concatenate([part(point) for part in self.parts])


def _parts(features: Features) -> tuple[Features, ...]:
    return features.parts if isinstance(features, Joined) else (features,)


class Coordinates(Features):
    """2 (x − lower)/(upper − lower) − 1: the point itself, scaled to [−1, 1]."""

    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        return len(self.lower)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " axes"]:
        return 2 * unit(point, self.lower, self.upper) - 1


class UnitBox(Coordinates):
    """(x − lower)/(upper − lower): the point itself, scaled to [0, 1]."""

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " axes"]:
        return unit(point, self.lower, self.upper)


class Unscaled(Coordinates):
    """x: the point itself, in the problem's own units."""

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " axes"]:
        return point


def unit(
    point: Float[Array, " axes"], lower: tuple[float, ...], upper: tuple[float, ...]
) -> Float[Array, " axes"]:
    """(x − lower)/(upper − lower), rounded so that both faces are hit exactly: 0 and 1."""
    low, high = jnp.asarray(lower, point.dtype), jnp.asarray(upper, point.dtype)
    return (point - low) / (high - low)


def box(problem: Problem) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The lower and the upper corner."""
    return tuple(axis.lo for axis in problem.axes), tuple(axis.hi for axis in problem.axes)
