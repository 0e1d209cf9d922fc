"""u(x) = u₁(x) + ε u₂(x): a second network for the error of the first (multi-stage refinement; Wang and Lai, 2024).

ε is the size of that error, so that u₂ is a function of size one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from ..features.base import Frozen
from ..fields.derivatives import Jets, Orders, added, propagated
from .frozen import FrozenMap


class Staged(eqx.Module):
    """The sum, in which only u₂ is trained; `scale` is ε, one for each field, and `method` is the `Method` of u₂."""

    first: FrozenMap
    second: Any
    scale: Frozen
    method: Any = eqx.field(static=True)
    operators: ClassVar[tuple[str, ...]] = ("propagate",)
    subject: ClassVar[str] = "all parameters of the second network, on what the first has left"

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        second: Array = self.second(point)
        return self.first(point) + self.scale.value * second

    def propagate(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        second = {
            alpha: self.scale.value[:, None] * h for alpha, h in propagated(self.second, x, orders).items()
        }
        return added(propagated(self.first, x, orders), second)

    @property
    def perceptron(self) -> Any:
        """The part whose parameters are trained."""
        return self.second.perceptron

    @property
    def parameters(self) -> int:
        return int(self.first.array.parameters + self.second.parameters)
