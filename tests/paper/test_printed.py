"""The suites have the cases of the paper's tables, and the printed numbers fit them."""

import dataclasses
from functools import cache

import pytest

from safenet import METHODS, RECIPES, bench, library, paper
from safenet.networks.methods import settled
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.lbfgs import LBFGS


@cache
def cases_of(name):
    return bench.suite(name).cases()


@pytest.mark.parametrize(
    ("name", "methods", "problems", "others", "seeds"),
    [
        ("paper-main", 10, 9, 1, 5),
        ("paper-schedule-2", 8, 9, 1, 5),
        ("paper-2", 4, 9, 1, 5),
        ("paper-spectrum", 9, 7, 2, 1),
        ("paper-schedule-3", 8, 8, 5, 5),
        ("paper-schedule-4", 8, 8, 1, 5),
        ("paper-optimisers", 1, 8, 8, 5),
        ("paper-activation", 1, 8, 5, 5),
        ("paper-features", 1, 8, 13, 5),
        ("paper-frequencies", 1, 8, 3, 5),
        ("paper-amplitudes", 1, 8, 4, 5),
        ("paper-depth", 1, 8, 6, 5),
        ("paper-normalisation", 1, 8, 2, 5),
        ("paper-domain", 2, 8, 2, 5),
        ("paper-nh-heat", 8, 1, 1, 5),
        ("paper-parameters", 8, 1, 1, 1),
    ],
)
def test_a_suite_has_as_many_cases_as_its_table_in_the_paper(name, methods, problems, others, seeds):
    cases = cases_of(name)
    assert len(cases) == methods * problems * others * seeds
    assert len({case.id for case in cases}) == len(cases)
    assert len({case.group for case in cases}) == len(cases) // seeds
    assert len({case.plan.method for case in cases}) == methods
    assert len({case.problem.name for case in cases}) == problems


def test_spectra_are_taken_with_the_papers_probes_and_steps():
    cases = cases_of("paper-spectrum")
    assert {case.spectrum for case in cases} == {(100, 200)}
    assert {case.plan.phases for case in cases} == {(Adam(3_000),), (Adam(100_000),)}
    assert [case.plan.phases[0].iterations for case in cases] == [3_000] * 63 + [100_000] * 63


def test_the_main_comparison_at_full_scale_is_the_protocol():
    for case in cases_of("paper-main"):
        plan = case.plan
        assert (plan.precision, plan.interior, plan.condition, plan.sampler) == (
            *("float32", 20_000, 2_000),
            "uniform",
        )
        assert plan.phases == (Adam(30_000), LBFGS(10_000))


# ---- what the paper prints


def test_the_printed_numbers_belong_to_problems_methods_and_recipes_that_exist():
    tables = paper.tables()
    assert sum(len(table.cells) for table in tables) > 800
    for table in tables:
        assert table.suite in bench.names()
        for cell in table.cells:
            assert cell.problem in library.names()
            assert cell.method in METHODS
            assert cell.recipe is None or cell.recipe in RECIPES
            assert cell.value is None or cell.value > 0


def test_every_printed_error_has_its_case_in_the_suite():
    for table in paper.tables():
        if table.quantity != "l2re":
            continue
        found = {
            (c.problem.name, c.plan.method, c.plan.recipe, c.plan.network) for c in cases_of(table.suite)
        }
        for cell in table.cells:
            network = dataclasses.replace(METHODS[cell.method], **cell.options)
            network = settled(library.problem(cell.problem), network)
            assert (cell.problem, cell.method, cell.recipe, network) in found, (table.label, cell)


def test_some_printed_numbers_read_from_the_paper_by_eye():
    cells = {(t.label, c.problem, c.method, c.recipe): c.value for t in paper.tables() for c in t.cells}
    assert cells["optimizer_comparison_config1", "wave", "safe-net-literal", "paper-1"] == 1.21e-3
    assert cells["optimizer_comparison_config1", "burgers", "w-pinn", "paper-1"] is None
    assert cells["optimizer_comparison_config2", "backstep", "rbf-p", "paper-2"] == 2.12e-1
    assert cells["tab:optimizer_comparison_alternatives_rbfp", "heat2d", "rbf-p", "paper-3c"] == 8.12e-3
    assert cells["tab:adam_only_results", "wave", "pinn", "paper-4"] == 2.03e-1
    assert cells["tab:nh-heat", "nh-heat", "rba-pinn", "paper-2"] == 3.22e-4
    # The two numbers that it prints for the same run.
    assert cells["optimizer_comparison_config1", "allen-cahn", "safe-net-literal", "paper-1"] == 1.97e-3
    assert cells["l2re adam lbfgs squared safenet", "allen-cahn", "safe-net-literal", "paper-1"] == 9.97e-4


def test_the_reductions_of_eigenvalues_are_the_quotients_of_the_eigenvalues():
    """The paper's two tables agree with each other to the digits printed: a check of how they were copied."""
    end = next(t for t in paper.tables() if t.quantity == "lambda_max" and "100k" in t.title)
    values = {(c.problem, c.method): c.value for c in end.cells}
    for cell in next(t for t in paper.tables() if t.label == "tab:eigenvalue_reduction").cells:
        quotient = values[cell.problem, cell.method] / values[cell.problem, "safe-net-literal"]
        assert quotient == pytest.approx(cell.value, rel=0.06)


def test_claims_and_quotations_are_whole():
    assert len({claim.name for claim in paper.claims()}) == len(paper.claims()) > 15
    assert all(claim.suite in bench.names() and claim.text.endswith(".") for claim in paper.claims())
    for quotation in paper.quoted():
        assert len(quotation.problems) == len(quotation.columns)
        assert set(quotation.problems) <= {"", *library.names()}
        assert all(len(values) == len(quotation.columns) for _, values in quotation.rows)
