"""A problem as the text of a file: reading it gives an equal problem."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sympy as sp

from ..errors import SafeNetError
from .facts.fact import fact
from .jets import JetTable
from .language.notation import written
from .numbers import Curve, Number
from .pieces import On
from .problem import Problem
from .relation import Relation


def write(problem: Problem, path: str | Path) -> None:
    """Write the problem to a file, and its data beside it."""
    text = dumps(problem)
    try:
        for name, one in problem.files.items():
            Path(path).with_name(name).write_text(one.text, encoding="utf-8", newline="\n")
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise SafeNetError(f"cannot write {path}: {error}", "choose another place") from None


@fact
def dumps(problem: Problem) -> str:
    """Write a problem as the text of a problem file. A numerical reference is not part of it.

    Examples:
        >>> print(sn.dumps(decay).splitlines()[0])
        name = "decay"
    """
    table = JetTable([axis.symbol for axis in problem.axes], problem.unknowns, None, problem.functions)

    def relations(key: str, group: Sequence[Relation | On]) -> str:
        texts = ""
        for relation in group:
            statement, piece = relation.statement, getattr(relation, "piece", "")
            sides = (written(table.rewrite(side, key)) for side in (statement.lhs, statement.rhs))
            texts += f"    {_quoted(' = '.join(sides) + (f' on {piece}' if piece else ''))},\n"
        return f"{key} = [\n{texts}]"

    parts = [f"name = {_quoted(problem.name)}"]
    if problem.title:
        parts.append(f"title = {_quoted(problem.title)}")
    parts.append(f"unknowns = [{', '.join(map(_quoted, problem.unknowns))}]")
    parts.append(relations("equations", problem.equations))
    if problem.stated:
        parts.append(relations("conditions", problem.stated))
    if problem.periodic:
        parts.append(f"periodic = [{', '.join(map(_quoted, problem.periodic))}]")
    if problem.exact is not None:
        fields = (f"{_key(field)} = {_quoted(written(value))}" for field, value in problem.exact.items())
        parts.append(f"exact = {{ {', '.join(fields)} }}")
    ends = (
        f"{_key(name)} = [{_number(low)}, {_number(high)}]" for name, (low, high) in problem.bounds.items()
    )
    shapes = {"shape": [problem.shape] if problem.shape else [], "remove": list(problem.remove)}
    listed = (
        f"{key} = [{', '.join(_inline(part.to_data()) for part in parts)}]"
        for key, parts in shapes.items()
        if parts
    )
    parts.append("\n".join(["\n[domain]", *ends, *listed]))
    if problem.pieces:
        texts = (f"{_key(name)} = {_quoted(text)}" for name, text in problem.pieces.items())
        parts.append("\n".join(["\n[pieces]", *texts]))
    known = [(s.name, value) for s, value in problem.parameters.items() if s.name not in problem.unknown]
    if known:
        parts.append(
            "\n".join(["\n[parameters]", *(f"{_key(name)} = {_number(value)}" for name, value in known)])
        )
    if problem.unknown:
        numbers = (f"{_key(name)} = {_unknown(number)}" for name, number in problem.unknown.items())
        parts.append("\n".join(["\n[unknown]", *numbers]))
    if problem.tables:
        listed = (
            f"{_key(name)} = {{ file = {_quoted(one.file)}, of = [{', '.join(map(_quoted, one.of))}], "
            f"interpolation = {_quoted(one.interpolation)} }}"
            for name, one in problem.tables.items()
        )
        parts.append("\n".join(["\n[tables]", *listed]))
    for data in problem.data:
        entries = {"file": data.file, "value": data.value, "sigma": data.sigma}
        texts = (f"{key} = {_quoted(entry)}" for key, entry in entries.items() if entry is not None)
        parts.append("\n".join(["\n[[data]]", *texts]))
    text = "\n".join(parts) + "\n"
    _check(problem, text)
    return text


def _check(problem: Problem, text: str) -> None:
    """Raise unless the text reads back as the same problem: SymPy can state more than the text form."""
    from .toml import loads

    try:
        text.encode()
        same = loads(text, problem.name, problem.files.get) == problem
    except UnicodeEncodeError:
        same = False
    except SafeNetError as error:
        raise SafeNetError(
            f"{problem.name} cannot be written as text: {error.message}", error.remedy
        ) from None
    if not same:
        raise SafeNetError(
            f"{problem.name} cannot be written as text: it would be read as another problem",
            "give the parts unambiguous names, and write them in their simplest form",
        )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _unknown(number: Number) -> str:
    ends = {"start": number.start, "above": number.above, "below": number.below}
    texts = [f"{key} = {_number(end)}" for key, end in ends.items() if end is not None]
    if isinstance(number, Curve):
        texts = [f"of = [{', '.join(map(_quoted, number.of))}]", *texts, f"cells = {number.cells}"]
        texts += [] if number.smooth is None else [f"smooth = {number.smooth!r}"]
    return "{ " + ", ".join(texts) + " }"


def _inline(value: Any) -> str:
    """A shape's data as an inline table."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_inline(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _number(value: sp.Expr) -> str:
    """A plain number where TOML can hold it exactly, else a formula in quotes."""
    if value.is_Integer and abs(int(value)) < 2**63:
        return str(value)
    if value.is_Rational and not value.is_Integer:
        decimal = repr(float(value))
        if sp.Rational(decimal) == value:
            return decimal
    return _quoted(written(value))
