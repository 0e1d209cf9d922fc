"""The paper's figures from our rows: errors during training, ranks and ratios."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..report.figures import ERROR, ITERATION, OUTSIDE, Figure, Panel, axes, bar, line
from . import names
from .evidence import OURS, PAPER, Configuration, Evidence, View
from .judges import BASELINES, PROBLEMS, crossing, gains, mean, medians, rank
from .judging import PaperTables

# Middle tones, which stand out from white and from black; SAFE-NET's is the page's accent.
COLOURS = {
    OURS: "#3b74e0",
    "safe-net": "#7c5cf0",
    "pinn": "#8b929c",
    "fls-pinn": "#ad8660",
    "w-pinn": "#3f9d9b",
    "rba-pinn": "#dd8630",
    "rff": "#5f9e52",
    "rbf": "#cc6292",
    "rbf-p": "#c4524e",
}
MEASURED, PRINTED = "#3b74e0", "#a3abb8"
EVERYONE = (OURS, "safe-net", *BASELINES)


def legend(methods: Iterable[str]) -> dict[str, str]:
    return {names.method(name): COLOURS[name] for name in EVERYONE if name in set(methods)}


def scale_note(view: View) -> str:
    return "" if view.scale == PAPER else f" At {view.scale}."


def bench(suite: str) -> str:
    return f"safenet bench {suite} --out DIR"


def _all(recipes: Sequence[str], problems: Sequence[str] = PROBLEMS) -> list[Configuration]:
    return [(p, m, r, {}) for p in problems for m in EVERYONE for r in recipes]


# ---- errors during training


def _curves(view: View, problem: str, recipe: str, methods: Iterable[str]) -> list[dict[str, Any]]:
    found = {method: view.curve(problem, method, recipe) for method in methods}
    return [
        line(names.method(name), curve[:, 0], curve[:, 1], COLOURS[name], 2.6 if name == OURS else 1.4)
        for name, curve in reversed(found.items())  # SAFE-NET on top
        if len(curve)
    ]


def present(panels: Sequence[Panel]) -> set[str]:
    shown = {trace["name"] for panel in panels for trace in panel.data}
    return {method for method in EVERYONE if names.method(method) in shown}


def error_curves(results: Evidence) -> Figure:
    title, name = "Errors along schedule 1", "curves"
    problems = (*PROBLEMS, "nh-heat")
    view = results.best(_all(["paper-1"], problems))
    panels = []
    for problem in problems if view else ():
        assert view is not None
        data = _curves(view, problem, "paper-1", EVERYONE)
        if data:
            shapes = _thirty(view, problem, max(trace["x"][-1] for trace in data))
            panels.append(
                Panel(names.problem(problem), data, axes(ITERATION, ERROR, log_y=True, shapes=shapes))
            )
    if view is None or not panels:
        return Figure(name, title, "", missing=bench("paper-main"))
    caption = (
        "Median over the seeds. The shaded part is the first 30% of the iterations; the dotted line is the final error "
        "of the median baseline: SAFE-NET should cross it within the shade." + scale_note(view)
    )
    return Figure(name, title, caption, panels, legend(present(panels)))


def _thirty(view: View, problem: str, total: float) -> list[dict[str, Any]]:
    """Shapes for the first 30% of the iterations, and for the error to be reached within them."""
    shade = {
        **{"type": "rect", "xref": "x", "yref": "paper", "x0": 0, "x1": 0.3 * total, "y0": 0, "y1": 1},
        **{"fillcolor": "rgba(59,116,224,0.08)", "line": {"width": 0}, "layer": "below"},
    }
    found = crossing(view, problem)
    if found is None or not math.isfinite(found[1]):
        return [shade]
    target = {
        **{"type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": found[1], "y1": found[1]},
        "line": {"color": "#8b929c", "width": 1, "dash": "dot"},
    }
    return [shade, target]


def adam_curves(results: Evidence) -> Figure:
    """The paper's first figure."""
    name, title = "adam", "Adam alone on wave"
    view = results.best(_all(["paper-4"], ["wave"]))
    data = _curves(view, "wave", "paper-4", EVERYONE) if view else []
    if view is None or not data:
        return Figure(name, title, "", missing=bench("paper-schedule-4"))
    panels = [Panel("Wave, schedule 4", data, axes(ITERATION, ERROR, log_y=True), wide=True)]
    return Figure(name, title, "Median over the seeds." + scale_note(view), panels, legend(present(panels)))


# As the paper pairs them.
TOP_THREE = (
    *(("diffusion", "paper-1"), ("diffusion", "paper-2"), ("burgers", "paper-2"), ("burgers", "paper-3b")),
    *(("wave", "paper-3c"), ("wave", "paper-3d"), ("convection", "paper-2"), ("convection", "paper-3a")),
)


def top_three(results: Evidence) -> Figure:
    """The three best of the measured methods, ours included; with fewer than three there is no panel."""
    name, title = "top-three", "The three best"
    view = results.best([(p, m, r, {}) for p, r in TOP_THREE for m in EVERYONE])
    panels = []
    for problem, recipe in TOP_THREE if view else ():
        assert view is not None
        found = {m: e for m in EVERYONE if (e := view.median(problem, m, recipe)) is not None}
        data = _curves(view, problem, recipe, sorted(found, key=lambda m: found[m])[:3])
        if len(data) == 3:
            heading = f"{names.problem(problem)}, {names.schedule(recipe).lower()}"
            heading += f", of {len(found)} methods" if len(found) < len(EVERYONE) else ""
            panels.append(Panel(heading, data, axes(ITERATION, ERROR, log_y=True)))
    if view is None or not panels:
        return Figure(name, title, "", missing=f"{bench('paper-schedule-2')} && {bench('paper-schedule-3')}")
    caption = "Error curves of the three methods with the smallest final median error." + scale_note(view)
    return Figure(name, title, caption, panels, legend(present(panels)))


# ---- ranks and ratios


def ratios(results: Evidence, recipes: tuple[str, ...], name: str, title: str, suite: str) -> Figure:
    """log₁₀(competitor/SAFE-NET): the best and the median baseline. Above zero SAFE-NET is ahead."""
    view = results.best(_all(recipes))
    found = {p: errors for p in PROBLEMS if view and (errors := medians(view, p, recipes)) is not None}
    if view is None or not found:
        return Figure(name, title, "", missing=bench(suite))
    printed = _printed_medians(recipes)
    panels = []
    kinds: tuple[tuple[str, Callable[[Iterable[float]], float]], ...] = (
        ("Best baseline", min),
        ("Median baseline", statistics.median),
    )
    for heading, pick in kinds:
        data = []
        for whose, table, colour in (("ours", found, MEASURED), ("paper", printed, PRINTED)):
            shown = [p for p in PROBLEMS if p in table]
            heights = [_log_ratio(pick(table[p][m] for m in BASELINES), table[p][OURS]) for p in shown]
            places = [f"#{rank(table[p])}" for p in shown]
            labels = [names.problem(p) for p in shown]
            data.append(bar(whose, labels, heights, colour, text=places, **OUTSIDE))
        panels.append(Panel(heading, data, axes(y="log₁₀ of the ratio", barmode="group"), wide=True))
    caption = "Error of the baseline over SAFE-NET's: above zero SAFE-NET is ahead; the number is its place of eight."
    return Figure(name, title, caption + scale_note(view), panels, {"ours": MEASURED, "paper": PRINTED})


def _log_ratio(theirs: float, ours: float) -> float | None:
    return math.log10(theirs / ours) if math.isfinite(theirs) and math.isfinite(ours) else None


def _printed_medians(recipes: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """The medians that the paper prints for these schedules."""
    theirs = PaperTables(Evidence([]), PAPER)
    return {p: found for p in PROBLEMS if (found := medians(theirs, p, recipes)) is not None}


def improvements(results: Evidence) -> Figure:
    name, title = "improvement", "From schedule 1 to schedule 2"
    view = results.best(_all(["paper-2"]))
    found = {m: gains(view, m) for m in (OURS, *BASELINES)} if view else {}
    found = {method: values for method, values in found.items() if values}
    if view is None or not found:
        return Figure(name, title, "", missing=f"{bench('paper-main')} && {bench('paper-schedule-2')}")
    # The mean leaves out what diverged; n counts the rest.
    numbers = [sum(map(math.isfinite, v.values())) for v in found.values()]
    counted = {"text": [f"n = {number}" for number in numbers], **OUTSIDE}
    means = [mean(v.values()) for v in found.values()]
    average = bar("mean", [names.method(m) for m in found], means, MEASURED, **counted)
    shown = [p for p in PROBLEMS if any(p in values for values in found.values())]
    table = [[values.get(p) for p in shown] for values in found.values()]
    finite = [[v if v is not None and math.isfinite(v) else None for v in row] for row in table]
    heat = {
        **{"type": "heatmap", "x": [names.problem(p) for p in shown], "y": [names.method(m) for m in found]},
        **{
            "z": [[None if v is None else round(v, 1) for v in row] for row in finite],
            "zmin": -100,
            "zmax": 100,
        },
        **{"colorscale": [[0, "#c4524e"], [0.5, "#e9ecf1"], [1, "#3b74e0"]], "zmid": 0, "showscale": False},
        **{"text": [["" if v is None else f"{v:+.0f}%" for v in row] for row in finite]},
        **{"texttemplate": "%{text}", "textfont": {"color": "#1b1f24", "size": 11}, "name": "gain"},
    }
    panels = [
        Panel("Mean over n problems", [average], axes(y="error lower by, %"), wide=True),
        Panel("Every problem", [heat], {"xaxis": {}, "yaxis": {"autorange": "reversed"}}, wide=True),
    ]
    caption = "By how many percent schedule 2 lowers the median error; below zero it is worse." + scale_note(
        view
    )
    return Figure(name, title, caption, panels)
