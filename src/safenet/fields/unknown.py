"""u = nan: the field of a solver that was stopped before it had a solution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..trees import Tree, static
from .field import Orders


class Unknown(Tree):
    """`fields` unknowns without a value anywhere."""

    kind: ClassVar[str] = "unknown"
    in_parts: ClassVar[str] = "nothing, because the solve stopped before it had one"

    fields: int = static()

    @property
    def parameters(self) -> int:
        return 0

    def __call__(self, point: Any) -> Any:
        import jax.numpy as jnp

        return jnp.full(self.fields, jnp.nan, point.dtype)

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        return {order: np.full((len(points), self.fields), np.nan) for order in orders}

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind}
