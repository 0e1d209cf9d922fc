"""u(x) = Σ_k a_k φ_{k₁}(x₁) φ_{k₂}(x₂) …: SAFE-NET without its hidden layer, the paper's Eq. (safenet).

Linear in its coefficients, so a linear equation is one least-squares solve. `Piecewise` joins several along time.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np

from ..problem import Problem
from ..trees import Tree, static
from .basis import AxisBasis
from .field import Orders, volume

BLOCK = 4096  # points whose tables fit in cache
SCATTERED = 128  # points over which jumps at a break in time are averaged
Bases = tuple[tuple[AxisBasis, ...], ...]


class LinearForm(Tree):
    """One tensor of coefficients per field, over the products of its axes' functions."""

    subject: ClassVar[str] = "the coefficients of the series, in which the field is linear"

    coefficients: tuple[Any, ...]  # NumPy or JAX arrays
    bases: Bases = static()

    def __call__(self, point: Any) -> Any:
        import jax.numpy as jnp

        values = []
        for coefficient, bases in zip(self.coefficients, self.bases, strict=True):
            value = jnp.asarray(coefficient, point.dtype)
            for axis, basis in enumerate(bases):
                value = jnp.tensordot(basis(point[axis], 0, jnp), value, axes=1)
            values.append(value)
        return jnp.stack(values)

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        """In closed form: trigonometry once per axis; every derivative contracts the same tables."""
        points = np.asarray(points, dtype=float)
        found = {order: np.empty((len(points), len(self.bases))) for order in orders}
        # Points in blocks: the tables of a block must fit in cache, whatever the number of points.
        for start in range(0, len(points), BLOCK):
            block = points[start : start + BLOCK]
            for index, (coefficient, bases) in enumerate(zip(self.coefficients, self.bases, strict=True)):
                tables = [basis.tables(block[:, i], asked(basis, i, orders)) for i, basis in enumerate(bases)]
                every = contractions(np.asarray(coefficient), bases[0], tables, orders)
                for order, values in every.items():
                    found[order][start : start + BLOCK, index] = values
        return found

    def tails(self) -> list[float]:
        """For each axis, the share of the coefficients in the highest modes, the largest over the fields."""
        fields = zip(self.coefficients, self.bases, strict=True)
        shares = [[basis.tail(np.asarray(a), i) for i, basis in enumerate(bases)] for a, bases in fields]
        return [max(axis) for axis in zip(*shares, strict=True)]

    def spec(self) -> dict[str, Any]:
        return {"kind": "linear-form", "bases": [[asdict(b) for b in bases] for bases in self.bases]}

    @property
    def parameters(self) -> int:
        return sum(int(np.size(coefficient)) for coefficient in self.coefficients)


def asked(basis: AxisBasis, axis: int, orders: Sequence[Orders]) -> set[int]:
    """The orders of derivatives along an axis for which `contractions` needs tables."""
    return {0 if axis == 0 and basis.closed else order[axis] for order in orders}


def contract(coefficient: np.ndarray, tables: Sequence[np.ndarray]) -> np.ndarray:
    """Σ_k a_k Π_i T_i[p, k_i] for every point p."""
    value = np.tensordot(tables[0], coefficient, axes=1)
    for table in tables[1:]:
        value = np.einsum("pk,pk...->p...", table, value)
    return value


def contractions(
    coefficient: np.ndarray,
    first: AxisBasis,
    tables: Sequence[Mapping[int, np.ndarray]],
    orders: Sequence[Orders],
) -> dict[Orders, np.ndarray]:
    """{α: Σ_k a_k Π_i ∂^{α_i} φ_{k_i}} at every point; contractions that derivatives share are done once.

    Axes along which all points agree are contracted first, for all points at once. If the first axis is closed under
    differentiation, one large table of values serves all orders: the coefficients, which are fewer, are differentiated.
    """
    agreed = [next(iter(one.values())).strides[0] == 0 for one in tables]
    axes = sorted(range(len(tables)), key=lambda i: not agreed[i])
    known: dict[tuple[int, ...], np.ndarray] = {(): coefficient}

    def after(order: Orders, count: int) -> np.ndarray:
        key = tuple(order[i] for i in axes[:count])
        if key not in known:
            value, axis = after(order, count - 1), axes[count - 1]
            order_here = order[axis]
            if axis == 0 and first.closed:
                value, order_here = first.differentiated(value, order_here), 0
            table, pending = tables[axis][order_here], sorted(axes[count - 1 :])
            if agreed[axis]:
                value = np.tensordot(table[0], value, axes=(0, pending.index(axis)))
            elif count - 1 == sum(agreed):
                value = np.tensordot(table, value, axes=1)
            else:
                value = np.einsum("pk,pk...->p...", table, value)
            known[key] = value
        return known[key]

    return {order: after(order, len(axes)) for order in orders}


class Piecewise(Tree):
    """u = piece_k for breaks_k ≤ t < breaks_{k+1}: linear forms joined along the last axis, time.

    Beyond the last break (a march that was interrupted) the value is nan: unknown, not extrapolated.
    """

    in_parts: ClassVar[str] = "slabs of time, each solved by itself"

    pieces: tuple[LinearForm, ...]
    breaks: tuple[float, ...] = static()

    def _piece(self, time: Any, xp: Any) -> Any:
        inner = np.asarray(self.breaks[1:-1])
        return xp.searchsorted(xp.asarray(inner), time, side="right")

    def __call__(self, point: Any) -> Any:
        import jax.numpy as jnp

        which = self._piece(point[-1], jnp)
        values = jnp.stack([piece(point) for piece in self.pieces])
        return jnp.where(point[-1] <= self.breaks[-1], values[which], jnp.nan)

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        points = np.asarray(points, dtype=float)
        which = self._piece(points[:, -1], np)
        found = {order: np.full((len(points), len(self.pieces[0].bases)), np.nan) for order in orders}
        which[points[:, -1] > self.breaks[-1]] = -1
        for index, piece in enumerate(self.pieces):
            mask = which == index
            if mask.any():
                for order, values in piece.jets(points[mask], orders).items():
                    found[order][mask] = values
        return found

    def jump_integrals(
        self, problem: Problem, axis: int, orders: int, points: np.ndarray
    ) -> np.ndarray | None:
        """The jumps at every break in time, averaged over some of the points."""
        if axis != problem.time:
            return None
        space = points[:SCATTERED, :-1]
        totals = np.zeros((orders, len(self.pieces[0].bases)))
        times = [(*(0,) * space.shape[1], k) for k in range(orders)]
        for t, (before, after) in zip(self.breaks[1:-1], itertools.pairwise(self.pieces), strict=True):
            at = np.column_stack([space, np.full(len(space), t)])
            ended, begun = before.jets(at, times), after.jets(at, times)
            totals += [np.mean(np.abs(ended[order] - begun[order]), axis=0) for order in times]
        return totals * volume(problem) / problem.axes[axis].length

    def spec(self) -> dict[str, Any]:
        return {
            "kind": "piecewise",
            "breaks": list(self.breaks),
            "pieces": [piece.spec() for piece in self.pieces],
        }

    @property
    def parameters(self) -> int:
        return sum(piece.parameters for piece in self.pieces)


def appended(before: Piecewise | None, piece: LinearForm, span: tuple[float, float]) -> Piecewise:
    """`before` with a further piece after it, from span[0] to span[1]."""
    if before is None:
        return Piecewise((piece,), span)
    return Piecewise((*before.pieces, piece), (*before.breaks, span[1]))
