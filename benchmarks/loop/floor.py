"""The least time the hardware needs for one Adam iteration: products, transcendental functions, bytes.

    python benchmarks/loop/floor.py

The wave equation on 20,000 points and 2,000 for each of its four conditions. A layer's jets (u, u_x, u_t, u_tt − 4u_xx
inside, fewer on the conditions) are multiplied by its matrix, and twice more in the backward pass; its values pass
through one tanh, the frequencies through a sine and a cosine. This machine's rates are measured: a large product, each
function, a sweep over an array that stays in cache. The floor is the time for products and functions, or the time for
the bytes if that is longer. It leaves out the chain rule's arithmetic on the jets, which every program needs as well.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from threadpoolctl import threadpool_limits

import safenet as sn
from safenet.features.sincos import sin_cos
from safenet.networks import METHODS, build

INTERIOR, CONDITION = 20_000, 2_000
POINTS = INTERIOR + 4 * CONDITION
# All points' jets (u, u_x, u_t, u_tt − 4u_xx inside; u and u_t on the conditions): columns of a layer's product.
JETS = 4 * INTERIOR + 3 * CONDITION + 2 * CONDITION
CACHED = 2**14  # numbers of an array that stays in a core's cache
SWEEPS = 64


def work(name: str, dtype: str) -> dict[str, float]:
    """Operations of the products, forward and backward; functions; bytes if jets are written and read once each way."""
    network = build(sn.library.wave(), METHODS[name], key=jax.random.key(0), dtype=jnp.dtype(dtype))
    sizes = [weight.shape for weight in network.weights]
    omega = getattr(network.features, "inner", None)
    waves = omega.parts[0].omega.size if omega is not None and hasattr(omega, "parts") else 0
    return {
        "flops": sum(3 * 2 * JETS * rows * columns for rows, columns in sizes),
        "tanh": POINTS * sum(rows for rows, _ in sizes[:-1]),
        "sincos": POINTS * waves,
        "bytes": sum(2 * 2 * JETS * rows for rows, _ in sizes) * jnp.dtype(dtype).itemsize,
    }


def rates(dtype: str) -> dict[str, float]:
    """Per second: operations of a (250, 130) @ (130, 20k) product, functions, and bytes, on all cores or the device."""
    W, phi = jnp.ones((250, 130), dtype), divided(jnp.ones((130, INTERIOR), dtype))
    large = divided(jnp.linspace(0.1, 3.0, 2**21, dtype=dtype)[None])
    cached = divided(jnp.ones((1, CACHED * jax.device_count()), dtype))
    memory = divided(jnp.ones((1, 2**25), dtype))
    sweep = jax.jit(lambda a: lax.fori_loop(0, SWEEPS, lambda _, b: b * 0.999 + 1.0, a))
    product = best(jax.jit(jnp.matmul), W, phi)
    if jax.default_backend() == "cpu":  # XLA's product is not always the fastest
        with threadpool_limits(os.cpu_count()):
            product = min(product, best(np.matmul, np.asarray(W), np.asarray(phi)))
    return {
        "flops": 2 * 250 * 130 * INTERIOR / product,
        "tanh": large.size / best(jax.jit(jnp.tanh), large),
        "sincos": large.size / best(jax.jit(lambda x: sum(sin_cos(x))), large),
        "bytes": SWEEPS * 2 * cached.nbytes / best(sweep, cached),
        "memory_bytes": 2 * memory.nbytes / best(jax.jit(lambda a: a + 1), memory),
    }


def divided(array: jax.Array) -> jax.Array:
    """Columns divided among all devices; on a CPU, the library makes each core a device."""
    mesh = jax.make_mesh((jax.device_count(),), ("columns",), axis_types=(AxisType.Auto,))
    return jax.device_put(array, NamedSharding(mesh, PartitionSpec(None, "columns")))


def floor(needed: dict[str, float], rate: dict[str, float], seeds: int = 1) -> dict[str, Any]:
    """The parts in milliseconds, and the floor that follows from them."""
    parts = {key: seeds * 1e3 * amount / rate[key] for key, amount in needed.items()}
    parts["bytes"] = seeds * 1e3 * needed["bytes"] / max(rate["bytes"], rate["memory_bytes"])
    arithmetic = parts["flops"] + parts["tanh"] + parts["sincos"]
    return {"ms": max(arithmetic, parts["bytes"]), "parts_ms": parts, "work": needed}


def best(function: Callable[..., Any], *arguments: Any, laps: int = 9) -> float:
    """The fewest seconds of a call, after one that compiles."""
    jax.block_until_ready(function(*arguments))
    found = []
    for _ in range(laps):
        began = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        found.append(time.perf_counter() - began)
    return min(found)


def floors() -> dict[str, Any]:
    measured = {dtype: rates(dtype) for dtype in ("float32", "float64")}
    rows = {
        f"{name} {dtype}": floor(work(name, dtype), rate)
        for name in ("pinn", "safe-net")
        for dtype, rate in measured.items()
    }
    return {"rates": measured, "floors": rows}


if __name__ == "__main__":
    print(json.dumps(floors()))
