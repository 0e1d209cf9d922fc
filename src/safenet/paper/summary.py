"""The outcome in three short paragraphs: what is reproduced, what is not, and under which reading."""

from __future__ import annotations

from collections.abc import Sequence

from .judging import Entry
from .verdicts import NOT, PARTLY, REPRODUCED, SAME, TOO_FEW, UNDECIDABLE, UNMEASURED

NAMED = 3  # claims that a sentence names
ERRORS = "errors-paper-main-safe-net"


def sentences(entries: Sequence[Entry]) -> list[str]:
    """For a reader who does not know the paper; every number is counted from the entries."""
    return [text for text in (_kept(entries), _missed(entries), _reading(entries)) if text] if entries else []


def _kept(entries: Sequence[Entry]) -> str:
    kept, partly = _with(entries, REPRODUCED), _with(entries, PARTLY)
    return (
        "The paper proposes SAFE-NET, a small neural network that is given sines and cosines of the coordinates, and "
        "says that it solves differential equations more accurately, with fewer parameters and in less time than "
        f"seven other networks. We repeat its experiments at full size. Of its {len(entries)} claims, {len(kept)} "
        f"{_are(kept)} reproduced{_named(kept)}, and {len(partly)} in part{_named(partly, 1)}."
    )


def _missed(entries: Sequence[Entry]) -> str:
    missed, open_ = _with(entries, NOT), _with(entries, TOO_FEW, UNMEASURED)
    undecidable = _with(entries, UNDECIDABLE)
    parts = [f"{len(missed)} {_are(missed)} not reproduced{_named(missed)}."]
    if open_:
        have = "has" if len(open_) == 1 else "have"
        parts.append(f"{len(open_)} {have} too few runs for a verdict yet, or none.")
    if undecidable:
        parts.append(f"{len(undecidable)} cannot be decided{_named(undecidable)}.")
    parts.append("The list of claims says on how many problems and seeds each verdict rests.")
    return " ".join(parts)


def _reading(entries: Sequence[Entry]) -> str:
    """How often SAFE-NET's own errors are reproduced, by either reading of its frequencies."""
    entry = next((entry for entry in entries if entry.name == ERRORS), None)
    if entry is None or not (entry.finding.ours or entry.otherwise.ours):
        return ""
    return (
        "The verdicts depend on how the paper is read: its rule for the frequencies at which the sines and cosines "
        "start is ambiguous. We use multiples of π/L everywhere, where L is the length of the domain (k = L). An error "
        f"counts as printed if it is within a factor of {SAME:g} of the printed one. SAFE-NET's errors by the main "
        f"training schedule: {entry.finding.ours or 'not measured'}. With the rule as it is printed (multiples of π "
        f"where boundary values are not zero, called k = 1 below): {entry.otherwise.ours or 'the same'}."
    )


def _with(entries: Sequence[Entry], *verdicts: str) -> list[Entry]:
    return [entry for entry in entries if entry.verdict in verdicts]


def _are(entries: Sequence[Entry]) -> str:
    return "is" if len(entries) == 1 else "are"


def _named(entries: Sequence[Entry], count: int = NAMED) -> str:
    """(for example that this; that that)"""
    if not entries:
        return ""
    names = "; ".join(f"that {entry.short}" for entry in entries[:count])
    return f" (for example {names})" if len(entries) > count else f" ({names})"
