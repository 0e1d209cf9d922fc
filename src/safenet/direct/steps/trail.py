"""A run of exponential steps: its step sizes, snapshots of its states, and how another run differs from it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...measure.relative import TINY, shares
from ..thresholds import SNAPSHOTS
from .adams import VALUES
from .waves import Waves


@dataclass
class Trail:
    """A run: its steps, its modes at the end, its states at some of the steps, and what was recorded."""

    steps: list[tuple[float, float]]  # beginning and length
    waves: Waves
    grids: list[Waves] = field(default_factory=list)  # the modes of each step
    form: Any = None
    snapshots: dict[int, tuple[Waves, np.ndarray]] = field(default_factory=dict)
    stride: int = 1  # between snapshots
    represented: np.ndarray = field(default_factory=lambda: np.zeros(1))
    # The tail of the spectrum at the end: of each unknown, and the largest.
    tail: np.ndarray = field(default_factory=lambda: np.zeros(1))
    local: float = 0.0  # the errors of all steps, added
    ended: str = ""  # why it did not reach the end: "stopped", "cost", "modes", "failed"
    t: float = 0.0
    single: float | None = None  # until when it uses the one-step method, if another run decided that

    def keep(self, state: np.ndarray) -> None:
        """Keep the state after every `stride`-th step as a snapshot; if there are too many, drop every second one."""
        if len(self.steps) % self.stride:
            return
        self.snapshots[len(self.steps)] = self.grids[-1], state
        if len(self.snapshots) > SNAPSHOTS:
            self.stride *= 2
            self.snapshots = {n: one for n, one in self.snapshots.items() if n % self.stride == 0}

    @property
    def starting(self) -> float:
        """Until when the one-step method was used: the multistep method needs a few values to start from."""
        if self.single is not None:
            return self.single
        t, h = self.steps[min(VALUES, len(self.steps)) - 1]
        return t - 1e-9 * h if len(self.steps) >= VALUES else t + h

    def refined(self, ratio: float) -> Iterator[tuple[int, list[tuple[float, float]]]]:
        """Groups of steps shorter by `ratio` or more, each with the number of old steps up to its end.

        Old steps of one length between two snapshots are divided as a whole, so the ratio need not be an integer.
        """
        first = 0
        for number in range(1, len(self.steps) + 1):
            whole = number == len(self.steps) or self.steps[number][1] != self.steps[first][1]
            if whole or number in self.snapshots:
                (t, h), old = self.steps[first], number - first
                new = math.ceil(ratio * old - 1e-9)
                yield number, [(t + i * old * h / new, old * h / new) for i in range(new)]
                first = number

    def differences(self, rougher: Trail) -> np.ndarray:
        """The relative difference of the unknowns between two runs, over their snapshots: of each, and of all."""
        apart, sizes = np.zeros(1), np.zeros(1)
        pairs = zip(self.snapshots.values(), rougher.snapshots.values(), strict=True)
        for (waves, state), (other_waves, other) in pairs:
            space = tuple(range(1, state.ndim))
            apart = apart + np.sum(np.abs(state - other_waves.onto(waves, other)) ** 2, axis=space)
            sizes = sizes + np.sum(np.abs(state) ** 2, axis=space)
        return np.asarray(np.sqrt(shares(apart, sizes, apart.sum() / max(float(sizes.sum()), TINY))))
