"""u(x, t) ≈ cell means at some times, interpolated linearly in space and time: the result of finite volumes.

Linear interpolation stays between the values it joins, so it does not overshoot a jump. Derivatives are differences
over a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np

from ..trees import Tree, static
from .field import Orders


class Averages(Tree):
    """`values` (times, fields, cells of each axis …) at `times`; nan after the last of them.

    `error` is the solver's own estimate, by the mean of |u − u_h|: for each field, then for all together. `weak` marks
    that residuals at points mean nothing at a jump; a solve is judged by this error instead.
    """

    in_parts: ClassVar[str] = "mean values over cells"
    weak: ClassVar[bool] = True

    values: Any  # NumPy or JAX arrays
    times: Any
    error: Any
    lower: tuple[float, ...] = static()
    upper: tuple[float, ...] = static()
    periodic: tuple[bool, ...] = static()

    @property
    def parameters(self) -> int:
        return int(np.size(self.values))

    def __call__(self, point: Any) -> Any:
        import jax.numpy as jnp

        return self._at(point[None, :], jnp)[0]

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        points = np.asarray(points, dtype=float)
        return {order: self._difference(points, order) for order in orders}

    def _difference(self, points: np.ndarray, order: Orders) -> np.ndarray:
        """∂^order by differences over a cell or the time between two snapshots, kept within the domain."""
        axis = next((i for i, n in enumerate(order) if n), None)
        if axis is None:
            return np.asarray(self._at(points, np))
        lower = tuple(n - (i == axis) for i, n in enumerate(order))
        ends = [*zip(self.lower, self.upper, strict=True), (float(self.times[0]), float(self.times[-1]))]
        counts = [*np.shape(self.values)[2:], len(self.times)]
        (low, high), step = ends[axis], (ends[axis][1] - ends[axis][0]) / counts[axis]
        after, before = points.copy(), points.copy()
        centre = np.clip(points[:, axis], low + step / 2, high - step / 2)
        after[:, axis], before[:, axis] = centre + step / 2, centre - step / 2
        return np.asarray((self._difference(after, lower) - self._difference(before, lower)) / step)

    def _at(self, points: Any, xp: Any) -> Any:
        """Linear between the centres of cells and between times."""
        values, times = xp.asarray(self.values), xp.asarray(self.times)
        t = points[:, -1]
        later = xp.clip(xp.searchsorted(times, t, side="right"), 1, len(times) - 1)
        share = xp.clip((t - times[later - 1]) / (times[later] - times[later - 1]), 0.0, 1.0)
        cells = values.shape[2:]
        places = []
        for i, count in enumerate(cells):
            z = (points[:, i] - self.lower[i]) / (self.upper[i] - self.lower[i]) * count - 0.5
            left = xp.floor(z)
            places.append((left.astype(int), z - left))
        total: Any = 0.0
        for corner in product((0, 1), repeat=len(cells) + 1):
            weight, where = (share if corner[0] else 1 - share), [later - 1 + corner[0], slice(None)]
            for i, (left, part) in enumerate(places):
                index = left + corner[i + 1]
                index = index % cells[i] if self.periodic[i] else xp.clip(index, 0, cells[i] - 1)
                where.append(index)
                weight = weight * (part if corner[i + 1] else 1 - part)
            total = total + weight[:, None] * values[where[0], :, *where[2:]]
        known = t <= times[-1] * (1 + 1e-12) + 1e-300
        return xp.where(known[:, None], total, xp.nan)

    def spec(self) -> dict[str, Any]:
        return {
            "kind": "averages",
            "shape": list(np.shape(self.values)),
            "lower": list(self.lower),
            "upper": list(self.upper),
            "periodic": list(self.periodic),
        }


def averages_skeleton(spec: dict[str, Any]) -> Averages:
    """Averages of the structure `spec` describes, all numbers zero."""
    shape = spec["shape"]
    ends = tuple(spec["lower"]), tuple(spec["upper"]), tuple(spec["periodic"])
    return Averages(np.zeros(shape), np.zeros(shape[0]), np.zeros(shape[1] + 1), *ends)
