"""u(x, t) = Σ_n [P(x + 2n, t) − P(2n − x, t)],   P(x, t) = ∫₀¹ g(y) e^{−(x−y)²/4κt} dy / √(4πκt),   g a Gaussian.

u_t = κ u_xx on [0, 1] with u = 0 at both ends: the heat of g and of its mirror images, each n standing for one
period 2 of the odd continuation.  A product of Gaussians is a Gaussian, so that P is a Gaussian times a difference
of two error functions, which cut g off at the ends exactly as the problem does.
"""

from __future__ import annotations

import numpy as np
import scipy

from safenet.reference.reference import Array, Reference

CENTRE = 0.4
# e^{−9²/2} ≈ 3e-18: a heat kernel is dropped this many of its standard deviations away.
REACH = 9.0
# e^{−4.2π²} ≈ 1e-18: later than this κt nothing is left of a bump of height one.
COLD = 4.2


def bump(x: Array, width: float | Array) -> Array:
    """g(x) = e^{−(x − 0.4)²/2w²}."""
    return np.asarray(np.exp(-(((x - CENTRE) / width) ** 2) / 2))


def spread(x: Array, variance: Array, width: float) -> Array:
    """P at the variance v = 2κt > 0 of the heat kernel:  (w/σ) e^{−(x−0.4)²/2σ²} · ½[erf((1−m)/√2τ) + erf(m/√2τ)].

    σ² = w² + v; the heat that has reached x comes from around m = (w²x + 0.4v)/σ², to within τ = w√v/σ.
    """
    sigma = np.sqrt(width**2 + variance)
    m = (width**2 * x + CENTRE * variance) / sigma**2
    tau = width * np.sqrt(variance) / sigma
    erf = scipy.special.erf
    share = (erf((1 - m) / (np.sqrt(2) * tau)) + erf(m / (np.sqrt(2) * tau))) / 2
    return np.asarray(width / sigma * bump(x, sigma) * share)


def heat_bump_values(x: Array, t: Array, kappa: float, width: float) -> Array:
    """u(x, t) for 0 ≤ x ≤ 1 and t ≥ 0."""
    if not np.all(t >= 0):
        raise ValueError(f"heat cannot be run backwards: t must be >= 0, not {np.min(t)}")
    u = np.where(t > 0, 0.0, bump(x, width))
    warm = (t > 0) & (kappa * t < COLD)
    x, variance = x[warm], 2 * kappa * t[warm]
    if x.size:
        periods = int(np.ceil((REACH * np.sqrt(variance.max()) + 1) / 2))
        u[warm] = sum(
            spread(x + 2 * n, variance, width) - spread(2 * n - x, variance, width)
            for n in range(-periods, periods + 1)
        )
    return u


def heat_bump(kappa: float, width: float) -> Reference:
    """u_t = κ u_xx on [0, 1]², u(0, t) = u(1, t) = 0, u(x, 0) = e^{−(x − 0.4)²/2w²}."""
    if not kappa > 0:
        raise ValueError(f"heat spreads forwards: kappa must be > 0, not {kappa}")

    def evaluate(x: Array, t: Array) -> Array:
        return heat_bump_values(x, t, kappa, abs(width))

    return Reference(
        evaluate=evaluate,
        accuracy=1e-12,
        origin="Mirror images of the heat of a Gaussian cut off at the ends, in error functions.",
    )
