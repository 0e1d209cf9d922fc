"""u(x) = Σ_k c_k T_k₁(x₁) T_k₂(x₂) …: a sum over only those products of Chebyshev polynomials that are in a list.

In many dimensions a full grid of products is out of reach, and most of them are not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..trees import Tree, static
from .basis import AxisBasis
from .field import Orders

BLOCK = 2_000_000  # numbers in a table of points × products


class SparseSeries(Tree):
    """`indices` (products, axes), `coefficients` (products, fields); `error` is the solver's own estimate."""

    in_parts: ClassVar[str] = "products of polynomials, chosen during the solve"

    coefficients: Any
    indices: Any
    error: Any
    lower: tuple[float, ...] = static()
    upper: tuple[float, ...] = static()

    @property
    def parameters(self) -> int:
        return int(np.size(self.coefficients))

    def __call__(self, point: Any) -> Any:
        order = (0,) * len(self.lower)
        return self.jets(np.asarray(point)[None, :], [order])[order][0]

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        points, c = np.asarray(points, dtype=float), np.asarray(self.coefficients)
        size = max(1, BLOCK // max(1, len(c)))
        parts = range(0, len(points), size)
        return {
            order: np.concatenate([self.table(points[i : i + size], order) @ c for i in parts])
            for order in orders
        }

    def table(self, points: np.ndarray, order: Orders) -> np.ndarray:
        """∂^order of every product at the points, (points, products)."""
        indices = np.asarray(self.indices)
        found = np.ones((len(points), len(indices)))
        for i, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            basis = AxisBasis("chebyshev", int(indices[:, i].max(initial=0)), low, high)
            if order[i] or basis.modes:
                found *= basis(points[:, i], order[i])[:, indices[:, i]]
        return found

    def spec(self) -> dict[str, Any]:
        products, axes = np.shape(self.indices)
        fields = int(np.shape(self.coefficients)[1])
        return {"kind": "sparse", "products": products, "axes": axes, "fields": fields}


def sparse_skeleton(problem: Any, spec: dict[str, Any]) -> SparseSeries:
    """A sum of the structure `spec` describes, all numbers zero."""
    ends = tuple(axis.lo for axis in problem.axes), tuple(axis.hi for axis in problem.axes)
    shape = spec["products"], spec["fields"]
    return SparseSeries(
        np.zeros(shape), np.zeros((shape[0], spec["axes"]), int), np.zeros(shape[1] + 1), *ends
    )
