"""The rows of exact solutions on data and conditions, the priors tried on them, and the resulting field."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from ..direct.modal_rows import (
    by_symmetry,
    coefficients_of,
    condition_rows,
    distinct,
    missing,
    table_of,
    weighted,
)
from ..fields.field import values
from ..fields.gaussian import GaussianForm
from ..fields.modes import ModalForm, polynomial, waves
from ..measure.heldout import interior_points
from ..measure.misfit import fitted, noise_known, scales, sigmas
from ..measure.relative import TINY, relative
from ..problem import Problem
from ..problem.data import VALUE
from ..problem.facts.waves import Family, families, forced, open_axes
from ..problem.jets import coordinate
from ..run.budget import Budget
from ..run.progress import Monitor
from .evidence import Rows, Trial, averaged, tried
from .thresholds import (
    ALIKE,
    EXACT,
    LENGTHS,
    MOST_WAVES,
    MOST_WEIGHTS,
    RESOLVED,
    SMOOTH,
    SWEEPS,
)

Prior = tuple[float, ...]  # Matérn's ν, then the correlation length along each axis, relative to the axis


class Inference:
    """The trials of one posterior: the families, their rows on data and conditions, and the priors tried."""

    def __init__(self, problem: Problem, count: int, monitor: Monitor, budget: Budget) -> None:
        self.problem, self.monitor, self.budget, self.waves = problem, monitor, budget, count
        along, counts = open_axes(problem), [count] * len(problem.axes)
        self.families = families(problem, counts, along)
        source = forced(problem, along[-1])
        self.known = None if source is None else ModalForm((waves(source),))
        self.k = np.vstack([_wave_numbers(family) for family in self.families])
        self.sizes = np.concatenate([_sizes(problem, family) for family in self.families])
        self.family = np.repeat(np.arange(len(self.families)), list(map(coefficients_of, self.families)))
        # Conditions that every mode meets by symmetry add no rows.
        left = [c for c in problem.conditions if not by_symmetry(problem, c)]
        self.conditions = Rows.of(*condition_rows(problem, left, self.families, self.known, counts))
        self.rows, self.values = self._measured()
        self.sigma = sigmas(problem)
        self.stated = noise_known(problem)
        self.trials: dict[Prior, Trial] = {}
        self.complete = False

    def _measured(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        rows, values = [], []
        for m in self.problem.measured:
            rows.append(np.hstack([table_of(self.problem, m, f, m.points) for f in self.families]))
            values.append(missing(self.problem, m, self.known, m.points, {coordinate(VALUE): m.values}))
        return rows, values

    def search(self) -> None:
        """Try priors with other correlation lengths along each axis, near the likeliest; again if noises differ."""
        for _ in range(MOST_WEIGHTS):
            self.trials.clear()
            self._sweep(self.weighed())
            if self.budget.over() or not self._reweighted():
                break
        self.complete = not self.budget.over()

    def weighed(self) -> Rows:
        """The rows of all data, in units of σ."""
        weights = [1 / np.broadcast_to(s, len(v)) for s, v in zip(self.sigma, self.values, strict=True)]
        A = np.vstack([w[:, None] * r for w, r in zip(weights, self.rows, strict=True)])
        return Rows.of(A, np.concatenate([w * v for w, v in zip(weights, self.values, strict=True)]))

    def evidence(self, prior: Prior, sigma: list[Any]) -> float:
        """log p(data) under one prior, summed over all amplitudes."""
        self.sigma = sigma
        trial = tried(self.conditions, self.weighed(), self._scale(prior), self.stated)
        return float(np.logaddexp.reduce(trial.logs))

    def _sweep(self, data: Rows) -> None:
        axes = [i for i in range(len(self.problem.axes)) if np.any(self.k[:, i])]
        lengths = [1.0] * len(self.problem.axes)
        if not axes:
            self._tried(data, (math.inf, *lengths))
            return
        # First one length for all axes, with every smoothness; then axis by axis.
        for smooth, length in product(SMOOTH, self._lengths()):
            self._tried(data, (smooth, *[length] * len(lengths)))
        for _ in range(SWEEPS if len(axes) > 1 else 0):
            for axis in axes:
                best = self.best
                for length in self._lengths():
                    self._tried(data, (*best[: axis + 1], length, *best[axis + 2 :]))

    def _lengths(self) -> Iterator[float]:
        return (length for length in LENGTHS.tolist() if length * math.pi * self.waves >= RESOLVED)

    @property
    def best(self) -> Prior:
        """The likeliest of the priors tried."""
        return max(self.trials, key=lambda key: float(self.trials[key].logs.max()))

    def _tried(self, data: Rows, prior: Prior) -> None:
        if prior in self.trials or (self.trials and self.budget.over()):
            return
        self.monitor.phase("posterior", f"prior {len(self.trials) + 1}, {len(self.k)} exact solutions")
        self.trials[prior] = tried(self.conditions, data, self._scale(prior), self.stated)

    def _scale(self, prior: Prior) -> np.ndarray:
        """Standard deviations: each family's variances add up to one, of modes scaled to a maximum of one."""
        smooth, *lengths = prior
        scaled = np.array([axis.length for axis in self.problem.axes]) * lengths
        q = np.sum((scaled * self.k) ** 2, axis=1)
        free = max(len(self.problem.axes) - 1, 1)
        density = np.exp(-q / 2) if math.isinf(smooth) else (1 + q / (2 * smooth)) ** -(smooth + free / 2)
        totals = np.bincount(self.family, density)[self.family]
        return np.asarray(np.sqrt(density / totals) / self.sizes)

    def _reweighted(self) -> bool:
        """Estimate σ of each kind of data with unstated noise from its residuals; whether that changed the weights."""
        if self.stated or len(self.rows) == 1:
            return False
        result = averaged(list(self.trials.values()))
        ratios = []
        for i, (rows, measured) in enumerate(zip(self.rows, self.values, strict=True)):
            if self.problem.measured[i].sigma is not None:
                ratios.append(1.0)
                continue
            gap = measured - rows @ result.mean
            used = float(np.sum((rows @ result.factor) ** 2)) / max(result.noise * self.sigma[i], TINY) ** 2
            freedom = max(len(gap) - used, 1.0)
            noise = max(math.sqrt(float(gap @ gap) / freedom), EXACT * scales(self.problem)[i])
            ratios.append(noise / self.sigma[i])
            self.sigma[i] = noise
        return max(ratios) > ALIKE * min(ratios)

    def field(self) -> GaussianForm:
        result = averaged(list(self.trials.values()))
        parts, start = [], 0
        for family in self.families:
            stop = start + coefficients_of(family)
            parts.append(weighted(family, result.mean[start:stop]))
            start = stop
        mean = ModalForm((*parts, *(self.known.parts if self.known is not None else ())))
        modes = ModalForm(tuple(waves(family.take(distinct(family))) for family in self.families))
        twofold = tuple(~family.real[distinct(family)] for family in self.families)
        bare = GaussianForm(mean, modes, twofold, result.factor, np.zeros(len(self.problem.unknowns) + 1))
        return replace(bare, error=_relative(self.problem, bare))

    def said(self) -> str:
        smooth, *lengths = self.best
        kind = "squared exponential" if math.isinf(smooth) else f"Matérn {smooth:g}"
        along = ", ".join(
            f"{length * axis.length:.2g} in {axis.name}"
            for i, (axis, length) in enumerate(zip(self.problem.axes, lengths, strict=True))
            if np.any(self.k[:, i])
        )
        if not along:
            return f"All {len(self.k)} exact solutions are weighed by the data."
        count = f"{len(self.trials)} priors are averaged by their likelihood"
        return f"{count}; the likeliest is {kind} with lengths of correlation {along}."


def _relative(problem: Problem, field: GaussianForm) -> np.ndarray:
    """Root mean square of the standard deviation over that of the mean: of each field, then of all.

    If the data are farther from the mean than their σ, by a factor χ, the deviation is taken χ times as large (Birge's
    ratio): by itself it does not include missing exact solutions, or a σ that is too small.
    """
    points = interior_points(problem)
    chi = max((one.chi for one in fitted(problem, field) if one.chi is not None), default=1.0)
    return max(1.0, chi) * relative(field.std(points, (0,) * len(problem.axes)), values(field, points))


def wave_count(problem: Problem, most: int) -> int:
    """The most waves along every axis with at most `most` coefficients; 0 if two are too many."""
    found = 0
    for count in (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, MOST_WAVES):
        size = sum(map(coefficients_of, families(problem, [count] * len(problem.axes), open_axes(problem))))
        if size > most:
            break
        found = count
    return found


def _wave_numbers(family: Family) -> np.ndarray:
    """|Im κ| along every axis but that of the family, in the order of `table_of`."""
    kept = distinct(family)
    k = np.abs(family.exponents[kept].imag)
    k[:, family.along] = 0.0
    return np.vstack([k, k[~family.real[kept]]])


def _sizes(problem: Problem, family: Family) -> np.ndarray:
    """The largest |φ| in the domain, in the order of `table_of`: powers may be large where exponentials are not."""
    kept = distinct(family)
    axis, i = problem.axes[family.along], family.along
    size = np.zeros(int(kept.sum()))
    for at in np.linspace(axis.lo, axis.hi, 9):
        z = at - family.anchors[kept, i]
        grown = np.exp(family.exponents[kept, i] * z)
        for f in range(family.coefficients.shape[1]):
            size = np.maximum(size, np.abs(polynomial(family.coefficients[kept, f], z) * grown))
    size = np.maximum(size, TINY)
    return np.concatenate([size, size[~family.real[kept]]])
