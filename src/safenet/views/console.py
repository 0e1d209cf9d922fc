"""A solve on the terminal: phase, iteration, loss terms, error where known, time left; plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column

from ..problem import Problem
from ..run.progress import Lines

DETAIL = Column(ratio=1, no_wrap=True, overflow="ellipsis")
ERROR_EVERY = 4.0  # seconds between evaluations of the error, which is only for display and must be cheap


class ConsoleMonitor(Lines):
    """Shows a run on standard error, so that standard output is free for results; in plain lines without a terminal."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem
        self.console = Console(stderr=True)
        self.live = self.console.is_terminal
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=14),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[left]}"),
            # Last, and cut at the end of the line: the detail may be long.
            TextColumn("{task.fields[detail]}", markup=False, table_column=DETAIL),
            console=self.console,
            transient=True,
            expand=True,
        )
        self.task = self.progress.add_task("starting", total=None, detail="", left="")
        self.looked = self.began

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
        super().phase(name, detail, fraction)

    def network(self, current: Callable[[], Any]) -> None:
        now = time.monotonic()
        if self.problem.has_reference and now - self.looked > ERROR_EVERY:
            from ..measure.scores import errors, l2re_text

            measured = errors(self.problem, current())
            self.error = f" · L2RE {l2re_text(measured.l2re, measured.floor)}"
            self.looked = time.monotonic()

    def show(self, detail: str, completed: float | None = None, total: float | None = None) -> None:
        if not self.live:
            super().show(detail, completed, total)
            return
        fields: dict[str, Any] = {"description": self.name, "detail": detail, "left": str(self.outlook)}
        if completed is not None:
            fields |= {"completed": completed, "total": total}
        self.progress.update(self.task, **fields)

    def beat(self) -> None:
        if not self.live:  # a bar moves by itself
            super().beat()

    def write(self, line: str) -> None:
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)
