"""theta ← theta − α H ∇total(theta): limited-memory BFGS with a strong-Wolfe line search.

The two-loop recursion (Nocedal, 1980), written as what its loops are. With the last pairs s_i = Δtheta and
y_i = Δgradient as rows of S and Y, oldest first, R = triu(S Yᵀ) and D = diag(R),

    first loop    R α = S g,               q = g − Yᵀ α
    second loop   Rᵀ c = D α − γ Y q,      H g = γ q + Sᵀ c,      γ = s·y / y·y of the newest pair:

two triangular solves and four products, instead of 2 × history kernels that wait for each other.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

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
    first_evaluation,
    iteration_count,
    moved,
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
        here = first_evaluation(objective, theta)
        shared = opening(theta, here)
        flat = here.finite & (here.gradient_norm <= self.tolerance)
        return LBFGSState(
            **shared | {"status": jnp.where(flat, code(Status.GRADIENT), shared["status"])},
            gradient=here.gradient,
            S=jnp.zeros((self.history, theta.size), theta.dtype),
            Y=jnp.zeros((self.history, theta.size), theta.dtype),
            SY=jnp.zeros((self.history, self.history), theta.dtype),
            gamma=jnp.ones((), theta.dtype),
            stored=jnp.asarray(0, jnp.int32),
            newest=jnp.asarray(0, jnp.int32),
        )

    def advance(self, objective: Objective, state: LBFGSState, count: int) -> tuple[LBFGSState, Trace]:
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
    return repeat(lambda state: _step(objective, state, tolerance), state, count, iterations)


def product(a: Array, b: Array) -> Array:
    """a b in theta's own precision: a GPU would else round float32 factors to ten bits (TF32)."""
    return jnp.matmul(a, b, precision=lax.Precision.HIGHEST)


def quasi_newton(state: LBFGSState) -> Float[Array, " p"]:
    """−H g, by the two loops; with no pairs stored, −g."""
    history, g = state.S.shape[0], state.gradient
    age = jnp.arange(history, dtype=jnp.int32)
    oldest_first = (state.newest + 1 + age) % history
    valid = age >= history - state.stored
    # Slots never written, or cleared by a restart, take part as the identity: they solve to zero.
    pairs = valid[:, None] & valid[None, :]
    R = jnp.where(pairs, jnp.triu(state.SY[oldest_first][:, oldest_first]), jnp.eye(history, dtype=g.dtype))

    def by_slot(coefficients: Float[Array, " history"]) -> Float[Array, " history"]:
        return jnp.zeros_like(coefficients).at[oldest_first].set(coefficients)

    alpha = solve_triangular(R, jnp.where(valid, product(state.S, g)[oldest_first], 0))
    q = g - product(by_slot(alpha), state.Y)
    gamma = jnp.where(state.stored > 0, state.gamma, 1)
    right = jnp.diagonal(R) * alpha - gamma * jnp.where(valid, product(state.Y, q)[oldest_first], 0)
    c = solve_triangular(R, right, trans=1)
    return -(gamma * q + product(by_slot(c), state.S))


def _step(objective: Objective, state: LBFGSState, tolerance: Float[Array, ""]) -> LBFGSState:
    direction = quasi_newton(state)
    slope = product(state.gradient, direction)
    descends = jnp.isfinite(slope) & (slope < 0)  # in exact arithmetic always
    stored = jnp.where(descends, state.stored, 0)
    direction = jnp.where(descends, direction, -state.gradient)
    # Without curvature the unit of a step is unknown: let theta change by at most 1 in all.
    cautious = jnp.minimum(1 / jnp.sum(jnp.abs(state.gradient)), 1)
    search = line_search(objective, state, direction, jnp.where(stored > 0, 1, cautious))

    found = search.low.alpha > 0  # with sufficient decrease, even where the cap cut the search short
    state = replace(state, evaluations=state.evaluations + search.count)
    after = _remember(state, stored, search)
    decrease = jnp.abs(state.total - after.total)
    size = jnp.maximum(jnp.abs(state.total), jnp.abs(after.total))
    status = jnp.where(decrease < tolerance * size, code(Status.DECREASE), code(Status.RUNNING))
    status = jnp.where(after.gradient_norm <= tolerance, code(Status.GRADIENT), status)

    # A failed search may be the fault of old pairs: forget them and try steepest descent, once.
    failure = jnp.where(stored > 0, code(Status.RUNNING), code(Status.NO_STEP))
    failure = jnp.where(search.finite, failure, code(Status.NON_FINITE))
    # Without a step the search ends at theta itself; only the counters would be wrong.
    return replace(
        after,
        iteration=jnp.where(found, after.iteration, state.iteration),
        stored=jnp.where(found, after.stored, 0),
        status=jnp.where(found, status, failure),
    )


def _remember(state: LBFGSState, stored: Int[Array, ""], search: "Search") -> LBFGSState:
    """The state at the end of the search, its pair (s, y) in the oldest slot unless s·y <= ε y·y."""
    history = state.S.shape[0]
    there = search.evaluation
    s, y = search.theta - state.theta, there.gradient - state.gradient
    sy, yy = product(s, y), product(y, y)
    keep = sy > jnp.finfo(s.dtype).eps * yy
    newest = jnp.where(keep, (state.newest + 1) % history, state.newest)
    S = state.S.at[newest].set(jnp.where(keep, s, state.S[newest]))
    Y = state.Y.at[newest].set(jnp.where(keep, y, state.Y[newest]))
    return replace(
        moved(state, search.theta, there.total, there.terms, there.gradient_norm),
        gradient=there.gradient,
        S=S,
        Y=Y,
        # Only s_i·y_j with i no newer than j is ever read, so a new pair is a new column.
        SY=state.SY.at[:, newest].set(jnp.where(keep, product(S, y), state.SY[:, newest])),
        gamma=jnp.where(keep, sy / jnp.where(keep, yy, 1), state.gamma),
        stored=jnp.where(keep, jnp.minimum(stored + 1, history), stored),
        newest=newest,
    )


class Sample(eqx.Module):
    """φ(α) = total(theta + α direction) and its slope φ'(α)."""

    alpha: Float[Array, ""]
    total: Float[Array, ""]
    slope: Float[Array, ""]


class Search(eqx.Module):
    """A bracket: `low`, the lowest sample with sufficient decrease, and `high`, at α = ∞ while unknown."""

    low: Sample
    theta: Float[Array, " p"]
    evaluation: Evaluation
    high: Sample
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
    zero = Sample(jnp.zeros_like(alpha), state.total, product(state.gradient, direction))
    infinity = jnp.full_like(alpha, jnp.inf)
    length = jnp.max(jnp.abs(direction))
    rounding = jnp.finfo(direction.dtype).eps * jnp.max(jnp.abs(state.theta))

    def unfinished(search: Search) -> Bool[Array, ""]:
        return ~search.done & (search.count < SEARCH_LIMIT)

    def trial(search: Search) -> Search:
        theta = state.theta + search.alpha * direction
        there = evaluate(objective, theta)
        slope = product(there.gradient, direction)
        finite = there.finite & jnp.isfinite(slope)
        now = Sample(search.alpha, jnp.where(finite, there.total, jnp.inf), slope)

        decreases = now.total <= zero.total + ARMIJO * now.alpha * zero.slope
        accepted = decreases & (jnp.abs(slope) <= CURVATURE * jnp.abs(zero.slope))
        lower = accepted | (decreases & (now.total < search.low.total))
        # The loss rises from now towards high: the minimum is on the other side, where low was.
        turned = slope * (search.high.alpha - search.low.alpha) >= 0
        low = _choose(lower, now, search.low)
        high = _choose(lower, _choose(turned, search.low, search.high), now)

        width = jnp.abs(high.alpha - low.alpha)
        # Interpolation can creep along one end; a bracket that kept over 2/3 of its width is halved.
        creeps = width > (2 / 3) * jnp.abs(search.high.alpha - search.low.alpha)
        ahead, between = _ahead(search.low, now), _between(low, high, creeps)
        return Search(
            low=low,
            theta=jnp.where(lower, theta, search.theta),
            evaluation=_choose(lower, there, search.evaluation),
            high=high,
            alpha=jnp.where(jnp.isfinite(high.alpha), between, ahead),
            count=search.count + 1,
            done=accepted | (width * length <= rounding),
            # A trial that rounds back to theta says nothing about the loss around it.
            finite=jnp.where(jnp.any(theta != state.theta), finite, search.finite),
        )

    untried = Search(
        low=zero,
        theta=state.theta,
        evaluation=Evaluation(state.total, state.terms, state.gradient),
        high=Sample(infinity, infinity, infinity),
        alpha=alpha,
        count=jnp.asarray(0, jnp.int32),
        done=jnp.asarray(False),
        finite=jnp.asarray(True),
    )
    return lax.while_loop(unfinished, trial, untried)


M = TypeVar("M", bound=eqx.Module)


def _choose(condition: Bool[Array, ""], yes: M, no: M) -> M:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def cubic_minimum(a: Sample, b: Sample) -> Float[Array, ""]:
    """argmin of the cubic with φ and φ' of a and b (Nocedal and Wright, equation 3.59); NaN if none."""
    d_1 = a.slope + b.slope - 3 * (a.total - b.total) / (a.alpha - b.alpha)
    d_2 = jnp.sign(b.alpha - a.alpha) * jnp.sqrt(d_1 * d_1 - a.slope * b.slope)
    return b.alpha - (b.alpha - a.alpha) * (b.slope + d_2 - d_1) / (b.slope - a.slope + 2 * d_2)


def _between(low: Sample, high: Sample, creeps: Bool[Array, ""]) -> Float[Array, ""]:
    """The next α in a bracket: the cubic's minimum, a tenth away from both ends; else the middle."""
    cubic = cubic_minimum(low, high)
    width = high.alpha - low.alpha
    near, middle, far = low.alpha + 0.1 * width, low.alpha + 0.5 * width, low.alpha + 0.9 * width
    safe = jnp.clip(cubic, jnp.minimum(near, far), jnp.maximum(near, far))
    safe = jnp.where(creeps | ~jnp.isfinite(cubic), middle, safe)
    # Of an infinite loss one knows only that the end is far too far.
    return jnp.where(jnp.isfinite(high.total), safe, near)


def _ahead(before: Sample, now: Sample) -> Float[Array, ""]:
    """The next α while the loss still falls: the cubic's minimum, 1 to 9 times the last stretch ahead."""
    cubic, stretch = cubic_minimum(before, now), now.alpha - before.alpha
    farthest = now.alpha + 9 * stretch
    return jnp.where(cubic > now.alpha, jnp.clip(cubic, now.alpha + stretch, farthest), farthest)
