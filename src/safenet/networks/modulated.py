"""u(x) = N₀(x) + Σ_m ψ_m(x) N_m(x) + Σ_k Ψ_k(x) A_k(x): known functions ψ and Ψ, multiplied by outputs of a network.

A solution often keeps the shape of its data for a while, or is that shape times something smooth: sin(20πx) sin(πy) e⁻ᵗ
for heat in a plate. A network that must form this product itself, out of tanh, spends its layers on it. The ψ are those
of the conditions, with a factor for each unknown; the Ψ are corner modes, in which all unknowns share one factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..features import Features
from ..features.base import table
from ..fields.derivatives import Jets, Orders, added, product, propagated
from .around import Around
from .perceptron import Perceptron


class Modulated(Around):
    """`inner` has 1 + M outputs for each field, for the M functions ψ of `carriers`, then K for the modes of `corners`.

    The functions of `corners` are Ψ_11, …, Ψ_1F, Ψ_21, …: all fields of a mode, then those of the next.
    """

    inner: Perceptron
    fields: int = eqx.field(static=True)
    carriers: Features | None
    corners: Features | None
    operators: ClassVar[tuple[str, ...]] = ("propagate",)

    @property
    def width(self) -> int:
        """1 + M"""
        return 1 + (0 if self.carriers is None else self.carriers.size)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " fields"]:
        outputs, fields = self.inner(point), self.fields
        own = outputs[: fields * self.width].reshape(fields, self.width)
        found = own[:, 0]
        if self.carriers is not None:
            found = found + own[:, 1:] @ self.carriers(point)
        if self.corners is not None:
            found = found + outputs[fields * self.width :] @ self.corners(point).reshape(-1, fields)
        return found

    def propagate(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        jets, count = propagated(self.inner, x, orders), self.fields
        psi = None if self.carriers is None else table(self.carriers, x, orders)
        modes = None if self.corners is None else table(self.corners, x, orders)
        factors = _rows(jets, slice(count * self.width, None))
        fields = []
        for field in range(count):
            start = field * self.width
            parts = [_rows(jets, slice(start, start + 1))]
            if psi is not None:
                parts.append(_dotted(_rows(jets, slice(start + 1, start + self.width)), psi, orders))
            if modes is not None:
                parts.append(_dotted(factors, _rows(modes, slice(field, None, count)), orders))
            fields.append(added(*parts))
        return {
            alpha: jnp.concatenate([jnp.broadcast_to(field[alpha], (1, x.shape[1])) for field in fields])
            for alpha in fields[0]
        }

    def without_data(self) -> Modulated:
        return self


def _rows(jets: Jets, rows: slice) -> Jets:
    return {alpha: value[rows] for alpha, value in jets.items()}


def _dotted(f: Jets, g: Jets, orders: Sequence[Orders]) -> Jets:
    """∂^α Σ_m f_m g_m"""
    found = product(f, g, orders)
    return {alpha: jnp.sum(value, axis=0, keepdims=True) for alpha, value in found.items()}
