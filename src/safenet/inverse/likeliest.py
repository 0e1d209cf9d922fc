"""max over z of p(data | z): the unknown numbers for which the data are likeliest, whatever the missing conditions are.

The coefficients of the exact solutions are integrated out, so that only the numbers are searched for. Standard errors
follow from the curvature of log p.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy

from ..errors import SafeNetError
from ..measure.relative import TINY
from ..problem import Problem
from ..run.budget import Budget
from ..run.found import Found
from ..run.progress import Monitor
from .inference import Inference
from .statistics import combination, correlations
from .thresholds import CLOSE_BY, CURVED, FIRST_STEP, FLAT, LOOSE, MOST_PRIORS, MOST_TRIED, RISE

Vector = np.ndarray


class Likeliest:
    """The search for the numbers: `best` is the inference at the likeliest ones."""

    def __init__(self, problem: Problem, waves: int, monitor: Monitor, budget: Budget) -> None:
        self.problem, self.waves, self.monitor, self.budget = problem, waves, monitor, budget
        self.best: Inference | None = None
        self.evaluations = 0
        self.z = np.zeros(len(problem.unknown))
        self.curvature: Vector | None = None

    def carry_out(self) -> None:
        self.best = self._searched(self.z)
        if not self.problem.unknown:
            return
        for _ in range(MOST_PRIORS):
            prior, sigma = self.best.best, self.best.sigma

            def unlikely(z: Vector) -> float:
                if self.budget.over():
                    return math.inf
                self.evaluations += 1
                try:
                    return -self._at(z).evidence(prior, sigma)  # noqa: B023
                except (SafeNetError, np.linalg.LinAlgError):  # no exact solutions for these numbers
                    return math.inf

            self.monitor.phase("posterior", "the likeliest numbers")
            self.z = _least(unlikely, self.z)
            self.best = self._searched(self.z)
            if self.best.best == prior or self.budget.over():
                break
        self.curvature = _curvature(unlikely, self.z)

    def _at(self, z: Vector) -> Inference:
        return Inference(self.problem.found(self.values(z)), self.waves, self.monitor, self.budget)

    def _searched(self, z: Vector) -> Inference:
        found = self._at(z)
        found.search()
        self.evaluations += len(found.trials)
        return found

    def values(self, z: Vector) -> dict[str, float]:
        numbers = self.problem.unknown.items()
        return {name: float(number.at(x, np)) for (name, number), x in zip(numbers, z, strict=True)}

    def found(self) -> Found:
        """The numbers with their standard errors, and what the data do not determine."""
        names, H = tuple(self.problem.unknown), self.curvature
        values = self.values(self.z)
        if not names or self.best is None or H is None:
            return Found(values if self.best is not None else {})
        slopes = np.array([n.slope(x) for n, x in zip(self.problem.unknown.values(), self.z, strict=True)])
        size = np.sqrt(np.maximum(np.diag(H), CURVED))
        w, V = np.linalg.eigh(H / np.outer(size, size))
        open_ones = [V[:, i] / size for i in np.flatnonzero(w < FLAT)]
        unseen = (
            np.any([np.abs(d * size) > 0.1 for d in open_ones], axis=0)
            if open_ones
            else np.zeros(len(names), bool)
        )
        C = (V[:, w >= FLAT] / w[w >= FLAT]) @ V[:, w >= FLAT].T / np.outer(size, size)
        sd = np.sqrt(np.maximum(np.diag(C), TINY))
        relative = slopes / np.array([value or 1.0 for value in values.values()])
        said = [combination(names, d * relative) for d in open_ones]
        loose = [name for name, each, no in zip(names, sd, unseen, strict=True) if each > LOOSE and not no]
        said += [
            f"the data hardly determine {name}: its standard error is as large as itself" for name in loose
        ]
        errors = {name: None if unseen[i] else float(abs(slopes[i]) * sd[i]) for i, name in enumerate(names)}
        return Found(
            values, errors, correlations(names, C, sd, unseen), tuple(said), bool(open_ones or loose)
        )


def _least(f: Callable[[Vector], float], z: Vector) -> Vector:
    """The Nelder–Mead simplex, which needs no derivatives, from a wide start."""
    corners = np.vstack([z, z + FIRST_STEP * np.eye(len(z))])
    options = {
        "initial_simplex": corners,
        "xatol": CLOSE_BY,
        "fatol": CLOSE_BY,
        "maxfev": MOST_TRIED * len(z),
    }
    return np.asarray(scipy.optimize.minimize(f, z, method="Nelder-Mead", options=options).x)


def _curvature(f: Callable[[Vector], float], z: Vector) -> Vector | None:
    """The second derivatives, by differences over steps that change f by about `RISE`."""
    middle, count = f(z), len(z)
    steps = np.array([_step(f, z, i, middle) for i in range(count)])
    H = np.zeros((count, count))
    e = np.diag(steps)
    for i in range(count):
        H[i, i] = (f(z + e[i]) - 2 * middle + f(z - e[i])) / steps[i] ** 2
        for j in range(i):
            both = f(z + e[i] + e[j]) - f(z + e[i] - e[j]) - f(z - e[i] + e[j]) + f(z - e[i] - e[j])
            H[i, j] = H[j, i] = both / (4 * steps[i] * steps[j])
    return H if np.isfinite(H).all() else None


def _step(f: Callable[[Vector], float], z: Vector, i: int, middle: float) -> float:
    step, e = 0.01, np.eye(len(z))[i]
    for _ in range(6):
        rise = (f(z + step * e) + f(z - step * e)) / 2 - middle
        if RISE / 3 < rise < 3 * RISE:
            break
        step *= min(max(math.sqrt(RISE / rise), 0.01), 10.0) if rise > 0 else 10.0
    return min(step, 1.0)
