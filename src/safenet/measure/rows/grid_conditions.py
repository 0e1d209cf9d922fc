"""B u = g on the faces of a box, axis by axis: which conditions fix the values on a tensor grid, and which do not."""

from __future__ import annotations

from collections.abc import Sequence

from ...fields.series import LinearForm
from ...problem import Condition, Problem
from ...problem.facts.fact import fact
from ...problem.facts.posedness import only_differences
from ...problem.facts.structure import axis_kinds, breaks


def tensor_obstacle(problem: Problem) -> str | None:
    """Why the conditions of a problem with a time axis do not fix its values axis by axis, or None if they do."""
    for name, places in zip(problem.axis_names[:-1], breaks(problem, conditions=False), strict=False):
        if places:
            return f"its coefficients or sources are not smooth at {name} = {places[0]:.3g}"
    if len(problem.equations) != len(problem.unknowns):
        return "it does not have one equation for each unknown"
    reasons = (
        *(_start_obstacle(problem, name) for name in problem.unknowns),
        _side_obstacle(problem),
        *(_face_obstacle(problem, axis) for axis in range(len(problem.axes) - 1)),
    )
    return next((reason for reason in reasons if reason), None)


def _start_obstacle(problem: Problem, name: str) -> str | None:
    """Why the initial values do not fix an unknown's time derivatives below the highest."""
    order = problem.time_order(name)
    if order > 2:
        return f"{name} has a time derivative of order {order}"
    starts = [c for c in problem.conditions if c.initial and field_of(c) == name]
    orders = sorted(next(iter(c.jets.values())).orders[-1] for c in starts)
    if orders != list(range(order)) or not all(_simple(problem, c, -1) for c in starts):
        return f"{name} lacks an initial value of its own for some time derivative"
    return None


def _side_obstacle(problem: Problem) -> str | None:
    pinned = pins(problem).values()
    for condition in problem.conditions:
        if not condition.initial and len(condition.free) != len(problem.axes) - 1 and condition not in pinned:
            return f"the condition {condition.text} does not hold on a whole side"
    return None


def _face_obstacle(problem: Problem, axis: int) -> str | None:
    """Why the conditions on the two faces of an axis do not fix the unknowns along it."""
    if periodic(problem, axis):
        return None
    for condition in on_faces(problem, axis):
        if not _simple(problem, condition, axis):
            return (
                f"the condition {condition.text} is not linear, with constant coefficients, in one unknown and its "
                "normal derivatives"
            )
    for name in problem.unknowns:
        count = len(on_faces(problem, axis, name))
        walled = count == 0 and problem.order(axis, name) == 1 and _floating(problem, name)
        if count != problem.order(axis, name) and not walled:
            return f"{name} has {count} conditions in {problem.axis_names[axis]}"
    return None


@fact
def pins(problem: Problem) -> dict[int, Condition]:
    """p(x₀, y₀, t) = g, by field: fixes the constant of an unknown of which all else contains only derivatives."""
    found: dict[int, Condition] = {}
    if len(problem.axes) < 3:
        return found  # on a line a point is a face
    for f, name in enumerate(problem.unknowns):
        given = [
            c
            for c in problem.conditions
            if set(c.free) <= {len(problem.axes) - 1} and field_of(c) == name and _simple(problem, c, -1)
        ]
        if len(given) == 1 and _floating(problem, name, given):
            found[f] = given[0]
    return found


def _floating(problem: Problem, name: str, given: Sequence[Condition] | None = None) -> bool:
    """Whether all relations but `given` (by default its value at a point) contain only derivatives of an unknown."""
    if given is None:
        given = [c for f, c in pins(problem).items() if problem.unknowns[f] == name]
    rest = (relation for relation in (*problem.equations, *problem.conditions) if relation not in given)
    return not problem.time_order(name) and all(only_differences(r, name) for r in rest)


def periodic(problem: Problem, axis: int) -> bool:
    """Whether all unknowns are periodic, so that a Fourier series leaves nothing to fix on the faces.

    A sine or cosine series would also meet the conditions, but it suits only initial data that meet them; polynomials,
    with the conditions as extra rows, suit any.
    """
    return all(kinds[axis] == "periodic" for kinds in axis_kinds(problem).values())


def on_faces(problem: Problem, axis: int, name: str | None = None) -> list[Condition]:
    """The conditions on the two faces of an axis, all or one unknown's, that the basis does not meet by itself."""
    if periodic(problem, axis):
        return []
    pinned = pins(problem).values()
    given = [c for c in problem.conditions if not c.initial and axis not in c.free and c not in pinned]
    return given if name is None else [c for c in given if field_of(c) == name]


def field_of(condition: Condition) -> str:
    """The unknown in a condition; "" if there are several."""
    names = {jet.field for jet in condition.jets.values()}
    return names.pop() if len(names) == 1 else ""


def _simple(problem: Problem, condition: Condition, axis: int) -> bool:
    """Whether it is Σ_k c_k ∂^k u = g with numbers c_k and derivatives of one unknown along one axis."""
    jets = condition.jets.values()
    numbers = (problem.value(condition.coefficient(symbol)) for symbol in condition.jets)
    return (
        bool(field_of(condition))
        and all(sum(jet.orders) == jet.orders[axis] for jet in jets)
        and all(number.is_number for number in numbers)
        and (axis >= 0 or len(condition.jets) == 1)
    )


def node_counts(problem: Problem, form: LinearForm) -> list[int]:
    """How many nodes each space axis of a form had: its functions, less the conditions on the faces."""
    name = problem.unknowns[0]
    return [basis.size - len(on_faces(problem, axis, name)) for axis, basis in enumerate(form.bases[0][:-1])]
