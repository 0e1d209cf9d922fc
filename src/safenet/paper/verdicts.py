"""measured against claimed → reproduced, partly, not reproduced, too few runs, or not measured yet. All thresholds.

If only some of a claim's problems have rows, the best verdict is «partly»; if fewer than half have, «too few runs». The
verdict is also «too few runs» if fewer than half of the seeds, each taken alone, give the verdict of the medians.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

REPRODUCED, PARTLY, NOT = "reproduced", "partly", "not reproduced"
UNDECIDABLE, TOO_FEW, UNMEASURED = "cannot be decided", "too few runs", "not measured yet"
VERDICTS = (REPRODUCED, PARTLY, NOT, UNDECIDABLE, TOO_FEW, UNMEASURED)

MOST, SOME = 0.75, 0.25  # shares of the cases: reproduced, partly
NEARLY, HALF = 0.9, 0.5  # shares of a claimed gain: reproduced, partly
SAME = 2.0  # errors within this factor of each other are the same
SEEDS = 5  # in every cell of the paper
UNSOLVED = 0.5  # an error this large or larger does not solve the problem: no better than diverging
SHARES = f"{MOST:.0%} of the cases or more: reproduced; {SOME:.0%}: partly."
ALIKE = f"within a factor of {SAME:g}, or neither solves the problem: {UNSOLVED:g} or more, or diverged (✱)"
GAINS = f"{NEARLY:.0%} of the claimed gain or more: reproduced; {HALF:.0%}: partly."


@dataclass(frozen=True)
class Finding:
    """Our measurement in words, and the verdict on the claim; `covered` of the `wanted` problems have rows."""

    ours: str
    verdict: str
    covered: int = 1
    wanted: int = 1
    unit: str = "problems"
    seeds: int = field(
        default=0, compare=False
    )  # of the cell with fewest; 0: it does not rest on errors of runs
    alone: tuple[str, ...] = field(default=(), compare=False)  # the verdict by each seed alone

    @property
    def rests(self) -> str:
        """on 1 cell with 1 seed; on 8 problems, some with 1 seed; empty where seeds have no part in it"""
        if not self.seeds:
            return ""
        seeds = f"{self.seeds} seed{'s' if self.seeds > 1 else ''}"
        if self.covered == 1:
            return f"on 1 {self.unit.removesuffix('s')} with {seeds}"
        return f"on {self.covered} {self.unit}" + (
            f", some with {seeds}" if self.seeds < SEEDS else f" with {seeds}"
        )

    @property
    def limited(self) -> Finding:
        """The best verdict that the covered problems allow."""
        if self.covered == self.wanted:
            return self
        ours = f"{self.ours} ({self.covered} of {self.wanted} {self.unit} measured)" if self.ours else ""
        if 2 * self.covered < self.wanted:
            return replace(self, ours=ours, verdict=TOO_FEW if ours else UNMEASURED)
        return replace(self, ours=ours, verdict=PARTLY if self.verdict == REPRODUCED else self.verdict)

    def steady(self, alone: Sequence[str]) -> Finding:
        """A verdict that fewer than half of the seeds give on their own is due to chance: «too few runs»."""
        chance = 2 * alone.count(self.verdict) < len(alone)
        return replace(self, verdict=TOO_FEW if chance else self.verdict, alone=tuple(alone))


NOTHING = Finding("", UNMEASURED, 0, 1)


def by_share(good: float, cases: float, most: float = MOST, some: float = SOME) -> str:
    """The verdict by the share of cases that are as claimed."""
    if not cases:
        return UNMEASURED
    return REPRODUCED if good >= most * cases else PARTLY if good >= some * cases else NOT


def of_all(kept: Sequence[bool]) -> str:
    """All of several things: reproduced; any of them: partly."""
    return REPRODUCED if all(kept) else PARTLY if any(kept) else NOT


def at_least(measured: float, claimed: float) -> str:
    """The verdict on a gain: reproduced if it is nearly as large as claimed, or larger."""
    return REPRODUCED if measured >= NEARLY * claimed else PARTLY if measured >= HALF * claimed else NOT


def on_every(good: int, cases: int) -> str:
    """«On every problem»: all, or at least half of them."""
    return by_share(good, cases, most=1.0, some=HALF)


def same(ours: float, paper: float | None) -> bool:
    """Whether they agree within a factor of two, or neither solves the problem. None is the paper's «*»."""
    theirs = math.inf if paper is None else paper
    return min(ours, theirs) >= UNSOLVED or theirs / SAME <= ours <= theirs * SAME < math.inf


def better(ours: float, paper: float | None) -> bool:
    """Whether ours is smaller, and not `same`."""
    return not same(ours, paper) and (paper is None or ours < paper)
