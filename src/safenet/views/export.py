"""u on a grid, for other programs: NumPy arrays, tables, an xarray Dataset (VTK files: vtk.py).

sol.export("wave.csv", x=201, t=[0, 0.5, 1], derivatives=["u_x"])      .csv, .npz, .nc, .vtr, .vtu or .pvd
ticks, fields = sol.grid(x=201, t=[0, 0.5, 1])      along each axis: how many points, or which
sol.to_xarray().to_netcdf("wave.nc")
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SafeNetError, nearest, saving
from ..measure.scores import field_key
from ..problem.language.names import Names
from ..run.result import pooled
from ..solution import Solution

if TYPE_CHECKING:
    from xarray import Dataset

COUNTS = {1: 101, 2: 101, 3: 41}  # points along each axis, by the number of axes
MANY = 2 * 10**5  # points in all, for four axes or more
LARGEST = 10**8  # points of a grid: a gigabyte for each field
FORMATS = (".csv", ".npz", ".nc", ".vtr", ".vtu", ".pvd")
INSTALL = "pip install 'safenet-pde[data]'"


def grid_values(solution: Solution, **counts: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The ticks of each axis, and every field at their product, shaped (len(x), len(y), …).

    `x=201` is 201 equally spaced points from end to end; `t=[0, 0.5, 1]` are these points.
    """
    ticks, fields, _ = _sampled(solution, counts)
    return ticks, fields


def _sampled(
    solution: Solution, counts: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    """Ticks, fields, and which points of the grid are outside the region."""
    problem = solution.problem
    for name in counts:
        if name not in problem.axis_names:
            raise SafeNetError(f"{name!r} is not an axis", nearest(name, problem.axis_names))
    axes = len(problem.axes)
    usual = COUNTS.get(axes) or max(2, int(MANY ** (1 / axes)))
    ticks = {
        axis.name: _ticks(axis.name, axis.lo, axis.hi, counts.get(axis.name, usual)) for axis in problem.axes
    }
    points = math.prod(map(len, ticks.values()))
    if points > LARGEST:
        raise SafeNetError(f"a grid of {points:.0e} points is too large", "take fewer along each axis")
    mesh = np.meshgrid(*ticks.values(), indexing="ij", sparse=True)
    fields, outside = solution.sampled(dict(zip(ticks, mesh, strict=True)))
    return ticks, fields, outside


def table(
    solution: Solution, derivatives: Sequence[str], counts: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], np.ndarray]:
    """Ticks, fields and derivatives by name, and which points of the grid are outside the region."""
    ticks, fields, outside = _sampled(solution, counts)
    found = {label(solution, name): values for name, values in fields.items()}
    names = Names(solution.problem.axis_names, solution.problem.unknowns)
    known: dict[tuple[int, ...], dict[str, np.ndarray]] = {}
    for text in [derivatives] if isinstance(derivatives, str) else derivatives:
        reading = names.derivative(text)
        if reading is None:
            axes, unknowns = ", ".join(names.axes), ", ".join(names.unknowns)
            remedy = f"the unknowns are {unknowns}, the axes {axes}; e.g. {names.unknowns[0]}_{names.axes[0]}"
            raise SafeNetError(f"{text!r} is not a derivative", remedy)
        name, orders = reading
        if orders not in known:
            known[orders] = _sampled(replace(solution, orders=orders), counts)[1]
        found[text] = known[orders][name]
    return ticks, found, outside


def export(solution: Solution, path: str | Path, derivatives: Sequence[str] = (), **counts: Any) -> Path:
    """Write fields and derivatives on the grid, in the format of the file's extension; return the file to open.

    As in `grid`, `x=201` is a number of points, and `t=[0.5]` one place.

    .csv   a line for each point of the domain: its coordinates, then the fields
    .npz   the ticks of each axis and every field on their product, by name; nan outside a region
    .nc    the same as netCDF, as `to_xarray` makes it
    .vtr   for ParaView, as `to_vtk` makes it; .pvd for time with two or three axes of space
    .vtu   the same on cells that follow the boundary of a region
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise SafeNetError(f"cannot export to {path}", f"use a name that ends in {', '.join(FORMATS)}")
    with saving(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if ending in (".vtr", ".vtu", ".pvd"):
            from .vtk import to_vtk

            return to_vtk(solution, path, derivatives, **counts)
        if ending == ".nc":
            to_xarray(solution, derivatives, **counts).to_netcdf(path, engine="scipy")
            return path
        ticks, fields, outside = table(solution, derivatives, counts)
        if ending == ".npz":
            arrays: dict[str, Any] = {**ticks, **fields}
            with path.open("wb") as file:
                np.savez(file, **arrays)
            return path
        columns = {**dict(zip(ticks, np.meshgrid(*ticks.values(), indexing="ij"), strict=True)), **fields}
        rows = np.stack([column[~outside] for column in columns.values()], axis=1)
        np.savetxt(path, rows, fmt="%.17g", delimiter=",", header=",".join(columns), comments="")
    return path


def _ticks(name: str, low: float, high: float, points: Any) -> np.ndarray:
    if np.ndim(points) == 0:
        if not isinstance(points, (int, float, np.integer)) or points % 1 != 0 or points < 2:
            said = f"{points:g}" if isinstance(points, float) else points
            what = "too few points" if said in ("1", 1) else "not a number of points"
            place = f"one place is {name}=[{low / 2 + high / 2:g}] (--at on the command line)"
            raise SafeNetError(f"{name} = {said} is {what}", f"give at least 2, e.g. {name}=101; {place}")
        return np.linspace(low, high, int(points))
    ticks = np.asarray(points, dtype=float)
    if ticks.ndim != 1 or not ticks.size or np.any(np.diff(ticks) <= 0):
        raise SafeNetError(
            f"the points along {name} must increase", f"give a count, or a list like {name}=[0, 0.5, 1]"
        )
    return ticks


def export_times(solution: Solution, counts: Mapping[str, Any]) -> np.ndarray:
    """The times of a series of files; none for a steady problem."""
    problem = solution.problem
    for name in counts:
        if name not in problem.axis_names:
            raise SafeNetError(f"{name!r} is not an axis", nearest(name, problem.axis_names))
    if problem.time is None:
        return np.empty(0)
    axis = problem.axes[problem.time]
    return _ticks(axis.name, axis.lo, axis.hi, counts.get(axis.name, COUNTS[3]))


def to_xarray(solution: Solution, derivatives: Sequence[str] = (), **counts: Any) -> Dataset:
    """A Dataset with the axes as coordinates and one variable for each unknown; its attributes say what was solved
    and how well. They are numbers and text, so that it can be written as netCDF."""
    try:
        import xarray
    except ImportError:
        raise SafeNetError("to_xarray needs xarray", INSTALL) from None

    problem, result = solution.problem, solution.result
    ticks, fields, _ = table(solution, derivatives, counts)
    # The errors are those of the solution; they say nothing about its derivatives.
    differentiated = any(solution.orders)
    l2re, estimate = (None, None) if differentiated else (result.l2re, result.estimate)
    own, estimates = (each if isinstance(each, dict) else {} for each in (l2re, estimate))
    facts = {
        "problem": problem.name,
        "title": problem.title,
        "equations": "; ".join(equation.text for equation in problem.equations),
        "conditions": "; ".join(condition.text for condition in problem.conditions),
        "parameters": ", ".join(f"{symbol.name} = {value}" for symbol, value in problem.parameters.items()),
        "solver": result.solver or None,
        "method": result.method,
        "outcome": str(result.outcome) if result.solver else None,
        "stop_reason": result.stop_reason,
        "warnings": "; ".join(result.warnings),
        "estimate": pooled(estimate),
        "estimate_at_least": "yes" if estimate is not None and result.estimate_at_least else None,
        "estimate_since": None if differentiated else result.estimate_since,
        "l2re": pooled(l2re),
        "residual": None if differentiated else result.residual,
    }
    variables = {
        name: (tuple(ticks), values, _present({"l2re": own.get(key), "estimate": estimates.get(key)}))
        for name, values in fields.items()
        for key in (field_key(name),)
    }
    return xarray.Dataset(variables, coords=ticks, attrs=_present(facts))


def _present(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in facts.items() if fact is not None and fact != ""}


def label(solution: Solution, name: str) -> str:
    """u, or u_xx for a solution that was differentiated."""
    if not any(solution.orders):
        return name
    axes = zip(solution.problem.axis_names, solution.orders, strict=True)
    return f"{name}_{''.join(axis * order for axis, order in axes)}"
