"""u + e with e in polynomials on cells: the correction of a network, or of any field that has no cells of its own.

A box is covered by one grid of cells, a plane region by a few cells. Cells are split where the residual is large, level
by level, until e no longer changes: near a re-entrant corner a network is smooth and its error is not. On a box this is
done only for a network, and only if the grid leaves most of the residual, as around a source narrower than its cells.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..fields.cells import Cell, CellForm, restricted
from ..fields.field import Orders, is_network, jets, values
from ..problem import Problem
from ..problem.facts.evolution import time_obstacle
from ..run.budget import Budget
from .heldout import held_out, interior_points
from .relative import TINY, relative
from .rows.cells import CellRows
from .rows.relation import oversampling
from .rows.splitting import even_cells, split
from .shaking import Sum, chained, shaken_rows
from .thresholds import (
    BARELY,
    FALLS,
    FINER,
    GROWN_DEGREE,
    PLANE,
    PLANE_MOST,
    REFINED,
    ROUNDING,
    SHARE,
    STILL,
    SUSPECT,
    UNIFORM,
    UNSEEN,
)

TWICE = 2.0  # a level takes at least this many times as long as the one before
BLOCK = 2048  # points at which a network is differentiated at a time


@dataclass(frozen=True)
class Corrected:
    """`field` is u + e, which counts from the time `since` on; `noise` is d, to which the problem amplifies rounding;
    `seen` is ‖J v‖ for the direction v that the equations and conditions see least. `missed` is ‖J e + r‖ ‖v‖: as much
    of v as ‖J e + r‖/‖J v‖ may be missing from e. `changed` is the share of e that the last level added;
    `cut` says that time ran out."""

    field: Any
    since: float | None = None
    noise: Any = None
    seen: float = 1.0
    missed: float = 0.0
    changed: float = 0.0
    cut: bool = False


@dataclass(frozen=True)
class Blocks:
    """A network with all derivatives that a problem needs, for BLOCK points at a time: one compiled program."""

    field: Any
    orders: tuple[Orders, ...]

    def __call__(self, point: Any) -> Any:
        return self.field(point)

    def jets(self, points: np.ndarray, orders: Sequence[Orders]) -> Mapping[Orders, np.ndarray]:
        every = self.orders if set(orders) <= set(self.orders) else tuple(orders)
        filled = np.concatenate([points, np.repeat(points[-1:], -len(points) % BLOCK, axis=0)])
        found = [jets(self.field, block, every) for block in np.split(filled, len(filled) // BLOCK)]
        return {
            order: np.concatenate([np.asarray(block[order]) for block in found])[: len(points)]
            for order in orders
        }


def in_blocks(problem: Problem, field: Any) -> Any:
    """The field in the form in which the rows on cells use it, with the derivatives below those of the problem."""
    if not is_network(field):
        return field
    relations = *problem.equations, *problem.conditions
    orders = {(0,) * len(problem.axes)} | {jet.orders for one in relations for jet in one.jets.values()}
    below = {low for high in orders for low in itertools.product(*(range(k + 1) for k in high))}
    return Blocks(field, tuple(sorted(below)))


def first_cells(problem: Problem) -> tuple[list[Cell], int] | None:
    """The cells on which a correction begins, and their degree; None if there are none for such a domain."""
    if problem.region is None and len(problem.axes) in UNIFORM:
        count, degree = UNIFORM[len(problem.axes)]
        ticks = [np.linspace(axis.lo, axis.hi, count + 1).tolist() for axis in problem.axes]
        return list(itertools.product(*(list(itertools.pairwise(line)) for line in ticks))), degree
    if problem.plane is None:
        return None
    count, degree = PLANE[len(problem.axes)]
    return even_cells(problem, count), degree


def on_a_grid(problem: Problem, field: Any, cells: list[Cell], degree: int, clock: Budget) -> Corrected:
    """The correction on a box."""
    base = in_blocks(problem, field)
    rows = CellRows(problem, cells, degree, oversampling(problem), base=base)
    shaking = shaken_rows(rows, np.zeros(rows.unknowns))
    step, noise = rows.form(shaking.step), rows.form(shaking.noise)
    found, before = Corrected(Sum(field, step)), held_out(problem, field).worst
    if base is not field and before > ROUNDING and held_out(problem, found.field).worst > STILL * before:
        found = _levels(problem, field, base, (rows, step), clock)
    if time_obstacle(problem) is None:
        # Over all times at once, least squares would miss the start a little rather than follow what grows from it.
        noise = _grown(problem, cells, base, clock)

    def finer() -> float:
        clock.insist()
        rows = CellRows(problem, cells, degree + FINER, oversampling(problem), base=base)
        return shaken_rows(rows, np.zeros(rows.unknowns)).seen

    seen = shaking.seen if len(problem.axes) != 2 else seen_still(shaking.seen, UNSEEN, SUSPECT, finer)
    missed = 0.0
    if base is not field and problem.time is None and shaking.v is not None:
        v = values(rows.form(shaking.v), interior_points(problem))
        missed = shaking.left * float(np.sqrt(np.mean(np.sum(v**2, axis=1))))
    return replace(found, noise=noise, seen=seen, missed=missed)


def _levels(
    problem: Problem, field: Any, base: Any, first: tuple[CellRows, CellForm], clock: Budget
) -> Corrected:
    """Levels of cells, from a grid on: e is that of the last level, which changed it by `changed`. No level is begun if
    too little time is left for it: the e found so far is returned and marked as `cut`."""
    (rows, e), points = first, interior_points(problem)
    own, before = values(field, points), held_out(problem, field).worst
    known, changed, ahead = values(e, points), 0.0, 0.0
    while not (cut := ahead >= clock.room):
        began = time.monotonic()
        cells = split(problem, e, rows.shares(np.asarray(e.coefficients).ravel()), SHARE)
        if len(cells) * rows.width > PLANE_MOST:
            break
        start = np.asarray(restricted(e, cells).coefficients).ravel()
        rows = CellRows(problem, cells, e.degrees[0], oversampling(problem), base=base)
        e = rows.form(start + shaken_rows(rows, start).step)
        now = values(e, points)
        changed = relative(now - known, own).max() / max(relative(now, own).max(), TINY)
        known, ahead = now, TWICE * (time.monotonic() - began)
        if not np.isfinite(changed) or (
            changed < STILL and held_out(problem, Sum(field, e)).worst < STILL * before
        ):
            break
    return Corrected(Sum(field, e), changed=float(changed), cut=cut)


def on_a_region(problem: Problem, field: Any, cells: list[Cell], degree: int, clock: Budget) -> Corrected:
    """The correction on a plane region, also in time: levels of cells, each a Newton step from the previous e."""
    first = cells
    base, points = in_blocks(problem, field), interior_points(problem)
    own, before = values(field, points), held_out(problem, field).worst
    known, start = np.zeros_like(own), np.zeros(0)
    while True:
        clock.insist()
        rows = CellRows(problem, cells, degree, oversampling(problem), base=base)
        start = start if start.size else np.zeros(rows.unknowns)
        shaking = shaken_rows(rows, start)
        e = rows.form(start + shaking.step)
        now = values(e, points)
        changed = relative(now - known, own).max() / max(relative(now, own).max(), TINY)
        better, known = Sum(field, e), now
        settled = changed < STILL and held_out(problem, better).worst < STILL * before
        cells = split(problem, e, rows.shares(np.asarray(e.coefficients).ravel()), SHARE)
        more = len(cells) * rows.width > PLANE_MOST
        if settled or before < ROUNDING or more or not np.isfinite(changed):
            break
        start = np.asarray(restricted(e, cells).coefficients).ravel()
    noise = rows.form(shaking.noise) if time_obstacle(problem) else _grown(problem, first, base, clock)
    return Corrected(better, None, noise, shaking.seen, shaking.left, float(changed))


def seen_still(seen: float, unseen: float, suspect: float, finer: Callable[[], float]) -> float:
    """‖J v‖, or 0 if a higher degree lowers it: then only v's polynomial error was seen, and v itself is free.

    `finer` computes it with that degree, and is only called between `unseen` and `suspect`."""
    return 0.0 if unseen < seen < suspect and finer() < FALLS * seen else seen


def _grown(problem: Problem, cells: Sequence[Cell], base: Any, clock: Budget) -> CellForm:
    """What rounding grows to over time, in slabs so short that their rows resolve the values at their start."""
    degrees = (GROWN_DEGREE[len(problem.axes)],) * len(problem.axes)
    for _ in range(REFINED[min(len(problem.axes), 2)]):
        shape = (len(cells), len(problem.unknowns), *(degree + 1 for degree in degrees))
        grown = chained(problem, tuple(cells), degrees, np.zeros(shape), clock, base)
        done = CellForm(grown.noise, tuple(cells), degrees)
        if grown.seen > BARELY:
            break
        cells = [(*cell[:-1], span) for cell in cells for span in _quarters(*cell[-1])]
    return done


def _quarters(start: float, end: float) -> list[tuple[float, float]]:
    return list(itertools.pairwise(np.linspace(start, end, 5).tolist()))
