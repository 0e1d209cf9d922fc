"""file, mapping, data frame → named columns of numbers."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SafeNetError, nearest

DELIMITERS = (",", ";", "\t")


def columns_of(source: Any) -> dict[str, np.ndarray]:
    """The columns of a file, a mapping, a structured array, a data frame or an xarray data set."""
    if isinstance(source, (str, Path)):
        return _read(Path(source))
    if hasattr(source, "to_dataframe"):  # xarray: one row for each point of its grid
        source = source.to_dataframe().reset_index()
    if hasattr(source, "columns"):
        return {str(name): np.asarray(source[name]) for name in source.columns}
    if isinstance(source, np.ndarray) and source.dtype.names:
        return {name: source[name] for name in source.dtype.names}
    if isinstance(source, Mapping):
        return {str(name): np.asarray(column) for name, column in source.items()}
    raise SafeNetError(
        f"data cannot be a {type(source).__name__}",
        "give a file's name, a mapping {name: array}, a data frame, or the columns by name",
    )


def _read(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        near = [entry.name for entry in path.parent.glob(f"*{path.suffix}")] if path.parent.is_dir() else []
        raise SafeNetError(f"there is no file {path}", nearest(path.name, near) if near else "")
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        return _parquet(path) if path.suffix in (".parquet", ".pq") else _csv(path)
    except (OSError, ValueError) as error:
        raise SafeNetError(f"cannot read {path}: {error}", "give a .csv, .npz or .parquet file") from None


def _parquet(path: Path) -> dict[str, np.ndarray]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise SafeNetError(f"{path} needs pyarrow", "pip install pyarrow, or save it as .csv") from None
    table = parquet.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def _csv(path: Path) -> dict[str, np.ndarray]:
    """Names in the first line, then numbers; lines that begin with # are skipped, unless the names do."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        lines = [(number, line.strip()) for number, line in enumerate(stream, 1) if line.strip()]
    plain = [(number, line) for number, line in lines if not line.startswith("#")]
    if not plain:
        raise SafeNetError(f"{path} is empty", "names of the columns first, then a line for each point")
    comments = [entry for entry in lines[: lines.index(plain[0])] if entry[1].startswith("#")]
    if _numeric(_split(plain[0][1])) and comments:
        plain = [(comments[-1][0], comments[-1][1].lstrip("# ")), *plain]
    names = _split(plain[0][1])
    if _numeric(names) or len(set(names)) < len(names):
        fault = "has numbers where names are expected" if _numeric(names) else "has a name twice"
        raise SafeNetError(
            f"{path}, line {plain[0][0]}: the header {fault}", "write the names first, e.g. x,t,u"
        )
    rows = [_row(path, number, _split(line), names) for number, line in plain[1:]]
    return {name: np.array([row[i] for row in rows], dtype=float) for i, name in enumerate(names)}


def _split(line: str) -> list[str]:
    delimiter = max(DELIMITERS, key=line.count)
    cells = next(csv.reader([line], delimiter=delimiter)) if delimiter in line else line.split()
    return [cell.strip() for cell in cells]


def _numeric(cells: list[str]) -> bool:
    return all(_number(cell) is not None for cell in cells)


def _number(cell: str) -> float | None:
    try:
        return float(cell) if cell else float("nan")
    except ValueError:
        return None


def _row(path: Path, number: int, cells: list[str], names: list[str]) -> list[float]:
    if len(cells) != len(names):
        raise SafeNetError(
            f"{path}, line {number}: {len(cells)} cells for {len(names)} columns ({', '.join(names)})",
            "every line needs as many cells as the first",
        )
    values = [_number(cell) for cell in cells]
    for name, cell, value in zip(names, cells, values, strict=True):
        if value is None:
            raise SafeNetError(
                f"{path}, line {number}: {cell!r} in the column {name} is not a number",
                "write 0.5, not 0,5; leave out lines without a value",
            )
    return values  # type: ignore[return-value]
