"""y(t + θh) for 0 < θ < 1: what a run records inside its steps, where their ends do not tell.

A polynomial through the ends of ten steps of one length is right between them, too. Behind a change of length it need
not be, and what decays within the first step (a short wave in the initial values) leaves nothing at its ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .adams import VALUES, Adams
from .recorder import LEAST, Recorder

INSIDE = 0.25, 0.5, 0.75  # of a step: where it is recorded behind a change of length
OCTAVE = np.linspace(0.5, 1.0, 9)[:-1]  # the same in each octave [θ/2, θ] of the first step
OCTAVES = 20  # of the first step, at most
STRAIGHT = 1e-3  # y(θ) − 2 y(θ/2) + y(0) relative to y: below, a polynomial follows it down to θ = 0


class Between:
    """Takes the steps of a run one by one, and adds states to its recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._fresh, self._length = 0, 0.0  # steps since their length has changed, and that length
        self._waiting: list[tuple[float, float, Any, np.ndarray, bool]] = []
        self._first = True

    def add(self, adams: Adams, t: float, h: float, y: Any, state: np.ndarray) -> None:
        """A step from y at t, and all unknowns behind it; the first ones wait for the values of N."""
        same = 0.7 < h / (self._length or h) < 1.4
        self._fresh, self._length = (self._fresh + 1, self._length) if same else (0, h)
        self._waiting.append((t, h, y, state, self._fresh <= LEAST))
        if len(adams.times) >= VALUES:
            self.flush(adams)

    def flush(self, adams: Adams) -> None:
        """Record what waits, before the grid changes or the run ends."""
        evolution = adams.evolution
        for t, h, y, state, fresh in self._waiting:
            shares = self._octaves(adams, t, h, y) if self._first else INSIDE if fresh else ()
            for share in shares:
                inside = evolution.unknowns(t + share * h, adams.within(t, y, share * h))
                self.recorder.add(t + share * h, inside, evolution.waves)
            if (
                fresh
            ):  # how far the polynomial of N is off is seen at the end, where the step itself is better
                self.recorder.miss(h, evolution.unknowns(t + h, adams.within(t, y, h)) - state)
            self.recorder.add(t + h, state, evolution.waves)
            self._first = False
        self._waiting = []

    def _octaves(self, adams: Adams, t: float, h: float, y: Any) -> Iterator[float]:
        """θ of the first step: eight in each octave, down to the one in which y is nearly straight."""
        end, size, count = adams.within(t, y, h), np.linalg.norm(y) or 1.0, 1
        while count < OCTAVES:
            middle = adams.within(t, y, h / 2**count)
            if np.linalg.norm(end - 2 * middle + y) < STRAIGHT * size:
                break
            end, count = middle, count + 1
        yield from (2 * OCTAVE[1:] - 1) * 0.5**count
        for octave in range(count, 0, -1):
            yield from OCTAVE * 2.0 ** (1 - octave)
