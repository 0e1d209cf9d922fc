"""The tables that the paper quotes from other papers, as sheets."""

from __future__ import annotations

from collections.abc import Iterator

from ..report import words
from ..report.results import Results, errors
from ..report.sheets import Cell, Sheet, slug
from . import names
from .printed import quoted

BEST = "best in the store"


def of_others(results: Results) -> Iterator[Sheet]:
    """As printed, with a last line of our smallest median errors, for columns that are library problems."""
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
                *([(Cell(BEST, sort="~"), *ours)] if any(cell.sort for cell in ours) else []),
            ),
            measured=0,
            notes=(
                "Quoted by the paper from other papers: other settings, other metrics, so this is not a ranking. "
                f'Only the line "{BEST}" was measured here.',
            ),
            kind="quoted",
        )


def _smallest(results: Results, problem: str) -> Cell:
    """Our smallest median error on a problem, by any method, recipe and scale."""
    found = [
        (summary.median, key)
        for key, rows in results.groups.items()
        if key[0] == problem and (summary := errors(rows)) is not None
    ]
    if not found:
        return Cell("")
    least, (_, method, recipe, *_) = min(found, key=lambda entry: entry[0])
    return Cell(words.short(least), below=", ".join(filter(None, (names.method(method), recipe))), sort=least)


def _plain(value: float) -> str:
    return words.count(value) if value >= 1000 else f"{value:g}"
