"""March: slab after slab in time, in passes from rough to fine; on cells, on a grid or with series, as suits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ..errors import SafeNetError, nearest
from ..problem import Problem
from ..problem.facts.agreement import clashes
from .march import SlabMarch
from .march_on_cells import MarchOnCells
from .march_on_grid import MarchOnGrid
from .march_on_series import MarchOnSeries
from .thresholds import CORNER

# From rough to fine: an answer first, then digits while they are cheap. The first march is never given up for its cost.
CELL_MARCHES = (
    MarchOnCells(tail=1e-4, work=1e300, insist=True, shortest=1e-3, narrowest=1e-3),
    MarchOnCells(tail=1e-6, only_above=1e-7),
    MarchOnCells(tail=1e-8, only_above=1e-8),
)
GRID_MARCHES = (
    MarchOnGrid(tail=1e-4, work=1e300, insist=True, shortest=1e-3, most=100_000),
    MarchOnGrid(tail=1e-7, only_above=1e-7, shortest=1e-7),
)
SERIES_MARCHES = (
    MarchOnSeries(tail=1e-3, work=1e300, insist=True),
    MarchOnSeries(tail=1e-6, only_above=1e-7),
    MarchOnSeries(tail=1e-8, only_above=1e-7),
)
# In order of preference: on a line cells cost little and follow any front.
MARCHES: dict[str, tuple[SlabMarch, ...]] = {
    "cells": CELL_MARCHES,
    "grid": GRID_MARCHES,
    "series": SERIES_MARCHES,
}


@dataclass(frozen=True)
class March:
    """Newton's method in slabs of time, `on` "cells", a "grid" or "series" (by default the first that suits).

    It runs in passes from rough to fine: each neglects coefficients below a smaller share of the largest, the last one
    below `tail`. A pass runs only if the earlier ones left a residual on unseen points above `only_above` (by default,
    a limit of its own).

    Examples:
        >>> solver = sn.March(on="cells", tail=1e-8)
        >>> solver.obstacle(decay)  # a problem without space
        'it does not have exactly one space axis'
    """

    name: ClassVar[str] = "march"
    on: str | None = None
    tail: float | None = None
    only_above: float | None = None

    def __post_init__(self) -> None:
        if self.on is not None and self.on not in MARCHES:
            raise SafeNetError(f"there is no march on {self.on!r}", nearest(self.on, MARCHES))
        if self.tail is not None and not 0 < self.tail < 1:
            raise SafeNetError(f"the tail is {self.tail}", "give a share between 0 and 1, e.g. 1e-6")

    def obstacle(self, problem: Problem) -> str | None:
        kinds = (self.on,) if self.on else tuple(MARCHES)
        found = [MARCHES[kind][0].obstacle(problem) for kind in kinds]
        return None if None in found else found[-1]

    def aimed(self, tol: float) -> March:
        return replace(self, tail=tol)

    def kind(self, problem: Problem) -> str | None:
        """What is marched on: cells, grid or series; None if nothing suits."""
        kinds = (self.on,) if self.on else tuple(MARCHES)
        return next((kind for kind in kinds if MARCHES[kind][0].obstacle(problem) is None), None)

    def passes(self, problem: Problem) -> tuple[SlabMarch, ...]:
        kind = self.kind(problem)
        if kind is None:
            return ()
        marches = self._down_to(MARCHES[kind])
        if clashes(problem) and kind == "cells":
            marches = (replace(marches[0], shortest=min(CORNER, marches[0].shortest)), *marches[1:])
        if clashes(problem) and kind == "grid":
            # No grid resolves a jump at the start, which only decays: a finer march would gain nothing.
            marches = marches[:1]
        if self.only_above is None:
            return marches
        return tuple(replace(march, only_above=self.only_above) for march in marches)

    def _down_to(self, marches: tuple[SlabMarch, ...]) -> tuple[SlabMarch, ...]:
        """The marches with a larger tail than the requested one, and one with that."""
        if self.tail is None:
            return marches
        rougher = tuple(march for march in marches if march.tail > self.tail)
        last = marches[-1] if rougher else marches[0]
        return (*rougher, replace(last, tail=self.tail, only_above=min(last.only_above, self.tail)))
