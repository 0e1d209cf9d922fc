"""F(u + w) = 0 with w far from zero: is there another solution?

Newton's method starts from a few large sφ, φ a wave. What it finds is a solution; finding none proves nothing. In the
plane s follows from ⟨F(u + sφ), φ⟩ = 0, and what is found on a few cells is refined: a true solution persists.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...fields.cells import Cell, CellForm, interpolation, restricted
from ...fields.field import values
from ...problem import Problem
from ...problem.evaluate import evaluate
from ...run.budget import Budget
from ..heldout import held_out, interior_points, jets_at
from ..rows.cells import CellRows
from ..rows.newton import newton
from ..rows.relation import oversampling
from ..rows.splitting import even_cells
from ..shaking import Sum
from ..thresholds import ANOTHER, APART_BY, STILL, TRIED_SIZES

# Axes → (cells at the beginning, cells at the end, degree).
CELLS = {1: (6, 6, 10), 2: (4, 16, 8)}
STEPS = 15
MOST, AMPLITUDES = 50.0, 120  # the largest s relative to the size of u, and how many are tried
SEEN = 256  # points on which two solutions are told apart
WAVES = ((1, 1), (1, -1), (2, 1))  # half waves along every axis, and the sign


def another(problem: Problem, field: Any, budget: Budget | None = None) -> float | None:
    """max |w| for the first other solution that is found, or None: only for nonlinear problems without time, on a line
    or with one unknown in the plane."""
    axes = len(problem.axes)
    dear = axes not in CELLS or (axes > 1 and len(problem.equations) > 1)
    if problem.linear or problem.time is not None or dear:
        return None
    few, many, degree = CELLS[axes]
    cells = even_cells(problem, few)
    points = interior_points(problem, SEEN)
    size = max(float(np.abs(values(field, points)).max()), 1.0)
    rows = CellRows(problem, cells, degree, oversampling(problem), base=field)
    for wave, sign in WAVES:
        bump = sign * size * _wave(problem, rows, cells, degree, wave)
        sizes = TRIED_SIZES if axes == 1 else _balanced(problem, field, rows.form(bump), points)
        for factor in sizes:
            if budget is not None and budget.over():
                return None
            found = newton(rows, factor * bump.ravel(), False, STEPS)
            form = rows.form(found.coefficients)
            far = float(np.abs(values(form, points)).max())
            if not found.converged or far < APART_BY * size:
                continue
            form = form if many == few else _followed(problem, field, form, many, degree)
            now = float(np.abs(values(form, points)).max())
            if abs(now - far) < STILL * far and held_out(problem, Sum(field, form)).worst < ANOTHER[axes]:
                return now
    return None


def _balanced(problem: Problem, field: Any, bump: CellForm, points: np.ndarray) -> list[float]:
    """s > 0 at which ⟨F(u + sφ), φ⟩ changes its sign: the amplitudes of possible solutions that look like φ."""
    (equation,) = problem.equations
    own, more = (jets_at(problem, one, equation, points) for one in (field, bump))
    phi = values(bump, points)[:, 0]
    tried = np.geomspace(APART_BY, MOST, AMPLITUDES)
    with np.errstate(all="ignore"):
        sides = [
            np.mean(
                phi
                * evaluate(
                    problem.value(equation.residual),
                    own | {j: own[j] + s * more[j] for j in equation.jets},
                    np,
                )
            )
            for s in tried
        ]
    sign = np.sign(np.nan_to_num(sides, posinf=1.0, neginf=-1.0))
    return [float(s) for s, before, after in zip(tried, sign, sign[1:], strict=False) if before * after < 0]


def _followed(problem: Problem, field: Any, form: CellForm, many: int, degree: int) -> CellForm:
    """The same solution on more cells."""
    cells = even_cells(problem, many)
    rows = CellRows(problem, cells, degree, oversampling(problem), base=field)
    start = np.asarray(restricted(form, cells).coefficients).ravel()
    return rows.form(newton(rows, start, False, STEPS).coefficients)


def _wave(problem: Problem, rows: CellRows, cells: Sequence[Cell], degree: int, wave: int) -> np.ndarray:
    """Π sin(kπs) along the axes as polynomials of the cells, the same for every unknown."""
    _, nodes, inverse = interpolation(degree)
    coefficients = np.empty((len(cells), rows.width // rows.size, *(degree + 1,) * len(problem.axes)))
    for i, cell in enumerate(cells):
        shares = (
            (low + (high - low) * (1 + nodes) / 2 - axis.lo) / axis.length
            for (low, high), axis in zip(cell, problem.axes, strict=True)
        )
        coefficients[i] = reduce(
            np.multiply.outer, (inverse @ np.sin(wave * np.pi * share) for share in shares)
        )
    return coefficients
