"""F(x, ∂^α u) = 0 as rows: F and its slopes ∂F/∂u_α, differentiated once by SymPy, evaluated where the jets are known.

    r = w (F − g),      δr = w Σ_α (∂F/∂u_α) ∂^α δu

Series, cells and grids differ in how they know ∂^α u; residual, slopes and weights are the same for all of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from ...problem import Problem, Relation
from ...problem.evaluate import evaluate
from ...problem.jets import coordinate
from ..heldout import interior_points, largest, local_size
from ..points import coordinates
from ..thresholds import DROWNS, ROWS, ROWS_BEYOND

Values = dict[sp.Symbol, Any]  # coordinates and jets, or slopes, at many points

APART = 1e-9  # of a coordinate: the step of the difference quotient of a formula

# (field, time order, points) → values that the slab before hands over.
Handover = Callable[[int, int, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Formula:
    """F and ∂F/∂u_α as expressions."""

    residual: sp.Expr
    slopes: dict[sp.Symbol, sp.Expr]
    nonlinear: bool = False

    @staticmethod
    def of(problem: Problem, relation: Relation) -> Formula:
        slopes = {symbol: problem.value(relation.coefficient(symbol)) for symbol in relation.jets}
        return Formula(problem.value(relation.residual), slopes, not relation.linear)

    @staticmethod
    def sum(signs: dict[sp.Symbol, int]) -> Formula:
        """Σ ±u_k: a value that is handed over, or a jump between two cells."""
        slopes = {symbol: sp.Integer(sign) for symbol, sign in signs.items()}
        return Formula(sp.Add(*(sign * symbol for symbol, sign in slopes.items())), slopes)

    def residual_at(self, values: Values) -> Any:
        with np.errstate(all="ignore"):  # Newton itself checks for values that are not finite
            return evaluate(self.residual, values, np)

    def slopes_at(self, values: Values) -> Values:
        with np.errstate(all="ignore"):
            return {symbol: evaluate(slope, values, np) for symbol, slope in self.slopes.items()}


@dataclass(kw_only=True)
class Rows(ABC):
    """The rows of one formula at many points; `weights` are square roots of quadrature weights, with a scale."""

    formula: Formula
    coordinates: Values
    weights: np.ndarray
    target: np.ndarray | float = 0.0
    local: np.ndarray | float = 1.0
    values: Values = field(default_factory=dict)
    slopes: Values = field(default_factory=dict)

    @abstractmethod
    def jets(self, coefficients: np.ndarray) -> Values:
        """∂^α u at the points."""

    def look(self, coefficients: np.ndarray) -> None:
        self.values = {**self.coordinates, **self.jets(coefficients)}

    def differentiate(self) -> None:
        self.slopes = self.formula.slopes_at(self.values)

    def residual(self) -> np.ndarray:
        return np.asarray(self.local * self.weights * (self.formula.residual_at(self.values) - self.target))

    def factor(self, symbol: sp.Symbol) -> np.ndarray:
        """w ∂F/∂u_α"""
        return np.asarray(self.local * self.weights * self.slopes[symbol])

    @property
    def largest(self) -> np.ndarray:
        """max_α |∂F/∂u_α · u_α|, the largest term at every point."""
        with np.errstate(all="ignore"):
            return largest([slope * self.values[symbol] for symbol, slope in self.slopes.items()])

    def sizes(self) -> np.ndarray:
        """w (Σ_α |∂F/∂u_α · u_α| + |rest of F| + |x ∂F/∂x|): the value of a row is known up to a rounding of this.

        The last part is due to rounded coordinates: they resolve something narrow far from zero to few digits.
        """
        with np.errstate(all="ignore"):
            terms = [slope * self.values[symbol] for symbol, slope in self.slopes.items()]
            rest = self.formula.residual_at(self.values) - self.target - sum(terms)
            total = np.abs(rest) + sum(map(np.abs, terms))
            moved = self.values | {symbol: (1 + APART) * x for symbol, x in self.coordinates.items()}
            total = (
                total
                + np.abs(self.formula.residual_at(moved) - self.formula.residual_at(self.values)) / APART
            )
        return np.broadcast_to(np.abs(self.local * self.weights) * total, self.weights.shape)


def weigh(parts: Sequence[Rows]) -> None:
    """Weight every point of a nonlinear relation, given in several parts, relative to its own terms.

    Plain least squares would distort the solution upstream of a front to make the residual in the front smaller.
    """
    if not parts or not parts[0].formula.nonlinear:
        return
    measure = np.concatenate([part.weights.ravel() ** 2 for part in parts])
    size = local_size(np.concatenate([part.largest.ravel() for part in parts]), measure)
    ends = np.cumsum([part.weights.size for part in parts])[:-1]
    for part, share in zip(parts, np.split(np.min(size) / size, ends), strict=True):
        part.local = share.reshape(part.weights.shape)


def balanced(
    problem: Problem, relation: Relation, lengths: Sequence[float], usual: float, slab: int | None = None
) -> float:
    """`usual`, the factor from a residual to an error of u, or, if that is far off, 1/max_α |c_α| Π_i (π/L_i)^α_i.

    Then coefficients or lengths are so small or so large that conditions would drown the equations, or drown in them.
    In a `slab`, whose axis of time this is, only the highest derivative in time counts, and duration^order.
    """
    highest = 0 if slab is None else max(jet.orders[slab] for jet in relation.jets.values())
    rates = [math.pi / length for length in lengths]
    sizes = []
    for symbol, jet in relation.jets.items():
        if slab is None:
            sizes.append(_typical(problem, relation, symbol) * math.prod(np.power(rates, jet.orders)))
        elif jet.orders[slab] == highest:
            sizes.append(_typical(problem, relation, symbol) / lengths[slab] ** highest)
    size = max(sizes)
    return usual if size == 0 or 1 / DROWNS < size * usual < DROWNS else 1 / size


def _typical(problem: Problem, relation: Relation, symbol: sp.Symbol) -> float:
    """The median of |∂F/∂u_α| over the domain; 0 if it depends on the unknowns."""
    slope = problem.value(relation.coefficient(symbol))
    if slope.is_number:
        return abs(float(slope))
    if slope.free_symbols & relation.jets.keys():
        return 0.0
    known = coordinates(problem, interior_points(problem)) | {
        coordinate(name): 1.0 for name in problem.normals
    }
    with np.errstate(all="ignore"):
        size = float(np.median(np.abs(evaluate(slope, known, np))))
    return size if np.isfinite(size) else 0.0


def oversampling(problem: Problem) -> float:
    """Rows per unknown along each axis."""
    return ROWS.get(len(problem.axes), ROWS_BEYOND)


def handed_over(before: Any) -> Handover:
    """∂_t^k of a field at the end of its slab; time is the last axis."""

    def handover(index: int, k: int, points: np.ndarray) -> np.ndarray:
        orders = (*(0,) * (points.shape[1] - 1), k)
        return np.asarray(before.jets(points, [orders])[orders][:, index])

    return handover
