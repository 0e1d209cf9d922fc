"""What a solve costs as time, accuracy and dimension grow: processor seconds of `sn.solve`, without imports.

python -m benchmarks.direct.growth results/direct_growth.json
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from .problems import PROBLEMS, toml

SPACE = ("x", "y", "z")


def in_dimensions(count: int) -> str:
    """Fisher's equation from a bump in a periodic box of `count` dimensions."""
    axes = SPACE[:count]
    bump = " + ".join(f"sin(pi*{axis})**2" for axis in axes)
    diffusion = " + ".join(f"u_{axis * 2}" for axis in axes)
    return toml(
        ["u"],
        [f"u_t = ({diffusion})/100 + 5*u*(1 - u)"],
        [f"u({', '.join(axes)}, 0) = exp(-5*({bump}))"],
        dict.fromkeys(axes, ("-1/2", "1/2")),
        2,
        2,
    )


def cases() -> dict[str, tuple[str, float]]:
    chaos = PROBLEMS["kuramoto-sivashinsky"]
    found = {
        f"Kuramoto–Sivashinsky to t = {end}": (chaos.replace("t = [0, 50]", f"t = [0, {end}]"), 1e-6)
        for end in (25, 50, 100, 200)
    }
    found |= {
        f"Korteweg–de Vries, tolerance {tol:.0e}": (PROBLEMS["kdv"], tol) for tol in (1e-4, 1e-6, 1e-8, 1e-10)
    }
    return found | {f"Fisher in {n} dimensions": (in_dimensions(n), 1e-6) for n in (1, 2, 3)}


def main() -> None:
    import safenet as sn
    from safenet.problem.toml import loads

    stored: dict[str, Any] = {}
    for title, (text, tol) in cases().items():
        problem, began = loads(text), time.process_time()
        result = sn.solve(problem, sn.Auto(tol=tol), monitor=sn.Monitor()).result
        stored[title] = {
            "cpu": round(time.process_time() - began, 2),
            "estimate": result.estimate,
            "evaluations": result.evaluations,
            "outcome": str(result.outcome),
            "stop_reason": result.stop_reason,
        }
        print(title, stored[title], flush=True)
        Path(sys.argv[1]).write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
