"""u(x, y) = Σ_ab u_ab ℓ_a(ξ) ℓ_b(η): two steady flows, read from data and evaluated element by element.

Both solve  u·∇u + ∇p − Δu/100 = 0,  div u = 0.  The mesh is a grid of lines x_i, y_j, some of its cells
without fluid, so that finding the element of a point is a search in two sorted lists.  ℓ_a are the Lagrange
polynomials of the Gauss–Lobatto nodes.  `tests/reference/flow_solver.py` makes the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
from numpy.polynomial.legendre import Legendre, legvander
from numpy.typing import NDArray

from safenet.reference.reference import Array, Reference

DATA = Path(__file__).with_name("data")
# κ at the outlet in the public data of the back-step.
BACKFLOW = 1.5
# Coordinates computed in double precision miss the boundary by less than this; the smallest cells are 1e-6.
ROUNDING = 1e-12
# Where to look for the element of a point: at the point itself first.
NUDGES = sorted(product((0.0, -ROUNDING, ROUNDING), repeat=2), key=lambda nudge: sum(map(abs, nudge)))
# How many points one block may hold: a block carries all nodal values of one element for each.
BLOCK = 4096


@dataclass(frozen=True)
class Grid:
    """Cells [x_i, x_{i+1}] × [y_j, y_{j+1}], of which those with fluid[i, j] are elements."""

    x: Array
    y: Array
    fluid: NDArray[np.bool_]


@dataclass(frozen=True)
class Flow:
    """Nodal values of u, v (degree k) and p (degree k − 1) on the tensor grid of nodes, 0 without fluid."""

    grid: Grid
    u: Array
    v: Array
    p: Array


@cache
def lobatto(degree: int) -> Array:
    """±1 and the roots of P'_k, ascending: the nodes on which interpolation is stable."""
    inner = Legendre.basis(degree).deriv().roots()
    return np.concatenate([[-1.0], np.sort(inner.real), [1.0]])


def lagrange(degree: int, xi: Array) -> Array:
    """ℓ_a(ξ), one column per Gauss–Lobatto node."""
    return legvander(xi, degree) @ np.linalg.inv(legvander(lobatto(degree), degree))


def locate(grid: Grid, x: Array, y: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The element (i, j) of each point, or (−1, −1) where there is no fluid.

    A point that rounding has moved just past a wall belongs to the element on the inner side of that wall.
    """
    i, j = np.full(x.shape, -1), np.full(x.shape, -1)
    for dx, dy in NUDGES:
        column = np.searchsorted(grid.x, x + dx, side="right") - 1
        row = np.searchsorted(grid.y, y + dy, side="right") - 1
        inside = (column >= 0) & (column < len(grid.x) - 1) & (row >= 0) & (row < len(grid.y) - 1)
        found = (i < 0) & inside
        found[found] = grid.fluid[column[found], row[found]]
        i[found], j[found] = column[found], row[found]
    return i, j


def interpolate(grid: Grid, fields: dict[str, Array], x: Array, y: Array) -> dict[str, Array]:
    """Σ_ab f_ab ℓ_a(ξ) ℓ_b(η) for each field f, nan where there is no fluid."""
    shape = x.shape
    x, y = x.ravel(), y.ravel()
    values = {name: np.full(x.size, np.nan) for name in fields}
    i, j = locate(grid, x, y)
    inside = np.flatnonzero(i >= 0)
    for start in range(0, inside.size, BLOCK):
        points = inside[start : start + BLOCK]
        i_, j_ = i[points], j[points]
        xi = local_coordinate(grid.x, i_, x[points])
        eta = local_coordinate(grid.y, j_, y[points])
        for name, nodal in fields.items():
            k = (nodal.shape[0] - 1) // (len(grid.x) - 1)
            a = np.arange(k + 1)
            element_values = nodal[(i_[:, None] * k + a)[:, :, None], (j_[:, None] * k + a)[:, None, :]]
            values[name][points] = np.einsum(
                "pa,pb,pab->p", lagrange(k, xi), lagrange(k, eta), element_values
            )
    return {name: value.reshape(shape) for name, value in values.items()}


def local_coordinate(lines: Array, i: NDArray[np.intp], x: Array) -> Array:
    """ξ = 2(x − x_i)/(x_{i+1} − x_i) − 1, kept within [−1, 1] against rounding."""
    return np.clip(2 * (x - lines[i]) / (lines[i + 1] - lines[i]) - 1, -1.0, 1.0)


def values(flow: Flow, x: Array, y: Array) -> dict[str, Array]:
    """u, v and p at the points."""
    return interpolate(flow.grid, {"u": flow.u, "v": flow.v, "p": flow.p}, x, y)


@cache
def shipped(name: str) -> Flow:
    """The flow of data/NAME.npz."""
    with np.load(DATA / f"{name}.npz") as data:
        u, v, p = (data[field].astype(np.float64) for field in ("u", "v", "p"))
        return Flow(Grid(data["x"], data["y"], data["fluid"]), u, v, p)


def evaluate(name: str, singular: tuple[tuple[float, float], ...], x: Array, y: Array) -> dict[str, Array]:
    """u, v and p, nan outside; p is nan at the singular corners too, where the true one has no finite value.

    One such point would dominate any score on a grid, and its value depends on the mesh size, not on the flow.
    """
    fields = values(shipped(name), x, y)
    for corner_x, corner_y in singular:
        fields["p"][(np.abs(x - corner_x) <= ROUNDING) & (np.abs(y - corner_y) <= ROUNDING)] = np.nan
    return fields


def backstep(kappa: float = 0.0) -> Reference:
    """u·∇u + ∇p = Δu/100, div u = 0 on [0, 4] × [0, 2] without [0, 2] × [1, 2]; inlet u = 4y(1 − y), v = 0.

    No slip on the walls; at the outlet x = 4: v = 0 and p = κ min(u, 0), for κ = 0 or 3/2.  The vortex behind
    the step is longer than the channel, and the flow comes back in through the upper quarter of the outlet.
    κ = 0 allows this; κ = 3/2 suppresses it, as in the public data of this benchmark.

    p = 0 alone, without v = 0, is not well posed: two conditions are needed at each point of a boundary.

    Relative L2 errors, from `flow_solver`:  κ = 0: u 2e-6, v 6e-5, p 4e-5.  κ = 3/2: u 5e-6, v 7e-5, p 7e-5.
    At (2, 1) the velocity is like r^0.544 and the pressure like r^−0.456, so p at that very point is nan.
    """
    data = {0.0: "backstep", BACKFLOW: "backstep_suppressed"}
    if kappa not in data:
        raise ValueError(
            f"the back-step reference is made for kappa = 0 and kappa = {BACKFLOW}, not for {kappa}"
        )
    return Reference(
        evaluate=partial(evaluate, data[kappa], ((2.0, 1.0),)),
        accuracy=1e-5 if kappa == 0 else 2e-5,
        origin="Taylor–Hood elements of degree 6 and 5 on a grid graded to the corner, Newton's method; "
        "u, v and p together; v alone and p alone to 1e-4.",
    )


def cavity() -> Reference:
    """u·∇u + ∇p = Δu/100, div u = 0 on [0, 1]²; u = 4x(1 − x), v = 0 at y = 1, no slip elsewhere; p(0, 0) = 0.

    Relative L2 errors, from `flow_solver`: u 5e-7, v 7e-7, p 5e-6.  Near the lower corners the fluid is almost at
    rest and p is smooth, so that fixing it at a point makes sense.  At the upper corners the lid would stretch the
    fluid, which the wall prevents: p grows like log r, and is nan at those two points.
    """
    return Reference(
        evaluate=partial(evaluate, "cavity", ((0.0, 1.0), (1.0, 1.0))),
        accuracy=2e-6,
        origin="Taylor–Hood elements of degree 8 and 7 on a grid graded to the lid's corners, Newton's method; "
        "u, v and p together.",
    )
