"""∫ c u_t dV = ∫ g dV + ∮ a u_n dS over boxes in the domain: what is conserved, with first derivatives only.

With quadratic tetrahedra, second derivatives at points are wrong by half where values have three correct digits; the
flux through the sides of any box, wherever the cells are, also has two or three if the solution is right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ..fields.basis import gauss_legendre
from ..fields.field import jets, values, volume
from ..problem import Problem
from ..problem.evaluate import evaluate
from ..problem.jets import along
from ..problem.weak_form import Weak, weak_form
from .points import coordinates, inside
from .relative import TINY
from .thresholds import SMOOTH

BOXES = 64
DRAWN = 8  # times as many are drawn, of which the wide ones are used
NARROW = 0.05  # half of a box, of the domain: nearer to the boundary only the conditions are measured
NODES = 5  # Gauss points along each axis of a box
SEED = 20_233


def box_balances(problem: Problem, field: Any) -> tuple[float, ...]:
    """For each equation the imbalance of boxes (RMS), relative to the largest part of a balance: the net flux along an
    axis, which corresponds to u_xx at a point, or the source inside."""
    weak = weak_form(problem)
    middles, half = _boxes(problem, weak.space)
    x, w = gauss_legendre(NODES)
    missing = np.zeros((len(half), len(weak.tested)))
    sizes, gross = np.zeros_like(missing), np.zeros_like(missing)
    for axis in (None, *range(weak.space)):
        share = _products([np.ones(1) if i == axis else w for i in range(weak.space)]).prod(axis=1)
        parts = np.zeros_like(missing)
        for end in (0,) if axis is None else (-1, 1):
            unit = _products([np.array([float(end)]) if i == axis else x for i in range(weak.space)])
            points = np.repeat(middles, len(unit), axis=0)
            points[:, : weak.space] += (half[:, None, None] * unit).reshape(-1, weak.space)
            flows = _through(problem, weak, field, points, axis, end)
            # Divided by its volume a balance is a mean, so that boxes of all sizes count alike.
            scale = half ** -float(axis is not None)
            through = np.stack([scale * (flow.reshape(len(half), -1) @ share) for flow in flows], axis=1)
            parts += through
            gross += np.abs(through)
        missing += parts
        sizes = np.maximum(sizes, np.abs(parts))
    # For u = z the net flux along each axis is zero up to rounding; then the flux through single sides is the scale.
    sizes = np.maximum(sizes, SMOOTH * gross)
    sizes = np.maximum(sizes, sizes.mean(axis=0))
    return tuple(np.sqrt(np.mean((missing / np.maximum(sizes, TINY)) ** 2, axis=0)).tolist())


def _products(columns: list[np.ndarray]) -> np.ndarray:
    return np.stack([grid.ravel() for grid in np.meshgrid(*columns, indexing="ij")], axis=1)


def _boxes(problem: Problem, space: int) -> tuple[np.ndarray, np.ndarray]:
    """Scattered centres, and half the widths of the cubes that fit around them; of the narrow ones only the widest."""
    random = np.random.default_rng(SEED)
    middles = inside(problem, range(len(problem.axes)), DRAWN * BOXES, lambda *shape: random.random(shape))
    if problem.region is not None:
        half = -problem.region.signed_distance(middles[:, :space]) / np.sqrt(space)
    else:
        ends = zip(middles.T, problem.axes[:space], strict=False)
        half = np.min([np.minimum(m - axis.lo, axis.hi - m) for m, axis in ends], axis=0)
    across = (volume(problem) / np.prod([axis.length for axis in problem.axes[space:]])) ** (1 / space)
    wide = np.flatnonzero(half >= min(np.quantile(half, 1 - 1 / DRAWN), NARROW * across))
    return middles[wide[:BOXES]], np.asarray(half[wide[:BOXES]])


def _through(
    problem: Problem, weak: Weak, field: Any, points: np.ndarray, axis: int | None, end: int
) -> list[np.ndarray]:
    """a u_n at points of a side across `axis`; g − c u_t at points inside (`axis` None)."""
    d, time = weak.space, problem.time is not None
    orders = [along(i, d) for i in (None, *range(d))]
    found = jets(field, points, [(*order, 0)[: len(problem.axes)] for order in orders])
    columns = coordinates(problem, points)
    for (name, order), symbol in weak.jets.items():
        columns[symbol] = np.asarray(found[(*order, 0)[: len(problem.axes)]])[:, problem.unknowns.index(name)]
    flows = []
    for k, name in enumerate(weak.tested):
        expression: sp.Expr = weak.rows[k][0]
        if axis is not None:
            expression = end * weak.diffusion[k] * weak.jets[name, along(axis, d)]
        flow = np.broadcast_to(evaluate(expression, columns, np), len(points)).astype(float)
        if axis is None and time and weak.mass[k] != 0:
            rate = (*(0,) * d, 1)
            own = values(field, points, rate)[:, problem.unknowns.index(name)]
            flow = flow - evaluate(weak.mass[k], columns, np) * own
        flows.append(flow)
    return flows
