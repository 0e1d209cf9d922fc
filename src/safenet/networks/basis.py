"""φ_k(x) along one axis, with every derivative in closed form.

fourier     1, cos(kπs), sin(kπs),   s = (x − lower)/length     period 2·length: the paper's harmonics
periodic    1, cos(2πks), sin(2πks)
sine        sin(kπs)
cosine      1, cos(kπs)
chebyshev   T_k(2s − 1)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class AxisBasis:
    """`modes` functions (or frequency pairs) along an axis from `lower` to `upper`."""

    kind: str
    modes: int
    lower: float
    upper: float

    @property
    def size(self) -> int:
        return {
            "fourier": 2 * self.modes + 1,
            "periodic": 2 * self.modes + 1,
            "sine": self.modes,
            "cosine": self.modes + 1,
            "chebyshev": self.modes + 1,
        }[self.kind]

    @property
    def length(self) -> float:
        return self.upper - self.lower

    def __call__(self, x: Any, order: int = 0, xp: ModuleType = np) -> Any:
        """∂^order φ at x: an array of shape (*x.shape, size)."""
        if self.kind == "chebyshev":
            return self._chebyshev(x, order, xp)
        k = np.arange(1, self.modes + 1)
        omega = k * (2 if self.kind == "periodic" else 1) * math.pi / self.length
        # Reduce the phase before the sine: s in [0, 1] keeps sin(kπ) at the faces within one rounding of zero.
        phase = omega * (x - self.lower)[..., None]
        parts = []
        if self.kind != "sine":
            constant = xp.ones_like(x) if order == 0 else xp.zeros_like(x)
            parts.append(constant[..., None])
        scale = omega**order
        quarter = order % 4
        if self.kind in ("fourier", "periodic", "cosine"):
            sign = 1.0 if quarter in (0, 3) else -1.0
            parts.append(sign * scale * (xp.cos(phase) if quarter % 2 == 0 else xp.sin(phase)))
        if self.kind in ("fourier", "periodic", "sine"):
            sign = 1.0 if quarter in (0, 1) else -1.0
            parts.append(sign * scale * (xp.sin(phase) if quarter % 2 == 0 else xp.cos(phase)))
        return xp.concatenate(parts, axis=-1)

    def _chebyshev(self, x: Any, order: int, xp: ModuleType) -> Any:
        """T_{k+1}^(m) = 2z T_k^(m) + 2m T_k^(m−1) − T_{k−1}^(m), with dz/dx = 2/length."""
        z = (2.0 * x - (self.lower + self.upper)) / self.length
        lower_order = None
        for m in range(order + 1):
            rows = [xp.ones_like(z) if m == 0 else xp.zeros_like(z)]
            if self.modes >= 1:
                rows.append(z if m == 0 else (xp.ones_like(z) if m == 1 else xp.zeros_like(z)))
            for k in range(1, self.modes):
                following = 2.0 * z * rows[k] - rows[k - 1]
                if lower_order is not None:
                    following = following + 2.0 * m * lower_order[k]
                rows.append(following)
            lower_order = rows
        assert lower_order is not None
        return xp.stack(lower_order, axis=-1) * (2.0 / self.length) ** order

    def nodes(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Quadrature nodes and weights (summing to 1) that suit the basis: equispaced, or Gauss–Legendre."""
        if self.kind == "periodic":
            return self.lower + self.length * np.arange(count) / count, np.full(count, 1.0 / count)
        if self.kind in ("sine", "cosine"):
            # Midpoints: on them a sine or cosine series is discretely orthogonal.
            return self.lower + self.length * (np.arange(count) + 0.5) / count, np.full(count, 1.0 / count)
        z, w = np.polynomial.legendre.leggauss(count)
        return self.lower + self.length * (z + 1) / 2, w / 2

    def tail(self, coefficients: np.ndarray, axis: int) -> float:
        """Share of ‖coefficients‖ in the highest quarter of the modes: small when the axis is resolved."""
        values = np.moveaxis(coefficients, axis, 0).reshape(self.size, -1)
        energy = np.sum(values**2, axis=1)
        if self.kind in ("fourier", "periodic"):
            energy = np.concatenate([energy[:1], energy[1 : self.modes + 1] + energy[self.modes + 1 :]])
        top = max(1, len(energy) // 4)
        return float(np.sqrt(energy[-top:].sum() / max(energy.sum(), 1e-300)))
