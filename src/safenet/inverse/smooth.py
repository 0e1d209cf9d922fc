"""min over c of Σ (model(c) − value)²/σ² + λ ∫|k″|²: unknown functions by Gauss–Newton, λ from the data.

An unknown function k is a spline with more coefficients than any data determine; λ says how much smoothness stands for
what they do not tell. In every step the linearised problem is solved for many λ at the cost of one, and

    where σ is known       the largest λ is taken whose residuals are within it (discrepancy, Morozov)
    else                   the one that predicts a value best from all others (generalised cross-validation, Wahba)

H = J (JᵀJ + λK)⁻¹ Jᵀ maps values to fit: tr H is how many numbers the data determine, and s² (JᵀJ + λK)⁻¹ is the
covariance of the coefficients, with smoothness as what is known beforehand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, svdvals

from ..fields.cells import Cell
from ..measure.heldout import held_out
from ..measure.misfit import misfit
from ..problem.numbers import Curve
from ..run.found import Found
from ..run.result import SOLVED_BELOW, Carried, Ending
from .fit import Fitting, Modelled, StoppedError
from .linearised import layout, sensitivities, solved
from .statistics import curve_found
from .thresholds import (
    BELOW_NOISE,
    DIFFERENCE,
    GENTLER,
    MOST_STEPS,
    MOST_TRIALS,
    MOST_WEIGHTS,
    SETTLED,
    STRENGTHS,
    TINY,
)

Vector = np.ndarray


def roughness(curve: Curve) -> np.ndarray:
    """K with zᵀKz = ∫ |second derivatives of k|², by second differences of the coefficients along every axis."""
    shape = curve.shape
    second = [np.diff(np.eye(n), 2, axis=0) for n in shape]
    first = [np.diff(np.eye(n), axis=0) for n in shape]
    eyes = [np.eye(n) for n in shape]
    total = np.zeros((math.prod(shape), math.prod(shape)))
    for i in range(len(shape)):
        for j in range(i, len(shape)):
            parts = [
                second[a] if a == i == j else first[a] if a in (i, j) else eyes[a] for a in range(len(shape))
            ]
            D: np.ndarray = parts[0]
            for part in parts[1:]:
                D = np.kron(D, part)
            total += (1 if i == j else 2) * D.T @ D
    return total + TINY * np.eye(len(total))


@dataclass(frozen=True)
class Choice:
    """A strength λ: the next z, tr H, and whether the data bound λ from both sides."""

    strength: float
    z: Vector
    determined: float


class SmoothFitting(Fitting):
    """A fit with unknown functions among what is to be found."""

    strength = math.inf  # λ

    def solve(self, z: Vector, rough: bool) -> Modelled | None:
        """The forward problem at z, on the cells on which it is linearised."""
        self.record.evaluations += 1
        if self.budget.over():
            raise StoppedError(False)
        values = self.values(z)
        problem = self.problem.forward(values)
        start = None if self.best is None else self.best.carried.field
        field = solved(problem, self.layout, start)
        residual = held_out(problem, field).worst
        if not residual < SOLVED_BELOW:
            return None
        gaps = misfit(self.problem.found(values), field)
        carried = Carried(field, residual, np.empty((0, 2)))
        return Modelled(z, carried, gaps) if all(np.isfinite(gap).all() for gap in gaps) else None

    @cached_property
    def layout(self) -> tuple[tuple[Cell, ...], int]:
        return layout(self.problem)

    def _refine(self) -> None:
        """The cells are what there is."""

    def sensitivities(self, model: Modelled) -> None:
        """J: functions by the linearised equations, numbers by differences."""
        now = self.problem.found(self.values(model.z))
        self.monitor.phase("Gauss–Newton", "linearised equations")
        J = np.zeros((len(np.concatenate(model.gaps)), len(model.z)))
        moves, start = sensitivities(now, model.carried.field), 0
        for name, place in self.places.items():
            number = self.problem.unknown[name]
            if isinstance(number, Curve):
                count = place.stop - place.start
                J[:, place] = moves[:, start : start + count] * number.slope(model.z[place])
                start += count
                continue
            beside = self.solve(model.z + DIFFERENCE * np.eye(len(model.z))[place.start], self.rough)
            if beside is not None:
                J[:, place.start] = (np.concatenate(beside.gaps) - np.concatenate(model.gaps)) / DIFFERENCE
        self.J = J

    @cached_property
    def K(self) -> np.ndarray:  # noqa: N802
        """The roughness of all functions; numbers have none."""
        found = np.zeros((self.count, self.count))
        for name, curve in self.problem.curves.items():
            found[self.places[name], self.places[name]] = roughness(curve)
        return found

    # ---- the loop

    def _search(self) -> None:
        for _ in range(MOST_WEIGHTS):
            self._settle()
            before = list(self.sigma)
            if not self._reweighted():
                self.sigma = before  # those that the strength belongs to
                break

    def _settle(self) -> None:
        """Steps with λ from the data, at most a hundred times smaller each, until nothing changes."""
        for _ in range(MOST_STEPS):
            assert self.best is not None
            self.sensitivities(self.best)
            if not np.isfinite(self.J).all():
                self.record.outcome = Ending.GIVEN_UP
                self.record.stop_reason = "The linearised equations have no solution."
                return
            self.record.iterations += 1
            chosen, before = self.choice(), self.strength
            held = (
                max(chosen.strength, before / GENTLER) if math.isfinite(before) else chosen.strength * GENTLER
            )
            settled = held <= SETTLED * chosen.strength and before <= SETTLED * held
            self.strength = held
            moved = self._towards(self.choice(held).z)
            r = self.residuals(self.best)
            self.monitor.phase("Gauss–Newton", f"misfit {np.sqrt(np.mean(r**2)):.3e}, strength {held:.1e}")
            if settled and moved <= BELOW_NOISE * math.sqrt(float(r @ r)):
                self.record.stop_reason = "The misfit is least: a further step changes nothing."
                return
        self.record.stop_reason = f"After {MOST_STEPS} steps the misfit still falls."
        self.record.outcome = Ending.STALLED

    def _towards(self, z: Vector) -> float:
        """The longest step that lowers misfit and roughness together; how far the model moved."""
        assert self.best is not None
        here, delta = self.best, z - self.best.z
        r = self.residuals(here)
        least = float(r @ r) + self.strength * float(here.z @ self.K @ here.z)
        for trial in range(MOST_TRIALS):
            at = here.z + delta / 2**trial
            model = self.solve(at, self.rough)
            if model is None:
                continue
            new = self.residuals(model)
            if float(new @ new) + self.strength * float(at @ self.K @ at) <= least:
                self.best = model
                return float(np.linalg.norm(new - r))
        return 0.0

    # ---- the strength

    def choice(self, strength: float | None = None) -> Choice:
        """The next z for a λ, or for the λ that the data ask for."""
        assert self.best is not None
        J = self.weights[:, None] * self.J
        r, K, n = self.residuals(self.best), self.K, len(self.J)
        d = J @ self.best.z - r
        Q, R = qr(J, mode="economic")
        along = Q.T @ d
        beyond = float(np.sum((d - Q @ along) ** 2))
        A, g = R.T @ R, R.T @ along
        unit = float(np.trace(A)) / max(float(np.trace(K)), 1e-300)

        def at(strength: float) -> tuple[Choice, float]:
            floor = 1e-15 * np.diag(np.maximum(np.diag(A), 1e-3 * np.trace(A) / len(A)))
            factor = cho_factor(A + strength * K + floor)
            z = cho_solve(factor, g)
            misfit = float(np.sum((R @ z - along) ** 2)) + beyond
            return Choice(strength, z, float(np.trace(cho_solve(factor, A)))), misfit

        if strength is not None:
            return at(strength)[0]
        trials = [at(unit * s) for s in STRENGTHS]
        if all(m.sigma is not None for m in self.problem.measured):
            within = [c for c, misfit in trials if misfit <= n - c.determined]
            if within:
                return max(within, key=lambda c: c.strength)
        scores = [misfit / max(n - c.determined, 1e-9 * n) ** 2 for c, misfit in trials]
        return trials[int(np.argmin(scores))][0]

    # ---- what came out

    def _found(self) -> Found:
        assert self.best is not None
        J = self.weights[:, None] * self.J
        r = self.residuals(self.best)
        A = J.T @ J
        inverse = np.linalg.pinv(A + self.strength * self.K, rcond=1e-14, hermitian=True)
        determined = np.einsum("ij,ji->i", inverse, A)
        known = all(m.sigma is not None for m in self.problem.measured)
        s2 = float(r @ r) / max(len(r) - float(determined.sum()), 1.0)
        C = (max(s2, 1.0) if known else s2) * inverse
        singular = {name: svdvals(J[:, place]) for name, place in self.places.items()}
        return curve_found(self.problem, self.best.z, self.places, C, determined, singular)
