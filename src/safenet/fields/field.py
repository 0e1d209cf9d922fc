"""u(x) with its derivatives: what a solver builds, and what is measured, drawn and saved.

A network only has to be callable: its derivatives follow from its layers (`derivatives`), and its method says how to
rebuild it. The fields of direct solvers have derivatives in closed form and describe themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..problem import Problem
from ..problem.jets import Orders as Orders


@runtime_checkable
class Field(Protocol):
    """A function from a point to the unknowns that knows its derivatives and how to be rebuilt."""

    def __call__(self, point: Any) -> Any: ...

    def jets(self, points: Any, orders: Sequence[Orders]) -> Mapping[Orders, Any]:
        """{α: ∂^α u} at many points, each (points, unknowns)."""

    def spec(self) -> dict[str, Any]:
        """What is needed besides its arrays to rebuild it; see `saved`."""

    @property
    def parameters(self) -> int: ...


@runtime_checkable
class InPieces(Field, Protocol):
    """A field that may jump where two of its pieces meet."""

    def jump_integrals(
        self, problem: Problem, axis: int, orders: int, points: np.ndarray
    ) -> np.ndarray | None:
        """∫ |[∂^k u]| dS over all faces across an axis, (k below `orders`, unknowns); None if it has no such faces.

        `points` are scattered over the domain.
        """


def is_network(field: Any) -> bool:
    """Whether it is a map of one point, differentiated by JAX, and not a field that knows its derivatives."""
    return not hasattr(field, "jets")


def jets(field: Any, points: Any, orders: Sequence[Orders]) -> Mapping[Orders, Any]:
    """{α: ∂^α f} at many points, each (points, fields): by the field's own closed form (`.jets`) if it has one, else by
    JAX."""
    closed = getattr(field, "jets", None)
    if closed is None:
        from .derivatives import differentiated

        return differentiated(field, points, tuple(orders))
    found: Mapping[Orders, Any] = closed(points, orders)
    return found


def values(field: Any, points: Any, orders: Orders | None = None) -> np.ndarray:
    """u, or one derivative of it, at many points, (points, fields)."""
    orders = (0,) * np.shape(points)[1] if orders is None else orders
    return np.asarray(jets(field, points, [orders])[orders])


def volume(problem: Problem) -> float:
    """∫ dx over the domain."""
    region = problem.region
    inside, rest = (
        (1.0, problem.axes) if region is None else (region.measure, problem.axes[region.dimension :])
    )
    return inside * float(np.prod([axis.length for axis in rest]))
