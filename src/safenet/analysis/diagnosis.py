"""Measured quantity → what to change: each rule has a quantity, a threshold and one piece of advice.

stiff equation   λ_max of the equations' terms over that of the conditions': they set the step, the conditions starve.
                 The remedy depends on the cause: where the stiffest direction moves high frequencies, which derivatives
                 multiply by ω², their amplitudes; otherwise the weights.
optimiser        the share of the loss that 10,000 steps of gradient descent would leave, by the tangent kernel
precision        ‖g₃₂ − g₆₄‖/‖g₆₄‖, the rounding of the gradient in the precision that trained the network
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..training.objective import PhysicsLoss
from .gram import fourier_products_of
from .kernel import ITERATIONS, Kernel

STIFF = 10.0  # how many times stiffer the equations may be than the conditions
HIGH = 0.5  # share of the stiffest direction in the upper half of the frequencies
LAGGING = 0.01  # of the loss, left by gradient descent
ROUGH = 0.1  # relative rounding of the gradient


@dataclass(frozen=True)
class Advice:
    """`quantity` = `value` is beyond `threshold`; `change` is what to try, as options of `safenet solve`."""

    about: str
    quantity: str
    value: float
    threshold: float
    sentence: str
    change: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.about}: {self.sentence} Try {self.change}."


@dataclass(frozen=True)
class FrequencyShares:
    """‖v_ℓ‖² of a unit vector v of parameters by frequency set ℓ: ω_ℓ, c_ℓ and the first layer's columns of φ_ℓ."""

    omega: np.ndarray
    shares: np.ndarray

    @property
    def order(self) -> np.ndarray:
        """The sets by ‖ω‖, lowest first."""
        return np.argsort(np.linalg.norm(self.omega, axis=1), kind="stable")

    @property
    def upper_half(self) -> float:
        """The share of the upper half of the frequencies."""
        return float(self.shares[self.order[len(self.order) // 2 :]].sum())

    def leading(self, count: int = 3) -> list[tuple[float, ...]]:
        """The frequencies with the largest shares."""
        best = np.argsort(self.shares)[::-1][:count]
        return [tuple(float(w) for w in self.omega[i]) for i in best]


def frequency_shares(
    loss: PhysicsLoss, theta: Float[Array, " p"], direction: np.ndarray
) -> FrequencyShares | None:
    """Which frequencies a direction of the parameters moves; None for a network without Fourier products."""
    products = fourier_products_of(loss.field(theta))
    if products is None:
        return None
    moved = loss.unravel(jnp.asarray(direction))
    parts = fourier_products_of(moved)
    assert parts is not None
    sets, count = products.omega.shape[0], products.size
    columns = np.asarray(moved.weights[0])[:, :count].reshape(-1, sets, count // sets)
    shares = (
        np.sum(np.asarray(parts.omega) ** 2, axis=1)
        + np.sum(np.asarray(parts.amplitude) ** 2, axis=1)
        + np.sum(columns**2, axis=(0, 2))
    )
    return FrequencyShares(np.asarray(products.omega), shares)


def diagnose(
    terms: Mapping[str, float],
    equations: int,
    frequencies: FrequencyShares | None = None,
    kernel: Kernel | None = None,
    rounding: float | None = None,
) -> list[Advice]:
    """The advice that measured quantities give: λ_max of each term (equations first), the frequencies of the stiffest
    direction, the tangent kernel of the whole loss, and the relative rounding of the gradient."""
    return [
        *_stiff_equation(terms, equations, frequencies),
        *_optimiser(kernel),
        *_precision(rounding),
    ]


def _stiff_equation(
    terms: Mapping[str, float], equations: int, frequencies: FrequencyShares | None
) -> list[Advice]:
    inside, outside = list(terms.items())[:equations], list(terms.items())[equations:]
    if not inside or not outside:
        return []
    stiff, soft = max(inside, key=lambda item: item[1]), max(outside, key=lambda item: item[1])
    ratio = stiff[1] / soft[1] if soft[1] > 0 else np.inf
    if not STIFF < ratio < np.inf:
        return []
    quantity = "λ_max of the equations / λ_max of the conditions"
    fact = (
        f"«{stiff[0]}» is {ratio:.0f} times as stiff as any condition («{soft[0]}» is next) and sets the step"
    )
    if frequencies is not None and frequencies.upper_half > HIGH:
        named = "; ".join("(" + ", ".join(f"{w:.3g}" for w in omega) + ")" for omega in frequencies.leading())
        share = f"{frequencies.upper_half:.0%} of its stiffest direction"
        sentence = f"{fact}: {share} are high frequencies, above all ω = {named}."
        change = "amplitudes that decay (--amplitudes decay), or fewer frequencies (--features)"
        return [Advice("amplitudes", quantity, float(ratio), STIFF, sentence, change)]
    sentence = f"{fact}, so that the conditions are learnt slowly."
    change = f"a weight of {1 / ratio:.1g} for the equation (-O weight_grid={1 / ratio:.1g})"
    return [Advice("weights", quantity, float(ratio), STIFF, sentence, change)]


def _optimiser(kernel: Kernel | None) -> list[Advice]:
    if kernel is None or not kernel.remaining() > LAGGING:
        return []
    share = kernel.remaining()
    return [
        Advice(
            "optimiser",
            f"share of the loss that {ITERATIONS} steps of gradient descent leave",
            share,
            LAGGING,
            f"{ITERATIONS} steps of gradient descent at the largest stable rate would leave {share:.0%} of the loss: "
            "the rest of the residual lies along flat directions.",
            "a second-order optimiser (--recipe levenberg-marquardt, or a schedule with L-BFGS)",
        )
    ]


def _precision(rounding: float | None) -> list[Advice]:
    if rounding is None or not rounding > ROUGH:
        return []
    return [
        Advice(
            "precision",
            "relative rounding of the gradient",
            rounding,
            ROUGH,
            f"in float32 the gradient is wrong by {rounding:.0%} of its length: what is left to gain is rounding.",
            "--precision float64",
        )
    ]
