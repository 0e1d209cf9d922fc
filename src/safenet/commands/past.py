"""`safenet runs`: past runs as a table, or two of them side by side. The table is quick: it needs only JSON files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import SafeNetError, printable
from .arguments import AsJson

RESULT, PLAN = "result.json", "plan.json"
# The keys that are shown side by side for two runs, if either has them.
COMPARED = (
    *("problem", "solver", "method", "recipe", "seed", "outcome", "l2re", "estimate", "residual"),
    *("parameters", "iterations", "evaluations", "wall_seconds", "precision", "device", "stop_reason"),
)


def past(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[DIR | RUN RUN]", help="a folder of runs (default: runs), or two runs"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List past runs, or compare two of them.

    The newest run comes first. For two runs, also the relative difference of their solutions.

    \b
    safenet runs
    safenet runs runs/wave runs/wave-2
    """
    found = places or [Path("runs")]
    if len(found) == 2:
        _compare(*found, as_json=as_json)
        return
    if len(found) > 2:
        raise SafeNetError(f"{len(found)} folders were given", "give one folder of runs, or two runs")
    rows = sorted(_rows(found[0]), key=lambda row: row["when"], reverse=True)
    if as_json:
        print(json.dumps(rows))
        return
    if not rows:
        raise SafeNetError(f"there are no runs in {found[0]}", "solve something first: safenet solve wave")
    table = [("run", "problem", "solver", "outcome", "error", "estimate", "seconds", "when")]
    for row in rows:
        numbers = (_number(row["l2re"]), _number(row["estimate"]), _number(row["seconds"], ".1f"))
        when = datetime.fromtimestamp(row["when"]).strftime("%Y-%m-%d %H:%M")
        table.append((row["run"], row["problem"], row["solver"], row["outcome"], *numbers, when))
    _print(table)


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    """A row for each run in a folder; one without a result was killed, or is still being solved."""
    if not folder.is_dir():
        raise SafeNetError(f"there is no folder {folder}", "give the folder in which your runs are")
    for plan in (*folder.glob(PLAN), *folder.glob(f"*/{PLAN}")):
        run = plan.parent
        result = _result(run) if (run / RESULT).exists() else {"outcome": "no result yet"}
        network = " ".join(str(result[key]) for key in ("method", "recipe") if result.get(key))
        yield {
            "run": str(run),
            "problem": str(result.get("problem", "")),
            "solver": network or str(result.get("solver", "")),
            "outcome": str(result.get("outcome", "")),
            "l2re": _pooled(result.get("l2re")),
            "estimate": _pooled(result.get("estimate")),
            "seconds": _pooled(result.get("wall_seconds")),
            "when": plan.stat().st_mtime,
        }


def _result(run: Path) -> dict[str, Any]:
    try:
        found = json.loads((run / RESULT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SafeNetError(f"{run} has no {RESULT}: the run is not finished", "see `safenet runs`") from None
    except (OSError, ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"outcome": "damaged"}


def _compare(first: Path, second: Path, *, as_json: bool) -> None:
    results = [_result(run) for run in (first, second)]
    difference = _difference(first, second)
    if as_json:
        print(json.dumps({"runs": [str(first), str(second)], "results": results, "difference": difference}))
        return
    table = [("", str(first), str(second))]
    for key in COMPARED:
        values = [result.get(key) for result in results]
        if any(value is not None for value in values):
            table.append((key, _text(values[0]), _text(values[1])))
    _print(table)
    for field, size in difference.items():
        print(f"difference in {field}: {size:.2e} (relative L2, on a grid)")


def _difference(first: Path, second: Path) -> dict[str, float]:
    """As `sol.compare` has it; empty, with the reason on standard error, if the solutions cannot be compared."""
    from ..solution import load
    from ..views.compare import difference

    solutions = [load(run) for run in (first, second)]
    try:
        return difference(*solutions)
    except SafeNetError as error:
        typer.echo(error.message, err=True)
        return {}


def _pooled(value: Any) -> float | None:
    """The number over all fields, from {field: number, pooled: number} or from a single number."""
    found = value.get("pooled") if isinstance(value, dict) else value
    return float(found) if isinstance(found, (int, float)) else None


def _number(value: float | None, form: str = ".1e") -> str:
    return "-" if value is None else format(value, form)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
    return f"{value:.3g}" if isinstance(value, float) else "-" if value is None else str(value)


def _print(table: Sequence[tuple[str, ...]]) -> None:
    """Columns as wide as their widest entry."""
    shown = [[printable(entry) for entry in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        print("  ".join(entry.ljust(width) for entry, width in zip(row, widths, strict=True)).rstrip())
