"""A run that was interrupted, wherever and however often, ends with the bits of one that was not."""

import json
import signal
import subprocess
import sys
import time
from functools import cache

import numpy as np
import pytest
from matplotlib.image import imread

import safenet as sn
from running import CACHE, DECAY, SMALL, Interrupter, environment, run
from safenet.backend import cache_compilations
from safenet.direct import passes
from safenet.errors import SafeNetWarning
from safenet.run.budget import Budget
from safenet.run.checkpoint import unpack
from safenet.train import run as training

FISHER = """
name = "fisher"
unknowns = ["u"]
equations = ["u_t = u_xx/20 + u - u**3"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 1], t = [0, 1] }
"""
NETWORK = sn.Train("safe-net", "paper-1", scale=0.01, points=16, condition_points=1, features=4, width=4)
# Least squares in levels, marching in passes of slabs, Adam and then L-BFGS.
KINDS = {"levels": (DECAY, sn.LeastSquares()), "slabs": (FISHER, sn.March()), "network": (DECAY, NETWORK)}
# The same on the command line.
WORDS = {
    "slabs": ("solve", "fisher.toml", "--solver", "march", "--out", "run"),
    "network": ("train", "decay.toml", *SMALL, "--recipe", "paper-1", "--scale", "0.01", "--out", "run"),
}

# The command line with a checkpoint at every opportunity, and time enough to be hit between two.
SLOWLY = """
import time, safenet.direct.passes as passes, safenet.train.run as training
passes.SAVE_EVERY = training.SAVE_EVERY = 0.0
training.CHUNK_SECONDS = 0.01
def slowly(save):
    return lambda self, force=False: (save(self, force), time.sleep(0.1))
passes.Passes.save, training.Run.save = slowly(passes.Passes.save), slowly(training.Run.save)
"""
PROGRAM = "from safenet.cli import main; main()"


def arrays(folder):
    with np.load(folder / "solution.npz", allow_pickle=False) as data:
        return {name: data[name] for name in data.files}


def assert_same_solution(folder, other):
    """The same networks and loss histories to the bit, and the same account of the work."""
    found, expected = arrays(folder), arrays(other)
    assert found.keys() == expected.keys()
    for name in expected:
        assert found[name].dtype == expected[name].dtype
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    results = [json.loads((path / "result.json").read_text()) for path in (folder, other)]
    for result in results:
        for times in (result, *result["phases"]):
            for clock in ("seconds", "wall_seconds"):
                times.pop(clock, None)
    assert results[0] == results[1]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Kind of solve → the folder of a run that was never interrupted, and how much that reported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", CACHE)
        cache_compilations()

    @cache
    def whole(name):
        text, solver = KINDS[name]
        folder, watch = tmp_path_factory.mktemp(name) / "run", Interrupter(0)
        assert sn.solve(sn.loads(text), solver, out=folder, monitor=watch).result.outcome == "solved"
        return folder, watch.calls

    return whole


def kinds(names, long):
    """All of them, one among the slow ones."""
    return [pytest.param(name, marks=pytest.mark.slow if name == long else ()) for name in names]


@pytest.fixture(params=kinds(KINDS, long="slabs"))
def kind(request, undisturbed):
    """A problem, how to solve it, and the undisturbed run."""
    return *KINDS[request.param], *undisturbed(request.param)


def test_an_interruption_at_any_moment_changes_nothing(kind, tmp_path):
    text, solver, whole, reports = kind
    # The last report comes when all is computed and nothing yet chosen.
    for n in (*range(1, reports, 1 + reports // 6), reports):
        folder = tmp_path / str(n)
        stopped = sn.solve(sn.loads(text), solver, out=folder, monitor=Interrupter(n))
        if stopped.result.outcome == "solved":
            # How often a network reports depends on the clock.
            assert solver is NETWORK
            continue
        assert stopped.result.outcome == "interrupted"
        assert "resumed" in stopped.result.stop_reason
        assert sn.resume(folder).result.outcome == "solved"
        assert_same_solution(folder, whole)


def test_a_run_interrupted_over_and_over_still_arrives(kind, tmp_path):
    text, solver, whole, _ = kind
    folder = tmp_path / "run"
    solution = sn.solve(sn.loads(text), solver, out=folder, monitor=Interrupter(5))
    interruptions = 0
    while solution.result.outcome == "interrupted" and interruptions < 60:
        interruptions += 1
        # A level reports 3 times, a slab with its second attempts up to 10 times: each life gets a little further.
        solution = sn.resume(folder, monitor=Interrupter(5 if solver == sn.LeastSquares() else 11))
    assert 2 <= interruptions < 60
    assert_same_solution(folder, whole)


def test_a_budget_stops_a_resumed_run_again_and_its_plan_stays(undisturbed, tmp_path):
    text, solver = KINDS["network"]
    folder = tmp_path / "run"
    first = sn.solve(sn.loads(text), solver, out=folder, monitor=Interrupter(5))
    with pytest.warns(SafeNetWarning, match="not solved"):
        again = sn.resume(folder, budget=1e-3)
    assert again.result.outcome == "out of time"
    assert first.result.iterations <= again.result.iterations < 400
    sn.resume(folder, budget="10m")
    assert_same_solution(folder, undisturbed("network")[0])


def test_a_training_that_the_clock_stops_has_an_estimate_of_its_own(undisturbed, tmp_path):
    text, solver = KINDS["network"]
    folder, clock = tmp_path / "run", Budget(600.0)

    class Stop(sn.Monitor):
        def losses(self, iteration, total, loss, terms):
            clock.spent |= loss < 1e-3

    stopped = sn.solve(sn.loads(text), solver, out=folder, budget=clock, monitor=Stop())
    assert (stopped.result.outcome, stopped.result.stopped) == ("solved", True)
    assert "can be resumed" in stopped.result.stop_reason
    assert 0.5 < stopped.result.estimate / stopped.result.l2re < 2
    sn.resume(folder)  # the estimate is made anew
    assert_same_solution(folder, undisturbed("network")[0])


def test_a_training_that_the_user_stops_has_one_too_if_a_moment_is_enough(tmp_path, monkeypatch):
    text, solver = KINDS["network"]

    class Stop(sn.Monitor):
        def losses(self, iteration, total, loss, terms):
            if loss < 1e-3:
                raise KeyboardInterrupt

    monkeypatch.setattr("safenet.solving.door.JUST_A_MOMENT", 600.0)
    result = sn.solve(sn.loads(text), solver, monitor=Stop()).result
    assert result.outcome == "interrupted"
    assert 0.5 < result.estimate / result.l2re < 2
    assert result.stop_reason.endswith("To be able to resume a run, give a folder (out=…).")
    monkeypatch.setattr("safenet.solving.door.JUST_A_MOMENT", 1e-9)
    result = sn.solve(sn.loads(text), solver, monitor=Stop()).result
    assert (result.outcome, result.estimate) == ("interrupted", None)
    assert "the error could not be estimated within two seconds" in result.stop_reason


def test_resuming_a_finished_run_does_no_work_and_changes_nothing(kind, tmp_path):
    _, _, whole, _ = kind
    folder = tmp_path / "copy"
    folder.mkdir()
    for file in whole.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    watch = Interrupter(0)
    for _ in range(2):
        assert sn.resume(folder, monitor=watch).result.outcome == "solved"
    assert watch.calls == 0
    assert_same_solution(folder, whole)


def test_a_run_killed_before_its_first_checkpoint_starts_again(kind, tmp_path, monkeypatch):
    text, solver, whole, _ = kind
    # A kill saves nothing, unlike an interruption.
    for carrying in (passes.Passes, training.Run):
        monkeypatch.setattr(carrying, "save", lambda self, force=False: None)
    sn.solve(sn.loads(text), solver, out=tmp_path / "run", monitor=Interrupter(1))
    for name in ("solution.npz", "result.json"):
        (tmp_path / "run" / name).unlink()
    monkeypatch.undo()
    sn.resume(tmp_path / "run")
    assert_same_solution(tmp_path / "run", whole)


# ---- the program, and real signals


def start(*words, cwd, program=SLOWLY + PROGRAM):
    return subprocess.Popen(
        [sys.executable, "-c", program, *words],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def checkpoint_after(process, path, before=0):
    """Wait for a checkpoint newer than `before`; every one that is seen must be whole."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        if path.exists():
            unpack(path)
            if path.stat().st_mtime_ns > before:
                return path.stat().st_mtime_ns
        time.sleep(0.005)
    raise AssertionError("no checkpoint appeared")


def several_checkpoints(process, path, count=3):
    written = path.stat().st_mtime_ns if path.exists() else 0
    for _ in range(count):
        written = checkpoint_after(process, path, written)


@pytest.mark.parametrize("name", kinds(WORDS, long="network"))
def test_sigkill_then_sigint_then_resume_gives_the_undisturbed_bits(name, undisturbed, tmp_path):
    folder = tmp_path / "run"
    (tmp_path / "decay.toml").write_text(DECAY)
    (tmp_path / "fisher.toml").write_text(FISHER)
    process = start(*WORDS[name], cwd=tmp_path)
    several_checkpoints(process, folder / "checkpoint.npz")
    process.kill()
    process.communicate(timeout=30)

    # Killed: a whole checkpoint, and no result that could be taken for one.
    unpack(folder / "checkpoint.npz")
    assert not (folder / "result.json").exists()
    assert run("eval", "run", "--at", "t=0", cwd=tmp_path).code == 2

    process = start("solve", "--resume", "run", cwd=tmp_path)
    several_checkpoints(process, folder / "checkpoint.npz")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert f"safenet {WORDS[name][0]} --resume run" in out
    result = json.loads((folder / "result.json").read_text())
    assert result["outcome"] == "interrupted"
    assert result["iterations"] > 0

    # Interrupted: what there is can be used.
    zero = ("x=0.5,t=0" if "x" in sn.load(folder).problem.axis_names else "t=0",)
    value = run("eval", "run", "--at", *zero, "--json", cwd=tmp_path).json["u"]
    assert np.isfinite(value)
    assert run("plot", "run", "-o", "interrupted.png", cwd=tmp_path).code == 0
    assert imread(tmp_path / "interrupted.png").size > 0

    resumed = run("solve", "--resume", "run", "--json", cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert resumed.json["outcome"] == "solved"
    assert_same_solution(folder, undisturbed(name)[0])


def test_ctrl_c_while_the_program_still_loads_is_quiet(tmp_path):
    process = start(
        "solve", "wave", "--out", "run", cwd=tmp_path, program="print('begun', flush=True)\n" + PROGRAM
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.3)  # JAX takes longer than that to load
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT  # which a shell reports as 130
    assert err == ""
    assert not (tmp_path / "run").exists()


DROPPING = {
    # JAX hooks into the collector.
    "the collector": "for _ in range(10**5): gc.collect(0)",
    # As in compiled code that knows no exceptions.
    "a destructor": "type('Slow', (), {'__del__': lambda self: any(time.monotonic() > end for _ in iter(int, 1))})()",
}


@pytest.mark.parametrize("where", DROPPING)
def test_ctrl_c_is_not_lost_where_python_drops_what_is_raised(where, tmp_path):
    """All of the time is spent there."""
    dropping = f"""
import gc, time
from safenet.direct.passes import Passes
def drop(self):
    end = time.monotonic() + 1
    print('begun', flush=True)
    {DROPPING[where]}
Passes.carry_out, carry_out = lambda self: (drop(self), carry_out(self))[1], Passes.carry_out
"""
    process = start("solve", "wave", "--out", "run", cwd=tmp_path, program=dropping + PROGRAM)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err


def test_what_an_interrupted_march_has_not_reached_is_unknown_not_a_number(tmp_path):
    (tmp_path / "fisher.toml").write_text(FISHER)
    sn.solve(sn.loads(FISHER), sn.March(), out=tmp_path / "run", monitor=Interrupter(8))
    answers = run("eval", "run", "--at", "x=0.5,t=0", "--at", "x=0.5,t=1", "--json", cwd=tmp_path).json
    assert answers[0]["u"] == pytest.approx(1, abs=1e-3)  # of the first, roughest pass
    assert answers[1]["u"] is None
    assert "u(x=0.5, t=1) = unknown" in run("eval", "run", "--at", "x=0.5,t=1", cwd=tmp_path).out
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert (result["outcome"], result["residual"]) == ("interrupted", None)
