"""seconds left ≈ pace · (cost still to come), for the current part and all parts expected after it.

The pace is that of the last fifth of the current part, since marches begin with short steps and everything begins with
compiling; until it is known, that of the previous part. If a solver does not say what comes next, the time is for the
current part alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

SOON = 0.02  # share of a part before which its pace says nothing
LATELY = 0.2  # share of a part's time over which its current pace is taken


def duration(seconds: float) -> str:
    """42 s, 3.5 min, 2.1 h"""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class Outlook:
    """How far a solve is, part by part, and how long the rest may take."""

    def __init__(self) -> None:
        self.costs: tuple[float, ...] = ()  # of the current part and those after it; empty if not known
        self.sure = True  # whether those after it come at all
        self.pace: float | None = None  # seconds per unit of cost
        self.reports: list[tuple[float, float]] = []  # (time, fraction done) of the current part
        self.end = math.inf  # end of the budget, in time.monotonic()

    def expect(self, costs: Sequence[float], sure: bool = True) -> None:
        """A part begins; `costs` are its own and those of the parts after it, in one unit throughout a run."""
        self.costs, self.sure, self.reports = tuple(costs), sure, []
        self.pace = self.pace if costs else None

    def reached(self, fraction: float) -> None:
        """This fraction of the current part is done."""
        if self.reports and fraction < self.reports[-1][1]:  # a part that was not announced
            self.expect(())
        if not self.reports or fraction > self.reports[-1][1]:
            self.reports.append((time.monotonic(), fraction))
        (began, first), (now, _) = self.reports[0], self.reports[-1]
        if fraction - first > SOON:
            at, done = next(one for one in reversed(self.reports) if one[0] <= now - LATELY * (now - began))
            self.pace = (now - at) / ((fraction - done) * (self.costs or (1.0,))[0])

    def left(self, all_parts: bool = True) -> float | None:
        """Seconds left; None if nothing is known, or if the solve takes longer than was expected."""
        if self.pace is None:
            return None
        when, done = self.reports[-1] if self.reports else (time.monotonic(), 0.0)
        own, *behind = self.costs or (1.0,)
        now = time.monotonic()
        left = self.pace * ((1 - done) * own + all_parts * sum(behind)) - (now - when)
        return min(left, self.end - now) if left > 0 else None

    def __str__(self) -> str:
        """about 25 s left; in this pass alone if no more is known; empty if nothing is known."""
        left, own = self.left(), self.left(all_parts=False)
        if left is None or (own is None and not self.sure):
            return ""
        if self.costs and (self.sure or len(self.costs) == 1):
            return f"about {duration(left)} left"
        further = f", about {duration(left)} in all if finer passes follow" if len(self.costs) > 1 else ""
        return f"about {duration(own or left)} left in this pass{further}"
