"""f(x, y) = Σ c_ij B_i(x) B_j(y): splines on a grid, with NumPy or JAX, for any coefficients c.

On the cell between two knots the p + 1 B-splines of degree p that are not zero are polynomials in x − knot: their
coefficients are tabulated once, and a value is a gather and a few products. Degree 0 is constant in cells, 1 piecewise
linear, 3 smooth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import factorial
from types import ModuleType
from typing import Any

import numpy as np
import scipy

DEGREES = {"constant": 0, "linear": 1, "spline": 3}


@dataclass(frozen=True, eq=False)
class Line:
    """The B-splines of one degree along one axis. `knots` includes the extra knots at the ends."""

    knots: np.ndarray
    degree: int

    @property
    def size(self) -> int:
        return len(self.knots) - self.degree - 1

    @cached_property
    def breaks(self) -> np.ndarray:
        """The ends of the cells."""
        return self.knots[self.degree : len(self.knots) - self.degree]

    @cached_property
    def tables(self) -> np.ndarray:
        """(cell, B-spline, power): the polynomials of each cell."""
        p, cells = self.degree, len(self.breaks) - 1
        found = np.zeros((cells, p + 1, p + 1))
        for i in range(self.size):
            one = scipy.interpolate.PPoly.from_spline(
                scipy.interpolate.BSpline(self.knots, np.eye(self.size)[i], p)
            ).c[::-1]
            for cell in range(max(0, i - p), min(cells, i + 1)):
                found[cell, i - cell] = one[:, cell + p]
        return found

    def weights(self, x: Any, order: int, xp: ModuleType) -> tuple[Any, list[Any]]:
        """The index of the first nonzero B-spline at each x, and the derivatives of it and the next p of this order."""
        cells = len(self.breaks) - 1
        cell = xp.clip(xp.searchsorted(xp.asarray(self.breaks), x, side="right") - 1, 0, cells - 1)
        table, d = xp.asarray(self.tables)[cell], x - xp.asarray(self.breaks)[cell]
        values = []
        for b in range(self.degree + 1):
            total: Any = 0.0 * d
            for k in range(self.degree, order - 1, -1):
                total = total * d + factorial(k) / factorial(k - order) * table[..., b, k]
            values.append(total)
        return cell, values

    def design(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """(points, B-splines)"""
        cell, values = self.weights(np.asarray(x, float), order, np)
        found = np.zeros((len(x), self.size))
        for b, value in enumerate(values):
            found[np.arange(len(x)), cell + b] = value
        return found

    @staticmethod
    def uniform(low: float, high: float, cells: int, degree: int = 3) -> Line:
        """Cells of equal length, with knots beyond the ends: all B-splines are translates of one."""
        h = (high - low) / cells
        knots = low + h * np.arange(-degree, cells + degree + 1)
        knots[[degree, -degree - 1]] = low, high
        return Line(knots, degree)


@dataclass(frozen=True, eq=False)
class Spline:
    """Σ c_ij… B_i(x) B_j(y) …; a call may replace `coefficients`, for instance by traced ones."""

    lines: tuple[Line, ...]
    coefficients: np.ndarray

    def __call__(
        self, at: Sequence[Any], orders: Sequence[int], xp: ModuleType = np, coefficients: Any = None
    ) -> Any:
        c = xp.asarray(self.coefficients if coefficients is None else coefficients)
        parts = [line.weights(x, k, xp) for line, x, k in zip(self.lines, at, orders, strict=True)]
        total: Any = 0.0
        for offsets in np.ndindex(*(line.degree + 1 for line in self.lines)):
            term = c[tuple(cell + b for (cell, _), b in zip(parts, offsets, strict=True))]
            for (_, values), b in zip(parts, offsets, strict=True):
                term = term * values[b]
            total = total + term
        return total

    def design(self, at: Sequence[np.ndarray], orders: Sequence[int]) -> np.ndarray:
        """(points, coefficients): every product of B-splines at every point."""
        at = [np.ravel(x) for x in np.broadcast_arrays(*at)]
        found = np.ones((len(at[0]), 1))
        for line, x, k in zip(self.lines, at, orders, strict=True):
            found = (found[:, :, None] * line.design(x, k)[:, None, :]).reshape(len(x), -1)
        return found

    def range(self, orders: Sequence[int]) -> tuple[float, float]:
        """Bounds of the values: B-splines are nonnegative and sum to one, and a derivative is again a spline."""
        c = self.coefficients
        for axis, (line, k) in enumerate(zip(self.lines, orders, strict=True)):
            along, knots = np.moveaxis(c, axis, 0), line.knots
            for p in range(line.degree, max(line.degree - k, 0), -1):
                spans = knots[p + 1 : -1] - knots[1 : len(knots) - p - 1]
                shape = (-1, *[1] * (along.ndim - 1))
                along = p * np.diff(along, axis=0) / np.where(spans > 0, spans, np.inf).reshape(shape)
                knots = knots[1:-1]
            if k > line.degree:
                return 0.0, 0.0
            c = np.moveaxis(along, 0, axis)
        return float(c.min()), float(c.max())


def through(ticks: Sequence[np.ndarray], values: np.ndarray, degree: int) -> Spline:
    """The spline through values on a grid; with degree 0 each value holds up to the midpoints between ticks."""
    lines, c = [], np.asarray(values, float)
    for axis, line in enumerate(ticks):
        degree_here = min(degree, len(line) - 1)
        if degree_here == 0:
            middle = (line[1:] + line[:-1]) / 2
            first, last = (middle[0], middle[-1]) if len(middle) else (line[0] - 1, line[0] + 1)
            knots = np.concatenate([[2 * line[0] - first], middle, [2 * line[-1] - last]])
        else:
            degree_here = degree_here if degree_here % 2 else degree_here - 1
            spline = scipy.interpolate.make_interp_spline(line, np.moveaxis(c, axis, 0), k=degree_here)
            knots, c = spline.t, np.moveaxis(spline.c, 0, axis)
        lines.append(Line(np.asarray(knots, float), degree_here))
    return Spline(tuple(lines), c)
