"""The loop that carries out a direct plan pass by pass, reports progress and saves checkpoints.

The result is the field with the smallest held-out residual. However the loop ends (finished, out of budget or Ctrl-C),
it returns the best field so far; a run with a folder can be resumed and ends with the same bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..fields.field import values
from ..fields.saved import field_skeleton
from ..fields.unknown import Unknown
from ..measure.heldout import HeldOut, held_out, interior_points
from ..measure.relative import relative
from ..measure.thresholds import POINTS
from ..problem import Problem
from ..run.budget import Budget
from ..run.checkpoint import SAVE_EVERY, fill, leaves, pack, write_checkpoint
from ..run.device import process_index
from ..run.folder import CHECKPOINT, take_up
from ..run.progress import Monitor
from ..run.result import Carried, Ending, PhaseRecord, finite_or_none
from .plan import DirectPlan
from .solver import Pass
from .state import Direct
from .thresholds import DIGIT, INTERRUPTED_POINTS, LEVEL_POINTS


def carry_out(
    problem: Problem,
    plan: DirectPlan,
    monitor: Monitor | None = None,
    folder: Path | None = None,
    budget: Budget | None = None,
    resume: bool = False,
) -> Carried:
    """Carry out `plan`; with a `folder`, save checkpoints there; with `resume`, continue from the last one."""
    passes = Passes(problem, plan, monitor or Monitor(), folder, budget or Budget())
    if resume:
        passes.restore()
    return passes.carry_out()


class Passes:
    """A plan in progress: its position, its best field and its checkpoints."""

    def __init__(
        self, problem: Problem, plan: DirectPlan, monitor: Monitor, folder: Path | None, budget: Budget
    ) -> None:
        self.problem, self.plan, self.monitor = problem, plan, monitor
        self.folder, self.budget = folder, budget
        self.index = 0
        self.state: Direct | None = None
        self.records: list[PhaseRecord] = []
        self.best: Any = None
        self.measured: HeldOut | None = None  # of the best
        self.residual = math.inf
        self.winner = -1
        self.exhausted = False  # a finer march would gain nothing
        self.reached = -math.inf  # the time at which the last march was given up
        self.stopped = False
        self.coarser: Any = None  # the field of the previous level, in a pass with levels
        self.saved = time.monotonic()

    # ---- the loop

    def carry_out(self) -> Carried:
        interrupted = False
        try:
            while self.index < len(self.plan.passes) and not (self._over() or self.stopped):
                each = self.plan.passes[self.index]
                if self._wanted(each):
                    self._run(each)
                if not self.stopped:
                    self.index, self.state, self.coarser = self.index + 1, None, None
        except KeyboardInterrupt:
            interrupted = True
        # Save before the current state becomes a candidate: being stopped must not change a resumed run.
        self.save(force=True)
        if (interrupted or self.stopped) and self.state is not None and self.state.field is not None:
            # After Ctrl-C, measure on a few points only, to return quickly.
            self._candidate(self.state.field, points=INTERRUPTED_POINTS if interrupted else POINTS)
        field = Unknown(len(self.problem.unknowns)) if self.best is None else self.best
        apart = None
        if self.stopped and self.coarser is not None and self.state is not None and field is self.state.field:
            points = interior_points(self.problem, LEVEL_POINTS)
            own = values(field, points)
            apart = relative(own - values(self.coarser, points), own)
        return Carried(
            field,
            self.residual,
            self.records,
            interrupted,
            self.stopped,
            winner=self.winner,
            measured=self.measured,
            apart=apart,
        )

    def _over(self) -> bool:
        return bool(self.records) and self.records[-1].final

    def _wanted(self, each: Pass) -> bool:
        """Whether a pass is needed: a later one runs only if the earlier ones left something to do."""
        if self.state is not None:
            return True
        if each.marches and self.exhausted:
            return False
        return self.best is None or self.residual > each.only_above

    def _ahead(self) -> list[float]:
        """The costs of the current pass and of those that may follow; empty if one is not known in advance."""
        costs: list[float] = []
        residual = math.inf
        for each in self.plan.passes[self.index :]:
            if residual > each.only_above:
                foreseen = getattr(each, "foreseen", None)  # only marches have it
                if foreseen is None:
                    return []
                cost, residual = foreseen
                costs.append(cost)
        return costs

    def _record(self, name: str) -> PhaseRecord:
        """The record of the current pass: a new one, or the saved one of a resumed pass."""
        if not self.records or self.records[-1].phase != self.index:
            self.records.append(PhaseRecord(name, phase=self.index))
        return self.records[-1]

    def _run(self, each: Pass) -> None:
        state, record, clock = self.state, self._record(each.name), time.monotonic()
        self.budget.found = self.budget.found or self.best is not None
        left: Iterable[Direct] = ()
        self.monitor.expect(self._ahead(), sure=False)
        if state is None or not state.done:
            left = each.run(self.problem, self.monitor, self.budget, state)
        for state in left:
            now = time.monotonic()
            record.seconds, clock = record.seconds + now - clock, now
            record.iterations, record.evaluations = state.iterations, state.evaluations
            record.stop_reason = state.reason
            self.stopped = state.stopped
            if not each.marches and self.state is not None and self.state.field is not state.field:
                self.coarser = self.state.field
            self.state = replace(state, stopped=False)
            if state.field is not None and not state.stopped:
                self.budget.found = True
                self.monitor.network(partial(getattr, state, "field"))
            if not state.done:
                self.save()
        assert state is not None
        if not self.stopped:
            self._finish(each, record, state)

    def _finish(self, each: Pass, record: PhaseRecord, state: Direct) -> None:
        if state.given_up:
            self._given_up(record, state)
        else:
            record.final = state.final
        # If a march a hundred times finer gains less than a digit, the next would gain nothing.
        idle = state.given_up or state.residual > DIGIT * self.residual
        self.exhausted = each.marches and idle and not state.suspect
        if state.field is not None and (not state.given_up or self.best is None):
            self._candidate(state.field, state.final and getattr(state.field, "error", None) is not None)

    def _given_up(self, record: PhaseRecord, state: Direct) -> None:
        record.outcome, record.final, record.suspect = Ending.GIVEN_UP, state.final, state.suspect
        reached = float(state.cursor.get("t", -math.inf))
        before = self.records[-2] if len(self.records) > 1 else None
        if before is not None and before.suspect and not record.final:
            # No other pass will get past this point. If the finer march got further, its own reason counts.
            record.final = True
            record.stop_reason = state.reason if reached > self.reached else before.stop_reason
        self.reached = reached

    def _candidate(self, field: Any, certain: bool = False, points: int = POINTS) -> None:
        """Keep the field if its held-out residual is the best, or if it is `certain`: its solver knows its error."""
        self.monitor.phase("checking on unseen points")
        measured = held_out(self.problem, field, points)
        if self.best is not None and self.measured is None:  # after a resume
            self.measured = held_out(self.problem, self.best)
        if self.measured is None or certain or measured.better(self.measured):
            self.best, self.measured, self.residual = field, measured, measured.worst
            self.winner = len(self.records) - 1
        self.records[-1].residual = finite_or_none(measured.worst)

    # ---- saving and going on

    def save(self, force: bool = False) -> None:
        if self.folder is None or (not force and time.monotonic() - self.saved < SAVE_EVERY):
            return
        if process_index():
            return  # the first process writes for all
        arrays: dict[str, Any] = {}
        facts: dict[str, Any] = {
            "index": self.index,
            "winner": self.winner,
            "exhausted": self.exhausted,
            "reached": finite_or_none(self.reached),
            "records": [asdict(record) for record in self.records],
            "residual": finite_or_none(self.residual),
        }
        held = {"best": self.best, "state": None if self.state is None else self.state.field}
        for name, field in held.items():
            if field is not None:
                facts[name] = field.spec()
                arrays |= {f"{name}.{k}": v for k, v in leaves(field).items()}
        if self.state is not None:
            facts["direct"] = asdict(replace(self.state, field=None)) | {
                "residual": finite_or_none(self.state.residual)
            }
        write_checkpoint(self.folder / CHECKPOINT, pack(arrays, facts))
        self.saved = time.monotonic()

    def restore(self) -> None:
        """Continue from the checkpoint in the run's folder, or from the start if there is none yet."""
        assert self.folder is not None
        take_up(self.folder, len(self.plan.passes), self._restore)

    def _restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        def held(name: str) -> Any:
            if name not in facts:
                return None
            own = {k.removeprefix(f"{name}."): v for k, v in arrays.items() if k.startswith(f"{name}.")}
            return fill(field_skeleton(self.problem, facts[name]), own)

        self.index, self.winner, self.exhausted = facts["index"], facts["winner"], facts["exhausted"]
        self.reached = -math.inf if facts["reached"] is None else facts["reached"]
        self.records = [PhaseRecord(**record) for record in facts["records"]]
        self.residual = math.inf if facts["residual"] is None else facts["residual"]
        self.best = held("best")
        if "direct" in facts:
            residual = facts["direct"]["residual"]
            state = {**facts["direct"], "residual": math.inf if residual is None else residual}
            self.state = Direct(**state | {"field": held("state")})
