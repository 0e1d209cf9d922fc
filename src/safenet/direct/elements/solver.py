"""Steady linear equations of second order on rectangles: elements of high degree, thinner ones at corners.

Each level raises the degree or, if the coefficients decay least at a corner, cuts the rectangles there. The error has
two parts, that of the degree and that of the layers at corners; each is estimated from how the differences between
levels of its own kind fall.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ...errors import SafeNetError
from ...fields.cells import ElementForm
from ...measure.heldout import interior_points
from ...measure.relative import relative
from ...problem import Problem
from ...problem.facts.agreement import torn
from ...problem.facts.direction import own_waves
from ...problem.facts.elliptic import elliptic
from ...problem.facts.jumping import jumping
from ...run.budget import Budget
from ...run.progress import Monitor
from ..one_pass import OnePass
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
    HALVED,
    LEVELS_GROW,
    UNSOLVED,
)
from .galerkin import Galerkin
from .mesh import Corner, Mesh, corners, mesh


@dataclass(frozen=True)
class Elements(OnePass):
    """Finite elements of high degree on rectangles, for steady linear equations of second order.

    Levels are refined until the estimated error is below `tolerance`, with at most `unknowns` coefficients.

    Examples:
        >>> sn.Elements(tolerance=1e-6).obstacle(decay) is None
        False
    """

    name: ClassVar[str] = "elements"
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

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        """A state for each level; a resumed solve starts again."""
        system, points = elliptic(problem), interior_points(problem)
        tables = jumping(problem)
        ends = corners(system)
        jumps = {c for c in ends for place in torn(problem) if np.allclose(c, np.array(place, float))}
        level = _Level(1, 1, dict.fromkeys(ends, 0), jumps)
        half = _half_waves(problem, mesh(problem, system, 1, level.layers))
        if half**2 > self.unknowns:
            waves = f"the equations carry waves that elements with {self.unknowns:,} unknowns do not resolve"
            yield Direct(done=True, given_up=True, reason=waves)
            return
        if not tables:
            level.degree, level.parts = _first(half)
        before: np.ndarray | None = None
        best, poor, levels = Direct(), 0, Parts(budget, (1.0, LEVELS_GROW))
        levels.over()
        while True:
            grid = mesh(problem, system, level.parts, level.layers)
            galerkin = Galerkin(problem, system, grid, level.degree)
            if galerkin.size > self.unknowns:
                yield self._ended(best, f"stopped at {self.unknowns:,} unknowns")
                return
            monitor.phase(self.name, f"{len(grid.places)} elements of degree {level.degree}")
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
            form = ElementForm(coefficients, grid.cells, (level.degree, level.degree), np.full(1, np.nan))
            values = np.asarray(form.jets(points, [(0, 0)])[0, 0])
            if before is not None:
                level.differs(np.maximum(relative(values - before, values), ELEMENTS_ROUNDING))
            # Unresolved, levels may agree on a solution without the waves.
            before, error = values, None if level.degree * level.parts < half else level.error
            error = None if error is None else np.maximum(error, ELEMENTS_SLACK * galerkin.noise)
            found = replace(form, error=np.full(values.shape[1] + 1, np.nan) if error is None else error)
            worst = float(error.max()) if error is not None else np.inf
            monitor.level(galerkin.size, worst)
            # Before a wave is resolved, differences say nothing.
            poor = poor + 1 if level.refined.fall >= 1 and worst < UNSOLVED else 0
            if worst <= best.residual or best.field is None:
                best = Direct(found, worst, best.iterations + 1, best.evaluations + 1)
            # Digits that cost next to nothing are computed, too.
            free = galerkin.size < ELEMENTS_FREE and worst > ELEMENTS_ROUNDING and not tables
            met = worst < max(self.tolerance, ELEMENTS_TORN * tables)
            if (met and not free) or poor >= ELEMENTS_STUCK:
                yield self._ended(best, f"the estimated error is {best.residual:.0e}")
                return
            yield replace(best, done=False)
            if levels.over():
                yield replace(best, stopped=True)
                return
            if tables:  # singular at every corner of the table, whose cells are small: only the degree rises
                level.degree += 1
            else:
                level.refine(form)

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


def _next(degree: int, parts: int, cut: bool = False) -> tuple[int, int]:
    """A higher degree, and after the highest more parts: 2, 3, 4, 6, 8, …

    More parts leave the layers at corners as they are in proportion, so there degrees go on.
    """
    if degree < ELEMENTS_DEGREES[1 + cut]:
        return degree + 2, parts
    return degree, max(2, parts * 4 // 3 if parts % 3 == 0 else parts * 3 // 2)


@dataclass
class _Part:
    """A part of the error: d₂ (d₂/d₁)^s for the last two differences between levels that refine it.

    s = log r₂ / log r₁ where the last two levels have r₁ and r₂ times as many parts: d ∝ r^−q; otherwise 1. With layers
    at corners, differences fall only slowly: if d₂ is far below d₁, they do not measure the same thing, and the error
    is taken as d₂.
    """

    error: np.ndarray | None = None  # of each unknown and of all
    gap: np.ndarray | None = None
    divided: float = 1.0
    fall: float = 0.0  # the error relative to that before the last refinement

    def differs(self, gap: np.ndarray, divided: float, cut: bool) -> None:
        """The last level, with `divided` times as many parts, differs from the one before by `gap`."""
        former, before, known = self.gap, self.divided, self.error
        self.gap, self.divided = gap, divided
        if former is None:
            self.error = gap if cut else None
            return
        share = math.log(divided) / math.log(before) if divided != 1 and before != 1 else 1.0
        ratio, fall = np.minimum((gap / former) ** share, 1.0), ELEMENTS_FALL[int(cut)]
        believed = np.where(ratio < fall, 1.0 if cut else fall, ratio)
        self.error = np.maximum(gap * believed, ELEMENTS_ROUNDING)
        self.fall = 0.0 if known is None else float(self.error.max() / known.max())


@dataclass
class _Level:
    """The degree, the parts along each side and the layers at corners, and what levels say of the error."""

    degree: int
    parts: int
    layers: dict[Corner, int]
    jumps: set[Corner]  # at which the solution jumps
    of_degree: _Part = field(default_factory=_Part)
    of_layers: _Part = field(default_factory=_Part)
    divided: float = 1.0  # the parts relative to the level before

    def __post_init__(self) -> None:
        self.refined = self.of_degree  # what distinguishes this level from the one before

    @property
    def error(self) -> np.ndarray | None:
        """The larger of both parts."""
        known = [part.error for part in (self.of_degree, self.of_layers) if part.error is not None]
        return None if self.of_degree.error is None else np.maximum.reduce(known)

    def differs(self, gap: np.ndarray) -> None:
        self.refined.differs(gap, self.divided, any(self.layers.values()))

    def refine(self, form: ElementForm) -> None:
        """Refine what the larger part of the error comes from, unless that has just not helped."""
        sharp = _sharpest(form, self.layers, self.jumps)
        degree, layers, cut = self.of_degree.error, self.of_layers.error, any(self.layers.values())
        if degree is None or layers is None:
            deeper = bool(sharp)
        else:
            deeper = bool(layers.max() > degree.max()) != (self.refined.fall > HALVED)
        self.divided = 1.0
        if deeper:
            self.refined = self.of_layers
            self.layers = {corner: count + 2 * (corner in sharp) for corner, count in self.layers.items()}
            return
        self.refined, coarse = self.of_degree, self.parts
        self.degree, self.parts = _next(self.degree, self.parts, cut)
        self.divided = self.parts / coarse


def _sharpest(form: ElementForm, layers: dict[Corner, int], jumps: set[Corner]) -> set[Corner]:
    """The corners whose highest coefficients are largest; none if they are not far larger than elsewhere, and there
    are no layers yet."""
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
    # At a jump they do not fall at all: its effect elsewhere falls with the size of its rectangles.
    sizes = (box[..., 1] - box[..., 0]).min(axis=1) / np.ptp(box[:, 0])
    worst = {
        corner: float((tails * sizes if corner in jumps else tails)[own].max(initial=0.0))
        for corner, own in touching.items()
    }
    at_corners = np.logical_or.reduce(list(touching.values()))
    near = ELEMENTS_NEAR * max(worst.values())
    if not any(layers.values()) and (at_corners.all() or tails[~at_corners].max() >= near):
        return set()
    return {corner for corner, size in worst.items() if size > near}
