"""Numbers in few letters, and the list of all rows."""

import math
from dataclasses import replace

import pytest

from safenet.report import Results, words
from safenet.report.comparison import of_own
from safenet.report.results import Summary
from safenet.report.sheets import detail, of_rows
from synthetic import cell, row


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.21e-3, "1.2e-3"), (1.46, "1.5e0"), (math.inf, "✱"), (None, "–"), (0.0, "0.0e0")],
)
def test_short_numbers(value, text):
    assert words.short(value) == text


def test_details_name_what_failed():
    assert detail(Summary((1e-3,), failed=2)) == "1 seed, 2 failed"


def test_the_mean_says_of_how_many_seeds_it_is():
    assert "mean 2.0e-3 ± 1.4e-3 of 2 · 3 seeds, 1 diverged" in detail(Summary((1e-3, 3e-3, math.inf)))
    assert "mean 2.0e-3 ± 1.4e-3 · 2 seeds" in detail(Summary((1e-3, 3e-3)))
    rows = [row("wave", "pinn", "paper-1", error, seed) for seed, error in enumerate((1e-3, 3e-3))]
    rows.append(row("wave", "pinn", "paper-1", 1.0, 2, outcome="diverged"))
    listed = next(found for found in of_rows(Results(rows)) if found.name == "all")
    assert cell(listed, "wave", "mean ± sd").text == "2.0e-3 ± 1.4e-3 of 2"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "×2.0"),
        (21.3, "×21"),
        (0.14, "×0.14"),
        (2.7e-3, "×0.0027"),
        (3e-5, "×3.0e-5"),
        (2.1e4, "×2.1e4"),
    ],
)
def test_factors_have_two_digits(value, text):
    assert words.factor(value) == text


def direct(problem, solver, error):
    """A row of a direct solve: no method, no recipe, a plan of passes."""
    made = row(problem, "safe-net", "default", error)
    configuration = made.configuration | {"plan": {"solver": solver, "passes": []}}
    return replace(
        made, id=f"{problem}-{solver}", solver=solver, method=None, recipe=None, configuration=configuration
    )


def test_a_direct_solve_is_listed_by_its_solver():
    results = Results([direct("wave", "auto", 1e-15), direct("wave", "march", 1e-9)])
    lists = {found.name: found for found in of_rows(results)}
    assert [[line[place].text for place in (1, 2, 4, -1)] for line in lists["all"].rows] == [
        ["auto", "", "1.0e-15", "its own"],
        ["march", "", "1.0e-9", "its own"],
    ]
    assert [line[1].text for line in lists["defaults"].rows] == ["auto"]


def test_direct_solves_are_compared_with_networks():
    rows = [direct("wave", "auto", 1e-15), direct("wave", "march", 1e-9)]
    assert next(of_own(Results(rows[:1])), None) is None  # what the default reaches
    own = next(of_own(Results([*rows, row("wave", "pinn", "paper-1", 1e-3, width=7)])))
    assert [line[0].text for line in own.rows] == ["auto", "march", "pinn · width=7"]
    assert any("choose points" in note for note in own.notes)
