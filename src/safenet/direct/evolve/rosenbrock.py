"""M y′ = F(t, y) by RODAS, a Rosenbrock method of order 4 with one of order 3 inside (Hairer & Wanner, VI.4).

(M/(hγ) − J) U_i = F(t + α_i h, y + Σ a_ij U_j) + M Σ (c_ij/h) U_j + γ_i h F_t.  M may be singular: its empty rows are
algebraic equations. One factorisation a step, none if J is constant and the step size unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

GAMMA = 0.25
ALPHA = 0.0, 0.386, 0.21, 0.63, 1.0, 1.0
RATES = 0.25, -0.1043, 0.1035, -0.3620000000000023e-01, 0.0, 0.0
A = (
    (),
    (1.544,),
    (0.9466785280815826, 0.2557011698983284),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0),
)
C = (
    (),
    (-5.6688,),
    (-2.430093356833875, -0.2063599157091915),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
)
SHORTER, LONGER, SAFE = 0.2, 4.0, 0.9
STEADY = 1.2  # a step size that could grow by less is kept, and with it the factorisation
EDGE = 1e-12  # of the whole time: values at a switch are taken so far from it, on the side of the step
LEAST = 1e-11  # of the whole time: if a shorter step is needed, the method fails


@dataclass(frozen=True)
class System:
    """F, ∂F/∂y and M; `constant`: ∂F/∂y is always the same; `factored(A)` has `solve`, or is None if A is singular.
    `scale(y)` is what errors are relative to."""

    rate: Callable[[float, np.ndarray], np.ndarray]
    slopes: Callable[[float, np.ndarray], scipy.sparse.csc_matrix]
    mass: scipy.sparse.csc_matrix
    constant: bool
    factored: Callable[[Any], Any]
    scale: Callable[[np.ndarray], np.ndarray]


def steps(
    system: System, y: np.ndarray, stops: np.ndarray, tolerance: float, longest: float
) -> Iterator[tuple[float, np.ndarray]]:
    """(t, y) after every step from the first of `stops` to the last; a step ends at each stop. Ends early if no step is
    short enough."""
    t, whole = float(stops[0]), float(stops[-1] - stops[0])
    h, before, J, factor, factored = 1e-4 * whole, 1.0, None, None, 0.0
    for began, stop in pairwise(stops):
        h = min(h, 1e-3 * whole)  # formulas may switch at a stop
        own = _between(system, began + EDGE * whole, stop - EDGE * whole)
        while t < stop - 1e-12 * whole:
            h = min(h, longest)
            last = t + 1.01 * h >= stop
            step = float(stop) - t if last else min(h, (float(stop) - t) / 2 if t + 2 * h > stop else h)
            if J is None or not system.constant:
                J, factored = own.slopes(t, y), 0.0
            if step != factored:
                factor, factored = system.factored(system.mass / (step * GAMMA) - J), step
            after, wrong = (y, None) if factor is None else _step(own, factor, t, y, step)
            error = (
                np.inf
                if wrong is None
                else _norm(wrong, system.scale(np.maximum(np.abs(y), np.abs(after)))) / tolerance
            )
            if error <= 1.0:
                t, y = (float(stop) if last else t + step), after
                yield t, y
                change = SAFE * error**-0.25 * (before / max(error, 1e-4)) ** 0.08 if error > 0 else LONGER
                change, before = float(np.clip(change, SHORTER, LONGER)), max(error, 1e-4)
                h = (h if last and change >= 1 else step) * (change if change > STEADY or change < 1 else 1.0)
            else:
                h = step * (
                    float(np.clip(SAFE * error**-0.25, SHORTER, 0.7)) if np.isfinite(error) else SHORTER
                )
                if h < LEAST * whole:
                    return


def _between(system: System, first: float, last: float) -> System:
    """The system with the formulas inside one stretch of time, also at its ends, where they may switch."""
    return replace(
        system,
        rate=lambda t, y: system.rate(min(max(t, first), last), y),
        slopes=lambda t, y: system.slopes(min(max(t, first), last), y),
    )


def _step(
    system: System, factor: Any, t: float, y: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray | None]:
    delta = 1e-4 * h
    first = system.rate(t, y)
    moving = (system.rate(t + delta, y) - first) / delta
    U: list[np.ndarray] = []
    for i in range(6):
        here = sum((a * u for a, u in zip(A[i], U, strict=True)), y)
        right = (first if i == 0 else system.rate(t + ALPHA[i] * h, here)) + RATES[i] * h * moving
        if U:
            right = right + system.mass @ sum((c / h * u for c, u in zip(C[i], U, strict=True)), 0.0)
        U.append(factor.solve(right))
        if not np.isfinite(U[-1]).all():
            return y, None
    after = sum((a * u for a, u in zip(A[5], U[:5], strict=True)), y) + U[5]
    return after, U[5]


def _norm(error: np.ndarray, scale: np.ndarray) -> float:
    return float(np.sqrt(np.mean((error / scale) ** 2)))
