"""(x(t), y(t), z(t)): a system of ordinary equations, each unknown over time and all of them as a path."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..solution import Solution
from .cuts import Cut, reached, sampled
from .look import Picture, colour, ink, math

POINTS = 2001  # of a path


def plot_system(solution: Solution, names: list[str]) -> Picture:
    """Left: each unknown over time, with its reference. Right: the path of the first two or three unknowns."""
    axis = solution.problem.axes[0]
    t = np.linspace(axis.lo, reached(solution, 0), POINTS)
    fields = {name: sampled(solution, name, Cut((0,), {}), [t]) for name in names}
    figure = Picture(figsize=(10.2, max(1.5 * len(names), 4.2) + 0.6), layout="constrained")
    grid = figure.add_gridspec(len(names), 2, width_ratios=[1.25, 1])
    first = None
    for row, (name, (values, exact)) in enumerate(fields.items()):
        ax = figure.add_subplot(grid[row, 0], sharex=first)
        first = first or ax
        ax.plot(t, values, color=colour(row), lw=1.5)
        if exact is not None:
            ax.plot(t, exact, color=ink(), lw=1.0, ls=(0, (4, 4)), label="reference")
        ax.set_ylabel(math(name), rotation=0, labelpad=10)
        ax.grid()
        if row < len(names) - 1:
            ax.tick_params(labelbottom=False)
    assert first is not None
    ax.set_xlabel(math(axis.name))
    if any(exact is not None for _, exact in fields.values()):
        first.legend(loc="upper right")
    path = [fields[name][0] for name in names[:3]]
    three = len(path) == 3
    portrait: Any = figure.add_subplot(grid[:, 1], projection="3d" if three else None)
    portrait.plot(*path, color=colour(0), lw=0.9 if three else 1.4)
    start = [[values[0]] for values in path]
    portrait.plot(*start, "o", color=colour(1), ms=5, label=f"{math(axis.name)} = {t[0]:g}")
    portrait.set_title("phase portrait")
    portrait.set_xlabel(math(names[0]))
    portrait.set_ylabel(math(names[1]))
    if three:
        portrait.set_zlabel(math(names[2]))
        portrait.view_init(elev=18, azim=-60)
        for pane in (portrait.xaxis, portrait.yaxis, portrait.zaxis):
            pane.set_pane_color((0.5, 0.5, 0.5, 0.06))
    else:
        portrait.grid()
    portrait.legend(loc="upper right")
    return figure
