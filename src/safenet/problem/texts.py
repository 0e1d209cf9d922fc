"""`"u_t = u_xx/10"` from Python: statements given as text, and the unknowns that the texts name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..errors import SafeNetError, about
from .language.names import RESERVED, Names
from .language.notation import DERIVATIVE
from .language.text import parse_relation
from .language.tokens import tokenise
from .pieces import On, normal_names, split_piece
from .reading import equation_statements, unknowns_of


def read_statement(text: str, names: Names, key: str, index: int) -> On:
    """Parse equations[0] or conditions[2]; `u = 0 on walls` is a condition on a piece, where normals are known."""
    statement, piece = split_piece(text) if key == "conditions" else (text, "")
    return _on(piece, statement, names, f"{key[:-1]} {index + 1}")


def _on(piece: str, statement: Any, names: Names, label: str) -> On:
    if not isinstance(statement, str):
        return On(piece, statement)
    here = replace(names, normals=normal_names(names.axes)) if piece else names
    return On(piece, parse_relation(statement, here, label))


def read_texts(
    equations: Any,
    conditions: Any,
    unknowns: tuple[str, ...] | None,
    axes: Sequence[str],
    parameters: Sequence[str],
    functions: tuple[tuple[str, tuple[str, ...]], ...] = (),
) -> tuple[Any, Any, tuple[str, ...] | None]:
    """Equations and conditions with every text parsed, and the unknowns; anything else stays as it is."""
    equations, conditions = (
        list(g) if isinstance(g, (list, tuple)) else [g] for g in (equations, conditions)
    )
    placed = [one.statement if isinstance(one, On) else one for one in conditions]
    texts = [
        ((key, index), text)
        for key, group in (("equations", equations), ("conditions", placed))
        for index, text in enumerate(group)
        if isinstance(text, str)
    ]
    if not texts:
        return equations, conditions, unknowns
    symbols = [one for one in equations if not isinstance(one, str)]
    known = unknowns or [
        *(unknowns_of(equation_statements(symbols), dict(functions)) if symbols else ()),
        *_differentiated(texts, axes, [*parameters, *dict(functions)]),
    ]
    if not known:
        raise SafeNetError(
            "the equations contain no derivative of an unknown",
            'write e.g. "u_t = u_xx", or name the unknowns: unknowns=["u"]',
        )
    names = Names(tuple(axes), tuple(dict.fromkeys(known)), tuple(parameters), functions=functions)
    for index, one in enumerate(equations):
        if isinstance(one, str):
            with about("equations", index):
                equations[index] = read_statement(one, names, "equations", index).statement
    for index, one in enumerate(conditions):
        with about("conditions", index):
            if isinstance(one, str):
                conditions[index] = read_statement(one, names, "conditions", index)
            elif isinstance(one, On):
                conditions[index] = _on(one.piece, one.statement, names, f"condition {index + 1}")
    return equations, conditions, names.unknowns


def unknowns_in(
    equations: Sequence[str], conditions: Sequence[str], axes: Sequence[str], parameters: Sequence[str]
) -> tuple[str, ...]:
    """The unknowns that texts differentiate, in the order in which they appear."""
    texts = [(("equations", i), text) for i, text in enumerate(equations)]
    texts += [(("conditions", i), text) for i, text in enumerate(conditions)]
    return _differentiated(texts, axes, parameters)


def _differentiated(
    texts: Sequence[tuple[tuple[str, int], str]], axes: Sequence[str], parameters: Sequence[str]
) -> tuple[str, ...]:
    """u of u_t and of diff(u, x). A name without a derivative is not taken for an unknown: it may be misspelt."""
    taken = {*axes, *parameters, *RESERVED, *normal_names(axes)}
    found: dict[str, None] = {}
    for (key, index), text in texts:
        with about(key, index):
            names = _names(text, axes, f"{key[:-1]} {index + 1}")
            found |= dict.fromkeys(name for name in names if name not in taken)
    return tuple(found)


def _names(text: str, axes: Sequence[str], label: str) -> Iterator[str]:
    _, tokens = tokenise(split_piece(text)[0], label)
    for index, token in enumerate(tokens):
        if token.kind != "name":
            continue
        stem, _, _ = token.text.rpartition("_")
        if stem and Names(tuple(axes), (stem,)).derivative(token.text):
            yield stem
        elif index > 1 and (tokens[index - 2].text, tokens[index - 1].kind) == (DERIVATIVE, "("):
            yield token.text
