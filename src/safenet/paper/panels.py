"""The figures about SAFE-NET's parts and its cost; `figures` is all of them, in the order of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..report.figures import ERROR, SERIES, Figure, Panel, axes, bar, line
from . import names
from .ablations import domain, domain_recipe
from .evidence import OURS, PAPER, Evidence, View
from .figures import (
    COLOURS,
    EVERYONE,
    MEASURED,
    PRINTED,
    adam_curves,
    bench,
    error_curves,
    improvements,
    legend,
    ratios,
    scale_note,
    top_three,
)
from .judges import PROBLEMS, paces
from .landscape import curvature, gradient_norms, loss_terms, spectral_density
from .printed import tables

ACTIVATIONS = ("tanh", "sine", "relu", "gelu", "swish")
FEATURES = (16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256)
DEPTHS = (1, 2, 3, 4, 5, 6)


def figures(results: Evidence) -> list[Figure]:
    second = "paper-1", "paper-2"
    return [
        error_curves(results),
        ratios(results, ("paper-1",), "ratio", "Against the baselines, schedule 1", "paper-main"),
        ratios(
            results,
            second,
            "ratio-2",
            "Against the baselines, the better of both schedules",
            "paper-schedule-2",
        ),
        top_three(results),
        improvements(results),
        adam_curves(results),
        loss_terms(results),
        gradient_norms(results),
        features(results),
        activations(results),
        depth(results),
        normalisation(results),
        domain_features(results),
        runtime(results),
        curvature(results),
        spectral_density(results),
    ]


def _option(results: Evidence, name: str, values: Sequence[Any]) -> View | None:
    """The view of an ablation. The option's usual value does not count: other suites have it, too."""
    usual = {"activation": "tanh", "features": 128, "depth": 1, "normalise": "point"}
    return results.best(
        [(p, OURS, "paper-1", {name: v}) for p in PROBLEMS for v in values if v != usual[name]]
    )


def _medians(view: View, problem: str, name: str, values: Sequence[Any]) -> list[float | None]:
    return [view.median(problem, OURS, "paper-1", **{name: value}) for value in values]


def _printed(label: str, name: str) -> dict[str, dict[Any, float | None]]:
    """problem → value of the option → the paper's error"""
    found: dict[str, dict[Any, float | None]] = {}
    for table in tables():
        for cell in table.cells if table.label == label else ():
            found.setdefault(cell.problem, {})[cell.options[name]] = cell.value
    return found


def _swept(
    results: Evidence, name: str, values: Sequence[int], title: str, axis: str, suite: str, label: str = ""
) -> Figure:
    """Error against a number, one panel per problem, the paper's curve beside ours."""
    view = _option(results, name, values)
    printed = _printed(label, name) if label else {}
    panels = []
    for problem in PROBLEMS if view else ():
        assert view is not None
        found = _medians(view, problem, name, values)
        known = [(x, y) for x, y in zip(values, found, strict=True) if y is not None and math.isfinite(y)]
        if len(known) < 2:
            continue
        xs, ys = zip(*known, strict=True)
        data = [line("ours", xs, ys, MEASURED, 2.2, mode="lines+markers")]
        if problem in printed:
            theirs = [(x, y) for x, y in printed[problem].items() if y is not None]
            x, y = zip(*theirs, strict=True)
            data.insert(0, line("paper", x, y, PRINTED, mode="lines+markers"))
        panels.append(Panel(names.problem(problem), data, axes(axis, ERROR, log_y=True)))
    if view is None or not panels:
        return Figure(name, title, "", missing=bench(suite))
    colours = {"ours": MEASURED, "paper": PRINTED} if printed else {"ours": MEASURED}
    return Figure(name, title, "SAFE-NET by schedule 1, medians." + scale_note(view), panels, colours)


def features(results: Evidence) -> Figure:
    label = "tab:features_ablation"
    return _swept(
        results, "features", FEATURES, "Features against error", "features", "paper-features", label
    )


def depth(results: Evidence) -> Figure:
    return _swept(results, "depth", DEPTHS, "Hidden layers", "hidden layers", "paper-depth")


def _grouped(
    name: str,
    title: str,
    view: View,
    rows: dict[str, list[float | None]],
    usual: Sequence[str],
    tones: Sequence[str] = SERIES,
) -> Figure:
    """Bars of every series, on problems that have more than the `usual` series; what diverged has no bar."""
    changed = [values for key, values in rows.items() if key not in usual]
    shown = [i for i in range(len(PROBLEMS)) if any(values[i] is not None for values in changed)]
    labels = [names.problem(PROBLEMS[i]) for i in shown]
    colours = dict(zip(rows, tones, strict=False))
    data = [bar(key, labels, [values[i] for i in shown], colours[key]) for key, values in rows.items()]
    panel = Panel("", data, axes(y=ERROR, log_y=True, barmode="group"), wide=True)
    caption = "Medians over the seeds; a missing bar diverged or was not run." + scale_note(view)
    return Figure(name, title, caption, [panel], colours)


def activations(results: Evidence) -> Figure:
    name, title = "activation", "Activation functions"
    view = _option(results, name, ACTIVATIONS)
    if view is None:
        return Figure(name, title, "", missing=bench("paper-activation"))
    rows = {
        kind: [view.median(p, OURS, "paper-1", activation=kind) for p in PROBLEMS] for kind in ACTIVATIONS
    }
    return _grouped(name, title, view, rows, ["tanh"])


def normalisation(results: Evidence) -> Figure:
    name, title = "normalisation", "Normalisation of the features"
    view = _option(results, "normalise", ("point", "none"))
    if view is None:
        return Figure(name, title, "", missing=bench("paper-normalisation"))
    kinds = {"normalised": "point", "as they are": "none"}
    rows = {
        label: [view.median(p, OURS, "paper-1", normalise=kind) for p in PROBLEMS]
        for label, kind in kinds.items()
    }
    return _grouped(name, title, view, rows, ["normalised"])


def domain_features(results: Evidence) -> Figure:
    name, title = "domain", "Features of the conditions"
    recipe = domain_recipe(results.at(PAPER))
    changed = (("pinn", True), (OURS, False))
    view = results.best([(p, m, recipe, {"domain": d}) for p in PROBLEMS for m, d in changed])
    if view is None:
        return Figure(name, title, "", missing=bench("paper-domain"))
    rows = {
        f"{names.method(method)} {'with' if on else 'without'}": list(
            domain(view, method, on, recipe).values()
        )
        for method in ("pinn", OURS)
        for on in (False, True)
    }
    usual = [f"{names.method('pinn')} without", f"{names.method(OURS)} with"]
    tones = ("#c5cad1", COLOURS["pinn"], "#a9c2f2", COLOURS[OURS])
    found = _grouped(name, title, view, rows, usual, tones)
    return replace(found, caption=f"{names.schedule(recipe)}. {found.caption}")


def runtime(results: Evidence) -> Figure:
    name, title = "runtime", "Time against samples"
    view = results.at(PAPER)
    found = paces(view)
    for scale in results.scales(["paper-4"]):
        if len(found) < 2:
            view = results.at(scale)
            found = paces(view)
    methods = [m for m in EVERYONE if any(m in row for row in found.values())]
    if len(found) < 2:  # a single number of samples makes no curve
        return Figure(name, title, "", missing=bench("paper-runtime"))
    data = [
        line(
            names.method(method),
            [samples for samples, row in found.items() if method in row],
            [1000 * row[method] for row in found.values() if method in row],
            COLOURS[method],
            2.6 if method == OURS else 1.4,
            mode="lines+markers",
        )
        for method in reversed(methods)
    ]
    layout = axes("samples", "milliseconds per iteration", log_x=True, log_y=True)
    layout["xaxis"]["tickvals"] = [*found]
    caption = f"Adam on wave, compiling excluded; {view.scale.condition:,} points on each condition."
    return Figure(name, title, caption, [Panel("", data, layout, wide=True)], legend(methods))
