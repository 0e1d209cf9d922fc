"""Gauss–Newton around a direct solver: numbers to many digits, with errors that repeated noise confirms."""

import numpy as np
import pytest

import safenet as sn
from safenet.inverse.plan import FitPlan
from safenet.solving.plans import plan_for

HEAT = """
name = "heat"
unknowns = ["u"]
equations = ["u_t = nu*u_xx"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
[domain]
x = [0, 1]
t = [0, 1]
[unknown]
nu = { start = 0.1, above = 0 }
"""
REACTION = """
name = "reaction"
unknowns = ["a"]
equations = ["a_t = -k*a**n"]
conditions = ["a(0) = 1"]
[domain]
t = [0, 3]
[unknown]
k = { start = 0.5, above = 0 }
n = { start = 1, above = 0 }
"""
NU = 0.3
pytestmark = pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")


@pytest.fixture(scope="module")
def probe():
    x, t = np.random.default_rng(0).random((2, 100))
    return x, t, np.exp(-NU * np.pi**2 * t) * np.sin(np.pi * x)


def heat(x, t, u, text=HEAT, **more):
    return sn.loads(text).with_data(sn.Data(x=x, t=t, u=u, **more))


def test_without_noise_the_number_is_found_to_rounding(probe):
    sol = sn.solve(heat(*probe))
    assert abs(sol.found["nu"] - NU) < 1e-10
    assert sol.result.outcome == "solved"
    assert sol.result.estimate < 1e-8
    assert "Gauss–Newton" in sol.result.reasons[0]
    # The solution is that of the number found, not of the start.
    assert sol(x=0.5, t=0.5) == pytest.approx(np.exp(-NU * np.pi**2 / 2), rel=1e-9)


@pytest.mark.slow
def test_the_standard_error_is_the_spread_over_repeated_noise(probe):
    """Ten repetitions: Σ((ν − 0.3)/error)² is χ² with ten degrees of freedom, between 2.2 and 25 at 99 %."""
    x, t, u = probe
    noise = 0.01 * np.random.default_rng(1).normal(size=(10, 100))
    found = [sn.solve(heat(x, t, u + e, sigma=None)).found["nu"] for e in noise]
    # The Cramér–Rao bound, from ∂u/∂ν = −π² t u.
    bound = 0.01 / np.linalg.norm(np.pi**2 * t * u)
    assert [number.error for number in found] == pytest.approx([bound] * 10, rel=0.3)
    assert 2.2 < sum(((number - NU) / number.error) ** 2 for number in found) < 25


def test_a_known_sigma_sets_the_error(probe):
    x, t, u = probe
    sol = sn.solve(heat(x, t, u + 0.01 * np.random.default_rng(2).normal(size=100), sigma=0.01))
    assert sol.found["nu"].error == pytest.approx(0.01 / np.linalg.norm(np.pi**2 * t * u), rel=0.03)
    assert sol.result.fit[0]["chi"] == pytest.approx(1, abs=0.2)
    wrong = sn.solve(heat(x, t, u + 0.01 * np.random.default_rng(2).normal(size=100), sigma=0.001))
    assert any("times sigma" in text for text in wrong.result.warnings)
    assert wrong.found["nu"].error == pytest.approx(sol.found["nu"].error, rel=0.2)


def test_a_number_in_the_data_alone_an_exponent_and_a_rate():
    t = np.linspace(0.1, 3, 40)
    a = (1 + 0.5 * 0.8 * t) ** -2.0  # n = 3/2, k = 0.8
    sol = sn.solve(sn.loads(REACTION).with_data(sn.Data(t=t, a=a)))
    assert abs(sol.found["k"] - 0.8) < 1e-7
    assert abs(sol.found["n"] - 1.5) < 1e-7
    assert 0.5 < sol.result.correlations["k, n"] < 1


def test_what_the_data_do_not_determine_is_named_and_nothing_is_estimated(probe):
    text = HEAT.replace("nu*u_xx", "nu*c*u_xx") + "c = {}\n"
    sol = sn.solve(heat(*probe, text))
    assert sol.found["nu"] * sol.found["c"] == pytest.approx(NU, rel=1e-8)
    assert sol.found["nu"].error is None
    assert sol.found["c"].error is None
    assert any(
        "nu by −1 % and c by +1 %" in w or "nu by +1 % and c by −1 %" in w for w in sol.result.warnings
    )
    assert sol.result.estimate is None


def test_a_number_that_no_value_depends_on_is_named(probe):
    _x, t, _u = probe
    text = HEAT.replace("u(x, 0) = sin(pi*x)", "u(x, 0) = sin(pi*x) + c*sin(2*pi*x)") + "c = { start = 0 }\n"
    sol = sn.solve(heat(np.full(100, 0.5), t, np.exp(-NU * np.pi**2 * t), text))
    assert sol.found["c"].error is None
    assert abs(sol.found["nu"] - NU) < 1e-8
    assert any("do not depend on c" in text for text in sol.result.warnings)


@pytest.mark.slow
def test_outliers_contradictions_and_other_units_are_named(probe):
    x, t, u = probe
    noisy = u + 0.01 * np.random.default_rng(3).normal(size=100)
    wild = noisy.copy()
    wild[6] += 1
    (said,) = sn.solve(heat(x, t, wild)).result.warnings
    assert "row 7 (" in said
    assert "far from the fit" in said
    scaled = sn.solve(heat(x, t, 1000 * noisy)).result
    assert any("units" in text for text in scaled.warnings)
    assert scaled.outcome == "not solved"
    twice = heat([*x, x[4]], [*t, t[4]], [*noisy, noisy[4] + 1.0], sigma=0.01)
    assert any("rows 5 and 101 contradict" in text for text in sn.solve(twice).result.warnings)


def test_bounds_are_kept():
    text = HEAT.replace("above = 0", "above = 0, below = 0.2")
    x, t = np.random.default_rng(0).random((2, 30))
    sol = sn.solve(heat(x, t, np.exp(-NU * np.pi**2 * t) * np.sin(np.pi * x), text))
    assert 0.19 < sol.found["nu"] < 0.2


def test_two_kinds_of_data_count_by_their_noise():
    """u to 1e-4 and its flux, in units of 1e3, to 10 %: the flux must not spoil what u tells."""
    rng = np.random.default_rng(4)
    x, t = rng.random((2, 100))
    u, slope = (np.exp(-NU * np.pi**2 * t) * f(np.pi * x) for f in (np.sin, np.cos))
    flux = -1e3 * np.pi * slope
    exact = sn.Data(x=x, t=t, u=u + 1e-4 * rng.normal(size=100))
    rough = sn.Data(x=x, t=t, flux=flux + 100 * rng.normal(size=100), value="-1000*u_x")
    sol = sn.solve(sn.loads(HEAT).with_data(exact, rough))
    assert abs(sol.found["nu"] - NU) < 3 * sol.found["nu"].error < 1e-4


def test_a_run_folder_holds_the_data_and_what_was_found(probe, tmp_path):
    sol = sn.solve(heat(*probe), out=tmp_path / "run")
    again = sn.load(tmp_path / "run")
    assert again.found == sol.found
    assert isinstance(again.plan, FitPlan)
    assert again(x=0.3, t=0.2) == sol(x=0.3, t=0.2)
    assert again.problem == sol.problem
    assert len(again.problem.measured[0].values) == 100
    assert again.error().held_out.worst < 1e-9  # of the problem at the number found
    resumed = sn.resume(tmp_path / "run")
    assert resumed.found == sol.found


def test_data_without_unknown_numbers_are_compared(probe):
    x, t, u = probe
    problem = heat(x, t, u + 0.5).with_parameters(nu=NU)
    sol = sn.solve(problem)
    assert sol.found == {}
    assert sol.result.fit[0]["rms"] == pytest.approx(0.5, rel=1e-6)


def test_a_solver_that_is_asked_for_is_the_one_inside(probe):
    assert {type(p).__name__ for p in plan_for(heat(*probe), sn.LeastSquares()).passes} == {"LeastSquares"}
    assert plan_for(heat(*probe), sn.Fit(sn.Modes())).passes == plan_for(heat(*probe), "modes").passes


@pytest.mark.slow
def test_three_constants_of_lorenz():
    text = (
        'unknowns = ["x", "y", "z"]\n'
        'equations = ["x_t = s*(y - x)", "y_t = x*(r - z) - y", "z_t = x*y - b*z"]\n'
        'conditions = ["x(0) = -8", "y(0) = 7", "z(0) = 27"]\n[domain]\nt = [0, 3]\n[unknown]\ns = 8\nr = 25\nb = 2\n'
    )
    from scipy.integrate import solve_ivp

    def rate(_, u):
        return [10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]]

    t = np.linspace(0.03, 3, 100)
    y = solve_ivp(rate, (0, 3), [-8, 7, 27], "DOP853", t, rtol=1e-12, atol=1e-12).y
    sol = sn.solve(sn.loads(text).with_data(sn.Data(t=t, **dict(zip("xyz", y, strict=True)))))
    assert list(sol.found.values()) == pytest.approx([10, 28, 8 / 3], rel=1e-8)
