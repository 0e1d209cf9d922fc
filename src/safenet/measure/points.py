"""x_i ~ the domain, x_j ~ each face or piece of its boundary: collocation points, drawn once per seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sympy as sp

from ..errors import SafeNetError, nearest
from ..problem import Condition, Problem
from ..problem.geometry.body import points_inside, points_on
from ..problem.jets import Place, coordinate
from .thresholds import CLOSE

# (count, dimensions, generator) -> points of the unit cube
Sampler = Callable[[int, int, np.random.Generator], np.ndarray]
Draw = Callable[[int, int], np.ndarray]

FRESH = "fresh"  # uniform, and drawn anew for the equations at every step of Adam
SAMPLERS: dict[str, Sampler] = {
    "uniform": lambda count, axes, random: random.random((count, axes)),
    FRESH: lambda count, axes, random: random.random((count, axes)),
    "latin": lambda count, axes, random: _latin(count, axes, random),
    "sobol": lambda count, axes, random: _sobol(count, axes, random),
}


def _latin(count: int, axes: int, random: np.random.Generator) -> np.ndarray:
    return np.asarray(scipy.stats.qmc.LatinHypercube(axes, rng=random).random(count))


def _sobol(count: int, axes: int, random: np.random.Generator) -> np.ndarray:
    """The first `count` of 2^m scrambled Sobol points: a whole power of two keeps the sequence balanced."""
    power = max(0, int(np.ceil(np.log2(max(count, 1)))))
    return np.asarray(scipy.stats.qmc.Sobol(axes, rng=random).random_base2(power)[:count])


@dataclass(frozen=True)
class Points:
    """`interior` (n, axes), and for each condition (m, axes), where only its free axes count; on a named piece the
    components of the outward normal follow as further columns."""

    interior: np.ndarray
    conditions: tuple[np.ndarray, ...]


def sample(problem: Problem, interior: int, condition: int, sampler: str, seed: int) -> Points:
    """`interior` points in the domain and `condition` on each condition's place (one where all axes are fixed)."""
    if sampler not in SAMPLERS:
        raise SafeNetError(f"there is no sampler {sampler!r}", nearest(sampler, SAMPLERS))
    # One random stream per place: more points inside do not move those on the faces.
    streams = [np.random.default_rng([seed, i]) for i in range(1 + len(problem.conditions))]
    draws = [_draw(SAMPLERS[sampler], stream) for stream in streams]
    every = tuple(range(len(problem.axes)))
    return Points(
        inside(problem, every, interior, draws[0]),
        tuple(
            on_condition(problem, place, condition if place.free else 1, draw)
            for place, draw in zip(problem.conditions, draws[1:], strict=True)
        ),
    )


def check_points(problem: Problem, points: np.ndarray | None) -> None:
    """Raise unless the user's own points, if given, have a column for each axis and are in the domain."""
    if points is None:
        return
    if points.ndim != 2 or points.shape[1] != len(problem.axes):
        raise SafeNetError(
            f"the points are an array of shape {points.shape}",
            f"give a row for each point, with a column for each of {', '.join(problem.axis_names)}",
        )
    low, high = np.array([axis.bounds for axis in problem.axes]).T
    slack = CLOSE * (high - low)
    outside = ((points < low - slack) | (points > high + slack)).any(axis=1)
    outside |= ~problem.contains(points, float(slack.max()))
    if outside.any():
        first = ", ".join(
            f"{axis} = {x:.4g}" for axis, x in zip(problem.axis_names, points[outside][0], strict=True)
        )
        raise SafeNetError(
            f"{outside.sum()} of {len(points)} points are outside the domain, such as {first}",
            "leave them out",
        )


def _draw(sampler: Sampler, random: np.random.Generator) -> Draw:
    return lambda count, columns: sampler(count, columns, random)


def coordinates(problem: Problem, points: np.ndarray) -> dict[sp.Symbol, Any]:
    """{symbol: column of the points}, for the axes and, on a named piece, for its normals."""
    names = [*(axis.symbol for axis in problem.axes), *map(coordinate, problem.normals)]
    return dict(zip(names, points.T, strict=False))


def moved(problem: Problem, points: np.ndarray, place: Place) -> np.ndarray:
    """The points without normals, with the values of a place along the axes that it fixes."""
    if all(fixed is None for fixed in place):
        return points if points.shape[1] == len(place) else points[:, : len(place)]
    at = points[:, : len(place)].copy()
    for i, fixed in enumerate(place):
        if fixed is not None:
            at[:, i] = float(problem.value(fixed))
    return at


def inside(problem: Problem, free: Sequence[int], count: int, draw: Draw) -> np.ndarray:
    """Points of the domain, uniform along the `free` axes; the others stay at their lower ends."""
    low = np.array([axis.lo for axis in problem.axes])
    length = np.array([axis.length for axis in problem.axes])
    points = np.tile(low, (count, 1))
    region = problem.region
    if region is None or not set(range(region.dimension)) <= set(free):
        points[:, list(free)] += length[list(free)] * draw(count, len(free)) if free else 0.0
        return points
    # In space by rejection; time, if it is free, from further columns of the same sequence.
    d = region.dimension
    rest = [axis for axis in free if axis >= d]
    kept = points_inside(region, count, draw, (tuple(low[:d]), tuple((low + length)[:d])), len(rest))
    points[:, :d] += length[:d] * kept[:, :d]
    points[:, rest] += length[rest] * kept[:, d:]
    return points


def on_condition(problem: Problem, place: Condition, count: int, draw: Draw) -> np.ndarray:
    """Points of a condition; on a named piece, the normals follow as further columns."""
    if not place.piece:
        return inside(problem, place.free, count, draw)
    region = problem.region
    assert region is not None
    rest = problem.axes[region.dimension :]
    points, normals, unit = points_on(region, place.piece, count, draw, len(rest))
    later = [axis.lo + axis.length * unit[:, i] for i, axis in enumerate(rest)]
    return np.column_stack([points, *later, normals])
