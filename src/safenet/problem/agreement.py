"""b·B₁(u) − a·B₂(u) = g(x) with no unknown left in it: where g is not zero, no u meets both conditions."""

from __future__ import annotations

from collections.abc import Mapping
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


def _some_points(problem: Problem, condition: Condition) -> dict[sp.Symbol, np.ndarray]:
    """Points within a condition's place, away from its ends."""
    share = np.array([0.137, 0.379, 0.618, 0.871])
    values = {axis.symbol: axis.lo + axis.length * np.roll(share, i) for i, axis in enumerate(problem.axes)}
    if condition.piece and problem.region is not None:
        points, normals = problem.region.sample_piece(condition.piece, share)
        values |= {axis.symbol: x for axis, x in zip(problem.axes, points.T, strict=False)}
        values |= {coordinate(name): n for name, n in zip(problem.normals, normals.T, strict=True)}
    return values
