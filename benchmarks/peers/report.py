"""The measurements as tables and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import NullFormatter
from rich.console import Console
from rich.table import Table

LEVELS = (1e-2, 1e-3, 1e-4)
COLOURS = dict(
    zip(
        ("ours", "jinns", "deepxde-jax", "deepxde-pytorch", "pina", "pytorch", "pytorch-compiled"),
        ("#d62728", "#9467bd", "#1f77b4", "#17becf", "#2ca02c", "#ff7f0e", "#8c564b"),
        strict=True,
    )
)


def iterations(found: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each network, precision and system: median and quartiles of all rounds' laps, and ratios."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for run in found["runs"]:
        task = run["task"]
        if task["task"] == "iterate":
            groups.setdefault((task["network"], task["precision"], task["system"]), []).append(run)
    rows = []
    for (network, precision, system), runs in groups.items():
        row: dict[str, Any] = {"network": network, "precision": precision, "system": system}
        good = [run for run in runs if "ms" in run]
        if not good:
            rows.append(row | {"failed": runs[0].get("failed", "")})
            continue
        laps = np.concatenate([run["ms"] for run in good])
        low, middle, high = np.quantile(laps, [0.25, 0.5, 0.75])
        busy = np.median(np.concatenate([run["cpu_ms"] for run in good]))
        row |= {"ms": middle, "low": low, "high": high, "cpu_ms": busy, "laps": len(laps)}
        rows.append(row | {"first_seconds": float(np.median([run["first_seconds"] for run in good]))})
    ours = {(r["network"], r["precision"]): r.get("ms") for r in rows if r["system"] == "ours"}
    for row in rows:
        mine = ours.get((row["network"], row["precision"]))
        row["times"] = row["ms"] / mine if mine and "ms" in row else None
        floor = found.get("floors", {}).get(f"{row['network']} {row['precision']}")
        row["floor_ms"] = floor["ms"] if floor else None
    return rows


def races(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Seconds to each error, with and without compiling; None if it was not reached in the time given."""
    rows = []
    for run in found["runs"]:
        task = run["task"]
        if task["task"] != "solve":
            continue
        curve = run.get("curve") or []
        without = run.get("compiled_curve") or []
        rows.append(
            {
                "problem": task["problem"],
                "system": task["system"],
                "limit": task["seconds"],
                "best": curve[-1][1] if curve else None,
                "with": [reached(curve, level) for level in LEVELS],
                "without": [reached(without, level) for level in LEVELS],
                "failed": run.get("failed", ""),
            }
        )
    return rows


def reached(curve: Any, level: float) -> float | None:
    return next((seconds for seconds, error in curve if error <= level), None)


def seconds(value: float | None, limit: float) -> str:
    return f"> {limit:.0f}" if value is None else f"{value:.2f}"


def print_tables(found: dict[str, Any]) -> None:
    console = Console(width=150)
    table = Table(
        "network",
        "precision",
        "system",
        "ms",
        "quartiles",
        "cpu ms",
        "× ours",
        "floor ms",
        "× floor",
        "first s",
    )
    for row in iterations(found):
        start = [row["network"], row["precision"], row["system"]]
        if "ms" not in row:
            table.add_row(*start, row["failed"][:60])
            continue
        floor = row["floor_ms"]
        numbers = [f"{row['ms']:.1f}", f"{row['low']:.1f}–{row['high']:.1f}", f"{row['cpu_ms']:.0f}"]
        numbers += [f"{row['times']:.2f}" if row["times"] else "", f"{floor:.1f}" if floor else ""]
        numbers += [f"{row['ms'] / floor:.1f}" if floor else "", f"{row['first_seconds']:.1f}"]
        table.add_row(*start, *numbers)
    if table.row_count:
        console.print(table)
    table = Table(
        "problem",
        "system",
        *(f"s to {level:.0e}" for level in LEVELS),
        *(f"compiled, {e:.0e}" for e in LEVELS),
        "best",
    )
    for row in races(found):
        numbers = [seconds(value, row["limit"]) for value in (*row["with"], *row["without"])]
        best = row["failed"][:40] or ("" if row["best"] is None else f"{row['best']:.1e}")
        table.add_row(row["problem"], row["system"], *numbers, best)
    if table.row_count:
        console.print(table)
    for run in found["runs"]:
        for key, values in run.items() if run["task"]["task"] == "command" else ():
            if isinstance(values, list):
                console.print(f"{key.replace('_', ' ')}: {np.median(values):.2f}")
    for line in found.get("not the same work", []):
        console.print(f"not the same work: {line}", style="red")


def draw(found: dict[str, Any], path: Path) -> None:
    """Bars of the times per iteration with quartiles and the floor; error against seconds for each race."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    bars = [row for row in iterations(found) if "ms" in row and row["precision"] == "float32"]
    raced = [run for run in found["runs"] if run["task"]["task"] == "solve" and run.get("curve")]
    networks = list(dict.fromkeys(row["network"] for row in bars))
    problems = list(dict.fromkeys(run["task"]["problem"] for run in raced))
    columns = max(len(networks), len(problems))
    if not columns:
        return
    figure, axes = plt.subplots(2, columns, figsize=(4.6 * columns, 7), layout="constrained", squeeze=False)
    for axis in [*axes[0][len(networks) :], *axes[1][len(problems) :]]:
        axis.set_axis_off()
    for axis, network in zip(axes[0], networks, strict=False):
        rows = sorted((row for row in bars if row["network"] == network), key=lambda row: row["ms"])
        names = [row["system"] for row in rows]
        middle = np.array([row["ms"] for row in rows])
        spread = np.array([[row["ms"] - row["low"], row["high"] - row["ms"]] for row in rows]).T
        axis.barh(names, middle, xerr=spread, color=[COLOURS[name] for name in names])
        for place, row in enumerate(rows):
            axis.annotate(f" {row['ms']:.0f}", (row["high"], place), va="center")
        if rows[0]["floor_ms"]:
            axis.axvline(rows[0]["floor_ms"], color="black", linestyle=":", label="hardware floor")
            axis.legend(loc="lower right", fontsize=8)
        axis.set(xscale="log", xlabel="ms per iteration", title=f"Adam on wave, {network}, float32")
        axis.set_xlim(min(middle) / 3, 2.5 * max(middle))
        axis.xaxis.set_minor_formatter(NullFormatter())
    for axis, problem in zip(axes[1], problems, strict=False):
        for run in raced:
            if run["task"]["problem"] == problem:
                times, errors = np.array(run["curve"]).T
                system = run["task"]["system"]
                axis.step(times, errors, where="post", marker=".", color=COLOURS[system], label=system)
        axis.set(xscale="log", yscale="log", xlabel="seconds, compiling included", title=problem)
        axis.set_ylabel("relative L² error")
    if problems:
        handles, labels = axes[1][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper right", title="below")
    figure.savefig(path, dpi=110)
