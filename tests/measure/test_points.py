"""Points in the box and on the faces: where they lie, that they repeat, and how evenly they fill."""

import numpy as np
import pytest
from scipy.stats import qmc

from safenet import library
from safenet.errors import SafeNetError
from safenet.measure.points import SAMPLERS, sample
from safenet.problem import loads

PLATE = loads("""
unknowns = ["u"]
equations = ["u_t = u_xx + u_yy"]
conditions = ["u(-1, y, t) = 0", "u(x, 0, t) = 2*u(x, 3, t)", "u(x, y, 2) = 1", "u(0, 0, t) = 0", "u(1, 3, 5) = 0"]
[domain]
x = [-1, 1]
y = [0, 3]
t = [2, 5]
""")
LOW, HIGH = np.array([-1.0, 0.0, 2.0]), np.array([1.0, 3.0, 5.0])
FREE = [(1, 2), (0, 2), (0, 1), (2,), ()]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_points_lie_in_the_box_and_vary_only_along_the_free_axes(sampler):
    points = sample(PLATE, 50, 20, sampler, seed=3)
    assert points.interior.shape == (50, 3)
    assert [len(at) for at in points.conditions] == [20, 20, 20, 20, 1]  # a corner needs one
    for at, free in zip((points.interior, *points.conditions), ((0, 1, 2), *FREE), strict=True):
        assert np.all((at >= LOW) & (at <= HIGH))
        varying = np.ptp(at, axis=0) > 0.5 * (HIGH - LOW)
        assert tuple(np.flatnonzero(varying)) == free
        assert np.all(np.ptp(at[:, ~varying], axis=0) == 0)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_seed_decides_the_points(sampler):
    first, again, other = (sample(PLATE, 16, 8, sampler, seed) for seed in (3, 3, 4))
    for a, b, c in zip(*((p.interior, *p.conditions[:4]) for p in (first, again, other)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.any(np.all(a == c, axis=1))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_each_place_has_a_stream_of_its_own(sampler):
    few, more = sample(PLATE, 16, 8, sampler, seed=3), sample(PLATE, 64, 8, sampler, seed=3)
    for a, b in zip(few.conditions, more.conditions, strict=True):
        np.testing.assert_array_equal(a, b)
    # Two faces with two free axes each do not share their points.
    unit = [(at - LOW) / (HIGH - LOW) for at in few.conditions]
    assert not np.any(np.isclose(unit[0][:, 1], unit[1][:, 0], rtol=0, atol=1e-9))


def test_samplers_are_different():
    drawn = {sampler: sample(PLATE, 16, 1, sampler, seed=3).interior for sampler in SAMPLERS}
    assert np.array_equal(drawn.pop("fresh"), drawn["uniform"])  # the first of many draws
    apart = list(drawn.values())
    assert all(not np.array_equal(a, b) for i, a in enumerate(apart) for b in apart[:i])


@pytest.mark.parametrize("sampler", ["latin", "sobol"])
def test_each_of_n_intervals_of_each_axis_has_one_point(sampler):
    unit = (sample(PLATE, 64, 1, sampler, seed=3).interior - LOW) / (HIGH - LOW)
    for column in unit.T:
        assert sorted(np.floor(64 * column).astype(int)) == list(range(64))


def test_sobol_points_fill_the_plane_more_evenly_than_random_ones():
    box = library.wave()
    discrepancy = {
        name: qmc.discrepancy(sample(box, 200, 1, name, seed=3).interior, method="L2-star")
        for name in ("sobol", "uniform")
    }
    # O(log n / n) against O(n^−½): at 200 points about a factor of ten.
    assert discrepancy["sobol"] < discrepancy["uniform"] / 4


def test_an_unknown_sampler_is_refused_with_the_nearest():
    with pytest.raises(SafeNetError, match="did you mean 'sobol'"):
        sample(PLATE, 1, 1, "sobel", seed=0)
