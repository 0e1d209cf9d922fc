"""theta ← theta − α G⁺ Jᵀ r,  G = JᵀJ:  the natural gradient of the physics loss, with a line search over α.

J maps a change of theta to a change of the residuals, so JᵀJ is the metric of function space expressed in theta, and
−J G⁺ Jᵀ r is the best approximation of −r that any change of theta can make: Gauss–Newton in function space (energy
natural gradients; Müller and Zeinhofer, 2023). Levenberg–Marquardt shortens a step by damping, which turns it towards
the gradient; here the direction is kept and α shortens the step. The α of 1, ½, ¼, … with the lowest loss is taken.

G is nearly singular, so `damping` μ, relative to its scaled diagonal, replaces the cut-off of the pseudo-inverse. Far
from a minimum, parameters that the rows hardly see make that direction long and useless, and α tiny: the direction with
√μ is tried as well, and the better of the two is taken.
With fewer rows than parameters the same direction comes from J Jᵀ, the kernel of the rows (`linearised` chooses).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from .base import SQUARED, Optimiser, require_double
from .levenberg import linearised
from .status import (
    Squares,
    State,
    Status,
    Trace,
    code,
    first_evaluation,
    iteration_count,
    moved,
    opening,
    repeat,
)


@dataclass(frozen=True)
class NaturalGradient(Optimiser):
    """Natural gradient (Gauss–Newton in function space): at most `iterations` accepted steps.

    Each step tries `trials` values of its length, α = 1, ½, ¼, …, along both directions, and takes the best. Stops as
    GRADIENT when max|Jᵀr| <= tolerance, as NO_STEP when no α lowers the loss.

    With `resample` > 0 the run draws new points every `resample` steps, preferring those with a large residual.

    Examples:
        >>> training = sn.Train("pinn", [sn.Adam(500), sn.NaturalGradient(100)], width=8, depth=2)
    """

    iterations: int
    damping: float = 1e-12
    tolerance: float = 1e-14
    trials: int = 10
    resample: int = 0
    name: ClassVar[str] = "natural-gradient"
    double: ClassVar[bool] = True
    looks: ClassVar[int] = 10  # its steps are few and long

    def start(self, objective: Squares, theta: Float[Array, " p"]) -> State:
        require_double(theta, "the natural gradient", SQUARED)
        return State(**opening(theta, first_evaluation(objective, theta)))

    def advance(self, objective: Squares, state: State, count: int) -> tuple[State, Trace]:
        numbers = (jnp.asarray(number, state.theta.dtype) for number in (self.damping, self.tolerance))
        iterations = jnp.asarray(self.iterations, jnp.int32)
        return _advance(self.trials, objective, state, iteration_count(count), iterations, *numbers)

    def refresh(self, objective: Squares, state: State) -> State:
        """The same run on a changed objective (new points); their losses are not comparable. Costs one evaluation."""
        anew = self.start(objective, state.theta)
        return replace(anew, iteration=state.iteration, evaluations=state.evaluations + 1)


@eqx.filter_jit
def _advance(
    trials: int,
    objective: Squares,
    state: State,
    count: Int[Array, ""],
    iterations: Int[Array, ""],
    damping: Float[Array, ""],
    tolerance: Float[Array, ""],
) -> tuple[State, Trace]:
    def step(state: State) -> State:
        system = linearised(objective, state.theta)
        gradient_norm = jnp.max(jnp.abs(system.gradient * system.scale))
        directions = jnp.stack([system.step(mu) / system.scale for mu in (damping, jnp.sqrt(damping))])
        shares = 0.5 ** jnp.arange(trials, dtype=state.theta.dtype)
        steps = (shares[:, None, None] * directions).reshape(-1, state.theta.size)
        totals, terms = lax.map(lambda step: objective(state.theta + step), steps)
        best = jnp.argmin(jnp.where(jnp.isfinite(totals), totals, jnp.inf))
        after = moved(state, state.theta + steps[best], totals[best], terms[best], gradient_norm)
        lower = totals[best] < state.total
        flat = gradient_norm <= tolerance
        finite = jnp.isfinite(gradient_norm) & jnp.any(jnp.isfinite(totals))
        failure = jnp.where(finite, code(Status.NO_STEP), code(Status.NON_FINITE))
        failure = jnp.where(flat, code(Status.GRADIENT), failure)
        taken = lower & ~flat
        kept = jnp.where(taken, after.theta, state.theta)
        return replace(
            after,
            theta=kept,
            total=jnp.where(taken, after.total, state.total),
            terms=jnp.where(taken, after.terms, state.terms),
            iteration=jnp.where(taken, after.iteration, state.iteration),
            evaluations=state.evaluations + 1 + steps.shape[0],
            status=jnp.where(taken, code(Status.RUNNING), failure),
        )

    return repeat(step, state, count, iterations)
