"""How do time and memory of one Adam iteration grow with points, features and dimensions?

    python benchmarks/loop/growth.py OUT.json [--only points|features|dimensions] [--minutes 10]

SAFE-NET in float32: on wave with 1k to 1M points, and with 16 to 512 features; on the heat equation in one to four
space dimensions with 4k points. Each size runs in a process of its own, because of peak memory. Sizes already in the
file are not run again. OUT.png shows time and memory against each.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SIZES: dict[str, tuple[int, ...]] = {
    "points": (1_000, 4_000, 16_000, 64_000, 250_000, 1_000_000),
    "features": (16, 32, 64, 128, 256, 512),
    "dimensions": (1, 2, 3, 4),
}
SMALL = {"points": 4_000, "features": 128, "dimensions": 1}
SPACE = "xyzw"
SECONDS, FEWEST, MOST = 3.0, 3, 50  # seconds of measuring; fewest and most iterations


def heat(dimensions: int) -> str:
    """u_t = Δu/10 on a cube, u = 0 on its faces, starting from a product of sines."""
    axes = SPACE[:dimensions]
    inside = ", ".join(axes)
    faces = [
        f"u({', '.join(end if a == axis else a for a in axes)}, t) = 0" for axis in axes for end in ("0", "1")
    ]
    start = "*".join(f"sin(pi*{a})" for a in axes)
    conditions = [*faces, f"u({inside}, 0) = {start}"]
    lines = [
        f'name = "heat-{dimensions}"',
        'unknowns = ["u"]',
        f'equations = ["u_t = ({" + ".join(f"u_{a}{a}" for a in axes)})/10"]',
        f"conditions = {json.dumps(conditions)}",
        f"domain = {{ {', '.join(f'{a} = [0, 1]' for a in (*axes, 't'))} }}",
    ]
    return "\n".join(lines) + "\n"


def measure(kind: str, size: int) -> dict[str, Any]:
    """The median time of an iteration and the process's peak memory, beside that of an idle JAX."""
    import jax
    import jax.numpy as jnp

    import safenet as sn
    from safenet.measure.points import sample
    from safenet.networks import build
    from safenet.networks.methods import method
    from safenet.train.objective import physics_loss
    from safenet.train.optimisers.adam import Adam
    from safenet.train.spread import everywhere

    sizes = SMALL | {kind: size}
    problem = sn.library.wave() if kind != "dimensions" else sn.loads(heat(size))
    chosen = method("safe-net", features=sizes["features"])
    network = build(problem, chosen, key=jax.random.key(0), dtype=jnp.float32)
    idle = peak()
    points = sample(problem, sizes["points"], max(100, sizes["points"] // 10), "uniform", 0)
    loss, theta = physics_loss(problem, network, points)
    loss = everywhere(loss)
    phase = Adam(10**9)
    began = time.perf_counter()
    state = jax.block_until_ready(phase.advance(loss, everywhere(phase.start(loss, theta)), 1)[0])
    compiled = time.perf_counter() - began
    laps: list[float] = []
    while len(laps) < FEWEST or (sum(laps) < SECONDS and len(laps) < MOST):
        began = time.perf_counter()
        state = jax.block_until_ready(phase.advance(loss, state, 1)[0])
        laps.append(time.perf_counter() - began)
    return {
        "ms": round(1e3 * sorted(laps)[len(laps) // 2], 3),
        "laps": len(laps),
        "start_seconds": round(compiled, 2),
        "peak_mb": round(peak()),
        "idle_mb": round(idle),
        "parameters": int(theta.size),
        "conditions": len(problem.conditions),
    }


def peak() -> float:
    """Peak memory in megabytes: Linux counts in kilobytes, macOS in bytes."""
    unit = 2**20 if platform.system() == "Darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def draw(found: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    figure, axes = plt.subplots(2, len(SIZES), figsize=(11, 6), layout="constrained", sharex="col")
    for column, kind in zip(axes.T, SIZES, strict=True):
        rows = sorted((int(size), row) for size, row in found.get(kind, {}).items() if "ms" in row)
        for axis, key, label in zip(
            column, ("ms", "peak_mb"), ("ms per iteration", "peak memory, MB"), strict=True
        ):
            axis.plot([size for size, _ in rows], [row[key] for _, row in rows], "o-", color="#d62728")
            axis.set(ylabel=label, xscale="linear" if kind == "dimensions" else "log")
            axis.xaxis.set_minor_formatter(NullFormatter())
        if kind == "dimensions":
            column[1].set_xticks(SIZES[kind])
        column[0].set_yscale("log")
        column[0].yaxis.set_minor_formatter(NullFormatter())
        column[1].set_ylim(bottom=0)
        column[1].set_xlabel("space dimensions" if kind == "dimensions" else kind)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", choices=tuple(SIZES))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--measure", nargs=2, metavar=("KIND", "SIZE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure[0], int(given.measure[1]))))
        return
    deadline = time.monotonic() + 60 * given.minutes
    found: dict[str, Any] = json.loads(given.out.read_text()) if given.out.exists() else {}
    found |= {
        "command": f"python benchmarks/loop/growth.py {given.out.name}",
        "commit": os.environ.get("COMMIT", ""),
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.platform(terse=True)}, Python {platform.python_version()}",
    }
    for kind, sizes in SIZES.items():
        for size in sizes:
            known = found.setdefault(kind, {})
            if given.only not in (None, kind) or str(size) in known or time.monotonic() > deadline:
                continue
            command = [sys.executable, __file__, str(given.out), "--measure", kind, str(size)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            last = (ended.stdout if ended.returncode == 0 else ended.stderr).strip().splitlines()[-1:]
            known[str(size)] = row = json.loads(last[0]) if ended.returncode == 0 else {"failed": last}
            given.out.write_text(json.dumps(found, indent=1) + "\n")
            print(f"{kind:<11}{size:>9}  {json.dumps(row)}", flush=True)
    draw(found, given.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
