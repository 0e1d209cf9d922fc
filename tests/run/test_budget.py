"""A budget becomes sizes once, more time never means less work, and when it is spent the best so far comes back."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

import safenet as sn
from safenet import library
from safenet.direct.direct import LeastSquares, Marching
from safenet.errors import SafeNetError
from safenet.run import budget
from safenet.run.budget import Deadline, Spent, multiplications_per_second, seconds, within
from safenet.solving.door import door as solving
from safenet.train.optimisers.levenberg import LevenbergMarquardt
from safenet.train.recipes import MARCHES, Plan, make_plan
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


@pytest.mark.parametrize("phase", [LeastSquares(), MARCHES[1], LevenbergMarquardt(100)])
def test_sizes_grow_with_the_work_allowed(phase: object) -> None:
    def size(work: float) -> float:
        sized = within(phase, work, rows=4000, parameters=2000)
        return sized.iterations if isinstance(sized, LevenbergMarquardt) else sized.unknowns

    sizes = [size(work) for work in (1e9, 1e11, 1e12, 1e13)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_the_first_march_is_never_given_up() -> None:
    first = within(MARCHES[0], 1e9, 1, 1)
    assert isinstance(first, Marching)
    assert first.work == MARCHES[0].work


def test_the_resolved_budget_is_part_of_the_plan_and_replays() -> None:
    plan = Train(budget="30s").plan(library.problem("burgers"))
    assert Plan.from_json(plan.to_json()) == plan
    assert any("30s" in reason for reason in plan.reasons)


def test_a_paper_recipe_has_no_sizes_to_choose() -> None:
    with pytest.raises(SafeNetError, match="--scale"):
        Train("safe-net", "paper-1", budget="30s").plan(library.problem("wave"))


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
    stopped = sn.solve(problem, budget="5m", out=tmp_path, monitor=clock)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["outcome"] == "out of time"
    assert "The budget of 300 s is spent" in result["stop_reason"]
    assert "--resume" in result_text(stopped, tmp_path)
    assert np.isfinite(stopped(x=0.5, t=1.0))  # the first march has reached the end
    plan = (tmp_path / "plan.json").read_text()

    resumed = sn.resume(tmp_path)
    assert (tmp_path / "plan.json").read_text() == plan
    assert resumed.result.outcome == "finished"
    assert resumed.result.wall_seconds > result["wall_seconds"]
    whole = solving.carry_out(problem, Plan.from_json(plan), None, None)
    np.testing.assert_array_equal(resumed.network.amplitudes, whole.network.amplitudes)
    assert resumed.result.residual == whole.result.residual < result["residual"]


def test_a_budget_may_end_between_the_solution_and_its_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock("estimating the error", 1)
    monkeypatch.setattr(budget, "time", clock)
    result = sn.solve(sn.loads(FISHER.replace("u**3", "0")), budget=300, monitor=clock).result
    assert (result["outcome"], result["estimate"]) == ("out of time", None)
    assert "the solution is complete" in result["stop_reason"]
    assert result["residual"] < 1e-10


def test_nothing_is_interrupted_before_there_is_something_to_keep() -> None:
    watch = Deadline(sn.Monitor(), budget=0.0, began=time.monotonic() - 1)
    watch.phase("least squares", "9 amplitudes")
    watch.step(1, 1.0)
    watch.level(9, 1.0)
    with pytest.raises(Spent):
        watch.network(lambda: None)
    watch.phase("estimating the error")  # once is enough


def test_a_part_that_would_end_too_late_is_not_begun() -> None:
    watch = Deadline(sn.Monitor(), budget=10.0, began=time.monotonic())
    watch.network(lambda: None)
    watch.phase("least squares", "9 amplitudes")
    watch.part -= 13  # so long that took
    with pytest.raises(Spent):
        watch.phase("least squares", "90 amplitudes")


def test_the_seconds_that_are_shown_are_those_of_the_whole_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(*given: object, **options: object) -> float | None:
        time.sleep(0.4)
        return None

    plan = make_plan
    monkeypatch.setattr(solving, "make_plan", lambda *g, **o: (slowly(), plan(*g, **o))[1])
    monkeypatch.setattr(solving, "estimated", slowly)
    began = time.monotonic()
    solution = sn.solve(sn.loads(FISHER.replace("u**3", "0")), monitor=sn.Monitor())
    passed = time.monotonic() - began
    assert 0.8 < solution.result.wall_seconds <= passed
    assert f" {solution.result['wall_seconds']:.1f} s" in result_text(solution, Path("run"))
