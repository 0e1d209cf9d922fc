"""∂_t^q u = … needs the initial values u, ∂_t u, …, ∂_t^(q−1) u in all of space: an error names those missing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import sympy as sp

from ...errors import Place, SafeNetError
from ..jets import Jet
from ..relation import TIME, Condition
from .fact import fact

if TYPE_CHECKING:
    from ..problem import Problem


def check_beginning(problem: Problem) -> None:
    """Raise unless each unknown with q time derivatives has q conditions, each at some time in all of space.

    A condition at a point of space, such as one on u(1/2, 0), does not count.
    """
    if problem.time is None:
        return
    space = tuple(i for i in range(len(problem.axes)) if i != problem.time)
    placed = [condition for condition in problem.conditions if condition.free == space]
    for field in problem.unknowns:
        order = problem.time_order(field)
        known = [
            {jet.orders[problem.time] for jet in condition.jets.values() if jet.field == field}
            for condition in placed
        ]
        given = sum(map(bool, known))
        if given < order:
            arguments = ", ".join([*problem.axis_names[:-1], str(problem.axes[problem.time].lower)])
            missing = [k for k in range(order) if k not in set().union(*known)] or range(order)
            wanted = [f"{field}{'_' + TIME * k if k else ''}({arguments}) = …" for k in missing]
            raise SafeNetError(
                f"{field} has {order} time derivative{'s' if order > 1 else ''} but "
                f"{given or 'no'} initial condition{'s' if given > 1 else ''}",
                "add " + " and ".join(wanted),
                Place(("conditions",)),
            )


def prescribed(problem: Problem, condition: Condition) -> tuple[Jet, sp.Expr] | None:
    """(∂^α u, g) of a condition ∂^α u = g; None if it has another form."""
    (symbol, jet), *others = condition.jets.items()
    coefficient = condition.coefficient(symbol) if condition.linear else sp.S.Zero
    if others or problem.value(coefficient) == 0:
        return None
    return jet, problem.value(condition.source / coefficient)


@fact
def initial_values(problem: Problem) -> Mapping[tuple[str, int], sp.Expr]:
    """{(u, k): g} of the conditions ∂_t^k u(x, t₀) = g; initial conditions of another form are left out."""
    given = [prescribed(problem, condition) for condition in problem.conditions if condition.initial]
    values = [one for one in given if one is not None and not any(one[0].orders[:-1])]
    return MappingProxyType({(jet.field, jet.orders[-1]): g for jet, g in values})


def value_alone(problem: Problem, condition: Condition) -> tuple[Jet, sp.Expr]:
    """(∂_t^k u, g) of a condition c ∂_t^k u = g with a number c; raises if it has another form."""
    given = prescribed(problem, condition)
    constant = all(problem.value(condition.coefficient(symbol)).is_number for symbol in condition.jets)
    if given is None or any(given[0].orders[:-1]) or not constant:
        raise no_value(condition)
    return given


def no_value(condition: Condition) -> SafeNetError:
    return SafeNetError(f"the condition {condition.text} does not prescribe the value of one unknown")
