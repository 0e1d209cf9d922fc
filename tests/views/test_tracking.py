"""What a run tells arrives: in TensorBoard's files, at stand-ins for W&B and MLflow, and at a user's own tracker."""

import struct
import sys
from types import ModuleType, SimpleNamespace

import pytest

import safenet as sn
from running import DECAY, SHORT, SMALL, run
from safenet.run.progress import Both
from safenet.views.tracking import Tracker, tracker


class Mine(Tracker):
    def __init__(self):
        self.heard = []

    def record(self, step, values):
        self.heard.append((step, dict(values)))


def scalars(folder):
    """(name, step, value) of all scalars in TensorBoard's event files, read record by record."""
    from tensorboardX.proto.event_pb2 import Event

    for path in sorted(folder.rglob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            event = Event.FromString(data[12 : 12 + length])
            data = data[16 + length :]
            yield from ((value.tag, event.step, value.simple_value) for value in event.summary.value)


def test_steps_go_on_from_phase_to_phase():
    mine = Mine()
    for iteration in (1, 10, 30):
        mine.losses(iteration, 30, 1.0, {"u_t": 0.5})
    mine.phase("lbfgs")
    for iteration in (2, 5):
        mine.losses(iteration, 5, 0.5, {})
    assert [step for step, _ in mine.heard] == [1, 10, 30, 32, 35]
    assert mine.heard[0][1] == {"loss": 1.0, "terms/u_t": 0.5}


def test_a_tracker_of_the_users_hears_a_direct_solve():
    mine = Mine()
    sn.solve(sn.loads(DECAY), monitor=mine)
    residuals = [values["held-out residual"] for _, values in mine.heard if "held-out residual" in values]
    assert residuals
    assert residuals[-1] < 1e-10


def test_several_watchers_hear_the_same():
    first, second = Mine(), Mine()
    both = Both(first, second)
    both.phase("adam")
    both.losses(3, 9, 0.1, {"a": 0.2})
    both.step(4, 0.5)
    both.level(7, 0.3)
    both.network(lambda: None)
    assert first.heard == second.heard
    assert len(first.heard) == 3


def test_solve_writes_what_tensorboard_reads(tmp_path):
    (tmp_path / "decay.toml").write_text(DECAY)
    words = ("train", "decay.toml", *SMALL, *SHORT, "--out", "run", "--json")
    ran = run(*words, "--track", "tensorboard:logs", cwd=tmp_path)
    assert ran.code == 1, ran.err  # a hundred steps do not solve it
    found = list(scalars(tmp_path / "logs"))
    losses = [(step, value) for name, step, value in found if name == "loss"]
    assert losses[-1][0] == 100
    assert losses[-1][1] < losses[0][1]
    assert {"result/l2re", "result/seconds"} <= {name for name, *_ in found}
    assert len({name for name, *_ in found if name.startswith("terms/")}) == 2  # the equation and u(0) = 1
    final = next(value for name, _, value in found if name == "result/l2re")
    assert final == pytest.approx(ran.json["l2re"], rel=1e-6)


def test_weights_and_biases_gets_a_run_with_its_summary(monkeypatch):
    said = []
    told = SimpleNamespace(
        log=lambda values, step: said.append((step, values)),
        summary={},
        finish=lambda: said.append("finished"),
    )
    fake = ModuleType("wandb")
    fake.init = lambda project: said.append(project) or told
    monkeypatch.setitem(sys.modules, "wandb", fake)
    with tracker("wandb:mine") as sink:
        sink.losses(2, 4, 1.0, {"a": 0.5})
        sink.close({"problem": "decay", "l2re": {"u": 0.1, "pooled": 0.2}, "seconds": None})
    assert said[:3] == ["mine", (2, {"loss": 1.0, "terms/a": 0.5}), "finished"]
    assert told.summary["result/l2re/pooled"] == 0.2
    assert told.summary["problem"] == "decay"


def test_mlflow_gets_names_that_it_allows(monkeypatch):
    said = []
    fake = ModuleType("mlflow")
    fake.set_experiment = said.append
    fake.start_run = lambda: said.append("started")
    fake.log_metrics = lambda values, step: said.append((step, values))
    fake.log_params = said.append
    fake.end_run = lambda: said.append("ended")
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    sink = tracker("mlflow:mine")
    sink.losses(2, 4, 1.0, {"u(0, t) = 1": 0.5})
    sink.close({"l2re": 0.25})
    assert said[:3] == ["mine", "started", (2, {"loss": 1.0, "terms/u-0- t- - 1": 0.5})]
    assert (2, {"result/l2re": 0.25}) in said
    assert said[-1] == "ended"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("tensorbord:x", "did you mean 'tensorboard'"),
        ("wandb", "no target"),
        ("mlflow:x", "pip install mlflow"),
    ],
)
def test_a_tracker_that_cannot_be_had_is_refused(text, word, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)  # as if it were not installed
    with pytest.raises(sn.SafeNetError, match=word):
        tracker(text)
