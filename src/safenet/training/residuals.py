"""r(x) = f(x, u, u_x, …): a relation's residual, at one point or for several relations at many points in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import sympy as sp
from jaxtyping import Array, Float

from ..derivatives import Jets, Orders, batch_jets, point_jets
from ..problem import Problem, Relation
from ..problem.evaluate import evaluate
from ..problem.jets import Place, coordinate


class PointResidual:
    """A relation's residual for a field at a point (or at the several places of a condition).

    Two are equal if they say the same: losses of the same problem then share their programs, and those of several
    seeds can be stacked.
    """

    def __init__(self, problem: Problem, relation: Relation) -> None:
        self.expression = problem.value(relation.residual)
        self.jets = relation.jets
        self.axes = tuple(axis.symbol for axis in problem.axes)
        # On a piece of the boundary the components of the normal follow the coordinates of a point.
        on_piece = bool(getattr(relation, "piece", ""))
        self.normals = tuple(map(coordinate, problem.normals)) if on_piece else ()
        self.unknowns = tuple(problem.unknowns)
        self.places: dict[Place, dict[int, float]] = {
            jet.place: {i: float(problem.value(at)) for i, at in enumerate(jet.place) if at is not None}
            for jet in relation.jets.values()
        }
        numbers = tuple(tuple(at.items()) for at in self.places.values())
        self._facts = (
            self.expression,
            tuple(self.jets.items()),
            self.axes,
            self.normals,
            self.unknowns,
            numbers,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PointResidual) and self._facts == other._facts

    def __hash__(self) -> int:
        return hash(self._facts)

    def __call__(self, field: Any, point: Float[Array, " columns"]) -> Float[Array, ""]:
        found = {place: point_jets(field, self.orders(place))(self.at(place, point)) for place in self.places}
        return self.value(point, found)

    def orders(self, place: Place) -> list[Orders]:
        """The derivatives that are asked for at one of its places."""
        return [jet.orders for jet in self.jets.values() if jet.place == place]

    def at(self, place: Place, point: Float[Array, "*points columns"]) -> Float[Array, "*points axes"]:
        """The point moved there."""
        at = point[..., : len(self.axes)]
        for axis, number in self.places[place].items():
            at = at.at[..., axis].set(number)
        return at

    def value(
        self, point: Float[Array, "*points columns"], found: dict[Place, Jets]
    ) -> Float[Array, " *points"]:
        """r, from the derivatives at each place."""
        symbols = (*self.axes, *self.normals)
        values: dict[sp.Symbol, Any] = {symbol: point[..., i] for i, symbol in enumerate(symbols)}
        for symbol, jet in self.jets.items():
            values[symbol] = found[jet.place][jet.orders][..., self.unknowns.index(jet.field)]
        residual = jnp.asarray(evaluate(self.expression, values, jnp), point.dtype)
        return jnp.broadcast_to(residual, point.shape[:-1])


def together(
    field: Any, residuals: Sequence[PointResidual], points: Sequence[Float[Array, "_ columns"]]
) -> list[Float[Array, " _"]]:
    """Each residual at its points, with all derivatives of the field in one batch.

    Every place then has the derivatives that any of them needs: so those should be put together that need much the
    same, as equations do, or conditions. Where two are given the same array of points, it is taken once.
    """
    places: dict[Any, Array] = {}
    for residual, own in zip(residuals, points, strict=True):
        for place in residual.places:
            places.setdefault((id(own), place), residual.at(place, own))
    orders = dict.fromkeys(order for r in residuals for place in r.places for order in r.orders(place))
    if not places:
        return [r.value(own, {}) for r, own in zip(residuals, points, strict=True)]
    batch = batch_jets(field, jnp.concatenate(list(places.values())), list(orders))
    ends = np.cumsum([len(at) for at in places.values()])
    cut = {order: jnp.split(value, ends[:-1]) for order, value in batch.items()}
    found = {key: {order: parts[i] for order, parts in cut.items()} for i, key in enumerate(places)}
    return [
        residual.value(own, {place: found[id(own), place] for place in residual.places})
        for residual, own in zip(residuals, points, strict=True)
    ]
