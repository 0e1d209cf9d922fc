"""Which way does a linear equation go? u = v e^{iξ·y + s x}  ⟹  det M(x₀, iξ, s) = 0 with coefficients frozen at x₀.

max Re s grows without bound with |ξ|, and all conditions are where x begins  →  ill-posed (Hadamard): u_t = −u_xx,
                                   Laplace's equation with two conditions on one side, x u_xx = u_t where x < 0
u_t + b u_x = …  with b > 0 at the lower end, and no condition there          →  what enters is free
"""

from __future__ import annotations

from itertools import product

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ..evaluate import evaluate
from ..jets import along
from ..problem import Problem
from .fact import fact
from .structure import axis_kinds

PLACES = 0.02, 0.35, 0.65, 0.98  # of an axis: where coefficients are frozen
WAVES = 1e2, 1e3, 1e4  # half waves along an axis
RISES = 2.0  # of the growth from one to the next, ten times shorter: √k rises by 3, what is bounded by 1
LEAST = 10.0  # e-foldings over the axis: less may be rounding of a multiple root
MOST_UNKNOWNS = 4  # a determinant of more is not written out


@fact
def runaway(problem: Problem) -> tuple[str, ...]:
    """One sentence for each axis along which short waves grow without bound."""
    if not _readable(problem):
        return ()
    found = []
    for i, axis in enumerate(problem.axes):
        if not _one_sided(problem, i) or not _unbounded(problem, i):
            continue
        if axis.is_time:
            found.append(
                "short waves grow without bound in time: the equations are ill-posed in this direction, as heat "
                "backwards, and the smallest error is amplified without bound. Change a sign, or the direction of time."
            )
        else:
            given, bare = (axis.lower, axis.upper) if _above(problem, i) > 0 else (axis.upper, axis.lower)
            found.append(
                f"all conditions along {axis.name} are at {axis.name} = {given}, none at {bare}, and short waves grow "
                "from there: Cauchy's problem, which amplifies the smallest error without bound. Give one on each side."
            )
    return tuple(found)


def _readable(problem: Problem) -> bool:
    few = len(problem.equations) == len(problem.unknowns) <= MOST_UNKNOWNS
    linear = all(equation.linear for equation in problem.equations)
    return few and linear and len(problem.axes) > 1 and problem.region is None and not problem.data


def _one_sided(problem: Problem, i: int) -> bool:
    """Whether along an axis all that is given is at its beginning, as much as the order asks for; or it is time."""
    axis = problem.axes[i]
    if axis.is_time:
        return problem.time == i
    ends = [
        sum(i not in c.free and any(place[i] == end for place in c.places) for c in problem.conditions)
        for end in (axis.lower, axis.upper)
    ]
    order = sum(problem.order(i, name) for name in problem.unknowns)
    return min(ends) == 0 and max(ends) >= order > 0


def _unbounded(problem: Problem, i: int) -> bool:
    """Whether max Re s rises with the wave number, at some place and in some direction."""
    try:
        coefficients, symbols, s_sign = _determinant(problem, i)
        for place in product(PLACES, repeat=len(problem.axes)):
            for j in range(len(problem.axes)):
                if j != i and _rises(problem, i, j, place, coefficients, symbols, s_sign):
                    return True
            if not any(c.free_symbols & {axis.symbol for axis in problem.axes} for c in coefficients):
                break  # the same everywhere
    except (SafeNetError, TypeError, ValueError, np.linalg.LinAlgError):
        pass  # nothing is proved
    return False


def _determinant(problem: Problem, i: int) -> tuple[list[sp.Expr], tuple[sp.Symbol, ...], float]:
    """The coefficients of det M in s, highest first; the exponents; −1 where the conditions are at the upper end."""
    exponents = tuple(sp.Symbol(f"kappa_{axis.name}") for axis in problem.axes)
    rows = []
    for equation in problem.equations:
        row = dict.fromkeys(problem.unknowns, sp.Integer(0))
        for symbol, jet in equation.jets.items():
            weight = problem.value(equation.coefficient(symbol))
            row[jet.field] += weight * sp.prod(k**n for k, n in zip(exponents, jet.orders, strict=True))
        rows.append(list(row.values()))
    determinant = sp.expand(sp.Matrix(rows).det(method="berkowitz"))
    return sp.Poly(determinant, exponents[i]).all_coeffs(), exponents, _above(problem, i)


def _above(problem: Problem, i: int) -> float:
    """−1 where the conditions along an axis are at its upper end, else 1."""
    end = problem.axes[i].upper
    above = any(i not in c.free and any(p[i] == end for p in c.places) for c in problem.conditions)
    return -1.0 if above else 1.0


def _rises(
    problem: Problem,
    i: int,
    j: int,
    place: tuple[float, ...],
    coefficients: list[sp.Expr],
    exponents: tuple[sp.Symbol, ...],
    sign: float,
) -> bool:
    at = {axis.symbol: axis.lo + share * axis.length for axis, share in zip(problem.axes, place, strict=True)}
    growth = []
    for waves in WAVES:
        kappa = dict.fromkeys(exponents, 0.0) | {exponents[j]: 1j * np.pi * waves / problem.axes[j].length}
        numbers = [complex(evaluate(c, at | kappa, np)) for c in coefficients]
        scale = max(map(abs, numbers))
        if not np.isfinite(scale) or scale == 0:
            return False
        roots = np.roots(np.array(numbers) / scale)
        growth.append(float(np.max(sign * roots.real, initial=0.0)) * problem.axes[i].length)
    first, second, third = growth
    return first > 0 and second > RISES * first and third > RISES * second and third > LEAST


@fact
def entering(problem: Problem) -> tuple[str, ...]:
    """u_t + b u_x = …, alone and linear: the ends of x at which u enters and nothing is given."""
    t = problem.time
    if t is None or len(problem.unknowns) != 1 or problem.region is not None or problem.data:
        return ()
    (equation, *others), found = problem.equations, []
    if others or not equation.linear or problem.order(t) != 1:
        return ()
    orders = {jet.orders: symbol for symbol, jet in equation.jets.items()}
    kinds = next(iter(axis_kinds(problem).values()))
    for i, axis in enumerate(problem.axes):
        units = [along(n, len(problem.axes)) for n in (t, i)]
        if i == t or problem.order(i) != 1 or kinds[i] == "periodic" or not set(units) <= orders.keys():
            continue
        if any(orders_[i] and sum(orders_) > 1 for orders_ in orders):
            continue  # u_xt or u_xy: not a speed along x
        rate, slope = (problem.value(equation.coefficient(orders[unit])) for unit in units)
        for end, side in ((axis.lower, 1.0), (axis.upper, -1.0)):
            given = any(
                any(place[i] == end for place in c.places) and i not in c.free for c in problem.conditions
            )
            if not given and _positive(problem, side * slope / rate, i, float(problem.value(end))):
                found.append(
                    f"{problem.unknowns[0]} enters at {axis.name} = {end}, and no condition says with what value: it "
                    f"is free there. Add what holds at {axis.name} = {end}."
                )
    return tuple(found)


def _positive(problem: Problem, speed: sp.Expr, i: int, end: float) -> bool:
    """Whether a speed is positive somewhere on the face where axis i is at its end."""
    lines = [[end] if k == i else np.linspace(*axis.bounds, 9)[1:-1] for k, axis in enumerate(problem.axes)]
    grid = [mesh.ravel() for mesh in np.meshgrid(*lines, indexing="ij")]
    try:
        with np.errstate(all="ignore"):
            values = evaluate(speed, {a.symbol: v for a, v in zip(problem.axes, grid, strict=True)}, np)
    except SafeNetError:
        return False
    return bool(np.any(np.asarray(values, dtype=float) > 0))
