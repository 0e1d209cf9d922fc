"""The tables of accuracy in docs/accuracy.md and README.md, between their markers, from results/accuracy.json.

python -m benchmarks.accuracy_page
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import written
from .accuracy import AIMS, EXAMPLES, OTHERS

ROOT = Path(__file__).parents[1]
STORE = ROOT / "results" / "accuracy.json"
MACHINE = "two cores"
NAMES = {
    "wave-hard": "wave, kinked data",
    "convection": "convection, β = 0.1",
    "convection-50": "convection, β = 50",
    "nh-heat": "non-homogeneous heat",
    "heat2d": "heat, two dimensions",
    "burgers": "Burgers, ν = 0.01/π",
    "allen-cahn": "Allen–Cahn",
    "backstep": "back-step, pooled",
}
EXACT = ("wave", "convection", "diffusion", "heat2d", "nh-heat")  # one line of the README
SHORT = {
    "reaction": "reaction",
    "burgers": "Burgers, ν = 0.01/π",
    "allen-cahn": "Allen–Cahn (its corner at t = 0 is singular)",
    "backstep": "back-step, Re 100 (u, v, p pooled)",
}


def runs() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORE.read_text())["machines"][MACHINE]["runs"]
    return found


def said(value: float | None, digits: int = 1) -> str:
    if value is None:
        return "–"
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def seconds(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def problems() -> str:
    lines = [
        "| problem | the paper, best of any method | best published | ours | estimated | CPU seconds | aim |",
        "|---" * 7 + "|",
    ]
    for name in AIMS:
        run = runs()[name]
        cells = [
            said(run["paper"]),
            said(run["published"]),
            f"**{said(run['l2re'])}**",
            said(run["estimate"]),
        ]
        aim = run["aims"][-1]
        lines.append(
            f"| {NAMES.get(name, name)} | {' | '.join(cells)} | {seconds(run['cpu'])} | {said(aim, 0)} |"
        )
    return "\n".join(lines)


def further() -> str:
    parts = [
        f"{name} {said(runs()[name]['l2re'])} ({said(runs()[name]['estimate'])}, {seconds(runs()[name]['cpu'])} s)"
        for name in (*OTHERS, *EXAMPLES)
    ]
    return f"Not in any table, with the estimate and CPU seconds: {'; '.join(parts)}."


def ratios() -> str:
    known = {name: run["estimate/l2re"] for name, run in runs().items() if run["estimate/l2re"]}
    return ", ".join(f"{name} {value:.2g}" for name, value in known.items()) + "."


def short() -> str:
    lines = ["| problem | relative L² error | its own estimate | CPU seconds |", "|---" * 4 + "|"]
    exact = [runs()[name] for name in EXACT]
    spans = [
        f"{said(min(run[key] for run in exact), 0)} … {said(max(run[key] for run in exact), 0)}"
        for key in ("l2re", "estimate")
    ]
    longest = max(run["cpu"] for run in exact)
    lines.append(f"| wave, convection, diffusion, heat (1-d and 2-d) | {' | '.join(spans)} | {longest:.0f} |")
    for name, title in SHORT.items():
        run = runs()[name]
        lines.append(f"| {title} | {said(run['l2re'], 0)} | {said(run['estimate'], 0)} | {run['cpu']:.0f} |")
    return "\n".join(lines)


TABLES: dict[Path, dict[str, Callable[[], str]]] = {
    ROOT / "docs" / "accuracy.md": {"problems": problems, "further": further, "ratios": ratios},
    ROOT / "README.md": {"accuracy": short},
}


def tables(page: Path) -> dict[str, str]:
    """name of the markers → the text between them"""
    return {name: table() for name, table in TABLES[page].items()}


if __name__ == "__main__":
    for page in TABLES:
        page.write_text(written(page.read_text("utf-8"), tables(page)), "utf-8")
