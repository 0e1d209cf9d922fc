"""A solve that cannot succeed ends soon, keeps what it has, and says what it saw."""

import dataclasses
import re

import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.direct import march as marching
from safenet.direct.cells import Subdivision
from safenet.direct.direct import LeastSquares
from safenet.direct.ending import failure
from safenet.errors import SafeNetWarning
from safenet.problem.facts.posedness import doubts
from safenet.run import progress
from safenet.train.choice import CELL_MARCHES
from safenet.train.optimisers.levenberg import LevenbergMarquardt
from safenet.train.recipes import make_plan
from safenet.train.run import train

ROUGH = dataclasses.replace(CELL_MARCHES[0], shortest=5e-3, narrowest=5e-3)
SQUARE = """
name = "square"
unknowns = ["u"]
equations = ["u_t + u_x = 0"]
conditions = ["u(0, t) = 0", "u(x, 0) = (sign(x - 0.2) - sign(x - 0.4))/2"]
domain = { x = [0, 1], t = [0, 0.5] }
"""
BLOW_UP = """
name = "blow-up"
unknowns = ["u"]
equations = ["u_t = u**2"]
conditions = ["u(0) = 1"]
domain = { t = [0, 2] }
"""
SHOCK = """
name = "shock"
unknowns = ["u"]
equations = ["u_t + u*u_x = 0"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(2*pi*x)"]
domain = { x = [0, 1], t = [0, 0.5] }
"""


def last(phase, problem):
    *_, state = phase.run(problem, sn.Monitor())
    return state


@pytest.fixture
def hasty(monkeypatch):
    """Few slabs are enough to see what many show."""
    monkeypatch.setattr(marching, "STUCK", 8)


@pytest.mark.usefixtures("hasty")
@pytest.mark.slow
def test_a_jump_that_travels_on_is_given_up_and_nothing_else_is_tried():
    problem = sn.loads(SQUARE)
    first = LeastSquares(unknowns=200)
    plan = dataclasses.replace(
        plan_for(problem, "auto"), phases=(first, ROUGH, CELL_MARCHES[1], LevenbergMarquardt(150))
    )
    trained = train(problem, plan)
    # The rough march may have met a thin layer: the finer one is asked, and fails as well.
    assert [record.name for record in trained.records] == ["least squares", *["marching on cells"] * 2]
    assert trained.records[1].suspect
    assert trained.outcome == "given up"
    assert "after 8 of the shortest slabs" in trained.stop_reason
    assert "u seems to jump near x = 0.2" in trained.stop_reason
    # Least squares knows all of the domain, the march only a part.
    assert trained.network.parameters == last(first, problem).network.parameters


@pytest.mark.usefixtures("hasty")
def test_a_jump_that_smooths_out_is_passed():
    state = last(CELL_MARCHES[0], sn.loads(SQUARE.replace("u_t + u_x = 0", "u_t = u_xx/10")))
    assert not state.given_up
    assert state.reason == "reached t = 0.5"


@pytest.mark.usefixtures("hasty")
def test_a_shock_is_told_from_a_blow_up():
    """Characteristics meet at x = ½ from t = 1/(2π) on, and |u| stays 1."""
    state = last(ROUGH, sn.loads(SHOCK))
    assert state.given_up
    assert state.suspect
    place = re.search(r"seems to jump near x = ([\d.]+);", state.reason)
    assert float(place[1]) == pytest.approx(0.5, abs=0.01)
    assert 0.159 < state.cursor["t"] < 0.3


@pytest.mark.slow
def test_a_layer_too_thin_for_the_rough_march_is_left_to_the_finer_one():
    """u = −tanh(x/2ν) stands still."""
    text = SHOCK.replace('= 0"]', '= u_xx/10000"]').replace("sin(2*pi*x)", "-tanh(5000*x)")
    text = text.replace("u(0, t) = 0", "u(-1, t) = 1").replace("u(1, t) = 0", "u(1, t) = -1")
    solution = sn.solve(sn.loads(text.replace("x = [0,", "x = [-1,")))
    assert solution.result.outcome == "finished"
    assert solution.result.phases[0]["suspect"]
    assert solution(x=2e-4, t=0.5) == pytest.approx(-np.tanh(1), abs=1e-8)


def test_what_starts_at_zero_and_stays_bounded_does_not_blow_up():
    """u ≤ 1, and √(1 − u) has no slope there."""
    text = SHOCK.replace("u_t + u*u_x = 0", "u_t = u_xx/100 + 30*t**2*sqrt(1 - u)").replace(
        "sin(2*pi*x)", "0"
    )
    problem = sn.loads(
        text.replace("u(0, t)", "u_x(0, t)").replace("u(1, t)", "u_x(1, t)").replace("0.5]", "1]")
    )
    state = last(CELL_MARCHES[0], problem)
    assert not state.final
    assert "blow up" not in state.reason


def test_a_solution_that_blows_up_comes_back_as_far_as_it_goes_with_a_warning():
    """u = 1/(1 − t)."""
    with pytest.warns(SafeNetWarning, match=r"blow up near t = (1|0\.99\d*):"):
        solution = sn.solve(sn.loads(BLOW_UP))
    assert solution.result.outcome == "given up"
    assert "t = [0, 0.95]" in solution.result.stop_reason
    assert [record["name"] for record in solution.result.phases] == ["marching on a grid"] * 2
    times = np.linspace(0, 0.9, 7)
    np.testing.assert_allclose(solution(t=times), 1 / (1 - times), rtol=1e-3)
    assert np.isnan(solution(t=1.5))
    with pytest.warns(SafeNetWarning, match=r"blow up near t = (1|0\.99\d*):"):
        sn.solve_many(sn.loads(BLOW_UP))


@pytest.mark.parametrize(
    ("growing", "said"),
    [
        (
            lambda t: 1e-12 * jnp.exp(40 * t),
            r"near x = 0\.8\d* u has grown out of nothing to 1\d .* t = \[0, 0\.375\]",
        ),
        (
            lambda t: 1 / (8 - 10 * t),
            r"the solution seems to blow up near t = 0\.75: u has grown from 1 to 2",
        ),
    ],
    ids=["an error", "the solution"],
)
def test_an_error_that_is_magnified_is_not_called_the_solution(growing, said):
    """What grows stands beside a bump that stays."""

    def field(point):
        x, t = point
        return jnp.exp(-400 * (x - 0.2) ** 2)[None] + growing(t) * jnp.exp(-400 * (x - 0.8) ** 2)

    reason, final = failure(sn.loads(SHOCK.replace("0.5]", "1]")), field, 0.75)
    assert final
    assert re.search(said, reason), reason


def test_a_slow_solution_that_newton_fails_on_is_left_to_the_network():
    """u falls to 0, where u·log(u) ends, no faster than at the start."""
    problem = sn.loads(BLOW_UP.replace("u**2", "u*log(u) - 2"))
    state = last(plan_for(problem, "auto").phases[0], problem)
    assert state.given_up
    assert not state.final
    assert "may not exist" in state.reason


def test_an_estimate_as_large_as_the_solution_is_a_warning():
    """The same blow-up along an axis that is not time: least squares settles on something."""
    problem = sn.loads(BLOW_UP.replace("u_t", "u_x").replace("t =", "x ="))
    with pytest.warns(SafeNetWarning, match="estimated at"):
        solution = sn.solve(problem)
    (text,) = solution.result.warnings
    assert f"{solution.result['estimate']:.0%}" in text


def test_python_shows_progress_unless_asked_not_to(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    smooth = sn.loads(SQUARE.replace("(sign(x - 0.2) - sign(x - 0.4))/2", "x**2*exp(-x)"))
    sn.solve(smooth, sn.LeastSquares(), monitor=sn.Monitor())
    assert capsys.readouterr() == ("", "")
    sn.solve(smooth, sn.LeastSquares())
    out, shown = capsys.readouterr()
    assert out == ""
    assert "s  least squares: 169 amplitudes" in shown
    assert "held-out residual" in shown


def test_what_is_over_in_a_moment_says_nothing(capsys):
    sn.solve(sn.loads(BLOW_UP.replace("2]", "0.5]")))
    assert capsys.readouterr() == ("", "")


RESONANT = """
name = "resonant"
unknowns = ["u"]
equations = ["u_xx + pi^2*u = 1"]
conditions = ["u(0) = 0", "u(1) = 0"]
domain = { x = [0, 1] }
"""


def test_a_solution_that_dwarfs_its_data_is_none():
    """sin(πx) solves the equation without its source, which is not orthogonal to it."""
    with pytest.warns(SafeNetWarning, match="eigenvalue"):
        solution = sn.solve(sn.loads(RESONANT))
    assert solution.result.estimate > 0.1
    assert solution.estimate() == solution.result.estimate
    # Beside the eigenvalue there is one, large as it is.
    near = sn.solve(sn.loads(RESONANT.replace("pi^2", "9.87")))
    assert near.result.warnings == []
    assert near(x=0.5) == pytest.approx((1 - 1 / np.cos(np.sqrt(9.87) / 2)) / 9.87, rel=1e-9)


@pytest.mark.parametrize(
    ("equation", "conditions"),
    [
        ("u_x = 40*u", ["u(0) = 1"]),
        ("u_xx = 1600*u", ["u(0) = 1", "u_x(0) = 40"]),
    ],
)
def test_a_solution_that_grows_from_its_data_is_one(equation, conditions):
    """exp(40 x) is 1e17 times as large as its data, and meets them."""
    text = RESONANT.replace("u_xx + pi^2*u = 1", equation).replace(
        '["u(0) = 0", "u(1) = 0"]', str(conditions)
    )
    solution = sn.solve(sn.loads(text + '\nexact = { u = "exp(40*x)" }'))
    assert solution.result.warnings == []
    assert solution.error().l2re < 1e-13
    assert solution.result.estimate < 1e-10


def test_a_condition_where_the_flow_leaves_is_not_met():
    text = """
        name = "outflow"
        unknowns = ["u"]
        equations = ["u_t + u_x = 0"]
        conditions = ["u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
        domain = { x = [0, 1], t = [0, 1] }
    """
    with pytest.warns(SafeNetWarning, match=r"u\(x, 0\) = sin\(pi\*x\) is missed by .* wrong side"):
        solution = sn.solve(sn.loads(text))
    assert solution.result.estimate > 0.1


def test_a_first_level_that_is_far_too_large_is_not_begun():
    """18,225 amplitudes would be 5.6 GB."""
    text = RESONANT.replace("u_xx + pi^2*u = 1", "u_xx + u_yy + (1 + x*y)*u = sin(60*pi*x)*sin(60*pi*y)")
    text = text.replace(
        '["u(0) = 0", "u(1) = 0"]', '["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]'
    )
    problem = sn.loads(text.replace("x = [0, 1]", "x = [0, 1], y = [0, 1]"))
    (state,) = LeastSquares().run(problem, sn.Monitor())
    assert state.given_up
    assert "amplitudes" in state.reason


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        (('= 1"', '= 0"'), "u = 0 a solution"),
        (('"u(0) = 0"', '"u(0) = 0", "u_x(0) = 5"'), "3 conditions for equations of order 2"),
    ],
)
def test_zeros_only_and_conditions_too_many_are_doubts(change, doubt):
    assert doubts(sn.loads(RESONANT)) == ()
    (text,) = doubts(sn.loads(RESONANT.replace(*change)))
    assert doubt in text


def test_cells_that_only_make_it_worse_are_few():
    text = RESONANT.replace("u_xx + pi^2*u = 1", "u_xx = 1").replace('"u(0) = 0"', '"u(0) = 0", "u_x(0) = 5"')
    states = list(Subdivision().run(sn.loads(text), sn.Monitor()))
    assert len(states) < 12
    assert states[-1].reason == "smaller cells no longer reduce the residual"
