"""∫ |u′ − f(t, u)| dt where f is too narrow in u for the steps of an integrator: what they have stepped over.

As in `narrow`, ranges by interval arithmetic are compared with the values at some points, here along the solution: a
box is a part of a step and the range of the solution in it. Where f may have values that no point shows, the part is
halved until the points show all of them; there u′ is compared with f.
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

SHARE = np.array([0.0, 0.211, 0.493, 0.789, 1.0])  # of a part of a step: the points at which it is examined
ROOM = 0.1  # of the range at these points, added on both sides: between them a polynomial overshoots
PARTS = 4096  # the most at a time: with more, the search is given up
NOT_YET = 8  # halvings up to which even a few parts may be a large share of the time
SHORTEST = 1e-12  # of all time: so short a part is a jump, which the integrator has searched for
SIMPLE = 8  # a polynomial up to this degree has nothing narrow


def hidden(problem: Problem, field: TimePieces) -> np.ndarray | None:
    """How far each unknown, then all, should have moved but did not, relative to its size; None for other problems."""
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
    """The same for one component of y, not relative to its size."""
    rate, state = system.rates[k], system.state
    if not rate.free_symbols & set(state) or _simple(system, k):
        return 0.0
    followed = compiled([rate], (system.time, *state))
    parts = np.stack([field.breaks[:-1], field.breaks[1:]], axis=1)
    whole, total, size, rounds = float(field.breaks[-1] - field.breaks[0]), 0.0, 0.0, 0
    while len(parts):
        if (rounds and len(parts) > PARTS) or (rounds > NOT_YET and np.diff(parts).sum() > COMMON * whole):
            return 0.0  # terms that cancel throughout: their ranges say nothing
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
        parts = parts[hides & (np.diff(parts)[:, 0] > SHORTEST * whole)]
        middle = parts.mean(axis=1)
        halves = np.stack([parts[:, 0], middle]), np.stack([middle, parts[:, 1]])
        parts, rounds = np.concatenate([half.T for half in halves]), rounds + 1
    return total


def _simple(system: FirstOrder, k: int) -> bool:
    """Whether the rate is a polynomial of low degree in y; what is narrow in t has been examined before."""
    rate = system.rates[k]
    return bool(rate.is_polynomial(*system.state)) and rate.as_poly(*system.state).total_degree() <= SIMPLE
