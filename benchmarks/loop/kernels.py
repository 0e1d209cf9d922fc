"""The kernels that XLA compiles an iteration to on an H200, and how much memory they read and write; needs no GPU.

    pip install 'jax-cuda12-plugin==JAX' 'jax-cuda12-pjrt==JAX' nvidia-cuda-nvcc-cu12 nvidia-cuda-runtime-cu12
    python benchmarks/loop/kernels.py wave:pinn:5 burgers:safe-net:1:lbfgs

A case is a problem, a method, how many of its seeds run as one program, and adam or lbfgs. XLA compiles for a device
description, without the device; only its tuning of tile sizes is left out. On an H200, elementwise kernels run at
4 TB/s, so a gigabyte takes a quarter of a millisecond; products of layers take about twice the time of their memory.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

os.environ |= {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1"}  # before JAX is imported

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from floor import CONDITION, INTERIOR
from jax.experimental import topologies
from where import PHASES

import safenet as sn
from safenet.fields import derivatives
from safenet.measure.points import sample
from safenet.networks import METHODS, build
from safenet.train.batch import stacked
from safenet.train.objective import physics_loss
from safenet.train.weighting import weighting

H200 = """
gpu_device_info {
  threads_per_block_limit: 1024  threads_per_warp: 32  threads_per_core_limit: 2048
  shared_memory_per_block: 49152  shared_memory_per_core: 233472  shared_memory_per_block_optin: 232448
  core_count: 132  fpus_per_core: 128  clock_rate_ghz: 1.98
  block_dim_limit_x: 2147483647  block_dim_limit_y: 65535  block_dim_limit_z: 65535
  memory_bandwidth: 4800000000000  l2_cache_size: 62914560  device_memory_size: 150000000000
  registers_per_core_limit: 65536  registers_per_block_limit: 65536
  cuda_compute_capability { major: 9 }
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 7 }
runtime_version { major: 12 minor: 8 patch: 0 }
device_description_str: "NVIDIA H200"
"""
BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f64": 8, "s64": 8, "u64": 8}  # others: 4
LONGEST = 20  # kernels that are listed


def program(problem: str, method: str, seeds: int, phase: str = "adam") -> str:
    """The program that XLA compiles 100 iterations to, as text."""
    described = topologies.get_topology_desc(platform="cuda", target_config=H200, topology="1x1x1")
    mesh = topologies.make_mesh(described, (1,), ("device",))
    there = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    stated = sn.library.problem(problem)

    def seed(number: int) -> Any:
        network = build(stated, METHODS[method], key=jax.random.key(number), dtype=jnp.float32)
        points = sample(stated, INTERIOR, CONDITION, "uniform", number)
        return physics_loss(stated, network, points, weighting=weighting(METHODS[method]))

    pairs = stacked([seed(number) for number in range(seeds)])
    derivatives._has_tf32 = lambda: True

    def placed(tree: Any) -> Any:
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=there), tree)

    arrays, rest = eqx.partition(pairs, eqx.is_array)
    optimiser = PHASES[phase]

    def start(arrays: Any) -> Any:
        return eqx.filter_vmap(optimiser.start)(*eqx.combine(arrays, rest))

    def advance(arrays: Any, state: Any) -> Any:
        loss, _ = eqx.combine(arrays, rest)
        return eqx.filter_vmap(lambda loss, state: optimiser.advance(loss, state, 100)[0])(loss, state)

    here, jax.default_backend = jax.default_backend, lambda: "gpu"  # the derivative rules ask for the backend
    try:
        state = jax.eval_shape(start, arrays)
        return jax.jit(advance).lower(placed(arrays), placed(state)).compile().as_text()
    finally:
        jax.default_backend = here


def kernels(text: str) -> list[tuple[str, str, int, int]]:
    """(name, shape, bytes read, bytes written) of every kernel in the innermost loop."""
    text = re.sub(r"/\*.*?\*/", "", text)
    loops = [
        part for part in re.split(r"\n(?=(?:ENTRY )?%[\w.\-]+ \()", text) if not part.startswith("ENTRY")
    ]
    body = max((part for part in loops if part.count(" fusion(") > 15), key=len)
    shapes: dict[str, list[str]] = {}
    found = []
    for line in body.splitlines():
        told = re.match(r"\s*(?:ROOT )?%([\w.\-]+) = (\(.*?\)|\S+) ([\w\-]+)\((.*?)\)(.*)", line)
        if told is None:
            continue
        name, shape, operation, arguments, more = told.groups()
        shapes[name] = re.findall(r"\w+\[[\d,]*\]", shape)
        operands = re.findall(r"%([\w.\-]+)(?:#(\d+))?", arguments)
        if operation == "get-tuple-element":
            shapes[name] = [shapes[operands[0][0]][int(more.split("index=")[1].split(",")[0])]]
        elif operation in ("fusion", "custom-call", "copy", "concatenate", "pad", "reduce", "transpose"):
            read = sum(
                size(shapes.get(source, [])[int(i)] if i else shapes.get(source, []))
                for source, i in operands
            )
            found.append((name, " ".join(shapes[name]), read, size(shapes[name])))
    return found


def size(shapes: str | list[str]) -> int:
    """Bytes of arrays such as f32[5,50,20224]."""
    total = 0
    for shape in [shapes] if isinstance(shapes, str) else shapes:
        kind, numbers = shape.rstrip("]").split("[")
        total += BYTES.get(kind, 4) * int(np.prod([int(n) for n in numbers.split(",") if n]))
    return total


def main() -> None:
    for case in sys.argv[1:]:
        problem, method, seeds, *phase = case.split(":")
        found = kernels(program(problem, method, int(seeds), *phase))
        products = sum(read + written for name, _, read, written in found if "gemm" in name)
        total = sum(read + written for *_, read, written in found)
        print(
            f"{case}: {len(found)} kernels, {total / 1e6:,.0f} MB, of which {products / 1e6:,.0f} by products"
        )
        for name, shape, read, written in sorted(found, key=lambda row: -row[2] - row[3])[:LONGEST]:
            print(f"{read / 1e6:>10.1f}{written / 1e6:>8.1f}  {name:<44}{shape[:80]}")


if __name__ == "__main__":
    main()
