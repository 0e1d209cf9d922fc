"""file, mapping, data frame → named columns of numbers, with nan for what is masked."""

from __future__ import annotations

import csv
import math
import re
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SafeNetError, nearest

# What readers raise on a damaged file.
DAMAGED = (OSError, ValueError, EOFError, RuntimeError, csv.Error, zipfile.BadZipFile, zlib.error)
DELIMITERS = (",", ";", "\t")
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?")
THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+")
COMMAS = (
    "decimal commas are read only where semicolons, tabs or blanks separate the cells: write 0.5, not 0,5"
)


def columns_of(source: Any, ignore: Collection[str] = ()) -> dict[str, Any]:
    """The columns of a file, a mapping, a structured array, a data frame or an xarray data set, without `ignore`."""
    in_file = isinstance(source, (str, Path))
    columns = _read(Path(source), ignore) if in_file else _held(source)
    for name in ignore:
        if name not in columns:
            label = str(source) if in_file else "the data"
            raise SafeNetError(f"{label}: there is no column {name!r} to ignore", nearest(name, columns))
    return {name: column for name, column in columns.items() if name not in ignore}


def _held(source: Any) -> dict[str, Any]:
    """The columns of a Python object. Masks are kept: `floats` reads them."""
    if hasattr(source, "to_dataframe"):  # xarray: one row for each point of its grid
        source = source.to_dataframe().reset_index()
    if hasattr(source, "columns"):
        return {str(name): source[name] for name in source.columns}
    if isinstance(source, np.ndarray) and source.dtype.names:
        return {name: source[name] for name in source.dtype.names}
    if isinstance(source, Mapping):
        return {str(name): column for name, column in source.items()}
    raise SafeNetError(
        f"data cannot be a {type(source).__name__}",
        "give a file's name, a mapping {name: array}, a data frame, or the columns by name",
    )


def floats(column: Any, label: str) -> np.ndarray:
    """An array of float64, with nan for what is masked or missing; complex numbers are refused."""
    if hasattr(column, "isna"):  # a pandas column, whose NA is not a number
        column = np.ma.masked_array(column.to_numpy(), column.isna().to_numpy())
    missing = np.ma.getmaskarray(column) if np.ma.isMaskedArray(column) else None
    try:
        array = np.array(column if missing is None else np.ma.getdata(column))
        if np.iscomplexobj(array):
            raise SafeNetError(
                f"{label} has complex numbers",
                "give the real and the imaginary part as columns of their own",
            )
        return np.asarray(array if missing is None else np.where(missing, np.nan, array), dtype=float)
    except (TypeError, ValueError):
        raise SafeNetError(f"{label} is not made of numbers") from None


def _read(path: Path, ignore: Collection[str]) -> dict[str, Any]:
    if not path.is_file():
        raise missing(path, path.suffix)
    try:
        if path.suffix == ".npz":
            return _npz(path)
        return _parquet(path) if path.suffix in (".parquet", ".pq") else _csv(path, ignore)
    except DAMAGED as error:
        raise SafeNetError(f"cannot read {path}: {error}", "give a .csv, .npz or .parquet file") from None


def missing(path: Path, suffix: str) -> SafeNetError:
    """The error for a file that does not exist, with those beside it that have the suffix."""
    near = [entry.name for entry in path.parent.glob(f"*{suffix}")] if path.parent.is_dir() else []
    return SafeNetError(f"there is no file {path}", nearest(path.name, near) if near else "")


def _npz(path: Path) -> dict[str, np.ndarray]:
    with path.open("rb") as stream:  # np.load(path) leaves a damaged file open
        arrays = np.load(stream, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise SafeNetError(
                f"{path} is a single array without a name", "save it by np.savez(path, x=…, u=…)"
            )
        with arrays:
            return {name: arrays[name] for name in arrays.files}


def _parquet(path: Path) -> dict[str, np.ndarray]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise SafeNetError(f"{path} needs pyarrow", "pip install pyarrow, or save it as .csv") from None
    table = parquet.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def _csv(path: Path, ignore: Collection[str]) -> dict[str, np.ndarray]:
    """Names in the first line, then numbers; lines that begin with # are skipped, unless one holds the names."""
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
    rows = [(number, _cells(path, number, line, plain[0][1], names)) for number, line in plain[1:]]
    if _decimal_commas([cell for _, cells in rows for cell in cells]):
        rows = [(number, [cell.replace(",", ".") for cell in cells]) for number, cells in rows]
    read = [_row(path, number, cells, names, ignore) for number, cells in rows]
    return {name: np.array([row[i] for row in read], dtype=float) for i, name in enumerate(names)}


def _split(line: str, like: str | None = None) -> list[str]:
    """The cells of a line, split at its own delimiter or at that of the line `like`."""
    pattern = line if like is None else like
    delimiter = max(DELIMITERS, key=pattern.count)
    cells = next(csv.reader([line], delimiter=delimiter)) if delimiter in pattern else line.split()
    return [cell.strip() for cell in cells]


def _cells(path: Path, number: int, line: str, header: str, names: list[str]) -> list[str]:
    """The cells of a line, split at the header's delimiter, or at its own if only that gives numbers."""
    found = [_split(line, header), _split(line)]
    fitting = [cells for cells in found if len(cells) == len(names)]
    if not fitting:
        count = len(found[1])
        commas = f"; {COMMAS}" if count > len(names) and "," in line else ""
        raise SafeNetError(
            f"{path}, line {number}: {count} cells for {len(names)} columns ({', '.join(names)})",
            f"every line needs as many cells as the first{commas}",
        )
    return next((cells for cells in fitting if all(map(_like_a_number, cells))), fitting[0])


def _like_a_number(cell: str) -> bool:
    return _number(cell) is not None or DECIMAL_COMMA.fullmatch(cell) is not None


def _decimal_commas(cells: list[str]) -> bool:
    """Whether all commas must be decimal ones: no cell has a point, and not all can separate thousands."""
    commas = [cell for cell in cells if "," in cell]
    return (
        all(DECIMAL_COMMA.fullmatch(cell) for cell in commas)
        and not any("." in cell for cell in cells)
        and not all(THOUSANDS.fullmatch(cell) for cell in commas)
    )


def _numeric(cells: list[str]) -> bool:
    return all(_number(cell) is not None for cell in cells)


def _number(cell: str) -> float | None:
    if "_" in cell:  # Python reads 1_000
        return None
    try:
        return float(cell) if cell else float("nan")
    except ValueError:
        return None


def _row(path: Path, number: int, cells: list[str], names: list[str], ignore: Collection[str]) -> list[float]:
    values = [math.nan if name in ignore else _number(cell) for name, cell in zip(names, cells, strict=True)]
    for name, cell, value in zip(names, cells, values, strict=True):
        if value is None:
            comma = f"{COMMAS}; " if "," in cell else ""
            raise SafeNetError(
                f"{path}, line {number}: {cell!r} in the column {name} is not a number",
                f'{comma}leave out lines without a value; a column that is not needed: ignore = ["{name}"]',
            )
    return values  # type: ignore[return-value]
