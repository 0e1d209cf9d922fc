"""a = E w + L g along one axis, and products with a matrix along each axis: the parts of a tensor grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ...fields.basis import AxisBasis, gauss_legendre
from ..thresholds import DEPENDENT

Terms = tuple[tuple[int, float], ...]  # (k, c_k) of Σ c_k ∂^k along an axis


@dataclass(frozen=True)
class Line:
    """One field along one axis: its functions, the nodes, and a = E w + L g.

    `boundary` has, for each condition on the axis' faces, its terms (coefficient, place, order).
    """

    basis: AxisBasis
    count: int
    boundary: tuple[tuple[tuple[float, float, int], ...], ...] = ()

    @cached_property
    def nodes(self) -> np.ndarray:
        """Equispaced, or the zeros of T_count: dense at the faces, and on none of them."""
        basis = self.basis
        if basis.kind == "periodic":
            return basis.nodes(self.count)[0]
        z = np.cos((np.arange(self.count) + 0.5) * np.pi / self.count)
        return (basis.lower + basis.upper) / 2 - basis.length / 2 * z

    @cached_property
    def _inverse(self) -> np.ndarray:
        rows = [sum(c * self.basis(np.asarray(x), order) for c, x, order in terms) for terms in self.boundary]
        return np.linalg.inv(np.stack([*self.table(0), *rows]))

    @property
    def extension(self) -> np.ndarray:
        return self._inverse[:, : self.count]

    @property
    def lift(self) -> np.ndarray:
        return self._inverse[:, self.count :]

    @property
    def dense(self) -> tuple[np.ndarray, np.ndarray]:
        """Gauss–Legendre nodes, twice as many as functions; and u there → w of the nearest u in L² with g = 0.

        The interpolant of data that disagree with the faces rings everywhere inside; this one rings only at the faces.
        """
        return _dense(self)

    def table(self, order: int) -> np.ndarray:
        """Coefficients → ∂^order at the nodes."""
        return _table(self, order)

    def derivative(self, order: int) -> np.ndarray:
        """Values at the nodes → ∂^order there, with zero data on the faces."""
        return _derivative(self, order)

    def whole(self) -> Line:
        """The same functions, determined by values alone, at as many nodes as functions."""
        return Line(self.basis, self.basis.size)

    def eigenvectors(self, terms: Terms) -> tuple[np.ndarray, np.ndarray]:
        """The eigenvectors of Σ c_k ∂^k, and their inverse; on a periodic axis those of ∂, which all derivatives share.

        Between two faces, a first derivative alone has no useful eigenvectors: GMRES does without them. Where it makes
        those of the whole sum nearly dependent, those of the highest derivative are used.
        """
        order = max((k for k, _ in terms), default=0)
        if self.basis.kind == "periodic":
            return _eigenvectors(self, ((min(order, 1), 1.0),))
        if order < 2:
            return _eigenvectors(self, ((0, 1.0),))
        return _eigenvectors(self, terms if self.diagonal(terms) else ((order, 1.0),))

    def diagonal(self, terms: Terms) -> bool:
        """Whether the eigenvectors of Σ c_k ∂^k are independent enough to solve with."""
        return _diagonal(self, terms)


# Cached: the same lines serve slab after slab.
@lru_cache(maxsize=64)
def _table(line: Line, order: int) -> np.ndarray:
    return np.asarray(line.basis(line.nodes, order))


@lru_cache(maxsize=64)
def _dense(line: Line) -> tuple[np.ndarray, np.ndarray]:
    basis = line.basis
    if basis.kind == "periodic":
        return line.nodes, np.eye(line.count)
    z, weights = gauss_legendre(2 * basis.size)
    x, root = (basis.lower + basis.upper) / 2 + basis.length / 2 * z, np.sqrt(weights)
    return x, np.linalg.lstsq(root[:, None] * (basis(x) @ line.extension), np.diag(root), rcond=None)[0]


@lru_cache(maxsize=64)
def _derivative(line: Line, order: int) -> np.ndarray:
    return np.asarray(line.table(order) @ line.extension)


@lru_cache(maxsize=64)
def _eigenvectors(line: Line, terms: Terms) -> tuple[np.ndarray, np.ndarray]:
    if not any(k for k, _ in terms):
        return np.eye(line.count), np.eye(line.count)
    vectors = np.linalg.eig(sum(c * line.derivative(k) for k, c in terms))[1]
    return vectors, np.linalg.inv(vectors)


@lru_cache(maxsize=64)
def _diagonal(line: Line, terms: Terms) -> bool:
    order = max((k for k, _ in terms), default=0)
    if line.basis.kind == "periodic" or order < 2:
        return line.basis.kind == "periodic" or order == 0
    vectors, inverse = _eigenvectors(line, terms)
    return float(np.linalg.norm(vectors, 2) * np.linalg.norm(inverse, 2)) < DEPENDENT


def along(matrix: np.ndarray, array: np.ndarray, axis: int) -> np.ndarray:
    """Σ_k matrix[j, k] array[…, k, …], without a copy of the array in another order."""
    axis %= array.ndim
    before, behind = array.shape[:axis], array.shape[axis + 1 :]
    if not behind:
        return np.asarray(array @ matrix.T)
    stacked = array.reshape(math.prod(before), array.shape[axis], math.prod(behind))
    return np.asarray(np.matmul(matrix, stacked).reshape(*before, len(matrix), *behind))


def each(matrices: Sequence[np.ndarray | None], array: np.ndarray) -> np.ndarray:
    """The array times a matrix along each axis, from the first on; None leaves an axis as it is."""
    for axis, matrix in enumerate(matrices):
        array = array if matrix is None else along(matrix, array, axis)
    return array


@lru_cache(maxsize=64)
def radau(count: int) -> np.ndarray:
    """The nodes of Radau's right quadrature on [0, 1]: the zeros of P^(1,0), as eigenvalues of the matrix of its
    recurrence, and the end."""
    k = np.arange(count - 1.0)
    middle, beside = -1 / ((2 * k + 1) * (2 * k + 3)), np.sqrt(k * (k + 1))[1:] / (2 * k[1:] + 1)
    inner = np.linalg.eigvalsh(np.diag(middle) + np.diag(beside, 1) + np.diag(beside, -1))
    nodes = np.append((inner + 1) / 2, 1.0)
    nodes.flags.writeable = False
    return nodes
