"""Sheets, which are tables ready to be written, and the plain lists of rows."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..bench.naming import setting
from ..bench.store import FAILED, Row
from . import words
from .results import ITS_OWN, Key, Results, Summary, errors
from .words import PLAIN, Names


@dataclass(frozen=True)
class Cell:
    """`text` is shown, `below` in small print beneath, `detail` on demand; `mark` is same, better, worse or missing.

    `few` says how many seeds the cell has if another cell of the table has more.
    """

    text: str
    below: str = ""
    detail: str = ""
    sort: float | str | None = None
    mark: str = ""
    best: bool = False
    few: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table, ready to be written. `measured` counts cells with our results; if none, `missing` says what to run.

    `kind` is own (runs of the user's own suites), list (of rows), or a kind that a study defines.
    """

    name: str
    title: str
    label: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    measured: int
    notes: tuple[str, ...] = ()
    missing: str = ""
    kind: str = "own"


def detail(found: Summary) -> str:
    """1.1e-3 … 1.4e-3 · mean 1.2e-3 ± 1e-4 of 4 · 5 seeds, 1 diverged"""
    parts = []
    if found.spread and found.seeds > 1:
        parts.append(" … ".join(map(words.short, found.spread)))
    if mean := mean_text(found):
        parts.append(f"mean {mean}")
    seeds = _seeds(found)
    seeds += f", {found.diverged} diverged" if found.diverged else ""
    parts.append(seeds + (f", {found.failed} failed" if found.failed else ""))
    return " · ".join(parts)


def most_seeds(found: Iterable[Summary | None]) -> int:
    """The most seeds that any cell has."""
    return max((summary.seeds for summary in found if summary), default=0)


def few(found: Summary, most: int) -> str:
    """2 seeds; empty if no cell of the table has more."""
    return _seeds(found) if found.seeds < most else ""


def _seeds(found: Summary) -> str:
    return f"{found.seeds} seed{'s' if found.seeds > 1 else ''}"


def mean_text(found: Summary) -> str:
    """1.2e-3 ± 1e-4, of the seeds that did not diverge: an infinite error has no mean."""
    if found.deviation is None:
        return ""
    among = f" of {len(found.finite)}" if found.diverged else ""
    return f"{words.short(found.mean)} ± {words.short(found.deviation)}{among}"


# ---- ours


def of_rows(results: Results, names: Names = PLAIN) -> Iterator[Sheet]:
    groups = everything(results)
    # Default direct solves and default trainings: their numbers do not belong in one list.
    for name, title, own in (
        ("defaults", "Accuracy of the automatically chosen solver", automatic),
        ("trained", "Accuracy of networks with default training", trained_by_default),
    ):
        chosen = [(key, rows) for key, rows in groups if own(key)]
        if chosen:
            yield _list(name, title, chosen, names)
    if groups:
        yield _list("all", "Everything in the store", groups, names)


HEAD = (
    *("problem", "method", "recipe", "options", "median", "spread", "mean ± sd", "seeds"),
    *("seconds", "parameters", "scale"),
)
Group = tuple[Key, list[Row]]


def everything(results: Results) -> list[Group]:
    """Every configuration, with the rows of its seeds."""
    return sorted(results.groups.items(), key=lambda group: (*group[0][:3], _options(group[0]), group[0][4]))


def automatic(key: Key) -> bool:
    """Whether only the problem was chosen, and the solver automatically."""
    return key[1] == "auto"


def trained_by_default(key: Key) -> bool:
    """Whether a network was trained as `safenet train` does by default."""
    return key[2] == "default"


def by_default(key: Key) -> bool:
    return automatic(key) or trained_by_default(key)


def _options(key: Key) -> str:
    """depth=2, width=8"""
    return ", ".join(setting(name, json.loads(value)) for name, value in sorted(key[3]))


def _list(name: str, title: str, groups: Sequence[Group], names: Names) -> Sheet:
    return Sheet(
        name=name,
        title=title,
        label="",
        head=HEAD,
        rows=tuple(_listed(key, rows, names) for key, rows in groups),
        measured=len(groups),
        kind="list",
    )


def _listed(key: Key, rows: Sequence[Row], names: Names) -> tuple[Cell, ...]:
    problem, method, recipe, _, scale = key
    found = errors(rows)
    failed = sum(row.outcome == FAILED for row in rows)
    median = found.median if found else None
    spread = " … ".join(map(words.short, found.spread)) if found and found.spread and len(rows) > 1 else ""
    mean = mean_text(found) if found else ""
    counts = {"diverged": found.diverged if found else 0, "failed": failed}
    seeds = ", ".join([str(len(rows)), *(f"{count} {what}" for what, count in counts.items() if count)])
    seconds = [row.seconds for row in rows if row.seconds is not None]
    time = statistics.median(seconds) if seconds else None
    size = next((row.parameters for row in rows if row.parameters), None)
    how = names.scales.get(scale, "its own" if recipe == "default" or scale == ITS_OWN else scale.brief)
    called = (names.problem(problem), names.method(method), recipe, _options(key))
    return (
        *(Cell(text, sort=text) for text in called),
        Cell(words.short(median), sort=None if median is None else min(median, 1e300)),
        Cell(spread, sort=found.spread[0] if found and found.spread else None),
        Cell(mean, sort=min(found.mean, 1e300) if found else None),
        Cell(seeds, sort=float(len(rows))),
        Cell(words.NONE if time is None else f"{time:.1f}", sort=time),
        Cell(words.count(size), sort=None if size is None else float(size)),
        Cell(how, sort=how),
    )


def slug(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower()).strip("-")
