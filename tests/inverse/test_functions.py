"""Unknown functions: how strongly they are smooth, what is known of them, and what survives a file."""

import numpy as np
import pytest

import safenet as sn
from safenet.inverse.linearised import layout, sensitivities, solved
from safenet.inverse.smooth import SmoothFitting, roughness
from safenet.problem.numbers import Curve
from safenet.problem.toml import write
from safenet.run.budget import Budget
from safenet.solving.plans import plan_for

ROD = """
name = "rod"
unknowns = ["u"]
equations = ["diff(k*u_x, x) = -c"]
conditions = ["u(0) = 0", "k(1)*u_x(1) = 1/5"]
[domain]
x = [0, 1]
[unknown]
k = { of = ["x"], start = 1, above = 0, cells = 12 }
c = { start = 1 }
"""


def k(x):
    return 1 + np.sin(2 * np.pi * x) / 2


def exact(x):
    """k u' = 6/5 − x, u(0) = 0, by quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    at = x[:, None] * (nodes + 1) / 2
    return ((1.2 - at) / k(at)) @ weights * x / 2


@pytest.fixture(scope="module")
def measured():
    x = np.random.default_rng(0).random(200)
    return sn.Data(x=x, u=exact(x) + 1e-3 * np.random.default_rng(1).normal(size=200))


@pytest.fixture(scope="module")
def rod(measured):
    return sn.loads(ROD.replace("c = { start = 1 }", "").replace("-c", "-1")).with_data(measured)


@pytest.fixture(scope="module")
def fit(rod):
    return sn.solve(rod)


def test_a_function_is_found_within_its_errors(fit):
    x = np.linspace(0, 1, 51)
    function = fit.found["k"]
    gap = function(x=x) - k(x)
    assert np.abs(gap).max() < 0.05
    assert 0.3 < np.sqrt(np.mean((gap / function.error(x=x)) ** 2)) < 2
    assert 4 < function.determined < 15
    assert fit.result.outcome == "solved"
    assert "unknown function" in fit.result.reasons[0]
    assert fit.result.phases[0].residual == pytest.approx(fit.result.residual)  # not that of the start


def test_what_was_found_survives_a_file(fit, tmp_path):
    fit.save(tmp_path)
    again = sn.load(tmp_path)
    x = np.linspace(0, 1, 7)
    np.testing.assert_array_equal(again.found["k"](x=x), fit.found["k"](x=x))
    np.testing.assert_array_equal(again.found["k"].error(x=x), fit.found["k"].error(x=x))
    assert again.error().held_out.worst < 1e-3
    assert str(again.found["k"]) == str(fit.found["k"])


def test_sensitivities_are_those_of_differences(measured):
    """∂u/∂c of the linearised equations against two solves, for numbers in conditions and derivatives of k, too."""
    problem = sn.loads(ROD).with_data(measured, sn.Data(x=[0.25, 0.5], q=[0.9, 0.7], value="k*u_x"))
    base = {"k": 1 + np.linspace(0, 1, 15) ** 2, "c": 1.0}
    now = problem.found(base)
    field = solved(problem.forward(base), layout(problem), None)
    J = sensitivities(now, field)
    for j in (0, 7, 14):
        moved = {**base, "k": base["k"] + 1e-5 * np.eye(15)[j]}
        other = solved(problem.forward(moved), layout(problem), None)
        gaps = [np.concatenate(_misfit(problem.found(v), f)) for v, f in ((moved, other), (base, field))]
        np.testing.assert_allclose(J[:, j], (gaps[0] - gaps[1]) / 1e-5, atol=1e-4 * np.abs(J[:, j]).max())


def test_the_sensitivity_to_a_number_is_found_on_the_side_that_has_a_solution(measured):
    problem = sn.loads(ROD).with_data(measured)
    fitting = SmoothFitting(problem, plan_for(problem), sn.Monitor(), Budget())
    model, solve, place = fitting._begun(), fitting.solve, fitting.places["c"].start
    fitting.sensitivities(model)
    J = fitting.J[:, place]
    fitting.solve = lambda z, rough: None if z[place] > 0 else solve(z, rough)
    fitting.sensitivities(model)
    np.testing.assert_allclose(fitting.J[:, place], J, rtol=1e-3)
    assert np.linalg.norm(J) > 0
    fitting.solve = lambda z, rough: None
    with pytest.raises(sn.SafeNetError, match="the direct solver fails near c = 1, so the sensitivity to c"):
        fitting.sensitivities(model)


def _misfit(problem, field):
    from safenet.measure.misfit import misfit

    return misfit(problem, field)


def test_smooth_functions_are_not_rough():
    """zᵀKz = 0 for a plane, and for nothing else."""
    curve = Curve(sn.problem.Problem, of=("x", "y"), cells=4)  # the start is not looked at
    K = roughness(curve)
    i, j = np.meshgrid(np.arange(7.0), np.arange(7.0), indexing="ij")
    for plane in (np.ones((7, 7)), i, j - 2 * i):
        assert plane.ravel() @ K @ plane.ravel() < 1e-6
    for bent in (i * j, i**2, np.cos(j)):
        assert bent.ravel() @ K @ bent.ravel() > 1


@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
@pytest.mark.slow
def test_a_number_and_a_function_that_only_go_together_are_loose(measured):
    """k and the source c with a flux that is not known: only k/c shows, and the errors say so."""
    text = ROD.replace("k(1)*u_x(1) = 1/5", "u_x(1) = 1/5")
    sol = sn.solve(sn.loads(text).with_data(measured))
    assert any("hardly determine k and c" in text for text in sol.result.warnings), sol.result.warnings
    assert sol.found["c"].error > abs(sol.found["c"])
    assert sol.result.estimate is None


def test_an_unknown_function_is_read_back(rod, tmp_path):
    write(rod, tmp_path / "rod.toml")
    again = sn.read(tmp_path / "rod.toml")
    assert again == rod
    assert again.curves["k"].cells == 12


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('of = ["x"]', 'of = ["y"]'), "depends on y"),
        (('of = ["x"]', "of = []"), "function of"),
        (("cells = 12", "cells = 0.5"), "cells"),
        (("cells = 12", "smooth = -1"), "positive"),
        (("k(1)*u_x(1)", "k(1, 2)*u_x(1)"), "k has 1 (x)"),
        (("diff(k*u_x, x)", "u_xx"), "no equation and no condition"),
    ],
)
def test_what_is_wrong_is_said(change, said):
    text = ROD.replace(*change)
    if said.startswith("no equation"):
        text = text.replace("k(1)*u_x", "u_x")
    with pytest.raises(sn.SafeNetError, match=r"my.toml, line") as caught:
        sn.loads(text, "my.toml")
    assert said in str(caught.value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
def test_a_network_finds_a_function():
    x = np.linspace(0.01, 0.99, 60)
    problem = sn.loads(ROD.replace("c = { start = 1 }", "").replace("-c", "-1"))
    schedule = [sn.Adam(1000, rate=5e-3), sn.SSBroyden(3000)]
    training = sn.Train("pinn", schedule, points=64, width=20, depth=2, weights={"data u": 1000})
    sol = sn.solve(problem.with_data(sn.Data(x=x, u=exact(x))), training)
    np.testing.assert_allclose(sol.found["k"](x=x), k(x), atol=0.02)
    assert sol.found["k"].error(x=x) is None
