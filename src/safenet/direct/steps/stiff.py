"""LSODA's runs: polynomials in their steps, and e = d · max(1, ‖u − v‖/(d + c)), the error of a run u after a run v.

LSODA changes its order and its method on the way. Its error does not fall steadily with its tolerance. Two LSODA runs
share most of their error, so their agreement is no evidence. The defect of a run, followed through the equations, is
its error in first order: d for u, c for v. Where two runs differ by more than d + c, the first order was not enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...fields.field import values
from ...fields.pieces import TimePieces
from ...measure.orbits.growth import followed
from ...measure.relative import TINY, relative
from ...problem import Problem
from ..thresholds import LSODA_DEGREE, NO_DIGIT, STIFF_TIGHTEST
from .richardson import EPS

NODES = np.cos(np.pi * np.arange(LSODA_DEGREE + 1) / LSODA_DEGREE)
INVERSE = np.linalg.inv(np.polynomial.chebyshev.chebvander(NODES, LSODA_DEGREE))


def within(solver: Any) -> np.ndarray:
    """The Chebyshev coefficients of each component in the last step of a solver."""
    times = (solver.t + solver.t_old + solver.step_size * NODES) / 2
    return np.asarray(solver.dense_output()(times) @ INVERSE.T)


def integrals(
    inner: np.ndarray, times: np.ndarray, values: np.ndarray, places: tuple[int, ...]
) -> np.ndarray:
    """Each unknown u in each step, from the polynomial of its highest derivative below the rate: u″ → ∫∫ u″.

    LSODA's polynomial of u itself would, differentiated, divide rounding by the length of the shortest steps.
    """
    halves = np.diff(times)[:, None] / 2
    orders = [end - place for place, end in pairwise((*places, inner.shape[1]))]
    found = []
    for place, order in zip(places, orders, strict=True):
        own = inner[:, place + order - 1]
        for lower in reversed(range(place, place + order - 1)):
            own = halves * np.polynomial.chebyshev.chebint(own, axis=1)
            own[:, 0] += values[:-1, lower] - own @ (-1.0) ** np.arange(own.shape[1])
        found.append(np.pad(own, [(0, 0), (0, max(orders) - order)]))
    return np.stack(found, axis=1)


@dataclass
class Defects:
    """The last run and its error, of each field and of all."""

    problem: Problem
    field: TimePieces | None = None
    error: np.ndarray | None = None
    runs: int = 0

    def after(self, field: TimePieces) -> np.ndarray:
        """The estimated relative error of a new run; of the first, to first order."""
        grown = followed(self.problem, field)
        assert grown is not None  # it is a system without space
        error, before, own = np.maximum(grown.defect, EPS), self.field, self.error
        if before is not None and own is not None:
            # At the ends of its steps, which are short where the solution moves fast.
            times, weights = np.asarray(field.breaks)[1:, None], np.sqrt(np.diff(field.breaks))[:, None]
            now = values(field, times)
            apart = relative(weights * (now - values(before, times)), weights * now)
            with np.errstate(all="ignore"):
                more = np.maximum(1.0, apart / np.maximum(error + own, TINY))
                error = np.where(np.isfinite(error + own), error * more, apart)
        self.field, self.error, self.runs = field, error, self.runs + 1
        return np.asarray(error)

    def then(self, rtol: float, tolerance: float, least: float) -> list[float]:
        """The relative tolerance of the next run, if there is to be one: a digit smaller at least.

        The first run is always checked by a second. If the error is proportional to the tolerance of the run, the next
        has a tenth of the error asked for.
        """
        assert self.error is not None  # of the run at rtol
        error, least = float(self.error.max()), max(least, STIFF_TIGHTEST) if self.runs > 1 else least
        if rtol <= least or (error <= tolerance and self.runs > 1):
            return []
        needed = 0.1 * tolerance / error if tolerance < error < NO_DIGIT else 0.1
        return [max(least, rtol * min(needed, 0.1))]
