"""c(x)·∂^α u with |c| = ∞ at a point inside: what no solver can sum up, found before any tries.

Every part of a relation that holds no unknown is looked at on scattered points, and where a denominator changes its
sign between two of them the zero is tracked down. At the ends of the domain a part may be singular (u_r/r at r = 0):
no solver looks there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy as sp

from ..errors import SafeNetError
from ..problem import Problem, Relation
from ..problem.evaluate import evaluate
from ..problem.notation import written
from .heldout import coordinates, interior_points, scattered
from .points import on_condition

COUNT = 1024
POLE = 1e6  # times its usual size right beside a zero of a denominator: sin(x)/x is finite, cos(x)/x is not
GROWTH = 100.0  # times what it is a thousand times farther away: a peak is high and has a top


def check_finite(problem: Problem) -> None:
    """Raise for the first part of an equation or condition that is not finite somewhere inside."""
    inner = interior_points(problem, COUNT)
    for number, equation in enumerate(problem.equations, 1):
        _check(problem, equation, inner, f"equation {number}")
    for number, condition in enumerate(problem.conditions, 1):
        points = on_condition(problem, condition, COUNT if condition.free else 1, scattered)
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
    """The largest parts of an expression that hold no unknown: in a sum, all that one and the same factor has."""
    factors: dict[sp.Expr, sp.Expr] = {}
    for term in _terms(node, jets):
        own, rest = term.as_independent(*jets, as_Add=False)
        factors[rest] = factors.get(rest, sp.S.Zero) + own
    for rest, own in factors.items():
        yield own
        for part in rest.args:
            yield from _known(part, jets)


def _terms(node: sp.Basic, jets: set[sp.Symbol]) -> Iterator[sp.Expr]:
    """Of a sum, and of a product with sums of unknowns; (x − c)(u_x + u/(x − c)) has no pole."""
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

    def at(expression: sp.Expr, where: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = evaluate(expression, coordinates(problem, where), np)
        return np.broadcast_to(np.asarray(found, dtype=float), len(where))

    if not part.free_symbols:
        return None
    values = at(part, points)
    if not np.isfinite(values).all():
        return np.array(min(map(tuple, points[~np.isfinite(values)])))
    usual = max(float(np.median(np.abs(values))), 1e-300)
    for power in part.atoms(sp.Pow) if free else ():
        if not power.exp.could_extract_minus_sign():
            continue
        signs = np.sign(at(power.base, points))
        if not (signs.min() < 0 < signs.max()):
            continue
        ends = np.stack([points[np.argmin(signs)], points[np.argmax(signs)]])
        across = ends[1] - ends[0]
        for _ in range(60):
            zero = ends.mean(axis=0)
            ends[int(at(power.base, zero[None])[0] > 0)] = zero
        near, far = (
            np.abs(at(part, np.stack([zero - aside * across, zero + aside * across]))).max()
            for aside in (1e-9, 1e-6)
        )
        pole = not near < POLE * usual and not near < GROWTH * far
        if pole and problem.contains(zero[None])[0]:
            return np.where(np.abs(zero) < 1e-12 * np.abs(across), 0.0, zero)
    return None
