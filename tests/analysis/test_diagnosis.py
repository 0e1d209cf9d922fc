"""Every piece of advice: the quantity that asks for it is measured, and following it lowers the loss."""

import json
from dataclasses import replace

import numpy as np
import pytest

import safenet as sn
from safenet.analysis import Kernel, diagnose
from safenet.analysis.diagnosis import ROUGH, STIFF, FrequencyShares
from safenet.measure.heldout import HeldOut
from safenet.train.optimisers.levenberg import LevenbergMarquardt
from safenet.train.plan import Plan

SIZES = {"points": 200, "condition_points": 40, "sampler": "sobol", "precision": "float64"}
SMALL = {"method": "pinn", "depth": 2, "width": 8}
QUICK = {"operator": "gauss-newton", "points": 200, "condition_points": 40}

# The heat equation with its equation multiplied by 30, as a change of units would.
SCALED_HEAT = """
name = "scaled-heat"
unknowns = ["u"]
equations = ["30*(u_t - u_xx) = 0"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 1], t = [0, 0.1] }
exact = { u = "exp(-pi**2*t)*sin(pi*x)" }
"""


# Trained for a moment only, to compare how far that leads.
pytestmark = pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")


def adam(problem, iterations, **options):
    return trained(problem, "paper-4", scale=iterations / 100_000, **options)


def trained(problem, recipe, method, **options):
    return sn.solve(problem, sn.Train(method, recipe, **{**SIZES, **options}))


def the(analysis, about):
    (advice,) = [advice for advice in analysis.advice if advice.about == about]
    assert advice.value > advice.threshold
    return advice


def abouts(analysis):
    return [advice.about for advice in analysis.advice]


@pytest.mark.slow
def test_a_stiff_equation_of_high_frequencies_wants_smaller_amplitudes():
    problem = sn.library.diffusion()
    network = {"method": "safe-net-literal", "features": 32, "width": 12, "normalise": "none"}
    analysis = sn.spectrum(problem, **QUICK, precision="float64", **network)
    advice = the(analysis, "amplitudes")
    assert "decay" in advice.change
    assert "weights" not in abouts(analysis)
    # The frequencies that it names are from the upper half of ω = ℓπ/2, ℓ ≤ 8.
    assert all(omega[0] > 4 * np.pi / 2 for omega in analysis.frequencies.leading(2))
    before = adam(problem, 300, **network)
    assert advice.settings == {"amplitudes": "decay"}
    after = adam(problem, 300, **network, **advice.settings)
    assert after.history[-1, 1] < 0.2 * before.history[-1, 1]
    assert after.result.l2re < before.result.l2re
    # Followed, it is not given again.
    followed = sn.spectrum(problem, **QUICK, precision="float64", **network, amplitudes="decay")
    assert "amplitudes" not in abouts(followed)


@pytest.mark.slow
def test_a_stiff_equation_without_high_frequencies_wants_a_smaller_weight():
    problem = sn.loads(SCALED_HEAT)
    analysis = sn.spectrum(problem, **QUICK, precision="float64", **SMALL)
    advice = the(analysis, "weights")
    assert advice.settings["weight_grid"] == pytest.approx((1 / advice.value,), rel=0.5)
    before = adam(problem, 500, **SMALL)
    after = adam(problem, 500, **SMALL, **advice.settings)
    # The totals have other weights: what was starved, the conditions, and the error tell.
    assert np.all(after.history[-1, 3:] < 0.5 * before.history[-1, 3:])
    assert after.result.l2re < 0.5 * before.result.l2re
    followed = sn.spectrum(after, **QUICK)
    assert "weights" not in abouts(followed)


@pytest.mark.slow
def test_flat_directions_want_a_second_order_optimiser():
    problem = sn.library.convection()
    by_adam = adam(problem, 100, **SMALL)
    advice = the(sn.spectrum(by_adam, **QUICK), "optimiser")
    assert "levenberg" in advice.change
    levenberg = trained(problem, "levenberg-marquardt", scale=0.5, **SMALL)
    assert levenberg.result.iterations <= by_adam.result.iterations
    assert levenberg.history[-1, 1] < 1e-3 * by_adam.history[-1, 1]


@pytest.mark.slow
def test_a_gradient_lost_in_rounding_wants_float64():
    problem = sn.library.convection()
    narrow = trained(problem, "paper-3b", scale=0.025, precision="float32", **SMALL)  # 250 Adam, 750 L-BFGS
    analysis = sn.spectrum(narrow, **QUICK)
    assert the(analysis, "precision").change == "--precision float64"
    wide = trained(problem, "paper-3b", scale=0.025, **SMALL)
    # Compared where float32 ended; it may have stalled before its 1000 iterations.
    last = len(narrow.history) - 1
    assert wide.history[last, 1] < 0.5 * narrow.history[last, 1]
    assert "precision" not in abouts(sn.spectrum(wide, **QUICK))
    # An untrained network's gradient is large, and float32 is good enough for it.
    assert "precision" not in abouts(sn.spectrum(problem, **QUICK, precision="float32", **SMALL))


@pytest.mark.parametrize(
    ("equation", "rounding", "expected"),
    [(STIFF - 1, ROUGH / 2, []), (STIFF + 1, None, ["weights"]), (1.0, 2 * ROUGH, ["precision"])],
)
def test_a_rule_speaks_beyond_its_threshold_only(equation, rounding, expected):
    advice = diagnose({"equation": equation, "u(0, t)": 1.0}, 1, rounding=rounding)
    assert [item.about for item in advice] == expected
    assert all(json.dumps(item.to_json()) for item in advice)


@pytest.mark.parametrize(
    ("starved", "network", "expected"),
    [
        (0.9, {}, ["weights"]),
        # What gradient descent leaves is the equation's: with less weight it would be left with more.
        (0.1, {}, []),
        (0.9, {"weighting": "ntk"}, []),
    ],
)
def test_a_smaller_weight_is_for_starving_conditions_with_fixed_weights(starved, network, expected):
    plan = Plan(network=sn.Method(**network), residual_weight=0.5)
    advice = diagnose({"equation": 50.0, "u(0, t)": 1.0}, 1, plan=plan, starved=starved)
    assert [item.about for item in advice] == expected
    assert all(item.settings == {"weight_grid": (0.01,)} for item in advice)


@pytest.mark.parametrize(
    ("equation", "residual", "expected"),
    [(1e-6, 1.0, [{"weight_grid": (1e5,)}]), (1e-6, 0.02, []), (1e-2, 1.0, [])],
)
def test_an_equation_that_hardly_counts_wants_a_larger_weight(equation, residual, expected):
    """Only where it hardly counts, and a network that meets the conditions does not meet it."""
    terms = {"equation": equation, "u(0, t)": 1.0}
    advice = diagnose(terms, 1, unmet=HeldOut((residual,), (0.01,)))
    assert [dict(item.settings) for item in advice] == expected
    assert diagnose(terms, 1) == []


def test_amplitudes_are_to_decay_where_they_do_not_and_no_symbol_names_the_frequencies():
    shares = FrequencyShares(np.array([[1.0], [2.0]]), np.array([0.1, 0.9]))
    terms = {"equation": 50.0, "u(0, t)": 1.0}
    (unit,) = diagnose(terms, 1, shares)
    assert unit.settings == {"amplitudes": "decay"}
    # Where the symbols name such a frequency, the solution has it: the weights, then.
    (named,) = diagnose(terms, 1, replace(shares, named=3.0))
    assert named.about == "weights"
    (decaying,) = diagnose(terms, 1, shares, plan=Plan(network=sn.Method(amplitudes="decay", features=64)))
    assert decaying.settings == {"features": 32}


def test_a_second_order_plan_is_not_told_to_be_one():
    flat = Kernel(np.array([1.0, 1.0]), np.diag([1.0, 1e-6]))
    assert [item.about for item in diagnose({}, 1, kernel=flat)] == ["optimiser"]
    assert flat.remaining() == pytest.approx(0.5)
    plan = Plan(phases=(LevenbergMarquardt(10),))
    assert diagnose({}, 1, kernel=flat, plan=plan) == []
