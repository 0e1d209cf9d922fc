"""c(x)·∂^α u with |c| = ∞ at a point inside: no solver can handle it, so it is found before any tries.

Every part of a relation without unknowns is evaluated at scattered points, and zeros of its denominators are searched
for from the points where they are smallest. At the ends of the domain a part may be singular (u_r/r at r = 0): no
solver evaluates it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import sympy as sp

from ..errors import SafeNetError
from ..problem import Problem, Relation
from ..problem.evaluate import evaluate
from ..problem.language.notation import written
from .heldout import interior_points, scattered
from .points import coordinates, on_condition
from .relative import TINY
from .thresholds import ASIDE, GROWTH, INSIDE, POINTS, POLE

STARTS, ROUNDS = 16, 120  # enough for several zeros, some of them on the boundary; some fifty halvings
# f → g where f has a pole at every zero of g.
BELOW = {
    sp.tan: sp.cos,
    sp.sec: sp.cos,
    sp.cot: sp.sin,
    sp.csc: sp.sin,
    sp.coth: sp.sinh,
    sp.csch: sp.sinh,
}


def check_finite(problem: Problem) -> None:
    """Raise for the first part of an equation or condition that is not finite somewhere inside."""
    inner = interior_points(problem)
    for number, equation in enumerate(problem.equations, 1):
        _check(problem, equation, inner, f"equation {number}")
    for number, condition in enumerate(problem.conditions, 1):
        points = on_condition(problem, condition, POINTS if condition.free else 1, scattered)
        _check(problem, condition, points, f"condition {number}")


def _check(problem: Problem, relation: Relation, points: np.ndarray, label: str) -> None:
    for part in _known(problem.value(relation.residual), set(relation.jets)):
        place = _singular(problem, part, points, free=not getattr(relation, "piece", ""))
        if place is not None:
            part = -part if part.could_extract_minus_sign() else part
            along = [axis.name for axis in problem.axes if axis.symbol in part.free_symbols]
            at = ", ".join(f"{name} = {place[problem.axis(name)]:.6g}" for name in along)
            raise SafeNetError(
                f"{label} ({relation.text}): {written(part)} is not finite at {at}",
                "multiply by a denominator that vanishes, or keep the domain to where it is finite",
            )


def _known(node: sp.Basic, jets: set[sp.Symbol]) -> Iterator[sp.Expr]:
    """The largest parts of an expression without unknowns; in a sum, parts with the same factor are added up."""
    factors: dict[sp.Expr, sp.Expr] = {}
    for term in _terms(node, jets):
        own, rest = term.as_independent(*jets, as_Add=False)
        factors[rest] = factors.get(rest, sp.S.Zero) + own
    for rest, own in factors.items():
        yield own
        for part in rest.args:
            yield from _known(part, jets)


def _terms(node: sp.Basic, jets: set[sp.Symbol]) -> Iterator[sp.Expr]:
    """The terms of a sum, also of a product with sums of unknowns: (x − c)(u_x + u/(x − c)) has no pole."""
    sums = [part for part in node.args if part.is_Add and part.free_symbols & jets] if node.is_Mul else []
    if node.is_Add:
        for term in node.args:
            yield from _terms(term, jets)
    elif sums:
        others = sp.Mul(*(part for part in node.args if part is not sums[0]))
        for term in sums[0].args:
            yield from _terms(others * term, jets)
    else:
        yield node


def _singular(problem: Problem, part: sp.Expr, points: np.ndarray, free: bool) -> np.ndarray | None:
    """A point where the part is not finite, the first in order, or None."""

    def size(expression: sp.Expr, where: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = np.abs(evaluate(expression, coordinates(problem, where.reshape(-1, where.shape[-1])), np))
        return np.broadcast_to(np.asarray(found, dtype=float), where[..., 0].size).reshape(where.shape[:-1])

    if not part.free_symbols:
        return None
    values = size(part, points)
    if not np.isfinite(values).all():
        return np.array(min(map(tuple, points[~np.isfinite(values)])))
    usual = max(float(np.median(values)), TINY)
    lengths = np.diag([axis.length for axis in problem.axes])
    for denominator in _denominators(part) if free else ():
        across = lengths[[axis.symbol in denominator.free_symbols for axis in problem.axes]]
        zeros = _lowest(problem, partial(size, denominator), points, across)
        near, far = (
            np.maximum(*(size(part, zeros[:, None] + side * across) for side in (-aside, aside)))
            for aside in ASIDE
        )
        poles = zeros[np.any(~(near < POLE * usual) & ~(near < GROWTH * far), axis=1)]
        if len(poles):
            pole = np.array(min(map(tuple, poles)))
            return np.where(np.abs(pole) < 1e-12 * lengths.sum(axis=0), 0.0, pole)
    return None


def _denominators(part: sp.Expr) -> Iterator[sp.Expr]:
    """Denominators that may vanish, whether written as a fraction or hidden in a tangent."""
    below = {power.base for power in part.atoms(sp.Pow) if power.exp.could_extract_minus_sign()}
    below |= {BELOW[type(node)](node.args[0]) for node in part.atoms(*BELOW)}
    for expression in sorted(below, key=str):
        if expression.free_symbols and not expression.is_nonzero:
            yield expression


def _lowest(
    problem: Problem, size: Callable[[np.ndarray], np.ndarray], points: np.ndarray, across: np.ndarray
) -> np.ndarray:
    """The places inside where |d| is least, by compass search from the points where it is smallest.

    Each place moves to its best neighbour along an axis or, if none is better, halves its reach, down to rounding. This
    finds a change of sign x − c, a kink |x − c| and a well (x − c)² alike.
    """
    low, high = np.transpose([axis.bounds for axis in problem.axes])
    margin = INSIDE * (high - low)
    moves = np.concatenate([np.zeros((1, len(low))), across, -across])
    places = points[np.argsort(size(points))[:STARTS]]
    reach = np.full(len(places), len(points) ** (-1 / len(across)))
    for _ in range(ROUNDS):
        around = np.clip(places[:, None] + reach[:, None, None] * moves, low, high)
        best = np.argmin(np.nan_to_num(size(around), nan=np.inf), axis=1)
        places = around[np.arange(len(places)), best]
        reach = np.where(best == 0, reach / 2, reach)
    fixed = ~across.any(axis=0)
    within = np.all(fixed | ((places > low + margin) & (places < high - margin)), axis=1)
    return np.asarray(places[within & problem.contains(places, -float(margin[:2].max()))])
