"""a(x, y) given by numbers: coefficients and data that have no formula.

sn.Table("permeability.csv", interpolation="constant")      columns x, y, a: a grid, or scattered points
sn.Table(values, x=xs, y=ys)                                an array on a grid; an xarray DataArray brings its axes
sn.Table(lambda x, y: …, x=(0, 1), y=(0, 1))                a Python function, sampled until a spline reproduces it
"""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SafeNetError, SafeNetWarning, about, nearest
from .language.tabulated import Tabulated
from .splines import DEGREES, Spline, through
from .tables import columns_of, floats

if TYPE_CHECKING:
    from .domain import Domain
    from .problem import Problem

FOLLOWS = 1e-9  # relative to a function's size: a spline within this replaces it
BENT = 1e-6  # relative to a function's size: if the finest spline is farther off, it is not smooth
SAMPLES = {1: (33, 4097), 2: (17, 257), 3: (9, 65)}  # axes of a function → points along each: first, most
SMOOTH_FROM = 1.5  # how much finer than the mean distance of scattered points their grid is
NEIGHBOURS = 50


@dataclass(frozen=True, eq=False)
class Table:
    """A function given by its values on a grid. `interpolation` is spline (smooth), linear, or constant (with jumps
    between ticks). `name` is what statements call the function.

    Examples:
        >>> conductivity = sn.Table({"x": [0, 0.5, 1], "k": [1, 2, 4]})
        >>> conductivity.of
        ('x',)
    """

    name: str
    of: tuple[str, ...]
    ticks: tuple[np.ndarray, ...]
    values: np.ndarray
    interpolation: str = "spline"
    own: Spline | None = None  # the spline of an unknown function, which has coefficients instead of values

    def __init__(
        self,
        source: Any,
        /,
        *,
        name: str = "",
        interpolation: str = "spline",
        of: str | Sequence[str] = (),
        own: Spline | None = None,
        **axes: Any,
    ) -> None:
        if not isinstance(interpolation, str) or interpolation not in DEGREES:
            raise SafeNetError(
                f"there is no interpolation {interpolation!r}", nearest(str(interpolation), DEGREES)
            )
        axes_given = _axes_given(of)
        if own is not None:
            ticks: tuple[np.ndarray, ...] = ()
            values, names = own.coefficients, axes_given
        else:
            names, ticks, values = _grid(source, name, axes_given, axes)
        settings = {"name": name, "of": names, "ticks": ticks, "values": values}
        for key, value in {**settings, "interpolation": interpolation, "own": own}.items():
            object.__setattr__(self, key, value)

    def named(self, name: str) -> Table:
        twin = object.__new__(Table)
        for key, value in {**vars(self), "name": name}.items():
            object.__setattr__(twin, key, value)
        return twin

    @cached_property
    def spline(self) -> Spline:
        return self.own or through(self.ticks, self.values, DEGREES[self.interpolation])

    @cached_property
    def key(self) -> str:
        """A hash of its content."""
        found = hashlib.sha256(self.interpolation.encode())
        lines = [line.knots for line in self.own.lines] if self.own else list(self.ticks)
        for array in (*lines, self.values):
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()[:10]

    @property
    def file(self) -> str:
        return f"table-{self.key}.csv"

    @property
    def text(self) -> str:
        """The columns as CSV, exact to the last bit."""
        mesh = [m.ravel().tolist() for m in np.meshgrid(*self.ticks, indexing="ij")]
        rows = zip(*mesh, self.values.ravel().tolist(), strict=True)
        return "\n".join([",".join([*self.of, "value"]), *(",".join(map(repr, row)) for row in rows), ""])

    def breaks(self, axis: str) -> tuple[float, ...]:
        """Where it jumps or has a kink along an axis: at the knots of piecewise constant or linear tables."""
        if axis not in self.of or self.own is not None:
            return ()
        line = self.spline.lines[self.of.index(axis)]
        return tuple(line.breaks[1:-1].tolist()) if line.degree < 2 else ()

    def __repr__(self) -> str:
        return f"Table({self.name}({', '.join(self.of)}): {' × '.join(map(str, self.values.shape))})"


def tables_of(given: Any, domain: Domain | None = None) -> dict[str, Table]:
    """`tables={"a": Table(…)}`, or what a Table is made from; a function's arguments name axes of the domain."""
    if not isinstance(given or {}, Mapping):
        raise SafeNetError(f"the tables are {given!r}", "state them by name: tables={'a': sn.Table(…)}")
    found = {}
    for name, one in (given or {}).items():
        with about("tables", str(name)):
            ends: dict[str, Any] = {}
            if domain is not None and callable(one):
                bounds = {axis.name: axis.bounds for axis in domain.axes}
                ends = {axis: bounds[axis] for axis in axes_of(one, bounds)}
            table = one if isinstance(one, Table) else Table(one, name=str(name), **ends)
            found[str(name)] = table if table.name == name else table.named(str(name))
    return found


def axes_of(table: Any, axes: Iterable[str]) -> tuple[str, ...]:
    """The axes of a table, or those that a Python function takes, by the names of its arguments."""
    if isinstance(table, Table):
        return table.of
    names = inspect.signature(table).parameters
    return tuple(axis for axis in axes if axis in names)


def check_tables(domain: Domain, tables: Mapping[str, Table]) -> None:
    """Raise unless every axis of a table is an axis of the domain and the table covers all of it."""
    for name, table in tables.items():
        with about("tables", name):
            for axis_name, line in zip(table.of, table.spline.lines, strict=True):
                if axis_name not in domain.axis_names:
                    raise SafeNetError(
                        f"{name} depends on {axis_name}, which is not an axis of the domain",
                        f"the axes are {', '.join(domain.axis_names)}",
                    )
                axis = domain.axes[domain.axis_names.index(axis_name)]
                low, high = line.breaks[0], line.breaks[-1]
                # Values at the centres of cells end half a cell before the domain does.
                slack = 0.51 * float(np.diff(line.breaks).max()) if line.degree else 1e-9 * axis.length
                if low > axis.lo + slack or high < axis.hi - slack:
                    raise SafeNetError(
                        f"{name} is given for {axis_name} from {low:g} to {high:g}, and the domain is "
                        f"{axis.lower} ≤ {axis_name} ≤ {axis.upper}",
                        "give values for all of it, or check the units of that column",
                    )


def used_tables(problem: Problem) -> dict[str, Table]:
    """The tables of a problem; raises if one appears in no equation and no condition."""
    relations = (*problem.equations, *problem.conditions)
    used = {node.table.name for relation in relations for node in relation.residual.atoms(Tabulated)}
    for name in problem.tables:
        if name not in used:
            raise SafeNetError(f"the table {name} is in no equation and no condition", "leave it out")
    return problem.tables


# ---- reading


Grid = tuple[tuple[str, ...], tuple[np.ndarray, ...], np.ndarray]


def _grid(source: Any, name: str, of: tuple[str, ...], axes: Mapping[str, Any]) -> Grid:
    if hasattr(source, "dims") and hasattr(source, "coords") and not hasattr(source, "data_vars"):
        ticks = [floats(source.coords[dim], f"the axis {dim} of the table") for dim in source.dims]
        return _checked(tuple(map(str, source.dims)), ticks, source)
    if callable(source) and not isinstance(source, (str, Path)):
        return _sampled(source, axes)
    if axes:
        ticks = [_ticks(axis, line) for axis, line in axes.items()]
        return _checked(tuple(axes), ticks, source)
    return _from_columns(columns_of(source), name, of)


def _axes_given(of: Any) -> tuple[str, ...]:
    """The axes `of` a table, of which one may be given as a string."""
    listed = [of] if isinstance(of, str) else of
    if not isinstance(listed, (list, tuple)) or not all(isinstance(axis, str) for axis in listed):
        raise SafeNetError(f"the axes of the table are {of!r}", 'list their names: of = ["x", "y"]')
    return tuple(listed)


def _ticks(axis: str, given: Any) -> np.ndarray:
    ticks = floats(given, f"the axis {axis} of the table")
    if ticks.ndim != 1:
        raise SafeNetError(
            f"the axis {axis} of the table has {ticks.ndim} dimensions", f"list its ticks: {axis}=[0, 0.5, 1]"
        )
    return ticks


def _checked(names: tuple[str, ...], ticks: list[np.ndarray], values: Any) -> Grid:
    array = floats(values, "the table")
    shape = tuple(len(line) for line in ticks)
    if array.shape != shape:
        raise SafeNetError(
            f"the table has {array.shape} values for {shape} ticks", "give values[i, j] at x[i], y[j]"
        )
    if array.ndim > 3 or not array.ndim:
        raise SafeNetError(f"a table of {array.ndim} axes", "give one to three")
    if not np.isfinite(array).all():
        raise SafeNetError(
            f"{(~np.isfinite(array)).sum()} values of the table are masked or not finite", "fill them in"
        )
    for axis, line in enumerate(ticks):
        order = np.argsort(line)
        if len(np.unique(line)) < len(line) or not np.isfinite(line).all():
            raise SafeNetError(f"the ticks along {names[axis]} contain a repeated or non-finite value")
        ticks[axis], array = line[order], np.take(array, order, axis)
    return names, tuple(ticks), array


def _from_columns(columns: Mapping[str, np.ndarray], name: str, of: tuple[str, ...]) -> Grid:
    """A grid from columns: those of the axes, and the values' (named like the table, or `value`, or the last one)."""
    measured = next((c for c in (name, "value") if c in columns), list(columns)[-1])
    names = of or tuple(c for c in columns if c != measured)
    for axis in (*names, measured):
        if axis not in columns:
            raise SafeNetError(f"the table has no column {axis}; they are {', '.join(columns)}")
    *points, values = (floats(columns[c], f"the column {c} of the table") for c in (*names, measured))
    wrong = ~np.isfinite(np.stack([*points, values])).all(axis=0)
    if wrong.any():
        raise SafeNetError(
            f"{wrong.sum()} rows of the table are not made of finite numbers; the first is row "
            f"{int(np.argmax(wrong)) + 1}",
            "leave such rows out",
        )
    ticks, places = zip(*(np.unique(x, return_inverse=True) for x in points), strict=True)
    shape = tuple(len(line) for line in ticks)
    if np.prod(shape) == len(values) == len(set(zip(*(p.tolist() for p in places), strict=True))):
        array = np.empty(shape)
        array[places] = values
        return _checked(names, list(ticks), array)
    return _scattered(names, points, values)


def _scattered(names: tuple[str, ...], points: list[np.ndarray], values: np.ndarray) -> Grid:
    """Scattered values on a grid, by thin-plate splines through the nearest points."""
    from scipy.interpolate import RBFInterpolator

    low, high = ([float(f(x)) for x in points] for f in (np.min, np.max))
    scale = np.array(high) - np.array(low)
    if len(values) < 4 or not scale.all():
        raise SafeNetError(
            "the scattered points of a table must be at least four and spread along every axis",
            "give more points",
        )
    count = int(np.ceil(SMOOTH_FROM * len(values) ** (1 / len(points)))) + 1
    count = min(count, SAMPLES[len(points)][1])
    ticks = [np.linspace(a, b, count) for a, b in zip(low, high, strict=True)]
    at = np.stack([m.ravel() for m in np.meshgrid(*ticks, indexing="ij")], axis=1)
    given, first = np.unique(np.stack(points, axis=1) / scale, axis=0, return_index=True)
    near = min(NEIGHBOURS, len(given))
    found = RBFInterpolator(given, values[first], near)(at / scale)
    return _checked(names, ticks, found.reshape([count] * len(points)))


def _sampled(function: Callable[..., Any], axes: Mapping[str, Any]) -> Grid:
    """Values of a Python function on finer and finer grids, until a spline through every second value fits."""
    if not 1 <= len(axes) <= 3 or any(np.size(ends) != 2 for ends in axes.values()):
        raise SafeNetError("a function needs its axes and their ends", "sn.Table(f, x=(0, 1), y=(0, 1))")
    count, most = SAMPLES[len(axes)]
    while True:
        ticks = [np.linspace(float(low), float(high), count) for low, high in axes.values()]
        mesh = list(np.meshgrid(*ticks, indexing="ij"))
        values = np.broadcast_to(_values(function, axes, mesh), mesh[0].shape)
        names, _, array = _checked(tuple(axes), list(ticks), values)
        coarse = through([line[::2] for line in ticks], array[tuple([slice(None, None, 2)] * len(axes))], 3)
        gap = np.abs(coarse(mesh, (0,) * len(axes)) - array).max()
        size = max(float(np.abs(array).max()), 1e-300)
        # Splines are of fourth order: the one through all values is 16 times closer.
        if gap / 16 <= FOLLOWS * size:
            return names, tuple(ticks), array
        if 2 * count - 1 > most:
            if gap > BENT * size:
                warnings.warn(
                    f"a Python function bends or jumps: a spline through {count} values along an axis misses it by up "
                    f"to {gap / size:.0e} of its size; write where(x < 0.3, …), or give a table with interpolation",
                    SafeNetWarning,
                    stacklevel=2,
                )
            return names, tuple(ticks), array
        count = 2 * count - 1


def _values(function: Callable[..., Any], axes: Mapping[str, Any], mesh: list[np.ndarray]) -> np.ndarray:
    """Values of the function: on arrays at once, or point by point if it only takes numbers."""
    try:
        found = np.asarray(function(*mesh), float)
        if found.shape in ((), mesh[0].shape):
            return found
    except Exception:  # a user's function that only takes numbers, e.g. `if x < 0.5`
        pass
    try:
        points = zip(*(m.ravel().tolist() for m in mesh), strict=True)
        return np.array([float(function(*point)) for point in points]).reshape(mesh[0].shape)
    except Exception as error:
        raise SafeNetError(
            f"the function fails: {type(error).__name__}: {error}", f"it is called as f({', '.join(axes)})"
        ) from None


KEYS = ("file", "of", "interpolation")


def tables_in(
    document: Mapping[str, Any], folder: Path, axes: Sequence[str], files: Callable[[str], Any] | None
) -> dict[str, Table]:
    """[tables] of a problem file: a = "permeability.csv", or { file = …, interpolation = "constant" }."""
    found = {}
    for name, given in document.items():
        with about("tables", name):
            entry = {"file": given} if isinstance(given, str) else given
            if not isinstance(entry, Mapping) or not isinstance(entry.get("file"), str):
                raise SafeNetError(f"the table {name} has no file", f'write {name} = "{name}.csv"')
            for key in entry:
                if key not in KEYS:
                    raise SafeNetError(f"unknown key {key[:40]!r} of a table", nearest(key[:40], KEYS))
            known = files(entry["file"]) if files is not None else None
            if isinstance(known, Table):
                found[name] = known.named(name)
                continue
            columns = columns_of(folder / entry["file"])
            of = entry.get("of") or [axis for axis in axes if axis in columns]
            if not of:
                raise SafeNetError(
                    f"the table {name} has no column named as an axis; they are {', '.join(columns)}",
                    f"name its columns {', '.join(axes)}, {name}",
                )
            interpolation = entry.get("interpolation", "spline")
            found[name] = Table(columns, name=name, of=of, interpolation=interpolation)
    return found
