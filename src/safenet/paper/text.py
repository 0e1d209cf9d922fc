"""The ledger, and below it the sheets, as Markdown and as LaTeX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..report import text
from ..report.sheets import Sheet
from ..report.text import code, escaped, long_table, pipes
from .judging import Entry
from .verdicts import SEEDS, TOO_FEW, UNMEASURED, Finding

TITLE = "The paper's claims, measured"
LEDGER = ("claim", "ours", "verdict", "made by")
SCALE = "At another scale than the paper's, {scale}: "


def said(entry: Entry) -> str:
    """Our measurement, with a note if it is of another scale or has fewer seeds than the paper."""
    finding = entry.finding
    few = f"; some cells have {finding.seeds} seed{'s' if finding.seeds > 1 else ''}"
    return (
        (SCALE.format(scale=entry.scale) if entry.scale else "")
        + entry.ours
        + (few if finding.ours and 0 < finding.seeds < SEEDS else "")
        + _alone(finding)
    )


def _alone(finding: Finding) -> str:
    """; judged seed by seed: not reproduced 3 of 5, partly 2 of 5"""
    counts = Counter(finding.alone)
    if set(counts) <= {finding.verdict}:
        return ""
    told = (f"{verdict} {count} of {len(finding.alone)}" for verdict, count in counts.most_common())
    return f"; judged seed by seed: {', '.join(told)}"


def otherwise(entry: Entry) -> str:
    """The finding by the printed rule for frequencies, if it has a verdict and makes a difference."""
    other = entry.otherwise
    return f"With k = 1: {other.ours} ({other.verdict})" if other.verdict not in (TOO_FEW, UNMEASURED) else ""


def _lines(entries: Sequence[Entry]) -> list[tuple[str, str, str, str]]:
    return [
        (entry.text, ". ".join(filter(None, [said(entry), otherwise(entry)])), entry.verdict, entry.command)
        for entry in entries
    ]


def markdown(entries: Sequence[Entry], sheets: Iterable[Sheet], summary: Sequence[str] = ()) -> str:
    return text.markdown(sheets, f"# {TITLE}", *summary, pipes(LEDGER, _lines(entries), code=3))


def latex(entries: Sequence[Entry], sheets: Iterable[Sheet]) -> str:
    claims = [(*map(escaped, line[:3]), code(line[3])) for line in _lines(entries)]
    return text.latex(sheets, long_table(TITLE, "claims", LEDGER, claims, widths=(0.36, 0.28, 0.13, 0.23)))
