"""A domain with its pieces, the points sampled there and the normals: `safenet show P -o F.png`."""

from __future__ import annotations

from itertools import cycle
from textwrap import fill
from typing import Any

import numpy as np

from ..errors import SafeNetError
from ..measure.points import moved, sample
from ..problem import Condition, Problem
from .look import COLOURS, INK, Picture, math
from .maps import aspect, outline

LEGEND = 100  # characters of a line in the legend
INSIDE, LINE, SURFACE = 600, 60, 512  # points of the domain, and of a condition on a line and on a surface


def plot_domain(problem: Problem) -> Picture:
    """The domain along its first two axes (three for a shape in space): points inside, and each condition's points and
    normals in its own colour."""
    if len(problem.axes) < 2:
        raise SafeNetError("a domain of one axis is a line", "there is nothing to draw")
    solid = problem.region is not None and problem.plane is None
    points = sample(problem, INSIDE, SURFACE if solid else LINE, "sobol", 0)
    groups: dict[str, list[Any]] = {}
    for place, at in zip(problem.conditions, points.conditions, strict=True):
        groups.setdefault(place.piece or _place_text(problem, place), []).append((place, at))
    # A long formula would run out of the figure.
    labels = {
        name: fill(f"{name}: {', '.join(m.text.removesuffix(f' on {m.piece}') for m, _ in members)}", LEGEND)
        for name, members in groups.items()
    }
    lines = 0.22 + sum(0.07 + 0.15 * (text.count("\n") + 1) for text in labels.values())
    across, up = problem.axes[0], problem.axes[1]
    height = 6.4 if solid else 6.2 * min(max(up.length / across.length, 0.2), 1.6) + 1.0
    figure = Picture(figsize=(7.5, height + lines), layout="constrained")
    grid = figure.add_gridspec(2, 1, height_ratios=[height, lines])
    below = figure.add_subplot(grid[1])
    below.axis("off")
    shown = {
        labels[name]: (members[0][0], _shown_points(problem, *members[0])) for name, members in groups.items()
    }
    if solid:
        ax = figure.add_subplot(grid[0], projection="3d")
        _draw_solid(problem, ax, shown)
    else:
        ax = figure.add_subplot(grid[0])
        _draw_plane(problem, ax, points.interior, shown)
    ax.set_xlabel(math(across.name))
    ax.set_ylabel(math(up.name))
    ax.set_title(problem.title or problem.name, fontsize=11, color=INK)
    below.legend(
        *ax.get_legend_handles_labels(), loc="upper left", fontsize=8, frameon=False, markerscale=1.5
    )
    return figure


def _draw_plane(problem: Problem, ax: Any, interior: np.ndarray, shown: dict[str, Any]) -> None:
    across = problem.axes[0]
    ax.scatter(interior[:, 0], interior[:, 1], s=4, color="#adb5bd", lw=0, label="interior")
    outline(problem, ax)
    ax.set_facecolor("white")
    for colour, (label, (place, at)) in zip(cycle(COLOURS), shown.items(), strict=False):
        ax.scatter(at[:, 0], at[:, 1], s=16, color=colour, lw=0, label=label, clip_on=False, zorder=3)
        if place.piece:
            feet, normals = at[::6, :2], 0.04 * across.length * at[::6, len(problem.axes) :]
            ax.update_datalim(feet + normals[:, :2])  # so that no tip reaches the title
            arrows = ax.quiver(
                feet[:, 0],
                feet[:, 1],
                normals[:, 0],
                normals[:, 1],
                color=colour,
                angles="xy",
                scale_units="xy",
                scale=1,
                width=0.003,
                clip_on=False,
            )
            arrows.set_in_layout(False)  # a quiver knows its size only once it is drawn
    ax.autoscale_view()
    ax.set_aspect(aspect(problem, (0, 1)))


def _draw_solid(problem: Problem, ax: Any, shown: dict[str, Any]) -> None:
    """Points of the surface along the first three axes, lighter the farther away, with some normals."""
    scale = 0.06 * max(axis.length for axis in problem.axes[:3])
    for colour, (label, (place, at)) in zip(cycle(COLOURS), shown.items(), strict=False):
        if place.piece or not place.initial:
            ax.scatter(*at[:, :3].T, s=5, color=colour, lw=0, label=label)
        if place.piece:
            normals = at[::13, len(problem.axes) :][:, :3]
            ax.quiver(*at[::13, :3].T, *(scale * normals.T), color=colour, lw=0.6)
    ax.set_zlabel(math(problem.axes[2].name))
    ax.set_aspect("equal")


def _place_text(problem: Problem, place: Condition) -> str:
    """x = 0, or t = 0: where a condition without a piece holds."""
    fixed = {
        f"{axis.name} = {value}"
        for at in place.places
        for axis, value in zip(problem.axes, at, strict=True)
        if value is not None
    }
    return ", ".join(sorted(fixed))


def _shown_points(problem: Problem, place: Condition, at: np.ndarray) -> np.ndarray:
    """The points of a condition with its fixed axes in place (a periodic one is shown on both faces)."""
    if place.piece:
        return at
    return np.concatenate([moved(problem, at, where) for where in place.places])
