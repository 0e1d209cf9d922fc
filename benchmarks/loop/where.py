"""Where an iteration's time goes: milliseconds, and the longest kernels on a GPU.

    python benchmarks/loop/where.py OUT.json pinn:1 pinn:5 safe-net:5 pinn:5:lbfgs

A case is a method and how many of its seeds run as one program, by Adam or L-BFGS; wave, 20,000 + 4 × 2,000 points, in
float32, as in hot_loop.py. A CPU has no kernels to list: its row has only the milliseconds.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import hot_loop
import jax
import numpy as np

from safenet.backend import device_name
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.lbfgs import LBFGS

PHASES = {"adam": Adam(10**9), "lbfgs": LBFGS(10**9)}
LONGEST = 10  # kernels that are listed


def measure(method: str, seeds: int, phase: str, repetitions: int = 7) -> dict[str, Any]:
    hot_loop.PHASE = PHASES[phase]
    advance, state, compiling = hot_loop.start(method, "float32", seeds, nested=False)
    wall = []
    for _ in range(repetitions):
        began = time.perf_counter()
        state = jax.block_until_ready(advance(state))
        wall.append(1e3 * (time.perf_counter() - began) / hot_loop.STEPS)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(advance(state))
        count, spent = kernels(Path(folder))
    each = {name[:60]: round(spent[name] / hot_loop.STEPS, 1) for name, _ in spent.most_common(LONGEST)}
    return {
        "ms": round(float(np.median(wall)), 4),
        "start_seconds": round(compiling, 1),
        "kernels": round(count.total() / hot_loop.STEPS, 1),
        "busy_us": round(spent.total() / hot_loop.STEPS, 1),
        "longest_us": each,
    }


def kernels(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """How often each kernel ran on the device's streams, and for how many microseconds."""
    count: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    for path in folder.rglob("*.trace.json.gz"):
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        devices = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
        streams = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
        for event in (event for event in events if event.get("ph") == "X"):
            stream = streams.get((event["pid"], event["tid"]), "")
            if "GPU" in devices.get(event["pid"], "") and "Stream" in stream:
                count[event["name"]] += 1
                spent[event["name"]] += event["dur"]
    return count, spent


def main() -> None:
    path, *cases = sys.argv[1:]
    store = Path(path)
    found: dict[str, Any] = json.loads(store.read_text()) if store.exists() else {}
    about = {"device": device_name(), "jax": jax.__version__, "commit": os.environ.get("COMMIT", "")}
    for case in cases:
        method, seeds, *phase = case.split(":")
        row = measure(method, int(seeds), *(phase or ["adam"]))
        found.setdefault("rows", {})[case] = row | about
        store.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        print(f"{case:<28}{row['ms']:>10.3f} ms{row['kernels']:>8.0f} kernels", flush=True)


if __name__ == "__main__":
    main()
