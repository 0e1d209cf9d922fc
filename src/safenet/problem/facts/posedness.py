"""Is anything left free, or asked twice? Warnings about problems that may have many solutions, or none.

    u only in derivatives, everywhere    →  u + constant solves it too
    fewer conditions on a piece than ½·(order in space) of each unknown asks  →  something is free there,
        unless the equation degenerates there
    some of u, u_x, … equal at both ends, fewer than the order   →  taken to be periodic
    more equations than unknowns         →  a solution only where they happen to agree
    more conditions along a line than derivatives, or one where u leaves the domain   →  likewise
    steady, and only zeros given         →  u = 0 is returned
    initial values that differ from those on a face →  u jumps where they meet
    slopes on all sides that do not balance the source →  no solution
    the same measured values given twice →  standard errors that are too small

Counting is not a proof: it reports what is surely missing and stays silent about the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ..data import Measured
from ..evaluate import evaluate
from ..problem import Problem
from ..relation import Condition, Relation
from .agreement import clashes, corners
from .beginning import check_beginning
from .direction import leaving
from .fact import fact
from .structure import axis_kinds
from .undecided import undecided

SAMPLES = 4000  # an even number: a coefficient x on [-1, 1] is not sampled where it is zero


@fact
def doubts(problem: Problem) -> tuple[str, ...]:
    """One sentence for each reason why the problem may not have one solution, with what to change."""
    found = (
        _too_many(problem),
        _overdetermined(problem),
        leaving(problem),
        _homogeneous(problem),
        _clashing(problem),
        twice(problem.measured, problem.axis_names),
    )
    # What the data determine is not missing.
    free = () if problem.data else left_free(problem)
    return (*undecided(problem), *problem.completed, *(text for texts in found for text in texts), *free)


@fact
def left_free(problem: Problem) -> tuple[str, ...]:
    """One sentence for each thing that the statement leaves free, with what to add."""
    return (*_gauges(problem), *_boundary(problem))


def left_open(problem: Problem) -> str:
    """What the equations and conditions leave free, for the data to determine; "" if nothing."""
    try:
        check_beginning(problem)
    except SafeNetError as error:
        return error.message
    return next(iter(left_free(problem)), "")


def twice(measured: Sequence[Measured], axes: Sequence[str]) -> list[str]:
    """Data that are given twice: in a file that the problem names, and again by --data."""
    seen: set[tuple[str, bytes, bytes]] = set()
    said = []
    for one in measured:
        key = one.name, one.points.tobytes(), one.values.tobytes()
        if key in seen:
            said.append(
                f"the same {len(one.values)} values of {one.name} at the same {', '.join(axes)} are given twice: they "
                "count twice, and standard errors come out too small; leave one of the two out"
            )
        seen.add(key)
    return said


def _too_many(problem: Problem) -> list[str]:
    """More equations than unknowns: u_x = y, u_y = x have a solution, two heat equations for one u do not."""
    count, unknowns = len(problem.equations), len(problem.unknowns)
    if count <= unknowns:
        return []
    listing = "; ".join(equation.text for equation in problem.equations)
    return [
        f"{count} equations for {unknowns} unknown{'s' * (unknowns > 1)} ({', '.join(problem.unknowns)}): {listing}. "
        "There is a solution only where they agree; leave out what follows from the others."
    ]


def _overdetermined(problem: Problem) -> list[str]:
    if not (crowd := _crowd(problem)):
        return []
    return [f"{crowd}. There is a solution only where they agree; leave some of them out."]


def _crowd(problem: Problem) -> str:
    """Ordinary differential equations with more conditions than the sum of the unknowns' orders, in words."""
    orders, count = sum(problem.order(0, name) for name in problem.unknowns), len(problem.conditions)
    alone = len(problem.axes) == 1
    return f"{count} conditions for equations of order {orders} in all" if alone and count > orders else ""


@fact
def insoluble(problem: Problem) -> str:
    """Why ordinary equations have no solution if solvers find none, with what to change; "" if no symbol says so.

    Then a residual that finer levels do not lower is no layer that still finer ones would resolve.
    """
    if crowd := _crowd(problem):
        return f"{crowd} seem to contradict each other; leave some of them out"
    if len(problem.axes) > 1 or len(problem.equations) > 1 or not problem.linear:
        return ""
    (equation,), axis = problem.equations, problem.axes[0]
    symbol, _ = max(equation.jets.items(), key=lambda one: one[1].orders)
    x = np.linspace(*axis.bounds, SAMPLES)[1:-1]
    with np.errstate(all="ignore"):
        slope = evaluate(problem.value(equation.coefficient(symbol)), {axis.symbol: x}, np)
    sign = np.sign(np.broadcast_to(slope, x.shape))
    turns = np.flatnonzero(sign[1:] * sign[:-1] <= 0)
    if not len(turns) or not sign.any():
        return ""
    (low, high), (below, above) = x[turns[0] :][:2], slope[turns[0] :][:2]
    place = low - below * (high - low) / (above - below) if above != below else low
    place = 0.0 if abs(place) < 1e-9 * axis.length else place
    return (
        f"the coefficient of {symbol} in {equation.text} vanishes near {axis.name} = {place:.3g}, where solutions may "
        "be infinite; end the domain before"
    )


def _homogeneous(problem: Problem) -> list[str]:
    """Without data u = 0 is a solution, which solvers find; from an initial time on it is the only one: no warning."""
    relations = (*problem.equations, *problem.conditions)
    if (
        problem.time is not None
        or problem.data
        or any(_at_zero(problem, relation) != 0 for relation in relations)
    ):
        return []
    fields = ", ".join(f"{name} = 0" for name in problem.unknowns)
    return [f"all data are zero, so {fields} is returned; eigenfunctions are not searched for."]


def _at_zero(problem: Problem, relation: Relation) -> sp.Expr:
    return problem.value(relation.residual).xreplace(dict.fromkeys(relation.jets, sp.S.Zero))


def _clashing(problem: Problem) -> list[str]:
    """u(x, 0) = 1 and u(0, t) = 0: intended or not, it shows in the residual."""
    said = []
    if found := clashes(problem):
        faces, gap = "; ".join(clash.face.text for clash in found), max(clash.gap for clash in found)
        begin = problem.axes[-1]
        said.append(
            f"the initial values disagree with {faces} by up to {gap:.3g}: the solution jumps there at {begin.name} = "
            f"{begin.lo:g}, and the residual is mostly that of the jump."
        )
    if pairs := corners(problem):
        meetings = "; ".join(f"{first.text} and {second.text}" for first, second, _ in pairs)
        said.append(
            f"values differ where sides meet ({meetings}), by up to {max(gap for *_, gap in pairs):.3g}: the solution "
            "jumps there, and close to it errors are larger than any estimate."
        )
    return said


def _gauges(problem: Problem) -> list[str]:
    """Unknowns that appear only as derivatives, in the equations and in every condition."""
    return [
        f"{field} is free up to a constant: only its derivatives appear. "
        f"Fix it, e.g. {field}({_some_place(problem, field)}) = 0."
        for field in problem.unknowns
        if all(only_differences(relation, field) for relation in (*problem.equations, *problem.conditions))
    ]


def _some_place(problem: Problem, field: str) -> str:
    """A point of the domain, as arguments; at all times for an unknown without time derivative."""
    corner = [str(axis.lower) for axis in problem.axes]
    if problem.region is not None:
        corner[: problem.region.dimension] = [f"{value:.4g}" for value in problem.region.some_point]
    if problem.time is not None and not problem.time_order(field):
        corner[problem.time] = problem.axis_names[problem.time]
    return ", ".join(corner)


def only_differences(relation: Relation, field: str) -> bool:
    """Whether u + c satisfies the relation wherever u does: u(0, t) = u(1, t) does not fix a constant."""
    values = [s for s, jet in relation.jets.items() if jet.field == field and not any(jet.orders)]
    return bool(sp.Add(*(relation.coefficient(symbol) for symbol in values)) == 0)


def _boundary(problem: Problem) -> list[str]:
    """Pieces (or faces) with fewer conditions than the unknowns' orders in space ask for."""
    space = [i for i in range(len(problem.axes)) if i != problem.time]
    if problem.region is not None:
        orders = {name: max(problem.order(i, name) for i in space) for name in problem.unknowns}
        pieces = {
            name: [condition for condition in problem.conditions if condition.piece == name]
            for name in problem.pieces
        }
        found = [_missing(f"the piece {name}", given, orders) for name, given in pieces.items()]
        size = problem.region.nameless
        if size and any(order > 1 for order in orders.values()):
            what = "length" if problem.plane else "area"
            found.append(
                f"a part of the boundary ({what} {size:.3g}) belongs to no piece and carries no condition. "
                'Name it, e.g. walls = "rest".'
            )
        return [text for text in found if text]
    found = []
    for i in space:
        if all(kinds[i] == "periodic" for kinds in axis_kinds(problem).values()):
            continue
        axis = problem.axes[i]
        orders = {name: problem.order(i, name) for name in problem.unknowns}
        others = tuple(k for k in range(len(problem.axes)) if k != i)
        faces = [condition for condition in problem.conditions if condition.free == others]
        # Conditions in the interior, or that tie two places together, may replace one on a face: count them all.
        if len(faces) >= 2 * sum(order // 2 for order in orders.values()):
            continue
        for side, end in enumerate((axis.lower, axis.upper)):
            here = [c for c in faces if any(place[i] == end for place in c.places)]
            if here or not degenerates(problem, i, side):
                found.append(_missing(f"the face {axis.name} = {end}", here, orders))
    return [text for text in found if text]


def degenerates(problem: Problem, index: int, side: int) -> bool:
    """Whether a face needs no condition, such as r = 0 for r² u_rr + r u_r + u_qq = 0.

    Let s be the distance to the face. Multiplied by the least power of s that makes it finite there, the equation is
    A u_ss + B u_s + …. If A is 0 at the face, Fichera's function b = B − ∂A/∂s decides: for b/A ≥ 0 a bounded solution
    is determined without a condition; for b/A < 0, as for s u_ss + u = 0, it is not.
    """
    if len(problem.equations) != 1 or not problem.linear or problem.order(index) != 2:
        return False
    (equation,), axis, s = problem.equations, problem.axes[index], sp.Symbol("s", positive=True)
    moved = problem.value(axis.lower) + s if side == 0 else problem.value(axis.upper) - s
    terms = {jet: problem.value(equation.coefficient(jet)).subs(axis.symbol, moved) for jet in equation.jets}
    poles = [k for k in range(4) if all((term * s**k).subs(s, 0).is_finite for term in terms.values())]
    if not poles:
        return False
    ways = {j: jet.orders[index] for j, jet in equation.jets.items() if jet.orders[index] == sum(jet.orders)}
    first, second = (
        sp.Add(*(terms[jet] * s ** poles[0] for jet, order in ways.items() if order == k)) for k in (1, 2)
    )
    if second.subs(s, 0) != 0:
        return False
    fichera = ((first if side == 0 else -first) - second.diff(s)).subs(s, 0)
    return bool((fichera * sp.sign(second.subs(s, sp.Float(axis.length) / 1000))).is_nonnegative)


def _missing(where: str, given: list[Condition], orders: dict[str, int]) -> str:
    wanted = {name: order // 2 for name, order in orders.items() if order >= 2}
    needed = sum(wanted.values())
    if len(given) >= needed:
        return ""
    have = "no condition" if not given else f"only {len(given)} condition{'s' * (len(given) > 1)}"
    fixed = {jet.field for condition in given for jet in condition.jets.values()}
    free = [name for name in wanted if name not in fixed] or list(wanted)
    return (
        f"{where} has {have}, and {needed} {'are' if needed > 1 else 'is'} needed there: "
        f"{' and '.join(free) if needed > len(given) + 1 or len(free) == 1 else ' or '.join(free)} "
        f"{'is' if len(free) == 1 else 'are'} free. Add what holds for {free[0]} there, or its slope."
    )
