"""The rows of a problem on cells: equations inside, conditions on the boundary, smoothness between cells.

    F(u) = 0 in every cell      B(u) = g on the pieces      [∂_n^k u] = 0 between cells, k below the order in n

If the points of two cells have the same places relative to their cells, as most do, the polynomials there are equal up
to a factor: such cells form a group and are evaluated together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from ...fields.basis import AxisBasis
from ...fields.cells import Cell, shared_faces
from ...fields.field import jets
from ...problem import Condition, Problem, Relation
from ...problem.jets import Orders, coordinate
from ..thresholds import CLOSE, CUT_ENOUGH, CUT_MORE, CUT_MOST, INWARD, STEEPNESS, THINNEST
from .relation import Formula, Handover, Rows, Values, balanced


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


Terms = dict[sp.Symbol, Term]


@dataclass(kw_only=True)
class Group(Rows):
    """The rows of one formula on pieces whose points have the same relative places: arrays are (piece, point)."""

    terms: Terms
    cells: np.ndarray
    designs: dict[sp.Symbol, np.ndarray]
    factors: dict[sp.Symbol, np.ndarray]
    known: dict[sp.Symbol, np.ndarray]  # jets of the base, to which the polynomials are added
    size: int  # coefficients of one field in one cell

    def jets(self, coefficients: np.ndarray) -> Values:
        """`coefficients` are (cells, fields · size)."""
        found = {}
        for symbol, term in self.terms.items():
            own = coefficients[
                self.cells[:, term.side], term.field * self.size : (term.field + 1) * self.size
            ]
            found[symbol] = (own @ self.designs[symbol].T) * self.factors[symbol][:, None]
            found[symbol] += self.known.get(symbol, 0.0)
        return found

    def jacobian(self, width: int) -> np.ndarray:
        """(piece, point, coefficients of its cells)"""
        matrix = np.zeros((*self.weights.shape, self.cells.shape[1] * width))
        for symbol, term in self.terms.items():
            start = term.side * width + term.field * self.size
            slope = self.factor(symbol) * self.factors[symbol][:, None]
            matrix[..., start : start + self.size] += slope[..., None] * self.designs[symbol]
        return matrix


class CellGroups:
    """All rows of a problem on `cells`, in groups.

    With a `span` the cells fill a slab of time, whose start is given by the initial conditions or by a `handover`.
    With a `base`, a smooth network, the polynomials are a correction that is added to it.
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
        self.width = self.size * len(problem.unknowns)  # coefficients of a cell
        self.counts = [math.ceil(oversampling * (degree + 1)) for degree in self.degrees]
        self.box = np.array(self.cells)
        self.span, self.handover = span, handover
        self.lengths = [axis.length for axis in problem.axes]
        if span is not None and problem.time is not None:
            self.lengths[problem.time] = span[1] - span[0]
        self.length = math.prod(self.lengths) ** (1 / self.axes)
        self.nodes = [self._nodes(cell, range(self.axes)) for cell in self.cells]
        self.equations = [list(self._equation(equation, self.nodes)) for equation in problem.equations]
        self.handed = list(self._continuation(handover))
        self.others = [
            *(group for condition in problem.conditions for group in self._condition(condition)),
            *self.handed,
            *(group for axis in range(self.axes) for group in self._seams(axis)),
        ]

    @property
    def unknowns(self) -> int:
        return self.width * len(self.cells)

    @property
    def groups(self) -> list[Group]:
        return [*itertools.chain(*self.equations), *self.others]

    # ---- from pieces to groups

    def _grouped(
        self, formula: Formula, terms: Terms, pieces: Iterator[Piece], base: Any = None
    ) -> Iterator[Group]:
        alike: dict[bytes, list[Piece]] = {}
        places: dict[bytes, list[np.ndarray]] = {}
        for piece in pieces:
            if len(piece.weights):
                relative = [self.relative(c, p) for c, p in zip(piece.cells, piece.points, strict=True)]
                key = np.rint(np.concatenate(relative) * 2**30).astype(np.int64).tobytes()
                alike.setdefault(key, []).append(piece)
                places.setdefault(key, relative)
        known = {} if base is None else _known(base, terms, list(itertools.chain(*alike.values())))
        for key, group in alike.items():
            yield self._group(formula, terms, group, places[key], known)

    def relative(self, cell: int, points: np.ndarray) -> np.ndarray:
        """The places of points within a cell, from −1 to 1 along each axis."""
        low, high = self.box[cell].T
        return np.asarray((2 * points - low - high) / (high - low))

    def _group(
        self,
        formula: Formula,
        terms: Terms,
        pieces: list[Piece],
        places: list[np.ndarray],
        base: dict[sp.Symbol, Iterator[np.ndarray]],
    ) -> Group:
        problem = self.problem
        cells = np.array([piece.cells for piece in pieces])
        points = np.stack([piece.points[0] for piece in pieces])
        coordinates = {axis.symbol: points[..., i] for i, axis in enumerate(problem.axes)}
        if pieces[0].normals is not None:
            normals = np.stack([piece.normals for piece in pieces if piece.normals is not None])
            coordinates |= {coordinate(name): normals[..., i] for i, name in enumerate(problem.normals)}
        unit = [AxisBasis("chebyshev", degree, -1.0, 1.0) for degree in self.degrees]
        designs, factors = {}, {}
        for symbol, term in terms.items():
            at = places[term.side]
            designs[symbol] = products([b(at[:, i], term.orders[i]) for i, b in enumerate(unit)])
            box = self.box[cells[:, term.side]]
            factors[symbol] = np.prod((2 / (box[..., 1] - box[..., 0])) ** np.array(term.orders), axis=1)
        weights = np.stack([piece.weights for piece in pieces])
        target = np.stack([np.broadcast_to(piece.target, piece.weights.shape) for piece in pieces])
        return Group(
            formula=formula,
            terms=terms,
            cells=cells,
            designs=designs,
            factors=factors,
            coordinates=coordinates,
            weights=weights,
            target=target,
            known={symbol: np.stack([next(jet) for _ in pieces]) for symbol, jet in base.items()},
            size=self.size,
        )

    def _terms(self, relation: Relation) -> Terms:
        places = relation.places if isinstance(relation, Condition) else ()
        return {
            symbol: Term(
                places.index(jet.place) if len(places) > 1 else 0,
                self.problem.unknowns.index(jet.field),
                jet.orders,
            )
            for symbol, jet in relation.jets.items()
        }

    def _of(self, relation: Relation, pieces: Iterator[Piece]) -> Iterator[Group]:
        return self._grouped(Formula.of(self.problem, relation), self._terms(relation), pieces, self.base)

    # ---- equations

    def _equation(
        self, equation: Relation, nodes: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> Iterator[Group]:
        measure = self._scale(equation) ** 2 / math.prod(self.lengths)
        pieces = (Piece((i,), (at,), np.sqrt(w * measure)) for i, (at, w) in enumerate(nodes))
        return self._of(equation, pieces)

    def _scale(self, equation: Relation) -> float:
        """From residual to error in u: (length/π)^order, for a mode of the domain's size; duration^order in slabs."""
        if equation.scale is not None:
            return equation.scale
        time = None if self.span is None else self.problem.time
        orders = [jet.orders for jet in equation.jets.values()]
        if time is None:
            usual = (min(self.lengths) / math.pi) ** max(map(sum, orders))
        else:
            usual = self.lengths[time] ** max(order[time] for order in orders)
        return balanced(self.problem, equation, self.lengths, usual, time)

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
            inside = self.problem.contains(points, CLOSE * self.length)
            enough = CUT_ENOUGH * math.prod(self.counts[i] for i in free)
            # A cell that is cut by the boundary needs more nodes to have enough of them inside.
            if inside.all() or inside.sum() >= enough or more >= CUT_MOST:
                return points[inside], weights[inside]
            more *= CUT_MORE

    # ---- conditions

    def _condition(self, condition: Condition) -> Iterator[Group]:
        if self.handover is not None and condition.initial:
            return iter(())
        pieces = self._on_piece(condition) if condition.piece else self._on_faces(condition)
        return self._of(condition, pieces)

    def _weight(self, condition: Condition) -> float:
        return balanced(self.problem, condition, self.lengths, 1.0)

    def _on_faces(self, condition: Condition) -> Iterator[Piece]:
        """Cells that touch the place of a condition; if it relates two places, pairs of cells that face each other."""
        axes = self.problem.axes
        measure = math.prod(self.lengths[i] for i in condition.free) / self._weight(condition) ** 2
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
            if all(high[i] - low[i] > CLOSE * self.lengths[i] for i in condition.free):
                face = tuple(zip(low.tolist(), high.tolist(), strict=True))
                points, weights = self._nodes(face, condition.free, at[0])
                sides = [points]
                for other in at[1:]:
                    sides.append(points.copy())
                    sides[-1][:, fixed] = [other[i] for i in fixed]
                yield Piece(pair, tuple(sides), np.sqrt(weights / measure))

    def _on_piece(self, condition: Condition) -> Iterator[Piece]:
        region = self.problem.plane
        assert region is not None
        s, w = AxisBasis("chebyshev", self.degrees[0], 0.0, 1.0).nodes(self.counts[0])
        for index, cell in enumerate(self.cells):
            lower, upper = (np.array([ends[side] for ends in cell[:2]]) for side in (0, 1))
            for edge in region.pieces[condition.piece]:
                for part in edge.clip(lower, upper):
                    points, normals = part.at(s)
                    # On a seam between two cells the condition belongs to the one on the domain's side.
                    inner = points - INWARD * min(upper - lower) * normals
                    if np.mean(np.all((inner >= lower) & (inner <= upper), axis=1)) < 0.5:
                        continue
                    weights = w * part.length / self.length * self._weight(condition) ** 2
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

    def _continuation(self, handover: Handover | None) -> Iterator[Group]:
        """∂_t^k u at the slab's start equals what is handed over, for k below the time order of each field."""
        time = self.problem.time
        if handover is None or time is None or self.span is None:
            return
        free = [i for i in range(self.axes) if i != time]
        measure = math.prod(self.lengths[i] for i in free)
        nodes = [self._nodes(cell, free, [self.span[0]] * self.axes) for cell in self.cells]
        every = np.concatenate([points for points, _ in nodes])
        ends = np.cumsum([len(points) for points, _ in nodes])[:-1]
        for index, name in enumerate(self.problem.unknowns):
            for k in range(self.problem.time_order(name)):
                scale = self.lengths[time] ** k / math.sqrt(measure)
                targets = np.split(handover(index, k, every), ends)
                symbol = sp.Symbol("u")
                orders = tuple(k if i == time else 0 for i in range(self.axes))
                terms = {symbol: Term(0, index, orders)}
                pieces = (
                    Piece((i,), (points,), np.sqrt(weights) * scale, target=target)
                    for i, ((points, weights), target) in enumerate(zip(nodes, targets, strict=True))
                )
                yield from self._grouped(Formula.sum({symbol: 1}), terms, pieces, self.base)

    # ---- between cells

    def _seams(self, axis: int) -> Iterator[Group]:
        """[∂^k u] = 0 across every face that two cells share along `axis`, for each field and k.

        A base has no jumps.
        """
        free = [i for i in range(self.axes) if i != axis]
        measure = math.prod(self.lengths[i] for i in free)
        seams = []
        for a, b, face in shared_faces(self.cells, axis):
            points, weights = self._nodes(face, free, [face[axis][0]] * self.axes)
            # A jump of the slope changes u along the whole axis, so it must not become cheap next to thinner cells.
            thickness = max(float(np.min(np.diff(self.box[[a, b], axis]))), THINNEST * self.lengths[axis])
            seams.append(((a, b), points, np.sqrt(weights / measure), thickness / STEEPNESS))
        here, there = sp.symbols("here there")
        for index, name in enumerate(self.problem.unknowns):
            for k in range(self.problem.order(axis, name)):
                slope = tuple(k if i == axis else 0 for i in range(self.axes))
                terms = {here: Term(0, index, slope), there: Term(1, index, slope)}
                pieces = (Piece(pair, (at, at), w * unit**k) for pair, at, w, unit in seams)
                yield from self._grouped(Formula.sum({here: 1, there: -1}), terms, pieces)


def _known(base: Any, terms: Terms, pieces: list[Piece]) -> dict[sp.Symbol, Iterator[np.ndarray]]:
    """The jets of the base, piece after piece, computed at the points of all pieces at once."""
    ends = np.cumsum([len(piece.weights) for piece in pieces])[:-1]
    found = {}
    for side in {term.side for term in terms.values()} if pieces else ():
        here = {symbol: term for symbol, term in terms.items() if term.side == side}
        every = np.concatenate([piece.points[side] for piece in pieces])
        jet = jets(base, every, list({term.orders for term in here.values()}))
        for symbol, term in here.items():
            found[symbol] = iter(np.split(np.asarray(jet[term.orders])[:, term.field], ends))
    return found


def products(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Π_i T_i[p, k_i] for every point p: rows are points, columns the tensor of functions, last axis fastest."""
    result = tables[0]
    for table in tables[1:]:
        result = (result[:, :, None] * table[:, None, :]).reshape(len(table), -1)
    return result


def _holds(ends: tuple[float, float], value: float, top: float) -> bool:
    """Whether lower ≤ value < upper, or value is the upper end of the whole axis."""
    low, high = ends
    slack = CLOSE * (high - low)
    return low - slack <= value < high - slack or (abs(value - high) <= slack and abs(value - top) <= slack)
