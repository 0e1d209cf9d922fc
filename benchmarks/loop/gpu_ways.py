"""One iteration on a GPU under several flags of XLA and several ways to multiply float32: how fast and how accurate.

    python benchmarks/loop/gpu_ways.py OUT.json safe-net-literal:5 pinn:5 safe-net-literal:1

A case is a method and how many of its seeds run as one program; wave, 20,000 + 4 × 2,000 points, as in hot_loop.py.
Each way is a process of its own. All compile at the same time; a lock lets them measure one at a time. If XLA refuses a
way, its row says so. `gradient` is the relative distance of the first gradient from the one in float64.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GRAPHS = "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,WHILE,CONDITIONAL"
# name: (XLA flags, algorithm that multiplies float32 matrices)
WAYS: dict[str, tuple[str, str]] = {
    "as it is": ("", ""),
    "CUDA graphs": (f"--xla_gpu_enable_command_buffer={GRAPHS} --xla_gpu_graph_min_graph_size=1", ""),
    "cuBLAS": ("--xla_gpu_enable_triton_gemm=false", ""),
    "no autotuning": ("--xla_gpu_autotune_level=0", ""),
    "BF16 × 6": ("", "BF16_BF16_F32_X6"),
    "BF16 × 9": ("", "BF16_BF16_F32_X9"),
    "float32": ("", "F32_F32_F32"),
}
REPETITIONS = 5


def measure(case: str, preset: str, lock: str) -> dict[str, Any]:
    import hot_loop
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax

    import safenet as sn
    from safenet.fields import derivatives
    from safenet.measure.points import sample
    from safenet.networks import METHODS, build
    from safenet.train.objective import physics_loss
    from safenet.train.optimisers.status import first_evaluation

    if preset:
        derivatives.SINGLE = getattr(lax.DotAlgorithmPreset, preset)
    method, seeds = case.split(":")
    advance, state, compiling = hot_loop.start(method, "float32", int(seeds), nested=False)
    wall = []
    with Path(lock).open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        for _ in range(REPETITIONS):
            began = time.perf_counter()
            state = jax.block_until_ready(advance(state))
            wall.append(1e3 * (time.perf_counter() - began) / hot_loop.STEPS)
    problem, gradients = sn.library.wave(), {}
    for dtype in ("float32", "float64"):
        network = build(problem, METHODS[method], key=jax.random.key(0), dtype=jnp.float32)
        network = jax.tree.map(lambda x: x.astype(dtype) if hasattr(x, "astype") else x, network)  # noqa: B023
        loss, theta = physics_loss(problem, network, sample(problem, 2_048, 256, "uniform", 0))
        gradients[dtype] = np.asarray(first_evaluation(loss, theta).gradient, float)
    exact = gradients["float64"]
    return {
        "ms": round(float(np.median(wall)), 4),
        "start_seconds": round(compiling, 1),
        "gradient": float(np.linalg.norm(gradients["float32"] - exact) / np.linalg.norm(exact)),
        "device": str(jax.devices()[0].device_kind),
        "jax": jax.__version__,
    }


def main() -> None:
    path, *cases = sys.argv[1:]
    found: dict[str, Any] = {"what": "an Adam iteration on wave, float32, under flags of XLA", "rows": {}}
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            going = {}
            for name, (flags, preset) in WAYS.items():
                words = [sys.executable, __file__, "--one", case, preset, f"{folder}/lock"]
                own = {
                    "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {flags}",
                    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
                }
                pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
                going[name] = subprocess.Popen(words, env=os.environ | own, text=True, **pipes)  # type: ignore[call-overload]
            for name, process in going.items():
                out, words_of = process.communicate()
                lines = out.strip().splitlines() if process.returncode == 0 else []
                row = json.loads(lines[-1]) if lines else {"failed": words_of.strip()[-300:]}
                found["rows"].setdefault(case, {})[name] = row
                print(f"{case:<22}{name:<16}{json.dumps(row)}", flush=True)
                Path(path).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(measure(*sys.argv[2:])))
    else:
        main()
