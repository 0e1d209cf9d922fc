"""min over c of Σ (model(c) − value)²/σ² + λ ∫|k″|²: unknown functions by Gauss–Newton, λ from the data.

An unknown function k is a spline with more coefficients than any data determine; λ weighs the smoothness that replaces
what the data do not tell. Every step solves the linearised problem for many λ and takes the one for which the data are
likeliest, if k has the prior density exp(−λ ∫|k″|²/2s²) and s² is the variance of the noise (restricted likelihood):

    (n − p) log S + log det (JᵀJ + λK) − rank K · log λ is minimal,      S = ‖r‖² + λ zᵀKz

Generalised cross-validation is as good if the data determine much. If they determine little, it is flat and takes λ
far too small as often as not, and the errors become several times larger than necessary.

H = J (JᵀJ + λK)⁻¹ Jᵀ maps values to fit: tr H is how many numbers the data determine, and s² (JᵀJ + λK)⁻¹ is the
covariance of the coefficients, with smoothness as the prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, qr, svdvals

from ..fields.cells import Cell
from ..measure.heldout import held_out
from ..measure.misfit import misfit, noise_known
from ..measure.relative import TINY
from ..problem.evaluate import evaluate
from ..problem.facts.agreement import meetings
from ..problem.numbers import Curve
from ..run.found import Found
from ..run.result import SOLVED_BELOW, Carried, Ending
from .fit import Fitting, Modelled, StoppedError
from .linearised import Columns, layout, sensitivities, solved
from .statistics import curve_found
from .thresholds import (
    ANCHORED,
    BELOW_NOISE,
    EXACT,
    GENTLER,
    LEFT_OVER,
    MEETING,
    MOST_STEPS,
    MOST_TRIALS,
    MOST_WEIGHTS,
    NOT_THERE,
    ROUNDED,
    SETTLED,
    STRENGTHS,
    STRONG,
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
    return total + ANCHORED * np.eye(len(total))


@dataclass(frozen=True)
class Choice:
    """A strength λ, and the next z."""

    strength: float
    z: Vector


class SmoothFitting(Fitting):
    """A fit whose unknowns include functions."""

    strength = math.inf  # λ
    short = False  # whether it ended before the misfit was least

    def solve(self, z: Vector, rough: bool) -> Modelled | None:
        """The forward problem at z, on the cells on which it is linearised."""
        self.record.evaluations += 1
        if self.budget.over():
            raise StoppedError(False)
        values = self.values(z)
        problem = self.problem.forward(values)
        start = None if self.best is None else self.best.carried.field
        field = solved(problem, self.layout, start)
        if field is None:
            return None
        gaps = misfit(self.problem.found(values), field)
        # The residual is measured at the fit's beginning and end; in between, Newton's convergence suffices.
        residual = held_out(problem, field).worst if self.best is None else self.best.carried.residual
        if not residual < SOLVED_BELOW or not all(np.isfinite(gap).all() for gap in gaps):
            return None
        return Modelled(z, Carried(field, residual), gaps)

    def _begun(self) -> Modelled | None:
        return self.solve(np.zeros(self.count), False)

    @cached_property
    def layout(self) -> tuple[tuple[Cell, ...], int]:
        return layout(self.problem)

    def _refine(self) -> None:
        """Only measure the residual: the cells stay as they are."""
        assert self.best is not None
        carried = self.best.carried
        problem = self.problem.forward(self.values(self.best.z))
        carried.residual = held_out(problem, carried.field).worst

    def sensitivities(self, model: Modelled) -> None:
        """J, of functions by the linearised equations, of numbers by differences."""
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
            J[:, place.start] = self.sensitivity(model, name)
        self.J = J

    @cached_property
    def K(self) -> np.ndarray:  # noqa: N802
        """The roughness of all functions; numbers have none."""
        found = np.zeros((self.count, self.count))
        for name, curve in self.problem.curves.items():
            found[self.places[name], self.places[name]] = roughness(curve)
        return found

    def meeting(self, z: Vector) -> tuple[np.ndarray, Vector]:
        """(C, v): initial values agree with those of the faces if v + C δ = 0."""
        now = self.problem.found(self.values(z))
        columns, rows, values = Columns(now), [np.empty((0, self.count))], [np.empty(0)]
        for gap, at in meetings(now):
            one, start = np.zeros((4, self.count)), 0
            slopes = columns.slopes(gap, at, 4)
            for name, curve in self.problem.curves.items():
                place = self.places[name]
                one[:, place] = slopes[:, start : start + curve.size] * curve.slope(z[place])
                start += curve.size
            rows.append(one)
            values.append(np.broadcast_to(np.asarray(evaluate(gap, at, np), float), 4))
        size = MEETING / float(np.median(np.concatenate([np.ravel(s) for s in self.sigma])))
        return size * np.concatenate(rows), size * np.concatenate(values)

    # ---- the loop

    def _search(self) -> None:
        for _ in range(MOST_WEIGHTS):
            self._settle()
            before = list(self.sigma)
            if not self._reweighted():
                self.sigma = before  # the strength was chosen for these
                break

    def _settle(self) -> None:
        """Steps with λ from the data, from strong to weak, until nothing changes."""
        self.strength = math.inf
        for _ in range(MOST_STEPS):
            assert self.best is not None
            self.sensitivities(self.best)
            if not np.isfinite(self.J).all():
                self.record.outcome = Ending.GIVEN_UP
                self.record.stop_reason = "The linearised equations have no solution."
                return
            self.record.iterations += 1
            chosen = self.choice()
            least = self.strength / GENTLER if math.isfinite(self.strength) else STRONG * self.unit
            self.strength = max(chosen.strength, least)
            r, step = self.residuals(self.best), self.choice(self.strength)
            misfit = math.sqrt(float(r @ r))
            moved = float(np.linalg.norm(self.weights * (self.J @ (step.z - self.best.z))))
            text = f"misfit {misfit / math.sqrt(len(r)):.3e}, strength {self.strength / self.unit:.1e}"
            self.monitor.phase("Gauss–Newton", text)
            settled = self.strength <= SETTLED * chosen.strength
            if settled and moved <= BELOW_NOISE * misfit:
                self.record.stop_reason = "The misfit is minimal: a further step changes nothing."
                return
            halved = self._towards(step.z)
            if halved is None and settled:
                self.record.stop_reason = "No step lowers the misfit any further."
                values = np.concatenate([m.values for m in self.problem.measured])
                rounding = EXACT * float(np.linalg.norm(self.weights * values))
                self.short = moved > NOT_THERE * max(misfit, rounding)
                return
            if halved:
                self.strength *= GENTLER  # the next step uses the same strength
        self.record.stop_reason = f"Stopped after {MOST_STEPS} steps while the misfit was still falling."
        self.record.outcome, self.short = Ending.STALLED, True

    def _towards(self, z: Vector) -> int | None:
        """The longest step that lowers misfit and roughness together: how often it was halved, None if none does."""
        assert self.best is not None
        here, delta = self.best, z - self.best.z
        least = self._score(here)
        for halved in range(MOST_TRIALS):
            model = self.solve(here.z + delta / 2**halved, self.rough)
            if model is not None and self._score(model) < least:
                self.best = model
                return halved
        return None

    def _score(self, model: Modelled) -> float:
        r, (_, v) = self.residuals(model), self.meeting(model.z)
        return float(r @ r + v @ v) + self.strength * float(model.z @ self.K @ model.z)

    # ---- the strength

    @property
    def unit(self) -> float:
        """A strength at which data and smoothness have equal weight."""
        A = np.sum((self.weights[:, None] * self.J) ** 2)
        return float(A) / max(float(np.trace(self.K)), TINY)

    def choice(self, strength: float | None = None) -> Choice:
        """The next z for a λ, or for the λ for which the data are likeliest."""
        assert self.best is not None
        J = self.weights[:, None] * self.J
        r, K, n = self.residuals(self.best), self.K, len(self.J)
        d = J @ self.best.z - r
        Q, R = qr(J, mode="economic")
        along = Q.T @ d
        beyond = float(np.sum((d - Q @ along) ** 2))
        C, v = self.meeting(self.best.z)
        A, g = R.T @ R, R.T @ along + C.T @ (C @ self.best.z - v)
        # What smoothness leaves free: constants and slopes of functions, and numbers.
        free = sum(1 + len(getattr(number, "of", ())) for number in self.problem.unknown.values())
        fixed = C.T @ C

        def at(strength: float) -> tuple[Choice, float]:
            whole = A + strength * K + fixed
            factor = cho_factor(whole + ROUNDED * np.trace(whole) * np.eye(len(K)))
            z = cho_solve(factor, g)
            misfit = float(np.sum((R @ z - along) ** 2)) + beyond
            S = misfit + strength * float(z @ K @ z)
            volume = 2 * float(np.log(np.abs(np.diag(factor[0]))).sum())
            unlikely = (n - free) * math.log(max(S, TINY)) + volume - (len(K) - free) * math.log(strength)
            return Choice(strength, z), unlikely

        if strength is not None:
            return at(strength)[0]
        stated = [curve.smooth for curve in self.problem.curves.values() if curve.smooth is not None]
        trials = [at(self.unit * s) for s in stated or STRENGTHS]
        return min(trials, key=lambda trial: trial[1])[0]

    # ---- the result

    def _found(self) -> Found:
        assert self.best is not None
        J = self.weights[:, None] * self.J
        r = self.residuals(self.best)
        A = J.T @ J
        C, _ = self.meeting(self.best.z)
        w, V = np.linalg.eigh(A + self.strength * self.K + C.T @ C)
        # A direction that nothing determines has a huge error, not none.
        inverse = V / np.maximum(w, ROUNDED * w[-1]) @ V.T
        determined = np.einsum("ij,ji->i", inverse, A)
        known = noise_known(self.problem)
        s2 = float(r @ r) / max(len(r) - float(determined.sum()), 1.0)
        covariance = (max(s2, 1.0) if known else s2) * inverse
        singular = {name: svdvals(J[:, place]) for name, place in self.places.items()}
        noisy = known or len(r) - float(determined.sum()) >= LEFT_OVER
        found = curve_found(self.problem, self.best.z, self.places, covariance, determined, singular, noisy)
        if not self.short:
            return found
        said = (
            "the fit has not converged: the start is too far away, or the cells are too coarse for such data"
        )
        return replace(found, warnings=(said, *found.warnings), free=True)
