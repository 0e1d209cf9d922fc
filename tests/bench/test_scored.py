"""reference = "auto": a problem without a known solution is solved directly, and that scores its networks."""

import json
import shutil

import numpy as np
import pytest
from test_answers import Inline
from test_engines import DECAY, SUITE, cache, place  # noqa: F401

import safenet
from safenet import SafeNetError, bench
from safenet.bench import work as working
from safenet.bench.catalogue import loads
from safenet.bench.running import run
from safenet.report.results import read

SCORED = 'reference = "auto"\n' + SUITE


@pytest.fixture
def scored(place):
    (place / "decay.toml").write_text(DECAY.replace("exact", "# exact"))
    (place / "mine.toml").write_text(SCORED)
    return place


def carried_out(place, out="out"):
    run(place / "mine.toml", place / out, scale="smoke", engine=Inline())
    with bench.Store(place / out) as store:
        return store.rows()


def test_networks_are_scored_by_the_difference_to_the_direct_solve(scored):
    direct, *networks = sorted(carried_out(scored), key=lambda row: row.solver != "auto")
    assert (direct.outcome, direct.l2re, len(networks)) == ("solved", None, 2)
    t = np.linspace(0, 1, 1001)
    for row in networks:
        u = safenet.load(scored / "out" / "runs" / row.id)(t=t)
        assert row.l2re == pytest.approx(np.linalg.norm(u - np.exp(-3 * t)) / np.linalg.norm(np.exp(-3 * t)))
        assert row.result["reference_accuracy"] == direct.result["estimate"] < 1e-8
        assert len(row.curves["error"])


def test_a_run_that_nothing_scored_is_scored_and_not_trained_again(scored):
    (scored / "mine.toml").write_text(SUITE)
    before = carried_out(scored)
    assert {row.l2re for row in before} == {None}
    (scored / "mine.toml").write_text(SCORED)
    after = [row for row in carried_out(scored) if row.configuration.get("reference")]
    histories = {row.seed: row.curves["loss"].tolist() for row in before}
    assert {row.seed: row.curves["loss"].tolist() for row in after} == histories
    assert after[0].l2re == pytest.approx(
        next(r.l2re for r in carried_out(scored, "new") if r.id == after[0].id)
    )
    groups = read([scored / "out"]).groups  # each seed once, scored
    assert sorted(len(rows) for rows in groups.values()) == [1, 2]
    assert all(row.l2re for rows in groups.values() for row in rows if row.method)


def test_direct_solves_come_first_in_the_order_of_the_problems(place):
    names = ["one", "two", "three", "four", "five", "six"]
    for name in names:
        (place / f"{name}.toml").write_text(DECAY.replace("exact", "# exact").replace("decay", name))
    listed = ", ".join(f'"{name}.toml"' for name in names)
    (place / "all.toml").write_text(SCORED.replace('"decay.toml"', listed))
    cases = bench.suite(place / "all.toml").cases("smoke")
    assert [case.problem.name for case in cases[:6]] == names
    assert [case.label.split(" · ")[1] for case in cases[:7]] == ["auto"] * 6 + ["pinn"]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"outcome": "not solved"}, "the direct solve is not solved"),
        ({"estimate": None}, "the direct solve is solved, without an estimated error"),
        ({"estimate": 0.5}, "10 times that of the direct solve"),
        (None, "not saved"),
    ],
)
def test_a_direct_solve_that_is_not_far_better_scores_nothing(scored, facts, why):
    carried_out(scored)
    suite = bench.suite(scored / "mine.toml").cases("smoke")
    direct, network = suite[0], suite[1]
    folder = scored / "out" / "runs" / direct.id
    if facts is None:
        shutil.rmtree(folder)
    else:
        path = folder / "result.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | facts))
    entry = {"id": network.id, "attempt": 1, "configuration": network.configuration}
    row = working._measured(working.Job(entry, scored / "out" / "runs"))
    assert row.l2re is None
    assert not row.errors
    assert why in row.result["unscored"]


def test_the_direct_solve_comes_first_and_with_any_choice_of_its_networks(scored):
    suite = bench.suite(scored / "mine.toml")
    cases = suite.cases()
    assert [case.plan.trains for case in cases] == [False] + 6 * [True]
    assert {case.reference for case in cases} == {"", cases[0].id}
    chosen = suite.cases(only="pinn seed 3")
    assert [(case.plan.method, case.plan.seed) for case in chosen] == [(None, 0), ("pinn", 3)]


def test_a_known_solution_scores_as_before(place):
    (place / "mine.toml").write_text(SCORED)
    cases = bench.suite(place / "mine.toml").cases("smoke")
    (place / "mine.toml").write_text(SUITE)
    assert [case.id for case in cases] == [
        case.id for case in bench.suite(place / "mine.toml").cases("smoke")
    ]


def test_what_cannot_score_is_refused(tmp_path):
    with pytest.raises(SafeNetError, match="reference = 'march'"):
        loads(SCORED.replace('"auto"', '"march"'), "mine", tmp_path)
