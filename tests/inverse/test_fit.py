"""Gauss–Newton around a direct solver: numbers to many digits, with errors that repeated noise confirms."""

import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.inverse.fit import Fitting
from safenet.inverse.plan import FitPlan
from safenet.measure.misfit import complaints
from safenet.run.budget import Budget
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
    assert abs(sol.found["nu"] - NU) <= 3 * sol.found["nu"].error < 1e-12
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
    assert any("near c = " in text and "do not depend on c" in text for text in sol.result.warnings)


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


def test_a_tolerance_that_is_missed_inside_a_fit_is_a_warning(probe):
    x, t, u = probe
    plan = plan_for(heat(x, t, u), sn.Auto(tol=1e-3))
    assert plan.tol == FitPlan.from_json(plan.to_json()).tol == 1e-3
    assert plan == FitPlan.from_json(plan.to_json())
    kink = HEAT.replace("sin(pi*x)", "sin(pi*x)*(1 + 1e-3*abs(x - 0.4))")
    known = sn.loads(kink.replace("[unknown]", "[parameters]").replace("{ start = 0.1, above = 0 }", str(NU)))
    fit = sn.solve(heat(x, t, sn.solve(known, "march")(x=x, t=t), kink), sn.Auto(tol=1e-9))
    assert any("the tolerance of 1e-09 is missed" in said for said in fit.result.warnings)
    assert fit.result.outcome == "not solved"


def test_a_beginning_that_misleads_is_left_again():
    """The first half of the data belongs to another decay: alone, it asks for k = 0, which fits all data worse."""
    t = np.linspace(0.1, 4, 40)
    decay = sn.Problem(
        "y_t = -k*y",
        domain={"t": (0, 4)},
        conditions=["y(0) = 1"],
        unknown={"k": {"start": 1.8, "above": 0}},
        data=sn.Data(t=t, y=np.exp(-t) + np.where(t < 2.05, 2 * np.sin(2 * t), 0)),
    )
    fitting = Fitting(decay, plan_for(decay), sn.Monitor(), Budget())
    fitting.best = start = fitting._begun()
    fitting._lead_in()
    assert fitting._misfit(fitting.best) <= fitting._misfit(start)


def test_a_robin_coefficient_is_found_by_the_one_solver_that_does_best():
    """u = e^(−λ²t/10) sin λx, λ cot λ = −h: with any other h the initial values bend at the face, and series fail."""
    lam, h = 2.2889297281034042, 2.0
    assert np.isclose(lam / np.tan(lam), -h)
    x, t = np.random.default_rng(3).random((2, 60))
    problem = sn.Problem(
        "u_t = u_xx/10",
        domain={"x": (0, 1), "t": (0, 1)},
        conditions=["u(0, t) = 0", "u_x(1, t) = -h*u(1, t)", f"u(x, 0) = sin({lam!r}*x)"],
        unknown={"h": {"start": 1, "above": 0}},
        data=sn.Data(x=x, t=t, u=np.exp(-(lam**2) * t / 10) * np.sin(lam * x)),
    )
    sol = sn.solve(problem)
    assert abs(sol.found["h"] - h) <= 3 * sol.found["h"].error < 1e-4
    assert {record.name for record in sol.result.phases} == {"Gauss–Newton", "marching on cells"}


def test_the_standard_error_of_data_without_noise_is_the_error_of_the_solution():
    t = np.linspace(0.1, 3, 40)
    reaction = sn.loads(REACTION).with_data(sn.Data(t=t, a=(1 + 0.4 * t) ** -2.0))
    sol = sn.solve(reaction, sn.Fit(sn.Integrate(tolerance=1e-6)))
    for name, truth in (("k", 0.8), ("n", 1.5)):
        assert abs(sol.found[name] - truth) < 3 * sol.found[name].error < 1e-3


def test_a_start_on_a_symmetry_of_the_data_is_left():
    """u + v is symmetric in a and b: at a = b both have the same sensitivity, and the misfit has a saddle."""
    t = np.linspace(0.05, 2, 60)
    u, v = np.exp(-0.7 * t), 0.7 / 0.6 * (np.exp(-0.7 * t) - np.exp(-1.3 * t))
    problem = sn.Problem(
        ["u_t = -a*u", "v_t = a*u - b*v"],
        domain={"t": (0, 2)},
        conditions=["u(0) = 1", "v(0) = 0"],
        unknown={"a": {"start": 1, "above": 0}, "b": {"start": 1, "above": 0}},
        data=sn.Data(t=t, s=u + v, value="u + v"),
    )
    assert sorted(sn.solve(problem).found.values()) == pytest.approx([0.7, 1.3], rel=1e-6)


def test_a_number_beside_a_coefficient_that_jumps_is_found_around_elements():
    """(k u′)′ = −m with k = 1, then 4: u = m (c x − x²/2) left of the jump, c = 0.35 as u(1) = 0."""
    rock = sn.Table(
        np.array([[1.0, 1.0], [4.0, 4.0]]), x=[0.25, 0.75], y=[0.25, 0.75], interpolation="constant"
    )
    x, y = np.random.default_rng(5).random((2, 40)) * 0.45
    problem = sn.Problem(
        "diff(k*u_x, x) + diff(k*u_y, y) = -m",
        domain={"x": (0, 1), "y": (0, 1)},
        conditions=["u(0, y) = 0", "u(1, y) = 0", "u_y(x, 0) = 0", "u_y(x, 1) = 0"],
        tables={"k": rock},
        unknown={"m": 1},
        data=sn.Data(x=x, y=y, u=3 * (0.35 * x - x**2 / 2)),
    )
    assert sn.solve(problem).found["m"] == pytest.approx(3, rel=1e-4)


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


def test_a_sigma_far_too_large_is_named():
    t = np.linspace(0, 1, 20)
    data = sn.Data(t=t, u=np.exp(-t) + 1e-3 * np.cos(40 * t), sigma=1.0)
    decay = sn.Problem("u_t = -u", domain={"t": (0, 1)}, conditions=["u(0) = 1"], data=data)
    (said,) = sn.solve(decay).result.warnings
    assert "only 0.0007 times sigma" in said


def test_a_network_that_follows_the_noise_of_its_data_is_named():
    """Half of sigma at forty values is no chance, and nothing is said of a solver that has no such freedom."""
    t, rng = np.linspace(0, 1, 40), np.random.default_rng(0)
    noise = 0.1 * rng.normal(size=t.size)
    data = sn.Data(t=t, u=np.exp(-t) + noise, sigma=0.1)
    decay = sn.Problem("u_t = -u", domain={"t": (0, 1)}, conditions=["u(0) = 1"], data=data)

    def follows(point):
        return jnp.exp(-point) + jnp.interp(point, t, noise) / 2

    assert not complaints(decay, sn.solve(decay, monitor=sn.Monitor()).field, 1e-9)
    said = complaints(decay, follows, 0.5)
    assert any("the network follows the noise" in text and '{"data u": 0.01}' in text for text in said)


def test_a_fit_that_explains_less_than_the_mean_of_the_data_is_not_solved():
    """A decay cannot be cos 5t + 1/2; cos ωt can, also from where a first fit ends in a minimum near 2.2."""
    random = np.random.default_rng(3)
    t = np.linspace(0, 10, 200)
    data = sn.Data(t=t, y=np.cos(5 * t) + 0.05 * random.normal(size=200))
    decay = sn.Problem("y_t = -k*y", domain={"t": (0, 10)}, conditions=["y(0) = 20"], unknown={"k": 1})
    with pytest.warns(sn.SafeNetWarning, match="wrong minimum"):
        wrong = sn.solve(decay.with_data(data), monitor=sn.Monitor())
    assert wrong.result.outcome == "not solved"
    problem = sn.Problem(
        "y_tt = -omega**2*y",
        domain={"t": (0, 10)},
        conditions=["y(0) = 1", "y_t(0) = 0"],
        unknown={"omega": {"start": 2, "above": 0}},
    )
    found = sn.solve(problem.with_data(data), monitor=sn.Monitor())
    assert found.result.outcome == "solved"
    assert abs(found.found["omega"] - 5) < 3 * found.found["omega"].error


def test_a_number_that_was_not_found_is_an_error_that_says_why():
    blown = sn.Problem(
        "y_t = m*y**2",
        domain={"t": (0, 2)},
        conditions=["y(0) = 1"],
        unknown={"m": 1},
        data=sn.Data(t=[0.2, 0.3], y=[1.2, 1.4]),
    )
    with pytest.warns(sn.SafeNetWarning, match="fails at the start"):
        found = sn.solve(blown).found
    assert found == {}
    with pytest.raises(KeyError) as caught:
        found["m"]
    assert isinstance(caught.value, sn.SafeNetError)
    assert str(caught.value).startswith("m was not found: The direct solver fails at the start, m = 1")
    with pytest.raises(sn.SafeNetError, match="'n' is not an unknown number"):
        found["n"]
    assert found.get("m") is None
