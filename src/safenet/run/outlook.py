"""seconds left ≈ pace · (cost still to come): of the part that runs, and of all parts that are expected behind it.

The pace is that of the last fifth of the part at hand, since marches begin with short steps, and compiling comes before
all of them; until there is one, that of the part before. Where a solver does not say what comes next, the time is that
of this part alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

SOON = 0.02  # of a part: before, its pace says nothing
LATELY = 0.2  # of the time of a part: its present pace is taken over so much


def duration(seconds: float) -> str:
    """42 s, 3.5 min, 2.1 h"""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Outlook:
    """How far a solve is, part by part, and how long the rest may take."""

    def __init__(self) -> None:
        self.costs: tuple[float, ...] = ()  # of the part at hand and of those behind it; none: not known
        self.sure = True  # that those behind it come at all
        self.pace: float | None = None  # seconds for a unit of cost
        self.reports: list[tuple[float, float]] = []  # (time, fraction done) of the part at hand
        self.end = math.inf  # of a budget, by time.monotonic()

    def expect(self, costs: Sequence[float], sure: bool = True) -> None:
        """A part begins; `costs` are its own and those of the parts behind it, in one unit throughout a run."""
        self.costs, self.sure, self.reports = tuple(costs), sure, []
        self.pace = self.pace if costs else None

    def reached(self, fraction: float) -> None:
        """So much of the part at hand is done."""
        if self.reports and fraction < self.reports[-1][1]:  # a part that nobody announced
            self.expect(())
        if not self.reports or fraction > self.reports[-1][1]:
            self.reports.append((time.monotonic(), fraction))
        (began, first), (now, _) = self.reports[0], self.reports[-1]
        if fraction - first > SOON:
            at, done = next(one for one in reversed(self.reports) if one[0] <= now - LATELY * (now - began))
            self.pace = (now - at) / ((fraction - done) * (self.costs or (1.0,))[0])

    def left(self, all_parts: bool = True) -> float | None:
        """Seconds; None while nothing is known, or when all the time that was expected is over."""
        if self.pace is None:
            return None
        when, done = self.reports[-1] if self.reports else (time.monotonic(), 0.0)
        own, *behind = self.costs or (1.0,)
        now = time.monotonic()
        left = self.pace * ((1 - done) * own + all_parts * sum(behind)) - (now - when)
        return min(left, self.end - now) if left > 0 else None

    def __str__(self) -> str:
        """about 25 s left; of this pass alone where nothing else is known; empty while nothing is."""
        left, own = self.left(), self.left(all_parts=False)
        if left is None or (own is None and not self.sure):
            return ""
        if self.costs and (self.sure or len(self.costs) == 1):
            return f"about {duration(left)} left"
        further = f", {duration(left)} if finer ones follow" if len(self.costs) > 1 else ""
        return f"about {duration(own or left)} left in this pass{further}"
