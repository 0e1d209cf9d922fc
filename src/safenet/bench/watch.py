"""What a row says beyond the result: the error along the way, and seconds per iteration without the compiling."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..problem import Problem
from ..solution import Solution, evaluate_network, reference_values, relative_error
from ..training.checkpoint import write_atomically
from ..training.progress import Monitor

SHARE = 0.05  # of the time may go into looking at the error
LOOKS, SUMMARY = "looks.jsonl", "watched.json"

# Computed once for all seeds of a problem: a reference may be a quadrature.
_truth = lru_cache(1)(reference_values)


class Watch(Monitor):
    """Notes (loss, L2RE, seconds) in the run folder, so that a run that is killed and continued has one curve.

    An iteration has no number that survives a restart and a choice among candidates, but it has a loss: the look
    belongs to the row of the history with the same one, to the bit.
    """

    def __init__(self, problem: Problem, folder: Path) -> None:
        self.problem, self.folder, self.share = problem, folder, SHARE
        self.began = time.monotonic()
        self.spent = 0.0
        self.name, self.loss = "", float("nan")
        self.last: tuple[int, float] | None = None
        self.steps: dict[str, list[float]] = {}

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        self.name, self.last = name, None

    def losses(self, iteration: int, total: int, loss: float, terms: Mapping[str, float]) -> None:
        now = time.monotonic()
        # The first step of a phase compiles; the pace is that of those after it.
        if self.last is not None and iteration > self.last[0]:
            count, seconds = self.steps.get(self.name, [0, 0.0])
            self.steps[self.name] = [count + iteration - self.last[0], seconds + now - self.last[1]]
        self.last, self.loss = (iteration, now), loss

    def network(self, current: Callable[[], Any]) -> None:
        began = time.monotonic()
        if (
            self.last is None
            or not self.problem.has_reference
            or self.spent > self.share * (began - self.began)
        ):
            return
        points, truth = _truth(self.problem)
        error = relative_error(evaluate_network(current(), points, (0,) * points.shape[1]), truth)
        now = time.monotonic()
        self.spent += now - began
        self.last = self.last[0], now
        with (self.folder / LOOKS).open("a") as stream:
            stream.write(json.dumps([self.loss, error, now - began]) + "\n")

    def save(self, solution: Solution) -> None:
        """The curve of the candidate that was chosen, by its whole history."""
        iterations = {total: number for number, total in solution.history[:, :2].tolist()}
        looks = self._looks()
        summary = {
            "error": sorted([iterations[loss], error] for loss, error, _ in looks if loss in iterations),
            "spent": sum(seconds for *_, seconds in looks),
            "pace": {name: seconds / count for name, (count, seconds) in self.steps.items() if count},
        }
        write_atomically(self.folder / SUMMARY, json.dumps(summary).encode())
        (self.folder / LOOKS).unlink(missing_ok=True)

    def saved(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.folder / SUMMARY).read_text("utf-8")))
        except (OSError, ValueError):
            return {"error": [], "spent": 0.0, "pace": {}}

    def _looks(self) -> list[list[float]]:
        """Those noted by earlier processes too; a line that a kill cut off is none."""
        found = []
        path = self.folder / LOOKS
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            try:
                found.append([float(number) for number in json.loads(line)])
            except (ValueError, TypeError):
                continue
        return found
