"""The rows kept in results/: their outcomes are of the closed set, and docs/tables.md says what they say."""

import json
from pathlib import Path

import pytest

import benchmarks
from benchmarks import paper_page
from safenet import METHODS, library, listed, paper
from safenet.bench.store import FAILED
from safenet.networks.methods import settled
from safenet.paper.verdicts import TOO_FEW, UNMEASURED
from safenet.run.result import Outcome, Result

HOME = Path(__file__).parents[2]
# Exports of stores; `networks*.jsonl` belongs to another study, and is tested with its page.
ROWS = [HOME / "results" / "defaults.jsonl", *sorted((HOME / "results").glob("paper-*.jsonl"))]


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


def test_the_pages_about_the_paper_are_made_of_the_kept_rows(tmp_path):
    results = paper.read(paper_page.SOURCES)
    entries = paper.write(paper_page.SOURCES, markdown=tmp_path / "tables.md")
    assert (tmp_path / "tables.md").read_text("utf-8") == paper_page.TABLES.read_text("utf-8")
    for path, found in paper_page.pages(results, entries).items():
        page = path.read_text("utf-8")
        assert benchmarks.written(page, found) == page, f"{path}: run make paper"
        assert all(text in page for text in found.values())


def test_every_claim_has_a_verdict_or_the_command_that_settles_it():
    for entry in paper.ledger(paper.read(paper_page.SOURCES)):
        assert entry.rule
        if entry.verdict in (TOO_FEW, UNMEASURED):
            assert entry.command.split()[2] in listed.suites(), entry.name
