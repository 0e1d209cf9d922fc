"""e = −F′(u)⁻¹ F(u): the error of a solution, estimated without knowing the exact one.

This is one Gauss–Newton step in a richer space than the solution's. For polynomials on cells that is the same cells
with a degree two higher, which sees what the solution's own rows could not; for slabs on a grid, four more nodes along
every axis; for any other field, polynomials on cells (`added`). An estimate is not a bound: an error rougher than the
richer space is not seen. But then u + e has about the same residual as u, and that is seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from ..fields.cells import CellForm
from ..fields.field import is_network, jets, values
from ..fields.pieces import TimePieces
from ..fields.series import LinearForm, Piecewise
from ..problem import Problem
from ..problem.evaluate import evaluate
from ..problem.facts.agreement import clashes
from ..problem.facts.evolution import time_obstacle
from ..problem.facts.structure import breaks
from ..problem.jets import along
from ..run.budget import Budget
from ..run.progress import Monitor
from ..run.result import SOLVED_BELOW
from ..run.threads import one_thread
from .added import Corrected, first_cells, on_a_grid, on_a_region, seen_still
from .cut_off import cut_off
from .ends import with_layers
from .heldout import Dwarfed, dwarfed, held_out, interior_points, jet_at, jets_at
from .orbits.astray import astray
from .orbits.branching import branching
from .orbits.growth import departed, followed
from .orbits.hidden import hidden
from .relative import TINY, ratio, relative
from .rows.grid import Start, TensorRows, beginning, continued
from .rows.grid_conditions import node_counts, tensor_obstacle
from .shaking import chained
from .stepped import stepped_over
from .thresholds import (
    AMPLE,
    BLIND,
    DRIFT,
    DWARFED,
    EARLY,
    FALLS,
    FINER,
    HARDLY,
    MOVED_BELOW,
    OFF,
    RICHER,
    ROUGH,
    ROUNDING,
    SHAKEN_BELOW,
    SUSPECT_ON_SHAPES,
    UNSEEN_ON_SHAPES,
)
from .torn import torn


@dataclass(frozen=True)
class Estimate:
    """‖e‖/‖u‖ over the domain: `error` for all unknowns together, `fields` for each by itself; and `left`, the held-out
    residual of u + e over that of u.

    The error of an unknown that is zero everywhere is relative to the largest unknown. If the data clash, so that u
    jumps at the start, everything is measured from the time `since` on.
    """

    error: float
    left: float
    since: float | None = None
    fields: tuple[float, ...] = ()
    noise: float = 0.0  # the part of the error due to amplified rounding
    seen: float = 1.0  # ‖J v‖ for the direction v that the linearised equations and conditions see least
    lost: str = ""  # why the error is not known; it is nan then
    cut: bool = False  # time ran out before a closer look


ADRIFT = (
    "the position of the interior layer is not determined: the conditions depend on it more weakly than the residual, "
    "so no error is estimated; if the problem is symmetric, solve on half the domain"
)
NO_SLOPE = (
    "the equations are not differentiable at the {} found (a root of zero or a division by zero), so {} and no error "
    "is estimated"
)


def _stepped_over(residual: float) -> Estimate:
    """No estimate: every correction that was tried is smoother than the remaining residual."""
    text = (
        f"most of the residual ({residual:.1e}) is too narrow or too rough for the error estimate to resolve; the "
        "error may be far larger, so none is given"
    )
    return Estimate(np.nan, 1.0, lost=text)


def estimated_error(problem: Problem, field: Any) -> float | None:
    """‖e‖/‖u‖ over the domain, all unknowns together; None if it cannot be estimated."""
    found = estimated(problem, field)
    return None if found is None or found.lost else found.error


def estimated(
    problem: Problem,
    field: Any,
    monitor: Monitor | None = None,
    clock: Budget | None = None,
    residual: float | None = None,
) -> Estimate | None:
    """The size of e = −F′(u)⁻¹ F(u), and how much of the residual it explains; None if it cannot be estimated.

    `residual` is the held-out residual, if it has been measured already. Raises SpentError when the `clock` runs out.
    """
    clock = clock or Budget()
    missed = stepped_over(problem, field) or torn(problem, field, residual)
    if residual is None or residual <= SOLVED_BELOW:  # a larger one speaks for itself
        missed = missed or astray(problem, field)
    if missed:
        return Estimate(np.nan, 1.0, lost=missed)
    if (known := _known(problem, field, residual)) is not None:
        return known
    if getattr(field, "weak", False):
        return None  # no correction explains the residual of a jump
    (monitor or Monitor()).phase("estimating the error")
    with one_thread():
        corrected = correction(field, problem, clock)
    if corrected is None:
        return None
    better, since = corrected.field, corrected.since
    points = interior_points(problem)
    points = points if since is None else points[points[:, -1] >= since]
    own = values(field, points)
    e = values(better, points) - own
    *each, error = np.hypot(relative(e, own), cut_off(problem, field, points, own)).tolist()
    counted = None if since is None else (since, problem.axes[-1].hi)
    measured = held_out(problem, field, span=counted)
    # If a solution has grown far beyond its data, its error is at least the share by which it misses them.
    data = _missed(problem, field, measured.worst)
    error = error if data is None or data.times < DWARFED else max(error, min(data.missed, 1.0))
    if not np.isfinite(error):
        solved = measured.worst <= SOLVED_BELOW
        said = (
            ("solution", "it may not be unique") if solved else ("function", "Newton's method cannot go on")
        )
        return Estimate(np.nan, 1.0, lost=NO_SLOPE.format(*said), cut=corrected.cut)
    before, after = measured.worst, held_out(problem, better, span=counted).worst
    trained = is_network(field)  # far less exact than a direct solution, which shows a slope of 1e-9
    if trained and before < SOLVED_BELOW and adrift(problem, better, before):
        return Estimate(np.nan, 1.0, lost=ADRIFT, cut=corrected.cut)
    if before < ROUNDING:
        error = max(error, *measured.conditions, 0.0)  # near rounding, errors of the data are carried on
    left = max(after / before, corrected.changed) if before > ROUNDING and np.isfinite(before) else 0.0
    if corrected.seen < HARDLY:
        left = max(left, _hidden(corrected, e))
    # A pulse that was stepped over, or a jump: e leaves most of a large residual unexplained and means nothing.
    blind = left > ROUGH and before > BLIND and error < BLIND * before
    if blind:
        return replace(_stepped_over(before), cut=corrected.cut)
    noise, fields = _noise(corrected, points, own), tuple(each)
    if error < MOVED_BELOW:
        noise = max(noise, _moved(field, points, own))
    # The error includes rounding; for a single unknown, only the rounding of all together is known.
    fields = tuple(max(each, min(noise, 1.0)) for each in fields) if noise > error else fields
    return Estimate(max(error, noise), left, since, fields, noise, corrected.seen, cut=corrected.cut)


def _hidden(corrected: Corrected, e: np.ndarray) -> float:
    """‖J e + r‖/(‖J v‖ ‖e‖): what e may lack, if all of it lies in the direction v that is hardly seen."""
    size = float(np.sqrt(np.mean(np.sum(e**2, axis=1))))
    return corrected.missed / max(corrected.seen * size, TINY)


def _noise(corrected: Corrected, points: np.ndarray, own: np.ndarray) -> float:
    """What rounding is amplified to, relative to u."""
    if corrected.noise is None:
        return 0.0
    with np.errstate(all="ignore"):
        size = ratio(values(corrected.noise, points), own)
    return AMPLE * size if np.isfinite(size) else np.inf


def _moved(field: Any, points: np.ndarray, own: np.ndarray) -> float:
    """‖ε |x| ∂u‖/‖u‖: the effect of rounding coordinates, on something narrow far from zero."""
    axes = points.shape[1]
    orders = [along(i, axes) for i in range(axes)]
    slopes = jets(field, points, orders)
    parts = [np.abs(points[:, [i]] * np.asarray(slopes[order])) for i, order in enumerate(orders)]
    with np.errstate(all="ignore"):
        size = ratio(np.sum(parts, axis=0), own)
    return float(np.finfo(float).eps) * size if np.isfinite(size) else 0.0


def _known(problem: Problem, field: Any, residual: float | None) -> Estimate | None:
    """The estimate by a solver's own tighter run, which the field carries as `error`; None if it carries none.

    Two runs may both be wrong: therefore the growth of rounding is followed, too.
    """
    found = getattr(field, "error", None)
    if found is None or not np.isfinite(found).all():
        return None
    *fields, together = np.asarray(found).tolist()
    points = interior_points(problem)
    own = values(field, points)
    residual = held_out(problem, field).worst if residual is None else residual
    # For elements the residual is the error of second derivatives, two powers of the mesh size above that of values.
    rough = getattr(field, "rough", False)
    if residual > BLIND and together < BLIND * residual and not rough:
        return _stepped_over(residual)
    noise = _moved(field, points, own) if together < MOVED_BELOW else 0.0
    grown = None
    if isinstance(field, TimePieces) and any(field.space):
        noise = max(noise, AMPLE * departed(problem, field))
    elif isinstance(field, TimePieces):
        if others := branching(problem, field):
            return Estimate(np.nan, 1.0, lost=others)
        grown, unmoved = followed(problem, field), hidden(problem, field)
        if unmoved is not None:
            *fields, together = np.maximum([*fields, together], unmoved).tolist()
    if grown is not None:
        noise = max(noise, AMPLE * grown.rounding)
        if np.isfinite(grown.defect).all():
            *fields, together = np.maximum([*fields, together], grown.defect).tolist()
    fields = [max(each, min(noise, 1.0)) for each in fields]
    return Estimate(max(together, noise), 0.0, None, tuple(fields), noise)


@singledispatch
def correction(field: Any, problem: Problem, clock: Budget) -> Corrected | None:
    """u + e in a space richer than the field's; a kind of field that has a better one registers it here."""
    if (first := first_cells(problem)) is None:
        return None
    return (on_a_grid if problem.region is None else on_a_region)(problem, field, *first, clock)


@correction.register
def _(field: CellForm, problem: Problem, clock: Budget) -> Corrected | None:
    return replace(_on_its_cells(problem, field, clock), since=_settled(problem))


@correction.register
def _(field: Piecewise, problem: Problem, clock: Budget) -> Corrected | None:
    if _on_grids(problem, field):
        return replace(_on_its_grid(problem, field, clock), since=_settled(problem))
    found = correction.dispatch(object)(field, problem, clock)
    return None if found is None else replace(found, since=_settled(problem))


def _settled(problem: Problem) -> float | None:
    """The time from which on a march is measured if its data clash or break: at a jump its residual never falls.

    In a march that came to its end the jump has become smooth.
    """
    axis = problem.axes[-1]
    torn = clashes(problem) or breaks(problem)[:-1] != breaks(problem, conditions=False)[:-1]
    return axis.lo + EARLY * axis.length if torn and axis.is_time else None


def _missed(problem: Problem, field: Any, residual: float) -> Dwarfed | None:
    """The data of a linear problem to which the solution is closest in size, and by how much it misses them.

    If nothing grows along any axis, u/times is what the data would produce without a resonance. A residual of any
    kind, also a jump between cells, is relative to u: the data are missed by residual · times.
    """
    data = dwarfed(problem, field) if problem.linear else None
    axes = range(len(problem.axes))
    steady = len(axes) > 1 and all(problem.order(i, name) > 1 for i in axes for name in problem.unknowns)
    if data is None or problem.time is not None or not steady:
        return data
    return replace(data, missed=max(data.missed, data.times * residual))


def missed_data(problem: Problem, field: Any, residual: float) -> Dwarfed | None:
    """The data of a linear problem that a solution dwarfs and does not meet, or None."""
    data = _missed(problem, field, residual)
    return data if data is not None and data.times > DWARFED and data.missed > SOLVED_BELOW else None


def adrift(problem: Problem, field: Any, residual: float = 0.0) -> bool:
    """Whether u(x) can be moved along x: F′(u) u′ = 0 if x is not in the equations, and B′(u) u′ is next to nothing, or
    less than the residual.

    This is an interior layer far from all conditions: they fix its position only by e^(−distance/width), which no
    residual shows.
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
    points = interior_points(problem)
    steepest = np.abs(values(field, points, (1,))).max()
    if steepest * axis.length <= DRIFT * np.abs(values(field, points)).max():
        return False  # a constant has no position
    for condition in problem.conditions:
        known, pull, size = jets_at(problem, field, condition, points[:1]), 0.0, 0.0
        for symbol, jet in condition.jets.items():
            with np.errstate(all="ignore"):
                slope = float(np.ravel(evaluate(problem.value(condition.coefficient(symbol)), known, np))[0])
            (order,) = jet.orders
            pull += slope * float(jet_at(problem, field, replace(jet, orders=(order + 1,)), points[:1])[0])
            size += abs(slope) / axis.length**order
        if abs(pull) > max(DRIFT, residual) * size * steepest:
            return False
    return True


def _on_its_cells(problem: Problem, form: CellForm, clock: Budget) -> Corrected:
    degrees = tuple(degree + RICHER for degree in form.degrees)
    start = np.pad(np.asarray(form.coefficients), [(0, 0), (0, 0), *[(0, RICHER)] * len(degrees)])
    shaking = chained(problem, form.cells, degrees, start, clock)
    # One form, so that its jumps between cells are measured like those of the solution.
    better, d = (CellForm(part, form.cells, degrees) for part in (start + shaking.step, shaking.noise))
    missed, seen = 0.0 if problem.plane is None else shaking.left, shaking.seen
    if graded := with_layers(problem, form):
        # Cells that fit this solution may be too large for the layers of another.
        other = chained(problem, graded.cells, graded.degrees, np.asarray(graded.coefficients), clock)
        if other.seen < FALLS * seen:
            seen, d = other.seen, CellForm(other.noise, graded.cells, graded.degrees)
    if problem.region is not None:
        # An eigenfunction is not a polynomial: the better polynomials represent it, the less the rows see of it.
        higher, more = [degree + FINER for degree in degrees], [(0, 0), (0, 0), *[(0, FINER)] * len(degrees)]

        def finer() -> float:
            return chained(problem, form.cells, higher, np.pad(start, more), clock).seen

        seen = seen_still(seen, UNSEEN_ON_SHAPES, SUSPECT_ON_SHAPES, finer)
    return Corrected(better, noise=d, seen=seen, missed=missed)


def _on_grids(problem: Problem, field: Piecewise) -> bool:
    """Whether its slabs are those of a grid and reach the end of time."""
    finished = field.breaks[-1] >= problem.axes[-1].hi
    return finished and (time_obstacle(problem) or tensor_obstacle(problem)) is None


def _on_its_grid(problem: Problem, field: Piecewise, clock: Budget) -> Corrected:
    """Slab by slab; where that is cheap, once more from a slightly perturbed start, whose effect is linear in it."""
    start = beginning(problem)
    shaken = _off(start, len(problem.axes) == 1) if field.parameters < SHAKEN_BELOW else None
    pieces, moves = [], []
    for piece, span in zip(field.pieces, itertools.pairwise(field.breaks), strict=True):
        clock.insist()
        counts = [count + 2 * RICHER for count in node_counts(problem, piece)]
        stages = max(bases[-1].modes for bases in piece.bases) + RICHER

        def corrected(
            begun: Start,
            counts: list[int] = counts,
            stages: int = stages,
            span: Any = span,
            piece: Any = piece,
        ) -> LinearForm:
            rows = TensorRows(problem, counts, stages, span, begun)
            own = rows.at_nodes(piece)
            return rows.form(own + rows.solve(*rows.linearise(own))[0])

        pieces.append(corrected(start))
        start = continued(pieces[-1], span[1])
        if shaken is not None:
            other = corrected(shaken)
            shaken = continued(other, span[1])
            moves.append(_difference(other, pieces[-1]))
    noise = Piecewise(tuple(moves), field.breaks) if moves else None
    return Corrected(Piecewise(tuple(pieces), field.breaks), noise=noise)


def _off(start: Start, ordinary: bool) -> Start:
    """The start perturbed by OFF relative to its values, for ordinary equations to its values plus one."""
    rng = np.random.default_rng(0)

    def off(field: int, k: int, nodes: Sequence[np.ndarray]) -> np.ndarray:
        value = np.asarray(start(field, k, nodes))
        return np.asarray(value + OFF * (np.abs(value) + float(ordinary)) * rng.normal(size=value.shape))

    return off


def _difference(moved: LinearForm, other: LinearForm) -> LinearForm:
    """(u′ − u) · ε/OFF: as if the start had been off by a rounding."""
    share = np.finfo(float).eps / OFF
    pairs = zip(moved.coefficients, other.coefficients, strict=True)
    return LinearForm(tuple((np.asarray(a) - np.asarray(b)) * share for a, b in pairs), other.bases)
