"""y′ = f(t, y), y(t₀) = y₀, with y = (u, u′, …, u^(q−1), v, …): any system of ordinary differential equations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ..evaluate import evaluate
from ..jets import Jet
from ..problem import Problem
from .evolution import time_obstacle
from .fact import fact

ZERO = 1e-12  # of the largest initial value: a numerator this small is zero
ASIDE, BOUNDED = (
    (1e-4, 1e-8),
    10.0,
)  # of the time, beside the start: what grows by less from one to the other is bounded
COUPLED = 4  # the most highest derivatives that variable coefficients may couple


@dataclass(frozen=True)
class FirstOrder:
    """The unknowns' derivatives as symbols, their rates and initial values; `places[f]` is where field f begins."""

    time: sp.Symbol
    state: tuple[sp.Symbol, ...]
    rates: tuple[sp.Expr, ...]
    start: np.ndarray
    places: tuple[int, ...]

    def derivative(self, g: sp.Expr) -> sp.Expr:
        """d/dt of an expression along a solution: ∂_t g + Σ ∂g/∂y · f."""
        return _along(g, self.time, list(zip(self.state, self.rates, strict=True)))

    def derivatives(self, most: int) -> Iterator[tuple[list[sp.Expr], list[sp.Symbol]]]:
        """y′, y″, … along a solution, each as formulas in t and all lower ones, and the symbols that stand for it.

        d/dt g = ∂_t g + Σ_k Σ_i ∂g/∂y_i^(k) · y_i^(k+1), on either side of a jump. With y′ in place of f these formulas
        stay short. Roots need f itself, whose powers cancel: √u at rest has u″ = u′/(2√u) = ½, not 0/0.
        """
        known, found = [list(self.state)], list(self.rates)
        rooted = any(not power.exp.is_integer for rate in found for power in rate.atoms(sp.Pow))
        for k in range(1, most + 1):
            known.append([sp.Symbol(f"{y.name}^({k})", real=True) for y in self.state])
            yield found, known[-1]
            pairs = [pair for lower, higher in pairwise(known) for pair in zip(lower, higher, strict=True)]
            found = [self.derivative(g) if rooted else _along(g, self.time, pairs) for g in found]


def _along(g: sp.Expr, time: sp.Symbol, pairs: list[tuple[sp.Symbol, sp.Symbol]]) -> sp.Expr:
    slopes = [g.diff(y) * rate for y, rate in pairs if y in g.free_symbols]
    return sp.Add(g.diff(time), *slopes).replace(sp.DiracDelta, lambda *_: sp.Integer(0))


@fact
def first_order(problem: Problem) -> FirstOrder:
    """The problem in this form; raises SafeNetError with the reason if that is impossible."""
    if obstacle := time_obstacle(problem):
        raise SafeNetError(obstacle)
    if len(problem.axes) > 1:
        raise SafeNetError("it has axes of space")
    if len(problem.equations) != len(problem.unknowns):
        raise SafeNetError("it does not have one equation for each unknown")
    orders = {name: problem.time_order(name) for name in problem.unknowns}
    for name, order in orders.items():
        if order == 0:
            raise SafeNetError(f"{name} has no time derivative")

    def symbol(name: str, k: int) -> sp.Symbol:
        return Jet(name, (k,), (None,)).symbol(problem.axis_names)

    state = tuple(symbol(name, k) for name, order in orders.items() for k in range(order))
    places = tuple(np.cumsum([0, *list(orders.values())[:-1]]).tolist())
    highest = _solved(problem, [symbol(name, order) for name, order in orders.items()])
    rates: list[sp.Expr] = []
    for (name, order), top in zip(orders.items(), highest, strict=True):
        rates += [*(symbol(name, k) for k in range(1, order)), top]
    return FirstOrder(problem.axes[0].symbol, state, tuple(rates), _start(problem, orders), places)


@fact
def singular_start(problem: Problem) -> bool:
    """Whether a rate is 0/0 at the start, as −u_t/t is where u_t(0) = 0: a regular singular point.

    Near it some solutions are power series, which need no rates there.
    """
    system, axis = first_order(problem), problem.axes[0]
    start = dict(zip(system.state, system.start, strict=True)) | {system.time: np.float64(axis.lo)}
    found = False
    for place, end in pairwise((*system.places, len(system.state))):
        rate = system.rates[end - 1]
        with np.errstate(all="ignore"):
            if np.isfinite(evaluate(rate, start, np)):
                continue
            over, under = sp.fraction(sp.together(rate))
            zero = ZERO * max(1.0, float(np.abs(system.start).max()))
            if not (under.free_symbols == {system.time} and evaluate(under, start, np) == 0):
                return False
            if not (
                abs(evaluate(over, start, np)) <= zero and _regular(system, start, (place, end), axis.length)
            ):
                return False
        found = True
    return found


def _regular(system: FirstOrder, start: dict[sp.Symbol, Any], own: tuple[int, int], length: float) -> bool:
    """Whether the factor of u^(j) in the rate of u^(q−1) grows by (t − t₀)^(j−q) at most, of others by 1/(t − t₀)."""
    place, end = own
    for j, y in enumerate(system.state):
        slope, power = system.rates[end - 1].diff(y), end - j if place <= j < end else 1
        near, nearer = (
            abs(evaluate(slope, start | {system.time: start[system.time] + aside * length}, np))
            * aside**power
            for aside in ASIDE
        )
        if not nearer <= BOUNDED * near:
            return False
    return True


def _solved(problem: Problem, highest: list[sp.Symbol]) -> list[sp.Expr]:
    """The equations solved for the highest derivatives, in which they have to be linear."""
    residuals = [sp.expand_mul(problem.value(equation.residual)) for equation in problem.equations]
    matrix = sp.Matrix([[residual.diff(top) for top in highest] for residual in residuals])
    if matrix.free_symbols & set(highest):
        raise SafeNetError("its highest derivatives do not appear linearly")
    rest = sp.Matrix([-residual.xreplace(dict.fromkeys(highest, sp.Integer(0))) for residual in residuals])
    if all(sum(bool(entry != 0) for entry in matrix.row(i)) == 1 for i in range(len(highest))):
        # Each equation has one of them: dividing keeps the formulas as written, other algebra would expand them.
        columns = [next(j for j in range(len(highest)) if matrix[i, j] != 0) for i in range(len(highest))]
        if sorted(columns) == list(range(len(highest))):
            found = {j: rest[i] / matrix[i, j] for i, j in enumerate(columns)}
            return [found[j] for j in range(len(highest))]
    if matrix.free_symbols and len(highest) > COUPLED:
        raise SafeNetError("its highest derivatives are coupled")
    if sp.simplify(matrix.det()) == 0:
        raise SafeNetError("its equations do not fix all highest derivatives")
    return list(matrix.inv(method="ADJ") * rest)


def _start(problem: Problem, orders: dict[str, int]) -> np.ndarray:
    """y₀ from the initial conditions, a linear system of numbers."""
    columns = [(name, k) for name, order in orders.items() for k in range(order)]
    matrix, right = np.zeros((len(problem.conditions), len(columns))), np.zeros(len(problem.conditions))
    for i, condition in enumerate(problem.conditions):
        if not condition.linear:
            raise SafeNetError(f"the condition {condition.text} is not linear")
        right[i] = float(evaluate(problem.value(condition.source), {}, np))
        for jet_symbol, jet in condition.jets.items():
            at = (jet.field, jet.orders[0])
            if at not in columns:
                raise SafeNetError(f"the condition {condition.text} has too high a derivative")
            matrix[i, columns.index(at)] = float(
                evaluate(problem.value(condition.coefficient(jet_symbol)), {}, np)
            )
    if matrix.shape[0] != matrix.shape[1] or np.linalg.cond(matrix) > 1e12:
        raise SafeNetError("its conditions do not fix each initial value")
    return np.linalg.solve(matrix, right)
