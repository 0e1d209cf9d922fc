"""Rows are written once, leases are held by one, and nothing is lost on the way through a file."""

import csv
import json
import os
import socket
import sqlite3
import time

import numpy as np
import pyarrow.parquet
import pytest

from safenet import SafeNetError, library
from safenet.bench import Row, Store, export, merge
from safenet.bench.case import Case, planned
from safenet.bench.history import POINTS, packed, thinned
from safenet.bench.store import FAILED, LEASE, FullDiskError

LOSS = np.column_stack([np.arange(1, 1001), np.geomspace(10, 1e-5, 1000), np.geomspace(1, 1e-6, 1000)])


def row(id="a", **values):
    known = {
        **{"problem": "wave", "method": "pinn", "recipe": "paper-1", "seed": 0, "variant": {"depth": 2}},
        **{"outcome": "solved", "stop_reason": "«done», all of it", "l2re": 1.25e-3, "residual": 2e-4},
        **{"errors": {"u": 1e-3, "pooled": 1.25e-3}, "seconds": 1.5, "iterations": 40, "evaluations": 41},
        **{"parameters": 7851, "precision": "float32", "device": "cpu", "environment": {"jax": "0"}},
        **{"configuration": {"problem": 'name = "wave"', "plan": {"π": [1, 2]}}, "result": {"l2re": None}},
        "history": packed(LOSS, [[1, 1.0], [1000, 0.5]]),
    }
    return Row(id=id, **known | values)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "here") as store:
        yield store


def groups(*ids):
    return [[id] for id in ids]


# ---- rows


def test_a_row_comes_back_as_it_went_in(store, tmp_path):
    store.add([row()])
    with Store(tmp_path / "here") as again:
        assert again.rows() == [row(finished=again.rows()[0].finished)]
        assert again.rows(["b", "a"])[0].id == "a"
        assert again.outcomes() == {"a": "solved"}


def test_a_row_that_was_called_solved_by_its_residual_alone_is_read_as_unverified(store, tmp_path):
    old, known = {"residual": 0.036, "estimate": None}, {"residual": 0.036, "estimate": 1e-3}
    store.add([row("a", l2re=0.55, result=old), row("b", result=known)])
    assert {r.id: r.outcome for r in store.rows()} == {"a": "unverified", "b": "solved"}
    assert Row.from_json(row("a", result=old).to_json()).outcome == "unverified"


def test_nothing_that_is_written_can_be_changed_or_removed(store):
    store.add([row()])
    other = sqlite3.connect(store.path)
    for statement in ("UPDATE results SET l2re = 0", "DELETE FROM results"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            other.execute(statement)
    other.close()


def test_the_same_attempt_is_written_once(store):
    assert store.add([row(l2re=1.0)]) == 1
    assert store.add([row(l2re=2.0)]) == 0
    assert [r.l2re for r in store.rows()] == [1.0]


def test_a_further_attempt_is_a_further_row_and_the_last_one_counts(store):
    store.add([row(outcome=FAILED, l2re=None)])
    store.add([row(attempt=2)])
    assert [r.attempt for r in store.rows()] == [2]
    assert [r.outcome for r in store.every()] == [FAILED, "solved"]


def test_a_transaction_that_fails_leaves_nothing(store):
    with pytest.raises(sqlite3.Error):
        store.add([row("a"), row("b", seconds=object())])
    assert store.rows() == []
    store.add([row("a")])  # and the store goes on


def test_a_full_disk_names_the_file_and_loses_nothing(store):
    store.add([row("a")])
    pages = store._database.execute("PRAGMA page_count").fetchone()[0]
    store._database.execute(f"PRAGMA max_page_count = {pages}")  # SQLite's own full disk
    for _ in range(2):
        with pytest.raises(FullDiskError, match=r"store\.db: database or disk is full\n.*free space"):
            store.add([row("b", result={"long": "x" * 9999})])
    assert [r.id for r in store.rows()] == ["a"]
    store._database.execute("PRAGMA max_page_count = 99999")
    assert store.add([row("b")]) == 1


def test_a_store_that_another_holds_is_an_error_in_words(store):
    with Store(store.path) as other, other._transaction():
        store._database.execute("PRAGMA busy_timeout = 1")
        with pytest.raises(SafeNetError, match=r"store\.db: database is locked"):
            store.add([row()])


# ---- leases


def test_a_case_is_leased_to_one_until_it_is_finished(store):
    with Store(store.path) as other:
        assert store.claim(groups("a", "b")) == {"a": 1}
        assert other.claim(groups("a", "b")) == {"b": 1}
        assert other.claim(groups("a", "b")) == {}
        store.add([row("a")])
        assert other.claim(groups("a", "b")) == {}


def test_a_group_is_claimed_whole_but_for_what_is_done(store):
    store.add([row("b")])
    assert store.claim([["b"], ["a", "b", "c"]]) == {"a": 1, "c": 1}


def test_what_is_released_is_free_again(store):
    with Store(store.path) as other:
        store.claim(groups("a"))
        store.release()
        assert other.claim(groups("a")) == {"a": 1}


def test_the_lease_of_a_silent_process_ends_and_that_of_a_busy_one_does_not(store, monkeypatch):
    far = f"another-machine:{os.getpid()}:x"
    now = time.time()
    with Store(store.path) as other:
        store.owner = far
        store.claim(groups("a"))
        monkeypatch.setattr(time, "time", lambda: now + 0.9 * LEASE)
        assert other.claim(groups("a")) == {}
        store.renew()
        monkeypatch.setattr(time, "time", lambda: now + 1.8 * LEASE)
        assert other.claim(groups("a")) == {}
        monkeypatch.setattr(time, "time", lambda: now + 2.0 * LEASE)
        assert other.claim(groups("a")) == {"a": 1}


def test_the_lease_of_a_dead_process_of_this_machine_ends_at_once(store):
    pid = os.posix_spawn("/bin/true", ["true"], os.environ)
    os.waitpid(pid, 0)
    with Store(store.path) as other:
        store.owner = f"{socket.gethostname()}:{pid}:x"
        store.claim(groups("a"))
        assert other.claim(groups("a")) == {"a": 1}


def test_failed_cases_are_claimed_again_only_when_asked_for(store):
    store.add([row("a", outcome=FAILED), row("b")])
    assert store.claim(groups("a", "b")) == {}
    assert store.claim(groups("a", "b"), retry=True) == {"a": 2}


# ---- files


def test_jsonl_holds_the_whole_store(store, tmp_path):
    store.add([row("a"), row("b", l2re=None, history=None, outcome=FAILED, errors={})])
    assert export(store, tmp_path / "all.jsonl") == 2
    with Store(tmp_path / "there") as other:
        assert merge(other, tmp_path / "all.jsonl") == 2
        assert list(other.every()) == list(store.every())
        assert merge(other, tmp_path / "all.jsonl") == 0


def test_jsonl_without_history_is_small_and_otherwise_the_same(store, tmp_path):
    store.add([row()])
    export(store, tmp_path / "all.jsonl")
    export(store, tmp_path / "few.jsonl", history=False)
    whole, few = (json.loads((tmp_path / f"{name}.jsonl").read_text()) for name in ("all", "few"))
    assert whole.pop("history")
    assert few.pop("history") is None
    assert whole == few


def test_csv_and_parquet_are_tables_of_the_same_numbers(store, tmp_path):
    store.add([row("a"), row("b", l2re=None, seed=1)])
    export(store, tmp_path / "t.csv")
    export(store, tmp_path / "t.parquet")
    with (tmp_path / "t.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    columns = pyarrow.parquet.read_table(tmp_path / "t.parquet").to_pydict()
    assert (
        [float(line["l2re"]) if line["l2re"] else None for line in lines]
        == columns["l2re"]
        == [1.25e-3, None]
    )
    assert [int(line["seed"]) for line in lines] == columns["seed"] == [0, 1]
    assert json.loads(lines[0]["variant"]) == json.loads(columns["variant"][0]) == {"depth": 2}
    assert lines[0]["stop_reason"] == columns["stop_reason"][0] == "«done», all of it"


def test_a_table_has_columns_for_parameters_and_options_filled_in_for_all_rows(store, tmp_path):
    def of(depth, beta):
        problem = library.problem("convection", beta=beta)
        plan = planned(problem, method="pinn", recipe="paper-4", depth=depth, hard=depth == 2)
        return Case(problem, plan)

    cases = [of(2, 30), of(4, 0.5)]  # 4 is the method's own
    environment = {"commit": "0123abc"}
    told = {"outcome": "solved", "stop_reason": "", "environment": environment, "finished": 86400.0}
    store.add([Row(id=case.id, **case.facts, **told) for case in cases])
    export(store, tmp_path / "t.csv")
    export(store, tmp_path / "t.parquet")
    with (tmp_path / "t.csv").open(newline="") as stream:
        lines = {line["id"]: line for line in csv.DictReader(stream)}
    first, second = (lines[case.id] for case in cases)
    assert (first["parameter.beta"], second["parameter.beta"]) == ("30", "0.5")
    assert (first["option.depth"], second["option.depth"]) == ("2", "4")
    assert (first["date"], first["commit"]) == ("1970-01-02T00:00:00+00:00", "0123abc")
    columns = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    kinds = {name: str(columns.schema.field(name).type) for name in columns.column_names}
    assert (kinds["parameter.beta"], kinds["option.depth"], kinds["option.hard"]) == (
        "double",
        "int64",
        "bool",
    )
    assert sorted(columns["parameter.beta"].to_pylist()) == [0.5, 30.0]


def test_merging_takes_what_is_missing_and_what_failed_here_and_keeps_the_rest(store, tmp_path):
    store.add([row("both", l2re=1.0), row("mended", outcome=FAILED), row("mine")])
    with Store(tmp_path / "there") as other:
        other.add(
            [row("both", l2re=2.0), row("mended", l2re=3.0), row("theirs"), row("mine", outcome=FAILED)]
        )
    assert merge(store, tmp_path / "there") == 2
    errors = {r.id: (r.outcome, r.l2re) for r in store.rows()}
    assert errors["both"] == ("solved", 1.0)
    assert errors["mended"] == ("solved", 3.0)
    assert errors["mine"][0] == "solved"
    assert "theirs" in errors
    assert merge(store, tmp_path / "there") == 0


@pytest.mark.parametrize(
    ("name", "text"), [("no.jsonl", None), ("odd.jsonl", "{"), ("odd.jsonl", '{"id": 1}'), ("nowhere", None)]
)
def test_what_is_no_store_is_refused_in_words(name, text, store, tmp_path):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SafeNetError, match=name):
        merge(store, tmp_path / name)


def test_an_export_needs_a_known_ending(store, tmp_path):
    with pytest.raises(SafeNetError, match="jsonl"):
        export(store, tmp_path / "all.txt")


def test_a_file_that_is_no_database_is_refused_in_words(tmp_path):
    (tmp_path / "store.db").write_text("not a database, not at all" * 100)
    with pytest.raises(SafeNetError, match="cannot open"):
        Store(tmp_path)


# ---- curves


def test_a_thinned_history_keeps_its_ends_and_its_start_in_detail():
    few = thinned(LOSS)
    assert len(few) <= POINTS
    assert few[0].tolist() == LOSS[0].tolist()
    assert few[-1].tolist() == LOSS[-1].tolist()
    assert np.all(np.diff(few[:, 0]) > 0)
    assert np.max(np.diff(few[:, 0])) <= 11
    assert (few[:20, 0] == np.arange(1, 21)).sum() > 5
    np.testing.assert_array_equal(thinned(LOSS[:POINTS]), LOSS[:POINTS])


def test_curves_come_back_in_single_precision():
    curves = row().curves
    np.testing.assert_allclose(curves["loss"], thinned(LOSS), rtol=1e-7)
    assert curves["error"].tolist() == [[1, 1.0], [1000, 0.5]]
    assert row(history=None).curves["loss"].shape == (0, 2)
    with np.errstate(all="raise"):
        assert np.isinf(row(history=packed(np.array([[1.0, 1e300]]))).curves["loss"][0, 1])


def test_a_store_of_before_there_were_direct_solvers_has_networks(tmp_path):
    with Store(tmp_path / "new") as store:
        store.add([row("a")])
        old = store.path
    database = sqlite3.connect(old)
    database.execute("ALTER TABLE results DROP COLUMN solver")
    database.close()
    with Store(tmp_path / "new") as store:
        store.add([row("b", solver="march", method=None, recipe=None)])
        assert {found.id: found.solver for found in store.rows()} == {"a": "train", "b": "march"}
