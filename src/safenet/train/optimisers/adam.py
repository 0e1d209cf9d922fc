"""theta ← theta − η_i m̂_i / (√v̂_i + ε), with the rate η_i = rate · decay^(i/every).

Adam (Kingma and Ba, 2015) with the exponential decay of the paper, "by 0.9 every 2k iterations". The rule is
optax's; this module adds what a run needs around it: the best theta, and the reasons to stop.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from ...errors import SafeNetError
from .base import Optimiser
from .status import (
    Count,
    Objective,
    State,
    Status,
    Trace,
    adapt,
    code,
    evaluate,
    first_evaluation,
    iteration_count,
    measure,
    moved,
    opening,
    renewed,
    repeat,
    weighted,
)

# A run is on a plateau if the best loss improves by less than this, relatively, within the patience.
IMPROVEMENT = 1e-4


class AdamState(State):
    """The gradient at theta, the moments m and v, when the best loss last improved, and the objective's weights.

    The gradient belongs to theta and not to its predecessor, so that total, terms and gradient_norm are
    those of the theta beside them; a run of n iterations costs n + 1 evaluations. If weights adapt, `total` uses
    those of its iteration; `judged`, and every total it is compared with, uses the plan's (see `measure`).
    """

    gradient: Float[Array, " p"]
    moments: optax.OptState
    first_total: Float[Array, ""]
    anchor_total: Float[Array, ""]
    anchor_iteration: Int[Array, ""]
    judged: Float[Array, ""]
    weights: Any


class FirstOrder(Optimiser):
    """theta ← theta + update(∇total(theta)), by a rule that keeps moments; weights adapt at every step."""

    adapts_weights: ClassVar[bool] = True

    def moments(self, theta: Float[Array, " p"]) -> Any:
        """The rule's initial state."""
        raise NotImplementedError

    def start(self, objective: Objective, theta: Float[Array, " p"]) -> AdamState:
        weights = _first_weights(objective, theta)
        objective = weighted(objective, weights)
        here = first_evaluation(objective, theta)
        judged = measure(objective, here)
        return AdamState(
            **opening(theta, here, judged),
            gradient=here.gradient,
            moments=self.moments(theta),
            first_total=judged,
            anchor_total=judged,
            anchor_iteration=jnp.asarray(0, jnp.int32),
            judged=judged,
            weights=weights,
        )

    def refresh(self, objective: Objective, state: AdamState) -> AdamState:
        """The same run on a changed objective (new points or weights): the moments are kept, the best is reset.

        Costs one evaluation. Without it the first step would follow the old objective's gradient, and the
        best loss would be compared between two objectives. Adaptive weights continue from the objective's own.
        """
        anew = self.start(objective, state.theta)
        return replace(
            anew,
            iteration=state.iteration,
            anchor_iteration=state.iteration,
            evaluations=state.evaluations + 1,
            moments=state.moments,
        )


@dataclass(frozen=True)
class Adam(FirstOrder):
    """Adam: `iterations` steps at the rate η_i = rate · decay^(i/every).

    The rate is continuous in i or, with `staircase`, constant over each `every` iterations.

    With `patience` > 0 the run stops as PLATEAU when the best loss improved by less than 1e-4, relatively,
    in that many iterations. It stops as DIVERGED when the loss exceeds `divergence` × max(its first value, 1).

    Iterations, rate and decay are arguments of the compiled program and may be traced: other values do not compile
    another program, and runs that differ in them can form a batch.

    Examples:
        >>> phase = sn.Adam(1000, rate=1e-3, decay=0.9)
        >>> training = sn.Train("pinn", [phase])
    """

    iterations: int
    rate: float | Float[Array, ""] = 1e-3
    decay: float | Float[Array, ""] = 0.9
    every: int = 2000
    staircase: bool = False
    patience: int = 0
    divergence: float = 1e6
    name: ClassVar[str] = "adam"
    counted: ClassVar[tuple[str, ...]] = ("iterations", "patience")
    numbers: ClassVar[tuple[str, ...]] = (
        "iterations",
        "rate",
        "decay",
    )  # arguments of the program

    @property
    def transformation(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate)

    def learning_rate(self, i: Int[Array, ""]) -> Float[Array, ""]:
        # optax counts in int32, whose quotients are float32 even where theta is not; and its own
        # exponential_decay asks in Python whether the decay is zero, which a traced decay cannot answer.
        periods = i.astype(float) / self.every
        return self.rate * self.decay ** (jnp.floor(periods) if self.staircase else periods)

    def moments(self, theta: Float[Array, " p"]) -> Any:
        return self.transformation.init(theta)

    def advance(self, objective: Objective, state: AdamState, count: Count) -> tuple[AdamState, Trace]:
        program = replace(self, iterations=0, rate=0.0, decay=0.0)
        iterations = jnp.asarray(self.iterations, jnp.int32)
        rates = {"rate": jnp.asarray(self.rate, float), "decay": jnp.asarray(self.decay, float)}
        return _advance(program, objective, state, iteration_count(count), iterations, rates)

    def updated(self, objective: Objective, state: AdamState) -> tuple[Any, Any]:
        """The update of theta and the next moments."""
        with jax.numpy_dtype_promotion("standard"):  # optax raises floats to the power of its int32 counter
            update, moments = self.transformation.update(state.gradient, state.moments)
        return update, moments


@dataclass(frozen=True)
class MultiAdam(Adam):
    """theta ← theta − η_i ½ Σ_g m̂_g/(√v̂_g + ε): separate moments for the equations and for the conditions.

    This balances the two without weights, since an update does not change with the scale of its loss (Yao et al.,
    2023). β₁ = β₂ = 0.99, as in their paper. An iteration costs a second gradient, that of the equations alone.

    Examples:
        >>> training = sn.Train("pinn", [sn.MultiAdam(1000), sn.LBFGS(500)])
    """

    beta: float = 0.99
    name: ClassVar[str] = "multiadam"

    @property
    def transformation(self) -> optax.GradientTransformation:
        each = optax.chain(
            optax.scale_by_adam(self.beta, self.beta), optax.scale_by_learning_rate(self.learning_rate)
        )

        def init(theta: Any) -> Any:
            return each.init(theta), each.init(theta)

        def update(gradients: Any, moments: Any, theta: Any = None) -> Any:
            parts = [each.update(*pair, theta) for pair in zip(gradients, moments, strict=True)]
            updates, after = zip(*parts, strict=True)
            return sum(updates[1:], start=updates[0]) / len(updates), after

        return optax.GradientTransformation(init, update)

    def updated(self, objective: Objective, state: AdamState) -> tuple[Any, Any]:
        equations = getattr(objective, "equations_alone", None)
        if equations is None:
            raise SafeNetError("MultiAdam needs a loss of equations and conditions", "use Adam")
        first = evaluate(equations(), state.theta).gradient
        with jax.numpy_dtype_promotion("standard"):
            update, moments = self.transformation.update((first, state.gradient - first), state.moments)
        return update, moments


@eqx.filter_jit
def _first_weights(objective: Objective, theta: Float[Array, " p"]) -> Any:
    return adapt(objective, theta, getattr(objective, "weights", None), jnp.asarray(0, jnp.int32))


@eqx.filter_jit
def _advance(
    program: Adam,
    objective: Objective,
    state: AdamState,
    count: Int[Array, ""],
    iterations: Int[Array, ""],
    rates: dict[str, Any],
) -> tuple[AdamState, Trace]:
    phase = replace(program, **rates)
    return repeat(lambda state: step(phase, objective, state), state, count, iterations)


def step(phase: Any, objective: Objective, state: AdamState) -> AdamState:
    """One step by the phase's `updated`, with its `patience` and `divergence`."""
    update, moments = phase.updated(weighted(objective, state.weights), state)
    theta = jnp.asarray(optax.apply_updates(state.theta, update))
    objective = renewed(objective, state.iteration + 1)
    weights = adapt(objective, theta, state.weights, state.iteration + 1)
    objective = weighted(objective, weights)
    there = evaluate(objective, theta)
    judged = measure(objective, there)
    after = replace(
        moved(state, theta, there.total, there.terms, there.gradient_norm, judged),
        gradient=there.gradient,
        moments=moments,
        judged=judged,
        weights=weights,
    )

    # Measured from the last recorded improvement, not over a window: one number instead of `patience` many.
    improved = after.best_total < (1 - IMPROVEMENT) * state.anchor_total
    after = replace(
        after,
        anchor_total=jnp.where(improved, after.best_total, state.anchor_total),
        anchor_iteration=jnp.where(improved, after.iteration, state.anchor_iteration),
    )
    plateau = (phase.patience > 0) & (after.iteration - after.anchor_iteration >= phase.patience)
    # A restart from a trained theta begins with a loss near zero and must be allowed Adam's first blind steps,
    # hence the 1: the residuals' weights are chosen so that an untrained loss is of that order or above.
    diverged = judged > phase.divergence * jnp.maximum(state.first_total, 1)
    status = jnp.where(plateau, code(Status.PLATEAU), state.status)
    after = replace(after, status=jnp.where(diverged, code(Status.DIVERGED), status))

    stopped = replace(state, status=code(Status.NON_FINITE))
    after = jax.tree.map(lambda new, old: jnp.where(there.finite, new, old), after, stopped)
    counted: AdamState = replace(after, evaluations=state.evaluations + 1)
    return counted
