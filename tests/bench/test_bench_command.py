"""`safenet bench` and `safenet store` as their users meet them."""

import csv
import json
import os
from unittest import mock

import pytest
from test_engines import DECAY, SUITE

from safenet import bench
from test_cli import run

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
    assert ran.json == {"cases": 1, "done": 1, "failed": 0, "new": 1}
    assert "decay · pinn · paper-4" in ran.err
    return folder


def test_a_second_call_finds_nothing_to_do(desk):
    ran = run("bench", "mine.toml", "--out", "out", cwd=desk)
    assert (ran.code, ran.err) == (0, "")
    assert "1 of 1 cases are in out, 0 of them failed" in ran.out


def test_suites_and_cases_are_named(desk):
    listing = run("bench", "--list", cwd=desk).out
    assert all(name in listing for name in bench.names())
    lines = run("bench", "mine.toml", "--dry-run", "--scale", "smoke", cwd=desk).out.splitlines()
    assert len(lines) == 2  # a cell, and the sum
    assert lines[0].endswith("· 2 seeds")
    assert lines[1] == "2 cases in 1 cells, 0 done; left: no time known yet"
    assert run("list", "--json", cwd=desk).json["suites"] == list(bench.names())


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
        (("bench", "nowhere.toml"), "cannot read"),
        (("bench", "mine.toml", "--scale", "tiny"), "there is no scale 'tiny'"),
        (("bench", "mine.toml", "--only", "waves"), "no case of mine has 'waves'"),
        (("bench", "smoke", "--engine", "dask", "--out", "new"), "has no address"),
        (("bench", "smoke", "--engine", "dask", "--address", "a", "--resource", "GPU"), "NAME=NUMBER"),
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
