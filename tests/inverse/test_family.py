"""A number read off a family of solutions."""

import numpy as np
import pytest

import safenet as sn

T = np.linspace(0.1, 1, 60)


@pytest.fixture(scope="module")
def family():
    problem = sn.Problem(
        "y_t = -k*y", domain={"t": (0, 1)}, conditions=["y(0) = 1"], parameters={"k": (0.5, 1)}
    )
    return sn.solve(problem, sn.LeastSquares(tolerance=1e-6))


def test_without_noise_it_is_found_as_well_as_the_family_is_solved(family):
    assert family.read_off(sn.Data(t=T, y=np.exp(-0.7 * T)))["k"] == pytest.approx(0.7, rel=1e-5)
    slopes = sn.Data(t=T, slope=-0.7 * np.exp(-0.7 * T), value="y_t")
    assert family.read_off(slopes)["k"] == pytest.approx(0.7, rel=1e-5)


def test_its_error_is_that_of_least_squares(family):
    rng = np.random.default_rng(0)
    data = sn.Data(t=T, y=np.exp(-0.7 * T) + 0.01 * rng.normal(size=60), sigma=0.01)
    k = family.read_off(data)["k"]
    bound = 0.01 / np.linalg.norm(T * np.exp(-0.7 * T))
    assert k.error == pytest.approx(bound, rel=0.15)
    assert abs(k - 0.7) < 3 * k.error


def test_data_with_every_column_leave_nothing_to_find(family):
    with pytest.raises(sn.SafeNetError, match="nothing is left"):
        family.read_off(sn.Data(t=T, k=0.7, y=T))
