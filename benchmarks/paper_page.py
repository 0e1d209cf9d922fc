"""results/ → docs/tables.md, and the texts about the paper in docs/benchmarks.md and README.md, between markers.

python -m benchmarks.paper_page
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from safenet import paper
from safenet.paper import names
from safenet.paper.compared import sheets
from safenet.paper.evidence import Evidence
from safenet.paper.judging import Entry
from safenet.paper.summary import sentences
from safenet.report.sheets import Cell, Sheet
from safenet.report.text import pipes
from safenet.report.words import short

from . import written

ROOT = Path(__file__).parents[1]
# Every suite's rows; `networks*.jsonl` belongs to another study.
SOURCES = [
    ROOT / "results" / "defaults.jsonl",
    *sorted((ROOT / "results").glob("paper-*.jsonl")),
    ROOT / "results" / "spectra.json",
]
TABLES, BENCHMARKS, README = ROOT / "docs" / "tables.md", ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
NAMED = ROOT / "results" / "named.json"
SHOWN = ("optimizer_comparison_config1", "optimizer_comparison_config2")
MARKS = {
    "same": "**As printed**, within 2 times or neither solves the problem",
    "better": "**Better than printed**",
    "worse": "**Worse than printed**",
}


def named() -> str:
    """results/named.json as a table: every study's lines, with its command."""
    lines = []
    for study in json.loads(NAMED.read_text("utf-8")).values():
        for case, numbers in study["lines"].items():
            told = "; ".join(f"{key} {_number(key, value)}" for key, value in numbers.items())
            lines.append((case, told.replace("_", " "), f"`{study['command']}`, {study['device']}"))
    return pipes(("case", "measured", "by"), lines) + "\n"


def _number(key: str, value: float | str) -> str:
    if isinstance(value, float) and "seconds" not in key:
        return short(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def readme(results: Evidence, entries: list[Entry]) -> str:
    return "".join(f"- {sentence}\n" for sentence in sentences(entries, results))


def benchmarks(results: Evidence, entries: list[Entry]) -> str:
    """The summary's paragraphs, then both schedules at a glance: our median, and the printed error in brackets."""
    parts = sentences(entries, results)
    for sheet in sheets(results):
        if sheet.label in SHOWN and sheet.measured:
            parts += [f"### {sheet.title}", *sheet.notes, _glance(sheet, results), "\n".join(_marked(sheet))]
    return "\n\n".join(parts) + "\n"


def _glance(sheet: Sheet, results: Evidence) -> str:
    rows = [(row[0].text, *map(_cell, row[1:])) for row in sheet.rows]
    if sheet.label == SHOWN[0]:
        errors = {row.problem: row.l2re for row in results.rows if row.solver == "auto" and row.l2re}
        by_name = {names.problem(name): f"*{short(error)}*" for name, error in errors.items()}
        rows.append(("*default solve, no network*", *(by_name.get(name, "–") for name in sheet.head[1:])))
    return pipes(sheet.head, rows)


def _cell(cell: Cell) -> str:
    """**2.0e-3** (3.31e-2), 1 seed"""
    printed = f" ({cell.below.split()[1]})" if cell.below else ""
    return (f"**{cell.text}**" if cell.best else cell.text) + printed + (f", {cell.few}" if cell.few else "")


def _marked(sheet: Sheet) -> Iterator[str]:
    """Lists of the cells that are as printed, better, and worse."""
    for mark, words in MARKS.items():
        found: dict[str, list[str]] = {}
        for row in sheet.rows:
            for cell, name in zip(row[1:], sheet.head[1:], strict=True):
                if cell.mark == mark:
                    found.setdefault(row[0].text, []).append(name)
        count = sum(map(len, found.values()))
        said = "; ".join(f"{method} on {', '.join(where)}" for method, where in found.items())
        yield f"- {words} ({count}): {said or 'none'}."


def pages(results: Evidence, entries: list[Entry]) -> dict[Path, dict[str, str]]:
    """page → {name of its markers: the text between them}"""
    return {
        BENCHMARKS: {"paper": benchmarks(results, entries), "named": named()},
        README: {"paper": readme(results, entries)},
    }


def main() -> None:
    results = paper.read(SOURCES)
    entries = paper.write(SOURCES, markdown=TABLES)
    for path, found in pages(results, entries).items():
        path.write_text(written(path.read_text("utf-8"), found), "utf-8")
        print(path)


if __name__ == "__main__":
    main()
