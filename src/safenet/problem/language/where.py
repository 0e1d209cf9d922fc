"""where(g > 0, a, b): a formula in pieces, as a function whose arguments are all expressions.

SymPy's `Piecewise` takes conditions as arguments, which are not expressions, and its derivative loses the jumps. Here

    ∂ where(g > 0, a, b) = where(g > 0, ∂a, ∂b) + (a − b) δ(g) ∂g

and the last term is left out if a and b meet. Otherwise δ shows that a jump was differentiated, which is refused.
Every comparison is reduced to g > 0: x ≤ c is «not x − c > 0»; `and` and `or` become pieces within pieces.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import sympy as sp

from ...errors import SafeNetError

REMEDY = "compare expressions with <, <=, > and >=, joined by And and Or, and end with (value, True)"


class Where(sp.Function):  # type: ignore[misc, unused-ignore]  # SymPy has no types
    """a where g > 0, else b."""

    nargs = 3

    @classmethod
    def eval(cls, g: sp.Expr, a: sp.Expr, b: sp.Expr) -> sp.Expr | None:
        if a == b:
            return a
        if g.is_number and g.is_comparable:
            return a if g > 0 else b
        return None

    def _eval_is_real(self) -> bool | None:
        return True if all(part.is_real for part in self.args[1:]) else None

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        g, a, b = self.args
        inside, slope = Where(g, a.diff(s), b.diff(s)), g.diff(s)
        if slope == 0:
            return inside
        jump = a - b
        # Where g is linear in s, g = 0 at one s, and the pieces may meet there.
        at = sp.expand(s - g / slope)
        if not at.has(s) and sp.expand(jump.subs(s, at)) == 0:
            return inside
        return inside + jump * sp.DiracDelta(g) * slope


def compared(sign: str, left: sp.Expr, right: sp.Expr, a: sp.Expr, b: sp.Expr) -> sp.Expr:
    """a where left < right (or <=, >, >=), else b; the sign decides what holds at equality."""
    match sign:
        case ">":
            return Where(left - right, a, b)
        case "<":
            return Where(right - left, a, b)
        case ">=":
            return Where(right - left, b, a)
        case "<=":
            return Where(left - right, b, a)
    raise ValueError(sign)


def without_piecewise(expression: sp.Basic) -> Any:
    """The same expression with SymPy's `Piecewise` as `where`."""
    if not expression.has(sp.Piecewise):
        return expression
    arguments = [without_piecewise(argument) for argument in expression.args]
    if not isinstance(expression, sp.Piecewise):
        return expression.func(*arguments)
    *first, (last, condition) = arguments
    if condition != sp.true and sp.Or(*(pair[1] for pair in arguments)) != sp.true:
        raise SafeNetError(f"{expression} does not say what holds elsewhere", REMEDY)
    return reduce(lambda rest, pair: _chosen(pair[1], pair[0], rest), reversed(first), last)


def _chosen(condition: sp.Basic, a: sp.Expr, b: sp.Expr) -> sp.Expr:
    """a where the condition holds, else b."""
    match condition:
        case sp.And():
            return reduce(lambda inner, part: _chosen(part, inner, b), reversed(condition.args), a)
        case sp.Or():
            return reduce(lambda inner, part: _chosen(part, a, inner), reversed(condition.args), b)
        case sp.Ne():
            return _chosen(sp.Eq(*condition.args, evaluate=False), b, a)
        case sp.Eq():
            left, right = condition.args
            return compared("<=", left, right, compared(">=", left, right, a, b), b)
        case sp.Rel():
            left, right = condition.args
            return compared(condition.rel_op, left, right, a, b)
        case sp.logic.boolalg.BooleanAtom():
            return a if condition == sp.true else b
    raise SafeNetError(f"cannot tell where {condition} holds", REMEDY)
