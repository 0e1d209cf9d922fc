"""A direct solve in progress: what it has found, how good that is, and where to continue."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..run.budget import Budget
from .thresholds import LEVELS_GROW


@dataclass(frozen=True)
class Direct:
    """The state after a level or a slab, from which a pass continues; `cursor` holds only what JSON can."""

    field: Any = None  # its type depends on the pass
    residual: float = math.inf
    iterations: int = 0
    evaluations: int = 0
    cursor: dict[str, Any] = dataclasses.field(default_factory=dict)
    done: bool = False
    given_up: bool = False  # the pass ended without solving the problem
    final: bool = False  # no other pass would do better: solved, or the solution itself ends or jumps
    suspect: bool = False  # provisional: final only if the next, finer pass stops at the same point
    stopped: bool = False  # out of time; a resumed pass continues from here
    reason: str = ""


class Parts:
    """How long parts of a pass take: longer than the last by as much as that was, by a factor within `growth`."""

    def __init__(self, budget: Budget, growth: tuple[float, float] = (1.0, 1.0)) -> None:
        self.budget, self.growth = budget, growth
        self.began: float | None = None
        self.before = 0.0

    def over(self) -> bool:
        """Whether to stop instead of starting another part."""
        now = time.monotonic()
        last = 0.0 if self.began is None else now - self.began
        least, most = self.growth
        growth = min(max(last / self.before, least), most) if self.before > 0 else least
        self.began, self.before = now, last
        return self.budget.over(ahead=growth * last)


def levels(
    state: Direct,
    budget: Budget,
    level: Callable[[Direct], Direct],
    growth: tuple[float, float] = (1.0, LEVELS_GROW),
) -> Iterator[Direct]:
    """state, level(state), level(level(state)), … until one is done or there is no time for the next."""
    parts = Parts(budget, growth)
    while not (state.done or state.stopped):
        state = replace(state, stopped=True) if parts.over() else level(state)
        yield state
