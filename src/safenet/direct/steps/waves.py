"""u(x) = Σ_k û_k e^{ik·θ} on the grid of a periodic box, or of one continued by parity: FFTs and wave numbers.

A sine or cosine series is a Fourier series on a box of twice the length, with mirrored values and that box's modes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...fields.basis import AxisBasis
from ...measure.relative import TINY
from ...problem.relation import Axis

# Points (a millisecond for a pair of transforms) from which on SciPy's two threads are worth its import.
PARALLEL = 2**17
UNCHANGED = 1.0  # (ik)^0


@dataclass(frozen=True)
class Waves:
    """`modes` kept along each axis, on a grid with half as many points again."""

    axes: tuple[Axis, ...]
    kinds: tuple[tuple[str, ...], ...]  # of each unknown along each axis
    modes: tuple[int, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Even, and large enough for products of two not to alias; aliases of higher powers are like the tail."""
        return tuple(2 * fast_length(math.ceil((3 * m + 1) / 2)) for m in self.modes)

    @property
    def points(self) -> int:
        return math.prod(self.shape)

    @property
    def over(self) -> tuple[int, ...]:
        return tuple(range(-len(self.shape), 0))

    @cached_property
    def mirrored(self) -> tuple[bool, ...]:
        return tuple(kind != "periodic" for kind in self.kinds[0])

    @cached_property
    def lengths(self) -> tuple[float, ...]:
        return tuple(
            axis.length * (2 if twice else 1) for axis, twice in zip(self.axes, self.mirrored, strict=True)
        )

    @cached_property
    def coordinates(self) -> list[np.ndarray]:
        """The coordinates along each axis, broadcast over the grid."""
        ticks = [
            axis.lo + length * np.arange(n) / n
            for axis, length, n in zip(self.axes, self.lengths, self.shape, strict=True)
        ]
        return list(np.meshgrid(*ticks, indexing="ij", sparse=True))

    @cached_property
    def indices(self) -> list[np.ndarray]:
        """k along each axis: 0 … m and −m … −1, along the last axis only 0 … m, which suffices for a real function."""
        last = len(self.modes) - 1
        lines = [np.arange(m + 1) if i == last else np.r_[0 : m + 1, -m:0] for i, m in enumerate(self.modes)]
        return [line.reshape([-1 if j == i else 1 for j in range(last + 1)]) for i, line in enumerate(lines)]

    @cached_property
    def spectrum(self) -> tuple[int, ...]:
        """The shape of an array of the modes that are kept."""
        return np.broadcast_shapes(*(k.shape for k in self.indices))

    def power(self, orders: Sequence[int]) -> Any:
        """(ik)^α, broadcast over the transform."""
        found: Any = UNCHANGED
        for k, length, order in zip(self.indices, self.lengths, orders, strict=True):
            if order:
                found = found * (2j * np.pi / length * k) ** order
        return found

    def _fft(self, xp: Any) -> tuple[Any, dict[str, Any]]:
        """The FFT module of an array library, and the arguments of its functions."""
        if xp is np and self.points >= PARALLEL:
            import scipy

            return scipy.fft, {"norm": "forward", "workers": 2}
        return xp.fft, {"norm": "forward"}

    def forward(self, values: Any, xp: Any = np) -> Any:
        """û of real values, for the modes that are kept; the others are dropped axis by axis."""
        fft, how = self._fft(xp)
        found = fft.rfft(values, **how)[..., : self.modes[-1] + 1]
        for axis, m in zip(self.over[:-1], self.modes, strict=False):
            found = fft.fft(found, axis=axis, **how)
            found = xp.concatenate([found[_at(axis, 0, m + 1)], found[_at(axis, -m, None)]], axis=axis)
        return found

    def backward(self, waves: Any, xp: Any = np) -> Any:
        fft, how = self._fft(xp)
        for axis, m, n in zip(self.over[:-1], self.modes, self.shape, strict=False):
            size = [n - 2 * m - 1 if i == axis % waves.ndim else k for i, k in enumerate(waves.shape)]
            parts = [waves[_at(axis, 0, m + 1)], xp.zeros(size, waves.dtype), waves[_at(axis, m + 1, None)]]
            waves = fft.ifft(xp.concatenate(parts, axis=axis), axis=axis, **how)
        return fft.irfft(waves, self.shape[-1], **how)

    def continued(self, values: Any, field: int, xp: Any = np) -> Any:
        """The values, those beyond the box replaced by the mirror image of those inside."""
        for i, (twice, n) in enumerate(zip(self.mirrored, self.shape, strict=True)):
            if not twice:
                continue
            axis = i - len(self.shape)
            inner, ends = values[_at(axis, 1, n // 2)], [values[_at(axis, k, k + 1)] for k in (0, n // 2)]
            sign = 1.0
            if self.kinds[field][i] == "sine":
                sign, ends = -1.0, [0.0 * one for one in ends]
            values = xp.concatenate([ends[0], inner, ends[1], sign * xp.flip(inner, axis)], axis=axis)
        return values

    def onto(self, other: Waves, waves: np.ndarray) -> np.ndarray:
        """The same modes on another grid; those that it does not keep are dropped."""
        found = np.zeros((*waves.shape[: -len(self.shape)], *other.spectrum), complex)
        common = [min(a, b) for a, b in zip(self.modes, other.modes, strict=True)]
        signs = [
            (slice(0, m + 1), *([slice(-m, None)] if i < len(common) - 1 else []))
            for i, m in enumerate(common)
        ]
        for corner in np.ndindex(*(len(choice) for choice in signs)):
            at = (..., *(choice[i] for i, choice in zip(corner, signs, strict=True)))
            found[at] = waves[at]
        return found

    def tails(self, waves: np.ndarray) -> np.ndarray:
        """Per axis, the share of the modes beyond those kept, if they keep falling as fast; the largest over the parts.

        q₂²/q₁, with q₂ the share of the highest quarter of the modes and q₁ that of the quarter below it; q₂ itself
        where the spectrum does not fall.
        """
        energy = squares(waves)
        space = tuple(range(1, energy.ndim))
        total = np.maximum(energy.sum(axis=space), TINY)
        found = []
        for axis, (k, m) in enumerate(zip(self.indices, self.modes, strict=True)):
            line = energy.sum(axis=tuple(i for i in space if i != axis + 1))
            size = np.abs(k).ravel()
            high, below = (
                np.sqrt(line[:, (size > low * m) & (size <= (low + 0.25) * m)].sum(axis=1) / total)
                for low in (0.75, 0.5)
            )
            found.append(float(np.max(high * np.minimum(high / np.maximum(below, TINY), 1.0))))
        return np.array(found)

    def bases(self, field: int) -> tuple[AxisBasis, ...]:
        return tuple(
            AxisBasis(kind, m, axis.lo, axis.hi)
            for kind, m, axis in zip(self.kinds[field], self.modes, self.axes, strict=True)
        )

    def coefficients(self, waves: np.ndarray, field: int) -> np.ndarray:
        """û as the real coefficients of the field's bases, axis by axis."""
        values = np.asarray(self.backward(waves))
        for i, (kind, m) in enumerate(zip(self.kinds[field], self.modes, strict=True)):
            line = np.moveaxis(
                np.fft.rfft(values, axis=values.ndim - len(self.shape) + i, norm="forward"),
                values.ndim - len(self.shape) + i,
                0,
            )[: m + 1]
            cosines, sines = 2 * line.real, -2 * line.imag[1:]
            cosines[0] /= 2
            parts = {"periodic": (cosines, sines), "cosine": (cosines,), "sine": (sines,)}[kind]
            values = np.moveaxis(np.concatenate(parts), 0, values.ndim - len(self.shape) + i)
        return values


def squares(waves: np.ndarray) -> np.ndarray:
    """|û|², without the roots of np.abs."""
    return np.asarray(waves.real**2 + waves.imag**2)


def _at(axis: int, low: int, high: int | None) -> tuple[Any, ...]:
    """[…, low:high, …] along an axis that is counted from the end."""
    return (..., slice(low, high), *[slice(None)] * (-1 - axis))


def fast_length(least: int) -> int:
    """The smallest 2^a 3^b 5^c that is not below `least`: transforms of such lengths are fast."""
    for n in range(least, 2 * least + 1):
        left = n
        for prime in (2, 3, 5):
            while left % prime == 0 and left > 1:
                left //= prime
        if left == 1:
            return n
    return least
