"""u(x) = Σ_k û_k e^{ik·θ} on the grid of a box that repeats, or of one that parity continues: FFTs and wave numbers.

A sine or cosine series is one of twice the length: its values are mirrored, and its modes are those of the longer box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from ...fields.basis import AxisBasis
from ...problem.relation import Axis

PARALLEL = 2**15  # points from which on two threads transform faster than one


@dataclass(frozen=True)
class Waves:
    """`modes` kept along each axis, on a grid of half as many points again."""

    axes: tuple[Axis, ...]
    kinds: tuple[tuple[str, ...], ...]  # of each unknown along each axis
    modes: tuple[int, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Even, and without aliases of products of two; those of higher powers are as small as the tail."""
        return tuple(2 * scipy.fft.next_fast_len(math.ceil((3 * m + 1) / 2), real=True) for m in self.modes)

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
        ticks = [
            axis.lo + length * np.arange(n) / n
            for axis, length, n in zip(self.axes, self.lengths, self.shape, strict=True)
        ]
        return list(np.meshgrid(*ticks, indexing="ij"))

    @cached_property
    def indices(self) -> list[np.ndarray]:
        """k along each axis, 0 … m and −m … −1, of the last axis only 0 … m: what a real function needs."""
        last = len(self.modes) - 1
        lines = [np.arange(m + 1) if i == last else np.r_[0 : m + 1, -m:0] for i, m in enumerate(self.modes)]
        return [line.reshape([-1 if j == i else 1 for j in range(last + 1)]) for i, line in enumerate(lines)]

    @cached_property
    def spectrum(self) -> tuple[int, ...]:
        """The shape of the modes that are kept."""
        return np.broadcast_shapes(*(k.shape for k in self.indices))

    def power(self, orders: Sequence[int]) -> Any:
        """(ik)^α, broadcast over the transform."""
        found: Any = 1.0
        for k, length, order in zip(self.indices, self.lengths, orders, strict=True):
            if order:
                found = found * (2j * np.pi / length * k) ** order
        return found

    @property
    def _workers(self) -> int:
        return 2 if self.points >= PARALLEL else 1

    def forward(self, values: np.ndarray) -> np.ndarray:
        """û of real values, for the modes that are kept; the others are dropped axis by axis."""
        if len(self.shape) == 1:  # NumPy's takes a fifth of the time of SciPy's to begin
            return np.asarray(np.fft.rfft(values, norm="forward")[..., : self.modes[0] + 1])
        found = scipy.fft.rfft(values, norm="forward", workers=self._workers)[..., : self.modes[-1] + 1]
        for axis, m in zip(self.over[:-1], self.modes, strict=False):
            found = np.moveaxis(
                scipy.fft.fft(found, axis=axis, norm="forward", workers=self._workers), axis, 0
            )
            found = np.moveaxis(np.concatenate([found[: m + 1], found[-m:]]), 0, axis)
        return np.asarray(found)

    def backward(self, waves: np.ndarray) -> np.ndarray:
        if len(self.shape) == 1:
            return np.asarray(np.fft.irfft(waves, self.shape[0], norm="forward"))
        for axis, m, n in zip(self.over[:-1], self.modes, self.shape, strict=False):
            line = np.moveaxis(waves, axis, 0)
            gap = np.zeros((n - 2 * m - 1, *line.shape[1:]), complex)
            whole = np.moveaxis(np.concatenate([line[: m + 1], gap, line[m + 1 :]]), 0, axis)
            waves = scipy.fft.ifft(whole, axis=axis, norm="forward", workers=self._workers, overwrite_x=True)
        return np.asarray(scipy.fft.irfft(waves, self.shape[-1], norm="forward", workers=self._workers))

    def continued(self, values: np.ndarray, field: int) -> np.ndarray:
        """Values with those beyond the box replaced by the mirror image of those within."""
        for i, (twice, n) in enumerate(zip(self.mirrored, self.shape, strict=True)):
            if not twice:
                continue
            sign = -1.0 if self.kinds[field][i] == "sine" else 1.0
            line = np.moveaxis(np.array(values, dtype=float), i, 0)
            line[n // 2 + 1 :] = sign * line[1 : n // 2][::-1]
            if sign < 0:
                line[[0, n // 2]] = 0.0
            values = np.moveaxis(line, 0, i)
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
        """Per axis, the share of the modes in the highest quarter of those kept; the largest over the parts."""
        energy = np.abs(waves) ** 2
        space = tuple(range(1, energy.ndim))
        total = np.maximum(energy.sum(axis=space), 1e-300)
        found = []
        for k, m in zip(self.indices, self.modes, strict=True):
            high = (energy * (np.abs(k) > 0.75 * m)).sum(axis=space)
            found.append(math.sqrt(float((high / total).max())))
        return np.array(found)

    def bases(self, field: int) -> tuple[AxisBasis, ...]:
        return tuple(
            AxisBasis(kind, m, axis.lo, axis.hi)
            for kind, m, axis in zip(self.kinds[field], self.modes, self.axes, strict=True)
        )

    def coefficients(self, waves: np.ndarray, field: int) -> np.ndarray:
        """û as the real coefficients of the field's bases, axis by axis."""
        values = self.backward(waves)
        for i, (kind, m) in enumerate(zip(self.kinds[field], self.modes, strict=True)):
            line = np.moveaxis(
                scipy.fft.rfft(values, axis=values.ndim - len(self.shape) + i, norm="forward"),
                values.ndim - len(self.shape) + i,
                0,
            )[: m + 1]
            cosines, sines = 2 * line.real, -2 * line.imag[1:]
            cosines[0] /= 2
            parts = {"periodic": (cosines, sines), "cosine": (cosines,), "sine": (sines,)}[kind]
            values = np.moveaxis(np.concatenate(parts), 0, values.ndim - len(self.shape) + i)
        return values
