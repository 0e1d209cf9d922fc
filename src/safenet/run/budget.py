"""A time budget: sizes are chosen from it once, after that it only says when to stop.

The same plan gives the same bits: the clock never changes a plan, it only ends a run early. A run that ended early can
be resumed to its end.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from ..errors import SafeNetError

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
ENDING = 0.1  # share of a budget that is kept for measuring and saving what was found
FLOOR = 5.0  # seconds before which a solve with nothing to keep is not stopped: loading and compiling take so long

WAITING = 0.05  # seconds between two looks at the clock while something else computes
LEFT_BEHIND = "safenet: left behind"  # the name of a thread that nobody waits for any more

T = TypeVar("T")


def seconds(text: str) -> float:
    """`60s`, `90`, `5m`, `2min`, `1h`, `1e-05` as seconds."""
    match = re.fullmatch(r"\s*((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in UNITS or not 0 < float(match[1]) < math.inf:
        raise SafeNetError(f"the budget {text!r} is not a time", "write e.g. 60s, 5m or 1h")
    return float(match[1]) * UNITS[match[2]]


def multiplications_per_second() -> float:
    """The rate of a Gram product in float64, the main work of every direct solver: the best of five."""
    matrix = np.random.default_rng(0).random((1200, 600))
    best = math.inf
    for _ in range(5):
        began = time.perf_counter()
        matrix.T @ matrix
        best = min(best, time.perf_counter() - began)
    return float(matrix.size * matrix.shape[1] / best)


class SpentError(Exception):
    """No time is left for work that is worth nothing unless it is finished, such as an estimate."""


@dataclass
class Budget:
    """`total` seconds from `began` on; solvers ask `over()` wherever they could stop and keep what they have.

    They should stop when a tenth is left, which measuring and saving takes. While there is nothing to keep (not
    `found`), they stop only at the end, and never in the first seconds. `spent`: a solver was told to stop.
    """

    total: float = math.inf
    began: float = field(default_factory=time.monotonic)
    found: bool = False
    spent: bool = False

    @property
    def left(self) -> float:
        return self.total - (time.monotonic() - self.began)

    @property
    def room(self) -> float:
        """Seconds until a solver should stop, not counting those that are kept for the end."""
        return self.left if math.isinf(self.total) else self.left - ENDING * self.total

    def over(self, ahead: float = 0.0) -> bool:
        """Whether to stop now; `ahead` is how long the next part is expected to take."""
        if math.isinf(self.total):
            return self.spent
        left = self.left
        late = left < ENDING * self.total or ahead > left
        if late and (self.found or self.total - left > max(self.total, FLOOR)):
            self.spent = True
        return self.spent

    def insist(self) -> None:
        """Raise if the time is over."""
        if self.over():
            raise SpentError


def awaited(budget: Budget, function: Callable[..., T], *arguments: object) -> T:
    """function(*arguments), or SpentError as soon as the time is over.

    XLA cannot be stopped while it compiles, which takes seconds or minutes, but nobody has to wait for it: it goes on
    in a thread of its own, and its result is dropped.
    """
    if math.isinf(budget.total):
        return function(*arguments)
    promise: Future[T] = Future()

    def compute() -> None:
        try:
            promise.set_result(function(*arguments))
        except BaseException as error:  # raised again in the thread that waits
            promise.set_exception(error)

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        while not promise.done():
            thread.join(WAITING)
            if not promise.done():
                budget.insist()
    except BaseException:
        thread.name = LEFT_BEHIND
        raise
    return promise.result()


def left_behind() -> bool:
    """Whether a thread that nobody waits for is still computing."""
    return any(thread.name == LEFT_BEHIND for thread in threading.enumerate())
