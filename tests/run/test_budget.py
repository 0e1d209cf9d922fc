"""A budget is asked and never thrown; when it is spent the best so far comes back, to be resumed to the bit."""

import json
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import safenet as sn
from safenet.direct import DirectPlan
from safenet.errors import SafeNetError, SafeNetWarning
from safenet.run import budget
from safenet.run.budget import Budget, SpentError, awaited, left_behind, multiplications_per_second, seconds
from safenet.run.plans import Job
from safenet.run.result import Outcome
from safenet.solving import door, judging
from safenet.views.describe import result_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("60s", 60.0),
        ("90", 90.0),
        ("5m", 300.0),
        ("1.5min", 90.0),
        ("1h", 3600.0),
        (str(1e-5), 1e-5),
        ("1e3", 1000.0),
        (".5h", 1800.0),
        ("2E1 m", 1200.0),
    ],
)
def test_a_time_is_read_with_its_unit(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["ten", "", "0s", "-5s", "5 weeks", "1e9e9s", "1e999", "nan", "."])
def test_what_is_not_a_time_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(SafeNetError, match="60s"):
        seconds(text)


def test_the_machine_is_measured_in_multiplications() -> None:
    # Slower than any computer of this century, faster than any: a unit error is a factor of 1e3 or more.
    assert 1e8 < multiplications_per_second() < 1e15


FISHER = """
name = "fisher"
unknowns = ["u"]
equations = ["u_t = u_xx/20 + u - u**3"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 1], t = [0, 1] }
"""
LINEAR = sn.loads(FISHER.replace("u**3", "0"))


class Clock(sn.Monitor):
    """Real time, until a phase of that name has begun so often; then it is a day later."""

    def __init__(self, name: str, count: int) -> None:
        self.name, self.left, self.perf_counter = name, count, time.perf_counter

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        self.left -= name == self.name and not fraction

    def monotonic(self) -> float:
        return time.monotonic() + 86_400 * (self.left <= 0)


def test_a_spent_budget_interrupts_the_plan_which_can_be_resumed_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, clock = sn.loads(FISHER), Clock("marching on cells", 2)
    monkeypatch.setattr(budget, "time", clock)
    stopped = sn.solve(problem, "march", budget="5m", out=tmp_path, monitor=clock)
    result = json.loads((tmp_path / "result.json").read_text())
    assert (result["outcome"], result["estimate"]) == ("out of time", None)
    assert "The budget of 300 s is spent" in result["stop_reason"]
    assert "--resume" in result_text(stopped, tmp_path)
    assert np.isfinite(stopped(x=0.5, t=1.0))  # the first march has reached the end
    plan = (tmp_path / "plan.json").read_text()
    assert "sizes for a budget of 300 s" in plan

    resumed = sn.resume(tmp_path)
    assert (tmp_path / "plan.json").read_text() == plan
    assert resumed.result.outcome is Outcome.SOLVED
    assert resumed.result.wall_seconds > result["wall_seconds"]
    (whole,) = door.carry_out([Job(problem, DirectPlan.from_json(plan))])
    np.testing.assert_array_equal(resumed.field.coefficients, whole.field.coefficients)
    assert resumed.result.residual == whole.result.residual < result["residual"]
    assert resumed.result.estimate == whole.result.estimate


def test_a_budget_may_end_between_the_solution_and_its_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, measured = Clock("measured", 1), door.errors
    monkeypatch.setattr(budget, "time", clock)
    monkeypatch.setattr(
        door, "errors", lambda *given, **more: (measured(*given, **more), clock.phase("measured"))[0]
    )
    result = sn.solve(LINEAR, budget=300, monitor=clock).result
    assert (result.outcome, result.estimate) == (Outcome.OUT_OF_TIME, None)
    assert "too little of the budget was left to estimate the error" in result.stop_reason
    assert result.residual < 1e-10


def test_nothing_is_over_before_there_is_something_to_keep() -> None:
    watch = Budget(total=1.0, began=time.monotonic() - 2)
    assert not watch.over()
    assert not watch.spent
    watch.found = True
    assert watch.over()
    assert watch.spent  # and stays so, whatever the clock says
    watch.total = 1e9
    assert watch.over()


def test_a_tenth_is_kept_for_the_end() -> None:
    assert not Budget(total=100.0, began=time.monotonic() - 89, found=True).over()
    assert Budget(total=100.0, began=time.monotonic() - 91, found=True).over()


def test_the_room_for_more_ends_where_a_solver_is_to_stop() -> None:
    assert Budget().room == np.inf
    assert Budget(total=100.0, began=time.monotonic() - 60).room == pytest.approx(30, abs=1)
    assert Budget(total=100.0, began=time.monotonic() - 95).room < 0


def test_a_few_seconds_and_the_last_tenth_are_all_that_waits_for_something_to_keep() -> None:
    late = Budget(total=1.0, began=time.monotonic() - 1.01 * budget.FLOOR)
    assert late.over()
    assert not Budget(total=100.0, began=time.monotonic() - 95).over()
    assert Budget(total=100.0, began=time.monotonic() - 101).over()


def test_an_estimate_ends_with_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not behind the last of its slabs."""
    clock = Clock("estimating the error", 1)
    monkeypatch.setattr(budget, "time", clock)
    result = sn.solve(sn.loads(FISHER), "march", budget=300, monitor=clock).result
    assert (result.outcome, result.estimate) == (Outcome.OUT_OF_TIME, None)
    assert result.residual < 1e-3


def test_an_error_that_a_solver_knows_needs_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, measured = Clock("measured", 1), door.errors
    monkeypatch.setattr(budget, "time", clock)
    monkeypatch.setattr(
        door, "errors", lambda *given, **more: (measured(*given, **more), clock.phase("measured"))[0]
    )
    decay = (
        'unknowns = ["u"]\nequations = ["u_t = -u**2"]\nconditions = ["u(0) = 1"]\ndomain = { t = [0, 1] }\n'
    )
    result = sn.solve(sn.loads(decay), "integrate", budget=300, monitor=clock).result
    assert (result.outcome, result.estimate < 1e-8) == (Outcome.SOLVED, True)


def test_a_part_that_would_end_too_late_is_not_begun() -> None:
    watch = Budget(total=10.0, found=True)
    assert not watch.over(ahead=9.9)
    assert watch.over(ahead=10.1)
    assert not Budget(found=True).over(ahead=1e9)  # without a limit there is no late


def test_the_seconds_that_are_shown_are_those_of_the_whole_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(*given: object, **options: object) -> float | None:
        time.sleep(0.4)
        return None

    plan = door.plan_for
    monkeypatch.setattr(door, "plan_for", lambda *given: (slowly(), plan(*given))[1])
    monkeypatch.setattr(judging, "estimated", slowly)
    began = time.monotonic()
    with pytest.warns(sn.SafeNetWarning, match="not estimated"):
        solution = sn.solve(LINEAR, monitor=sn.Monitor())
    passed = time.monotonic() - began
    assert 0.8 < solution.result.wall_seconds <= passed + 0.0005  # it is rounded to milliseconds
    assert f" {solution.result.wall_seconds:.1f} s" in result_text(solution, Path("run"))


def test_nobody_waits_for_what_does_not_end_in_time() -> None:
    gate = threading.Event()
    began = time.monotonic()
    with pytest.raises(SpentError):
        awaited(Budget(0.2, found=True), gate.wait)
    assert time.monotonic() - began < 2
    assert left_behind()
    gate.set()
    while left_behind():
        time.sleep(0.01)


def test_what_ends_in_time_is_heard_of_by_value_or_error() -> None:
    assert awaited(Budget(60.0), divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        awaited(Budget(60.0), divmod, 7, 0)
    assert not left_behind()
    assert (
        awaited(Budget(), threading.get_ident) == threading.get_ident()
    )  # all the time: no thread is needed


def test_a_training_that_only_compiles_ends_in_time_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, advance = threading.Event(), sn.Adam.advance
    monkeypatch.setattr(sn.Adam, "advance", lambda *given: (gate.wait(), advance(*given))[1])
    monkeypatch.setattr(budget, "FLOOR", 0.5)
    training = sn.Train("pinn", [sn.Adam(20)], width=3, depth=1, points=16)
    began = time.monotonic()
    with pytest.warns(SafeNetWarning, match="Compiling took all of the budget"):
        stopped = sn.solve(LINEAR, training, out=tmp_path, budget=0.5, monitor=sn.Monitor()).result
    assert time.monotonic() - began < 30
    assert (stopped.outcome, stopped.iterations, stopped.residual) == (Outcome.OUT_OF_TIME, 0, None)
    assert stopped.stop_reason == (
        "Compiling took all of the budget of 0.5 s: no step was made; give it more time. The run can be resumed."
    )
    assert np.isnan(sn.load(tmp_path)(x=0.5, t=0.5))
    gate.set()
    with warnings.catch_warnings(action="ignore", category=SafeNetWarning):
        assert sn.resume(tmp_path, monitor=sn.Monitor()).result.iterations == 20


def test_no_program_is_compiled_that_would_not_be_ready_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adam's program took longer than what is left: L-BFGS is not begun."""
    clock = Budget(600.0)
    advance = sn.Adam.advance

    def late(*given: object) -> object:
        clock.began = time.monotonic() - 400.0  # 400 s for the first, and 200 s are left
        return advance(*given)

    monkeypatch.setattr(sn.Adam, "advance", late)
    monkeypatch.setattr(sn.LBFGS, "start", lambda *given: pytest.fail("it was begun"))
    monkeypatch.setattr(
        "safenet.train.run.time", type("Clock", (), {"monotonic": lambda: time.monotonic() - clock.began})
    )
    training = sn.Train("pinn", [sn.Adam(3), sn.LBFGS(20)], width=3, depth=1, points=16)
    with warnings.catch_warnings(action="ignore", category=SafeNetWarning):
        stopped = sn.solve(LINEAR, training, budget=clock, monitor=sn.Monitor()).result
    assert (stopped.outcome, stopped.iterations) == (Outcome.OUT_OF_TIME, 3)
    assert "the next part would take longer" in stopped.stop_reason
    assert stopped.stop_reason.endswith("To be able to resume a run, give a folder (out=…).")
