"""Numbers in few letters, and the list of all rows."""

import math

import pytest

from safenet.report import Results, words
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
