"""(theta_1, …, theta_n) → … : n runs as one program, by vmap of a phase's start and advance.

Runs of the same program differ only in numbers: the initial theta and the points (their seeds), the rates, and the
problem's parameters. Stacked, they are one batch, and a GPU that one run does not fill carries several in the time of
one. Runs share a program if their losses have equal structures. This needs no list of the parameters that may differ:
one that moves a face or changes the features changes the structure, too. The records are not kept in a second way: when
a phase is done, each `Run` replays its own part of it, as if it had run alone.

Under vmap a `while_loop` runs until its last member is done, and a `cond` computes both branches. Adam's runs go in
step, so nothing is lost unless one stops early. A turn of L-BFGS or of SSBroyden is one evaluation, whichever step a
run is at. New points are drawn for each run separately, after as many steps as if it ran alone. Weights by tangent
kernels are recomputed under a `cond` once in 1000 iterations, which all runs enter together (`weighting.anywhere`).
Phases without `numbers` are not batched, among them Levenberg–Marquardt, whose JᵀJ fills a device by itself.

On a CPU, runs go one after another: one run fills its cores, and batched products are slower than single ones
(measured: four seeds of a 4 × 50 network on 1000 points took 9 times as long as one, with Adam as with L-BFGS).
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..run.budget import Budget, SpentError, awaited
from ..run.progress import Monitor
from ..run.result import Carried
from .optimisers.status import CAPACITY, State, Status, Trace
from .run import Run
from .spread import everywhere, here
from .thresholds import SAVE_BATCH_EVERY


def train_runs(
    runs: Sequence[Run], monitor: Monitor, together: bool | None = None, watched: bool = False
) -> list[Carried]:
    """Carry out each run; `together` batches those that share a program (default: on accelerators only).

    Runs with a folder continue from what is saved there. `monitor` watches all runs; `watched` runs also have monitors
    of their own. No run is returned after an interrupted one; once the time is over, only runs that have begun are.
    """
    together = jax.default_backend() != "cpu" if together is None else together
    for run in runs:
        if run.folder is not None:
            run.restore()
    for batch in alike(runs) if together else ():
        if not watched:
            for run in batch:
                run.monitor = Monitor()  # the batch reports as one
        # A kill may have come between the saving of two runs: those that lag behind go first.
        while going := [run for run in batch if run.index < len(run.plan.phases) and not run.over()]:
            _carry_out([run for run in going if run.index == min(r.index for r in going)], monitor)
            if batch[0].budget.spent:
                break
    ends: list[Carried] = []
    for run in runs:
        if ends and (ends[-1].interrupted or (ends[-1].stopped and not run.records)):
            break
        ends.append(run.carry_out())
    return ends


def alike(runs: Sequence[Run]) -> list[list[Run]]:
    """Groups of two or more runs that can share one program. One with a callback, which may stop it, runs alone."""
    found: dict[Hashable, list[Run]] = {}
    for run in runs:
        if run.plan.batches and run.own.callback is None:
            try:
                loss, theta = awaited(run.budget, run.loss_and_theta)
            except SpentError:  # while a start was fitted
                return []
            leaves, structure = jax.tree.flatten((loss.weighted(None), theta))
            shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
            key = structure, shapes, tuple(map(program, run.plan.phases))
            found.setdefault(key, []).append(run)
    return [batch for batch in found.values() if len(batch) > 1]


def program(phase: Any) -> Any:
    """The phase with its numbers set to zero: the part that is compiled."""
    return replace(phase, **dict.fromkeys(phase.numbers, 0))


def numbered(program: Any, numbers: dict[str, Any]) -> Any:
    """The phase with its numbers put back. They are traced, and `replace` would insist on the declared types."""
    phase = copy(program)
    vars(phase).update(numbers)
    return phase


@dataclass(frozen=True)
class Told:
    """A phase that has been carried out already: `start` and `advance` replay it in one piece."""

    name: str
    iterations: int
    first: State
    last: State
    rows: np.ndarray

    def start(self, objective: Any, theta: Any) -> State:
        return self.first

    def advance(self, objective: Any, state: State, count: int) -> tuple[State, Trace]:
        return self.last, Trace(jnp.asarray(self.rows), jnp.asarray(len(self.rows), jnp.int32))


@eqx.filter_jit
def _start(program: Any, numbers: Any, loss: Any, theta: Any) -> Any:
    def start(numbers: Any, loss: Any, theta: Any) -> Any:
        return numbered(program, numbers).start(loss, theta)

    return eqx.filter_vmap(start)(numbers, loss, theta)


@eqx.filter_jit
def _advance(program: Any, numbers: Any, loss: Any, state: Any, counts: Any) -> Any:
    def advance(numbers: Any, loss: Any, state: Any, count: Any) -> Any:
        return numbered(program, numbers).advance(loss, state, count)

    return eqx.filter_vmap(advance)(numbers, loss, state, counts)


def _carry_out(runs: list[Run], monitor: Monitor) -> None:
    """Carry out the phase that all runs are at, as a batch; then let each run replay its own part."""
    began, budget = time.monotonic(), runs[0].budget
    phases: list[Any] = [run.phase() for run in runs]
    common = program(phases[0])
    numbers = {
        name: everywhere(jnp.asarray([getattr(phase, name) for phase in phases])) for name in common.numbers
    }
    rounds, full = getattr(common, "resample", 0), jnp.full(len(runs), CAPACITY, jnp.int32)
    for run in runs:
        run.start_resampling()
    losses, thetas = map(list, zip(*(run.loss_and_theta() for run in runs), strict=True))
    loss = everywhere(stacked(losses))
    monitor.phase(common.name, f"{len(runs)} runs, compiling")
    monitor.expect(runs[0].ahead())
    try:
        first = awaited(budget, _start, common, numbers, loss, everywhere(jnp.stack(thetas)))
    except SpentError:
        return
    begins = [
        run.state if run.state is not None else jax.tree.map(itemgetter(i), first)
        for i, run in enumerate(runs)
    ]
    state = everywhere(stacked(begins))
    spent = [run.record(phase.name).seconds for run, phase in zip(runs, phases, strict=True)]
    rows: list[list[np.ndarray]] = [[] for _ in runs]
    for run, phase in zip(runs, phases, strict=True):
        run.monitor.phase(phase.name, "compiling")

    while np.any(np.asarray(state.status) == Status.RUNNING) and not budget.over():
        if rounds:
            loss, state = _redrawn(runs, phases, losses, loss, state)
        counts = jnp.minimum(CAPACITY, rounds - state.iteration % rounds) if rounds else full
        try:
            state, trace = awaited(budget, _advance, common, numbers, loss, state, counts)
        except SpentError:
            break
        lengths, terms = np.asarray(trace.length), np.asarray(trace.terms)
        new = [own[:length] for own, length in zip(terms, lengths, strict=True)]
        for i in (i for i, own in enumerate(new) if len(own)):
            rows[i].append(new[i])
            watchers = [runs[i].monitor, monitor] if i == 0 else [runs[i].monitor]
            _tell(watchers, runs[i], phases[i], losses[i], state, i, new[i][-1])
        budget.found = True
        each = (time.monotonic() - began) / len(runs)
        if runs[0].folder is not None and time.monotonic() - runs[0].saved > SAVE_BATCH_EVERY:
            for run in _kept(runs, state, rows, spent, each):
                run.save(force=True)
    each = (time.monotonic() - began) / len(runs)
    if budget.spent:  # each run saves itself as it ends
        _kept(runs, state, rows, spent, each)
        return
    for i, (run, phase, mine) in enumerate(zip(runs, phases, rows, strict=True)):
        history = np.concatenate(mine) if mine else np.empty((0, 1 + len(run.names)))
        watcher, run.monitor = run.monitor, Monitor()  # it has been told
        clock, run.budget = run.budget, Budget()  # a replay must not be stopped
        run.optimise(Told(phase.name, phase.iterations, begins[i], _own(state, i), history))
        run.records[-1].seconds = spent[i] + each
        run.monitor, run.budget, run.index, run.state = watcher, clock, run.index + 1, None


def _tell(
    watchers: list[Monitor], run: Run, phase: Any, loss: Any, state: State, i: int, row: np.ndarray
) -> None:
    """Report the losses to every watcher, and the gradient and network of the i-th state to the run's own."""
    theta = here(state.theta[i])
    total, told = run.parts(loss, theta, row.tolist())
    for watcher in watchers:
        watcher.losses(int(state.iteration[i]), phase.iterations, total, told)
    run.monitor.gradient(float(state.gradient_norm[i]))
    run.monitor.network(partial(loss.field, theta))


def _redrawn(runs: list[Run], phases: list[Any], losses: list[Any], loss: Any, state: Any) -> Any:
    """The loss and the state of all runs, with new points for those that are due."""
    done, running = np.asarray(state.iteration), np.asarray(state.status) == Status.RUNNING
    due = np.flatnonzero(running & (done > 0) & (done % phases[0].resample == 0))
    if not due.size:
        return loss, state
    single = [jax.tree.map(itemgetter(i), state) for i in range(len(runs))]
    for i in due:
        runs[i].points, losses[i], single[i] = runs[i].resampled(phases[i], losses[i], single[i])
    return everywhere(stacked(losses)), everywhere(stacked(single))


def _own(state: State, i: int) -> State:
    """The i-th of the stacked states."""
    mine: State = here(jax.tree.map(itemgetter(i), state))
    return mine


def _kept(
    runs: list[Run], state: State, rows: list[list[np.ndarray]], spent: list[float], each: float
) -> list[Run]:
    """In the middle of a phase, give each run its rows and its state, as it would have alone; the runs that moved."""
    moved = [i for i, mine in enumerate(rows) if sum(map(len, mine))]  # the others have stopped and wait
    for i in moved:
        run, own, done = runs[i], _own(state, i), np.concatenate(rows[i])
        record, rows[i] = run.records[-1], []
        record.seconds, record.iterations = spent[i] + each, int(own.iteration)
        record.evaluations = int(own.evaluations)
        end = sum(r.iterations for r in run.records)
        run.history.append(np.column_stack([np.arange(end - len(done) + 1, end + 1), done]))
        run.state = own
    return [runs[i] for i in moved]


def stacked(trees: Sequence[Any]) -> Any:
    """Trees of equal structure as one, with their arrays stacked along a new first axis."""
    return jax.tree.map(lambda *same: jnp.stack(same), *trees)
