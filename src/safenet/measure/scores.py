"""‖u − u*‖/‖u*‖ of a field against the reference, as a number, as JSON and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..fields.field import Orders, values
from ..problem import Problem
from ..problem.facts.verify import exact_values
from ..run.notebook import table
from .heldout import HeldOut, grid, held_out, interior_points

GRIDS = {1: (1001,), 2: (257, 101), 3: (101, 101, 21)}  # the evaluation grids of the protocol
PLANE = (401, 201)  # the grid of a steady problem in the plane
ALONG, MOST_GRIDDED = 9, 5  # with more axes: points along each axis, and the most axes of a grid
SCATTERED = 4096  # points of a domain with more axes than that
BLOCK = 32_768  # points evaluated at once


@dataclass(frozen=True)
class Errors:
    """‖u − u*‖/‖u*‖ over the evaluation grid: `fields` for each field, `l2re` pooled, `mean` their mean.

    Pooled, all fields are one vector, and a field that is large in its units outweighs the others; in the mean, each
    field counts the same. For a single field the three agree. Where u* = 0, the error is the root mean square of u.
    `max_error` is the largest error at a point. Without a reference all of them are None (`fields` empty). `floor` is
    the reference's own accuracy. `held_out` is always known.
    """

    l2re: float | None
    max_error: float | None
    fields: dict[str, float]
    floor: float | None
    held_out: HeldOut

    def __str__(self) -> str:
        residual = f"held-out residual {self.held_out.worst:.2e}"
        if self.l2re is None:
            return f"no reference; {residual}"
        return f"L2RE {self.l2re_text}, largest error {self.max_error:.2e}, {residual}"

    def _repr_html_(self) -> str:
        known = [] if self.l2re is None else [("relative L² error", self.l2re_text)]
        largest = [] if self.max_error is None else [("largest error", f"{self.max_error:.2e}")]
        residual = ("residual", f"{self.held_out.worst:.2e} (relative, on unseen points)")
        return table("Error", [*known, *largest, residual])

    @property
    def mean(self) -> float | None:
        """The mean of the fields' errors."""
        return float(np.mean(list(self.fields.values()))) if self.fields else None

    @property
    def l2re_text(self) -> str:
        """The errors in words; see the function `l2re_text`."""
        return l2re_text(errors_json(self, len(self.fields)), self.floor)


def evaluate_network(network: Any, points: np.ndarray, orders: Orders) -> np.ndarray:
    """∂^orders of every field at the points, (n, fields), a block at a time."""
    blocks = []
    for start in range(0, len(points), BLOCK):
        block = points[start : start + BLOCK]
        blocks.append(values(network, block, orders))
    return np.concatenate(blocks)


def errors(problem: Problem, network: Any, orders: Orders = (), measured: HeldOut | None = None) -> Errors:
    """L2RE and largest error of ∂^orders u on the protocol's grid; the exact solution is read here and nowhere else."""
    measured = measured or held_out(problem, network)
    if not problem.has_reference:
        return Errors(None, None, {}, None, measured)
    points, truth = reference_values(problem, orders)
    values = evaluate_network(network, points, orders or (0,) * points.shape[1])
    fields = {name: relative_error(values[:, i], truth[:, i]) for i, name in enumerate(problem.unknowns)}
    pooled, largest = relative_error(values, truth), float(np.abs(values - truth).max())
    return Errors(pooled, largest, fields, 0.0 if any(orders) else problem.reference_accuracy, measured)


def protocol_points(problem: Problem) -> list[np.ndarray]:
    """The points at which errors are evaluated, one array per axis: a grid or, over many axes, scattered points."""
    axes = len(problem.axes)
    if axes > MOST_GRIDDED:  # a grid would have too many
        return list(interior_points(problem, SCATTERED).T)
    return grid(problem, PLANE if axes == 2 and problem.time is None else GRIDS.get(axes) or (ALONG,) * axes)


def reference_values(problem: Problem, orders: Orders = ()) -> tuple[np.ndarray, np.ndarray]:
    """The points of the protocol's grid and ∂^orders of the reference there, (n, fields), where it has a value."""
    points = protocol_points(problem)
    coordinates = dict(zip(problem.axis_names, points, strict=True))
    found = exact_values(problem, coordinates, orders) if any(orders) else problem.reference(**coordinates)
    exact = found if isinstance(found, dict) else {problem.unknowns[0]: found}
    truth = np.stack([np.asarray(exact[name]).ravel() for name in problem.unknowns], axis=1)
    # Where a solution has no value (a pressure at a corner), there is nothing to compare with.
    known = np.isfinite(truth).all(axis=1)
    return np.stack(points, axis=1)[known], truth[known]


def relative_error(values: np.ndarray, truth: np.ndarray) -> float:
    """‖u − u*‖/‖u*‖; where u* = 0, the root mean square of u."""
    size = np.linalg.norm(truth)
    return float(np.linalg.norm(values - truth) / (size if size > 0 else np.sqrt(truth.size)))


POOLED, MEAN = "pooled", "mean"  # the keys of the errors of all fields together


def field_key(name: str) -> str:
    """The key of an unknown's error in result.json: its name, unless that is one of these two keys."""
    return f"{name} (unknown)" if name in (POOLED, MEAN) else name


def field_errors_json(unknowns: Sequence[str], over_all: float, fields: Sequence[float]) -> Any:
    """An estimate as result.json states it: a number, or one for each field and `pooled`."""
    if len(unknowns) == 1:
        return over_all
    return {
        **{field_key(name): error for name, error in zip(unknowns, fields, strict=True)},
        POOLED: over_all,
    }


def errors_json(measured: Errors, unknowns: int) -> Any:
    """l2re as result.json states it: a number, a dict per field plus `pooled` and `mean`, or null."""
    if measured.l2re is None or unknowns == 1:
        return measured.l2re
    fields = {field_key(name): error for name, error in measured.fields.items()}
    return {**fields, POOLED: measured.l2re, MEAN: measured.mean}


def l2re_text(l2re: float | Mapping[str, float | None] | None, floor: float | None) -> str:
    """«2.30e-05», or «pooled 2.30e-05, mean 4.10e-05, p 1.20e-05, v 7.00e-05», for l2re as result.json states it.

    Below the reference's own accuracy the digits are those of the reference: only «≤ 1.0e-05» is known.
    """
    reason = "the reference's own accuracy"
    if not isinstance(l2re, Mapping):
        text = _bounded(l2re, floor)
        return f"{text} ({reason})" if text.startswith("≤") else text
    summary = {name: l2re[name] for name in (POOLED, MEAN) if name in l2re}
    text = ", ".join(f"{name} {_bounded(error, floor)}" for name, error in {**summary, **l2re}.items())
    return f"{text} (≤: {reason})" if "≤" in text else text


def _bounded(error: float | None, floor: float | None) -> str:
    if error is None or not np.isfinite(error):
        return "not known"
    return f"≤ {floor:.1e}" if floor and error < floor else f"{error:.2e}"
