"""Does a solution come to rest where others leave at any time? u′ = 3|u|^(2/3) from −1 comes to rest at 0, and may stay
there for any length of time.

Rates have no finite slope where g = 0 in g^p, 0 < p < 1. A solution that crosses such a place with a nonzero speed is
unique. One that comes to rest there, g = g′ = 0, is one of many if g′/g rises without bound near it: others leave. If
g′/g falls without bound, as for u′ = −√u, all come to rest together.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ...fields.pieces import TimePieces
from ...problem import Problem
from ...problem.facts.first_order import FirstOrder, first_order
from ..compiled import compiled
from .growth import orbit

SAMPLES = 8  # in every piece of time
AROUND, CLOSER = 33, 10  # points around the least |g|, and how often they are drawn closer to it
AT_REST = 1e-2  # of its size: at rest, g would move by less than this over all time
BESIDE = np.array([1e-6, 1e-9, 1e-12])  # of its size: distances from the zero of g
STEEPER = 3.0  # times steeper from one of these distances to the next: |g|^(p − 1) rises tenfold for p = 2/3


def branching(problem: Problem, field: TimePieces) -> str:
    """A sentence about the time at which the solution is at rest where others leave, or ""."""
    try:
        system = first_order(problem)
    except SafeNetError:
        return ""
    with np.errstate(all="ignore"):
        found = (_left(system, field, g) for g in sorted(_roots(system), key=str))
        at = next((time for time in found if time is not None), None)
    if at is None:
        return ""
    return (
        f"at {system.time} = {at:.4g} the solution comes to rest at a value that other solutions may leave at any time "
        "(the right-hand side has no finite slope there): it is not unique, and no error is estimated"
    )


def _roots(system: FirstOrder) -> set[sp.Expr]:
    """Every g in a power g^p, |g|^p or max(g, 0)^p, 0 < p < 1, that contains the solution."""
    found: set[sp.Expr] = set()
    for power in set().union(*(rate.atoms(sp.Pow) for rate in system.rates)):
        base, exponent = power.args
        if exponent.is_number and exponent.is_real and 0 < exponent < 1:
            found |= set(base.args) if isinstance(base, sp.Abs | sp.Max | sp.Min) else {base}
    return {g for g in found if g.free_symbols & set(system.state)}


def _left(system: FirstOrder, field: TimePieces, g: sp.Expr) -> float | None:
    slopes = [sp.diff(g, y) for y in system.state]
    parts = compiled([g, system.derivative(g), *slopes], (system.time, *system.state))

    def at(t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """g, g′ and ∂g/∂y."""
        return np.stack([np.broadcast_to(part, t.shape) for part in parts(t, *y)])

    ends = np.asarray(field.breaks)
    times = np.append(
        (ends[:-1, None] + np.diff(ends)[:, None] * np.arange(SAMPLES) / SAMPLES).ravel(), ends[-1]
    )
    size = 0.0
    for closer in range(CLOSER):
        heights = np.abs(at(times, orbit(system, field, times))[0])
        if np.isnan(heights).all():
            return None
        size = size if closer else float(np.nanmax(heights))
        least = int(np.nanargmin(heights))
        low, high = times[max(least - 1, 0)], times[min(least + 1, len(times) - 1)]
        times = np.linspace(low, high, AROUND)
    time = times[[AROUND // 2]]
    y = orbit(system, field, time)
    height, _, *ways = at(time, y)
    if not abs(height[0]) < BESIDE[0] * size:
        return None
    way = np.array(ways)
    way = way / np.sum(way**2)
    y = y - height * way  # where g = 0
    height, speed, *_ = at(time, y)
    resting = abs(speed[0]) * (ends[-1] - ends[0]) < AT_REST * size
    if not (resting and abs(height[0]) < BESIDE[-1] * size):
        return None
    for side in (1.0, -1.0):
        aside = side * BESIDE * size
        rise = at(np.repeat(time, len(aside)), y + aside * way)[1] / aside
        if rise[0] > 0 and rise[1] > STEEPER * rise[0] and rise[2] > STEEPER * rise[1]:
            return float(time[0])
    return None
