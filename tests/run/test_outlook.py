"""The time left: of this pass, of all that are planned, and nothing where nothing is known."""

import itertools
import json

import pytest

import safenet as sn
from safenet.direct.marches import CELL_MARCHES
from safenet.direct.passes import Passes
from safenet.direct.plan import DirectPlan
from safenet.run import outlook
from safenet.run.budget import Budget
from safenet.run.outlook import Outlook, duration
from safenet.run.progress import Both, Lines, Monitor
from safenet.ui.worker import Telling


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [0.0]
    monkeypatch.setattr(outlook.time, "monotonic", lambda: now[0])
    return now


def test_nothing_is_said_before_anything_is_known(clock):
    look = Outlook()
    assert str(look) == ""
    look.expect((1.0,))
    look.reached(0.0)
    clock[0] = 5.0
    look.reached(0.01)  # too little of it
    assert str(look) == ""


def test_all_planned_parts_count_at_the_present_pace(clock):
    look = Outlook()
    look.expect((100, 300))
    for step in range(11):
        clock[0] = 30.0 + step  # compiling took half a minute
        look.reached(step / 100)
    assert look.left() == pytest.approx(90 + 300)
    assert str(look) == "about 6.5 min left"
    look.expect((300,))  # the next begins: the pace of the one before, until it has its own
    assert look.left() == pytest.approx(300)
    for step in range(31):
        clock[0] = 100.0 + 2 * step
        look.reached(step / 300)
    assert look.left() == pytest.approx(540)


def test_no_more_is_left_than_the_budget(clock):
    look = Outlook()
    look.end = 50.0
    look.expect((1.0,))
    for second in range(11):
        clock[0] = float(second)
        look.reached(second / 100)
    assert str(look) == "about 40 s left"


def test_short_first_steps_do_not_count_for_ever(clock):
    look = Outlook()
    look.expect((1.0,))
    done = 0.0
    for second in range(20):  # steps that double, and from 0.32 % on stay as they are
        clock[0] = float(second)
        done += min(1e-5 * 2**second, 0.1)
        look.reached(done)
    assert look.left() == pytest.approx((1 - done) / 0.1, rel=0.2)


def test_passes_that_may_follow_are_told_apart(clock):
    look = Outlook()
    look.expect((1.0, 2.5), sure=False)
    for step in range(6):
        clock[0] = float(step)
        look.reached(step / 10)
    assert str(look) == "about 5 s left in this pass, about 30 s in all if finer passes follow"


def test_a_part_that_nobody_announced_has_a_pace_of_its_own(clock):
    look = Outlook()
    look.expect((1.0, 2.0))
    for step, fraction in enumerate((0.0, 0.5, 1.0, 0.0, 0.25, 0.5)):
        clock[0] = float(step)
        look.reached(fraction)
    assert str(look) == "about 2 s left in this pass"


def test_what_is_overdue_is_not_called_zero_seconds(clock):
    look = Outlook()
    look.expect((1.0,))
    for step in range(3):
        clock[0] = float(step)
        look.reached(step / 4)
    clock[0] = 60.0
    assert look.left() is None
    assert str(look) == ""


def test_a_training_announces_the_iterations_of_all_its_phases():
    told = []

    class Listening(Monitor):
        def expect(self, costs, sure=True):
            told.append((list(costs), sure))

    decay = sn.Problem("u_t = -u", domain={"t": (0, 1)}, conditions=["u(0) = 1"])
    training = sn.Train("pinn", [sn.Adam(7), sn.Adam(5)], width=3, depth=1, points=10)
    with pytest.warns(sn.SafeNetWarning):
        sn.solve(decay, training, monitor=Both(Listening()))
    assert told == [([7, 5], True), ([5], True)]


def test_a_rough_march_foresees_the_finer_ones():
    costs = [march.foreseen[0] for march in CELL_MARCHES]
    for rough, fine in itertools.pairwise(costs):
        assert 2 < fine / rough < 3  # two digits more: 10^(2/8 + 2/12) times as many cells

    plan = DirectPlan("march", CELL_MARCHES)
    watched = Passes(sn.library.problem("burgers"), plan, Monitor(), None, Budget())
    assert watched._ahead() == costs
    watched.index = 2
    assert watched._ahead() == costs[2:]


def test_a_line_ends_with_the_time_left(clock, capsys):
    lines = Lines()
    lines.silence = -1.0
    lines.expect((1.0,))
    for step in range(6):
        clock[0] = float(step)
        lines.phase("marching", f"t = {step}", step / 10)
        lines.silence = -1.0
    lines.phase("estimating the error")
    lines.ended()
    said = capsys.readouterr().err.splitlines()
    assert said[-2].endswith("marching: t = 5 · about 5 s left")
    assert said[-1].endswith("s  estimating the error")


def test_the_terms_that_a_line_shows_add_up_to_its_loss(clock, capsys):
    lines = Lines()
    lines.silence = -1.0
    terms = {"equation": 2.0, "u(x, 0)": 0.5, "u(0, t) = u(1, t)": 4.0, "u(x, 1)": 0.25, "v(x, 1)": 0.25}
    lines.losses(7, 20, 7.0, terms)
    lines.ended()
    said = capsys.readouterr().err
    assert (
        "7/20 · loss 7.00e+00 (u(0, t) = u(1, t) 4.0e+00 + equation 2.0e+00 + u(x, 0) 5.0e-01 + 2 more 5.0e-01)"
        in said
    )


def test_the_page_in_the_browser_hears_it_too(clock, capsys):
    telling = Telling()
    telling.expect((1.0,))
    for step in range(6):
        clock[0] = float(step)
        telling.phase("marching", f"t = {step}", step / 10)
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last == {"phase": "marching", "detail": "t = 5 · about 5 s left", "fraction": 0.5}


def test_durations_have_units_that_read_well():
    assert [duration(seconds) for seconds in (42, 210, 7560)] == ["42 s", "3.5 min", "2.1 h"]


def test_both_monitors_hear_every_call():
    names = [name for name in vars(Monitor) if not name.startswith("_")]
    heard = []

    class Listening(Monitor):
        def __getattribute__(self, name):
            return lambda *told, **named: heard.append((name, told, named))

    for name in names:
        getattr(Both(Listening(), Listening()), name)(1, other=2)
    assert heard == [(name, (1,), {"other": 2}) for name in names for _ in range(2)]
