"""∫ |u′ − f(t, u)| dt where f is too narrow in u for the steps of an integrator: what they have stepped over.

As in `narrow`, ranges by intervals are compared with the values at some points, here along the solution: a box is a
part of a step and the range that the solution has in it. Where f may have values in between that no point shows, the
part is halved, until points show all there is; there the solution is asked whether it has followed.
"""

from __future__ import annotations

import numpy as np

from ...errors import SafeNetError
from ...fields.pieces import TimePieces
from ...problem import Problem
from ...problem.facts.first_order import FirstOrder, first_order
from ...problem.facts.intervals import enclosure
from ...problem.facts.narrow import COMMON, FLAT, SEEN
from ..compiled import compiled
from .growth import orbit

SHARE = np.array([0.0, 0.211, 0.493, 0.789, 1.0])  # of a part of a step: where it is looked at
ROOM = 0.1  # of the range at these points, on both sides: between them a polynomial goes a little farther
PARTS = 4096  # at a time: more cannot be settled
NOT_YET = 8  # halvings before which even two parts may be a large share of the time
TINY = 1e-12  # of all time: a jump, which the integrator has looked for
SIMPLE = 8  # the degree up to which a polynomial has nothing narrow


def hidden(problem: Problem, field: TimePieces) -> np.ndarray | None:
    """What each unknown, and all, was not moved by, relative to its size; None for a problem that is no such system."""
    try:
        system = first_order(problem)
    except SafeNetError:
        return None
    missed = np.array([_missed(system, field, k) for k in range(len(system.state))])
    times = np.linspace(field.breaks[0], field.breaks[-1], 257)
    sizes = np.abs(orbit(system, field, times)).max(axis=1)
    ends = (*system.places[1:], len(system.state))
    each = [missed[a:b].max() for a, b in zip(system.places, ends, strict=True)]
    size = sizes[list(system.places)]
    most = float(size.max()) or 1.0  # an unknown that is zero everywhere counts relative to the largest
    return np.asarray(np.array([*each, max(each)]) / [*np.where(size > 0, size, most), most])


def _missed(system: FirstOrder, field: TimePieces, k: int) -> float:
    """Of one component of y."""
    rate, state = system.rates[k], system.state
    if not rate.free_symbols & set(state) or _simple(system, k):
        return 0.0
    followed = compiled([rate], (system.time, *state))
    parts = np.stack([field.breaks[:-1], field.breaks[1:]], axis=1)
    whole, total, size, rounds = float(field.breaks[-1] - field.breaks[0]), 0.0, 0.0, 0
    while len(parts):
        if (rounds and len(parts) > PARTS) or (rounds > NOT_YET and np.diff(parts).sum() > COMMON * whole):
            return 0.0  # terms that cancel all along: their ranges say nothing
        at = parts[:, [0]] + np.diff(parts) * SHARE
        y = orbit(system, field, at.ravel()).reshape(-1, *at.shape)
        with np.errstate(all="ignore"):
            values = np.nan_to_num(np.broadcast_to(followed(at, *y)[0], at.shape), posinf=0.0, neginf=0.0)
            size = max(size, float(np.abs(values).max()))
            room = ROOM * np.ptp(y, axis=2)
            ranges = zip(y.min(axis=2) - room, y.max(axis=2) + room, strict=True)
            boxes = dict(zip(state, ranges, strict=True)) | {system.time: (parts[:, 0], parts[:, 1])}
            low, high = enclosure(rate, boxes)
            hides = ~(high - low <= SEEN * np.ptp(values, axis=1) + FLAT * size)
        if rounds:
            moved = orbit(system, field, at.ravel(), 1)[k].reshape(at.shape)
            gaps = np.abs(values - moved).mean(axis=1) * np.diff(parts)[:, 0]
            total += float(gaps[~hides].sum())
        parts = parts[hides & (np.diff(parts)[:, 0] > TINY * whole)]
        middle = parts.mean(axis=1)
        halves = np.stack([parts[:, 0], middle]), np.stack([middle, parts[:, 1]])
        parts, rounds = np.concatenate([half.T for half in halves]), rounds + 1
    return total


def _simple(system: FirstOrder, k: int) -> bool:
    """A polynomial of low degree in y; what is narrow in t has been looked at."""
    rate = system.rates[k]
    return bool(rate.is_polynomial(*system.state)) and rate.as_poly(*system.state).total_degree() <= SIMPLE
