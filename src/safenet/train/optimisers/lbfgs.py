"""theta ← theta − α H ∇total(theta): limited-memory BFGS with a strong-Wolfe line search.

The two-loop recursion (Nocedal, 1980), with its loops written as matrices. With the last pairs s_i = Δtheta and
y_i = Δgradient as rows of S and Y, oldest first, R = triu(S Yᵀ) and D = diag(R),

    first loop    R α = S g,               q = g − Yᵀ α
    second loop   Rᵀ c = D α − γ Y q,      H g = γ q + Sᵀ c,      γ = s·y / y·y of the newest pair:

two triangular solves and four products, instead of 2 × history kernels that wait for each other. The cancellation that
the loops do vector by vector happens here in the scalars S g and S Yᵀ: they are kept in float64, whatever theta is.

One turn of the loop on the device is one trial of the line search and, if that ends the search, the step and the next
direction. So each of the seeds batched in one program takes as many turns as it has evaluations: with a loop inside the
loop, all would wait at every step for the one whose search is longest.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Float64, Int

from .base import Optimiser
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


class LBFGSState(Patient):
    """The gradient at theta and the pairs, in circular buffers: slot `newest` was written last."""

    gradient: Float[Array, " p"]
    S: Float[Array, "history p"]
    Y: Float[Array, "history p"]
    SY: Float64[Array, "history history"]
    gamma: Float64[Array, ""]
    stored: Int[Array, ""]
    newest: Int[Array, ""]


class Searching(LBFGSState):
    """A state within a line search, whose direction `stored` pairs made; it exists only while a program runs."""

    line: Line
    search: Search


@dataclass(frozen=True)
class LBFGS(Optimiser):
    """L-BFGS: at most `iterations` accepted steps, with a memory of `history` pairs.

    Stops as GRADIENT when max|gradient| <= tolerance, as DECREASE when a step lowers the loss by a relative amount
    below `tolerance`, and as NO_STEP when not even steepest descent, with the memory cleared, finds a lower loss.

    A decrease below the rounding ε of the loss (such as 1e-10 in float32, whose ε is 1.2e-7) cannot be seen in one
    step: good steps often leave the rounded loss unchanged. With such a tolerance, DECREASE means that the best loss
    did not fall by ε in 100 steps, or 1e-9 a step, the smallest decrease that can be detected in so many.

    Examples:
        >>> sn.Train("pinn", [sn.Adam(500), sn.LBFGS(1000)]).plan(decay).phases[1].iterations
        1000
    """

    iterations: int
    history: int = 50
    tolerance: float = 1e-10
    name: ClassVar[str] = "lbfgs"
    numbers: ClassVar[tuple[str, ...]] = ("iterations",)  # arguments of the program

    def start(self, objective: Objective, theta: Float[Array, " p"]) -> LBFGSState:
        here = first_evaluation(objective, theta)
        return LBFGSState(
            **descending(theta, here, self.tolerance),
            S=jnp.zeros((self.history, theta.size), theta.dtype),
            Y=jnp.zeros((self.history, theta.size), theta.dtype),
            SY=jnp.zeros((self.history, self.history), jnp.float64),
            gamma=jnp.ones((), jnp.float64),
            stored=jnp.asarray(0, jnp.int32),
            newest=jnp.asarray(0, jnp.int32),
            anchor=here.total,
            idle=jnp.asarray(0, jnp.int32),
        )

    def advance(self, objective: Objective, state: LBFGSState, count: Count) -> tuple[LBFGSState, Trace]:
        iterations = jnp.asarray(self.iterations, jnp.int32)
        tolerance = jnp.asarray(self.tolerance, state.theta.dtype)
        return _advance(objective, state, iteration_count(count), iterations, tolerance)


@eqx.filter_jit
def _advance(
    objective: Objective,
    state: LBFGSState,
    count: Int[Array, ""],
    iterations: Int[Array, ""],
    tolerance: Float[Array, ""],
) -> tuple[LBFGSState, Trace]:
    begun = _searching(state, quasi_newton(state))
    after, trace = repeat(lambda state: _turn(objective, state, tolerance), begun, count, iterations)
    return settled(after, LBFGSState), trace


def quasi_newton(state: LBFGSState) -> Float[Array, " p"]:
    """−H g, by the two loops; with no pairs stored, −g."""
    history = state.S.shape[0]
    S, Y, g = (array.astype(jnp.float64) for array in (state.S, state.Y, state.gradient))
    age = jnp.arange(history, dtype=jnp.int32)
    oldest_first = (state.newest + 1 + age) % history
    valid = age >= history - state.stored
    # Slots never written, or cleared by a restart, are rows of the identity and solve to zero.
    pairs = valid[:, None] & valid[None, :]
    R = jnp.where(pairs, jnp.triu(state.SY[oldest_first][:, oldest_first]), jnp.eye(history))

    def by_slot(coefficients: Float64[Array, " history"]) -> Float64[Array, " history"]:
        return jnp.zeros_like(coefficients).at[oldest_first].set(coefficients)

    alpha = solve_triangular(R, jnp.where(valid, (S @ g)[oldest_first], 0))
    q = g - by_slot(alpha) @ Y
    gamma = jnp.where(state.stored > 0, state.gamma, 1)
    right = jnp.diagonal(R) * alpha - gamma * jnp.where(valid, (Y @ q)[oldest_first], 0)
    c = solve_triangular(R, right, trans=1)
    return -(gamma * q + by_slot(c) @ S).astype(state.theta.dtype)


def _turn(objective: Objective, state: Searching, tolerance: Float[Array, ""]) -> Searching:
    search = trial(objective, state.line, state.search)
    ended = ~unfinished(search)
    after = _stepped(settled(state, LBFGSState), search, ended, tolerance)
    # Only the direction is worth a `cond`: everything that passes through one is copied.
    direction = lax.cond(ended, lambda: quasi_newton(after), lambda: state.line.direction)
    return choose(
        ended, _searching(after, direction), Searching(**vars(after), line=state.line, search=search)
    )


def _searching(state: LBFGSState, direction: Float[Array, " p"]) -> Searching:
    """The state at the beginning of the search along the direction, or along −g if that does not descend."""
    down = descends(state.gradient, direction)
    state = replace(state, stored=jnp.where(down, state.stored, 0))
    direction = jnp.where(down, direction, -state.gradient)
    here = Evaluation(state.total, state.terms, state.gradient)
    first = jnp.where(state.stored > 0, 1, cautious(state.gradient))
    line, search = opened(state.theta, here, state.best_total, direction, first)
    return Searching(**vars(state), line=line, search=search)


def _stepped(
    state: LBFGSState, search: Search, ended: Bool[Array, ""], tolerance: Float[Array, ""]
) -> LBFGSState:
    """The state after a search, if that has `ended`; else unchanged."""
    there = search.evaluation
    state = _remembering(state, search, ended & search.found)
    state = replace(state, evaluations=state.evaluations + jnp.where(ended, search.count, 0))
    moves = moved(state, search.theta, there.total, there.terms, there.gradient_norm)
    after = judged(replace(moves, gradient=there.gradient), tolerance)
    # A failed search may be the fault of old pairs: forget them and try steepest descent, once.
    failure = jnp.where(state.stored > 0, code(Status.RUNNING), code(Status.NO_STEP))
    failure = jnp.where(search.finite, failure, code(Status.NON_FINITE))
    failed = replace(state, stored=jnp.zeros_like(state.stored), status=failure)
    return choose(ended, choose(search.found, after, failed), state)


def _remembering(state: LBFGSState, search: Search, taken: Bool[Array, ""]) -> LBFGSState:
    """The state with the pair (s, y) of a step that was taken in the oldest slot, unless s·y <= ε |s| |y|."""
    history = state.S.shape[0]
    s, y = search.theta - state.theta, search.evaluation.gradient - state.gradient
    long_s, long_y = s.astype(jnp.float64), y.astype(jnp.float64)
    sy, ss, yy = long_s @ long_y, long_s @ long_s, long_y @ long_y
    # Compare the angle, not sy / yy: a curvature has units, and is large in stiff problems.
    keep = taken & (sy > float(jnp.finfo(s.dtype).eps) * jnp.sqrt(ss * yy))
    # An index past the end is dropped, so nothing is copied if the pair is not kept.
    slot = jnp.where(keep, (state.newest + 1) % history, history)
    S = state.S.at[slot].set(s, mode="drop")
    # Only s_i·y_j with i no newer than j is ever read, so a new pair is a new column.
    column = S.astype(jnp.float64) @ long_y
    return replace(
        state,
        S=S,
        Y=state.Y.at[slot].set(y, mode="drop"),
        SY=state.SY.at[:, slot].set(column, mode="drop"),
        gamma=jnp.where(keep, sy / jnp.where(keep, yy, 1), state.gamma),
        stored=jnp.where(keep, jnp.minimum(state.stored + 1, history), state.stored),
        newest=jnp.where(keep, slot, state.newest),
    )
