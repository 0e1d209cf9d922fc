"""Run work(task) for many tasks, in several processes of one thread each, until a deadline."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_NUM_CPU_DEVICES": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
TASKS = 20  # tasks per process, since JAX keeps compiled programs in memory


def finished(
    work: Callable[[Any], Any], tasks: Sequence[Any], workers: int, until: float, lasting: int = TASKS
) -> Iterator[Any]:
    """Yields the results of work(task) as they finish, in any order.

    `work` must be a function of a module. A task that has not ended at time.monotonic() = `until` is killed and yields
    nothing; so does one whose process dies.
    """
    one_thread()
    # Spawned, not forked: JAX has threads.
    with multiprocessing.get_context("spawn").Pool(min(workers, len(tasks)) or 1, None, (), lasting) as pool:
        ended = pool.imap_unordered(work, tasks)
        for _ in tasks:
            try:
                yield ended.next(timeout=max(until - time.monotonic(), 0.0))
            except multiprocessing.TimeoutError:
                return


def one_thread() -> None:
    """Processes that are started after this have one thread, unless the environment says otherwise."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)


def code() -> str:
    """Ten hash digits of the package's sources: rows with the same digits are from the same state of the code."""
    root = Path(__file__).parents[1] / "src"
    read = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in {".py", ".toml"}:
            read.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return read.hexdigest()[:10]
