"""What a solution misses its equations by, followed through them, is its error."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import safenet as sn
from safenet.measure.orbits.growth import _exponentials, _grown, followed

GROWTH = (
    'unknowns = ["u"]\nequations = ["u_t = {rate}*u"]\nconditions = ["u(0) = 1"]\ndomain = {{ t = [0, 3] }}\n'
)


def integrated(text: str) -> sn.Solution:
    return sn.solve(sn.loads(text), sn.Integrate(), monitor=sn.Monitor())


@pytest.mark.parametrize("rate", [2.0, 60.0, -2.0, -400.0])
def test_the_defect_of_another_problems_solution_grows_to_the_distance(rate: float) -> None:
    other, off = integrated(GROWTH.format(rate=rate * (1 + 1e-5))), 1e-5 * rate
    grown = followed(sn.loads(GROWTH.format(rate=rate)), other.field)
    # |e^{(r+δ)t} − e^{rt}| = δ t e^{rt} in first order
    t = np.linspace(0, 3, 300_001)
    distance = abs(off) * np.linalg.norm(t * np.exp(rate * t)) / np.linalg.norm(np.exp(rate * t))
    # It is sampled at the ends of some dozen pieces.
    np.testing.assert_allclose(grown.defect, distance, rtol=0.2)


def test_two_runs_that_agree_are_not_believed_against_the_defect() -> None:
    """From 6e-5 on a logistic curve: a tenfold tighter run differed by less than both were wrong."""
    start, rate = 5.823460409154844e-05, 3.678903538719458
    solution = integrated(
        f'unknowns = ["u"]\nequations = ["u_t = {rate}*u*(1 - u)"]\nconditions = ["u(0) = {start}"]\n'
        "domain = { t = [0, 3] }\n"
    )
    t = np.linspace(0, 3, 500)
    truth = 1 / (1 + (1 / start - 1) * np.exp(-rate * t))
    error = np.linalg.norm(solution(t=t) - truth) / np.linalg.norm(truth)
    assert error < 3 * solution.result.estimate


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0, 1e6])
def test_exponentials_of_many_matrices_are_those_of_each(size: float) -> None:
    random = np.random.default_rng(0)
    powers = size * (random.normal(size=(20, 3, 3)) * random.random((20, 1, 1)) - 3 * np.eye(3))
    powers[:, -1] = 0.0  # as for a defect, which is in the last column
    each = np.stack([scipy.linalg.expm(one) for one in powers])
    np.testing.assert_allclose(_exponentials(powers), each, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("lost", [np.nan, np.inf])
def test_a_defect_without_a_value_is_no_small_error(lost: float) -> None:
    flow, lengths, ones = np.zeros((2, 1, 1)), np.full(2, 0.5), np.ones((2, 1))
    parts = flow, lengths, ones, 1e-16 * ones
    assert np.isfinite(_grown(*parts, 1e-3 * ones, (0,)).defect).all()
    assert np.isinf(_grown(*parts, np.array([[lost], [1e-3]]), (0,)).defect).all()
