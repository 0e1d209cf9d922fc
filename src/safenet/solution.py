"""u(x, t) as an object: call it, differentiate it, score it, draw it, save it."""

from __future__ import annotations

import json
import shlex
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
from .errors import SafeNetError, SafeNetWarning, saving
from .fields.field import Orders
from .fields.saved import check_map, check_size
from .inverse.plan import FitPlan
from .inverse.posterior import PosteriorPlan
from .measure.estimate import estimated_error
from .measure.scores import Errors, errors, evaluate_network
from .problem import Problem
from .problem.toml import dumps, read
from .run.checkpoint import contents, fill, leaves, pack, unpack, write_atomically
from .run.folder import PLAN, PROBLEM, RESULT, SOLUTION, former_result, undamaged
from .run.found import FoundFunction, FoundNumber, FoundOnes
from .run.result import Result, pooled

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

    from .train.plan import Plan
OUTSIDE = "a solution is known only inside its domain"


class OutsideError(SafeNetError):
    """A point outside the intervals of the axes, where nothing is known."""


@dataclass(repr=False)
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
    factory: Callable[[Any], Any] | None = None  # the function that made the user's own network

    def __call__(self, *places: Any, **coordinates: Any) -> Any:
        """Fields at points, by axis name or in the order of the axes: `sol(x=0.3, t=0.5)`, `sol(0.3, 0.5)`.

        An array of the broadcast shape, or a dict of them for several unknowns.
        There is no extrapolation. As with SciPy's interpolators, a point outside the intervals of the axes is an
        error. A point within them but outside the region gives nan with a warning (without one in `grid`, which
        fills the box).
        """
        coordinates |= self._in_order(places, coordinates)
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

    def __repr__(self) -> str:
        """Solution(wave: u(x, t), solved, estimated error 2e-15)"""
        problem, result = self.problem, self.result
        axes = ", ".join(problem.axis_names)
        parts = [", ".join(f"{name}({axes})" for name in problem.unknowns)]
        if any(self.orders):
            parts.append(
                "∂" + "".join(f"{a}^{n}" for a, n in zip(problem.axis_names, self.orders, strict=True) if n)
            )
        elif result.problem:
            estimate = pooled(result.estimate)
            parts += [str(result.outcome), *([] if estimate is None else [f"estimated error {estimate:.0e}"])]
        return f"Solution({problem.name}: {', '.join(parts)})"

    def _repr_html_(self) -> str:
        from .views.notebook import solution_html

        return solution_html(self)

    def _in_order(self, places: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """0.3, 0.5 → {"x": 0.3, "t": 0.5}"""
        axes = self.problem.axis_names
        if len(places) > len(axes) or named.keys() & set(axes[: len(places)]):
            raise SafeNetError(
                f"{len(places) + len(named)} coordinates for the axes {', '.join(axes)}",
                f"give each once, e.g. sol({', '.join(f'{axis}=…' for axis in axes)})",
            )
        return dict(zip(axes, places, strict=False))

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
            slack = 1e-6 * axis.length  # the last point of a float32 grid may be a rounding error outside
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
    def found(self) -> FoundOnes:
        """What an inverse problem has found: `sol.found["nu"]` is a number, with its standard error as `.error`, and
        `sol.found["k"](x=0.3)` a function, with `.error(x=0.3)`. A name that was not found raises an error that says
        why."""
        found: dict[str, Any] = {}
        for name, one in self.result.found.items():
            if name in self.problem.curves:
                spline = self.problem.functions[name].spline
                errors = one["error"] and replace(spline, coefficients=np.array(one["error"]))
                of = self.problem.curves[name].of
                found[name] = FoundFunction(name, of, spline, errors or None, one.get("determined"))
            elif one["value"] is not None:
                found[name] = FoundNumber(one["value"], one["error"])
        return FoundOnes(found, self.problem.unknown, self.result.stop_reason)

    def std(self, *places: Any, **coordinates: Any) -> Any:
        """One standard deviation at points, for a solution by `Posterior`; called like the solution."""
        if not hasattr(self.field, "std"):
            raise SafeNetError(
                f"{self.problem.name} was not solved as a Gaussian posterior: it has no standard deviation",
                "solve it with sn.Posterior(); what was found has its own, e.g. sol.found['nu'].error",
            )
        points, shape = self._points(coordinates | self._in_order(places, coordinates))
        values = self.field.std(points, self.orders or (0,) * points.shape[1])
        fields = {name: values[:, i].reshape(shape) for i, name in enumerate(self.problem.unknowns)}
        return fields if len(fields) > 1 else fields[self.problem.unknowns[0]]

    def read_off(self, *data: Any) -> dict[str, FoundNumber]:
        """For a family u(x, t; nu): the nu that fits data best, with its standard error, without another solve.

        Every parameter for which the data have no column is found: `sol.read_off(sn.Data(x=…, t=…, u=…))["nu"]`.
        A warning says what the data do not determine (then `.error` is None), and what does not fit."""
        from .inverse.family import read_off

        self._check_undifferentiated("fitted", "give its values as data of a derivative: value='u_x'")
        solved = pooled(self.result.estimate)
        return read_off(self.problem, self.field, data, self.result.residual if solved is None else solved)

    def diff(self, axis: Any, order: int = 1) -> Solution:
        """∂^order/∂axis^order of the solution: callable like it, and differentiable again."""
        if not isinstance(order, Integral) or int(order) < 0:
            twice = f"differentiate once more by {order}: .diff({str(axis)!r}).diff({str(order)!r})"
            remedy = twice if str(order) in self.problem.axis_names else "give 1, 2, …"
            raise SafeNetError(f"{order!r} is not the order of a derivative", remedy)
        orders = list(self.orders or (0,) * len(self.problem.axes))
        orders[self.problem.axis(axis)] += int(order)
        return replace(self, orders=tuple(orders))

    def _check_undifferentiated(self, verb: str, remedy: str) -> None:
        """Refuse a derivative of a solution for what would silently be done to the solution itself."""
        if any(self.orders):
            raise SafeNetError(f"a derivative of a solution cannot be {verb}", remedy)

    def error(self) -> Errors:
        """The error against the reference, or its derivative, on the evaluation grid, and the held-out residual."""
        return errors(self.problem, self.field, self.orders)

    def estimate(self) -> float | None:
        """The error ‖e‖/‖u‖ estimated from the equations and conditions alone; None if it cannot be estimated."""
        self._check_undifferentiated("estimated", "call estimate() of the solution itself")
        return estimated_error(self.problem, self.field)

    def plot(self, *what: str, style: str = "light", title: bool = True, **at: Any) -> Figure:
        """A picture of the fields, or of those in `what` ("u", "u_x"), with axes fixed by `at`:
        `sol.plot("u", t=[0, 0.5, 1])`.

        `style`: light, dark or transparent; `title=False` leaves out the name and the error above the picture."""
        from .views.plot import plot

        return plot(self, *what, style=style, title=title, **at)

    def animate(self, *what: str, frames: int = 60, fps: int = 20, style: str = "light", **at: Any) -> Any:
        """The fields over time as a film: `sol.animate().save("wave.gif")`, or .mp4; in a notebook it plays."""
        from .views.animate import animate

        return animate(self, *what, frames=frames, fps=fps, style=style, **at)

    def compare(self, other: Solution, style: str = "light", **at: Any) -> Any:
        """‖u − v‖/‖v‖ of every field that both have, and a picture of both beside their difference."""
        from .views.compare import compare

        return compare(self, other, style, **at)

    def explore(self) -> Any:
        """An interactive view in a notebook: sliders, a player for time, and cross-sections where you click.

        Needs Panel: pip install 'safenet-pde[ui]'."""
        from .views.explore import explore

        return explore(self)

    def grid(self, **counts: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Ticks by axis and values by unknown on a grid over the box: `sol.grid(x=201, t=[0, 0.5, 1])`.

        Outside the region, the values are nan."""
        from .views.export import grid_values

        return grid_values(self, **counts)

    def export(self, path: str | Path, *, derivatives: Sequence[str] = (), **counts: Any) -> Path:
        """Write fields over the grid, and derivatives such as "u_xt", as .csv, .npz, .nc, .vtr, .vtu or .pvd; returns
        the file's path."""
        from .views.export import export

        return export(self, path, derivatives, **counts)

    def to_xarray(self, **counts: Any) -> Dataset:
        """An xarray Dataset over the grid."""
        from .views.export import to_xarray

        return to_xarray(self, **counts)

    def to_vtk(self, path: str | Path, **counts: Any) -> Path:
        """Write VTK files over the grid, or the cells of a region; returns the one to open in ParaView."""
        from .views.vtk import to_vtk

        return to_vtk(self, path, **counts)

    def save(self, folder: str | Path, factory: Callable[[Any], Any] | None = None) -> Path:
        """Save problem.toml, plan.json, solution.npz and result.json: readable without this program, and no pickle.

        A network of your own is rebuilt by the function that made it: give that function, defined in a module, as
        `factory` (key → module), unless it was already given as `Train(network=factory)`.
        """
        self._check_undifferentiated("saved", "save the solution itself, and call .diff after loading it")
        folder, plan = Path(folder), self.plan
        if (
            not isinstance(plan, DirectPlan)
            and plan.own_network
            and (factory is not None or not plan.factory)
        ):
            plan = replace(plan, factory=_named(factory))
        files = {
            PROBLEM: dumps(self.problem).encode(),
            PLAN: plan.to_json().encode(),
            SOLUTION: pack(
                {**leaves(self.field), "history": self.history}, {"network": plan.spec(self.field)}
            ),
            RESULT: (json.dumps(self.result.to_json(), indent=1) + "\n").encode(),
            **{name: one.text.encode() for name, one in self.problem.files.items()},
        }
        with saving(f"to {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
            for name, data in files.items():
                write_atomically(folder / name, data)
        self.folder = folder
        return folder


def _named(factory: Callable[[Any], Any] | None) -> str:
    from .train.solver import factory_name

    name = factory_name(factory)
    if not name:
        raise SafeNetError(
            "a network of your own can only be saved together with the function that makes it",
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
            f"continue it with `safenet solve --resume {shlex.quote(str(folder))}`",
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
    values = {name: np.array(one["value"] or 0, float) for name, one in result.found.items()}
    problem = problem.found(values) if values else problem
    return Solution(problem, field, plan, history, result, folder=folder, factory=factory)


def read_problem(folder: Path) -> Problem:
    """The problem saved in a run folder; if it is one of the library, with the library's reference."""
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
        if "passes" in known:
            kinds: dict[str, type[DirectPlan]] = {plan.solver: plan for plan in (FitPlan, PosteriorPlan)}
            return kinds.get(known["solver"], DirectPlan).from_json(text)
        from .train.plan import Plan

        return Plan.from_json(text)
