"""id → result: an append-only SQLite file, with leases so that several processes can share the work.

A row is written once and never changed (triggers refuse it); a failed case may be tried again, which adds a row. A
lease says who works on a case, and until when: its owner renews it, and a killed process's lease expires, or ends at
once if that process was on this machine. After a power cut, a transaction is complete or absent.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import shutil
import socket
import sqlite3
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ..errors import SafeNetError, SafeNetWarning, printable
from ..run.result import Outcome
from .checked import checked, history_of, legible
from .history import unpacked

FILE = "store.db"
LEASE = 90.0  # seconds until the case of a silent process is free again
FAILED = "failed"  # the outcome of a case that gave no solution: an error, or a process that died
SCHEMA = """
CREATE TABLE IF NOT EXISTS results (
  id TEXT NOT NULL, attempt INTEGER NOT NULL,
  problem TEXT, solver TEXT, method TEXT, recipe TEXT, seed INTEGER, variant TEXT,
  outcome TEXT, l2re REAL, errors TEXT, residual REAL, seconds REAL,
  iterations INTEGER, evaluations INTEGER, parameters INTEGER, precision TEXT, device TEXT, stop_reason TEXT,
  finished REAL, configuration TEXT, environment TEXT, result TEXT, history BLOB,
  PRIMARY KEY (id, attempt)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS leases (id TEXT PRIMARY KEY, owner TEXT, expires REAL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS unchanged BEFORE UPDATE ON results BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER IF NOT EXISTS kept BEFORE DELETE ON results BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""


class FullDiskError(SafeNetError):
    """The disk is full, which is not a case's fault: nothing can continue until there is space."""

    @classmethod
    def at(cls, place: str | Path, obstacle: str = os.strerror(errno.ENOSPC)) -> FullDiskError:
        return cls(f"cannot write {place}: {obstacle}", "free space there; the same command continues")


def of_a_full_disk(error: BaseException | None) -> bool:
    """Whether the error, or one that led to it, means a full disk."""
    if isinstance(error, FullDiskError):
        return True
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return error is not None and of_a_full_disk(error.__context__)


class NoWorkerError(SafeNetError):
    """No worker can take a task, which is not a case's fault either."""


@dataclass(frozen=True)
class Row:
    """The result of one case. `l2re` is pooled over the fields, `errors` has each; None without a reference.

    `method` and `recipe` are for networks; a direct `solver` has none. `outcome` is an `Outcome` of a run, or FAILED;
    how each phase ended is in `result["phases"]`. `result` is result.json plus further measurements; `history` holds
    loss and error by iteration (see `curves`).
    """

    id: str
    problem: str
    method: str | None
    recipe: str | None
    seed: int
    variant: dict[str, Any]
    outcome: str
    stop_reason: str
    configuration: dict[str, Any]
    environment: dict[str, Any]
    finished: float = field(default_factory=time.time)
    attempt: int = 1
    solver: str = "train"
    l2re: float | None = None
    errors: dict[str, float | None] = field(default_factory=dict)
    residual: float | None = None
    seconds: float | None = None
    iterations: int | None = None
    evaluations: int | None = None
    parameters: int | None = None
    precision: str | None = None
    device: str | None = None
    result: dict[str, Any] = field(default_factory=dict)
    history: bytes | None = None

    def to_json(self) -> dict[str, Any]:
        history = None if self.history is None else base64.b64encode(self.history).decode()
        return {name: getattr(self, name) for name in COLUMNS} | {"history": history}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Row:
        """The row that `to_json` wrote; anything else is refused with a reason."""
        values = data | {"history": history_of(data.get("history"))}
        return _checked_row(values)

    @property
    def curves(self) -> dict[str, np.ndarray]:
        """`loss`: iteration, total, terms…; `error`: iteration, L2RE; `gradient`: iteration, norm. May be empty.

        Where a spectrum was asked for, also `density`: log₁₀|λ|, ρ of the positive, ρ of the negative eigenvalues.
        """
        return unpacked(self.history)


def failure(error: Exception) -> dict[str, Any]:
    """The columns that say why a case has no result."""
    reason = error.message if isinstance(error, SafeNetError) else f"{type(error).__name__}: {error}"
    return {"outcome": FAILED, "stop_reason": legible(reason)}


COLUMNS = tuple(item.name for item in fields(Row))
JSON = ("variant", "errors", "configuration", "environment", "result")


class Store:
    """The results in a folder. Any number of processes may open it, each using it in one thread."""

    def __init__(self, place: str | Path, create: bool = True) -> None:
        """`place` is a folder, or the file itself."""
        self.path = _file(place)
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        try:
            if create:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            elif not self.path.is_file():
                raise SafeNetError(
                    f"there is no store in {place}", "`safenet bench SUITE --out DIR` makes one"
                )
            self._database = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            self._database.row_factory = sqlite3.Row
            # A write-ahead log: reading while another process writes, and nothing lost by a kill.
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            with self._transaction():
                for statement in SCHEMA.split(";\n"):
                    if statement.strip():
                        self._database.execute(statement)
                self._add_solver()
        except (OSError, sqlite3.Error) as obstacle:
            raise self._refusal("open", obstacle) from None

    def _add_solver(self) -> None:
        """Stores made before there were direct solvers have networks only."""
        columns = {row["name"] for row in self._database.execute("PRAGMA table_info(results)")}
        if "solver" not in columns:
            self._database.execute("ALTER TABLE results ADD COLUMN solver TEXT DEFAULT 'train'")

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; no other process can write meanwhile."""
        try:
            self._database.execute("BEGIN IMMEDIATE")
            yield
            self._database.execute("COMMIT")
        except BaseException as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            if not isinstance(error, sqlite3.OperationalError):
                raise
            raise self._refusal("write", error) from None

    def _refusal(self, verb: str, obstacle: Exception) -> SafeNetError:
        # SQLite reports a full disk by either of the first two, depending on which of its files needs space.
        if any(word in str(obstacle) for word in ("is full", "disk I/O", "No space")):
            return FullDiskError.at(self.path, str(obstacle))
        return SafeNetError(f"cannot {verb} the store {self.path}: {obstacle}", "choose another --out")

    # ---- results

    def rows(self, ids: Iterable[str] | None = None) -> list[Row]:
        """The last row of every case, or of those in `ids`, in that order."""
        last = "SELECT * FROM results r WHERE attempt = (SELECT max(attempt) FROM results WHERE id = r.id)"
        found = {row.id: row for row in _readable(self._database.execute(f"{last} ORDER BY finished"))}
        return list(found.values()) if ids is None else [found[id] for id in ids if id in found]

    def every(self) -> Iterator[Row]:
        """All rows, including earlier attempts."""
        return _readable(self._database.execute("SELECT * FROM results ORDER BY finished, id, attempt"))

    def outcomes(self) -> dict[str, str]:
        """id → outcome of the last attempt."""
        listing = "SELECT id, outcome FROM results ORDER BY attempt"
        return {row["id"]: row["outcome"] for row in self._database.execute(listing)}

    def add(self, rows: Sequence[Row]) -> int:
        """Write rows and end their leases; existing rows stay unchanged. Returns how many were new."""
        with self._transaction():
            before = self._database.total_changes
            marks = ", ".join("?" * len(COLUMNS))
            self._database.executemany(
                f"INSERT OR IGNORE INTO results ({', '.join(COLUMNS)}) VALUES ({marks})", map(_values, rows)
            )
            new = self._database.total_changes - before
            self._database.executemany("DELETE FROM leases WHERE id = ?", [(row.id,) for row in rows])
        return new

    def merge(self, rows: Iterable[Row]) -> int:
        """Add rows that are missing here, or that failed here but not there. Returns how many were new."""
        outcomes = self.outcomes()
        news: list[Row] = []
        for row in rows:
            here = outcomes.get(row.id)
            if here is None or (here == FAILED and row.outcome != FAILED):
                news.append(replace(row, attempt=self.attempts(row.id) + 1))
                outcomes[row.id] = row.outcome
        return self.add(news)

    def attempts(self, id: str) -> int:
        return int(self._database.execute("SELECT count(*) FROM results WHERE id = ?", (id,)).fetchone()[0])

    # ---- leases

    def claim(self, groups: Iterable[Sequence[str]], retry: bool = False) -> dict[str, int]:
        """Lease the free cases, neither done nor leased, of the first group that has any: {id: number of the attempt}.

        The number is fixed now: if another process finishes the same attempt first, the second row is ignored.
        """
        with self._transaction():
            self._end_dead_leases()
            taken = {row["id"] for row in self._database.execute("SELECT id FROM leases")}
            for group in groups:
                free = [id for id in group if id not in taken and not self._done(id, retry)]
                if free:
                    until = time.time() + LEASE
                    self._database.executemany(
                        "INSERT INTO leases VALUES (?, ?, ?)", [(id, self.owner, until) for id in free]
                    )
                    return {id: self.attempts(id) + 1 for id in free}
        return {}

    def _done(self, id: str, retry: bool) -> bool:
        last = "SELECT outcome FROM results WHERE id = ? ORDER BY attempt DESC LIMIT 1"
        found = self._database.execute(last, (id,)).fetchone()
        return found is not None and not (retry and found["outcome"] == FAILED)

    def renew(self) -> None:
        """Extend our leases."""
        with self._transaction():
            until = time.time() + LEASE
            self._database.execute("UPDATE leases SET expires = ? WHERE owner = ?", (until, self.owner))

    def release(self) -> None:
        """End our leases on unfinished cases."""
        with self._transaction():
            self._database.execute("DELETE FROM leases WHERE owner = ?", (self.owner,))

    def _end_dead_leases(self) -> None:
        self._database.execute("DELETE FROM leases WHERE expires < ?", (time.time(),))
        for row in self._database.execute("SELECT DISTINCT owner FROM leases").fetchall():
            if _dead(row["owner"]):
                self._database.execute("DELETE FROM leases WHERE owner = ?", (row["owner"],))


def rows_in(place: str | Path) -> list[Row]:
    """The rows of the store in a folder, none where there is no store."""
    if not (Path(place) / FILE).is_file():
        return []
    with Store(place) as store:
        return store.rows()


def rows_of(place: str | Path) -> list[Row]:
    """All rows of someone else's store, read from a copy: its file, log and folder stay unchanged to the byte."""
    path = _file(place)
    if not path.is_file():
        raise SafeNetError(f"there is no store in {place}", "`safenet bench SUITE --out DIR` makes one")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / FILE
        try:
            for ending in ("", "-wal"):  # the latest rows may still be in the log
                if (beside := path.with_name(path.name + ending)).is_file():
                    shutil.copyfile(beside, f"{copy}{ending}")
            database = sqlite3.connect(f"file:{copy}?mode=rw", uri=True)
            database.row_factory = sqlite3.Row
            database.execute("PRAGMA trusted_schema = OFF")
            table = database.execute("SELECT type FROM sqlite_master WHERE name = 'results'").fetchone()
            if table is None or table["type"] != "table":
                raise SafeNetError(f"{path} has no table of results", "give a store of `safenet bench`")
            rows = list(_readable(database.execute("SELECT * FROM results ORDER BY finished, id, attempt")))
            database.close()
        except (OSError, sqlite3.Error) as obstacle:
            raise SafeNetError(f"cannot read the store {path}: {obstacle}", "check the file") from None
    return rows


def _file(place: str | Path) -> Path:
    path = Path(place)
    return path if path.suffix == ".db" else path / FILE


def _readable(found: Iterable[sqlite3.Row]) -> Iterator[Row]:
    """The valid rows; invalid ones are left out with a warning."""
    for row in found:
        try:
            yield _row(row)
        except (SafeNetError, ValueError, TypeError, RecursionError, IndexError) as error:
            left_out(str(row["id"] if "id" in row.keys() else "?"), error)  # noqa: SIM118


def left_out(which: str, error: Exception) -> None:
    """Warn that a row was not read, and why."""
    reason = printable(getattr(error, "message", "") or f"{type(error).__name__}: {error}"[:200])
    warnings.warn(f"the row {printable(which[:80])} was left out: {reason}", SafeNetWarning, stacklevel=3)


def _dead(owner: str) -> bool:
    """Whether the owner was a process of this machine and has ended; the lease of any other has to expire."""
    host, pid, _ = owner.rsplit(":", 2)
    if host != socket.gethostname():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _row(found: sqlite3.Row) -> Row:
    values = {name: found[name] for name in COLUMNS if name in found.keys()}  # noqa: SIM118
    values |= {name: json.loads(values[name]) for name in JSON}
    return _checked_row(values)


def _checked_row(values: dict[str, Any]) -> Row:
    checked(values)
    row = Row(**values)
    # Before `unverified` existed, a small residual without an error estimate was called solved.
    unverified = row.outcome == Outcome.SOLVED and row.result.get("estimate", 0.0) is None
    return replace(row, outcome=str(Outcome.UNVERIFIED)) if unverified else row


def _values(row: Row) -> tuple[Any, ...]:
    return tuple(json.dumps(getattr(row, name)) if name in JSON else getattr(row, name) for name in COLUMNS)
