"""seconds of a cell ≈ c + Σ_phases iterations × seconds per iteration: how long a suite takes, by what was measured.

A cell is all seeds of a configuration; products with a Hessian count as a phase. Its pace is that of the same problem
and method at the same points and precision where there is a row, whatever its iterations; else the median of the
method's on other problems, else of all. Iterations count as planned: a phase that stalls is done sooner.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ..training.batch import batches
from .case import Case
from .store import Row

SPECTRUM = "spectrum"
Key = tuple[str, ...]
Sizes = tuple[int, int, str]  # points inside and on a condition, precision


class Paces:
    """What rows of one device, the one with most of them, say about seconds."""

    def __init__(self, rows: Iterable[Row]) -> None:
        told = [row for row in rows if row.result.get("pace")]
        devices = Counter(row.device for row in told)
        self.device = devices.most_common(1)[0][0] if devices else None
        self.rows = 0
        # By (phase, method, problem), (phase, method) and (phase,), each with the sizes: one seed's seconds.
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
        pace = {phase: seconds / together for phase, seconds in told.items()}
        if "spectrum" in row.configuration:
            products = math.prod(row.configuration["spectrum"])
            pace[SPECTRUM] = row.result["spectrum"]["seconds"] / products
        sizes = plan["interior"], plan["condition"], plan["precision"]
        for phase, seconds in pace.items():
            for key in _keys(phase, row.method, row.problem):
                self._known[key, sizes].append(seconds)
        # What is no iteration: compiling, starting. A row's seconds and phases are those of the chosen candidate.
        busy = sum(part["iterations"] * told.get(part["name"], 0.0) for part in row.result.get("phases", ()))
        self._rest.append(max(0.0, (row.seconds or 0.0) * together - busy))

    def seconds(self, case: Case, seeds: int) -> tuple[float | None, bool]:
        """Of a cell of so many seeds; and whether by rows of its own problem and method. None: nothing is known."""
        plan, total, sure = case.plan, 0.0, True
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
        """Of all cells of these cases, one after another; None while any is unknown."""
        found = [self.seconds(cell[0], len(cell))[0] for cell in cells(cases)]
        known = [seconds for seconds in found if seconds is not None]
        return sum(known) if len(known) == len(found) else None


def _keys(phase: str, method: str, problem: str) -> tuple[Key, ...]:
    return (phase, method, problem), (phase, method), (phase,)


def iterations(case: Case) -> Counter[str]:
    """phase → how many, in one run."""
    found: Counter[str] = Counter({SPECTRUM: math.prod(case.spectrum)} if case.spectrum else {})
    plan, done = case.plan.candidates[0], 0
    for index in range(len(plan.phases)):
        phase = plan.phase(index, done)
        count = getattr(phase, "iterations", 0)
        found[phase.name] += count
        done += count
    return found


def cells(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases by configuration, in their order."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.group, []).append(case)
    return list(found.values())


def listing(cases: Sequence[Case], rows: Sequence[Row]) -> Iterator[str]:
    """A line for each cell, in the order in which a GPU takes them, and one for all."""
    paces, done = Paces(rows), {row.id for row in rows}
    missing = [case for case in cases if case.id not in done]
    open_cells, unknown, total = cells(missing), 0, 0.0
    left = {cell[0].group: cell for cell in open_cells}
    for number, cell in enumerate(cells(cases), 1):
        rest = left.get(cell[0].group, [])
        seeds = len(rest)
        seconds, sure = paces.seconds(rest[0], seeds) if rest else (0.0, True)
        unknown += seconds is None
        total += seconds or 0.0
        time = (
            "done" if not seeds else "?" if seconds is None else f"{'' if sure else '~'}{duration(seconds)}"
        )
        share = "" if seeds in (0, len(cell)) else f", {len(cell) - seeds} done"
        how = (
            ""
            if len(cell) == 1
            else f" · {len(cell)} seeds{share}{'' if batches(cell[0].plan) else ', one by one'}"
        )
        yield f"{number:>4}  {time:>9}  {cell[0].cell}{how or f' · seed {cell[0].plan.seed}'}"
    found = f"{duration(total)} by {paces.rows} rows of {paces.device}" if total else "no time known yet"
    some = f", {unknown} cells unknown" if unknown and total else ""
    done_of = f"{len(cases)} cases in {number} cells, {len(cases) - len(missing)} done"
    yield f"{done_of}; left: {found}{some}" if missing else done_of


def duration(seconds: float) -> str:
    """42 s, 3.5 min, 2.1 h"""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
