"""u(x) = Σ_k a_k φ_{k₁}(x₁) φ_{k₂}(x₂) …: SAFE-NET without its hidden layer, the paper's Eq. (safenet).

Linear in its amplitudes, so a linear equation is one least-squares solve. `Piecewise` joins several along time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .basis import AxisBasis
from .derivatives import Orders

Bases = tuple[tuple[AxisBasis, ...], ...]


class LinearForm(eqx.Module):
    """One tensor of amplitudes per field, over the products of its axes' functions."""

    amplitudes: tuple[Float[Array | np.ndarray, ...], ...]
    bases: Bases = eqx.field(static=True)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        values = []
        for amplitude, bases in zip(self.amplitudes, self.bases, strict=True):
            value = jnp.asarray(amplitude, point.dtype)
            for axis, basis in enumerate(bases):
                value = jnp.tensordot(basis(point[axis], 0, jnp), value, axes=1)
            values.append(value)
        return jnp.stack(values)

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        """Closed form: the trigonometry once per axis, every derivative a contraction of the same tables."""
        points = np.asarray(points, dtype=float)
        found = {order: np.empty((len(points), len(self.bases))) for order in orders}
        # Points in blocks: the tables of a block must fit in cache, whatever the number of points.
        for start in range(0, len(points), 4096):
            block = points[start : start + 4096]
            for index, (amplitude, bases) in enumerate(zip(self.amplitudes, self.bases, strict=True)):
                for order in orders:
                    tables = [basis(block[:, i], order[i]) for i, basis in enumerate(bases)]
                    found[order][start : start + 4096, index] = contract(np.asarray(amplitude), tables)
        return found

    def tails(self) -> list[float]:
        """Per axis, the share of the amplitudes in the highest modes; the largest over the fields."""
        fields = zip(self.amplitudes, self.bases, strict=True)
        shares = [[basis.tail(np.asarray(a), i) for i, basis in enumerate(bases)] for a, bases in fields]
        return [max(axis) for axis in zip(*shares, strict=True)]

    def spec(self) -> dict[str, Any]:
        return {"kind": "linear-form", "bases": [[asdict(b) for b in bases] for bases in self.bases]}

    @property
    def parameters(self) -> int:
        return sum(int(np.size(amplitude)) for amplitude in self.amplitudes)


def contract(amplitude: np.ndarray, tables: Sequence[np.ndarray]) -> np.ndarray:
    """Σ_k a_k Π_i T_i[p, k_i] for every point p."""
    value = np.tensordot(tables[0], amplitude, axes=1)
    for table in tables[1:]:
        value = np.einsum("pk,pk...->p...", table, value)
    return value


class Piecewise(eqx.Module):
    """u = piece_k for breaks_k ≤ t < breaks_{k+1}: linear forms joined along the last axis, time.

    Beyond the last break (a march that was interrupted) the value is nan: unknown, not extrapolated.
    """

    pieces: tuple[LinearForm, ...]
    breaks: tuple[float, ...] = eqx.field(static=True)

    def _piece(self, time: Any, xp: Any) -> Any:
        inner = np.asarray(self.breaks[1:-1])
        return xp.searchsorted(xp.asarray(inner), time, side="right")

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
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

    def spec(self) -> dict[str, Any]:
        return {
            "kind": "piecewise",
            "breaks": list(self.breaks),
            "pieces": [piece.spec() for piece in self.pieces],
        }

    @property
    def parameters(self) -> int:
        return sum(piece.parameters for piece in self.pieces)
