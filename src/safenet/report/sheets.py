"""A sheet is a table ready to be written; here are those of our rows as they are, and those that the paper quotes."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..bench.naming import setting
from ..bench.printed import quoted
from ..bench.store import FAILED, Row
from . import words
from .results import PAPER, Results, Scale, Summary, errors


@dataclass(frozen=True)
class Cell:
    """What is shown, what smaller below it, and what on demand; `mark` is same, better, worse or missing.

    `few` are its seeds where other cells of its table have more: such a cell is never the best.
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
    """A table, ready to be written. `measured` counts the cells of ours; without any, `missing` says what to run."""

    name: str
    title: str
    label: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    measured: int
    notes: tuple[str, ...] = ()
    missing: str = ""
    kind: str = "paper"  # or ours, quoted


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


def few(found: Summary, most: int) -> str:
    """2 seeds; nothing where no cell of the table has more."""
    return _seeds(found) if found.seeds < most else ""


def _seeds(found: Summary) -> str:
    return f"{found.seeds} seed{'s' if found.seeds > 1 else ''}"


def mean_text(found: Summary) -> str:
    """1.2e-3 ± 1e-4; of those that did not diverge, where some did: an infinite error has no mean."""
    if found.deviation is None:
        return ""
    among = f" of {len(found.finite)}" if found.diverged else ""
    return f"{words.short(found.mean)} ± {words.short(found.deviation)}{among}"


# ---- ours


def of_rows(results: Results) -> Iterator[Sheet]:
    groups = everything(results)
    defaults = [(key, rows) for key, rows in groups if key[2] == "default"]
    if defaults:
        yield _list("defaults", "What the defaults reach", defaults)
    if groups:
        yield _list("all", "Everything in the store", groups)


HEAD = (
    *("problem", "method", "recipe", "options", "median", "spread", "mean ± sd", "seeds"),
    *("seconds", "parameters", "scale"),
)
Group = tuple[tuple[str, str, str, str, Scale], list[Row]]


def everything(results: Results) -> list[Group]:
    """Every configuration, with the rows of its seeds."""
    found = [
        (
            (
                key[0],
                key[1],
                key[2],
                ", ".join(setting(name, json.loads(value)) for name, value in sorted(key[3])),
                key[4],
            ),
            rows,
        )
        for key, rows in results.groups()
    ]
    return sorted(found, key=lambda group: group[0])


def _list(name: str, title: str, groups: Sequence[Group]) -> Sheet:
    return Sheet(
        name=name,
        title=title,
        label="",
        head=HEAD,
        rows=tuple(_listed(key, rows) for key, rows in groups),
        measured=len(groups),
        kind="ours",
    )


def _listed(key: tuple[str, str, str, str, Scale], rows: Sequence[Row]) -> tuple[Cell, ...]:
    problem, method, recipe, options, scale = key
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
    how = "the paper's" if scale == PAPER else "its own" if recipe == "default" else scale.brief
    return (
        *(Cell(text, sort=text) for text in (words.problem(problem), words.method(method), recipe, options)),
        Cell(words.short(median), sort=None if median is None else min(median, 1e300)),
        Cell(spread, sort=found.spread[0] if found and found.spread else None),
        Cell(mean, sort=min(found.mean, 1e300) if found else None),
        Cell(seeds, sort=float(len(rows))),
        Cell(words.NONE if time is None else f"{time:.1f}", sort=time),
        Cell(words.count(size), sort=None if size is None else float(size)),
        Cell(how, sort=how),
    )


# ---- quoted


def of_others(results: Results) -> Iterator[Sheet]:
    """As printed; below, where a column is a problem of the library, the smallest median error of ours on it."""
    for table in quoted():
        ours = tuple(_smallest(results, name) for name in table.problems)
        yield Sheet(
            name=slug(table.label),
            title=table.title,
            label=table.label,
            head=("method", *table.columns),
            rows=(
                *(
                    (Cell(method, sort=method), *(Cell(_plain(value), sort=value) for value in values))
                    for method, values in table.rows
                ),
                *([(Cell("best in the store", sort="~"), *ours)] if any(cell.sort for cell in ours) else []),
            ),
            measured=0,
            notes=(
                "Quoted by the paper from other papers: other settings, other metrics, no ranking. "
                "Nothing of it was measured here but the line that says so.",
            ),
            kind="quoted",
        )


def _smallest(results: Results, problem: str) -> Cell:
    """By whichever method, recipe and scale."""
    found = [
        (summary.median, key)
        for key, rows in results.groups()
        if key[0] == problem and (summary := errors(rows)) is not None
    ]
    if not found:
        return Cell("")
    least, (_, method, recipe, *_) = min(found, key=lambda entry: entry[0])
    return Cell(words.short(least), below=f"{words.method(method)}, {recipe}", sort=least)


def _plain(value: float) -> str:
    return words.count(value) if value >= 1000 else f"{value:g}"


def slug(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower()).strip("-")
