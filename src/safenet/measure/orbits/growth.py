"""d′ = (f(t, y + δ) − f(t, y)) d/δ + r: how a rounding error, and the defect r = y′ − f(t, y), grow in a system without
space.

Every piece of time adds a rounding error of y and of its rate, and the system amplifies those added before. The slopes
of f are taken over a small distance δ, not at a point: √|u| has none at zero, where it is not Lipschitz. The defect is
the amount by which the pieces of a solution miss the equations. Followed in the same way it gives the error, whatever
other runs say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import SafeNetError
from ...fields.basis import AxisBasis, gauss_legendre
from ...fields.pieces import TimePieces
from ...problem import Problem
from ...problem.facts.first_order import FirstOrder, first_order
from ..compiled import compiled
from ..relative import TINY, ratio, relative
from ..thresholds import OFF

EPS = float(np.finfo(float).eps)
STEEPEST = 700.0  # e^700 is the largest number there is
PLACES = -1 / np.sqrt(3), 1 / np.sqrt(3)  # Gauss points of a piece from −1 to 1, at which slopes are taken
TIMES, PLACES_IN_SPACE = 64, 32  # at which a solution in space is sampled
NODES = 6  # Gauss points in every piece
PADE = 1, 1 / 2, 5 / 44, 1 / 66, 1 / 792, 1 / 15840, 1 / 665280  # c_k of (Σ c_k x^k)/(Σ c_k (−x)^k) ≈ e^x


@dataclass(frozen=True)
class Grown:
    """‖d‖/‖u‖ over all time: for `rounding`, and for the `defect` in each field, then in all; infinite if unbounded."""

    rounding: float
    defect: np.ndarray


def followed(problem: Problem, field: TimePieces) -> Grown | None:
    """What rounding and defect grow to; None for a problem that is not a system without space."""
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
        first, second = (states.slopes(middles + z * lengths / 2, z, OFF * size) for z in PLACES)
        powers = _powers(first, second, lengths)
        # Rounding of y, of its rate, and of the time at which the rate changes explicitly with t: `jumps` excludes
        # changes along the orbit, which may be fast, too. A solution that is zero throughout is rounded like 1.
        before = np.concatenate([middles[:1], middles[:-1]])
        jumps = np.abs(still - states.rates(before, y))
        rounding = np.abs(y) + lengths * np.abs(still) + np.abs(times[:-1]) * jumps
        defect, ends = states.missed(times), states.at(1.0)
        if not largest.any():
            rounding, defect, ends = np.ones_like(y), np.zeros_like(y), np.ones_like(y)
        return _grown(powers, lengths, ends.T, EPS * rounding.T, defect.T, system.places)


def departed(problem: Problem, field: TimePieces) -> float:
    """max ε ‖u(s)‖ · ‖u_t(t)‖/‖u_t(s)‖ over s < t, relative to u: what rounding at the time s has grown to at t.

    If the equations do not contain t, u_t solves the linearised equations: an error along u_t grows as it does. A
    solution that leaves a place of rest after a long time has let its errors grow, too.
    """
    t = problem.axes[-1]
    relations = *problem.equations, *problem.conditions
    if any(t.symbol in problem.value(relation.residual).free_symbols for relation in relations):
        return 0.0
    times = np.linspace(t.lo, t.hi, TIMES + 1)[:-1] + t.length / (2 * TIMES)
    places = np.random.default_rng(0).random((PLACES_IN_SPACE, len(problem.axes) - 1))
    low, length = (np.array([getattr(axis, end) for axis in problem.axes[:-1]]) for end in ("lo", "length"))
    points = np.column_stack([np.tile(low + length * places, (TIMES, 1)), np.repeat(times, PLACES_IN_SPACE)])
    still, moving = np.zeros(TIMES), np.zeros(TIMES)
    orders = max(problem.time_order(name) for name in problem.unknowns)
    jets = field.jets(points, [(*(0,) * len(low), k) for k in range(orders + 1)])
    for f, name in enumerate(problem.unknowns):
        for k in range(problem.time_order(name)):
            value, rate = (
                np.linalg.norm(jets[*(0,) * len(low), k + more][:, f].reshape(TIMES, -1), axis=1)
                for more in (0, 1)
            )
            size = float(value.max()) or 1.0
            still, moving = still + (value / size) ** 2, moving + (rate / size) ** 2
    still, moving = np.sqrt(still), np.sqrt(moving)
    with np.errstate(all="ignore"):
        slowest = np.maximum.accumulate(np.nan_to_num(still / moving, posinf=0.0))
    steps = (len(field.breaks) - 1) * field.degree  # at least
    return float(steps * EPS * np.max(slowest * moving) / max(float(still.max()), TINY))


def _powers(first: np.ndarray, second: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Ω with d → e^Ω d over each piece, by Magnus: h (J₁ + J₂)/2 + √3 h² [J₂, J₁]/12, of order four.

    With J only at the middle of a piece, neighbouring orbits would separate exponentially at every turn. Where the
    expansion does not converge, as in stiff systems, the mean alone is used.
    """
    h = lengths[:, None, None]
    mean = h * (first + second) / 2
    turned = np.sqrt(3) / 12 * h**2 * (second @ first - first @ second)
    finite = np.isfinite(mean).all(axis=(1, 2))
    converges = finite & (np.linalg.norm(mean, axis=(1, 2)) < np.pi)  # |λ| ≤ ‖Ω‖
    unsure = finite & ~converges
    converges[unsure] = np.abs(np.linalg.eigvals(mean[unsure])).max(axis=1) < np.pi
    return np.asarray(mean + np.where(converges[:, None, None], turned, 0.0))


def _exponentials(powers: np.ndarray) -> np.ndarray:
    """e^A of many small matrices at once: (Σ c_k A^k)/(Σ c_k (−A)^k) of A/2^s to degree 6, squared s times."""
    sizes = np.abs(powers).sum(axis=2).max(axis=1)
    halvings = np.maximum(np.ceil(np.log2(np.maximum(sizes, TINY))) + 1, 0).astype(int)
    a = powers * 0.5 ** halvings[:, None, None]
    one, square = np.eye(a.shape[1]), a @ a
    even = PADE[0] * one + square @ (PADE[2] * one + square @ (PADE[4] * one + PADE[6] * square))
    odd = a @ (PADE[1] * one + square @ (PADE[3] * one + PADE[5] * square))
    found = np.linalg.solve(even - odd, even + odd)
    for k in range(int(halvings.max(initial=0))):
        more = halvings > k
        found[more] = found[more] @ found[more]
    return np.asarray(found)


def orbit(system: FirstOrder, field: TimePieces, times: np.ndarray, more: int = 0) -> np.ndarray:
    """y at any times, (components, times), or its derivative of the order `more`."""
    parts = _parts(system)
    orders = [(k + more,) for k in sorted({k for _, k in parts})]
    jets = field.jets(times[:, None], orders)
    return np.stack([jets[k + more,][:, f] for f, k in parts])


def _parts(system: FirstOrder) -> list[tuple[int, int]]:
    """(f, k) for each component of y: the k-th derivative of field f."""
    spans = zip(system.places, (*system.places[1:], len(system.state)), strict=True)
    return [(f, k) for f, (place, end) in enumerate(spans) for k in range(end - place)]


class _States:
    """The components of y, which are u, u′, … of every field, piece by piece."""

    def __init__(self, system: FirstOrder, field: TimePieces) -> None:
        self._parts = _parts(system)
        self._field, self._halves = field, np.diff(np.asarray(field.breaks)) / 2
        self._rates = compiled(system.rates, (system.time, *system.state))

    def at(self, z: float) -> np.ndarray:
        """y at the same place −1 ≤ z ≤ 1 of every piece."""
        unit = AxisBasis("chebyshev", self._field.degree, -1.0, 1.0)
        rows = [unit(np.array([z]), k)[0] for k in range(max(k for _, k in self._parts) + 1)]
        own = [np.asarray(part) for part in self._field.coefficients]
        return np.stack([(own[f] @ rows[k]) * self._halves**-k for f, k in self._parts])

    def slopes(self, times: np.ndarray, z: float, off: np.ndarray) -> np.ndarray:
        """∂f/∂y at the place z of every piece, over the distances `off`: (pieces, y, y)."""
        y = self.at(z)
        still = self.rates(times, y)
        moved = [self.rates(times, y + np.eye(len(y))[:, [j]] * off[j]) for j in range(len(y))]
        return np.stack([(rate - still) / off[j] for j, rate in enumerate(moved)], axis=2).transpose(1, 0, 2)

    def rates(self, times: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.stack([np.broadcast_to(one, times.shape) for one in self._rates(times, *y)])

    def missed(self, times: np.ndarray) -> np.ndarray:
        """y(end) − y(start) − ∫ f of every piece, where its end is the start of the next, even if the two differ."""
        begun, last = self.at(-1.0), self.at(1.0)
        ended = np.concatenate([begun[:, 1:], last[:, -1:]], axis=1)
        z, weights = gauss_legendre(NODES)
        middles = times[:-1] + self._halves
        flow = sum(
            w * self.rates(middles + each * self._halves, self.at(each))
            for each, w in zip(z, weights, strict=True)
        )
        return np.asarray(ended - begun - self._halves * flow)


def _grown(
    flow: np.ndarray,
    lengths: np.ndarray,
    y: np.ndarray,
    rounding: np.ndarray,
    defect: np.ndarray,
    places: tuple[int, ...],
) -> Grown:
    """√(Σ h |d|² / Σ h |y|²) over the ends of the pieces, for the fields without their derivatives."""
    pieces, count = y.shape
    powers = np.zeros((pieces, count + 1, count + 1))
    powers[:, :count, :count] = flow
    lost = not np.isfinite(defect).all()
    defect = np.nan_to_num(defect, posinf=0.0, neginf=0.0)
    # In units of their own: beside a huge defect, e^{hJ} would be rounded to 1.
    unit = np.maximum(np.abs(defect).max(axis=1, keepdims=True), TINY)
    powers[:, :count, count] = defect / unit
    endless = Grown(np.inf, np.full(len(places) + 1, np.inf))
    steep = flow[~(np.linalg.norm(flow, axis=(1, 2)) <= STEEPEST)]
    if not np.isfinite(flow).all() or (steep.size and np.linalg.eigvals(steep).real.max() > STEEPEST):
        return endless
    # e^{hJ}, and φ(hJ) r in the last column: a defect decays within its own piece, too.
    steps = _exponentials(powers)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=y.shape)
    added = np.stack([rounding * signs, unit * steps[:, :count, count]], axis=2)
    grown, together = np.zeros((pieces, count, 2)), np.zeros((count, 2))
    for i, (step, own) in enumerate(zip(steps[:, :count, :count], added, strict=True)):
        together = grown[i] = step @ together + own
    moved, missed = grown[..., 0], grown[..., 1]
    fields, weights = list(places), np.sqrt(lengths)[:, None]
    sizes, *parts = (weights * part[:, fields] for part in (y, moved, missed))
    noise = ratio(parts[0], sizes)
    error = relative(parts[1], sizes)
    return Grown(noise if np.isfinite(noise) else np.inf, np.full_like(error, np.inf) if lost else error)
