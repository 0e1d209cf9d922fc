"""min over ν of Σ (u(x_i, t_i; ν) − u_i)²/σ_i²: a number read off a family of solutions that is solved already."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from ..errors import SafeNetError, SafeNetWarning
from ..measure.misfit import complaints, misfit, noise_known, scales, sigmas
from ..problem import Problem
from ..problem.data import Data, measured_of
from ..problem.facts.posedness import twice
from ..problem.relation import Axis
from ..run.found import FoundNumber
from .statistics import Seen, combination, seen_by, spread
from .thresholds import EDGE, NOTHING, OWN, STARTS, STEP


def read_off(problem: Problem, field: Any, data: Any, solved: float | None) -> dict[str, FoundNumber]:
    """The parameters that the data have no column for, one value for all points: name → number with its error.

    `solved` is the relative error of the solution, which does not average out. Warns of what the data do not determine.
    """
    found = _Reading(problem, field, data, solved or 0.0)
    numbers, said = found.numbers()
    for text in said:
        warnings.warn(text, SafeNetWarning, stacklevel=3)
    return numbers


class _Reading:
    """A family at measured points: its residuals in units of σ, by the shares (0 to 1) of its parameters' ranges."""

    def __init__(self, problem: Problem, field: Any, data: Any, solved: float) -> None:
        self.problem, self.field, self.solved = problem, field, solved
        listed = [one if isinstance(one, Data) else Data(one) for group in data for one in _listed(group)]
        self.axes = _sought(problem, listed)
        self.names = tuple(axis.name for axis in self.axes)
        self.low = np.array([axis.lo for axis in self.axes])
        self.width = np.array([axis.length for axis in self.axes])
        middle = {axis.name: (axis.lo + axis.hi) / 2 for axis in self.axes}
        measured = measured_of(problem, [one.at(**middle) for one in listed])[1]
        self.twin = copy(problem)
        self.twin.measured = measured
        self.known, self.sigma = noise_known(self.twin), sigmas(self.twin)

    def numbers(self) -> tuple[dict[str, FoundNumber], list[str]]:
        share, r, J = self._fit()
        model = r + np.concatenate(
            [m.values / s for m, s in zip(self.twin.measured, self.sigma, strict=True)]
        )
        size = float(np.linalg.norm(model))
        seen = seen_by(J, max(NOTHING, self.solved) * size)
        few = len(r) <= len(share) and not self.known
        errors = (
            self.width
            * seen.per_sigma
            * np.hypot(spread(r, max(len(r) - len(share), 1), self.known), self.solved * size)
        )
        values = np.clip(self.low + self.width * share, self.low, self.low + self.width)
        numbers = {
            name: FoundNumber(float(values[i]), None if few or seen.unseen[i] else float(errors[i]))
            for i, name in enumerate(self.names)
        }
        said = twice(self.twin.measured, self.problem.axis_names)
        said += self._untold(seen, values, errors, few, len(r))
        said += [self._at_edge(int(i)) for i in np.flatnonzero(((share <= 0) | (share >= 1)) & ~seen.blind)]
        return numbers, said + self._misfit(share)

    def residuals(self, share: np.ndarray) -> np.ndarray:
        gaps = misfit(self._at(share), self.field)
        return np.concatenate([gap / sigma for gap, sigma in zip(gaps, self.sigma, strict=True)])

    def _at(self, share: np.ndarray) -> Problem:
        """The problem with its data at these values of the parameters."""
        places = [self.problem.axis_names.index(name) for name in self.names]
        moved = copy(self.twin)
        moved.measured = tuple(replace(m, points=m.points.copy()) for m in self.twin.measured)
        for m in moved.measured:
            m.points[:, places] = self.low + self.width * share
        return moved

    def _fit(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The best shares, the residuals there and their sensitivities."""
        # The best of a few starts: a family of waves has more than one minimum.
        grids = np.meshgrid(*[np.linspace(0, 1, STARTS + 2)[1:-1]] * len(self.axes), indexing="ij")
        starts = np.stack([g.ravel() for g in grids], axis=1)
        start = min(starts, key=lambda share: float(np.sum(self.residuals(share) ** 2)))
        fit = least_squares(self.residuals, start, bounds=(0, 1), xtol=1e-12, ftol=1e-14, gtol=1e-14)
        # The search stays inside the ranges: if an edge fits as well, that is where it was going.
        edge = np.where(fit.x < EDGE, 0.0, np.where(fit.x > 1 - EDGE, 1.0, fit.x))
        r = self.residuals(edge)
        share, r = (edge, r) if r @ r <= fit.fun @ fit.fun else (fit.x, fit.fun)
        return share, r, self._sensitivities(share)

    def _sensitivities(self, share: np.ndarray) -> np.ndarray:
        """∂r/∂share, by differences far above rounding, central ones except at an edge."""
        columns = []
        for i in range(len(share)):
            ends = np.stack([share, share])
            ends[:, i] = np.clip(share[i] + np.array([-STEP, STEP]), 0, 1)
            below, above = map(self.residuals, ends)
            columns.append((above - below) / (ends[1, i] - ends[0, i]))
        return np.stack(columns, axis=1)

    def _untold(self, seen: Seen, values: np.ndarray, errors: np.ndarray, few: bool, count: int) -> list[str]:
        """What the data do not determine about the parameters."""
        said = [
            f"if the data depend on {name} at all, it is by less than the solution's own error: its value is "
            "arbitrary, and it has no standard error"
            for name, blind in zip(self.names, seen.blind, strict=True)
            if blind
        ]
        relative = self.width / np.where(values == 0, 1.0, values)
        said += [combination(self.names, direction * relative) for direction in seen.open_ones]
        if few:
            said.append(
                f"{count} value{'s' * (count > 1)} for {len(self.names)} parameter{'s' * (len(self.names) > 1)}: no "
                "standard errors; give sigma, or more data"
            )
            return said
        return said + [
            f"the data hardly determine {name}: its standard error is larger than its range"
            for i, name in enumerate(self.names)
            if not seen.unseen[i] and errors[i] > self.width[i]
        ]

    def _at_edge(self, i: int) -> str:
        axis = self.axes[i]
        return (
            f"{axis.name} ends at the edge of its range ({axis.lo:g} to {axis.hi:g}): the data may belong to a value "
            "outside"
        )

    def _misfit(self, share: np.ndarray) -> list[str]:
        """Complaints about data that miss the solution by more than its own error, which is larger for derivatives."""
        fitted = self._at(share)
        floors = [
            max(self.solved * size, OWN * float(np.std(m.values)) if m.sigma is None else 0.0)
            for m, size in zip(fitted.measured, scales(fitted), strict=True)
        ]
        parts = zip(fitted.measured, misfit(fitted, self.field), floors, strict=True)
        fitted.measured = tuple(m for m, gap, floor in parts if np.abs(gap).max() > floor)
        return complaints(fitted, self.field, self.solved)


def _listed(group: Any) -> list[Any]:
    return list(group) if isinstance(group, (list, tuple)) else [group]


def _sought(problem: Problem, data: list[Data]) -> list[Axis]:
    """The parameters with a range (axes along which no equation differentiates) that the data have no column for."""
    family = [axis for i, axis in enumerate(problem.axes) if problem.order(i) == 0]
    if not family:
        raise SafeNetError(
            f"{problem.name} has no parameter with a range: nothing can be read off",
            "solve it for a range, nu = [0.1, 0.4] under [parameters]; or find the number with `unknown` and data",
        )
    names = ", ".join(axis.name for axis in family)
    for one in data:
        for axis in problem.axes:
            if axis.name not in one.columns and axis not in family:
                raise SafeNetError(
                    f"{one.label}: there is no column {axis.name}; the columns are {', '.join(one.columns)}",
                    f"only a parameter with a range can be read off: {names}",
                )
    missing = [axis for axis in family if not any(axis.name in one.columns for one in data)]
    if not missing:
        raise SafeNetError(
            f"the data have all of {', '.join(problem.axis_names)}: nothing is left to read off",
            "leave out the column of the parameter that is to be found",
        )
    return missing
