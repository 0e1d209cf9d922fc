"""r(a) and J = ∂r/∂a for polynomials on cells, and the sparse system that is solved for a Newton step.

A row involves one cell or two, so JᵀJ is block-sparse and is factorised block by block.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from ...fields.basis import AxisBasis
from ...fields.cells import CellForm
from ..relative import TINY
from ..thresholds import INVERSE_STEPS, RECOVERED, RIDGE, SOLVES
from .block_cholesky import BlockCholesky
from .cell_groups import CellGroups, products
from .relation import Handover, weigh


class CellRows(CellGroups):
    """A Newton system: the rows of a problem on cells, linearised and solved."""

    def _look(self, coefficients: np.ndarray) -> None:
        by_cell = coefficients.reshape(len(self.cells), self.width)
        for group in self.groups:
            group.look(by_cell)

    def _weigh(self, coefficients: np.ndarray) -> None:
        """Evaluate, and weight every point of a nonlinear equation relative to its own terms, over all cells."""
        self._look(coefficients)
        for group in self.groups:
            group.differentiate()
        for groups in self.equations:
            weigh(groups)

    def linearise(self, coefficients: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """The Jacobian of every group, and the residual of all."""
        with np.errstate(all="ignore"):  # Newton itself checks for values that are not finite
            self._weigh(coefficients)
            residual = np.concatenate([group.residual().ravel() for group in self.groups])
            return [group.jacobian(self.width) for group in self.groups], residual

    def residual(self, coefficients: np.ndarray) -> np.ndarray:
        """The residual, with the points weighted as they last were."""
        self._look(coefficients)
        return np.concatenate([group.residual().ravel() for group in self.groups])

    def shares(self, coefficients: np.ndarray) -> np.ndarray:
        """‖r‖² by cell, with the points weighted anew; that of a seam is divided between its two cells."""
        self._weigh(coefficients)
        share = np.zeros(len(self.cells))
        for group in self.groups:
            squares = np.sum(group.residual() ** 2, axis=1) / group.cells.shape[1]
            for side in group.cells.T:
                np.add.at(share, side, squares)
        return share

    def solve(self, jacobian: list[np.ndarray], residual: np.ndarray) -> tuple[np.ndarray, float]:
        """−(JᵀJ)⁻¹ Jᵀr by a factorisation in blocks, refined with the same factor."""
        with np.errstate(all="ignore"):
            return self._solve(jacobian, residual)

    def _solve(self, jacobian: list[np.ndarray], residual: np.ndarray) -> tuple[np.ndarray, float]:
        factored = self.factored(jacobian)
        return (np.full(self.unknowns, np.nan), math.nan) if factored is None else factored.solve(residual)

    def factored(self, jacobian: list[np.ndarray]) -> Factored | None:
        """JᵀJ with columns of norm one, factorised; None where it is not finite."""
        gram = self._gram(jacobian)
        if not all(np.isfinite(block).all() for block in gram.values()):
            return None
        diagonal = np.stack([np.diagonal(gram[c, c]) for c in range(len(self.cells))])
        scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        for (i, j), block in gram.items():
            block *= scale[i][:, None] * scale[j]
        try:
            return Factored(self, jacobian, BlockCholesky(gram, len(self.cells), RIDGE), scale)
        except np.linalg.LinAlgError:
            return None

    def handed_more(self, more: Handover) -> np.ndarray:
        """The change of the residual if `more` is handed over, too: −w d at the slab's start, 0 elsewhere."""
        begun = {id(own): other for own, other in zip(self.handed, self._continuation(more), strict=True)}
        parts = []
        for group in self.groups:
            other = begun.get(id(group))
            moved = np.zeros(group.weights.shape) if other is None else -other.weights * other.target
            parts.append(np.asarray(moved).ravel())
        return np.concatenate(parts)

    def sizes(self) -> np.ndarray:
        """The size of the terms of every row, after `linearise`."""
        return np.concatenate([group.sizes().ravel() for group in self.groups])

    def _gram(self, jacobian: list[np.ndarray]) -> dict[tuple[int, int], np.ndarray]:
        """JᵀJ by pairs of cells, each pair once."""
        blocks: dict[tuple[int, int], np.ndarray] = {}
        for group, matrix in zip(self.groups, jacobian, strict=True):
            products = np.swapaxes(matrix, 1, 2) @ matrix
            sides = range(group.cells.shape[1])
            for pair, product in zip(group.cells.tolist(), products, strict=True):
                for i, j in itertools.product(sides, sides):
                    key = pair[i], pair[j]
                    if key[0] < key[1]:
                        continue
                    part = product[
                        i * self.width : (i + 1) * self.width, j * self.width : (j + 1) * self.width
                    ]
                    if key in blocks:
                        blocks[key] += part
                    else:
                        blocks[key] = part.copy()
        return blocks

    def transposed(self, jacobian: list[np.ndarray], vector: np.ndarray) -> np.ndarray:
        """Jᵀ v, for one v or for the columns of several."""
        many = vector.shape[1:]
        product, start = np.zeros((len(self.cells), self.width, *many)), 0
        for group, matrix in zip(self.groups, jacobian, strict=True):
            end = start + group.weights.size
            own = vector[start:end].reshape(*group.weights.shape, -1)
            part = (np.swapaxes(matrix, 1, 2) @ own).reshape(len(own), -1, *many)
            for side, cells in enumerate(group.cells.T):
                np.add.at(product, cells, part[:, side * self.width : (side + 1) * self.width])
            start = end
        return product

    def applied(self, jacobian: list[np.ndarray], step: np.ndarray) -> np.ndarray:
        """J δ"""
        many = step.shape[1:]
        by_cell = step.reshape(len(self.cells), self.width, *many)
        found = []
        for group, matrix in zip(self.groups, jacobian, strict=True):
            own = by_cell[group.cells].reshape(len(group.cells), matrix.shape[2], -1)
            found.append((matrix @ own).reshape(-1, *many))
        return np.concatenate(found)

    def mass(self) -> np.ndarray:
        """∫ v v' of a cell's polynomials over its part of the domain, per volume of the box: (cells, size, size)."""
        unit = [AxisBasis("chebyshev", degree, -1.0, 1.0) for degree in self.degrees]
        found = np.empty((len(self.cells), self.size, self.size))
        for cell, (points, weights) in enumerate(self.nodes):
            at = self.relative(cell, points)
            table = products([b(at[:, i], 0) for i, b in enumerate(unit)])
            found[cell] = (table.T * (weights / math.prod(self.lengths))) @ table
        return found

    def form(self, coefficients: np.ndarray) -> CellForm:
        shape = (len(self.cells), len(self.problem.unknowns), *(degree + 1 for degree in self.degrees))
        return CellForm(coefficients.reshape(shape), self.cells, self.degrees)


@dataclass(frozen=True)
class Factored:
    """(JᵀJ)⁻¹ for any number of right-hand sides; J = `jacobian`, D⁻¹ = `scale` with D the norms of its columns."""

    rows: CellRows
    jacobian: list[np.ndarray]
    factor: BlockCholesky
    scale: np.ndarray

    def solve(self, residual: np.ndarray) -> tuple[np.ndarray, float]:
        """The δ that minimises ‖J δ + r‖, and the minimum; for one r, or for the columns of several."""
        many = residual.shape[1:]
        step, left = np.zeros((self.rows.unknowns, *many)), residual
        scale = self.scale.reshape(*self.scale.shape, *[1] * len(many))
        former = math.inf
        # All but the first recover digits that squaring the condition number lost.
        for passes in range(SOLVES):
            against = self.rows.transposed(self.jacobian, left)
            more = (scale * self.factor.solve(scale * against)).reshape(-1, *many)
            step -= more
            left = residual + self.rows.applied(self.jacobian, step)
            size = float(np.linalg.norm(more))
            if passes and not RECOVERED * float(np.linalg.norm(step)) < size < former / 2:
                break
            former = size
        return step, float(np.linalg.norm(left))

    def weakest(self) -> tuple[np.ndarray, np.ndarray]:
        """(a, J a) for the direction a of norm one that the rows see least, by inverse iteration.

        On a shape the norm is that of the function in the domain: cells cut by the boundary have polynomials that are
        large only outside, where no row sees them. Elsewhere it is ‖D a‖.
        """
        mass = self.rows.mass() if self.rows.problem.region is not None else None
        y = np.random.default_rng(0).normal(size=self.scale.shape)
        for _ in range(INVERSE_STEPS):
            y = self.factor.solve(y if mass is None else self.scale * _times(mass, self.scale * y))
            y /= np.linalg.norm(y) if mass is None else _norm(mass, self.scale * y)
        step = (self.scale * y).ravel()
        return step, self.rows.applied(self.jacobian, step)


def _times(mass: np.ndarray, a: np.ndarray) -> np.ndarray:
    """M a, cell by cell and field by field."""
    product = np.einsum("cij,cfj->cfi", mass, a.reshape(len(mass), -1, mass.shape[1]))
    return np.asarray(product.reshape(a.shape))


def _norm(mass: np.ndarray, a: np.ndarray) -> float:
    """√(aᵀ M a): the root mean square of a function over the box of its domain, with zero outside the domain."""
    return math.sqrt(max(float(np.sum(a * _times(mass, a))), TINY))
