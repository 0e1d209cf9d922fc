"""f(x) inside a network that trains, with every number of f kept as it is."""

from __future__ import annotations

from typing import Any

from jaxtyping import Array, Float

from ..features import Features
from ..features.base import Frozen


class FrozenMap(Frozen):
    """A network or features that no optimiser moves; `array` is the map, a pytree of arrays."""

    array: Any

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " values"]:
        return self.array(point)


class FrozenFeatures(Features):
    """φ with its frequencies and amplitudes as they start."""

    map: FrozenMap

    @property
    def size(self) -> int:
        return self.map.array.size

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        return self.map(point)
