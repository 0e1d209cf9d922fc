"""u(x) = Σ_k a_k^(c) T_{k₁}(x₁) T_{k₂}(x₂) … for x in cell c: one linear form on every box of a subdivision.

Small cells where the solution is steep, large ones where it is smooth; together they cover the domain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ..problem import Problem
from ..problem.facts.agreement import torn
from ..trees import Tree, static
from .basis import AxisBasis
from .field import Orders
from .series import contract

MIDPOINTS = 4  # along every axis of a face, at which the jump between two cells is integrated
TORN_SHARE = 0.01  # of the domain: cells at jumping corners that are together smaller are not measured
CLOSE = 1e-9  # relative to a cell: places nearer than this are the same
Cell = tuple[tuple[float, float], ...]  # lower and upper end along each axis


def cell_bases(cell: Cell, degrees: Sequence[int]) -> tuple[AxisBasis, ...]:
    """Chebyshev polynomials along each axis of a cell."""
    return tuple(
        AxisBasis("chebyshev", degree, low, high) for degree, (low, high) in zip(degrees, cell, strict=True)
    )


def shared_faces(cells: Sequence[Cell], axis: int) -> Iterator[tuple[int, int, Cell]]:
    """(a, b, face) for every two cells that meet across `axis`, a below b; the face is a box flat along the axis."""
    box = np.asarray(cells)
    low, length = box[:, axis, 0].min(), box[:, axis, 1].max() - box[:, axis, 0].min()
    ticks = np.rint((box[:, axis] - low) / length * 2**40).astype(np.int64)  # integers, free of rounding
    starts: dict[int, list[int]] = {}
    for index, tick in enumerate(ticks[:, 0].tolist()):
        starts.setdefault(tick, []).append(index)
    for index, tick in enumerate(ticks[:, 1].tolist()):
        for other in starts.get(tick, ()):
            face = _overlap(cells[index], cells[other], axis)
            if face is not None:
                yield index, other, face


def _overlap(cell: Cell, other: Cell, axis: int) -> Cell | None:
    """The face that two cells share across `axis`; None if they only touch."""
    face = []
    for i, ((a, b), (c, d)) in enumerate(zip(cell, other, strict=True)):
        low, high = (b, b) if i == axis else (max(a, c), min(b, d))
        if i != axis and high - low <= CLOSE * (b - a):
            return None
        face.append((low, high))
    return tuple(face)


MANY = 400  # cells: in a grid of at least so many, the cell of a point is looked up in a table


class CellForm(Tree):
    """Coefficients (cells, fields, degree + 1 of each axis …); outside all cells the value is nan."""

    in_parts: ClassVar[str] = "cells with a polynomial in each"

    coefficients: Any  # a NumPy or JAX array
    cells: tuple[Cell, ...] = static()
    degrees: tuple[int, ...] = static()

    @property
    def parameters(self) -> int:
        return int(np.size(self.coefficients))

    def __call__(self, point: Any) -> Any:
        import jax.numpy as jnp

        box = jnp.asarray(self.cells, point.dtype)
        inside = jnp.all((box[:, :, 0] <= point) & (point <= box[:, :, 1]), axis=1)
        which = jnp.argmax(inside)
        value = jnp.asarray(self.coefficients, point.dtype)[which]
        for axis in range(point.shape[0]):
            low, high = box[which, axis, 0], box[which, axis, 1]
            unit = AxisBasis("chebyshev", self.degrees[axis], -1.0, 1.0)
            functions = unit((2 * point[axis] - low - high) / (high - low), 0, jnp)
            value = jnp.tensordot(value, functions, axes=((1,), (0,)))
        return jnp.where(jnp.any(inside), value, jnp.nan)

    def locate(self, points: np.ndarray) -> np.ndarray:
        """The index of a cell that contains each point, −1 for none; outside by a rounding error counts as inside."""
        which = np.full(len(points), -1)
        if (grid := _grid(self.cells)) is not None:
            ticks, table = grid
            at = []
            for i, line in enumerate(ticks):
                slack = CLOSE * np.diff(line).min()
                k = np.clip(np.searchsorted(line, points[:, i] - slack) - 1, 0, len(line) - 2)
                at.append(
                    np.where((points[:, i] < line[0] - slack) | (points[:, i] > line[-1] + slack), -1, k)
                )
            return np.where(np.any(np.array(at) < 0, axis=0), -1, table[tuple(at)])
        for index, cell in enumerate(self.cells):
            box = np.asarray(cell)
            slack = CLOSE * (box[:, 1] - box[:, 0])
            inside = np.all((points >= box[:, 0] - slack) & (points <= box[:, 1] + slack), axis=1)
            which[inside & (which < 0)] = index
        return which

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        points = np.asarray(points, dtype=float)
        which = self.locate(points)
        fields = np.shape(self.coefficients)[1]
        found = {order: np.full((len(points), fields), np.nan) for order in orders}
        by_cell = np.argsort(which, kind="stable")
        ends = np.flatnonzero(np.diff(which[by_cell])) + 1
        for here in np.split(by_cell, ends):
            if here.size and which[here[0]] >= 0:
                for order, values in self.in_cell(int(which[here[0]]), points[here], orders).items():
                    found[order][here] = values
        return found

    def in_cell(self, index: int, points: np.ndarray, orders: Sequence[Orders]) -> dict[Orders, np.ndarray]:
        """{α: ∂^α of the polynomials of one cell}, each (n, fields), also at points outside the cell."""
        # Fields last, so that one contraction serves them all.
        coefficients = np.moveaxis(np.asarray(self.coefficients)[index], 0, -1)
        tables = [
            basis.tables(points[:, i], {order[i] for order in orders})
            for i, basis in enumerate(cell_bases(self.cells[index], self.degrees))
        ]
        return {
            order: contract(coefficients, [table[k] for table, k in zip(tables, order, strict=True)])
            for order in orders
        }

    def jump_integrals(
        self, problem: Problem, axis: int, orders: int, points: np.ndarray
    ) -> np.ndarray | None:
        """By the midpoint rule, with `MIDPOINTS` points along every axis of a face, without those of `_torn` cells."""
        lost = _torn(problem, self.cells)
        totals = np.zeros((orders, len(problem.unknowns)))
        across = [tuple(k if i == axis else 0 for i in range(len(problem.axes))) for k in range(orders)]
        share = (np.arange(MIDPOINTS) + 0.5) / MIDPOINTS
        for a, b, face in shared_faces(self.cells, axis):
            if lost[a] or lost[b]:
                continue
            ticks = [
                low + (high - low) * (share if i != axis else share[:1]) for i, (low, high) in enumerate(face)
            ]
            at = np.stack([mesh.ravel() for mesh in np.meshgrid(*ticks, indexing="ij")], axis=1)
            area = np.prod([high - low for i, (low, high) in enumerate(face) if i != axis]) / len(at)
            at = at[problem.contains(at)]
            below, above = (self.in_cell(cell, at, across) for cell in (a, b))
            for k, order in enumerate(across):
                totals[k] += area * np.abs(below[order] - above[order]).sum(axis=0)
        return totals

    def spec(self) -> dict[str, Any]:
        return {
            "kind": "cells",
            "degrees": list(self.degrees),
            "cells": [[list(ends) for ends in cell] for cell in self.cells],
        }


def _torn(problem: Problem, cells: tuple[Cell, ...]) -> np.ndarray:
    """Cells at a place where u jumps, whose slopes no polynomial meets, if they are a small share of the domain."""
    box = np.array(cells)
    found = np.zeros(len(box), bool)
    for place in torn(problem):
        slack = CLOSE * np.ptp(box, axis=(0, 2))
        at = [
            (box[:, i, 0] - slack[i] <= x) & (x <= box[:, i, 1] + slack[i])
            for i, x in enumerate(place)
            if x is not None
        ]
        found |= np.logical_and.reduce(at)
    volumes = np.prod(box[..., 1] - box[..., 0], axis=1)
    small = volumes[found].sum() <= TORN_SHARE * volumes.sum()
    return found if small else np.zeros(len(box), bool)


@lru_cache(maxsize=8)
def _grid(cells: tuple[Cell, ...]) -> tuple[list[np.ndarray], np.ndarray] | None:
    """The ticks along every axis and the cells between them, if there are many cells and they form a full grid."""
    box = np.array(cells)
    ticks = [np.unique(box[:, i]) for i in range(box.shape[1])]
    shape = tuple(len(line) - 1 for line in ticks)
    if len(cells) < MANY or math.prod(shape) != len(cells):
        return None
    table = np.full(shape, -1)
    table[tuple(np.searchsorted(line, box[:, i, 0]) for i, line in enumerate(ticks))] = np.arange(len(cells))
    return (ticks, table) if (table >= 0).all() else None


class ElementForm(CellForm):
    """A cell form that is continuous across cells; `error` is its solver's estimate for each field, then for all."""

    error: Any

    def spec(self) -> dict[str, Any]:
        return {**super().spec(), "kind": "elements"}


def element_skeleton(fields: int, spec: dict[str, Any]) -> ElementForm:
    form = cell_skeleton(fields, spec)
    return ElementForm(form.coefficients, form.cells, form.degrees, np.zeros(fields + 1))


def cell_skeleton(fields: int, spec: dict[str, Any]) -> CellForm:
    """A cell form of the structure `spec` describes, all coefficients zero."""
    cells = tuple(tuple((float(low), float(high)) for low, high in cell) for cell in spec["cells"])
    # Files of an earlier version have one degree for all axes.
    degrees = tuple(spec["degrees"]) if "degrees" in spec else (spec["degree"],) * len(cells[0])
    shape = (len(cells), fields, *(degree + 1 for degree in degrees))
    return CellForm(np.zeros(shape), cells, degrees)


def interpolation(degree: int) -> tuple[AxisBasis, np.ndarray, np.ndarray]:
    """Chebyshev polynomials on [−1, 1], equally many nodes, and the matrix from values there to coefficients."""
    unit = AxisBasis("chebyshev", degree, -1.0, 1.0)
    nodes = np.cos(np.pi * (np.arange(unit.size) + 0.5) / unit.size)
    return unit, nodes, np.linalg.inv(unit(nodes))


def restricted(form: CellForm, cells: Sequence[Cell]) -> CellForm:
    """The same function on smaller cells, each within one of the form's cells, where it is a polynomial."""
    units, nodes, inverses = zip(*map(interpolation, form.degrees), strict=True)
    middles = np.array([[(low + high) / 2 for low, high in cell] for cell in cells])
    parents = form.locate(middles)
    coefficients = []
    for cell, parent in zip(cells, parents, strict=True):
        value = np.asarray(form.coefficients)[parent]
        for axis, ((low, high), (start, end)) in enumerate(zip(cell, form.cells[parent], strict=True)):
            inner = (low + high) / 2 + (high - low) / 2 * nodes[axis]
            change = inverses[axis] @ units[axis]((2 * inner - start - end) / (end - start))
            value = np.moveaxis(np.tensordot(change, np.moveaxis(value, axis + 1, 0), axes=1), 0, axis + 1)
        coefficients.append(value)
    return CellForm(np.stack(coefficients), tuple(cells), form.degrees)
