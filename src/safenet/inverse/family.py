"""min over ν of Σ (u(x_i, t_i; ν) − u_i)²/σ_i²: a number read off a family of solutions, which is solved already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from ..errors import SafeNetError
from ..measure.heldout import jets_at
from ..problem import Problem
from ..problem.data import VALUE, Data, Measured, measured_of
from ..problem.evaluate import evaluate
from ..problem.jets import coordinate
from ..run.found import FoundNumber
from .thresholds import STARTS


def read_off(problem: Problem, field: Any, data: Any, solved: float | None) -> dict[str, FoundNumber]:
    """The coordinates that the data have no column for, one value for all points: axis → number with its error.

    `solved` is the relative error of the solution, which does not average out.
    """
    listed = [one if isinstance(one, Data) else Data(one) for one in data]
    missing = [axis for axis in problem.axes if not any(axis.name in one.columns for one in listed)]
    if not missing:
        raise SafeNetError(
            f"the data have all of {', '.join(problem.axis_names)}: nothing is left to read off",
            "leave out the column of the parameter that is to be found",
        )
    low, high = (np.array([getattr(axis, end) for axis in missing]) for end in ("lo", "hi"))
    middle = {axis.name: (axis.lo + axis.hi) / 2 for axis in missing}
    filled = [Data({**one.columns, **middle}, value=one.value, sigma=one.sigma) for one in listed]
    measured = measured_of(problem, filled)[1]
    places = [problem.axis_names.index(axis.name) for axis in missing]

    def residuals(share: np.ndarray) -> np.ndarray:
        values = low + (high - low) * share
        return np.concatenate([_gap(problem, field, m, places, values) for m in measured])

    # The best of a few starts: a family of waves has more than one hollow.
    grids = np.meshgrid(*[np.linspace(0, 1, STARTS + 2)[1:-1]] * len(missing), indexing="ij")
    starts = np.stack([g.ravel() for g in grids], axis=1)
    start = min(starts, key=lambda share: float(np.sum(residuals(share) ** 2)))
    fit = least_squares(residuals, start, bounds=(0, 1), xtol=1e-12, ftol=1e-14, gtol=1e-14)
    freedom = max(len(fit.fun) - len(missing), 1)
    known = all(m.sigma is not None for m in measured)
    s2 = max(float(fit.fun @ fit.fun) / freedom, 1.0 if known else 0.0)
    size = float(np.linalg.norm(fit.fun + np.concatenate([m.values / _sigma(m) for m in measured])))
    C = np.linalg.pinv(fit.jac.T @ fit.jac)
    errors = (high - low) * np.sqrt(np.diag(C) * (s2 + ((solved or 0.0) * size) ** 2))
    values = low + (high - low) * fit.x
    return {
        axis.name: FoundNumber(float(value), float(error))
        for axis, value, error in zip(missing, values, errors, strict=True)
    }


def _gap(
    problem: Problem, field: Any, measured: Measured, places: list[int], values: np.ndarray
) -> np.ndarray:
    points = measured.points.copy()
    points[:, places] = values
    known = jets_at(problem, field, replace(measured, points=points), points)
    known |= {coordinate(VALUE): measured.values}
    gap = np.asarray(evaluate(problem.value(measured.residual), known, np), float)
    return np.asarray(np.broadcast_to(gap, measured.values.shape) / _sigma(measured))


def _sigma(measured: Measured) -> Any:
    """σ, or where it is not known the size of the values."""
    return float(np.sqrt(np.mean(measured.values**2))) or 1.0 if measured.sigma is None else measured.sigma
