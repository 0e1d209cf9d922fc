"""F(u*) = 0?: an exact solution is checked against every equation and condition before it may score a run.

Numbers first (random points, float64, quick and decisive against), then SymPy (decisive for, where it can).
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from ..errors import SafeNetError
from .evaluate import evaluate
from .jets import Jet
from .problem import Problem, Relation

POINTS = 64
TOLERANCE = 1e-8


def verify(problem: Problem) -> None:
    """Raise, naming the relation and its largest term, unless the exact solution satisfies all of them."""
    random = np.random.default_rng(0)
    points = {axis.symbol: random.uniform(axis.lo, axis.hi, POINTS) for axis in problem.axes}
    for group, relations in (("equation", problem.equations), ("condition", problem.conditions)):
        for index, relation in enumerate(relations):
            terms = {
                str(term): np.broadcast_to(
                    evaluate(_substituted(problem, relation, term), points, np), (POINTS,)
                )
                for term in sp.Add.make_args(sp.expand_mul(relation.residual))
            }
            residual = np.abs(sum(terms.values()))
            scale = max(1.0, *(np.abs(values).max() for values in terms.values()))
            # `not <=` rather than `>`: a nan must not pass.
            if not np.nanmax(residual) <= TOLERANCE * scale or not np.isfinite(residual).all():
                worst = int(np.nanargmax(residual))
                place = ", ".join(f"{s} = {v[worst]:.4g}" for s, v in points.items())
                listing = "; ".join(f"{name} → {values[worst]:.4g}" for name, values in terms.items())
                raise SafeNetError(
                    f"the exact solution does not satisfy {group} {index + 1}: {relation.text}",
                    f"at {place} its terms are {listing}, which sum to {sum(v[worst] for v in terms.values()):.4g}",
                )


def proven(problem: Problem) -> bool:
    """Whether SymPy itself reduces every residual of the exact solution to zero."""
    relations: tuple[Relation, ...] = (*problem.equations, *problem.conditions)
    for relation in relations:
        residual = _substituted(problem, relation, relation.residual)
        if sp.expand(residual) != 0 and sp.simplify(residual) != 0:
            return False
    return True


def _substituted(problem: Problem, relation: Relation, expression: sp.Expr) -> sp.Expr:
    values = {symbol: exact_jet(problem, jet) for symbol, jet in relation.jets.items()}
    return problem.value(expression.xreplace(values))


def exact_jet(problem: Problem, jet: Jet) -> sp.Expr:
    """∂^α of the exact solution at the jet's place, as an expression of the free coordinates."""
    assert problem.exact is not None
    expression = problem.value(problem.exact[jet.field])
    for axis, order in zip(problem.axes, jet.orders, strict=True):
        expression = expression.diff(axis.symbol, order) if order else expression
    fixed = {
        axis.symbol: value
        for axis, value in zip(problem.axes, jet.place, strict=True)
        if value is not None
    }
    return expression.subs(fixed) if fixed else expression
