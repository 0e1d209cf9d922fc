"""∂_x(a u_x) + ∂_y(a u_y) = f where a jumps: the flux a u_n is continuous there, and the slope of a is not needed.

Written out by the product rule, the equation contains a_x, which is not a function if a is a table of constants. In the
weak form, and in balances over boxes, it cancels; an equation in which it does not cancel means nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

from ...errors import SafeNetError, about
from ..language.tabulated import Tabulated
from .fact import fact

if TYPE_CHECKING:
    from ..problem import Problem


@fact
def jumping(problem: Problem) -> bool:
    """Whether an equation contains the slope of a jump, which cancels in its weak form."""
    return any(_slopes(equation.residual) for equation in problem.equations)


def _slopes(expression: sp.Expr) -> list[Any]:
    return sorted((node for node in expression.atoms(Tabulated) if node.roughness > 1), key=str)


def weak(problem: Problem, number: int = 0) -> tuple[list[sp.Expr], list[sp.Expr], sp.Expr]:
    """(c, w, e) of Σ_i ∂_i(c_i u_i) + w_i u_i + e u, for an equation without mixed derivatives."""
    equation, axes = problem.equations[number], problem.axes
    c, w, e = [[sp.Integer(0)] * len(axes) for _ in range(2)] + [sp.Integer(0)]
    for symbol, jet in equation.jets.items():
        factor = problem.value(equation.coefficient(symbol))
        if not sum(jet.orders):
            e = factor
        elif max(jet.orders) == sum(jet.orders) <= 2:
            i = jet.orders.index(max(jet.orders))
            (c if sum(jet.orders) == 2 else w)[i] = factor
        else:
            raise SafeNetError("its highest derivatives are not u_xx and u_yy")
    w = [sp.expand(slope - flux.diff(axis.symbol)) for slope, flux, axis in zip(w, c, axes, strict=True)]
    return c, w, e


def check_jumps(problem: Problem) -> None:
    """Raise where the slope of a jump does not cancel."""
    for index, equation in enumerate(problem.equations):
        slopes = _slopes(equation.residual)
        if not slopes:
            continue
        left: list[Any] = slopes
        if problem.linear and problem.time is None and len(problem.unknowns) == 1:
            c, w, e = weak(problem, index)
            left = [node for part in (*c, *w, e, problem.value(equation.source)) for node in _slopes(part)]
        if left:
            name = left[0].table.name
            with about("equations", index):
                raise SafeNetError(
                    f"equation {index + 1} ({equation.text}) has {left[0]}, the slope of a jump",
                    f'write fluxes as diff({name}*u_x, x), or give {name} another interpolation, "linear" or "spline"',
                )
