"""A run's curves, thinned to a few hundred points and compressed: what a plot can show, in a few kilobytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..run.checkpoint import unpacked as arrays_of

POINTS = 200


def thinned(history: np.ndarray) -> np.ndarray:
    """At most POINTS rows, with the first and the last: half evenly spaced, half geometrically from the start."""
    n = len(history)
    if n <= POINTS:
        return history
    half = POINTS // 2
    places = np.concatenate([np.linspace(0, n - 1, half), np.geomspace(1, n, half) - 1])
    kept: np.ndarray = history[np.unique(places.round().astype(int))]
    return kept


def packed(loss: np.ndarray, error: Sequence[Sequence[float]] = (), **others: Any) -> bytes:
    """`loss` (iteration, total, terms…), `error` (iteration, L2RE) and other curves as one compressed .npz.

    In single precision, exact for iterations up to 1.6e7; a value beyond its range becomes ∞, as if it had diverged.
    """
    curves = {"loss": loss, "error": np.asarray(error, dtype=float).reshape(-1, 2), **others}
    stream = io.BytesIO()
    with np.errstate(over="ignore"):
        single: dict[str, Any] = {
            name: thinned(np.asarray(curve)).astype(np.float32) for name, curve in curves.items()
        }
    np.savez_compressed(stream, **single)
    return stream.getvalue()


def unpacked(data: bytes | None) -> dict[str, np.ndarray]:
    nothing = {name: np.empty((0, 2)) for name in ("loss", "error", "gradient")}
    if data is None:
        return nothing
    return nothing | arrays_of(data)
