"""A fit is solved if what it leaves of the data is noise, and the data are enough to say so."""

import numpy as np
import pytest

import safenet as sn

CONDITIONS = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
BOX = {"x": (0, 1), "t": (0, 1)}


def heat(equation="u_t = nu*u_xx", **unknown):
    unknown = unknown or {"nu": {"start": 0.1, "above": 0}}
    return sn.Problem(equation, domain=BOX, conditions=CONDITIONS, unknown=unknown)


def temperature(x, t, nu=0.3):
    return np.sin(np.pi * x) * np.exp(-nu * np.pi**2 * t)


@pytest.fixture
def noise():
    return np.random.default_rng(0).normal


def solved(problem, *data, solver="auto"):
    return sn.solve(problem.with_data(*data), solver, monitor=sn.Monitor())


pytestmark = pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")


def test_a_model_that_lacks_a_term_is_not_solved_without_a_sigma_too(noise):
    x, t = np.random.default_rng(1).random((2, 150))
    right = solved(heat(), sn.Data(x=x, t=t, u=temperature(x, t) + 0.01 * noise(size=150)))
    assert (right.result.outcome, right.result.warnings) == ("solved", [])
    wrong = solved(heat(), sn.Data(x=x, t=t, u=temperature(x, t) + 0.2 * x + 0.01 * noise(size=150)))
    assert wrong.result.outcome == "not solved"
    assert any("are not noise" in said for said in wrong.result.warnings)


def test_what_is_noise_is_called_so_in_every_one_of_twenty_draws():
    t = np.linspace(0, 1, 50)
    decay = sn.Problem("u_t = -k*u", domain={"t": (0, 1)}, conditions=["u(0) = 1"], unknown={"k": 1})
    for seed in range(20):
        u = np.exp(-0.7 * t) + 0.05 * np.random.default_rng(seed).normal(size=50)
        found = solved(decay, sn.Data(t=t, u=u))
        assert (found.result.outcome, found.result.warnings) == ("solved", [])


@pytest.mark.parametrize("start", [1.0, 3.0])
def test_a_wave_is_found_from_a_start_that_leads_to_a_wrong_minimum(start, noise):
    t = np.linspace(1.5, 3, 60)
    data = sn.Data(x=0.3, t=t, u=np.sin(0.3 * np.pi) * np.cos(1.7 * np.pi * t) + 0.02 * noise(size=60))
    problem = sn.Problem(
        "u_tt = c**2*u_xx",
        domain={"x": (0, 1), "t": (0, 3)},
        conditions=[*CONDITIONS, "u_t(x, 0) = 0"],
        unknown={"c": {"start": start, "above": 0}},
    )
    found = solved(problem, data)
    assert found.result.outcome == "solved"
    assert abs(found.found["c"] - 1.7) < 4 * found.found["c"].error < 0.01


def test_fewer_values_than_numbers_leave_the_numbers_open():
    data = sn.Data(x=[0.5], t=[0.5], u=[0.2], sigma=0.01)
    found = solved(heat("u_t = a*u_xx - b*u", a=0.5, b=0.5), data)
    assert found.result.outcome == "not solved"
    assert found.found["a"].error is found.found["b"].error is None
    alone = solved(heat(), data)  # as many as numbers: the residual is zero, whatever σ is
    assert (alone.result.outcome, alone.result.warnings) == ("solved", [])


def test_one_value_of_a_second_kind_does_not_take_over(noise):
    x, t = np.random.default_rng(2).random((2, 100))
    many = sn.Data(x=x, t=t, u=temperature(x, t) + 0.01 * noise(size=100))
    found = solved(heat(), many, sn.Data(x=[0.5], t=[0.3], u=[0.43])).found["nu"]
    assert abs(found - 0.3) < 3 * found.error


def test_two_sets_that_contradict_each_other_are_not_solved(noise):
    t = np.linspace(0.05, 1, 20)
    sets = [sn.Data(x=0.5, t=t, u=temperature(0.5, t, nu) + 1e-3 * noise(size=20)) for nu in (0.3, 0.6)]
    assert solved(heat(), *sets).result.outcome == "not solved"


def test_values_of_a_small_solution_are_no_matter_of_units(noise):
    t = np.linspace(0, 4, 60)
    decay = sn.Problem("y_t = -k*y", domain={"t": (0, 4)}, conditions=["y(0) = 1"], unknown={"k": 1})
    found = solved(decay, sn.Data(t=t, y=np.exp(-5 * t) + 0.01 * noise(size=60), sigma=0.01))
    assert (found.result.outcome, found.result.warnings) == ("solved", [])


def test_a_number_at_its_bound_is_said_to_be_there(noise):
    x, t = np.random.default_rng(3).random((2, 100))
    data = sn.Data(x=x, t=t, u=temperature(x, t) + 0.01 * noise(size=100))
    found = solved(heat(nu={"start": 0.1, "above": 0, "below": 0.2}), data)
    assert found.result.outcome == "not solved"
    assert "nu is at its bound 0.2" in found.result.warnings[0]


def source(scale, count, noise, share):
    x = np.linspace(0.01, 0.99, count)
    u = scale * (np.sin(2 * np.pi * x) + share * noise(size=count)) / (2 * np.pi) ** 2
    problem = sn.Problem(
        "-u_xx = f",
        domain={"x": (0, 1)},
        conditions=["u(0) = 0", "u(1) = 0"],
        unknown={"f": {"of": ["x"], "start": 1}},
    )
    return solved(problem, sn.Data(x=x, u=u))


@pytest.mark.parametrize("scale", [1, 1e3])
def test_a_source_is_found_whatever_its_unit(scale, noise):
    found = source(scale, 99, noise, 5e-3)
    assert found.result.outcome == "solved"
    assert abs(found.found["f"](x=0.25) - scale) < 0.1 * scale


def test_too_few_values_have_no_standard_error(noise):
    found = source(1, 5, noise, 0.02)
    assert found.found["f"].error(x=0.5) is None
    assert any("too few values" in said for said in found.result.warnings)


def test_a_training_says_which_numbers_no_data_tell_apart(noise):
    t = np.linspace(0, 1, 30)
    decay = sn.Problem(
        "u_t = -a*b*u", domain={"t": (0, 1)}, conditions=["u(0) = 1"], unknown={"a": 0.5, "b": 0.5}
    )
    training = sn.Train("pinn", [sn.Adam(300, rate=1e-2), sn.SSBroyden(100)], points=40, width=8, depth=1)
    found = solved(decay, sn.Data(t=t, u=np.exp(-0.7 * t)), solver=training)
    assert found.result.outcome == "not solved"
    assert any("do not determine a, b separately" in said for said in found.result.warnings)
