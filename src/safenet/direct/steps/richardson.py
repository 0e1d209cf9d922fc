"""e ≈ d₂ (r₃/r₂)^p, d₂/d₁ = (r₂/r₁)^p: the error of the last of several runs, each tighter than the one before.

d₁ and d₂ are the differences between runs with tolerances r₁, r₂, r₃. Each difference is the error of the looser
run. The last run has no tighter one beside it: its error is extrapolated from how the differences fell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...measure.relative import relative
from ..thresholds import GAIN, NO_DIGIT, SLACK

EPS = float(np.finfo(float).eps)


@dataclass
class Tightening:
    """The values of the runs so far at some points, (points, fields), and what they say about the last."""

    rtols: list[float] = field(default_factory=list)
    values: np.ndarray | None = None
    differences: list[np.ndarray] = field(default_factory=list)

    def after(self, rtol: float, values: np.ndarray) -> np.ndarray:
        """The estimated relative error of a new run with these values, of each field and of all; nan for the first."""
        before, self.values = self.values, values
        self.rtols.append(rtol)
        if before is None:
            return np.full(values.shape[1] + 1, np.nan)
        loose = self.rtols[-2]
        found = np.maximum(relative(values - before, values), EPS)
        self.differences.append(found)
        fall = np.full_like(found, (rtol / loose) ** GAIN)
        if len(self.differences) > 1:
            power = math.log(rtol / loose) / math.log(loose / self.rtols[-3])
            fall = np.clip((found / self.differences[-2]) ** power, rtol / loose, 1.0)
        # If the looser run has no correct digit, the fall does not tell how good the tighter one is.
        fall = np.where(found > NO_DIGIT, 1.0, fall)
        # Rounding is amplified as the error of the looser run was.
        rounding = SLACK * EPS * np.maximum(found / loose, 1.0)
        return np.asarray(np.maximum(found * fall, rounding))
