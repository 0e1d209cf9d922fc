"""Reads a problem file: name, unknowns, equations, conditions, exact, [domain], [pieces], [parameters], [tables]; and
for inverse problems [unknown] and [[data]]. Every message names the file and the line it is about.
"""

from __future__ import annotations

import operator
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

import sympy as sp

from ..errors import Part, Place, SafeNetError, about, nearest
from .data import data_of
from .evaluate import constant
from .functions import axes_of, tables_in, tables_of
from .geometry.shapes import Shape
from .jets import coordinate
from .language import lines
from .language.names import Names, as_name, check_constant
from .language.text import parse_expression
from .pieces import On
from .problem import Problem
from .tables import missing
from .texts import read_statement
from .writing import dumps, write

__all__ = ["dumps", "loads", "read", "write"]

# A problem file is a page; a mebibyte is a mistake or an attack.
MAX_BYTES = 2**20
# Systems with faces in three dimensions stay far below; each relation costs milliseconds.
MAX_RELATIONS = 256
# tomllib takes n² steps for a key of n parts, a.b.c…; the format has two at most, and decimals have dots too.
MAX_DOTS = 200

# Numbers in a shape, such as a polygon's corners: enough for a drawn outline, and formulas that are read in seconds.
MAX_NUMBERS, MAX_FORMULAS = 1_000, 256

TABLES = ("domain", "parameters", "pieces", "unknown", "tables")
NAMED = {"parameters": "parameter", "unknown": "unknown number", "tables": "function"}
KEYS = ("name", "title", "unknowns", "equations", "conditions", "periodic", "exact", *TABLES, "data")
_EXAMPLES = {
    "unknowns": 'unknowns = ["u"]',
    "equations": 'equations = ["u_t = u_xx"]',
    "conditions": 'conditions = ["u(0, t) = 0"]',
    "periodic": 'periodic = ["x"]',
    "domain": "[domain]\n    x = [0, 1]\n    t = [0, 1]",
    "parameters": "[parameters]\n    c = 2",
    "pieces": '[pieces]\n    inlet = "x = 0"\n    walls = "rest"',
    "unknown": "[unknown]\n    nu = { start = 0.1, above = 0 }",
    "tables": '[tables]\n    a = "permeability.csv"',
    "exact": 'exact = { u = "exp(-t)*sin(x)" }',
}


SHAPES = ("shape", "remove")  # under [domain], beside the axes
_SHAPE = "[{ box = { x = [0, 2], y = [1, 2] } }]"


class Literal(str):
    """A decimal number as the file writes it: 0.1 is one tenth, not the nearest float64."""


# ---- reading


def read(path: str | Path, data: Sequence[Any] = ()) -> Problem:
    """Read a problem file. `data` is added to the file's own data, and may replace conditions that it lacks.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("decay.toml").write_text(sn.dumps(decay))
        >>> sn.read("decay.toml") == decay
        True
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise missing(Path(path), ".toml") from None
    except IsADirectoryError:
        raise SafeNetError(f"{path} is a directory", "give the path of a .toml file") from None
    except (OSError, ValueError) as error:
        raise SafeNetError(f"cannot read {path}: {error}", "give the path of a readable .toml file") from None
    if len(content) > MAX_BYTES:
        raise SafeNetError(f"{path} is larger than {MAX_BYTES // 2**20} MiB", "is this a problem file?")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise SafeNetError(f"{path}, line {line}: not UTF-8 text", "save the file as UTF-8") from None
    return loads(text, str(path), data=data)


def loads(
    text: str,
    source: str = "problem.toml",
    files: Callable[[str], Any] | None = None,
    tables: Mapping[str, Any] | None = None,
    data: Any = (),
) -> Problem:
    """Read a problem from text. `source` is its name in messages; data files lie beside it or in `files`.

    `tables` adds functions given by numbers, and `data` adds measured values, both in the forms that `Problem` takes.

    Examples:
        >>> problem = sn.loads('''
        ... unknowns = ["u"]
        ... equations = ["u_t = u_xx/10"]
        ... conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
        ... domain = { x = [0, 1], t = [0, 1] }
        ... ''')
        >>> problem.axis_names
        ('x', 't')
    """
    if len(text) > MAX_BYTES:
        raise SafeNetError(f"{source} is larger than {MAX_BYTES // 2**20} MiB", "is this a problem file?")
    try:
        document = _document(text)
        own = data_of(document.get("data", []), Path(source).parent, files)
        more = data if isinstance(data, (list, tuple)) else [data]
        functions = _functions(document, source, files, tables)
        surface = partial(_surface, Path(source).parent, files)
        return _problem(document, as_name(Path(source).stem), [*own, *more], functions, surface)
    except SafeNetError as error:
        raise _located(error, text, source) from None


def _located(error: SafeNetError, text: str, source: str) -> SafeNetError:
    """The error with its file, and the line of the value it is about, or of the entry that contains the value."""
    path, line = error.where.path, error.where.line
    if path and line is None:
        found = lines.lines(text)
        line = next((found[path[:k]] for k in range(len(path), 0, -1) if path[:k] in found), None)
    place = source if line is None else f"{source}, line {line}"
    where = replace(error.where, source=source, line=line)
    return SafeNetError(f"{place}: {error.message}", error.remedy, where)


def _document(text: str) -> dict[str, Any]:
    dotted = lines.line_with_many_dots(text, MAX_DOTS)
    if dotted is not None:
        raise SafeNetError("a key of very many parts", "write keys like domain.x", Place(line=dotted))
    try:
        document = tomllib.loads(text, parse_float=Literal)
    except tomllib.TOMLDecodeError as error:
        remedy = "texts are in quotes, lists in [ ] with commas, and each key stands once"
        # The end of tomllib's message is the place; its middle may be a key of any length.
        reason = str(error) if len(str(error)) < 200 else f"{str(error)[:80]} … {str(error)[-80:]}"
        raise SafeNetError(f"this is not valid TOML: {reason}", remedy) from None
    except ValueError:
        raise SafeNetError("an integer has thousands of digits", "round it: 1e300") from None
    except RecursionError:
        raise SafeNetError("brackets nested too deeply", "the format has at most two levels") from None
    for key in document:
        if key not in KEYS or (key == "unknown" and isinstance(document[key], list)):
            _wrong((key,), f"unknown key {key[:40]!r}", nearest(key[:40], [k for k in KEYS if k != key]))
    return document


def _wrong(path: Part, message: str, remedy: str = "") -> NoReturn:
    raise SafeNetError(message, remedy, Place(path))


def _functions(
    document: Mapping[str, Any],
    source: str,
    files: Callable[[str], Any] | None,
    more: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Tables, and Python functions, which the problem samples over its domain."""
    axes = [axis for axis in _table(document, "domain") if axis not in SHAPES]
    own = tables_in(_table(document, "tables"), Path(source).parent, axes, files)
    return own | {
        name: one if callable(one) else tables_of({name: one})[name] for name, one in (more or {}).items()
    }


def _problem(
    document: dict[str, Any],
    default_name: str,
    data: list[Any],
    tables: dict[str, Any],
    surface: Callable[[str], Any],
) -> Problem:
    domain, given, pieces, unknown = (dict(_table(document, key)) for key in TABLES[:-1])
    shapes = {key: _shapes(domain.pop(key, []), key, surface) for key in SHAPES}
    if not domain:
        _wrong(("domain",), "the domain is missing", f"add {_EXAMPLES['domain']}")
    unknowns = tuple(_texts(document, "unknowns", required=True))
    curves = {name: one["of"] for name, one in unknown.items() if isinstance(one, dict) and "of" in one}
    scalars = (name for name in unknown if name not in given and name not in curves)
    functions = {name: axes_of(one, domain) for name, one in tables.items()} | {
        n: _axes(n, of) for n, of in curves.items()
    }
    names = Names(tuple(domain), unknowns, (*given, *scalars), functions=tuple(functions.items()))
    parameters: dict[sp.Symbol, sp.Expr] = {}
    ranges: dict[str, tuple[sp.Expr, ...]] = {}
    for name, value in given.items():
        known = Names(parameters=tuple(symbol.name for symbol in parameters))
        if isinstance(value, list) and len(value) == 2:
            label = f"the range of the parameter {name}"
            ranges[name] = tuple(_formula(end, known, ("parameters", name), label) for end in value)
            continue
        expression = _formula(value, known, ("parameters", name), f"the parameter {name}")
        parameters[coordinate(name)] = expression.xreplace(parameters)
    constants = Names(parameters=names.parameters)
    on = {}
    for axis, ends in domain.items():
        if isinstance(ends, list) and any(isinstance(end, dict) for end in ends):
            _wrong(("domain", axis), f"unknown key {axis!r} under [domain]", nearest(axis, SHAPES))
        if not isinstance(ends, list) or len(ends) != 2:
            _wrong(("domain", axis), f"the interval of {axis} is not a pair", f"write {axis} = [0, 1]")
        labels = (f"the lower end of {axis}", f"the upper end of {axis}")
        on[axis] = tuple(
            _formula(end, constants, ("domain", axis), label) for end, label in zip(ends, labels, strict=True)
        )
    known = Names(names.axes, (), names.parameters)
    single = document.get("exact")
    if isinstance(single, str) and len(unknowns) == 1:
        exact = {unknowns[0]: _formula(single, known, ("exact",), f"the exact solution of {unknowns[0]}")}
    else:
        exact = {
            field: _formula(value, known, ("exact", field), f"the exact solution of {field}")
            for field, value in _table(document, "exact").items()
        }
    equations = [given.statement for given in _relations(document, "equations", names)]
    conditions = _relations(document, "conditions", names)
    for piece, text in pieces.items():
        texts = text if isinstance(text, list) and text else [text]
        if any(not isinstance(one, str) or isinstance(one, Literal) for one in texts):
            _wrong(("pieces", piece), f"the piece {piece} is not text", f"write {_EXAMPLES['pieces']}")
    name = _text(document, "name") or default_name
    title = _text(document, "title")
    return Problem(
        equations,
        domain=on,
        conditions=conditions,
        shape=reduce(operator.add, shapes["shape"]) if shapes["shape"] else None,
        remove=shapes["remove"],
        pieces=pieces,
        periodic=_texts(document, "periodic"),
        parameters={**parameters, **ranges},
        unknown=unknown,
        tables=tables,
        data=data,
        exact=exact or None,
        unknowns=unknowns,
        name=name,
        title=title,
    )


def _axes(name: str, of: Any) -> tuple[str, ...]:
    axes = [of] if isinstance(of, str) else of
    if not isinstance(axes, list) or not axes or not all(isinstance(axis, str) for axis in axes):
        _wrong(("unknown", name), f"{name} is a function of {of!r}", f'write {name} = {{ of = ["x"] }}')
    return tuple(axes)


def _surface(folder: Path, files: Callable[[str], Any] | None, name: str) -> Any:
    """What a surface is read from: the object known by this file name, else the file beside the problem file."""
    known = files(name) if files is not None else None
    return folder / name if known is None else known


def _shapes(values: Any, key: str, surface: Callable[[str], Any]) -> list[Shape]:
    """[{ box = { x = [0, 2], y = [1, 2] } }, { disc = { center = [0, 0], radius = 1 } }]"""
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        _wrong(("domain", key), f"{key} is not a list of shapes", f"write {key} = {_SHAPE}")
    numbers = list(_leaves(values))
    formulas = sum(isinstance(each, str) and not isinstance(each, Literal) for each in numbers)
    if len(numbers) > MAX_NUMBERS or formulas > MAX_FORMULAS:
        _wrong(
            ("domain", key),
            f"{key} has {len(numbers)} numbers, {formulas} of them formulas",
            f"at most {MAX_NUMBERS} and {MAX_FORMULAS} are read; write numbers without quotes",
        )
    plain = [_plain(value, key, surface) for value in values]
    with about("domain", key):
        return [Shape.from_data(value) for value in plain]


def _leaves(value: Any) -> Iterator[Any]:
    """What is in lists and tables, at any depth."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if inside is None:
        yield value
    for each in inside or ():
        yield from _leaves(each)


def _plain(value: Any, key: str, surface: Callable[[str], Any]) -> Any:
    """A shape's data, with numbers and formulas in quotes as floats, and files as what surfaces are read from."""
    if (type(value) is int and abs(value) < 2**53) or isinstance(value, Literal):
        number = float(value)  # no formula to parse: an outline has thousands of them
        if isfinite(number):
            return number
    if isinstance(value, dict):
        kept: dict[str, Callable[[Any], Any]] = {
            "name": lambda name: name,
            "file": lambda name: surface(str(name)),
        }
        return {k: kept.get(k, partial(_plain, key=key, surface=surface))(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(item, key, surface) for item in value]
    return constant(_formula(value, Names(), ("domain", key), f"a number of {key}"))


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key, "")
    if not isinstance(value, str) or isinstance(value, Literal):
        _wrong((key,), f"{key} is not text", f'write {key} = "…"')
    return value


def _texts(document: Mapping[str, Any], key: str, required: bool = False) -> list[str]:
    if required and not document.get(key):
        misplaced = next((table for table in TABLES if key in document.get(table, {})), None)
        if misplaced:
            _wrong((misplaced, key), f"{key} stands under [{misplaced}]", f"move it above [{misplaced}]")
        _wrong((key,), f"{key} is missing", f"add {_EXAMPLES[key]}")
    values = document.get(key, [])
    if not isinstance(values, list):
        _wrong((key,), f"{key} is not a list", f"write {_EXAMPLES[key]}")
    if len(values) > MAX_RELATIONS:
        _wrong((key,), f"{key} has {len(values)} entries, more than {MAX_RELATIONS}")
    for index, value in enumerate(values):
        if not isinstance(value, str) or isinstance(value, Literal):
            _wrong((key, index), f"{key}[{index}] is not text", f"write {_EXAMPLES[key]}")
    return values


def _relations(document: Mapping[str, Any], key: str, names: Names) -> list[On]:
    relations = []
    for index, text in enumerate(_texts(document, key, required=key == "equations")):
        with about(key, index):
            relations.append(read_statement(text, names, key, index))
    return relations


def _table(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    table = document.get(key, {})
    if not isinstance(table, dict):
        _wrong((key,), f"{key} is not a table", f"write {_EXAMPLES[key]}")
    for entry in table:
        if key in TABLES and entry in KEYS:
            _wrong((key, entry), f"{entry} stands under [{key}]", f"move it above [{key}]")
        if key in NAMED:
            check_constant(NAMED[key], entry, Place((key, entry)))
    return table


def _formula(value: Any, names: Names, path: Part, label: str) -> sp.Expr:
    """A number or a formula in quotes."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        _wrong(path, f"{label} is neither a number nor text", "write a number, or a formula in quotes")
    # Hexadecimal integers have no limit of their own, but their decimal text does.
    beyond = isinstance(value, int) and value.bit_length() > 1024
    if beyond or (isinstance(value, Literal) and value.strip("+-") in ("inf", "nan")):
        _wrong(path, f"{label} is not a finite number", "numbers lie between 1e-300 and 1e300")
    text = value.replace("_", "") if isinstance(value, Literal) else str(value)
    with about(*path):
        return parse_expression(text, names, label)
