"""A line for each cell that ends; on a terminal, also a bar with the running cases. Plain print without rich."""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..measure.scores import l2re_text
from ..run.outlook import duration
from .case import Case
from .running import Event
from .store import FAILED, Row


def line(cases: Sequence[Case], rows: Sequence[Row], seconds: float) -> str:
    """solved      1.21e-03    41 s  wave · pinn · paper-1 · seed 0, or the median of 5 seeds; a line for each cell"""
    if len({case.group for case in cases}) > 1:
        parts = [(case, [row for row in rows if row.id == case.id]) for case in cases]
        return "\n".join(line([case], own, seconds) for case, own in parts if own)
    errors = [row.l2re for row in rows if row.l2re is not None]
    floor = rows[0].result.get("reference_accuracy")
    error = l2re_text(statistics.median(errors) if errors else None, floor).split(" (")[0]
    outcomes = Counter(row.outcome for row in rows)
    outcome = ", ".join(
        name if len(rows) == 1 else f"{count} {name}" for name, count in outcomes.most_common()
    )
    name = cases[0].label if len(cases) == 1 else f"{cases[0].cell} · {len(cases)} seeds"
    why = "".join(f"\n  {row.stop_reason}" for row in rows if row.outcome == FAILED)
    return f"{outcome:<10} {error:>10} {seconds:6.0f} s  {name}{why}"


class Lines:
    """For a log: one line per cell on standard error."""

    def __enter__(self) -> Lines:
        self.began = time.monotonic()
        self.silent = True
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, event: Event) -> None:
        if self.silent:
            left = f"{event.total - event.done} of {event.total} cases to do"
            self.say(f"{left}; the first takes longer because it compiles")
            self.silent = False
        if event.seconds is None or not event.rows:
            return
        left = "" if not event.left else f"  ({duration(event.left)} left)"
        passed = f"{time.monotonic() - self.began:6.0f} s  {event.done:>4}/{event.total}"
        self.say(f"{passed}  {line(event.cases, event.rows, event.seconds)}{left}")

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Bar(Lines):
    """For a terminal: the lines above a progress bar, with the running cases."""

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

    def __call__(self, event: Event) -> None:
        super().__call__(event)
        for case in event.cases:
            if event.ended:
                self.now.pop(case.id, None)
            else:
                self.now[case.id] = case.label
        now = next(iter(self.now.values()), "") + (
            f" and {len(self.now) - 1} more" if len(self.now) > 1 else ""
        )
        self.progress.update(self.task, completed=event.done, total=event.total, now=now)

    def say(self, text: str) -> None:
        self.progress.console.print(text, highlight=False, markup=False, soft_wrap=True)


def shown() -> Lines:
    """A bar if standard error is a terminal and rich is installed, else lines."""
    try:
        from rich.console import Console
    except ImportError:
        return Lines()
    console = Console(stderr=True)
    return Bar(console) if console.is_terminal else Lines()
