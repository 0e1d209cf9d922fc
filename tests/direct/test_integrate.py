"""Systems without space: against a Taylor series in extended precision, closed forms, and what stiffness must show."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy

import safenet as sn
from safenet.direct.steps.integrate import Integrate, System
from safenet.direct.steps.richardson import Tightening
from safenet.direct.steps.stiff import Defects
from safenet.direct.thresholds import STIFF_TIGHTEST, TIGHTEST
from safenet.fields.saved import field_skeleton
from safenet.problem.toml import loads
from safenet.run.budget import Budget
from safenet.run.checkpoint import fill, leaves
from safenet.run.result import Outcome
from scoring import unsolved

LORENZ = """
unknowns = ["x", "y", "z"]
equations = ["x_t = 10*(y - x)", "y_t = x*(28 - z) - y", "z_t = x*y - 8/3*z"]
conditions = ["x(0) = 1", "y(0) = 1", "z(0) = 1"]
[domain]
t = [0, 20]
"""
ROBERTSON = """
unknowns = ["a", "b", "c"]
equations = ["a_t = -0.04*a + 1e4*b*c", "b_t = 0.04*a - 1e4*b*c - 3e7*b**2", "c_t = 3e7*b**2"]
conditions = ["a(0) = 1", "b(0) = 0", "c(0) = 0"]
[domain]
t = [0, {end}]
"""


def ordinary(equation, *conditions, end=10):
    listing = ", ".join(f'"{one}"' for one in conditions)
    text = f'equations = ["{equation}"]\nunknowns = ["u"]\nconditions = [{listing}]\n[domain]\nt = [0, {end}]'
    return loads(text)


def solved(problem, solver="auto"):
    return sn.solve(problem, solver, monitor=sn.Monitor())


def lorenz_by_taylor(end, order=24, per_unit=40):
    """Power series in 64-bit mantissas, restarted 40 times a unit of time: an error of 1e-19 · e^(0.9 t)."""
    h, state, found = np.longdouble(1) / per_unit, np.ones(3, np.longdouble), []
    powers, third = h ** np.arange(order + 1), np.longdouble(8) / 3
    for _ in range(end * per_unit):
        x, y, z = series = np.zeros((3, order + 1), np.longdouble)
        series[:, 0] = state
        for n in range(order):
            xz, xy = x[: n + 1] @ z[n::-1], x[: n + 1] @ y[n::-1]
            series[:, n + 1] = 10 * (y[n] - x[n]), 28 * x[n] - xz - y[n], xy - third * z[n]
            series[:, n + 1] /= n + 1
        state = series @ powers
        found.append(state)
    return np.arange(1, end * per_unit + 1) / per_unit, np.array(found, dtype=float)


@pytest.mark.parametrize("end", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_lorenz_agrees_with_taylor_series_and_its_estimate_with_its_error(end):
    sol = solved(loads(LORENZ.replace("20", str(end))))
    times, truth = lorenz_by_taylor(end)
    own = sol(t=times)
    for i, name in enumerate("xyz"):
        error = np.linalg.norm(own[name] - truth[:, i]) / np.linalg.norm(truth[:, i])
        assert error < 1e-9
        assert error / 10 < sol.result.estimate[name] < 10 * error
    assert sol.result.outcome == Outcome.SOLVED
    assert sol.plan.passes[0].name == "integrate"


@pytest.mark.parametrize("end", ["1e4", "1e11"])
def test_robertson_conserves_mass_and_ends_where_its_slow_manifold_says(end):
    sol = solved(loads(ROBERTSON.format(end=end)))
    a, b, c = (sol(t=float(end))[name] for name in "abc")
    assert abs(a + b + c - 1) < 1e-9
    # b follows a and c at once: 0.04 a = 1e4 b c + 3e7 b².
    assert abs(0.04 * a - 1e4 * b * c - 3e7 * b**2) < 1e-4 * 0.04 * a
    if end == "1e11":
        assert abs(a / 2.0833e-8 - 1) < 1e-3  # Hairer and Wanner's printed value, to its digits
    assert max(sol.result.estimate.values()) < 1e-8


def test_stiffness_is_found_where_it_is_and_only_there():
    def stiff(problem):
        system = System.of(problem)
        return system.track(1e-7, np.full(len(system.start), 1e-10), False, 100_000, Budget()).stiff

    assert stiff(ordinary("u_t = -1e6*(u - cos(t))", "u(0) = 0"))
    assert not stiff(ordinary("u_t = -(u - cos(t))", "u(0) = 0"))
    assert not stiff(ordinary("u_tt = -1e4*u", "u(0) = 1", "u_t(0) = 0"))  # fast, but it has to be followed
    assert not stiff(loads(LORENZ))


def test_higher_orders_are_reduced_and_derivatives_are_the_polynomials_own():
    sol = solved(ordinary("u_ttt = -u_t", "u(0) = 0", "u_t(0) = 1", "u_tt(0) = 0"))
    t = np.linspace(0, 10, 37)
    for order, exact in enumerate((np.sin(t), np.cos(t), -np.sin(t), -np.cos(t))):
        assert np.abs(sol.diff("t", order)(t=t) - exact).max() < 1e-8


def test_coupled_highest_derivatives_are_solved_for():
    text = """
    unknowns = ["u", "v"]
    equations = ["2*u_t + v_t = cos(t)", "u_t - v_t = 2*cos(t)"]
    conditions = ["u(0) = 0", "u(0) + v(0) = 1"]
    [domain]
    t = [0, 3]
    """
    sol = solved(loads(text))
    t = np.linspace(0, 3, 11)
    assert np.abs(sol(t=t)["u"] - np.sin(t)).max() < 1e-9
    assert np.abs(sol(t=t)["v"] - (1 - np.sin(t))).max() < 1e-9


def test_steps_end_at_breaks_in_time():
    sol = solved(ordinary("u_tt = where(t < 1, 2, 0)", "u(0) = 0", "u_t(0) = 0", end=3))
    t = np.linspace(0, 3, 61)
    assert np.abs(sol(t=t) - np.where(t < 1, t**2, 2 * t - 1)).max() < 1e-12
    assert 1.0 in np.asarray(sol.field.breaks)


def van_der_pol(mu, end, system):
    if not system:
        return ordinary(f"u_tt = {mu}*(1 - u**2)*u_t - u", "u(0) = 2", "u_t(0) = 0", end=end)
    return loads(
        f'unknowns = ["u", "v"]\nequations = ["u_t = v", "v_t = {mu}*(1 - u**2)*v - u"]\n'
        f'conditions = ["u(0) = 2", "v(0) = 0"]\n[domain]\nt = [0, {end}]'
    )


def test_the_error_of_a_stiff_run_is_estimated_though_two_runs_share_most_of_it():
    """Three runs of LSODA for a relaxation oscillation differed by 1e-8 where each was wrong by 3e-7."""
    mu, end = 40, 70
    sol = solved(van_der_pol(mu, end, system=False))
    truth = scipy.integrate.solve_ivp(
        lambda t, y: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]],
        (0, end),
        [2, 0],
        "DOP853",
        rtol=1e-13,
        atol=1e-15,
    )
    u, weights = truth.y[0], np.sqrt(np.gradient(truth.t))
    error = np.linalg.norm(weights * (sol(t=truth.t) - u)) / np.linalg.norm(weights * u)
    assert sol.result.outcome == Outcome.SOLVED
    assert error / 3 < sol.result.estimate < 3 * error
    assert error < 1e-8


@pytest.mark.parametrize("system", [False, True])
def test_jumps_that_take_a_millionth_of_the_time_are_no_residual(system):
    mu = 1000
    sol = solved(van_der_pol(mu, 2 * mu, system))
    assert sol.result.outcome == Outcome.SOLVED
    assert sol.result.residual < 1e-6
    u = sol(t=900.0)["u"] if system else sol(t=900.0)
    slope = sol(t=900.0)["v"] if system else sol.diff("t")(t=900.0)
    assert slope == pytest.approx(u / (mu * (1 - u**2)), rel=1e-5)  # between jumps u_tt is negligible


@pytest.mark.parametrize("tol", [None, 1e-7])  # with the second, each run took more steps than it may
def test_a_stiff_equation_of_second_order_has_the_slopes_of_the_integrator(tol):
    """LSODA's own polynomial of u, differentiated, missed u_t(0) = 0 altogether: its first steps are tiny."""
    problem = ordinary("u_tt = -1e5*(u_t + u - cos(t))", "u(0) = 1", "u_t(0) = 0", end=20)
    sol = solved(problem, sn.Auto(tol=tol))
    assert sol.result.outcome == Outcome.SOLVED
    assert abs(sol.diff("t")(t=0.0)) < 1e-10
    t = np.linspace(1, 20, 50)
    a = 0.5 * np.exp(-t) + (np.cos(t) + np.sin(t)) / 2  # u_t + u = cos t, up to 1/1e5
    assert np.abs(sol(t=t) - a).max() < 1e-4


def test_too_many_steps_at_a_small_tolerance_leave_the_run_before():
    sol = solved(van_der_pol(40, 70, system=False), sn.Integrate(steps=1000))
    assert sol.result.outcome == Outcome.SOLVED
    assert 1e-6 < sol.result.estimate < 1e-2


@pytest.mark.filterwarnings("ignore::safenet.SafeNetWarning")
def test_blow_up_is_said_with_its_time():
    sol = solved(ordinary("u_t = u**2", "u(0) = 1", end=2))
    assert sol.result.outcome == Outcome.GIVEN_UP
    assert "blow up near t = 1" in sol.result.stop_reason
    assert sol.result.phases[0].iterations > 10
    assert sol.result.phases[0].evaluations > 100


def test_a_pulse_far_from_t_0_has_an_error_though_rounding_leaves_one_tolerance():
    """At t = 1e6 a pulse of a width of 1e-4 is known to 1e-6 of its width: all tolerances are the same."""
    pulse = "u_t = exp(-((t - 1000000.5)/1e-4)**2)"
    problem = sn.Problem(pulse, domain={"t": (10**6, 10**6 + 1)}, conditions=["u(1000000) = 1"])
    *_, state = Integrate().run(problem, sn.Monitor(), Budget())
    assert 0 < state.residual < 1e-4
    assert np.isfinite(state.field.error).all()


def test_nodes_are_inserted_only_while_there_is_time():
    problem = ordinary("u_t = -u", "u(0) = 1")
    system, atol, budget = System.of(problem), np.array([1e-8]), Budget()
    track = system.track(1e-3, atol, False, 1000, budget)
    before, asked = (len(track.times), system.evaluations), Budget(total=100.0, spent=True)
    system.halve(track, 1e-3, atol, 0.0, 1000, asked)  # nothing is exact enough
    assert track.ended == "stopped"
    assert (len(track.times), system.evaluations) == before


def test_a_field_of_pieces_is_saved_to_the_bit_and_knows_its_error(tmp_path):
    problem = ordinary("u_t = -u", "u(0) = 1")
    sol = sn.solve(problem, out=tmp_path / "run", monitor=sn.Monitor())
    again = sn.load(tmp_path / "run")
    t = np.linspace(0, 10, 13)
    assert np.array_equal(sol(t=t), again(t=t))
    assert again.estimate() == sol.estimate() == sol.result.estimate
    assert 0 < sol.result.estimate < 1e-10
    copy = fill(field_skeleton(problem, sol.field.spec()), leaves(sol.field))
    assert np.allclose(np.asarray(copy(jnp.array([2.5]))), np.exp(-2.5), atol=1e-12)


@pytest.mark.parametrize(
    ("equation", "why"),
    [("u_t**2 = u", "do not appear linearly"), ("u_t + u_tt*u_tt = 0", "do not appear linearly")],
)
def test_what_is_no_explicit_system_is_left_to_others(equation, why):
    conditions = ["u(0) = 1", *(["u_t(0) = 0"] if "tt" in equation else [])]
    assert why in Integrate().obstacle(ordinary(equation, *conditions))


@pytest.mark.parametrize(
    ("equation", "slope", "exact"),
    [
        ("t*u_tt = -u_t - t*u", 0, scipy.special.j0),
        ("u_tt = -u_t/t - u", 0, scipy.special.j0),
        ("t**2*u_tt = -t*u_t - (t**2 - 1)*u", 0.5, scipy.special.j1),
        ("t*u_tt = -2*u_t - t*u**5", 0, lambda t: 1 / np.sqrt(1 + t**2 / 3)),
    ],
)
def test_a_regular_singular_start_is_for_solvers_that_need_no_rates_there(equation, slope, exact):
    problem = ordinary(equation, f"u(0) = {exact(0.0):g}", f"u_t(0) = {slope}")
    assert "0/0 at t = 0" in Integrate().obstacle(problem)
    sol, t = solved(problem), np.linspace(0, 10, 101)
    assert np.abs(sol(t=t) - exact(t)).max() < 1e-8
    assert sol.result.outcome == Outcome.SOLVED


@pytest.mark.filterwarnings("ignore::safenet.SafeNetWarning")
@pytest.mark.parametrize("equation", ["u_t = 1/t", "t*u_t = u + 1", "t**2*u_t = u", "u_t = log(t)"])
def test_other_singular_starts_are_given_up(equation):
    sol = solved(ordinary(equation, "u(0) = 0", end=1))
    assert sol.result.outcome == Outcome.GIVEN_UP
    assert "start a little later" in sol.result.stop_reason


def test_derivatives_along_a_solution_are_those_of_the_solution():
    """u″ = −t u²: each derivative from the lower ones, against the equation differentiated by hand."""
    problem = loads(
        'unknowns = ["u"]\nequations = ["u_tt = -t*u**2"]\nconditions = ["u(0) = 1", "u_t(0) = 2"]'
        "\n[domain]\nt = [0, 1]"
    )
    at, u, slope = 0.3, 1.7, -0.4
    found = System.of(problem)._derivatives(np.array([at]), np.array([[u, slope]]))
    second = -at * u**2
    third = -(u**2) - 2 * at * u * slope
    fourth = -4 * u * slope - 2 * at * (slope**2 + u * second)
    np.testing.assert_allclose(found[0, 0], [u, slope, second, third, fourth], rtol=1e-14)


def test_all_slopes_of_the_state_are_known_at_nodes():
    problem = ordinary("u_ttttt = -u", *(f"u{'_' * bool(k)}{'t' * k}(0) = {k + 1}" for k in range(5)), end=1)
    found = System.of(problem)._derivatives(np.array([0.3]), np.arange(1.0, 6.0)[None])
    np.testing.assert_array_equal(found[0, 0], [1, 2, 3, 4, 5, -1])


def test_the_error_of_the_last_run_follows_the_law_of_uneven_tolerances():
    """e = C r^0.7: two differences give the power, and it holds for any third tolerance."""
    tightening, exact = Tightening(), np.array([[1.0, 2.0], [2.0, -1.0]])
    wrong = np.array([[0.3, -0.1], [0.1, 0.2]])
    for rtol in (1e-6, 1e-9, 1e-13):
        error = tightening.after(rtol, exact + 100 * rtol**0.7 * wrong)
    true = 100 * 1e-13**0.7 * np.linalg.norm(wrong) / np.linalg.norm(exact)
    assert error[-1] == pytest.approx(true, rel=0.1)


@unsolved
def test_one_run_of_lsoda_is_checked_by_a_second_at_any_tolerance():
    """With 1e-14 the first run had the smallest tolerance already, and its own word for its error was taken."""
    problem = sn.loads("""
unknowns = ["u"]
equations = ["u_t = -1e5*(u - cos(t)) - sin(t)"]
conditions = ["u(0) = 1"]
domain = { t = [0, 3] }
""")
    solution = sn.solve(problem, sn.Integrate(tolerance=1e-14), monitor=sn.Monitor())
    t = np.linspace(0, 3, 500)
    assert (
        np.linalg.norm(solution(t=t) - np.cos(t)) / np.linalg.norm(np.cos(t)) < 10 * solution.result.estimate
    )
    ran = Defects(problem)
    ran.error, ran.runs = np.array([1e-13]), 1
    assert ran.then(STIFF_TIGHTEST, 1e-14, TIGHTEST) == [pytest.approx(0.1 * STIFF_TIGHTEST)]
    ran.runs = 2
    assert ran.then(STIFF_TIGHTEST, 1e-14, TIGHTEST) == []


def test_where_the_integrator_stops_newtons_method_is_not_named():
    problem = sn.Problem("u_t = -sqrt(u)", domain={"t": (0, 4)}, conditions=["u(0) = 1"])
    with pytest.warns(sn.SafeNetWarning, match="no time step succeeds at t = 2"):
        solution = sn.solve(problem, sn.Integrate(), monitor=sn.Monitor())
    assert "Newton" not in solution.result.stop_reason
