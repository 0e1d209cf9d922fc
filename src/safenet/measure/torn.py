"""∂^α u(b) − ∂^α u(a) = ∫_a^b ∂^{α+e} u dx along lines: where it fails, ∂^α u jumps, and no equation shows it.

A network of ReLUs meets u_xx = 0 at almost all points, whatever it is: its second derivatives are delta functions at
kinks. Segments on which the balance fails are halved again and again. A front is smooth on a short enough segment; at a
jump the balance fails by as much on the shortest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from ..fields.basis import gauss_legendre
from ..fields.field import Orders, is_network, values
from ..problem import Problem, Relation
from ..problem.evaluate import evaluate
from ..problem.facts.agreement import clashes
from ..problem.facts.jumping import jumping
from ..problem.facts.structure import kinks
from ..problem.jets import Jet, along
from .added import in_blocks
from .heldout import field_sizes, held_out, interior_points, jets_at, largest, scattered
from .relative import TINY
from .thresholds import CANCELLED, LASTS, SMOOTH, TORN

LINES = {1: (1, 512), 2: (32, 16)}  # axes, two or more → lines along each axis, segments of each
NODES = 4  # Gauss points of a segment
MOST, HALVINGS = 128, 30  # segments that are halved, and how often
# In lengths of the axes: how far along a characteristic a jump is looked for, and how near to it.
ONWARDS, BESIDE = 5e-3, 1e-4


@dataclass(frozen=True)
class Segments:
    """Segments along one axis, `low` (n, axes) their lower ends and `width` (n,) their lengths."""

    axis: int
    low: np.ndarray
    width: np.ndarray

    def at(self, share: float) -> np.ndarray:
        points = self.low.copy()
        points[:, self.axis] += share * self.width
        return points

    def missing(self, field: Any, alpha: Orders) -> np.ndarray:
        """[∂^α u] − ∫ ∂^{α+e} u, (n, unknowns)."""
        x, w = gauss_legendre(NODES)
        beta = tuple(k + (i == self.axis) for i, k in enumerate(alpha))
        n = len(self.low)
        ends = values(field, np.concatenate([self.at(0.0), self.at(1.0)]), alpha)
        inside = values(field, np.concatenate([self.at((1 + node) / 2) for node in x]), beta)
        integral = np.einsum("k,knj->nj", w / 2, inside.reshape(NODES, n, -1)) * self.width[:, None]
        return np.asarray(ends[n:] - ends[:n] - integral)

    def halves(self) -> Segments:
        """The lower halves, then the upper ones."""
        low, width = np.concatenate([self.low, self.at(0.5)]), np.tile(self.width / 2, 2)
        return Segments(self.axis, low, width)

    def only(self, chosen: np.ndarray) -> Segments:
        return Segments(self.axis, self.low[chosen], self.width[chosen])


@dataclass(frozen=True)
class Tear:
    """∂^α of an unknown jumps at `place`; `share` is what its jumps add to an equation, relative to its terms."""

    text: str
    unseen: str
    place: np.ndarray
    share: float


def torn(problem: Problem, field: Any, residual: float | None = None) -> str:
    """A sentence on the jumps of a network that its equations contain and do not see, or ""."""
    if not is_network(field) or getattr(field, "weak", False) or jumping(problem):
        return ""
    with np.errstate(all="ignore"):
        tears = [tear for tear in _tears(problem, in_blocks(problem, field)) if tear.share > TORN]
    worst = max(tears, key=lambda tear: tear.share, default=None)
    if worst is None or worst.share < (held_out(problem, field).worst if residual is None else residual):
        return ""
    where = ", ".join(f"{axis.name} = {c:.4g}" for axis, c in zip(problem.axes, worst.place, strict=True))
    remedy = (
        "Smooth the data, which jump or bend, or solve the problem directly"
        if _carries_jumps(problem)
        else "Use an activation with enough derivatives, such as tanh, and smooth features"
    )
    return (
        f"{worst.text} of the network is discontinuous (e.g. at {where}); {worst.unseen} misses this at almost every "
        f"point, so the residual is meaningless and no error is estimated. {remedy}"
    )


def _tears(problem: Problem, field: Any) -> Iterator[Tear]:
    sizes = field_sizes(field, interior_points(problem))
    for axis, equation in product(range(len(problem.axes)), problem.equations):
        segments = segments_along(problem, axis)
        known = jets_at(problem, field, equation, segments.at(0.5))
        terms = sp.Add.make_args(sp.expand_mul(problem.value(equation.residual)))
        mean = float(
            np.mean(largest([np.zeros(len(segments.low)), *(evaluate(t, known, np) for t in terms)]))
        )
        for symbol, jet in equation.jets.items():
            alpha = tuple(k - (i == axis) for i, k in enumerate(jet.orders))
            if min(alpha) < 0 or not jet.interior:
                continue
            j = problem.unknowns.index(jet.field)
            slope = evaluate(problem.value(equation.coefficient(symbol)), known, np)
            slope = np.abs(np.broadcast_to(slope, len(segments.low)))
            lengths = np.prod([a.length**k for a, k in zip(problem.axes, jet.orders, strict=True)])
            scale = max(mean, SMOOTH * float(np.mean(slope) * sizes[j] / lengths), TINY)
            missing = np.abs(segments.missing(field, alpha)[:, j]) * slope / (scale * np.sum(segments.width))
            if not np.sum(missing) > TORN:
                continue
            most = np.argsort(-missing)[:MOST]
            last, stays = _followed(field, segments.only(most), alpha, j)
            stays &= ~_cancels(problem, field, equation, last, jet)
            if stays.any():
                at = last.at(0.5)[np.argmax(stays * missing[most])]
                text = replace(jet, orders=alpha).text(problem.axis_names)
                yield Tear(text, jet.text(problem.axis_names), at, float(np.sum(missing[most][stays])))


def _carries_jumps(problem: Problem) -> bool:
    """Whether the data jump or bend."""
    return any(kinks(problem)) or bool(clashes(problem))


def segments_along(problem: Problem, axis: int) -> Segments:
    """Segments of lines along an axis that cover it, inside the domain."""
    lines, count = LINES[min(len(problem.axes), 2)]
    low = np.array([a.lo for a in problem.axes])
    length = np.array([a.length for a in problem.axes])
    starts = np.repeat(low + length * scattered(lines, len(low)), count, axis=0)
    starts[:, axis] = np.tile(low[axis] + length[axis] * np.arange(count) / count, lines)
    found = Segments(axis, starts, np.full(len(starts), length[axis] / count))
    inside = np.all([problem.contains(found.at(share)) for share in (0.0, 0.5, 1.0)], axis=0)
    return found.only(np.flatnonzero(inside))


def _followed(field: Any, segments: Segments, alpha: Orders, j: int) -> tuple[Segments, np.ndarray]:
    """The halves of halves in which the balance fails most, and where it fails as much as at first."""
    first = np.abs(segments.missing(field, alpha)[:, j])
    n, now = len(first), first
    for _ in range(HALVINGS):
        if not np.any(now > LASTS * first):
            break
        halves = segments.halves()
        both = np.abs(halves.missing(field, alpha)[:, j]).reshape(2, n)
        chosen = np.arange(n) + n * np.argmax(both, axis=0)
        segments, now = halves.only(chosen), both.max(axis=0)
    return segments, now > LASTS * first


def _cancels(problem: Problem, field: Any, equation: Relation, at: Segments, top: Jet) -> np.ndarray:
    """Whether the delta functions of an equation cancel: for a kink of u across which ∇u jumps by J, if Σ c_ab J_a J_b
    is zero, as along the characteristics of u_tt = u_xx; for a jump of u, if it moves along those of Σ c_a ∂_a u."""
    if sum(top.orders) == 1:
        return _moves_along(problem, field, equation, at)
    if sum(top.orders) > 2:
        return np.zeros(len(at.low), dtype=bool)
    axes, j = len(problem.axes), problem.unknowns.index(top.field)
    slopes = [[values(field, at.at(end), along(i, axes))[:, j] for i in range(axes)] for end in (0.0, 1.0)]
    jump = np.subtract(*reversed(slopes)).T
    known, parts = jets_at(problem, field, equation, at.at(0.5)), []
    for symbol, jet in equation.jets.items():
        if jet.field == top.field and sum(jet.orders) == 2:
            slope = evaluate(problem.value(equation.coefficient(symbol)), known, np)
            parts.append(slope * np.prod(jump ** np.array(jet.orders), axis=1))
    return np.asarray(np.abs(sum(parts)) < CANCELLED * np.sum(np.abs(parts), axis=0))


def _moves_along(problem: Problem, field: Any, equation: Relation, at: Segments) -> np.ndarray:
    """Whether the jumps of u are still there a short way along the characteristics, forwards and backwards."""
    if len(problem.unknowns) > 1 or any(sum(jet.orders) > 1 for jet in equation.jets.values()):
        return np.zeros(len(at.low), dtype=bool)
    place, lengths = at.at(0.5), np.array([axis.length for axis in problem.axes])
    known, speed = jets_at(problem, field, equation, place), np.zeros((len(at.low), len(lengths)))
    for symbol, jet in equation.jets.items():
        if any(jet.orders):
            speed[:, jet.orders.index(1)] = evaluate(problem.value(equation.coefficient(symbol)), known, np)
    speed /= np.maximum(np.max(np.abs(speed / lengths), axis=1, keepdims=True), TINY)
    side = BESIDE * lengths * (np.arange(len(lengths)) == at.axis)

    def jump(points: np.ndarray) -> np.ndarray:
        return np.asarray(np.abs(values(field, points + side) - values(field, points - side))[:, 0])

    moved = [jump(place + way * ONWARDS * speed) for way in (-1, 1)]
    return np.asarray(np.min(moved, axis=0) > LASTS * jump(place))
