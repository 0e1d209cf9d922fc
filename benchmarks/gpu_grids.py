"""Seconds of a time step on large Fourier grids, beside the time to copy the grid: is the memory bandwidth reached?

    python -m benchmarks.gpu_grids OUT.json [--small] [--steps 20]

1024 × 1024 (shear layer with its pressure, Gray–Scott) and 256³ (Allen–Cahn), in float64, through the same
`Evolution` and `multistep` as `sn.Fourier`, with JAX's arrays. A step has two evaluations of the nonlinear part.
`copies` is the time of a step in units of a copy of the state on the grid (read once, written once); `exponax`, if
installed, is ETDRK4 on the same grid, with four evaluations per step. `--small`: 64² and 16³, to try it on a CPU.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from safenet.direct.steps.adams import VALUES, Adams, multistep
from safenet.direct.steps.exponential import Evolution
from safenet.direct.steps.waves import Waves
from safenet.problem import Problem
from safenet.problem.facts.structure import axis_kinds
from safenet.problem.toml import loads

from .direct.problems import PROBLEMS
from .loop.floor import best

GRIDS = {"shear-layer": (1024, 64), "gray-scott": (1024, 64), "allen-cahn-space": (256, 16)}
STEP = {"shear-layer": 1e-3, "gray-scott": 0.5, "allen-cahn-space": 1e-2}
LAPS = 5


def grid_of(name: str, points: int) -> tuple[Problem, Waves]:
    """The problem, and its waves on a grid of so many points along each axis of space."""
    problem = loads(PROBLEMS[name])
    kinds = tuple(tuple(axis_kinds(problem)[one][:-1]) for one in problem.unknowns)
    return problem, Waves(problem.axes[:-1], kinds, ((points - 1) // 3,) * (len(problem.axes) - 1))


def ours(name: str, points: int, steps: int) -> dict[str, Any]:
    problem, waves = grid_of(name, points)
    assert waves.shape == (points,) * len(waves.modes), waves.shape
    began = time.perf_counter()
    evolution, h = Evolution(problem, waves, jnp), STEP[name]
    y, adams = evolution.start(), Adams(evolution)
    for k in range(VALUES):  # the first values by the one-step method
        y, _ = adams.step(k * h, y, h)
    adams.step(VALUES * h, y, h)
    prepared = time.perf_counter() - began

    def advance(weights: Any, y: Any, values: list[Any]) -> Any:
        def one(k: Any, state: Any) -> Any:
            y, values = state
            after, _ = multistep(evolution, weights, k * h, y, h, values)
            return after, [*values[1:], evolution.rest((k + 1) * h, after)]

        return jax.lax.fori_loop(0, steps, one, (y, values))

    jitted = jax.jit(advance)
    weights, values = adams.weights(h), adams.values
    seconds = best(jitted, weights, y, values, laps=LAPS) / steps
    grid = jnp.stack([waves.backward(one, jnp) for one in y])
    evaluation = best(jax.jit(lambda y: evolution.rest(0.0, y)), y, laps=LAPS)
    transforms = jax.jit(lambda u: waves.backward(waves.forward(u, jnp), jnp))
    copy = jax.jit(lambda u: u + 1.0)
    copying, there_and_back = best(copy, grid, laps=20), best(transforms, grid, laps=LAPS)
    final = jitted(weights, y, values)[0]
    return {
        "grid": list(waves.shape),
        "fields": evolution.count,
        "prepared_seconds": prepared,
        "step_seconds": seconds,
        "evaluation_seconds": evaluation,
        "copy_seconds": copying,
        "copy_gb_per_second": 2 * grid.nbytes / copying / 1e9,
        "transform_there_and_back_seconds": there_and_back,
        "copies": seconds / copying,
        "finite": bool(jnp.isfinite(final).all()),
    }


def agrees(name: str, points: int) -> float:
    """The relative difference between ten steps with JAX and with NumPy."""
    (problem, waves), h, found = grid_of(name, points), STEP[name], []
    for xp in (np, jnp):
        evolution = Evolution(problem, waves, xp)
        y, adams = evolution.start(), Adams(evolution)
        for k in range(10):
            y, _ = adams.step(k * h, y, h)
        found.append(np.asarray(y))
    return float(np.linalg.norm(found[1] - found[0]) / np.linalg.norm(found[0]))


def exponax(name: str, points: int, steps: int) -> float | None:
    """Seconds per step of ETDRK4; None if exponax is not installed."""
    try:
        import exponax as ex
    except ImportError:
        return None
    h = STEP[name]
    kinds: dict[str, Callable[[], Any]] = {
        "gray-scott": lambda: ex.stepper.reaction.GrayScott(
            2, 1.0, points, h, diffusivity_1=2e-5, diffusivity_2=1e-5, feed_rate=0.04, kill_rate=0.06, order=4
        ),
        "allen-cahn-space": lambda: ex.stepper.reaction.AllenCahn(
            3, 1.0, points, h, diffusivity=0.01, order=4
        ),
        "shear-layer": lambda: ex.stepper.NavierStokesVorticity(
            2, 2 * np.pi, points, h, diffusivity=1e-3, order=4
        ),
    }
    stepper = kinds[name]()
    shape = stepper.num_channels, *[points] * (3 if "space" in name else 2)
    start = 0.1 * np.random.default_rng(0).standard_normal(shape)
    run = jax.jit(ex.repeat(stepper, steps))
    u = jnp.asarray(start)
    return best(run, u, laps=LAPS) / steps


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    found: dict[str, Any] = {"device": str(jax.devices()[0].device_kind), "jax": jax.__version__}
    for name, (large, small) in GRIDS.items():
        points = small if given.small else large
        try:
            found[name] = ours(name, points, given.steps)
            found[name]["difference_to_numpy"] = agrees(name, small)
            found[name]["exponax_step_seconds"] = exponax(name, points, given.steps)
        except Exception as failure:  # usually out of memory: measure the other grids anyway
            found[name] = {**found.get(name, {}), "failed": f"{type(failure).__name__}: {failure}"[:500]}
        print(name, json.dumps(found[name]), flush=True)
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
