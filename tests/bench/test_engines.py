"""Killed at any moment, shared by two, one of them dying: every case has one row, and was trained once."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import safenet
from safenet.bench.local import Local, Worker, WorkerDeathError
from safenet.bench.running import run
from safenet.bench.store import FullDiskError, Store

CORES = os.sched_getaffinity(0)
SOURCE = str(Path(safenet.__file__).parents[1])
DECAY = """
name = "decay"
unknowns = ["u"]
equations = ["u_t = -k*u"]
conditions = ["u(0) = 1"]
exact = { u = "exp(-k*t)" }
domain = { t = [0, 1] }
parameters = { k = 3 }
"""
# Networks so small that they compile in a second, and train for a good part of one.
SUITE = """
problems = ["decay.toml"]
methods = ["pinn"]
recipes = ["paper-4"]
seeds = 6
options = { scale = 0.05, points = 16, condition_points = 1, width = 4, depth = 1 }
[smoke]
seeds = 2
options = { scale = 1e-3, points = 16, condition_points = 1, width = 4, depth = 1 }
"""


@pytest.fixture(scope="module")
def cache():
    """Compiled programs, for all tests of the module."""
    with tempfile.TemporaryDirectory(prefix="safenet-test-cache-") as folder:
        yield {"XDG_CACHE_HOME": folder, "PYTHONPATH": SOURCE, "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture
def place(tmp_path, cache, monkeypatch):
    for name, value in cache.items():
        monkeypatch.setenv(name, value)
    # One core for a worker, as where tests run side by side.
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0}, raising=False)
    (tmp_path / "decay.toml").write_text(DECAY)
    (tmp_path / "mine.toml").write_text(SUITE)
    return tmp_path


def started(place, *words):
    """`python -m safenet.bench mine.toml` as a process of its own, on one core, with one worker."""
    command = [sys.executable, "-m", "safenet.bench", "mine.toml", "--out", "out", "--workers", "1", *words]
    os.sched_setaffinity(0, {sorted(CORES)[os.getpid() % len(CORES)]})  # handed down, and taken back
    try:
        return subprocess.Popen(
            command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    finally:
        os.sched_setaffinity(0, CORES)


def trained(place):
    """How often each case was trained to its end, by the words of the workers."""
    logs = "".join(path.read_text() for path in (place / "out" / "logs").glob("*.log"))
    return Counter(re.findall(r"^trained (\w+)", logs, re.MULTILINE))


def check_all_once(place, count):
    with Store(place / "out", create=False) as store:
        rows = list(store.every())
        assert store._database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert len(rows) == len({row.id for row in rows}) == count
        assert {row.outcome for row in rows} == {"not solved"}
        assert {row.iterations for row in rows} == {5000}
    # A kill may come before the word and after the deed; twice is never said.
    assert set(trained(place).values()) <= {1}


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pids, seconds=20):
    deadline = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def kill_and_continue(place, kills, seeds, interrupts=0.0):
    """Kills at random moments: somewhere in its first seconds, or soon after it has done a case."""
    moments = random.Random(kills)
    (place / "mine.toml").write_text(SUITE.replace("seeds = 6", f"seeds = {seeds}"))
    for _ in range(kills):
        master, before = started(place), sum(trained(place).values())
        anywhere, politely = moments.random() < 0.5, moments.random() < interrupts
        while not anywhere and sum(trained(place).values()) == before and master.poll() is None:
            time.sleep(0.02)
        time.sleep(moments.uniform(0, 6 if anywhere else 0.5))
        workers = children(master.pid) if master.poll() is None else []
        # By Ctrl-C as well: it loses nothing either, and says how to go on.
        master.send_signal(signal.SIGINT if politely else signal.SIGKILL)
        said = master.communicate()[0]
        assert gone(workers)
        if workers and politely:
            assert (master.returncode, "rerun the command to continue" in said) == (130, True)
    said = started(place).communicate(timeout=600)[0]
    assert f"{seeds} of {seeds} cases are done in out\n" in said
    check_all_once(place, seeds)


@pytest.mark.slow
def test_killed_at_random_moments_and_continued_nothing_is_lost_or_done_twice(place):
    kill_and_continue(place, 12, 20, interrupts=0.3)


@pytest.mark.slow
def test_two_processes_share_a_store_and_one_that_dies_leaves_its_case_to_the_other(place):
    first, second = started(place), started(place)
    while not trained(place):
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert "6 of 6 cases are done in out" in second.communicate(timeout=120)[0]
    check_all_once(place, 6)


@pytest.mark.slow
def test_a_time_limit_stops_and_the_next_call_goes_on_from_the_checkpoint(place):
    (place / "mine.toml").write_text(SUITE.replace("seeds = 6", "seeds = 1").replace("0.05", "1000"))

    def further(before):
        """The iterations in the checkpoint, after calls with ever more time, until they are more than before."""
        for seconds in (8, 16, 32, 64):
            summary = run(place / "mine.toml", place / "out", workers=1, minutes=seconds / 60)
            assert (summary.done, summary.complete) == (0, False)
            for path in place.glob("out/runs/*/checkpoint.npz"):
                with np.load(path) as data:
                    records = json.loads(data["facts"].tobytes())["records"]
                if records[0]["iterations"] > before:
                    return records[0]["iterations"]
        raise AssertionError("two minutes were not enough")

    assert further(further(0)) < 100_000_000
    with Store(place / "out") as store:
        (folder,) = place.glob("out/runs/*")
        assert store.claim([[folder.name]])  # the lease was given back
    assert "starts again" not in (place / "out" / "logs" / "worker-0.log").read_text()


# ---- workers


def test_a_worker_that_is_killed_says_by_which_signal(tmp_path):
    worker = Worker(1, tmp_path / "log", {})
    worker.process.kill()
    with pytest.raises(WorkerDeathError, match="by signal 9"):
        worker.ask({})
    worker.close()


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced(place):
    engine = Local(place / "out", 1)

    class Deadly:
        """The first task's worker is killed in the middle of it."""

        together, slots, killed = False, 1, False

        def submit(self, request):
            if not self.killed:
                self.killed = True
                for worker in list(engine._all):
                    os.kill(worker.process.pid, signal.SIGKILL)
            return engine.submit(request)

        def close(self):
            pass

    try:
        deadly = Deadly()
        summary = run(place / "mine.toml", place / "out", scale="smoke", engine=deadly)
        assert (summary.done, summary.failed, summary.new) == (2, 1, 2)
    finally:
        engine.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no disk that is always full")
def test_a_worker_whose_disk_is_full_says_so_and_its_case_is_not_lost(place):
    log = place / "out" / "logs" / "worker-0.log"
    log.parent.mkdir(parents=True)
    log.symlink_to("/dev/full")
    with pytest.raises(FullDiskError, match="runs: No space left on device"):
        run(place / "mine.toml", place / "out", scale="smoke", workers=1)
    log.unlink()
    summary = run(place / "mine.toml", place / "out", scale="smoke", workers=1)
    assert (summary.done, summary.failed, summary.new) == (2, 0, 2)
    assert len(trained(place)) == 1  # the other was only read


def test_too_few_workers_are_refused_before_one_is_started(tmp_path, monkeypatch):
    monkeypatch.setattr(Local, "_start", None)
    with pytest.raises(safenet.SafeNetError, match="0 workers are too few"):
        Local(tmp_path, 0)


def test_a_worker_that_cannot_start_is_an_error_and_no_row(place, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "no-such-platform")
    with pytest.raises(safenet.SafeNetError, match=r"worker-0\.log"):
        run(place / "mine.toml", place / "out", scale="smoke", workers=1)
    with Store(place / "out") as store:
        assert store.rows() == []
