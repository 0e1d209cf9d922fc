"""The ledger, and below it the sheets, as Markdown and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..report import text
from ..report.sheets import Sheet
from ..report.text import code, escaped, long_table, pipes
from .judging import Entry
from .summary import sentences
from .verdicts import SEEDS

TITLE = "The paper's claims, measured"
LEDGER = ("claim", "ours", "verdict", "made by")
SCALE = "At another scale than the paper's, {scale}: "


def said(entry: Entry) -> str:
    """Our measurement; of another scale, or with fewer seeds than the paper's, with that said."""
    seeds = entry.finding.seeds
    few = f"; some cells have {seeds} seed{'s' if seeds > 1 else ''}" if seeds < SEEDS else ""
    return (
        (SCALE.format(scale=entry.scale) if entry.scale else "")
        + entry.ours
        + (few if entry.finding.ours else "")
    )


def otherwise(entry: Entry) -> str:
    """By the printed rule, where that makes a difference."""
    return f"With k = 1: {entry.otherwise.ours} ({entry.otherwise.verdict})" if entry.otherwise.ours else ""


def _lines(entries: Sequence[Entry]) -> list[tuple[str, str, str, str]]:
    return [
        (entry.text, ". ".join(filter(None, [said(entry), otherwise(entry)])), entry.verdict, entry.command)
        for entry in entries
    ]


def markdown(entries: Sequence[Entry], sheets: Iterable[Sheet]) -> str:
    return text.markdown(sheets, f"# {TITLE}", *sentences(entries), pipes(LEDGER, _lines(entries), code=3))


def latex(entries: Sequence[Entry], sheets: Iterable[Sheet]) -> str:
    claims = [(*map(escaped, line[:3]), code(line[3])) for line in _lines(entries)]
    return text.latex(sheets, long_table(TITLE, "claims", LEDGER, claims, widths=(0.36, 0.28, 0.13, 0.23)))
