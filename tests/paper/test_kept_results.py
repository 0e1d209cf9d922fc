"""The rows kept in results/: their outcomes are of the closed set, and docs/tables.md says what they say."""

import json
from pathlib import Path

import pytest

from safenet import METHODS, library, paper
from safenet.bench.store import FAILED
from safenet.networks.methods import settled
from safenet.run.result import Outcome, Result

HOME = Path(__file__).parents[2]
ROWS = sorted((HOME / "results").glob("*.jsonl"))


@pytest.mark.parametrize("path", ROWS, ids=lambda path: path.stem)
def test_every_kept_row_has_an_outcome_of_the_closed_set(path):
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert rows
    for row in rows:
        assert row["outcome"] in {*Outcome, FAILED}
        assert Result.from_json(row["result"]).outcome == row["outcome"]


def test_rows_are_filed_by_the_network_they_had_and_not_by_its_name_then():
    found = paper.read(ROWS)
    filed = 0
    for (problem, method, recipe, options, _), rows in found.groups.items():
        if method != "safe-net-literal" or "frequencies" in dict(options):
            continue
        usual = settled(library.problem(problem), METHODS[method]).k
        for row in rows:
            k = row.configuration["plan"]["network"]["k"]
            assert dict(options).get("k", json.dumps(usual)) == json.dumps(k), (problem, recipe)
            filed += 1
    assert filed


def test_the_tables_of_the_docs_are_those_of_the_kept_rows(tmp_path):
    paper.write([*ROWS, HOME / "results" / "spectra.json"], markdown=tmp_path / "tables.md")
    assert (tmp_path / "tables.md").read_text("utf-8") == (HOME / "docs" / "tables.md").read_text("utf-8")
