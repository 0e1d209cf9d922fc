"""In a notebook: progress as a bar in the cell, and results as small tables."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from html import escape
from typing import Any

from .progress import Lines

EVERY = 0.25  # seconds between two updates of the bar
_CELL = "text-align:left;padding:2px 14px 2px 0;vertical-align:top"
AMBER = "#b35c00"
OUTCOMES = {  # the others in red
    "solved": "#2b8a3e",
    "unverified": AMBER,
    "interrupted": AMBER,
    "out of time": AMBER,
}


def table(heading: str, rows: Iterable[tuple[str, str]], verdict: str = "") -> str:
    """A heading, its verdict in colour, and a line for each (name, text); all of them are escaped."""
    colour = OUTCOMES.get(verdict, "#c92a2a")
    badge = f' <span style="color:{colour};font-weight:600">{escape(verdict)}</span>' if verdict else ""
    lines = "".join(
        f'<tr><th style="{_CELL};font-weight:500;opacity:.75">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(text)}</td></tr>'
        for name, text in rows
    )
    return f"<div><b>{escape(heading)}</b>{badge}<table>{lines}</table></div>"


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    module = sys.modules.get("IPython")
    shell: Any = module.get_ipython() if module is not None else None
    return shell is not None and hasattr(shell, "kernel")


class NotebookMonitor(Lines):
    """A progress bar in the cell that runs the solve, removed when it ends."""

    def __init__(self) -> None:
        super().__init__()
        self.handle: Any = None
        self.drawn = 0.0
        self.share = ""

    def show(self, detail: str, completed: float | None = None, total: float | None = None) -> None:
        self.last = detail
        self.share = f' value="{completed / total:.3f}"' if completed is not None and total else ""
        if time.monotonic() - self.drawn >= EVERY:
            self._draw()

    def beat(self) -> None:
        """Draw the bar again: time passes in a silent phase too."""
        if self.handle is not None:
            self._draw()

    def ended(self) -> None:
        super().ended()
        if self.handle is not None:
            self._display("")

    def _draw(self) -> None:
        self.drawn = time.monotonic()
        text = escape(f"{self.name}: {self.last}" if self.last else self.name)
        left = f" ({self.outlook})" if str(self.outlook) else ""
        seconds = f"{self.drawn - self.began:.0f} s"
        self._display(f"<progress{self.share}></progress> {seconds}{left} &nbsp; {text}")

    def _display(self, text: str) -> None:
        from IPython import display

        shown: Any = display.HTML
        if self.handle is None:
            self.handle = display.display(shown(text), display_id=True)
        else:
            self.handle.update(shown(text))
