"""What a row has beyond the result: error and gradient during training, seconds per iteration without compiling."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..measure.scores import evaluate_network, reference_values, relative_error
from ..problem import Problem
from ..problem.toml import dumps
from ..run.checkpoint import write_atomically
from ..run.progress import Monitor
from ..solution import Solution

SHARE = 0.05  # of the time may be spent on computing the error
NOTES, SUMMARY = "notes.jsonl", "watched.json"


@lru_cache(1)
def _truth(statement: str, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Points and reference values, computed once for all seeds of a problem: a reference may be a slow quadrature.

    The statement is part of the cache's key because problems that differ only in their known solution are equal.
    """
    return reference_values(problem)


class Watch(Monitor):
    """Appends error and gradient to a file in the run folder, so that a run continued after a kill has one curve.

    Iteration numbers do not survive a restart and a choice among candidates, but losses do: a note belongs to the row
    of the history that has exactly the same loss.
    """

    def __init__(self, problem: Problem, folder: Path) -> None:
        self.problem, self.folder, self.share = problem, folder, SHARE
        self.began = time.monotonic()
        self.spent = 0.0
        self.name, self.loss = "", float("nan")
        self.last: tuple[int, float] | None = None
        self.steps: dict[str, list[float]] = {}

    @cached_property
    def statement(self) -> str:
        return dumps(self.problem)

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        self.name, self.last = name, None

    def losses(self, iteration: int, total: int, loss: float, terms: Mapping[str, float]) -> None:
        now = time.monotonic()
        # The first step of a phase compiles, so the pace is that of the later steps.
        if self.last is not None and iteration > self.last[0]:
            count, seconds = self.steps.get(self.name, [0, 0.0])
            self.steps[self.name] = [count + iteration - self.last[0], seconds + now - self.last[1]]
        self.last, self.loss = (iteration, now), loss

    def gradient(self, norm: float) -> None:
        self._note(gradient=norm)

    def network(self, current: Callable[[], Any]) -> None:
        began = time.monotonic()
        if (
            self.last is None
            or not self.problem.has_reference
            or self.spent > self.share * (began - self.began)
        ):
            return
        points, truth = _truth(self.statement, self.problem)
        error = relative_error(evaluate_network(current(), points, (0,) * points.shape[1]), truth)
        now = time.monotonic()
        self.spent += now - began
        self.last = self.last[0], now
        self._note(error=error, spent=now - began)

    def _note(self, **seen: float) -> None:
        with (self.folder / NOTES).open("a") as stream:
            stream.write(json.dumps({"loss": self.loss, **seen}) + "\n")

    def save(self, solution: Solution) -> None:
        """Write the curves of the chosen candidate, found by its full history; only once."""
        if (self.folder / SUMMARY).exists() and not (self.folder / NOTES).exists():
            return
        iterations = {total: number for number, total in solution.history[:, :2].tolist()}
        notes = self._notes()

        def curve(name: str) -> list[list[float]]:
            seen = [note for note in notes if name in note and note["loss"] in iterations]
            return sorted([iterations[note["loss"]], note[name]] for note in seen)

        summary = {
            "error": curve("error"),
            "gradient": curve("gradient"),
            "spent": sum(note.get("spent", 0.0) for note in notes),
            "pace": {name: seconds / count for name, (count, seconds) in self.steps.items() if count},
        }
        write_atomically(self.folder / SUMMARY, json.dumps(summary).encode())
        (self.folder / NOTES).unlink(missing_ok=True)

    def saved(self) -> dict[str, Any]:
        nothing: dict[str, Any] = {"error": [], "gradient": [], "spent": 0.0, "pace": {}}
        try:
            told: dict[str, Any] = json.loads((self.folder / SUMMARY).read_text("utf-8"))
        except (OSError, ValueError):
            return nothing
        return nothing | told

    def _notes(self) -> list[dict[str, float]]:
        """The notes, including those of earlier processes; a line that a kill cut off is skipped."""
        found = []
        path = self.folder / NOTES
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            try:
                found.append({name: float(number) for name, number in json.loads(line).items()})
            except (ValueError, TypeError, AttributeError):
                continue
        return found
