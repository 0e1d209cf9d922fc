"""A number read off a family of solutions."""

import warnings

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


def warned(family, *data):
    """What is read off, and what is said about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = family.read_off(*data)
    assert all(one.category is sn.SafeNetWarning and one.filename == __file__ for one in caught)
    return found, [str(one.message) for one in caught]


@pytest.fixture(scope="module")
def two():
    """y = exp(−(a + b) t) and v = 1 + a t: v does not depend on b, y only on the sum."""
    problem = sn.Problem(
        ["y_t = -(a + b)*y", "v_t = a"],
        domain={"t": (0, 1)},
        conditions=["y(0) = 1", "v(0) = 1"],
        parameters={"a": (0.5, 1), "b": (0.5, 1)},
    )
    return sn.solve(problem, sn.LeastSquares(tolerance=1e-8))


def test_only_a_parameter_with_a_range_is_read_off(family, tmp_path):
    with pytest.raises(sn.SafeNetError, match="there is no column t") as caught:
        family.read_off(sn.Data(y=[0.5, 0.6]))
    assert "only a parameter with a range can be read off: k" in caught.value.remedy
    with pytest.raises(sn.SafeNetError, match="there is no column t"):
        sn.load(family.save(tmp_path / "run")).read_off(sn.Data(y=[0.5, 0.6]))
    plain = sn.solve(sn.Problem("y_t = -y", domain={"t": (0, 1)}, conditions=["y(0) = 1"]))
    with pytest.raises(sn.SafeNetError, match="no parameter with a range"):
        plain.read_off(sn.Data(y=[0.5, 0.6]))


def test_a_parameter_that_the_data_do_not_depend_on_has_no_error(family, two):
    k, said = warned(family, sn.Data(t=np.zeros(5), y=np.ones(5)))
    assert k["k"].error is None
    assert 0.5 <= k["k"] <= 1
    assert len(said) == 1
    assert "if the data depend on k at all" in said[0]
    found, said = warned(two, sn.Data(t=T, v=1 + 0.7 * T))
    assert found["a"] == pytest.approx(0.7, rel=1e-6)
    assert found["a"].error is not None
    assert found["b"].error is None
    assert len(said) == 1
    assert "if the data depend on b at all" in said[0]


def test_parameters_that_the_data_do_not_tell_apart_have_no_errors(two):
    found, said = warned(two, sn.Data(t=T, y=np.exp(-1.5 * T)))
    assert found["a"] + found["b"] == pytest.approx(1.5, rel=1e-6)
    assert found["a"].error is None
    assert found["b"].error is None
    assert len(said) == 1
    assert "do not determine a, b separately" in said[0]


def test_as_many_values_as_parameters_have_no_error_without_sigma(family):
    k, said = warned(family, sn.Data(t=[1.0], y=[np.exp(-0.7)]))
    assert k["k"] == pytest.approx(0.7, rel=1e-5)
    assert k["k"].error is None
    assert said == ["1 value for 1 parameter: no standard errors; give sigma, or more data"]
    k, said = warned(family, sn.Data(t=[1.0], y=[np.exp(-0.7)], sigma=0.01))
    assert k["k"].error == pytest.approx(0.01 * np.exp(0.7), rel=1e-2)
    assert not said


@pytest.mark.parametrize(("true", "edge"), [(0.45, 0.5), (1.05, 1.0)])
def test_a_value_at_the_edge_of_its_range_is_told(family, true, edge):
    noise = 0.05 * np.random.default_rng(0).normal(size=60)
    k, said = warned(family, sn.Data(t=T, y=np.exp(-true * T) + noise))
    assert k["k"] == edge
    assert said[0] == "k ends at the edge of its range (0.5 to 1): the data may belong to a value outside"
    assert not warned(family, sn.Data(t=T, y=np.exp(-0.501 * T)))[1]


def test_data_that_the_family_does_not_describe_are_told(family):
    _, said = warned(family, sn.Data(t=T, y=2 + np.cos(9 * T)))
    assert any("describes y worse than the mean of its values" in text for text in said)
    noise = 0.01 * np.random.default_rng(0).normal(size=60)
    _, said = warned(family, sn.Data(t=T, y=np.exp(-0.7 * T) + noise, sigma=0.001))
    assert any("times sigma" in text for text in said)
    noise[7] = 0.5
    _, said = warned(family, sn.Data(t=T, y=np.exp(-0.7 * T) + noise))
    assert any("row 8" in text for text in said)


def test_data_may_come_as_a_list_and_twice_is_told(family):
    a, b = (sn.Data(t=T[i::2], y=np.exp(-0.7 * T[i::2])) for i in (0, 1))
    assert family.read_off([a, b]) == family.read_off(a, b)
    assert any("given twice" in text for text in warned(family, a, a)[1])
