"""Arrays as .npz, everything else as JSON; written beside and renamed, so a file is either old or new, never half.

No pickle: a folder from a stranger can be opened safely, and a folder from last year can be read by eye.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import SafeNetError

SAVE_EVERY = 3.0  # seconds: what a kill may cost


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


def pack(arrays: dict[str, Any], facts: dict[str, Any]) -> bytes:
    """One .npz with the arrays and, under `facts`, a JSON text."""
    stream = io.BytesIO()
    text = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    named: dict[str, Any] = {"facts": text, **{name: np.asarray(array) for name, array in arrays.items()}}
    if any(array.dtype.hasobject for array in named.values()):
        raise ValueError("only numbers are packed: an array of objects would need pickle")
    np.savez(stream, **named)
    return stream.getvalue()


def unpack(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as data:
            arrays = {name: data[name] for name in data.files}
        facts = json.loads(arrays.pop("facts").tobytes().decode())
    except FileNotFoundError:
        raise SafeNetError(f"{path} does not exist") from None
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as problem:
        raise SafeNetError(f"{path} is not a file of this program or is damaged: {problem}") from None
    return arrays, facts


def leaves(tree: Any) -> dict[str, Any]:
    """The arrays of a pytree under the names a0, a1, …"""
    return {f"a{i}": leaf for i, leaf in enumerate(jax.tree.leaves(eqx.filter(tree, eqx.is_array_like)))}


def fill(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The same pytree with the arrays put back."""
    dynamic, static = eqx.partition(tree, eqx.is_array_like)
    old, structure = jax.tree.flatten(dynamic)
    if len(old) != len(arrays) or any(np.shape(o) != arrays[f"a{i}"].shape for i, o in enumerate(old)):
        raise SafeNetError("the saved arrays do not fit the network they belong to")
    new = [
        arrays[f"a{i}"] if isinstance(o, np.ndarray) else jnp.asarray(arrays[f"a{i}"])
        for i, o in enumerate(old)
    ]
    return eqx.combine(jax.tree.unflatten(structure, new), static)
