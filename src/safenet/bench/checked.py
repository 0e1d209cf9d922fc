"""A row from anywhere → a row that export and report can read, or a sentence that says why not.

Files to merge may come from strangers. A row is accepted only if every column has the right type and size; the rows of
an existing store are checked in the same way, and one that fails is left out with a warning.
"""

from __future__ import annotations

import base64
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import SafeNetError, printable
from ..run.checkpoint import unpacked

MOST_TEXT, MOST_NAME, MOST_BYTES = 100_000, 300, 2**24
LATEST = 4e9  # seconds since 1970: later dates are refused
DEEPEST = 20  # levels of nested tables and lists


def problem_with(values: Mapping[str, Any]) -> str:
    """What is wrong with a row, {column: value}; empty if nothing is."""
    for name, value in values.items():
        kind, fits = KINDS.get(name, ("", None))
        if fits is None:
            return f"there is no column {printable(str(name)[:40])!r}"
        if not fits(value):
            return f"{name} is not {kind}"
    for name in REQUIRED:
        if name not in values:
            return f"{name} is missing"
    return _configuration(values["configuration"])


def checked(values: Mapping[str, Any]) -> None:
    if wrong := problem_with(values):
        raise SafeNetError(wrong)


def legible(text: str) -> str:
    """The text as a row can keep it: control characters escaped, and not too long."""
    return printable(text)[:MOST_TEXT]


def history_of(text: Any) -> bytes | None:
    """A row's curves, from base64 text."""
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > MOST_BYTES:
        raise SafeNetError("history is not a base64 text")
    return base64.b64decode(text)


def _configuration(configuration: Mapping[str, Any]) -> str:
    """Check the statement (TOML with a name), and the parts of the configuration that are read later."""
    if not _statement(configuration.get("problem")):
        return "configuration.problem is not the text of a problem"
    plan = configuration.get("plan")
    if not isinstance(plan, dict) or not isinstance(plan.get("network", {}), dict):
        return "configuration.plan is not a plan"
    if not _text(plan.get("network", {}).get("k", "")):
        return "configuration.plan.network.k is not a text"
    for key, parts in (("phases", {"phase": _name, "iterations": _maybe(_whole)}), ("passes", {})):
        if not _tables(plan.get(key, []), parts):
            return f"configuration.plan.{key} is not a list of {key}"
    if "phases" in plan and not _has(plan, {"interior": _whole, "condition": _whole, "precision": _name}):
        return "configuration.plan does not say its points and precision"
    if not _text(configuration.get("reference", "")):
        return "configuration.reference is not an id"
    if not _counts(configuration.get("spectrum", [1])):
        return "configuration.spectrum is not a list of counts"
    return ""


def _statement(text: Any) -> bool:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, TypeError, AttributeError, ValueError, RecursionError):
        return False
    return _name(document.get("name")) and _table(document.get("parameters", {}))


def _has(table: Mapping[str, Any], parts: Mapping[str, Callable[[Any], bool]]) -> bool:
    return all(fits(table.get(name)) for name, fits in parts.items())


def _tables(value: Any, parts: Mapping[str, Callable[[Any], bool]]) -> bool:
    """A list of tables, each with these parts."""
    return isinstance(value, list) and all(isinstance(each, dict) and _has(each, parts) for each in value)


def _counts(value: Any) -> bool:
    return isinstance(value, list) and all(_whole(each) and each > 0 for each in value)


def _name(value: Any) -> bool:
    return _text(value) and 0 < len(value) <= MOST_NAME and "\n" not in value


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MOST_TEXT and printable(value) == value


def _real(value: Any) -> bool:
    return type(value) is float or _whole(value)


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 2**63


def _maybe(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


def _table(value: Any) -> bool:
    return isinstance(value, dict) and _plain(value, DEEPEST)


def _plain(value: Any, deep: int) -> bool:
    """Numbers, texts and booleans, in tables and lists nested at most `deep` levels."""
    if isinstance(value, dict):
        return deep > 0 and all(_text(key) and _plain(each, deep - 1) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return deep > 0 and all(_plain(each, deep - 1) for each in value)
    return value is None or isinstance(value, bool) or _real(value) or _text(value)


def _numbers(value: Any) -> bool:
    return _table(value) and all(each is None or _real(each) for each in value.values())


def _environment(value: Any) -> bool:
    return _table(value) and _counts([value.get("together", 1)])


def _result(value: Any) -> bool:
    """result.json, and what was measured besides."""
    if not _table(value):
        return False
    spectrum = value.get("spectrum") or {"seconds": 0.0, "lambda_max": 0.0}
    return (
        _tables(value.get("phases") or [], {"name": _name, "iterations": _whole, "outcome": _name})
        and _tables(value.get("candidates") or [], {"rate": _maybe(_real)})
        and _pace(value.get("pace") or {})
        and _tables([spectrum], {"seconds": _real, "lambda_max": _real})
    )


def _pace(value: Any) -> bool:
    return _table(value) and all(map(_real, value.values()))


def _date(value: Any) -> bool:
    return _real(value) and 0 <= value < LATEST


def _curves(value: Any) -> bool:
    if value is None:
        return True
    try:
        return len(value) <= MOST_BYTES and all(array.ndim == 2 for array in unpacked(value).values())
    except Exception:  # whatever a damaged archive raises
        return False


REQUIRED = ("id", "problem", "seed", "outcome", "configuration", "environment")
NAME, WHOLE, REAL = "a short line of text", "a whole number", "a number"
KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("id", "problem", "outcome", "solver"), (NAME, _name)),
    **dict.fromkeys(("method", "recipe", "precision", "device"), (NAME, _maybe(_name))),
    **dict.fromkeys(("attempt", "seed"), (WHOLE, _whole)),
    **dict.fromkeys(("iterations", "evaluations", "parameters"), (WHOLE, _maybe(_whole))),
    **dict.fromkeys(("l2re", "residual", "seconds"), (REAL, _maybe(_real))),
    **dict.fromkeys(("variant", "configuration"), ("a table of plain values", _table)),
    "environment": ("a description of a machine", _environment),
    "errors": ("a table of numbers", _numbers),
    "result": ("a result", _result),
    "stop_reason": ("a text", _maybe(_text)),
    "finished": ("a date", _date),
    "history": ("a set of curves", _curves),
}
