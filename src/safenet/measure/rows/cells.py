"""r(a) and J = ∂r/∂a for polynomials on cells: equations inside, conditions on the boundary, smoothness between.

    F(u) = 0 in every cell      B(u) = g on the pieces      [∂_n^k u] = 0 between cells, k below the order in n

A row touches one cell or two, so JᵀJ is sparse in blocks and is factorised as such. Wherever two cells are looked at in
the same places relative to themselves, which most are, the polynomials there are the same up to a factor: such cells
make a group and are worked out together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from scipy.linalg import LinAlgError

from ...fields.basis import AxisBasis
from ...fields.cells import Cell, CellForm, shared_faces
from ...fields.derivatives import jets
from ...problem import Condition, Problem, Relation
from ...problem.evaluate import evaluate
from ...problem.jets import Orders, coordinate
from ...run.threads import one_thread
from ..heldout import largest, local_size
from .block_cholesky import BlockCholesky
from .series import Handover

RIDGE = 1e-13  # of JᵀJ with columns of norm one: where a cut cell leaves a polynomial undetermined
STEEPNESS = 10.0  # a jump of the k-th derivative counts as (h/10)^k of a jump of the value


class Piece(NamedTuple):
    """Points of one cell, or the same points seen from two, with the square roots of their weights."""

    cells: tuple[int, ...]
    points: tuple[np.ndarray, ...]
    weights: np.ndarray
    normals: np.ndarray | None = None
    target: np.ndarray | float = 0.0


class Term(NamedTuple):
    """∂^orders of a field in the first or second cell of a piece."""

    side: int
    field: int
    orders: Orders


@dataclass(frozen=True)
class Formula:
    """F = 0 and ∂F/∂u_α, the same in every cell: differentiated once."""

    residual: sp.Expr
    coefficients: dict[sp.Symbol, sp.Expr]
    terms: dict[sp.Symbol, Term]
    nonlinear: bool = False


@dataclass
class Group:
    """The rows of one formula at the pieces that look alike: arrays run over (piece, point)."""

    formula: Formula
    cells: np.ndarray
    designs: dict[sp.Symbol, np.ndarray]
    factors: dict[sp.Symbol, np.ndarray]
    coordinates: dict[sp.Symbol, np.ndarray]
    weights: np.ndarray
    target: np.ndarray
    known: dict[sp.Symbol, np.ndarray]  # what the polynomials are added to
    size: int  # amplitudes of one field in one cell
    local: np.ndarray | float = 1.0
    values: dict[sp.Symbol, np.ndarray] = field(default_factory=dict)
    slopes: dict[sp.Symbol, np.ndarray | float] = field(default_factory=dict)

    def look(self, amplitudes: np.ndarray) -> None:
        """The jets at the points; `amplitudes` are (cells, fields · size)."""
        self.values = dict(self.coordinates)
        for symbol, term in self.formula.terms.items():
            own = amplitudes[self.cells[:, term.side], term.field * self.size : (term.field + 1) * self.size]
            self.values[symbol] = (own @ self.designs[symbol].T) * self.factors[symbol][:, None]
            self.values[symbol] += self.known.get(symbol, 0.0)

    def differentiate(self) -> None:
        with np.errstate(all="ignore"):  # Newton looks at what is not finite itself
            self.slopes = {s: evaluate(f, self.values, np) for s, f in self.formula.coefficients.items()}

    @property
    def largest(self) -> np.ndarray:
        """max_α |∂F/∂u_α · u_α|, the largest term at every point."""
        with np.errstate(all="ignore"):
            return largest([slope * self.values[symbol] for symbol, slope in self.slopes.items()])

    def residual(self) -> np.ndarray:
        with np.errstate(all="ignore"):
            return (
                self.local * self.weights * (evaluate(self.formula.residual, self.values, np) - self.target)
            )

    def jacobian(self, width: int) -> np.ndarray:
        """(piece, point, amplitudes of its cells)"""
        matrix = np.zeros((*self.weights.shape, self.cells.shape[1] * width))
        for symbol, term in self.formula.terms.items():
            start = term.side * width + term.field * self.size
            coefficient = self.local * self.weights * self.slopes[symbol] * self.factors[symbol][:, None]
            matrix[..., start : start + self.size] += coefficient[..., None] * self.designs[symbol]
        return matrix


class CellRows:
    """All rows of a problem on `cells`; a Newton system.

    With a `span` the cells fill a slab of time, whose start is given by the initial conditions or by a `handover`.
    With a `base`, a smooth network, the polynomials are what is added to it.
    """

    def __init__(
        self,
        problem: Problem,
        cells: Sequence[Cell],
        degrees: int | Sequence[int],
        oversampling: float,
        span: tuple[float, float] | None = None,
        handover: Handover | None = None,
        base: Any = None,
    ) -> None:
        self.problem, self.cells, self.base = problem, tuple(cells), base
        self.axes = len(problem.axes)
        self.degrees = (degrees,) * self.axes if isinstance(degrees, int) else tuple(degrees)
        self.size = math.prod(degree + 1 for degree in self.degrees)
        self.width = self.size * len(problem.unknowns)  # amplitudes of a cell
        self.counts = [math.ceil(oversampling * (degree + 1)) for degree in self.degrees]
        self.box = np.array(self.cells)
        self.span, self.handover = span, handover
        self.lengths = [axis.length for axis in problem.axes]
        if span is not None and problem.time is not None:
            self.lengths[problem.time] = span[1] - span[0]
        self.length = math.prod(self.lengths) ** (1 / self.axes)
        nodes = [self._nodes(cell, range(self.axes)) for cell in self.cells]
        self.equations = [list(self._equation(equation, nodes)) for equation in problem.equations]
        self.others = [
            *(group for condition in problem.conditions for group in self._condition(condition)),
            *self._continuation(),
            *(group for axis in range(self.axes) for group in self._seams(axis)),
        ]

    @property
    def unknowns(self) -> int:
        return self.width * len(self.cells)

    @property
    def groups(self) -> list[Group]:
        return [*itertools.chain(*self.equations), *self.others]

    # ---- from pieces to groups

    def _grouped(self, formula: Formula, pieces: Iterator[Piece]) -> Iterator[Group]:
        alike: dict[bytes, list[Piece]] = {}
        places: dict[bytes, list[np.ndarray]] = {}
        for piece in pieces:
            if len(piece.weights):
                relative = [self._relative(c, p) for c, p in zip(piece.cells, piece.points, strict=True)]
                key = np.rint(np.concatenate(relative) * 2**30).astype(np.int64).tobytes()
                alike.setdefault(key, []).append(piece)
                places.setdefault(key, relative)
        for key, group in alike.items():
            yield self._group(formula, group, places[key])

    def _relative(self, cell: int, points: np.ndarray) -> np.ndarray:
        """Where in a cell the points are, from −1 to 1 along each axis."""
        low, high = self.box[cell].T
        return (2 * points - low - high) / (high - low)

    def _group(self, formula: Formula, pieces: list[Piece], places: list[np.ndarray]) -> Group:
        problem = self.problem
        cells = np.array([piece.cells for piece in pieces])
        points = np.stack([piece.points[0] for piece in pieces])
        coordinates = {axis.symbol: points[..., i] for i, axis in enumerate(problem.axes)}
        if pieces[0].normals is not None:
            normals = np.stack([piece.normals for piece in pieces if piece.normals is not None])
            coordinates |= {coordinate(name): normals[..., i] for i, name in enumerate(problem.normals)}
        unit = [AxisBasis("chebyshev", degree, -1.0, 1.0) for degree in self.degrees]
        designs, factors, known = {}, {}, {}
        for symbol, term in formula.terms.items():
            at = places[term.side]
            designs[symbol] = products([b(at[:, i], term.orders[i]) for i, b in enumerate(unit)])
            box = self.box[cells[:, term.side]]
            factors[symbol] = np.prod((2 / (box[..., 1] - box[..., 0])) ** np.array(term.orders), axis=1)
            if self.base is not None:
                every = np.concatenate([piece.points[term.side] for piece in pieces])
                jet = np.asarray(jets(self.base, every, [term.orders])[term.orders])
                known[symbol] = jet[:, term.field].reshape(len(pieces), -1)
        weights = np.stack([piece.weights for piece in pieces])
        target = np.stack([np.broadcast_to(piece.target, piece.weights.shape) for piece in pieces])
        return Group(formula, cells, designs, factors, coordinates, weights, target, known, self.size)

    def _formula(self, relation: Relation) -> Formula:
        value, problem = self.problem.value, self.problem
        places = relation.places if isinstance(relation, Condition) else ()
        terms = {
            symbol: Term(
                places.index(jet.place) if len(places) > 1 else 0,
                problem.unknowns.index(jet.field),
                jet.orders,
            )
            for symbol, jet in relation.jets.items()
        }
        coefficients = {symbol: value(relation.coefficient(symbol)) for symbol in relation.jets}
        return Formula(value(relation.residual), coefficients, terms, not relation.linear)

    # ---- equations

    def _equation(
        self, equation: Relation, nodes: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> Iterator[Group]:
        measure = self._scale(equation) ** 2 / math.prod(self.lengths)
        pieces = (Piece((i,), (at,), np.sqrt(w * measure)) for i, (at, w) in enumerate(nodes))
        return self._grouped(self._formula(equation), pieces)

    def _scale(self, equation: Relation) -> float:
        """From residual to error in u: (length/π)^order, as for a mode of the domain's size; in a slab its duration."""
        orders = [jet.orders for jet in equation.jets.values()]
        if self.span is None or self.problem.time is None:
            return (min(self.lengths) / math.pi) ** max(sum(order) for order in orders)
        return self.lengths[self.problem.time] ** max(order[self.problem.time] for order in orders)

    def _nodes(
        self, cell: Cell, free: Sequence[int], at: Sequence[float] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gauss nodes of a cell along its `free` axes (others held `at` their values), only those in the domain."""
        more = 1.0
        while True:
            ticks, weights = [], np.ones(1)
            for i, (low, high) in enumerate(cell):
                if i in free:
                    basis = AxisBasis("chebyshev", self.degrees[i], low, high)
                    nodes, w = basis.nodes(math.ceil(more * self.counts[i]))
                    ticks.append(nodes)
                    weights = np.outer(weights, w * (high - low)).ravel()
                else:
                    ticks.append(np.array([at[i]]))
            points = np.stack([m.ravel() for m in np.meshgrid(*ticks, indexing="ij")], axis=1)
            inside = self.problem.contains(points, 1e-9 * self.length)
            enough = 0.7 * math.prod(self.counts[i] for i in free)
            # A cell that is cut by the boundary needs more nodes to have enough of them inside.
            if inside.all() or inside.sum() >= enough or more >= 3:
                return points[inside], weights[inside]
            more *= 1.5

    # ---- conditions

    def _condition(self, condition: Condition) -> Iterator[Group]:
        if self.handover is not None and condition.initial:
            return iter(())
        pieces = self._on_piece(condition) if condition.piece else self._on_faces(condition)
        return self._grouped(self._formula(condition), pieces)

    def _on_faces(self, condition: Condition) -> Iterator[Piece]:
        """Cells that touch the place of a condition; where it ties two places together, pairs that face each other."""
        axes = self.problem.axes
        measure = math.prod(self.lengths[i] for i in condition.free)
        fixed = [i for i in range(self.axes) if i not in condition.free]
        at = [
            [0.0 if v is None else float(self.problem.value(v)) for v in place] for place in condition.places
        ]
        touching = [
            [c for c, cell in enumerate(self.cells) if all(_holds(cell[i], p[i], axes[i].hi) for i in fixed)]
            for p in at
        ]
        for pair in itertools.product(*touching):
            ends = np.array([self.cells[c] for c in pair])
            low, high = ends[..., 0].max(axis=0), ends[..., 1].min(axis=0)
            if all(high[i] - low[i] > 1e-9 * self.lengths[i] for i in condition.free):
                face = tuple(zip(low.tolist(), high.tolist(), strict=True))
                points, weights = self._nodes(face, condition.free, at[0])
                sides = [points]
                for other in at[1:]:
                    sides.append(points.copy())
                    sides[-1][:, fixed] = [other[i] for i in fixed]
                yield Piece(pair, tuple(sides), np.sqrt(weights / measure))

    def _on_piece(self, condition: Condition) -> Iterator[Piece]:
        region = self.problem.region
        assert region is not None
        s, w = AxisBasis("chebyshev", self.degrees[0], 0.0, 1.0).nodes(self.counts[0])
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
                    at, normals, share = self._through_time(cell, points, normals, weights)
                    yield Piece((index,), (at,), np.sqrt(share), normals)

    def _through_time(
        self, cell: Cell, points: np.ndarray, normals: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same points at every time of the cell."""
        time = self.problem.time
        if time is None:
            return points, normals, weights
        low, high = cell[time]
        times, w = AxisBasis("chebyshev", self.degrees[time], low, high).nodes(self.counts[time])
        many, count = len(times), len(points)
        at = np.column_stack([np.repeat(points, many, axis=0), np.tile(times, count)])
        share = np.outer(weights, w * (high - low) / self.length).ravel()
        return at, np.repeat(normals, many, axis=0), share

    def _continuation(self) -> Iterator[Group]:
        """∂_t^k u at the slab's start equals what is handed over, for k below the time order of each field."""
        time = self.problem.time
        if self.handover is None or time is None or self.span is None:
            return
        free = [i for i in range(self.axes) if i != time]
        measure = math.prod(self.lengths[i] for i in free)
        nodes = [self._nodes(cell, free, [self.span[0]] * self.axes) for cell in self.cells]
        every = np.concatenate([points for points, _ in nodes])
        ends = np.cumsum([len(points) for points, _ in nodes])[:-1]
        for index, name in enumerate(self.problem.unknowns):
            for k in range(self.problem.time_order(name)):
                scale = self.lengths[time] ** k / math.sqrt(measure)
                targets = np.split(self.handover(index, k, every), ends)
                symbol = sp.Symbol("u")
                orders = tuple(k if i == time else 0 for i in range(self.axes))
                formula = Formula(symbol, {symbol: sp.Integer(1)}, {symbol: Term(0, index, orders)})
                pieces = (
                    Piece((i,), (points,), np.sqrt(weights) * scale, target=target)
                    for i, ((points, weights), target) in enumerate(zip(nodes, targets, strict=True))
                )
                yield from self._grouped(formula, pieces)

    # ---- between cells

    def _seams(self, axis: int) -> Iterator[Group]:
        """[∂^k u] = 0 across every face that two cells share along `axis`, for each field and k."""
        free = [i for i in range(self.axes) if i != axis]
        measure = math.prod(self.lengths[i] for i in free)
        seams = []
        for a, b, face in shared_faces(self.cells, axis):
            points, weights = self._nodes(face, free, [face[axis][0]] * self.axes)
            thickness = float(np.min(np.diff(self.box[[a, b], axis])))
            seams.append(((a, b), points, np.sqrt(weights / measure), thickness / STEEPNESS))
        here, there = sp.symbols("here there")
        for index, name in enumerate(self.problem.unknowns):
            for k in range(self.problem.order(axis, name)):
                slope = tuple(k if i == axis else 0 for i in range(self.axes))
                terms = {here: Term(0, index, slope), there: Term(1, index, slope)}
                formula = Formula(here - there, {here: sp.Integer(1), there: sp.Integer(-1)}, terms)
                pieces = (Piece(pair, (at, at), w * unit**k) for pair, at, w, unit in seams)
                yield from self._grouped(formula, pieces)

    # ---- the system

    def _look(self, amplitudes: np.ndarray) -> None:
        by_cell = amplitudes.reshape(len(self.cells), self.width)
        for group in self.groups:
            group.look(by_cell)

    def _weigh(self, amplitudes: np.ndarray) -> None:
        """Look anew; every point of a nonlinear equation counts relative to its own terms, measured over all cells."""
        self._look(amplitudes)
        for group in self.groups:
            group.differentiate()
        for groups in self.equations:
            if groups and groups[0].formula.nonlinear:
                sizes = np.concatenate([group.largest.ravel() for group in groups])
                measure = np.concatenate([group.weights.ravel() ** 2 for group in groups])
                local = local_size(sizes, measure)
                ends = np.cumsum([group.weights.size for group in groups])[:-1]
                for group, share in zip(groups, np.split(np.min(local) / local, ends), strict=True):
                    group.local = share.reshape(group.weights.shape)

    def linearise(self, amplitudes: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """The Jacobian of every group, and the residual of all."""
        with one_thread(), np.errstate(all="ignore"):  # Newton looks at what is not finite itself
            self._weigh(amplitudes)
            residual = np.concatenate([group.residual().ravel() for group in self.groups])
            return [group.jacobian(self.width) for group in self.groups], residual

    def residual(self, amplitudes: np.ndarray) -> np.ndarray:
        """Weighted as the points last were."""
        self._look(amplitudes)
        return np.concatenate([group.residual().ravel() for group in self.groups])

    def shares(self, amplitudes: np.ndarray) -> np.ndarray:
        """‖r‖² by cell, the points weighed anew: a seam's is halved between its two."""
        self._weigh(amplitudes)
        share = np.zeros(len(self.cells))
        for group in self.groups:
            squares = np.sum(group.residual() ** 2, axis=1) / group.cells.shape[1]
            for side in group.cells.T:
                np.add.at(share, side, squares)
        return share

    def solve(self, jacobian: list[np.ndarray], residual: np.ndarray) -> tuple[np.ndarray, float]:
        """−(JᵀJ)⁻¹ Jᵀr by a factorisation in blocks, and one refinement with the same factor."""
        with one_thread(), np.errstate(all="ignore"):
            return self._solve(jacobian, residual)

    def _solve(self, jacobian: list[np.ndarray], residual: np.ndarray) -> tuple[np.ndarray, float]:
        gram = self._gram(jacobian)
        if not all(np.isfinite(block).all() for block in gram.values()):
            return np.full(self.unknowns, np.nan), math.nan
        diagonal = np.stack([np.diagonal(gram[c, c]) for c in range(len(self.cells))])
        scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        for (i, j), block in gram.items():
            block *= scale[i][:, None] * scale[j]
        try:
            factor = BlockCholesky(gram, len(self.cells), RIDGE)
        except LinAlgError:
            return np.full(self.unknowns, np.nan), math.nan
        step = np.zeros(self.unknowns)
        remainder = residual
        for _ in range(2):  # the second wins back digits that squaring the condition lost
            step -= (scale * factor.solve(scale * self._transposed(jacobian, remainder))).ravel()
            remainder = residual + self.applied(jacobian, step)
        return step, float(np.linalg.norm(remainder))

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

    def _transposed(self, jacobian: list[np.ndarray], vector: np.ndarray) -> np.ndarray:
        product, start = np.zeros((len(self.cells), self.width)), 0
        for group, matrix in zip(self.groups, jacobian, strict=True):
            end = start + group.weights.size
            part = np.einsum("gnw,gn->gw", matrix, vector[start:end].reshape(group.weights.shape))
            for side, cells in enumerate(group.cells.T):
                np.add.at(product, cells, part[:, side * self.width : (side + 1) * self.width])
            start = end
        return product

    def applied(self, jacobian: list[np.ndarray], step: np.ndarray) -> np.ndarray:
        """J δ"""
        by_cell = step.reshape(len(self.cells), self.width)
        found = []
        for group, matrix in zip(self.groups, jacobian, strict=True):
            own = by_cell[group.cells].reshape(len(group.cells), -1)
            found.append(np.einsum("gnw,gw->gn", matrix, own).ravel())
        return np.concatenate(found)

    def form(self, amplitudes: np.ndarray) -> CellForm:
        shape = (len(self.cells), len(self.problem.unknowns), *(degree + 1 for degree in self.degrees))
        return CellForm(amplitudes.reshape(shape), self.cells, self.degrees)


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
