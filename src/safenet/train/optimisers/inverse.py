"""H = scale·base + unit·I + Σ_k d_k z_k z_kᵀ: an inverse Hessian and the rank-two updates that wait beside it.

A step reads the base once, for all products; it is written once in `ROOM` steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from .divided import by_rows, divided, undivided

ROOM = 8  # updates that can wait: a step then takes 1 + 2/8 passes over H; adding each update at once took 3


class Inverse(eqx.Module):
    """H = scale·base + unit·I + Σ_k d_k z_k z_kᵀ; z holds `waiting` updates, three rows each.

    While it is divided among devices, the base has some rows of zeros more.
    """

    base: Float[Array, "q p"]
    z: Float[Array, "rows p"]
    d: Float[Array, " rows"]
    scale: Float[Array, ""]
    unit: Float[Array, ""]
    waiting: Int[Array, ""]

    @staticmethod
    def identity(size: int, dtype: Any) -> Inverse:
        none, one = jnp.zeros((), dtype), jnp.ones((), dtype)
        rows = jnp.zeros((3 * ROOM, size), dtype)
        return Inverse(jnp.zeros((size, size), dtype), rows, rows[:, 0], none, one, jnp.zeros((), jnp.int32))

    @property
    def matrix(self) -> Float[Array, "p p"]:
        """H as a dense matrix."""
        return _filled(self.base, 0, self.z, self.d, self.scale, self.unit)

    def divided(self) -> Inverse:
        """The same H, each device with its own rows of the base: a device that had all of them would read them all."""
        return replace(self, base=divided(self.base))

    def undivided(self) -> Inverse:
        return replace(self, base=undivided(self.base, self.z.shape[1]))

    def times(self, *vectors: Float[Array, " p"]) -> list[Float[Array, " p"]]:
        """H v of each vector, in one pass over the base."""
        products = by_rows(_products, self.base, *vectors, joined=True)
        return [
            self.scale * Hv[: v.shape[0]] + self.unit * v + self.z.T @ (self.d * (self.z @ v))
            for v, Hv in zip(vectors, products, strict=True)
        ]

    def updated(self, by: RankTwo, keep: Bool[Array, ""], forget: Bool[Array, ""]) -> Inverse:
        """H′ if `keep` (the update), I if `forget`, else H; the base is not touched."""
        shrink = jnp.where(forget, 0, jnp.where(keep, by.scale, 1))
        at = jnp.minimum(3 * self.waiting, 3 * (ROOM - 1))
        z = jnp.where(keep & ~forget, jnp.stack([by.w, by.v, by.s]), lax.dynamic_slice_in_dim(self.z, at, 3))
        factors = jnp.stack([-by.of_w * by.scale, by.of_v * by.scale, by.of_s])
        d = jnp.where(forget, 0, jnp.where(keep, by.scale, 1) * self.d)
        new = jnp.where(keep & ~forget, factors, lax.dynamic_slice_in_dim(d, at, 3))
        return replace(
            self,
            z=lax.dynamic_update_slice_in_dim(self.z, z, at, 0),
            d=lax.dynamic_update_slice_in_dim(d, new, at, 0),
            scale=shrink * self.scale,
            unit=jnp.where(forget, 1, shrink * self.unit),
            waiting=jnp.where(forget, 0, self.waiting + keep.astype(jnp.int32)),
        )

    @property
    def full(self) -> Bool[Array, ""]:
        return self.waiting >= ROOM

    def settled(self) -> Inverse:
        """The same H; if there is no more room, the waiting updates are added to the base."""
        filled = by_rows(_filled, self.base, self.z, self.d, self.scale, self.unit, joined=False)
        return Inverse(
            jnp.where(self.full, filled, self.base),
            self.z,
            jnp.where(self.full, 0, self.d),
            jnp.where(self.full, 1, self.scale),
            jnp.where(self.full, 0, self.unit),
            jnp.where(self.full, 0, self.waiting),
        )


def _products(
    rows: Float[Array, "r p"], first: Any, *vectors: Float[Array, " p"]
) -> list[Float[Array, " r"]]:
    """The base times each vector. For a product with two columns, an accelerator would first copy it with padding, and
    a CPU took three times as long as for one column; the sums below pass over it once for both."""
    if jax.default_backend() == "cpu":
        return [rows @ v for v in vectors]
    return [jnp.sum(rows * v, axis=1) for v in vectors]


def _filled(
    rows: Float[Array, "r p"],
    first: Any,
    z: Float[Array, "rows p"],
    d: Float[Array, " rows"],
    scale: Float[Array, ""],
    unit: Float[Array, ""],
) -> Float[Array, "r p"]:
    """Rows of H, from `first` on, of which the base has `rows`."""
    index = first + jnp.arange(rows.shape[0], dtype=jnp.int32)
    # With √|d| on both sides, entries (i, j) and (j, i) are sums of equal products: H stays symmetric to the bit.
    root = jnp.sqrt(jnp.abs(d))[:, None] * z
    own = jnp.take(root, index, axis=1, mode="fill", fill_value=0)
    diagonal = jnp.where(index[:, None] == jnp.arange(z.shape[1], dtype=jnp.int32), unit, 0)
    return scale * rows + diagonal + own.T @ (jnp.sign(d)[:, None] * root)


class RankTwo(eqx.Module):
    """H ↦ (H − w wᵀ/y·w + φ (y·w) v vᵀ)/τ + s sᵀ/s·y, stored as vectors and factors."""

    s: Float[Array, " p"]
    v: Float[Array, " p"]
    w: Float[Array, " p"]
    of_s: Float[Array, ""]
    of_v: Float[Array, ""]
    of_w: Float[Array, ""]
    scale: Float[Array, ""]

    @property
    def finite(self) -> Bool[Array, ""]:
        """Whether no factor has overflowed: H would be nan from then on, even where it is multiplied by zero."""
        return (
            jnp.isfinite(self.of_s)
            & jnp.isfinite(self.of_v)
            & jnp.isfinite(self.of_w)
            & jnp.isfinite(self.scale)
        )

    def times(self, g: Float[Array, " p"], Hg: Float[Array, " p"]) -> Float[Array, " p"]:
        """H′ g from H g."""
        scaled = Hg - self.w * (self.of_w * (self.w @ g)) + self.v * (self.of_v * (self.v @ g))
        return scaled * self.scale + self.s * (self.of_s * (self.s @ g))


def rank_two(
    family: str,
    s: Float[Array, " p"],
    y: Float[Array, " p"],
    w: Float[Array, " p"],
    curvature: Float[Array, ""],
    learnt: Bool[Array, ""],
) -> RankTwo:
    """The update for the pair (s, y), with w = H y and `curvature` = sᵀH⁻¹s; before anything is `learnt`, τ = h/σ sets
    the scale of H."""
    sy, yw = s @ y, y @ w
    h, b = yw / sy, curvature / sy
    a = jnp.maximum(h * b - 1, jnp.finfo(s.dtype).eps)  # never negative, by the Cauchy–Schwarz inequality
    # 1/(b (1 + c)) = h (1 − c), without the cancellation.
    rho = jnp.minimum(1, 1 / (b * (1 + jnp.sqrt(a / (1 + a)))))
    broyden = jnp.maximum((rho - 1) / a, jnp.minimum(1 / rho, (1 - b) / b))
    theta = broyden if family == "broyden" else jnp.zeros_like(b)
    sigma = 1 + a * theta
    root = sigma ** (-1 / max(s.size - 1, 1))
    shrink = jnp.minimum(1, 1 / b)
    above = shrink * jnp.minimum(root, 1 / jnp.where(theta > 0, theta, 1))
    tau = jnp.where(theta > 0, above, jnp.minimum(shrink * root, sigma))
    tau = jnp.where(learnt, tau, h / sigma)
    phi = (1 - theta) / sigma
    return RankTwo(s, s / sy - w / yw, w, of_s=1 / sy, of_v=phi * yw, of_w=1 / yw, scale=1 / tau)
