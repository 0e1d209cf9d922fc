"""Known paces give known times; what is not known is said."""

from dataclasses import replace
from functools import cache

import pytest

from safenet import library
from safenet.bench import Row, suite
from safenet.bench.__main__ import main
from safenet.bench.case import Case, planned
from safenet.bench.progress import Lines
from safenet.bench.projection import Paces, cells, iterations, listing, outlook, table
from safenet.bench.running import Event
from safenet.bench.store import Store
from safenet.run.outlook import duration

stated = cache(library.problem)
GPU = "gpu:made up"


def case(problem="wave", method="pinn", recipe="paper-1", seed=0, spectrum=None, **options):
    plan = planned(stated(problem), method=method, recipe=recipe, **options)
    return Case(stated(problem), replace(plan, seed=seed), spectrum)


def row(of, pace, together=5, device=GPU, rest=10.0, **values):
    """A row whose phases took pace × iterations in all, and `rest` besides."""
    told = {"outcome": "finished"}
    done = [{"name": k, "iterations": n, **told} for k, n in iterations(of).items() if k in pace]
    seconds = (sum(pace[part["name"]] * part["iterations"] for part in done) + rest) / together
    result = {"pace": pace, "phases": done, **values}
    told = {"outcome": "solved", "stop_reason": "", "environment": {"together": together}}
    return Row(id=of.id, **of.facts, **told, device=device, seconds=seconds, l2re=1e-3, result=result)


PACE = {"adam": 2e-3, "lbfgs": 4e-3}


def test_a_cell_takes_its_iterations_and_what_is_no_iteration():
    paces = Paces([row(case(scale=0.1), PACE)])
    seconds, sure = paces.seconds(case(), 5)
    assert seconds == pytest.approx(30_000 * 2e-3 + 10_000 * 4e-3 + 10)
    assert sure
    assert paces.seconds(case(), 1)[0] == pytest.approx((30_000 * 2e-3 + 10_000 * 4e-3) / 5 + 10)


def test_one_seed_tries_five_rates_for_all():
    counts = iterations(case(recipe="paper-2"))
    assert counts == {"adam": 3_000 + 24_000, "lbfgs": 10_000 + 3_000}
    paces = Paces([row(case(scale=0.1), PACE)])
    one = (27_000 * 2e-3 + 13_000 * 4e-3) / 5
    assert paces.seconds(case(recipe="paper-2"), 5)[0] == pytest.approx(9 * one + 2 * 10)
    assert paces.seconds(case(recipe="paper-2", seed=1), 4)[0] == pytest.approx(4 * one + 10)


def test_other_problems_and_methods_stand_in_and_other_sizes_and_devices_do_not():
    paces = Paces(
        [row(case(), PACE), row(case("burgers"), PACE), row(case(method="rbf"), PACE, device="cpu")]
    )
    assert paces.device == GPU
    own, other = paces.seconds(case(), 5), paces.seconds(case("diffusion"), 5)
    assert (own[1], other[1]) == (True, False)
    assert other[0] == pytest.approx(own[0])
    assert paces.seconds(case(method="rbf"), 5)[0] == pytest.approx(own[0])
    assert paces.seconds(case(points=100), 5) == (None, False)
    assert paces.seconds(case(recipe="default"), 5) == (None, False)
    assert Paces([]).left([case()]) is None


def test_products_with_the_hessian_count():
    looked = case(recipe="paper-4", spectrum=(100, 200))
    paces = Paces([row(looked, {"adam": 1e-3}, together=1, spectrum={"seconds": 40.0})])
    seconds, _ = paces.seconds(case(recipe="paper-4", spectrum=(50, 200)), 1)
    assert seconds == pytest.approx(100_000 * 1e-3 + 20 + 10)


def test_the_listing_has_a_line_for_each_cell_and_their_sum():
    seeds = [case(seed=seed) for seed in range(5)]
    others = [case("burgers", seed=seed) for seed in range(5)]
    done = [row(one, PACE) for one in [*seeds, others[0]]]
    first, second, total = listing(outlook([*seeds, *others], done))
    assert first.split(maxsplit=2) == ["1", "done", "wave · pinn · paper-1 · 5 seeds"]
    assert "1.5 min" in second
    assert second.endswith("burgers · pinn · paper-1 · 5 seeds, 1 done")
    assert total == "10 cases in 2 cells, 6 done; left: 1.5 min by 6 rows of gpu:made up"


def test_what_failed_is_not_done_and_is_taken_again_on_demand():
    seeds, lone = [case(seed=seed) for seed in range(3)], case("burgers")
    rows = [row(one, PACE) for one in [*seeds, lone]]
    rows[1], rows[3] = (replace(rows[i], outcome="failed", result={}) for i in (1, 3))
    first, second, total = listing(outlook([*seeds, lone], rows))
    assert first.endswith("done  wave · pinn · paper-1 · 3 seeds, 2 done, 1 failed")
    assert second.split(maxsplit=2) == ["2", "failed", "burgers · pinn · paper-1 · seed 0"]
    assert total == "4 cases in 2 cells, 2 done, 2 failed (--retry)"
    again = outlook([*seeds, lone], rows, retry=True)
    assert [(look.left, look.failed) for look in again] == [(1, 0), (1, 0)]
    told = table(again)
    assert (told["cases"], told["done"], told["failed"]) == (4, 2, 0)
    assert told["seconds"] == sum(cell["seconds"] for cell in told["cells"]) > 0
    assert told["cells"][0]["seeds"] == [0, 1, 2]


def test_the_main_comparison_begins_with_what_tells_most_and_ends_with_what_takes_longest():
    order = [(cell[0].problem.name, cell[0].plan.method) for cell in cells(suite("paper-main").cases())]
    assert {method for _, method in order[:35]} == {
        "safe-net",
        "safe-net-literal",
        "pinn",
        "rbf-p",
        "rff-tuned",
    }
    assert {problem for problem, _ in order[:10]} == {"wave", "convection"}
    assert {problem for problem, _ in order[-20:]} == {"heat2d", "backstep"}


def test_a_line_tells_of_a_cell_its_time_and_what_is_left(capsys):
    seeds = [case(seed=seed) for seed in range(3)]
    rows = [row(one, PACE) for one in seeds]
    rows[2] = replace(rows[2], outcome="diverged", l2re=2.0)
    with Lines() as say:
        say(Event(seeds, [], 0, 450))
        assert (
            capsys.readouterr().err == "450 of 450 cases to do; the first takes longer because it compiles\n"
        )
        say(Event(seeds, [], 0, 450))  # another has begun: nothing to say
        say(Event(seeds, rows, 3, 450, 41.2, 3 * 3600))
    line = capsys.readouterr().err
    assert (
        "3/450  2 solved, 1 diverged   1.00e-03     41 s  wave · pinn · paper-1 · 3 seeds  (3.0 h left)"
        in line
    )
    assert line.count("\n") == 1


def test_rows_are_taken_over_before_the_plan_is_listed(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(
        'problems = ["wave"]\nmethods = ["pinn"]\nrecipes = ["paper-1"]\nseeds = 5'
    )
    with Store(tmp_path / "other") as other:
        other.add([row(case(seed=seed), PACE) for seed in range(5)])
    words = [str(tmp_path / "mine.toml"), "--out", str(tmp_path / "out"), "--dry-run"]
    assert main([*words, "--merge", str(tmp_path / "other")]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"5 rows from {tmp_path / 'other'}"
    assert said[-1] == "5 cases in 1 cells, 5 done"


@pytest.mark.parametrize(("seconds", "text"), [(42, "42 s"), (210, "3.5 min"), (7560, "2.1 h")])
def test_durations(seconds, text):
    assert duration(seconds) == text
