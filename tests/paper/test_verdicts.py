"""The thresholds, and what an error is against a printed one."""

import math

import pytest

from safenet.paper.verdicts import (
    NOT,
    PARTLY,
    REPRODUCED,
    TOO_FEW,
    UNMEASURED,
    Finding,
    at_least,
    better,
    by_share,
    on_every,
    same,
)


def test_the_thresholds():
    assert [by_share(n, 8) for n in (6, 5, 2, 1)] == [REPRODUCED, PARTLY, PARTLY, NOT]
    assert [on_every(n, 8) for n in (8, 7, 4, 3)] == [REPRODUCED, PARTLY, PARTLY, NOT]
    assert [at_least(gain, 50) for gain in (200, 45, 44, 25, 24, -10)] == [
        *(REPRODUCED, REPRODUCED, PARTLY, PARTLY, NOT, NOT)
    ]
    assert same(2e-3, 1e-3)
    assert same(5e-4, 1e-3)
    assert not same(2.1e-3, 1e-3)
    assert same(math.inf, None)
    assert not same(1e-3, None)
    assert not same(math.inf, 1e-3)
    assert better(4e-4, 1e-3)
    assert better(1e-3, None)
    assert not better(6e-4, 1e-3)


@pytest.mark.parametrize(("ours", "paper"), [(1.0, None), (0.5, None), (math.inf, 1.46), (0.5, 1.46)])
def test_an_error_of_a_half_or_more_is_no_better_than_one_that_diverged(ours, paper):
    assert same(ours, paper)
    assert not better(ours, paper)
    assert better(0.49, paper)
    assert not same(ours, 0.2)  # but worse than one that is of use
    assert not better(ours, 0.2)


def test_missing_problems_limit_the_verdict():
    assert Finding("x", REPRODUCED, 8, 8).limited.verdict == REPRODUCED
    assert Finding("x", REPRODUCED, 7, 8).limited == Finding("x (7 of 8 problems measured)", PARTLY, 7, 8)
    assert Finding("x", NOT, 4, 8).limited.verdict == NOT
    assert Finding("x", REPRODUCED, 3, 8).limited.verdict == TOO_FEW
    assert Finding("", UNMEASURED, 0, 8).limited.verdict == UNMEASURED
