"""‖u − v‖/‖v‖ of two solutions on one grid, and a picture of both beside their difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import SafeNetError
from ..measure.scores import evaluate_network, protocol_points, relative_error
from ..problem.language.latex import latex_name
from ..solution import Solution
from .cuts import Cut, cuts, sampled
from .look import Picture, colour, error_colours, field_colours, ink, math, number, styled
from .maps import Plane, at_text


@dataclass(frozen=True)
class Comparison:
    """`difference` of every common field, relative to the second solution; `figure` shows both side by side."""

    difference: dict[str, float]
    figure: Picture

    def __str__(self) -> str:
        return "relative difference: " + ", ".join(f"{k} {v:.2e}" for k, v in self.difference.items())

    __repr__ = __str__

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        return self.figure._repr_png_()


def compare(first: Solution, second: Solution, style: str = "light", **at: Any) -> Comparison:
    """Compare two solutions over the same axes, by different solvers or networks, or with different parameters."""
    problem, apart = first.problem, difference(first, second)
    places = cuts(first, at)
    place = places[-1 if problem.time is not None else len(places) // 2]  # the last time, the middle layer
    with styled(style):
        figure = _drawn(first, second, list(apart), place)
        words = ", ".join(f"{math(name)} {number(size)}" for name, size in apart.items())
        figure.suptitle(f"{problem.title or problem.name}\nrelative difference {words}")
    return Comparison(apart, figure)


def difference(first: Solution, second: Solution) -> dict[str, float]:
    """‖u − v‖/‖v‖ of each common field, at the points at which errors are evaluated, where both have values."""
    problem, other = first.problem, second.problem
    ends = [[(axis.name, axis.lo, axis.hi) for axis in p.axes] for p in (problem, other)]
    if ends[0] != ends[1]:
        texts = [", ".join(f"{name} in [{low:g}, {high:g}]" for name, low, high in end) for end in ends]
        raise SafeNetError(
            f"the solutions have different domains: {texts[0]}; {texts[1]}",
            "compare solutions over the same axes",
        )
    names = [name for name in problem.unknowns if name in other.unknowns]
    if not names:
        raise SafeNetError("the solutions have no field in common", "compare solutions of the same unknowns")
    points = np.stack(protocol_points(problem), axis=1)
    orders = first.orders or (0,) * len(problem.axes)
    a, b = (evaluate_network(one.field, points, orders) for one in (first, second))
    found = {}
    for name in names:
        u = a[:, problem.unknowns.index(name)]
        v = b[:, other.unknowns.index(name)]
        known = np.isfinite(u) & np.isfinite(v)
        found[name] = relative_error(u[known], v[known])
    return found


def _drawn(first: Solution, second: Solution, names: list[str], place: Cut) -> Picture:
    problem, lines = first.problem, len(place.drawn) == 1
    plane = None if lines else Plane(problem, place)
    columns = 2 if plane is None else 3
    height = 0.75 if plane is None else min(max(plane.ratio, 0.3), 1.4)
    size = (columns * 4.4 + 0.4, len(names) * (3.4 * height + 0.7) + 0.6)
    figure = Picture(figsize=size, layout="constrained")
    panels = figure.subplots(len(names), columns, squeeze=False)
    labels = (_label(first), _label(second))
    if labels[0] == labels[1]:
        labels = (f"{labels[0]} (first)", f"{labels[1]} (second)")
    second = replace(second, orders=first.orders)
    for row, name in zip(panels, names, strict=True):
        ticks = [np.linspace(problem.axes[i].lo, problem.axes[i].hi, 257) for i in place.drawn]
        u, v = (sampled(one, name, place, ticks)[0] for one in (first, second))
        gap, at, symbol = np.abs(u - v), at_text(problem, place), latex_name(name)
        if plane is None:
            row[0].plot(ticks[0], u, color=colour(0), lw=1.8, label=labels[0])
            row[0].plot(ticks[0], v, color=ink(), lw=1.1, ls=(0, (4, 4)), label=labels[1])
            row[0].legend()
            row[0].set_title(math(name) + at)
            row[1].semilogy(ticks[0], np.where(gap > 0, gap, np.nan), color=colour(1), lw=1.2)
            row[1].set_title(rf"$|\Delta {symbol}|${at}")
            for ax in row:
                ax.set_xlabel(math(problem.axes[place.drawn[0]].name))
                ax.grid()
            continue
        colours = field_colours(np.stack([u, v]))
        plane.show(row[0], u, f"{math(name)}{at}: {labels[0]}", **colours)
        plane.show(row[1], v, f"{math(name)}{at}: {labels[1]}", **colours)
        plane.show(row[2], gap, rf"$|\Delta {symbol}|${at}", error=True, **error_colours(gap))
    return figure


def _label(solution: Solution) -> str:
    result = solution.result
    return result.method or result.solver or "given"
