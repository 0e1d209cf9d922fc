"""‖v − u‖/‖u‖ over points, (points, fields): for each field by itself, then for all together."""

from __future__ import annotations

import numpy as np

TINY = 1e-300  # the least denominator: a quotient by zero is large, and nothing is raised


def ratio(part: np.ndarray | list[float], whole: np.ndarray | list[float]) -> float:
    """‖part‖/‖whole‖."""
    return float(np.linalg.norm(part) / max(float(np.linalg.norm(whole)), TINY))


def relative(difference: np.ndarray, values: np.ndarray) -> np.ndarray:
    """‖difference‖/‖values‖ of each field, then of all; a field that is zero everywhere is scaled by the largest."""
    return shares(
        np.linalg.norm(difference, axis=0), np.linalg.norm(values, axis=0), ratio(difference, values)
    )


def shares(parts: np.ndarray, wholes: np.ndarray, together: float) -> np.ndarray:
    """parts/wholes for each field, followed by the quotient of all fields `together`."""
    scale = np.where(wholes > 0, wholes, max(float(wholes.max()), TINY))
    return np.array([*(parts / scale), together])
