"""Rows from strangers: one that cannot be read is shown and left out; the store, and theirs, stay as they are."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from pathlib import Path

import pytest

from safenet.bench.exchange import export, merge
from safenet.bench.projection import Paces, outlook
from safenet.bench.store import Row, Store, rows_of
from safenet.errors import SafeNetError, SafeNetWarning
from safenet.report.results import Results

sys.path.insert(0, str(Path(__file__).parents[1]))
from synthetic import row

HOSTILE = {
    "name": {"problem": "\x1b[31mred"},
    "bidi": {"problem": "a\u202eb"},
    "seed": {"seed": "0"},
    "huge": {"seed": 10**30},
    "late": {"finished": 1e300},
    "never": {"finished": None},
    "table": {"variant": [1]},
    "statement": {"configuration": {"problem": "not = = toml"}},
    "nameless": {"configuration": {"problem": "x = 1"}},
    "plan": {"configuration": {"plan": 3}},
    "phases": {"configuration": {"plan": {"phases": [1]}}},
    "result": {"result": {"phases": 3}},
    "curves": {"history": "AAAA"},
    "column": {"unheard": 1},
    "errors": {"errors": {"u": "large"}},
    "environment": {"environment": "x"},
    "id": {"id": ""},
    "deep": {"result": json.loads("[" * 50 + "]" * 50)},
    "error": {"l2re": "1e-3"},
}
# Parts of a row's tables; None: the part is missing.
CHANGED = [
    ("configuration", {"problem": None}),
    ("configuration", {"problem": 'name = "x"\nparameters = { a = 1979-05-27 }'}),
    ("configuration", {"plan": None}),
    ("configuration", {"spectrum": [100, 0]}),
    ("plan", {"interior": None}),
    ("plan", {"precision": [32]}),
    ("plan", {"phases": [{"phase": "Adam", "iterations": "10"}]}),
    ("plan", {"phases": [{"iterations": 10}]}),
    ("plan", {"network": {"k": ["auto"]}}),
    ("environment", {"together": 0}),
    ("result", {"pace": 3}),
    ("result", {"pace": {"adam": "fast"}}),
    ("result", {"spectrum": {"lambda_max": 1.0}}),
    ("result", {"phases": [{"name": "adam"}]}),
    ("result", {"candidates": [{"rate": [1]}]}),
]


@pytest.fixture(scope="module")
def good():
    return row("wave", "pinn", "paper-1", 1e-3)


def lines(path, *rows) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_row_is_left_out_and_export_and_report_go_on(good, tmp_path, kind: str) -> None:
    source = lines(tmp_path / "x.jsonl", good.to_json(), good.to_json() | {"id": "other"} | HOSTILE[kind])
    with Store(tmp_path / "store") as store:
        with pytest.warns(SafeNetWarning, match="left out"):
            assert merge(store, source) == 1
        assert export(store, tmp_path / "out.jsonl") == export(store, tmp_path / "out.csv") == 1
        assert len(Results(store.rows(), []).rows) == 1


@pytest.mark.parametrize(("part", "change"), CHANGED)
def test_a_row_without_what_is_read_of_it_is_left_out(good, tmp_path, part: str, change: dict) -> None:
    told = json.loads(json.dumps(good.to_json())) | {"id": "other"}
    told["result"] = {"pace": {"adam": 1e-3}}
    table = told["configuration"]["plan"] if part == "plan" else told[part]
    table |= change
    for name in [name for name, value in change.items() if value is None]:
        del table[name]
    with Store(tmp_path / "store") as store:
        with pytest.warns(SafeNetWarning, match="left out"):
            assert merge(store, lines(tmp_path / "x.jsonl", good.to_json(), told)) == 1
        assert outlook([], store.rows()) == []
        assert len(Results(store.rows(), []).rows) == 1


def test_a_row_whose_spectrum_or_problem_cannot_be_read_here_is_no_obstacle(good) -> None:
    told = json.loads(json.dumps(good.to_json())) | {"result": {"pace": {"adam": 1e-3}}}
    told["configuration"] |= {"spectrum": [2, 9], "problem": 'name = "of a later version"'}
    told["configuration"]["plan"]["network"]["k"] = "2*pi"
    strange = Row.from_json(told | {"method": "safe-net", "recipe": "paper-1"})
    assert Paces([strange]).rows == 1
    assert Results([strange]).groups


def test_what_a_store_holds_already_is_looked_at_too(good, tmp_path) -> None:
    with Store(tmp_path) as store:
        store.add([good])
        store._database.execute("INSERT INTO results (id, attempt, variant) VALUES ('bad', 1, '{')")
        with pytest.warns(SafeNetWarning, match="bad"):
            assert [each.id for each in store.rows()] == [good.id]


def test_a_file_without_rows_is_no_export(tmp_path) -> None:
    with Store(tmp_path / "store") as store, pytest.raises(SafeNetError, match="no line is a row"):
        merge(store, lines(tmp_path / "x.jsonl", {"a": 1}))


def test_merging_changes_nothing_of_its_source(good, tmp_path) -> None:
    with Store(tmp_path / "theirs") as theirs:
        theirs.add([good])
        digests = {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in (tmp_path / "theirs").iterdir()
        }
        with Store(tmp_path / "ours") as ours:
            assert merge(ours, tmp_path / "theirs") == 1  # from the log, which nobody has emptied yet
        after = {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in (tmp_path / "theirs").iterdir()
        }
    assert after == digests


def test_a_view_in_place_of_the_table_is_not_read(tmp_path) -> None:
    database = sqlite3.connect(tmp_path / "store.db")
    database.execute(
        "CREATE VIEW results AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    )
    database.commit()
    database.close()
    with pytest.raises(SafeNetError, match="no table"):
        rows_of(tmp_path)


def test_the_results_kept_in_the_repository_are_rows(tmp_path) -> None:
    kept = Path(__file__).parents[2] / "results" / "defaults.jsonl"
    with Store(tmp_path) as store:
        assert merge(store, kept) > 0
