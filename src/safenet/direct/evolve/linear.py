"""A x = b for quadratic cells: by LU, or in space by GMRES with a coarse space of linear functions.

LU fills up on tetrahedra: 80,000 unknowns would take minutes and gigabytes. The linear functions on the same cells are
an eighth as many; solved by LU, they remove smooth errors, and sweeps with the diagonal the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ...problem.geometry.mesh import Mesh
from ..thresholds import EVOLVE_SOLVED, EVOLVE_STEPS


def factored_lu(matrix: Any) -> Any:
    """LU in an order for symmetric patterns: half the work or less, also with a pressure. The pressure's diagonal is
    zero only at first: velocities eliminated before it fill it, or another pivot is taken."""
    order = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.01, "options": {"SymmetricMode": True}}
    try:
        return scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(matrix), **order)
    except RuntimeError:  # singular
        return None


@dataclass(frozen=True)
class TwoLevels:
    """A with V-cycles as preconditioner: sweeps with the diagonal, the coarse space, sweeps again."""

    matrix: scipy.sparse.csr_matrix
    diagonal: np.ndarray
    up: scipy.sparse.csr_matrix
    coarse: Any

    def solve(self, right: np.ndarray) -> np.ndarray:
        cycle = scipy.sparse.linalg.LinearOperator(self.matrix.shape, self._cycle)
        found, failed = scipy.sparse.linalg.gmres(
            self.matrix,
            right,
            rtol=EVOLVE_SOLVED,
            atol=0.0,
            restart=60,
            maxiter=EVOLVE_STEPS // 60 + 1,
            M=cycle,
        )
        return np.full_like(right, np.nan) if failed else np.asarray(found)

    def _cycle(self, right: np.ndarray) -> np.ndarray:
        found = self._swept(np.zeros_like(right), right)
        found = found + self.up @ self.coarse.solve(self.up.T @ (right - self.matrix @ found))
        return self._swept(found, right)

    def _swept(self, x: np.ndarray, right: np.ndarray) -> np.ndarray:
        for _ in range(2):
            x = x + 0.5 * (right - self.matrix @ x) / self.diagonal
        return x


def two_levels(matrix: Any, up: scipy.sparse.csr_matrix) -> TwoLevels | None:
    A = scipy.sparse.csr_matrix(matrix)
    coarse = factored_lu(up.T @ A @ up)
    diagonal = A.diagonal()
    if coarse is None or not np.all(diagonal):
        return None
    return TwoLevels(A, diagonal, up, coarse)


def linear_to_quadratic(
    mesh: Mesh, taken: np.ndarray, middles: tuple[tuple[int, int], ...]
) -> scipy.sparse.csr_matrix:
    """The matrix to values at all nodes, of functions that are linear in each cell and zero where values are given."""
    corners = mesh.cells.shape[1] - len(middles)
    rows, columns, entries = [np.arange(mesh.vertices)], [np.arange(mesh.vertices)], [np.ones(mesh.vertices)]
    middle, first = np.unique(mesh.cells[:, corners:], return_index=True)
    cell, which = np.divmod(first, len(middles))
    for end in range(2):
        corner = np.array([pair[end] for pair in middles])[which]
        rows.append(middle)
        columns.append(mesh.cells[cell, corner])
        entries.append(np.full(len(middle), 0.5))
    up = scipy.sparse.csr_matrix(
        (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))),
        (len(mesh.nodes), mesh.vertices),
    )
    free = scipy.sparse.csr_matrix((np.where(taken, 0.0, 1.0), (np.arange(len(taken)),) * 2))
    return scipy.sparse.csr_matrix(free @ up)[:, ~taken[: mesh.vertices]]
