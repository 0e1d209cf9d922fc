"""u(x, t) = ∫ u₀(y) e^{−H(y)} dy / ∫ e^{−H(y)} dy,   H(y) = U₀(y)/(2ν) + (x − y)²/(4νt),   U₀' = u₀.

The Cole–Hopf formula for u_t + u u_x = ν u_xx on the line (Hopf 1950, Cole 1951), after one integration by
parts: the textbook form averages (x − y)/t, which loses digits as t → 0, while averaging u₀(y) does not.  A
2-periodic odd u₀ also solves the problem on [−1, 1] with u(±1, t) = 0.

The integrand is analytic and decays like a Gaussian, so the trapezoidal rule converges faster than any power.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from safenet.reference.reference import Array, Reference

# e^{−7²} ≈ 5e-22: where the Gaussian tail is dropped.
TAIL = 7.0
# How many numbers one block may hold; bounds the memory whatever the number of points.
BLOCK = 2**20


@dataclass(frozen=True)
class InitialVelocity:
    """u₀ = dU₀/dy with |u₀| ≤ speed and |u₀'| ≤ slope; the two bounds place the quadrature nodes."""

    velocity: Callable[[Array], Array]
    antiderivative: Callable[[Array], Array]
    speed: float
    slope: float


SINE = InitialVelocity(
    velocity=lambda y: -np.sin(np.pi * y),
    antiderivative=lambda y: np.cos(np.pi * y) / np.pi,
    speed=1.0,
    slope=np.pi,
)
# sin θ (1 − cos θ) is largest at θ = 2π/3; u₀' = π(cos 2θ − cos θ) at θ = π.
TWO_MODES = InitialVelocity(
    velocity=lambda y: -np.sin(np.pi * y) + np.sin(2 * np.pi * y) / 2,
    antiderivative=lambda y: (np.cos(np.pi * y) - np.cos(2 * np.pi * y) / 4) / np.pi,
    speed=3 * np.sqrt(3) / 4,
    slope=2 * np.pi,
)


def cole_hopf(
    x: ArrayLike, t: ArrayLike, nu: float, initial: InitialVelocity = SINE, refinement: float = 1.5
) -> Array:
    """u(x, t) of u_t + u u_x = ν u_xx, u(x, 0) = u₀(x); `refinement` divides the step of the quadrature.

    Nodes: a stationary point of H has |x − y| = t|u₀(y)| ≤ t·speed, and H grows at least like d²/(4νt) at the
    distance d beyond that, so |x − y| ≤ t·speed + 2·TAIL·√(νt) holds all of the mass.

    Step: |e^{−H}| grows by at most exp(a²(1/t + slope)/(4ν)), to leading order, on the line shifted by ia,
    and the trapezoidal error is that times e^{−2πa/h}; the best a gives exp(−4π²ν/(h²(1/t + slope))), so
    that h = √(νt/(1 + t·slope)) already reaches e^{−4π²} ≈ 7e-18.  The leading order holds while a is no
    longer than speed/slope, on which u₀ varies; h ≤ ¼ speed/slope sees to it when the viscosity is large.
    """
    if not nu > 0:
        raise ValueError(f"the Cole–Hopf formula needs a viscosity nu > 0, not {nu}")
    x, t = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(t, dtype=np.float64))
    if not np.all(t >= 0):
        raise ValueError(f"Burgers' equation cannot be run backwards: t must be >= 0, not {np.min(t)}")
    u = np.array(initial.velocity(x))  # writable also where x is a single number
    later = t > 0
    u[later] = _averages(x[later], t[later], nu, initial, refinement)
    return u


def _averages(x: Array, t: Array, nu: float, initial: InitialVelocity, refinement: float) -> Array:
    """⟨u₀⟩ under the weights e^{−H}, for flat x and t > 0."""
    if x.size == 0:
        return x
    width = np.sqrt(nu * t)
    reach = t * initial.speed + 2 * TAIL * width
    step = np.minimum(width / np.sqrt(1 + t * initial.slope), 0.25 * initial.speed / initial.slope)
    # reach/step grows with t, so the latest time sets the number of nodes for all.
    intervals = int(np.ceil(refinement * np.max(2 * reach / step)))
    nodes = np.linspace(-1.0, 1.0, intervals + 1)
    rows = max(1, BLOCK // nodes.size)
    return np.concatenate(
        [
            _average(x[i : i + rows], reach[i : i + rows], width[i : i + rows], nodes, nu, initial)
            for i in range(0, x.size, rows)
        ]
    )


def _average(
    x: Array, reach: Array, width: Array, nodes: Array, nu: float, initial: InitialVelocity
) -> Array:
    offset = reach[:, None] * nodes
    y = x[:, None] + offset
    # (offset / width)² rather than offset² / (νt): the latter underflows for tiny t.
    H = initial.antiderivative(y) / (2 * nu) + (offset / width[:, None]) ** 2 / 4
    # Only ratios matter: with the largest weight set to 1 nothing overflows and the sum is at least 1.
    weights = np.exp(H.min(axis=1, keepdims=True) - H)
    average: Array = np.sum(weights * initial.velocity(y), axis=1) / np.sum(weights, axis=1)
    return average


def burgers(nu: float, initial: InitialVelocity = SINE) -> Reference:
    """u_t + u u_x = ν u_xx on [−1, 1], u(x, 0) = −sin πx or another odd u₀ of period 2, u(±1, t) = 0."""

    def evaluate(x: Array, t: Array) -> Array:
        return cole_hopf(x, t, nu, initial)

    return Reference(
        evaluate=evaluate,
        accuracy=1e-11,
        origin="Cole–Hopf formula, trapezoidal quadrature of an analytic integrand in logarithms.",
    )


def burgers_two(nu: float) -> Reference:
    """u_t + u u_x = ν u_xx on [−1, 1], u(x, 0) = −sin πx + ½ sin 2πx, u(±1, t) = 0."""
    return burgers(nu, TWO_MODES)
