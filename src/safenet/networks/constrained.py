"""u(x) = g(x) + d(x) N(x): conditions that hold for every N, read off the symbols.

g satisfies the conditions and d vanishes where they hold, once for a value and k + 1 times for k time derivatives:

    u(x, 0) = u₀, u_t(x, 0) = v₀     g = u₀ + t v₀,                          d ∝ t²
    u(0, t) = a, u(1, t) = b         g ← g + (1 − x)(a − g|₀) + x (b − g|₁),  d ← 4 x (1 − x) d

in the problem's coordinates. This is possible for a condition that gives a single field on a face of a box or at the
start, as long as such conditions agree where they meet; every other condition stays a term of the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import sympy as sp
from jaxtyping import Array, Float

from ..features.base import Frozen
from ..fields.derivatives import Jets, Orders, PointFunction, added, product, propagated
from ..problem import Condition, Problem
from ..problem.evaluate import KINKS, evaluate
from .around import Around
from .modulated import Modulated
from .perceptron import Perceptron


class Constrained(Around):
    """share · g + d N, field by field; the share is 1, or 0 for a network that is added to one that has g already."""

    inner: Perceptron | Modulated
    share: Frozen
    offsets: tuple[sp.Expr, ...] = eqx.field(static=True)
    factors: tuple[sp.Expr, ...] = eqx.field(static=True)
    symbols: tuple[sp.Symbol, ...] = eqx.field(static=True)
    operators: ClassVar[tuple[str, ...]] = ("propagate",)
    subject: ClassVar[str] = "all parameters of the network"
    note: ClassVar[str] = (
        "conditions that hold by construction move with no parameter: their kernels are zero"
    )

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        g, d = (self._values(expressions)(point) for expressions in (self.offsets, self.factors))
        return self.share.value * g + d * self.inner(point)

    def propagate(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        g = propagated(self._values(self.offsets), x, orders)
        d = propagated(self._values(self.factors), x, orders)
        shared = {alpha: self.share.value * value for alpha, value in g.items()}
        return added(shared, product(d, propagated(self.inner, x, orders), orders))

    def _values(self, expressions: Sequence[sp.Expr]) -> PointFunction:
        """x ↦ the values of the expressions at x."""

        def compute(point: Float[Array, " axes"]) -> Float[Array, " fields"]:
            values = {symbol: point[i] for i, symbol in enumerate(self.symbols)}
            return jnp.stack([jnp.asarray(evaluate(e, values, jnp), point.dtype) for e in expressions])

        return compute

    def without_data(self) -> Constrained:
        """d N alone, to be added to a network that has g already."""
        return replace(self, share=Frozen(jnp.zeros_like(self.share.array)))


def constrained(problem: Problem, network: Perceptron | Modulated) -> Perceptron | Modulated | Constrained:
    """The network with every condition built in that can be; the same network if there is none."""
    forms = [hard_form(problem, name) for name in problem.unknowns]
    if not any(form.conditions for form in forms):
        return network
    dtype = network.biases[-1].dtype
    symbols = tuple(axis.symbol for axis in problem.axes)
    offsets, factors = tuple(form.offset for form in forms), tuple(form.factor for form in forms)
    return Constrained(network, Frozen(jnp.ones((), dtype)), offsets, factors, symbols)


@dataclass(frozen=True)
class HardForm:
    """g and d of one field, and the conditions that they satisfy."""

    offset: sp.Expr
    factor: sp.Expr
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class _Value:
    """∂^order u = data at one end of an axis."""

    condition: Condition
    axis: int
    order: int
    lower: bool
    data: sp.Expr


@lru_cache(maxsize=64)
def hard_form(problem: Problem, field: str) -> HardForm:
    """Takes one condition after another, if g then still satisfies all that were taken."""
    values = [value for c in problem.conditions if (value := _value(problem, c, field)) is not None]
    taken: list[_Value] = []
    # Initial values first, from the lowest derivative up: each needs those before it.
    for value in sorted(values, key=lambda value: (value.axis != problem.time, value.order)):
        below = {other.order for other in taken if other.axis == value.axis == problem.time}
        if value.order not in (0, len(below)):
            continue
        trial = [*taken, value]
        offset = _offset(problem, trial)
        if all(_holds(problem, offset, other) for other in trial):
            taken = trial
    conditions = tuple(value.condition for value in taken)
    return HardForm(_offset(problem, taken), _factor(problem, taken), conditions)


def _value(problem: Problem, condition: Condition, field: str) -> _Value | None:
    """The condition as a value on a face, or None if it is something else."""
    fixed = [i for i in range(len(problem.axes)) if i not in condition.free]
    if condition.piece or len(condition.jets) != 1 or len(fixed) != 1 or not condition.linear:
        return None
    ((symbol, jet),) = condition.jets.items()
    (index,), axis = fixed, problem.axes[fixed[0]]
    place, order = jet.place[index], jet.orders[index]
    coefficient = problem.value(condition.coefficient(symbol))
    data = problem.value(condition.source) / coefficient
    start = axis.is_time and place == axis.lower
    face = not axis.is_time and problem.region is None and order == 0 and place in (axis.lower, axis.upper)
    if jet.field != field or sum(jet.orders) != order or not (start or face):
        return None
    if coefficient.free_symbols or data.has(*KINKS):  # g must be as differentiable as u
        return None
    return _Value(condition, index, order, place == axis.lower, data)


def _offset(problem: Problem, values: Sequence[_Value]) -> sp.Expr:
    """g: the Taylor sum in time, then what the faces still lack, interpolated along one axis after another."""
    g = sp.Integer(0)
    for index in sorted(range(len(problem.axes)), key=lambda i: i != problem.time):
        axis, here = problem.axes[index], [value for value in values if value.axis == index]
        if axis.is_time:
            since = axis.symbol - axis.lower
            g += sum(value.data * since**value.order / sp.factorial(value.order) for value in here)
            continue
        missing = {v.lower: v.data - g.subs(axis.symbol, axis.lower if v.lower else axis.upper) for v in here}
        rising = (axis.symbol - axis.lower) / (axis.upper - axis.lower)
        if len(missing) == 2:
            g += (1 - rising) * missing[True] + rising * missing[False]
        else:
            g += sum(missing.values())
    return sp.sympify(g)


def _factor(problem: Problem, values: Sequence[_Value]) -> sp.Expr:
    """d: of size one, with a zero where values are given, once for each value or derivative."""
    d = sp.Integer(1)
    for index, axis in enumerate(problem.axes):
        here = [value for value in values if value.axis == index]
        length = axis.upper - axis.lower
        for value in here:
            d *= (axis.symbol - axis.lower if value.lower else axis.upper - axis.symbol) / length
        if len(here) == 2 and not axis.is_time:
            d *= 4
    return d


def _holds(problem: Problem, g: sp.Expr, value: _Value) -> bool:
    """Whether g has the value; if that cannot be shown, the condition stays in the loss."""
    axis = problem.axes[value.axis]
    at = axis.lower if value.lower else axis.upper
    left = g.diff(axis.symbol, value.order).subs(axis.symbol, at) - value.data
    return bool(sp.expand(sp.expand_trig(sp.expand(left))) == 0)
