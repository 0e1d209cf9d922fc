"""Points over several devices and over several processes: the run of one device, to rounding."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

# What every process does, in float64: 50 iterations of Adam, 30 of self-scaled Broyden in two parts, with new points
# between them, and the normal equations; where they have a folder, a whole solve. Attention has one
# weight for each point, divided with the points. 37 and 11 points fill no block.
PROGRAM = """
import json, sys
import jax
rank, address, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
if address:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, 2, rank)
import equinox as eqx, numpy as np
import safenet as sn
from safenet.networks import build, method
from safenet.train import objective
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.ssbroyden import SSBroyden
from safenet.measure.points import sample
from safenet.train.weighting import weighting

objective.CACHED = 8
problem, chosen = sn.library.convection(), method("rba-pinn", width=5, depth=1)
network = build(problem, chosen, key=jax.random.key(0))
points = sample(problem, 37, 11, "uniform", 0)
loss, theta = objective.physics_loss(problem, network, points, weighting=weighting(chosen))
phase = Adam(50)
state, trace = phase.advance(loss, phase.start(loss, theta), 50)
broyden = SSBroyden(30)
half, first = broyden.advance(loss, broyden.start(loss, theta), 13)
other = loss.at(sample(problem, 37, 11, "uniform", 1).interior)
whole, second = broyden.advance(other, broyden.refresh(other, half), 17)
normal = eqx.filter_jit(lambda loss, theta: loss.normal_equations(theta))(loss, theta)
if out:
    options = {"points": 37, "condition_points": 11, "width": 5, "depth": 1, "scale": 2e-4}
    sn.solve(problem, sn.Train("pinn", "paper-1", **options), out=out)
print(json.dumps({
    "devices": jax.device_count(),
    "processes": jax.process_count(),
    "adam": np.asarray(trace.terms)[:50].tolist(),
    "broyden": np.concatenate([first.terms[:13], second.terms[:17]]).tolist(),
    "H": np.asarray(whole.H.matrix).tolist(),
    "normal equations": [np.asarray(part).tolist() for part in normal],
}))
"""


def answers(folder: Path, devices: int, processes: int = 1) -> list[dict]:
    """What each process says; several must be read at once, as none ends before all do."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}" if processes > 1 else ""
    variables = os.environ | {"JAX_NUM_CPU_DEVICES": str(devices)}
    words = [folder / f"answer-{rank}" for rank in range(processes)]
    started = []
    for rank, path in enumerate(words):
        out = str(folder / f"run-{rank}") if address else ""
        command = [sys.executable, "-c", PROGRAM, str(rank), address, out]
        with path.open("w") as file:
            started.append(subprocess.Popen(command, env=variables, stdout=file))
    try:
        assert [process.wait(timeout=240) for process in started] == [0] * processes
    finally:
        for process in started:
            process.kill()
    return [json.loads(path.read_text().splitlines()[-1]) for path in words]


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict:
    return answers(tmp_path_factory.mktemp("alone"), devices=1)[0]


def assert_the_same_run(found: dict, alone: dict) -> None:
    np.testing.assert_allclose(found["adam"], alone["adam"], rtol=1e-9)
    np.testing.assert_allclose(found["broyden"], alone["broyden"], rtol=1e-6)
    np.testing.assert_allclose(found["H"], alone["H"], rtol=0, atol=1e-6 * np.max(np.abs(alone["H"])))
    for mine, theirs in zip(found["normal equations"], alone["normal equations"], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_four_devices_do_what_one_does(alone, tmp_path):
    (found,) = answers(tmp_path, devices=4)
    assert (found["devices"], alone["devices"]) == (4, 1)
    assert_the_same_run(found, alone)


@pytest.mark.slow
def test_two_processes_do_what_one_does_and_the_first_writes(alone, tmp_path):
    for found in answers(tmp_path, devices=2, processes=2):
        assert (found["devices"], found["processes"]) == (4, 2)
        assert_the_same_run(found, alone)
    assert (tmp_path / "run-0" / "result.json").exists()
    assert not (tmp_path / "run-1").exists()
