"""u_t + ∂_i f_i(u, x, t) + B_i(u, x, t) ∂_i u = ∂_i (ν_i ∂_i u) + s(u, x, t): transport, with jumps.

f is found from the coefficients A_i of ∂_i u, row by row: where ∂A_jk/∂u_l = ∂A_jl/∂u_k, they are the slopes of a flux.
Rows that are not the slopes of a flux are B's; without viscosity the equations do not say what B does at a jump, and
are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ..evaluate import evaluate
from ..problem import Problem
from ..relation import Condition
from .beginning import no_value, value_alone
from .evolution import time_obstacle
from .fact import fact

VANISHES = 1e-9  # relative to the largest coefficient: less is zero
FEW_NODES = {1: 401, 2: 65}  # axes of space → nodes along each at which coefficients are examined
CONSERVED = "write it for conserved quantities, e.g. rho_t + diff(rho*w, x) = 0"


@dataclass(frozen=True)
class Law:
    """`slopes[i]` is A_i, (fields, fields); `flux[i][j]` f_i of field j, or None where row j of A_i is B's."""

    symbols: tuple[sp.Symbol, ...]
    slopes: tuple[sp.Matrix, ...]
    flux: tuple[tuple[sp.Expr | None, ...], ...]
    viscosity: tuple[tuple[sp.Expr, ...], ...]  # ν_i of each field
    source: tuple[sp.Expr, ...]
    start: tuple[sp.Expr, ...]

    @property
    def viscous(self) -> bool:
        return any(nu != 0 for own in self.viscosity for nu in own)

    @property
    def nonlinear(self) -> bool:
        return any(entry.free_symbols & set(self.symbols) for A in self.slopes for entry in A)


@fact
def conservation(problem: Problem) -> Law:
    """The problem in this form; raises SafeNetError with the reason if that is impossible."""
    if obstacle := time_obstacle(problem):
        raise SafeNetError(obstacle)
    space = [axis.symbol for axis in problem.axes[:-1]]
    if not 1 <= len(space) <= 2:
        raise SafeNetError(f"it has {len(space)} axes of space, not one or two")
    if any(problem.time_order(name) != 1 for name in problem.unknowns):
        raise SafeNetError("not every unknown has a first derivative in time")
    jets = {(jet.field, jet.orders): s for e in problem.equations for s, jet in e.jets.items()}
    u, rates = _values(problem, jets), _rates(problem, jets)
    slopes, viscosity = [], []
    for i in range(len(space)):
        first, second = (tuple(k * (j == i) for j in range(len(space) + 1)) for k in (1, 2))
        rows = [
            [-rate.diff(jets[n, first]) if (n, first) in jets else sp.Integer(0) for n in problem.unknowns]
            for rate in rates
        ]
        slopes.append(sp.Matrix(rows))
        own = [
            rate.diff(jets[n, second]) if (n, second) in jets else sp.Integer(0)
            for n, rate in zip(problem.unknowns, rates, strict=True)
        ]
        viscosity.append(tuple(own))
    _check(problem, jets, rates, slopes, viscosity)
    still = {s: sp.Integer(0) for (_, orders), s in jets.items() if any(orders)}
    flux = tuple(tuple(_flux(A.row(j), u) for j in range(len(u))) for A in slopes)
    carried = [
        sum((sp.diff(f, x) for f, x in zip(own, space, strict=True) if f is not None), sp.Integer(0))
        for own in zip(*flux, strict=True)
    ]
    source = tuple(rate.xreplace(still) + extra for rate, extra in zip(rates, carried, strict=True))
    for j, name in enumerate(problem.unknowns):
        for i, fluxes in enumerate(flux):
            if fluxes[j] is None and viscosity[i][j] == 0:
                raise SafeNetError(
                    f"the first-order terms of {name} are not the derivative of a flux: {CONSERVED}"
                )
    return Law(u, tuple(slopes), flux, tuple(viscosity), source, _start(problem))


@fact
def vanishing_diffusion(problem: Problem) -> str | None:
    """An unknown whose diffusion depends on the solution and vanishes for some initial values, as in porous media.

    Its solution has edges there, where its slope jumps or is infinite.
    """
    try:
        start = dict(zip(problem.unknowns, _start(problem), strict=True))
    except SafeNetError:
        return None
    space, time = problem.axes[:-1], problem.axes[-1]
    nodes = [np.linspace(axis.lo, axis.hi, FEW_NODES.get(len(space), 9)) for axis in space]
    grid = dict(zip((axis.symbol for axis in space), np.meshgrid(*nodes), strict=True))
    at: dict[sp.Symbol, np.ndarray] = {**grid, time.symbol: np.asarray(time.lo)}
    for equation in problem.equations:
        values = {s: jet.field for s, jet in equation.jets.items() if not any(jet.orders)}
        for symbol, jet in equation.jets.items():
            coefficient = problem.value(equation.coefficient(symbol))
            steered = coefficient.free_symbols & equation.jets.keys()
            if sum(jet.orders) != 2 or jet.orders[-1] or not steered or steered - values.keys():
                continue
            with np.errstate(all="ignore"):
                known = {s: evaluate(start[name], at, np) for s, name in values.items()}
                sizes = np.abs(evaluate(coefficient, {**at, **known}, np))
            if 0 <= np.min(sizes) < VANISHES * np.max(sizes):
                return jet.field
    return None


@fact
def carriers(problem: Problem) -> tuple[tuple[str, str], ...]:
    """(v, h): v transports itself and h, and both are taken as conserved at jumps; perhaps the momentum h v should be.

    v_t + v v_x + … = 0 has the same smooth solutions as (h v)_t + (h v² + …)_x = 0, and other jumps.
    """
    law = conservation(problem)
    found: dict[tuple[str, str], None] = {}
    for A in law.slopes:
        for j, k in permutations(range(len(law.symbols)), 2):
            v = law.symbols[j]
            if v in (A[j, j], -A[j, j]) and A[k, k] == A[j, j]:
                found[problem.unknowns[j], problem.unknowns[k]] = None
    return () if law.viscous else tuple(found)


def _values(problem: Problem, jets: dict[tuple[str, tuple[int, ...]], sp.Symbol]) -> tuple[sp.Symbol, ...]:
    value = (0,) * len(problem.axes)
    return tuple(jets.get((name, value), sp.Symbol(name, real=True)) for name in problem.unknowns)


def _rates(problem: Problem, jets: dict[tuple[str, tuple[int, ...]], sp.Symbol]) -> list[sp.Expr]:
    """u_t, from equations whose time derivatives have constant coefficients."""
    order = (*(0,) * (len(problem.axes) - 1), 1)
    tops = [jets[name, order] for name in problem.unknowns if (name, order) in jets]
    residuals = [problem.value(equation.residual) for equation in problem.equations]
    matrix = sp.Matrix([[residual.diff(top) for top in tops] for residual in residuals])
    if matrix.shape != (len(problem.unknowns),) * 2 or matrix.free_symbols or matrix.det() == 0:
        raise SafeNetError(
            "its time derivatives do not have constant coefficients, one equation for each unknown"
        )
    others = sp.Matrix([residual.xreplace(dict.fromkeys(tops, sp.Integer(0))) for residual in residuals])
    return list(-(matrix.inv() * others))


def _check(
    problem: Problem,
    jets: dict[tuple[str, tuple[int, ...]], sp.Symbol],
    rates: list[sp.Expr],
    slopes: list[sp.Matrix],
    viscosity: list[tuple[sp.Expr, ...]],
) -> None:
    """Raise unless derivatives are linear: first ones anywhere, second ones in their field's equation, as ν ∂_i² u."""
    if all(entry == 0 for A in slopes for entry in A):
        raise SafeNetError("nothing is transported: it has no first derivatives in space")
    derivatives = {s for (_, orders), s in jets.items() if any(orders)}
    if any(entry.free_symbols & derivatives for A in slopes for entry in A):
        raise SafeNetError("its derivatives do not appear linearly")
    if any(not nu.is_number or nu < 0 for own in viscosity for nu in own):
        raise SafeNetError("its viscosity is not a positive number")
    for name, rate in zip(problem.unknowns, rates, strict=True):
        for (field, orders), symbol in jets.items():
            higher = sum(orders[:-1]) > 1
            straight = max(orders[:-1]) == 2 == sum(orders) and field == name
            if higher and not straight and rate.has(symbol):
                raise SafeNetError(f"{symbol} is neither a flux nor a viscosity of {name}")


def _flux(row: sp.Matrix, u: tuple[sp.Symbol, ...]) -> sp.Expr | None:
    """f with ∂f/∂u_k = row_k, or None if there is none."""
    n = len(u)
    if any(sp.simplify(row[k].diff(u[l]) - row[l].diff(u[k])) != 0 for k in range(n) for l in range(k)):
        return None
    flux = sp.Integer(0)
    for k in range(n):
        left = sp.cancel(sp.together(row[k] - flux.diff(u[k])))
        if any(left.has(u[l]) for l in range(k)):
            left = sp.simplify(left)
        found = sp.integrate(left, u[k])
        if found.has(sp.Integral):
            return None
        flux = flux + found
    # Antiderivatives may be incomplete, such as log u for log|u|: they are checked.
    return flux if all(sp.simplify(flux.diff(u[k]) - row[k]) == 0 for k in range(n)) else None


def _start(problem: Problem) -> tuple[sp.Expr, ...]:
    found = dict(fixed_value(problem, condition) for condition in problem.conditions if condition.initial)
    if missing := [name for name in problem.unknowns if name not in found]:
        raise SafeNetError(f"{missing[0]} has no initial value")
    return tuple(found[name] for name in problem.unknowns)


def fixed_value(problem: Problem, condition: Condition) -> tuple[str, sp.Expr]:
    """u = g: the unknown that a condition fixes, and g."""
    jet, g = value_alone(problem, condition)
    if any(jet.orders):
        raise no_value(condition)
    return jet.field, g
