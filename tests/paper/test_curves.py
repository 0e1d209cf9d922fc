"""The median curve of seeds that were looked at unevenly, stalled, or diverged."""

import math
from dataclasses import replace

import numpy as np
import pytest

from safenet.paper import Evidence
from safenet.paper.evidence import PAPER
from synthetic import row


def curve(*points, outcome="solved", seed=0):
    found = row("wave", "pinn", "paper-1", points[-1][1], seed, curve=points, outcome=outcome)
    return replace(found, iterations=100)


def test_a_sparse_first_seed_does_not_cut_the_median_curve():
    sparse = curve((10, 0.5))
    whole = [curve((10, 0.5), (20, 0.1), (100, 1e-3), seed=seed) for seed in (1, 2)]
    found = Evidence([sparse, *whole]).at(PAPER).curve("wave", "pinn", "paper-1")
    np.testing.assert_allclose(found, [[10, 0.5], [20, 0.1], [100, 1e-3]], rtol=1e-6)


def test_curves_are_interpolated_in_log_space_and_end_where_most_of_them_do():
    rows = [
        curve((10, 1.0), (30, 1e-4)),
        curve((10, 1.0), (20, 1e-1), seed=1),
        curve((10, 1.0), (20, 1e-3), (40, 1e-3), seed=2),
    ]
    found = Evidence(rows).at(PAPER).curve("wave", "pinn", "paper-1")
    assert found[:, 0].tolist() == [10, 20, 30]  # at 40 there is one of three
    assert found[1, 1] == pytest.approx(1e-2)  # of 1e-2, between 1 and 1e-4, 1e-1 and 1e-3
    assert found[2, 1] == pytest.approx(math.sqrt(1e-4 * 1e-3))


def test_a_run_that_stalled_stays_and_one_that_diverged_is_infinite():
    """So that the curve ends at the median of the table."""
    stalled = [replace(curve((10, 1.0), (50, 1e-2), seed=seed), iterations=50) for seed in (0, 1)]
    longest = curve((10, 1.0), (100, 1e-4), seed=2)
    assert Evidence([*stalled, longest]).at(PAPER).curve("wave", "pinn", "paper-1")[-1].tolist() == [
        100,
        pytest.approx(1e-2),
    ]
    diverged = [curve((10, 1.0), (50, 9.0), seed=seed, outcome="diverged") for seed in (0, 1)]
    assert Evidence([*diverged, longest]).at(PAPER).curve("wave", "pinn", "paper-1")[-1].tolist() == [
        100,
        math.inf,
    ]
