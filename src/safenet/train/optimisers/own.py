"""theta ← theta + update(∇total(theta)): any optax optimiser as a phase of a schedule.

    sn.Train(schedule=[sn.Optax(optax.adam(1e-3), 5000), sn.SSBroyden(20_000)])

It shares with Adam all that surrounds a step (the best theta, the reasons to stop, adaptive weights), not the update.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from ...errors import SafeNetError
from .adam import AdamState, FirstOrder, step
from .status import Objective, Trace, evaluate, iteration_count, repeat


@dataclass(frozen=True)
class Optax(FirstOrder):
    """`iterations` steps of an optax optimiser; one with a line search (optax.lbfgs) also gets the loss as a function.

    The optimiser is code, not data: a saved plan keeps only its `label`, and it must be given again to resume a run.

    Examples:
        >>> import optax
        >>> training = sn.Train("pinn", [sn.Optax(optax.adamw(1e-3), 5000)])
    """

    transformation: optax.GradientTransformation | None = field(default=None, compare=False, repr=False)
    iterations: int = 1000
    patience: int = 0
    divergence: float = 1e6
    label: str = "optax"
    name: ClassVar[str] = "optax"
    counted: ClassVar[tuple[str, ...]] = ("iterations", "patience")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.transformation is not None and not isinstance(self.transformation, tuple):
            raise SafeNetError(
                f"{self.transformation!r} is not an optax optimiser",
                "e.g. sn.Optax(optax.adam(1e-3), 5000)",
            )

    @property
    def code(self) -> str:
        return f"optimiser {self.label}"

    def moments(self, theta: Float[Array, " p"]) -> Any:
        if self.transformation is None:
            raise SafeNetError(
                f"the optimiser {self.label!r} is your own, and a run folder cannot hold it",
                "give the same solver again: sn.resume(folder, sn.Train(…))",
            )
        return self.transformation.init(theta)

    def advance(self, objective: Objective, state: AdamState, count: int) -> tuple[AdamState, Trace]:
        iterations = jnp.asarray(self.iterations, jnp.int32)
        phase = replace(self, transformation=None, iterations=0)
        return _advance(phase, self.transformation, objective, state, iteration_count(count), iterations)

    def updated(self, objective: Objective, state: AdamState) -> tuple[Any, Any]:
        """The update and the optimiser's next state."""
        assert self.transformation is not None

        def value(theta: Array) -> Array:
            return evaluate(objective, theta).total

        with jax.numpy_dtype_promotion("standard"):  # optax mixes its counters with floats
            update, after = optax.with_extra_args_support(self.transformation).update(
                state.gradient,
                state.moments,
                state.theta,
                value=state.total,
                grad=state.gradient,
                value_fn=value,
            )
        return update, after


@eqx.filter_jit
def _advance(
    phase: Optax,
    transformation: optax.GradientTransformation,
    objective: Objective,
    state: AdamState,
    count: Int[Array, ""],
    iterations: Int[Array, ""],
) -> tuple[AdamState, Trace]:
    # An argument of its own: phases are compared without it, and another optimiser is another program.
    own = replace(phase, transformation=transformation)
    return repeat(lambda state: step(own, objective, state), state, count, iterations)
