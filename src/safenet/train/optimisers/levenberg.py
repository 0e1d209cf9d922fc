"""(JᵀJ + μ D) δ = −Jᵀ r,  theta ← theta + δ:  Levenberg–Marquardt with the smallest damping that works.

With r the weighted rows and total = ½‖r‖², a step is judged by its reduction ratio

    ρ = (total(theta) − total(theta + δ)) / (½ δᵀ (μ D δ − Jᵀ r)),

the decrease of the loss over the decrease that the linearised rows predict. A Jacobian costs far more than a
trial, so the damping is kept just high enough for ρ >= ratio, and a rejected trial is repeated with the same J.

D = diag(JᵀJ) is Marquardt's choice: the step follows the units of the parameters, and a network's
frequencies, weights and amplitudes have different ones. It is floored relative to its largest entry, since
a parameter on which hardly any row depends (a saturated neuron) would hardly be damped and run away.

With fewer rows than parameters the same step comes from the smaller system of the rows (Woodbury),

    δ = −D⁻¹ Jᵀ (J D⁻¹ Jᵀ + μ I)⁻¹ r.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float, Int

from .base import SQUARED, Optimiser, require_double
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

# Chosen by measurement: networks of three layers of 10 for convection, the wave equation and Burgers, three
# seeds each, 150 steps. On Burgers, floors of 1e-10 to 1e-4 ended up to an order of magnitude higher in loss,
# and so did a floor of 1, which is Levenberg's D = I; on the linear equations the differences were smaller.
SCALE_FLOOR = 1e-2
# The damping's factors: down to 1/4 after a good step, 2 (then 4, 8, …) after a rejected trial. In the same runs,
# 1/10 instead of 1/4 cost more trials and gave no lower loss.
LOWER, RAISE = 4.0, 2.0


@runtime_checkable
class Linearisable(Protocol):
    """An objective that can compute its whole Jacobian."""

    def jacobian(self, theta: Float[Array, " p"]) -> tuple[Float[Array, "m p"], Float[Array, " m"]]:
        """J and r, in the order of `rows`."""
        ...


class LevenbergState(State):
    """The damping for the next step, and the losses of the last `patience` steps (a circular buffer).

    `gradient_norm` is that of the last linearisation, one step behind theta unless the run stopped there.
    """

    damping: Float[Array, ""]
    totals: Float[Array, " patience"]


@dataclass(frozen=True)
class LevenbergMarquardt(Optimiser):
    """Levenberg–Marquardt: at most `iterations` accepted steps.

    A step is accepted if it lowers the loss by at least `ratio` times the prediction of the linearised rows; `trials`
    rejections in a row end the phase.

    Stops as GRADIENT when max|Jᵀr| <= tolerance, as DECREASE when `patience` steps together lowered the loss by a
    relative amount below `decrease` (patience = 0: never), as NO_STEP when no damping helps.

    With `resample` > 0 the run draws new points every `resample` steps, preferring those with a large residual.

    Examples:
        >>> training = sn.Train("pinn", [sn.LevenbergMarquardt(200, resample=20)], width=8, depth=2)
    """

    iterations: int
    damping: float = 1e-2
    ratio: float = 0.1
    tolerance: float = 1e-14
    decrease: float = 1e-3
    patience: int = 10
    trials: int = 12
    resample: int = 0
    name: ClassVar[str] = "levenberg-marquardt"
    double: ClassVar[bool] = True
    looks: ClassVar[int] = 10  # its steps are few and long
    counted: ClassVar[tuple[str, ...]] = ("iterations", "patience")

    def start(self, objective: Squares, theta: Float[Array, " p"]) -> LevenbergState:
        require_double(theta, "Levenberg–Marquardt", SQUARED)
        shared = opening(theta, first_evaluation(objective, theta))
        return LevenbergState(
            **shared,
            damping=jnp.asarray(self.damping, theta.dtype),
            totals=jnp.full(max(self.patience, 1), shared["total"]),
        )

    def advance(self, objective: Squares, state: LevenbergState, count: int) -> tuple[LevenbergState, Trace]:
        limits = Limits(
            *(jnp.asarray(x, jnp.int32) for x in (self.iterations, self.patience, self.trials)),
            *(jnp.asarray(x, state.theta.dtype) for x in (self.ratio, self.tolerance, self.decrease)),
        )
        return _advance(limits, objective, state, iteration_count(count))

    def refresh(self, objective: Squares, state: LevenbergState) -> LevenbergState:
        """The same run on a changed objective (new points): the damping is kept, best and patience start anew.

        Losses of two objectives are not comparable. Costs one evaluation.
        """
        anew = self.start(objective, state.theta)
        return replace(
            anew,
            iteration=state.iteration,
            evaluations=state.evaluations + 1,
            damping=state.damping,
            totals=jnp.full_like(state.totals, jnp.inf),
        )


class Limits(eqx.Module):
    """The phase's numbers as device arrays: other values do not compile another program."""

    iterations: Int[Array, ""]
    patience: Int[Array, ""]
    trials: Int[Array, ""]
    ratio: Float[Array, ""]
    tolerance: Float[Array, ""]
    decrease: Float[Array, ""]


@eqx.filter_jit
def _advance(
    limits: Limits, objective: Squares, state: LevenbergState, count: Int[Array, ""]
) -> tuple[LevenbergState, Trace]:
    return repeat(lambda state: _step(limits, objective, state), state, count, limits.iterations)


class Trial(eqx.Module):
    """theta + δ(μ) and its loss if accepted; the next μ, and the factor by which another rejection would raise it."""

    theta: Float[Array, " p"]
    total: Float[Array, ""]
    terms: Float[Array, " k"]
    damping: Float[Array, ""]
    raise_by: Float[Array, ""]
    count: Int[Array, ""]
    evaluations: Int[Array, ""]
    accepted: Bool[Array, ""]
    moves: Bool[Array, ""]
    finite: Bool[Array, ""]


def _step(limits: Limits, objective: Squares, state: LevenbergState) -> LevenbergState:
    system = linearised(objective, state.theta)
    gradient_norm = jnp.max(jnp.abs(system.gradient * system.scale))
    finite = jnp.all(jnp.isfinite(system.gradient)) & jnp.all(jnp.isfinite(system.gram))
    stationary = gradient_norm <= limits.tolerance

    trial = _search(limits, objective, state, system, finite & ~stationary)
    after = moved(state, trial.theta, trial.total, trial.terms, gradient_norm)
    slot = after.iteration % state.totals.size
    slow = state.totals[slot] - after.total < limits.decrease * state.totals[slot]
    slow = (limits.patience > 0) & (after.iteration >= limits.patience) & slow
    status = jnp.where(slow, code(Status.DECREASE), code(Status.RUNNING))

    failure = jnp.where(trial.finite, code(Status.NO_STEP), code(Status.NON_FINITE))
    failure = jnp.where(stationary, code(Status.GRADIENT), failure)
    failure = jnp.where(finite, failure, code(Status.NON_FINITE))
    taken = trial.accepted
    return replace(
        after,
        iteration=jnp.where(taken, after.iteration, state.iteration),
        evaluations=state.evaluations + 1 + trial.evaluations,
        status=jnp.where(taken, status, failure),
        damping=trial.damping,
        totals=state.totals.at[slot].set(jnp.where(taken, after.total, state.totals[slot])),
    )


class System(eqx.Module):
    """The linearised rows in the variables √D δ, where μD becomes μI: the same step, and rounding bounds μ from below.

    `gram` is JᵀJ, or J Jᵀ if that is smaller; `rows` are then J and r.
    """

    gram: Float[Array, "n n"]
    gradient: Float[Array, " p"]
    scale: Float[Array, " p"]
    rows: tuple[Float[Array, "n p"], Float[Array, " n"]] | None

    def step(self, mu: Float[Array, ""]) -> Float[Array, " p"]:
        """√D δ(μ); NaN if there is no Cholesky factor."""
        factor = jnp.linalg.cholesky(self.gram + mu * jnp.eye(self.gram.shape[0], dtype=self.gram.dtype))
        if self.rows is None:
            return -cho_solve((factor, True), self.gradient)
        J, r = self.rows
        return -(cho_solve((factor, True), r) @ J)


def linearised(objective: Squares, theta: Float[Array, " p"]) -> System:
    """The smaller of the two systems; that of JᵀJ if the objective cannot compute its whole Jacobian."""
    if isinstance(objective, Linearisable) and jax.eval_shape(objective.rows, theta).size < theta.size:
        J, r = objective.jacobian(theta)
        scale = _scale(jnp.sum(J**2, axis=0))
        J = J / scale
        return System(J @ J.T, r @ J, scale, (J, r))
    gram, gradient, _ = objective.normal_equations(theta)
    scale = _scale(jnp.diagonal(gram))
    return System(gram / (scale[:, None] * scale[None, :]), gradient / scale, scale, None)


def _scale(diagonal: Float[Array, " p"]) -> Float[Array, " p"]:
    """√D; 1 if no row depends on any parameter, so that a stationary point gives no NaN."""
    largest = jnp.max(diagonal)
    return jnp.sqrt(jnp.where(largest > 0, jnp.maximum(diagonal, SCALE_FLOOR * largest), 1))


def _search(
    limits: Limits, objective: Squares, state: LevenbergState, system: System, go: Bool[Array, ""]
) -> Trial:
    """The first μ of a rising sequence whose step is accepted; if there is none, theta is unchanged."""
    lowest = jnp.finfo(system.gram.dtype).eps

    def unfinished(trial: Trial) -> Bool[Array, ""]:
        return go & trial.moves & ~trial.accepted & (trial.count < limits.trials)

    def attempt(trial: Trial) -> Trial:
        mu = trial.damping
        step = system.step(mu)
        solved = jnp.all(jnp.isfinite(step))
        theta = state.theta + step / system.scale
        # A step that rounds to zero says nothing, and more damping only shortens it.
        moves = jnp.any(theta != state.theta)
        worth = solved & moves
        total, terms = lax.cond(worth, lambda: objective(theta), lambda: (state.total, state.terms))
        predicted = 0.5 * (step @ (mu * step - system.gradient))
        rho = (state.total - total) / predicted
        accepted = worth & jnp.isfinite(total) & (rho >= limits.ratio)
        # ρ = 1 means that the rows are linear over this step: reduce the damping. At ρ = ratio it stays.
        trust = jnp.clip((rho - limits.ratio) / (1 - limits.ratio), 0, 1)
        damping = jnp.where(accepted, mu * LOWER**-trust, mu * trial.raise_by)
        return Trial(
            theta=jnp.where(accepted, theta, state.theta),
            total=jnp.where(accepted, total, state.total),
            terms=jnp.where(accepted, terms, state.terms),
            damping=jnp.maximum(damping, lowest),
            # Doubled at each rejection, so that a dozen trials span the whole range of dampings.
            raise_by=2 * trial.raise_by,
            count=trial.count + 1,
            evaluations=trial.evaluations + worth.astype(jnp.int32),
            accepted=accepted,
            moves=moves,
            finite=jnp.where(worth, jnp.isfinite(total), trial.finite),
        )

    untried = Trial(
        theta=state.theta,
        total=state.total,
        terms=state.terms,
        damping=state.damping,
        raise_by=jnp.full_like(state.damping, RAISE),
        count=jnp.asarray(0, jnp.int32),
        evaluations=jnp.asarray(0, jnp.int32),
        accepted=jnp.asarray(False),
        moves=jnp.asarray(True),
        finite=jnp.asarray(True),
    )
    return lax.while_loop(unfinished, attempt, untried)
