"""A domain of the plane with its pieces, the points sampled there and the normals: `safenet show P -o F.png`."""

from __future__ import annotations

from itertools import cycle
from textwrap import fill
from typing import Any

import numpy as np

from ..errors import SafeNetError
from ..measure.points import sample
from ..problem import Condition, Problem
from .look import COLOURS, INK, Picture, math
from .maps import outline

LEGEND = 100  # characters of a line in the legend


def plot_domain(problem: Problem, interior: int = 600, condition: int = 60) -> Picture:
    """The plane of the first two axes: points inside, and each condition's points and normals in its own colour."""

    if len(problem.axes) < 2:
        raise SafeNetError("a domain of one axis is a line", "there is nothing to draw")
    points = sample(problem, interior, condition, "sobol", 0)
    across, up = problem.axes[0], problem.axes[1]
    ratio = min(max(up.length / across.length, 0.35), 1.6)
    groups: dict[str, list[Any]] = {}
    for place, at in zip(problem.conditions, points.conditions, strict=True):
        groups.setdefault(place.piece or _place_text(problem, place), []).append((place, at))
    # A long formula would run out of the figure.
    labels = {
        name: fill(f"{name}: {', '.join(m.text.removesuffix(f' on {m.piece}') for m, _ in members)}", LEGEND)
        for name, members in groups.items()
    }
    lines = 0.22 + sum(0.07 + 0.15 * (text.count("\n") + 1) for text in labels.values())
    height = 6.2 * ratio + 1.0
    figure = Picture(figsize=(7.5, height + lines), layout="constrained")
    ax, below = figure.subplots(2, height_ratios=[height, lines])
    below.axis("off")
    ax.scatter(points.interior[:, 0], points.interior[:, 1], s=4, color="#adb5bd", lw=0, label="interior")
    outline(problem, ax)
    ax.set_facecolor("white")
    for colour, (name, members) in zip(cycle(COLOURS), groups.items(), strict=False):
        place, at = members[0]
        at = _shown_points(problem, place, at)
        ax.scatter(at[:, 0], at[:, 1], s=16, color=colour, lw=0, label=labels[name], clip_on=False, zorder=3)
        if place.piece:
            normals = at[::6, len(problem.axes) :]
            scale = 0.04 * across.length
            arrows = ax.quiver(
                at[::6, 0],
                at[::6, 1],
                scale * normals[:, 0],
                scale * normals[:, 1],
                color=colour,
                angles="xy",
                scale_units="xy",
                scale=1,
                width=0.003,
                clip_on=False,
            )
            arrows.set_in_layout(False)  # a quiver knows its size only once it is drawn
    ax.set_xlabel(math(across.name))
    ax.set_ylabel(math(up.name))
    ax.set_aspect("equal" if not up.is_time and 0.3 < up.length / across.length < 3 else "auto")
    ax.set_title(problem.title or problem.name, fontsize=11, color=INK)
    below.legend(
        *ax.get_legend_handles_labels(), loc="upper left", fontsize=8, frameon=False, markerscale=1.5
    )
    return figure


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
    copies = []
    for where in place.places:
        copy = at.copy()
        for i, value in enumerate(where):
            if value is not None:
                copy[:, i] = float(problem.value(value))
        copies.append(copy)
    return np.concatenate(copies)
