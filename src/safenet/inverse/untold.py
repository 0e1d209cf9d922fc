"""∂F/∂c of every equation and condition F: numbers that only appear as a product, or a sum, cannot be told apart.

A fit finds that by its sensitivities. Training has none; but if ∂F/∂a and ∂F/∂b are parallel at all points, no data
whatsoever determine a and b one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ..measure.heldout import interior_points, jets_at, points_of
from ..problem import Problem, Relation
from ..problem.evaluate import evaluate
from ..problem.numbers import Curve
from .statistics import combination, seen_by

PLACES = 256  # at which ∂F/∂c is compared


def untold(problem: Problem, field: Any) -> list[str]:
    """A sentence for each combination of unknown numbers on which no equation and no condition depends."""
    names = tuple(name for name, number in problem.unknown.items() if not isinstance(number, Curve))
    if len(names) < 2:
        return []
    relations = [*problem.equations, *problem.conditions]
    J = np.concatenate([_slopes(problem, field, relation, names) for relation in relations])
    if not np.isfinite(J).all():
        return []
    return [combination(names, direction) for direction in seen_by(J, 0.0).open_ones]


def _slopes(problem: Problem, field: Any, relation: Relation, names: tuple[str, ...]) -> np.ndarray:
    """c ∂F/∂c at scattered points, a column for each number: the effect of a relative change."""
    symbols = {symbol.name: symbol for symbol in relation.residual.free_symbols}
    points = points_of(problem, relation, interior_points(problem, PLACES), PLACES)
    at = jets_at(problem, field, relation, points)
    columns = np.zeros((len(points), len(names)))
    for i, name in enumerate(names):
        if name in symbols:
            slope = problem.value(symbols[name] * sp.diff(relation.residual, symbols[name]))
            with np.errstate(all="ignore"):
                columns[:, i] = np.broadcast_to(evaluate(slope, at, np), len(points))
    return columns
