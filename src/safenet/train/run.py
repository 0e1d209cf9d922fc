"""phase after phase, watched and saved: the one loop that carries out a plan.

Optimisers (Adam, L-BFGS, Levenberg–Marquardt) move the network's parameters; direct phases (least squares, marching)
build a linear form. The result is the network whose held-out residual is smallest. Whatever stops the loop — the end,
Ctrl-C, a non-finite loss — the best state so far is what comes back.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..direct.direct import FAILED, Direct, Marching
from ..direct.march import SlabMarching
from ..measure.heldout import held_out
from ..measure.points import sample
from ..networks.methods import build, network_spec, skeleton
from ..problem import Problem
from ..run.checkpoint import fill, leaves, pack, unpack, write_atomically
from ..run.progress import Monitor
from .objective import PhysicsLoss, physics_loss, term_names
from .optimisers.adam import AdamState
from .optimisers.status import CAPACITY, State, Status, sentence
from .phases import DIRECT, Phase
from .recipes import Plan
from .resampling import adaptive_points
from .spread import agreed, everywhere, here
from .staging import Stage
from .weighting import Weights, weighting

SAVE_EVERY = 3.0  # seconds: what a kill may cost
GIVEN_UP = "given up"  # the outcome of a phase that ended without solving the problem
CHUNK_SECONDS = 0.7  # how long the device works between two looks at the clock


@dataclass
class PhaseRecord:
    """What one phase did."""

    name: str
    iterations: int = 0
    evaluations: int = 0
    seconds: float = 0.0
    stop_reason: str = ""
    outcome: str = "finished"
    residual: float | None = None
    phase: int = 0  # its place in the plan
    final: bool = False  # it saw why no other phase would do better
    suspect: bool = False  # it did, unless the next one gets past it
    first_loss: float | None = None  # with which it began, where it may rise


@dataclass
class Trained:
    """The best network, how the run went, and the loss history (rows: iteration, total, terms…)."""

    network: Any
    residual: float
    history: np.ndarray
    records: list[PhaseRecord] = field(default_factory=list)
    interrupted: bool = False
    winner: int = -1

    @property
    def outcome(self) -> str:
        if self.interrupted:
            return "interrupted"
        return self._telling.outcome if self.records else "finished"

    @property
    def stop_reason(self) -> str:
        if self.interrupted:
            return "Interrupted by the user; the best so far is kept, and a run with a folder can be resumed."
        return self._telling.stop_reason if self.records else ""

    @property
    def _telling(self) -> PhaseRecord:
        """The phase whose end is the run's: that of the winner, or the one that ended it for all."""
        return self.records[-1] if self.records[-1].final else self.records[self.winner]


class Run:
    """One plan being carried out: its position, its candidates and its checkpoints."""

    def __init__(self, problem: Problem, plan: Plan, monitor: Monitor, folder: Path | None) -> None:
        self.problem, self.plan, self.monitor, self.folder = problem, plan, monitor, folder
        self.index = 0
        self.state: State | Direct | None = None
        self.records: list[PhaseRecord] = []
        self.history: list[np.ndarray] = []
        self.best: Any = None
        self.residual = float("inf")
        self.base: Any = (
            None  # the network that theta belongs to, where a phase has built another than the plan's
        )
        self.theta: Any = None
        self.weights: Weights = None  # as the last phase that adapts them left them
        self.points: Any = None  # of the equations, where a phase has drawn new ones
        self.winner = -1
        self.exhausted = False
        self.reached = math.inf  # where the last march that was given up had come to
        self.saved = time.monotonic()
        self._loss: tuple[PhysicsLoss, Any] | None = None

    # ---- the loop

    def carry_out(self) -> Trained:
        interrupted = False
        try:
            while self.index < len(self.plan.phases) and not self._over():
                phase = self._phase()
                if not self._wanted(phase):
                    pass
                elif isinstance(phase, DIRECT):
                    self._direct(phase)
                else:
                    self._optimise(phase)
                self.index, self.state = self.index + 1, None
            self.save(force=True)
        except KeyboardInterrupt:
            interrupted = True
            # Saved before the state at hand becomes a candidate: a resumed run must not know it was interrupted.
            self.save(force=True)
        if interrupted or self.best is None:
            self._keep_current()
        history = np.concatenate(self.history) if self.history else np.empty((0, 2))
        return Trained(self.best, self.residual, history, self.records, interrupted, self.winner)

    def _phase(self) -> Phase:
        """The phase at hand, with the iterations that those before have left it."""
        return self.plan.phase(self.index, sum(r.iterations for r in self.records if r.phase < self.index))

    def _over(self) -> bool:
        return bool(self.records) and (self.records[-1].outcome == "diverged" or self.records[-1].final)

    def _wanted(self, phase: Phase) -> bool:
        """A later phase of a mixed schedule runs only where the earlier ones left something to do."""
        if self.state is not None:
            return True
        if isinstance(phase, (Marching, SlabMarching)) and self.exhausted:
            return False
        if self.best is None or self.theta is not None or self.base is not None:
            return True
        return self.residual > (phase.only_above if isinstance(phase, DIRECT) else FAILED)

    def _record(self, name: str) -> PhaseRecord:
        """The record of the phase at hand: a new one, or the saved one of a resumed phase."""
        if not self.records or self.records[-1].phase != self.index:
            self.records.append(PhaseRecord(name, phase=self.index))
        return self.records[-1]

    def _direct(self, phase: Any) -> None:
        state = saved = self.state if isinstance(self.state, Direct) else None
        record = self._record(phase.name)
        clock = time.monotonic()
        left = phase.run(self.problem, self.monitor, saved) if saved is None or not saved.done else ()
        for state in left:
            now = time.monotonic()
            record.seconds, clock = record.seconds + now - clock, now
            record.iterations, record.evaluations = state.iterations, state.evaluations
            record.stop_reason = state.reason
            self.state = state
            if state.network is not None:
                self.monitor.network(partial(getattr, state, "network"))
            if not state.done:
                self.save()
        assert isinstance(state, Direct)
        if state.given_up:
            record.outcome, record.final, record.suspect = GIVEN_UP, state.final, state.suspect
            reached = float(state.cursor.get("t", -math.inf))
            for before in self.records[-2:-1]:
                if before.suspect and not record.final:
                    # Nothing else gets past it; but the finer march may, and stop for a reason of its own.
                    past = reached > self.reached
                    record.final, record.stop_reason = True, state.reason if past else before.stop_reason
            self.reached = reached
        # A march a hundred times finer that gains less than a digit: the next would gain nothing.
        idle = state.exhausted or state.given_up or state.residual > 0.1 * self.residual
        self.exhausted = isinstance(phase, (Marching, SlabMarching)) and idle and not state.suspect
        if state.network is not None and (not state.given_up or self.best is None):
            self._candidate(state.network)

    def _optimise(self, phase: Any) -> None:
        if isinstance(phase, Stage) and self.theta is not None and self.state is None:
            self._stage(phase)
        loss, theta = self._loss_and_theta()
        spread = everywhere(loss)
        record = self._record(phase.name)
        names = term_names(self.problem)
        clock = time.monotonic()
        self.monitor.phase(phase.name, "compiling")
        state = self.state if isinstance(self.state, State) else everywhere(phase.start(spread, theta))
        count, done = 1, sum(r.iterations for r in self.records[:-1])
        rounds = getattr(phase, "resample", 0)
        points = self.points
        while int(state.status) == Status.RUNNING:
            began = time.monotonic()
            if rounds:
                # By the step's number and never by the clock: the same points wherever the run was interrupted.
                if int(state.iteration) and int(state.iteration) % rounds == 0:
                    points = self._adaptive_points(loss, state)
                    loss = loss.at(points)
                    spread = everywhere(loss)
                    state = everywhere(phase.refresh(spread, state))
                count = min(count, rounds - int(state.iteration) % rounds)
            state, trace = phase.advance(spread, state, count)
            rows = np.asarray(trace.terms)[: int(trace.length)]
            now = time.monotonic()
            start = int(state.iteration) - len(rows) + done
            record.seconds, clock = record.seconds + now - clock, now
            record.iterations, record.evaluations = int(state.iteration), int(state.evaluations)
            # Together, with nothing between them: an interruption must not save the rows without the state.
            self.history.append(np.column_stack([np.arange(start + 1, start + len(rows) + 1), rows]))
            self.state, self.points = state, points
            if len(rows):
                total, *terms = rows[-1].tolist()
                self.monitor.losses(
                    int(state.iteration), phase.iterations, total, dict(zip(names, terms, strict=True))
                )
                self.monitor.gradient(float(state.gradient_norm))
                self.monitor.network(partial(loss.field, here(state.theta)))
            # The first call compiles; from then on aim at CHUNK_SECONDS between looks.
            speed = (now - began) / max(len(rows), 1)
            count = agreed(int(min(CAPACITY, max(1, CHUNK_SECONDS / max(speed, 1e-9)), 8 * count)))
            self.save()
        state = here(state)
        status = Status(int(state.status))
        diverged = self._risen(record, state) or status in (Status.NON_FINITE, Status.DIVERGED)
        stalled = status in (Status.NO_STEP, Status.DECREASE, Status.GRADIENT, Status.PLATEAU)
        record.outcome = "diverged" if diverged else "stalled" if stalled else "finished"
        record.stop_reason = sentence(Status.DIVERGED if diverged and status == Status.FINISHED else status)
        self.theta = state.best_theta if diverged else state.theta
        self.weights = getattr(state, "weights", self.weights)
        self._candidate(loss.field(state.best_theta))

    def _risen(self, record: PhaseRecord, state: State) -> bool:
        """Whether Adam, which alone lets the loss rise, ends ten times above the loss with which the run began.

        Not above its own first one: after L-BFGS that is tiny, and Adam's blind first steps leave it at once.
        """
        if not isinstance(state, AdamState) or not jnp.isfinite(state.first_total):
            return False
        record.first_loss = float(state.first_total)
        first = next(r.first_loss for r in self.records if r.first_loss is not None)
        return float(state.judged) > 10 * first

    def _stage(self, phase: Stage) -> None:
        """A network on top of the one at hand; whoever resumes finds it built, and no theta yet."""
        key = jax.random.fold_in(jax.random.key(self.plan.seed), self.index)
        network = phase.network(self.problem, *self._loss_and_theta(), self.plan.network, key)
        self.base, self.theta, self._loss = network, None, None

    def _loss_and_theta(self) -> tuple[PhysicsLoss, Any]:
        if self._loss is None:
            plan, dtype = self.plan, jnp.dtype(self.plan.precision)
            network = self.base
            if network is None:
                network = build(self.problem, plan.network, key=jax.random.key(plan.seed), dtype=dtype)
            points = sample(self.problem, plan.interior, plan.condition, plan.sampler, plan.seed)
            weights = plan.residual_weight, plan.condition_weight
            self._loss = physics_loss(self.problem, network, points, *weights, weighting(plan.network))
        loss, theta = self._loss
        loss = loss if self.points is None else loss.at(self.points)
        return loss.weighted(self.weights), theta if self.theta is None else self.theta

    def _adaptive_points(self, loss: PhysicsLoss, state: State) -> Any:
        seed = self.plan.seed, self.index, int(state.iteration)
        points = adaptive_points(self.problem, loss, here(state.theta), self.plan.interior, seed)
        return jnp.asarray(points, state.theta.dtype)

    def _candidate(self, network: Any) -> None:
        measured = held_out(self.problem, network)
        residual = measured.worst
        # An optimiser's own phases follow one another; a linear form competes with them by its residual.
        if self.best is None or not self._competes() or measured.better(held_out(self.problem, self.best)):
            self.best, self.residual, self.winner = network, residual, len(self.records) - 1
        if self.records:
            self.records[-1].residual = residual if np.isfinite(residual) else None

    def _competes(self) -> bool:
        return any(isinstance(phase, DIRECT) for phase in self.plan.phases)

    def _keep_current(self) -> None:
        """After an interruption: the state at hand, if there is nothing better."""
        if isinstance(self.state, Direct) and self.state.network is not None:
            self._candidate(self.state.network)
        elif isinstance(self.state, State) and self._loss is not None:
            self._candidate(self._loss[0].field(self.state.best_theta))
        elif self.best is None:
            self._candidate(self._loss_and_theta()[0].field(self._loss_and_theta()[1]))

    # ---- saving and going on

    def save(self, force: bool = False) -> None:
        if self.folder is None or (not force and time.monotonic() - self.saved < SAVE_EVERY):
            return
        if jax.process_index():
            return  # the first of several processes writes for all
        arrays: dict[str, Any] = {}
        facts: dict[str, Any] = {"index": self.index, "winner": self.winner, "exhausted": self.exhausted}
        facts["records"] = [asdict(record) for record in self.records]
        facts["residual"] = self.residual if np.isfinite(self.residual) else None
        if self.history:
            self.history = [np.concatenate(self.history)]
            arrays["history"] = self.history[0]
        if self.theta is not None:
            arrays["theta"] = self.theta
        if self.points is not None:
            arrays["points"] = self.points
        arrays |= {f"weights.{k}": v for k, v in leaves(self.weights).items()}
        for name, network in (("best", self.best), ("base", self.base)):
            if network is not None:
                facts[name] = network_spec(network, self.plan.network, self.plan.precision)
                arrays |= {f"{name}.{k}": v for k, v in leaves(network).items()}
        if isinstance(self.state, Direct):
            state = asdict(self.state) | {"network": None}
            state["residual"] = self.state.residual if np.isfinite(self.state.residual) else None
            facts["direct"] = state
            if self.state.network is not None:
                facts["network"] = self.state.network.spec()
                arrays |= {f"state.{k}": v for k, v in leaves(self.state.network).items()}
        elif self.state is not None:
            facts["optimiser"] = True
            arrays |= {f"state.{k}": v for k, v in leaves(self.state).items()}
        write_atomically(self.folder / "checkpoint.npz", pack(arrays, facts))
        self.saved = time.monotonic()

    def restore(self) -> None:
        """Take up the run where its folder's checkpoint left it (from the start if it has none yet)."""
        assert self.folder is not None
        path = self.folder / "checkpoint.npz"
        if not path.exists():
            return
        arrays, facts = unpack(path)

        def group(prefix: str) -> dict[str, np.ndarray]:
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        self.index, self.winner, self.exhausted = facts["index"], facts["winner"], facts["exhausted"]
        self.records = [PhaseRecord(**record) for record in facts["records"]]
        self.residual = float("inf") if facts["residual"] is None else facts["residual"]
        self.history = [arrays["history"]] if "history" in arrays else []
        self.theta, self.points = (
            jnp.asarray(arrays[name]) if name in arrays else None for name in ("theta", "points")
        )
        self.best, self.base = (
            fill(skeleton(self.problem, facts[name]), group(f"{name}.")) if name in facts else None
            for name in ("best", "base")
        )
        if group("weights."):
            loss, _ = self._loss_and_theta()
            self.weights = fill(loss.weighting.start(loss), group("weights."))
        if "direct" in facts:
            state = facts["direct"]
            state["residual"] = float("inf") if state["residual"] is None else state["residual"]
            if "network" in facts:
                state["network"] = fill(skeleton(self.problem, facts["network"]), group("state."))
            self.state = Direct(**state)
        elif "optimiser" in facts:
            loss, theta = self._loss_and_theta()
            phase: Any = self._phase()
            self.state = everywhere(fill(phase.start(loss, theta), group("state.")))


def train(
    problem: Problem,
    plan: Plan,
    monitor: Monitor | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> Trained:
    """Carry out `plan`; with a `folder`, saving there; with `resume`, going on from what is saved there."""
    run = Run(problem, plan, monitor or Monitor(), folder)
    if resume:
        run.restore()
    return run.carry_out()
