"""A solve on the terminal: phase, iteration, loss terms, error where known, time left; plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from .problem import Problem
from .training.progress import Monitor

LINE_EVERY = 5.0  # seconds between lines where there is no terminal to redraw
FIRST_LINE = 2.0  # seconds before the first of them: a solve that takes less says nothing
ERROR_EVERY = 4.0  # seconds between looks at the error: it is for the eye only and should not cost much


class TimeLeft(ProgressColumn):
    def render(self, task: Task) -> Text:
        left = task.time_remaining if task.total else None
        return Text(f"{left:.0f} s left" if left is not None else "", style="dim")


class ConsoleMonitor(Monitor):
    """Shows a run on standard error, so that standard output stays free for results."""

    def __init__(self, problem: Problem, quiet: bool = False) -> None:
        self.problem = problem
        self.console = Console(stderr=True, quiet=quiet)
        self.live = self.console.is_terminal and not quiet
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[detail]}", markup=False),
            TimeElapsedColumn(),
            TimeLeft(),
            console=self.console,
            transient=True,
        )
        self.task = self.progress.add_task("starting", total=None, detail="")
        self.began = self.spoke = self.looked = time.monotonic()
        self.silence = min(FIRST_LINE, LINE_EVERY)
        self.name = ""
        self.detail = ""
        self.error = ""

    def __enter__(self) -> ConsoleMonitor:
        if self.live:
            self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.progress.stop()

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        if name != self.name:
            self.progress.reset(self.task, total=None)
        self.name, self.detail = name, detail
        self._show(fraction, 1.0 if fraction is not None else None, detail)

    def step(self, iteration: int, loss: float) -> None:
        self._show(None, None, f"{self.detail} · step {iteration}, residual {loss:.1e}")

    def level(self, unknowns: int, residual: float) -> None:
        self._show(None, None, f"{unknowns} amplitudes · held-out residual {residual:.1e}{self.error}")

    def losses(self, iteration: int, total: int, loss: float, terms: Mapping[str, float]) -> None:
        largest = sorted(terms.items(), key=lambda item: -item[1])[:3]
        listing = ", ".join(f"{name} {value:.1e}" for name, value in largest)
        detail = f"{iteration}/{total} · loss {loss:.2e} ({listing}){self.error}"
        self._show(float(iteration), float(total), detail)

    def network(self, current: Callable[[], Any]) -> None:
        now = time.monotonic()
        if self.problem.has_reference and now - self.looked > ERROR_EVERY:
            from .solution import errors, l2re_text

            measured = errors(self.problem, current())
            self.error = f" · L2RE {l2re_text(measured.l2re, measured.floor)}"
            self.looked = time.monotonic()

    def _show(self, completed: float | None, total: float | None, detail: str) -> None:
        if self.live:
            fields: dict[str, Any] = {"description": self.name, "detail": detail}
            if completed is not None:
                fields |= {"completed": completed, "total": total}
            self.progress.update(self.task, **fields)
        elif time.monotonic() - self.spoke > self.silence:
            line = f"{time.monotonic() - self.began:6.0f} s  {self.name}: {detail}"
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)
            self.spoke, self.silence = time.monotonic(), LINE_EVERY
