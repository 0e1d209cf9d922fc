"""The loop that carries out a training plan, phase after phase, with progress reports and checkpoints.

Each optimiser starts where the previous one ended. Whatever stops the loop — the end of the plan, the clock, Ctrl-C, a
callback, a non-finite loss — the best state so far is returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..fields.unknown import Unknown
from ..measure.heldout import HeldOut, held_out
from ..measure.points import FRESH, Points, sample
from ..networks.methods import build
from ..problem import Problem
from ..run.budget import Budget, SpentError, awaited
from ..run.checkpoint import SAVE_EVERY, fill, leaves, pack, write_checkpoint
from ..run.folder import CHECKPOINT, take_up
from ..run.found import Found
from ..run.progress import Monitor
from ..run.result import Carried, Ending, PhaseRecord
from .objective import PhysicsLoss, fresh_points, physics_loss
from .optimisers.status import CAPACITY, State, Status, sentence
from .phases import Phase
from .plan import Plan
from .resampling import adaptive_points, even_points
from .solver import Own, Progress
from .spread import agreed, everywhere, here
from .start import checked_network, started_from
from .terms import own_name, term_names
from .thresholds import CHUNK_SECONDS, RISEN
from .tolerance import Goal
from .weighting import Fixed, Weights, weighting

STALLED = (Status.NO_STEP, Status.DECREASE, Status.GRADIENT, Status.PLATEAU)
STOPPED_BY_CALLBACK = "The callback asked to stop."


class Run:
    """One plan being carried out: its position, its best network and its checkpoints."""

    def __init__(
        self,
        problem: Problem,
        plan: Plan,
        monitor: Monitor,
        folder: Path | None,
        own: Own | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.problem, self.plan, self.monitor, self.folder = problem, plan, monitor, folder
        self.own, self.budget = own or Own(), budget or Budget()
        self.names = (*term_names(problem), *(own_name(function) for _, function in self.own.terms))
        self.lambdas = (*plan.weighing.each(problem), *(weight for weight, _ in self.own.terms))
        self.index = 0
        self.state: State | None = None
        self.records: list[PhaseRecord] = []
        self.history: list[np.ndarray] = []
        self.best: Any = None
        self.residual = float("inf")
        self.found: dict[str, float] = {}  # unknown numbers, at the best parameters
        self.base: Any = None  # the network that theta belongs to, if a stage has replaced the plan's
        self.theta: Any = None
        self.weights: Weights = None  # as left by the last phase that adapts them
        self.points: Any = None  # of the equations, if a phase has drawn new ones
        self.asked_to_stop = False
        self.measured: HeldOut | None = None  # for the best network
        self.goal = Goal(plan.tol)
        self.saved = time.monotonic()
        self.compiling = 0.0  # seconds for the slowest first step, including its compilation
        self._loss: tuple[PhysicsLoss, Any] | None = None

    # ---- the loop

    def carry_out(self) -> Carried:
        interrupted = False
        try:
            while self.index < len(self.plan.phases) and not self.over():
                self.optimise(self.phase())
                if self.budget.spent:
                    break
                self.index, self.state = self.index + 1, None
            self.save(force=True)
        except KeyboardInterrupt:
            interrupted = True
            # Save before the current state becomes the best: a resumed run must not depend on the interruption.
            self.save(force=True)
        if interrupted or self.budget.spent or self.best is None:
            self._keep_current()
        history = np.concatenate(self.history) if self.history else np.empty((0, 2))
        return Carried(
            self.best,
            self.residual,
            self.records,
            interrupted,
            self.budget.spent,
            len(self.records) - 1,
            Found(self.found) if self.found else None,
            self.measured,
            estimate=self.goal.met,
            history=history,
        )

    def phase(self) -> Phase:
        """The current phase, with the iterations that the earlier ones have left for it."""
        phase = self.plan.phase(self.index, sum(r.iterations for r in self.records if r.phase < self.index))
        # The plan holds only the numbers of the user's own phases.
        given = self.own.phases[self.index] if self.index < len(self.own.phases) else phase
        return replace(given, iterations=phase.iterations)

    def ahead(self) -> list[int]:
        """The iterations of the current and of each later phase, from which a monitor estimates the time left."""
        done = sum(r.iterations for r in self.records if r.phase < self.index)
        found = [self.phase().iterations]
        for index in range(self.index + 1, len(self.plan.phases)):
            found.append(self.plan.phase(index, done + sum(found)).iterations)
        return found

    def over(self) -> bool:
        return self.asked_to_stop or (bool(self.records) and self.records[-1].outcome == Ending.DIVERGED)

    def record(self, name: str) -> PhaseRecord:
        """The record of the current phase: a new one, or the saved one of a resumed phase."""
        if not self.records or self.records[-1].phase != self.index:
            self.records.append(PhaseRecord(name, phase=self.index))
        return self.records[-1]

    def optimise(self, phase: Any) -> None:
        record = self.record(phase.name)
        self.monitor.phase(phase.name, "compiling, which may take a minute or more")
        self.monitor.expect(self.ahead())
        # Assume that compiling takes as long as the slowest so far, and do not begin what would not finish in time.
        if not self.budget.over(self.compiling):
            with suppress(SpentError):
                builds = getattr(phase, "network", None)  # a stage builds its own network
                if builds is not None and self.theta is not None and self.state is None:
                    self._stage(builds)
                awaited(self.budget, self.loss_and_theta)  # it may fit the network to a start
                self.start_resampling()
                self._steps(phase, record)
        if self.budget.spent:
            record.stop_reason = sentence(Status.RUNNING)

    def _steps(self, phase: Any, record: PhaseRecord) -> None:
        """Run a phase to its end. Compilation is awaited only while the budget lasts."""
        loss, theta = self.loss_and_theta()
        spread = everywhere(loss)
        clock, rounds = time.monotonic(), getattr(phase, "resample", 0)
        looks = 0 if self.plan.tol is None else phase.looks
        state = self.state
        if state is None:
            state = everywhere(awaited(self.budget, phase.start, spread, theta))
        count, done = 1, sum(r.iterations for r in self.records[:-1])
        points, first = self.points, True
        while int(state.status) == Status.RUNNING and not self._stop():
            # Decided by the step's number, never by the clock, so an interrupted run draws the same points.
            at = int(state.iteration)
            if looks and at and at % looks == 0 and self._reached(phase, loss, here(state.best_theta)):
                break
            if rounds and at and at % rounds == 0:
                self.monitor.phase(phase.name, f"step {at}: drawing new points{self._told()}")
                points, loss, state = awaited(self.budget, self.resampled, phase, loss, state)
                spread = everywhere(loss)
            count = min([count, *(each - at % each for each in (rounds, looks) if each)])
            began = time.monotonic()
            state, trace = awaited(self.budget, phase.advance, spread, state, count)
            rows = np.asarray(trace.terms)[: int(trace.length)]
            now = time.monotonic()
            start = int(state.iteration) - len(rows) + done
            record.seconds, clock = record.seconds + now - clock, now
            record.iterations, record.evaluations = int(state.iteration), int(state.evaluations)
            # Keep these two lines together: an interruption must not save the rows without the state.
            self.history.append(np.column_stack([np.arange(start + 1, start + len(rows) + 1), rows]))
            self.state, self.points = state, points
            self.budget.found = True
            if len(rows):
                self._tell(phase, loss, state, rows[-1].tolist())
            if first:
                self.compiling, first = max(self.compiling, now - began), False
            # The first call compiles; from then on aim at CHUNK_SECONDS between looks at the clock.
            speed = (now - began) / max(len(rows), 1)
            count = agreed(int(min(CAPACITY, max(1, CHUNK_SECONDS / max(speed, 1e-9)), 8 * count)))
            self.save()
        if not self.budget.spent:
            self._ended(record, here(state), loss)

    def _told(self) -> str:
        """The last loss, for a line about something else."""
        return f" · loss {self.history[-1][-1, 1]:.2e}" if self.history and len(self.history[-1]) else ""

    def _stop(self) -> bool:
        return self.asked_to_stop or self.budget.over()

    def _reached(self, phase: Any, loss: PhysicsLoss, theta: Any) -> bool:
        """Whether the requested tolerance is met, which ends the run."""
        problem = self.problem.found(loss.found(theta))
        met = self.goal.reached(problem, loss.field(theta), self.monitor, self.budget)
        self.monitor.phase(phase.name)
        self.monitor.expect(self.ahead())
        self.asked_to_stop = met  # last, so that a run interrupted before this checks again
        return met

    def parts(self, loss: PhysicsLoss, theta: Any, row: Sequence[float]) -> tuple[float, dict[str, float]]:
        """The loss and λ_k L_k by name, which add up to it: with the plan's λ, even where a weighting adapts them."""
        total, *terms = row
        found = {
            name: weight * term for name, weight, term in zip(self.names, self.lambdas, terms, strict=True)
        }
        if self.problem.curves:
            found["smoothness"] = float(loss.smoothness(theta))
        return total if isinstance(loss.weighting, Fixed) else sum(found.values()), found

    def _tell(self, phase: Any, loss: PhysicsLoss, state: State, row: list[float]) -> None:
        """Report to the monitor and to the user's callback, which may ask to stop."""
        theta = here(state.theta)
        total, terms = self.parts(loss, theta, row)
        network = partial(loss.field, theta)
        self.monitor.losses(int(state.iteration), phase.iterations, total, terms)
        self.monitor.gradient(float(state.gradient_norm))
        self.monitor.network(network)
        if self.own.callback is not None:
            told = Progress(phase.name, int(state.iteration), total, terms, network)
            self.asked_to_stop = bool(self.own.callback(told))

    def _ended(self, record: PhaseRecord, state: State, loss: PhysicsLoss) -> None:
        status = Status(int(state.status))
        diverged = self._risen(record, state) or status in (Status.NON_FINITE, Status.DIVERGED)
        record.outcome = (
            Ending.DIVERGED if diverged else Ending.STALLED if status in STALLED else Ending.FINISHED
        )
        record.stop_reason = sentence(Status.DIVERGED if diverged and status == Status.FINISHED else status)
        if self.asked_to_stop and status == Status.RUNNING:
            record.stop_reason = self.goal.sentence if self.goal.met else STOPPED_BY_CALLBACK
        self.theta = state.best_theta if diverged else state.theta
        self.weights = getattr(state, "weights", self.weights)
        self._keep(loss, state.best_theta)

    def _risen(self, record: PhaseRecord, state: State) -> bool:
        """Whether a first-order phase, the only kind that lets the loss rise, ended far above the run's first loss.

        Its own first loss is no measure: after L-BFGS that is tiny, and Adam's blind first steps exceed it at once.
        """
        began, judged = (getattr(state, name, jnp.nan) for name in ("first_total", "judged"))
        if not jnp.isfinite(began):
            return False
        record.first_loss = float(began)
        first = next(r.first_loss for r in self.records if r.first_loss is not None)
        return float(judged) > RISEN * first

    def _stage(self, builds: Callable[..., Any]) -> None:
        """Build a second network on top of the current one. On resume the network exists; theta is still unset."""
        key = jax.random.fold_in(jax.random.key(self.plan.seed), self.index)
        arguments = self.problem, *self.loss_and_theta(), self.plan.network, key
        network = awaited(self.budget, builds, *arguments)
        self.base, self.theta, self._loss = network, None, None

    def loss_and_theta(self) -> tuple[PhysicsLoss, Any]:
        if self._loss is None:
            plan = self.plan
            network = self._first_network() if self.base is None else self.base
            points = sample(self.problem, plan.interior, plan.condition, plan.sampler, plan.seed)
            if self.own.points is not None:
                points = Points(self.own.points, points.conditions)
            weighed = weighting(plan.network)
            loss, theta = physics_loss(self.problem, network, points, plan.weighing, weighed, self.own.terms)
            if plan.sampler == FRESH:
                loss = replace(loss, fresh=fresh_points(self.problem, plan.seed, theta.dtype))
            self._loss = loss, theta
        loss, theta = self._loss
        loss = loss if self.points is None else loss.at(self.points)
        return loss.weighted(self.weights), theta if self.theta is None else self.theta

    def _first_network(self) -> Any:
        """The plan's or the user's network, with its initial parameters."""
        plan, own, key = self.plan, self.own, jax.random.key(self.plan.seed)
        dtype = jnp.dtype(plan.precision)
        if plan.method != "own":
            network: Any = build(self.problem, plan.network, key=key, dtype=dtype)
        else:
            network = own.module if own.factory is None else own.factory(key)
            network = checked_network(self.problem, network, dtype)
        return network if own.start is None else started_from(own.start, network, self.problem, plan.seed)

    def start_resampling(self) -> None:
        """Give the points equal shares if a phase will redraw them, so that one program serves before and after."""
        ahead = self.plan.phases[self.index :]
        if self.points is None and any(getattr(phase, "resample", 0) for phase in ahead):
            self.points = even_points(self.loss_and_theta()[0])

    def resampled(self, phase: Any, loss: PhysicsLoss, state: State) -> tuple[Any, PhysicsLoss, State]:
        """New points drawn by the residuals at theta, the loss at these points, and the state refreshed for it."""
        seed = self.plan.seed, self.index, int(state.iteration)
        drawn = adaptive_points(self.problem, loss, here(state.theta), self.plan.interior, seed)
        points = jnp.asarray(drawn, state.theta.dtype)
        loss = loss.at(points)
        return points, loss, everywhere(phase.refresh(everywhere(loss), state))

    def _keep(self, loss: PhysicsLoss, theta: Any) -> None:
        self.best, self.found = loss.field(theta), loss.found(theta)
        self.measured = held_out(self.problem.found(self.found), self.best)
        self.residual = self.measured.worst
        if self.records:
            self.records[-1].residual = self.residual if np.isfinite(self.residual) else None

    def _keep_current(self) -> None:
        """After an interruption: the current state, or the initial network. `Unknown` if no step was made in time."""
        if self.state is not None and self._loss is not None:
            self._keep(self._loss[0], here(self.state).best_theta)
        elif self.budget.spent and self.best is None:
            self.best = Unknown(len(self.problem.unknowns))
        elif self.best is None:
            loss, theta = self.loss_and_theta()
            self._keep(loss, theta)

    # ---- saving and resuming

    def save(self, force: bool = False) -> None:
        if self.folder is None or (not force and time.monotonic() - self.saved < SAVE_EVERY):
            return
        if jax.process_index():
            return  # the first of several processes writes for all
        arrays: dict[str, Any] = {}
        facts: dict[str, Any] = {"index": self.index, "stop": self.asked_to_stop}
        facts["records"] = [asdict(record) for record in self.records]
        facts["found"], facts["wanted"] = self.found, self.goal.wanted
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
                facts[name] = self.plan.spec(network)
                arrays |= {f"{name}.{k}": v for k, v in leaves(network).items()}
        if self.state is not None:
            facts["optimiser"] = True
            arrays |= {f"state.{k}": v for k, v in leaves(self.state).items()}
        write_checkpoint(self.folder / CHECKPOINT, pack(arrays, facts))
        self.saved = time.monotonic()

    def restore(self) -> None:
        """Continue the run from its folder's checkpoint (from the start if there is none yet)."""
        assert self.folder is not None
        take_up(self.folder, len(self.plan.phases), self._restore)

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        def group(prefix: str) -> dict[str, np.ndarray]:
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        self.index, self.asked_to_stop = facts["index"], facts.get("stop", False)
        self.found, self.goal.wanted = facts.get("found", {}), facts.get("wanted", self.goal.wanted)
        self.records = [PhaseRecord(**record) for record in facts["records"]]
        self.residual = float("inf") if facts["residual"] is None else facts["residual"]
        self.history = [arrays["history"]] if "history" in arrays else []
        self.theta, self.points = (
            jnp.asarray(arrays[name]) if name in arrays else None for name in ("theta", "points")
        )
        make = self.own.factory or (None if self.own.module is None else lambda key: self.own.module)
        self.best, self.base = (
            fill(self.plan.skeleton(self.problem, facts[name], make), group(f"{name}."))
            if name in facts
            else None
            for name in ("best", "base")
        )
        if group("weights."):
            loss, _ = self.loss_and_theta()
            self.weights = fill(loss.weighting.start(loss), group("weights."))
        if "optimiser" in facts:
            loss, theta = self.loss_and_theta()
            phase: Any = self.phase()
            # Only the shapes of a start: its values would have to be compiled, and are replaced at once.
            shapes = eqx.filter_eval_shape(phase.start, loss, theta)
            abstract = jax.ShapeDtypeStruct
            zeros = jax.tree.map(
                lambda leaf: jnp.zeros(leaf.shape, leaf.dtype) if isinstance(leaf, abstract) else leaf, shapes
            )
            self.state = everywhere(fill(zeros, group("state.")))
        self.budget.found = self.best is not None or self.state is not None
