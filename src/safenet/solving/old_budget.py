"""seconds × multiplications per second → sizes: a time budget is resolved once, into numbers that a plan can replay.

The machine is measured for a moment; from then on the clock decides nothing but whether the plan is interrupted: the
same plan gives the same bits, and one that ran out of time can be resumed to its end.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..direct.cells import Subdivision
from ..direct.direct import LeastSquares, Marching
from ..direct.march import SlabMarching
from ..direct.modes import Modes
from ..errors import SafeNetError
from ..run.progress import Both, Monitor
from ..train.optimisers.levenberg import LevenbergMarquardt

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """`60s`, `90`, `5m`, `2min`, `1h`, `1e-05` as seconds."""
    match = re.fullmatch(r"\s*((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in UNITS or not 0 < float(match[1]) < math.inf:
        raise SafeNetError(f"the budget {text!r} is not a time", "write e.g. 60s, 5m or 1h")
    return float(match[1]) * UNITS[match[2]]


def multiplications_per_second() -> float:
    """The rate of a Gram product in float64, what every solver here mostly does: the best of five."""
    matrix = np.random.default_rng(0).random((1200, 600))
    best = np.inf
    for _ in range(5):
        began = time.perf_counter()
        matrix.T @ matrix
        best = min(best, time.perf_counter() - began)
    return matrix.size * matrix.shape[1] / best


def within(phase: Any, work: float, rows: int, parameters: int) -> Any:
    """The phase with the sizes that `work` multiplications allow; estimates, so it aims and does not promise."""
    if isinstance(phase, LeastSquares):
        # QR of 3.25 n rows, twice over for the Newton steps, all smaller levels together an eighth more.
        return replace(phase, unknowns=_between(300, (0.4 * work / 7.5) ** (1 / 3), 6000))
    if isinstance(phase, Marching):
        # About ten slabs of three Newton steps on 1.7 n rows; the finer passes may spend what is left.
        size = _between(300, (0.5 * work / 51) ** (1 / 3), 4500)
        return replace(
            phase, unknowns=size, work=min(phase.work, 0.4 * work) if phase.work < 1e200 else phase.work
        )
    if isinstance(phase, SlabMarching):
        return phase if phase.insist else replace(phase, work=0.4 * work)
    if isinstance(phase, Modes):
        return replace(phase, unknowns=_between(300, (0.3 * work / 10) ** (1 / 3), 4000))
    if isinstance(phase, Subdivision):
        # Measured: all levels to n amplitudes take about 1.5e7 n multiplications.
        return replace(phase, unknowns=_between(1000, 0.7 * work / 1.5e7, 200_000))
    if isinstance(phase, LevenbergMarquardt):
        # Jacobian and trials run at a third of the rate of a bare product.
        step = 3 * (rows + 2 * parameters) * parameters**2
        return replace(phase, iterations=_between(5, 0.8 * work / step, 2000))
    raise SafeNetError(
        "a budget goes with the default recipe, whose sizes are ours to choose",
        "leave out --budget, or shorten a paper recipe with --scale",
    )


class Spent(KeyboardInterrupt):
    """The budget's Ctrl-C: whatever stops a run, it stops in one way."""


class Deadline(Both):
    """Passes everything on to a watcher; interrupts the run once `budget` seconds are spent since `began`.

    What a part of a phase found is kept first, and nothing is interrupted before there is something to keep. A part
    takes about as long as the one before: none is begun that would end beyond `LATE` budgets.
    """

    LATE = 1.2

    def __init__(self, monitor: Monitor, budget: float, began: float) -> None:
        super().__init__(monitor)
        self.budget, self.began = budget, began
        self.part = time.monotonic()  # when the part at hand began
        self.something = self.spent = False

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        super().phase(name, detail, fraction)
        now = time.monotonic()
        last, self.part = now - self.part, now
        self._look(ahead=last)

    def step(self, iteration: int, loss: float) -> None:
        super().step(iteration, loss)
        self._look()

    def network(self, current: Callable[[], Any]) -> None:
        super().network(current)
        self.something = True
        self._look()

    def _look(self, ahead: float = 0.0) -> None:
        passed = time.monotonic() - self.began
        late = passed > self.budget or passed + ahead > self.LATE * self.budget
        if late and self.something and not self.spent:
            self.spent = True
            raise Spent


def _between(least: int, value: float, most: int) -> int:
    return int(min(max(value, least), most))
