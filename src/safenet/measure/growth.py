"""d′ = (f(t, y + δ) − f(t, y)) d/δ: what becomes of a rounding in a system without space.

In every piece of time a rounding of y and of its rate comes in, and what came in before grows as the system makes it
grow. The slopes of f are those over a small distance δ, not at a point: √|u| at zero has none, and is not Lipschitz.
"""

from __future__ import annotations

import numpy as np
import scipy

from ..errors import SafeNetError
from ..fields.pieces import TimePieces
from ..problem import Problem
from ..problem.facts.first_order import first_order
from .compiled import compiled
from .thresholds import OFF

EPS = float(np.finfo(float).eps)
STEEPEST = 700.0  # e^700 is the largest number there is


def amplified_rounding(problem: Problem, field: TimePieces) -> float:
    """‖d‖/‖u‖ over all time; infinite where it has no bound, 0 for a problem that is no such system."""
    try:
        system = first_order(problem)
    except SafeNetError:
        return 0.0
    times = np.asarray(field.breaks)
    lengths = np.diff(times)
    orders = [k for place, end in _spans(system.places, len(system.state)) for k in range(end - place)]
    owners = [
        f
        for f, (place, end) in enumerate(_spans(system.places, len(system.state)))
        for _ in range(place, end)
    ]
    with np.errstate(all="ignore"):
        jets = field.jets((times[:-1] + lengths / 2)[:, None], [(k,) for k in range(max(orders) + 1)])
        y = np.stack([np.asarray(jets[k,])[:, f] for k, f in zip(orders, owners, strict=True)])
        rates = compiled(system.rates, (system.time, *system.state))

        def rate(y: np.ndarray) -> np.ndarray:
            found = rates(times[:-1] + lengths / 2, *y)
            return np.stack([np.broadcast_to(one, lengths.shape) for one in found])

        still, largest = rate(y), np.abs(y).max(axis=1)
        size = np.where(largest > 0, largest, largest.max() if largest.any() else 1.0)
        off = OFF * size
        slopes = np.stack(
            [(rate(y + np.eye(len(y))[:, [j]] * off[j]) - still) / off[j] for j in range(len(y))], axis=2
        )
        # Of y, of its rate, and of the place where the rate changes; what is zero all along is off by a rounding of 1.
        jumps = np.abs(np.diff(still, axis=1, prepend=still[:, :1]))
        rounding = np.abs(y) + lengths * np.abs(still) + np.abs(times[:-1]) * jumps
        if not largest.any():
            rounding, y = np.ones_like(y), np.ones_like(y)
        return _grown(slopes.transpose(1, 0, 2), lengths, y.T, EPS * rounding.T, system.places)


def _spans(places: tuple[int, ...], count: int) -> list[tuple[int, int]]:
    return list(zip(places, (*places[1:], count), strict=True))


def _grown(
    slopes: np.ndarray, lengths: np.ndarray, y: np.ndarray, rounding: np.ndarray, places: tuple[int, ...]
) -> float:
    """The root of Σ h |d|² / Σ h |y|² over the pieces, of the fields alone."""
    if not np.isfinite(slopes).all():
        return np.inf
    powers = lengths[:, None, None] * slopes
    steepest = np.linalg.eigvals(powers).real.max(axis=1)
    rng, d, total = np.random.default_rng(0), np.zeros(y.shape[1]), 0.0
    for power, h, own, top in zip(powers, lengths, rounding, steepest, strict=True):
        if top > STEEPEST:
            return np.inf
        d = scipy.linalg.expm(power) @ d + own * rng.choice([-1.0, 1.0], size=len(d))
        total += h * float(np.sum(d[list(places)] ** 2))
    size = float(np.sum(lengths[:, None] * y[:, list(places)] ** 2))
    found = np.sqrt(total / max(size, 1e-300))
    return float(found) if np.isfinite(found) else np.inf
