"""docs/networks.md: the tables between its markers, and its picture, from networks.jsonl and networks-small.jsonl.

python -m benchmarks.networks_page          write the page
python -m benchmarks.networks_page STORE    first take the rows of a store of `safenet bench networks`, on a CPU
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from . import written
from .networks import ABLATIONS, CHOSEN_ON, COMPARED, METHODS, NINE, OTHERS, VARIANTS

ROOT = Path(__file__).parents[1]
PAGE, ROWS = ROOT / "docs" / "networks.md", ROOT / "results" / "networks.jsonl"
SMALL = ROOT / "results" / "networks-small.jsonl"
# The smallest error that the paper prints for each problem, by any method and schedule.
PRINTED = dict(
    zip(NINE, (9.8e-4, 8.8e-3, 8.2e-5, 3.6e-4, 3.8e-3, 7.3e-5, 2.9e-4, 2.1e-1, 2.1e-4), strict=True)
)
NAMES = {"heat2d": "heat 2-d", "allen-cahn": "Allen–Cahn", "burgers": "Burgers", "backstep": "back-step"}


def rows(study: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in ROWS.read_text().splitlines()]
    return [row for row in found if row["study"] == study]


def error(row: dict[str, Any], kind: str = "l2re") -> float | None:
    """The value pooled over all fields."""
    value = row.get(kind)
    pooled: float | None = value["pooled"] if isinstance(value, dict) else value
    return pooled


def _said(value: float | None) -> str:
    return "–" if value is None else f"{value:.1e}"


def of(study: str, problem: str) -> list[dict[str, Any]]:
    return [row for row in rows(study) if row["problem"] == problem]


def whole(problem: str) -> list[dict[str, Any]]:
    """Runs of the default by its whole schedule."""
    return [row for row in of("default", problem) if not row["options"]]


def default() -> str:
    lines = [
        "| problem | paper's best of any method | median | best | worst | seeds | estimate / error |",
        "|---" * 7 + "|",
    ]
    for name in NINE:
        own = whole(name)
        errors = [e for row in own if (e := error(row)) is not None]
        sizes = [PRINTED[name], median(errors), min(errors), max(errors)]
        numbers = [*map(_said, sizes), str(len(own)), _ratios(own)]
        lines.append(f"| {NAMES.get(name, name)} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def _ratios(own: list[dict[str, Any]]) -> str:
    """Estimate over error, from the smallest to the largest ratio."""
    ratios = [est / e for row in own if (est := error(row, "estimate")) and (e := error(row))]
    return f"{min(ratios):.1f} … {max(ratios):.1f}" if ratios else "none"


def two_cores() -> str:
    lines = ["| problem | layers | points | error | seconds | steps |", "|---" * 6 + "|"]
    for name in NINE:
        for row in of("two-cores", name):
            sizes = ("three", "4,000") if "three layers" in row["reasons"][0] else ("two", "2,000")
            numbers = (_said(error(row)), f"{row['wall_seconds']:.0f}", f"{row['iterations']:,}")
            lines.append(f"| {NAMES.get(name, name)} | {' | '.join([*sizes, *numbers])} |")
    return "\n".join(lines)


def _lines(named: dict[str, list[dict[str, Any]]], problems: tuple[str, ...]) -> list[str]:
    """A line for each label: for each problem, medians over the seeds that all lines have, for a fair comparison."""
    cells: dict[str, list[str]] = {label: [] for label, mine in named.items() if mine}
    for problem in problems:
        found: dict[str, dict[int, float]] = {label: {} for label in cells}
        for label in cells:
            for row in named[label]:
                if row["problem"] == problem and (value := error(row)) is not None:
                    found[label][row["seed"]] = value
        common = (
            set.intersection(*(set(own) for own in found.values() if own)) if any(found.values()) else set()
        )
        many = f" ({len(common)})" if len(common) > 1 else ""
        for label, own in found.items():
            cells[label].append(_said(median(own[seed] for seed in common)) + many if own and common else "–")
    return [f"| {label} | {' | '.join(own)} |" for label, own in cells.items()]


def _head(label: str, problems: tuple[str, ...]) -> list[str]:
    columns = label.count("|") + 1 + len(problems)
    return [f"| {label} | " + " | ".join(NAMES.get(p, p) for p in problems) + " |", "|---" * columns + "|"]


def _compared(method: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in rows(COMPARED) if row["method"] == method and row["options"] == options]


def methods() -> str:
    found = {}
    for name, options in METHODS.items():
        mine = [row for row in _compared(name, options) if row["problem"] in NINE]
        if mine:
            sizes = [row["parameters"] for row in mine]
            dense = all("too many" not in row["reasons"][0] for row in mine)
            found[f"{name} | {min(sizes):,} … {max(sizes):,} | {'SSBroyden' if dense else 'L-BFGS'}"] = mine
    return "\n".join([*_head("method | parameters | optimiser", NINE), *_lines(found, NINE)])


def others() -> str:
    found = {name: _compared(name, {}) for name in ("safe-net", "pinn")}
    default = {"safe-net, the whole schedule": [row for name in OTHERS for row in whole(name)]}
    return "\n".join([*_head("method", OTHERS), *_lines(found, OTHERS), *_lines(default, OTHERS)])


def variants() -> str:
    problems = tuple(CHOSEN_ON)
    found = {name: _compared("safe-net", options) for name, options in VARIANTS.items()}
    found["plain network"] = _compared("pinn", {})
    return "\n".join([*_head("SAFE-NET", problems), *_lines(found, problems)])


def ablations() -> str:
    found = {
        name: [
            row for kind in (options, {**options, "corners": False}) for row in _compared("safe-net", kind)
        ]
        for name, options in ABLATIONS.items()
    }  # on the back-step the network did not know its corner yet
    return "\n".join([*_head("SAFE-NET with", NINE), *_lines(found, NINE)])


# ---- networks of one size, on a CPU: the suite `networks`

ONE_SIZE = {"features": 32, "width": 20}
SMALL_METHODS: dict[str, dict[str, Any]] = {
    "safe-net": {},
    **{name: {"width": 20} for name in ("pinn", "fls-pinn", "w-pinn")},
    **dict.fromkeys(("rbf-p", "rff-tuned", "rbf", "rba-pinn", "rff"), ONE_SIZE),
    "safe-net-literal": {"features": 32},
}


def take(store: str) -> None:
    """The rows of a store, without histories."""
    from safenet.bench import Store

    kept = (
        "problem",
        "method",
        "seed",
        "outcome",
        "l2re",
        "residual",
        "parameters",
        "iterations",
        "evaluations",
    )
    with Store(store) as found, SMALL.open("w") as stream:
        for row in sorted(found.rows(), key=lambda row: (row.method, row.problem, row.seed, row.id)):
            options = {name: value for name, value in row.variant.items() if name != "iterations"}
            about = {name: row.environment[name] for name in ("device", "cores", "jax", "commit")}
            date = time.strftime("%Y-%m-%d", time.gmtime(row.finished))
            line = {name: getattr(row, name) for name in kept} | {"seconds": round(row.seconds, 1)}
            command = "safenet bench networks --out DIR"
            stream.write(
                json.dumps(line | {"options": options, **about, "date": date, "command": command}) + "\n"
            )


def small_methods() -> str:
    rows = [json.loads(line) for line in SMALL.read_text("utf-8").splitlines()]
    found = {}
    for name, options in SMALL_METHODS.items():
        mine = [row for row in rows if row["method"] == name and row["options"] == options]
        if sizes := [row["parameters"] for row in mine if row["problem"] in NINE]:
            found[f"{name} | {min(sizes):,} … {max(sizes):,}"] = mine
    return "\n".join([*_head("method | parameters", NINE), *_lines(found, NINE)])


TABLES = {
    "default": default,
    "two-cores": two_cores,
    "methods": methods,
    "others": others,
    "variants": variants,
    "ablations": ablations,
    "small-methods": small_methods,
}


def tables() -> dict[str, str]:
    """name of the markers → the text between them"""
    return {name: table() for name, table in TABLES.items()}


def picture() -> None:
    """The error during training, a panel for each problem."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 3, figsize=(9, 7), layout="constrained", sharex=True)
    for panel, name in zip(axes.flat, NINE, strict=True):
        for row in whole(name):
            end = (row["iterations"], 0, error(row))
            steps, _, errors = zip(*[point for point in row["curve"] if point[0] > 500], end, strict=True)
            panel.loglog(steps, errors, marker=".", color="tab:blue", alpha=0.7)
        panel.axhline(PRINTED[name], color="tab:red", linestyle="--", linewidth=1)
        panel.set_title(NAMES.get(name, name), fontsize=10)
        panel.grid(alpha=0.3)
    figure.supxlabel("steps of Adam and self-scaled Broyden")
    figure.supylabel("relative L² error (dashed: the paper's best of any method)")
    figure.savefig(ROOT / "docs" / "networks.png", dpi=100)


if __name__ == "__main__":
    for store in sys.argv[1:]:
        take(store)
    PAGE.write_text(written(PAGE.read_text("utf-8"), tables()), "utf-8")
    picture()
