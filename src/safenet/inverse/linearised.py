"""F(u, k) = 0 and F_u δu = −F_k δk: the equations with an unknown function k, solved and linearised on cells.

The cells end where those of the spline k do, so that u is smooth within each; time is an axis like the others. One
factorisation serves all coefficients of all functions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import partial

import numpy as np
import sympy as sp

from ..fields.cells import Cell, CellForm
from ..measure.heldout import jets_at
from ..measure.points import moved
from ..measure.rows.cells import CellRows
from ..measure.rows.newton import newton
from ..measure.rows.relation import Values, oversampling
from ..measure.rows.start import from_conditions
from ..problem import Problem
from ..problem.data import VALUE
from ..problem.evaluate import evaluate
from ..problem.jets import coordinate
from ..problem.language.tabulated import Tabulated

# Axes of the domain → cells along an axis without an unknown function, the most along one with it, and the degree.
SIZES = {1: (16, 48, 8), 2: (6, 12, 7), 3: (3, 5, 4)}


def obstacle(problem: Problem) -> str | None:
    """Why unknown functions are not found on cells, or None."""
    if len(problem.axes) not in SIZES:
        return f"unknown functions need at most {max(SIZES)} axes, and this problem has {len(problem.axes)}"
    return "unknown functions can only be found in boxes" if problem.region else None


def layout(problem: Problem) -> tuple[tuple[Cell, ...], int]:
    """The cells, and the degree in each."""
    usual, most, degree = SIZES[len(problem.axes)]
    lines = []
    for axis in problem.axes:
        counts = [curve.cells for curve in problem.curves.values() if axis.name in curve.of]
        count = min((c // -(-c // most) if c > most else c for c in counts), default=usual)
        lines.append(list(itertools.pairwise(np.linspace(axis.lo, axis.hi, max(count, usual) + 1).tolist())))
    return tuple(itertools.product(*lines)), degree


def solved(problem: Problem, layout: tuple[tuple[Cell, ...], int], start: CellForm | None) -> CellForm | None:
    """The solution for given functions, starting from that for similar ones; None if none is found."""
    cells, degree = layout
    rows_of = partial(CellRows, cells=cells, degrees=degree, oversampling=oversampling(problem))
    rows = rows_of(problem)
    solve = partial(newton, rows, linear=problem.linear)
    found = (
        from_conditions(rows, rows_of, solve)
        if start is None
        else solve(np.asarray(start.coefficients).ravel())
    )
    return rows.form(found.coefficients) if found.converged else None


def sensitivities(problem: Problem, field: CellForm) -> np.ndarray:
    """∂model/∂c for the coefficients c of all unknown functions, one after another: (values, coefficients).

    `problem` has the functions as they are now; `field` solves it.
    """
    columns, cells, degree = Columns(problem), field.cells, field.degrees[0]
    with np.errstate(all="ignore"):
        rows = CellRows(problem, cells, degree, oversampling(problem))
        jacobian, _ = rows.linearise(np.asarray(field.coefficients).ravel())
        factored = rows.factored(jacobian)
        if factored is None:
            return np.full((sum(len(m.values) for m in problem.measured), columns.size), np.nan)
        right = []
        for group in rows.groups:
            slope = columns.slopes(group.formula.residual, group.values, group.weights.size)
            right.append((group.local * group.weights).reshape(-1, 1) * slope)
        steps, _ = factored.solve(np.concatenate(right))
    fields = len(problem.unknowns)
    shape = (len(cells), fields, *[degree + 1] * len(problem.axes), columns.size)
    # Treat the coefficients as further fields, so that all are evaluated at once.
    together = np.moveaxis(steps.reshape(shape), -1, 1).reshape(len(cells), -1, *shape[2:-1])
    return _measured(problem, field, CellForm(together, cells, (degree,) * len(problem.axes)), columns)


def _measured(problem: Problem, field: CellForm, moves: CellForm, columns: Columns) -> np.ndarray:
    """∂m/∂u_α · δu_α + ∂m/∂k · δk at the points of every measured expression m."""
    found = []
    for measured in problem.measured:
        values = jets_at(problem, field, measured, measured.points) | {coordinate(VALUE): measured.values}
        total = columns.slopes(problem.value(measured.residual), values, len(measured.values))
        for symbol, jet in measured.jets.items():
            slope = evaluate(problem.value(measured.coefficient(symbol)), values, np)
            at = moved(problem, measured.points, jet.place)
            steps = np.asarray(moves.jets(at, [jet.orders])[jet.orders])
            own = steps.reshape(len(at), -1, len(problem.unknowns))[..., problem.unknowns.index(jet.field)]
            total = total + np.broadcast_to(slope, len(at))[:, None] * own
        found.append(total)
    return np.concatenate(found)


class Columns:
    """The place of each unknown function's coefficients among all of them."""

    def __init__(self, problem: Problem) -> None:
        self.size, self.at = 0, dict[str, slice]()
        for name, curve in problem.curves.items():
            count = math.prod(curve.shape)
            self.at[name] = slice(self.size, self.size + count)
            self.size += count

    def slopes(
        self, expression: sp.Expr, values: Values | Mapping[sp.Symbol, object], points: int
    ) -> np.ndarray:
        """∂expression/∂c at many points: (points, coefficients)."""
        total = np.zeros((points, self.size))
        for node in expression.atoms(Tabulated):
            if node.table.name not in self.at:
                continue
            stand_in = sp.Dummy(real=True)
            slope = expression.xreplace({node: stand_in}).diff(stand_in).xreplace({stand_in: node})
            factor = np.asarray(evaluate(slope, values, np), float)
            at = [np.asarray(evaluate(x, values, np), float) for x in node.at]
            shape = np.broadcast_shapes(factor.shape, *(x.shape for x in at))
            if math.prod(shape) != points:  # a place that is a number
                shape = (points,)
            design = node.table.spline.design([np.broadcast_to(x, shape) for x in at], node.orders)
            total[:, self.at[node.table.name]] += np.broadcast_to(factor, shape).reshape(-1, 1) * design
        return total
