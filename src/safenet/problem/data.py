"""u(x_i, t_i) ≈ u_i ± σ_i: measured values at points, of any expression in the unknowns and their derivatives.

sn.Data("probe.csv")                              columns named after the axes and the measured quantity: x, t, u
sn.Data(x=xs, t=0.5, u=us, sigma=0.01)            arrays; a number holds at all points
sn.Data("probe.csv", value="u + v")               one column with measured values of this expression
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ..errors import Place, SafeNetError, about, nearest
from .equations import relation_of
from .evaluate import constant
from .jets import coordinate
from .language.names import Names
from .language.text import parse_expression
from .reading import canonical, number_of
from .relation import Relation
from .tables import columns_of, floats

if TYPE_CHECKING:
    from .problem import Problem

VALUE = "#value"  # the measured value, as a symbol that no user can write
SIGMA = "sigma"


class Data:
    """Measured values at points. `source` is a file (.csv, .npz, .parquet), a mapping of arrays, a data frame or an
    xarray data set; columns may also be given by keyword. `value` is the measured expression, if it is not the name
    of a column. `sigma` is one standard deviation of the noise, a number or the name of a column; if it is not given,
    the noise is estimated. `ignore` lists columns to leave out. A masked value counts as missing.

    Examples:
        >>> t = np.linspace(0, 1, 20)
        >>> data = sn.Data(t=t, u=np.exp(-t), sigma=0.01)
        >>> measured = decay.with_data(data)
    """

    def __init__(
        self,
        source: Any = None,
        /,
        *,
        value: str | None = None,
        sigma: Any = None,
        ignore: Sequence[str] = (),
        **columns: Any,
    ) -> None:
        self.source = source if isinstance(source, (str, Path)) else None
        self.value = value
        left_out = (ignore,) if isinstance(ignore, str) else tuple(ignore)
        given = columns_of(columns if source is None else source, left_out)
        given |= {} if source is None else columns
        if sigma is not None and not isinstance(sigma, str):
            given[SIGMA], sigma = sigma, SIGMA
        self.sigma: str | None = sigma
        self.columns = _broadcast(given)

    @property
    def label(self) -> str:
        return str(self.source) if self.source is not None else "the data"

    @cached_property
    def text(self) -> str:
        """The columns as CSV, exact to the last bit."""
        rows = zip(*(column.tolist() for column in self.columns.values()), strict=True)
        return "\n".join(
            [",".join(map(_header, self.columns)), *(",".join(map(repr, row)) for row in rows), ""]
        )

    @cached_property
    def file(self) -> str:
        """The name of the file in which it is saved beside a problem, made from a hash of its content."""
        return f"data-{hashlib.sha256(self.text.encode()).hexdigest()[:10]}.csv"

    def where(self, rows: np.ndarray) -> Data | None:
        """The rows that a mask selects, or None if there are none."""
        return self._with({n: column[rows] for n, column in self.columns.items()}) if rows.any() else None

    def at(self, **values: float) -> Data:
        """A copy in which these columns have one value for all points."""
        return self._with({**self.columns, **values})

    def _with(self, columns: Mapping[str, Any]) -> Data:
        twin = Data(columns, value=self.value, sigma=self.sigma)
        twin.source = self.source
        return twin

    @property
    def key(self) -> tuple[str, str | None, str | None]:
        return self.file, self.value, self.sigma

    def __repr__(self) -> str:
        count = len(next(iter(self.columns.values())))
        return f"Data({', '.join(self.columns)}: {count} rows)"


KEYS = ("file", "value", "sigma", "at", "ignore")


def data_of(tables: Any, folder: Path, files: Callable[[str], Data | None] | None = None) -> list[Data]:
    """[[data]] of a problem file: file and optionally value, sigma, at = { t = 0.5 }, ignore; paths relative to it."""
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise SafeNetError(
            "data is not a list of tables", 'write [[data]]\n    file = "probe.csv"', Place(("data",))
        )
    found = []
    for index, table in enumerate(tables):
        for key, entry in table.items():
            with about("data", index, key):
                if key not in KEYS:
                    raise SafeNetError(f"unknown key {key[:40]!r} under [[data]]", nearest(key[:40], KEYS))
                if key in ("file", "value") and not isinstance(entry, str):
                    raise SafeNetError(f"{key} is not text", f'write {key} = "…"')
                if key == "at" and not isinstance(entry, Mapping):
                    raise SafeNetError("at is not a table of columns", "write at = { t = 0.5 }")
                if key == "ignore" and not _texts(entry):
                    raise SafeNetError("ignore is not a list of columns", 'write ignore = ["err"]')
        with about("data", index):
            found.append(_from_table(table, folder, files))
    return found


def _from_table(table: Mapping[str, Any], folder: Path, files: Callable[[str], Data | None] | None) -> Data:
    if "file" not in table:
        raise SafeNetError("the data have no file", 'write file = "probe.csv"')
    if files is not None and (known := files(table["file"])) is not None:
        return known
    sigma, at = table.get("sigma"), table.get("at", {})
    with about("data", "sigma"):
        fixed = {name: constant(number_of(value, f"{name} of the data")) for name, value in at.items()}
        if sigma is not None and not _is_name(sigma):
            sigma = constant(number_of(sigma, "sigma"))
    ignore = table.get("ignore", ())
    return Data(folder / table["file"], value=table.get("value"), sigma=sigma, ignore=ignore, **fixed)


def _texts(entry: Any) -> bool:
    return isinstance(entry, list) and all(isinstance(one, str) for one in entry)


def _is_name(sigma: Any) -> bool:
    """Whether sigma is the name of a column; a file may also give a number as text."""
    return isinstance(sigma, str) and sigma[:1].isalpha()


def _header(name: str) -> str:
    return f'"{name}"' if "," in name else name


def _broadcast(given: Mapping[str, Any]) -> dict[str, np.ndarray]:
    if not given:
        raise SafeNetError("the data have no columns", 'e.g. sn.Data("probe.csv"), sn.Data(x=…, t=…, u=…)')
    arrays = {str(name): floats(column, f"the column {name} of the data") for name, column in given.items()}
    try:
        shaped = np.broadcast_arrays(*arrays.values())
    except ValueError:
        sizes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise SafeNetError(
            f"the columns of the data differ in length: {sizes}", "give one row per point"
        ) from None
    if not shaped[0].size:
        raise SafeNetError("the data have no rows")
    return {name: np.ascontiguousarray(array.ravel()) for name, array in zip(arrays, shaped, strict=True)}


@dataclass(frozen=True, eq=False)
class Measured(Relation):
    """expression − value = 0 at points: `sigma` is None where the noise is not known."""

    points: np.ndarray
    values: np.ndarray
    sigma: np.ndarray | None
    name: str
    columns = (VALUE,)  # in addition to the coordinates of a point

    @property
    def rows(self) -> np.ndarray:
        """Points and their values side by side, (n, axes + 1)."""
        return np.column_stack([self.points, self.values])

    def place(self, i: int, axes: Sequence[str]) -> str:
        """x = 0.3, t = 0.1"""
        return ", ".join(f"{name} = {at:.4g}" for name, at in zip(axes, self.points[i], strict=True))


def measured_of(problem: Problem, given: Any) -> tuple[tuple[Data, ...], tuple[Measured, ...]]:
    """The data of a problem whose domain and unknowns are known, and each expression that they measure."""
    listed = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    found: list[Measured] = []
    data = []
    for index, one in enumerate(listed):
        with about("data", index):
            one = one if isinstance(one, Data) else Data(one)
            data.append(one)
            found += _measured(problem, one)
    return tuple(data), tuple(found)


def _measured(problem: Problem, data: Data) -> list[Measured]:
    names, columns = problem.axis_names, data.columns
    for axis in names:
        if axis not in columns:
            raise SafeNetError(
                f"{data.label}: there is no column {axis}; the columns are {', '.join(columns)}",
                _meant(axis, columns) or f"every point needs {', '.join(names)}",
            )
    if data.sigma is not None and data.sigma not in columns:
        raise SafeNetError(
            f"{data.label}: there is no column {data.sigma} for sigma", nearest(data.sigma, columns)
        )
    sigmas = {name for name in columns if name == data.sigma or name == SIGMA or name.startswith(f"{SIGMA}_")}
    measured = [name for name in columns if name not in names and name not in sigmas]
    expressions = {_column(data, measured): data.value} if data.value else {name: name for name in measured}
    if not expressions:
        raise SafeNetError(
            f"{data.label}: nothing is measured; the columns are {', '.join(columns)}",
            f"add a column of values, e.g. {problem.unknowns[0]}",
        )
    points = _points(problem, data)
    found = []
    for column, text in expressions.items():
        values = _finite(data, column)
        sigma = _sigma(data, data.sigma or _own_sigma(column, sigmas))
        relation = _relation(problem, data, column, text)
        found.append(
            Measured(
                relation.text.rsplit(" = ", 1)[0],
                relation.statement,
                relation.residual,
                relation.jets,
                points,
                values,
                sigma,
                text,
            )
        )
    return found


def _own_sigma(column: str, sigmas: set[str]) -> str | None:
    return next((name for name in (f"{SIGMA}_{column}", SIGMA) if name in sigmas), None)


def _column(data: Data, measured: Sequence[str]) -> str:
    """The column that holds `value`: the one with this text as its name, or named value, or the only one left."""
    assert data.value is not None
    for name in (data.value, "value", data.value.replace(" ", "")):
        if name in measured:
            return name
    if len(measured) == 1:
        return measured[0]
    raise SafeNetError(
        f"{data.label}: there is no column for value = {data.value!r}; the columns are {', '.join(data.columns)}",
        f"name its column {data.value!r}, or value",
    )


def _relation(problem: Problem, data: Data, column: str, text: str) -> Relation:
    parameters = tuple(symbol.name for symbol in problem.parameters)
    names = Names(problem.axis_names, problem.unknowns, parameters, functions=problem.function_names)
    label = f"the value {text!r}" if data.value else f"the column {column!r}"
    try:
        expression = canonical(parse_expression(text, names, label, unknowns=True))
        relation = relation_of(problem, sp.Eq(expression, coordinate(VALUE), evaluate=False), label, (VALUE,))
    except SafeNetError as error:
        if not data.value and not _formula(problem, column):
            raise _surplus(problem, data, column) from None
        fields = ", ".join(problem.unknowns)
        hint = f"the unknowns are {fields}; with value = … other columns are ignored"
        raise SafeNetError(f"{data.label}: {error.message}", error.remedy or hint, error.where) from None
    if not relation.jets:
        if not data.value:
            raise _surplus(problem, data, column)
        raise SafeNetError(
            f"{data.label}: {label} has no unknown in it", f"the unknowns are {', '.join(problem.unknowns)}"
        )
    return relation


def _formula(problem: Problem, column: str) -> bool:
    """Whether a column's name is meant as an expression: more than one word, one of them an unknown or its
    derivative."""
    words = re.findall(r"\w+", column)
    if len(words) < 2 or set("[]:;") & set(column):
        return False
    return any(word == u or word.startswith(f"{u}_") for word in words for u in problem.unknowns)


def _surplus(problem: Problem, data: Data, column: str) -> SafeNetError:
    """The error for a column that is neither axis nor unknown: it may be noise, an expression, or irrelevant."""
    if not column:
        hint = 'ignore = [""] leaves it out; it may be an index, which pandas writes without to_csv(…, index=False)'
        return SafeNetError(f"{data.label}: a column has no name", hint)
    known = ", ".join((*problem.axis_names, *problem.unknowns))
    meant = next((name for name in problem.unknowns if _meant(name, (column,))), None)
    hint = f"{_meant(meant, (column,))}; else " if meant is not None else ""
    return SafeNetError(
        f"{data.label}: the column {column!r} is neither an axis nor an unknown ({known})",
        f'{hint}sigma = "{column}" if it is the noise, value = "…" if it is a measured expression, or '
        f'ignore = ["{column}"] to leave it out',
    )


def _meant(name: str, columns: Iterable[str]) -> str:
    """A remedy if a column has this name with a unit added (x [m], x (m), x/m) or in capitals."""
    spelt = rf"\s*{re.escape(name)}\s*(?:[\[({{/].*)?"
    near = next((column for column in columns if re.fullmatch(spelt, column, re.IGNORECASE)), None)
    return "" if near is None else f"rename the column {near!r} to {name}"


def _points(problem: Problem, data: Data) -> np.ndarray:
    """The points of all rows; raises if one is outside the domain."""
    columns = []
    for axis in problem.axes:
        values, slack = _finite(data, axis.name), 1e-9 * axis.length
        outside = np.flatnonzero((values < axis.lo - slack) | (values > axis.hi + slack))
        if len(outside):
            row = int(outside[0])
            raise SafeNetError(
                f"{data.label}: {len(outside)} of {len(values)} points are outside the domain; row {row + 1} has "
                f"{axis.name} = {values[row]:g}, and {axis.lower} ≤ {axis.name} ≤ {axis.upper}",
                "check the units of that column, leave such rows out, or widen the domain",
            )
        columns.append(np.clip(values, axis.lo, axis.hi))
    points = np.stack(columns, axis=1)
    outside = np.flatnonzero(~problem.contains(points, 1e-6 * max(axis.length for axis in problem.axes[:2])))
    if len(outside):
        row = int(outside[0])
        raise SafeNetError(
            f"{data.label}: {len(outside)} of {len(points)} points are outside the region; row {row + 1} is "
            f"({', '.join(f'{value:g}' for value in points[row])})",
            "leave such rows out",
        )
    return points


def _finite(data: Data, column: str) -> np.ndarray:
    values = data.columns[column]
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise SafeNetError(
            f"{data.label}: {len(wrong)} of {len(values)} rows have no finite number for {column}; the first is row "
            f"{int(wrong[0]) + 1}",
            "leave such rows out",
        )
    return values


def _sigma(data: Data, column: str | None) -> np.ndarray | None:
    if column is None:
        return None
    values = _finite(data, column)
    if values.min() <= 0:
        row = int(np.argmin(values)) + 1
        raise SafeNetError(
            f"{data.label}: sigma is {values.min():g} in row {row}", "a standard deviation is positive"
        )
    return values
