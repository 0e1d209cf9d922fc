"""Each kind of confident wrong answer, and of right answer called wrong, that docs/trust.md once listed."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
from benchmarks.trust import run
from benchmarks.trust.chosen import known
from benchmarks.trust.run import judged

import safenet as sn
from safenet.measure.orbits.branching import branching
from safenet.measure.rows.cells import CellRows
from safenet.problem.facts.balance import imbalance
from safenet.problem.facts.direction import closed_lines, parting
from safenet.problem.facts.elliptic import infinite_corners
from safenet.problem.facts.narrow import narrow

SLOW = ("5*pi**2*u", "4*u*(1 - u)", "u_xx + u_yy = 0", "x + 0.01")
QUICK = [trial for trial in known.TRIALS if not any(part in trial.equations[0] for part in SLOW)]


@pytest.mark.parametrize("trial", QUICK, ids=lambda trial: f"{trial.equations[0]} {trial.domain}")
def test_it_is_solved_or_the_reason_is_said(trial) -> None:
    row = judged(trial, seconds=120.0)
    assert not row["silent"], row
    assert not row["alarm"] or "1e-07" in trial.equations[0], row  # right, and not explained to rounding


@pytest.mark.slow
@pytest.mark.parametrize(
    "trial", [t for t in known.TRIALS if t not in QUICK], ids=lambda trial: trial.equations[0]
)
def test_it_is_solved_or_the_reason_is_said_in_a_while(trial) -> None:
    row = judged(trial, seconds=300.0)
    assert row["outcome"] in ("not solved", "out of time"), row  # how far it comes is a matter of the machine


@pytest.mark.parametrize(
    ("source", "slope", "balanced"),
    [("x", "0", True), ("2", "1", True), ("x + 1e-3", "0", False), ("exp(x)", "1", False)],
)
def test_a_source_on_a_disc_is_balanced_by_what_flows_through_its_rim(source, slope, balanced) -> None:
    trial = known.one(
        "", f"u_xx + u_yy = {source}", f"u_n = {slope} on rim; u(0, 0) = 0", known.BOX, None, shape=known.DISC
    )
    assert (imbalance(sn.loads(trial.text)) is None) == balanced


@pytest.mark.parametrize(
    ("equation", "free"),
    [
        ("u_x + u_y = cos(x)", True),
        ("u_x + 40*u_y = cos(x)", True),
        ("u_x + sqrt(2)*u_y = cos(x)", False),
        ("u_x + u_y + u = cos(x)", False),
        ("u_xx + u_yy = cos(x)", False),
        ("u_xx + u_yy + 5*u = cos(x)", True),
    ],
)
def test_a_wave_that_no_equation_sees_on_a_torus_is_named(equation, free) -> None:
    trial = known.one("", equation, "u(0, 0) = 0", known.TORUS, None, periodic=("x", "y"))
    assert bool(closed_lines(sn.loads(trial.text))) == free


@pytest.mark.parametrize(
    ("speed", "parts"),
    [
        ("sign(x)", True),
        ("where(x < 0, -1, 0)", True),
        ("x", False),
        ("where(x < 0, 1, 2)", False),
        ("-sign(x)", False),
    ],
)
def test_characteristics_part_where_the_speed_jumps_from_below_zero_to_above(speed, parts) -> None:
    trial = known.one("", f"u_t + ({speed})*u_x = 0", "u(x, 0) = cos(pi*x)", known.SPREAD, None)
    assert bool(parting(sn.loads(trial.text))) == parts


@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
@pytest.mark.parametrize(
    ("rate", "start", "end", "leaves"),
    [
        ("3*abs(u)**(2/3)", -1, 2, True),
        ("-sqrt(abs(u))", 1, 3, True),
        ("sqrt(u)", 1, 2, False),
        ("3*abs(u)**(2/3)", -1, 0.5, False),  # not there yet
        ("-abs(u - 2)**(1/2)", 1, 2, False),
    ],
)
def test_only_a_solution_at_rest_beside_which_others_leave_is_one_of_many(rate, start, end, leaves) -> None:
    trial = known.one("", f"u_t = {rate}", f"u(0) = {start}", {"t": (0, end)}, None)
    solution = sn.solve(sn.loads(trial.text), "integrate", monitor=sn.Monitor())
    assert bool(branching(solution.problem, solution.field)) == leaves


def test_on_a_disc_the_weakest_direction_is_the_function_that_is_free() -> None:
    """u_x = 0 on the rim and u(0, 0) = 0 leave c y, and no polynomial that is large outside the disc is weaker."""
    trial = next(each for each in known.TRIALS if each.conditions[0] == "u_x = 2*x on rim")
    problem = sn.loads(trial.text)
    rows = CellRows(problem, [((-1.0, 1.0), (-1.0, 1.0))], 8, 1.5)
    jacobian, _ = rows.linearise(np.zeros(rows.unknowns))
    factored = rows.factored(jacobian)
    assert factored is not None
    step, image = factored.weakest()
    form = rows.form(step)
    points = np.array([[0.3, 0.4], [-0.5, 0.2], [0.1, -0.7]])
    values = form.jets(points, [(0, 0)])[0, 0][:, 0]
    assert np.linalg.norm(image) < 1e-7
    assert values / points[:, 1] == pytest.approx(values[0] / 0.4, rel=1e-4)


def test_corners_at_which_second_derivatives_are_infinite() -> None:
    motz = next(each for each in known.TRIALS if each.family == "mixed corner")
    ((x, y),) = infinite_corners(sn.loads(motz.text))
    assert (x, y) == pytest.approx((0, 0), abs=1e-9)
    disc = known.one("", "u_xx + u_yy = 1", "u = 0 on rim", known.BOX, None, shape=known.DISC)
    assert not infinite_corners(sn.loads(disc.text))


def test_shards_of_the_benchmark_are_all_of_it_once() -> None:
    given = argparse.Namespace(generated=60, chosen=False, seed=0)
    parts = [run.todo(argparse.Namespace(**vars(given), shard=f"{k}/3")) for k in (1, 2, 3)]
    whole = run.todo(argparse.Namespace(**vars(given), shard="1/1"))
    assert sorted(key for part in parts for key in part) == sorted(whole)


def test_what_needs_a_package_that_is_not_there_is_not_run(monkeypatch) -> None:
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    ball = 'shape = [{ ball = { center = [0, 0, 0], radius = 1 } }]\n[pieces]\nskin = "rest"\n'
    box = dict.fromkeys("xyz", (-1, 1))
    row = judged(known.one("", "u_xx + u_yy + u_zz = 1", "u = 0 on skin", box, None, shape=ball), 10.0)
    assert row["outcome"] == run.NOT_RUN
    assert not row["silent"]
    assert not row["alarm"]


def test_a_source_that_switches_in_time_and_varies_in_space_is_bounded() -> None:
    """The boxes along the line t = 0.37 hide nothing but the switch, which is known."""
    text = known.one(
        "", "u_t = u_xx + where(t < 0.37, 1, 0)*sin(pi*x)", "u(x, 0) = 0", {"x": (0, 1), "t": (0, 1)}, None
    ).text
    assert not narrow(sn.loads(text), True).unbounded


def test_rates_without_finite_derivatives_at_rest_come_to_an_end() -> None:
    """u″ = 12√|u| stays at 0 or leaves as t⁴. Its u‴ = 6 u′/√|u| is 0/0 there: no step is halved for that."""
    problem = sn.Problem(
        "u_tt = 12*sqrt(abs(u))", domain={"t": (0, 1)}, conditions=["u(0) = 0", "u_t(0) = 0"]
    )
    with pytest.warns(sn.SafeNetWarning):
        result = sn.solve(problem, monitor=sn.Monitor()).result
    assert result.outcome == "not solved"
    assert result.estimate is None
