"""A line for each case that ends; on a terminal also a bar with what is under way. Plain print where rich is absent."""

from __future__ import annotations

import sys
import time
from typing import Any

from ..solution import l2re_text
from .case import Case
from .store import FAILED, Row


def line(case: Case, row: Row) -> str:
    """finished  1.21e-03    41 s  wave · pinn · paper-1 · seed 0"""
    error = l2re_text(row.l2re, row.result.get("reference_accuracy")).split(" (")[0]
    measure = f"{error:>10} {row.seconds or 0:6.0f} s"
    why = f"\n  {row.stop_reason}" if row.outcome == FAILED else ""
    return f"{row.outcome:<9} {measure}  {case.label}{why}"


class Lines:
    """For a log: one line per case on standard error."""

    def __enter__(self) -> Lines:
        self.began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, event: str, cases: list[Case], rows: list[Row], done: int, total: int) -> None:
        for case, row in _paired(cases, rows):
            self.say(f"{time.monotonic() - self.began:6.0f} s  {done:>4}/{total}  {line(case, row)}")

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Bar(Lines):
    """For a terminal: the lines above a bar of all cases, with those under way."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
        text = TextColumn("{task.fields[now]}", markup=False)
        self.progress = Progress(*columns, text, console=console, transient=True)
        self.task = self.progress.add_task("", total=None, now="starting workers")
        self.now: dict[str, str] = {}

    def __enter__(self) -> Bar:
        super().__enter__()
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def __call__(self, event: str, cases: list[Case], rows: list[Row], done: int, total: int) -> None:
        super().__call__(event, cases, rows, done, total)
        for case in cases:
            if event == "began":
                self.now[case.id] = case.label
            else:
                self.now.pop(case.id, None)
        now = next(iter(self.now.values()), "") + (
            f" and {len(self.now) - 1} more" if len(self.now) > 1 else ""
        )
        self.progress.update(self.task, completed=done, total=total, now=now)

    def say(self, text: str) -> None:
        self.progress.console.print(text, highlight=False, markup=False, soft_wrap=True)


def shown() -> Lines:
    """What suits standard error."""
    try:
        from rich.console import Console
    except ImportError:
        return Lines()
    console = Console(stderr=True)
    return Bar(console) if console.is_terminal else Lines()


def _paired(cases: list[Case], rows: list[Row]) -> list[tuple[Case, Row]]:
    found = {row.id: row for row in rows}
    return [(case, found[case.id]) for case in cases if case.id in found]
