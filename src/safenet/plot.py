"""Pictures of a solution: field, reference and error where known, held-out residual otherwise, loss history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .solution import Solution, evaluate_network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1b1f24"
COLOURS = ("#2563eb", "#d9480f", "#2b8a3e", "#862e9c", "#0b7285", "#a61e4d", "#5f3dc4", "#5c940d")


def plot(solution: Solution) -> Figure:
    """One row per unknown, and the loss history where an optimiser made one."""
    from matplotlib.figure import Figure

    problem = solution.problem
    rows = len(problem.unknowns)
    loss_row = len(solution.history) > 1
    columns = 3 if problem.has_reference else 1
    figure = Figure(
        figsize=(4.6 * columns + 0.4, 3.5 * rows + (3.0 if loss_row else 0.0) + 0.5), layout="constrained"
    )
    grid = figure.add_gridspec(rows + loss_row, columns)
    draw = _draw_lines if len(problem.axes) == 1 else _draw_maps
    for row, name in enumerate(problem.unknowns):
        draw(solution, name, [figure.add_subplot(grid[row, column]) for column in range(columns)])
    if loss_row:
        _draw_losses(solution, figure.add_subplot(grid[rows, :]))
    figure.suptitle(_title(solution), fontsize=11, color=INK)
    return figure


def _title(solution: Solution) -> str:
    parts = [solution.problem.title or solution.problem.name]
    l2re = solution.result.get("l2re")
    pooled = l2re.get("pooled") if isinstance(l2re, dict) else l2re
    if pooled is not None:
        parts.append(f"relative L² error {pooled:.1e}")
    elif solution.result.get("residual") is not None:
        parts.append(f"held-out residual {solution.result['residual']:.1e}")
    if "seconds" in solution.result:
        parts.append(f"{solution.result['seconds']:.1f} s")
    if solution.result.get("outcome") not in (None, "finished"):
        parts.append(str(solution.result["outcome"]))
    return "  ·  ".join(parts)


def _sampled(solution: Solution, name: str, ticks: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None]:
    """The field and its reference over a grid; axes beyond the second are held at their middle (time: at its end)."""
    problem = solution.problem
    mesh = np.meshgrid(*ticks, indexing="ij")
    flat = [part.ravel() for part in mesh]
    index = problem.unknowns.index(name)
    orders = solution.orders or (0,) * len(problem.axes)
    values = evaluate_network(solution.network, np.stack(flat, axis=1), orders)[:, index].reshape(
        mesh[0].shape
    )
    if not problem.has_reference or any(orders):
        return values, None
    reference = problem.reference(**dict(zip(problem.axis_names, flat, strict=True)))
    exact = reference[name] if isinstance(reference, dict) else reference
    return values, np.asarray(exact).reshape(mesh[0].shape)


def _draw_lines(solution: Solution, name: str, axes: list[Axes]) -> None:
    axis = solution.problem.axes[0]
    x = np.linspace(axis.lo, axis.hi, 801)
    values, exact = _sampled(solution, name, [x])
    axes[0].plot(x, values, color=COLOURS[0], lw=1.8)
    axes[0].set_title(name)
    if exact is not None and len(axes) == 3:
        axes[1].plot(x, exact, color=INK, lw=1.5)
        axes[1].set_title(f"{name}, reference")
        axes[2].semilogy(x, np.maximum(np.abs(values - exact), 1e-17), color=COLOURS[1], lw=1.2)
        axes[2].set_title("absolute error")
    for ax in axes:
        ax.set_xlabel(axis.name)
        ax.grid(alpha=0.2)


def _draw_maps(solution: Solution, name: str, axes: list[Axes]) -> None:
    problem = solution.problem
    first, second = (0, len(problem.axes) - 1) if len(problem.axes) == 2 else (0, 1)
    ticks = []
    for i, axis in enumerate(problem.axes):
        if i in (first, second):
            ticks.append(np.linspace(axis.lo, axis.hi, 257))
        else:
            ticks.append(np.array([axis.hi if axis.is_time else (axis.lo + axis.hi) / 2]))
    values, exact = (
        None if part is None else part.reshape(257, 257) for part in _sampled(solution, name, ticks)
    )
    assert values is not None
    # Time runs to the right; a plane in space keeps x to the right.
    across, up = (second, first) if problem.axes[second].is_time else (first, second)
    extent = (problem.axes[across].lo, problem.axes[across].hi, problem.axes[up].lo, problem.axes[up].hi)

    def show(ax: Axes, data: np.ndarray, title: str, **style: Any) -> None:
        picture = data if across == second else data.T
        image = ax.imshow(picture, origin="lower", extent=extent, aspect="auto", **style)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel(problem.axes[across].name)
        ax.set_ylabel(problem.axes[up].name)
        ax.figure.colorbar(image, ax=ax, pad=0.02)

    known = values if exact is None else exact
    low, high = float(np.nanmin(known)), float(np.nanmax(known))
    colours = {"cmap": "RdBu_r", "vmin": -max(-low, high), "vmax": max(-low, high)} if low < 0 < high else {}
    show(axes[0], values, _name(solution, name, ticks), **colours)
    if exact is not None and len(axes) == 3:
        show(axes[1], exact, "reference", **colours)
        show(axes[2], np.log10(np.maximum(np.abs(values - exact), 1e-17)), "log₁₀ |error|", cmap="magma")


def _name(solution: Solution, name: str, ticks: list[np.ndarray]) -> str:
    fixed = [
        f"{axis.name} = {tick[0]:g}"
        for axis, tick in zip(solution.problem.axes, ticks, strict=True)
        if len(tick) == 1
    ]
    return f"{name} at {', '.join(fixed)}" if fixed else name


def _draw_losses(solution: Solution, ax: Axes) -> None:
    from .training.objective import term_names

    history = solution.history
    names = ("loss", *term_names(solution.problem))
    for column, (name, colour) in enumerate(zip(names, (INK, *COLOURS), strict=False)):
        ax.semilogy(
            history[:, 0], history[:, 1 + column], color=colour, lw=1.8 if column == 0 else 1.0, label=name
        )
    ax.set_xlabel("iteration")
    ax.set_ylabel("loss and its terms")
    ax.grid(alpha=0.2)
    ax.legend(fontsize=8, ncols=2, frameon=False)
