"""Inverse problems by numbers: repeated noise, the examples, the posterior, and data as points of a network.

python -m benchmarks.inverse repetitions     the spread of 100 diffusion constants against their standard errors
python -m benchmarks.inverse examples        each example of examples/inverse with and without noise
python -m benchmarks.inverse posterior       shares of truths within one and two standard deviations, 100 posteriors
python -m benchmarks.inverse points          time of a step with 10⁵ data against as many collocation points

Each writes its part of results/inverse.json.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import safenet as sn

HOME = Path(__file__).parents[1]
EXAMPLES = HOME / "examples" / "inverse"
RESULTS = HOME / "results" / "inverse.json"
MADE = runpy.run_path(str(EXAMPLES / "make_data.py"))
TRUTH = {
    "diffusion": {"nu": 0.3},
    "reaction": {"k": 0.8, "n": 1.5},
    "lorenz": {"s": 10, "r": 28, "b": 8 / 3},
    "brinkman": {"nue": 0.001, "K": 0.001},
    "vortices": {"c": 1, "nu": 0.05},
}
POINTS = 100_000


def example(name: str, level: float, seed: int) -> sn.Problem:
    text = (EXAMPLES / f"{name}.toml").read_text("utf-8").split("[[data]]")[0]
    return sn.loads(text, name, data=sn.Data(MADE["make"](MADE[name], level, seed)))


def repetitions(count: int = 100) -> dict[str, Any]:
    """ν from 100 values with 1 % noise, new points and new noise each time."""
    found, errors, seconds, used = [], [], [], []
    for seed in range(count):
        problem = example("diffusion", 0.01, seed)
        began, cpu = time.monotonic(), time.process_time()
        number = sn.solve(problem, monitor=sn.Monitor()).found["nu"]
        seconds.append(time.monotonic() - began)
        used.append(time.process_time() - cpu)
        found.append(float(number))
        errors.append(number.error)
    spread, reported = float(np.std(found, ddof=1)), float(np.sqrt(np.mean(np.square(errors))))
    scaled = (np.array(found) - 0.3) / np.array(errors)
    return {
        "repetitions": count,
        "spread": spread,
        "standard_error": reported,
        "ratio": spread / reported,
        "bias_in_errors": float(np.mean(scaled) * np.sqrt(count)),
        "within_one": float(np.mean(np.abs(scaled) < 1)),
        "within_two": float(np.mean(np.abs(scaled) < 2)),
        "seconds_median": float(np.median(seconds)),
        "seconds_most": float(np.max(seconds)),
        "cpu_seconds_most": float(np.max(used)),
    }


def examples() -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, truth in TRUTH.items():
        for level in (0.0, 0.01):
            began, used = time.monotonic(), time.process_time()
            sol = sn.solve(example(name, level, 2026), monitor=sn.Monitor())
            row = {
                key: {
                    "relative_error": abs(sol.found[key] / value - 1),
                    "standard_errors": None if not sol.found[key].error else
                    abs(sol.found[key] - value) / sol.found[key].error,
                }
                for key, value in truth.items()
            }  # fmt: skip
            values = sum(len(m.values) for m in sol.problem.measured)
            clock = {"seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - used}
            table[f"{name}, noise {level:g}"] = row | {"values": values, **clock}
            print(name, level, table[f"{name}, noise {level:g}"], flush=True)
    return table


def posterior(count: int = 100) -> dict[str, Any]:
    """Random temperatures of all smoothness in a rod, 60 values with noise, no initial value."""
    rng = np.random.default_rng(0)
    n = np.arange(1, 13)
    scaled, seconds = [], []

    def exact(c: np.ndarray, x: np.ndarray, t: np.ndarray) -> np.ndarray:
        waves = np.exp(-np.outer((n * np.pi) ** 2, t) / 10) * np.sin(np.outer(n * np.pi, x))
        return np.asarray(c @ waves)

    for _ in range(count):
        c = rng.normal(size=12) * np.exp(-((n * rng.uniform(0.2, 0.6)) ** 2) / 2)
        x, t = rng.random((2, 60))
        u = exact(c, x, t) + 0.02 * rng.normal(size=60)
        problem = sn.Problem(
            "u_t = u_xx/10",
            domain={"x": (0, 1), "t": (0, 1)},
            conditions=["u(0, t) = 0", "u(1, t) = 0"],
            data=sn.Data(x=x, t=t, u=u),
        )
        began = time.monotonic()
        sol = sn.solve(problem, monitor=sn.Monitor())
        seconds.append(time.monotonic() - began)
        x, t = rng.random((2, 100))
        scaled.append((sol(x=x, t=t) - exact(c, x, t)) / sol.std(x=x, t=t))
    within = np.abs(np.concatenate(scaled))
    return {
        "posteriors": count,
        "within_one": float(np.mean(within < 1)),
        "within_two": float(np.mean(within < 2)),
        "seconds_median": float(np.median(seconds)),
    }


def points(steps: int = 20, rounds: int = 3) -> dict[str, Any]:
    """A step of Adam on an own network: 10⁵ data, beside few collocation points, against 10⁵ collocation points.

    The time of a step is a difference of two runs, so that compiling and measuring do not count.
    """
    import jax
    from equinox import nn

    def network(key: Any) -> Any:
        return nn.MLP(2, "scalar", 32, 3, activation=jax.numpy.tanh, key=key)

    rng = np.random.default_rng(0)
    x, t = rng.random((2, POINTS))
    text = (EXAMPLES / "diffusion.toml").read_text("utf-8").split("[unknown]")[0]
    bare = sn.loads(text.replace("nu*u_xx", "0.3*u_xx"))
    data = sn.Data(x=x, t=t, u=np.exp(-0.3 * np.pi**2 * t) * np.sin(np.pi * x))

    def seconds(problem: sn.Problem, count: int, n: int) -> float:
        training = sn.Train(network, [sn.Adam(n, rate=1e-3)], points=count)
        return float(sn.solve(problem, training, monitor=sn.Monitor()).result.phases[0].seconds)

    each: dict[str, list[float]] = {"data": [], "collocation": []}
    for _ in range(rounds):
        for name, problem, count in (("data", bare.with_data(data), 1000), ("collocation", bare, POINTS)):
            short, long = seconds(problem, count, steps), seconds(problem, count, 3 * steps)
            each[name].append((long - short) / (2 * steps))
            print(name, each[name][-1], flush=True)
    middle = {name: float(np.median(values)) for name, values in each.items()}
    return {"points": POINTS, **middle, "ratio": middle["data"] / middle["collocation"]}


PARTS = {f.__name__: f for f in (repetitions, examples, posterior, points)}

if __name__ == "__main__":
    warnings.simplefilter("ignore", sn.SafeNetWarning)
    for part in sys.argv[1:] or PARTS:
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        known[part] = PARTS[part]()
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
        print(part, json.dumps(known[part], indent=1), flush=True)
