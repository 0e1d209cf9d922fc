"""A training ends where its own estimate meets the tolerance, at the same bits however often it is interrupted."""

import jax.numpy as jnp
import numpy as np
import pytest
from carrying import train

import safenet as sn
from safenet.errors import SafeNetError, SafeNetWarning
from safenet.run.budget import Budget, SpentError
from safenet.run.progress import Monitor
from safenet.solving import judging
from safenet.train import tolerance
from safenet.train.optimisers.levenberg import LevenbergMarquardt
from safenet.train.plan import Plan

DECAY = sn.loads("""
name = "decay"
unknowns = ["u"]
equations = ["u_t = -u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
exact = { u = "exp(-t)" }
""")
SHORT = sn.Train("pinn", [sn.LevenbergMarquardt(60)], width=5, depth=1, points=40, tol=1e-3)


def test_the_run_ends_at_the_tolerance_which_its_true_error_meets_too():
    result = sn.solve(DECAY, SHORT, monitor=sn.Monitor()).result
    assert result.outcome == sn.Outcome.SOLVED
    assert 0 < result.iterations < 60
    assert result.iterations % 10 == 0  # at a look
    assert result.l2re < 2e-3
    assert result.estimate == pytest.approx(result.l2re, rel=0.5)
    assert "within the tolerance of 0.001" in result.stop_reason


def test_a_tolerance_that_is_not_met_is_not_solved():
    training = sn.Train("pinn", [sn.LevenbergMarquardt(12)], width=5, depth=1, points=40, tol=1e-13)
    with pytest.warns(SafeNetWarning, match="tolerance of 1e-13 is missed"):
        result = sn.solve(DECAY, training, monitor=sn.Monitor()).result
    assert (result.outcome, result.outcome.exit_status) == (sn.Outcome.NOT_SOLVED, 1)
    assert result.iterations == 12


def test_what_is_no_share_is_refused():
    with pytest.raises(SafeNetError, match="tolerance is 2"):
        sn.Train(tol=2)
    with pytest.raises(SafeNetError, match="tolerance is 'x'"):
        sn.Auto(tol="x")


def test_a_plan_without_a_tolerance_says_nothing_of_it_and_one_with_it_comes_back():
    with_one, without = SHORT.plan(DECAY), sn.Train().plan(DECAY)
    assert '"tol"' not in without.to_json()
    assert Plan.from_json(with_one.to_json()) == with_one
    assert Plan.from_json(without.to_json()).tol is None


class Stop(Monitor):
    """Interrupts after so many steps."""

    def __init__(self, last):
        self.last = last

    def losses(self, iteration, total, loss, terms):
        if iteration >= self.last:
            raise KeyboardInterrupt


def test_an_interrupted_run_ends_at_the_same_step(tmp_path, monkeypatch):
    monkeypatch.setattr(LevenbergMarquardt, "looks", 3)
    plan = SHORT.plan(DECAY)
    whole = train(DECAY, plan)
    for resume, last in enumerate((2, 5)):
        assert train(DECAY, plan, Stop(last), tmp_path, resume=bool(resume)).interrupted
    end = train(DECAY, plan, None, tmp_path, resume=True)
    assert 3 < len(whole.history) < 60
    assert end.stop_reason == whole.stop_reason
    np.testing.assert_array_equal(end.history, whole.history)
    assert end.residual == whole.residual


def decaying(point):
    return jnp.exp(-point)


def test_estimates_are_few_and_come_closer_to_the_tolerance(monkeypatch):
    """The error is that of the residual: eight decades, and at most nine estimates."""
    asked: list[float] = []
    residual = [1.0]
    monkeypatch.setattr(tolerance, "held_out", lambda *_: type("Held", (), {"worst": residual[0]}))

    def estimated(problem, field, monitor, budget, residual):
        asked.append(residual)
        return tolerance.Estimate(residual, 0.1)

    monkeypatch.setattr(tolerance, "estimated", estimated)
    goal = tolerance.Goal(1e-8)
    looks = 0
    while not goal.reached(DECAY, decaying, Monitor(), Budget()):
        residual[0] /= 1.3
        looks += 1
    assert looks > 60
    assert len(asked) <= 9
    assert 0.3e-8 < asked[-1] <= 1e-8


def test_an_estimate_that_explains_too_little_meets_nothing(monkeypatch):
    monkeypatch.setattr(tolerance, "held_out", lambda *_: type("Held", (), {"worst": 1e-3}))
    monkeypatch.setattr(tolerance, "estimated", lambda *_: tolerance.Estimate(1e-9, 0.9))
    goal = tolerance.Goal(1e-6)
    assert not goal.reached(DECAY, decaying, Monitor(), Budget())
    assert goal.wanted == 0.5e-3


def test_no_time_for_an_estimate_is_no_time_for_the_run(monkeypatch):
    clock = Budget(600.0)

    def late(*_):
        clock.spent = True
        raise SpentError

    monkeypatch.setattr(tolerance, "estimated", late)
    carried = train(DECAY, SHORT.plan(DECAY), budget=clock)
    assert carried.stopped
    assert 0 < len(carried.history) < 60


def test_a_look_that_was_cut_short_does_not_count_and_is_made_again(monkeypatch, tmp_path):
    """Its error is a lower limit because of the clock: the run ends there, as if the look had not been."""
    monkeypatch.setattr(LevenbergMarquardt, "looks", 3)
    plan, estimated, asked = SHORT.plan(DECAY), tolerance.estimated, []
    whole = train(DECAY, plan)

    def late(problem, field, monitor, budget, residual):
        asked.append(residual)
        return tolerance.Estimate(1e-9, 0.9, cut=True)

    monkeypatch.setattr(tolerance, "estimated", late)
    stopped = train(DECAY, plan, None, tmp_path, budget=Budget(600.0))
    assert stopped.stopped
    assert len(asked) == 1
    assert 0 < len(stopped.history) < len(whole.history) + 1

    def again(problem, field, monitor, budget, residual):
        asked.append(residual)
        return estimated(problem, field, monitor, budget, residual)

    monkeypatch.setattr(tolerance, "estimated", again)
    end = train(DECAY, plan, None, tmp_path, resume=True)
    assert asked[1] == asked[0]
    assert end.stop_reason == whole.stop_reason
    np.testing.assert_array_equal(end.history, whole.history)


CORNER = sn.loads("""
unknowns = ["u"]
equations = ["u_xx + u_yy = -1"]
conditions = ["u = 0 on walls"]
[domain]
x = [-1, 1]
y = [-1, 1]
remove = [{ box = { x = [0, 1], y = [0, 1] } }]
[pieces]
walls = "rest"
""")
OPEN = sn.loads("""
unknowns = ["u"]
equations = ["u_xx + u_yy = 0"]
conditions = ["u(0, y) = 0", "u(1, y) = y", "u(x, 0) = 0"]
domain = { x = [0, 1], y = [0, 1] }
""")


def product(point):
    return (point[0] * point[1])[None]


@pytest.mark.parametrize(
    ("problem", "field", "found"),
    [
        (DECAY, decaying, tolerance.Estimate(1e-9, 0.1, seen=1e-14)),
        (DECAY, decaying, tolerance.Estimate(1e-9, 0.1, noise=0.2)),
        (DECAY, decaying, tolerance.Estimate(1e-9, 0.9)),
        (DECAY, decaying, tolerance.Estimate(np.nan, 0.1, lost="its slope is infinite")),
        (DECAY, decaying, None),
        (CORNER, product, tolerance.Estimate(1e-9, 0.1)),
        (OPEN, product, tolerance.Estimate(1e-9, 0.1, seen=1e-6)),
        (
            DECAY.with_data(sn.Data(t=np.linspace(0, 1, 9), u=np.linspace(50, 60, 9))),
            decaying,
            tolerance.Estimate(1e-9, 0.1),
        ),
    ],
    ids=["not unique", "amplified", "rough", "lost", "none", "corner", "left open", "data that are not met"],
)
def test_no_estimate_ends_a_run_that_the_judge_would_not_accept(monkeypatch, problem, field, found):
    monkeypatch.setattr(tolerance, "held_out", lambda *_: type("Held", (), {"worst": 1e-3}))
    monkeypatch.setattr(tolerance, "estimated", lambda *_: found)
    goal = tolerance.Goal(1e-6)
    assert not goal.reached(problem, field, Monitor(), Budget())
    assert goal.met is None
    assert goal.wanted == 0.5e-3


def test_a_tolerance_above_what_counts_as_solved_is_met_where_the_problem_is_solved(monkeypatch):
    monkeypatch.setattr(tolerance, "held_out", lambda *_: type("Held", (), {"worst": 1e-2}))
    goal = tolerance.Goal(0.5)
    for error, reached in ((0.3, False), (0.05, True)):
        monkeypatch.setattr(tolerance, "estimated", lambda *_, error=error: tolerance.Estimate(error, 0.1))
        goal.wanted = 0.1
        assert goal.reached(DECAY, decaying, Monitor(), Budget()) is reached


def test_a_tolerance_is_not_called_met_by_an_estimate_that_ends_no_run(monkeypatch):
    """It explains too little of the residual: the true error may be larger."""
    rough = tolerance.Estimate(1e-4, 0.9, fields=(1e-4,))
    for place in (tolerance, judging):
        monkeypatch.setattr(place, "estimated", lambda *_: rough)
    training = sn.Train("pinn", [sn.LevenbergMarquardt(40)], width=5, depth=1, points=40, tol=1e-3)
    with pytest.warns(
        SafeNetWarning, match="tolerance of 0.001 is met is not known: the error is estimated at 1.0e-04 or"
    ):
        result = sn.solve(DECAY, training, monitor=sn.Monitor()).result
    assert (result.outcome, result.estimate_at_least) == (sn.Outcome.NOT_SOLVED, True)
    assert "within the tolerance" not in result.stop_reason
