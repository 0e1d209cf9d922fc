"""b·B₁(u) − a·B₂(u) = g(x) with no unknown left in it: where g is not zero, no u meets both conditions.

At one place that is a contradiction; where a face meets another or the beginning, u jumps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ..errors import SafeNetError
from .evaluate import evaluate
from .jets import coordinate
from .relation import Condition

if TYPE_CHECKING:
    from .problem import Problem

ROUNDING = 1e-9  # of the terms of a difference: the same value, written in two ways
JUMP = 1e-6  # of the values that meet: less is not worth a word


def check_agreement(problem: Problem) -> None:
    """Raise where two conditions at one place give the same quantity two values; nothing is solved for it."""
    for (i, first), (j, second) in combinations(enumerate(problem.conditions, 1), 2):
        if _contradict(problem, first, second):
            raise SafeNetError(
                f"conditions {i} ({first.text}) and {j} ({second.text}) contradict each other",
                "leave out one of them, or move it to the place where it holds",
            )


def _contradict(problem: Problem, first: Condition, second: Condition) -> bool:
    alike = first.piece == second.piece and first.free == second.free and first.jets == second.jets
    if not (alike and first.linear and second.linear):
        return False
    one = next(iter(first.jets))
    products = second.coefficient(one) * first.residual, first.coefficient(one) * second.residual
    left, right = map(problem.value, products)
    difference = sp.expand(left - right)
    if difference.free_symbols & first.jets.keys():
        return False
    nothing = dict.fromkeys(first.jets, 0.0)
    values: Mapping[sp.Symbol, Any] = {**nothing, **_some_points(problem, first)}
    with np.errstate(all="ignore"):  # what is not finite proves nothing
        terms = [evaluate(term, values, np) for term in sp.Add.make_args(difference)]
        return bool(np.any(np.abs(sum(terms)) > ROUNDING * sum(map(np.abs, terms))))


@dataclass(frozen=True)
class Clash:
    """u(x, 0) = g and a condition on a face, of which g misses `gap` at the beginning."""

    face: Condition
    gap: float


def clashes(problem: Problem) -> list[Clash]:
    """The faces whose values, or equality at both ends, the initial values do not have: u jumps there at the start."""
    if problem.time is None or problem.region is not None:
        return []
    begin, found = problem.axes[problem.time], []
    starts = {
        next(iter(c.jets.values())).field: c.source / c.coefficient(next(iter(c.jets)))
        for c in problem.conditions
        if c.initial and c.linear and len(c.jets) == 1 and not any(next(iter(c.jets.values())).orders)
    }
    for face in problem.conditions:
        values = [jet for jet in face.jets.values() if not any(jet.orders) and jet.field in starts]
        if face.initial or problem.time not in face.free or len(values) < len(face.jets):
            continue
        known = {
            symbol: starts[jet.field].xreplace(
                {axis.symbol: x for axis, x in zip(problem.axes, jet.place, strict=True) if x is not None}
            )
            for symbol, jet in face.jets.items()
        }
        missed = problem.value(face.residual.xreplace(known))
        at = {**_some_points(problem, face), begin.symbol: np.asarray(begin.lo)}
        summands = (*sp.Add.make_args(missed), *(problem.value(starts[jet.field]) for jet in values))
        with np.errstate(all="ignore"):
            gap = float(np.max(np.abs(evaluate(missed, at, np))))
            sizes = [np.max(np.abs(evaluate(summand, at, np))) for summand in summands]
        if np.isfinite(gap) and gap > JUMP * float(np.max(sizes)):
            found.append(Clash(face, gap))
    return found


def corners(problem: Problem) -> list[tuple[Condition, Condition, float]]:
    """Pairs of faces of space whose values of an unknown differ where they meet, and by how much."""
    found = []
    values = [
        c
        for c in problem.conditions
        if not c.initial and c.linear and len(c.jets) == 1 and not any(next(iter(c.jets.values())).orders)
    ]
    for first, second in combinations(values if problem.region is None else [], 2):
        (one, jet), (other, beside) = (next(iter(c.jets.items())) for c in (first, second))
        fixed = (
            dict(zip(problem.axes, jet.place, strict=True)),
            dict(zip(problem.axes, beside.place, strict=True)),
        )
        meet = all(fixed[0][a] is None or fixed[1][a] is None for a in problem.axes)
        if jet.field != beside.field or not meet:
            continue
        at = _some_points(problem, first)
        at |= {
            a.symbol: np.asarray(float(problem.value(x)))
            for place in fixed
            for a, x in place.items()
            if x is not None
        }
        sides = [problem.value(c.source / c.coefficient(s)) for c, s in ((first, one), (second, other))]
        with np.errstate(all="ignore"):
            left, right = (np.asarray(evaluate(side, at, np)) for side in sides)
            gap, size = float(np.max(np.abs(left - right))), float(np.max(np.abs(left) + np.abs(right)))
        if np.isfinite(gap) and gap > JUMP * size:
            found.append((first, second, gap))
    return found


def _some_points(problem: Problem, condition: Condition) -> dict[sp.Symbol, np.ndarray]:
    """Points within a condition's place, away from its ends."""
    share = np.array([0.137, 0.379, 0.618, 0.871])
    values = {axis.symbol: axis.lo + axis.length * np.roll(share, i) for i, axis in enumerate(problem.axes)}
    if condition.piece and problem.region is not None:
        points, normals = problem.region.sample_piece(condition.piece, share)
        values |= {axis.symbol: x for axis, x in zip(problem.axes, points.T, strict=False)}
        values |= {coordinate(name): n for name, n in zip(problem.normals, normals.T, strict=True)}
    return values
