"""Pictures of a solution: each field with its reference and error, flows, phase portraits, the loss history.

sol.plot()                           every field; if it changes in a plane, at several times
sol.plot("u", "u_x", t=0.5)          these, held at t = 0.5;  t=[0, 0.5, 1]: at each of them
sol.plot(style="dark")               or "transparent", for slides
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..measure.scores import l2re_text
from ..run.result import Outcome, pooled
from ..solution import Solution
from .cuts import Cut, cuts, named, sampled, scored, suffix
from .look import COLOURS, WORDS, Picture, colour, error_range, error_title, ink, math, number, styled
from .maps import Plane, at_text, draw_plane, draw_planes, without_empty
from .phase_picture import plot_system

POINTS = 801  # of a line
PANEL = 3.5  # inches
BESIDE = 3  # fields side by side, if each has one map


def plot(solution: Solution, *what: str, style: str = "light", title: bool = True, **at: Any) -> Picture:
    """The fields named in `what` (all by default), or derivatives such as "u_x", with the axes in `at` held.

    Measured data are drawn beside their fit, a steady flow in the plane with its streamlines, a system of ordinary
    equations with its phase portrait. A field has its reference and error beside it; a training has its losses below.
    """
    with styled(style):
        figure = _figure(solution, what, at)
        if title:
            figure.suptitle(headline(solution))
    return figure


def _figure(solution: Solution, what: tuple[str, ...], at: dict[str, Any]) -> Picture:
    problem = solution.problem
    plain = not any(solution.orders) and not what and not at
    if problem.data and plain:
        from .fit_picture import plot_fit

        return plot_fit(solution)
    if plain:
        from .flow_picture import plot_flow, velocity

        if pair := velocity(problem):
            return plot_flow(solution, pair)
    shown, places = named(solution, what), cuts(solution, at)
    if len(problem.axes) == 1 and len(shown) > 1 and not any(one.orders for one, _ in shown):
        return plot_system(solution, [name for _, name in shown])
    rows = [row for one, name in shown for row in _rows(one, name, places)]
    return _laid_out(solution, rows, places)


def _rows(solution: Solution, name: str, places: list[Cut]) -> list[tuple[Solution, str, int]]:
    """(solution, name, how many rows of panels): the errors of several planes have a row of their own."""
    several = len(places) > 1 and len(places[0].drawn) == 2
    return [(solution, name, 2 if several and scored(solution) else 1)]


def _laid_out(solution: Solution, rows: list[tuple[Solution, str, int]], places: list[Cut]) -> Picture:
    problem, lines = solution.problem, len(places[0].drawn) == 1
    several = len(places) > 1 and not lines
    any_scored = any(scored(one) for one, _, _ in rows)
    beside = min(len(rows), BESIDE) if not (lines or several or any_scored) else 1  # maps of several fields
    columns = len(places) if several else beside if not any_scored else 2 if lines else 3
    plane = None if lines else Plane(problem, places[0])
    ratio = 0.72 if plane is None else min(max(plane.ratio, 0.25), 1.6)
    panel = 2.5 if several else PANEL if columns > 1 else 5.2
    losses = len(solution.history) > 1 and not any(solution.orders)
    count = -(-sum(count for _, _, count in rows) // beside)
    height = count * (panel * ratio + 0.62) + 0.5 + (2.9 if losses else 0.0)
    equal = plane is not None and plane.aspect == "equal" and not losses
    size = (max(columns * (panel + (0.55 if several else 1.05)) + 0.5, 5.4), height)
    figure = Picture(figsize=size, layout="compressed" if equal else "constrained")
    grid = figure.add_gridspec(count + losses, columns)
    first = 0
    for one, name, count_here in rows:
        across = range(first % beside, first % beside + 1) if beside > 1 else range(columns)
        down = range(first // beside, first // beside + count_here)
        panels = [[figure.add_subplot(grid[r, c]) for c in across] for r in down]
        if lines:
            draw_lines(one, name, places, panels[0])
        elif several:
            draw_planes(one, name, places, panels)
        else:
            draw_plane(one, name, places[0], panels[0])
        first += count_here
    if losses:
        draw_losses(solution, figure.add_subplot(grid[count, :]))
    return figure


def headline(solution: Solution) -> str:
    """What was solved, and below it how well: the error, its estimate and the residual on unseen points."""
    problem, result = solution.problem, solution.result
    named = problem.name if problem.name != "problem" else problem.equations[0].text
    heading = (problem.title or named).replace("$", r"\$")
    if any(solution.orders) or not result.problem:  # a derivative, or a field that no solve has measured
        return heading
    error, estimate = pooled(result.l2re), pooled(result.estimate)
    parts = [f"{name} = {found}" for name, found in solution.found.items()]
    if error is not None:
        bound = l2re_text(error, result.reference_accuracy)
        size = (
            number(error) if not bound.startswith("≤") else f"below {number(result.reference_accuracy or 0)}"
        )
        parts.append(f"relative L² error {size}")
    if estimate is not None:
        size = number(estimate, 0) if estimate >= 1e-16 else f"below {number(1e-16, 0)}"
        parts.append(f"estimated error {size}" + (" for these numbers" if solution.found else ""))
    if result.residual is not None:
        parts.append(f"residual {number(result.residual, 0)}")
    if result.outcome != Outcome.SOLVED:
        parts.insert(0, str(result.outcome))
    return "\n".join(filter(None, [heading, "  ·  ".join(parts)]))


def draw_lines(solution: Solution, name: str, places: list[Cut], axes: list[Axes]) -> None:
    """The field along one axis, a curve for each place at which the others are held; beside it the error."""
    import matplotlib

    axis = solution.problem.axes[places[0].drawn[0]]
    x = np.linspace(axis.lo, axis.hi, POINTS)
    many = len(places) > 1
    shades = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.85, len(places)))
    label = math(name, suffix(solution))
    for cut, shade in zip(places, shades, strict=True):
        values, exact = sampled(solution, name, cut, [x])
        at = at_text(solution.problem, cut)
        drawn = shade if many else colour(0)
        axes[0].plot(x, values, color=drawn, lw=1.8, label=at.removeprefix(" at ") if many else label)
        if exact is None:
            continue
        reference = "reference" if cut is places[-1] else None
        axes[0].plot(x, exact, color=ink(), lw=1.1, ls=(0, (4, 4)), label=reference)
        error = np.abs(values - exact)
        low, _ = error_range(error)
        axes[1].semilogy(x, np.maximum(error, low), color=drawn if many else colour(1), lw=1.2)
        axes[1].set_title(error_title(name, error, exact) + ("" if many else at))
    axes[0].set_title(label + ("" if many else at))
    if many or len(axes) > 1:
        axes[0].legend()
    for ax in axes:
        ax.set_xlabel(math(axis.name))
        ax.grid()
    without_empty(axes)


def draw_losses(solution: Solution, ax: Axes) -> None:
    from ..train.terms import term_names

    history = solution.history
    names = ("loss", *term_names(solution.problem))
    # After the last colour, the colours repeat with dashed lines.
    styles = [("-", ink()), *((line, colour(i)) for line in ("-", "--", ":") for i in range(len(COLOURS)))]
    for column, (name, (line, shade)) in enumerate(zip(names, cycle(styles), strict=False)):
        width = 1.8 if column == 0 else 1.0
        ax.semilogy(history[:, 0], history[:, 1 + column], color=shade, ls=line, lw=width, label=name)
    ax.set_xlabel("iteration", fontsize=WORDS)
    ax.set_ylabel("loss and its terms", fontsize=WORDS)
    ax.grid()
    ax.legend(fontsize=8, ncols=2)
