"""∫ |y − fit|² dt ≈ |s|²/λ³ for a mode that settles at the rate λ from the slope s: it moves by s/λ in the time 1/λ.

Exponential steps are exact for what decays within one step, so the error of the step does not show it; but a fit
through the first two states of a run would miss it.
"""

from __future__ import annotations

import math

import numpy as np

from ...measure.relative import TINY
from ...problem.relation import Axis
from ..thresholds import FIRST_LEVEL_OF_STEPS, FOURIER_TAIL, LAST_LEVEL_OF_STEPS, SETTLING
from .exponential import Evolution
from .waves import squares


def first_level(evolution: Evolution, y: np.ndarray, time: Axis, tolerance: float) -> int:
    """j of the first steps T/2^j: so short that modes which settle within one do not matter over the whole time."""
    rates = np.maximum(evolution.decay_rates, 0.0)
    sizes = np.sum(squares(y), axis=tuple(range(1, y.ndim)), keepdims=True)
    sizes = np.maximum(sizes, 1e-6 * max(float(sizes.max()), TINY))
    with np.errstate(all="ignore"):
        moved = squares(evolution.slope(time.lo, y)) / rates**3 / time.length / sizes
    missed = np.where(rates * time.length > 1, moved, 0.0).sum(axis=0).ravel()
    fastest = np.argsort(rates, axis=None)[::-1]
    matters = np.cumsum(missed[fastest]) > (FOURIER_TAIL * tolerance) ** 2
    if not matters.any():
        return FIRST_LEVEL_OF_STEPS
    rate = float(rates.ravel()[fastest[int(np.argmax(matters))]])
    wanted = math.ceil(math.log2(SETTLING * rate * time.length))
    return min(max(wanted, FIRST_LEVEL_OF_STEPS), LAST_LEVEL_OF_STEPS)
