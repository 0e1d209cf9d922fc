"""u_tt = c^2*u_xx → tokens: the only characters, and the only neighbours, that a statement may have.

What passes here is a well-formed sequence of names, numbers, + − * / ** ( ) , and =, so that the grammar of
Python, used afterwards for precedence alone, never meets a keyword, a string, an attribute or a huge literal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

import sympy as sp

from ...errors import Place, SafeNetError
from .notation import FUNCTIONS, JOINTS

# A page of formulas, far more than any equation; keeps every later step short.
MAX_LENGTH = 20_000
# Python builds the tree of 1 + 1 + … one level per sign and stops near three thousand levels.
MAX_TOKENS = 2_000
# Brackets within brackets: formulas written by people stay under ten.
MAX_DEPTH = 32
# float64 ends at 10^±308, and a float64 written out exactly as a fraction has up to 325 digits.
MAX_DIGITS = 340

SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
NAME = rf"[^\W\d{SUPERSCRIPTS}][^\W{SUPERSCRIPTS}]*"
_TOKEN = re.compile(
    rf"""(?P<space>\s+)
    | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>{NAME})
    | (?P<superscript>[{SUPERSCRIPTS}]+)
    | (?P<mark>\*\*|==|//|[<>]=?|[-+*/^(),=−–×·⋅÷≤≥])""",
    re.VERBOSE,
)
INTEGRALS = {"Integral", "integral", "integrate", "Integrate", "int", "quad"}
NO_INTEGRALS = "for an integral of u over x take another unknown w with w_x = u and w = 0 at one end"
_SPELLINGS = {
    "^": "**",
    "==": "=",
    "−": "-",
    "–": "-",
    "×": "*",
    "·": "*",
    "⋅": "*",
    "÷": "/",
    "≤": "<=",
    "≥": ">=",
}
_HINTS = {
    "'": "a derivative is written u_x or diff(u, x)",
    "∂": "a derivative is written u_x or diff(u, x)",
    "∇": "write the derivatives out: u_xx + u_yy",
    "[": "group with round brackets",
    "{": "group with round brackets",
    "~": "an equation has one '='",
    "&": "join comparisons with and: where(0 < x and x < t, 1, 0)",
    "|": "join comparisons with or: where(x < 0 or x > t, 1, 0)",
    "!": "compare with <, <=, > or >=",
    ".": "a number needs a digit: 0.5; attributes do not exist here",
    "%": "a remainder is not available",
    ";": "one equation per text",
    "√": "write sqrt(…)",
    "∞": "a domain and its numbers are finite",
}


@dataclass(frozen=True)
class Token:
    """`kind` is number, name, end, or the mark itself; `column` counts characters of the text from 0."""

    kind: str
    text: str
    column: int


@dataclass(frozen=True)
class Text:
    """A statement and its label, to point at the place of an error."""

    text: str
    label: str

    def wrong(self, column: int, message: str, remedy: str) -> NoReturn:
        """Raise, with the piece of the text and a caret under the column."""
        start = max(0, column - 60)
        piece = "".join(c if c.isprintable() else "·" for c in self.text[start : column + 40])
        caret = " " * (column - start) + "^"
        shown = f"{self.label}, column {column + 1}: {message}\n    {piece}\n    {caret}"
        raise SafeNetError(shown, remedy, Place(column=column))


def tokenise(text: str, label: str) -> tuple[Text, list[Token]]:
    """The tokens of a statement, checked: known characters, sizes, brackets, and a value where one is due."""
    if not isinstance(text, str):
        raise SafeNetError(f"{label} is {type(text).__name__}, not text", "write it in quotes")
    if len(text) > MAX_LENGTH:
        raise SafeNetError(
            f"{label} has {len(text):,} characters, more than {MAX_LENGTH:,}",
            "state it with parameters, or build the problem with SymPy in Python",
        )
    source = Text(text, label)
    tokens = _split(source)
    if not tokens:
        raise SafeNetError(f"{label} is empty", "write e.g. u_t = u_xx")
    if len(tokens) > MAX_TOKENS:
        excess = tokens[MAX_TOKENS]
        source.wrong(excess.column, f"more than {MAX_TOKENS:,} names, numbers and signs", "shorten it")
    _check_order(source, [*tokens, Token("end", "", len(text.rstrip()))])
    return source, tokens


def _split(source: Text) -> list[Token]:
    tokens: list[Token] = []
    column = 0
    while column < len(source.text) and len(tokens) <= MAX_TOKENS:
        match = _TOKEN.match(source.text, column)
        if match is None:
            character = source.text[column]
            shown = repr(character) if character.isprintable() else f"U+{ord(character):04X}"
            hint = _HINTS.get(character, "remove it")
            source.wrong(column, f"the character {shown} has no meaning here", hint)
        kind, piece = str(match.lastgroup), match.group()
        if kind == "superscript":
            power = "".join(str(SUPERSCRIPTS.index(c)) for c in piece)
            tokens += [Token("**", piece, column), Token("number", power, column)]
        elif kind == "mark":
            if piece == "//":
                source.wrong(column, "'//' is not available", "divide with /")
            tokens.append(Token(_SPELLINGS.get(piece, piece), piece, column))
        elif kind != "space":
            if kind == "number":
                _check_number(source, piece, column)
            tokens.append(Token(piece if piece in JOINTS else kind, piece, column))
        column = match.end()
    return tokens


def _check_number(source: Text, piece: str, column: int) -> None:
    mantissa, exponent = _parts(piece)
    # Lengths before values: the text of an exponent can itself be too long for an int.
    if len(mantissa) > MAX_DIGITS or len(exponent) > 5 or abs(int(exponent)) > MAX_DIGITS:
        shown = piece if len(piece) < 24 else piece[:20] + "…"
        source.wrong(column, f"the number {shown} is out of range", "numbers lie between 1e-300 and 1e300")


def _parts(piece: str) -> tuple[str, str]:
    mantissa, _, exponent = piece.lower().partition("e")
    sign = "-" if exponent.startswith("-") else ""
    return mantissa, sign + (exponent.lstrip("+-0") or "0")


def rational(piece: str) -> sp.Rational:
    """0.1 → 1/10, 1e-4 → 1/10000: the number as it is written."""
    mantissa, exponent = _parts(piece)
    whole, _, decimals = mantissa.partition(".")
    scale = int(exponent) - len(decimals)
    digits = sp.Integer(int(whole + decimals))
    return digits * sp.Integer(10) ** scale


def _check_order(source: Text, tokens: list[Token]) -> None:
    """One pass with one flag, `due`: a value must come next. Afterwards every operator has both operands."""
    due, previous = True, Token("start", "", 0)
    brackets: list[tuple[Token, bool]] = []  # open ones, and whether each holds a function's arguments
    for token in tokens:
        call = token.kind == "(" and previous.kind == "name"
        if token.kind in ("number", "name", "("):
            if not due and not call:
                _missing_sign(source, previous, token)
            due = token.kind == "("
        elif due and token.kind not in "+-":  # a sign may stand before its value
            _missing(source, previous, token)
        else:
            due = token.kind not in (")", "end")
        _check_brackets(source, token, call, brackets, tokens)
        previous = token


def _check_brackets(
    source: Text, token: Token, call: bool, brackets: list[tuple[Token, bool]], tokens: list[Token]
) -> None:
    """Open or close a bracket; refuse what it may not contain, and brackets still open where a side ends."""
    if token.kind == "(":
        brackets.append((token, call))
        if len(brackets) > MAX_DEPTH:
            source.wrong(token.column, f"more than {MAX_DEPTH} brackets within brackets", "simplify it")
    elif token.kind == ")":
        if not brackets:
            source.wrong(token.column, "this bracket closes nothing", "remove it, or open one before it")
        brackets.pop()
    elif token.kind == "," and not (brackets and brackets[-1][1]):
        integral = any(one.text in INTEGRALS for one in tokens)
        hint = NO_INTEGRALS if integral else "a decimal number has a point: 0.5"
        source.wrong(token.column, "a comma outside a function's arguments", hint)
    elif token.text == "==" and brackets:
        source.wrong(token.column, "'==' within brackets", "compare with <, <=, > or >=")
    elif token.kind in ("=", "end") and brackets:
        source.wrong(brackets[-1][0].column, "this bracket is never closed", "close it with )")


def _missing_sign(source: Text, previous: Token, token: Token) -> NoReturn:
    """2x, 2(x + 1), (x + 1)(x − 1), sin x, u(x, t)_t: two values side by side."""
    left = "(…)" if previous.kind == ")" else previous.text
    right = "(…)" if token.kind == "(" else token.text
    remedy = f"write {left}({right})" if left in FUNCTIONS else f"write {left}*{right}"
    if token.text.startswith("_"):
        remedy = f"the derivative is written before the place: u{token.text}(…)"
    source.wrong(token.column, f"a sign is missing before '{token.text}'", remedy)


def _missing(source: Text, previous: Token, token: Token) -> NoReturn:
    """A value is due at `token`, and something else stands there."""
    if token.kind == ")" and previous.kind == "(":
        source.wrong(token.column, "these brackets are empty", "put a value between them")
    if previous.kind == "start" or previous.kind in "(,=":
        missing = "the left side is missing" if token.kind == "=" else "a value is missing"
        what = "the right side is missing" if previous.kind == "=" and token.kind == "end" else missing
        source.wrong(token.column, what, "write e.g. u_t = u_xx")
    if token.kind in ("*", "**", "/") and previous.kind in ("+", "-", "*", "**", "/"):
        source.wrong(token.column, f"'{previous.text}' is followed by '{token.text}'", "keep one of the two")
    source.wrong(previous.column, f"'{previous.text}' has nothing after it", "add a value, or remove it")
