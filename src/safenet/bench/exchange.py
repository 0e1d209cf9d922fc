"""rows ↔ files: .jsonl is the whole store as text, to commit and to merge; .csv and .parquet are a table to analyse."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import SafeNetError
from ..training.checkpoint import write_atomically
from .store import Row, Store

# Of a table: what a person looks up. The long texts and the curves are in .jsonl.
FLAT = (
    *(
        "id",
        "attempt",
        "problem",
        "method",
        "recipe",
        "seed",
        "variant",
        "outcome",
        "l2re",
        "errors",
        "residual",
    ),
    *("seconds", "iterations", "evaluations", "parameters", "precision", "device", "stop_reason", "finished"),
)


def export(store: Store, path: str | Path, history: bool = True) -> int:
    """Write all rows to a .jsonl, .csv or .parquet file; how many. Without `history` a .jsonl has no curves."""
    path, rows = Path(path), list(store.every())
    if path.suffix not in WRITERS:
        raise SafeNetError(f"cannot export to {path}", "use a name that ends in .jsonl, .csv or .parquet")
    if path.suffix == ".jsonl" and not history:
        rows = [Row(**vars(row) | {"history": None}) for row in rows]
    data = WRITERS[path.suffix](rows)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    except OSError as obstacle:
        raise SafeNetError(f"cannot write {path}: {obstacle.strerror}", "choose another place") from None
    return len(rows)


def merge(store: Store, source: str | Path) -> int:
    """Take over from another store (a folder or its .db) or from a .jsonl file; how many rows were new."""
    path = Path(source)
    if path.suffix != ".jsonl":
        with Store(path, create=False) as other:
            return store.merge(other.every())
    try:
        lines = path.read_text("utf-8").splitlines()
        rows = [Row.from_json(json.loads(line)) for line in lines if line.strip()]
    except OSError as obstacle:
        raise SafeNetError(f"cannot read {path}: {obstacle.strerror}", "check the path") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise SafeNetError(f"{path} is not an export of a store: {error}", "export it again") from None
    return store.merge(rows)


def _jsonl(rows: Iterable[Row]) -> bytes:
    return "".join(json.dumps(row.to_json(), ensure_ascii=False) + "\n" for row in rows).encode()


def _flat(row: Row) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in FLAT}
    return values | {name: json.dumps(values[name]) for name in ("variant", "errors")}


def _csv(rows: Iterable[Row]) -> bytes:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FLAT, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_flat, rows))
    return stream.getvalue().encode()


def _parquet(rows: Iterable[Row]) -> bytes:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise SafeNetError("Parquet needs pyarrow", "pip install 'safenet[data]', or export .csv") from None
    text, real, whole = arrow.string(), arrow.float64(), arrow.int64()
    kinds = dict.fromkeys(FLAT, text)
    kinds |= dict.fromkeys(("l2re", "residual", "seconds", "finished"), real)
    kinds |= dict.fromkeys(("attempt", "seed", "iterations", "evaluations", "parameters"), whole)
    stream = io.BytesIO()
    parquet.write_table(
        arrow.Table.from_pylist([_flat(row) for row in rows], arrow.schema(kinds.items())), stream
    )
    return stream.getvalue()


WRITERS = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
