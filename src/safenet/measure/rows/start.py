"""Where Newton's method starts: the values that the conditions give, extended into the domain.

    min Σ_i ‖L_i ∂_i u‖²  with the linear conditions         in a slab of time:  ∂_t^q u = 0 from the initial values

This is a line between two ends, a harmonic function between walls, a constant where one value is given. From u = 0,
Newton's method fails where an equation contains 1/u or √u, or where u³ multiplies its highest derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from ...problem import Condition, Problem, Relation
from ...problem.facts.fact import fact
from ...problem.jets import Jet, Orders, along
from ...run.result import SOLVED_BELOW
from ..heldout import held_out
from ..thresholds import EXTENDED
from .newton import Newton, newton

Span = tuple[float, float]


@fact
def extension(problem: Problem, marched: bool = False) -> Problem | None:
    """The linear problem whose solution is the first guess; None where it would be zero, and for linear problems.

    `marched`: it is solved on a slab of time, so unknowns with a time derivative keep their initial values.
    """
    time = problem.time if marched else None
    evolving = set() if time is None else {name for name in problem.unknowns if problem.time_order(name)}
    given = tuple(one for one in problem.conditions if one.linear and _extended(one, evolving))
    if problem.linear or all(problem.value(condition.source) == 0 for condition in given):
        return None
    still = []
    for name in problem.unknowns:
        for i, axis in enumerate(problem.axes):
            order = (problem.time_order(name) if i == time else 0) if name in evolving else 1
            if order:
                orders = tuple(order * k for k in along(i, len(problem.axes)))
                still.append(_still(problem, name, orders, axis.length**order))
    return problem.restated(tuple(still), given)


def _extended(condition: Condition, evolving: set[str]) -> bool:
    """Whether the first guess meets a condition: an initial one, or one on unknowns that do not evolve."""
    return condition.initial or not any(jet.field in evolving for jet in condition.jets.values())


def _still(problem: Problem, field: str, orders: Orders, length: float) -> Relation:
    """∂^orders u = 0, so lightly weighted that it does not compete with the conditions."""
    jet = Jet(field, orders, (None,) * len(orders))
    symbol = jet.symbol(problem.axis_names)
    statement = sp.Eq(symbol, 0, evaluate=False)
    return Relation(f"{symbol} = 0", statement, symbol, {symbol: jet}, scale=EXTENDED * length)


def from_conditions(
    rows: Any,
    rows_of: Callable[[Problem], Any],
    solve: Callable[[np.ndarray], Newton],
    span: Span | None = None,
) -> Newton:
    """Newton's method from the conditions, extended into the domain; where it finds no solution, also from zero.

    `solve` is Newton's method on `rows`, which are those that `rows_of` has for the problem, on a slab if there is a
    `span`.
    """
    problem, zero = rows.problem, np.zeros(rows.unknowns)
    simple = extension(problem, span is not None)
    guess = zero if simple is None else newton(rows_of(simple), zero, linear=True).coefficients
    if simple is None or not np.isfinite(guess).all():
        return solve(zero)

    def residual(found: Newton) -> float:
        return held_out(problem, rows.form(found.coefficients), span=span).worst

    found = solve(guess)
    if found.stopped or (found.converged and residual(found) < SOLVED_BELOW):
        return found
    other = solve(zero)
    best = min(found, other, key=residual)
    iterations, evaluations = (
        found.iterations + other.iterations,
        found.evaluations + other.evaluations,
    )
    return replace(best, iterations=iterations, evaluations=evaluations, stopped=other.stopped)
