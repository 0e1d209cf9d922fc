"""equations[1] → line 4: where each value of a TOML file stands, which tomllib does not keep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from ...errors import Part

_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r]+|\#[^\n]*)
    | (?P<newline>\n)
    | (?P<string>\"{3}(?:[^\\]|\\.)*?\"{3,5}|'{3}.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')
    | (?P<mark>[][{},=.])
    | (?P<bare>[^][\s{},=."'\#]+)""",
    re.VERBOSE | re.DOTALL,
)


def lines(text: str) -> dict[Part, int]:
    """The line (from 1) of every key and array element of a valid file, by its path."""
    found: dict[Part, int] = {}
    # The scanner runs off the end by design; a message without a line is still a message.
    with suppress(IndexError, RecursionError):
        _Scanner(text, found).document()
    return found


def line_with_many_dots(text: str, limit: int) -> int | None:
    """The first line with more than `limit` dots outside strings and without a comma between, as only a key of very
    many parts has: a list of numbers has commas."""
    dots, line = 0, 1
    for token, line in _tokens(text):
        dots = 0 if token in ("\n", ",") else dots + (token == ".")
        if dots > limit:
            return line
    return None


class _Scanner:
    def __init__(self, text: str, found: dict[Part, int]) -> None:
        self.tokens = list(_tokens(text))
        self.next = 0
        self.found = found
        self.counts: dict[Part, int] = {}

    def document(self) -> None:
        prefix: Part = ()
        while True:
            self.skip("\n")
            if self.look() == "[":
                before = self.next
                self.skip("[")
                listed = self.next - before > 1  # [[data]] is an element of the list data
                line = self.line()
                prefix = self.key()
                if listed:
                    self.counts[prefix] = index = self.counts.get(prefix, -1) + 1
                    prefix = (*prefix, index)
                self.found[prefix] = line
                self.skip("]")
            else:
                self.entry(prefix)

    def entry(self, prefix: Part) -> None:
        line = self.line()
        path = prefix + self.key()
        self.found[path] = line
        self.skip("=")
        self.value(path)

    def key(self) -> Part:
        parts: list[str] = []
        while self.look() not in ("=", "]"):
            token = self.take()
            if token != ".":
                parts.append(token[1:-1] if token[0] in "\"'" else token)
        return tuple(parts)

    def value(self, path: Part) -> None:
        opening = self.take()
        closing = {"[": "]", "{": "}"}.get(opening)
        if closing is None:
            while self.look() not in ("\n", ",", "]", "}"):
                self.take()
            return
        index = 0
        while True:
            self.skip("\n", ",")
            if self.look() == closing:
                self.take()
                return
            if opening == "{":
                self.entry(path)
            else:
                self.found[(*path, index)] = self.line()
                self.value((*path, index))
                index += 1

    def look(self) -> str:
        return self.tokens[self.next][0]

    def line(self) -> int:
        return self.tokens[self.next][1]

    def take(self) -> str:
        self.next += 1
        return self.tokens[self.next - 1][0]

    def skip(self, *marks: str) -> None:
        while self.look() in marks:
            self.next += 1


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line = 1
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            yield match.group(), line
        line += match.group().count("\n")
