"""u(x) with its derivatives: what a solver builds, and what is measured, drawn and saved.

A network needs no more than to be called: its derivatives follow from its layers (`derivatives`), and its method says
how to build it again. The fields of direct solvers know both in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..problem import Problem
from ..problem.jets import Orders as Orders


@runtime_checkable
class Field(Protocol):
    """A function from a point to the unknowns that knows its derivatives and how to be built again."""

    def __call__(self, point: Any) -> Any: ...

    def jets(self, points: Any, orders: Sequence[Orders]) -> Mapping[Orders, Any]:
        """{α: ∂^α u} at many points, each (points, unknowns)."""

    def spec(self) -> dict[str, Any]:
        """What is needed beside its arrays to build it again: see `saved`."""

    @property
    def parameters(self) -> int: ...


@runtime_checkable
class InPieces(Field, Protocol):
    """A field that may jump where two of its pieces meet."""

    def jump_integrals(
        self, problem: Problem, axis: int, orders: int, points: np.ndarray
    ) -> np.ndarray | None:
        """∫ |[∂^k u]| dS over all faces across an axis, (k below `orders`, unknowns); None if it has none there.

        `points` are scattered over the domain.
        """


def jets(field: Any, points: Any, orders: Sequence[Orders]) -> Mapping[Orders, Any]:
    """{α: ∂^α f} at many points, each (points, fields); a field that knows its derivatives in closed form (`.jets`) is
    asked itself, any other is differentiated by JAX."""
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
