"""What came out, in three short paragraphs: what is reproduced, what is not, and under which reading."""

from __future__ import annotations

from collections.abc import Sequence

from .judging import Entry
from .verdicts import NOT, PARTLY, REPRODUCED, TOO_FEW, UNDECIDABLE, UNMEASURED

NAMED = 1  # claims that a sentence names
ERRORS = "errors-paper-main-safe-net"


def sentences(entries: Sequence[Entry]) -> list[str]:
    """For a reader who does not know the paper; all of it counted from the entries."""
    return [text for text in (_kept(entries), _missed(entries), _reading(entries)) if text] if entries else []


def _kept(entries: Sequence[Entry]) -> str:
    kept, partly = _with(entries, REPRODUCED), _with(entries, PARTLY)
    return (
        "The paper says that SAFE-NET, a small neural network on Fourier features, solves differential equations more "
        f"accurately and faster than seven other networks. Of its {len(entries)} claims our runs reproduce "
        f"{len(kept)}{_named(kept)} and {len(partly)} in part{_named(partly)}."
    )


def _missed(entries: Sequence[Entry]) -> str:
    missed, open_ = _with(entries, NOT), _with(entries, TOO_FEW, UNMEASURED)
    undecidable = _with(entries, UNDECIDABLE)
    cannot = f" {len(undecidable)} cannot be decided{_named(undecidable)}." if undecidable else ""
    return (
        f"{len(missed)} are not reproduced{_named(missed)}. {len(open_)} have too few runs for a verdict, or none; the "
        f"list of claims gives the command for each.{cannot}"
    )


def _reading(entries: Sequence[Entry]) -> str:
    """How often SAFE-NET's own errors come out, by either reading of its frequencies."""
    entry = next((entry for entry in entries if entry.name == ERRORS), None)
    if entry is None or not (entry.finding.ours or entry.otherwise.ours):
        return ""
    return (
        "The paper does not say at which frequencies its network starts, and its errors depend on them. We tried two "
        "readings with the paper's first schedule, and compared the error on each problem with the printed one. "
        f"With multiples of π/L, where L is the length of the domain: {entry.finding.ours or 'not measured'}. With "
        "multiples of π on problems with non-zero boundary values, and of π/L on the others: "
        f"{entry.otherwise.ours or 'not measured'}."
    )


def _with(entries: Sequence[Entry], *verdicts: str) -> list[Entry]:
    return [entry for entry in entries if entry.verdict in verdicts]


def _named(entries: Sequence[Entry]) -> str:
    """(for example: this)"""
    if not entries:
        return ""
    names = "; ".join(entry.short for entry in entries[:NAMED])
    return f" (for example: {names})" if len(entries) > NAMED else f" ({names})"
