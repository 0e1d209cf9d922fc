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
from .beginning import initial_values
from .conservation import conservation
from .direction import closed_lines, entering, parting, runaway, section
from .fact import fact
from .narrow import narrow
from .structure import axis_kinds, kinks

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
    equation, orders, start = found
    x, t = problem.axes
    slope, value = orders[1, 0], orders.get((0, 0))
    speed = problem.value(equation.coefficient(slope) / equation.coefficient(orders[0, 1]))
    bends = [*_torn(problem, start), *_torn(problem, start.diff(x.symbol))]
    if bends and slope in speed.free_symbols:
        return [
            f"the initial values have a kink at {x.name} = {bends[0]:.4g}, so {equation.text} has no smooth "
            "solution but several generalised ones, and the solvers do not select the viscosity solution. "
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
    starts = initial_values(problem).values()
    place = next((place for start in starts for place in _torn(problem, start)), None)
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


def _torn(problem: Problem, g: sp.Expr) -> list[float]:
    """The places at which a function of the first axis jumps."""
    x, places = problem.axes[0], kinks(problem)[0]

    def values(at: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(evaluate(g, {x.symbol: at}, np), dtype=float), at.shape)

    try:
        sizes = np.abs(values(np.linspace(*x.bounds, SAMPLES)))
        size = np.max(sizes, where=np.isfinite(sizes), initial=0.0)
        sides = ROUNDING * x.length * np.array([-1.0, 1.0])
        gaps = [np.ptp(values(place + sides)) for place in places]
    except SafeNetError:
        return []
    return [place for place, gap in zip(places, gaps, strict=True) if gap > math.sqrt(ROUNDING) * size]


def _first_order(
    problem: Problem,
) -> tuple[Relation, dict[tuple[int, ...], sp.Symbol], sp.Expr] | None:
    """(u_t + H(u, u_x) = 0 of first order on a line, its symbols by their orders, u(x, 0)); None for anything else."""
    if problem.linear or len(problem.axes) != 2 or problem.time != 1 or len(problem.unknowns) != 1:
        return None
    equation, *others = problem.equations
    orders = {jet.orders: symbol for symbol, jet in equation.jets.items()}
    if others or not {(0, 1), (1, 0)} <= orders.keys() <= {(0, 0), (0, 1), (1, 0)}:
        return None
    residual = problem.value(equation.residual)
    still = residual.xreplace({orders[1, 0]: sp.S.Zero, orders[0, 1]: sp.S.Zero})
    alone = not residual.free_symbols & {axis.symbol for axis in problem.axes}
    start = initial_values(problem).get((problem.unknowns[0], 0))
    return (equation, orders, start) if alone and still == 0 and start is not None else None


def _inconsistent(problem: Problem) -> list[str]:
    """u = t² with u(0) = 1: initial values that violate an equation without derivatives."""
    starts = {field: g for (field, k), g in initial_values(problem).items() if not k}
    found = []
    for equation in problem.equations:
        fields = {jet.field for jet in equation.jets.values()}
        if any(any(jet.orders) for jet in equation.jets.values()) or not fields <= starts.keys():
            continue
        begin = problem.axes[-1]
        known = {symbol: starts[jet.field] for symbol, jet in equation.jets.items()}
        terms = sp.Add.make_args(problem.value(equation.residual))
        at = section(problem, len(problem.axes) - 1, begin.lo)
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
