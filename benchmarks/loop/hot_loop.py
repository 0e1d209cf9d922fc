"""One Adam iteration: jets in blocks or in one batch, against nested forward mode, beside the hardware's floor.

python benchmarks/loop/hot_loop.py OUT.json [repetitions]

The wave equation with 20,000 points inside and 2,000 on each of its four conditions. Both ways alternate within one
run, so that other load on the machine affects both; median, quartiles and processor time are recorded. floor.py
explains the floor of a row.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from floor import CONDITION, INTERIOR, floor, rates, work

import safenet as sn
from safenet.backend import device_name
from safenet.measure.points import sample
from safenet.networks import METHODS, build
from safenet.train.batch import stacked
from safenet.train.objective import physics_loss
from safenet.train.optimisers.adam import Adam

PHASE = Adam(10**9)
STEPS = 1 if jax.default_backend() == "cpu" else 100  # iterations between two readings of the clock
PATIENCE = 90.0  # seconds for one row, once compiled


class Nested(eqx.Module):
    """A network without its rule for batches: differentiated point by point."""

    inner: Any

    def __call__(self, point: jax.Array) -> jax.Array:
        return self.inner(point)


class Whole(eqx.Module):
    """A loss without its own gradient rule: reverse mode over all points."""

    inner: Any

    def __call__(self, theta: jax.Array) -> Any:
        return self.inner(theta)


def start(name: str, dtype: str, seeds: int, nested: bool) -> tuple[Callable[[Any], Any], Any, float]:
    """(one iteration, its initial state, seconds to compile)"""
    problem = sn.library.wave()

    def seed(number: int) -> tuple[Any, Any]:
        network = build(problem, METHODS[name], key=jax.random.key(number), dtype=jnp.dtype(dtype))
        points = sample(problem, INTERIOR, CONDITION, "uniform", number)
        loss, theta = physics_loss(problem, Nested(network) if nested else network, points)
        return (Whole(loss) if nested else loss), theta

    pairs = [seed(number) for number in range(seeds)]
    began = time.perf_counter()
    if seeds == 1:
        loss, theta = pairs[0]
        state = PHASE.start(loss, theta)

        def advance(state: Any) -> Any:
            return PHASE.advance(loss, state, STEPS)[0]

    else:
        losses, thetas = stacked(pairs)
        state = eqx.filter_jit(eqx.filter_vmap(PHASE.start))(losses, thetas)
        step = eqx.filter_jit(eqx.filter_vmap(lambda loss, state: PHASE.advance(loss, state, STEPS)[0]))

        def advance(state: Any) -> Any:
            return step(losses, state)

    state = jax.block_until_ready(advance(state))
    return advance, state, time.perf_counter() - began


def compare(name: str, dtype: str, seeds: int, repetitions: int) -> dict[str, Any]:
    ways = {way: start(name, dtype, seeds, way == "nested") for way in ("jets", "nested")}
    states = {way: state for way, (_, state, _) in ways.items()}
    wall: dict[str, list[float]] = {way: [] for way in ways}
    busy: dict[str, list[float]] = {way: [] for way in ways}
    until = time.perf_counter() + PATIENCE
    while len(wall["jets"]) < repetitions and (len(wall["jets"]) < 3 or time.perf_counter() < until):
        for way, (advance, _, _) in ways.items():
            began, worked = time.perf_counter(), time.process_time()
            states[way] = jax.block_until_ready(advance(states[way]))
            wall[way].append(1e3 * (time.perf_counter() - began) / STEPS)
            busy[way].append(1e3 * (time.process_time() - worked) / STEPS)
    row: dict[str, Any] = {"method": name, "precision": dtype, "seeds": seeds}
    for way in ways:
        low, middle, high = np.quantile(wall[way], [0.25, 0.5, 0.75])
        row[way] = {
            "ms": round(middle, 3),
            "quartiles": [round(low, 3), round(high, 3)],
            "cpu_ms": round(float(np.median(busy[way])), 3),
            "start_seconds": round(ways[way][2], 2),
            "repetitions": len(wall[way]),
            "loss": np.asarray(states[way].total).tolist(),
        }
    row["times faster"] = round(row["nested"]["ms"] / row["jets"]["ms"], 2)
    return row


def main() -> None:
    path, repetitions = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 9
    results: dict[str, Any] = {
        "what": f"one Adam iteration on wave, {INTERIOR} + 4 × {CONDITION} points",
        "device": device_name(),
        "versions": {"jax": jax.__version__, "python": platform.python_version()},
        "rates": {dtype: rates(dtype) for dtype in ("float32", "float64")},
        "rows": [],
    }
    print(
        f"{'method':<18}{'precision':<10}{'seeds':>5}{'jets ms':>10}{'nested ms':>11}{'faster':>8}{'floor ms':>10}"
    )
    for name in ("pinn", "safe-net", "safe-net-literal"):
        for dtype in ("float32", "float64"):
            for seeds in (1, 5):
                row = compare(name, dtype, seeds, repetitions)
                row["floor"] = floor(work(name, dtype), results["rates"][dtype], seeds)
                results["rows"].append(row)
                print(
                    f"{name:<18}{dtype:<10}{seeds:>5}{row['jets']['ms']:>10.2f}{row['nested']['ms']:>11.2f}"
                    f"{row['times faster']:>8.2f}{row['floor']['ms']:>10.2f}",
                    flush=True,
                )
                path.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
