"""Steady linear equations of second order on rectangles: elements of high degree, thinner ones at corners.

Each level raises the degree or, if the coefficients decay least at a corner, cuts the rectangles there. The error is
estimated from how the differences between levels fall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...errors import SafeNetError
from ...fields.cells import ElementForm
from ...measure.heldout import interior_points
from ...measure.relative import relative
from ...problem import Problem
from ...problem.facts.direction import own_waves
from ...problem.facts.elliptic import elliptic
from ...problem.facts.jumping import jumping
from ...run.budget import Budget
from ...run.progress import Monitor
from ..state import Direct, Parts
from ..thresholds import (
    ELEMENTS_DEGREES,
    ELEMENTS_FALL,
    ELEMENTS_FREE,
    ELEMENTS_MORE,
    ELEMENTS_NEAR,
    ELEMENTS_ROUNDING,
    ELEMENTS_SLACK,
    ELEMENTS_STUCK,
    ELEMENTS_TORN,
    LEVELS_GROW,
    UNSOLVED,
)
from .galerkin import Galerkin
from .mesh import Corner, Mesh, corners, mesh


@dataclass(frozen=True)
class Elements:
    """Finite elements of high degree on rectangles, for steady linear equations of second order.

    Levels are refined until the estimated error is below `tolerance`, with at most `unknowns` coefficients.

    Examples:
        >>> sn.Elements(tolerance=1e-6).obstacle(decay) is None
        False
    """

    name: ClassVar[str] = "elements"
    marches: ClassVar[bool] = False
    tolerance: float = 1e-9
    unknowns: int = 150_000
    only_above: float = 0.0

    def obstacle(self, problem: Problem) -> str | None:
        """Why it does not suit a problem, or None if it does."""
        try:
            elliptic(problem)
        except SafeNetError as refusal:
            return refusal.message
        return None

    def aimed(self, tol: float) -> Elements:
        return replace(self, tolerance=tol)

    def passes(self, problem: Problem) -> tuple[Elements, ...]:
        return (self,)

    def within(self, work: float) -> Elements:
        return self

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        """A state for each level; a resumed solve starts again."""
        system, points = elliptic(problem), interior_points(problem)
        layers = dict.fromkeys(corners(system), 0)
        torn = jumping(problem)
        half = _half_waves(problem, mesh(problem, system, 1, layers))
        if half**2 > self.unknowns:
            waves = f"the equations carry waves that elements with {self.unknowns:,} unknowns do not resolve"
            yield Direct(done=True, given_up=True, reason=waves)
            return
        degree, parts = (1, 1) if torn else _first(half)
        poor = 0
        before: np.ndarray | None = None
        gaps: list[np.ndarray] = []
        divided = [1.0]  # the parts along a side of each level, relative to the level before
        best, cut, levels = Direct(), False, Parts(budget, (1.0, LEVELS_GROW))
        levels.over()
        while True:
            grid = mesh(problem, system, parts, layers)
            galerkin = Galerkin(problem, system, grid, degree)
            if galerkin.size > self.unknowns:
                yield self._ended(best, f"stopped at {self.unknowns:,} unknowns")
                return
            monitor.phase(self.name, f"{len(grid.places)} elements of degree {degree}")
            try:
                coefficients = galerkin.solve()
            except (np.linalg.LinAlgError, RuntimeError):  # singular
                coefficients = np.array(np.nan)
            if not np.isfinite(coefficients).all():
                yield replace(
                    self._ended(best, "the discrete equations are singular: a condition may be missing"),
                    given_up=best.field is None,
                )
                return
            form = ElementForm(coefficients, grid.cells, (degree, degree), np.full(1, np.nan))
            values = np.asarray(form.jets(points, [(0, 0)])[0, 0])
            if before is not None:
                gaps.append(np.maximum(relative(values - before, values), ELEMENTS_ROUNDING))
            before, error = values, _error(gaps, cut, divided)
            if degree * parts < half:
                error = None  # unresolved: levels may agree on a solution without the waves
            error = None if error is None else np.maximum(error, ELEMENTS_SLACK * galerkin.noise)
            found = replace(form, error=np.full(values.shape[1] + 1, np.nan) if error is None else error)
            worst = float(error.max()) if error is not None else np.inf
            monitor.level(galerkin.size, worst)
            # Before a wave is resolved, differences say nothing.
            poor = poor + 1 if best.residual <= worst < UNSOLVED else 0
            if worst < best.residual or best.field is None:
                best = Direct(found, worst, best.iterations + 1, best.evaluations + 1)
            # Digits that cost next to nothing are computed, too.
            free = galerkin.size < ELEMENTS_FREE and worst > ELEMENTS_ROUNDING and not torn
            met = worst < max(self.tolerance, ELEMENTS_TORN * torn)
            if (met and not free) or poor >= ELEMENTS_STUCK:
                yield self._ended(best, f"the estimated error is {best.residual:.0e}")
                return
            yield replace(best, done=False)
            if levels.over():
                yield replace(best, stopped=True)
                return
            if torn:  # singular at every corner of the table, whose cells are small: only the degree rises
                degree += 1
            else:
                coarse = parts
                layers, degree, parts = _finer(form, grid, layers, degree, parts)
                divided.append(parts / coarse)
            cut = any(layers.values())

    def _ended(self, best: Direct, reason: str) -> Direct:
        solved = best.residual < ELEMENTS_MORE * self.tolerance
        return replace(best, done=True, final=solved, reason=reason)


def _half_waves(problem: Problem, grid: Mesh) -> float:
    """Half the phase of the equations' own waves along the longest side: a polynomial of a lower degree misses them."""
    sides = [float(np.diff(line).max()) for line in grid.lines]
    return max(wave * side for wave, side in zip(own_waves(problem), sides, strict=True)) / 2


def _first(half: float) -> tuple[int, int]:
    """The degree and the parts of the first level: two levels or so before it resolves the waves."""
    degree, parts = ELEMENTS_DEGREES[0], 1
    while 2 * degree * parts < half:
        degree, parts = _next(degree, parts)
    return degree, parts


def _next(degree: int, parts: int) -> tuple[int, int]:
    """A higher degree, and after the highest more parts: 2, 3, 4, 6, 8, …"""
    if degree < ELEMENTS_DEGREES[1]:
        return degree + 2, parts
    return degree, max(2, parts * 4 // 3 if parts % 3 == 0 else parts * 3 // 2)


def _error(gaps: list[np.ndarray], cut: bool, divided: Sequence[float] = ()) -> np.ndarray | None:
    """d₂ (d₂/d₁)^s, of each unknown and of all: the error of the last level, if it falls as the differences do.

    s = log r₂ / log r₁ where the last two levels have r₁ and r₂ times as many parts: d ∝ r^−q; otherwise 1. With layers
    at corners, differences fall only slowly: if d₂ is far below d₁, they do not measure the same thing, and the error
    is taken as d₂.
    """
    if len(gaps) < 2:
        return None
    last, former = gaps[-1], gaps[-2]
    *_, before, now = map(math.log, (1.0, 1.0, *divided))
    share = now / before if now and before else 1.0
    ratio, fall = np.minimum((last / former) ** share, 1.0), ELEMENTS_FALL[int(cut)]
    believed = np.where(ratio < fall, 1.0 if cut else fall, ratio)
    return np.asarray(np.maximum(last * believed, ELEMENTS_ROUNDING))


def _finer(
    form: ElementForm, grid: Mesh, layers: dict[Corner, int], degree: int, parts: int
) -> tuple[dict[Corner, int], int, int]:
    """The next level: layers at corners whose highest coefficients are far larger than elsewhere, or `_next`."""
    coefficients = np.asarray(form.coefficients)
    box = np.array(form.cells)
    high = np.concatenate(
        [coefficients[:, :, -2:].reshape(len(box), -1), coefficients[:, :, :, -2:].reshape(len(box), -1)],
        axis=1,
    )
    # Measured as energies, which do not shrink with a rectangle: the error at a corner spreads everywhere.
    tails = np.linalg.norm(high, axis=1)
    touching = {
        corner: np.any(box[:, 0] == corner[0], axis=1) & np.any(box[:, 1] == corner[1], axis=1)
        for corner in layers
    }
    at_corners = np.logical_or.reduce(list(touching.values()))
    worst = {corner: float(tails[own].max(initial=0.0)) for corner, own in touching.items()}
    rest, largest = float(tails[~at_corners].max(initial=0.0)), max(worst.values())
    if not at_corners.all() and rest < ELEMENTS_NEAR * largest:
        near = ELEMENTS_NEAR * largest
        return {corner: count + 2 * (worst[corner] > near) for corner, count in layers.items()}, degree, parts
    return layers, *_next(degree, parts)
