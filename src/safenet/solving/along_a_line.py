"""x = x₀ ± t: a problem on a line with all conditions at one end, integrated from there as if its axis were time.

Such a problem has one solution, but if solutions grow along the line, functions far from it may satisfy all rows of a
least-squares solve to many digits. An integration that starts where the conditions are is independent of that solve.
"""

from __future__ import annotations

import numpy as np
import sympy as sp

from ..direct import Integrate
from ..errors import SafeNetError
from ..fields.field import values
from ..measure.heldout import interior_points
from ..measure.relative import relative
from ..problem import Problem
from ..problem.jets import coordinate
from ..problem.language.notation import written
from ..problem.relation import TIME, Relation
from ..run.budget import Budget
from ..run.progress import Monitor


def apart(problem: Problem, field: object) -> np.ndarray | None:
    """‖u − v‖/‖v‖ of each unknown and of all, for v that is integrated from the conditions; None if there is no v."""
    ends = _ends(problem)
    if ends is None:
        return None
    try:
        twin = _in_time(problem, *ends)
        solver = Integrate()
        if solver.obstacle(twin):
            return None
        *_, state = solver.run(twin, Monitor(), Budget())
    except SafeNetError:
        return None
    if state.field is None or state.given_up:
        return None
    points = interior_points(problem)
    start, sign = ends
    own, other = values(field, points), values(state.field, sign * (points - start))
    return np.asarray(relative(own - other, other)) if np.isfinite(other).all() else None


def _ends(problem: Problem) -> tuple[float, int] | None:
    """The end where all conditions are, and the direction from there: 1 upwards, −1 downwards."""
    if len(problem.axes) != 1 or problem.time is not None or problem.region is not None:
        return None
    if problem.unknown or problem.data or problem.tables:
        return None
    places = {place for condition in problem.conditions for place in condition.places}
    order = sum(problem.order(0, name) for name in problem.unknowns)
    if len(places) != 1 or len(problem.conditions) != order:
        return None
    ((place,),) = places
    (axis,) = problem.axes
    at = float(problem.value(sp.sympify(place, strict=True))) if place is not None else np.nan
    return (at, 1) if at == axis.lo else (at, -1) if at == axis.hi else None


def _in_time(problem: Problem, start: float, sign: int) -> Problem:
    """The problem in t with x = start + sign · t."""
    (axis,) = problem.axes
    here: dict[sp.Basic, sp.Expr] = {axis.symbol: sp.nsimplify(start) + sign * coordinate(TIME)}

    def stated(relation: Relation, place: str) -> str:
        jets: dict[sp.Basic, sp.Expr] = {}
        for symbol, jet in relation.jets.items():
            (order,) = jet.orders
            name = f"{jet.field}_{TIME * order}" if order else jet.field
            jets[symbol] = sign**order * sp.Symbol(name + place)
        return f"{written(problem.value(relation.residual).xreplace(here | jets))} = 0"

    return Problem(
        [stated(one, "") for one in problem.equations],
        unknowns=problem.unknowns,
        domain={TIME: (0, axis.length)},
        conditions=[stated(one, "(0)") for one in problem.conditions],
    )
