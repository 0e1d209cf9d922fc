"""Inverse problems in numbers: repeated noise, the examples, the posterior, and data as training points of a network.

python -m benchmarks.inverse repetitions     the spread of 100 diffusion constants against their standard errors
python -m benchmarks.inverse examples        each example of examples/inverse with and without noise
python -m benchmarks.inverse posterior       share of true values within one and two standard deviations, 100 posteriors
python -m benchmarks.inverse outside         the same for true solutions that the solver's priors would not draw
python -m benchmarks.inverse points          time of a step with 10⁵ data against as many collocation points

Each writes its part of results/inverse.json.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import j0

import safenet as sn
from safenet.bench.work import commit
from safenet.run.device import device_name

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
    "sensors": {"nu": 0.1},
}
POINTS = 100_000
Vector = np.ndarray


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
    """Random temperatures in a rod, of varying smoothness: 60 noisy values, no initial condition."""
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


ROD = ("u_t = u_xx/10", {"x": (0, 1), "t": (0, 1)}, ["u(0, t) = 0", "u(1, t) = 0"])
STRING = ("u_tt = u_xx", {"x": (0, 1), "t": (0, 2)}, ["u(0, t) = 0", "u(1, t) = 0"])
SQUARE: dict[str, tuple[float, float]] = {"x": (0, 1), "y": (0, 1)}


def _plucked(shape: Callable[[Vector], Vector], moving: bool) -> Callable[[Vector, Vector], Vector]:
    """The temperature, or the vibration (`moving`), that starts from a shape on [0, 1]: 200 sines."""
    n, x = np.arange(1, 201), (np.arange(4000) + 0.5) / 4000
    c = 2 * np.sin(np.outer(n * np.pi, x)) @ shape(x) / len(x)

    def at(x: Vector, t: Vector) -> Vector:
        course = np.cos(np.outer(n * np.pi, t)) if moving else np.exp(-np.outer((n * np.pi) ** 2, t) / 10)
        return np.asarray(c @ (course * np.sin(np.outer(n * np.pi, x))))

    return at


OUTSIDE: dict[str, tuple[Any, Callable[[Vector, Vector], Vector]]] = {
    "heat, a narrow bump": (ROD, _plucked(lambda x: np.exp(-(((x - 0.3) / 0.05) ** 2)), False)),
    "heat, a jump": (ROD, _plucked(lambda x: 1.0 * (x > 0.4), False)),
    "heat, a parabola": (ROD, _plucked(lambda x: 4 * x * (1 - x), False)),
    "wave, a bump": (STRING, _plucked(lambda x: np.exp(-(((x - 0.3) / 0.08) ** 2)), True)),
    "wave, a kink": (STRING, _plucked(lambda x: np.minimum(x / 0.3, (1 - x) / 0.7), True)),
    "harmonic, a polynomial": (("u_xx + u_yy = 0", SQUARE, []), lambda x, y: x**3 - 3 * x * y**2),
    "harmonic, a pole beside the square": (
        ("u_xx + u_yy = 0", SQUARE, []),
        lambda x, y: (x + 0.1) / ((x + 0.1) ** 2 + (y - 0.3) ** 2),
    ),
    "Helmholtz, a ring": (("u_xx + u_yy + 25*u = 0", SQUARE, []), lambda x, y: j0(5 * np.hypot(x - 0.3, y - 0.4))),
}  # fmt: skip


def outside(count: int = 20) -> dict[str, Any]:
    """Fixed true solutions from 60 scattered values with 1 % noise, `count` times each; scored at 200 points."""
    table: dict[str, Any] = {}
    for name, ((equation, domain, conditions), truth) in OUTSIDE.items():
        scaled = []
        for seed in range(count):
            rng = np.random.default_rng(seed)
            low, high = (np.array([ends[i] for ends in domain.values()])[:, None] for i in (0, 1))
            at, unseen = (low + (high - low) * rng.random((2, n)) for n in (60, 200))
            exact = truth(*at)
            u = exact + 0.01 * np.std(exact) * rng.normal(size=60)
            data = sn.Data(u=u, **dict(zip(domain, at, strict=True)))
            problem = sn.Problem(equation, domain=domain, conditions=conditions, data=data)
            sol, where = sn.solve(problem, monitor=sn.Monitor()), dict(zip(domain, unseen, strict=True))
            scaled.append((sol(**where) - truth(*unseen)) / sol.std(**where))
        within = np.abs(np.concatenate(scaled))
        table[name] = {"within_one": float(np.mean(within < 1)), "within_two": float(np.mean(within < 2))}
        print(name, table[name], flush=True)
    return {"posteriors": count, **table}


def points(rounds: int = 15) -> dict[str, Any]:
    """A step of Adam on a user's network: 10⁵ data and 1,000 collocation points, against 10⁵ collocation points.

    Both alternate within one run, after one step that compiles.
    """
    import jax
    from equinox import nn

    from safenet.measure.points import sample
    from safenet.train.objective import physics_loss

    rng = np.random.default_rng(0)
    x, t = rng.random((2, POINTS))
    text = (EXAMPLES / "diffusion.toml").read_text("utf-8").split("[unknown]")[0]
    bare = sn.loads(text.replace("nu*u_xx", "0.3*u_xx"))
    data = sn.Data(x=x, t=t, u=np.exp(-0.3 * np.pi**2 * t) * np.sin(np.pi * x))
    phase, ways = sn.Adam(10**9), {}
    for name, problem, count in (("data", bare.with_data(data), 1000), ("collocation", bare, POINTS)):
        network = nn.MLP(2, 1, 32, 3, activation=jax.numpy.tanh, key=jax.random.key(0), dtype=float)
        loss, theta = physics_loss(problem, network, sample(problem, count, 200, "uniform", 0))
        ways[name] = [loss, phase.advance(loss, phase.start(loss, theta), 1)[0]]
    each: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (loss, state) in ways.items():
            began = time.perf_counter()
            ways[name][1] = jax.block_until_ready(phase.advance(loss, state, 1)[0])
            each[name].append(time.perf_counter() - began)
    middle = {name: float(np.median(values)) for name, values in each.items()}
    ratio = float(np.median(np.array(each["data"]) / np.array(each["collocation"])))
    return {"points": POINTS, **{f"{name}_seconds": one for name, one in middle.items()}, "ratio": ratio}


PARTS = {f.__name__: f for f in (repetitions, examples, posterior, outside, points)}

if __name__ == "__main__":
    warnings.simplefilter("ignore", sn.SafeNetWarning)
    for part in sys.argv[1:] or PARTS:
        found = PARTS[part]() | {
            "commit": commit(),
            "date": date.today().isoformat(),
            "device": device_name(),
        }
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        known[part] = found
        RESULTS.write_text(json.dumps(known, indent=1) + "\n")
        print(part, json.dumps(known[part], indent=1), flush=True)
