"""A real cluster of processes: one worker is killed in the middle of a case, which is done once all the same."""

import os
import signal
import threading
import time

import pytest
from test_engines import SUITE, cache, place  # noqa: F401

import safenet
from safenet.bench.running import run
from safenet.bench.store import Store
from safenet.bench.work import Job

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")


@pytest.fixture
def cluster(place):
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options, resources={"GPU": 1}, silence_logs=50) as cluster:
        yield cluster


@pytest.mark.filterwarnings("ignore")
def test_seeds_are_one_task_where_a_worker_has_the_resource_and_several_where_none_is_asked_for(
    place,
    monkeypatch,
):
    handed = []

    def work(task):
        handed.append([entry["id"] for entry in task["cases"]])
        jobs = [Job(entry, place) for entry in task["cases"]]
        return [job.row(outcome="solved", stop_reason="", environment={}).to_json() for job in jobs]

    monkeypatch.setattr("safenet.bench.work.work", work)
    monkeypatch.setattr("safenet.backend.cache_compilations", lambda: None)
    threads = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    # Its profiler reads the frames of other threads, which crashes Python 3.11 now and then: here, the tests' process.
    quiet = dask.config.set({"distributed.worker.profile.enabled": False})
    with quiet, distributed.LocalCluster(**threads, resources={"GPU": 1}, silence_logs=50) as cluster:
        words = {"engine": "dask", "address": cluster.scheduler_address, "scale": "smoke"}
        assert run(place / "mine.toml", place / "out", **words, resources={"GPU": 1}).new == 2
        assert run(place / "mine.toml", place / "alone", **words).new == 2
    assert [len(task) for task in handed] == [2, 1, 1]


# Dask's own loops, when a worker is shot.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_case_whose_worker_is_killed_is_done_by_another_and_stored_once(place, cluster):
    (place / "mine.toml").write_text(SUITE.replace("seeds = 6", "seeds = 3"))
    killed = []

    def kill():
        """As soon as a case is under way: whoever is at it."""
        with distributed.Client(cluster.scheduler_address) as client:
            pids = client.run(os.getpid)
            while not list(place.glob("out/runs/*/plan.json")):
                time.sleep(0.02)
            busy = [address for address, keys in client.processing().items() if keys]
            killed.append(pids[busy[0]])
            os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    summary = run(place / "mine.toml", place / "out", engine="dask", address=cluster.scheduler_address)
    thread.join()
    assert killed
    assert (summary.cases, summary.done, summary.failed, summary.new) == (3, 3, 0, 3)
    with Store(place / "out") as store:
        assert store._database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        rows = list(store.every())
        assert len({row.id for row in rows}) == len(rows) == 3
        assert {row.iterations for row in rows} == {5000}
    # Nothing is left to do, and no cluster is needed to know it.
    assert run(place / "mine.toml", place / "out", engine="dask", address="tcp://127.0.0.1:1").new == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_seeds_of_one_task_are_one_program(place, cluster):
    words = {"engine": "dask", "address": cluster.scheduler_address, "scale": "smoke"}
    assert run(place / "mine.toml", place / "out", **words, resources={"GPU": 1}).new == 2
    with Store(place / "out") as store:
        assert [row.environment["together"] for row in store.rows()] == [2, 2]


def test_an_engine_without_a_scheduler_says_so(place):
    with pytest.raises(safenet.SafeNetError, match="--address"):
        run(place / "mine.toml", place / "out", engine="dask")
    with pytest.raises(safenet.SafeNetError, match="did you mean 'dask'"):
        run(place / "mine.toml", place / "out", engine="dusk")
