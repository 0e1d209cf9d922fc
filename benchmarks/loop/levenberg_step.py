"""One step of Levenberg–Marquardt: the Jacobian, JᵀJ, the factor and the trial, beside the time of the products alone.

    python benchmarks/loop/levenberg_step.py OUT.json [points inside]

SAFE-NET (6,793 parameters) on wave in float64, 20,000 points and a tenth as many on each of the four conditions. The
floor is half a product of that size, since JᵀJ is symmetric, plus the Cholesky factor, at the rates measured here. Peak
memory is that of the device, or of the process on a CPU.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from floor import best

import safenet as sn
from safenet.backend import device_name
from safenet.measure.points import sample
from safenet.networks import METHODS, build
from safenet.train.objective import physics_loss
from safenet.train.optimisers.levenberg import LevenbergMarquardt
from safenet.train.spread import everywhere


def measure(interior: int) -> dict[str, Any]:
    problem = sn.library.wave()
    network = build(problem, METHODS["safe-net"], key=jax.random.key(0))
    loss, theta = physics_loss(problem, network, sample(problem, interior, interior // 10, "uniform", 0))
    phase, loss = LevenbergMarquardt(10**6), everywhere(loss)
    state = everywhere(phase.start(loss, theta))
    rows, size = sum(term.points.shape[0] for term in loss.terms), theta.size
    normal = eqx.filter_jit(lambda loss, theta: loss.normal_equations(theta))
    gram = normal(loss, state.theta)[0] + jnp.eye(size)
    block = jnp.ones((min(rows, 4096), size))
    found = {
        "step": best(lambda: phase.advance(loss, state, 1)),
        "normal equations": best(lambda: normal(loss, state.theta)),
        "gradient": best(
            eqx.filter_jit(lambda loss, theta: loss.value_and_gradient(theta)), loss, state.theta
        ),
        "cholesky": best(jax.jit(jnp.linalg.cholesky), gram),
        "product": best(jax.jit(lambda J: J.T @ J), block) * rows / len(block),
    }
    seconds = {name: round(1e3 * value, 3) for name, value in found.items()}
    statistics = jax.devices()[0].memory_stats() or {}
    peak = statistics.get("peak_bytes_in_use", 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return {
        "device": device_name(),
        "jax": jax.__version__,
        "rows": rows,
        "parameters": size,
        "ms": seconds,
        "floor_ms": seconds["product"] / 2 + seconds["cholesky"],
        "peak_mb": round(peak / 2**20),
    }


if __name__ == "__main__":
    found = measure(int(sys.argv[2]) if len(sys.argv) > 2 else 20_000)
    print(json.dumps(found, indent=1))
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n")
