"""Which statements do not determine a solution? Reasons to give no estimate of an error.

fewer equations than unknowns                             →  an unknown is free
u_t + H(u_x) = 0 from a kink, or with characteristics that meet  →  no smooth solution; which generalised one?
a jump at the start of nonlinear equations that are not written for conserved quantities  →  what is its speed?
short waves that grow without bound (Cauchy's problem, heat backwards), no condition where u enters, characteristics
that part, waves that no equation sees in a box that is periodic along all axes    →  direction.py
initial values that an equation without derivatives forbids →  no solution
sources that slopes on all sides do not balance           →  no solution
data whose range cannot be bounded                        →  a narrow feature may have been missed
"""

from __future__ import annotations

import math

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ..evaluate import evaluate
from ..problem import Problem
from ..relation import Relation
from .balance import imbalance
from .conservation import conservation
from .direction import closed_lines, entering, parting, runaway
from .fact import fact
from .narrow import narrow
from .structure import axis_kinds, breaks

SAMPLES = 4001
ROUNDING = 1e-9  # relative to the terms of an equation: less is rounding between two forms of one value


@fact
def undecided(problem: Problem) -> tuple[str, ...]:
    """One sentence for each reason."""
    free = *_too_few(problem), *entering(problem), *parting(problem), *closed_lines(problem)
    torn = *_meeting(problem), *_unconserved(problem)
    none = *_inconsistent(problem), *_unbalanced(problem)
    return (*free, *torn, *runaway(problem), *none, *_unbounded(problem))


def _unbalanced(problem: Problem) -> list[str]:
    """u_xx + u_yy = 1 with no slope on any side."""
    sides = imbalance(problem)
    if sides is None:
        return []
    used, flow = sides
    if all(kind == "periodic" for kinds in axis_kinds(problem).values() for kind in kinds):
        return [
            f"there is no solution: the source integrates to {used:.4g} over the period and must integrate to 0. "
            "Subtract its mean."
        ]
    return [
        f"there is no solution: the source integrates to {used:.4g} and the slopes on the sides to {flow:.4g}, which "
        "must be the same. Change one of them, or give a value instead of a slope on some side."
    ]


def _too_few(problem: Problem) -> list[str]:
    count, unknowns = len(problem.equations), problem.unknowns
    if count >= len(unknowns):
        return []
    listing = "; ".join(equation.text for equation in problem.equations)
    free = len(unknowns) - count
    return [
        f"{count} equation{'s' * (count > 1)} for {len(unknowns)} unknowns ({', '.join(unknowns)}): {listing}. "
        f"{free} of them {'is' if free == 1 else 'are'} free; add an equation for each."
    ]


def _meeting(problem: Problem) -> list[str]:
    """u_t + H(u, u_x) = 0 along its characteristics: dx/dt = ∂H/∂u_x."""
    found = _first_order(problem)
    if found is None:
        return []
    equation, slope, start = found
    x, t = problem.axes
    speed = problem.value(equation.coefficient(slope) / equation.coefficient(_time(equation)))
    value = (
        next(symbol for symbol, jet in equation.jets.items() if jet.orders == (0, 0))
        if _value(equation)
        else None
    )
    kinks = breaks(problem)[0]
    if kinks and slope in speed.free_symbols:
        return [
            f"the initial values have a kink at {x.name} = {kinks[0]:.4g}, from which {equation.text} has more than "
            "one generalised solution: none is smooth, and that of vanishing viscosity is not looked for. "
            f"Add viscosity, e.g. 1e-3*{problem.unknowns[0]}_{2 * x.name}."
        ]
    points = np.linspace(x.lo, x.hi, SAMPLES)
    at = {x.symbol: points}
    try:
        with np.errstate(all="ignore"):
            initial = {slope: evaluate(start.diff(x.symbol), at, np)}
            if value is not None:
                initial[value] = evaluate(start, at, np)
            speeds = np.broadcast_to(evaluate(speed, initial, np), points.shape)
    except SafeNetError:
        return []
    steepest = float(np.min(np.gradient(speeds, points)))
    meet = -1 / steepest if steepest < 0 else math.inf
    if not meet < t.length:
        return []
    return [
        f"the characteristics of {equation.text} meet at {t.name} = {t.lo + meet:.4g}: beyond, there is no smooth "
        "solution. Solve to an earlier end, or add a little diffusion."
    ]


def _unconserved(problem: Problem) -> list[str]:
    """u u_t + u² u_x = 0 has the smooth solutions of u_t + u u_x = 0 but other jumps: it conserves u²/2, not u."""
    jets = [jet for equation in problem.equations for jet in equation.jets.values()]
    if problem.linear or problem.time != 1 or len(problem.axes) != 2 or any(sum(j.orders) > 1 for j in jets):
        return []
    place = _jump(problem)
    if place is None:
        return []
    try:
        conservation(problem)
    except SafeNetError:
        name = problem.axis_names[0]
        return [
            f"the initial values jump at {name} = {place:.4g}, and the equations are not written for conserved "
            "quantities: they do not say how fast the jump moves. Write them so, e.g. u_t + diff(u**2/2, x) = 0, or "
            "add viscosity."
        ]
    return []


def _jump(problem: Problem) -> float | None:
    """A place where the initial values jump."""
    x = problem.axes[0]
    for condition in (c for c in problem.conditions if c.initial and c.linear and len(c.jets) == 1):
        (symbol,) = condition.jets
        start = problem.value(condition.source / condition.coefficient(symbol))
        for place in breaks(problem)[0]:
            sides = place + ROUNDING * x.length * np.array([-1.0, 1.0])
            with np.errstate(all="ignore"):
                left, right = np.broadcast_to(evaluate(start, {x.symbol: sides}, np), 2)
            if abs(right - left) > math.sqrt(ROUNDING) * (abs(left) + abs(right)):
                return float(place)
    return None


def _first_order(problem: Problem) -> tuple[Relation, sp.Symbol, sp.Expr] | None:
    """(u_t + H(u, u_x) = 0 of first order on a line, u_x, u(x, 0)); None for anything else."""
    if problem.linear or len(problem.axes) != 2 or problem.time != 1 or len(problem.unknowns) != 1:
        return None
    equation, *others = problem.equations
    orders = {jet.orders: symbol for symbol, jet in equation.jets.items()}
    if others or not {(0, 1), (1, 0)} <= orders.keys() <= {(0, 0), (0, 1), (1, 0)}:
        return None
    residual = problem.value(equation.residual)
    still = residual.xreplace({orders[1, 0]: sp.S.Zero, orders[0, 1]: sp.S.Zero})
    alone = not residual.free_symbols & {axis.symbol for axis in problem.axes}
    starts = [c for c in problem.conditions if c.initial and c.linear and len(c.jets) == 1]
    if not alone or still != 0 or len(starts) != 1:
        return None
    (symbol,) = starts[0].jets
    return equation, orders[1, 0], problem.value(starts[0].source / starts[0].coefficient(symbol))


def _time(equation: Relation) -> sp.Symbol:
    return next(symbol for symbol, jet in equation.jets.items() if jet.orders == (0, 1))


def _value(equation: Relation) -> bool:
    return any(jet.orders == (0, 0) for jet in equation.jets.values())


def _inconsistent(problem: Problem) -> list[str]:
    """u = t² with u(0) = 1: initial values that violate an equation without derivatives."""
    starts = {}
    for condition in problem.conditions:
        jets = list(condition.jets.items())
        if condition.initial and condition.linear and len(jets) == 1 and not any(jets[0][1].orders):
            symbol, jet = jets[0]
            starts[jet.field] = problem.value(condition.source / condition.coefficient(symbol))
    found = []
    for equation in problem.equations:
        fields = {jet.field for jet in equation.jets.values()}
        if any(any(jet.orders) for jet in equation.jets.values()) or not fields <= starts.keys():
            continue
        begin = problem.axes[-1]
        known = {symbol: starts[jet.field] for symbol, jet in equation.jets.items()}
        terms = sp.Add.make_args(problem.value(equation.residual))
        lines = [np.linspace(*axis.bounds, 9)[1:-1] for axis in problem.axes[:-1]]
        grid = [mesh.ravel() for mesh in np.meshgrid(*lines, [begin.lo], indexing="ij")]
        at = {axis.symbol: line for axis, line in zip(problem.axes, grid, strict=True)}
        try:
            with np.errstate(all="ignore"):
                values = [np.asarray(evaluate(term.xreplace(known), at, np), dtype=float) for term in terms]
        except SafeNetError:
            continue
        gap, size = float(np.max(np.abs(sum(values)))), max(float(np.max(np.abs(value))) for value in values)
        if gap > ROUNDING * size:
            found.append(
                f"the initial values do not meet {equation.text}, which holds at {begin.name} = {begin.lo:g} too, by "
                f"up to {gap:.3g}: there is no solution. Start with values that do."
            )
    return found


def _unbounded(problem: Problem) -> list[str]:
    return [
        f"the range of {part} cannot be bounded, so a narrow feature in it may be missed."
        for part in narrow(problem).unbounded
    ]
