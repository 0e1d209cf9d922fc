"""`safenet report`: options in, files out. It is here because it also writes the page of the paper."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer


def report(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR…", help="folders of `safenet bench`, .db, .jsonl exports, spectra as .json"
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="F.html", help="the page, in one file")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="F.md", help="the tables as Markdown")] = None,
    latex: Annotated[Path | None, typer.Option(metavar="F.tex", help="the tables as LaTeX")] = None,
    paper: Annotated[
        bool,
        typer.Option("--paper/--no-paper", help="the paper's claims, tables and figures beside the runs"),
    ] = True,
) -> None:
    """Write a page of benchmark results, beside the paper's.

    It has every claim, table and figure of the paper beside what was measured.
    Parts without results name the suite to run. Runs of your own suites get a table of their own.

    \b
    safenet report runs/smoke -o page.html
    safenet report runs/mine -o page.html --no-paper
    safenet report runs/main results/paper-*.jsonl -o page.html --markdown tables.md --latex tables.tex
    """
    if paper:
        from .writing import write

        entries = write(sources, output, markdown, latex)
        counts = Counter(entry.verdict for entry in entries)
        found = f"{len(entries)} claims: " + ", ".join(
            f"{count} {verdict}" for verdict, count in counts.items()
        )
    else:
        from ..report.writing import write as write_runs

        found = f"{len(write_runs(sources, output, markdown, latex).rows)} runs"
    for path in (output, markdown, latex):
        if path is not None:
            print(path)
    print(found)
