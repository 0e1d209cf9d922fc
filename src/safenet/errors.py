"""The exception and the warning a user meets: a sentence that says what is wrong, where, and what to try."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SafeNetError(Exception):
    """`message` says what is wrong and where; `remedy` says what to try."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message if not remedy else f"{message}\n  → {remedy}")
        self.message = message
        self.remedy = remedy


class SafeNetWarning(UserWarning):
    """Something that can be solved, but hardly means what it says."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """A remedy for a misspelt name: «did you mean …?», or the list of what exists."""
    known = sorted(choices)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    listing = ", ".join(known)
    return f"did you mean {close[0]!r}? Known: {listing}" if close else f"known: {listing}"
