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
from safenet import bench
from safenet.bench import work as working
from safenet.bench.local import Local
from safenet.bench.running import run
from safenet.bench.store import FAILED, Store

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
methods = ["safe-net-literal"]
recipes = ["paper-4"]
seeds = 6
options = { scale = 0.05, interior = 16, condition = 1, features = 4, width = 4 }
[smoke]
seeds = 2
options = { scale = 1e-3, interior = 16, condition = 1, features = 4, width = 4 }
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
    (tmp_path / "decay.toml").write_text(DECAY)
    (tmp_path / "mine.toml").write_text(SUITE)
    return tmp_path


def started(place, *words):
    """`python -m safenet.bench mine.toml` as a process of its own, with one worker."""
    command = [sys.executable, "-m", "safenet.bench", "mine.toml", "--out", "out", "--workers", "1", *words]
    return subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def trained(place):
    """How often each case was trained to its end, by the words of the workers."""
    logs = "".join(path.read_text() for path in (place / "out" / "logs").glob("*.log"))
    return Counter(re.findall(r"^trained (\w+)", logs, re.MULTILINE))


def check_all_once(place, count):
    with Store(place / "out", create=False) as store:
        rows = list(store.every())
        assert store.intact()
        assert len(rows) == len({row.id for row in rows}) == count
        assert {row.outcome for row in rows} == {"finished"}
        assert {row.iterations for row in rows} == {5000}
    # A kill may come before the word and after the deed; twice is never said.
    assert set(trained(place).values()) == {1}


def children(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pids, seconds=20):
    deadline = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_killed_at_random_moments_and_continued_nothing_is_lost_or_done_twice(kills, place):
    moments = random.Random(kills)
    if kills > 6:
        (place / "mine.toml").write_text(SUITE.replace("seeds = 6", "seeds = 20"))
    for kill in range(kills):
        master = started(place)
        before = sum(trained(place).values())
        # The first time in the middle of a case; then at any moment after the worker has done one.
        while not list(place.glob("out/runs/*/plan.json")) or (
            kill and sum(trained(place).values()) == before and master.poll() is None
        ):
            time.sleep(0.02)
        time.sleep(moments.uniform(0, 0.5))
        workers = children(master.pid) if master.poll() is None else []
        # By Ctrl-C as well: it loses nothing either, and says how to go on.
        master.send_signal(signal.SIGINT if kill % 2 else signal.SIGKILL)
        said = master.communicate()[0]
        assert gone(workers)  # a worker ends with its master
        if workers and kill % 2:
            assert (master.returncode, "goes on" in said) == (130, True)
    last = started(place)
    count = len(bench.suite(place / "mine.toml").cases())
    assert f"{count} of {count} cases done, 0 failed" in last.communicate(timeout=240)[0]
    check_all_once(place, count)


def test_two_processes_share_a_store_and_one_that_dies_leaves_its_case_to_the_other(place):
    first, second = started(place), started(place)
    while not trained(place):
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert "6 of 6 cases done" in second.communicate(timeout=120)[0]
    check_all_once(place, 6)


@pytest.mark.slow
def test_a_time_limit_stops_and_the_next_call_goes_on_from_the_checkpoint(place):
    (place / "mine.toml").write_text(SUITE.replace("seeds = 6", "seeds = 1").replace("0.05", "10"))

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

    assert further(further(0)) < 1_000_000
    with Store(place / "out") as store:
        (folder,) = place.glob("out/runs/*")
        assert store.claim([[folder.name]])  # the lease was given back
    assert "starts again" not in (place / "out" / "logs" / "worker-0.log").read_text()


# ---- what came of a case


def task(place, *, together=False, **changes):
    cases = bench.suite(place / "mine.toml").cases("smoke")
    entries = [{"id": c.id, "attempt": 1, "configuration": c.configuration | changes} for c in cases]
    return {"folder": str(place / "runs"), "together": together, "cases": entries}


def test_a_row_says_what_the_run_says_and_where_it_ran(place):
    rows = [bench.Row.from_json(data) for data in working.work(task(place))]
    for row in rows:
        result = json.loads((place / "runs" / row.id / "result.json").read_text())
        assert (row.outcome, row.l2re, row.iterations) == ("finished", result["l2re"], 100)
        assert 0 < row.seconds <= result["seconds"]
        assert row.parameters == result["parameters"]
        assert row.environment["device"] == row.device == "cpu"
        assert row.environment["safenet"] == safenet.__version__
        assert row.curves["loss"][[0, -1], 0].tolist() == [1, 100]
        assert safenet.load(place / "runs" / row.id)(t=0.5).shape == ()  # the network is kept
        assert not (place / "runs" / row.id / "checkpoint.npz").exists()
    assert rows[0].l2re != rows[1].l2re


def test_the_error_along_the_way_ends_where_the_run_ends(place, monkeypatch):
    monkeypatch.setattr("safenet.bench.watch.SHARE", 1e9)
    row = bench.Row.from_json(working.work(task(place))[0])
    iterations, errors = row.curves["error"].T
    assert iterations[-1] == 100
    assert len(iterations) > 2
    assert errors[-1] == pytest.approx(row.l2re, rel=0.2)  # the row's is that of the best θ
    assert row.result["pace"]["adam"] > 0


def test_seeds_together_are_the_seeds_alone_and_go_on_from_their_checkpoints(place, monkeypatch):
    """Stopped after a few chunks, as by a kill, and continued: what they are when nothing happens."""
    alone = working.work(task(place) | {"folder": str(place / "alone")})
    monkeypatch.setattr("safenet.training.batch.SAVE_EVERY", 0.0)
    monkeypatch.setattr("safenet.training.batch.CAPACITY", 16)
    heard = []

    def stop(self, iteration, *rest):
        heard.append(iteration)
        if iteration > 50:
            raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr("safenet.bench.watch.Watch.losses", stop)
        with pytest.raises(KeyboardInterrupt):
            working.work(task(place, together=True))
    assert len(list(place.glob("runs/*/checkpoint.npz"))) == 2
    heard.clear()
    monkeypatch.setattr("safenet.bench.watch.Watch.losses", lambda self, i, *rest: heard.append(i))
    for a, b in zip(working.work(task(place, together=True)), alone, strict=True):
        assert (a["id"], a["environment"]["together"]) == (b["id"], 2)
        for name in ("outcome", "iterations", "evaluations"):
            assert a[name] == b[name]
        assert a["l2re"] == pytest.approx(b["l2re"], rel=1e-3)
        curves = [bench.Row.from_json(data).curves["loss"] for data in (a, b)]
        np.testing.assert_array_equal(curves[0][:, 0], curves[1][:, 0])
        np.testing.assert_allclose(curves[0][:, 1], curves[1][:, 1], rtol=1e-3)
    assert min(heard) > 32  # they did not begin again


def test_a_run_that_had_ended_is_read_and_not_done_again(place, monkeypatch):
    first = working.work(task(place))
    monkeypatch.setattr(working, "carry_out", None)
    monkeypatch.setattr(working, "resume", None)
    again = working.work(task(place))
    assert [row["l2re"] for row in again] == [row["l2re"] for row in first]


def test_a_damaged_checkpoint_is_a_run_that_begins_again(place):
    folder = place / "runs" / task(place)["cases"][0]["id"]
    first = working.work(task(place))
    (folder / "result.json").unlink()
    (folder / "checkpoint.npz").write_bytes(b"PK\x03\x04 half a file")
    again = working.work(task(place))
    assert again[0]["l2re"] == first[0]["l2re"]


def test_a_case_that_fails_is_a_row_and_the_others_go_on(place):
    (place / "two.toml").write_text(
        DECAY.replace("-k*u", "-k*u**0.5")
    )  # √ of a negative number, sooner or later
    broken = task(place)
    broken["cases"][0]["configuration"] = broken["cases"][0]["configuration"] | {"problem": "name = 1"}
    with pytest.raises(safenet.SafeNetError):
        working.work(broken)  # no configuration of ours: nothing to name in a row
    wrong = task(place)
    plan = wrong["cases"][0]["configuration"]["plan"]
    wrong["cases"][0]["configuration"]["plan"] = plan | {"sampler": "unheard-of"}
    rows = working.work(wrong)
    assert [row["outcome"] for row in rows] == [FAILED, "finished"]
    assert "unheard-of" in rows[0]["stop_reason"] + rows[0]["result"]["traceback"]


def test_a_worker_that_dies_is_a_failed_row_and_retry_tries_again(place):
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
        with Store(place / "out") as store:
            fallen = next(row for row in store.rows() if row.outcome == FAILED)
            assert "signal 9" in fallen.stop_reason
        assert run(place / "mine.toml", place / "out", scale="smoke", engine=deadly).new == 0
        summary = run(place / "mine.toml", place / "out", scale="smoke", engine=deadly, retry=True)
        assert (summary.failed, summary.new) == (0, 1)
    finally:
        engine.close()
    with Store(place / "out") as store:
        assert [row.attempt for row in store.every() if row.id == fallen.id] == [1, 2]


def test_a_worker_that_cannot_start_is_an_error_and_no_row(place, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "no-such-platform")
    with pytest.raises(safenet.SafeNetError, match=r"worker-0\.log"):
        run(place / "mine.toml", place / "out", scale="smoke", workers=1)
    with Store(place / "out") as store:
        assert store.rows() == []
