"""theta ← theta − α H ∇total(theta): self-scaled Broyden updates of a dense inverse Hessian H.

With s = Δtheta, y = Δgradient, w = H y and a strong-Wolfe step α along −H g,

    H ← (H − w wᵀ/y·w + φ (y·w) v vᵀ)/τ + s sᵀ/s·y,      v = s/s·y − w/y·w.

Relative to s·y, of y·w and of sᵀH⁻¹s = −α s·g,

    h = y·w/s·y,  b = −α s·g/s·y,  a = h b − 1,  c = √(a/(1 + a)),  ρ = min(1, 1/(b (1 + c))),
    θ = max((ρ − 1)/a, min(1/ρ, (1 − b)/b)),  σ = 1 + a θ,  φ = (1 − θ)/σ,
    τ = min(1, 1/b) min(σ^(−1/(p − 1)), 1/θ),  or  min(min(1, 1/b) σ^(−1/(p − 1)), σ)  where θ <= 0

(Al-Baali, 1998, with θ as chosen by Urbán, Stefanou and Pons, 2025, who call it SSBroyden). θ = 0 is self-scaled BFGS,
with φ = 1 and τ = min(1, 1/b). Where H overestimates the curvature, plain BFGS needs many steps to correct it, and
τ < 1 needs one: on a physics loss, whose Hessian spans ten orders of magnitude, that saves most of the way.

One turn of the loop on the device is one trial of the line search and, if that ends the search, the step, the update of
H and the next direction, as in `lbfgs`. A turn costs memory traffic, p² numbers at a time, so H is read only once for
H y and H g′ together. Updates wait as vectors beside H (`Inverse`) and are added to it once in `ROOM` steps, so that H
is not written in between, and several runs in one batch need no copies of theirs. The direction −H′ g′ follows from
H g′ and the update's three vectors. It is part of the state, so that a run continues with the same bits wherever it was
split.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ...errors import SafeNetError, nearest
from .base import Optimiser, require_double
from .inverse import Inverse, rank_two
from .line_search import (
    Line,
    Search,
    cautious,
    choose,
    descends,
    opened,
    trial,
    unfinished,
)
from .status import (
    Count,
    Evaluation,
    Held,
    Objective,
    Patient,
    Status,
    Trace,
    code,
    descending,
    first_evaluation,
    iteration_count,
    judged,
    moved,
    repeat,
    settled,
)

FAMILIES = ("broyden", "bfgs")
FORGET = 0.25  # weight of the last search in the first trial step of the next
BLUR = 2.0  # safety factor: an observed difference is one sample of the rounding, and the next may be larger
MOST_NOISE = 0.1  # as a share of the loss: if rounding exceeds it, a decrease of the loss says nothing


class SSBroydenState(Patient):
    """The gradient at theta, H and the direction −H g; `learnt` once H is more than the identity it starts from."""

    gradient: Float[Array, " p"]
    H: Inverse
    direction: Float[Array, " p"]
    learnt: Bool[Array, ""]
    first: Float[Array, ""]  # the first trial step of a search, as a share of the direction
    noise: Float[Array, ""]  # rounding of the loss, as observed when a search failed


class Searching(SSBroydenState):
    """A state within a line search; it exists only while a program runs."""

    line: Line
    search: Search


@dataclass(frozen=True)
class SSBroyden(Optimiser):
    """Self-scaled Broyden with a dense inverse Hessian: at most `iterations` accepted steps.

    `family` is "broyden", or "bfgs" for self-scaled BFGS.

    Stops as GRADIENT when max|gradient| <= tolerance, as DECREASE when a step lowers the best loss by a relative amount
    below `tolerance`, and as NO_STEP when not even steepest descent, with H cleared, finds a lower loss. If the
    tolerance is below the rounding ε of the loss, DECREASE means that the best loss did not fall by ε in 100 steps.

    With `resample` > 0 the run draws new points every `resample` steps, preferring those with a large residual.

    Examples:
        >>> training = sn.Train("safe-net", [sn.Adam(1000), sn.SSBroyden(20_000, resample=500)])
    """

    iterations: int
    family: str = "broyden"
    tolerance: float = 0.0
    resample: int = 0
    name: ClassVar[str] = "ssbroyden"
    numbers: ClassVar[tuple[str, ...]] = ("iterations",)  # arguments of the program
    double: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.family not in FAMILIES:
            raise SafeNetError(
                f"there is no family {self.family!r} of updates", nearest(self.family, FAMILIES)
            )

    def start(self, objective: Objective, theta: Float[Array, " p"]) -> SSBroydenState:
        cancelling = "H adds up thousands of rank-two updates that nearly cancel"
        require_double(theta, "self-scaled Broyden", cancelling)
        here = first_evaluation(objective, theta)
        return SSBroydenState(
            **descending(theta, here, self.tolerance),
            H=Inverse.identity(theta.size, theta.dtype),
            direction=-here.gradient,
            learnt=jnp.asarray(False),
            first=jnp.ones((), theta.dtype),
            noise=jnp.zeros((), theta.dtype),
            anchor=here.total,
            idle=jnp.asarray(0, jnp.int32),
        )

    def advance(
        self, objective: Objective, state: SSBroydenState, count: Count
    ) -> tuple[SSBroydenState, Trace]:
        iterations = jnp.asarray(self.iterations, jnp.int32)
        tolerance = jnp.asarray(self.tolerance, state.theta.dtype)
        return _advance(self.family, objective, state, iteration_count(count), iterations, tolerance)

    def refresh(self, objective: Objective, state: SSBroydenState) -> SSBroydenState:
        """The same run on a changed objective (new points): H is kept, best and patience start anew.

        Losses of two objectives are not comparable; their curvatures are similar if their points have about the same
        density. Costs one evaluation.
        """
        here = first_evaluation(objective, state.theta)
        anew: dict[str, Any] = dict(descending(state.theta, here, self.tolerance))
        anew |= {"iteration": state.iteration, "evaluations": state.evaluations + 1}
        anew |= {"anchor": here.total, "idle": jnp.zeros_like(state.idle)}
        return replace(state, **anew, direction=-_times(state.H, here.gradient))


@eqx.filter_jit
def _advance(
    family: str,
    objective: Objective,
    state: SSBroydenState,
    count: Int[Array, ""],
    iterations: Int[Array, ""],
    tolerance: Float[Array, ""],
) -> tuple[SSBroydenState, Trace]:
    spoilt = ~descends(state.gradient, state.direction)
    identity = Inverse.identity(state.theta.size, state.theta.dtype)
    begun = _searching(
        replace(
            state,
            H=choose(spoilt, identity, state.H),
            direction=jnp.where(spoilt, -state.gradient, state.direction),
            learnt=state.learnt & ~spoilt,
        )
    )

    def step(state: Searching) -> Searching:
        return _turn(family, objective, state, tolerance)

    begun = replace(begun, H=begun.H.divided())
    after, trace = repeat(step, begun, count, iterations, Held(lambda state: state.H.base, _paused, _resumed))
    return settled(replace(after, H=after.H.undivided()), SSBroydenState), trace


def _paused(state: Searching) -> Bool[Array, ""]:
    return state.H.full


def _resumed(state: Searching) -> Searching:
    return replace(state, H=state.H.settled())


@eqx.filter_jit
def _times(H: Inverse, vector: Float[Array, " p"]) -> Float[Array, " p"]:
    return H.divided().times(vector)[0]


def _searching(state: SSBroydenState) -> Searching:
    """The state at the beginning of the search along its direction."""
    here = Evaluation(state.total, state.terms, state.gradient)
    first = jnp.where(state.learnt, state.first, cautious(state.gradient))
    line, search = opened(state.theta, here, state.best_total, state.direction, first, state.noise)
    return Searching(**vars(state), line=line, search=search)


def _turn(family: str, objective: Objective, state: Searching, tolerance: Float[Array, ""]) -> Searching:
    search = trial(objective, state.line, state.search)
    ended = ~unfinished(search)
    there = search.evaluation
    s, y = search.theta - state.theta, there.gradient - state.gradient
    w, u = state.H.times(y, there.gradient)
    # Compare the angle, not s·y itself, which has units.
    angle = s @ y > jnp.finfo(s.dtype).eps * jnp.linalg.norm(s) * jnp.linalg.norm(y)
    update = rank_two(family, s, y, w, -search.low.alpha * (s @ state.gradient), state.learnt)
    keep = ended & search.found & angle & update.finite
    onward = -jnp.where(keep, update.times(there.gradient, u), u)
    # A search that failed because of more rounding than expected is repeated with the observed rounding.
    seen = BLUR * search.gap
    blurred = ended & ~search.found & (search.gap > state.line.noise) & (seen < MOST_NOISE * state.best_total)
    # Any other failure, or an ascent, may be the fault of H: forget it and try steepest descent.
    forget = ended & ~(search.found & descends(there.gradient, onward)) & ~blurred
    H = state.H.updated(update, keep, forget)

    before = replace(
        settled(state, SSBroydenState), evaluations=state.evaluations + jnp.where(ended, search.count, 0)
    )
    moves = moved(before, search.theta, there.total, there.terms, there.gradient_norm)
    after = replace(
        judged(replace(moves, gradient=there.gradient), tolerance),
        H=H,
        direction=jnp.where(forget, -there.gradient, onward),
        learnt=(state.learnt | keep) & ~forget,
        first=_next_first(state, search),
    )
    again = state.learnt | blurred
    failure = jnp.where(again, code(Status.RUNNING), code(Status.NO_STEP))  # steepest descent fails only once
    failed = replace(
        before,
        H=H,
        direction=jnp.where(blurred, state.direction, -state.gradient),
        learnt=state.learnt & blurred,
        noise=jnp.where(blurred, seen, state.noise),
        status=jnp.where(search.finite, failure, code(Status.NON_FINITE)),
    )
    onwards = _searching(choose(search.found, after, failed))
    return choose(ended, onwards, Searching(**vars(replace(before, H=H)), line=state.line, search=search))


def _next_first(state: Searching, search: Search) -> Float[Array, ""]:
    """first ← first^¾ (α*)^¼ with the secant's minimum α* of the last search, at most 1.

    The self-scaled H tends to be too large: on a network, half of the searches that began at α = 1 overshot by a factor
    of two and took a second trial. Of those that begin near the last minima, one in ten does.
    """
    low = search.low
    minimum = low.alpha * state.line.slope / (state.line.slope - low.slope)
    minimum = jnp.where(state.learnt & (minimum > 0), minimum, 1)
    return jnp.clip(state.first ** (1 - FORGET) * minimum**FORGET, 0.4, 1)
