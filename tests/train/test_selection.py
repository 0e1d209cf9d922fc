"""Of several runs one is chosen, by what a user without a reference could know; and chosen again after a kill."""

import dataclasses
import json

import numpy as np
import pytest
from carrying import train
from test_run import DECAY, Watch, compiled_once, looks_often  # noqa: F401

import safenet as sn
from safenet.fields.unknown import Unknown
from safenet.networks import METHODS
from safenet.run.folder import SEARCH, prepare
from safenet.run.plans import Job
from safenet.run.result import Carried, PhaseRecord
from safenet.solving import door
from safenet.train import candidates, tolerance
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.lbfgs import LBFGS
from safenet.train.plan import Plan
from safenet.train.solver import Train
from scoring import unsolved

TINY = {"points": 8, "condition_points": 1, "width": 3, "depth": 1, "sampler": "sobol"}


def plan(method="pinn", recipe="paper-2", **options):
    """A thousandth of the recipe, with two variants of it."""
    made = Train(method, recipe, scale=1e-3, **TINY, **options).plan(DECAY)
    return dataclasses.replace(made, variants=made.variants[:2])


RATES, WEIGHTS = plan(), plan("w-pinn-grid", "paper-1")


def carry_out(problem, plan, monitor=None, folder=None):
    return door.carry_out([Job(problem, plan, folder)], monitor)[0]


def carry_out_many(problem, plans, folders=(None,) * 9):
    return door.carry_out([Job(problem, *each) for each in zip(plans, folders, strict=False)])


def without_times(result):
    result = result.to_json()
    parts = (result, *result["phases"], *result["candidates"])
    for part in parts:
        for clock in ("seconds", "wall_seconds"):
            part.pop(clock, None)
    return result


@pytest.mark.parametrize(("chosen", "measure"), [(RATES, "loss"), (WEIGHTS, "residual")])
def test_the_reference_is_not_read_before_the_choice_is_made(chosen, measure, monkeypatch):
    assert chosen.select == measure
    made = []
    choose = candidates.best_of
    monkeypatch.setattr(candidates, "best_of", lambda *parts: made.append(choose(*parts)) or made[-1])

    def reference(t):
        assert made, "the reference was read before the choice"
        return np.exp(-t)

    seen = carry_out(DECAY.with_reference(reference), chosen)
    blind = carry_out(DECAY, chosen)
    assert made[0] == made[1]
    assert seen.result.l2re is not None
    assert without_times(seen.result)["candidates"] == without_times(blind.result)["candidates"]
    # The winner is the one that the candidates' own numbers show.
    told = seen.result.candidates
    assert [candidate["chosen"] for candidate in told].count(True) == 1
    best = min(told, key=lambda candidate: candidate[measure])
    assert best["chosen"]
    assert best["residual"] == seen.result.residual
    json.dumps(seen.result.to_json(), allow_nan=False)


def trained(loss, residual, outcome="finished"):
    history = np.array([[1.0, loss, loss, 0.0]])
    return Carried(None, residual, [PhaseRecord("adam", outcome=outcome)], history=history)


@pytest.mark.parametrize(
    ("trials", "by_loss", "by_residual"),
    [
        ([trained(2, 0.1), trained(1, 0.2)], 1, 0),
        ([trained(1, 0.2), trained(1, 0.1)], 1, 1),
        ([trained(1, 0.1, "diverged"), trained(5, 0.5)], 1, 1),
        ([trained(np.nan, np.inf), trained(5, 0.5)], 1, 1),
        ([trained(np.nan, np.inf), trained(np.inf, np.nan)], 0, 0),
        ([trained(3, 0.3, "diverged"), trained(2, 0.2, "diverged")], 1, 1),
    ],
)
def test_the_lowest_wins_and_what_diverged_or_is_not_finite_loses(trials, by_loss, by_residual):
    assert candidates.best_of(DECAY, RATES, trials) == by_loss
    assert candidates.best_of(DECAY, WEIGHTS, trials) == by_residual


def test_one_that_was_stopped_while_it_compiled_loses_to_all_others():
    """It has no network; one that diverged has the best that it passed."""
    nothing = Carried(Unknown(1), np.inf, [PhaseRecord("adam")], stopped=True)
    assert candidates.best_of(DECAY, RATES, [nothing, trained(3, 0.3, "diverged")]) == 1
    assert candidates.best_of(DECAY, WEIGHTS, [nothing, trained(3, 0.3, "diverged")]) == 1


def test_the_final_loss_has_the_plans_weights_whatever_those_of_the_optimiser():
    # Columns: iteration, total under adapted weights, equation, condition.
    run = Carried(None, 1.0, history=np.array([[1.0, 7.0, 7.0, 7.0], [2.0, 999.0, 0.5, 0.25]]))
    assert candidates.final_loss(DECAY, RATES, run) == 0.5 + 100 * 0.25
    assert candidates.final_loss(DECAY, WEIGHTS.candidates[0], run) == 0.1 * 0.5 + 100 * 0.25


def test_a_search_that_time_cut_short_decides_nothing_for_other_seeds(tmp_path, monkeypatch):
    plans = [RATES, RATES.seeded(1)]
    folders = [prepare(tmp_path / str(plan.seed), DECAY, plan, False) for plan in plans]
    begun = []

    def cut(runs, *_, **__):
        begun.extend(run.plan.seed for run in runs)
        return [dataclasses.replace(trained(1, 0.1), stopped=run is runs[-1]) for run in runs]

    monkeypatch.setattr(candidates, "train_runs", cut)
    jobs = [Job(DECAY, plan, folder) for plan, folder in zip(plans, folders, strict=True)]
    (first, _), (other, _) = candidates.carried_out(jobs, sn.Monitor())
    assert (first.stopped, other.stopped, begun) == (True, True, [0, 0])
    assert not (folders[1] / SEARCH).exists()


@unsolved
def test_interrupted_anywhere_the_same_candidate_wins_with_the_same_bits(tmp_path):
    watch = Watch()
    whole = carry_out(DECAY, RATES, watch, prepare(tmp_path / "whole", DECAY, RATES, False))
    assert sorted(path.name for path in (tmp_path / "whole").glob("candidate-*")) == [
        "candidate-1",
        "candidate-2",
    ]
    expected = without_times(whole.result)
    # In the first candidate, in the second, and at the last moment.
    for stop in (3, len(watch.told) * 3 // 4, len(watch.told)):
        folder = prepare(tmp_path / str(stop), DECAY, RATES, False)
        stopped = carry_out(DECAY, RATES, Watch(stop), folder)
        assert stopped.result.outcome == "interrupted"
        resumed = sn.resume(folder)
        assert without_times(resumed.result) == expected
        np.testing.assert_array_equal(resumed.history, whole.history)
    # Finished is finished; and a folder that is overwritten starts again.
    again = Watch()
    assert without_times(sn.resume(folder, monitor=again).result) == expected
    assert again.told == []
    prepare(folder, DECAY, RATES, force=True)
    assert not list(folder.rglob("checkpoint.npz"))


def test_one_seed_chooses_for_all():
    first, other = (carry_out(DECAY, dataclasses.replace(RATES, seed=n)) for n in (0, 3))
    assert without_times(first.result)["candidates"] == without_times(other.result)["candidates"]
    number = [facts["chosen"] for facts in first.result.candidates].index(True)
    alone = train(DECAY, dataclasses.replace(RATES.settled[number], seed=3))
    np.testing.assert_array_equal(other.history, alone.history)
    assert not np.array_equal(other.history, first.history)
    assert (other.result.seed, other.plan.seed) == (3, 3)


@pytest.mark.slow
def test_seeds_together_search_once(monkeypatch):
    plans = [dataclasses.replace(RATES, seed=seed) for seed in (3, 0, 1)]
    trained = []
    many = candidates.train_runs
    monkeypatch.setattr(
        candidates,
        "train_runs",
        lambda runs, *rest, **more: trained.append([run.plan for run in runs]) or many(runs, *rest, **more),
    )
    solutions = carry_out_many(DECAY, plans)
    # Two variants by seed 0; then what they chose, by the two others.
    assert [[plan.seed for plan in batch] for batch in trained] == [[0, 0], [3, 1]]
    for plan, solution in zip(plans, solutions, strict=True):
        alone = carry_out(DECAY, plan)
        assert without_times(solution.result)["candidates"] == without_times(alone.result)["candidates"]
        np.testing.assert_array_equal(solution.history, alone.history)


@unsolved
@pytest.mark.slow
def test_a_seed_that_does_not_choose_can_be_interrupted_anywhere(tmp_path):
    other = dataclasses.replace(RATES, seed=3)
    watch = Watch()
    whole = carry_out(DECAY, other, watch, prepare(tmp_path / "whole", DECAY, other, False))
    names = {path.name for path in (tmp_path / "whole").glob("candidate-*")}
    assert names == {"candidate-1", "candidate-2", "candidate-chosen"}
    for stop in (3, len(watch.told) * 2 // 3 - 1, len(watch.told) * 5 // 6, len(watch.told)):
        folder = prepare(tmp_path / str(stop), DECAY, other, False)
        assert carry_out(DECAY, other, Watch(stop), folder).result.outcome == "interrupted"
        resumed = sn.resume(folder)
        np.testing.assert_array_equal(resumed.history, whole.history)
        assert without_times(resumed.result) == without_times(whole.result)
    # Where the choice is known, the candidates are not trained.
    folder = prepare(tmp_path / "told", DECAY, other, False)
    told = (tmp_path / "whole" / SEARCH).read_bytes()
    (folder / SEARCH).write_bytes(told)
    np.testing.assert_array_equal(carry_out(DECAY, other, None, folder).history, whole.history)
    assert [path.name for path in folder.glob("candidate-*")] == ["candidate-chosen"]
    # A damaged file is none: the search finds the same again.
    for damage in (b"", told[:40], b"[]", b'[{"chosen": true}]', b"{}"):
        folder = prepare(folder, DECAY, other, force=True)
        assert not (folder / SEARCH).exists()
        (folder / SEARCH).write_bytes(damage)
        np.testing.assert_array_equal(sn.resume(folder).history, whole.history)
    assert (folder / SEARCH).read_bytes().count(b'"chosen": true') == 1


def test_a_seed_that_chooses_goes_on_where_it_was_a_candidate(tmp_path, monkeypatch):
    plans = [dataclasses.replace(RATES, seed=seed) for seed in (0, 1)]
    folders = [prepare(tmp_path / str(plan.seed), DECAY, plan, False) for plan in plans]
    many, calls = candidates.train_runs, []

    def killed_behind_the_search(*parts, **more):
        calls.append(parts[0])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return many(*parts, **more)

    with monkeypatch.context() as patched:
        patched.setattr(candidates, "train_runs", killed_behind_the_search)
        with pytest.raises(KeyboardInterrupt):
            carry_out_many(DECAY, plans, folders)
    first, second = carry_out_many(DECAY, plans, folders)
    assert {path.name for path in folders[0].glob("candidate-*")} == {"candidate-1", "candidate-2"}
    assert not (folders[0] / SEARCH).exists()
    for plan, solution in zip(plans, (first, second), strict=True):
        np.testing.assert_array_equal(solution.history, carry_out(DECAY, plan).history)


def test_a_variant_changes_what_it_names_and_nothing_else():
    full = Train("pinn", "paper-2").plan(DECAY)
    assert [variant["rate"] for variant in full.variants] == [1e-1, 1e-2, 1e-3, 1e-4, 1e-5]
    for rate, candidate in zip((1e-1, 1e-2, 1e-3, 1e-4, 1e-5), full.candidates, strict=True):
        first, _, second, _ = candidate.phases
        assert (first.rate, first.decay) == (rate, 1)
        assert (second.rate, second.decay, second.every) == (rate / 2, 0.9, 2000)
        assert dataclasses.replace(candidate, phases=full.phases, variants=full.variants) == full
    weights = Train("w-pinn-grid", "paper-1").plan(DECAY)
    assert [plan.residual_weight for plan in weights.candidates] == list(METHODS["w-pinn-grid"].weight_grid)
    assert {plan.condition_weight for plan in weights.candidates} == {100}
    assert len(Train("w-pinn-grid", "paper-2").plan(DECAY).candidates) == 15


def test_a_tolerance_ends_the_chosen_run_and_none_that_is_compared():
    made = dataclasses.replace(plan(tol=1e-3), seed=3)
    assert [candidate.tol for candidate in made.candidates] == [None, None]
    assert [chosen.tol for chosen in made.settled] == [1e-3, 1e-3]
    assert any("does not stop runs of seed 0" in reason for reason in made.reasons)
    assert not any("does not stop runs of seed 0" in reason for reason in RATES.reasons)


def test_the_run_of_another_seed_ends_at_its_tolerance_and_that_of_the_one_that_chooses_does_not(monkeypatch):
    """Every estimate is within it: a run with a tolerance ends at its first look."""

    def reached(goal, *_):
        goal.met = tolerance.Estimate(1e-4, 0.1)
        return True

    monkeypatch.setattr(tolerance.Goal, "reached", reached)
    monkeypatch.setattr(Adam, "looks", 2)
    aimed = plan(tol=1e-3)
    seeds = [dataclasses.replace(aimed, seed=seed) for seed in (0, 3)]
    (first, _), (other, _) = candidates.carried_out(
        [candidates.Job(DECAY, each) for each in seeds], sn.Monitor()
    )
    assert len(other.history) == 2
    assert len(first.history) > 2
    np.testing.assert_array_equal(first.history, carry_out(DECAY, RATES).history)


def test_a_plan_without_variants_is_its_own_candidate():
    single = Train("pinn", "paper-1").plan(DECAY)
    assert single.candidates == (single,)


def test_a_phase_gets_the_iterations_that_are_left():
    made = Plan(phases=(Adam(5), LBFGS(9)), until=(0, 12))
    assert made.phase(0, 0) == Adam(5)
    assert [made.phase(1, done).iterations for done in (2, 5, 12, 20)] == [10, 7, 0, 0]
