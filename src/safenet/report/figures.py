"""Figures as Plotly's own JSON: small panels side by side, one legend for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Middle tones, which stand out from white and from black.
SERIES = ("#3b74e0", "#dd8630", "#5f9e52", "#cc6292", "#3f9d9b", "#7c5cf0", "#ad8660", "#c4524e")
# A bar's text: at its end, upright, not clipped.
OUTSIDE = {"textposition": "outside", "textangle": 0, "cliponaxis": False, "textfont": {"size": 9}}
ERROR, ITERATION = "relative L² error", "iteration"
POINTS = 120  # of a curve in a small panel


@dataclass(frozen=True)
class Panel:
    """One plot: Plotly's traces and layout."""

    title: str
    data: list[dict[str, Any]]
    layout: dict[str, Any] = field(default_factory=dict)
    wide: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels with one legend; without data `missing` says what to run."""

    name: str
    title: str
    caption: str
    panels: Sequence[Panel] = ()
    legend: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""


# ---- marks


def line(
    name: str, x: Iterable[float], y: Iterable[float], colour: str, width: float = 1.6, **more: Any
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [float(f"{value:.6g}") for value in x],
        "y": [float(f"{value:.4g}") if math.isfinite(value) else None for value in y],
        "line": {"color": colour, "width": width},
        **more,
    }


def bar(name: str, x: Sequence[str], y: Sequence[float | None], colour: str, **more: Any) -> dict[str, Any]:
    heights = [float(f"{value:.4g}") if value is not None and math.isfinite(value) else None for value in y]
    return {"type": "bar", "name": name, "x": list(x), "y": heights, "marker": {"color": colour}, **more}


def axes(x: str = "", y: str = "", log_x: bool = False, log_y: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "xaxis": {"title": {"text": x}, **({"type": "log"} if log_x else {})},
        "yaxis": {"title": {"text": y}, **({"type": "log"} if log_y else {})},
        **more,
    }


def thinned(curve: np.ndarray) -> np.ndarray:
    """At most POINTS rows of a curve."""
    if len(curve) <= POINTS:
        return curve
    kept: np.ndarray = curve[np.unique(np.linspace(0, len(curve) - 1, POINTS).round().astype(int))]
    return kept
