"""Where do the data vary on scales that a grid of points misses? Found by interval arithmetic, which misses nothing.

The domain is divided into boxes. In each, the range that a formula can have (`enclosure`) is compared with its values
at some points. If the range is much wider, something may hide between the points, and the box is halved along the axis
that matters most. In the boxes at the end, the points show the whole range. The small ones among them in which the
formula varies are narrow features: solvers put breaks around them, and residuals are measured there, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ..evaluate import KINKS, evaluate
from ..language.tabulated import Tabulated
from .fact import fact
from .intervals import enclosure

if TYPE_CHECKING:
    from ..problem import Problem

FIRST = {1: 64, 2: 16, 3: 8, 4: 4}  # axes that a formula depends on → boxes along each, at first
SEEN = 4.0  # a range at most this many times that of the points hides nothing
STEEP = 0.7  # of the points' range: a larger step between neighbouring points is not resolved
COMMON = 0.02  # of the domain: points hit features that fill more than this, however narrow each is
FLAT = 0.05  # of the formula's size: smaller variations do not count
BESIDE = 1e-12  # of an axis: the distance from a jump at which boxes end
# Of an axis: a series needs hundreds of terms for narrower features, and in a plane a thousand points may miss them.
NARROW = {1: 1 / 150, 2: 1 / 100}
ROUNDS, BOXES = 60, 4096  # most halvings, and most boxes at a time: then the range counts as unbounded
SAMPLES = 64  # points in the features of a formula
DISTINCT = 1e-9  # of an axis: closer places are the same


@dataclass(frozen=True)
class Narrow:
    """`points` (n, axes) in the features, `cuts` around them along each axis, `unbounded` formulas with boxes that
    could not be settled, `spread` formulas whose features would need too many cuts."""

    points: np.ndarray
    cuts: tuple[tuple[float, ...], ...]
    unbounded: tuple[str, ...] = ()
    spread: tuple[str, ...] = ()

    def gap(self, axis: int) -> float:
        """The least distance of two cuts along an axis; infinite if there are fewer than two."""
        return min(np.diff(self.cuts[axis]), default=math.inf)


MOST_AXES = 5  # of a formula that is scanned as a whole


@fact
def narrow(problem: Problem, conditions: bool = True) -> Narrow:
    """The narrow features of every coefficient, source and (with the conditions) datum."""
    points, unbounded, spread = [], [], []
    cuts: list[set[float]] = [set() for _ in problem.axes]
    for part in _parts(problem, conditions):
        found = features(problem, part)
        if found is None:
            unbounded.append(str(part)[:80])
            continue
        boxes, along = found
        if not len(boxes):
            continue
        around = _around(problem, boxes, along)
        if around is None:
            spread.append(str(part)[:80])
        else:
            for axis, places in around.items():
                cuts[axis] |= places
        points.append(_inside(boxes))
    together = np.concatenate(points) if points else np.empty((0, len(problem.axes)))
    return Narrow(together, tuple(map(tuple, map(sorted, cuts))), tuple(unbounded), tuple(spread))


def _parts(problem: Problem, conditions: bool) -> Iterator[sp.Expr]:
    """The largest parts of all relations that depend on coordinates and no unknown, each once."""
    axes = {axis.symbol for axis in problem.axes}
    seen: set[sp.Expr] = set()
    for relation in (*problem.equations, *(problem.conditions if conditions else ())):
        todo = [problem.value(relation.residual)]
        while todo:
            node = todo.pop()
            free = node.free_symbols
            if not free & axes:
                continue
            if not free <= axes:
                own, rest = node.as_independent(*(free - axes), as_Add=node.is_Add)
                todo += [*([own] if own.free_symbols & axes else []), *(rest.args if own != 0 else node.args)]
            elif node not in seen and not slow(node):
                seen.add(node)
                # A grid of points in so many axes is too large: the formula's parts are examined instead.
                if len(free) > MOST_AXES:
                    todo += node.args
                else:
                    yield node


def slow(node: sp.Expr) -> bool:
    """Whether it has no narrow features: a polynomial of low degree varies slowly, a table between known ticks."""
    if node.has(Tabulated):
        return True
    symbols = sorted(node.free_symbols, key=str)
    return bool(node.is_polynomial(*symbols)) and sp.Poly(node, *symbols).total_degree() <= 8


def features(problem: Any, part: sp.Expr) -> tuple[np.ndarray, list[int]] | None:
    """(boxes (n, axes, 2) of the narrow features, axes of the formula); None where the range cannot be bounded."""
    along = [i for i, axis in enumerate(problem.axes) if axis.symbol in part.free_symbols]
    boxes = _within(problem, _first(problem, part, along))
    settled, ranges = [boxes[:0]], [np.empty(0)]
    size = 0.0
    for _ in range(ROUNDS):
        low, high = enclosure(part, _symbols(problem, boxes, along))
        values, steepest = _sampled(problem, part, boxes, along)
        size = max(size, float(np.abs(values).max(initial=0.0)))
        seen = np.ptp(values, axis=1)
        # A single point that happens to hit a pulse does not resolve it.
        with np.errstate(over="ignore", invalid="ignore"):  # ∞ − ∞: what is not finite may hide something
            flat = FLAT * size
            hides = ~((high - low <= SEEN * seen + flat) & (steepest <= STEEP * seen + flat))
        small = ~hides & _small(problem, boxes, along)
        settled.append(boxes[small])
        ranges.append(seen[small])
        boxes = _within(problem, boxes[hides & ~_tiny(problem, boxes, along)])
        if not len(boxes):
            # Only now is it known how large the formula is, and which boxes are flat compared with that.
            found = np.concatenate(settled)[np.concatenate(ranges) > FLAT * size]
            return found[: 0 if _share(problem, found, along) > COMMON else None], along
        if len(boxes) > BOXES:
            return (boxes[:0], along) if _share(problem, boxes, along) > COMMON else None
        boxes = _halved(problem, part, boxes, along)
    return None


def _first(problem: Problem, part: sp.Expr, along: list[int]) -> np.ndarray:
    """The first boxes. They end just beside jumps at x = c: boxes across a jump would be halved for ever."""
    count = FIRST.get(len(along), 2)
    # Spaced unevenly: features on a diagonal, or at a simple fraction, would be hit by all points or by none.
    share = np.linspace(0, 1, count + 1)
    below, above = [], []
    for k, i in enumerate(along):
        axis = problem.axes[i]
        moved = share + 0.3 / count * np.sin(np.pi * count * share * (0.6180339887 + 0.1 * k))
        moved[[0, -1]] = 0, 1
        jumps = [c for c in _jumps(part, axis.symbol) if axis.lo < c < axis.hi]
        ticks = np.unique([*(axis.lo + axis.length * moved), *jumps])
        off = np.where(np.isin(ticks, jumps), BESIDE * axis.length, 0.0)
        below.append((ticks + off)[:-1])
        above.append((ticks - off)[1:])
    lows = np.stack([m.ravel() for m in np.meshgrid(*below, indexing="ij")], axis=1)
    highs = np.stack([m.ravel() for m in np.meshgrid(*above, indexing="ij")], axis=1)
    boxes = np.empty((len(lows), len(problem.axes), 2))
    boxes[:] = [axis.bounds for axis in problem.axes]
    boxes[:, along, 0], boxes[:, along, 1] = lows, highs
    return boxes


def _jumps(part: sp.Expr, symbol: sp.Symbol) -> set[float]:
    """The c of where(x < c, …)."""
    found = {node.args[0] for node in part.atoms(*KINKS) if node.args[0].free_symbols == {symbol}}
    lines = [sp.Poly(bend, symbol) for bend in found if bend.is_polynomial(symbol)]
    return {float(-line.nth(0) / line.nth(1)) for line in lines if line.degree() == 1}


def _within(problem: Problem, boxes: np.ndarray) -> np.ndarray:
    """The boxes that may meet the domain: log r is finite in a ring. A box whose middle is farther outside than half
    its diagonal does not."""
    if problem.region is None:
        return boxes
    space = boxes[:, : problem.region.dimension]
    reach = np.linalg.norm(space[..., 1] - space[..., 0], axis=1) / 2
    return np.asarray(boxes[problem.region.signed_distance(space.mean(axis=2)) <= reach])


def _symbols(
    problem: Problem, boxes: np.ndarray, along: list[int]
) -> dict[sp.Symbol, tuple[np.ndarray, np.ndarray]]:
    return {problem.axes[i].symbol: (boxes[:, i, 0], boxes[:, i, 1]) for i in along}


def _sampled(
    problem: Problem, part: sp.Expr, boxes: np.ndarray, along: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """The values at a few points of every box, (boxes, points), and the largest step between neighbours."""
    share = np.array([0.02, 0.211, 0.493, 0.789, 0.98] if len(along) < 3 else [0.04, 0.443, 0.96])
    grid = np.meshgrid(*[share] * len(along), indexing="ij")
    low, wide = boxes[:, along, 0], boxes[:, along, 1] - boxes[:, along, 0]
    at = {problem.axes[i].symbol: low[:, [k]] + wide[:, [k]] * grid[k].ravel() for k, i in enumerate(along)}
    with np.errstate(all="ignore"):
        values = np.broadcast_to(evaluate(part, at, np), (len(boxes), grid[0].size))
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    meshed = values.reshape(len(boxes), *grid[0].shape)
    steps = [
        np.abs(np.diff(meshed, axis=k + 1)).reshape(len(boxes), -1).max(axis=1) for k in range(len(along))
    ]
    return values, np.max(steps, axis=0)


def _share(problem: Problem, boxes: np.ndarray, along: list[int]) -> float:
    """The share of the domain that the boxes fill."""
    return float(np.prod(_widths(problem, boxes, along), axis=1).sum())


def _widths(problem: Problem, boxes: np.ndarray, along: list[int]) -> np.ndarray:
    lengths = np.array([problem.axes[i].length for i in along])
    return np.asarray((boxes[:, along, 1] - boxes[:, along, 0]) / lengths)


def _small(problem: Problem, boxes: np.ndarray, along: list[int]) -> np.ndarray:
    return np.asarray(_widths(problem, boxes, along).min(axis=1) < NARROW[min(len(along), 2)])


def _tiny(problem: Problem, boxes: np.ndarray, along: list[int]) -> np.ndarray:
    """As narrow as float64 can resolve: a jump, a kink or a pole, which is found elsewhere."""
    return np.asarray(_widths(problem, boxes, along).max(axis=1) < 1e-12)


def _halved(problem: Problem, part: sp.Expr, boxes: np.ndarray, along: list[int]) -> np.ndarray:
    """The boxes halved, each along the axis that shrinks the range most."""
    widths, halves = _widths(problem, boxes, along), []
    for i in along:
        middle = boxes[:, i].mean(axis=1)
        below, above = boxes.copy(), boxes.copy()
        below[:, i, 1], above[:, i, 0] = middle, middle
        halves.append((below, above))
    if len(along) == 1:
        return np.concatenate(halves[0])
    gains = []
    for pair in halves:
        ranges = [np.subtract(*reversed(enclosure(part, _symbols(problem, half, along)))) for half in pair]
        gains.append(np.minimum(np.add(*ranges), 1e300))
    # If no axis helps, the longest one.
    score = np.stack(gains, axis=1) / np.maximum(widths, 1e-300) ** 0.5
    best = np.argmin(np.where(widths < 1e-12, np.inf, score), axis=1)
    rows = np.arange(len(boxes))
    stacked = [np.stack([pair[side] for pair in halves], axis=1)[rows, best] for side in (0, 1)]
    return np.concatenate(stacked)


def _around(problem: Problem, boxes: np.ndarray, along: list[int]) -> dict[int, set[float]] | None:
    """Cuts at the ends and in the middle of every group of features along each axis; None if they would be too many."""
    found: dict[int, set[float]] = {}
    for i in along:
        axis = problem.axes[i]
        spans = _joined(boxes[:, i], axis.length)
        narrowest = (boxes[:, i, 1] - boxes[:, i, 0]).min()
        total = sum(high - low for low, high in spans)
        if total > 0.5 * axis.length or narrowest > NARROW[2] * axis.length:
            continue  # the formula varies slowly along this axis, or in most of it
        if len(spans) > 8:
            return None
        # And farther out: a tail that is flat compared with the whole would still be missed by a long cell.
        places = {
            x for low, high in spans for x in (np.array([-1, 0, 0.5, 1, 2]) * (high - low) + low).tolist()
        }
        close = DISTINCT * axis.length
        found[i] = {x for x in places if axis.lo + close < x < axis.hi - close}
    return found if found else None


def _joined(intervals: np.ndarray, length: float) -> list[tuple[float, float]]:
    """Groups of intervals, each widened by its own size; gaps of less than that are closed."""
    ordered = intervals[np.argsort(intervals[:, 0])]
    spans: list[tuple[float, float]] = []
    for low, high in ordered:
        wide = high - low
        if spans and low - wide <= spans[-1][1] + DISTINCT * length:
            spans[-1] = spans[-1][0], max(spans[-1][1], high + wide)
        else:
            spans.append((low - wide, high + wide))
    return spans


def _inside(boxes: np.ndarray) -> np.ndarray:
    """Points in the features, the same for every run."""
    rng = np.random.default_rng(len(boxes))
    chosen = boxes[rng.integers(len(boxes), size=SAMPLES)]
    return np.asarray(chosen[..., 0] + rng.random(chosen.shape[:2]) * (chosen[..., 1] - chosen[..., 0]))
