"""e = −F′(u)⁻¹ F(u): how far a solution is from the one it stands for, without knowing that one.

One Gauss–Newton step in a richer space than the solution's. For polynomials on cells that is the same cells with a
degree two higher, which sees what the solution's own rows could not; for slabs on a grid, four nodes more along every
axis; for any other field, polynomials on a uniform grid of cells. What is rougher than the richer space is not seen,
an estimate is no bound; but then u + e has about the residual that u has, and that is seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from ..fields.cells import Cell, CellForm
from ..fields.derivatives import Orders, jets
from ..fields.series import Piecewise
from ..problem import Problem
from ..problem.evaluate import evaluate
from ..problem.facts.agreement import clashes
from ..problem.facts.evolution import time_obstacle
from ..run.progress import Monitor
from ..run.result import SOLVED_BELOW
from ..run.threads import one_thread
from .heldout import Dwarfed, dwarfed, held_out, interior_points, jet_at, jets_at
from .rows.cells import CellRows
from .rows.grid import TensorRows, beginning, continued
from .rows.grid_conditions import node_counts, tensor_obstacle
from .rows.relation import handed_over, oversampling
from .thresholds import BLIND, DRIFT, DWARFED, EARLY, ROUGH, ROUNDING, ROWS_BEYOND

RICHER = 2  # two, not one: of a symmetric solution every second coefficient is zero
# Axes → (cells along each, degree) of the uniform grid: some thousand coefficients.
UNIFORM = {1: (16, 12), 2: (6, 10), 3: (3, 5)}


@dataclass(frozen=True)
class Estimate:
    """‖e‖/‖u‖ over the domain, `error` of all unknowns together and `fields` of each by itself; and `left`, the
    held-out residual of u + e over that of u.

    An unknown that is zero everywhere has its error relative to the largest. All count from the time `since` on,
    where the data clash and u jumps at the start.
    """

    error: float
    left: float
    since: float | None = None
    fields: tuple[float, ...] = ()


@dataclass(frozen=True)
class Corrected:
    """u + e, and the time from which on it counts."""

    field: Any
    since: float | None = None


def estimated_error(problem: Problem, field: Any, monitor: Monitor | None = None) -> float | None:
    """‖e‖/‖u‖ over the domain, all unknowns together; None where there is no way to tell."""
    found = estimated(problem, field, monitor)
    return None if found is None else found.error


def estimated(problem: Problem, field: Any, monitor: Monitor | None = None) -> Estimate | None:
    """e = −F′(u)⁻¹ F(u), how large it is and how much of the residual it explains; None if there is no way to tell."""
    if (own := _known(field)) is not None:
        return own
    (monitor or Monitor()).phase("estimating the error")
    corrected = correction(field, problem)
    if corrected is None:
        return None
    better, since = corrected.field, corrected.since
    points = interior_points(problem, 1024)
    points = points if since is None else points[points[:, -1] >= since]
    value = (0,) * len(problem.axes)
    own, other = (np.asarray(jets(form, points, [value])[value]) for form in (field, better))
    error = float(np.linalg.norm(other - own) / max(float(np.linalg.norm(own)), 1e-300))
    data = missed_data(problem, field)
    error = error if data is None else max(error, min(data.missed, 1.0))
    if not np.isfinite(error):
        return None
    counted = None if since is None else (since, problem.axes[-1].hi)
    before, after = (held_out(problem, form, span=counted).worst for form in (field, better))
    left = after / before if before > ROUNDING and np.isfinite(before) else 0.0
    # A pulse that was stepped over, or a jump: most of a large residual is not explained, and e says nothing.
    blind = left > ROUGH and before > BLIND and error < BLIND * before
    return None if blind else Estimate(error, left, since, by_field(own, other - own))


def _known(field: Any) -> Estimate | None:
    """What a solver found out about its own error, from a tighter run: a field carries it."""
    found = getattr(field, "error", None)
    if found is None or not np.isfinite(found).all():
        return None
    *fields, together = np.asarray(found).tolist()
    return Estimate(together, 0.0, None, tuple(fields))


def by_field(own: np.ndarray, e: np.ndarray) -> tuple[float, ...]:
    sizes, errors = np.linalg.norm(own, axis=0), np.linalg.norm(e, axis=0)
    scale = np.where(sizes > 0, sizes, max(float(sizes.max()), 1e-300))
    return tuple(float(ratio) for ratio in errors / scale)


@singledispatch
def correction(field: Any, problem: Problem) -> Corrected | None:
    """u + e in a space richer than the field's; a kind of field that knows a better one registers it here."""
    if problem.region is not None or len(problem.axes) not in UNIFORM:
        return None
    return Corrected(Sum(field, _on_a_grid(problem, field)))


@correction.register
def _(field: CellForm, problem: Problem) -> Corrected | None:
    return Corrected(Sum(field, _on_its_cells(problem, field)), _settled(problem))


@correction.register
def _(field: Piecewise, problem: Problem) -> Corrected | None:
    if _on_grids(problem, field):
        with one_thread():
            return Corrected(_on_its_grid(problem, field), _settled(problem))
    found = correction.dispatch(object)(field, problem)
    return None if found is None else replace(found, since=_settled(problem))


def _settled(problem: Problem) -> float | None:
    """The time from which on a march counts where the data clash: at a jump its residual never falls.

    A march that came to its end has seen the jump become smooth.
    """
    axis = problem.axes[-1]
    return axis.lo + EARLY * axis.length if clashes(problem) else None


def missed_data(problem: Problem, field: Any) -> Dwarfed | None:
    """The data of a linear problem that a solution dwarfs and does not meet, or None."""
    data = dwarfed(problem, field) if problem.linear else None
    return data if data is not None and data.times > DWARFED and data.missed > SOLVED_BELOW else None


def adrift(problem: Problem, field: Any) -> bool:
    """Whether u(x) may be moved along x: F′(u) u′ = 0 where x is not in the equations, and B′(u) u′ is next to nothing.

    A layer inside that no condition is near: they say where it is by e^(−distance/width), which no residual shows.
    """
    axis, *others = problem.axes
    relations = *problem.equations, *problem.conditions
    if (
        others
        or axis.is_time
        or problem.linear
        or any(axis.symbol in r.residual.free_symbols for r in relations)
    ):
        return False
    points = interior_points(problem, 1024)
    steepest = np.abs(np.asarray(jets(field, points, [(1,)])[1,])).max()
    if steepest * axis.length < DRIFT * np.abs(np.asarray(jets(field, points, [(0,)])[0,])).max():
        return False  # a constant has no place
    for condition in problem.conditions:
        known, pull, size = jets_at(problem, field, condition, points[:1]), 0.0, 0.0
        for symbol, jet in condition.jets.items():
            slope = float(evaluate(problem.value(condition.coefficient(symbol)), known, np))
            (order,) = jet.orders
            pull += slope * float(jet_at(problem, field, replace(jet, orders=(order + 1,)), points[:1])[0])
            size += abs(slope) / axis.length**order
        if abs(pull) > DRIFT * size * steepest:
            return False
    return True


def _on_its_cells(problem: Problem, form: CellForm) -> CellForm:
    degrees = tuple(degree + RICHER for degree in form.degrees)
    start = np.pad(np.asarray(form.coefficients), [(0, 0), (0, 0), *[(0, RICHER)] * len(degrees)])
    steps = np.zeros_like(start)
    before: CellForm | None = None
    for span, indices in _slabs(problem, form):
        cells = [form.cells[i] for i in indices]
        rows = CellRows(
            problem,
            cells,
            degrees,
            oversampling(problem) if span is None else ROWS_BEYOND,
            span,
            None if before is None else handed_over(before),
        )
        own = start[indices]
        step = rows.solve(*rows.linearise(own.ravel()))[0].reshape(own.shape)
        steps[indices] = step
        before = rows.form(own + step)
    return CellForm(steps, form.cells, degrees)


@dataclass(frozen=True)
class Sum:
    """u + e."""

    u: Any
    e: CellForm

    def __call__(self, point: Any) -> Any:
        return self.u(point) + self.e(point)

    def jets(self, points: np.ndarray, orders: Sequence[Orders]) -> dict[Orders, np.ndarray]:
        first, second = jets(self.u, points, orders), self.e.jets(points, orders)
        return {order: np.asarray(first[order]) + second[order] for order in orders}


def _on_grids(problem: Problem, field: Piecewise) -> bool:
    """Whether its slabs are those of a grid, all the way to the end."""
    finished = field.breaks[-1] >= problem.axes[-1].hi
    return finished and (time_obstacle(problem) or tensor_obstacle(problem)) is None


def _on_its_grid(problem: Problem, field: Piecewise) -> Piecewise:
    start, pieces = beginning(problem), []
    for piece, span in zip(field.pieces, itertools.pairwise(field.breaks), strict=True):
        counts = [count + 2 * RICHER for count in node_counts(problem, piece)]
        stages = max(bases[-1].modes for bases in piece.bases) + RICHER
        rows = TensorRows(problem, counts, stages, span, start)
        own = rows.at_nodes(piece)
        pieces.append(rows.form(own + rows.solve(*rows.linearise(own))[0]))
        start = continued(pieces[-1], span[1])
    return Piecewise(tuple(pieces), field.breaks)


def _slabs(problem: Problem, form: CellForm) -> list[tuple[tuple[float, float] | None, list[int]]]:
    """The cells by slabs of time, where they fill one after another; else all of them at once."""
    spans = sorted({cell[-1] for cell in form.cells})
    tiled = all(a[1] == b[0] for a, b in itertools.pairwise(spans))
    if time_obstacle(problem) is not None or not tiled or len(spans) == 1:
        return [(None, list(range(len(form.cells))))]
    return [(span, [i for i, cell in enumerate(form.cells) if cell[-1] == span]) for span in spans]


def _on_a_grid(problem: Problem, field: Any) -> CellForm:
    count, degree = UNIFORM[len(problem.axes)]
    ticks = [np.linspace(axis.lo, axis.hi, count + 1).tolist() for axis in problem.axes]
    cells: list[Cell] = list(itertools.product(*(list(itertools.pairwise(line)) for line in ticks)))
    rows = CellRows(problem, cells, degree, oversampling(problem), base=field)
    return rows.form(rows.solve(*rows.linearise(np.zeros(rows.unknowns)))[0])
