"""What an iteration costs: parameters, milliseconds and memory of every method, Adam on the wave equation.

python benchmarks/loop/method_costs.py [results/method-costs-cpu.json] [iterations]

20,000 points inside and 2,000 on each of the four conditions, in float32, as in the paper's schedules. The time is the
median over single iterations after compilation; the memory is what the compiled program reserves besides its arguments
(as XLA reports it, so it does not depend on the machine's load).
"""

from __future__ import annotations

import json
import sys
import time
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import safenet as sn
from safenet.backend import device_name
from safenet.measure.points import sample
from safenet.networks import METHODS, Method, build
from safenet.train.objective import physics_loss
from safenet.train.optimisers.adam import Adam
from safenet.train.spread import everywhere
from safenet.train.weighting import weighting

INTERIOR, CONDITION = 20_000, 2_000
PAPER = {
    **{"pinn": "5.3k", "fls-pinn": "5.3k", "w-pinn": "5.3k", "w-pinn-grid": "5.3k", "rba-pinn": "16k"},
    **{"rff": "14.5k", "rff-tuned": "14.5k", "rbf": "14.2k", "rbf-p": "14.7k"},
    **{"safe-net": "6.8k", "safe-net-literal": "6.8k"},
}


def cost(chosen: Method, iterations: int) -> dict[str, Any]:
    problem = sn.library.wave()
    network = build(problem, chosen, key=jax.random.key(0), dtype=jnp.float32)
    points = sample(problem, INTERIOR, CONDITION, "uniform", 0)
    loss, theta = everywhere(physics_loss(problem, network, points, weighting=weighting(chosen)))
    phase = Adam(1_000_000)
    began = time.perf_counter()
    state = phase.start(loss, theta)
    state, _ = jax.block_until_ready(phase.advance(loss, state, 1))
    compiling = time.perf_counter() - began
    times = []
    for _ in range(iterations):
        began = time.perf_counter()
        state, _ = jax.block_until_ready(phase.advance(loss, state, 1))
        times.append(time.perf_counter() - began)
    step = eqx.filter_jit(lambda loss, state: phase.advance(loss, state, 1))
    memory = step.lower(loss, state).compile().compiled.memory_analysis()
    return {
        "parameters": network.parameters,
        "ms_per_iteration": round(1e3 * median(times), 2),
        "ms_fastest": round(1e3 * min(times), 2),
        "temporary_mib": round(memory.temp_size_in_bytes / 2**20, 1),
        "compile_seconds": round(compiling, 1),
    }


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "results/method-costs-cpu.json")
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 9
    print(f"{'method':<18}{'parameters':>11}{'paper':>7}{'ms':>9}{'fastest':>9}{'MiB':>8}")
    rows = {}
    for name, chosen in METHODS.items():
        rows[name] = row = cost(chosen, iterations)
        print(
            f"{name:<18}{row['parameters']:>11}{PAPER[name]:>7}{row['ms_per_iteration']:>9}"
            f"{row['ms_fastest']:>9}{row['temporary_mib']:>8}",
            flush=True,
        )
    result = {
        "what": f"Adam on wave, float32, {INTERIOR} + 4 × {CONDITION} points, median of {iterations} iterations",
        "command": f"python benchmarks/loop/method_costs.py {path} {iterations}",
        "device": device_name(),
        "date": date.today().isoformat(),
        "versions": {"jax": jax.__version__, "equinox": eqx.__version__, "python": sys.version.split()[0]},
        "methods": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
