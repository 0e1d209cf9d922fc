"""φ(α) = total(theta + α d): a step α with φ(α) <= φ(0) + c₁ α φ'(0) and |φ'(α)| <= c₂ |φ'(0)|.

The strong Wolfe conditions, by bracketing and zooming (Nocedal and Wright, algorithms 3.5 and 3.6). Near a minimum the
difference φ(α) − φ(0) drowns in the rounding of φ, long before the slopes do. When it is that small, the trapezoid

    φ(α) − φ(0) ≈ α (φ'(0) + φ'(α)) / 2

is used instead: the sufficient decrease then reads φ'(α) <= (2 c₁ − 1) φ'(0), which is the approximate Wolfe condition
of Hager and Zhang (2005), and the interpolating cubic becomes the secant of the slopes.

How small that is can be measured: up to the minimum, the two sides of ≈ differ by less than either, so a larger gap
between them is the rounding of φ (`Search.gap`). An optimiser that keeps it (`noise`) can repeat a search that failed.
"""

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from .status import Evaluation, Objective, evaluate

ARMIJO, CURVATURE, SEARCH_LIMIT = 1e-4, 0.9, 25


class Sample(eqx.Module):
    """The rise φ(α) − φ(0), measured or, where rounding hides it, from the slopes; and the slope φ'(α)."""

    alpha: Float[Array, ""]
    rise: Float[Array, ""]
    slope: Float[Array, ""]


class Search(eqx.Module):
    """A bracket: `low`, the lowest sample with sufficient decrease, and `high`, at α = ∞ while unknown.

    `found` if low can be taken as a step: its decrease was measured, or both conditions hold by the slopes. `gap` is
    the largest difference that only rounding explains between a rise as measured and as given by the slopes.
    """

    low: Sample
    theta: Float[Array, " p"]
    evaluation: Evaluation
    high: Sample
    alpha: Float[Array, ""]
    count: Int[Array, ""]
    found: Bool[Array, ""]
    done: Bool[Array, ""]
    finite: Bool[Array, ""]
    gap: Float[Array, ""]


def product(a: Array, b: Array) -> Array:
    """a·b, summed in float64: otherwise a GPU would round float32 factors to ten bits (TF32), and sums of products that
    nearly cancel, such as the slope at a minimum, would lose all digits of float32."""
    return jnp.matmul(a.astype(jnp.float64), b.astype(jnp.float64)).astype(a.dtype)


def descends(gradient: Float[Array, " p"], direction: Float[Array, " p"]) -> Bool[Array, ""]:
    """Whether the direction of a quasi-Newton method descends; in exact arithmetic it always does."""
    slope = product(gradient, direction)
    return jnp.isfinite(slope) & (slope < 0)


def cautious(gradient: Float[Array, " p"]) -> Float[Array, ""]:
    """The first trial step along −gradient: without curvature the scale of a step is unknown, so let theta change by at
    most 1 in total."""
    return jnp.minimum(1 / jnp.sum(jnp.abs(gradient)), 1)


def resolution(total: Float[Array, ""]) -> Float[Array, ""]:
    """√ε total: how much of a loss may be rounding.

    Not ε: the residuals are known to ε of their terms, which cancel. Once ½ r² has fallen to ε times its size without
    this cancellation, r has half of its digits left, and so has the loss.
    """
    return jnp.sqrt(jnp.finfo(total.dtype).eps).astype(total.dtype) * jnp.abs(total)


class Line(eqx.Module):
    """theta + α d: its start, loss and slope there, the lowest loss of the run, and the rounding of a loss."""

    theta: Float[Array, " p"]
    direction: Float[Array, " p"]
    total: Float[Array, ""]
    slope: Float[Array, ""]
    best: Float[Array, ""]
    moves: Float[Array, ""]  # the most that a component of theta moves at α = 1, in units of its rounding
    noise: Float[Array, ""]  # how much of a loss may be rounding


def line_search(
    objective: Objective,
    theta: Float[Array, " p"],
    here: Evaluation,
    best: Float[Array, ""],
    direction: Float[Array, " p"],
    alpha: Float[Array, ""],
) -> Search:
    """The step along `direction` from theta, `alpha` tried first; `best` is the lowest loss of the run.

    Expansion is a zoom whose far end is at infinity. Ends after `SEARCH_LIMIT` evaluations, or when the bracket is
    below the rounding of every component of theta; `low` is then the best sample with sufficient decrease, if one was
    `found`. A non-finite loss counts as an overshoot. No step ends above `best` by more than `resolution`, so that
    rises too small to be seen cannot add up.
    """
    line, search = opened(theta, here, best, direction, alpha)
    return lax.while_loop(unfinished, lambda search: trial(objective, line, search), search)


def opened(
    theta: Float[Array, " p"],
    here: Evaluation,
    best: Float[Array, ""],
    direction: Float[Array, " p"],
    alpha: Float[Array, ""],
    noise: Float[Array, ""] | None = None,
) -> tuple[Line, Search]:
    """The line, and the search on it before its first trial; `noise`: the rounding, if known to exceed `resolution`."""
    slope = product(here.gradient, direction)
    # By component: a frequency of 100 must not hide what a weight of 0.1 can still gain.
    size = jnp.abs(theta)
    rounding = jnp.finfo(direction.dtype).eps * jnp.maximum(size, 1e-6 * jnp.max(size))
    moves = jnp.max(jnp.abs(direction) / jnp.maximum(rounding, jnp.finfo(direction.dtype).tiny))
    infinity = jnp.full_like(alpha, jnp.inf)
    untried = Search(
        low=Sample(jnp.zeros_like(alpha), jnp.zeros_like(alpha), slope),
        theta=theta,
        evaluation=here,
        high=Sample(infinity, infinity, infinity),
        alpha=alpha,
        count=jnp.asarray(0, jnp.int32),
        found=jnp.asarray(False),
        done=jnp.asarray(False),
        finite=jnp.asarray(True),
        gap=jnp.zeros_like(alpha),
    )
    hidden = resolution(best) if noise is None else jnp.maximum(noise, resolution(best))
    return Line(theta, direction, here.total, slope, best, moves, hidden), untried


def unfinished(search: Search) -> Bool[Array, ""]:
    return ~search.done & (search.count < SEARCH_LIMIT)


def trial(objective: Objective, line: Line, search: Search) -> Search:
    """One evaluation at `search.alpha`, and the bracket after it."""
    at = line.theta + search.alpha * line.direction
    there = evaluate(objective, at)
    slope = product(there.gradient, line.direction)
    finite = there.finite & jnp.isfinite(slope)
    measured = jnp.where(finite, there.total - line.total, jnp.inf)
    trapezoid = search.alpha * (line.slope + slope) / 2
    noise = line.noise
    # Both say that the change is too small to be seen: then only the slopes can be trusted.
    unseen = jnp.maximum(jnp.abs(measured), jnp.abs(trapezoid)) <= noise
    hidden = unseen & (there.total <= line.best + noise)
    now = Sample(search.alpha, jnp.where(hidden, trapezoid, measured), slope)

    decreases = now.rise <= ARMIJO * now.alpha * line.slope
    accepted = decreases & (jnp.abs(slope) <= CURVATURE * jnp.abs(line.slope))
    lower = accepted | (decreases & (now.rise < search.low.rise))
    # The loss rises from now towards high: the minimum is on the other side, where low was.
    turned = slope * (search.high.alpha - search.low.alpha) >= 0
    low = choose(lower, now, search.low)
    high = choose(lower, choose(turned, search.low, search.high), now)

    width = jnp.abs(high.alpha - low.alpha)
    # Interpolation can creep along one end; a bracket that keeps more than 2/3 of its width is halved.
    creeps = width > (2 / 3) * jnp.abs(search.high.alpha - search.low.alpha)
    ahead, between = _ahead(search.low, now), _between(low, high, creeps)
    # Up to the minimum the error of the trapezoid is less than itself: a larger gap to the loss is rounding.
    gap = jnp.abs(measured - trapezoid)
    rounded = finite & (jnp.abs(slope) <= jnp.abs(line.slope)) & (gap > jnp.abs(trapezoid))
    return Search(
        low=low,
        theta=jnp.where(lower, at, search.theta),
        evaluation=choose(lower, there, search.evaluation),
        high=high,
        alpha=jnp.where(jnp.isfinite(high.alpha), between, ahead),
        count=search.count + 1,
        # Slopes alone are trusted only if both conditions hold: a wrong slope could satisfy one of them forever.
        found=jnp.where(lower, accepted | ~hidden, search.found),
        done=accepted | (width * line.moves <= 1),
        # A trial that rounds back to theta says nothing about the loss around it.
        finite=jnp.where(jnp.any(at != line.theta), finite, search.finite),
        gap=jnp.where(rounded, jnp.maximum(gap, search.gap), search.gap),
    )


M = TypeVar("M", bound=eqx.Module)


def choose(condition: Bool[Array, ""], yes: M, no: M) -> M:
    """`yes` if the condition holds, else `no`; arrays that both share are passed on unchanged."""
    chosen: M = jax.tree.map(lambda a, b: a if a is b else jnp.where(condition, a, b), yes, no)
    return chosen


def cubic_minimum(a: Sample, b: Sample) -> Float[Array, ""]:
    """argmin of the cubic with φ and φ' of a and b (Nocedal and Wright, equation 3.59); NaN if none."""
    d_1 = a.slope + b.slope - 3 * (a.rise - b.rise) / (a.alpha - b.alpha)
    d_2 = jnp.sign(b.alpha - a.alpha) * jnp.sqrt(d_1 * d_1 - a.slope * b.slope)
    return b.alpha - (b.alpha - a.alpha) * (b.slope + d_2 - d_1) / (b.slope - a.slope + 2 * d_2)


def _between(low: Sample, high: Sample, creeps: Bool[Array, ""]) -> Float[Array, ""]:
    """The next α in a bracket: the cubic's minimum, at least a tenth of the width from both ends; else the middle."""
    cubic = cubic_minimum(low, high)
    width = high.alpha - low.alpha
    near, middle, far = low.alpha + 0.1 * width, low.alpha + 0.5 * width, low.alpha + 0.9 * width
    safe = jnp.clip(cubic, jnp.minimum(near, far), jnp.maximum(near, far))
    safe = jnp.where(creeps | ~jnp.isfinite(cubic), middle, safe)
    # An infinite loss says only that this end is far too far.
    return jnp.where(jnp.isfinite(high.rise), safe, near)


def _ahead(before: Sample, now: Sample) -> Float[Array, ""]:
    """The next α while the loss still falls: the cubic's minimum, 1 to 9 times the last stretch ahead."""
    cubic, stretch = cubic_minimum(before, now), now.alpha - before.alpha
    farthest = now.alpha + 9 * stretch
    return jnp.where(cubic > now.alpha, jnp.clip(cubic, now.alpha + stretch, farthest), farthest)
