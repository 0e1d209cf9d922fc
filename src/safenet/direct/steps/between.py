"""y(t + θh) for 0 < θ < 1: states recorded inside steps, if their ends do not suffice.

A polynomial through the ends of ten steps of one length is also accurate between them; after a change of length it need
not be. (Nothing that matters settles within the first step: see `settling`.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .adams import VALUES, Adams
from .recorder import LEAST, Recorder

INSIDE = 0.25, 0.5, 0.75  # of a step: where states are recorded after a change of length


class Between:
    """Takes the steps of a run one by one, and adds states to its recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._fresh, self._length = 0, 0.0  # steps since their length has changed, and that length
        self._waiting: list[tuple[float, float, Any, np.ndarray, bool]] = []

    def add(self, adams: Adams, t: float, h: float, y: Any, state: np.ndarray) -> None:
        """Add a step from y at t, with all unknowns after it; the first steps wait for enough values of N."""
        same = 0.7 < h / (self._length or h) < 1.4
        self._fresh, self._length = (self._fresh + 1, self._length) if same else (0, h)
        self._waiting.append((t, h, y, state, self._fresh <= LEAST))
        if len(adams.times) >= VALUES:
            self.flush(adams)

    def flush(self, adams: Adams) -> None:
        """Record the waiting steps, before the grid changes or the run ends."""
        evolution = adams.evolution
        for t, h, y, state, fresh in self._waiting:
            for share in INSIDE if fresh else ():
                inside = evolution.unknowns(t + share * h, adams.within(t, y, share * h))
                self.recorder.add(t + share * h, inside, evolution.waves)
            # The error of the polynomial through N shows at the end, where the step itself is more accurate.
            if fresh:
                self.recorder.miss(h, evolution.unknowns(t + h, adams.within(t, y, h)) - state)
            self.recorder.add(t + h, state, evolution.waves)
        self._waiting = []
