"""u₀ = Σ_k a_k f_k  ⟹  ψ = {f_k}, and for a product f·g also f and g: features taken from the conditions.

The paper lists these sets for its problems by hand; here they are derived from the conditions' expressions, up to
constant factors. Nothing else is read: not the exact solution, not the reference.

A function that jumps across an axis along which an equation has derivatives is left out, and so is one that bends
across an axis with second derivatives: the equations hold at almost all points, whatever the jump does, and a network
that has it for an input could keep it where it does not belong.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import sympy as sp
from jaxtyping import Array, Float

from ..problem import Condition, Problem
from ..problem.evaluate import KINKS, evaluate
from .base import Features

LINES, COUNTS = 5, (2_000, 16_000)  # on which, and with how many points, a function is looked at
ROUNDING = 1e-8  # of the largest value: smaller differences, times the count, are rounding
STAYS = 0.5  # differences of a smooth function fall to an eighth from the one count to the other


def domain_expressions(problem: Problem) -> tuple[sp.Expr, ...]:
    """The distinct non-constant functions that the data of the conditions are made of."""
    found: dict[sp.Expr, None] = {}
    for condition in problem.conditions:
        if not condition.linear:
            continue
        for expression in _condition_expressions(problem, condition):
            if not _breaks(problem, expression):
                found.setdefault(expression)
    return tuple(found)


def _breaks(problem: Problem, expression: sp.Expr) -> bool:
    """Whether it jumps across an axis with first derivatives, or its slope does across one with second derivatives."""
    if not expression.atoms(*KINKS):
        return False
    return any(
        _jumps(problem, expression, index, k)
        for index, axis in enumerate(problem.axes)
        if axis.symbol in expression.free_symbols
        for k in range(min(problem.order(index), 2))
    )


def _jumps(problem: Problem, expression: sp.Expr, index: int, k: int) -> bool:
    """Whether the k-th differences along an axis do not get smaller between points that are closer."""
    rng = np.random.default_rng(0)
    largest = []
    for count in COUNTS:
        values = {axis.symbol: axis.lo + axis.length * rng.random((LINES, 1)) for axis in problem.axes}
        # Never at a round number, where a jump may have a value of its own.
        share = (np.arange(count) + 1 / np.pi) / count
        values[problem.axes[index].symbol] = problem.axes[index].lo + problem.axes[index].length * share[None]
        with np.errstate(all="ignore"):
            u = np.broadcast_to(evaluate(expression, values, np), (LINES, count))
        largest.append(float(np.nanmax(np.abs(np.diff(u, n=k + 1, axis=1)))) * count**k)
    return bool(largest[1] > max(STAYS * largest[0], ROUNDING * np.nanmax(np.abs(u))))


def _condition_expressions(problem: Problem, condition: Condition) -> list[sp.Expr]:
    expressions: list[sp.Expr] = []
    for function in _functions(problem.value(condition.source), problem):
        factors = [without_constant(factor, problem) for factor in sp.Mul.make_args(function)]
        varying = [factor for factor in factors if factor is not None]
        expressions += varying
        if len(varying) > 1:
            expressions.append(function)
    return expressions


def _functions(expression: sp.Expr, problem: Problem) -> list[sp.Expr]:
    """Σ_k a_k f_k → f_k, where a·(f + g) counts as a·f + a·g."""
    found: list[sp.Expr] = []
    for term in sp.Add.make_args(expression):
        function = without_constant(term, problem)
        if function is not None:
            found += _functions(function, problem) if function.is_Add else [function]
    return found


def without_constant(term: sp.Expr, problem: Problem) -> sp.Expr | None:
    """a·f → f up to sign; None where nothing but the constant is left."""
    axes = [axis.symbol for axis in problem.axes]
    _, function = term.as_independent(*axes, as_Add=False)
    if not function.free_symbols & set(axes):
        return None
    return -function if function.could_extract_minus_sign() and not function.is_Add else function


class DomainFeatures(Features):
    """ψ_m(x): the given expressions of the coordinates."""

    expressions: tuple[sp.Expr, ...] = eqx.field(static=True)
    symbols: tuple[sp.Symbol, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        return len(self.expressions)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        values = {symbol: point[i] for i, symbol in enumerate(self.symbols)}
        computed = [evaluate(expression, values, jnp) for expression in self.expressions]
        return jnp.stack([jnp.asarray(value, point.dtype) for value in computed])


def domain_features(problem: Problem) -> DomainFeatures:
    """The features of the conditions."""
    return DomainFeatures(domain_expressions(problem), tuple(axis.symbol for axis in problem.axes))
