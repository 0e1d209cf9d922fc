"""J δu = −F_c δc: how the measured values depend on numbers c that a training has found.

Training does not reveal that the data do not determine a parameter; it just stops at an arbitrary value. The equations
linearised at the network are solved on the cells of the error estimate; one factorisation serves all numbers.

Without cells, only ∂F/∂c of every equation and condition F is known. If ∂F/∂a and ∂F/∂b are parallel everywhere, then
only a combination of a and b is identifiable, whatever the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from ..fields.cells import CellForm
from ..measure.added import first_cells, in_blocks
from ..measure.heldout import interior_points, jets_at, points_of
from ..measure.misfit import misfit, noise_known, sigmas
from ..measure.rows.cells import CellRows
from ..measure.rows.relation import oversampling
from ..problem import Problem, Relation
from ..problem.data import VALUE, Measured
from ..problem.evaluate import evaluate
from ..problem.facts.posedness import left_open
from ..problem.facts.undecided import undecided
from ..problem.jets import coordinate
from ..problem.numbers import Curve
from ..run.found import Found
from ..run.result import SOLVED_BELOW
from .statistics import combination, found_numbers, seen_by
from .thresholds import NOTHING

PLACES = 256  # at which ∂F/∂c is compared


def determined(problem: Problem, field: Any, found: Found, residual: float) -> Found:
    """Numbers that a training has found, with standard errors and what the data do not determine about them.

    `problem` has the numbers as they were found. Where the data determine the solution itself, or the network is far
    from one, only combinations that no equation tells apart are named.
    """
    J = _sensitivities(problem, field) if residual < SOLVED_BELOW else None
    if J is None or not np.isfinite(J).all():
        said = tuple(untold(problem, field))
        return replace(found, warnings=(*found.warnings, *said), free=found.free or bool(said))
    sigma = np.concatenate(
        [np.broadcast_to(s, m.values.shape) for m, s in zip(problem.measured, sigmas(problem), strict=True)]
    )
    gaps = np.concatenate(misfit(problem, field))
    model = np.concatenate([m.values for m in problem.measured]) + gaps
    known = noise_known(problem)
    z = np.array([float(number.z) for number in problem.unknown.values()])
    size = float(np.linalg.norm(model / sigma))
    return found_numbers(problem, z, J / sigma[:, None], gaps / sigma, size, known, max(residual, NOTHING))


def _sensitivities(problem: Problem, field: Any) -> np.ndarray | None:
    """∂model/∂z at all measured values, a column for each number; None where the cells do not give them."""
    numbers = problem.unknown
    layout = first_cells(problem)
    no_cells = layout is None or any(isinstance(number, Curve) for number in numbers.values())
    if no_cells or not problem.measured or left_open(problem) or undecided(problem):
        return None
    assert layout is not None
    rows = CellRows(problem, *layout, oversampling(problem), base=in_blocks(problem, field))
    with np.errstate(all="ignore"):
        jacobian, _ = rows.linearise(np.zeros(rows.unknowns))
        factored = rows.factored(jacobian)
        if factored is None:
            return None
        known: dict[sp.Expr, sp.Expr] = {}
        for relation in (*problem.equations, *problem.conditions):
            residual = relation.residual
            if known.setdefault(problem.value(residual), residual) != residual:
                return None  # two that differ coincide at these numbers: a group of rows does not tell which it is
        right = []
        for group in rows.groups:
            slopes = _slopes(problem, known.get(group.formula.residual, sp.S.Zero), group.values)
            right.append(np.stack([(group.local * group.weights * s).ravel() for s in slopes], axis=1))
        steps, _ = factored.solve(np.concatenate(right))
        moves = [rows.form(step) for step in steps.T]
        return np.concatenate([_measured(problem, field, measured, moves) for measured in problem.measured])


def _measured(problem: Problem, field: Any, measured: Measured, moves: list[CellForm]) -> np.ndarray:
    """∂m/∂u_α · δu_α + ∂m/∂z at the points of a measured expression m."""
    known = jets_at(problem, field, measured, measured.points) | {coordinate(VALUE): measured.values}
    total = np.stack(
        [np.broadcast_to(s, measured.values.shape) for s in _slopes(problem, measured.residual, known)],
        axis=1,
    )
    for i, move in enumerate(moves):
        moved = jets_at(problem, move, measured, measured.points)
        for symbol in measured.jets:
            slope = evaluate(problem.value(measured.coefficient(symbol)), known, np)
            total[:, i] += slope * moved[symbol]
    return total


def _slopes(problem: Problem, residual: sp.Expr, known: Mapping[sp.Symbol, Any]) -> list[Any]:
    """∂F/∂z of each number z."""
    return [
        evaluate(problem.value(sp.diff(residual, coordinate(name))), known, np)
        * float(number.slope(number.z))
        for name, number in problem.unknown.items()
    ]


def untold(problem: Problem, field: Any) -> list[str]:
    """A sentence for each combination of unknown numbers on which no equation and no condition depends."""
    names = tuple(name for name, number in problem.unknown.items() if not isinstance(number, Curve))
    if len(names) < 2:
        return []
    relations = [*problem.equations, *problem.conditions]
    J = np.concatenate([_effects(problem, field, relation, names) for relation in relations])
    if not np.isfinite(J).all():
        return []
    return [combination(names, direction) for direction in seen_by(J, 0.0).open_ones]


def _effects(problem: Problem, field: Any, relation: Relation, names: tuple[str, ...]) -> np.ndarray:
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
