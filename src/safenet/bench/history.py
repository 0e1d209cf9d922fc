"""A run's curves, thinned to a few hundred points and compressed: what a plot can show, in a few kilobytes."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

POINTS = 200


def thinned(history: np.ndarray, points: int = POINTS) -> np.ndarray:
    """At most `points` rows, the first and the last among them: half of them evenly, half ever closer to the start."""
    n = len(history)
    if n <= points:
        return history
    half = points // 2
    places = np.concatenate([np.linspace(0, n - 1, half), np.geomspace(1, n, half) - 1])
    return history[np.unique(places.round().astype(int))]


def packed(loss: np.ndarray, error: Sequence[Sequence[float]] = ()) -> bytes:
    """`loss` (iteration, total, terms…) and `error` (iteration, L2RE) as one compressed .npz in single precision."""
    stream = io.BytesIO()
    curve = np.asarray(error, dtype=float).reshape(-1, 2)
    # float32 holds iterations to 1.6e7; a loss beyond its range is infinite, as good as diverged.
    with np.errstate(over="ignore"):
        np.savez_compressed(
            stream, loss=thinned(loss).astype(np.float32), error=thinned(curve).astype(np.float32)
        )
    return stream.getvalue()


def unpacked(data: bytes | None) -> dict[str, np.ndarray]:
    if data is None:
        return {"loss": np.empty((0, 2)), "error": np.empty((0, 2))}
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
