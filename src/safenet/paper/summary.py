"""The outcome in three short paragraphs: what is reproduced, what is not, and under which reading."""

from __future__ import annotations

from collections.abc import Sequence

from .evidence import Evidence
from .judging import Entry
from .printed import cautions
from .verdicts import NOT, PARTLY, REPRODUCED, SAME, TOO_FEW, UNDECIDABLE, UNMEASURED

NAMED, MOST = 3, 6  # claims that a sentence names; most of those that are reproduced
ERRORS = "errors-paper-main-safe-net"
PROPOSED = (
    "The paper proposes SAFE-NET, a small neural network that is given sines and cosines of the coordinates, and says "
    "that it solves differential equations more accurately, with fewer parameters and in less time than seven other "
    "networks."
)


def sentences(entries: Sequence[Entry], results: Evidence) -> list[str]:
    """For a reader who does not know the paper; every number is counted from the entries."""
    if not any(entry.finding.seeds for entry in entries if not entry.scale):
        return [_small(entries, results)] if entries else []
    return [text for text in (_kept(entries), _missed(entries), _reading(entries)) if text]


def _kept(entries: Sequence[Entry]) -> str:
    kept, partly = _with(entries, REPRODUCED), _with(entries, PARTLY)
    return (
        f"{PROPOSED} We repeat its experiments at full size. Of its {len(entries)} claims, {len(kept)} "
        f"{_are(kept)} reproduced{_named(kept, MOST)}, and {len(partly)} in part{_named(partly, 1)}."
    )


def _small(entries: Sequence[Entry], results: Evidence) -> str:
    """Where nothing was run at the paper's size, nothing that was trained decides about it."""
    kept, missed = _with(entries, REPRODUCED, PARTLY), _with(entries, NOT)
    return (
        f"{PROPOSED} No experiment was repeated at full size: {_size(results)}. So no run decides about any of its "
        f"{len(entries)} claims. By counting and computing, without training, {len(kept)} {_are(kept)} "
        f"reproduced{_named(kept, MOST)}, and {len(missed)} {_are(missed)} not{_named(missed)}."
    )


def _size(results: Evidence) -> str:
    """18 runs on 2 problems, most of them with 3% of the iterations, 500 + 100 points, float32"""
    scales, problems = results.scales(), len({key[0] for key in results.trained})
    if not scales:
        return "nothing was trained"
    runs = sum(map(len, results.trained.values()))
    told = f"{_several(runs, 'run')} on {_several(problems, 'problem')}"
    return f"{told}{', most of them' if len(scales) > 1 else ''} with {scales[0]}"


def _several(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' * (number != 1)}"


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
        f"where boundary values are not zero, called k = 1 below): {entry.otherwise.ours or 'the same'}. "
        + " ".join(cautions(("heat2d", "backstep")))
    )


def _with(entries: Sequence[Entry], *verdicts: str) -> list[Entry]:
    return [entry for entry in entries if entry.verdict in verdicts]


def _are(entries: Sequence[Entry]) -> str:
    return "is" if len(entries) == 1 else "are"


def _named(entries: Sequence[Entry], count: int = NAMED) -> str:
    """(for example that this, on 1 problem with 5 seeds; that that)"""
    if not entries:
        return ""
    told = (
        ", ".join(filter(None, (f"that {entry.short}", entry.finding.rests))) for entry in entries[:count]
    )
    names = "; ".join(told)
    return f" (for example {names})" if len(entries) > count else f" ({names})"
