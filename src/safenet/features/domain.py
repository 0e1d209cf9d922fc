"""u₀ = Σ_k a_k f_k  ⟹  ψ = {f_k}, and for a product f·g also f and g: features taken from the conditions.

The paper lists these sets for its problems by hand; here they are derived from the conditions' expressions, up to
constant factors. Nothing else is read: not the exact solution, not the reference.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import sympy as sp
from jaxtyping import Array, Float

from ..problem import Condition, Problem
from ..problem.evaluate import evaluate
from .base import Features


def domain_expressions(problem: Problem) -> tuple[sp.Expr, ...]:
    """The distinct non-constant functions that the data of the conditions are made of."""
    found: dict[sp.Expr, None] = {}
    for condition in problem.conditions:
        if not condition.linear:
            continue
        for expression in _condition_expressions(problem, condition):
            found.setdefault(expression)
    return tuple(found)


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
