"""The result of a run: a closed set of outcomes, the record of each phase, and all measured numbers.

`Result` is what result.json holds; `Outcome` decides the exit status of a command.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from numbers import Real
from typing import Any

import numpy as np

from ..errors import SafeNetError, printable
from .found import Found

# A residual on unseen points, or an estimated error, above this: the problem is not solved.
SOLVED_BELOW = 0.1


def checked_tolerance(tol: float | None) -> float | None:
    """The relative error to aim at, or None; an error if it is out of range."""
    if tol is not None and not (isinstance(tol, Real) and 0 < tol < 1):
        raise SafeNetError(f"the tolerance is {tol!r}", "give a share between 0 and 1, e.g. 1e-6")
    return tol


class Outcome(StrEnum):
    """How a run ended: solved, unverified, not solved, given up, diverged, out of time or interrupted.

    Examples:
        >>> sn.Outcome("not solved").exit_status
        1
    """

    SOLVED = "solved"
    UNVERIFIED = "unverified"  # the equations and conditions are nearly met, but the error is not known
    NOT_SOLVED = "not solved"  # the run came to its end, but missed its equations or conditions
    GIVEN_UP = "given up"  # the solver saw that it would not succeed
    DIVERGED = "diverged"  # the loss became infinite, NaN or far larger than at the start
    OUT_OF_TIME = "out of time"
    INTERRUPTED = "interrupted"

    @property
    def exit_status(self) -> int:
        """The exit status of a command: 0 solved, 130 interrupted, 1 otherwise."""
        return {Outcome.SOLVED: 0, Outcome.INTERRUPTED: 130}.get(self, 1)

    @property
    def complete(self) -> bool:
        """Whether the run came to its own end, with any result."""
        return self not in (Outcome.OUT_OF_TIME, Outcome.INTERRUPTED)


class Ending(StrEnum):
    """How one phase of a run ended."""

    FINISHED = "finished"
    STALLED = "stalled"  # no step lowers the loss any further
    DIVERGED = "diverged"
    GIVEN_UP = "given up"


@dataclass
class PhaseRecord:
    """What one phase did."""

    name: str
    iterations: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    stop_reason: str = ""
    outcome: Ending = Ending.FINISHED
    residual: float | None = None
    phase: int = 0  # its place in the plan
    final: bool = False  # no other phase would do better, and this one saw why
    suspect: bool = False  # provisional: final only if the next, finer pass stops at the same point
    first_loss: float | None = None  # the loss with which it began, for an optimiser that lets it rise

    def __post_init__(self) -> None:
        self.outcome = Ending(self.outcome)  # JSON has strings
        if not isinstance(self.name, str) or not isinstance(self.stop_reason, str):
            raise ValueError("a phase has no name")


@dataclass
class Result:
    """What a solve reports about itself, as in result.json. Apart from the seed, every number was measured.

    `solver` is a solver's name, such as auto, march or train; `method` and `recipe` are those of a network, else None.
    `l2re` and `estimate` are numbers or, for several unknowns, dicts with one number for each and `pooled` over all.

    Examples:
        >>> result = solution.result
        >>> result.outcome, result.estimate < 1e-8
        (<Outcome.SOLVED: 'solved'>, True)
    """

    problem: str = ""
    solver: str = ""
    method: str | None = None
    recipe: str | None = None
    seed: int = 0
    l2re: Any = None
    max_error: float | None = None
    reference_accuracy: float | None = None
    estimate: Any = None
    estimate_left: float | None = None  # the share of the residual that the estimate does not explain
    # The estimate is a lower limit, "or more": too much of the residual is left.
    estimate_at_least: bool = False
    stopped: bool = False  # by its budget, before the end of its plan
    estimate_since: float | None = None  # the time from which the estimate counts, if data clash at the start
    residual: float | None = None
    parameters: int = 0
    iterations: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    wall_seconds: float = 0.0
    precision: str = "float64"
    device: str = ""
    outcome: Outcome = Outcome.NOT_SOLVED
    stop_reason: str = ""
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    phases: list[PhaseRecord] = field(default_factory=list)
    candidates: list[dict[str, Any]] = field(default_factory=list)
    # of an inverse problem: its unknown numbers, their correlations, and how well each kind of data is met
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    correlations: dict[str, float] = field(default_factory=dict)
    fit: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Result:
        """The result that `to_json` wrote; keys that this version does not know are left out."""
        known = {item.name for item in fields(Result)}
        values = {name: value for name, value in data.items() if name in known}
        records = {item.name for item in fields(PhaseRecord)}
        values["phases"] = [
            PhaseRecord(**{name: value for name, value in record.items() if name in records})
            for record in data.get("phases", ())
        ]
        values["outcome"] = Outcome(data["outcome"])
        for name, value in values.items():
            if not _fits(name, value):
                raise ValueError(f"{name} has the wrong type")
        return Result(**_printable(values))


def _fits(name: str, value: Any) -> bool:
    """Whether a value read from a file is of the kind that `Result` has there."""
    if name in ("phases", "outcome"):
        return True  # made by their own classes
    if name in ("l2re", "estimate"):
        parts = value.values() if isinstance(value, dict) else [value]
        pooled_too = not isinstance(value, dict) or "pooled" in value
        return pooled_too and all(part is None or _number(part) for part in parts)
    default = getattr(Result(), name)
    if default is None or isinstance(default, float):
        return value is None or (isinstance(value, str) if name in ("method", "recipe") else _number(value))
    if name in ("reasons", "warnings"):
        return isinstance(value, list) and all(isinstance(text, str) for text in value)
    return type(value) is type(default)


def _number(value: Any) -> bool:
    return type(value) in (int, float)


def _printable(value: Any) -> Any:
    """The value with all its texts made printable, at any depth: a stranger may have written the file."""
    if isinstance(value, dict):
        return {_printable(name): _printable(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_printable(each) for each in value]
    return printable(value) if type(value) is str else value


def pooled(value: Any) -> float | None:
    """The number over all fields, of an l2re or an estimate."""
    found = value["pooled"] if isinstance(value, Mapping) else value
    return None if found is None else float(found)


def finite_or_none(value: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if value is not None and math.isfinite(value) else None


@dataclass
class Carried:
    """What a plan produced: the best field, how the run went, and the loss history (rows: iteration, total, terms…)."""

    field: Any
    residual: float
    records: list[PhaseRecord] = field(default_factory=list)
    interrupted: bool = False
    stopped: bool = False  # by the clock
    winner: int = -1
    found: Found | None = None  # of an inverse problem
    measured: Any = None  # the held-out residuals of the field, where they are known
    # Of a run out of time: ‖u − v‖/‖u‖ of each unknown, then of all; v is the level before the last.
    apart: Any = None
    estimate: Any = None  # of the field's error, if it ended the run
    history: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))  # empty: nothing was trained

    @property
    def ending(self) -> Ending:
        return self._telling.outcome if self.records else Ending.FINISHED

    @property
    def stop_reason(self) -> str:
        if self.interrupted:
            return "Interrupted by the user; the best so far is kept."
        return self._telling.stop_reason if self.records else ""

    @property
    def _telling(self) -> PhaseRecord:
        """The phase whose end is the run's: the winner's, or the last one if that was final."""
        return self.records[-1] if self.records[-1].final else self.records[self.winner]
