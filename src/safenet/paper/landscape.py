"""The figures about the loss and its curvature: terms and gradients during training, λ_max, spectral densities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from .. import library
from ..report.figures import ITERATION, SERIES, Figure, Panel, axes, bar, line, thinned
from ..train.terms import term_names
from . import names
from .ablations import lambda_max
from .evidence import ADAM, EARLY, OURS, PAPER, Evidence, Look, View, staged
from .figures import COLOURS, EVERYONE, bench, legend, present, scale_note
from .judges import PROBLEMS

PAIR = (OURS, "pinn")  # the methods that the paper compares here
STEEP = ("diffusion", "allen-cahn")  # and the problems


def _stage(results: Evidence, curve: str) -> tuple[View, str] | None:
    """The first (view, recipe) in which the paper's two problems have such a curve, schedule 2 before schedule 1."""
    for recipe in ("paper-2", "paper-1"):
        for problem in STEEP:
            view = results.best([(problem, OURS, recipe, {})])
            rows = view.rows(problem, OURS, recipe) if view else []
            if view and rows and len(rows[0].curves[curve]) > 1:
                return view, recipe
    return None


def loss_terms(results: Evidence) -> Figure:
    """The terms of the loss during training, SAFE-NET's and the plain network's."""
    name, title = "loss", "The terms of the loss"
    if (stage := _stage(results, "loss")) is None:
        return Figure(name, title, "", missing=bench("paper-schedule-2"))
    view, recipe = stage
    found = (_terms(view, problem, method, recipe) for problem in STEEP for method in PAIR)
    colours = dict(zip(("total", "equation", "conditions"), SERIES, strict=False))
    caption = f"{names.schedule(recipe)}, first seed; the total with its weights, the parts without."
    return Figure(name, title, caption + scale_note(view), list(filter(None, found)), colours)


def _terms(view: View, problem: str, method: str, recipe: str) -> Panel | None:
    rows = view.rows(problem, method, recipe)
    if not rows or len(rows[0].curves["loss"]) < 2:
        return None
    curve = thinned(rows[0].curves["loss"])
    terms = term_names(library.problem(problem))
    equations = sum(term.startswith("equation") for term in terms)
    parts = {
        "total": curve[:, 1],
        "equation": curve[:, 2 : 2 + equations].sum(axis=1),
        "conditions": curve[:, 2 + equations :].sum(axis=1),
    }
    data = [
        line(key, curve[:, 0], y, colour) for (key, y), colour in zip(parts.items(), SERIES, strict=False)
    ]
    return Panel(
        f"{names.problem(problem)}, {names.method(method)}", data, axes(ITERATION, "loss", log_y=True)
    )


def gradient_norms(results: Evidence) -> Figure:
    """The largest entry of the gradient during training."""
    name, title = "gradient", "The gradient along the way"
    if (stage := _stage(results, "gradient")) is None:
        return Figure(name, title, "", missing=bench("paper-schedule-2"))
    view, recipe = stage
    panels = []
    for problem in STEEP:
        rows = {method: view.rows(problem, method, recipe)[:1] for method in reversed(PAIR)}
        data = [
            line(names.method(method), curve[:, 0], curve[:, 1], COLOURS[method])
            for method, first in rows.items()
            for curve in (thinned(row.curves["gradient"]) for row in first)
            if len(curve) > 1
        ]
        if data:
            layout = axes(ITERATION, "max |∂L/∂θ|", log_y=True)
            panels.append(Panel(names.problem(problem), data, layout))
    caption = f"{names.schedule(recipe)}, first seed, with the weights of each iteration."
    return Figure(name, title, caption + scale_note(view), panels, legend(present(panels)))


def curvature(results: Evidence) -> Figure:
    name, title = "lambda", "The largest eigenvalue of the Hessian"
    view = results.spectral()
    panels, methods = [], set[str]()
    for share in (EARLY, 1.0) if view else ():
        assert view is not None
        values = {m: {p: lambda_max(view, p, m, share) for p in PROBLEMS} for m in EVERYONE}
        shown = [p for p in PROBLEMS if any(row[p] for row in values.values())]
        present = [m for m in EVERYONE if any(values[m].values())]
        labels = [names.problem(p) for p in shown]
        data = [bar(names.method(m), labels, [values[m][p] for p in shown], COLOURS[m]) for m in present]
        if data:
            layout = axes(y="λ_max", log_y=True, barmode="group")
            panels.append(Panel(f"After {_steps(view, share)}", data, layout, wide=True))
        methods |= set(present)
    if view is None or not panels:
        return Figure(name, title, "", missing=bench("paper-spectrum"))
    return Figure(name, title, "Of the loss, by Adam alone." + _points(view), panels, legend(methods))


def spectral_density(results: Evidence) -> Figure:
    """The paper's figures of the Hessian's spectrum, early and at the end."""
    name, title = "density", "Spectral density of the Hessian"
    view = results.spectral()
    panels, methods = [], set[str]()
    for problem, share in product(PROBLEMS, (EARLY, 1.0)) if view else ():
        assert view is not None
        found, squares = _densities(view.looks(problem, share))
        data = [trace for m in reversed(EVERYONE) if m in found for trace in _density(m, found[m], squares)]
        if data:
            layout = axes("|λ|", "share per decade", log_x=True)
            heading = f"{names.problem(problem)}, after {_steps(view, share)}{', JᵀJ' if squares else ''}"
            panels.append(Panel(heading, data, layout))
        methods |= set(found)
    if view is None or not panels:
        return Figure(name, title, "", missing=bench("paper-spectrum"))
    caption = (
        "The share of eigenvalues in a decade, positive ones solid, negative ones dotted. If more networks have the "
        "spectrum of JᵀJ (positive semidefinite part of the Hessian), that is drawn, without eigenvalues at rounding "
        "level." + _points(view)
    )
    return Figure(name, title, caption, panels, legend(methods))


def _densities(looks: Sequence[Look]) -> tuple[dict[str, np.ndarray], bool]:
    """Densities of the Hessian, or of JᵀJ if more networks have it (True): all must be of the same matrix."""
    whole = {look.method: look.density for look in looks if look.density is not None}
    squares = {look.method: look.squares for look in looks if look.squares is not None}
    return (squares, True) if len(squares) > len(whole) else (whole, False)


def _density(method: str, density: np.ndarray, squares: bool) -> Iterator[dict[str, Any]]:
    decades, above, below = density.T
    for share, dash in ((above, "solid"), (below, "dot"))[: 1 if squares else 2]:
        trace = line(names.method(method), 10**decades, share, COLOURS[method])
        yield trace | {"line": trace["line"] | {"dash": dash}}


def _steps(view: View, share: float) -> str:
    return f"{round(ADAM * staged(view.scale, share).share):,} iterations of Adam"


def _points(view: View) -> str:
    return "" if view.scale == PAPER else f" Not the paper's scale: {view.scale.sizes}."
