"""What came of a case: its row, its curves, its spectrum; and what a kill or a death leaves of it."""

import json
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_answers import Inline
from test_engines import (  # noqa: F401
    DECAY,
    SUITE,
    cache,
    check_all_once,
    children,
    gone,
    place,
    started,
)

import safenet
from safenet import bench
from safenet.analysis.curvature import curvature
from safenet.analysis.study import loss_of
from safenet.bench import running
from safenet.bench import work as working
from safenet.bench.running import run
from safenet.bench.store import FAILED, Store
from safenet.bench.watch import Watch
from safenet.measure.points import sample
from safenet.train import candidates


def task(place, *, together=False, **changes):
    cases = bench.suite(place / "mine.toml").cases("smoke")
    entries = [{"id": c.id, "attempt": 1, "configuration": c.configuration | changes} for c in cases]
    return {"folder": str(place / "runs"), "together": together, "cases": entries}


def test_a_row_says_what_the_run_says_and_where_it_ran(place):
    rows = [bench.Row.from_json(data) for data in working.work(task(place))]
    for row in rows:
        result = json.loads((place / "runs" / row.id / "result.json").read_text())
        assert (row.outcome, row.l2re, row.iterations) == ("not solved", result["l2re"], 100)
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
    assert errors[-1] == np.float32(row.l2re)
    assert errors[0] > 2 * errors[-1]
    assert row.result["pace"]["adam"] > 0


@pytest.mark.parametrize("together", [False, True])
def test_where_looks_are_too_dear_the_curve_still_ends_with_the_error_of_the_row(
    place, monkeypatch, together
):
    monkeypatch.setattr("safenet.bench.watch.Watch.network", lambda *_: None)
    for row in map(bench.Row.from_json, working.work(task(place, together=together))):
        assert row.environment["together"] == 1 + together
        assert row.curves["error"].tolist() == [[100, np.float32(row.l2re)]]


def test_without_a_reference_there_is_no_curve_of_the_error(place):
    (place / "decay.toml").write_text(DECAY.replace("exact", "# exact"))
    row = bench.Row.from_json(working.work(task(place))[0])
    assert (row.l2re, len(row.curves["error"])) == (None, 0)


def test_a_spectrum_is_taken_of_a_run_that_its_plain_case_has_left(place, monkeypatch):
    first = working.work(task(place))[0]
    text = (place / "mine.toml").read_text().replace("[smoke]", "[smoke]\nspectrum = [2, 9]")
    (place / "mine.toml").write_text(text)
    monkeypatch.setattr(working, "_carry_out", None)  # nothing is trained
    row = bench.Row.from_json(working.work(task(place))[0])
    assert row.id != first["id"]
    assert (row.l2re, row.iterations) == (first["l2re"], 100)
    loss, theta, *_ = loss_of(safenet.load(place / "runs" / row.id), sample_of(row))
    exact = np.linalg.eigvalsh(curvature(loss, theta).dense())
    found = row.result["spectrum"]
    assert found["lambda_max"] == pytest.approx(exact[-1], rel=1e-6)
    assert (found["probes"], found["steps"], found["operator"]) == (2, 9, "hessian")
    decades, above, below = row.curves["density"].T
    assert decades[np.argmax(above)] < np.log10(2 * exact[-1])
    assert np.trapezoid(above + below, decades) == pytest.approx(1, abs=0.2)


def sample_of(row):
    plan = bench.Case.of(row.configuration).plan
    problem = bench.Case.of(row.configuration).problem
    return sample(problem, plan.interior, plan.condition, plan.sampler, plan.seed)


def test_gradients_are_noted_at_their_loss_and_survive_a_kill(place):
    (case, _) = bench.suite(place / "mine.toml").cases("smoke")
    (place / "run").mkdir()
    for loss, norm in ((3.0, 0.5), (2.0, 0.25), (7.0, 9.0)):  # the last is not of the chosen candidate
        watch = Watch(case.problem, place / "run")  # another process each time
        watch.losses(1, 3, loss, {})
        watch.gradient(norm)
    with (place / "run" / "notes.jsonl").open("a") as stream:
        stream.write('{"loss": 2.0, "grad')  # cut off
    history = np.array([[1, 3.0, 1.0], [5, 2.0, 1.0]])
    watch.save(safenet.Solution(case.problem, None, case.plan, history))
    assert watch.saved()["gradient"] == [[1, 0.5], [5, 0.25]]


@pytest.mark.slow
def test_seeds_together_are_the_seeds_alone_and_go_on_from_their_checkpoints(place, monkeypatch):
    """Stopped after a few chunks, as by a kill, and continued: what they are when nothing happens."""
    alone = working.work(task(place) | {"folder": str(place / "alone")})
    monkeypatch.setattr("safenet.train.batch.SAVE_BATCH_EVERY", 0.0)
    monkeypatch.setattr("safenet.train.batch.CAPACITY", 16)
    jax.clear_caches()  # another test's program may have another capacity
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


@pytest.fixture
def trained(monkeypatch):
    """The seeds of what is trained, as it is."""
    seeds, train = [], candidates.train_runs

    def noted(runs, *more, **options):
        seeds.extend(run.plan.seed for run in runs)
        return train(runs, *more, **options)

    monkeypatch.setattr(candidates, "train_runs", noted)
    return seeds


@pytest.mark.parametrize("together", [False, True])
def test_one_seed_tries_the_variants_and_the_others_learn_from_it(place, trained, together):
    suite = SUITE.replace('"pinn"', '"w-pinn-grid"').replace("seeds = 2", "seeds = 3")
    (place / "mine.toml").write_text(suite)
    first, *others = (bench.Row.from_json(row) for row in working.work(task(place, together=together)))
    # Three weights by seed 0, then one run of each other seed.
    assert sorted(trained) == [0, 0, 0, 1, 2]
    assert [row.seed for row in (first, *others)] == [0, 1, 2]
    for row in others:
        assert row.result["candidates"] == first.result["candidates"]
        assert row.l2re != first.l2re
    assert not list((place / "runs").glob("*/candidate-*"))


def test_seeds_that_cannot_be_one_program_still_learn(place, trained, monkeypatch):
    (place / "mine.toml").write_text(
        SUITE.replace('"pinn"', '"w-pinn-grid"').replace("seeds = 2", "seeds = 3")
    )
    carry_out = working._carry_out

    def too_little_memory(jobs, together=False):
        if together:
            raise MemoryError
        return carry_out(jobs)

    monkeypatch.setattr(working, "_carry_out", too_little_memory)
    assert [row["outcome"] for row in working.work(task(place, together=True))] == ["not solved"] * 3
    assert trained == [0, 0, 0, 1, 2]


def test_other_seeds_wait_for_the_one_that_searches(place):
    (place / "mine.toml").write_text(
        SUITE.replace('"pinn"', '"w-pinn-grid"').replace("seeds = 2", "seeds = 3")
    )
    cases = {case.id: case for case in bench.suite(place / "mine.toml").cases("smoke")}
    with Store(place) as store:
        loop = running._Loop(store, cases, place / "runs", False, lambda event: None)
        first = loop._claim(together=False)
        assert [cases[id].plan.seed for id in first] == [0]
        assert not loop._claim(together=False)
        store.add([bench.Row.from_json(row) for row in working.work(loop._task(first, together=False))])
        loop.look()
        then = [loop._claim(together=False) for _ in range(2)]
        assert sorted(cases[id].plan.seed for claimed in then for id in claimed) == [1, 2]


def test_a_run_that_had_ended_is_read_and_not_done_again(place, monkeypatch):
    first = working.work(task(place))
    monkeypatch.setattr(working, "_carry_out", None)
    again = working.work(task(place))
    assert [row["l2re"] for row in again] == [row["l2re"] for row in first]


def test_a_kill_before_the_plan_is_written_costs_nothing(place):
    folder = place / "runs" / task(place)["cases"][0]["id"]
    folder.mkdir(parents=True)
    for name in ("problem.toml", ".plan.json.7.part"):
        (folder / name).write_text("half a")
    assert [row["outcome"] for row in working.work(task(place))] == ["not solved"] * 2


def test_a_kill_between_the_end_and_the_tidying_costs_no_curve(place, monkeypatch):
    monkeypatch.setattr("safenet.bench.watch.SHARE", 1e9)

    def killed(job, solution):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(working, "_trained", killed)
        with pytest.raises(KeyboardInterrupt):
            working.work(task(place))
    row = bench.Row.from_json(working.work(task(place))[0])
    assert len(row.curves["error"]) > 2
    assert sorted(path.name for path in (place / "runs" / row.id).iterdir()) == [
        *("plan.json", "problem.toml", "result.json", "solution.npz", "watched.json"),
    ]


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
    assert [row["outcome"] for row in rows] == [FAILED, "not solved"]
    assert "unheard-of" in rows[0]["stop_reason"] + rows[0]["result"]["traceback"]


def test_killed_in_the_middle_of_a_case_and_continued_nothing_is_lost_or_done_twice(place):
    (place / "mine.toml").write_text(SUITE.replace("seeds = 6", "seeds = 2"))
    master = started(place)
    while not list(place.glob("out/runs/*/plan.json")):
        time.sleep(0.02)
    workers = children(master.pid)
    master.kill()
    master.communicate()
    assert workers
    assert gone(workers)  # a worker ends with its master
    # Its leases end with it: the next one goes on at once.
    assert run(place / "mine.toml", place / "out", engine=Inline()).done == 2
    check_all_once(place, 2)


def test_each_problem_is_scored_by_its_own_solution(tmp_path):
    """Equal problems may know different solutions: one worker may be given both, one after the other."""
    stated = (
        'unknowns = ["u"]\nequations = ["u_x = 0"]\nconditions = ["u_x(0) = 0"]\ndomain = { x = [0, 1] }\n'
    )
    one, two = (safenet.loads(stated + f'exact = {{ u = "{exact}" }}\n') for exact in (1, 2))
    assert one == two
    for name, problem in (("one", one), ("two", two)):
        (tmp_path / name).mkdir()
        watch = Watch(problem, tmp_path / name)
        watch.losses(1, 2, 0.5, {})
        watch.network(lambda: jnp.ones_like)
    notes = [json.loads((tmp_path / name / "notes.jsonl").read_text()) for name in ("one", "two")]
    assert [note["error"] for note in notes] == [0.0, 0.5]
