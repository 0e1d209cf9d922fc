"""theta ← theta − α H ∇total(theta): limited-memory BFGS with a strong-Wolfe line search.

The two-loop recursion (Nocedal, 1980), written as what its loops are. With the last pairs s_i = Δtheta and
y_i = Δgradient as rows of S and Y, oldest first, R = triu(S Yᵀ) and D = diag(R),

    first loop    R α = S g,               q = g − Yᵀ α
    second loop   Rᵀ c = D α − γ Y q,      H g = γ q + Sᵀ c,      γ = s·y / y·y of the newest pair:

two triangular solves and four products, instead of 2 × history kernels that wait for each other.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

from safenet.training.status import (
    Evaluation,
    Objective,
    State,
    Status,
    Trace,
    code,
    evaluate,
    iteration_count,
    opening,
    repeat,
)

ARMIJO, CURVATURE, SEARCH_LIMIT = 1e-4, 0.9, 25


class LBFGSState(State):
    """The gradient at theta and the pairs, in circular buffers: slot `newest` was written last."""

    gradient: Float[Array, " p"]
    S: Float[Array, "history p"]
    Y: Float[Array, "history p"]
    SY: Float[Array, "history history"]
    gamma: Float[Array, ""]
    stored: Int[Array, ""]
    newest: Int[Array, ""]


@dataclass(frozen=True)
class LBFGS:
    """At most `iterations` accepted steps with `history` pairs.

    Stops as GRADIENT when max|gradient| <= tolerance, as DECREASE when a step lowers the loss by less than
    `tolerance`, relatively, and as NO_STEP when not even steepest descent finds a lower loss.
    """

    iterations: int
    history: int = 50
    tolerance: float = 1e-10
    name: ClassVar[str] = "lbfgs"

    def start(self, objective: Objective, theta: Float[Array, " p"]) -> LBFGSState:
        return _start(self, objective, theta)

    def advance(self, objective: Objective, state: LBFGSState, count: int) -> tuple[LBFGSState, Trace]:
        return _advance(self, objective, state, iteration_count(count))


@eqx.filter_jit
def _start(phase: LBFGS, objective: Objective, theta: Float[Array, " p"]) -> LBFGSState:
    here = evaluate(objective, theta)
    shared = opening(theta, here)
    flat = here.finite & (here.gradient_norm <= phase.tolerance)
    return LBFGSState(
        **shared | {"status": jnp.where(flat, code(Status.GRADIENT), shared["status"])},
        gradient=here.gradient,
        S=jnp.zeros((phase.history, theta.size), theta.dtype),
        Y=jnp.zeros((phase.history, theta.size), theta.dtype),
        SY=jnp.zeros((phase.history, phase.history), theta.dtype),
        gamma=jnp.ones((), theta.dtype),
        stored=jnp.asarray(0, jnp.int32),
        newest=jnp.asarray(0, jnp.int32),
    )


@eqx.filter_jit
def _advance(
    phase: LBFGS, objective: Objective, state: LBFGSState, count: Int[Array, ""]
) -> tuple[LBFGSState, Trace]:
    return repeat(lambda state: _step(phase, objective, state), state, count, phase.iterations)


def quasi_newton(state: LBFGSState) -> Float[Array, " p"]:
    """−H g, by the two loops; with no pairs stored, −g."""
    history, g = state.S.shape[0], state.gradient
    oldest_first = (state.newest + 1 + jnp.arange(history, dtype=jnp.int32)) % history
    valid = jnp.arange(history) >= history - state.stored
    # Slots never written, or cleared by a restart, take part as the identity: they solve to zero.
    pairs = valid[:, None] & valid[None, :]
    R = jnp.where(pairs, jnp.triu(state.SY[oldest_first][:, oldest_first]), jnp.eye(history, dtype=g.dtype))

    def by_slot(coefficients: Float[Array, " history"]) -> Float[Array, " history"]:
        return jnp.zeros_like(coefficients).at[oldest_first].set(coefficients)

    alpha = solve_triangular(R, jnp.where(valid, (state.S @ g)[oldest_first], 0))
    q = g - by_slot(alpha) @ state.Y
    gamma = jnp.where(state.stored > 0, state.gamma, 1)
    right = jnp.diagonal(R) * alpha - gamma * jnp.where(valid, (state.Y @ q)[oldest_first], 0)
    return -(gamma * q + by_slot(solve_triangular(R, right, trans=1)) @ state.S)


def _step(phase: LBFGS, objective: Objective, state: LBFGSState) -> LBFGSState:
    direction = quasi_newton(state)
    descends = state.gradient @ direction < 0  # in exact arithmetic always; a NaN is no descent either
    stored = jnp.where(descends, state.stored, 0)
    direction = jnp.where(descends, direction, -state.gradient)
    # Without curvature the unit of a step is unknown: let theta change by at most 1 in all.
    cautious = jnp.minimum(1 / jnp.sum(jnp.abs(state.gradient)), 1)
    search = line_search(objective, state, direction, jnp.where(stored > 0, 1, cautious))

    low = search.low
    found = low.alpha > 0  # then low has sufficient decrease, even where the cap cut the search short
    state = replace(state, evaluations=state.evaluations + search.count)
    moved = _remember(state, stored, low)
    decrease = jnp.abs(state.total - moved.total)
    size = jnp.maximum(jnp.abs(state.total), jnp.abs(moved.total))
    status = jnp.where(decrease < phase.tolerance * size, code(Status.DECREASE), code(Status.RUNNING))
    status = jnp.where(moved.gradient_norm <= phase.tolerance, code(Status.GRADIENT), status)

    # A failed search may be the fault of old pairs: forget them and try steepest descent, once.
    failure = jnp.where(stored > 0, code(Status.RUNNING), code(Status.NO_STEP))
    failure = jnp.where(search.finite, failure, code(Status.NON_FINITE))
    # Without a step, low is still theta itself; only the counters would be wrong.
    return replace(
        moved,
        iteration=jnp.where(found, moved.iteration, state.iteration),
        stored=jnp.where(found, moved.stored, 0),
        status=jnp.where(found, status, failure),
    )


def _remember(state: LBFGSState, stored: Int[Array, ""], low: "Sample") -> LBFGSState:
    """The state moved to `low`, its pair (s, y) in the oldest slot unless s·y <= ε y·y."""
    history = state.S.shape[0]
    there = low.evaluation
    s, y = low.theta - state.theta, there.gradient - state.gradient
    sy, yy = s @ y, y @ y
    keep = sy > jnp.finfo(s.dtype).eps * yy
    newest = jnp.where(keep, (state.newest + 1) % history, state.newest)
    S = state.S.at[newest].set(jnp.where(keep, s, state.S[newest]))
    Y = state.Y.at[newest].set(jnp.where(keep, y, state.Y[newest]))
    return replace(
        state.moved(low.theta, there.total, there.terms, there.gradient_norm),
        gradient=there.gradient,
        S=S,
        Y=Y,
        # Only s_i·y_j with i no newer than j is ever read, so a new pair is a new column.
        SY=state.SY.at[:, newest].set(jnp.where(keep, S @ y, state.SY[:, newest])),
        gamma=jnp.where(keep, sy / jnp.where(keep, yy, 1), state.gamma),
        stored=jnp.where(keep, jnp.minimum(stored + 1, history), stored),
        newest=newest,
    )


class Sample(eqx.Module):
    """φ(α) = total(theta + α direction) at one α, with its slope φ'(α)."""

    alpha: Float[Array, ""]
    slope: Float[Array, ""]
    theta: Float[Array, " p"]
    evaluation: Evaluation

    @property
    def total(self) -> Float[Array, ""]:
        return self.evaluation.total


class Search(eqx.Module):
    """A bracket: the lowest sample with sufficient decrease, and the other end (α = ∞ while unknown)."""

    low: Sample
    high_alpha: Float[Array, ""]
    high_total: Float[Array, ""]
    high_slope: Float[Array, ""]
    alpha: Float[Array, ""]
    count: Int[Array, ""]
    done: Bool[Array, ""]
    finite: Bool[Array, ""]


def line_search(
    objective: Objective, state: LBFGSState, direction: Float[Array, " p"], alpha: Float[Array, ""]
) -> Search:
    """φ(α) <= φ(0) + c₁ α φ'(0) and |φ'(α)| <= c₂ |φ'(0)|, by bracketing and zooming.

    Algorithms 3.5 and 3.6 of Nocedal and Wright, joined: expansion is a zoom whose far end is at infinity.
    Ends after `SEARCH_LIMIT` evaluations, or when the bracket is below theta's rounding; `low` is then the
    best sample with sufficient decrease, α = 0 if there was none. A non-finite loss is an overshoot.
    """
    here = Evaluation(state.total, state.terms, state.gradient)
    slope_0 = state.gradient @ direction
    infinity = jnp.full_like(state.total, jnp.inf)
    length = jnp.max(jnp.abs(direction))
    rounding = jnp.finfo(direction.dtype).eps * jnp.max(jnp.abs(state.theta))

    def unfinished(search: Search) -> Bool[Array, ""]:
        return ~search.done & (search.count < SEARCH_LIMIT)

    def trial(search: Search) -> Search:
        theta = state.theta + search.alpha * direction
        there = evaluate(objective, theta)
        slope = there.gradient @ direction
        low, now = search.low, Sample(search.alpha, slope, theta, there)

        finite = there.finite & jnp.isfinite(slope)
        decreases = finite & (now.total <= here.total + ARMIJO * now.alpha * slope_0)
        accepted = decreases & (jnp.abs(slope) <= CURVATURE * jnp.abs(slope_0))
        lower = accepted | (decreases & (now.total < low.total))
        # The minimum lies between low and high: if it is not on high's side of now, low is the new end.
        turned = lower & (slope * (search.high_alpha - low.alpha) >= 0)

        def end(now: Array, low: Array, high: Array) -> Array:
            return jnp.where(lower, jnp.where(turned, low, high), now)

        high_alpha = end(now.alpha, low.alpha, search.high_alpha)
        high_total = end(jnp.where(finite, now.total, jnp.inf), low.total, search.high_total)
        high_slope = end(now.slope, low.slope, search.high_slope)
        new_low = jax.tree.map(lambda new, old: jnp.where(lower, new, old), now, low)

        width = jnp.abs(high_alpha - new_low.alpha)
        inside = _inside(new_low, high_alpha, high_total, high_slope)
        # Interpolation can creep along one end; a bracket that kept over 2/3 of its width is halved.
        creeps = width > jnp.abs(search.high_alpha - low.alpha) * (2 / 3)
        inside = jnp.where(creeps & jnp.isfinite(high_total), (new_low.alpha + high_alpha) / 2, inside)
        bracketed = jnp.isfinite(high_alpha)
        return Search(
            low=new_low,
            high_alpha=high_alpha,
            high_total=high_total,
            high_slope=high_slope,
            alpha=jnp.where(bracketed, inside, _beyond(low, now)),
            count=search.count + 1,
            done=accepted | (width * length <= rounding),
            finite=finite,
        )

    zero = Sample(jnp.zeros_like(alpha), slope_0, state.theta, here)
    none, yes = jnp.asarray(0, jnp.int32), jnp.asarray(True)
    return lax.while_loop(
        unfinished, trial, Search(zero, infinity, infinity, infinity, alpha, none, ~yes, yes)
    )


def cubic_minimum(
    a: Float[Array, ""],
    f_a: Float[Array, ""],
    d_a: Float[Array, ""],
    b: Float[Array, ""],
    f_b: Float[Array, ""],
    d_b: Float[Array, ""],
) -> Float[Array, ""]:
    """argmin of the cubic with values f and slopes d at a and b (Nocedal and Wright, 3.59); NaN if none."""
    d_1 = d_a + d_b - 3 * (f_a - f_b) / (a - b)
    d_2 = jnp.sign(b - a) * jnp.sqrt(d_1 * d_1 - d_a * d_b)
    return b - (b - a) * (d_b + d_2 - d_1) / (d_b - d_a + 2 * d_2)


def _inside(
    low: Sample, alpha: Float[Array, ""], total: Float[Array, ""], slope: Float[Array, ""]
) -> Float[Array, ""]:
    """The next α within a bracket: the cubic's minimum, at least a tenth away from both ends."""
    cubic = cubic_minimum(low.alpha, low.total, low.slope, alpha, total, slope)
    near, far = low.alpha + 0.1 * (alpha - low.alpha), low.alpha + 0.9 * (alpha - low.alpha)
    safe = jnp.clip(cubic, jnp.minimum(near, far), jnp.maximum(near, far))
    safe = jnp.where(jnp.isfinite(cubic), safe, (low.alpha + alpha) / 2)
    # Of an infinite loss one knows only that the end is far too far.
    return jnp.where(jnp.isfinite(total), safe, near)


def _beyond(before: Sample, now: Sample) -> Float[Array, ""]:
    """The next α while the loss still falls: the cubic's minimum ahead, 2 to 10 times the last stretch."""
    stretch = now.alpha - before.alpha
    cubic = cubic_minimum(before.alpha, before.total, before.slope, now.alpha, now.total, now.slope)
    ahead = jnp.clip(cubic, now.alpha + stretch, now.alpha + 9 * stretch)
    return jnp.where(cubic > now.alpha, ahead, now.alpha + 9 * stretch)
