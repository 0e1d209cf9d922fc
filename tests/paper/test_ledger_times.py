"""Claims about times, iterations and stalls, judged by made-up rows."""

import json

import numpy as np
import pytest
from ledgers import both, judged  # noqa: F401

from safenet import SafeNetError
from safenet.bench import Store, export
from safenet.paper import Evidence, ledger, read
from safenet.paper.ablations import lambda_max
from safenet.paper.evidence import PAPER, PRINTED_K, Look, View, staged
from safenet.paper.judges import BASELINES, OURS, PROBLEMS
from safenet.paper.panels import figures
from safenet.paper.text import said
from safenet.paper.verdicts import NOT, PARTLY, REPRODUCED, TOO_FEW, UNMEASURED, Finding
from safenet.report.results import Scale
from synthetic import row


def timed(seconds):
    return [
        row("wave", method, "paper-4", 1.0, scale=0.02, points=samples, result={"pace": {"adam": pace}})
        for samples in (2500, 40_000)
        for method, pace in seconds.items()
    ]


def test_time_per_iteration():
    slow = dict.fromkeys(("rff", "rbf", "rbf-p"), 2.0)
    plain = dict.fromkeys(("pinn", "fls-pinn", "w-pinn"), 0.1)
    fast = timed(slow | plain | {OURS: 0.1})
    assert judged(fast, "faster-epochs").ours == "95% less time per iteration"
    assert judged(fast, "faster-epochs").verdict == REPRODUCED
    assert judged(fast, "runtime-like-plain").verdict == REPRODUCED
    even = timed(slow | plain | {OURS: 2.2})
    assert judged(even, "faster-epochs").ours == "10% more time per iteration"
    assert judged(even, "faster-epochs").verdict == NOT
    assert judged(even, "runtime-like-plain").verdict == NOT


def test_the_epochs_to_the_median_baselines_error():
    def curves(reached):
        baselines = [row("wave", m, "paper-1", 1e-2, curve=[[1, 1], [1000, 1e-2]]) for m in BASELINES]
        ours = row("wave", OURS, "paper-1", 1e-3, curve=[[1, 1], [reached, 1e-2], [1000, 1e-3]])
        return [*baselines, ours]

    soon, late = judged(curves(200), "fewer-epochs"), judged(curves(800), "fewer-epochs")
    reached = "where it is reached after {}% (median)"
    assert soon.ours.startswith(f"in less than 30% on 1 of 1 problems, {reached.format(20)}")
    assert late.ours.startswith(f"in less than 30% on 0 of 1 problems, {reached.format(80)}")
    never = [*curves(200)[:-1], row("wave", OURS, "paper-1", 0.1, curve=[[1, 1], [1000, 0.1]])]
    assert judged(never, "fewer-epochs").ours.startswith("in less than 30% on 0 of 1 problems, never on 1")
    assert soon.verdict == late.verdict == TOO_FEW  # one problem of eight


def stalled(*stops):
    for seed, (outcome, iterations) in enumerate(stops):
        phases = [{"name": "lbfgs", "iterations": iterations, "outcome": outcome}]
        yield row("wave", "pinn", "paper-1", 1e-2, seed, result={"phases": phases})


def test_stalling_needs_the_range_and_the_stall():
    within = judged(list(stalled(*[("stalled", 9000)] * 3, ("finished", 10_000))), "stalls")
    assert within.verdict == REPRODUCED
    assert within.ours.startswith(
        "3 of 4 runs stall in their first L-BFGS, the median after 9,000 iterations; 3 within"
    )
    early = judged(list(stalled(*[("stalled", 500)] * 4)), "stalls")
    assert early.verdict == NOT


def test_normalisation_and_domain_features():
    smooth = ("wave", "heat2d", "diffusion", "reaction")
    rows = [row(p, OURS, "paper-1", 1e-3) for p in PROBLEMS]
    rows += [
        row(p, OURS, "paper-1", 5e-3, outcome="solved" if p in smooth else "diverged", normalise="none")
        for p in PROBLEMS
    ]
    found = judged(rows, "normalisation")
    assert (found.verdict, found.ours) == (REPRODUCED, "as described on 8 of 8: ×5.0 to ×5.0, 4 fail")
    errors = {("pinn", False): 1.0, ("pinn", True): 0.92, (OURS, False): 0.128, (OURS, True): 0.108}
    rows = [row(p, m, "paper-2", e, domain=d) for p in PROBLEMS for (m, d), e in errors.items()]
    assert judged(rows, "domain-pinn").ours == "8% lower on average, lower on 8 of 8 problems"
    assert judged(rows, "fourier-alone").ours.startswith("87.2% lower on average")
    assert {judged(rows, name).verdict for name in ("domain-pinn", "fourier-alone", "domain-safe-net")} == {
        REPRODUCED
    }


def test_domain_features_by_schedule_1_are_partly_at_most():
    errors = {("pinn", False): 1.0, ("pinn", True): 0.5}
    some = [row(p, m, "paper-1", e, domain=d) for p in PROBLEMS[:4] for (m, d), e in errors.items()]
    found = judged(some, "domain-pinn")
    assert (found.verdict, found.ours) == (
        PARTLY,
        "by schedule 1: 50% lower on average, lower on 4 of 4 problems (4 of 8 problems measured)",
    )
    second = [row(p, m, "paper-2", 1.0, domain=d) for p in PROBLEMS[:4] for m, d in errors]
    assert judged([*some, *second], "domain-pinn").ours.startswith("0% lower on average")


def test_places_on_diffusion():
    errors = {OURS: (2.0, 1.0), "rba-pinn": (3.0, 3.0), "rbf-p": (1.0, 2.0)}
    rows = [
        row("diffusion", method, f"paper-{i + 1}", both[i]) for method, both in errors.items() for i in (0, 1)
    ]
    assert judged(rows, "diffusion-lead").verdict == REPRODUCED
    assert judged(rows[1:], "diffusion-lead").verdict == UNMEASURED


def test_looks_are_filed_by_k():
    density = np.array([[-0.5, 1.0, 0.0], [3.5, 3.0, 0.0]])
    looks = [Look("convection", OURS, PAPER, 1.0, density, k="auto"), Look("convection", OURS, PAPER, 2.0)]
    results = Evidence([], looks=looks)
    assert lambda_max(results.at(PAPER), "convection", OURS) == 2.0
    assert lambda_max(View(results, PAPER, PRINTED_K), "convection", OURS) == 1.0
    assert looks[0].near_one == 0.25


def test_the_ledger_says_where_a_cell_has_fewer_seeds_than_the_papers():
    rows = [row(p, OURS, "paper-1", 1e-3, seed) for p in PROBLEMS[:4] for seed in range(5)]
    whole = [*rows, *(row(p, OURS, "paper-1", 1e-2, s, depth=2) for p in PROBLEMS[:4] for s in range(5))]
    some = [*whole, *(row(p, OURS, "paper-1", 1e-2, s, depth=4) for p in PROBLEMS[:4] for s in range(2))]
    assert said(judged(some, "depth")).endswith("(4 of 8 problems measured); some cells have 2 seeds")
    every = [*whole, *(row(p, OURS, "paper-1", 1e-2, s, depth=4) for p in PROBLEMS[:4] for s in range(5))]
    assert said(judged(every, "depth")).endswith("(4 of 8 problems measured)")


def test_what_single_seeds_say_is_told_and_a_verdict_that_most_of_them_do_not_give_is_none():
    """Of five seeds of 30k, each against the one run of 20k and of 10k, two are best on every problem."""
    five = (1e-3, 1e-3, 3e-3, 3e-3, 3e-3)
    rows = [row(p, OURS, "paper-1", error, seed) for p in PROBLEMS for seed, error in enumerate(five)]
    rows += [row(p, OURS, recipe, 2e-3) for p in PROBLEMS for recipe in ("paper-3a", "paper-3b")]
    found = judged(rows, "adam-30k")
    assert found.verdict == NOT
    assert said(found).endswith(
        "some cells have 1 seed; judged seed by seed: not reproduced 3 of 5, reproduced 2 of 5"
    )
    assert Finding("x", REPRODUCED).steady([REPRODUCED, PARTLY, NOT, NOT, NOT]).verdict == TOO_FEW
    assert Finding("x", REPRODUCED).steady([REPRODUCED] * 3 + [NOT] * 2).verdict == REPRODUCED


def test_errors_that_grow_with_the_features_are_no_saturation():
    def found(many):
        errors = {16: 1e-2, 128: 1e-3, 256: many}
        return judged(
            [row(p, OURS, "paper-1", e, features=n) for p in PROBLEMS for n, e in errors.items()],
            "saturation",
        )

    assert found(0.9e-3).verdict == found(1.9e-3).verdict == REPRODUCED
    assert found(0.5e-3).verdict == found(5e-3).verdict == NOT
    assert (
        found(5e-3).ours
        == "as described on 0 of 8: error ×0.10 to ×0.10 from 16 to 128 features, ×5.0 to ×5.0 to 256"
    )


def test_one_problem_without_a_gain_decides_about_a_method_and_one_with_a_gain_does_not():
    rows = [row(p, OURS, f"paper-{i}", 1 / i) for p in PROBLEMS for i in (1, 2)]
    gaining = [row("wave", "pinn", f"paper-{i}", 1 / i) for i in (1, 2)]
    losing = [row("wave", "rbf", f"paper-{i}", 1.0 * i) for i in (1, 2)]
    assert judged([*rows, *gaining], "schedule-2-others").verdict == UNMEASURED
    assert judged([*rows, *gaining, *losing], "schedule-2-others").ours.startswith(
        "1 of 2 methods improve on every"
    )


def test_an_error_of_a_half_is_a_failure_without_normalisation_if_it_is_none_with():
    def found(error, usual):
        rows = [
            row("burgers", OURS, "paper-1", usual),
            row("burgers", OURS, "paper-1", error, normalise="none"),
        ]
        return judged(rows, "normalisation").ours

    assert found(0.7, 1e-3).startswith("as described on 1 of 1")
    assert found(0.4, 1e-3).startswith("as described on 0 of 1")
    assert found(0.7, 0.6).startswith("as described on 0 of 1")


def test_depth():
    errors = {1: 1.21, 2: 1.1, 3: 1.05, 4: 1.0, 5: 1.0, 6: 1.0}
    rows = [row(p, OURS, "paper-1", e, depth=d) for p in PROBLEMS for d, e in errors.items()]
    found = judged(rows, "depth")
    assert (found.verdict, found.ours) == (
        REPRODUCED,
        "gains: ×1.1 from one to two, ×1.1 from two to four, ×1.0 from four to six; from one to four Wave ×1.2, "
        "Diffusion ×1.2, Heat ×1.2, Allen–Cahn ×1.2, Burgers ×1.2, Navier–Stokes ×1.2",
    )
    five = [found for found in rows if found.variant.get("depth") != 6]
    assert judged(five, "depth").verdict == PARTLY  # the plateau is not measured, and is no failure
    assert "six layers are not measured" in judged(five, "depth").ours
    steep = [*rows, *(row("burgers", OURS, "paper-1", 0.1, seed, depth=4) for seed in (1, 2))]
    assert judged(steep, "depth").verdict == PARTLY  # Burgers gains 12 times, not 1.5


def test_the_rate_that_wins():
    def chosen(*rates):
        """One search on each problem, by the first seed; the second repeats what it chose."""
        return [
            row(problem, OURS, "paper-2", 1.0, seed, result={"candidates": [{"rate": rate, "chosen": True}]})
            for problem, rate in zip(PROBLEMS, rates, strict=False)
            for seed in (0, 1)
        ]

    assert judged(chosen(1e-3, 1e-3, 1e-2), "best-rate").verdict == REPRODUCED
    found = judged(chosen(1e-2, 1e-2, 1e-3, 0.1), "best-rate")
    assert (found.verdict, found.ours) == (NOT, "1e-3 wins 1 of 4 searches; 1e-2 2, 1e-1 1")


def test_the_largest_eigenvalue():
    looks = [
        Look(problem, method, PAPER, value)
        for problem in ("wave", "convection", "heat2d", "burgers")
        for method, value in (("pinn", 1e6), (OURS, 1e2))
    ]
    assert judged([], "lambda-max", looks).verdict == REPRODUCED
    assert judged([], "lambda-max", [Look("wave", "pinn", staged(PAPER, 0.03), 1.0)]).verdict == UNMEASURED


def test_the_largest_eigenvalue_is_read_from_the_store():
    def looked(method, value, **options):
        found = {"spectrum": {"lambda_max": value}}
        return row("wave", method, "paper-4", 0.1, spectrum=(100, 200), result=found, **options)

    rows = [looked("pinn", 1e6), looked(OURS, 1e2), looked("pinn", 5.0, scale=0.03)]
    view = Evidence(rows).at(PAPER)
    assert (lambda_max(view, "wave", "pinn"), lambda_max(view, "wave", "pinn", 0.03)) == (1e6, 5.0)
    found = judged(rows, "lambda-max")
    assert (found.ours, found.verdict) == ("below by ×1.0e4 on Wave (1 of 4 problems measured)", TOO_FEW)
    small = {"points": 200, "condition_points": 50}
    found = judged(
        [looked("pinn", 1e3, scale=0.02, **small), looked(OURS, 1e1, scale=0.02, **small)], "lambda-max"
    )
    assert (found.ours, found.scale) == (
        "below by ×100 on Wave (1 of 4 problems measured)",
        Scale(0.02, 200, 50, "float32"),
    )


def test_a_run_with_a_spectrum_is_no_further_seed():
    plain = [row("wave", "pinn", "paper-4", error, seed) for seed, error in enumerate((0.1, 0.3))]
    looked = row(
        "wave", "pinn", "paper-4", 0.1, spectrum=(100, 200), result={"spectrum": {"lambda_max": 1.0}}
    )
    assert Evidence([looked, *plain]).at(PAPER).error("wave", "pinn", "paper-4").values == (0.1, 0.3)
    assert Evidence([looked]).at(PAPER).median("wave", "pinn", "paper-4") == 0.1


def test_a_small_scale_is_shown_and_is_no_verdict():
    rows = [row("wave", m, "paper-1", 1e-2, scale=0.01, points=400) for m in (OURS, *BASELINES)]
    found = judged(rows, "ranks-schedule-1")
    assert found.verdict == UNMEASURED
    assert found.scale == Scale(0.01, 400, 2000, "float32")
    assert found.ours.startswith("first on 1 of 1")


def test_stores_exports_and_spectra_are_read_together(tmp_path):
    first, second = row("wave", "pinn", "paper-1", 1e-2), row("wave", "rff", "paper-1", 2e-2)
    with Store(tmp_path / "a") as a, Store(tmp_path / "b") as b:
        a.add([first])
        b.add([first, second])
        export(b, tmp_path / "b.jsonl")
    run = {"problem": "wave", "method": "pinn", "iterations": 3000, "hessian": {"lambda_max": 7.0}}
    run["gauss-newton"] = {"decades": {"0": [3, 0], "2": [1, 0]}}
    (tmp_path / "spectra.json").write_text(json.dumps({"runs": {"x": run}}))
    results = read([tmp_path / "a", tmp_path / "b.jsonl", tmp_path / "spectra.json"])
    assert sorted(found.method for found in results.rows) == ["pinn", "rff"]
    assert results.looks == (Look("wave", "pinn", staged(PAPER, 0.03), 7.0),)
    (density,) = (figure for figure in figures(results) if figure.name == "density")
    assert density.panels[0].title == "Wave, after 3,000 iterations of Adam, JᵀJ"
    (trace,) = density.panels[0].data  # none is negative
    assert trace["y"] == [0.75, 0.25]
    (tmp_path / "wrong.json").write_text("{}")
    with pytest.raises(SafeNetError, match="holds no spectra"):
        read([tmp_path / "wrong.json"])
    with pytest.raises(SafeNetError, match="there is no store"):
        read([tmp_path / "nowhere"])
    with pytest.raises(SafeNetError, match="nothing to report"):
        read([])


def test_other_splits_of_schedule_1_are_compared_on_problems_that_have_all():
    errors = {"paper-1": 1e-3, "paper-3a": 2e-3, "paper-3b": 3e-3}
    rows = [row(name, OURS, recipe, error) for name in PROBLEMS for recipe, error in errors.items()]
    assert judged(rows, "adam-30k").ours == "Schedule 1 is best on 8 of 8"
    assert judged(rows, "adam-30k").verdict == REPRODUCED
    worse = [*rows[:-1], row("backstep", OURS, "paper-3b", 1e-4)]
    assert judged(worse, "adam-30k").ours == "Schedule 1 is best on 7 of 8; 3b on Navier–Stokes"
    assert judged(worse, "adam-30k").verdict == PARTLY


def test_the_papers_own_tables_contradict_three_of_its_sentences():
    printed = {entry.name: entry.printed for entry in ledger(Evidence([]))}
    assert "RFF diverges" in printed["rff-burgers"].ours  # and is ranked in the text
    assert "3d on Reaction" in printed["schedule-2-best"].ours
    assert printed["adam-30k"].verdict == REPRODUCED
    assert printed["third"].verdict == REPRODUCED


def test_the_place_on_two_problems_counts_with_those_ahead():
    ahead = {"rba-pinn": 1e-5, "rbf-p": 2e-5, OURS: 1e-4}
    rows = [
        row(name, method, "paper-1", ahead.get(method, 1e-2))
        for name in ("allen-cahn", "burgers")
        for method in (OURS, *BASELINES)
    ]
    assert judged(rows, "third").verdict == REPRODUCED
    swapped = [
        *rows,
        row("burgers", "pinn", "paper-1", 1e-9, seed=1),
        row("burgers", "pinn", "paper-1", 1e-9, seed=2),
    ]
    assert judged(swapped, "third").ours == "place 3 on Allen–Cahn, place 4 on Burgers"
    assert judged(swapped, "third").verdict == PARTLY


def test_terms_of_the_loss_are_compared_one_by_one():
    rows = [
        row(name, method, "paper-2", 1e-3)
        for name in ("diffusion", "allen-cahn")
        for method in (OURS, "pinn")
    ]
    assert judged(rows, "loss-components").ours.startswith("0 of 8 terms are smaller")  # they are equal
    assert judged(rows, "loss-components").verdict == NOT
    assert judged(rows[:2], "loss-components").verdict == NOT  # one problem of two: enough for a no
    assert judged(rows[:1], "loss-components").verdict == UNMEASURED


def test_an_eigenvalue_near_one_is_within_a_decade():
    def found(share):
        density = np.array([[-0.5, share, 0.0], [3.5, 0.0, 1 - share]])
        return judged([], "near-one", [Look("wave", OURS, staged(PAPER, 0.03), 10.0, density)])

    assert found(0.6).verdict == REPRODUCED
    assert (found(0.4).ours, found(0.4).verdict) == ("40% of them", NOT)
    told = {"spectrum": {"lambda_max": 10.0}}
    seen = Evidence([row("wave", OURS, "paper-4", 1e-3, scale=0.03, spectrum=(2, 20), result=told)])
    assert 0 < seen.looks[0].near_one < 1


def test_the_printed_rule_is_judged_beside_the_reading_that_trains():
    rows = [row("reaction", OURS, "paper-1", 1e-2), row("reaction", OURS, "paper-1", 0.4, k="auto")]
    rows += [row("wave", OURS, "paper-1", 1.2e-3)]
    entry = judged(rows, "errors-paper-main-safe-net")
    assert entry.ours.startswith("2 of 2 as printed")
    assert entry.otherwise.ours.startswith("1 of 2 as printed, 0 better, 1 worse")  # wave is the same network
