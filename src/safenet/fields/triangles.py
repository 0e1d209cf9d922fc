"""u(x, t) = Σ_k φ_k(x) u_k(t): quadratic (or linear) on triangles or tetrahedra with bent sides, cubic between times.

φ are the six (ten) quadratic functions of a triangle (tetrahedron) in the coordinates ξ of a straight one; the map x(ξ)
uses the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy

from ..trees import Tree
from .field import Orders

NEAR = {2: 12, 3: 40}  # dimension → how many of the nearest cells are searched for each point
NEWTON = 6  # the most steps to find ξ in a bent cell
# The two corners of each mid-side node, in the order of these nodes.
MIDDLES = {1: ((0, 1),), 2: ((0, 1), (1, 2), (2, 0)), 3: ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))}


def local_nodes(dimension: int) -> np.ndarray:
    """ξ of the corners and mid-side nodes of the straight cell."""
    corners = np.vstack([np.zeros(dimension), np.eye(dimension)])
    return np.vstack([corners, *((corners[i] + corners[j]) / 2 for i, j in MIDDLES[dimension])])


def quadratic(xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """φ (n, k) and ∂φ (n, k, d) at ξ: λ(2λ − 1) for corners, 4λμ for mid-side nodes."""
    l, d = linear(xi)
    corners, pairs = range(l.shape[1]), MIDDLES[xi.shape[1]]
    values = [l[:, i] * (2 * l[:, i] - 1) for i in corners] + [4 * l[:, i] * l[:, j] for i, j in pairs]
    slopes = [(4 * l[:, i] - 1)[:, None] * d[:, i] for i in corners]
    slopes += [4 * (l[:, i, None] * d[:, j] + l[:, j, None] * d[:, i]) for i, j in pairs]
    return np.stack(values, axis=1), np.stack(slopes, axis=1)


def linear(xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """λ = (1 − Σ ξ_i, ξ_1, …) and its slopes."""
    count, d = xi.shape
    values = np.column_stack([1 - xi.sum(axis=1), xi])
    return values, np.broadcast_to(np.vstack([-np.ones(d), np.eye(d)]), (count, d + 1, d))


def mapped(corners: np.ndarray, xi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x (n, d) and ∂x/∂ξ (n, d, d) in cells with nodes `corners` (n, k, d)."""
    values, slopes = quadratic(xi)
    return np.einsum("nk,nki->ni", values, corners), np.einsum("nkj,nki->nij", slopes, corners)


class Triangles(Tree):
    """`values` of each field: (times, nodes), or (times, vertices) if it is linear; nan beyond the last time.

    `error` is the solver's own estimate: the relative error of each field, then of all together; nan if unknown.
    """

    in_parts: ClassVar[str] = "finite elements"
    rough: ClassVar[bool] = True  # residuals measure second derivatives, which are far worse than values

    values: tuple[Any, ...]
    times: Any
    nodes: Any  # (nodes, 2), for tetrahedra (nodes, 3)
    cells: Any  # (cells, 6), for tetrahedra (cells, 10)
    error: Any

    @property
    def balanced(self) -> bool:
        """Whether equations are measured by balances over boxes: quadratic functions have poor second derivatives, and
        at a corner those of the solution may be infinite. Not with a pressure, which has no balance of its own."""
        return all(np.shape(own)[1] == len(self.nodes) for own in self.values)

    @property
    def parameters(self) -> int:
        return sum(int(np.size(own)) for own in self.values)

    def __call__(self, point: Any) -> Any:
        order = (0,) * len(point)
        return self.jets(np.asarray(point)[None, :], [order])[order][0]

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        """First derivatives are those of the functions; second ones are those of slopes averaged at the nodes."""
        points = np.asarray(points, dtype=float)
        d = int(np.shape(self.nodes)[1])
        where, xi = located(np.asarray(self.nodes), np.asarray(self.cells), points[:, :d], self._centres)
        found = {}
        for order in orders:
            space, rate = order[:d], (order[d] if len(order) > d else 0)
            index, weights = self._in_time(
                points[:, d] if points.shape[1] > d else np.zeros(len(points)), rate
            )
            columns = [self._field(own, where, xi, space, index, weights) for own in self.values]
            found[order] = np.stack(columns, axis=1)
        return found

    def _field(
        self,
        own: Any,
        where: np.ndarray,
        xi: np.ndarray,
        space: Orders,
        index: np.ndarray,
        weights: np.ndarray,
    ) -> np.ndarray:
        values = np.asarray(own)
        nodes, cells = np.asarray(self.nodes), np.asarray(self.cells)
        while sum(space) > 1:
            axis = next(i for i, n in enumerate(space) if n)
            values = values @ self._recovery(axis, values.shape[1])
            space = tuple(n - (i == axis) for i, n in enumerate(space))
        shape, slopes = (linear if values.shape[1] < len(nodes) else quadratic)(xi)
        few = shape.shape[1]
        if sum(space):
            _, jacobian = mapped(nodes[cells[where]], xi)
            along = next(i for i, n in enumerate(space) if n)
            shape = np.einsum("nkj,nji->nki", slopes, np.linalg.inv(jacobian))[:, :, along]
        local = values[index[:, :, None], cells[where][:, None, :few]]
        return np.asarray(np.einsum("ptk,pt,pk->p", local, weights, shape))

    @cached_property
    def _centres(self) -> scipy.spatial.KDTree:
        return centres(np.asarray(self.nodes), np.asarray(self.cells))

    @cached_property
    def _recoveries(self) -> dict[tuple[int, int], Any]:
        return {}

    def _recovery(self, axis: int, size: int) -> Any:
        """`recovery` transposed, built once for all fields and derivatives."""
        if (axis, size) not in self._recoveries:
            matrix = recovery(np.asarray(self.nodes), np.asarray(self.cells), axis, size)
            self._recoveries[axis, size] = matrix.T
        return self._recoveries[axis, size]

    def _in_time(self, t: np.ndarray, rate: int) -> tuple[np.ndarray, np.ndarray]:
        """The four nearest times, and the weights of Lagrange's polynomial through them, both (points, 4).

        No polynomial crosses a jump, a time stored twice: the first entry holds up to the jump, the second after it."""
        times = np.asarray(self.times)
        begins = np.flatnonzero(np.diff(times, prepend=-np.inf) <= 0)
        stretches = np.array([0, *begins, len(times)])
        after = np.searchsorted(times, t, side="left")
        most = min(4, len(times))
        index, weights = np.zeros((len(t), most), int), np.zeros((len(t), most))
        for begin, end in pairwise(stretches.tolist()):
            here = (begin <= after) & ((after < end) | (end == len(times)))
            count = min(most, end - begin)
            first = np.clip(after[here] - count // 2, begin, end - count)
            index[here, :count] = first[:, None] + np.arange(count)
            weights[here, :count] = lagrange(times[index[here, :count]], t[here], rate)
        weights[t > times[-1] + 1e-9 * (times[-1] - times[0])] = np.nan
        return index, weights

    def spec(self) -> dict[str, Any]:
        return {
            "kind": "triangles",
            "times": len(self.times),
            "nodes": len(self.nodes),
            "cells": len(self.cells),
            "dimension": int(np.shape(self.nodes)[1]),
            "sizes": [int(np.shape(own)[1]) for own in self.values],
        }


def triangles_skeleton(spec: dict[str, Any]) -> Triangles:
    """Triangles of the structure `spec` describes, all numbers zero."""
    values = tuple(np.zeros((spec["times"], size)) for size in spec["sizes"])
    d = spec.get("dimension", 2)
    grid = np.zeros((spec["nodes"], d)), np.zeros((spec["cells"], (d + 1) * (d + 2) // 2), int)
    return Triangles(values, np.zeros(spec["times"]), *grid, np.zeros(len(values) + 1))


def lagrange(nodes: np.ndarray, t: np.ndarray, rate: int) -> np.ndarray:
    """The rate-th derivative at t of Lagrange's polynomials of the nodes (points, count)."""
    count = nodes.shape[1]
    length = np.maximum(nodes[:, -1] - nodes[:, 0], 1e-300)
    z, x = (nodes - nodes[:, :1]) / length[:, None], (t - nodes[:, 0]) / length
    powers = np.stack([z**k for k in range(count)], axis=1)  # rows: Σ_j w_j z_j^k = d^rate x^k
    wanted = [
        np.prod(np.arange(k - rate + 1, k + 1)) * x ** max(k - rate, 0) if k >= rate else 0 * x
        for k in range(count)
    ]
    weights = np.linalg.solve(powers, np.stack(wanted, axis=1)[:, :, None])[:, :, 0]
    return np.asarray(weights / length[:, None] ** rate)


def centres(nodes: np.ndarray, cells: np.ndarray) -> scipy.spatial.KDTree:
    """The centres of the cells, in which near ones are found fast."""
    return scipy.spatial.KDTree(nodes[cells[:, : nodes.shape[1] + 1]].mean(axis=1))


def located(
    nodes: np.ndarray, cells: np.ndarray, points: np.ndarray, tree: scipy.spatial.KDTree | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The cell of each point and ξ in it; points between a chord and its arc get the nearest cell.

    `tree` has the cells' centres; it is built here if it is not given."""
    d = nodes.shape[1]
    tree = centres(nodes, cells) if tree is None else tree
    near = min(NEAR[d], len(cells))
    candidates = tree.query(points, k=near)[1].reshape(len(points), near)
    best, home, place = np.full(len(points), np.inf), np.zeros(len(points), int), np.zeros((len(points), d))
    left = np.arange(len(points))
    for k in range(near):
        which = candidates[left, k]
        xi = _coordinates(nodes[cells[which]], points[left])
        outside = np.maximum(np.max(-xi, axis=1), xi.sum(axis=1) - 1)
        better = outside < best[left]
        chosen = left[better]
        best[chosen], home[chosen], place[chosen] = outside[better], which[better], xi[better]
        left = left[best[left] > 1e-10]
        if not len(left):
            break
    return home, place


def _coordinates(corners: np.ndarray, points: np.ndarray) -> np.ndarray:
    """ξ with x(ξ) = p, by Newton's method; a straight cell takes one step."""
    xi = np.full(points.shape, 1 / (points.shape[1] + 1))
    for _ in range(NEWTON):
        x, jacobian = mapped(corners, xi)
        step = np.linalg.solve(jacobian, (points - x)[:, :, None])[:, :, 0]
        xi = np.clip(xi + step, -2.0, 3.0)
        if np.abs(step).max() < 1e-13:
            break
    return xi


def recovery(nodes: np.ndarray, cells: np.ndarray, axis: int, size: int) -> scipy.sparse.csr_matrix:
    """Values → slopes along an axis at the nodes, averaged over the cells around each: (size, size)."""
    d = nodes.shape[1]
    few = d + 1 if size < len(nodes) else cells.shape[1]
    functions, local = (linear if size < len(nodes) else quadratic), local_nodes(d)
    rows, columns, entries = [], [], []
    for k in range(few):
        at = np.broadcast_to(local[k], (len(cells), d))
        _, slopes = functions(at)
        _, jacobian = mapped(nodes[cells], at)
        gradient = np.einsum("nkj,nji->nki", slopes, np.linalg.inv(jacobian))[:, :, axis]
        rows.append(np.repeat(cells[:, k], few))
        columns.append(cells[:, :few].ravel())
        entries.append(gradient.ravel())
    around = np.bincount(cells[:, :few].ravel(), minlength=size)
    row = np.concatenate(rows)
    return scipy.sparse.csr_matrix(
        (np.concatenate(entries) / around[row], (row, np.concatenate(columns))), (size, size)
    )
