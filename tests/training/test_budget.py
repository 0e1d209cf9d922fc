"""A budget becomes sizes once; more time never means less work."""

import pytest

from safenet import library
from safenet.errors import SafeNetError
from safenet.training.budget import multiplications_per_second, seconds, within
from safenet.training.direct import LeastSquares, Marching
from safenet.training.levenberg import LevenbergMarquardt
from safenet.training.recipes import MARCHES, Plan, make_plan


@pytest.mark.parametrize(
    ("text", "expected"), [("60s", 60.0), ("90", 90.0), ("5m", 300.0), ("1.5min", 90.0), ("1h", 3600.0)]
)
def test_a_time_is_read_with_its_unit(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["ten", "", "0s", "-5s", "5 weeks", "1e9e9s"])
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
    plan = make_plan(library.problem("burgers"), budget="30s")
    assert Plan.from_json(plan.to_json()) == plan
    assert any("30s" in reason for reason in plan.reasons)


def test_a_paper_recipe_has_no_sizes_to_choose() -> None:
    with pytest.raises(SafeNetError, match="--scale"):
        make_plan(library.problem("wave"), recipe="paper-1", budget="30s")


def test_the_machine_is_measured_in_multiplications() -> None:
    # Slower than any computer of this century, faster than any: a unit error is a factor of 1e3 or more.
    assert 1e8 < multiplications_per_second() < 1e15
