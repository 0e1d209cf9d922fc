"""rows ↔ files: .jsonl is the whole store as text, to commit and to merge; .csv and .parquet are a table to analyse."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import SafeNetError, saving
from ..run.checkpoint import write_atomically
from .checked import MOST_BYTES
from .naming import parameters
from .store import Row, Store, left_out, rows_of

# The columns of a table that a person looks up. Long texts and curves are only in .jsonl.
FLAT = (
    *(
        "id",
        "attempt",
        "problem",
        "solver",
        "method",
        "recipe",
        "seed",
        "variant",
        "outcome",
        "l2re",
        "errors",
    ),
    *("residual", "seconds", "iterations", "evaluations", "parameters", "precision", "device", "stop_reason"),
    *("finished", "date", "commit"),
)


def writer(path: Path) -> Callable[[Sequence[Row]], bytes]:
    """The function that turns rows into the bytes of such a file."""
    if path.suffix not in WRITERS:
        raise SafeNetError(f"cannot export to {path}", "use a name that ends in .jsonl, .csv or .parquet")
    return WRITERS[path.suffix]


def export(store: Store, path: str | Path, history: bool = True) -> int:
    """Write all rows to a .jsonl, .csv or .parquet file and return how many. `history=False` omits curves."""
    path, rows = Path(path), list(store.every())
    write = writer(path)
    if path.suffix == ".jsonl" and not history:
        rows = [replace(row, history=None) for row in rows]
    data = write(rows)
    with saving(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    return len(rows)


def merge(store: Store, source: str | Path) -> int:
    """Copy missing rows from another store (a folder or its .db) or a .jsonl file; return how many were new."""
    path = Path(source)
    if path.suffix != ".jsonl":
        return store.merge(rows_of(path))
    if not path.is_file():
        raise SafeNetError(f"cannot read {path}: no such file", "check the path")
    rows: list[Row] = []
    refused: list[tuple[str, Exception]] = []
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(iter(lambda: stream.readline(MOST_BYTES), b""), 1):
                try:
                    rows += [Row.from_json(json.loads(line))] if line.strip() else []
                except (SafeNetError, ValueError, TypeError, AttributeError, RecursionError) as error:
                    refused.append((f"in line {number} of {path.name}", error))
    except OSError as obstacle:
        raise SafeNetError(f"cannot read {path}: {obstacle.strerror}", "check the path") from None
    if refused and not rows:
        raise SafeNetError(f"{path} is not an export of a store: no line is a row", "export it again")
    for where, why in refused:
        left_out(where, why)
    return store.merge(rows)


def _jsonl(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row.to_json(), ensure_ascii=False) + "\n" for row in rows).encode()


def _flat(rows: Sequence[Row]) -> tuple[list[str], list[dict[str, Any]]]:
    """Columns and lines: FLAT, then parameter.NAME of the problems and option.NAME of every option that a row changes.

    These options are filled in for every row, even where one has the method's own value.
    """
    values = [parameters(row.configuration.get("problem", "")) for row in rows]
    given = dict.fromkeys(f"parameter.{name}" for each in values for name in each)
    chosen = dict.fromkeys(name for row in rows for name in row.variant)
    lines = []
    for row, numbers in zip(rows, values, strict=True):
        plan = row.configuration.get("plan", {})
        count = "+".join(str(phase.get("iterations", 1)) for phase in plan.get("phases", ()))
        options = plan | plan.get("network", {}) | {"iterations": count} | row.variant
        lines.append(
            {name: getattr(row, name, None) for name in FLAT}
            | {name: json.dumps(getattr(row, name)) for name in ("variant", "errors")}
            | {"date": _date(row), "commit": row.environment.get("commit")}
            | {f"parameter.{name}": value for name, value in numbers.items()}
            | {f"option.{name}": options.get(name) for name in chosen}
        )
    return [*FLAT, *given, *(f"option.{name}" for name in chosen)], lines


def _date(row: Row) -> str:
    """2026-05-04T12:30:00+00:00"""
    return datetime.fromtimestamp(row.finished, UTC).isoformat(timespec="seconds")


def _csv(rows: Sequence[Row]) -> bytes:
    columns, lines = _flat(rows)
    stream = io.StringIO()
    table = csv.DictWriter(stream, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(lines)
    return stream.getvalue().encode()


def _parquet(rows: Sequence[Row]) -> bytes:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise SafeNetError(
            "Parquet needs pyarrow", "pip install 'safenet-pde[data]', or export .csv"
        ) from None
    columns, lines = _flat(rows)
    text, real, whole = arrow.string(), arrow.float64(), arrow.int64()
    kinds = dict.fromkeys(FLAT, text)
    kinds |= dict.fromkeys(("l2re", "residual", "seconds", "finished"), real)
    kinds |= dict.fromkeys(("attempt", "seed", "iterations", "evaluations", "parameters"), whole)
    for name in columns[len(FLAT) :]:
        kinds[name] = _kind([line[name] for line in lines if line.get(name) is not None], arrow)
        for line in lines if kinds[name] == text else ():
            line[name] = None if line.get(name) is None else str(line[name])
    stream = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(lines, arrow.schema(kinds.items())), stream)
    return stream.getvalue()


def _kind(values: Sequence[Any], arrow: Any) -> Any:
    """Boolean, integer or float if all values are; else text."""
    found = {type(value) for value in values}
    if found == {bool}:
        return arrow.bool_()
    return arrow.int64() if found == {int} else arrow.float64() if found <= {int, float} else arrow.string()


WRITERS = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
