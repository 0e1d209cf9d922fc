"""y_t = L y + B a + N(x, t, ∂^α y, ∂^α a),  0 = C y + D a: an evolution whose linear part has constant coefficients.

y are the unknowns with time derivatives (u, u_t, … where these are of higher order), a those without, such as a
pressure or a stream function. Along Fourier modes L, B, C and D are small matrices for each wave number.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ...errors import SafeNetError
from ..evaluate import constant
from ..jets import Jet, Orders
from ..problem import Problem
from ..relation import Condition
from .beginning import value_alone
from .evolution import time_obstacle
from .fact import fact

Part = tuple[str, int]  # an unknown and how often it is differentiated in time
Terms = dict[tuple[int, int], list[tuple[float, Orders]]]  # (row, column) → Σ c ∂^α


@dataclass(frozen=True)
class Semilinear:
    """`linear` has the rows of y and then of the constraints, the columns of y and then of a; `rest` is N."""

    evolving: tuple[Part, ...]
    algebraic: tuple[str, ...]
    linear: Terms
    rest: tuple[sp.Expr, ...]
    jets: tuple[tuple[sp.Symbol, int, Orders], ...]  # those in N: symbol, column, derivatives in space
    start: tuple[sp.Expr, ...]


@fact
def semilinear(problem: Problem) -> Semilinear:
    """The problem in this form; raises SafeNetError with the reason if that is impossible."""
    if obstacle := time_obstacle(problem):
        raise SafeNetError(obstacle)
    orders = {name: problem.time_order(name) for name in problem.unknowns}
    evolving = tuple((name, k) for name, order in orders.items() for k in range(order))
    algebraic = tuple(name for name, order in orders.items() if not order)
    columns = {part: i for i, part in enumerate([*evolving, *((name, 0) for name in algebraic)])}
    jets = {symbol: jet for equation in problem.equations for symbol, jet in equation.jets.items()}
    highest = {
        symbol: jet for symbol, jet in jets.items() if jet.orders[-1] and jet.orders[-1] == orders[jet.field]
    }
    if any(any(jet.orders[:-1]) for jet in highest.values()):
        raise SafeNetError("a highest time derivative is differentiated in space, too")
    rates, constraints = _divided(problem, highest, [name for name, order in orders.items() if order])
    if len(constraints) != len(algebraic):
        raise SafeNetError("it does not have one equation for each unknown")
    linear: Terms = {}
    rest: list[sp.Expr] = []
    for name, k in evolving:
        row = len(rest)
        if k + 1 < orders[name]:
            linear[row, columns[name, k + 1]] = [(1.0, (0,) * (len(problem.axes) - 1))]
            rest.append(sp.Integer(0))
        else:
            rest.append(_split(rates[name], row, jets, columns, linear))
    for i, residual in enumerate(constraints):
        if _split(residual, len(evolving) + i, jets, columns, linear) != 0:
            raise SafeNetError(
                "an equation without time derivatives is not linear with constant coefficients"
            )
    used = sorted(set().union(*(one.free_symbols for one in rest)) & jets.keys(), key=str)
    inside = tuple((s, columns[jets[s].field, jets[s].orders[-1]], jets[s].orders[:-1]) for s in used)
    return Semilinear(evolving, algebraic, linear, tuple(rest), inside, _start(problem, evolving))


def _divided(
    problem: Problem, highest: dict[sp.Symbol, Jet], names: list[str]
) -> tuple[dict[str, sp.Expr], list[sp.Expr]]:
    """The equations solved for the highest time derivatives, and those without any."""
    with_rates: list[sp.Expr] = []
    constraints: list[sp.Expr] = []
    for equation in problem.equations:
        residual = sp.expand(problem.value(equation.residual), power_exp=False)
        (with_rates if residual.free_symbols & highest.keys() else constraints).append(residual)
    tops = {jet.field: symbol for symbol, jet in highest.items()}
    matrix = sp.Matrix([[residual.diff(tops[name]) for name in names] for residual in with_rates])
    if matrix.shape != (len(names), len(names)) or matrix.free_symbols or matrix.det() == 0:
        raise SafeNetError("its highest time derivatives do not have constant coefficients")
    others = sp.Matrix([residual.xreplace(dict.fromkeys(highest, sp.Integer(0))) for residual in with_rates])
    solved = -(matrix.inv() * others)
    return {name: sp.expand(solved[i], power_exp=False) for i, name in enumerate(names)}, constraints


def _split(
    expression: sp.Expr, row: int, jets: dict[sp.Symbol, Jet], columns: dict[Part, int], linear: Terms
) -> sp.Expr:
    """Move the terms c ∂^α u of an expression into its row of `linear`, and return the rest."""
    left = []
    for term in sp.Add.make_args(expression):
        number, factor = term.as_independent(*jets, as_Add=False)
        if factor in jets and number.is_number:
            jet = jets[factor]
            at = row, columns[jet.field, jet.orders[-1]]
            linear.setdefault(at, []).append((constant(number), jet.orders[:-1]))
        else:
            left.append(term)
    return sp.Add(*left)


def _start(problem: Problem, evolving: tuple[Part, ...]) -> tuple[sp.Expr, ...]:
    """The initial values of y, as expressions in space."""
    given = [value_alone(problem, condition) for condition in problem.conditions if condition.initial]
    found = {(jet.field, jet.orders[-1]): g for jet, g in given}
    if missing := [part for part in evolving if part not in found]:
        raise SafeNetError(f"{missing[0][0]} lacks an initial value of its own for some time derivative")
    return tuple(found[part] for part in evolving)


def is_pin(condition: Condition, time: int) -> bool:
    """Whether a condition is p(x₀, t) = g, which fixes the constant of an unknown."""
    return set(condition.free) <= {time}
