"""Σ (x_i y_{i+1} − x_{i+1} y_i)/2, the area of a polygon, and whether two of its sides meet."""

from __future__ import annotations

import numpy as np

from .edges import Point


def signed_area(vertices: tuple[Point, ...]) -> float:
    """Positive if the vertices run counterclockwise; loops of opposite direction cancel."""
    x, y = (np.asarray(vertices) - np.mean(vertices, axis=0)).T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) / 2)


def meeting(vertices: tuple[Point, ...], rounding: float) -> Point | None:
    """A place where two sides cross, touch or fold back on each other; None for a simple polygon.

    Sides p + s d and q + t e meet where s = (q − p) × e / d × e and t = (q − p) × d / d × e are both in [0, 1].
    """
    start = np.asarray(vertices, dtype=float)
    along = np.roll(start, -1, axis=0) - start
    slack = rounding * float(np.abs(along).max())
    count = len(start)
    for i in range(count):
        # Each pair once; neighbours share a corner, where only folding back is a fault.
        others = np.arange(i + 1, count)
        next_to = (others == i + 1) | ((i == 0) & (others == count - 1))
        place = _apart(start[i], along[i], start[others[~next_to]], along[others[~next_to]], slack)
        for j in others[next_to]:
            place = place or _folded(start[i], along[i], along[j], j == i + 1, slack)
        if place is not None:
            return place
    return None


def _apart(
    p: np.ndarray, d: np.ndarray, q: np.ndarray, e: np.ndarray, slack: float
) -> tuple[float, float] | None:
    """Where one side meets a side that is not its neighbour."""
    between, (size, sizes) = q - p, (np.hypot(*d), np.hypot(*e.T))
    turn = d[0] * e[:, 1] - d[1] * e[:, 0]
    crossed = np.abs(turn) > 1e-14 * size * sizes
    unit = np.where(crossed, turn, 1.0)
    s = (between[:, 0] * e[:, 1] - between[:, 1] * e[:, 0]) / unit
    t = (between[:, 0] * d[1] - between[:, 1] * d[0]) / unit
    near, far = slack / size, slack / sizes
    meets = crossed & (s >= -near) & (s <= 1 + near) & (t >= -far) & (t <= 1 + far)
    # Parallel sides meet where they lie on one line and overlap along it.
    aside = np.abs(between[:, 0] * d[1] - between[:, 1] * d[0]) / size
    first, last = between @ d / size**2, (between + e) @ d / size**2
    overlaps = (np.minimum(first, last) <= 1 + near) & (np.maximum(first, last) >= -near)
    s = np.where(crossed, s, np.clip(first, 0, 1))
    found = np.flatnonzero(meets | (~crossed & (aside <= slack) & overlaps))
    if not found.size:
        return None
    x, y = p + np.clip(s[found[0]], 0, 1) * d
    return float(x), float(y)


def _folded(p: np.ndarray, d: np.ndarray, e: np.ndarray, after: bool, slack: float) -> Point | None:
    """The corner of two neighbouring sides if one runs back along the other."""
    back = abs(d[0] * e[1] - d[1] * e[0]) <= slack * max(np.hypot(*d), np.hypot(*e)) and d @ e < 0
    x, y = p + d if after else p
    return (float(x), float(y)) if back else None
