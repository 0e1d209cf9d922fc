"""sources → files: the page of the paper, and the same tables as Markdown and LaTeX."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from ..report import writing
from ..report.fields import fields
from ..report.sheets import Sheet
from .compared import sheets
from .evidence import OURS, Evidence, read
from .judging import Entry, ledger
from .names import NAMES
from .panels import figures
from .readings import of_readings
from .summary import sentences
from .text import latex as as_latex
from .text import markdown as as_markdown
from .text import otherwise, said
from .verdicts import UNSOLVED, VERDICTS

FOLDER = resources.files(__package__).joinpath("page")
DRAWN = (OURS, "safe-net")  # methods whose solutions are drawn by preference


def write(
    sources: Sequence[str | Path],
    page: str | Path | None = None,
    markdown: str | Path | None = None,
    latex: str | Path | None = None,
) -> list[Entry]:
    """Write the files that are asked for; return the ledger."""
    writing.check_asked(page, markdown, latex)
    results = read(sources)
    entries, tables = ledger(results), _with_readings(sheets(results), of_readings(results))
    writing.save(page, lambda: html(results, entries, tables))
    writing.save(markdown, lambda: as_markdown(entries, tables, sentences(entries, results)))
    writing.save(latex, lambda: as_latex(entries, tables))
    return entries


def _with_readings(tables: Sequence[Sheet], readings: Sheet) -> list[Sheet]:
    """Insert the readings after the main comparison."""
    place = 1 + next(i for i, sheet in enumerate(tables) if sheet.kind == "paper")
    return [*tables[:place], readings, *tables[place:]]


def html(results: Evidence, entries: Sequence[Entry], tables: Sequence[Sheet]) -> str:
    found = collections.Counter(entry.verdict for entry in entries)
    compared = [sheet for sheet in tables if sheet.kind == "paper"]
    return writing.html(
        results,
        tables,
        figures(results),
        list(fields(results, NAMES, DRAWN)),
        template="paper.html",
        folders=[FOLDER],
        entries=entries,
        said=said,
        otherwise=otherwise,
        unsolved=UNSOLVED,
        verdicts={verdict: found[verdict] for verdict in VERDICTS},
        compared=compared,
        sentences=sentences(entries, results),
        quoted=[sheet for sheet in tables if sheet.kind == "quoted"],
        diagram=writing.safe(writing.file_in([FOLDER], "architecture.svg") or ""),
    )
