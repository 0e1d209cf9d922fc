"""A flow in the plane: its speed with streamlines, the other fields, and beside them the errors."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from ..problem import Problem
from ..problem.language.latex import latex_name
from ..solution import Solution
from .cuts import Cut, sampled
from .look import Picture, error_colours, error_title, field_colours, math
from .maps import POINTS, Plane


def velocity(problem: Problem) -> tuple[str, str] | None:
    """(u, v) if u_x + v_y = 0 is one of the equations of a steady problem in the plane."""
    if len(problem.axes) != 2 or problem.time is not None:
        return None
    for equation in problem.equations:
        slopes = {jet.orders: (symbol, jet.field) for symbol, jet in equation.jets.items()}
        if len(equation.jets) == 2 and slopes.keys() == {(1, 0), (0, 1)}:
            (a, u), (b, v) = slopes[1, 0], slopes[0, 1]
            if u != v and equation.residual in (a + b, -a - b):
                return u, v
    return None


def plot_flow(solution: Solution, pair: tuple[str, str]) -> Picture:
    """Speed with streamlines, the other fields, and beside them the errors if there is a reference."""
    problem = solution.problem
    ticks = [np.linspace(axis.lo, axis.hi, 4 * POINTS // 3) for axis in problem.axes]
    fields = {name: sampled(solution, name, Cut((0, 1), {}), ticks) for name in problem.unknowns}
    (u, exact_u), (v, exact_v) = (fields[name] for name in pair)
    others = [name for name in problem.unknowns if name not in pair]
    columns = 1 if exact_u is None else 2
    ratio = problem.axes[1].length / problem.axes[0].length
    height = (7.2 * ratio * 0.86 + 0.85) * (1 + len(others)) + 0.5
    figure = Picture(figsize=(7.4 * columns, height), layout="compressed")
    axes = figure.subplots(1 + len(others), columns, squeeze=False)
    plane = Plane(problem, Cut((0, 1), {}))
    plane.show(axes[0, 0], np.hypot(u, v), "speed and streamlines", cmap="cividis", vmin=0.0)
    _streamlines(axes[0, 0], ticks, u, v)
    if exact_u is not None and exact_v is not None:
        error = np.hypot(u - exact_u, v - exact_v)
        a, b = map(latex_name, pair)
        title = f"error $|({a}, {b}) - ({a}^*, {b}^*)|$"
        plane.show(axes[0, 1], error, title, error=True, **error_colours(error))
    for row, name in enumerate(others, start=1):
        values, exact = fields[name]
        plane.show(axes[row, 0], values, math(name), **field_colours(_clipped(values)))
        if exact is not None:
            error = np.abs(values - exact)
            title = error_title(name, error, exact)
            plane.show(axes[row, 1], error, title, error=True, **error_colours(error, exact))
    return figure


def _clipped(field: np.ndarray) -> np.ndarray:
    """Without the lowest and highest half percent of the values: a pressure may be unbounded at a corner."""
    known = field[np.isfinite(field)]
    low, high = np.quantile(known, [0.005, 0.995]) if known.size else (0.0, 1.0)
    return np.asarray(np.clip(field, low, high))


def _streamlines(ax: Axes, ticks: list[np.ndarray], u: np.ndarray, v: np.ndarray) -> None:
    """Streamlines, thinner where the flow is slow, so that eddies are visible but do not dominate."""
    still = ~np.isfinite(u + v)
    speed = np.hypot(u, v)
    top = float(np.nanmax(speed)) or 1.0
    share = np.where(still, 0.0, np.sqrt(np.nan_to_num(speed) / top))
    ax.streamplot(
        ticks[0],
        ticks[1],
        np.ma.masked_array(u, still).T,
        np.ma.masked_array(v, still).T,
        density=(2.2, 1.5),
        color="white",
        linewidth=(0.35 + 0.9 * share).T,
        arrowsize=0.7,
        broken_streamlines=True,
    )
    ax.set_xlim(ticks[0][0], ticks[0][-1])
    ax.set_ylim(ticks[1][0], ticks[1][-1])
