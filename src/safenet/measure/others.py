"""F(u + w) = 0 with w far from zero: is there another solution?

Newton's method from a few large starts. What it finds is a solution; that it finds none proves nothing.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np

from ..fields.field import values
from ..problem import Problem
from ..run.budget import Budget
from .heldout import held_out, interior_points
from .rows.cells import CellRows
from .rows.newton import newton
from .rows.relation import oversampling
from .shaking import Sum
from .thresholds import ANOTHER, APART_BY, TRIED_SIZES

CELLS, DEGREE, STEPS = 6, 10, 15
SEEN = 256  # points on which two solutions are told apart
WAVES = ((1, 1), (1, -1), (2, 1))  # half waves along the line, and the sign


def another(problem: Problem, field: Any, budget: Budget | None = None) -> float | None:
    """max |w| of the first one that is found; for nonlinear problems on a line that do not begin in time."""
    if problem.linear or problem.time is not None or len(problem.axes) > 1:
        return None
    (axis,) = problem.axes
    cells = tuple((ends,) for ends in pairwise(np.linspace(axis.lo, axis.hi, CELLS + 1).tolist()))
    points = interior_points(problem, SEEN)
    size = max(float(np.abs(values(field, points)).max()), 1.0)
    rows = CellRows(problem, cells, DEGREE, oversampling(problem), base=field)
    for (wave, sign), factor in product(WAVES, TRIED_SIZES):
        if budget is not None and budget.over():
            return None
        start = _wave(rows, cells, axis, wave) * sign * factor * size
        found = newton(rows, start.ravel(), False, STEPS)
        form = rows.form(found.coefficients)
        w = values(form, points)
        far = float(np.abs(w).max())
        if found.converged and far > APART_BY * size and held_out(problem, Sum(field, form)).worst < ANOTHER:
            return far
    return None


def _wave(rows: CellRows, cells: Any, axis: Any, wave: int) -> np.ndarray:
    """sin(kπs) along the axis as polynomials of the cells, the same for every unknown."""
    nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    inverse = np.linalg.inv(np.polynomial.chebyshev.chebvander(nodes, DEGREE))
    fields = rows.width // rows.size
    coefficients = np.empty((len(cells), fields, DEGREE + 1))
    for i, ((low, high),) in enumerate(cells):
        share = (low + (high - low) * (1 + nodes) / 2 - axis.lo) / axis.length
        coefficients[i] = inverse @ np.sin(wave * np.pi * share)
    return coefficients
