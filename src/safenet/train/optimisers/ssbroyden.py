"""theta ← theta − α H ∇total(theta): self-scaled Broyden updates of a dense inverse Hessian H.

With s = Δtheta, y = Δgradient, w = H y and a strong-Wolfe step α along −H g,

    H ← (H − w wᵀ/y·w + φ (y·w) v vᵀ)/τ + s sᵀ/s·y,      v = s/s·y − w/y·w.

In what y·w and sᵀH⁻¹s = −α s·g are to s·y,

    h = y·w/s·y,  b = −α s·g/s·y,  a = h b − 1,  c = √(a/(1 + a)),  ρ = min(1, 1/(b (1 + c))),
    θ = max((ρ − 1)/a, min(1/ρ, (1 − b)/b)),  σ = 1 + a θ,  φ = (1 − θ)/σ,
    τ = min(1, 1/b) min(σ^(−1/(p − 1)), 1/θ),  or  min(min(1, 1/b) σ^(−1/(p − 1)), σ)  where θ <= 0

(Al-Baali, 1998, with θ as chosen by Urbán, Stefanou and Pons, 2025, who call it SSBroyden). θ = 0 is self-scaled BFGS,
whose φ = 1 and τ = min(1, 1/b). Where H has overestimated the curvature, plain BFGS needs many steps to forget it, and
τ < 1 does it in one: on a physics loss, whose Hessian spans ten orders of magnitude, that is most of the way.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from safenet.errors import SafeNetError, nearest
from safenet.train.optimisers.line_search import Search, choose, line_search
from safenet.train.optimisers.status import (
    Evaluation,
    Objective,
    State,
    Status,
    Trace,
    code,
    descending,
    first_evaluation,
    iteration_count,
    moved,
    repeat,
    require_double,
    verdict,
)

FAMILIES = ("broyden", "bfgs")


class SSBroydenState(State):
    """The gradient at theta and H; `learnt` once H is more than the identity it starts from."""

    gradient: Float[Array, " p"]
    H: Float[Array, "p p"]
    learnt: Bool[Array, ""]


@dataclass(frozen=True)
class SSBroyden:
    """At most `iterations` accepted steps; `family` is "broyden", or "bfgs" for θ = 0.

    Stops as GRADIENT when max|gradient| <= tolerance, as DECREASE when a step lowers the best loss by less than
    `tolerance`, relatively, and as NO_STEP when not even steepest descent, with H cleared, finds a lower loss.
    """

    iterations: int
    family: str = "broyden"
    tolerance: float = 1e-10
    name: ClassVar[str] = "ssbroyden"

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise SafeNetError(
                f"there is no family {self.family!r} of updates", nearest(self.family, FAMILIES)
            )

    def start(self, objective: Objective, theta: Float[Array, " p"]) -> SSBroydenState:
        cancelling = "H adds up thousands of rank-two updates that nearly cancel"
        require_double(theta, "self-scaled Broyden", cancelling)
        return SSBroydenState(
            **descending(theta, first_evaluation(objective, theta), self.tolerance),
            H=jnp.eye(theta.size, dtype=theta.dtype),
            learnt=jnp.asarray(False),
        )

    def advance(
        self, objective: Objective, state: SSBroydenState, count: int
    ) -> tuple[SSBroydenState, Trace]:
        iterations = jnp.asarray(self.iterations, jnp.int32)
        tolerance = jnp.asarray(self.tolerance, state.theta.dtype)
        return _advance(self.family, objective, state, iteration_count(count), iterations, tolerance)


@eqx.filter_jit
def _advance(
    family: str,
    objective: Objective,
    state: SSBroydenState,
    count: Int[Array, ""],
    iterations: Int[Array, ""],
    tolerance: Float[Array, ""],
) -> tuple[SSBroydenState, Trace]:
    return repeat(lambda state: _step(family, objective, state, tolerance), state, count, iterations)


def _step(
    family: str, objective: Objective, state: SSBroydenState, tolerance: Float[Array, ""]
) -> SSBroydenState:
    direction = -(state.H @ state.gradient)
    slope = state.gradient @ direction
    descends = jnp.isfinite(slope) & (slope < 0)  # in exact arithmetic always
    identity = jnp.eye(state.theta.size, dtype=state.theta.dtype)
    H = jnp.where(descends, state.H, identity)
    learnt = state.learnt & descends
    direction = jnp.where(descends, direction, -state.gradient)
    # Without curvature the unit of a step is unknown: let theta change by at most 1 in all.
    cautious = jnp.minimum(1 / jnp.sum(jnp.abs(state.gradient)), 1)
    here = Evaluation(state.total, state.terms, state.gradient)
    first = jnp.where(learnt, 1, cautious)
    search = line_search(objective, state.theta, here, state.best_total, direction, first)

    state = replace(state, evaluations=state.evaluations + search.count)
    after = _learn(family, replace(state, H=H, learnt=learnt), search)
    after = replace(after, status=verdict(after, state.best_total, tolerance))
    # A failed search may be the fault of H: forget it and try steepest descent, once.
    failure = jnp.where(learnt, code(Status.RUNNING), code(Status.NO_STEP))
    failure = jnp.where(search.finite, failure, code(Status.NON_FINITE))
    return choose(search.found, after, replace(state, H=identity, learnt=jnp.asarray(False), status=failure))


def _learn(family: str, state: SSBroydenState, search: Search) -> SSBroydenState:
    """The state at the end of the search, H updated unless s·y <= ε |s| |y|."""
    there = search.evaluation
    s, y = search.theta - state.theta, there.gradient - state.gradient
    # By their angle and not by s·y itself: a curvature has a unit.
    keep = s @ y > jnp.finfo(s.dtype).eps * jnp.linalg.norm(s) * jnp.linalg.norm(y)
    curvature = -search.low.alpha * (s @ state.gradient)
    H = self_scaled(family, state.H, s, y, curvature, state.learnt)
    return replace(
        moved(state, search.theta, there.total, there.terms, there.gradient_norm),
        gradient=there.gradient,
        H=jnp.where(keep, H, state.H),
        learnt=state.learnt | keep,
    )


def self_scaled(
    family: str,
    H: Float[Array, "p p"],
    s: Float[Array, " p"],
    y: Float[Array, " p"],
    curvature: Float[Array, ""],
    learnt: Bool[Array, ""],
) -> Float[Array, "p p"]:
    """H after the pair (s, y), with `curvature` = sᵀH⁻¹s; before anything is `learnt`, τ = h/σ sets the scale of H."""
    w = H @ y
    sy, yw = s @ y, y @ w
    h, b = yw / sy, curvature / sy
    a = jnp.maximum(h * b - 1, jnp.finfo(s.dtype).eps)  # never negative, by Cauchy and Schwarz
    # 1/(b (1 + c)) = h (1 − c), without the cancellation.
    rho = jnp.minimum(1, 1 / (b * (1 + jnp.sqrt(a / (1 + a)))))
    broyden = jnp.maximum((rho - 1) / a, jnp.minimum(1 / rho, (1 - b) / b))
    theta = broyden if family == "broyden" else jnp.zeros_like(b)
    sigma = 1 + a * theta
    root = sigma ** (-1 / max(s.size - 1, 1))
    shrink = jnp.minimum(1, 1 / b)
    above = shrink * jnp.minimum(root, 1 / jnp.where(theta > 0, theta, 1))
    tau = jnp.where(theta > 0, above, jnp.minimum(shrink * root, sigma))
    tau = jnp.where(learnt, tau, h / sigma)
    phi = (1 - theta) / sigma
    v = s / sy - w / yw
    # Outer products first, then their factors: so H stays symmetric to the bit.
    return (H - jnp.outer(w, w) / yw + jnp.outer(v, v) * (phi * yw)) / tau + jnp.outer(s, s) / sy
