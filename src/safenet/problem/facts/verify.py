"""F(u*) = 0?: an exact solution is checked against every equation and condition before it may score a run.

Numbers first (random points, float64: quick, and they can refute), then SymPy (which can prove, where it succeeds).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import sympy as sp

from ...errors import Part, SafeNetError, about
from ..evaluate import at_place, evaluate
from ..geometry.body import points_inside, points_on
from ..jets import Jet, Orders, coordinate
from ..language.notation import written
from ..problem import Problem
from ..relation import Relation
from .fact import fact

POINTS = 64
TOLERANCE = 1e-8
# (a + b)(c + d)… is multiplied out only to name the terms that do not cancel.
MAX_TERMS = 64

Points = dict[sp.Symbol, np.ndarray]


def verify(problem: Problem) -> None:
    """Raise, naming the relation and its largest term, unless the exact solution satisfies all of them."""
    random = np.random.default_rng(0)
    box = {axis.symbol: random.uniform(axis.lo, axis.hi, POINTS) for axis in problem.axes}
    for number, equation in enumerate(problem.equations, 1):
        with about("equations", number - 1):
            _check(problem, equation, f"equation {number}", _placed(problem, equation, box))
    for condition in problem.conditions:
        label, place = _origin(condition.number)
        with about(*place):
            _check(problem, condition, label, _placed(problem, condition, box))


def _origin(number: int) -> tuple[str, Part]:
    """What a condition is called, and where it is written."""
    return (
        (f"condition {number}", ("conditions", number - 1)) if number else ("a periodic axis", ("periodic",))
    )


def _check(problem: Problem, relation: Relation, label: str, points: Points) -> None:
    try:
        terms = _term_values(problem, relation, points)
    except SafeNetError as error:
        raise SafeNetError(
            f"the exact solution cannot be checked against {label} ({relation.text}): {error.message}",
            error.remedy,
        ) from None
    with np.errstate(all="ignore"):
        sums = np.sum(list(terms.values()), axis=0)
        scale = max(1.0, *(np.abs(values).max() for values in terms.values()))
        # A nan must not pass, and counts as the worst point.
        residual = np.where(np.isfinite(sums), np.abs(sums), np.inf)
    worst = int(np.argmax(residual))
    if not (np.isfinite(residual[worst]) and residual[worst] <= TOLERANCE * scale):
        place = ", ".join(f"{s} = {v[worst]:.4g}" for s, v in points.items())
        listing = "; ".join(f"{name} → {values[worst]:.4g}" for name, values in terms.items())
        raise SafeNetError(
            f"the exact solution does not satisfy {label}: {relation.text}",
            f"at {place} its terms are {listing}, which sum to {sums[worst]:.4g}",
        )


def _placed(problem: Problem, relation: Relation, box: Points) -> Points:
    """Points where the relation holds: in the region, or on the condition's piece with the normal there."""
    region = problem.region
    if region is None:
        return box
    piece = getattr(relation, "piece", "")
    unit = np.random.default_rng(1)
    lower, upper = (np.array(corner) for corner in region.bounds)
    if piece:
        at, normals, _ = points_on(region, piece, POINTS, lambda *shape: unit.random(shape))
    else:
        share = points_inside(region, POINTS, lambda *shape: unit.random(shape), region.bounds)
        at, normals = lower + (upper - lower) * share, np.empty((POINTS, 0))
    return {
        **box,
        **{axis.symbol: column for axis, column in zip(problem.axes, at.T, strict=False)},
        **{coordinate(n): column for n, column in zip(problem.normals, normals.T, strict=False)},
    }


def _term_values(problem: Problem, relation: Relation, points: Points) -> dict[str, np.ndarray]:
    """Each term of the residual at the points, by its text."""
    with np.errstate(all="ignore"):
        values: Points = dict(points)
        for symbol, jet in relation.jets.items():
            formula = exact_derivative(problem, jet.field, jet.orders)
            derivative = evaluate(formula, at_place(problem, jet, points), np)
            values[symbol] = np.broadcast_to(derivative, (POINTS,))
        found: dict[str, np.ndarray] = {}
        for term in _terms(relation.residual):  # multiplied out, the same term may come up twice
            value = np.broadcast_to(evaluate(problem.value(term), values, np), (POINTS,))
            found[written(term)] = found.get(written(term), 0.0) + value
        return found


def _terms(residual: sp.Expr) -> list[sp.Expr]:
    """The terms of the residual; products of sums are multiplied out if that gives few terms."""
    terms: list[sp.Expr] = []
    for part in sp.Add.make_args(residual):
        count = prod(len(sp.Add.make_args(factor)) for factor in sp.Mul.make_args(part))
        expanded = sp.expand_mul(part, deep=False) if count <= MAX_TERMS else part
        terms += sp.Add.make_args(expanded)
    return terms


@fact
def proven(problem: Problem) -> bool:
    """Whether SymPy itself reduces every residual of the exact solution to zero."""
    relations: tuple[Relation, ...] = (*problem.equations, *problem.conditions)
    return all(_vanishes(_substituted(problem, relation, relation.residual)) for relation in relations)


def _vanishes(residual: sp.Expr) -> bool:
    """Whether SymPy finds 0, trying the quickest way first: sech and tanh cancel once written as exponentials."""
    ways = (sp.expand, lambda r: sp.expand(sp.numer(sp.together(r.rewrite(sp.exp)))), sp.simplify)
    return any(way(residual) == 0 for way in ways)


def _substituted(problem: Problem, relation: Relation, expression: sp.Expr) -> sp.Expr:
    values = {symbol: exact_jet(problem, jet) for symbol, jet in relation.jets.items()}
    return problem.value(expression.xreplace(values))


def exact_jet(problem: Problem, jet: Jet) -> sp.Expr:
    """∂^α of the exact solution at the jet's place, as an expression of the free coordinates."""
    expression = exact_derivative(problem, jet.field, jet.orders)
    fixed = {
        axis.symbol: value for axis, value in zip(problem.axes, jet.place, strict=True) if value is not None
    }
    return expression.subs(fixed) if fixed else expression


def exact_values(
    problem: Problem, coordinates: Mapping[str, Any], orders: Orders = ()
) -> dict[str, np.ndarray]:
    """∂^α of the exact solution at points, by unknown; values that are not finite are kept."""
    if problem.exact is None:
        if problem.has_reference:
            raise SafeNetError(
                f"the reference of {problem.name} has values only, and no derivatives",
                "state the solution in symbols, exact = …; or compare u itself",
            )
        raise SafeNetError(f"{problem.name} has neither an exact solution nor a reference")
    arrays = problem.broadcast(coordinates)
    values = {axis.symbol: arrays[axis.name] for axis in problem.axes}
    shape = next(iter(arrays.values())).shape
    with np.errstate(all="ignore"):
        return {
            field: np.broadcast_to(evaluate(exact_derivative(problem, field, orders), values, np), shape)
            for field in problem.unknowns
        }


@fact
def exact_derivative(problem: Problem, field: str, orders: Orders = ()) -> sp.Expr:
    """∂^α of the exact solution."""
    assert problem.exact is not None
    expression = problem.value(problem.exact[field])
    for axis, order in zip(problem.axes, orders, strict=False):
        expression = expression.diff(axis.symbol, order) if order else expression
    return expression
