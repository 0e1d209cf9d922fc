"""r(x) = f(x, u, u_x, …): a relation's residual, at one point or for several relations at many points in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import sympy as sp
from jaxtyping import Array, Float

from ..fields.derivatives import Jets, Operator, Orders, batch_jets, below, point_jets
from ..problem import Problem, Relation
from ..problem.evaluate import constant, evaluate
from ..problem.jets import Jet, Place, coordinate

Free = Mapping[sp.Symbol, Any] | None  # values of unknown numbers, where these are not the current ones


class PointResidual(eqx.Module):
    """A relation's residual for a field at a point (or at the several places of a condition).

    Its numbers are arrays, all else is the compiled program: losses of equal structure share one program, and losses
    for several seeds, or several values of the problem's parameters, can be stacked. Unknown numbers are symbols of the
    expression: they have their current values, unless a call gives others as `free`.
    """

    numbers: tuple[Float[Array, ""], ...]
    expression: sp.Expr = eqx.field(static=True)
    symbols: tuple[sp.Symbol, ...] = eqx.field(static=True)  # of the numbers, in the expression
    jets: tuple[tuple[sp.Symbol, Jet], ...] = eqx.field(static=True)
    places: tuple[tuple[Place, tuple[tuple[int, float], ...]], ...] = eqx.field(static=True)
    coordinates: tuple[sp.Symbol, ...] = eqx.field(static=True)
    axes: int = eqx.field(static=True)
    unknowns: tuple[str, ...] = eqx.field(static=True)
    # c_α of the operator L with residual = L u + rest, if that saves derivatives; else empty.
    principal: tuple[tuple[Orders, sp.Expr], ...] = eqx.field(static=True)
    rest: sp.Expr = eqx.field(static=True)

    def __init__(self, problem: Problem, relation: Relation) -> None:
        self.expression, numbers = opened(problem, relation.residual)
        self.symbols, self.numbers = tuple(numbers), tuple(jnp.asarray(n, float) for n in numbers.values())
        self.jets = tuple(relation.jets.items())
        self.places = tuple(
            (place, tuple((i, float(problem.value(at))) for i, at in enumerate(place) if at is not None))
            for place in dict.fromkeys(jet.place for jet in relation.jets.values())
        )
        # After the coordinates of a point: the normal on a piece of the boundary, or a measured value.
        beside = problem.normals if getattr(relation, "piece", "") else getattr(relation, "columns", ())
        self.coordinates = (*(axis.symbol for axis in problem.axes), *map(coordinate, beside))
        self.axes = len(problem.axes)
        self.unknowns = tuple(problem.unknowns)
        self.principal, self.rest = self._split()

    def __call__(self, field: Any, point: Float[Array, " columns"], free: Free = None) -> Float[Array, ""]:
        found = {at: point_jets(field, self.orders(at))(self.at(at, point)) for at, _ in self.places}
        return self.value(point, found, free)

    def _split(self) -> tuple[tuple[tuple[Orders, sp.Expr], ...], sp.Expr]:
        """(c_α, rest): L takes the derivatives with numbers as coefficients, of one unknown and at one place."""
        if len(self.unknowns) > 1 or len(self.places) != 1:
            return (), self.expression
        slopes = {s: self.expression.diff(s) for s, jet in self.jets if 1 <= sum(jet.orders) <= 2}
        parts = {s: c for s, c in slopes.items() if c.free_symbols <= set(self.symbols)}
        rest = self.expression.xreplace(dict.fromkeys(parts, sp.Integer(0)))
        principal = tuple((jet.orders, parts[s]) for s, jet in self.jets if s in parts)
        if not principal:
            return (), self.expression
        as_one = below([*self.orders_in(rest), Operator(dict(principal))])
        spared = len(as_one) < len(below(self.orders_in(self.expression)))
        return (principal, rest) if spared else ((), self.expression)

    def orders_in(self, expression: sp.Expr) -> list[Orders]:
        """The derivatives that occur in a part of the residual."""
        return [jet.orders for symbol, jet in self.jets if symbol in expression.free_symbols]

    def orders(self, place: Place) -> list[Orders]:
        """The derivatives that are needed at one of its places."""
        return [jet.orders for _, jet in self.jets if jet.place == place]

    def at(self, place: Place, point: Float[Array, "*points columns"]) -> Float[Array, "*points axes"]:
        """The point moved to the place."""
        at = point[..., : self.axes]
        for axis, number in dict(self.places)[place]:
            at = at.at[..., axis].set(number)
        return at

    def value(
        self, point: Float[Array, "*points columns"], found: dict[Place, Jets], free: Free = None
    ) -> Float[Array, " *points"]:
        """r, from the derivatives at each place."""
        return self._evaluated(self.expression, point, found, free)

    def _evaluated(
        self,
        expression: sp.Expr,
        point: Float[Array, "*points columns"],
        found: dict[Place, Jets],
        free: Free,
    ) -> Float[Array, " *points"]:
        values = self._values(point.dtype, free) | {s: point[..., i] for i, s in enumerate(self.coordinates)}
        for symbol, jet in self.jets:
            if symbol in expression.free_symbols:
                values[symbol] = found[jet.place][jet.orders][..., self.unknowns.index(jet.field)]
        residual = jnp.asarray(evaluate(expression, values, jnp), point.dtype)
        return jnp.broadcast_to(residual, point.shape[:-1])

    def _values(self, dtype: Any, free: Free) -> dict[sp.Symbol, Any]:
        """The values of the numbers, known and unknown."""
        own = dict(zip(self.symbols, (number.astype(dtype) for number in self.numbers), strict=True))
        return own | dict(free or {})

    def at_once(self, field: Any, points: Float[Array, "n columns"], free: Free = None) -> Float[Array, " n"]:
        """r = L u + rest at many points, with all of L as one jet."""
        ((place, _),) = self.places
        numbers = self._values(points.dtype, free)
        L = Operator(
            {alpha: jnp.asarray(evaluate(c, numbers, jnp), points.dtype) for alpha, c in self.principal}
        )
        found = batch_jets(field, self.at(place, points), [*self.orders_in(self.rest), L])
        return found[L][:, 0] + self._evaluated(self.rest, points, {place: found}, free)


def opened(problem: Problem, expression: sp.Expr) -> tuple[sp.Expr, dict[sp.Symbol, float]]:
    """nu*u_xx − 2*beta**2*u  →  a u_xx + b u with a = ν, b = −2β²: a symbol for each number made of parameters.

    Where a parameter decides about the program, its value stays in the expression: a zero, which removes its term, and
    an exponent, because a whole number means multiplication and any other a logarithm.
    """
    numbers: dict[sp.Expr, sp.Symbol] = {}
    parameters = problem.known.keys()
    unknown = expression.free_symbols & (problem.parameters.keys() - parameters)
    varying = expression.free_symbols - parameters

    def opening(node: sp.Expr) -> sp.Expr:
        if not node.free_symbols & parameters:
            return node
        if not node.free_symbols & varying:
            if problem.value(node) == 0:
                return sp.Integer(0)
            # A name that no user can write.
            return numbers.setdefault(node, coordinate(f"#{len(numbers)}"))
        if isinstance(node, (sp.Add, sp.Mul)):
            number, rest = node.as_independent(*varying, as_Add=node.is_Add)
            return node.func(opening(number), *map(opening, node.func.make_args(rest)))
        if isinstance(node, sp.Pow) and not node.exp.is_number:
            return node.xreplace(problem.known)
        return node.func(*map(opening, node.args))

    result = opening(expression)
    numbers |= {symbol: symbol for symbol in sorted(unknown, key=str)}
    return result, {symbol: constant(problem.value(node)) for node, symbol in numbers.items()}


def together(
    field: Any,
    residuals: Sequence[PointResidual],
    points: Sequence[Float[Array, "_ columns"]],
    free: Free = None,
) -> list[Float[Array, " _"]]:
    """Each residual at its points, with all derivatives of the field in one batch.

    Every place then gets the derivatives that any of the residuals needs, so only those that need similar ones should
    be put together: all equations, or all conditions. An array of points given to several of them is used once.
    """
    if len(residuals) == 1 and residuals[0].principal:
        return [residuals[0].at_once(field, points[0], free)]
    places: dict[Any, Array] = {}
    for residual, own in zip(residuals, points, strict=True):
        for place, _ in residual.places:
            places.setdefault((id(own), place), residual.at(place, own))
    orders = dict.fromkeys(order for r in residuals for place, _ in r.places for order in r.orders(place))
    if not places:
        return [r.value(own, {}, free) for r, own in zip(residuals, points, strict=True)]
    batch = batch_jets(field, jnp.concatenate(list(places.values())), list(orders))
    ends = np.cumsum([len(at) for at in places.values()])
    cut = {order: jnp.split(value, ends[:-1]) for order, value in batch.items()}
    found = {key: {order: parts[i] for order, parts in cut.items()} for i, key in enumerate(places)}
    return [
        residual.value(own, {place: found[id(own), place] for place, _ in residual.places}, free)
        for residual, own in zip(residuals, points, strict=True)
    ]
