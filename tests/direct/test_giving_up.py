"""A solve that cannot succeed ends soon, keeps what it has, and says what it saw."""

import dataclasses
import re

import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from running import BLOW_UP, SHOCK, SQUARE
from safenet.direct import Cells, LeastSquares, March, carry_out, march, plan_of
from safenet.direct.ending import failure
from safenet.direct.marches import CELL_MARCHES
from safenet.direct.plan import DirectPlan
from safenet.problem.facts.conservation import vanishing_diffusion
from safenet.run.result import Ending
from scoring import last, states

ROUGH = dataclasses.replace(CELL_MARCHES[0], shortest=5e-3, narrowest=5e-3)
RESONANT = """
name = "resonant"
unknowns = ["u"]
equations = ["u_xx + pi^2*u = 1"]
conditions = ["u(0) = 0", "u(1) = 0"]
domain = { x = [0, 1] }
"""


@pytest.fixture
def hasty(monkeypatch):
    """Few slabs are enough to see what many show."""
    monkeypatch.setattr(march, "STUCK", 8)


@pytest.mark.usefixtures("hasty")
@pytest.mark.slow
def test_a_jump_that_travels_on_is_given_up_and_nothing_else_is_tried():
    problem, first = sn.loads(SQUARE), LeastSquares(unknowns=200)
    carried = carry_out(problem, DirectPlan("auto", (first, ROUGH, CELL_MARCHES[1], Cells())))
    # The rough march may have met a thin layer: the finer one is asked, and fails as well.
    assert [record.name for record in carried.records] == ["least-squares", *["marching on cells"] * 2]
    assert carried.records[1].suspect
    assert carried.ending is Ending.GIVEN_UP
    assert "after 8 of the shortest slabs" in carried.stop_reason
    assert "u seems to jump near x = 0.2" in carried.stop_reason
    # Least squares knows all of the domain, the march only a part.
    assert carried.field.parameters == last(first, problem).field.parameters


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


@pytest.mark.parametrize(
    ("growing", "said"),
    [
        (
            lambda t: 1e-12 * jnp.exp(40 * t),
            r"near x = 0\.8\d* u grew from below the solver's accuracy to 1\d .* t = \[0, 0\.375\]",
        ),
        (
            lambda t: 1 / (8 - 10 * t),
            r"seems to blow up near t = 0\.75: the largest \|u\| is 1 in the first half of that time, 2 at the end",
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


def test_a_slow_solution_that_newton_fails_on_may_still_exist():
    """u falls to 0, where u·log(u) ends, no faster than at the start."""
    problem = sn.loads(BLOW_UP.replace("u**2", "u*log(u) - 2"))
    state = last(March().passes(problem)[0], problem)
    assert state.given_up
    assert not state.final
    assert "may not exist" in state.reason


def test_a_solution_that_blows_up_comes_back_as_far_as_it_goes():
    """u = 1/(1 − t)."""
    problem = sn.loads(BLOW_UP)
    carried = carry_out(problem, plan_of([March()], problem, "march"))
    assert carried.ending is Ending.GIVEN_UP
    assert re.search(r"blow up near t = (1|0\.99\d*):.* t = \[0, 0\.95\]", carried.stop_reason)
    assert [record.name for record in carried.records] == ["marching on a grid"] * 2
    times = np.linspace(0, 0.9, 7)
    found = carried.field.jets(np.append(times, 1.5)[:, None], [(0,)])[(0,)][:, 0]
    np.testing.assert_allclose(found[:-1], 1 / (1 - times), rtol=1e-3)
    assert np.isnan(found[-1])


def test_a_first_level_that_is_far_too_large_is_not_begun():
    """18,225 coefficients would be 5.6 GB."""
    text = RESONANT.replace("u_xx + pi^2*u = 1", "u_xx + u_yy + (1 + x*y)*u = sin(60*pi*x)*sin(60*pi*y)")
    text = text.replace(
        '["u(0) = 0", "u(1) = 0"]', '["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]'
    )
    problem = sn.loads(text.replace("x = [0, 1]", "x = [0, 1], y = [0, 1]"))
    (state,) = states(LeastSquares(), problem)
    assert state.given_up
    assert "coefficients" in state.reason


def test_cells_that_only_make_it_worse_are_few():
    text = RESONANT.replace("u_xx + pi^2*u = 1", "u_xx = 1").replace('"u(0) = 0"', '"u(0) = 0", "u_x(0) = 5"')
    found = states(Cells(degree=6), sn.loads(text))
    assert len(found) < 12
    assert found[-1].reason == "smaller cells no longer reduce the residual"


POROUS = """
name = "porous"
unknowns = ["u"]
equations = ["u_t = diff(u**2, x, 2)"]
conditions = ["u(x, 0) = max(0, 1 - x**2)", "u(-4, t) = 0", "u(4, t) = 0"]
domain = { x = [-4, 4], t = [0, 1] }
"""


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("", "", "u"),
        ("u**2", "u**2 + u", None),  # never below u_xx
        ("max(0, 1 - x**2)", "2 + cos(pi*x/4)", None),  # positive values
        ("diff(u**2, x, 2)", "u_xx - u**3", None),  # a number before u_xx
    ],
)
def test_diffusion_that_vanishes_is_read_off_the_symbols_and_said(before, after, found):
    problem = sn.loads(POROUS.replace(before, after) if before else POROUS)
    assert vanishing_diffusion(problem) == found
    why, ends = failure(problem, None, 0.1)
    assert not ends
    assert ("the diffusion of u vanishes" in why) == (found is not None)
    assert ("may not exist" in why) == (found is None)
