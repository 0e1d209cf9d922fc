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
    """How many claims have which verdict."""
    kept, partly, missed = (len(_with(entries, verdict)) for verdict in (REPRODUCED, PARTLY, NOT))
    open_, undecidable = len(_with(entries, TOO_FEW, UNMEASURED)), len(_with(entries, UNDECIDABLE))
    counts = [f"{kept} {'is' if kept == 1 else 'are'} reproduced", f"{partly} in part", f"{missed} not"]
    counts += (
        [f"{open_} {'has' if open_ == 1 else 'have'} too few runs for a verdict, or none"] if open_ else []
    )
    counts += [f"{undecidable} cannot be decided"] if undecidable else []
    listing = ", ".join(counts[:-1]) + f", and {counts[-1]}"
    return f"{PROPOSED} We repeated its experiments at full size. Of its {len(entries)} claims, {listing}."


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
    """Which they are."""
    kinds = (
        ("Reproduced", _with(entries, REPRODUCED), MOST),
        ("In part", _with(entries, PARTLY), NAMED),
        ("Not reproduced", _with(entries, NOT), NAMED),
        ("Cannot be decided", _with(entries, UNDECIDABLE), NAMED),
    )
    parts = [
        f"{verdict}{', for example' * (len(found) > most)}: {'; '.join(entry.short for entry in found[:most])}."
        for verdict, found, most in kinds
        if found
    ]
    rests = (
        "The list of claims says on how many problems and seeds each verdict rests; many rest on one seed."
    )
    return " ".join([*parts, rests])


def _reading(entries: Sequence[Entry]) -> str:
    """How often SAFE-NET's own errors are reproduced, by either reading of its frequencies."""
    entry = next((entry for entry in entries if entry.name == ERRORS), None)
    if entry is None or not (entry.finding.ours or entry.otherwise.ours):
        return ""
    return (
        "The verdicts depend on how the paper is read: its rule for the frequencies at which the sines and cosines "
        "start is ambiguous. We use multiples of π/L everywhere, where L is the length of the domain (k = L); then "
        f"SAFE-NET's errors by the main training schedule are: {entry.finding.ours or 'not measured'}. As printed "
        f"means within a factor of {SAME:g}. With multiples of π where boundary values are not zero, as the rule can "
        f"also be read (k = 1): {entry.otherwise.ours or 'the same'}. "
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
