"""`safenet bench` and `safenet store` as their users meet them."""

import csv
import errno
import json
import os
from unittest import mock

import pytest
from test_engines import DECAY, SUITE

from running import run
from safenet import bench
from safenet.bench import __main__ as module
from safenet.bench import running, session
from safenet.bench.progress import Lines

FILE = SUITE.replace("seeds = 6", "seeds = 1").replace("0.05", "1e-3")


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with a suite that was run by the command, once."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "decay.toml").write_text(DECAY)
    (folder / "mine.toml").write_text(FILE)
    with mock.patch.object(os, "sched_getaffinity", return_value={0}, create=True):  # one core is enough
        ran = run("bench", "mine.toml", "--out", "out", "--workers", "1", "--json", cwd=folder)
    assert ran.code == 0, ran.err
    assert ran.json == {"cases": 1, "done": 1, "failed": 0, "diverged": 0, "new": 1}
    assert "decay · pinn · paper-4" in ran.err
    return folder


def test_a_second_call_finds_nothing_to_do(desk):
    ran = run("bench", "mine.toml", "--out", "out", cwd=desk)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "1 of 1 cases are done in out\n"


def test_suites_and_cases_are_named(desk):
    listing = run("bench", "--list", cwd=desk).out
    assert all(name in listing for name in bench.names())
    lines = run("bench", "mine.toml", "--dry-run", "--smoke", cwd=desk).out.splitlines()
    assert len(lines) == 2  # a cell, and the sum
    assert lines[0].endswith("· 2 seeds")
    assert lines[1] == "2 cases in 1 cells, 0 done; left: no time known yet"
    assert run("list", "--json", cwd=desk).json["suites"] == list(bench.names())


def test_the_plan_is_listed_as_json(desk):
    told = run("bench", "mine.toml", "--out", "out", "--dry-run", "--json", cwd=desk).json
    assert (told["cases"], told["done"], told["failed"]) == (1, 1, 0)
    assert told["cells"][0]["cell"].startswith("decay · pinn · paper-4")


def test_rows_are_taken_over_before_and_written_down_after(desk):
    words = ("bench", "mine.toml", "--out", "third", "--merge", "out", "--export", "third.csv")
    ran = run(*words, cwd=desk)
    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == [
        "1 rows from out",
        "1 rows in third.csv",
        "1 of 1 cases are done in third",
    ]
    assert (desk / "third.csv").read_text().startswith("id,")


def test_failures_are_an_exit_status_and_name_the_remedy(desk):
    (case,) = bench.suite(desk / "mine.toml").cases()
    with bench.Store(desk / "sad") as store:
        told = {"outcome": "failed", "stop_reason": "made up", "environment": {}}
        store.add([bench.Row(id=case.id, **case.facts, **told)])
    ran = run("bench", "mine.toml", "--out", "sad", cwd=desk)
    assert ran.code == 1
    assert "1 of 1 cases are done in sad: 1 failed (--retry runs it again)\n" in ran.out
    assert " failed  decay" in run("bench", "mine.toml", "--out", "sad", "--dry-run", cwd=desk).out


def test_what_diverged_is_counted_and_no_failure(desk):
    (case,) = bench.suite(desk / "mine.toml").cases()
    with bench.Store(desk / "steep") as store:
        told = {"outcome": "diverged", "stop_reason": "made up", "environment": {}}
        store.add([bench.Row(id=case.id, **case.facts, **told)])
    ran = run("bench", "mine.toml", "--out", "steep", "--retry", cwd=desk)
    assert ran.code == 0
    assert "1 of 1 cases are done in steep: 1 diverged\n" in ran.out


def stop(*_):
    raise KeyboardInterrupt


def test_ctrl_c_says_how_far_it_came_and_how_to_go_on(desk, monkeypatch, capsys):
    monkeypatch.setattr(running._Loop, "drive", stop)
    monkeypatch.setattr(running, "start", lambda *_: mock.Mock())
    (desk / "two.toml").write_text(FILE.replace("seeds = 1", "seeds = 2", 1))
    for words in (["--merge", "out"], ["--json"]):
        ran = run("bench", "two.toml", "--out", "halves", *words, cwd=desk)
        assert (ran.code, ran.err) == (
            *(130, "stopped: 1 of 2 cases are done in halves; rerun the command to continue\n"),
        )
    monkeypatch.chdir(desk)
    assert module.main(["two.toml", "--out", "halves"]) == 130
    assert capsys.readouterr().err == ran.err
    monkeypatch.setattr(bench.Suite, "cases", stop)  # before anything is known
    assert run("bench", "two.toml", cwd=desk).err == "stopped; rerun the command to continue\n"


def test_a_full_disk_is_a_sentence(desk, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(running, "start", full)
    ran = run("bench", "mine.toml", "--out", "full", cwd=desk)
    assert (ran.code, ran.err) == (
        2,
        "safenet: cannot write full: No space left on device\n  → free space there; the same command continues\n",
    )


def test_results_go_out_as_a_table_and_on_as_text(desk):
    assert run("store", "export", "out", "-o", "t.csv", cwd=desk).code == 0
    with (desk / "t.csv").open(newline="") as stream:
        (line,) = csv.DictReader(stream)
    (row,) = bench.Store(desk / "out").rows()
    assert float(line["l2re"]) == row.l2re
    assert run("store", "export", "out", "-o", "all.jsonl", "--no-history", cwd=desk).code == 0
    assert run("store", "merge", "other", "all.jsonl", "out", cwd=desk).out.splitlines() == [
        "1 rows from all.jsonl",
        "0 rows from out",
    ]
    assert json.loads((desk / "all.jsonl").read_text())["id"] == row.id


def test_merging_what_does_not_exist_makes_no_store(tmp_path):
    ran = run("store", "merge", "all", "nowhere.jsonl", cwd=tmp_path)
    assert (ran.code, "there is no nowhere.jsonl" in ran.err) == (2, True)
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize("words", [("bench",), ("store", "export"), ("store", "merge"), ("report",)])
def test_help_has_lines_to_copy(words, desk):
    lines = run(*words, "--help", cwd=desk).out.splitlines()
    assert any(line.startswith(f"  safenet {' '.join(words)} ") for line in lines)


def test_a_run_of_the_store_is_a_run_folder(desk):
    (row,) = bench.Store(desk / "out").rows()
    ran = run("eval", f"out/runs/{row.id}", "--at", "t=0.5", "--json", cwd=desk)
    assert ran.code == 0
    assert isinstance(ran.json["u"], float)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bench",), "no suite was given"),
        (("bench", "paper-mian"), "did you mean 'paper-main'"),
        (("bench", "nowhere.toml"), "nowhere.toml does not exist"),
        (("bench", "mine.toml", "--only", "waves"), "no case of mine has 'waves'"),
        (("bench", "smoke", "--engine", "dask", "--out", "new"), "--engine dask needs the address"),
        (("bench", "smoke", "--engine", "dask", "--address", "a", "--resource", "GPU"), "NAME=NUMBER"),
        (("bench", "mine.toml", "--only", "waves", "--dry-run"), "no case of mine has 'waves'"),
        (("bench", "mine.toml", "--export", "t.txt"), "cannot export"),
        (("report", "out", "-o", "page.txt"), "page.txt does not end in .html"),
        (("store", "export", "nowhere", "-o", "t.csv"), "there is no store in nowhere"),
        (("store", "export", "out", "-o", "t.txt"), "cannot export"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_what_is_wrong_is_said_in_a_sentence(words, message, desk):
    ran = run(*words, cwd=desk)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_scheduler_that_does_not_answer_is_waited_for_aloud(desk, monkeypatch, capsys):
    monkeypatch.setattr(session, "run", lambda *_, **__: running.Summary(1, 1, 0, 0, 0))
    monkeypatch.chdir(desk)
    session.session("mine.toml", desk / "new", Lines, engine="dask", address="tcp://10.0.0.1:1")
    assert "connecting to tcp://10.0.0.1:1, for 30s at most" in capsys.readouterr().err
