"""Worker processes on this machine: each takes a task, answers with rows, and may die without affecting the others.

A worker whose main process is gone exits at once, whatever it is doing; the run folder has the checkpoint. Ctrl-C, a
time limit and a power cut therefore all stop a run in the same way.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ..backend import cores
from ..errors import SafeNetError
from .store import FullDiskError, NoWorkerError

MEMORY = 2.5e9  # bytes that a worker may need: XLA's compiler and a Jacobian


class WorkerDeathError(SafeNetError):
    """The process ended without an answer."""


class Worker:
    """A process that answers a line of JSON with a line of JSON."""

    def __init__(self, threads: int, log: Path, extra: dict[str, str]) -> None:
        self.log = log
        # The first two are XLA's and JAX's; the others are those of NumPy's and SciPy's libraries.
        limits = dict.fromkeys(
            ("NPROC", "JAX_NUM_CPU_DEVICES", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
            threads,
        )
        variables = os.environ | {name: str(count) for name, count in limits.items()}
        source = str(Path(__file__).parents[2])
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
        variables |= extra
        with log.open("ab") as words:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "safenet.bench.worker"],
                env=variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                start_new_session=True,  # only the main process receives Ctrl-C
            )

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            code = self.process.wait()
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            raise WorkerDeathError(f"the process ended {how}; its output is in {self.log}")
        return json.loads(line)

    def ask(self, task: dict[str, Any]) -> Any:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass  # the process is dead: `read` raises
        return self.read()

    def kill(self) -> None:
        """End the process, whatever it is doing; a waiting `read` then raises."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # unsent data for a dead process
                if pipe is not None:
                    pipe.close()


class Local:
    """An engine of `workers` processes; by default one for each GPU, or one for each core as memory permits."""

    def __init__(self, folder: Path, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise SafeNetError(f"{workers} workers are too few", "give at least 1")
        self.logs = folder / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self._lock, self._all, self._closed = threading.Lock(), set[Worker](), False
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._idle: dict[int, Worker] = {}
        self.threads = cores()
        self._gpus: list[str] = []  # one for each worker, if there are several
        # The first worker reports the devices; the main process itself never initialises a GPU.
        first, hello = self._start(0)
        self.together = hello["platform"] != "cpu"
        most = hello["devices"] if self.together else max(1, min(cores(), int(memory() // MEMORY)))
        self.slots = workers if workers is not None else most
        self.threads = max(1, cores() // self.slots)
        if self.slots == 1:
            self._idle[0] = first
        else:
            self._stop(first)  # it was started with all threads and GPUs
            if self.together:
                named = os.environ.get("CUDA_VISIBLE_DEVICES")
                gpus = named.split(",") if named else [str(i) for i in range(hello["devices"])]
                self._gpus = [gpus[i % len(gpus)] for i in range(self.slots)]
        for number in range(self.slots):
            self._free.put(number)
        self._pool = ThreadPoolExecutor(self.slots)

    def submit(self, task: dict[str, Any]) -> Future[list[dict[str, Any]]]:
        return self._pool.submit(self._answer, task)

    def _answer(self, task: dict[str, Any]) -> list[dict[str, Any]]:
        number = self._free.get()
        try:
            worker = self._idle.pop(number, None) or self._start(number)[0]
            try:
                answer = worker.ask(task)
            except WorkerDeathError:
                self._stop(worker)
                raise
            self._idle[number] = worker
            if isinstance(answer, dict):
                raise FullDiskError(**answer)
            return list(answer)
        finally:
            self._free.put(number)

    def _start(self, number: int) -> tuple[Worker, dict[str, Any]]:
        with self._lock:
            if self._closed:
                raise WorkerDeathError("the engine is closed")
            extra = {"CUDA_VISIBLE_DEVICES": self._gpus[number]} if self._gpus else {}
            worker = Worker(self.threads, self.logs / f"worker-{number}.log", extra)
            self._all.add(worker)
        try:
            return worker, worker.read()
        except WorkerDeathError as death:
            self._stop(worker)
            raise NoWorkerError(f"no worker could be started: {death}", "see that file") from None

    def _stop(self, worker: Worker) -> None:
        worker.close()
        with self._lock:
            self._all.discard(worker)

    def close(self) -> None:
        """End all processes, whatever they are doing."""
        with self._lock:
            self._closed, workers = True, list(self._all)
        for worker in workers:
            worker.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for worker in workers:
            worker.close()


def memory() -> float:
    """Bytes of memory available on this machine; ∞ if unknown."""
    try:
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
        available = next(line for line in lines if line.startswith("MemAvailable"))
        return 1024.0 * int(available.split()[1])
    except (OSError, StopIteration, ValueError):
        return float("inf")
