"""u = u_p + Σ (a_n + s_n) φ_n, s = F w, w ~ N(0, I): a Gaussian field whose every sample solves the equations.

The mean is a sum of modes like any other. The covariance of the coefficients is F Fᵀ, so the variance of u, and of any
derivative of it, is the squared norm of a row: |φ(x) F|².
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..trees import Tree
from .field import Orders
from .modes import BLOCK, ModalForm, Waves, modal_skeleton


class GaussianForm(Tree):
    """The posterior of a solution: called, it gives the mean; `std` gives the standard deviation.

    `error` is the root mean square of the standard deviation over that of the mean, for each field, then for all.
    """

    in_parts: ClassVar[str] = "exact solutions of the equations with a covariance of their coefficients"

    mean: ModalForm
    modes: ModalForm  # φ_n, each with coefficient one
    twofold: tuple[
        Any, ...
    ]  # for each part: which modes also have an imaginary part with a coefficient of its own
    factor: Any  # F, (coefficients, samples)
    error: Any

    def __call__(self, point: Any) -> Any:
        return self.mean(point)

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        return self.mean.jets(points, orders)

    def std(self, points: Any, order: Orders) -> np.ndarray:
        """One standard deviation of ∂^order u, (points, fields)."""
        points, factor = np.asarray(points, float), np.asarray(self.factor)
        fields = len(self.mean.parts[0].factors)
        parts = [part.derivative(order) for part in self.modes.parts]
        found = np.empty((len(points), fields))
        size = max(1, BLOCK // max(len(factor), 1))
        for start in range(0, len(points), size):
            block = slice(start, start + size)
            for f in range(fields):
                found[block, f] = np.linalg.norm(self._table(parts, points[block], f) @ factor, axis=1)
        return found

    def _table(self, parts: Sequence[Waves], points: np.ndarray, field: int) -> np.ndarray:
        columns = []
        for part, twofold in zip(parts, self.twofold, strict=True):
            table = part.table(points, field)
            columns += [table.real, -table[:, np.asarray(twofold, bool)].imag]
        return np.hstack(columns)

    def spec(self) -> dict[str, Any]:
        return {
            "kind": "gaussian",
            "mean": self.mean.spec(),
            "modes": self.modes.spec(),
            "factor": list(np.shape(self.factor)),
        }

    @property
    def parameters(self) -> int:
        return len(self.factor)


def gaussian_skeleton(axes: int, fields: int, spec: dict[str, Any]) -> GaussianForm:
    """A field of the structure `spec` describes, all numbers zero."""
    modes = modal_skeleton(axes, spec["modes"])
    twofold = tuple(np.zeros(len(part.exponents), bool) for part in modes.parts)
    factor, error = np.zeros(spec["factor"]), np.zeros(fields + 1)
    return GaussianForm(modal_skeleton(axes, spec["mean"]), modes, twofold, factor, error)
