"""Linear problems in many dimensions: least squares on a growing list of products of polynomials.

The list grows by those neighbours of its products that explain most of the residual. Sums of functions of few
variables, and functions that are smooth in all of them, then need hundreds of products where a grid has millions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np

from ..fields.field import values
from ..fields.sparse import BLOCK, SparseSeries
from ..measure.heldout import held_out, interior_points
from ..measure.points import coordinates, inside, moved, on_condition
from ..measure.relative import TINY, relative
from ..measure.rows.newton import least_squares
from ..measure.thresholds import CONDITION_WEIGHT
from ..problem import Condition, Problem, Relation
from ..problem.evaluate import evaluate
from ..problem.facts.structure import breaks
from ..run.budget import Budget
from ..run.progress import Monitor
from .one_pass import OnePass
from .state import Direct, levels
from .thresholds import (
    RESIDUAL_SHARE,
    SPARSE_EXPLAINED,
    SPARSE_GROWTH,
    SPARSE_LEAST,
    SPARSE_POINTS,
    SPARSE_ROWS,
)

AXES = 4  # with fewer axes, series and cells can include all products


@dataclass(frozen=True)
class Sparse(OnePass):
    """Least squares on a growing list of products of polynomials, for linear problems with four axes or more.

    The list grows until the held-out residual is below `tolerance`, with at most `unknowns` coefficients.

    Examples:
        >>> sn.Sparse().obstacle(sn.library.problem("wave"))
        'it has fewer than 4 axes'
    """

    name: ClassVar[str] = "sparse"
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
        found, shares = solved(problem, indices)
        residual = held_out(problem, found).worst
        # For a linear problem, errors fall as residuals do, and the previous list is off by its own error.
        fall = min(residual / state.residual, 1.0)
        found = replace(found, error=fall * _error(problem, found, state.field))
        monitor.level(size, residual)
        best = found if state.field is None or residual < state.residual else state.field
        least, rounds = min(residual, state.residual), state.iterations + 1
        if least < self.tolerance:
            reason = f"the held-out residual is below {self.tolerance:g}"
            return Direct(best, least, rounds, rounds, state.cursor, done=True, final=True, reason=reason)
        return Direct(
            best,
            least,
            rounds,
            rounds,
            {"indices": grown(indices, np.asarray(found.coefficients), shares).tolist()},
        )


def first_indices(axes: int) -> np.ndarray:
    """All products of total degree 2 or less."""
    pairs = {
        tuple(np.eye(axes, dtype=int)[i] + np.eye(axes, dtype=int)[j])
        for i, j in product(range(axes), repeat=2)
    }
    singles = {tuple(row) for row in np.eye(axes, dtype=int)}
    return np.array(sorted({(0,) * axes} | singles | pairs))


def neighbours(indices: np.ndarray, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Products one or two steps up along an axis from the list; and for each the largest coefficient next to it.

    Two, because every second coefficient of even and odd functions is zero.
    """
    axes, sizes = indices.shape[1], np.abs(coefficients).max(axis=1)
    steps = np.concatenate([k * np.eye(axes, dtype=int) for k in (1, 2)])
    near, which = np.unique((indices + steps[:, None]).reshape(-1, axes), axis=0, return_inverse=True)
    largest = np.zeros(len(near))
    np.maximum.at(largest, which.ravel(), np.tile(sizes, len(steps)))
    held = set(map(tuple, indices.tolist()))
    new = [tuple(k) not in held for k in near.tolist()]
    return near[new], largest[new]


def grown(
    indices: np.ndarray, coefficients: np.ndarray, shares: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """The list with two kinds of neighbours added: the fewest that together explain half of the residual that all of
    them explain (Dörfler, 1996), and as many that are next to the largest coefficients, as what one product explains,
    others may explain, too.

    `shares` gives what each neighbour explains by itself.
    """
    near, largest = neighbours(indices, coefficients)
    share = shares(near)
    most = max(int((SPARSE_GROWTH - 1) * len(indices) / 2), SPARSE_LEAST)
    best, next_to = (np.argsort(-score, kind="stable") for score in (share, largest))
    enough = int(np.searchsorted(np.cumsum(share[best]), SPARSE_EXPLAINED * share.sum())) + 1
    count = int(np.clip(enough, SPARSE_LEAST, most))
    chosen = np.union1d(best[:count], next_to[:count])
    return np.array(sorted([*indices.tolist(), *near[chosen].tolist()]))


class Rows:
    """Scattered points of the equations and the conditions, enough for a list of `width` products."""

    def __init__(self, problem: Problem, width: int) -> None:
        self.problem, draw, axes = problem, _draw(width), len(problem.axes)
        half = max(SPARSE_ROWS * width * len(problem.unknowns), SPARSE_POINTS) / 2
        inner, outer = int(half / len(problem.equations)) + 1, int(half / max(len(problem.conditions), 1)) + 1
        self.parts: list[tuple[Relation, np.ndarray]] = [
            (equation, inside(problem, range(axes), inner, draw)[:inner]) for equation in problem.equations
        ] + [
            (c, on_condition(problem, c, max(outer, axes), draw)[: max(outer, axes)])
            for c in problem.conditions
        ]
        self.scales = [1.0] * len(self.parts)

    def of(self, form: SparseSeries) -> np.ndarray:
        """A row for each point, a column for each field and product."""
        blocks = [
            scale * self._block(form, *part) for scale, part in zip(self.scales, self.parts, strict=True)
        ]
        return np.concatenate(blocks)

    def weigh(self, form: SparseSeries) -> None:
        """Divide each equation by the size of its rows; otherwise high derivatives would swamp the conditions."""
        for i, (relation, points) in enumerate(self.parts):
            block = self._block(form, relation, points)
            size = float(np.median(np.linalg.norm(block, axis=1))) / np.sqrt(len(form.indices))
            self.scales[i] = CONDITION_WEIGHT if isinstance(relation, Condition) else 1 / max(1.0, size)

    @property
    def given(self) -> np.ndarray:
        found = []
        for scale, (relation, points) in zip(self.scales, self.parts, strict=True):
            source = evaluate(self.problem.value(relation.source), coordinates(self.problem, points), np)
            found.append(scale * np.broadcast_to(source, len(points)))
        return np.concatenate(found)

    def _block(self, form: SparseSeries, relation: Relation, points: np.ndarray) -> np.ndarray:
        problem, width = self.problem, len(form.indices)
        values = coordinates(problem, points)
        block = np.zeros((len(points), width * len(problem.unknowns)))
        for symbol, jet in relation.jets.items():
            at = moved(problem, points, jet.place)
            slope = evaluate(problem.value(relation.coefficient(symbol)), values, np)
            start = width * problem.unknowns.index(jet.field)
            block[:, start : start + width] += np.broadcast_to(slope, len(points))[:, None] * form.table(
                at, jet.orders
            )
        return block


def solved(problem: Problem, indices: np.ndarray) -> tuple[SparseSeries, Callable[[np.ndarray], np.ndarray]]:
    """Least squares over scattered points; and a function for how much of the residual other products would explain."""
    ends = tuple(axis.lo for axis in problem.axes), tuple(axis.hi for axis in problem.axes)
    fields, rows = len(problem.unknowns), Rows(problem, len(indices))

    def form(which: np.ndarray) -> SparseSeries:
        return SparseSeries(np.zeros((len(which), fields)), which, np.full(fields + 1, np.nan), *ends)

    own = form(indices)
    rows.weigh(own)
    given, matrix = rows.given, rows.of(own)
    found, _ = least_squares(matrix.copy(), -given, orthogonal=True)
    left = given - matrix @ found

    def shares(near: np.ndarray) -> np.ndarray:
        size = max(1, BLOCK // len(left))
        parts = [_explained(rows.of(form(near[i : i + size])), left) for i in range(0, len(near), size)]
        return np.concatenate([part.reshape(fields, -1).max(axis=0) for part in parts])

    return replace(own, coefficients=found.reshape(fields, -1).T), shares


def _explained(columns: np.ndarray, left: np.ndarray) -> np.ndarray:
    """(c · r)²/(‖c‖ ‖r‖)² of every column c."""
    norms = np.maximum(np.einsum("ij,ij->j", columns, columns), TINY)
    return np.asarray((left @ columns) ** 2 / norms / max(float(left @ left), TINY))


def _draw(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return lambda count, columns: rng.random((count, columns))


def _error(problem: Problem, found: SparseSeries, before: SparseSeries | None) -> np.ndarray:
    """The relative difference from the solution of the previous list, of each field and of all."""
    if before is None:
        return np.full(len(problem.unknowns) + 1, np.nan)
    points = interior_points(problem)
    own = values(found, points)
    return relative(own - values(before, points), own)
