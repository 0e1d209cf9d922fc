"""What a suite makes of its workers' answers: rows, failed rows, or an end that loses nothing."""

import errno
from concurrent.futures import Future

import pytest
from test_engines import SUITE, cache, place  # noqa: F401

import safenet
from safenet.bench import work as working
from safenet.bench.local import WorkerDeathError
from safenet.bench.running import run
from safenet.bench.store import FAILED, FullDiskError, Store
from safenet.bench.work import Job

TOLD = {"stop_reason": "", "environment": {}}


class Inline:
    """An engine without processes; of the first task it may say that a worker died at it."""

    together, slots = False, 1

    def __init__(self, dies=False):
        self.dies = dies

    def submit(self, request):
        future = Future()
        if self.dies:
            self.dies = False
            future.set_exception(WorkerDeathError("the process ended by signal 9"))
        else:
            future.set_result(working.work(request))
        return future

    def close(self):
        pass


def test_a_case_at_which_a_worker_dies_is_a_failed_row_and_retry_tries_again(place):
    engine = Inline(dies=True)
    summary = run(place / "mine.toml", place / "out", scale="smoke", engine=engine)
    assert (summary.done, summary.failed, summary.new) == (2, 1, 2)
    with Store(place / "out") as store:
        fallen = next(row for row in store.rows() if row.outcome == FAILED)
        assert "signal 9" in fallen.stop_reason
    assert run(place / "mine.toml", place / "out", scale="smoke", engine=engine).new == 0
    summary = run(place / "mine.toml", place / "out", scale="smoke", engine=engine, retry=True)
    assert (summary.failed, summary.new) == (0, 1)
    with Store(place / "out") as store:
        assert [row.attempt for row in store.every() if row.id == fallen.id] == [1, 2]


HOSTILE = "x\ty \x1b[31m" + "long " * 30_000


def test_a_case_whose_error_has_tabs_escapes_and_great_length_is_a_row_and_the_others_go_on(
    place, monkeypatch
):
    def broken(job):
        raise RuntimeError(HOSTILE)

    monkeypatch.setattr(working, "_solved", broken)
    summary = run(place / "mine.toml", place / "out", scale="smoke", engine=Inline())
    assert (summary.done, summary.failed, summary.new) == (2, 2, 2)
    with Store(place / "out") as store:
        for row in store.rows():
            assert row.stop_reason.startswith(r"RuntimeError: x\ty \x1b[31mlong")
            assert "broken" in row.result["traceback"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (RuntimeError(HOSTILE), r"RuntimeError: x\ty"),
        (safenet.SafeNetError("an error\tof a worker elsewhere"), r"an error\tof a worker elsewhere"),
        ([], "the worker's row is missing"),
        ([3], "the worker's row cannot be stored"),
        ([{"stop_reason": "x\ty"}], "the worker's row cannot be stored: stop_reason is not a text"),
    ],
)
def test_an_answer_that_is_no_row_is_a_failed_row_that_can_be_read(place, answer, reason):
    class Odd(Inline):
        def submit(self, request):
            future = Future()
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                rows = [Job(entry, place).row(outcome="solved", **TOLD) for entry in request["cases"]]
                odd = [data if data == 3 else rows[0].to_json() | data for data in answer]
                future.set_result(odd)
            return future

    summary = run(place / "mine.toml", place / "out", scale="smoke", engine=Odd())
    assert (summary.done, summary.failed) == (2, 2)
    with Store(place / "out") as store:
        assert all(row.stop_reason.startswith(reason) for row in store.rows())
        assert len(store.rows()) == 2


def test_only_what_another_process_may_have_changed_is_read_again(place, monkeypatch):
    """The outcomes are read once a pass, however many cases are handed out in it."""
    (place / "mine.toml").write_text(SUITE.replace("seeds = 2", "seeds = 20"))
    read, outcomes = [], Store.outcomes

    class Wide(Inline):
        slots = 20

        def submit(self, request):
            future = Future()
            rows = [Job(entry, place).row(outcome="solved", **TOLD) for entry in request["cases"]]
            future.set_result([row.to_json() for row in rows])
            return future

    monkeypatch.setattr(Store, "outcomes", lambda self: [read.append(1), outcomes(self)][1])
    assert run(place / "mine.toml", place / "out", scale="smoke", engine=Wide()).new == 20
    assert len(read) <= 5


@pytest.mark.parametrize("together", [False, True])
def test_a_full_disk_is_no_failure_of_a_case_and_costs_nothing(place, monkeypatch, together):
    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    heard, engine = [], Inline()
    engine.together = together
    monkeypatch.setattr("safenet.bench.watch.Watch.losses", lambda self, i, *rest: heard.append(i))
    with monkeypatch.context() as context:
        context.setattr("safenet.solution.write_atomically", full)  # at the end, when the checkpoint is there
        for last in (100, None):  # what was trained is not trained again
            heard.clear()
            with pytest.raises(FullDiskError, match=r"runs: No space left on device\n.*free space"):
                run(place / "mine.toml", place / "out", scale="smoke", engine=engine)
            assert max(heard, default=None) == last
    summary = run(place / "mine.toml", place / "out", scale="smoke", engine=engine)
    assert (summary.done, summary.failed, summary.new) == (2, 0, 2)
