"""What all plans share: they are data, their default values can be left out, and each is carried out for a problem."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import SafeNetError
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


def check_suits(solver: Any, problem: Problem) -> None:
    """Raise if the solver has an obstacle to the problem."""
    if obstacle := solver.obstacle(problem):
        raise SafeNetError(
            f"the solver {solver.name} does not suit {problem.name}: {obstacle}",
            "leave out the solver to have a suitable one chosen",
        )


def changed(declared: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not at their defaults."""
    usual = {
        item.name: item.default_factory() if item.default_factory is not MISSING else item.default
        for item in fields(declared)
    }
    return {name: getattr(declared, name) for name in usual if getattr(declared, name) != usual[name]}
