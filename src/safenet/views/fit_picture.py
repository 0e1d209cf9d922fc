"""Measured values beside the fit: along the axis, or value against model; the residuals; and the numbers found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..measure.misfit import misfit
from ..problem.data import Measured
from ..run.found import FoundFunction
from ..solution import Solution
from .look import WORDS, Picture, colour, ink, math


def plot_fit(solution: Solution) -> Picture:
    """A row for each kind of data: the values with the fit, and their residuals."""
    problem = solution.problem
    functions = [found for found in solution.found.values() if isinstance(found, FoundFunction)]
    spreads = problem.unknowns if hasattr(solution.field, "std") and len(problem.axes) < 3 else ()
    rows = len(problem.measured) + len(functions) + len(spreads)
    # In a plane, the values are also drawn where they were measured, on a map of the fitted field.
    mapped = len(problem.axes) == 2 and any(m.name in problem.unknowns for m in problem.measured)
    figure = Picture(figsize=(14.4 if mapped else 9.6, 3.4 * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, 3 if mapped else 2, squeeze=False)
    axes = panels[:, -2:]
    gaps = misfit(problem, solution.field)
    for row, (measured, gap) in enumerate(zip(problem.measured, gaps, strict=True)):
        if mapped:
            _mapped(panels[row, 0], solution, measured)
        if len(problem.axes) == 1:
            _along(axes[row, 0], measured, gap, problem.axis_names[0])
        else:
            _against(axes[row, 0], measured, gap)
        _residuals(axes[row, 1], measured, gap, problem.axis_names[-1])
    for panel in panels[len(problem.measured) :, 0] if mapped else ():
        panel.set_axis_off()
    for row, function in enumerate(functions, len(problem.measured)):
        _function(axes[row], function)
    for row, name in enumerate(spreads, rows - len(spreads)):
        _spread(axes[row], solution, name)
    return figure


def _mapped(ax: Axes, solution: Solution, measured: Measured) -> None:
    """The field as a map, and on it the measured values in the same colours: dots that agree with it blend in."""
    if measured.name not in solution.problem.unknowns:
        ax.set_axis_off()
        return
    names = solution.problem.axis_names
    ticks = [np.linspace(axis.lo, axis.hi, 161) for axis in solution.problem.axes]
    mesh = dict(zip(names, np.meshgrid(*ticks, indexing="ij"), strict=True))
    values = solution.sampled(mesh)[0][measured.name]
    low = float(min(np.nanmin(values), measured.values.min()))
    high = float(max(np.nanmax(values), measured.values.max()))
    shown = ax.pcolormesh(*ticks, values.T, shading="gouraud", rasterized=True, vmin=low, vmax=high)
    size = 18 if len(measured.values) <= 500 else 4
    x, y = measured.points.T
    ax.scatter(x, y, s=size, c=measured.values, vmin=low, vmax=high, edgecolors="white", linewidths=0.4)
    ax.figure.colorbar(shown, ax=ax).set_label(f"{measured.name}: fit, and values (dots)", fontsize=WORDS)
    ax.set_xlabel(math(names[0]))
    ax.set_ylabel(math(names[1]))


def _spread(axes: Any, solution: Solution, name: str) -> None:
    """The posterior with two standard deviations around its mean: along the axis, or in a plane as profiles, at the
    beginning, in the middle and at the end of the second axis, beside a map of the standard deviation."""
    names = solution.problem.axis_names
    ticks = [np.linspace(axis.lo, axis.hi, 121) for axis in solution.problem.axes]
    mesh = dict(zip(names, np.meshgrid(*ticks, indexing="ij"), strict=True))
    mean, spreads = solution.sampled(mesh)[0][name], solution.std(**mesh)
    spread = spreads[name] if isinstance(spreads, dict) else spreads
    label = f"{name}({', '.join(names)})", f"standard deviation of {name}"
    if len(ticks) == 1:
        _panels(axes, ticks, (mean, spread), label, names)
        return
    _panels((None, axes[1]), ticks, (None, spread), label, names)
    for m in solution.problem.measured:
        axes[1].plot(*m.points.T, ".", ms=4, color="white", mec=ink(), mew=0.3)
    for i, column in enumerate((0, 60, 120)):
        value, error = mean[:, column], 2 * spread[:, column]
        at = f"{math(names[1])} = {ticks[1][column]:.3g}"
        axes[0].plot(ticks[0], value, color=colour(i), lw=1.4, label=at)
        axes[0].fill_between(ticks[0], value - error, value + error, color=colour(i), alpha=0.2, lw=0)
    axes[0].set_xlabel(math(names[0]))
    axes[0].set_ylabel(label[0], fontsize=WORDS)
    axes[0].legend()


def _function(axes: Any, function: FoundFunction) -> None:
    """A function with two standard errors around it; for two axes, maps of it and of its standard error."""
    lines = function.spline.lines
    ticks = [np.linspace(line.breaks[0], line.breaks[-1], 121) for line in lines[:2]]
    middles = [(line.breaks[0] + line.breaks[-1]) / 2 for line in lines[2:]]
    mesh = dict(zip(function.of, [*np.meshgrid(*ticks, indexing="ij"), *middles], strict=True))
    value, error = function(**mesh), function.error(**mesh)
    names = f"{function.name}({', '.join(function.of)})", f"standard error of {function.name}"
    _panels(axes, ticks, (value, error), names, function.of)


def _panels(axes: Any, ticks: Any, pair: tuple[Any, Any], names: tuple[str, str], of: Sequence[str]) -> None:
    """A function and its standard error side by side: maps, or a line with two standard errors around it."""
    value, error = pair
    for ax, values, name in zip(axes, pair, names, strict=True):
        if ax is None:
            continue
        ax.set_xlabel(math(of[0]))
        if values is None:
            ax.set_axis_off()
        elif len(ticks) > 1:
            shown = ax.pcolormesh(*ticks, values.T, shading="gouraud", rasterized=True)
            ax.figure.colorbar(shown, ax=ax).set_label(name, fontsize=WORDS)
            ax.set_ylabel(math(of[1]))
        else:
            ax.plot(ticks[0], values, color=colour(0), lw=1.4)
            ax.set_ylabel(name, fontsize=WORDS)
    if value is not None and error is not None and len(ticks) == 1:
        axes[0].fill_between(ticks[0], value - 2 * error, value + 2 * error, color=colour(0), alpha=0.2, lw=0)


def _along(ax: Axes, measured: Measured, gap: np.ndarray, axis: str) -> None:
    """Values with their σ, and the model as a line through its values at the same points."""
    at = measured.points[:, 0]
    order = np.argsort(at)
    ax.errorbar(at, measured.values, measured.sigma, fmt=".", ms=5, lw=0.8, color=colour(1), label="measured")
    ax.plot(at[order], (measured.values + gap)[order], color=colour(0), lw=1.4, label="fit")
    ax.set_xlabel(math(axis))
    ax.set_ylabel(measured.name, fontsize=WORDS)
    ax.legend()


def _against(ax: Axes, measured: Measured, gap: np.ndarray) -> None:
    """Measured value against the model: on the diagonal where they agree."""
    model = measured.values + gap
    low, high = float(min(model.min(), measured.values.min())), float(max(model.max(), measured.values.max()))
    ax.plot([low, high], [low, high], color=ink(), lw=0.8)
    ax.plot(model, measured.values, ".", ms=4, color=colour(0), rasterized=len(gap) > 5000)
    ax.set_xlabel(f"{measured.name}, fit", fontsize=WORDS)
    ax.set_ylabel(f"{measured.name}, measured", fontsize=WORDS)


def _residuals(ax: Axes, measured: Measured, gap: np.ndarray, axis: str) -> None:
    """measured − fit along the last axis, in units of σ where it is known."""
    known = measured.sigma is not None
    left = -gap / measured.sigma if known else -gap
    spread = 1.0 if known else float(np.sqrt(np.mean(gap**2)))
    ax.axhspan(-spread, spread, color=colour(0), alpha=0.12, lw=0)
    ax.axhline(0, color=ink(), lw=0.8)
    ax.plot(measured.points[:, -1], left, ".", ms=4, color=colour(0), rasterized=len(gap) > 5000)
    ax.set_xlabel(math(axis))
    ax.set_ylabel("(measured − fit)/σ" if known else "measured − fit", fontsize=WORDS)
