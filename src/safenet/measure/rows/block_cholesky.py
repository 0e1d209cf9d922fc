"""A = L Lᵀ for a symmetric positive matrix of dense square blocks, sparse as a whole: cells that touch are coupled.

Eliminating a cell couples all its remaining neighbours; the one with the fewest goes first. Each elimination is dense
arithmetic on the panel P of the cell's neighbours,

    A_cc = L Lᵀ,      P ← A_nc L⁻ᵀ,      A_nn ← A_nn − P Pᵀ,

so it runs at the speed of a matrix product, which a sparse solver for scattered entries does not reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from ..thresholds import RIDGE_MORE, RIDGE_MOST

Blocks = Mapping[tuple[int, int], np.ndarray]  # (i, j) → A_ij; A_ji may be left out


@dataclass
class _Pivot:
    cell: int
    neighbours: np.ndarray  # cells that are eliminated later
    factor: np.ndarray
    panel: np.ndarray


class BlockCholesky:
    """Factors A + ridge·I, where the ridge is raised while rounding makes a pivot negative."""

    def __init__(self, blocks: Blocks, count: int, ridge: float) -> None:
        order, neighbours = elimination(blocks, count)
        while True:
            try:
                self.pivots = self._eliminate(blocks, order, neighbours, ridge)
                return
            except np.linalg.LinAlgError:
                if not ridge < RIDGE_MOST:
                    raise
                ridge *= RIDGE_MORE

    @staticmethod
    def _eliminate(
        blocks: Blocks, order: list[int], neighbours: list[list[int]], ridge: float
    ) -> list[_Pivot]:
        place = {cell: i for i, cell in enumerate(order)}
        # Below the diagonal in the order of elimination: (later, earlier).
        left: dict[tuple[int, int], np.ndarray] = {}
        for (i, j), block in blocks.items():
            if place[i] >= place[j]:
                left[i, j] = block.copy()
            else:
                left.setdefault((j, i), block.T.copy())
        pivots = []
        for cell, later in zip(order, neighbours, strict=True):
            diagonal = left.pop((cell, cell))
            width = len(diagonal)
            diagonal[np.diag_indices(width)] += ridge
            factor = scipy.linalg.cholesky(diagonal, lower=True, overwrite_a=True, check_finite=False)
            panel = np.empty((0, width))
            if later:
                stacked = np.concatenate([left.pop((n, cell)) for n in later])
                panel = scipy.linalg.solve_triangular(factor, stacked.T, lower=True, check_finite=False).T
                update = panel @ panel.T
                for a, n in enumerate(later):
                    for b, m in enumerate(later[: a + 1]):
                        part = update[a * width : (a + 1) * width, b * width : (b + 1) * width]
                        if (n, m) in left:
                            left[n, m] -= part
                        else:
                            left[n, m] = -part
            pivots.append(_Pivot(cell, np.array(later, dtype=int), factor, panel))
        return pivots

    def solve(self, vector: np.ndarray) -> np.ndarray:
        """A⁻¹ v for v of shape (cells, width), or (cells, width, k): k of them."""
        found = vector.copy()
        for pivot in self.pivots:
            own = scipy.linalg.solve_triangular(
                pivot.factor, found[pivot.cell], lower=True, check_finite=False
            )
            found[pivot.cell] = own
            found[pivot.neighbours] -= (pivot.panel @ own).reshape(-1, *vector.shape[1:])
        for pivot in reversed(self.pivots):
            others = found[pivot.neighbours].reshape(-1, *vector.shape[2:])
            own = found[pivot.cell] - pivot.panel.T @ others
            found[pivot.cell] = scipy.linalg.solve_triangular(
                pivot.factor, own, lower=True, trans="T", check_finite=False
            )
        return found


def elimination(blocks: Blocks, count: int) -> tuple[list[int], list[list[int]]]:
    """Cells by minimum degree, and the neighbours that each still has when it is eliminated, in the same order."""
    graph: list[set[int]] = [set() for _ in range(count)]
    for i, j in blocks:
        if i != j:
            graph[i].add(j)
            graph[j].add(i)
    left = set(range(count))
    order, neighbours = [], []
    while left:
        cell = min(left, key=lambda c: (len(graph[c]), c))
        left.remove(cell)
        around = graph[cell]
        for n in around:
            graph[n] |= around
            graph[n] -= {n, cell}
        order.append(cell)
        neighbours.append(around)
    place = {cell: i for i, cell in enumerate(order)}
    return order, [sorted(around, key=place.__getitem__) for around in neighbours]
