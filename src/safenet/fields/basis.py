"""φ_k(x) along one axis, with every derivative in closed form.

fourier     1, cos(kπs), sin(kπs),   s = (x − lower)/length     period 2·length: the paper's harmonics
periodic    1, cos(2πks), sin(2πks)
sine        sin(kπs)
cosine      1, cos(kπs)
chebyshev   T_k(2s − 1)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import SafeNetError

KINDS = ("fourier", "periodic", "sine", "cosine", "chebyshev")


@dataclass(frozen=True)
class AxisBasis:
    """The functions up to frequency (or degree) `modes` along an axis from `lower` to `upper`.

    `parity` +1 or −1 keeps only those that are even or odd about the middle of the axis.
    """

    kind: str
    modes: int
    lower: float
    upper: float
    parity: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS or not self.modes >= 0 or not self.lower < self.upper:
            raise SafeNetError(f"there is no basis {self.kind!r} of {self.modes} modes on this interval")

    @cached_property
    def cosines(self) -> np.ndarray:
        """The k of each cos (for chebyshev: of each T_k), in the order of the columns."""
        k = np.arange(self.modes + 1) if self.kind != "sine" else np.arange(0)
        return np.asarray(k[self._kept(np.ones_like(k) if self.kind == "periodic" else (-1) ** k)])

    @cached_property
    def sines(self) -> np.ndarray:
        """The k of each sin; their columns follow those of the cosines."""
        k = np.arange(1, self.modes + 1) if self.kind in ("fourier", "periodic", "sine") else np.arange(0)
        return np.asarray(k[self._kept(-np.ones_like(k) if self.kind == "periodic" else -((-1) ** k))])

    def _kept(self, parities: np.ndarray) -> np.ndarray:
        return np.asarray((parities == self.parity) | (self.parity == 0))

    @property
    def frequencies(self) -> np.ndarray:
        """The k of each column."""
        return np.concatenate([self.cosines, self.sines])

    @property
    def size(self) -> int:
        return len(self.cosines) + len(self.sines)

    @property
    def length(self) -> float:
        return self.upper - self.lower

    def __call__(self, x: Any, order: int = 0, xp: ModuleType = np) -> Any:
        """∂^order φ at x: an array of shape (*x.shape, size)."""
        if self.kind == "chebyshev":
            return self._derivatives(x, order, xp)[order]
        period = self.length if self.kind == "periodic" else 2 * self.length
        omega = 2 * math.pi / period * self.frequencies
        # The phase is measured from the face: where sin must vanish it is small, and sin is zero up to rounding.
        phase = omega * (x - self.lower)[..., None]
        cosine, sine = phase[..., : len(self.cosines)], phase[..., len(self.cosines) :]
        # d/dz turns cos → −sin → −cos → sin, and sin → cos → −sin → −cos.
        first, second = (xp.cos(cosine), xp.sin(sine)) if order % 2 == 0 else (xp.sin(cosine), xp.cos(sine))
        signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))[order % 4]
        return xp.concatenate([signs[0] * first, signs[1] * second], axis=-1) * omega**order

    def tables(self, x: np.ndarray, orders: Iterable[int]) -> dict[int, np.ndarray]:
        """{order: ∂^order φ at x}, (points, size); if x is the same at all points, one row is broadcast."""
        if len(x) and (x == x[0]).all():
            return {k: np.broadcast_to(self(x[:1], k), (len(x), self.size)) for k in orders}
        if self.kind == "chebyshev":
            derivatives = self._derivatives(x, max(orders := list(orders), default=0))
            return {k: derivatives[k] for k in orders}
        if self.kind != "periodic" or self.parity:
            return {k: self(x, k) for k in orders}
        # All orders share the same cosines and sines; those of k = pm + q come from e^{ipmθ} e^{iqθ}.
        m = math.isqrt(self.modes) + 1
        phase = 2j * math.pi / self.length * np.arange(m) * (x - self.lower)[:, None]
        waves = np.exp(m * phase)[:, :, None] * np.exp(phase)[:, None, :]
        waves = waves.reshape(len(x), m * m)[:, : self.modes + 1]
        cosine, sine = waves.real, waves.imag
        turned = (cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine)
        omega = 2 * math.pi / self.length * self.frequencies
        found = {n: np.empty((len(x), self.size)) for n in orders}
        for n, table in found.items():
            table[:, : self.modes + 1], table[:, self.modes + 1 :] = turned[n % 4][0], turned[n % 4][1][:, 1:]
            if n:
                table *= omega**n
        return found

    @property
    def closed(self) -> bool:
        """Whether derivatives are sums of the same functions."""
        return self.kind == "periodic" and not self.parity

    def differentiated(self, coefficients: np.ndarray, order: int) -> np.ndarray:
        """The coefficients of ∂^order Σ_k a_k φ_k, along their first axis: (a cos + b sin)′ = ω (b cos − a sin)."""
        count = len(self.cosines)
        omega = (2 * math.pi / self.length * self.sines).reshape(-1, *[1] * (coefficients.ndim - 1))
        for _ in range(order):
            cosine, sine = coefficients[1:count], coefficients[count:]
            constant = np.zeros_like(coefficients[:1])
            coefficients = np.concatenate([constant, omega * sine, -omega * cosine])
        return coefficients

    def _derivatives(self, x: Any, highest: int, xp: ModuleType = np) -> list[Any]:
        """T_{k+1}^(m) = 2z T_k^(m) + 2m T_k^(m−1) − T_{k−1}^(m), m ≤ highest, with dz/dx = 2/length."""
        z = xp.asarray((2.0 * x - (self.lower + self.upper)) / self.length)
        twice, found, lower_order = 2.0 * z, [], None
        for m in range(highest + 1):
            rows = [xp.ones_like(z) if m == 0 else xp.zeros_like(z)]
            if self.modes >= 1:
                rows.append(z if m == 0 else (xp.ones_like(z) if m == 1 else xp.zeros_like(z)))
            below: Any = None if lower_order is None else 2.0 * m * xp.stack(lower_order)
            for k in range(1, self.modes):
                following = twice * rows[k]
                following -= rows[k - 1]  # in place for NumPy arrays: a table has hundreds of such rows
                if below is not None:
                    following += below[k]
                rows.append(following)
            lower_order = rows
            kept = rows if len(self.cosines) == len(rows) else [rows[k] for k in self.cosines]
            found.append(xp.moveaxis(xp.stack(kept), 0, -1) * (2.0 / self.length) ** m)
        return found

    def nodes(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Quadrature nodes and weights (summing to 1) that suit the basis: equispaced, or Gauss–Legendre.

        If all functions share a parity, nodes on half of the axis suffice.
        """
        if self.parity:
            nodes, weights = replace(self, parity=0).nodes(2 * count)
            return nodes[:count], 2 * weights[:count]
        if self.kind in ("periodic", "sine", "cosine"):
            # Midpoints: on them a Fourier, sine or cosine series is discretely orthogonal.
            return self.lower + self.length * (np.arange(count) + 0.5) / count, np.full(count, 1.0 / count)
        z, w = gauss_legendre(count)
        return self.lower + self.length * (z + 1) / 2, w / 2

    def tail(self, coefficients: np.ndarray, axis: int) -> float:
        """The share of ‖coefficients‖ in the highest quarter of the modes: small if the axis is resolved."""
        energy = np.sum(np.moveaxis(coefficients, axis, 0).reshape(self.size, -1) ** 2, axis=1)
        highest = self.frequencies > self.modes - max(1, (self.modes + 1) // 4)
        return float(np.sqrt(energy[highest].sum() / max(energy.sum(), 1e-300)))


@cache
def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes on [−1, 1] and weights; cached, because a solve asks for them hundreds of times."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights
