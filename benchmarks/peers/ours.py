"""This library: its Adam on its own loss, and its default solve."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from work import PROBLEMS, Enough, Laps, Race, frequencies, layers, serve

import safenet as sn
from safenet.measure.points import Points
from safenet.measure.scores import evaluate_network
from safenet.networks import METHODS, build
from safenet.train.objective import physics_loss
from safenet.train.optimisers.adam import Adam
from safenet.train.spread import everywhere

STRIDE = 5  # iterations between two readings of the clock; real runs have many more


def network(name: str, dtype: Any) -> Any:
    """The library's network for the wave equation, with the weights shared by all systems."""
    made = build(sn.library.wave(), METHODS[name], key=jax.random.key(0), dtype=dtype)
    weights, biases = zip(*((jnp.array(W, dtype), jnp.array(b, dtype)) for W, b in layers(name)), strict=True)
    made = eqx.tree_at(lambda net: (net.weights, net.biases), made, (weights, biases))
    if name == "pinn":
        # Its inputs are 2x − 1 and 2t − 1; the others' are x and t.
        inputs = weights[0] / 2, biases[0] + jnp.sum(weights[0], axis=1) / 2
        return eqx.tree_at(lambda net: (net.weights[0], net.biases[0]), made, inputs)
    omega, amplitude, scale = frequencies()
    return eqx.tree_at(
        lambda net: (
            net.features.inner.parts[0].omega, net.features.inner.parts[0].amplitude, net.features.scale.array
        ),
        made,
        tuple(jnp.array(value, dtype) for value in (omega, amplitude, scale)),
    )  # fmt: skip


def iterate(task: dict[str, Any]) -> dict[str, Any]:
    given = PROBLEMS["wave"]
    conditions = given.conditions(task["condition"]).values()
    points = Points(given.interior(task["interior"]), tuple(c.points for c in conditions))
    net = network(task["network"], jnp.dtype(task["precision"]))
    loss, theta = physics_loss(sn.library.wave(), net, points)
    phase, laps = Adam(10**9, decay=1.0), Laps(task)
    loss = everywhere(loss)
    state = everywhere(phase.start(loss, theta))
    first = float(state.total)
    try:
        while True:
            state = jax.block_until_ready(phase.advance(loss, state, STRIDE)[0])
            laps.lap(STRIDE)
    except Enough:
        return {**laps.answer, "loss": first, "parameters": int(theta.size)}


class Watch(sn.Monitor):
    """Measures the error of networks during the solve."""

    def __init__(self, problem: Any, race: Race) -> None:
        self.problem, self.race = problem, race

    def network(self, current: Any) -> None:
        if self.race.due:
            self.race.look(lambda grid: values(self.problem, current(), grid))


def values(problem: Any, net: Any, grid: np.ndarray) -> np.ndarray:
    return evaluate_network(net, grid, (0,) * len(problem.axes))[:, 0]


def solve(task: dict[str, Any]) -> dict[str, Any]:
    """The default solve, twice: with compiling, and without."""
    problem = sn.library.problem(task["problem"])
    found = []
    for _ in range(2):
        race = Race(task)
        try:
            solution = sn.solve(problem, monitor=Watch(problem, race))
            race.look(lambda grid, solution=solution: solution(x=grid[:, 0], t=grid[:, 1]))
        except Enough:
            pass
        found.append(race.answer["curve"])
    return {"curve": found[0], "compiled_curve": found[1]}


def truth(task: dict[str, Any]) -> dict[str, Any]:
    """The reference on the 257 × 101 grid on which all systems are scored."""
    problem = sn.library.problem(task["problem"])
    axes = [np.linspace(axis.lo, axis.hi, n) for axis, n in zip(problem.axes, (257, 101), strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    exact = np.asarray(problem.reference(x=grid[:, 0], t=grid[:, 1]))
    np.savez(task["truth"], points=grid, values=exact)
    return {"points": len(grid)}


def command(task: dict[str, Any]) -> dict[str, Any]:
    """Seconds of `safenet --help`, from the start of `safenet train` to its first line, and to the first loss.

    The first of all repetitions fills the caches and is left out.
    """
    program = [sys.executable, "-c", "from safenet.cli import main; main()"]
    found: dict[str, list[float]] = {"help_seconds": [], "first_line_seconds": [], "first_loss_seconds": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(task["repetitions"] + 1):
            options = ["--method", "pinn", "--recipe", "paper-1", "--out", str(Path(folder) / str(number))]
            found["help_seconds"].append(until([*program, "--help"]))
            found["first_line_seconds"].append(until([*program, "train", "wave", *options], " s  "))
            found["first_loss_seconds"].append(until([sys.executable, "-c", FIRST_LOSS], "loss"))
    return {key: [round(value, 3) for value in values[1:]] for key, values in found.items()}


FIRST_LOSS = """
import safenet as sn
from safenet.backend import cache_compilations
class Speaking(sn.Monitor):
    def losses(self, *numbers):
        print("loss", flush=True)
cache_compilations()
sn.solve("wave", sn.Train("pinn", "paper-1"), monitor=Speaking())
"""


def until(program: list[str], words: str | None = None) -> float:
    """Seconds from a program's start to its first line with these words (then it is stopped), or to its end."""
    began = time.perf_counter()
    run = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert run.stdout is not None
    heard = any(words is not None and words in line for line in run.stdout) or words is None
    seconds = time.perf_counter() - began
    run.kill()
    run.wait()
    return seconds if heard else float("nan")


if __name__ == "__main__":
    tasks = {"iterate": iterate, "solve": solve, "truth": truth, "command": command}
    serve(("jax", "equinox", "optax"), tasks)
