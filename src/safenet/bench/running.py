"""suite → store: claim cases, hand them out, store their rows, until nothing is missing or the time is up."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..errors import SafeNetError, nearest
from ..run.result import Outcome
from ..train.plan import SCOUT
from .case import Case
from .catalogue import Suite
from .catalogue import suite as read_suite
from .projection import Paces
from .store import FAILED, FullDiskError, NoWorkerError, Row, Store, failure, of_a_full_disk

BEAT = 10.0  # seconds between two renewals of the leases
MOST_TOGETHER = 8  # runs of several configurations in one task; with more, all of them would only end later
ENGINES = ("local", "dask")


class Engine(Protocol):
    """Runs tasks, `slots` at a time; `together`: the seeds of a configuration are one task."""

    together: bool

    @property
    def slots(self) -> int: ...

    def submit(self, task: dict[str, Any]) -> Future[list[dict[str, Any]]]: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Summary:
    """Counts of cases: in all, `done` (with `failed` and `diverged` among them), and rows written by this call (`new`).

    Divergence is a result; a failed case has none and may be tried again.
    """

    cases: int
    done: int
    failed: int
    diverged: int
    new: int

    @property
    def complete(self) -> bool:
        return self.done == self.cases


class Stopped(KeyboardInterrupt):
    """Ctrl-C, with the summary at that time."""

    def __init__(self, summary: Summary) -> None:
        super().__init__()
        self.summary = summary


@dataclass(frozen=True)
class Event:
    """A task began, or ended after `seconds` with rows; `left` estimates the seconds for all missing cases."""

    cases: list[Case]
    rows: list[Row]
    done: int
    total: int
    seconds: float | None = None
    left: float | None = None

    @property
    def ended(self) -> bool:
        return self.seconds is not None


Progress = Callable[[Event], None]


def run(
    suite: str | Path | Suite,
    out: str | Path,
    *,
    scale: str = "full",
    only: str = "",
    engine: str | Engine = "local",
    workers: int | None = None,
    address: str | None = None,
    resources: dict[str, float] | None = None,
    minutes: float | None = None,
    retry: bool = False,
    progress: Progress | None = None,
) -> Summary:
    """Run the cases of a suite that the store at `out` lacks; after `minutes`, stop and leave the rest resumable.

    `retry` tries failed cases once more. `only` selects cases by words of their label. Ctrl-C, a kill or the limit
    lose nothing: finished cases are stored, and the next call continues the running ones from their checkpoints.
    """
    deadline = time.monotonic() + (60 * minutes if minutes is not None else float("inf"))
    chosen = suite if isinstance(suite, Suite) else read_suite(suite)
    cases = {case.id: case for case in chosen.cases(scale, only)}
    folder = Path(out)
    with Store(folder) as store:
        loop = _Loop(store, cases, folder / "runs", retry, progress or _silent)
        try:
            if loop.missing():
                working = (
                    start(engine, folder, workers, address, resources) if isinstance(engine, str) else engine
                )
                try:
                    loop.drive(working, deadline)
                finally:
                    working.close()
                    # A lease that cannot be released expires by itself.
                    with contextlib.suppress(SafeNetError):
                        store.release()
        except KeyboardInterrupt:
            raise Stopped(loop.summary()) from None
        except OSError as error:
            if of_a_full_disk(error):
                raise FullDiskError.at(folder) from None
            raise
        return loop.summary()


def start(
    name: str, folder: Path, workers: int | None, address: str | None, resources: dict[str, float] | None
) -> Engine:
    if name == "local":
        from .local import Local

        return Local(folder, workers)
    if name == "dask":
        from .cluster import Cluster

        return Cluster(address, resources)
    raise SafeNetError(f"there is no engine {name!r}", nearest(name, ENGINES))


def _joined(groups: Mapping[str, list[str]], programs: Mapping[str, str]) -> list[list[str]]:
    """Groups with the same program are joined: it is compiled once, and more runs at a time fill a GPU."""
    found: list[list[str]] = []
    last: dict[str, list[str]] = {}
    for name, ids in groups.items():
        program = programs.get(name, name)
        if program in last and len(last[program]) + len(ids) <= MOST_TOGETHER:
            last[program] += ids
        else:
            last[program] = [*ids]
            found.append(last[program])
    return found


def _read(answer: Sequence[dict[str, Any]]) -> tuple[dict[str, Row], Exception]:
    """id → row, and why the others are no rows."""
    rows: dict[str, Row] = {}
    obstacle = "is missing"
    for data in answer:
        try:
            rows[data["id"]] = Row.from_json(data)
        except Exception as error:
            obstacle = f"cannot be stored: {getattr(error, 'message', repr(error))}"
    return rows, SafeNetError(f"the worker's row {obstacle}")


def _silent(event: Event) -> None:
    pass


class _Loop:
    """Scheduler loop; sole writer to the store."""

    def __init__(
        self, store: Store, cases: dict[str, Case], runs: Path, retry: bool, progress: Progress
    ) -> None:
        self.store, self.cases, self.runs, self.retry, self.progress = store, cases, runs, retry, progress
        self.paces = Paces(store.rows())
        self.outcomes = store.outcomes()
        self.tried: set[str] = set()
        self.new = 0

    def look(self) -> None:
        """Read what others have finished."""
        self.outcomes = self.store.outcomes()

    def missing(self) -> list[str]:
        """Cases without a result; with `retry`, also failed ones that this call has not tried yet."""
        again = FAILED if self.retry else None
        told = self.outcomes
        return [id for id in self.cases if id not in told or (told[id] == again and id not in self.tried)]

    def summary(self) -> Summary:
        self.look()
        outcomes = [outcome for id, outcome in self.outcomes.items() if id in self.cases]
        failed, diverged = outcomes.count(FAILED), outcomes.count(Outcome.DIVERGED)
        return Summary(len(self.cases), len(outcomes), failed, diverged, self.new)

    def drive(self, engine: Engine, deadline: float) -> None:
        pending: dict[Future[list[dict[str, Any]]], tuple[dict[str, int], float]] = {}
        beat = time.monotonic()
        while time.monotonic() < deadline:
            self.look()
            while len(pending) < engine.slots and (claimed := self._claim(engine.together)):
                pending[engine.submit(self._task(claimed, engine.together))] = claimed, time.monotonic()
                self._tell(claimed)
            if not pending and not self.missing():
                return
            left = max(0.0, deadline - time.monotonic())
            if not pending:  # another process runs the missing cases, and may die: look again
                time.sleep(min(1.0, left))
            ended, _ = wait(pending, timeout=min(BEAT, left), return_when=FIRST_COMPLETED)
            for future in ended:
                claimed, began = pending.pop(future)
                rows = self._rows(future, claimed)
                self.new += self.store.add(rows)
                self.outcomes |= {row.id: row.outcome for row in rows}
                for row in rows:
                    self.paces.add(row)
                self._tell(claimed, rows, time.monotonic() - began, engine.slots)
            if time.monotonic() - beat > BEAT:
                self.store.renew()
                beat = time.monotonic()

    def _claim(self, together: bool) -> dict[str, int]:
        groups: dict[str, list[str]] = {}
        programs: dict[str, str] = {}  # of each group that others can join
        missing = dict.fromkeys(self.missing())
        for id in missing:
            case = self.cases[id]
            if case.reference in missing:
                continue  # it is scored by that solve
            if together and case.plan.batches:
                groups.setdefault(case.group, []).append(id)
                programs[case.group] = case.program
            # Other seeds wait for the one that tries the variants: they use its choice.
            elif case.plan.scouts or case.seeded(SCOUT).id not in missing:
                groups[id] = [id]
        claimed = self.store.claim(_joined(groups, programs), self.retry)
        self.tried |= claimed.keys()
        return claimed

    def _task(self, claimed: dict[str, int], together: bool) -> dict[str, Any]:
        entries = [
            {"id": id, "attempt": attempt, "configuration": self.cases[id].configuration}
            for id, attempt in claimed.items()
        ]
        return {"folder": str(self.runs.absolute()), "together": together, "cases": entries}

    def _rows(self, future: Future[list[dict[str, Any]]], claimed: dict[str, int]) -> list[Row]:
        """The rows of the answer; a case without a valid one gets a failed row with the reason."""
        rows: dict[str, Row] = {}
        obstacle: Exception
        try:
            rows, obstacle = _read(future.result())
        except NoWorkerError:
            raise
        except CancelledError:
            raise NoWorkerError(
                "the Dask cluster cancelled the tasks", "check its scheduler, then run the command again"
            ) from None
        except Exception as error:
            if of_a_full_disk(error):
                raise
            obstacle = error
        return [
            rows[id]
            if id in rows
            else Row(id=id, attempt=attempt, environment={}, **self.cases[id].facts, **failure(obstacle))
            for id, attempt in claimed.items()
        ]

    def _tell(
        self, claimed: dict[str, int], rows: Sequence[Row] = (), seconds: float | None = None, slots: int = 1
    ) -> None:
        missing = self.missing()
        left = None if seconds is None else self.paces.left([self.cases[id] for id in missing])
        cases, total = [self.cases[id] for id in claimed], len(self.cases)
        left = None if left is None else left / slots
        self.progress(Event(cases, list(rows), total - len(missing), total, seconds, left))
