"""Linear problems in many dimensions: least squares for a growing list of products of polynomials.

A list holds with each product all lower ones. It grows where coefficients are large: so sums of functions of few
variables, and what is smooth in all of them, need thousands of products where a grid would have millions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
import scipy

from ...fields.sparse import SparseSeries
from ...measure.heldout import coordinates, held_out, interior_points
from ...measure.points import inside, on_condition
from ...measure.thresholds import CONDITION_WEIGHT
from ...problem import Condition, Problem, Relation
from ...problem.evaluate import evaluate
from ...problem.facts.structure import breaks
from ...run.budget import Budget
from ...run.progress import Monitor
from ...run.threads import one_thread
from ..state import Direct, levels
from ..thresholds import RESIDUAL_SHARE, SPARSE_GROWTH, SPARSE_LEAST, SPARSE_ROWS

AXES = 4  # with fewer, series and cells have all products


@dataclass(frozen=True)
class Sparse:
    """Least squares on a growing list of products of polynomials, for linear problems with four axes or more.

    The list grows until the held-out residual is below `tolerance`, with at most `unknowns` products.

    Examples:
        >>> sn.Sparse().obstacle(sn.library.problem("wave"))
        'it has fewer than 4 axes'
    """

    name: ClassVar[str] = "sparse"
    marches: ClassVar[bool] = False
    tolerance: float = 1e-9
    unknowns: int = 4000
    only_above: float = 0.0

    def obstacle(self, problem: Problem) -> str | None:
        if problem.region is not None:
            return "its domain is not a box"
        if len(problem.axes) < AXES:
            return f"it has fewer than {AXES} axes"
        if not problem.linear:
            return "it is not linear"
        if any(breaks(problem)):
            return "its formulas are not smooth"
        return None

    def aimed(self, tol: float) -> Sparse:
        return replace(self, tolerance=max(self.tolerance, RESIDUAL_SHARE * tol))

    def passes(self, problem: Problem) -> tuple[Sparse, ...]:
        return (self,)

    def within(self, work: float) -> Sparse:
        return self

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        state = state or Direct(cursor={"indices": first_indices(len(problem.axes)).tolist()})
        return levels(state, budget, partial(self._level, problem, monitor))

    def _level(self, problem: Problem, monitor: Monitor, state: Direct) -> Direct:
        indices = np.array(state.cursor["indices"])
        size = len(indices) * len(problem.unknowns)
        if size > self.unknowns and state.field is not None:
            return replace(state, done=True, reason=f"stopped at {self.unknowns} coefficients")
        monitor.phase(self.name, f"{size} coefficients")
        found = solved(problem, indices)
        found = replace(found, error=_error(problem, found, state.field))
        residual = held_out(problem, found).worst
        monitor.level(size, residual)
        cursor = {"indices": grown(indices, np.asarray(found.coefficients)).tolist()}
        best = found if state.field is None or residual < state.residual else state.field
        least, rounds = min(residual, state.residual), state.iterations + 1
        state = Direct(best, least, rounds, rounds, cursor)
        if least >= self.tolerance:
            return state
        return replace(
            state, done=True, final=True, reason=f"the held-out residual is below {self.tolerance:g}"
        )


def first_indices(axes: int) -> np.ndarray:
    """All products up to degree 2 in all."""
    pairs = {
        tuple(np.eye(axes, dtype=int)[i] + np.eye(axes, dtype=int)[j])
        for i, j in product(range(axes), repeat=2)
    }
    singles = {tuple(row) for row in np.eye(axes, dtype=int)}
    return np.array(sorted({(0,) * axes} | singles | pairs))


def grown(indices: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Next to large coefficients: one step along an axis, from one or two below, where all that is lower is there."""
    sizes = {
        tuple(k): float(c) for k, c in zip(indices.tolist(), np.abs(coefficients).max(axis=1), strict=True)
    }
    wanted = max(int(SPARSE_GROWTH * len(sizes)), len(sizes) + SPARSE_LEAST)
    while len(sizes) < wanted:
        scores = _scores(sizes, indices.shape[1])
        if not scores:
            break
        room = wanted - len(sizes)
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:room]
        # What is new has no coefficient yet: it counts as a tenth of what it was found by.
        sizes |= {k: score / 10 for k, score in best}
    return np.array(sorted(sizes))


def _scores(sizes: dict[tuple[int, ...], float], axes: int) -> dict[tuple[int, ...], float]:
    found: dict[tuple[int, ...], float] = {}
    for k in sizes:
        for i in range(axes):
            new = (*k[:i], k[i] + 1, *k[i + 1 :])
            if new in sizes or new in found:
                continue
            lower = [(*new[:j], new[j] - 1, *new[j + 1 :]) for j in range(axes) if new[j]]
            if all(one in sizes for one in lower):
                # Of even and odd functions every second coefficient is zero.
                below = [(*new[:j], new[j] - 2, *new[j + 1 :]) for j in range(axes) if new[j] > 1]
                found[new] = max(sizes[one] for one in [*lower, *below])
    return found


def solved(problem: Problem, indices: np.ndarray) -> SparseSeries:
    """Least squares over scattered points of the equations and the conditions."""
    ends = tuple(axis.lo for axis in problem.axes), tuple(axis.hi for axis in problem.axes)
    fields = len(problem.unknowns)
    form = SparseSeries(np.zeros((len(indices), fields)), indices, np.full(fields + 1, np.nan), *ends)
    draw = _draw(len(indices))
    rows: list[np.ndarray] = []
    right: list[np.ndarray] = []
    total = SPARSE_ROWS * len(indices) * fields
    faces = len(problem.conditions)
    for equation in problem.equations:
        count = int(total / len(problem.equations) / 2) + 1
        points = inside(problem, range(len(problem.axes)), count, draw)[:count]
        _append(problem, form, equation, points, 1.0, rows, right)
    for condition in problem.conditions:
        count = max(int(total / 2 / faces) + 1, len(problem.axes))
        points = on_condition(problem, condition, count, draw)[:count]
        _append(problem, form, condition, points, CONDITION_WEIGHT, rows, right)
    matrix, given = np.concatenate(rows), np.concatenate(right)
    norms = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    with one_thread():
        found = scipy.linalg.lstsq(matrix / norms, given, cond=1e-14, lapack_driver="gelsy")[0] / norms
    return replace(form, coefficients=found.reshape(fields, -1).T)


def _draw(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return lambda count, columns: rng.random((count, columns))


def _append(
    problem: Problem,
    form: SparseSeries,
    relation: Relation,
    points: np.ndarray,
    weight: float,
    rows: list[np.ndarray],
    right: list[np.ndarray],
) -> None:
    values = coordinates(problem, points)
    width = len(form.indices)
    block = np.zeros((len(points), width * len(problem.unknowns)))
    for symbol, jet in relation.jets.items():
        at = points.copy()
        for i, place in enumerate(jet.place):
            if place is not None:
                at[:, i] = float(problem.value(place))
        slope = np.broadcast_to(
            evaluate(problem.value(relation.coefficient(symbol)), values, np), len(points)
        )
        start = width * problem.unknowns.index(jet.field)
        block[:, start : start + width] += slope[:, None] * form.table(at, jet.orders)
    # An equation counts by the size of its rows, or high derivatives would drown the conditions.
    size = float(np.median(np.linalg.norm(block, axis=1))) / np.sqrt(width)
    scale = weight if isinstance(relation, Condition) else weight / max(1.0, size)
    rows.append(scale * block)
    right.append(scale * np.broadcast_to(evaluate(problem.value(relation.source), values, np), len(points)))


def _error(problem: Problem, found: SparseSeries, before: SparseSeries | None) -> np.ndarray:
    """What the list before this one differs by: of each field and of all."""
    if before is None:
        return np.full(len(problem.unknowns) + 1, np.nan)
    points, value = interior_points(problem, 1024), (0,) * len(problem.axes)
    own, other = (form.jets(points, [value])[value] for form in (found, before))
    sizes, gaps = np.linalg.norm(own, axis=0), np.linalg.norm(own - other, axis=0)
    scale = np.where(sizes > 0, sizes, max(float(sizes.max()), 1e-300))
    return np.array([*(gaps / scale), np.linalg.norm(gaps) / max(float(np.linalg.norm(sizes)), 1e-300)])
