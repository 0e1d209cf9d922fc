"""A solve that cannot succeed keeps what it has, and says what it saw: in the result and as a warning."""

import time

import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from running import BLOW_UP, SHOCK, SQUARE
from safenet.errors import SafeNetWarning
from safenet.problem.facts.posedness import doubts
from safenet.run import progress
from safenet.run.budget import Budget
from safenet.run.result import Outcome
from safenet.solving import judging


@pytest.mark.slow
def test_a_layer_of_a_ten_thousandth_has_an_honest_estimate():
    """u = −tanh(x/2ν) stands still; nearly all of its error is that of the layer's place."""
    text = SHOCK.replace('= 0"]', '= u_xx/10000"]').replace("sin(2*pi*x)", "-tanh(5000*x)")
    text = text.replace("u(0, t) = 0", "u(-1, t) = 1").replace("u(1, t) = 0", "u(1, t) = -1")
    solution = sn.solve(sn.loads(text.replace("x = [0,", "x = [-1,")))
    assert solution.result.outcome is Outcome.SOLVED
    x, t = np.linspace(-2e-3, 2e-3, 801), np.linspace(0.05, 0.5, 10)[:, None]
    squares = (
        solution(x=x + 0 * t, t=t + 0 * x) + np.tanh(5000 * x)
    ) ** 2  # beyond, there is no error; ∫ u² = 2
    error = np.sqrt(np.mean(np.trapezoid(squares, x, axis=1)) / 2)
    assert error < 2 * solution.result.estimate < 1e-6


def test_a_solution_that_blows_up_is_given_up_with_a_warning():
    """u = 1/(1 − t)."""
    with pytest.warns(SafeNetWarning, match=r"blow up near t = (1|0\.99\d*):"):
        (solution,) = sn.solve_many(sn.loads(BLOW_UP))
    assert solution.result.outcome is Outcome.GIVEN_UP
    assert "t = [0, 0.95]" in solution.result.stop_reason
    assert solution.result.estimate is None
    assert solution(t=0.5) == pytest.approx(2, rel=1e-3)
    assert np.isnan(solution(t=1.5))


def test_an_estimate_as_large_as_the_solution_is_a_warning():
    """The same blow-up along an axis that is not time: least squares settles on something."""
    problem = sn.loads(BLOW_UP.replace("u_t", "u_x").replace("t =", "x ="))
    with pytest.warns(SafeNetWarning, match="estimated at"):
        solution = sn.solve(problem, sn.LeastSquares())
    (text,) = solution.result.warnings
    assert f"{solution.result.estimate:.0%}" in text


def test_python_shows_progress_unless_asked_not_to(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    smooth = sn.loads(SQUARE.replace("(sign(x - 0.2) - sign(x - 0.4))/2", "x**2*exp(-x)"))
    sn.solve(smooth, sn.LeastSquares(), monitor=sn.Monitor())
    assert capsys.readouterr() == ("", "")
    sn.solve(smooth, sn.LeastSquares())
    out, shown = capsys.readouterr()
    assert out == ""
    assert "s  least-squares: 169 coefficients" in shown
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
    with pytest.warns(SafeNetWarning) as said:
        solution = sn.solve(sn.loads(RESONANT))
    words = " ".join(str(one.message) for one in said)
    assert "not unique, or there is none" in words
    assert "eigenvalue" in words
    assert (solution.result.outcome, solution.result.estimate) == ("not solved", None)
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
    # In the direction of exp(40 x) the rows are nearly blind: what is known of it is a bound.
    assert 1e-15 < solution.result.estimate < 1e-3


def test_a_condition_where_the_flow_leaves_and_none_where_it_enters_is_not_solved():
    text = """
        name = "outflow"
        unknowns = ["u"]
        equations = ["u_t + u_x = 0"]
        conditions = ["u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
        domain = { x = [0, 1], t = [0, 1] }
    """
    with (
        pytest.warns(SafeNetWarning, match="u enters at x = 0, and no condition says with what value"),
        pytest.warns(SafeNetWarning, match="u leaves at x = 1, .* the condition there is one too many"),
    ):
        solution = sn.solve(sn.loads(text))
    assert solution.result.outcome == "not solved"
    assert solution.result.estimate is None


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        (('= 1"', '= 0"'), "u = 0 is returned"),
        (('"u(0) = 0"', '"u(0) = 0", "u_x(0) = 5"'), "3 conditions for equations of order 2"),
    ],
)
def test_zeros_only_and_conditions_too_many_are_doubts(change, doubt):
    assert doubts(sn.loads(RESONANT)) == ()
    (text,) = doubts(sn.loads(RESONANT.replace(*change)))
    assert doubt in text


def test_a_silent_phase_says_every_few_seconds_what_it_is_at(monkeypatch):
    monkeypatch.setattr(progress, "LINE_EVERY", 0.1)
    monkeypatch.setattr(progress, "BEAT", 0.02)
    said = []
    lines = progress.Lines()
    monkeypatch.setattr(lines, "write", said.append)
    lines.phase("ssbroyden", "compiling")
    time.sleep(0.5)
    lines.ended()
    assert 2 <= len(said) <= 6
    assert all(line.endswith("ssbroyden: compiling …") for line in said)
    before = len(said)
    time.sleep(0.3)
    assert len(said) == before


def test_a_monitor_is_told_of_the_end_of_a_solve_that_raises():
    ends = []

    class Failing(sn.Monitor):
        def phase(self, *told):
            raise RuntimeError("a fault of the monitor")

        def ended(self):
            ends.append("ended")

    with pytest.raises(RuntimeError, match="a fault of the monitor"):
        sn.solve(sn.loads(BLOW_UP), monitor=Failing())
    assert ends == ["ended"]


def test_a_lower_limit_is_one_for_programs_too(tmp_path):
    """What the terminal calls "or more" is a field of the result, and comes back from the folder."""
    from safenet.views.describe import _estimate_lines

    decay = sn.Problem("u_t = -u", domain={"t": (0, 1)}, conditions=["u(0) = 1"])
    result = sn.solve(decay, out=tmp_path / "run", monitor=sn.Monitor()).result
    assert not result.estimate_at_least
    assert "or more" not in _estimate_lines(result)[0]
    result.estimate_at_least = True
    assert "or more" in _estimate_lines(sn.Result.from_json(result.to_json()))[0]


FREE = """
name = "free-slope"
unknowns = ["u"]
equations = ["u_xx = -1"]
conditions = ["u(0) = 0"]
domain = { x = [0, 1] }
"""


def stopped_by_its_clock(text, **options):
    """A training that its budget ends after a few steps."""
    clock = Budget()

    def late(progress):
        clock.spent = True

    schedule = [sn.LBFGS(10_000)]
    return sn.solve(
        sn.loads(text), sn.Train("pinn", schedule, callback=late, **SIZES, **options), budget=clock
    )


SIZES = {"width": 4, "depth": 1, "points": 16}


@pytest.mark.filterwarnings("ignore::safenet.SafeNetWarning")
@pytest.mark.parametrize(
    "conditions", ['"u(0) = 0"', '"u_x(0) = 0", "u_x(1) = 0"'], ids=["a missing side", "no balance"]
)
def test_a_problem_without_one_solution_is_not_solved_also_when_time_runs_out(conditions):
    result = stopped_by_its_clock(FREE.replace('"u(0) = 0"', conditions)).result
    assert result.outcome is Outcome.NOT_SOLVED
    assert result.stopped
    assert "no time" not in result.stop_reason


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize(("error", "solved"), [(1e-3, True), (0.5, False)])
@pytest.mark.filterwarnings("ignore::safenet.SafeNetWarning")
def test_an_estimate_or_more_counts_alike_where_the_plan_ended_and_where_its_budget_did(
    monkeypatch, stopped, error, solved
):
    """20 s were "solved"; resumed for 30 s, with a smaller error and a rougher residual, they were "out of time"."""

    def rough(solution, carried, monitor, clock, former):
        solution.result.estimate, solution.result.estimate_left = error, 0.5
        return True

    monkeypatch.setattr(judging, "estimate", rough)
    clock = Budget()

    def enough(progress):
        clock.spent = stopped and progress.loss < 1e-6

    text = FREE.replace('"u(0) = 0"', '"u(0) = 0", "u(1) = 0"')
    training = sn.Train("pinn", [sn.LBFGS(2000)], callback=enough, **SIZES)
    result = sn.solve(sn.loads(text), training, budget=clock).result
    assert result.stopped is stopped
    assert result.estimate_at_least
    assert (result.outcome is Outcome.SOLVED) is solved


@pytest.mark.filterwarnings("ignore::safenet.SafeNetWarning")
def test_terms_of_the_users_own_may_fix_what_the_problem_leaves_free():
    def slope(network):
        return network(jnp.ones(1))[0] - network(jnp.zeros(1))[0] - 1.0

    schedule = [sn.LBFGS(200)]
    sol = sn.solve(sn.loads(FREE), sn.Train("pinn", schedule, terms=[(1.0, slope)], **SIZES))
    assert sol.result.residual < 0.1
    assert sol.result.outcome is Outcome.UNVERIFIED
    assert any("your own loss terms" in text for text in sol.result.warnings)
