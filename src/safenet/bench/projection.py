"""seconds of a cell ≈ c + Σ_phases iterations × seconds per iteration: how long a suite takes, from earlier rows.

A cell is all seeds of a configuration; products with a Hessian count as a phase. The seconds per iteration are those of
rows of the same problem and method, with the same points and precision, whatever their iterations; else the method's
median on other problems; else the median of all. Iterations are as planned: a phase that stalls takes less.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..run.outlook import duration
from ..train.plan import Plan
from .case import Case
from .store import FAILED, Row

SPECTRUM = "spectrum"
Key = tuple[str, ...]
Sizes = tuple[int, int, str]  # points inside and on a condition, precision


class Paces:
    """Seconds per iteration, from rows of one device: the one with the most rows."""

    def __init__(self, rows: Iterable[Row]) -> None:
        told = [row for row in rows if row.result.get("pace")]
        devices = Counter(row.device for row in told)
        self.device = devices.most_common(1)[0][0] if devices else None
        self.rows = 0
        # One seed's seconds per iteration, by (phase, method, problem), (phase, method) and (phase,), with the sizes.
        self._known: dict[tuple[Key, Sizes], list[float]] = defaultdict(list)
        self._rest: list[float] = []
        for row in told:
            self.add(row)

    def add(self, row: Row) -> None:
        told, self.device = row.result.get("pace"), self.device or row.device
        if not told or row.device != self.device:
            return
        self.rows += 1
        plan, together = row.configuration["plan"], row.environment.get("together", 1)
        if "phases" not in plan:
            return  # a direct solve: its steps differ in cost
        pace = {phase: seconds / together for phase, seconds in told.items()}
        if "spectrum" in row.configuration and "spectrum" in row.result:
            products = math.prod(row.configuration["spectrum"])
            pace[SPECTRUM] = row.result["spectrum"]["seconds"] / products
        sizes = plan["interior"], plan["condition"], plan["precision"]
        for phase, seconds in pace.items():
            for key in _keys(phase, row.method or row.solver, row.problem):
                self._known[key, sizes].append(seconds)
        # Time outside iterations: compiling, starting. A row's seconds and phases are those of the chosen candidate.
        busy = sum(part["iterations"] * told.get(part["name"], 0.0) for part in row.result.get("phases", ()))
        self._rest.append(max(0.0, (row.seconds or 0.0) * together - busy))

    def seconds(self, case: Case, seeds: int) -> tuple[float | None, bool]:
        """The seconds of a cell (None: unknown), and whether they come from rows of its own problem and method."""
        plan, total, sure = case.plan, 0.0, True
        if not isinstance(plan, Plan):
            return None, False  # the number of steps is not known in advance
        runs = seeds + (len(plan.candidates) - 1 if plan.scouts else 0)  # one seed tries the variants for all
        sizes = plan.interior, plan.condition, plan.precision
        for phase, count in iterations(case).items():
            keys = _keys(phase, plan.method, case.problem.name)
            found = next(
                ((i, self._known[key, sizes]) for i, key in enumerate(keys) if (key, sizes) in self._known),
                None,
            )
            if found is None:
                return None, False
            sure = sure and found[0] == 0
            total += (seeds if phase == SPECTRUM else runs) * count * statistics.median(found[1])
        if not total:
            return None, False
        return total + statistics.median(self._rest) * (2 if plan.variants and plan.scouts else 1), sure

    def left(self, cases: Sequence[Case]) -> float | None:
        """The seconds of all cells of these cases, one after another; None while any is unknown."""
        found = [self.seconds(cell[0], len(cell))[0] for cell in cells(cases)]
        known = [seconds for seconds in found if seconds is not None]
        return sum(known) if len(known) == len(found) else None


def _keys(phase: str, method: str, problem: str) -> tuple[Key, ...]:
    return (phase, method, problem), (phase, method), (phase,)


def iterations(case: Case) -> Counter[str]:
    """phase → number of iterations in one run."""
    found: Counter[str] = Counter({SPECTRUM: math.prod(case.spectrum)} if case.spectrum else {})
    plan, done = case.plan.candidates[0], 0
    if not isinstance(plan, Plan):
        return found
    for index in range(len(plan.phases)):
        phase = plan.phase(index, done)
        count = getattr(phase, "iterations", 0)
        found[phase.name] += count
        done += count
    return found


def cells(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases grouped by configuration, in their order."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.group, []).append(case)
    return list(found.values())


@dataclass(frozen=True)
class Outlook:
    """A cell, how many of its cases are done or failed, and an estimate of the seconds left (None: unknown)."""

    cell: list[Case]
    done: int
    failed: int
    seconds: float | None
    sure: bool  # from rows of its own problem and method
    source: str  # the rows behind the estimates, in words

    @property
    def left(self) -> int:
        return len(self.cell) - self.done - self.failed

    def __str__(self) -> str:
        """4.1 min  wave · pinn · paper-1 · 5 seeds, 2 done, 1 failed"""
        if self.left:
            time = "?" if self.seconds is None else f"{'' if self.sure else '~'}{duration(self.seconds)}"
        else:
            time = "done" if self.done else FAILED
        first, seeds = self.cell[0], len(self.cell)
        if seeds == 1:
            return f"{time:>9}  {first.label}"
        counts = {"done": self.done, FAILED: self.failed}
        share = "".join(f", {count} {what}" for what, count in counts.items() if 0 < count < seeds)
        return f"{time:>9}  {first.cell} · {seeds} seeds{share}{'' if first.plan.batches else ', one by one'}"


def outlook(cases: Sequence[Case], rows: Sequence[Row], retry: bool = False) -> list[Outlook]:
    """For each cell, in the order in which a GPU takes them; with `retry`, failed cases are still to be done."""
    paces, outcomes = Paces(rows), {row.id: row.outcome for row in rows}
    source = f"{paces.rows} rows of {paces.device}" if paces.rows else ""
    found = []
    for cell in cells(cases):
        stands = [outcomes.get(case.id) for case in cell]
        stands = [None if retry and outcome == FAILED else outcome for outcome in stands]
        rest = [case for case, outcome in zip(cell, stands, strict=True) if outcome is None]
        seconds, sure = paces.seconds(rest[0], len(rest)) if rest else (0.0, True)
        failed = stands.count(FAILED)
        found.append(Outlook(cell, len(cell) - len(rest) - failed, failed, seconds, sure, source))
    return found


def listing(looks: Sequence[Outlook]) -> Iterator[str]:
    """A line for each cell, and one for the total."""
    for number, look in enumerate(looks, 1):
        yield f"{number:>4}  {look}"
    cases, done, failed = _tally(looks).values()
    known = [look.seconds for look in looks if look.seconds is not None]
    time = f"{duration(sum(known))} by {looks[0].source}" if any(known) else "no time known yet"
    unknown = f", {len(looks) - len(known)} cells unknown" if any(known) and len(known) < len(looks) else ""
    again = f", {failed} failed (--retry)" if failed else ""
    left = f"; left: {time}{unknown}" if done + failed < cases else ""
    yield f"{cases} cases in {len(looks)} cells, {done} done{again}{left}"


def table(looks: Sequence[Outlook]) -> dict[str, Any]:
    """The same as data; `seconds` is None if any cell's is."""
    seconds = [look.seconds for look in looks if look.seconds is not None]
    return {
        **_tally(looks),
        "seconds": sum(seconds) if len(seconds) == len(looks) else None,
        "cells": [
            {
                "cell": look.cell[0].cell,
                "seeds": [case.plan.seed for case in look.cell],
                "done": look.done,
                "failed": look.failed,
                "seconds": look.seconds,
                "sure": look.sure,
            }
            for look in looks
        ],
    }


def _tally(looks: Sequence[Outlook]) -> dict[str, int]:
    return {
        "cases": sum(len(look.cell) for look in looks),
        "done": sum(look.done for look in looks),
        "failed": sum(look.failed for look in looks),
    }
