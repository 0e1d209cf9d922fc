"""u(x, y, t) → u(x, y, ·) at several t: which axes a picture draws, and where the others are held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ..errors import SafeNetError, nearest
from ..measure.scores import evaluate_network
from ..problem.language.names import Names
from ..solution import Solution

TIMES = 4  # pictures of a plane that changes in time
LAYERS = (0.25, 0.5, 0.75)  # of the third axis of a steady field in space
MOST = 12  # pictures side by side


@dataclass(frozen=True)
class Cut:
    """The axes that are drawn (one or two), and values for the others."""

    drawn: tuple[int, ...]
    held: dict[int, float]


def reached(solution: Solution, index: int) -> float:
    """The end of an axis; for time, the latest that a march has reached."""
    axis = solution.problem.axes[index]
    last = getattr(solution.field, "breaks", (axis.hi,))[-1]
    return float(min(axis.hi, last)) if axis.is_time else axis.hi


def cuts(solution: Solution, at: Mapping[str, Any]) -> list[Cut]:
    """Cuts that draw at most two axes. Axes in `at` are held there. If more remain, the last ones are held: time at
    several values, the third axis of a steady field in space in three layers, any other axis in its middle."""
    problem = solution.problem
    values: dict[int, list[float]] = {}
    for name, given in at.items():
        if name not in problem.axis_names:
            raise SafeNetError(f"{name!r} is not an axis", nearest(name, problem.axis_names))
        index = problem.axis(name)
        values[index] = [_within(problem.axes[index], value) for value in np.atleast_1d(given)]
    free = [i for i in range(len(problem.axes)) if i not in values]
    if not free:
        raise SafeNetError(
            "every axis is held, which leaves a single point and no picture",
            "call the solution: sol(x=…, t=…)",
        )
    for index in free[2:]:
        values[index] = _usual(solution, index)
    free = free[:2]
    found = [
        Cut(tuple(free), dict(zip(values, combination, strict=True)))
        for combination in product(*values.values())
    ]
    if len(found) > MOST:
        raise SafeNetError(f"{len(found)} pictures are too many", f"hold the axes at {MOST} places at most")
    return found


def _within(axis: Any, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise SafeNetError(f"{axis.name} = {value!r} is not a number", f"e.g. {axis.name}=0.5") from None
    slack = 1e-9 * axis.length
    if not axis.lo - slack <= number <= axis.hi + slack:
        raise SafeNetError(
            f"{axis.name} = {number:g} is outside the domain [{axis.lower}, {axis.upper}]",
            "a solution is known only inside its domain",
        )
    return float(min(max(number, axis.lo), axis.hi))


def _usual(solution: Solution, index: int) -> list[float]:
    axis = solution.problem.axes[index]
    if axis.is_time:
        return [float(v) for v in np.linspace(axis.lo, reached(solution, index), TIMES)]
    in_space = solution.problem.time is None and len(solution.problem.axes) == 3
    return [axis.lo + share * axis.length for share in (LAYERS if in_space else (0.5,))]


def named(solution: Solution, names: Sequence[str]) -> list[tuple[Solution, str]]:
    """("u", "v_x") → (solution, "u"), (its derivative by x, "v"): what a picture shows; by default all fields."""
    problem = solution.problem
    known = Names(problem.axis_names, problem.unknowns)
    shown = []
    for text in names or problem.unknowns:
        reading = known.derivative(text)
        if reading is None:
            example = f"{problem.unknowns[0]}_{problem.axis_names[0]}"
            remedy = f"{nearest(text, problem.unknowns)}; a derivative is written {example}"
            raise SafeNetError(f"{text!r} is neither an unknown nor a derivative", remedy)
        name, orders = reading
        own = solution.orders or (0,) * len(orders)
        total = tuple(a + b for a, b in zip(own, orders, strict=True))
        shown.append((replace(solution, orders=total if any(total) else ()), name))
    return shown


def suffix(solution: Solution) -> str:
    """xx of u_xx."""
    axes = solution.problem.axis_names
    return "".join(a * n for a, n in zip(axes, solution.orders or (0,) * len(axes), strict=True))


def scored(solution: Solution) -> bool:
    """Whether there is a reference to draw: derivatives have none."""
    return solution.problem.has_reference and not any(solution.orders)


def sampled(
    solution: Solution, name: str, cut: Cut, ticks: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray | None]:
    """The field and its reference over the drawn axes of a cut; nan outside the region."""
    problem = solution.problem
    every = [
        np.array([cut.held[i]]) if i in cut.held else ticks[cut.drawn.index(i)]
        for i in range(len(problem.axes))
    ]
    flat = [part.ravel() for part in np.meshgrid(*every, indexing="ij")]
    points = np.stack(flat, axis=1)
    orders = solution.orders or (0,) * len(problem.axes)
    values = evaluate_network(solution.field, points, orders)[:, problem.unknowns.index(name)]
    outside = ~problem.contains(points, 1e-9 * problem.axes[0].length)
    shape = [len(tick) for tick in ticks]
    values = np.where(outside, np.nan, values).reshape(shape)
    if not scored(solution):
        return values, None
    reference = problem.reference(**dict(zip(problem.axis_names, flat, strict=True)))
    exact = reference[name] if isinstance(reference, dict) else reference
    return values, np.where(outside, np.nan, np.asarray(exact)).reshape(shape)
