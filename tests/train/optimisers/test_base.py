"""The numbers of an optimiser are checked where it is made."""

import pytest

import safenet as sn
from safenet.errors import SafeNetError


@pytest.mark.parametrize(
    ("kind", "numbers", "complaint", "remedy"),
    [
        (sn.Adam, {"iterations": -5}, "Adam has iterations = -5", "whole number, at least 0"),
        (sn.Adam, {"rate": -1.0}, "Adam has rate = -1.0", "number, at least 0"),
        (sn.Adam, {"rate": float("nan")}, "Adam has rate = nan", "number"),
        (sn.Adam, {"rate": "1e-3"}, "Adam has rate = '1e-3'", "number"),
        (sn.Adam, {"every": 0}, "Adam has every = 0", "at least 1"),
        (sn.LBFGS, {"iterations": "10"}, "LBFGS has iterations = '10'", "whole number"),
        (sn.LBFGS, {"history": 0}, "LBFGS has history = 0", "at least 1"),
        (sn.SSBroyden, {"iterations": 2.5}, "SSBroyden has iterations = 2.5", "whole number"),
        (sn.SSBroyden, {"resample": -1}, "SSBroyden has resample = -1", "at least 0"),
    ],
)
def test_what_cannot_be_a_number_of_an_optimiser_is_refused_by_name(kind, numbers, complaint, remedy):
    phase = kind(5)
    vars(phase).update(numbers)  # the constructor's types are checked in tests only, and before this
    with pytest.raises(SafeNetError) as refused:
        phase.__post_init__()
    assert complaint in refused.value.message
    assert remedy in refused.value.remedy


@pytest.mark.parametrize("make", [lambda: sn.Adam(-5), lambda: sn.SSBroyden(-5), lambda: sn.Optax(None, -5)])
def test_every_optimiser_checks_its_numbers(make):
    with pytest.raises(SafeNetError, match="has iterations = -5"):
        make()


def test_zero_iterations_and_points_that_stay_are_allowed():
    assert sn.Adam(0, patience=0).iterations == sn.SSBroyden(5, resample=0).resample == 0
