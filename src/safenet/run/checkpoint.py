"""Arrays as .npz, everything else as JSON; written under another name and renamed, so a file is never half-written.

No pickle: a folder from a stranger can be opened safely, and a folder from last year can be read by eye.
"""

from __future__ import annotations

import io
import json
import math
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SafeNetError, SafeNetWarning, printable
from ..trees import Tree, filled, tree_leaves

SAVE_EVERY = 3.0  # seconds between checkpoints: the work that a kill may lose
# Largest JSON file and archive, in bytes. Our archives are not compressed; a compressed one may grow to MOST_INFLATED.
MOST_TEXT, MOST_ARRAYS, MOST_INFLATED = 2**26, 2**34, 2**26


def write_atomically(path: Path, data: bytes) -> None:
    """All of `data` or nothing: a crash in the middle leaves the former file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_checkpoint(path: Path, data: bytes) -> None:
    """The same for a file that a run can do without: on a full disk it warns and goes on."""
    try:
        write_atomically(path, data)
    except OSError as obstacle:
        warnings.warn(
            f"cannot write {path}: {obstacle.strerror}; the run continues, but cannot be resumed from here",
            SafeNetWarning,
            stacklevel=2,
        )


def pack(arrays: dict[str, Any], facts: dict[str, Any]) -> bytes:
    """One .npz with the arrays and, under `facts`, a JSON text."""
    stream = io.BytesIO()
    text = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    named: dict[str, Any] = {"facts": text, **{name: np.asarray(array) for name, array in arrays.items()}}
    if any(array.dtype.hasobject for array in named.values()):
        raise ValueError("only numbers are packed: an array of objects would need pickle")
    np.savez(stream, **named)
    return stream.getvalue()


def contents(path: Path, most: int = MOST_TEXT) -> bytes:
    """The bytes of a regular file. Others are refused: a pipe might never answer, a device has no end."""
    if not path.exists():
        raise SafeNetError(f"{path} does not exist")
    if not path.is_file():
        raise SafeNetError(f"{path} is not a regular file")
    if path.stat().st_size > most:
        raise SafeNetError(f"{path} is larger than {most // 2**20} MiB")
    return path.read_bytes()


def unpack(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `pack` wrote. Sizes are checked against the file's before any array is made: a header may claim 16 GiB."""
    data = contents(path, most=MOST_ARRAYS)
    try:
        arrays = unpacked(data)
        facts = json.loads(arrays.pop("facts").tobytes().decode())
        if not isinstance(facts, dict):
            raise ValueError("its metadata is not a JSON object")
    except Exception as problem:  # whatever zipfile, NumPy and JSON raise for a damaged file
        reason = printable(f"{type(problem).__name__}: {problem}"[:200])
        raise SafeNetError(f"{path} is not a file of this program or is damaged ({reason})") from None
    return arrays, facts


def unpacked(data: bytes) -> dict[str, np.ndarray]:
    """The arrays of an .npz, checked not to be larger than the archive allows."""
    if not data.startswith(b"PK"):  # zipfile accepts bytes before an archive
        raise ValueError("it does not begin as an archive")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > max(len(data), MOST_INFLATED):
            raise ValueError("its arrays are larger than the file allows")
        found: dict[str, np.ndarray] = {}
        for member in members:
            with archive.open(member) as stream:
                found[member.filename.removesuffix(".npy")] = _array(stream.read(member.file_size + 1))
    return found


def _array(data: bytes) -> np.ndarray:
    """One .npy of numbers, whose header must claim exactly the bytes that follow it."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, in_columns, dtype = read(stream)
    if dtype.kind not in "biufc" or min(shape, default=0) < 0:
        raise ValueError("an array is not of numbers")
    count = math.prod(shape)
    if count * dtype.itemsize != len(data) - stream.tell():
        raise ValueError("the size of an array does not match its header")
    array = np.frombuffer(data, dtype, count, stream.tell())
    # A copy, because the buffer is read-only.
    return np.array(array.reshape(shape, order="F" if in_columns else "C"))


def leaves(tree: Any) -> dict[str, Any]:
    """The arrays of a pytree under the names a0, a1, …"""
    if isinstance(tree, Tree):
        return {f"a{i}": leaf for i, leaf in enumerate(tree_leaves(tree))}
    import equinox as eqx
    import jax

    return {f"a{i}": leaf for i, leaf in enumerate(jax.tree.leaves(eqx.filter(tree, eqx.is_array_like)))}


def fill(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The same pytree with the arrays put back."""
    if isinstance(tree, Tree):
        return filled(tree, iter(_fitting(list(tree_leaves(tree)), arrays)))
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    dynamic, static = eqx.partition(tree, eqx.is_array_like)
    old, structure = jax.tree.flatten(dynamic)
    new = [
        array if isinstance(o, np.ndarray) else jnp.asarray(array)
        for o, array in zip(old, _fitting(old, arrays), strict=True)
    ]
    return eqx.combine(jax.tree.unflatten(structure, new), static)


def _fitting(old: list[Any], arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The arrays a0, a1, …, checked to have the shapes of the old ones."""
    fits = len(old) == len(arrays) and all(
        f"a{i}" in arrays and np.shape(o) == arrays[f"a{i}"].shape for i, o in enumerate(old)
    )
    if not fits or any(
        np.iscomplexobj(arrays[f"a{i}"]) and not np.issubdtype(np.result_type(o), np.complexfloating)
        for i, o in enumerate(old)
    ):
        raise SafeNetError("the saved arrays do not fit the network they belong to")
    return [arrays[f"a{i}"] for i in range(len(old))]
