"""φ: point → features. `a + b` joins two feature maps."""

from __future__ import annotations

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


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
        lower, upper = jnp.asarray(self.lower, point.dtype), jnp.asarray(self.upper, point.dtype)
        return 2 * (point - lower) / (upper - lower) - 1
