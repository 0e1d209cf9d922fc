"""Pictures: each field with its reference and error, a flow with its streamlines, the loss history."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..problem import Problem
from ..run.result import Outcome, pooled
from ..solution import Solution, evaluate_network, l2re_text
from .export import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1b1f24"
UNKNOWN = "#dee2e6"  # where an interrupted march has not been
COLOURS = ("#2563eb", "#d9480f", "#2b8a3e", "#862e9c", "#0b7285", "#a61e4d", "#5f3dc4", "#5c940d")
POINTS = {1: 801, 2: 257}  # along each drawn axis
DECADES = 4  # an error is drawn from its largest value down to this many powers of ten below
SIGNED = 0.05  # a field with at least this share of its range below (or above) zero has a white zero


def plot(solution: Solution) -> Figure:
    """A flow as speed and streamlines; else one row per unknown; and the loss history where an optimiser made one."""
    from matplotlib.figure import Figure

    problem = solution.problem
    velocity = _velocity(problem)
    if velocity and not any(solution.orders):
        return _plot_flow(solution, velocity)
    rows = len(problem.unknowns)
    loss_row = len(solution.history) > 1
    lines = len(problem.axes) == 1
    columns = 1 if not _scored(solution) else 2 if lines else 3
    width = 4.6 * columns + 0.4 if columns > 1 else 6.4
    figure = Figure(figsize=(width, 3.5 * rows + (3.0 if loss_row else 0.0) + 0.5), layout="constrained")
    grid = figure.add_gridspec(rows + loss_row, columns)
    draw = _draw_lines if lines else _draw_maps
    for row, name in enumerate(problem.unknowns):
        draw(solution, name, [figure.add_subplot(grid[row, column]) for column in range(columns)])
    if loss_row:
        _draw_losses(solution, figure.add_subplot(grid[rows, :]))
    figure.suptitle(_title(solution), fontsize=11, color=INK)
    return figure


def _scored(solution: Solution) -> bool:
    """Whether there is a reference to draw: of a derivative there is none."""
    return solution.problem.has_reference and not any(solution.orders)


def _title(solution: Solution) -> str:
    parts = [solution.problem.title or solution.problem.name]
    result = solution.result
    if any(solution.orders) or not result.problem:  # a derivative, or a field that no solve has measured
        return parts[0]
    error, estimate = pooled(result.l2re), pooled(result.estimate)
    if error is not None:
        parts.append(f"relative L² error {l2re_text(error, result.reference_accuracy)}")
    if estimate is not None:
        parts.append(
            f"estimated error {estimate:.0e}" if estimate >= 1e-16 else "estimated error below 1e-16"
        )
    if error is None and estimate is None and result.residual is not None:
        parts.append(f"residual {result.residual:.1e}")
    if result.outcome != Outcome.SOLVED:
        parts.append(str(result.outcome))
    return "  ·  ".join(parts)


def _sampled(solution: Solution, name: str, ticks: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None]:
    """The field and its reference over a grid, without the axes that have one tick."""
    problem = solution.problem
    shape = [len(tick) for tick in ticks if len(tick) > 1]
    flat = [part.ravel() for part in np.meshgrid(*ticks, indexing="ij")]
    index = problem.unknowns.index(name)
    orders = solution.orders or (0,) * len(problem.axes)
    points = np.stack(flat, axis=1)
    values = evaluate_network(solution.field, points, orders)[:, index]
    outside = ~problem.contains(points, 1e-9 * problem.axes[0].length)
    values = np.where(outside, np.nan, values)
    if not _scored(solution):
        return values.reshape(shape), None
    reference = problem.reference(**dict(zip(problem.axis_names, flat, strict=True)))
    exact = reference[name] if isinstance(reference, dict) else reference
    return values.reshape(shape), np.where(outside, np.nan, np.asarray(exact)).reshape(shape)


# ---- flows


def _velocity(problem: Problem) -> tuple[str, str] | None:
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


def _plot_flow(solution: Solution, velocity: tuple[str, str]) -> Figure:
    """Speed with streamlines, the other fields, and beside them the errors where there is a reference."""
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    problem = solution.problem
    ticks = [np.linspace(axis.lo, axis.hi, 4 * POINTS[2] // 3) for axis in problem.axes]
    fields = {name: _sampled(solution, name, ticks) for name in problem.unknowns}
    (u, exact_u), (v, exact_v) = (fields[name] for name in velocity)
    others = [name for name in problem.unknowns if name not in velocity]
    scored = exact_u is not None
    ratio = problem.axes[1].length / problem.axes[0].length
    columns = 2 if scored else 1
    width = 7.2 * columns
    height = (7.2 * ratio * 0.82 + 0.9) * (1 + len(others)) + 0.4
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1 + len(others), columns, squeeze=False)
    extent = (ticks[0][0], ticks[0][-1], ticks[1][0], ticks[1][-1])

    def show(ax: Axes, data: np.ndarray, title: str, **style: Any) -> None:
        image = ax.imshow(
            data.T, origin="lower", extent=extent, aspect="equal", interpolation="bilinear", **style
        )
        ax.set_title(title, fontsize=11, color=INK)
        ax.set_xlabel(problem.axes[0].name)
        ax.set_ylabel(problem.axes[1].name)
        outline(problem, ax)
        figure.colorbar(image, ax=ax, pad=0.015, shrink=0.9, extend="min" if "norm" in style else "neither")

    speed = np.hypot(u, v)
    show(axes[0, 0], speed, "speed and streamlines", cmap="cividis", vmin=0.0)
    _streamlines(axes[0, 0], ticks, u, v)
    if exact_u is not None and exact_v is not None:
        error, low, high = _error(np.hypot(u - exact_u, v - exact_v), np.zeros_like(u))
        show(axes[0, 1], error, "|velocity − reference|", cmap="magma", norm=LogNorm(low, high))
    for row, name in enumerate(others, start=1):
        values, exact = fields[name]
        show(axes[row, 0], values, name, **_colours(_clipped(values)))
        if exact is not None:
            error, low, high = _error(values, exact)
            show(axes[row, 1], error, f"|{name} − reference|", cmap="magma", norm=LogNorm(low, high))
    figure.suptitle(_title(solution), fontsize=12, color=INK)
    return figure


def _clipped(field: np.ndarray) -> np.ndarray:
    """Without the hundredth at either end: at a corner a pressure has no bound."""
    known = field[np.isfinite(field)]
    low, high = np.quantile(known, [0.005, 0.995]) if known.size else (0.0, 1.0)
    return np.asarray(np.clip(field, low, high))


def _streamlines(ax: Axes, ticks: list[np.ndarray], u: np.ndarray, v: np.ndarray) -> None:
    """Lines of the flow, thinner where it is slow, so that eddies show without shouting."""
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


# ---- a region


def outline(problem: Problem, ax: Axes) -> None:
    """The boundary of a region; outside it is blank."""
    ax.set_facecolor("white" if problem.region is not None else UNKNOWN)
    if problem.region is None:
        return
    for edge in problem.region.edges:
        points, _ = edge.at(np.linspace(0.0, 1.0, 2 if edge.length < 1e-9 else 129))
        ax.plot(points[:, 0], points[:, 1], color=INK, lw=1.4, solid_capstyle="round", clip_on=False)
    for side in ax.spines.values():
        side.set_visible(False)


# ---- lines and maps


def _draw_lines(solution: Solution, name: str, axes: list[Axes]) -> None:
    axis = solution.problem.axes[0]
    x = np.linspace(axis.lo, axis.hi, POINTS[1])
    values, exact = _sampled(solution, name, [x])
    axes[0].plot(x, values, color=COLOURS[0], lw=1.8, label=label(solution, name))
    axes[0].set_title(label(solution, name), fontsize=10)
    if exact is not None:
        axes[0].plot(x, exact, color=INK, lw=1.2, ls=(0, (4, 4)), label="reference")
        axes[0].legend(fontsize=8, frameon=False)
        error, low, high = _error(values, exact)
        axes[1].semilogy(x, error, color=COLOURS[1], lw=1.2)
        axes[1].set_ylim(low, 2 * high)
        axes[1].set_title(f"|{name} − reference|", fontsize=10)
    for ax in axes:
        ax.set_xlabel(axis.name)
        ax.grid(alpha=0.2)


def _draw_maps(solution: Solution, name: str, axes: list[Axes]) -> None:
    """The plane of the first two axes; others are held at their middle, time at the last that is known."""
    from matplotlib.colors import LogNorm

    problem = solution.problem
    ticks = [
        np.linspace(axis.lo, axis.hi, POINTS[2]) if i < 2 else np.array([_held(solution, i)])
        for i, axis in enumerate(problem.axes)
    ]
    values, exact = _sampled(solution, name, ticks)
    # Time runs to the right; a plane in space keeps its first axis to the right.
    across, up = (1, 0) if problem.axes[1].is_time else (0, 1)
    extent = (problem.axes[across].lo, problem.axes[across].hi, problem.axes[up].lo, problem.axes[up].hi)
    ratio = problem.axes[up].length / problem.axes[across].length
    aspect: Literal["equal", "auto"] = (
        "equal" if not problem.axes[across].is_time and 0.3 < ratio < 3 else "auto"
    )
    held = ", ".join(
        f"{axis.name} = {tick[0]:g}" for axis, tick in zip(problem.axes, ticks, strict=True) if len(tick) == 1
    )

    def show(ax: Axes, data: np.ndarray, title: str, **style: Any) -> None:
        picture = data if across == 1 else data.T
        image = ax.imshow(picture, origin="lower", extent=extent, aspect=aspect, **style)
        outline(problem, ax)
        ax.set_title(f"{title} at {held}" if held else title, fontsize=10)
        ax.set_xlabel(problem.axes[across].name)
        ax.set_ylabel(problem.axes[up].name)
        ax.figure.colorbar(image, ax=ax, pad=0.02, extend="min" if "norm" in style else "neither")

    colours = _colours(values if exact is None else exact)
    show(axes[0], values, label(solution, name), **colours)
    if exact is not None:
        error, low, high = _error(values, exact)
        show(axes[1], exact, f"{name}, reference", **colours)
        show(axes[2], error, f"|{name} − reference|", cmap="magma", norm=LogNorm(low, high))


def _held(solution: Solution, index: int) -> float:
    axis = solution.problem.axes[index]
    reached = getattr(solution.field, "breaks", (axis.hi,))[-1]
    return min(axis.hi, reached) if axis.is_time else (axis.lo + axis.hi) / 2


def _colours(field: np.ndarray) -> dict[str, Any]:
    known = field[np.isfinite(field)]
    if not known.size:
        return {}
    low, high = float(known.min()), float(known.max())
    if min(-low, high) < SIGNED * (high - low):
        return {"cmap": "viridis", "vmin": low, "vmax": high}
    return {"cmap": "RdBu_r", "vmin": -max(-low, high), "vmax": max(-low, high)}


def _error(values: np.ndarray, exact: np.ndarray) -> tuple[np.ndarray, float, float]:
    """|values − exact| and the range to draw it in; zeros, which no logarithm has, are raised to its lower end."""
    error = np.abs(values - exact)
    known = error[np.isfinite(error)]
    high = max(float(known.max()) if known.size else 1.0, 1e-17)
    low = high / 10**DECADES
    return np.maximum(error, low), low, high  # keeps nan: unknown is not zero


def _draw_losses(solution: Solution, ax: Axes) -> None:
    from ..train.objective import term_names

    history = solution.history
    names = ("loss", *term_names(solution.problem))
    # After all the colours they come again, dashed.
    styles = [("-", INK), *((line, colour) for line in ("-", "--", ":") for colour in COLOURS)]
    for column, (name, (line, colour)) in enumerate(zip(names, cycle(styles), strict=False)):
        width = 1.8 if column == 0 else 1.0
        ax.semilogy(history[:, 0], history[:, 1 + column], color=colour, ls=line, lw=width, label=name)
    ax.set_xlabel("iteration")
    ax.set_ylabel("loss and its terms")
    ax.grid(alpha=0.2)
    ax.legend(fontsize=8, ncols=2, frameon=False)
