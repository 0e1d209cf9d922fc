"""Measured quantity → what to change: each rule has a quantity, a threshold and one piece of advice.

stiff equation   λ_max of the equations' terms over that of the conditions': the equations limit the step size, and the
                 conditions starve if most of the remaining loss is theirs (before training: most of what gradient
                 descent would leave). The remedy depends on the cause: the amplitudes, if the stiffest direction moves
                 high frequencies that the problem does not name (derivatives multiply them by ω²); else the weights.
faint equation   the reverse: the equation contributes next to nothing to the loss, and a trained network meets the
                 conditions without solving it. The remedy is again the weights.
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

from ..measure.heldout import HeldOut
from ..train.objective import PhysicsLoss
from ..train.plan import Plan
from .gram import fourier_products_of, perceptron_of
from .kernel import ITERATIONS, Kernel

STIFF = 10.0  # how many times stiffer the equations may be than the conditions
HIGH = 0.5  # share of the stiffest direction in the upper half of the frequencies, if none of them is named
STARVED = 0.5  # the conditions' share of the remaining loss
LAGGING = 0.01  # share of the loss that gradient descent leaves
FAINT = 1000.0  # how many times stiffer the conditions may be than the equations
UNMET = 3.0  # and how many times larger the equations' relative residuals may be than the conditions'
ROUGH = 0.1  # relative rounding of the gradient


@dataclass(frozen=True)
class Advice:
    """`quantity` = `value` exceeds `threshold`; `change` says in words what to try, `settings` is for `Train`."""

    about: str
    quantity: str
    value: float
    threshold: float
    sentence: str
    change: str
    settings: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.about}: {self.sentence} Try {self.change}."


@dataclass(frozen=True)
class FrequencyShares:
    """‖v_ℓ‖² of a unit vector v of parameters, v_ℓ its part in ω_ℓ, c_ℓ and the first layer's columns of φ_ℓ.

    `named` is ‖ω‖ of the highest frequencies that occur in the problem's formulas, 0 if there are none.
    """

    omega: np.ndarray
    shares: np.ndarray
    named: float = 0.0

    @property
    def order(self) -> np.ndarray:
        """The frequency sets sorted by ‖ω‖, lowest first."""
        return np.argsort(np.linalg.norm(self.omega, axis=1), kind="stable")

    @property
    def upper_half(self) -> float:
        """The share of the upper half of the frequencies."""
        return float(self.shares[self.order[len(self.order) // 2 :]].sum())

    @property
    def needless(self) -> float:
        """The same, but 0 if the problem names a frequency in that half: the solution will need it."""
        lowest = np.linalg.norm(self.omega[self.order[len(self.order) // 2]])
        return self.upper_half if self.named < lowest else 0.0

    def leading(self, count: int = 3) -> list[tuple[float, ...]]:
        """The frequencies with the largest shares."""
        best = np.argsort(self.shares)[::-1][:count]
        return [tuple(float(w) for w in self.omega[i]) for i in best]


def frequency_shares(
    loss: PhysicsLoss, theta: Float[Array, " p"], direction: np.ndarray, named: float = 0.0
) -> FrequencyShares | None:
    """Which frequencies a direction of the parameters moves; None for a network without Fourier products."""
    products = fourier_products_of(loss.field(theta))
    if products is None:
        return None
    moved = loss.unravel(jnp.asarray(direction))
    perceptron, parts = perceptron_of(moved), fourier_products_of(moved)
    assert perceptron is not None
    assert parts is not None
    sets, count = products.omega.shape[0], products.size
    columns = np.asarray(perceptron.weights[0])[:, :count].reshape(-1, sets, count // sets)
    shares = np.sum(columns**2, axis=(0, 2))
    for part in (parts.omega, parts.amplitude):
        if part is not None:  # None if frozen: then it is not a parameter
            shares = shares + np.sum(np.asarray(part) ** 2, axis=1)
    return FrequencyShares(np.asarray(products.omega), shares, named)


def diagnose(
    terms: Mapping[str, float],
    equations: int,
    frequencies: FrequencyShares | None = None,
    kernel: Kernel | None = None,
    rounding: float | None = None,
    plan: Plan | None = None,
    starved: float = 1.0,
    unmet: HeldOut | None = None,
) -> list[Advice]:
    """Advice from measured quantities: λ_max of each term (equations first), the frequencies of the stiffest
    direction, the tangent kernel of the whole loss, the relative rounding of the gradient, the conditions' share of the
    remaining loss, and a trained network's relative residuals. Nothing that the `plan` already does is advised."""
    plan = plan or Plan()
    return [
        *_stiff_equation(terms, equations, frequencies, plan, starved),
        *_faint_equation(terms, equations, plan, unmet),
        *_optimiser(kernel, plan),
        *_precision(rounding),
    ]


def _stiff_equation(
    terms: Mapping[str, float],
    equations: int,
    frequencies: FrequencyShares | None,
    plan: Plan,
    starved: float,
) -> list[Advice]:
    inside, outside = list(terms.items())[:equations], list(terms.items())[equations:]
    if not inside or not outside:
        return []
    stiff, soft = max(inside, key=lambda item: item[1]), max(outside, key=lambda item: item[1])
    # Conditions that hold by construction vary only by rounding; eigenvalues are squares, hence ε².
    if not STIFF * soft[1] < stiff[1] or not soft[1] > 16 * np.finfo(float).eps ** 2 * stiff[1]:
        return []
    if not starved > STARVED:
        return []
    ratio = stiff[1] / soft[1]
    quantity = "λ_max of the equations / λ_max of the conditions"
    fact = (
        f"“{stiff[0]}” is {ratio:.0f} times as stiff as any condition (“{soft[0]}” is next) and limits the step "
        f"size; {starved:.0%} of the remaining loss comes from the conditions"
    )
    if frequencies is not None and frequencies.needless > HIGH:
        named = "; ".join("(" + ", ".join(f"{w:.3g}" for w in omega) + ")" for omega in frequencies.leading())
        share = f"{frequencies.upper_half:.0%} of the stiffest direction"
        sentence = f"{fact}; {share} are high frequencies, above all ω = {named}."
        change = "amplitudes that decay (--amplitudes decay)"
        settings: dict[str, Any] = {"amplitudes": "decay"}
        if plan.network.amplitudes == "decay":
            fewer = plan.network.features // 2
            change, settings = f"fewer frequencies (--features {fewer})", {"features": fewer}
        return [Advice("amplitudes", quantity, float(ratio), STIFF, sentence, change, settings)]
    if plan.network.weighting != "fixed":
        return []
    return [_weight(quantity, ratio, STIFF, f"{fact}.", plan.residual_weight / ratio)]


def faint(terms: Mapping[str, float], equations: int) -> bool:
    """Whether the conditions are so much stiffer than the equations that the equations hardly count."""
    sizes = list(terms.values())
    return bool(sizes[equations:]) and max(sizes[equations:]) > FAINT * max(sizes[:equations]) > 0


def _faint_equation(
    terms: Mapping[str, float], equations: int, plan: Plan, unmet: HeldOut | None
) -> list[Advice]:
    if unmet is None or plan.network.weighting != "fixed" or not faint(terms, equations):
        return []
    inside, outside = max(unmet.equations), max(unmet.conditions)
    if not inside > UNMET * outside:
        return []
    sizes = list(terms.values())
    ratio = max(sizes[equations:]) / max(sizes[:equations])
    sentence = (
        f"the conditions are {ratio:.0e} times as stiff as the equation. The residual is {outside:.1e} in the "
        f"conditions and {inside:.1e} in the equation, which hardly counts in the loss."
    )
    quantity = "λ_max of the conditions / λ_max of the equations"
    # In problems that train well, the conditions are several times stiffer than the equation.
    return [_weight(quantity, ratio, FAINT, sentence, plan.residual_weight * ratio / STIFF)]


def _weight(quantity: str, ratio: float, threshold: float, sentence: str, weight: float) -> Advice:
    weight = float(f"{weight:.1g}")
    change = f"a weight of {weight:g} for the equation (-O weight_grid={weight:g})"
    return Advice("weights", quantity, float(ratio), threshold, sentence, change, {"weight_grid": (weight,)})


def _optimiser(kernel: Kernel | None, plan: Plan) -> list[Advice]:
    if kernel is None or any(phase.double for phase in plan.phases):
        return []
    if not kernel.remaining() > LAGGING:
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
            "a second-order optimiser (--recipe levenberg-marquardt)",
            {"schedule": "levenberg-marquardt", "precision": "float64"},
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
            f"rounding errors are {rounding:.0%} of the gradient: training can hardly improve further in float32.",
            "--precision float64",
            {"precision": "float64"},
        )
    ]
