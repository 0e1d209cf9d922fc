"""r(a) and J = ∂r/∂a for a linear form on a tensor grid: the rows of a Newton step.

    J = Σ_α (∂F/∂u_α)(x_p) · ∂^α Φ(x_p)

The slopes ∂F/∂u_α come from SymPy, the columns from the closed-form tables: nothing is differentiated numerically.
Rows carry the square roots of quadrature weights, so their norm is the L² norm of the residual.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from ...fields.basis import AxisBasis
from ...fields.series import Bases, LinearForm
from ...problem import Problem, Relation
from ...problem.jets import Jet
from ..thresholds import CONDITION_WEIGHT
from .newton import least_squares
from .relation import Formula, Handover, Rows, Values, balanced, weigh


@dataclass(kw_only=True)
class Block(Rows):
    """The rows of one relation: one design matrix per jet, over the columns of its field."""

    designs: dict[sp.Symbol, np.ndarray]
    columns: dict[sp.Symbol, slice]

    def jets(self, coefficients: np.ndarray) -> Values:
        return {
            symbol: design @ coefficients[self.columns[symbol]] for symbol, design in self.designs.items()
        }

    def write(self, jacobian: np.ndarray) -> None:
        """Add the weighted Jacobian to `jacobian`, which has the rows of this block."""
        for symbol, design in self.designs.items():
            jacobian[:, self.columns[symbol]] += self.factor(symbol)[:, None] * design


class Collocation:
    """All rows of a problem for given bases: on the whole box, or on a slab of time with a `handover`."""

    def __init__(
        self, problem: Problem, bases: Bases, handover: Handover | None = None, oversampling: float = 1.5
    ) -> None:
        self.problem = problem
        self.bases = bases
        self.sizes = [math.prod(basis.size for basis in axes) for axes in bases]
        ends = np.cumsum([0, *self.sizes])
        self.columns = [slice(int(a), int(b)) for a, b in itertools.pairwise(ends)]
        widest = [max((axes[i] for axes in bases), key=lambda b: b.size) for i in range(len(problem.axes))]
        self.nodes = [basis.nodes(math.ceil(oversampling * basis.size)) for basis in widest]
        self.lengths = [basis.length for basis in widest]
        self.blocks = [self._block(e, range(len(problem.axes)), self._scale(e)) for e in problem.equations]
        for condition in problem.conditions:
            if handover is not None and condition.initial:
                continue
            weight = CONDITION_WEIGHT * balanced(problem, condition, self.lengths, 1.0)
            self.blocks.append(self._block(condition, condition.free, weight))
        if handover is not None:
            self.blocks += self._continuation(handover)

    @property
    def unknowns(self) -> int:
        return sum(self.sizes)

    @property
    def rows(self) -> int:
        return sum(len(block.weights) for block in self.blocks)

    @property
    def orthogonal(self) -> bool:
        """Whether every axis has a basis, not the redundant half-range harmonics."""
        return all(basis.kind != "fourier" for axes in self.bases for basis in axes)

    def _scale(self, equation: Relation) -> float:
        """The factor from residual to error in u: (duration)^q for q time derivatives, (length/π)^p when steady."""
        if equation.scale is not None:
            return equation.scale
        time = self.problem.time
        orders = [jet.orders for jet in equation.jets.values()]
        if time is not None and max(order[time] for order in orders):
            return self.lengths[time] ** max(order[time] for order in orders)
        if time is not None:
            return 1.0
        return (min(self.lengths) / math.pi) ** max(sum(order) for order in orders)

    def _grid(self, free: Sequence[int]) -> tuple[list[np.ndarray], np.ndarray]:
        grids = [self.nodes[i][0] if i in free else np.zeros(1) for i in range(len(self.nodes))]
        weights = np.ones(1)
        for i in range(len(self.nodes)):
            weights = np.outer(weights, self.nodes[i][1] if i in free else np.ones(1)).ravel()
        return grids, weights

    def _design(self, jet: Jet, grids: list[np.ndarray]) -> np.ndarray:
        bases = self.bases[self.problem.unknowns.index(jet.field)]
        tables = []
        for i, basis in enumerate(bases):
            place = jet.place[i]
            points = grids[i] if place is None else np.array([float(self.problem.value(place))])
            tables.append(basis(points, jet.orders[i]))
        return kronecker(tables)

    def _block(self, relation: Relation, free: Sequence[int], scale: float) -> Block:
        grids, weights = self._grid(free)
        mesh = np.meshgrid(*grids, indexing="ij")
        coordinates = {a.symbol: m.ravel() for a, m in zip(self.problem.axes, mesh, strict=True)}
        return Block(
            formula=Formula.of(self.problem, relation),
            coordinates=coordinates,
            designs={symbol: self._design(jet, grids) for symbol, jet in relation.jets.items()},
            columns={s: self.columns[self.problem.unknowns.index(j.field)] for s, j in relation.jets.items()},
            weights=np.sqrt(weights) * scale,
        )

    def _continuation(self, handover: Handover) -> list[Block]:
        """∂_t^k u at the slab's start equals the previous piece's, for k below the time order of each field."""
        time = self.problem.time
        assert time is not None
        start = self.bases[0][time].lower
        free = [i for i in range(len(self.problem.axes)) if i != time]
        grids, weights = self._grid(free)
        grids[time] = np.array([start])
        mesh = np.meshgrid(*grids, indexing="ij")
        points = np.stack([m.ravel() for m in mesh], axis=1)
        blocks = []
        for index, name in enumerate(self.problem.unknowns):
            for k in range(self.problem.time_order(name)):
                orders = tuple(k if i == time else 0 for i in range(len(self.problem.axes)))
                jet = Jet(name, orders, (None,) * len(orders))
                symbol = jet.symbol(self.problem.axis_names)
                blocks.append(
                    Block(
                        formula=Formula.sum({symbol: 1}),
                        coordinates={},
                        designs={symbol: self._design(jet, grids)},
                        columns={symbol: self.columns[index]},
                        weights=np.sqrt(weights) * CONDITION_WEIGHT * self.lengths[time] ** k,
                        target=handover(index, k, points),
                    )
                )
        return blocks

    def linearise(self, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The Jacobian (Fortran order, as LAPACK wants it) and the residual, both weighted."""
        jacobian = np.zeros((self.rows, self.unknowns), order="F")
        residual, row = [], 0
        for block in self.blocks:
            block.look(coefficients)
            block.differentiate()
            weigh([block])
            block.write(jacobian[row : row + len(block.weights)])
            residual.append(block.residual())
            row += len(block.weights)
        return jacobian, np.concatenate(residual)

    def residual(self, coefficients: np.ndarray) -> np.ndarray:
        """The residual, with the points weighted as they last were."""
        for block in self.blocks:
            block.look(coefficients)
        return np.concatenate([block.residual() for block in self.blocks])

    def solve(self, jacobian: np.ndarray, residual: np.ndarray) -> tuple[np.ndarray, float]:
        return least_squares(jacobian, residual, self.orthogonal)

    def form(self, coefficients: np.ndarray) -> LinearForm:
        tensors = tuple(
            coefficients[columns].reshape([basis.size for basis in axes])
            for columns, axes in zip(self.columns, self.bases, strict=True)
        )
        return LinearForm(tensors, self.bases)


def kronecker(tables: Sequence[np.ndarray]) -> np.ndarray:
    """⊗ T_i: rows run over the tensor grid, columns over the tensor of functions, last axis fastest."""
    product = tables[0]
    for table in tables[1:]:
        rows, columns = product.shape[0] * table.shape[0], product.shape[1] * table.shape[1]
        product = (product[:, None, :, None] * table[None, :, None, :]).reshape(rows, columns)
    return product


def widen(form: LinearForm, bases: Bases) -> np.ndarray:
    """The coefficients of `form` in larger bases of the same kinds: a warm start for the next level."""
    flat = []
    for own, old, new in zip(form.coefficients, form.bases, bases, strict=True):
        tensor = np.asarray(own)
        for axis, (small, large) in enumerate(zip(old, new, strict=True)):
            tensor = np.moveaxis(_pad(np.moveaxis(tensor, axis, 0), small, large), 0, axis)
        flat.append(tensor.ravel())
    return np.concatenate(flat)


def _pad(values: np.ndarray, small: AxisBasis, large: AxisBasis) -> np.ndarray:
    """Rows moved to the places of the same functions in the larger basis; functions that it lacks are dropped."""
    padded = np.zeros((large.size, *values.shape[1:]))
    for old, new, start, offset in (
        (small.cosines, large.cosines, 0, 0),
        (small.sines, large.sines, len(small.cosines), len(large.cosines)),
    ):
        _, where, there = np.intersect1d(old, new, return_indices=True)
        padded[offset + there] = values[start + where]
    return padded
