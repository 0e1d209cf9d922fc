"""y(t + h) = e^{hL} y + h ∫₀¹ e^{(1−s)hL} N(s) ds, N a polynomial through its last values: exponential Adams steps.

The predictor uses the last five values of N; the corrector, of order 6, also that at the predicted y. A step takes
two evaluations; the one-step method of the same accuracy, which makes the first four steps, takes eleven. With τ_i the
times of the values in units of h, and ℓ_i = Σ_j c_ij s^j the polynomials that are 1 at one of them and 0 at the others,
the weight of a value is h Σ_j c_ij j! φ_{j+1}(hL).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .exponential import Evolution

VALUES = 5  # of N that the predictor uses
# The error, as a share of corrector − predictor: a corrector of the predictor's order has 1/18 of its error.
MILNE = 1 / 16
# The largest h ρ |φ₁(hL)|, ρ from the slopes of N, at which errors do not grow: between 0.5 and 0.8 for Burgers'
# equation, above 0.9 for the Korteweg–de Vries equation.
BEARS = 0.6
KEPT = 4  # sets of weights: for one step size, and after a change of it


class Adams:
    """A run of steps along `evolution`, with its latest values of N."""

    def __init__(self, evolution: Evolution) -> None:
        self.evolution = evolution
        self.times: list[float] = []
        self.values: list[Any] = []
        self._weights: dict[tuple[float, ...], tuple[Any, list[Any], list[Any]]] = {}

    def moved(self, evolution: Evolution) -> Adams:
        """The same run on a wider grid."""
        other, old = Adams(evolution), self.evolution.waves
        other.times = list(self.times)
        other.values = [old.onto(evolution.waves, one) for one in self.values]
        return other

    def bears(self, h: float, rho: np.ndarray) -> bool:
        """Whether steps of length h are stable if N changes by ρ times y along each mode."""
        return float(np.max(h * rho * self.evolution.mean_of_decay(h))) < BEARS

    def step(self, t: float, y: Any, h: float, single: bool = False) -> tuple[Any, Any]:
        """y(t + h) and its estimated error; `single`: use the one-step method in any case."""
        if not self.times or self.times[-1] != t:
            self.times, self.values = self.times[1 - VALUES :], self.values[1 - VALUES :]
            self.times.append(t)
            self.values.append(self.evolution.rest(t, y))
        if single or len(self.times) < VALUES:
            return self.evolution.extrapolated(t, y, h, self.values[-1])
        return multistep(self.evolution, self.weights(h), t, y, h, self.values)

    def within(self, t: float, y: Any, h: float) -> Any:
        """y(t + h) inside a step from t: e^{hL} y plus the integral of the polynomial through the values of N."""
        phi = self.evolution.phis(h, len(self.times) + 1)
        weights = self._integrals(h, phi, tuple((one - t) / h for one in self.times))
        x = self.evolution.times
        found = x(self.evolution.xp.asarray(phi[0]), y) + sum(map(x, weights, self.values))
        return self.evolution.cleaned(found)

    def weights(self, h: float) -> tuple[Any, list[Any], list[Any]]:
        """e^{hL}, and the weights of the values of N in the predictor and in the corrector."""
        last = self.times[-1]
        key = (h, *[round((t - last) / h, 6) for t in self.times])
        if key not in self._weights:
            if len(self._weights) >= KEPT:
                self._weights.pop(next(iter(self._weights)))
            phi = self.evolution.phis(h, VALUES + 2)
            self._weights[key] = (
                self.evolution.xp.asarray(phi[0]),
                self._integrals(h, phi, key[1:]),
                self._integrals(h, phi, (*key[1:], 1.0)),
            )
        return self._weights[key]

    def _integrals(self, h: float, phi: np.ndarray, nodes: tuple[float, ...]) -> list[Any]:
        powers = np.linalg.inv(np.vander(nodes, increasing=True))  # (power, node)
        moments = np.stack([h * math.factorial(j) * phi[j + 1] for j in range(len(nodes))])
        found = np.tensordot(powers.T, moments, axes=1)
        return [self.evolution.xp.asarray(one) for one in found]


def multistep(
    evolution: Evolution,
    weights: tuple[Any, list[Any], list[Any]],
    t: Any,
    y: Any,
    h: float,
    values: list[Any],
) -> tuple[Any, Any]:
    """Predict, evaluate, correct; the error of the step is estimated from the difference of the two."""
    decay, before, after = weights
    x = evolution.times
    whole = x(decay, y)
    predicted = whole + sum(x(w, n) for w, n in zip(before, values, strict=True))
    new = evolution.rest(t + h, predicted)
    corrected = whole + sum(x(w, n) for w, n in zip(after, [*values, new], strict=True))
    return evolution.cleaned(corrected), MILNE * (corrected - predicted)
