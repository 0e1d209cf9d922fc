"""Carrying out a direct plan: the same bits again, after an interruption or a spent budget too; sizes for a budget."""

import dataclasses
import math
import time

import jax
import numpy as np
import pytest

from safenet import library, listed
from safenet.direct import SOLVERS, Cells, DirectPlan, LeastSquares, March, Modes, carry_out, passes, plan_of
from safenet.direct.march_on_cells import MarchOnCells
from safenet.direct.march_on_grid import MarchOnGrid
from safenet.direct.march_on_series import MarchOnSeries
from safenet.direct.marches import CELL_MARCHES, GRID_MARCHES, SERIES_MARCHES
from safenet.direct.solver import Pass, Solver
from safenet.errors import SafeNetError
from safenet.fields.saved import field_skeleton
from safenet.fields.series import Piecewise
from safenet.fields.unknown import Unknown
from safenet.problem import loads
from safenet.run import budget as budgets
from safenet.run.budget import Budget
from safenet.run.progress import Monitor
from safenet.run.result import Carried, Ending, PhaseRecord
from scoring import states

DECAY = loads("""
name = "decay"
unknowns = ["u"]
equations = ["u_t = -u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
""")
LOGISTIC = loads("""
name = "logistic"
unknowns = ["u"]
equations = ["u_t = 4*u*(1 - u)"]
conditions = ["u(x, 0) = (2 + cos(pi*x))/4"]
domain = { x = [0, 1], t = [0, 1] }
""")
RING = loads("""
name = "ring"
unknowns = ["u"]
equations = ["u_t + u*u_x = u_xx/20"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 1], t = [0, 1] }
""")
# What is carried out, and at which of the monitor's calls it is interrupted.
RUNS = {
    "least squares": (DECAY, DirectPlan("least-squares", (LeastSquares(tolerance=0.0),)), (1, 2, 3, 8, 15)),
    "series": (
        LOGISTIC,
        DirectPlan("march", (MarchOnSeries(tail=1e-2), MarchOnSeries(tail=1e-5))),
        (1, 6, 20, 40),
    ),
    "cells": (RING, DirectPlan("march", (MarchOnCells(tail=1e-2), MarchOnCells(tail=1e-4))), (1, 9, 40)),
    "modes": (library.problem("heat-bump"), DirectPlan("modes", (Modes(),)), (1, 4, 7)),
}


class Watch(Monitor):
    """Counts what a run tells, and interrupts or ends its budget at one of its calls."""

    def __init__(self, stop=None, budget=None):
        self.stop, self.budget, self.told = stop, budget, []

    def hear(self, what, *details):
        self.told.append((what, details))
        if len(self.told) == self.stop:
            if self.budget is None:
                raise KeyboardInterrupt
            self.budget.total = 0.0

    def phase(self, name, detail="", fraction=None):
        self.hear("phase", name, detail)

    def step(self, iteration, loss):
        self.hear("step", iteration, loss)

    def level(self, unknowns, residual):
        self.hear("level", unknowns, residual)

    def network(self, current):
        self.hear("network", current)


def facts(carried):
    """All that a run ends with, but the time it took."""
    records = [dataclasses.replace(record, seconds=0.0) for record in carried.records]
    arrays = [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(carried.field)]
    return carried.residual, carried.ending, carried.stop_reason, carried.winner, records, arrays


@pytest.fixture(scope="module")
def undisturbed():
    """The end of each run, carried out once."""
    ends = {}

    def end(name):
        if name not in ends:
            problem, plan, _ = RUNS[name]
            ends[name] = facts(carry_out(problem, plan))
        return ends[name]

    return end


@pytest.mark.parametrize("name", RUNS)
def test_the_same_plan_gives_the_same_bits(name, undisturbed):
    problem, plan, _ = RUNS[name]
    assert facts(carry_out(problem, DirectPlan.from_json(plan.to_json()))) == undisturbed(name)


STOPS = [(name, stop) for name, (_, _, stops) in RUNS.items() for stop in stops]


@pytest.mark.parametrize(("name", "stop"), STOPS)
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(name, stop, undisturbed, tmp_path):
    problem, plan, _ = RUNS[name]
    interrupted = carry_out(problem, plan, Watch(stop), tmp_path)
    assert interrupted.interrupted
    assert "the best so far is kept" in interrupted.stop_reason
    assert facts(carry_out(problem, plan, None, tmp_path, resume=True)) == undisturbed(name)
    # Finished is finished.
    watch = Watch()
    assert facts(carry_out(problem, plan, watch, tmp_path, resume=True)) == undisturbed(name)
    assert watch.told == []


@pytest.mark.parametrize(("name", "stop"), STOPS)
def test_a_spent_budget_stops_the_run_which_goes_on_to_the_same_bits(name, stop, undisturbed, tmp_path):
    problem, plan, _ = RUNS[name]
    budget = Budget(total=1e9)
    stopped = carry_out(problem, plan, Watch(stop, budget), tmp_path, budget)
    # Once there is something to keep: then at most the part at hand is finished.
    assert not isinstance(stopped.field, Unknown)
    assert stopped.stopped == budget.spent
    assert not stopped.interrupted
    assert facts(carry_out(problem, plan, None, tmp_path, resume=True)) == undisturbed(name)


def test_a_run_out_of_time_knows_what_its_last_two_levels_differ_by():
    """A rough estimate that costs nothing: exp(−t) on two levels of polynomials."""
    budget, plan = Budget(total=1e9), DirectPlan("least-squares", (LeastSquares(tolerance=0.0, least=2),))

    class Late(Watch):
        def level(self, unknowns, residual):
            super().level(unknowns, residual)
            if sum(what == "level" for what, _ in self.told) == 2:
                budget.total = 0.0

    carried = carry_out(DECAY, plan, Late(), None, budget)
    t = np.linspace(0, 1, 200)
    first, second = (
        np.array([float(state.field(np.array([one]))[0]) for one in t])
        for state in states(plan.passes[0], DECAY)[:2]
    )
    assert carried.stopped
    wanted = np.linalg.norm(second - first) / np.linalg.norm(second)
    assert carried.apart[-1] == pytest.approx(wanted, rel=0.2)
    assert wanted > np.linalg.norm(second - np.exp(-t)) / np.linalg.norm(second)


def test_a_budget_stops_between_two_newton_steps():
    """Of a level that would take many steps, once a smaller one is known."""
    budget = Budget(total=1e9)
    bratu = loads("""
unknowns = ["u"]
equations = ["u_xx + 3*exp(u) = 0"]
conditions = ["u(0) = 0", "u(1) = 0"]
domain = { x = [0, 1] }
""")

    class Late(Watch):
        def step(self, iteration, loss):
            super().step(iteration, loss)
            if sum(what == "level" for what, _ in self.told) == 1:
                budget.total = 0.0

    # So coarse that the next level has several steps to go.
    watch, rough = Late(), LeastSquares(tolerance=0.0, least=1)
    carried = carry_out(bratu, DirectPlan("least-squares", (rough,)), watch, None, budget)
    assert carried.stopped
    assert [what for what, _ in watch.told[-2:]] == ["step", "phase"]  # what it has is still checked
    assert carried.field.parameters == states(rough, bratu)[0].field.parameters


def test_nothing_is_stopped_before_there_is_something_to_keep():
    budget = Budget(total=0.0)
    carried = carry_out(DECAY, DirectPlan("least-squares", (LeastSquares(tolerance=0.0),)), budget=budget)
    assert carried.stopped
    assert not isinstance(carried.field, Unknown)
    assert carried.records[0].iterations == 1


def test_a_part_that_would_end_too_late_is_not_begun(monkeypatch):
    """The first level takes 13 s of a budget of 10 s that has 20 s left by the clock."""
    now = [0.0]

    class Clock:
        perf_counter = staticmethod(time.perf_counter)

        @staticmethod
        def monotonic():
            return now[0]

    class Slow(Monitor):
        def level(self, unknowns, residual):
            now[0] += 13

    monkeypatch.setattr(budgets, "time", Clock)
    monkeypatch.setattr("safenet.direct.state.time", Clock)
    budget = Budget(total=20.0, began=0.0)
    carried = carry_out(
        DECAY, DirectPlan("least-squares", (LeastSquares(tolerance=0.0),)), Slow(), None, budget
    )
    assert carried.stopped
    assert now[0] == 13  # 7 s are left, and 4 s that it may be late


def test_checkpoints_are_written_on_the_way(tmp_path, monkeypatch):
    monkeypatch.setattr(passes, "SAVE_EVERY", 0.0)
    problem, plan, _ = RUNS["series"]
    kept = []

    class Copy(Monitor):
        def level(self, unknowns, residual):
            if (tmp_path / "checkpoint.npz").exists():
                kept.append((tmp_path / "checkpoint.npz").read_bytes())

    whole = carry_out(problem, plan, Copy(), tmp_path)
    assert len(kept) > 2
    (tmp_path / "checkpoint.npz").write_bytes(kept[1])  # as a kill would leave it
    assert facts(carry_out(problem, plan, None, tmp_path, resume=True)) == facts(whole)


def test_an_interruption_keeps_the_part_that_was_reached():
    carried = carry_out(LOGISTIC, RUNS["series"][1], Watch(12))
    assert isinstance(carried.field, Piecewise)
    start, end = carried.field.jets(np.array([[0.5, 0.0], [0.5, 1.0]]), [(0, 0)])[(0, 0)][:, 0]
    assert start == pytest.approx(0.5, abs=1e-2)
    assert math.isnan(end)


def test_a_later_pass_runs_only_where_something_is_left():
    plan = DirectPlan("auto", (LeastSquares(), LeastSquares(only_above=1e-6), Cells(only_above=1e-6)))
    carried = carry_out(DECAY, plan)
    assert [record.phase for record in carried.records] == [0]
    again = carry_out(DECAY, dataclasses.replace(plan, passes=(LeastSquares(unknowns=7), *plan.passes[1:])))
    assert [record.phase for record in again.records] == [0, 1]
    assert again.winner == 1


def test_what_is_nowhere_finite_leaves_nothing():
    nowhere = loads("""
unknowns = ["u"]
equations = ["u_x = log(u - 1)"]
conditions = ["u(0) = 0"]
domain = { x = [0, 1] }
""")
    carried = carry_out(nowhere, plan_of([LeastSquares()], nowhere, "least-squares"))
    assert isinstance(carried.field, Unknown)
    assert field_skeleton(nowhere, carried.field.spec()) == carried.field
    assert carried.residual == math.inf
    assert carried.ending is Ending.GIVEN_UP


def test_the_end_of_a_run_is_its_winners_or_that_of_whoever_ended_it():
    first, last = PhaseRecord("a", stop_reason="done"), PhaseRecord("b", outcome="given up", stop_reason="no")
    assert Carried(None, 1.0, [first, last], winner=0).stop_reason == "done"
    last.final = True
    carried = Carried(None, 1.0, [first, last], winner=0)
    assert (carried.ending, carried.stop_reason) == (Ending.GIVEN_UP, "no")


# ---- solvers and plans


def test_solvers_have_names_descriptions_and_the_protocol():
    names = {
        "modes",
        "least-squares",
        "march",
        "cells",
        "conserve",
        "elements",
        "fourier",
        "integrate",
        "evolve",
        "sparse",
    }
    assert set(SOLVERS) == set(listed.SOLVERS) == names
    for name, kind in SOLVERS.items():
        assert isinstance(kind(), Solver)
        assert kind.name == name
    for each in (Modes(), LeastSquares(), Cells(), *CELL_MARCHES, *GRID_MARCHES, *SERIES_MARCHES):
        assert isinstance(each, Pass)


def test_a_solver_that_does_not_suit_is_refused_with_the_reason():
    with pytest.raises(SafeNetError, match="march does not suit four-holes: its domain is not a box"):
        plan_of([March()], library.problem("four-holes"), "march")


@pytest.mark.parametrize(
    ("march", "kinds", "tails"),
    [
        (March(), MarchOnCells, [1e-4, 1e-6, 1e-8]),
        (March(on="grid"), MarchOnGrid, [1e-4, 1e-7]),
        (March(on="series"), MarchOnSeries, [1e-3, 1e-6, 1e-8]),
        (March(tail=1e-5), MarchOnCells, [1e-4, 1e-5]),
        (March(tail=1e-10), MarchOnCells, [1e-4, 1e-6, 1e-8, 1e-10]),
        (March(tail=1e-2), MarchOnCells, [1e-2]),
    ],
)
def test_a_march_goes_from_rough_to_fine_down_to_its_tail(march, kinds, tails):
    found = march.passes(RING)
    assert {type(each) for each in found} == {kinds}
    assert [each.tail for each in found] == tails
    assert found[0].insist


def test_a_jump_in_the_data_changes_the_march():
    jumping = loads("""
unknowns = ["u"]
equations = ["u_t = u_xx"]
conditions = ["u(0, t) = 1", "u(1, t) = 0", "u(x, 0) = 0"]
domain = { x = [0, 1], t = [0, 1] }
""")
    assert March().passes(jumping)[0].shortest == 1e-5
    assert len(March(on="grid").passes(jumping)) == 1


def test_an_unknown_march_is_refused():
    with pytest.raises(SafeNetError, match="no march on 'cell'"):
        March(on="cell")


def test_a_plan_is_read_back_as_it_was_written():
    plan = plan_of(
        [Modes(), LeastSquares(only_above=1e-10), March(only_above=1e-6), Cells()], LINEAR, "auto", ["so"]
    )
    assert DirectPlan.from_json(plan.to_json()) == plan
    assert [each.only_above for each in plan.passes[2:5]] == [1e-6] * 3
    assert plan.candidates == (plan,)


LINEAR = library.problem("wave")


@pytest.mark.parametrize("each", [Modes(), LeastSquares(), Cells(), SERIES_MARCHES[1]])
def test_sizes_grow_with_the_work_allowed(each):
    sizes = [each.within(work).unknowns for work in (1e9, 1e11, 1e12, 1e14)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize("marches", [CELL_MARCHES, GRID_MARCHES, SERIES_MARCHES])
def test_the_first_march_is_never_given_up_for_its_cost(marches):
    first, second = (march.within(1e9) for march in marches[:2])
    assert first.work == marches[0].work
    assert second.work < marches[1].work


def test_a_budget_is_a_reason_and_replays():
    plan = plan_of([March()], RING, "march", budget_seconds=30.0)
    assert plan.reasons == ("sizes for a budget of 30 s on this machine",)
    assert DirectPlan.from_json(plan.to_json()) == plan
