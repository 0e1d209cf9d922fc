"""∮ c u_n + ∫ (w·∇u + e u − g) = 0 over boxes that no solver has seen: a balance that jumps of c do not disturb."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fields.basis import gauss_legendre
from ..fields.field import values
from ..problem import Problem
from ..problem.evaluate import evaluate
from ..problem.facts.jumping import weak
from ..problem.facts.structure import breaks
from .points import coordinates
from .relative import ratio

BOXES, GAUSS, SEED = 16, 4, 20_231
LEAST = 24  # segments of a side, to which breaks add more


def imbalance(problem: Problem, field: Any) -> float:
    """The imbalance of a plane problem relative to what flows, both as root mean squares."""
    c, w, e = weak(problem)
    source = problem.value(problem.equations[0].source)
    rng, lacks, flows = np.random.default_rng(SEED), [], []
    for _ in range(BOXES):
        ends = [axis.lo + axis.length * np.sort(rng.random(2)) for axis in problem.axes]
        lines = [
            _segments(float(pair[0]), float(pair[1]), np.array(cuts))
            for pair, cuts in zip(ends, breaks(problem), strict=True)
        ]
        total = flow = 0.0
        for i in range(2):
            ticks, weights = lines[1 - i]
            slope = (int(i == 0), int(i == 1))
            for sign, at in zip((-1, 1), ends[i], strict=True):
                points = np.empty((len(ticks), 2))
                points[:, i], points[:, 1 - i] = at, ticks
                through = _value(problem, c[i], points) * values(field, points, slope)[:, 0]
                total += sign * float(weights @ through)
                flow += float(weights @ np.abs(through))
        mesh = np.stack([m.ravel() for m in np.meshgrid(lines[0][0], lines[1][0], indexing="ij")], axis=1)
        inside = -_value(problem, source, mesh)
        for factor, orders in ((e, (0, 0)), (w[0], (1, 0)), (w[1], (0, 1))):
            if factor != 0:
                inside = inside + _value(problem, factor, mesh) * values(field, mesh, orders)[:, 0]
        lacks.append(total + float(np.outer(lines[0][1], lines[1][1]).ravel() @ inside))
        flows.append(flow)
    return ratio(lacks, flows)


def _segments(low: float, high: float, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss points and weights in every segment between the ends and the breaks."""
    inner = cuts[(cuts > low) & (cuts < high)]
    line = np.unique(np.concatenate([np.linspace(low, high, LEAST + 1), inner]))
    nodes, weights = gauss_legendre(GAUSS)
    half = np.diff(line)[:, None] / 2
    return (line[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


def _value(problem: Problem, expression: Any, points: np.ndarray) -> np.ndarray:
    found = evaluate(expression, coordinates(problem, points), np)
    return np.broadcast_to(np.asarray(found, float), len(points))
