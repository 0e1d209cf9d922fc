"""max|u|, max|u_t| and max|∇u| early and at the end of a march: did the solution end, or did the method fail?

A solution that blows up changes ever faster and grows; one that steepens into a jump changes ever faster without
growing. Either way the slabs get ever shorter, and no other method gets past that point. A solution that was zero to
all digits and then grows without bound may be nothing but error that the problem amplifies: ε exp(1000 t).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fields.cells import CellForm
from ..fields.field import jets, values
from ..measure.heldout import interior_points
from ..problem import Problem
from ..problem.facts.conservation import vanishing_diffusion
from ..problem.facts.narrow import narrow
from ..problem.jets import along
from .thresholds import EARLIER, FASTER, GROWN, GROWS_FROM, INSIDE, NARROW, NEAR, NOTHING


def failure(problem: Problem, form: Any, t: float, failed: str = "no time step succeeds") -> tuple[str, bool]:
    """Why nothing from t on succeeds, and whether the solution itself ends there; `failed` says what was tried."""
    if degenerate := edges(problem, t):
        return degenerate, False
    unclear = f"{failed} at t = {t:.4g}; the solution may not exist beyond this time"
    axis = problem.axes[-1]
    # A narrow pulse also makes u grow out of nothing.
    if form is None or t <= axis.lo or narrow(problem).cuts[-1]:
        if t <= axis.lo and not all(map(problem.time_order, problem.unknowns)):
            still = next(name for name in problem.unknowns if not problem.time_order(name))
            why = f"{still} has no time derivative, and this solver converges poorly if walls surround it"
            return f"Newton's method does not converge on the first slab: {why}", False
        return unclear, False
    hair = INSIDE * axis.length  # a march has values only inside its slabs
    start, middle, (large, fast, steep) = (
        _largest(problem, form, s) for s in (axis.lo + hair, (axis.lo + t) / 2, t - hair)
    )
    size, rate, slope = map(max, start, middle)  # the start alone may be zero
    if not fast > FASTER * rate:
        return unclear, False

    def before(share: float) -> str:
        return f"solve to an earlier end, e.g. {axis.name} = [{axis.lower}, {axis.lo + share * (t - axis.lo):.3g}]"

    fields = " and ".join(problem.unknowns)
    if large > GROWN * size:
        place = _out_of_nothing(problem, form, t - hair, NOTHING * size)
        if place:
            told = f"{place} {fields} grew from below the solver's accuracy to {large:.2g} by t = {t:.4g}"
            return f"{told}: this may be amplified numerical error; {before(0.5)}", True
        sizes = " or ".join(f"|{name}|" for name in problem.unknowns)
        # In the first half: the larger of the values at its beginning and its end.
        grown = f"{size:.2g} in the first half of that time, {large:.2g} at the end"
        return (
            f"the solution seems to blow up near t = {t:.4g}: the largest {sizes} is {grown} (its rate of change "
            f"{rate:.2g} and {fast:.2g}); {before(EARLIER)}",
            True,
        )
    if steep > FASTER * slope:
        steeper = f"its slope has grown from {slope:.2g} to {steep:.2g}"
        remedy = f"{before(EARLIER)}, or add a little diffusion"
        return f"{fields} seems to steepen into a jump near t = {t:.4g}: {steeper}; {remedy}", True
    return unclear, False


def edges(problem: Problem, t: float) -> str:
    """Why a march stops where the diffusion coefficient vanishes; "" if it does not vanish."""
    name = vanishing_diffusion(problem)
    if name is None:
        return ""
    return (
        f"the march stops at t = {t:.4g}: the diffusion of {name} vanishes at a part of the initial values, so {name} "
        f"has edges with broken slopes, which no polynomial resolves; keep it positive, e.g. add 1e-3*{name}_xx, and "
        "make that smaller while the answer changes"
    )


def _largest(problem: Problem, form: Any, t: float) -> tuple[float, float, float]:
    """max|u|, max|u_t|, max|∂u/∂x| at time t."""
    points = interior_points(problem)
    points[:, -1] = t
    axes = len(problem.axes)
    value, slopes = (0,) * axes, [along(i, axes) for i in range(axes)]
    found = {orders: float(np.abs(jet).max()) for orders, jet in jets(form, points, [value, *slopes]).items()}
    *space, rate = (found[orders] for orders in slopes)
    return found[value], rate, max(space, default=0.0)


def _out_of_nothing(problem: Problem, form: Any, t: float, small: float) -> str:
    """«near x = 4.2»: where |u| is largest at time t, if it was below `small` there after an eighth of that time."""
    points = interior_points(problem)
    points[:, -1] = t
    size = np.abs(values(form, points))
    row, field = np.unravel_index(int(size.argmax()), size.shape)
    there = points[row : row + 1].copy()
    there[:, -1] += (problem.axes[-1].lo - t) * (1 - GROWS_FROM)
    if len(problem.axes) == 1 or np.abs(values(form, there))[0, field] > small:
        return ""
    names = problem.axis_names[:-1]
    return "near " + ", ".join(f"{name} = {x:.3g}" for name, x in zip(names, there[0], strict=False))


def jump(problem: Problem, slab: CellForm, count: int) -> str:
    """The reason to give up after `count` of the shortest slabs in a row: u jumps where the cells are narrowest."""
    if degenerate := edges(problem, float(slab.cells[0][-1][0])):
        return degenerate
    axis, fields = problem.axes[0], " and ".join(problem.unknowns)
    ends = np.array([cell[0] for cell in slab.cells])
    width = ends[:, 1] - ends[:, 0]
    narrow = np.sort(ends[width <= NARROW * width.min()].mean(axis=1))
    places = np.split(narrow, np.flatnonzero(np.diff(narrow) > NEAR * axis.length) + 1)
    listing = ", ".join(f"{place.mean():.3g}" for place in places[:3])
    return (
        f"no progress after {count} of the shortest slabs in a row: at t = {slab.cells[0][-1][0]:.4g} {fields} "
        f"seems to jump near {axis.name} = {listing}; smooth the data, or add a little diffusion"
    )
