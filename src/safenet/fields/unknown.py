"""u = nan: what is known where a solver was given up before it had anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .derivatives import Orders


class Unknown(eqx.Module):
    """No value anywhere, of so many fields."""

    in_parts: ClassVar[str] = "nothing: the solver was given up before it had anything"

    fields: int = eqx.field(static=True)

    @property
    def parameters(self) -> int:
        return 0

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        return jnp.full(self.fields, jnp.nan, point.dtype)

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        return {order: np.full((len(points), self.fields), np.nan) for order in orders}

    def spec(self) -> dict[str, Any]:
        return {"kind": "unknown"}
