"""Below the accuracy of its reference an error is not known: people read «≤», files keep what was measured."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import safenet as sn
from running import DECAY, SOUND
from safenet.measure.scores import l2re_text
from safenet.reference import Reference
from safenet.solution import Solution
from safenet.views.describe import result_text

FLOOR = 1e-5
OWN = "(the reference's own accuracy)"


def pressure(x, t):
    return 3 + np.cos(np.pi * x) * np.cos(np.pi * t)


def velocity(x, t):
    return np.sin(np.pi * x) * np.sin(np.pi * t)


def line(text, title):
    return next(row for row in text.splitlines() if row.startswith(f"  {title} "))


@pytest.fixture(scope="module")
def decay():
    """A default solve, good to 1e-12, of a problem whose reference claims five digits only."""
    # A little off: on some processors the solve hits the formula itself to the last bit.
    modest = Reference(lambda t: (1 + 1e-12 * t) * np.exp(-3 * t), FLOOR, "the formula, with a modest claim")
    return sn.solve(sn.loads(DECAY).with_reference(modest))


@pytest.fixture(scope="module")
def half_known():
    """Two unknowns, of which the reference of one is off by far more than it claims."""

    def evaluate(x, t):
        return {"p": pressure(x, t), "v": (1 + 1e-3) * velocity(x, t)}

    return sn.solve(sn.loads(SOUND).with_reference(Reference(evaluate, FLOOR, "v is a thousandth too large")))


# ---- a number in words


@pytest.mark.parametrize(
    ("l2re", "floor", "says"),
    [
        (2.345e-4, FLOOR, "2.35e-04"),
        (FLOOR, FLOOR, "1.00e-05"),
        (0.99e-5, FLOOR, f"≤ 1.0e-05 {OWN}"),
        (0.0, FLOOR, f"≤ 1.0e-05 {OWN}"),
        # Exact solutions have the accuracy 0, functions of the user's none: every digit is the solver's.
        (1e-15, 0.0, "1.00e-15"),
        (1e-15, None, "1.00e-15"),
        (float("nan"), FLOOR, "not known"),
        (None, FLOOR, "not known"),
        ({"p": 2e-5, "v": 6e-5, "pooled": 3e-5, "mean": 4e-5}, FLOOR,
         "pooled 3.00e-05, mean 4.00e-05, p 2.00e-05, v 6.00e-05"),
        ({"p": 2e-7, "v": 6e-5, "pooled": 3e-6, "mean": 3e-5}, FLOOR,
         "pooled ≤ 1.0e-05, mean 3.00e-05, p ≤ 1.0e-05, v 6.00e-05 (≤: the reference's own accuracy)"),
        ({"p": None, "v": 6e-5, "pooled": None, "mean": None}, FLOOR,
         "pooled not known, mean not known, p not known, v 6.00e-05"),
    ],
)  # fmt: skip
def test_digits_below_the_floor_are_replaced_by_it(l2re, floor, says):
    assert l2re_text(l2re, floor) == says


# ---- what a solve prints


def test_a_result_below_the_floor_is_printed_as_a_bound_and_kept_as_measured(decay, tmp_path):
    assert 0 < decay.result.l2re < 1e-9
    assert decay.result.reference_accuracy == FLOOR
    assert line(result_text(decay, Path("runs/decay")), "L2RE").split(maxsplit=1)[1] == f"≤ 1.0e-05 {OWN}"
    assert f"{decay.result.l2re:.2e}" not in result_text(decay, Path("runs/decay"))
    assert str(decay.error()).startswith(f"L2RE ≤ 1.0e-05 {OWN}, largest error ")
    decay.save(tmp_path)
    assert sn.load(tmp_path).result.l2re == decay.result.l2re == decay.error().l2re


def test_the_same_result_against_the_formula_itself_is_printed_in_full():
    text = result_text(sn.solve(sn.loads(DECAY)), Path("runs/decay"))
    assert re.fullmatch(r"  L2RE +\d\.\d\de[-+]\d\d", line(text, "L2RE"))


def test_each_field_has_its_own_floor_and_the_three_errors_are_explained(half_known):
    l2re = half_known.result.l2re
    assert set(l2re) == {"p", "v", "pooled", "mean"}
    assert l2re["p"] < FLOOR < min(l2re["v"], l2re["pooled"], l2re["mean"])
    # v is 0.1% too large in the reference: ‖v − v*‖/‖v*‖ = 1e-3/1.001, and half of it on average with p's zero.
    assert l2re["v"] == pytest.approx(1e-3 / 1.001, rel=1e-6)
    assert l2re["mean"] == pytest.approx(l2re["v"] / 2, rel=1e-6)
    text = result_text(half_known, Path("runs/sound"))
    numbers = line(text, "L2RE")
    for name in ("v", "pooled", "mean"):
        assert f"{name} {l2re[name]:.2e}" in numbers
    assert "p ≤ 1.0e-05" in numbers
    explanation = text.splitlines()[text.splitlines().index(numbers) + 1]
    assert "pooled: " in explanation
    assert "mean: " in explanation


def test_one_field_needs_no_explanation(decay):
    assert "pooled" not in result_text(decay, Path("runs/decay"))
    assert isinstance(decay.result.l2re, float)


def test_a_result_is_printed_without_measuring_it_again(decay):
    def forbidden(*_, **__):
        raise AssertionError("measured again")

    blind = Solution(decay.problem.with_reference(forbidden), forbidden, decay.plan, result=decay.result)
    with pytest.raises(AssertionError, match="measured again"):
        blind.error()
    blind.folder = decay.folder
    assert result_text(blind, Path("runs/decay")) == result_text(decay, Path("runs/decay"))


@pytest.mark.parametrize(
    ("outcome", "says"),
    [("interrupted", "the run has not reached the whole domain"), ("not solved", "is not finite everywhere")],
)
def test_an_error_that_is_not_known_is_not_printed_as_one(decay, outcome, says):
    result = replace(decay.result, l2re=None, max_error=None, residual=None, outcome=sn.Outcome(outcome))
    text = result_text(Solution(decay.problem, decay.field, decay.plan, result=result), Path("runs/decay"))
    for title in ("L2RE", "residual"):
        assert re.search(rf"not known: .*{says}", line(text, title))
    assert "largest error" not in text


def test_without_a_reference_nothing_is_said_of_an_error():
    text = result_text(sn.solve(sn.loads(DECAY.replace("exact", "#"))), Path("runs/decay"))
    assert "L2RE" not in text
    assert "largest error" not in text
    assert re.search(r"residual +\d\.\d\de[+-]\d\d", text)
