"""A problem's text → what it is called: its name, and what distinguishes it from others of that name."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from .. import library
from ..problem import Problem
from ..problem.toml import dumps

# By object id, as problems that differ only in name or solution are equal; keeping the object keeps its id unique.
_STATEMENTS: dict[int, tuple[Problem, str]] = {}


def statement(problem: Problem) -> str:
    """The problem as text, without its title, which affects no result; made once for all cases that share it."""
    if id(problem) not in _STATEMENTS:
        text = re.sub(r"^title = .*\n", "", dumps(problem), flags=re.MULTILINE)
        _STATEMENTS[id(problem)] = problem, text
    return _STATEMENTS[id(problem)][1]


def parameters(text: str) -> dict[str, Any]:
    """The values that a statement gives its parameters."""
    return dict(tomllib.loads(text).get("parameters", {}))


def setting(name: str, value: Any) -> str:
    """hard=true, k=L: as in a suite, but without quotes."""
    return f"{name}={value if isinstance(value, str) else json.dumps(value)}"


def called(texts: Iterable[str]) -> dict[str, str]:
    """statement → wave, convection beta=30, mine nu=0.5

    Only a library problem has its bare name; parameters that differ from the library's follow it. For other problems,
    the parameters in which those of the same name differ follow. Statements that differ otherwise get part of a hash.
    """
    documents = {text: tomllib.loads(text) for text in texts}
    families: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for document in documents.values():
        if not _of_library(document):
            families[document["name"]].append(document.get("parameters", {}))
    names: dict[str, str] = {}
    for text, document in documents.items():
        name, values = document["name"], document.get("parameters", {})
        others = [_library(name).get("parameters", {})] if _of_library(document) else families[name]
        differs = [key for key, value in values.items() if any(other.get(key) != value for other in others)]
        names[text] = " ".join([name, *(setting(key, values[key]) for key in differs)])
    often = Counter(names.values())
    for text, name in names.items():
        if not _of_library(documents[text]) and (often[name] > 1 or _library(name)):
            names[text] = f"{name} #{hashlib.sha256(text.encode()).hexdigest()[:4]}"
    return names


@cache
def _library(name: str) -> dict[str, Any]:
    """The library's statement of this name; empty if there is none."""
    return tomllib.loads(statement(library.problem(name))) if name in library.names() else {}


def _of_library(document: Mapping[str, Any]) -> bool:
    """Whether it is a library problem, with any parameters."""
    own = _library(document["name"])
    return bool(own) and all(document.get(key) == own.get(key) for key in {*document, *own} - {"parameters"})
