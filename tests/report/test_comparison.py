"""One's own runs are compared in a table: medians, places, seeds."""

from dataclasses import replace

import pytest

import safenet as sn
from safenet import bench, library
from safenet.report import Results
from safenet.report.comparison import of_own, of_package
from safenet.report.sheets import Cell
from synthetic import cell, row

MINE = """
name = "mine"
unknowns = ["u"]
equations = ["u_t = -k*u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
parameters = { k = 3 }
"""


def own(rows, known=of_package()):  # noqa: B008 (it is cached, and never changed)
    return next(of_own(Results(rows), known=known), None)


def test_the_papers_runs_and_the_defaults_make_no_table_of_ones_own():
    assert own([row("wave", "pinn", "paper-1", 0.1), row("wave", "safe-net", "default", 1e-13)]) is None


@pytest.mark.parametrize("name", ["paper-main", "paper-2", "ours-float64", "named", "networks", "harder"])
@pytest.mark.parametrize("scale", bench.catalogue.SCALES)
def test_a_suite_of_the_package_is_known_at_both_of_its_scales(name, scale):
    cases = [case for case in bench.suite(name).cases(scale) if case.plan.seed == 0]
    rows = [bench.Row(id=c.id, **c.facts, outcome="solved", stop_reason="", environment={}) for c in cases]
    assert own(rows) is None


def test_runs_at_another_scale_than_the_papers_are_ones_own():
    rows = [row("wave", method, "paper-1", 0.1, scale=0.01, points=99) for method in ("pinn", "rff")]
    assert [line[0].text for line in own(rows).rows] == ["pinn", "rff"]


def test_without_the_paper_every_comparison_is_ones_own():
    rows = [row("wave", method, "paper-1", 0.1) for method in ("pinn", "rff")]
    rows.append(row("mine", "pinn", "paper-1", 1e-2, of=sn.loads(MINE)))
    rows.append(row("wave", "safe-net", "default", 1e-13))
    assert own(rows, known=()).head == ("method", "wave", "mine")
    assert own(rows).head == ("method", "mine")


def scored(method, error, seed=0, **result):
    made = row("mine", method, "paper-4", error, seed, of=sn.loads(MINE))
    configuration = made.configuration | {"reference": "0" * 32}
    return replace(made, configuration=configuration, result={"reference_accuracy": 6e-11, **result})


def test_the_direct_solve_that_scores_is_named_and_has_no_rank():
    stated = sn.loads(MINE)
    case = bench.Case(stated, bench.case.planned(stated, solver="auto"))
    result = {"estimate": 6e-11}
    direct = bench.Row(
        id=case.id, **case.facts, outcome="solved", stop_reason="", environment={}, result=result
    )
    rows = [
        scored("pinn", 7e-3),
        scored("safe-net", 5e-3),
        scored("rff", None, unscored="the error is small"),
    ]
    found = own([direct, *rows])
    assert found.head == ("method", "mine")
    lines = {line[0].text: (line[1].text, line[1].below) for line in found.rows}
    assert lines == {
        "safe-net": ("5.0e-3", "#1 of 2"),
        "pinn": ("7.0e-3", "#2 of 2"),
        "rff": ("not scored", ""),
        "auto": ("6.0e-11", "estimated"),
    }
    assert "mine is scored by the direct solve, estimated error 6.0e-11." in found.notes
    assert "mine: 1 run without a score, as the error is small." in found.notes


def test_runs_of_ones_own_are_ranked_beside_the_method_as_it_is_named():
    errors = {10: (1e-2, 3e-2), 50: (2e-3, 4e-3), 100: (1.0, 1.0)}  # 50 is the method's own width
    other = library.problem("convection", beta=5)
    rows = [
        row("convection", "pinn", "paper-1", error, seed, of=of, width=width, scale=0.01)
        for of in (None, other)
        for width, both in errors.items()
        for seed, error in enumerate(both)
    ]
    rows = [replace(made, outcome="diverged") if made.l2re == 1.0 else made for made in rows]
    rows.append(row("wave", "pinn", "paper-1", 1e-3))  # the paper's
    found = own(rows)
    assert found.head == ("method", "convection", "convection beta=5")
    assert [line[0].text for line in found.rows] == ["pinn", "pinn · width=10", "pinn · width=100"]
    assert cell(found, "pinn", "convection beta=5") == Cell(
        text="3.0e-3",
        below="#1 of 2",
        detail="2.0e-3 … 4.0e-3 · mean 3.0e-3 ± 1.4e-3 · 2 seeds",
        sort=3e-3,
        best=True,
    )
    assert cell(found, "pinn · width=10", "convection").below == "#2 of 2"
    diverged = cell(found, "pinn · width=100", "convection")
    assert (diverged.text, diverged.below, diverged.detail) == ("✱", "", "2 seeds, 2 diverged")


def test_without_a_reference_residuals_are_compared():
    stated = sn.loads(MINE)
    rows = [
        replace(row("mine", method, "paper-4", None, of=stated), residual=residual)
        for method, residual in (("pinn", 1e-2), ("safe-net", 1e-4))
    ]
    failed = replace(row("mine", "rff", "paper-4", None, of=stated), outcome="failed")
    found = own([*rows, failed])
    assert found.head == ("method", "mine, residual")
    assert [line[1].text for line in found.rows] == ["1.0e-4", "1.0e-2", "failed"]
    assert [line[1].below for line in found.rows] == ["#1 of 2", "#2 of 2", ""]
    assert any("residual" in note for note in found.notes)


def test_what_one_compares_may_differ_in_recipe_and_scale():
    rows = [
        row("wave", "pinn", "paper-1", 1e-2, width=7, scale=0.01),
        row("wave", "pinn", "paper-4", 1e-3, width=7, scale=0.01, points=99),
    ]
    assert [line[0].text for line in own(rows).rows] == [
        "pinn · paper-4 · width=7 · 1%, 99 + 2,000 points, float32",
        "pinn · paper-1 · width=7 · 1%, 20,000 + 2,000 points, float32",
    ]


def test_a_first_place_of_fewer_seeds_is_not_bold():
    rows = [row("wave", "pinn", "paper-1", 1e-2, seed, width=7) for seed in range(3)]
    rows += [row("wave", "pinn", "paper-1", 1e-3, seed, width=8) for seed in range(2)]
    found = own(rows)
    few = cell(found, "pinn · width=8", "wave")
    assert (few.below, few.few, few.best) == ("#1 of 2", "2 seeds", False)
    whole = cell(found, "pinn · width=7", "wave")
    assert (whole.few, whole.best) == ("", False)
