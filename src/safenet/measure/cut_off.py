"""Σ_{k>K} |c_k|²: what a sum of waves omits beyond its shortest wave, if its amplitudes keep decaying as they do.

With |c_k|² ~ k^{−q−1} the energy between wave numbers a and b is E(a, b) = (a^{−q} − b^{−q})/q: the energies of the two
highest quarters determine q, and with it E(K, ∞). Moving kinks are not captured by the cell-based correction, so the
truncation error is added here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ..fields.modes import ModalForm, Waves
from ..problem import Problem
from ..problem.facts.agreement import clashes
from ..problem.facts.structure import axis_kinds, breaks
from .relative import TINY, relative

STEEPEST = 200.0  # for a larger q nothing is omitted
FEWEST = 16  # with fewer waves the quarters tell nothing


def cut_off(problem: Problem, field: Any, points: np.ndarray, own: np.ndarray) -> np.ndarray:
    """‖omitted part‖/‖u‖ for u = `own` at the points, for each field and for all together.

    Zero unless the data are not smooth and the waves, in a box, are those of the data's own series.
    """
    left = np.zeros_like(own)
    general = any("general" in kinds[:-1] for kinds in axis_kinds(problem).values())
    if isinstance(field, ModalForm) and not general and (any(breaks(problem)) or clashes(problem)):
        for part in field.parts:
            for f in range(own.shape[1]):
                left[:, f] += _beyond(part, points, f)
    return relative(left, own)


def _beyond(part: Waves, points: np.ndarray, field: int) -> float:
    """The root mean square of what one family of waves omits, along the axis on which that is most."""
    energies = np.mean(part.table(points, field).real ** 2, axis=0)
    found = 0.0
    for kappa in np.asarray(part.exponents).T:
        k = np.abs(kappa.imag)
        most = float(k.max(initial=0.0))
        if len(np.unique(np.round(k / (most or 1.0), 9))) < FEWEST:
            continue
        below, high = (
            float(energies[(k > low * most) & (k <= (low + 0.25) * most)].sum()) for low in (0.5, 0.75)
        )
        found = max(found, _rest(below, high))
    return float(np.sqrt(found))


def _rest(below: float, high: float) -> float:
    """E(K, ∞) from E(K/2, 3K/4) and E(3K/4, K)."""
    if high <= 0.0:
        return 0.0

    def excess(q: float) -> float:
        return float(np.log(0.5**-q - 0.75**-q) - np.log(0.75**-q - 1) - np.log(max(below, TINY) / high))

    if excess(1.0) >= 0:
        q = 1.0  # the decay at a jump: slower decay is treated like it
    elif excess(STEEPEST) <= 0:
        return 0.0
    else:
        q = float(scipy.optimize.brentq(excess, 1.0, STEEPEST))
    return float(high / (0.75**-q - 1))
