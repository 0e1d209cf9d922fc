"""The Gaussian posterior: exact solutions of the equations given data, with standard deviations that hold."""

import numpy as np
import pytest

import safenet as sn
from safenet.inverse.evidence import Rows, averaged, tried
from safenet.inverse.posterior import PosteriorPlan
from safenet.inverse.thresholds import RATIOS
from safenet.solving.plans import plan_for

ROD = """
name = "rod"
unknowns = ["u"]
equations = ["u_t = u_xx/10"]
conditions = ["u(0, t) = 0", "u(1, t) = 0"]
domain = { x = [0, 1], t = [0, 1] }
"""


def temperature(c, x, t):
    n = np.arange(1, len(c) + 1) * np.pi
    return np.einsum(
        "n,n...->...", c, np.exp(-np.multiply.outer(n**2, t) / 10) * np.sin(np.multiply.outer(n, x))
    )


def rod(rng, c, count=60, noise=0.02, **more):
    x, t = rng.random((2, count))
    return sn.loads(
        ROD, data=sn.Data(x=x, t=t, u=temperature(c, x, t) + noise * rng.normal(size=count), **more)
    )


@pytest.fixture(scope="module")
def solved():
    return sn.solve(rod(np.random.default_rng(0), np.array([1.0, -0.5, 0.3])))


@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
def test_the_standard_deviations_hold_over_repetitions():
    """Truths from random series of other smoothness each time: 68 % within one, 95 % within two, and not far less."""
    rng = np.random.default_rng(1)
    scaled = []
    for length in np.linspace(0.2, 0.6, 12):
        c = rng.normal(size=12) * np.exp(-((np.arange(1, 13) * length) ** 2) / 2)
        sol = sn.solve(rod(rng, c))
        x, t = rng.random((2, 40))
        scaled.append((sol(x=x, t=t) - temperature(c, x, t)) / sol.std(x=x, t=t))
    within = np.abs(np.concatenate(scaled))
    assert 0.58 < np.mean(within < 1) < 0.82
    assert 0.90 < np.mean(within < 2) < 0.995


def test_data_in_place_of_initial_values_need_no_network(solved):
    assert isinstance(solved.plan, PosteriorPlan)
    assert solved.result.outcome == "solved"
    assert "Gaussian prior" in solved.result.reasons[0]
    x, t = np.random.default_rng(2).random((2, 50))
    assert np.abs(solved(x=x, t=t) - temperature(np.array([1.0, -0.5, 0.3]), x, t)).max() < 0.06
    assert 0.002 < solved.result.estimate < 0.1
    # It solves the equation whatever the data are, and meets the conditions.
    assert solved.result.residual < 1e-10
    assert solved.std(x=0.0, t=0.5) < 1e-12
    # What was before the data is known least.
    assert solved.std(x=0.5, t=0.0) > 2 * solved.std(x=0.5, t=0.5)


def test_it_is_saved_loaded_and_drawn(solved, tmp_path):
    solved.save(tmp_path)
    again = sn.load(tmp_path)
    at = {"x": 0.3, "t": 0.2}
    assert again(**at) == solved(**at)
    assert again.std(**at) == solved.std(**at)
    assert again.diff("x").std(**at) == solved.diff("x").std(**at)
    assert again.plan == solved.plan
    labels = {text for ax in solved.plot().axes for text in (ax.get_ylabel(), ax.get_xlabel())}
    assert {"u(x, t)", "standard deviation of u"} <= labels


def test_two_exact_solutions_are_a_linear_regression():
    """u'' = −9u: with many values the prior does not count, and C = σ² (XᵀX)⁻¹, also for u'."""
    rng = np.random.default_rng(3)
    t = rng.random(400) * 2
    X = np.stack([np.cos(3 * t), np.sin(3 * t)], axis=1)
    data = sn.Data(t=t, u=X @ [2, 1] + 0.1 * rng.normal(size=400), sigma=0.1)
    sol = sn.solve(sn.Problem("u_tt = -9*u", domain={"t": (0, 2)}, data=data))
    C = 0.01 * np.linalg.inv(X.T @ X)
    for at in (0.0, 0.7):
        value, slope = [np.cos(3 * at), np.sin(3 * at)], [-3 * np.sin(3 * at), 3 * np.cos(3 * at)]
        assert sol.std(t=at) == pytest.approx(np.sqrt(value @ C @ value), rel=1e-2)
        assert sol.diff("t").std(t=at) == pytest.approx(np.sqrt(slope @ C @ slope), rel=1e-2)


def test_one_prior_is_gaussian_process_regression_with_conditions():
    """Against the dense formulas: K (K + V)⁻¹ with the conditions as values without noise."""
    rng = np.random.default_rng(4)
    scale, A, C = rng.random(12) + 0.5, rng.normal(size=(30, 12)), rng.normal(size=(3, 12))
    y, d = rng.normal(size=30), rng.normal(size=3)
    trial = tried(Rows.of(C, d), Rows.of(A, y), scale, known=True)
    i = int(np.argmin(np.abs(RATIOS - 0.1)))
    only = [type(trial)(*(getattr(trial, f) for f in ("scale", "shift", "left", "seen")),
                        *(getattr(trial, f)[i : i + 1] for f in ("logs", "means", "variances", "noise")))]  # fmt: skip
    found = averaged(only)
    s2 = 1 / RATIOS[i]
    rows, values = np.vstack([A, C]), np.concatenate([y, d])
    K = s2 * scale[:, None] ** 2 * np.eye(12)
    inverse = np.linalg.inv(rows @ K @ rows.T + np.diag([1.0] * 30 + [1e-9] * 3))
    np.testing.assert_allclose(found.mean, K @ rows.T @ inverse @ values, rtol=1e-4, atol=1e-6)
    covariance = K - K @ rows.T @ inverse @ rows @ K
    np.testing.assert_allclose(found.factor @ found.factor.T, covariance, rtol=1e-4, atol=1e-6)
    # log p(y, d) − log p(d), up to what does not depend on the prior.
    both, alone = rows @ K @ rows.T + np.diag([1.0] * 30 + [1e-9] * 3), C @ K @ C.T + 1e-9 * np.eye(3)
    log = sum(
        -0.5 * sign * (v @ np.linalg.solve(M, v) + np.linalg.slogdet(M)[1])
        for sign, v, M in ((1, values, both), (-1, d, alone))
    )
    assert trial.logs[i] == pytest.approx(log, rel=1e-5)


def test_a_potential_from_scattered_values_without_any_condition():
    rng = np.random.default_rng(5)
    x, y = rng.random((2, 60))

    def potential(x, y):
        return np.exp(2 * x) * np.sin(2 * y) / 4 + x * y

    data = sn.Data(x=x, y=y, u=potential(x, y) + 0.01 * rng.normal(size=60))
    sol = sn.solve(sn.Problem("u_xx + u_yy = 0", domain={"x": (0, 1), "y": (0, 1)}, data=data))
    x, y = rng.random((2, 200))
    scaled = (sol(x=x, y=y) - potential(x, y)) / sol.std(x=x, y=y)
    assert np.mean(np.abs(scaled) < 2) > 0.85
    assert sol.result.estimate < 0.05
    assert not sol.result.warnings


def test_where_it_does_not_suit_it_says_why():
    problem = rod(np.random.default_rng(6), np.ones(1))
    bent = sn.loads(ROD.replace("u_xx/10", "u_xx/10 + u**2"), data=problem.data)
    for wrong, said in (
        (bent, "not linear"),
        (sn.loads(ROD.replace('"]\nd', '", "u(x, 0) = 0"]\nd')), "no data"),
    ):
        with pytest.raises(sn.SafeNetError, match=said):
            plan_for(wrong, sn.Posterior())
    with pytest.raises(sn.SafeNetError, match=r"sn\.Posterior"):
        sn.solve(sn.Problem("u_t = -u", domain={"t": (0, 1)}, conditions=["u(0) = 1"])).std(t=0.5)


NU = ROD.replace("u_xx/10", "nu*u_xx") + "unknown = { nu = { start = 0.05, above = 0 } }\n"


def unknown_rod(rng, noise=0.01):
    x, t = rng.random((2, 150))
    return sn.loads(
        NU, data=sn.Data(x=x, t=t, u=temperature(np.array([1.0, 0.4]), x, t) + noise * rng.normal(size=150))
    )


def test_a_number_is_found_without_the_initial_value():
    sol = sn.solve(unknown_rod(np.random.default_rng(7)))
    assert abs(sol.found["nu"] - 0.1) < 3 * sol.found["nu"].error < 0.01
    assert sol.result.outcome == "solved"


@pytest.mark.slow
def test_without_noise_it_is_found_to_many_digits():
    assert abs(sn.solve(unknown_rod(np.random.default_rng(7), 0.0)).found["nu"] - 0.1) < 1e-5


@pytest.mark.slow
def test_its_standard_error_is_the_spread_over_repeated_noise():
    """Σ((ν − 0.1)/error)² is χ² with twelve degrees of freedom, between 3.1 and 28.3 at 99 %."""
    rng = np.random.default_rng(8)
    found = [sn.solve(unknown_rod(rng)).found["nu"] for _ in range(12)]
    assert 3.1 < sum(((number - 0.1) / number.error) ** 2 for number in found) < 28.3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
def test_what_the_data_do_not_determine_is_named():
    text = NU.replace("nu*u_xx", "nu*c*u_xx")
    text = text.replace("above = 0 }", "above = 0 }, c = { start = 1, above = 0 }")
    sol = sn.solve(sn.loads(text, data=unknown_rod(np.random.default_rng(9)).data))
    assert sol.found["nu"] * sol.found["c"] == pytest.approx(0.1, rel=0.03)
    assert sol.found["nu"].error is None
    assert any("nu by" in text and "c by" in text for text in sol.result.warnings)
    assert sol.result.estimate is None


@pytest.mark.filterwarnings("ignore::safenet.SafeNetWarning")
def test_values_of_a_wave_that_it_does_not_have_are_not_solved():
    """The deviation knows nothing of what no exact solution at hand can follow; the residuals do (Birge's ratio)."""
    wave = np.eye(40)[-1]
    rng = np.random.default_rng(0)
    x, t = rng.random(60), rng.random(60) / 1000
    problem = sn.loads(ROD, data=sn.Data(x=x, t=t, u=temperature(wave, x, t), sigma=1e-6))
    result = sn.solve(problem, sn.Posterior(coefficients=12), monitor=sn.Monitor()).result
    assert result.outcome == "not solved"
    assert result.estimate > 0.1
