"""Does everything run on this device, and how fast: default solves, one step of each optimiser, the literal network.

python benchmarks/smoke_device.py OUT.json
"""

from __future__ import annotations

import json
import sys
import time

import jax

import safenet as sn
from safenet.measure.points import sample
from safenet.train.objective import physics_loss
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.lbfgs import LBFGS
from safenet.train.optimisers.levenberg import LevenbergMarquardt


def step_times() -> dict[str, float]:
    """Seconds per iteration on the wave equation, 20k + 2k points, literal network, after compilation."""
    problem = sn.library.wave()
    found = {}
    for name, phase, dtype, count in (
        ("adam float32", Adam(100_000), "float32", 100),
        ("adam float64", Adam(100_000), "float64", 100),
        ("l-bfgs float32", LBFGS(100_000), "float32", 50),
        ("levenberg-marquardt float64", LevenbergMarquardt(100), "float64", 3),
    ):
        if jax.default_backend() == "cpu":
            count = max(2, count // 25)
        network = sn.networks.build(
            problem, sn.METHODS["safe-net-literal"], key=jax.random.key(0), dtype=jax.numpy.dtype(dtype)
        )
        loss, theta = physics_loss(problem, network, sample(problem, 20_000, 2_000, "uniform", 0))
        state = phase.start(loss, theta)
        state, _ = phase.advance(loss, state, 1)
        jax.block_until_ready(state.theta)
        before, began = int(state.iteration), time.perf_counter()
        state, _ = phase.advance(loss, state, count)
        jax.block_until_ready(state.theta)
        found[name] = (time.perf_counter() - began) / max(1, int(state.iteration) - before)
    return found


def seed_times() -> dict[str, float]:
    """Seconds per iteration of Adam, one seed and five as one program: the difference of a long and a short run."""
    found = {}
    for method in ("safe-net-literal", "safe-net", "pinn"):
        for seeds in (1, 5):
            wall = []
            for scale in (0.005, 0.025):
                began = time.perf_counter()
                sn.solve_many(sn.library.wave(), sn.Train(method, "paper-4", scale=scale), seeds=range(seeds))
                wall.append(time.perf_counter() - began)
            found[f"{method}, {seeds} seeds"] = (wall[1] - wall[0]) / 2000
    return found


def main() -> None:
    results: dict[str, object] = {"device": str(jax.devices()[0]), "jax": jax.__version__}
    for name in ("wave", "convection", "diffusion", "reaction", "nh-heat"):
        result = sn.solve(sn.library.problem(name)).result
        results[name] = {key: getattr(result, key) for key in ("l2re", "residual", "seconds", "outcome")}
        print(name, results[name], flush=True)
    results["seconds per iteration"] = step_times()
    print(results["seconds per iteration"], flush=True)
    results["seconds per iteration of Adam, seeds together"] = seed_times()
    print(results["seconds per iteration of Adam, seeds together"])
    with open(sys.argv[1], "w") as stream:
        json.dump(results, stream, indent=1)


if __name__ == "__main__":
    main()
