"""d′ = (f(t, y + δ) − f(t, y)) d/δ + r: what becomes of a rounding, and of the defect r = y′ − f(t, y), in a system
without space.

In every piece of time a rounding of y and of its rate comes in, and what came in before grows as the system makes it
grow. The slopes of f are those over a small distance δ, not at a point: √|u| at zero has none, and is not Lipschitz.
The defect is what the pieces of a solution miss the equations by. Followed in the same way it is the error, whatever
other runs say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from ..errors import SafeNetError
from ..fields.basis import AxisBasis
from ..fields.pieces import TimePieces
from ..problem import Problem
from ..problem.facts.first_order import FirstOrder, first_order
from .compiled import compiled
from .relative import ratio, relative
from .thresholds import OFF

EPS = float(np.finfo(float).eps)
STEEPEST = 700.0  # e^700 is the largest number there is
NODES = 6  # of Gauss's rule in every piece
JOINED = 1e-10  # of the largest slope: pieces whose slopes differ by less where they meet are joined


@dataclass(frozen=True)
class Grown:
    """‖d‖/‖u‖ over all time: of `rounding`, and of the defect in each field, then in all; infinite without a bound."""

    rounding: float
    defect: np.ndarray


def followed(problem: Problem, field: TimePieces) -> Grown | None:
    """What rounding and defect grow to; None for a problem that is no such system."""
    try:
        system = first_order(problem)
    except SafeNetError:
        return None
    times, states = np.asarray(field.breaks), _States(system, field)
    lengths = np.diff(times)
    middles = times[:-1] + lengths / 2
    with np.errstate(all="ignore"):
        y = states.at(0.0)
        still, largest = states.rates(middles, y), np.abs(y).max(axis=1)
        size = np.where(largest > 0, largest, largest.max() if largest.any() else 1.0)
        off = OFF * size
        moved = [states.rates(middles, y + np.eye(len(y))[:, [j]] * off[j]) for j in range(len(y))]
        slopes = np.stack([(rate - still) / off[j] for j, rate in enumerate(moved)], axis=2)
        # Of y, of its rate, and of the place where the rate changes; what is zero all along is off by a rounding of 1.
        jumps = np.abs(np.diff(still, axis=1, prepend=still[:, :1]))
        rounding = np.abs(y) + lengths * np.abs(still) + np.abs(times[:-1]) * jumps
        defect, ends = states.missed(times), states.at(1.0)
        if not largest.any():
            rounding, defect, ends = np.ones_like(y), np.zeros_like(y), np.ones_like(y)
        return _grown(slopes.transpose(1, 0, 2), lengths, ends.T, EPS * rounding.T, defect.T, system.places)


class _States:
    """u, u′, … of every field as the components of y, by pieces."""

    def __init__(self, system: FirstOrder, field: TimePieces) -> None:
        spans = list(zip(system.places, (*system.places[1:], len(system.state)), strict=True))
        self._parts = [(f, k) for f, (place, end) in enumerate(spans) for k in range(end - place)]
        self._field, self._halves = field, np.diff(np.asarray(field.breaks)) / 2
        self._rates = compiled(system.rates, (system.time, *system.state))

    def at(self, z: float) -> np.ndarray:
        """y at the same place −1 ≤ z ≤ 1 of every piece."""
        unit = AxisBasis("chebyshev", self._field.degree, -1.0, 1.0)
        rows = [unit(np.array([z]), k)[0] for k in range(max(k for _, k in self._parts) + 1)]
        own = [np.asarray(part) for part in self._field.coefficients]
        return np.stack([(own[f] @ rows[k]) * self._halves**-k for f, k in self._parts])

    def rates(self, times: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.stack([np.broadcast_to(one, times.shape) for one in self._rates(times, *y)])

    def missed(self, times: np.ndarray) -> np.ndarray:
        """y at the end of a piece − y at its start − ∫ f; where the next piece begins elsewhere, that is the end."""
        begun, last = self.at(-1.0), self.at(1.0)
        ended = np.concatenate([begun[:, 1:], last[:, -1:]], axis=1)
        apart = np.abs(ended - last).max(axis=1) > JOINED * np.abs(last).max(axis=1)
        if any(apart[j] for j, (_, k) in enumerate(self._parts) if k):
            # Slopes that do not join are those of the polynomials alone; the integrator has its own, which are better.
            return np.zeros_like(begun)
        z, weights = np.polynomial.legendre.leggauss(NODES)
        middles = times[:-1] + self._halves
        flow = sum(
            w * self.rates(middles + each * self._halves, self.at(each))
            for each, w in zip(z, weights, strict=True)
        )
        return np.asarray(ended - begun - self._halves * flow)


def _grown(
    slopes: np.ndarray,
    lengths: np.ndarray,
    y: np.ndarray,
    rounding: np.ndarray,
    defect: np.ndarray,
    places: tuple[int, ...],
) -> Grown:
    """The root of Σ h |d|² / Σ h |y|² over the ends of the pieces, of the fields alone."""
    pieces, count = y.shape
    powers = np.zeros((pieces, count + 1, count + 1))
    powers[:, :count, :count] = lengths[:, None, None] * slopes
    powers[:, :count, count] = defect
    endless = Grown(np.inf, np.full(len(places) + 1, np.inf))
    if not np.isfinite(slopes).all() or np.linalg.eigvals(powers[:, :count, :count]).real.max() > STEEPEST:
        return endless
    powers[:, :, count] = np.nan_to_num(powers[:, :, count])  # what has no defect is told by its residual
    # e^{hJ}, and φ(hJ) r in the last column: a defect decays within its own piece, too.
    steps = scipy.linalg.expm(powers)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=y.shape)
    added = np.stack([rounding * signs, steps[:, :count, count]], axis=2)
    grown, together = np.zeros((pieces, count, 2)), np.zeros((count, 2))
    for i, (step, own) in enumerate(zip(steps[:, :count, :count], added, strict=True)):
        together = grown[i] = step @ together + own
    moved, missed = grown[..., 0], grown[..., 1]
    fields, weights = list(places), np.sqrt(lengths)[:, None]
    sizes, *parts = (weights * part[:, fields] for part in (y, moved, missed))
    noise = ratio(parts[0], sizes)
    return Grown(noise if np.isfinite(noise) else np.inf, relative(parts[1], sizes))
