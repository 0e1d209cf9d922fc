"""∂_t^q u = … needs the initial values u, ∂_t u, …, ∂_t^(q−1) u in all of space: an error names those missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Place, SafeNetError
from ..relation import TIME

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
