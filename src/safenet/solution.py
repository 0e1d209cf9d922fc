"""u(x, t) as an object: call it, differentiate it, score it, draw it, save it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import library
from .direct.plan import DirectPlan
from .errors import SafeNetError, SafeNetWarning
from .fields.derivatives import Orders, jets
from .fields.saved import check_map, check_size
from .inverse.plan import FitPlan
from .measure.estimate import estimated_error
from .measure.heldout import HeldOut, grid, held_out
from .networks.saved import OWN
from .problem import Problem
from .problem.facts.verify import exact_values
from .problem.toml import dumps, read
from .run.checkpoint import contents, fill, leaves, pack, unpack, write_atomically
from .run.folder import PLAN, PROBLEM, RESULT, SOLUTION, former_result, undamaged
from .run.found import FoundNumber
from .run.result import Result
from .train.plan import Plan
from .train.solver import factory_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

GRIDS = {1: (1001,), 2: (257, 101), 3: (101, 101, 21)}  # the evaluation grids of the protocol
PLANE = (401, 201)  # and for a steady problem in the plane
BLOCK = 32_768  # points evaluated at once


@dataclass(frozen=True)
class Errors:
    """‖u − u*‖/‖u*‖ over the evaluation grid: `fields` each by itself, `l2re` pooled, `mean` their mean.

    Pooled, all fields are one vector, and a field that is large in its units outweighs the others; in the mean, each
    field counts the same. Of one field the three agree. Where u* = 0, the error is the root mean square of u.
    `max_error` is the largest error at a point. All of them are None (`fields` empty) without a reference;
    `floor` is the reference's own accuracy. `held_out` is known always.
    """

    l2re: float | None
    max_error: float | None
    fields: dict[str, float]
    floor: float | None
    held_out: HeldOut

    def __str__(self) -> str:
        residual = f"held-out residual {self.held_out.worst:.2e}"
        if self.l2re is None:
            return f"no reference; {residual}"
        return f"L2RE {self.l2re_text}, largest error {self.max_error:.2e}, {residual}"

    @property
    def mean(self) -> float | None:
        """The mean of the fields' errors."""
        return float(np.mean(list(self.fields.values()))) if self.fields else None

    @property
    def l2re_text(self) -> str:
        """The errors in words, as `l2re_text` says them."""
        return l2re_text(errors_json(self, len(self.fields)), self.floor)


OUTSIDE = "a solution is known only inside its domain"


class OutsideError(SafeNetError):
    """A point outside the intervals of the axes, where nothing is known."""


@dataclass
class Solution:
    """A solution: a function of the axes, with its derivatives, its error, pictures and files.

    It holds the `field` (a network, series, cells or modes), its `problem`, the `plan` that led to it, the `result`,
    and the `folder` where it is saved.

    Examples:
        >>> round(float(solution(t=1.0)), 6)  # exp(-1)
        0.367879
        >>> round(float(solution.diff("t")(t=0.0)), 6)
        -1.0
        >>> solution.estimate() < 1e-8
        True
        >>> figure = solution.plot()
    """

    problem: Problem
    field: Any
    plan: DirectPlan | Plan
    history: np.ndarray = dataclass_field(default_factory=lambda: np.empty((0, 2)))
    result: Result = dataclass_field(default_factory=Result)
    orders: Orders = ()
    folder: Path | None = None
    factory: Callable[[Any], Any] | None = None  # what made a network of the user's own

    def __call__(self, **coordinates: Any) -> Any:
        """Fields at points given by axis name: an array of the broadcast shape, or a dict for several unknowns.

        There is no extrapolation. As with SciPy's interpolators, a point outside the intervals of the axes is an
        error, and one between them that is not in the region is nan: with a warning, which `grid`, made to fill the
        box, does not give.
        """
        fields, outside = self.sampled(coordinates)
        if outside.any():
            first = np.argmax(outside)
            arrays = self.problem.broadcast(coordinates)
            place = (f"{name}={array.flat[first]:g}" for name, array in arrays.items())
            warnings.warn(
                f"{outside.sum()} of {outside.size} points are outside the region of {self.problem.name}: "
                f"nan there, e.g. at {', '.join(place)}",
                SafeNetWarning,
                stacklevel=2,
            )
        return fields if len(fields) > 1 else fields[self.problem.unknowns[0]]

    def sampled(self, coordinates: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Every field at the points, and which points are outside the region, where the fields are nan."""
        points, shape = self._points(coordinates)
        orders = self.orders or (0,) * points.shape[1]
        nothing = np.empty((0, len(self.problem.unknowns)))
        values = evaluate_network(self.field, points, orders) if len(points) else nothing
        slack = 1e-6 * max(axis.length for axis in self.problem.axes[:2])
        outside = ~self.problem.contains(points, slack)
        values = np.where(outside[:, None], np.nan, values)
        fields = {name: values[:, i].reshape(shape) for i, name in enumerate(self.problem.unknowns)}
        return fields, outside.reshape(shape)

    def _points(self, coordinates: Mapping[str, Any]) -> tuple[np.ndarray, tuple[int, ...]]:
        arrays = list(self.problem.broadcast(coordinates).values())
        for axis, array in zip(self.problem.axes, arrays, strict=True):
            slack = 1e-6 * axis.length  # float32 grids end a rounding beyond their interval
            outside = array[(array < axis.lo - slack) | (array > axis.hi + slack)]
            if outside.size:
                raise OutsideError(
                    f"{axis.name} = {outside.flat[0]:g} is outside the domain [{axis.lower}, {axis.upper}]",
                    OUTSIDE,
                )
        inside = [
            np.clip(array.ravel(), axis.lo, axis.hi)
            for axis, array in zip(self.problem.axes, arrays, strict=True)
        ]
        return np.stack(inside, axis=1), arrays[0].shape

    @property
    def found(self) -> dict[str, FoundNumber]:
        """The unknown numbers of an inverse problem: `sol.found["nu"]`, with its standard error as `.error`."""
        return {
            name: FoundNumber(one["value"], one["error"])
            for name, one in self.result.found.items()
            if one["value"] is not None
        }

    def diff(self, axis: Any, order: int = 1) -> Solution:
        """∂^order/∂axis^order of the solution: callable like it, and differentiable again."""
        if not isinstance(order, Integral) or int(order) < 0:
            raise SafeNetError(f"{order!r} is not the order of a derivative", "give 1, 2, …")
        orders = list(self.orders or (0,) * len(self.problem.axes))
        orders[self.problem.axis(axis)] += int(order)
        return replace(self, orders=tuple(orders))

    def _check_undifferentiated(self, verb: str, remedy: str) -> None:
        """What follows is about u: of u_x it would say the same, and mean something else."""
        if any(self.orders):
            raise SafeNetError(f"a derivative of a solution cannot be {verb}", remedy)

    def error(self) -> Errors:
        """The error against the reference, or its derivative, on the evaluation grid, and the held-out residual."""
        return errors(self.problem, self.field, self.orders)

    def estimate(self) -> float | None:
        """The error ‖e‖/‖u‖ estimated from the equations and conditions alone; None where there is no way to tell."""
        self._check_undifferentiated("estimated", "call estimate() of the solution itself")
        return estimated_error(self.problem, self.field)

    def plot(self) -> Figure:
        """Field, reference and error where known, and the loss history."""
        from .views.plot import plot

        return plot(self)

    def grid(self, **counts: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Ticks by axis and values by unknown on a grid over the box: `sol.grid(x=201, t=[0, 0.5, 1])`.

        Where the box is not in the region, the values are nan."""
        from .views.export import grid_values

        return grid_values(self, **counts)

    def export(self, path: str | Path, *, derivatives: Sequence[str] = (), **counts: Any) -> Path:
        """Fields over the grid, and derivatives such as "u_xt", as .csv, .npz, .nc, .vtr or .pvd; the file to open."""
        from .views.export import export

        return export(self, path, derivatives, **counts)

    def to_xarray(self, **counts: Any) -> Dataset:
        """An xarray Dataset over the grid."""
        from .views.export import to_xarray

        return to_xarray(self, **counts)

    def to_vtk(self, path: str | Path, **counts: Any) -> Path:
        """VTK files over the grid; the one to open in ParaView is returned."""
        from .views.export import to_vtk

        return to_vtk(self, path, **counts)

    def save(self, folder: str | Path, factory: Callable[[Any], Any] | None = None) -> Path:
        """problem.toml, plan.json, solution.npz and result.json: readable without this program, and no pickle.

        A network of your own is built again by the function that made it: give it here as `factory` (key → module),
        defined in a module, unless `Train(network=factory)` was given it already.
        """
        self._check_undifferentiated("saved", "save the solution itself, and call .diff after loading it")
        folder, plan = Path(folder), self.plan
        if isinstance(plan, Plan) and plan.method == OWN and (factory is not None or not plan.factory):
            plan = replace(plan, factory=_named(factory))
        files = {
            PROBLEM: dumps(self.problem).encode(),
            PLAN: plan.to_json().encode(),
            SOLUTION: pack(
                {**leaves(self.field), "history": self.history}, {"network": plan.spec(self.field)}
            ),
            RESULT: (json.dumps(self.result.to_json(), indent=1) + "\n").encode(),
            **{data.file: data.text.encode() for data in self.problem.data},
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, data in files.items():
                write_atomically(folder / name, data)
        except OSError as obstacle:
            raise SafeNetError(
                f"cannot write to {folder}: {obstacle.strerror}", "choose another place"
            ) from None
        self.folder = folder
        return folder


def _named(factory: Callable[[Any], Any] | None) -> str:
    name = factory_name(factory)
    if not name:
        raise SafeNetError(
            "a network of your own is built again, when it is loaded, by the function that made it",
            "give that function, defined in a module: sol.save(folder, factory=make) with make(key) → module",
        )
    return name


def load(
    folder: str | Path, problem: Problem | None = None, *, factory: Callable[[Any], Any] | None = None
) -> Solution:
    """Load the solution saved in `folder`, bit for bit. A problem of the library gets its reference back.

    `factory`: for a network of your own, the function that made it, if its module is not imported yet.

    Examples:
        >>> folder = solution.save("runs/decay")
        >>> bool(sn.load(folder)(t=0.5) == solution(t=0.5))
        True
    """
    folder = Path(folder)
    problem = problem or read_problem(folder)
    if not (folder / SOLUTION).exists():
        raise SafeNetError(
            f"the run in {folder} ended before it had a solution",
            f"continue it with `safenet solve --resume {folder}`",
        )
    plan = read_plan(folder)
    with undamaged(folder / SOLUTION):
        arrays, facts = unpack(folder / SOLUTION)
        history = arrays.pop("history")
        spec = facts["network"]
        check_size(spec, sum(array.size for array in arrays.values()))
        field = fill(plan.skeleton(problem, spec, factory), arrays)
        check_map(problem, field)
    result = former_result(folder)
    if result is None:
        raise SafeNetError(f"{folder / RESULT} is missing", "restore the file, or solve again with --force")
    values = {name: float(one["value"] or 0) for name, one in result.found.items()}
    problem = problem.found(values) if values else problem
    return Solution(problem, field, plan, history, result, folder=folder, factory=factory)


def read_problem(folder: Path) -> Problem:
    """The problem saved in a run folder, with the library's reference where it is one of the library's."""
    path = folder / PROBLEM
    if not path.is_file() or not (folder / PLAN).is_file():
        kind = "has no problem.toml and plan.json" if folder.is_dir() else "does not exist"
        raise SafeNetError(
            f"{folder} is not a run folder: it {'is a file' if folder.is_file() else kind}",
            "give a folder that `safenet solve --out` or save() made",
        )
    return library.with_library_reference(read(path))


def read_plan(folder: Path) -> DirectPlan | Plan:
    """The plan of a run: a direct one has passes, a training has phases."""
    with undamaged(folder / PLAN):
        text = contents(folder / PLAN).decode()
        known = json.loads(text)
        kind = Plan if "passes" not in known else FitPlan if known["solver"] == FitPlan.solver else DirectPlan
        return kind.from_json(text)


def evaluate_network(network: Any, points: np.ndarray, orders: Orders) -> np.ndarray:
    """∂^orders of every field at the points, (n, fields), a block at a time."""
    blocks = []
    for start in range(0, len(points), BLOCK):
        block = points[start : start + BLOCK]
        blocks.append(np.asarray(jets(network, block, [orders])[orders]))
    return np.concatenate(blocks)


def errors(problem: Problem, network: Any, orders: Orders = ()) -> Errors:
    """L2RE and largest error of ∂^orders u on the protocol's grid; the exact solution is read here and nowhere else."""
    measured = held_out(problem, network)
    if not problem.has_reference:
        return Errors(None, None, {}, None, measured)
    points, truth = reference_values(problem, orders)
    values = evaluate_network(network, points, orders or (0,) * points.shape[1])
    fields = {name: relative_error(values[:, i], truth[:, i]) for i, name in enumerate(problem.unknowns)}
    pooled, largest = relative_error(values, truth), float(np.abs(values - truth).max())
    return Errors(pooled, largest, fields, 0.0 if any(orders) else problem.reference_accuracy, measured)


def reference_values(problem: Problem, orders: Orders = ()) -> tuple[np.ndarray, np.ndarray]:
    """The points of the protocol's grid and ∂^orders of the reference there, (n, fields), where it has a value."""
    axes = len(problem.axes)
    shape = PLANE if axes == 2 and problem.time is None else GRIDS.get(axes) or (9,) * axes
    points = grid(problem, shape)
    coordinates = dict(zip(problem.axis_names, points, strict=True))
    found = exact_values(problem, coordinates, orders) if any(orders) else problem.reference(**coordinates)
    exact = found if isinstance(found, dict) else {problem.unknowns[0]: found}
    truth = np.stack([np.asarray(exact[name]).ravel() for name in problem.unknowns], axis=1)
    # Where a solution has no value (a pressure at a corner), there is nothing to compare with.
    known = np.isfinite(truth).all(axis=1)
    return np.stack(points, axis=1)[known], truth[known]


def relative_error(values: np.ndarray, truth: np.ndarray) -> float:
    """‖u − u*‖/‖u*‖; where u* = 0, the root mean square of u."""
    size = np.linalg.norm(truth)
    return float(np.linalg.norm(values - truth) / (size if size > 0 else np.sqrt(truth.size)))


POOLED, MEAN = "pooled", "mean"  # the keys of what is known of all fields together


def field_key(name: str) -> str:
    """The key of an unknown's error in result.json: its name, unless that means all of them together."""
    return f"{name} (unknown)" if name in (POOLED, MEAN) else name


def field_errors_json(unknowns: Sequence[str], over_all: float, fields: Sequence[float]) -> Any:
    """An estimate as result.json states it: a number, or one for each field and `pooled`."""
    if len(unknowns) == 1:
        return over_all
    return {
        **{field_key(name): error for name, error in zip(unknowns, fields, strict=True)},
        POOLED: over_all,
    }


def errors_json(measured: Errors, unknowns: int) -> Any:
    """l2re as result.json states it: a number, a dict per field plus `pooled` and `mean`, or null."""
    if measured.l2re is None or unknowns == 1:
        return measured.l2re
    fields = {field_key(name): error for name, error in measured.fields.items()}
    return {**fields, POOLED: measured.l2re, MEAN: measured.mean}


def l2re_text(l2re: float | Mapping[str, float | None] | None, floor: float | None) -> str:
    """«2.30e-05», or «pooled 2.30e-05, mean 4.10e-05, p 1.20e-05, v 7.00e-05», of l2re as result.json states it.

    Below the reference's own accuracy the digits are those of the reference: «≤ 1.0e-05» is all that is known.
    """
    reason = "the reference's own accuracy"
    if not isinstance(l2re, Mapping):
        text = _bounded(l2re, floor)
        return f"{text} ({reason})" if text.startswith("≤") else text
    summary = {name: l2re[name] for name in (POOLED, MEAN) if name in l2re}
    text = ", ".join(f"{name} {_bounded(error, floor)}" for name, error in {**summary, **l2re}.items())
    return f"{text} (≤: {reason})" if "≤" in text else text


def _bounded(error: float | None, floor: float | None) -> str:
    if error is None or not np.isfinite(error):
        return "not known"
    return f"≤ {floor:.1e}" if floor and error < floor else f"{error:.2e}"
