"""theta_0 → theta_1 → … : the state of such a run, why it stopped, and what it recorded.

Every optimiser is a *phase*, a frozen dataclass of numbers with

    start(objective, theta)           -> State
    advance(objective, state, count)  -> (State, Trace)

and differs from the others only in its step, State -> State. What they share is here: the reasons to
stop, the common part of their states, and the loop that repeats a step on the device.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

CAPACITY = 512
PATIENCE = 100  # steps without visible decrease that end a run, where a single step cannot be judged


class Status(IntEnum):
    """Why a run is where it is. The numbers are saved with a state: append, never renumber."""

    RUNNING = 0
    FINISHED = 1
    GRADIENT = 2
    DECREASE = 3
    NO_STEP = 4
    NON_FINITE = 5
    DIVERGED = 6
    PLATEAU = 7


_SENTENCES = {
    Status.RUNNING: "The phase is still running.",
    Status.FINISHED: "All iterations of the phase were done.",
    Status.GRADIENT: "The largest entry of the gradient fell below the tolerance: a stationary point.",
    Status.DECREASE: "The loss decreases too slowly: its relative decrease fell below the tolerance.",
    Status.NO_STEP: "No step lowers the loss any further: the line search or the damping found none "
    "acceptable, which near a minimum means that rounding is reached.",
    Status.NON_FINITE: "The loss or its gradient became infinite or NaN; the best parameters before that "
    "are kept. Try a smaller rate, or look for a singularity in the equation or its inputs.",
    Status.DIVERGED: "The loss grew far above its initial value; the best parameters before that are kept. "
    "Try a smaller rate.",
    Status.PLATEAU: "The best loss no longer improves: it stayed on a plateau for the whole patience.",
}


def sentence(status: int | Int[Array, ""]) -> str:
    """Why the run stands where it does, in words."""
    return _SENTENCES[Status(int(status))]


@runtime_checkable
class Objective(Protocol):
    """total(theta) and its terms: a pytree, so that its points are arguments of a program and not constants."""

    def __call__(self, theta: Float[Array, " p"]) -> tuple[Float[Array, ""], Float[Array, " k"]]: ...


@runtime_checkable
class Squares(Objective, Protocol):
    """total(theta) = ½ ‖rows(theta)‖²."""

    def rows(self, theta: Float[Array, " p"]) -> Float[Array, " m"]: ...

    def normal_equations(
        self, theta: Float[Array, " p"]
    ) -> tuple[Float[Array, "p p"], Float[Array, " p"], Float[Array, ""]]: ...


@runtime_checkable
class Adaptive(Protocol):
    """An objective whose weights, a pytree of arrays, follow theta; None before they do, or if they never do."""

    weights: Any

    def adapt(self, theta: Float[Array, " p"], weights: Any, iteration: Int[Array, ""]) -> Any: ...

    def weighted(self, weights: Any) -> Objective: ...

    def yardstick(self, total: Float[Array, ""], terms: Float[Array, " k"]) -> Float[Array, ""]: ...


def adapt(objective: Objective, theta: Float[Array, " p"], weights: Any, iteration: Int[Array, ""]) -> Any:
    """The objective's weights at theta, given the previous ones; None if it does not adapt."""
    return objective.adapt(theta, weights, iteration) if isinstance(objective, Adaptive) else None


def weighted(objective: Objective, weights: Any) -> Objective:
    """The objective with the weights that `adapt` gave."""
    return objective.weighted(weights) if isinstance(objective, Adaptive) else objective


def renewed(objective: Objective, iteration: Int[Array, ""]) -> Objective:
    """The objective at the points of this iteration; most objectives have the same points for all."""
    own: Callable[[Any], Objective] | None = getattr(objective, "renewed", None)
    return objective if own is None else own(iteration)


class Evaluation(eqx.Module):
    """(total, terms, ∇total) at one theta, in theta's precision."""

    total: Float[Array, ""]
    terms: Float[Array, " k"]
    gradient: Float[Array, " p"]

    @property
    def finite(self) -> Bool[Array, ""]:
        return jnp.isfinite(self.total) & jnp.all(jnp.isfinite(self.gradient))

    @property
    def gradient_norm(self) -> Float[Array, ""]:
        return jnp.max(jnp.abs(self.gradient))


def evaluate(objective: Objective, theta: Float[Array, " p"]) -> Evaluation:
    """Loss and gradient in one sweep; the single place where an evaluation is made."""
    own = getattr(objective, "value_and_gradient", None)  # a faster rule, if the objective has one
    (total, terms), gradient = (own or jax.value_and_grad(lambda t: objective(t), has_aux=True))(theta)
    # An objective may sum in a wider type than theta's; the state of a run must not widen with it.
    return Evaluation(total.astype(theta.dtype), terms.astype(theta.dtype), gradient)


def measure(objective: Objective, here: Evaluation) -> Float[Array, ""]:
    """The number by which the best theta, a plateau and divergence are judged: the total, if its weights are fixed.

    Totals with different weights are not comparable. Weights that start at zero (RBA) would make the first theta the
    best and their growth look like divergence; a rebalancing would look like a jump. So adaptive weights steer the
    steps only, and the yardstick is the loss with the weights that the plan began with: one measure for all
    iterations, and for all methods.
    """
    if not isinstance(objective, Adaptive):
        return here.total
    return objective.yardstick(here.total, here.terms).astype(here.total.dtype)


# For use outside a program: all phases start with the same one, compiled once per objective.
first_evaluation = eqx.filter_jit(evaluate)


class State(eqx.Module):
    """theta, total(theta) and terms(theta); the best theta seen; how far the run is and its status. Arrays only.

    `gradient_norm` is max|∂total/∂theta_i|. A method adds what else it needs in a subclass.
    """

    theta: Float[Array, " p"]
    total: Float[Array, ""]
    terms: Float[Array, " k"]
    gradient_norm: Float[Array, ""]
    best_theta: Float[Array, " p"]
    best_total: Float[Array, ""]
    iteration: Int[Array, ""]
    evaluations: Int[Array, ""]
    status: Int[Array, ""]


S = TypeVar("S", bound=State)


def moved(
    state: S,
    theta: Float[Array, " p"],
    total: Float[Array, ""],
    terms: Float[Array, " k"],
    gradient_norm: Float[Array, ""],
    judged: Float[Array, ""] | None = None,
) -> S:
    """The state after one accepted step to theta; `judged` decides which theta is best, if the total does not."""
    judged = total if judged is None else judged
    better = judged < state.best_total
    return replace(
        state,
        theta=theta,
        total=total,
        terms=terms,
        gradient_norm=gradient_norm,
        best_theta=jnp.where(better, theta, state.best_theta),
        best_total=jnp.where(better, judged, state.best_total),
        iteration=state.iteration + 1,
    )


def settled(state: State, kind: type[S]) -> S:
    """A state without the fields that only a running program has: those of `kind` remain."""
    return kind(**{item.name: getattr(state, item.name) for item in fields(kind)})


def code(status: Status) -> Int[Array, ""]:
    """A status as the device holds it."""
    return jnp.asarray(int(status), jnp.int32)


def opening(
    theta: Float[Array, " p"], here: Evaluation, judged: Float[Array, ""] | None = None
) -> dict[str, Array]:
    """The shared fields of a State before the first step, which cost one evaluation."""
    judged = here.total if judged is None else judged
    return {
        "theta": theta,
        "total": here.total,
        "terms": here.terms,
        "gradient_norm": here.gradient_norm,
        "best_theta": theta,
        # So that any finite loss is better than a NaN, for which every comparison is false.
        "best_total": jnp.where(here.finite, judged, jnp.inf),
        "iteration": jnp.asarray(0, jnp.int32),
        "evaluations": jnp.asarray(1, jnp.int32),
        "status": jnp.where(here.finite, code(Status.RUNNING), code(Status.NON_FINITE)),
    }


def descending(theta: Float[Array, " p"], here: Evaluation, tolerance: float) -> dict[str, Array]:
    """`opening` for a method whose state has the gradient: if that is zero from the beginning, the run has ended."""
    flat = here.finite & (here.gradient_norm <= tolerance)
    shared = opening(theta, here)
    status = jnp.where(flat, code(Status.GRADIENT), shared["status"])
    return shared | {"gradient": here.gradient, "status": status}


def verdict(after: State, best: Float[Array, ""], tolerance: Float[Array, ""]) -> Int[Array, ""]:
    """GRADIENT if that is within the tolerance, DECREASE if the previous `best` loss hardly fell, else RUNNING."""
    eps = jnp.finfo(after.theta.dtype).eps
    slow = after.best_total > (1 - jnp.maximum(tolerance, eps)) * best
    status = jnp.where(slow, code(Status.DECREASE), code(Status.RUNNING))
    return jnp.where(after.gradient_norm <= tolerance, code(Status.GRADIENT), status)


class Patient(State):
    """A state with `anchor`, the best loss when it last fell visibly, `idle` steps ago."""

    anchor: Float[Array, ""]
    idle: Int[Array, ""]


P = TypeVar("P", bound=Patient)


def judged(after: P, tolerance: Float[Array, ""]) -> P:
    """The state and whether its loss still falls: one step tells if the tolerance exceeds rounding, else `PATIENCE`."""
    eps = jnp.finfo(after.total.dtype).eps
    fell = after.best_total <= (1 - jnp.maximum(tolerance, eps)) * after.anchor
    idle = jnp.where(fell, 0, after.idle + 1)
    slow = idle >= jnp.where(tolerance < eps, PATIENCE, 1)
    status = jnp.where(slow, code(Status.DECREASE), code(Status.RUNNING))
    return replace(
        after,
        anchor=jnp.where(fell, after.best_total, after.anchor),
        idle=idle,
        status=jnp.where(after.gradient_norm <= tolerance, code(Status.GRADIENT), status),
    )


class Trace(eqx.Module):
    """Rows [total, *terms] after each iteration; the first `length` hold numbers, the others NaN."""

    terms: Float[Array, "capacity columns"]
    length: Int[Array, ""]


Count = int | Int[Array, ""]


def iteration_count(count: Count) -> Int[Array, ""]:
    """`count` as a device number: a Python number would compile a program of its own for each value."""
    if isinstance(count, int) and not 0 <= count <= CAPACITY:
        raise ValueError(
            f"advance was asked for {count} iterations at once, but a trace holds 0 to {CAPACITY}: "
            "call it repeatedly with smaller counts, which gives the same result to the bit."
        )
    return jnp.asarray(count, jnp.int32)


class Held(NamedTuple):
    """A large array `of` a state that steps only read. Between pauses it is constant; `resumed` may replace it.

    A loop that carried it would copy it for every run of a batch in every step.
    """

    of: Callable[[Any], Any]
    paused: Callable[[Any], Bool[Array, ""]]
    resumed: Callable[[Any], Any]


def repeat(
    step: Callable[[S], S],
    state: S,
    count: Int[Array, ""],
    iterations: Int[Array, ""],
    held: Held | None = None,
) -> tuple[S, Trace]:
    """state ← step(state) until `count` more iterations are done, or the run has ended.

    A step that leaves `iteration` as it was (a retry, a stop) is not recorded.
    """
    # A phase that is given more iterations continues from where the shorter one finished.
    more = (state.status == Status.FINISHED) & (state.iteration < iterations)
    state = replace(state, status=jnp.where(more, code(Status.RUNNING), state.status))
    bound = jnp.minimum(state.iteration + count, iterations)
    rows = jnp.full((CAPACITY, 1 + state.terms.size), jnp.nan, state.theta.dtype)
    begun = state, Trace(rows, jnp.asarray(0, jnp.int32))

    def unfinished(state: State) -> Bool[Array, ""]:
        return jnp.logical_and(state.status == Status.RUNNING, state.iteration < bound)

    def stepped(before: S, trace: Trace) -> tuple[S, Trace]:
        after = step(before)
        taken = after.iteration > before.iteration
        row = jnp.concatenate([after.total[None], after.terms])
        # An index past the end is dropped: if no step was taken, the write costs no copy of the buffer.
        at = jnp.where(taken, trace.length, CAPACITY)
        rows = trace.terms.at[at].set(row, mode="drop")
        return after, Trace(rows, trace.length + taken.astype(jnp.int32))

    def round_(before: S, trace: Trace) -> tuple[S, Trace]:
        """Steps up to the next pause, with the held array outside the loop."""
        assert held is not None
        mask = eqx.tree_at(held.of, jax.tree.map(lambda _: True, before), False)
        light, heavy = eqx.partition(before, mask)
        light, trace = _loop(
            lambda state: unfinished(state) & ~held.paused(state),
            lambda state, trace: _first_light(stepped(eqx.combine(state, heavy), trace), mask),
            (light, trace),
        )
        return held.resumed(eqx.combine(light, heavy)), trace

    state, trace = _loop(unfinished, stepped if held is None else round_, begun)
    full = (state.status == Status.RUNNING) & (state.iteration >= iterations)
    return replace(state, status=jnp.where(full, code(Status.FINISHED), state.status)), trace


def _first_light(pair: tuple[S, Trace], mask: Any) -> tuple[S, Trace]:
    light: S = eqx.filter(pair[0], mask)
    return light, pair[1]


def _loop(goes_on: Callable[[Any], Any], body: Callable[[Any, Trace], Any], begun: Any) -> Any:
    """A while loop over a state and its trace."""
    pack, unpack = packing(begun)
    end = lax.while_loop(
        lambda carry: goes_on(unpack(carry)[0]), lambda carry: pack(body(*unpack(carry))), pack(begun)
    )
    return unpack(end)


def packing(like: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """(pack, unpack) of a tree: its arrays, and all scalars of one dtype as one array.

    A GPU runs one kernel for each array that a loop carries: a tenth of an iteration went to scalars.
    """
    leaves, structure = jax.tree.flatten(like)
    kinds = [leaf.dtype if leaf.ndim == 0 else None for leaf in leaves]

    def pack(tree: Any) -> Any:
        sorted_out: dict[Any, list[Array]] = {}
        for leaf, kind in zip(jax.tree.leaves(tree), kinds, strict=True):
            assert kind is None or leaf.dtype == kind, (
                f"a {kind} has become a {leaf.dtype}"
            )  # stack would convert it
            sorted_out.setdefault(kind, []).append(leaf)
        return sorted_out.pop(None, []), {str(kind): jnp.stack(own) for kind, own in sorted_out.items()}

    def unpack(packed: Any) -> Any:
        arrays, numbers = packed
        each = {str(None): iter(arrays)} | {kind: iter(jnp.unstack(own)) for kind, own in numbers.items()}
        return jax.tree.unflatten(structure, [next(each[str(kind)]) for kind in kinds])

    return pack, unpack
