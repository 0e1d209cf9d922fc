"""Residuals of the running solve, and past runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

import panel as pn

from ..errors import SafeNetError
from ..run.folder import PLAN, former_result
from ..run.notebook import OUTCOMES
from ..run.result import Result, pooled
from ..views.explore import changed
from ..views.look import COLOURS, number

SHOWN = 30  # past runs in the table


class ResidualPlot:
    """The residual over seconds, while a solve runs."""

    def __init__(self) -> None:
        from bokeh.models import ColumnDataSource
        from bokeh.plotting import figure

        self.source = ColumnDataSource({"seconds": [], "residual": []})
        self.began, self.points = time.monotonic(), 0
        plot: Any = figure(
            height=180,
            sizing_mode="stretch_width",
            y_axis_type="log",
            x_axis_label="seconds",
            y_axis_label="residual",
            tools="",
            toolbar_location=None,
        )
        plot.scatter("seconds", "residual", source=self.source, color=COLOURS[0], size=4)
        plot.line("seconds", "residual", source=self.source, color=COLOURS[0])
        self.plot = pn.pane.Bokeh(plot, sizing_mode="stretch_width")
        self.pane = pn.Column(sizing_mode="stretch_width")

    def clear(self) -> None:
        self.began, self.points = time.monotonic(), 0
        self.pane.clear()
        changed(lambda: self.source.update(data={"seconds": [], "residual": []}), [self.plot])

    def add(self, residual: float) -> None:
        if isfinite(residual) and residual > 0:
            new = {"seconds": [time.monotonic() - self.began], "residual": [residual]}
            changed(lambda: self.source.stream(new), [self.plot])
            self.points += 1
            if self.points == 2:  # a single point makes no curve
                self.pane.append(self.plot)


@dataclass(frozen=True)
class Run:
    """A run that has a result."""

    folder: Path
    result: Result
    when: float


def past_runs(folder: Path) -> list[Run]:
    """The runs in a folder, the newest first; damaged ones are left out."""
    found = []
    for plan in folder.glob(f"*/{PLAN}"):
        try:
            result = former_result(plan.parent)
        except SafeNetError:
            continue
        if result is not None:
            found.append(Run(plan.parent, result, plan.stat().st_mtime))
    return sorted(found, key=lambda run: run.when, reverse=True)


def runs_table(runs: list[Run]) -> str:
    """The newest runs as a table."""
    if not runs:
        return "<p>None yet.</p>"
    heads = ("run", "problem", "solver", "outcome", "estimated error", "seconds", "when")
    lines = "".join(_line(run) for run in runs[:SHOWN])
    cells = "".join(f"<th style='text-align:left;padding-right:14px'>{head}</th>" for head in heads)
    return f"<div style='overflow-x:auto'><table><tr>{cells}</tr>{lines}</table></div>"


def _line(run: Run) -> str:
    result, size = run.result, pooled(run.result.estimate)
    colour = OUTCOMES.get(str(result.outcome), "#c92a2a")
    texts = [
        escape(run.folder.name),
        escape(result.problem),
        escape(" ".join(filter(None, [result.solver, result.method]))),
        f"<span style='color:{colour}'>{escape(str(result.outcome))}</span>",
        "not known" if size is None else number(size, 0) if size >= 1e-16 else "below 10⁻¹⁶",
        f"{result.wall_seconds:.1f}",
        f"{datetime.fromtimestamp(run.when):%Y-%m-%d %H:%M}",
    ]
    return "<tr>" + "".join(f"<td style='padding-right:14px'>{text}</td>" for text in texts) + "</tr>"
