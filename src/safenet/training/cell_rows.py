"""r(a) and J = ∂r/∂a for polynomials on cells: equations inside, conditions on the boundary, smoothness between.

    F(u) = 0 in every cell      B(u) = g on the pieces      [∂_n^k u] = 0 between cells, k below the order in n

A row touches one cell or two neighbours, so JᵀJ is sparse in blocks and is factorised as such.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp
from scipy import sparse
from scipy.sparse.linalg import splu

from ..networks.basis import AxisBasis
from ..networks.cells import Cell, CellForm, cell_bases, shared_faces
from ..problem import Condition, Problem, Relation
from ..problem.jets import Orders, coordinate
from .collocation import Block, Linearised
from .heldout import local_size

RIDGE = 1e-13  # of JᵀJ with columns of norm one: where a cut cell leaves a polynomial undetermined
# Every row is in units of u, the equations' by their scale. Heavier conditions would be met better than the equations
# near them allow (a corner, a layer), at the cost of everything else.
CONDITION_WEIGHT = 1.0
STEEPNESS = 10.0  # a jump of the k-th derivative counts as (h/10)^k of a jump of the value


@dataclass
class Rows:
    """Weighted rows over the amplitudes of one or two cells."""

    cells: tuple[int, ...]
    matrix: np.ndarray
    residual: np.ndarray


class CellRows:
    """All rows of a problem on `cells`; a Newton system."""

    def __init__(self, problem: Problem, cells: Sequence[Cell], degree: int, oversampling: float) -> None:
        self.problem, self.cells, self.degree = problem, tuple(cells), degree
        self.axes = len(problem.axes)
        self.size = (degree + 1) ** self.axes  # amplitudes of one field in one cell
        self.width = self.size * len(problem.unknowns)  # of all fields
        self.count = math.ceil(oversampling * (degree + 1))
        self.length = math.prod(axis.length for axis in problem.axes) ** (1 / self.axes)
        self.bases = [cell_bases(cell, degree) for cell in self.cells]
        everywhere = [self._nodes(cell, range(self.axes)) for cell in self.cells]
        self.equations = [self._inside(equation, everywhere) for equation in problem.equations]
        self.conditions = [
            (index, block) for condition in problem.conditions for index, block in self._conditions(condition)
        ]
        self.seams = [seam for axis in range(self.axes) for seam in self._seams(axis)]

    @property
    def unknowns(self) -> int:
        return self.width * len(self.cells)

    # ---- the rows of one relation in one cell

    def _block(
        self,
        index: int,
        relation: Relation,
        formulas: tuple[sp.Expr, dict[sp.Symbol, sp.Expr]],
        points: np.ndarray,
        weights: np.ndarray,
        normals: np.ndarray | None = None,
    ) -> Block:
        """`points` (n, axes) of a cell with quadrature `weights`; the places of a condition are already in them."""
        problem = self.problem
        coordinates = {axis.symbol: points[:, i] for i, axis in enumerate(problem.axes)}
        if normals is not None:
            names = map(coordinate, problem.normals)
            coordinates |= {name: normals[:, i] for i, name in enumerate(names)}
        columns = {}
        for symbol, jet in relation.jets.items():
            start = problem.unknowns.index(jet.field) * self.size
            columns[symbol] = slice(start, start + self.size)
        return Block(
            residual=formulas[0],
            coefficients=formulas[1],
            coordinates=coordinates,
            designs={s: self._design(index, jet.orders, points) for s, jet in relation.jets.items()},
            columns=columns,
            weights=np.sqrt(weights),
            nonlinear=not relation.linear,
        )

    def _formulas(self, relation: Relation) -> tuple[sp.Expr, dict[sp.Symbol, sp.Expr]]:
        """F and ∂F/∂u_α, the same in every cell: differentiated once."""
        value = self.problem.value
        return value(relation.residual), {s: value(relation.coefficient(s)) for s in relation.jets}

    def _design(self, index: int, orders: Orders, points: np.ndarray) -> np.ndarray:
        return products([b(points[:, i], orders[i]) for i, b in enumerate(self.bases[index])])

    def _inside(self, equation: Relation, nodes: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[Block]:
        formulas = self._formulas(equation)
        order = max(sum(jet.orders) for jet in equation.jets.values())
        # From residual to error in u: (length/π)^order, as for a mode of the domain's size.
        scale = (min(axis.length for axis in self.problem.axes) / math.pi) ** order
        share = scale**2 / self.length**self.axes
        return [
            self._block(index, equation, formulas, points, weights * share)
            for index, (points, weights) in enumerate(nodes)
        ]

    def _nodes(
        self, cell: Cell, free: Sequence[int], at: Sequence[float] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gauss nodes of a cell along its `free` axes (others held `at` their values), only those in the domain."""
        count = self.count
        while True:
            ticks, weights = [], np.ones(1)
            for i, (low, high) in enumerate(cell):
                if i in free:
                    nodes, w = AxisBasis("chebyshev", self.degree, low, high).nodes(count)
                    ticks.append(nodes)
                    weights = np.outer(weights, w * (high - low)).ravel()
                else:
                    ticks.append(np.array([at[i]]))
            points = np.stack([m.ravel() for m in np.meshgrid(*ticks, indexing="ij")], axis=1)
            inside = self.problem.contains(points, 1e-9 * self.length)
            enough = self.count ** len(free) * 0.7
            # A cell that is cut by the boundary needs more nodes to have enough of them inside.
            if inside.all() or inside.sum() >= enough or count >= 3 * self.count:
                return points[inside], weights[inside]
            count = math.ceil(1.5 * count)

    # ---- conditions

    def _conditions(self, condition: Condition) -> Iterator[tuple[int, Block]]:
        pieces, formulas = self._on_piece if condition.piece else self._on_face, self._formulas(condition)
        for index, points, normals, weights in pieces(condition):
            if len(points):
                share = weights * CONDITION_WEIGHT**2
                yield index, self._block(index, condition, formulas, points, share, normals)

    def _on_face(self, condition: Condition) -> Iterator[tuple[int, np.ndarray, None, np.ndarray]]:
        (place,) = condition.places
        at = [0.0 if value is None else float(self.problem.value(value)) for value in place]
        measure = self.length ** len(condition.free)
        for index, cell in enumerate(self.cells):
            touches = all(
                _holds(cell[i], at[i], self.problem.axes[i].hi)
                for i in range(self.axes)
                if i not in condition.free
            )
            if touches:
                points, weights = self._nodes(cell, condition.free, at)
                yield index, points, None, weights / measure

    def _on_piece(self, condition: Condition) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        region = self.problem.region
        assert region is not None
        s, w = AxisBasis("chebyshev", self.degree, 0.0, 1.0).nodes(self.count)
        for index, cell in enumerate(self.cells):
            lower, upper = (np.array([ends[side] for ends in cell[:2]]) for side in (0, 1))
            for edge in region.pieces[condition.piece]:
                for part in edge.clip(lower, upper):
                    points, normals = part.at(s)
                    # On a seam between two cells the condition belongs to the one on the domain's side.
                    inner = points - 1e-7 * min(upper - lower) * normals
                    if np.mean(np.all((inner >= lower) & (inner <= upper), axis=1)) < 0.5:
                        continue
                    weights = w * part.length / self.length
                    yield (index, *self._through_time(cell, points, normals, weights))

    def _through_time(
        self, cell: Cell, points: np.ndarray, normals: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same points at every time of the cell."""
        if self.problem.time is None:
            return points, normals, weights
        low, high = cell[self.problem.time]
        times, w = AxisBasis("chebyshev", self.degree, low, high).nodes(self.count)
        many, count = len(times), len(points)
        at = np.column_stack([np.repeat(points, many, axis=0), np.tile(times, count)])
        share = np.outer(weights, w * (high - low) / self.length).ravel()
        return at, np.repeat(normals, many, axis=0), share

    # ---- between cells

    def _seams(self, axis: int) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
        """[∂^k u] = 0 across every face that two cells share along `axis`, for each field and k."""
        orders = [self.problem.order(axis, name) for name in self.problem.unknowns]
        for index, other, face in shared_faces(self.cells, axis):
            free = [i for i in range(self.axes) if i != axis]
            points, weights = self._nodes(face, free, [face[axis][0]] * self.axes)
            if not len(points):
                continue
            weights = np.sqrt(weights / self.length ** (self.axes - 1)) * CONDITION_WEIGHT
            thickness = min(self.cells[i][axis][1] - self.cells[i][axis][0] for i in (index, other))
            yield (index, other), self._jumps(index, other, axis, orders, points, weights, thickness)

    def _jumps(
        self,
        index: int,
        other: int,
        axis: int,
        orders: Sequence[int],
        points: np.ndarray,
        weights: np.ndarray,
        thickness: float,
    ) -> np.ndarray:
        parts = []
        for field, order in enumerate(orders):
            for k in range(order):
                slope = tuple(k if i == axis else 0 for i in range(self.axes))
                part = np.zeros((len(points), 2 * self.width))
                scale = (weights * (thickness / STEEPNESS) ** k)[:, None]
                for side, (cell, sign) in enumerate(((index, 1.0), (other, -1.0))):
                    start = side * self.width + field * self.size
                    part[:, start : start + self.size] = sign * scale * self._design(cell, slope, points)
                parts.append(part)
        return np.concatenate(parts) if parts else np.empty((0, 2 * self.width))

    # ---- the system

    def _own(self, amplitudes: np.ndarray, index: int) -> np.ndarray:
        return amplitudes[index * self.width : (index + 1) * self.width]

    def _weigh(self, amplitudes: np.ndarray) -> list[list[Linearised]]:
        """The equations' blocks at the amplitudes; every point of a nonlinear one counts relative to its own terms,
        measured over all cells."""
        inside = [
            [block.at(self._own(amplitudes, i)) for i, block in enumerate(blocks)]
            for blocks in self.equations
        ]
        for blocks, here in zip(self.equations, inside, strict=True):
            if not blocks[0].nonlinear:
                continue
            sizes = [part.largest for part in here]
            measure = np.concatenate([block.weights**2 for block in blocks])
            local = local_size(np.concatenate(sizes), measure)
            shares = np.split(np.min(local) / local, np.cumsum([len(size) for size in sizes])[:-1])
            for block, share in zip(blocks, shares, strict=True):
                block.local = share
        return inside

    def linearise(self, amplitudes: np.ndarray) -> tuple[list[Rows], np.ndarray]:
        inside = self._weigh(amplitudes)
        placed = [
            (i, block, here)
            for blocks, parts in zip(self.equations, inside, strict=True)
            for i, (block, here) in enumerate(zip(blocks, parts, strict=True))
        ]
        placed += [(i, block, block.at(self._own(amplitudes, i))) for i, block in self.conditions]
        rows = []
        for index, block, here in placed:
            matrix = np.zeros((len(block.weights), self.width))
            rows.append(Rows((index,), matrix, block.rows(here, matrix)))
        rows += [Rows(pair, matrix, residual) for pair, matrix, residual in self._jumping(amplitudes)]
        return rows, np.concatenate([row.residual for row in rows])

    def _jumping(self, amplitudes: np.ndarray) -> Iterator[tuple[tuple[int, int], np.ndarray, np.ndarray]]:
        for pair, matrix in self.seams:
            yield pair, matrix, matrix @ np.concatenate([self._own(amplitudes, index) for index in pair])

    def _residuals(self, amplitudes: np.ndarray) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
        """The residual of every block and seam, weighted as they last were, with the cells it belongs to."""
        for index, block in (
            *(pair for blocks in self.equations for pair in enumerate(blocks)),
            *self.conditions,
        ):
            yield (index,), block.residuals(block.values(self._own(amplitudes, index)))
        for pair, _, residual in self._jumping(amplitudes):
            yield pair, residual

    def residual(self, amplitudes: np.ndarray) -> np.ndarray:
        return np.concatenate([residual for _, residual in self._residuals(amplitudes)])

    def shares(self, amplitudes: np.ndarray) -> np.ndarray:
        """‖r‖² by cell, the points weighed anew: a seam's is halved between its two."""
        self._weigh(amplitudes)
        share = np.zeros(len(self.cells))
        for cells, residual in self._residuals(amplitudes):
            share[list(cells)] += residual @ residual / len(cells)
        return share

    def solve(self, jacobian: list[Rows], residual: np.ndarray) -> tuple[np.ndarray, float]:
        """−(JᵀJ)⁻¹ Jᵀr by a sparse factorisation, and one refinement with the same factor."""
        blocks: dict[tuple[int, int], np.ndarray] = {}
        for row in jacobian:
            gram = row.matrix.T @ row.matrix
            for (i, a), (j, b) in itertools.product(enumerate(row.cells), repeat=2):
                part = gram[i * self.width : (i + 1) * self.width, j * self.width : (j + 1) * self.width]
                blocks[a, b] = blocks[a, b] + part if (a, b) in blocks else part
        diagonal = np.concatenate([np.diag(blocks[c, c]) for c in range(len(self.cells))])
        scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        factor = splu(
            self._matrix(blocks, scale),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        step = np.zeros(self.unknowns)
        remainder = residual
        for _ in range(2):  # the second wins back digits that squaring the condition lost
            step -= scale * factor.solve(scale * self._transposed(jacobian, remainder))
            remainder = residual + self._applied(jacobian, step)
        return step, float(np.linalg.norm(remainder))

    def _matrix(self, blocks: dict[tuple[int, int], np.ndarray], scale: np.ndarray) -> sparse.csc_matrix:
        keys = sorted(blocks)
        scales = scale.reshape(len(self.cells), self.width)
        data = np.stack([blocks[a, b] * scales[a][:, None] * scales[b] for a, b in keys])
        starts = np.searchsorted([a for a, _ in keys], np.arange(len(self.cells) + 1))
        indices = np.array([b for _, b in keys])
        shape = (self.unknowns, self.unknowns)
        gram = sparse.bsr_matrix((data, indices, starts), shape=shape).tocsc()
        return gram + RIDGE * sparse.identity(self.unknowns, format="csc")

    def _transposed(self, jacobian: list[Rows], vector: np.ndarray) -> np.ndarray:
        product, start = np.zeros(self.unknowns), 0
        for row in jacobian:
            part = row.matrix.T @ vector[start : start + len(row.matrix)]
            start += len(row.matrix)
            for k, index in enumerate(row.cells):
                self._own(product, index)[:] += part[k * self.width : (k + 1) * self.width]
        return product

    def _applied(self, jacobian: list[Rows], step: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [row.matrix @ np.concatenate([self._own(step, index) for index in row.cells]) for row in jacobian]
        )

    def form(self, amplitudes: np.ndarray) -> CellForm:
        shape = (len(self.cells), len(self.problem.unknowns), *[self.degree + 1] * self.axes)
        return CellForm(amplitudes.reshape(shape), self.cells, self.degree)


def products(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Π_i T_i[p, k_i] for every point p: rows are points, columns the tensor of functions, last axis fastest."""
    result = tables[0]
    for table in tables[1:]:
        result = (result[:, :, None] * table[:, None, :]).reshape(len(table), -1)
    return result


def _holds(ends: tuple[float, float], value: float, top: float) -> bool:
    """Whether lower ≤ value < upper, or value is the upper end of the whole axis."""
    low, high = ends
    slack = 1e-9 * (high - low)
    return low - slack <= value < high - slack or (abs(value - high) <= slack and abs(value - top) <= slack)
