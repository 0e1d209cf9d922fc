"""The exception and the warning a user meets: a sentence that says what is wrong, where, and what to try."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

Part = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """Where a statement is wrong: equations[1] is ("equations", 1), the axis x is ("domain", "x").

    `column` counts the characters of that text from 0; `line` counts from 1, if the text is in the file `source`.
    """

    path: Part = ()
    column: int | None = None
    source: str = ""
    line: int | None = None


LONGEST = 2400  # characters in a message


class SafeNetError(Exception):
    """`message` says what is wrong and where, `remedy` what to try; `where` is the place as data.

    Examples:
        >>> try:
        ...     sn.solve("wafe")
        ... except sn.SafeNetError as error:
        ...     print(error.message)
        there is no problem 'wafe' in the library
    """

    def __init__(self, message: str, remedy: str = "", where: Place | None = None) -> None:
        self.message, self.remedy = _bounded(message), _bounded(remedy)
        super().__init__(self.message if not remedy else f"{self.message}\n  → {self.remedy}")
        self.where = where or Place()


def _bounded(text: str) -> str:
    """The beginning and the end of a long text: what a message quotes may have any length."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 3 :]}"


def printable(text: str) -> str:
    """The text with control characters, bidi marks and lone surrogates escaped, as \\u202e: none reaches a terminal.

    Line breaks stay. Messages quote names and titles, which come from other people's files.
    """
    return "".join(map(_harmless, text))


def _harmless(character: str) -> str:
    if character == "\n" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
        return character
    return character.encode("unicode_escape", "surrogatepass").decode()


class SafeNetWarning(UserWarning):
    """A problem that can be solved but is probably misstated.

    Examples:
        >>> import warnings
        >>> warnings.simplefilter("ignore", sn.SafeNetWarning)
    """


@contextmanager
def about(*path: str | int) -> Iterator[None]:
    """Errors raised inside are about this part of the statement, unless they name a part themselves."""
    try:
        yield
    except SafeNetError as error:
        if not error.where.path:
            error.where = replace(error.where, path=path)
        raise


@contextmanager
def saving(place: object) -> Iterator[None]:
    """An OSError raised inside says that this place cannot be written."""
    try:
        yield
    except OSError as obstacle:
        raise SafeNetError(f"cannot write {place}: {obstacle.strerror}", "choose another place") from None


def nearest(word: str, choices: Iterable[str]) -> str:
    """A remedy for a misspelt name: «did you mean …?», or the list of what exists."""
    known = sorted(choices)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    listing = ", ".join(known)
    return f"did you mean {close[0]!r}? Known: {listing}" if close else f"known: {listing}"
