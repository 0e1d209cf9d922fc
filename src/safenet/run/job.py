"""A plan to carry out for a problem."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..problem import Problem
from .progress import Monitor


@dataclass(frozen=True)
class Job:
    """A plan to carry out for a problem, with the user's own code; with a folder, it continues from what is there."""

    problem: Problem
    plan: Any
    folder: Path | None = None
    own: Any = None  # train.solver.Own
    watcher: Monitor | None = None  # of this run alone
