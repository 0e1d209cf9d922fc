"""(theta_1, …, theta_n) → … : the runs of n seeds as one program, by vmap of a phase's start and advance.

Seeds differ in numbers only: where theta starts, where the points lie. Stacked they are one batch, and a GPU that one
seed does not fill carries several in the time of one. What is recorded is not written a second time here: when a phase
is done, each seed's own `Run` is told what it did, as if it had done so itself.

Under vmap a `while_loop` runs until its last member is done, and a `cond` computes both branches. Adam goes in step, so
nothing is lost unless a seed stops early. An L-BFGS step waits for the longest of the n line searches: where one in
twenty needs a second evaluation, one step of five seeds in four does. Weights by tangent kernels are recomputed under a
`cond` once in 1000 iterations, which all seeds enter together (`weighting.anywhere`). One after another run the direct
phases, which no seed enters, and Levenberg–Marquardt, whose JᵀJ fills a device by itself.

On a CPU all run one after another: its cores are full with one seed, and batched products are slower than single ones
(measured: four seeds of a 4 × 50 network on 1000 points took 9 times as long as one, by Adam as by L-BFGS).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..problem import Problem
from .adam import Adam
from .lbfgs import LBFGS
from .objective import term_names
from .progress import Monitor
from .recipes import Plan
from .run import Run, Trained, train
from .spread import everywhere, here
from .status import CAPACITY, State, Status, Trace

SAVE_EVERY = 20.0  # seconds: all seeds are written one after another, while the device waits


def train_seeds(
    problem: Problem,
    plans: Sequence[Plan],
    monitor: Monitor | None = None,
    together: bool | None = None,
    folders: Sequence[Path] = (),
    watchers: Sequence[Monitor] = (),
) -> list[Trained]:
    """Carry out plans that differ in their seed only: `together` where that is possible; by default where it pays.

    With a folder for each seed they save there, and go on from what is saved there. `monitor` watches all of them,
    one of the `watchers` each its own. An interruption is not caught: without folders, what was done is lost.
    """
    together = jax.default_backend() != "cpu" if together is None else together
    places: Sequence[Path | None] = folders or [None] * len(plans)
    monitor = monitor or Monitor()
    if len(plans) < 2 or not together or not batches(plans[0]):
        alone = zip(plans, watchers or [monitor] * len(plans), places, strict=True)
        return [train(problem, plan, mine, folder, folder is not None) for plan, mine, folder in alone]
    each = zip(plans, watchers or [Monitor()] * len(plans), places, strict=True)
    runs = [Run(problem, plan, mine, folder) for plan, mine, folder in each]
    for run in runs:
        if run.folder is not None:
            run.restore()
    # A kill may have come between two seeds' saving: those behind go first.
    while going := [run for run in runs if run.index < len(run.plan.phases) and not run._diverged()]:
        _carry_out([run for run in going if run.index == min(r.index for r in going)], monitor)
    return [run.carry_out() for run in runs]


def batches(plan: Plan) -> bool:
    """Whether several seeds of it can be one program."""
    return all(isinstance(phase, (Adam, LBFGS)) for phase in plan.phases)


@dataclass(frozen=True)
class Told:
    """A phase that was carried out before: it starts and ends as it did, in one piece."""

    name: str
    iterations: int
    first: State
    last: State
    rows: np.ndarray

    def start(self, objective: Any, theta: Any) -> State:
        return self.first

    def advance(self, objective: Any, state: State, count: int) -> tuple[State, Trace]:
        return self.last, Trace(jnp.asarray(self.rows), jnp.asarray(len(self.rows), jnp.int32))


def _carry_out(runs: list[Run], monitor: Monitor) -> None:
    """The phase at which all runs stand, for all of them; then each is told its own part."""
    began = time.monotonic()
    phases: list[Any] = [run._phase() for run in runs]
    longest: Any = max(phases, key=lambda phase: phase.iterations)
    # A seed that has fewer iterations left counts them from a later number: so all end at the same one.
    ahead = jnp.asarray([longest.iterations - phase.iterations for phase in phases], jnp.int32)
    losses, thetas = zip(*(run._loss_and_theta() for run in runs), strict=True)
    arrays, static = stacked(losses)
    arrays = everywhere(arrays)
    count = CAPACITY  # always: another number would be another program

    @jax.jit
    @jax.vmap
    def start(arrays: Any, theta: Any, ahead: Any) -> Any:
        return _counted(longest.start(eqx.combine(arrays, static), theta), ahead)

    @jax.jit
    @jax.vmap
    def advance(arrays: Any, state: Any) -> Any:
        return longest.advance(eqx.combine(arrays, static), state, count)

    monitor.phase(longest.name, f"{len(runs)} seeds, compiling")
    first = start(arrays, jnp.stack(thetas), ahead)
    begins = [
        _counted(run.state, ahead[i]) if isinstance(run.state, State) else jax.tree.map(itemgetter(i), first)
        for i, run in enumerate(runs)
    ]
    state = everywhere(jax.tree.map(lambda *same: jnp.stack(same), *begins))
    spent = [run._record(phase.name).seconds for run, phase in zip(runs, phases, strict=True)]
    rows: list[list[np.ndarray]] = [[] for _ in runs]
    names = term_names(runs[0].problem)
    for run, phase in zip(runs, phases, strict=True):
        run.monitor.phase(phase.name, "compiling")

    def own(i: int) -> State:
        return _counted(here(jax.tree.map(itemgetter(i), state)), -ahead[i])

    while np.any(np.asarray(state.status) == Status.RUNNING):
        state, trace = advance(arrays, state)
        for i, (length, terms) in enumerate(
            zip(np.asarray(trace.length), np.asarray(trace.terms), strict=True)
        ):
            rows[i].append(terms[:length])
            if length:
                run, now = runs[i], int(state.iteration[i] - ahead[i])
                total, *values = rows[i][-1][-1].tolist()
                told = dict(zip(names, values, strict=True))
                run.monitor.losses(now, phases[i].iterations, total, told)
                run.monitor.gradient(float(state.gradient_norm[i]))
                run.monitor.network(partial(losses[i].field, here(state.theta[i])))
                if i == 0:
                    monitor.losses(now, phases[i].iterations, total, told)
        each = (time.monotonic() - began) / len(runs)
        if runs[0].folder is not None and time.monotonic() - runs[0].saved > SAVE_EVERY:
            for i, run in enumerate(runs):
                if sum(map(len, rows[i])):  # else it has stopped, and waits for the others
                    _save(run, own(i), np.concatenate(rows[i]), spent[i] + each)
                    rows[i] = []
    each = (time.monotonic() - began) / len(runs)
    for i, (run, phase, mine) in enumerate(zip(runs, phases, rows, strict=True)):
        history = np.concatenate(mine) if mine else np.empty((0, 1 + len(names)))
        begin = _counted(begins[i], -ahead[i])
        watcher, run.monitor = run.monitor, Monitor()  # it was told
        run._optimise(Told(phase.name, phase.iterations, begin, own(i), history))
        run.records[-1].seconds = spent[i] + each
        run.monitor, run.index, run.state = watcher, run.index + 1, None


def _save(run: Run, state: State, rows: np.ndarray, seconds: float) -> None:
    """In the middle of a phase, as the run itself would: the rows with the state."""
    record = run.records[-1]
    record.seconds, record.iterations = seconds, int(state.iteration)
    record.evaluations = int(state.evaluations)
    end = sum(r.iterations for r in run.records)
    run.history.append(np.column_stack([np.arange(end - len(rows) + 1, end + 1), rows]))
    run.state = state
    run.save(force=True)


def _counted(state: Any, ahead: Any) -> Any:
    """The state with its iterations numbered `ahead` further."""
    numbers = [name for name in ("iteration", "anchor_iteration") if hasattr(state, name)]
    return replace(state, **{name: getattr(state, name) + ahead for name in numbers})


def stacked(trees: Sequence[Any]) -> tuple[Any, Any]:
    """The arrays of like trees along a new first axis, and what is no array: of the first, as they are alike."""
    parts = [eqx.partition(tree, eqx.is_array) for tree in trees]
    leaves = [jax.tree.leaves(arrays) for arrays, _ in parts]
    arrays, static = parts[0]
    # By position: the unravelling is a function, made anew for each seed, that does the same.
    together = [jnp.stack(same) for same in zip(*leaves, strict=True)]
    return jax.tree.unflatten(jax.tree.structure(arrays), together), static
