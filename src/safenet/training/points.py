"""x_i ~ the box, x_j ~ each face: collocation points, drawn once per seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from ..errors import SafeNetError, nearest
from ..problem import Problem

# (count, dimensions, generator) -> points of the unit cube
Sampler = Callable[[int, int, np.random.Generator], np.ndarray]

SAMPLERS: dict[str, Sampler] = {
    "uniform": lambda count, axes, random: random.random((count, axes)),
    "latin": lambda count, axes, random: qmc.LatinHypercube(axes, rng=random).random(count),
    "sobol": lambda count, axes, random: _sobol(count, axes, random),
}


def _sobol(count: int, axes: int, random: np.random.Generator) -> np.ndarray:
    """The first `count` of 2^m scrambled Sobol points: a whole power of two keeps the sequence balanced."""
    power = max(0, int(np.ceil(np.log2(max(count, 1)))))
    return qmc.Sobol(axes, rng=random).random_base2(power)[:count]


@dataclass(frozen=True)
class Points:
    """`interior` (n, axes), and for each condition (m, axes), where only its free axes are meant."""

    interior: np.ndarray
    conditions: tuple[np.ndarray, ...]


def sample(problem: Problem, interior: int, condition: int, sampler: str, seed: int) -> Points:
    """`interior` points in the box and `condition` on each condition's face (one where all axes are fixed)."""
    if sampler not in SAMPLERS:
        raise SafeNetError(f"there is no sampler {sampler!r}", nearest(sampler, SAMPLERS))
    draw = SAMPLERS[sampler]
    # A stream per place: more points inside do not move those on the faces.
    streams = [np.random.default_rng([seed, i]) for i in range(1 + len(problem.conditions))]
    low = np.array([axis.lo for axis in problem.axes])
    length = np.array([axis.length for axis in problem.axes])
    inside = low + length * draw(interior, len(low), streams[0])
    faces = []
    for place, stream in zip(problem.conditions, streams[1:], strict=True):
        count = condition if place.free else 1
        points = np.tile(low, (count, 1))
        if place.free:
            free = list(place.free)
            points[:, free] += length[free] * draw(count, len(free), stream)
        faces.append(points)
    return Points(inside, tuple(faces))
