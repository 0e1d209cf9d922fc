"""d = −J⁺ δ with a rounding error δ in every row: how the problem amplifies rounding.

Also the direction that the equations determine least (the smallest singular vector). In time this is done slab by slab;
each starts from the perturbation of the one before.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..fields.cells import Cell, CellForm
from ..fields.field import Orders, jets
from ..problem import Problem
from ..problem.facts.evolution import time_obstacle
from ..run.budget import Budget
from .relative import TINY
from .rows.cells import CellRows
from .rows.relation import handed_over, oversampling
from .thresholds import ROWS_BEYOND


@dataclass(frozen=True)
class Shaking:
    """`step` e = −J⁺ r, `noise` d = −J⁺ δ with δ of the size of rounding in every row, `seen` ‖J v‖ for the v that the
    rows see least, and `left` ‖J e + r‖. Of slabs one after another, no single v is known."""

    step: np.ndarray
    noise: np.ndarray
    seen: float
    left: float
    v: np.ndarray | None = None


def chained(
    problem: Problem,
    cells: tuple[Cell, ...],
    degrees: Sequence[int],
    start: np.ndarray,
    clock: Budget,
    base: Any = None,
) -> Shaking:
    """Slab after slab, each continuing the one before and its perturbation; all cells at once if there are no slabs."""
    steps, noise, seen, left = np.zeros_like(start), np.zeros_like(start), 1.0, 0.0
    before: Any = None
    shaken: Any = None
    for span, indices in _slabs(problem, cells):
        clock.insist()
        here, own = [cells[i] for i in indices], start[indices]
        density = oversampling(problem) if span is None else ROWS_BEYOND
        behind = None if before is None else handed_over(before)
        rows = CellRows(problem, here, degrees, density, span, behind, base)
        shaking = shaken_rows(rows, own.ravel(), shaken)
        seen, left = min(seen, shaking.seen), max(left, shaking.left)
        steps[indices], noise[indices] = (part.reshape(own.shape) for part in (shaking.step, shaking.noise))
        before, shaken = _total(rows.form(own + steps[indices]), base), rows.form(noise[indices])
    return Shaking(steps, noise, seen, left)


def _total(form: CellForm, base: Any) -> Any:
    return form if base is None else Sum(base, form)


def shaken_rows(rows: CellRows, own: np.ndarray, before: CellForm | None = None) -> Shaking:
    """The step of Newton's method, and its perturbation by a rounding error in every row.

    `before` is the perturbation of the slab before.
    """
    with np.errstate(all="ignore"):
        jacobian, residual = rows.linearise(own)
        factored = rows.factored(jacobian)
        if factored is None:
            lost = np.full(rows.unknowns, np.nan)
            return Shaking(lost, lost, 1.0, np.inf)
        step, left = factored.solve(residual)
        rounding = np.finfo(float).eps * rows.sizes()
        shift = rounding * np.random.default_rng(len(own)).normal(size=residual.shape)
        if before is not None:
            shift += rows.handed_more(handed_over(before))
        noise, _ = factored.solve(shift)
        weak, image = factored.weakest()
        sigma = max(float(np.linalg.norm(image)), TINY)
        # The ridge keeps a solve from seeing the direction that the rows hardly see: it is perturbed separately.
        noise = noise + weak * float(np.linalg.norm(rounding * image / sigma)) / sigma
    return Shaking(step, noise, sigma, left, weak)


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


def _slabs(problem: Problem, cells: Sequence[Cell]) -> list[tuple[tuple[float, float] | None, list[int]]]:
    """The cells by slabs of time, if they fill one slab after another; else all of them at once."""
    spans = sorted({cell[-1] for cell in cells})
    tiled = all(a[1] == b[0] for a, b in itertools.pairwise(spans))
    if time_obstacle(problem) is not None or not tiled or len(spans) == 1:
        return [(None, list(range(len(cells))))]
    return [(span, [i for i, cell in enumerate(cells) if cell[-1] == span]) for span in spans]
