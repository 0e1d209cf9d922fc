"""∮ (u n_t + f·n) dS = ∫ s dV over boxes of space and time: what a solution with jumps satisfies.

At a jump, residuals at points mean nothing.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..fields.field import values
from ..problem import Problem
from ..problem.evaluate import evaluate
from ..problem.facts.conservation import Law, conservation
from ..problem.jets import along
from .points import coordinates
from .relative import TINY

BOXES = 24  # over which balances are taken
ALONG = {1: 400, 2: 40}  # axes of space → midpoints along each axis of a box's face
SEED = 20_232


def balances(problem: Problem, field: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """For each unknown that has a flux along all axes, the mean |balance| of boxes relative to the mean of its terms;
    and for each initial condition the mean |u − g| relative to the mean of all |g|."""
    law, rng = conservation(problem), np.random.default_rng(SEED)
    low = np.array([axis.lo for axis in problem.axes])
    length = np.array([axis.length for axis in problem.axes])
    left, sizes = [], []
    for _ in range(BOXES):
        ends = low + length * np.sort(rng.uniform(0, 1, (2, len(low))), axis=0)
        total, size = _balance(problem, law, field, *ends)
        left.append(np.abs(total))
        sizes.append(size)
    whole = [j for j in range(len(problem.unknowns)) if all(own[j] is not None for own in law.flux)]
    shares = np.mean(left, axis=0) / np.maximum(np.mean(sizes, axis=0), TINY)
    return tuple(float(shares[j]) for j in whole), _start(problem, law, field)


def _balance(
    problem: Problem, law: Law, field: Any, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """∮ (u n_t + f·n) dS − ∫ s dV of each unknown, and the sum of the sizes of its parts."""
    axes = len(lower)
    total, size = np.zeros(len(problem.unknowns)), np.zeros(len(problem.unknowns))
    for axis, end in product(range(axes), (0, 1)):
        points = _midpoints(lower, upper, ALONG[axes - 1], axis, (lower, upper)[end][axis])
        u, known = _known(problem, law, field, points)
        area = float(np.prod(np.delete(upper - lower, axis)))
        for j in range(len(total)):
            through: Any = u[:, j]
            if axis < axes - 1:
                flux = law.flux[axis][j]
                through = 0.0 if flux is None else evaluate(flux, known, np)
                through = (
                    np.broadcast_to(through, len(points))
                    - float(law.viscosity[axis][j]) * values(field, points, along(axis, axes))[:, j]
                )
            part = (2 * end - 1) * area * float(np.mean(through))
            total[j] += part
            size[j] += abs(part)
    points = _midpoints(lower, upper, ALONG[axes - 1] if axes == 2 else ALONG[2])
    _, known = _known(problem, law, field, points)
    for j, source in enumerate(law.source):
        part = float(np.prod(upper - lower) * np.mean(evaluate(source, known, np)))
        total[j] -= part
        size[j] += abs(part)
    return total, size


def _midpoints(
    lower: np.ndarray, upper: np.ndarray, count: int, fixed: int = -1, at: float = 0.0
) -> np.ndarray:
    ticks = [
        np.array([at]) if i == fixed else a + (b - a) * (np.arange(count) + 0.5) / count
        for i, (a, b) in enumerate(zip(lower, upper, strict=True))
    ]
    return np.stack([grid.ravel() for grid in np.meshgrid(*ticks, indexing="ij")], axis=1)


def _known(problem: Problem, law: Law, field: Any, points: np.ndarray) -> tuple[np.ndarray, dict[Any, Any]]:
    u = values(field, points)
    return u, {**coordinates(problem, points), **dict(zip(law.symbols, u.T, strict=True))}


def _start(problem: Problem, law: Law, field: Any) -> tuple[float, ...]:
    lower, upper = (np.array([getattr(axis, end) for axis in problem.axes]) for end in ("lo", "hi"))
    points = _midpoints(lower, upper, ALONG[len(lower) - 1], len(lower) - 1, lower[-1])
    u, known = _known(problem, law, field, points)
    given = np.stack([np.broadcast_to(evaluate(e, known, np), len(points)) for e in law.start], axis=1)
    size = max(float(np.mean(np.abs(given))), TINY)
    return tuple(float(gap) / size for gap in np.mean(np.abs(u - given), axis=0))
