"""f(x) inside a network that trains, with every number of f fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from jaxtyping import Array, Float

from ..features import Features
from ..features.base import Frozen, image, table
from ..fields.derivatives import Jets, Orders, propagated


class FrozenMap(Frozen):
    """A network or features that no optimiser moves; `array` is the map, a pytree of arrays."""

    array: Any
    operators: ClassVar[tuple[str, ...]] = ("propagate",)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " values"]:
        values: Array = self.array(point)
        return values

    def propagate(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        return propagated(self.array, x, orders)


class FrozenFeatures(Features):
    """φ with its frequencies and amplitudes fixed at their initial values."""

    map: FrozenMap
    operators: ClassVar[tuple[str, ...]] = ("table", "image")

    @property
    def size(self) -> int:
        return int(self.map.array.size)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        return self.map(point)

    def table(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        return table(self.map.array, x, orders)

    def image(
        self, W: Float[Array, "rows features"], x: Float[Array, "axes points"], orders: Sequence[Orders]
    ) -> Jets:
        return image(self.map.array, W, x, orders)
