"""The comparison with peers: the same work for all, and a protocol that says so when it is not."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"


@pytest.fixture(scope="module")
def peers():
    """The modules of the folder, which is a program and not a package."""
    sys.path.insert(0, str(PEERS))
    try:
        import work

        import report

        yield work, report
    finally:
        sys.path.remove(str(PEERS))
        for name in ("report", "work"):
            sys.modules.pop(name, None)


def ask(file, **task):
    environment = os.environ | {"DDE_BACKEND": "pytorch"}
    command = [sys.executable, str(PEERS / file), json.dumps(task)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return json.loads(ended.stdout.splitlines()[-1])


ITERATE = {"task": "iterate", "precision": "float64", "interior": 300, "condition": 40, "seconds": 0.1}
ITERATE |= {"iterations": 2, "compile": False}


def wave_loss(work, network):
    """The loss by NumPy alone: derivatives are central differences of the network's formula."""
    layers = work.layers(network)

    def u(points):
        value = points
        if network == "safe-net":
            omega, amplitude, scale = work.frequencies()
            (sx, st), (cx, ct) = (np.moveaxis(f(points[:, None] * omega), 2, 0) for f in (np.sin, np.cos))
            products = np.stack([sx * ct, cx * st, sx * st, cx * ct], axis=2) * amplitude
            waves = np.sin(points[:, :1] * np.array(work.WAVES))
            value = np.hstack([products.reshape(len(points), -1), waves]) / scale
        for W, b in layers[:-1]:
            value = np.tanh(value @ W.T + b)
        W, b = layers[-1]
        return (value @ W.T + b)[:, 0]

    h = 1e-4
    e_x, e_t = h * np.eye(2)
    second = lambda p, e: (u(p + e) - 2 * u(p) + u(p - e)) / h**2  # noqa: E731
    wave = work.PROBLEMS["wave"]
    inside = wave.interior(ITERATE["interior"])
    total = np.mean((second(inside, e_t) - 4 * second(inside, e_x)) ** 2) / 2
    for c in wave.conditions(ITERATE["condition"]).values():
        slope = (u(c.points + e_t) - u(c.points - e_t)) / (2 * h) if c.derivative else u(c.points)
        total += work.WEIGHT / 2 * np.mean((slope - c.target) ** 2)
    return total


@pytest.mark.parametrize(
    ("file", "package"),
    [
        ("ours.py", "safenet"),
        ("torch_.py", "torch"),
        ("deepxde_.py", "deepxde"),
        ("pina_.py", "pina"),
        ("jinns_.py", "jinns"),
    ],
)
@pytest.mark.parametrize("network", [pytest.param("pinn", marks=pytest.mark.slow), "safe-net"])
@pytest.mark.slow
def test_a_system_has_the_loss_that_numpy_has(peers, file, package, network):
    pytest.importorskip(package)
    work, _ = peers
    answer = ask(file, network=network, **ITERATE)
    assert "failed" not in answer, answer["failed"]
    assert answer["parameters"] == work.parameters(network) == {"pinn": 7851, "safe-net": 6793}[network]
    # Central differences with h = 1e-4 have about six digits of a second derivative.
    assert answer["loss"] == pytest.approx(wave_loss(work, network), rel=1e-4)
    assert len(answer["ms"]) == 2
    assert min(answer["ms"]) > 0


def test_points_lie_where_their_conditions_are_stated(peers):
    work, _ = peers
    for problem in work.PROBLEMS.values():
        conditions = problem.conditions(50)
        assert all(c.points.shape == (50, 2) for c in conditions.values())
        np.testing.assert_array_equal(conditions["start"].points[:, 1], 0)
        inside = problem.interior(200)
        assert np.all((inside > problem.lower) & (inside < problem.upper))
    ends = work.PROBLEMS["reaction"].conditions(50)["ends"]
    np.testing.assert_array_equal(ends.partner - ends.points, np.tile([2 * math.pi, 0], (50, 1)))


def test_the_clock_stands_still_during_a_look(peers, tmp_path, monkeypatch):
    work, _ = peers
    now = [0.0]
    monkeypatch.setattr(work.time, "perf_counter", lambda: now[0])
    np.savez(tmp_path / "truth.npz", points=np.zeros((3, 2)), values=np.ones(3))
    race = work.Race({"truth": tmp_path / "truth.npz", "seconds": 10.0})

    def slow_look(grid):
        now[0] += 100.0
        return np.full(len(grid), 1.5)

    now[0] = 2.0
    race.look(slow_look)
    assert race.seconds == 2.0
    now[0] += 1.0
    with pytest.raises(work.Enough):
        race.look(lambda grid: np.ones(len(grid)))
    assert race.answer["curve"] == [(2.0, 0.5), (3.0, 0.0)]


def test_time_to_an_error_is_the_first_time_below_it(peers):
    _, report = peers
    curve = [(1.0, 3e-2), (2.0, 9e-3), (5.0, 2e-5)]
    assert [report.reached(curve, level) for level in (1e-2, 1e-3, 1e-4, 1e-6)] == [2.0, 5.0, 5.0, None]


def test_quotients_are_of_medians_over_all_rounds(peers):
    _, report = peers

    def run(system, number, ms):
        task = {
            "task": "iterate",
            "network": "pinn",
            "precision": "float32",
            "system": system,
            "round": number,
        }
        return {"task": task, "ms": ms, "cpu_ms": ms, "first_seconds": 1.0}

    runs = [
        run("ours", 0, [2.0, 2.0]),
        run("ours", 1, [2.0, 50.0]),
        run("pina", 0, [9.0, 11.0]),
        run("pina", 1, [10.0]),
    ]
    rows = {row["system"]: row for row in report.iterations({"runs": runs})}
    assert rows["pina"]["times"] == 5.0
    assert rows["ours"]["ms"] == 2.0


@pytest.mark.parametrize(
    ("loss", "parameters", "complaints"), [(1.0, 7851, 0), (1.1, 7851, 1), (1.0, 7850, 1)]
)
def test_other_work_is_noticed(peers, loss, parameters, complaints):
    import importlib.util

    spec = importlib.util.spec_from_file_location("peers_main", PEERS / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    runs = [
        {"task": {"network": "pinn", "system": "ours"}, "loss": 1.0, "parameters": 7851},
        {"task": {"network": "pinn", "system": "pina"}, "loss": loss, "parameters": parameters},
    ]
    assert len(module.check(runs)) == complaints
