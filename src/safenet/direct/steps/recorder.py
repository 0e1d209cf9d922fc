"""y(t₀), y(t₁), … → polynomials of degree 8 in as few pieces of time as their accuracy allows."""

from __future__ import annotations

import numpy as np

from ...fields.pieces import TimePieces
from ...measure.relative import TINY
from .waves import Waves, squares

DEGREE = 8
LEAST, MOST = 10, 80  # steps in a piece
MEMORY = 2**25  # numbers that may wait to be fitted


class Recorder:
    """Takes the states of a run one by one."""

    def __init__(self, allowed: float) -> None:
        self.allowed = allowed
        # ∫ of the squared errors of the fits, and of the squared fields.
        self._missed, self._whole = np.zeros(1), np.zeros(1)
        self.times: list[float] = []
        self.states: list[np.ndarray] = []
        self.waves: Waves | None = None
        self.sizes = np.zeros(1)
        self.ends: list[float] = []
        self.pieces: list[tuple[Waves, list[np.ndarray]]] = []

    def add(self, t: float, state: np.ndarray, waves: Waves) -> None:
        """Add the unknowns along modes at the next time; the grid only ever gets finer."""
        if self.waves is not None and self.waves is not waves:
            self.states = [self.waves.onto(waves, one) for one in self.states]
        self.waves = waves
        self.times.append(t)
        self.states.append(state)
        most = min(max(MEMORY // (4 * state.size), LEAST), MOST)
        if len(self.times) > 2 * most:
            self._flush(0, most)
            self.times, self.states = self.times[most:], self.states[most:]

    def miss(self, time: float, apart: np.ndarray) -> None:
        """Count an error of the recorded states over so long a time."""
        self._missed = self._missed + time * _energy(apart[None])[0]

    def _flush(self, low: int, high: int) -> None:
        """Fit the nodes low … high as one piece, or as two halves if that is not accurate enough."""
        t, states = np.array(self.times[low : high + 1]), np.array(self.states[low : high + 1])
        self.sizes = np.maximum(self.sizes, np.sqrt(_energy(states).max(axis=0)))
        z = (2 * t - t[0] - t[-1]) / (t[-1] - t[0])
        fit = _fitting(z)
        coefficients = np.tensordot(fit, states, axes=1)
        table = np.polynomial.chebyshev.chebvander(z, len(fit) - 1)
        left = _energy(np.tensordot(table, coefficients, axes=1) - states).mean(axis=0)
        error = float(np.max(np.sqrt(left) / np.maximum(self.sizes, 1e-3 * self.sizes.max())))
        if error > self.allowed and high - low >= 2 * LEAST:
            middle = (low + high) // 2
            self._flush(low, middle)
            self._flush(middle, high)
            return
        self._missed = self._missed + (t[-1] - t[0]) * left
        self._whole = self._whole + (t[-1] - t[0]) * _energy(states).mean(axis=0)
        assert self.waves is not None
        whole = np.zeros((DEGREE + 1, *coefficients.shape[1:]), complex)
        whole[: len(coefficients)] = coefficients
        fields = [np.moveaxis(self.waves.coefficients(whole[:, f], f), 0, -1) for f in range(whole.shape[1])]
        self.ends = self.ends or [float(t[0])]
        self.ends.append(float(t[-1]))
        self.pieces.append((self.waves, fields))

    @property
    def represented(self) -> np.ndarray:
        """‖fit − u‖/‖u‖ over all time: of each field, and of all."""
        scale = np.where(self._whole > 0, self._whole, max(float(self._whole.max()), TINY))
        together = self._missed.sum() / max(float(self._whole.sum()), TINY)
        return np.sqrt([*(self._missed / scale), together])

    def form(self, until: float | None = None) -> TimePieces | None:
        """The field recorded so far; later states continue it.

        `until`: the end of a complete run, which the sum of its steps meets only up to rounding.
        """
        if len(self.times) > 1:
            self._flush(0, len(self.times) - 1)
            self.times, self.states = self.times[-1:], self.states[-1:]
        if self.waves is None or not self.pieces:
            return None
        self.ends[-1] = self.ends[-1] if until is None else until
        count = len(self.waves.kinds)
        bases = tuple(self.waves.bases(f) for f in range(count))
        coefficients = tuple(
            np.stack([_widened(fields[f], waves, self.waves, f) for waves, fields in self.pieces])
            for f in range(count)
        )
        return TimePieces(coefficients, np.array(self.ends), np.full(count + 1, np.nan), bases)


def _energy(states: np.ndarray) -> np.ndarray:
    """Σ |û|² of each state and field."""
    return np.asarray(np.sum(squares(states), axis=tuple(range(2, states.ndim))))


def _fitting(z: np.ndarray) -> np.ndarray:
    """Values at nodes z in [−1, 1] → Chebyshev coefficients: least squares, exact at both ends."""
    degree = min(DEGREE, len(z) - 1)
    table = np.polynomial.chebyshev.chebvander(z, degree)
    ends = table[[0, -1]]
    # Lagrange's equations for min ‖Tc − y‖ with the ends fixed.
    system = np.block([[table.T @ table, ends.T], [ends, np.zeros((2, 2))]])
    right = np.vstack([table.T, np.eye(len(z))[[0, -1]]])
    return np.asarray(np.linalg.solve(system, right)[: degree + 1])


def _widened(values: np.ndarray, old: Waves, new: Waves, field: int) -> np.ndarray:
    """Coefficients, with zeros for the modes that a later grid has in addition."""
    for axis, (kind, m, more) in enumerate(zip(new.kinds[field], old.modes, new.modes, strict=True)):
        if m == more:
            continue
        line = np.moveaxis(values, axis, 0)
        cosines = 0 if kind == "sine" else m + 1
        gap = np.zeros((more - m, *line.shape[1:]))
        parts = ([line[:cosines], gap] if cosines else []) + (
            [line[cosines:], gap] if kind != "cosine" else []
        )
        values = np.moveaxis(np.concatenate(parts), 0, axis)
    return values
