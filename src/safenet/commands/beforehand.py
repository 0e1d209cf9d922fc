"""What is said as soon as a run begins: not before a mistake in its plan."""

from __future__ import annotations

from pathlib import Path

import typer

from ..problem import Problem
from ..problem.facts.posedness import doubts
from ..run.progress import Monitor


class Beforehand(Monitor):
    """Another folder than the usual one; before a training, which may take minutes, also what is doubtful."""

    def __init__(self, problem: Problem, folder: Path, usual: Path, trains: bool) -> None:
        self.lines = [f"warning: {text}" for text in (doubts(problem) if trains else ())]
        if folder != usual:
            self.lines.append(
                f"{usual} exists: this run goes to {folder} (--force overwrites, --out chooses)"
            )

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        for line in self.lines:
            typer.echo(line, err=True)
        self.lines = []
