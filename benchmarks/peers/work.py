"""The work given to every system, and the form of its answers: the same points, terms and initial numbers for all.

A system is a file beside this one that is started with one JSON task and prints one JSON line. It does not import the
others, so no process loads another system's libraries. An equation is written once, in terms of derivatives d("xx")
that each system provides in its own way.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

Derivatives = Callable[[str], Any]  # d("") = u, d("t") = u_t, d("xx") = u_xx
INTERIOR, CONDITION = 20_000, 2_000
WEIGHT = 100.0  # λ of every condition; the equation's is 1
HIDDEN, DEPTH, SETS = 50, 4, 32
FEWEST = 5  # laps of a process, however slow it is
LEAST = 1e-4  # relative error at which a race ends


@dataclass(frozen=True)
class Condition:
    """∂u = target at points (n, 2), with ∂ = 1 or ∂_t; with a partner, u(points) = u(partner)."""

    points: np.ndarray
    target: np.ndarray
    derivative: str = ""
    partner: np.ndarray | None = None


@dataclass(frozen=True)
class Problem:
    """residual(d) = 0 on lower < (x, t) < upper; the value at t = 0, and the conditions on the other sides."""

    lower: tuple[float, float]
    upper: tuple[float, float]
    residual: Callable[[Derivatives], Any]
    start: Callable[..., Any]  # takes x, and the array library to compute with
    periodic: bool = False
    at_rest: bool = False  # u_t = 0 at the start

    def interior(self, count: int) -> np.ndarray:
        return self._draw(0, count)

    def conditions(self, count: int) -> dict[str, Condition]:
        """`count` points for each: the left and right ends, the start, and the speed at the start."""
        left, right, start, speed = (self._draw(seed, count) for seed in (1, 2, 3, 4))
        left[:, 0], right[:, 0], start[:, 1], speed[:, 1] = self.lower[0], self.upper[0], 0, 0
        zero = np.zeros(count)
        value = {"start": Condition(start, self.start(start[:, 0]))}
        if self.periodic:
            partner = np.column_stack([right[:, 0], left[:, 1]])
            return {"ends": Condition(left, zero, partner=partner), **value}
        ends = {"left": Condition(left, zero), "right": Condition(right, zero)}
        return {**ends, **value, **({"speed": Condition(speed, zero, "t")} if self.at_rest else {})}

    def _draw(self, seed: int, count: int) -> np.ndarray:
        low, high = np.array(self.lower), np.array(self.upper)
        return low + (high - low) * np.random.default_rng(seed).random((count, 2))


PROBLEMS = {
    "wave": Problem(
        (0.0, 0.0),
        (1.0, 1.0),
        lambda d: d("tt") - 4 * d("xx"),
        lambda x, xp=np: xp.sin(np.pi * x) + xp.sin(4 * np.pi * x) / 2,
        at_rest=True,
    ),
    "burgers": Problem(
        (-1.0, 0.0),
        (1.0, 1.0),
        lambda d: d("t") + d("") * d("x") - 0.01 / math.pi * d("xx"),
        lambda x, xp=np: -xp.sin(np.pi * x),
    ),
    "reaction": Problem(
        (0.0, 0.0),
        (2 * math.pi, 1.0),
        lambda d: d("t") - 5 * d("") * (1 - d("")),
        lambda x, xp=np: xp.exp(-((x - np.pi) ** 2) / (2 * (np.pi / 4) ** 2)),
        periodic=True,
    ),
}
WAVES = (4 * math.pi, math.pi)  # sin(4πx), sin(πx): SAFE-NET's features from the wave's initial value


def layers(network: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """(W, b) of each layer on the coordinates (`pinn`) or on the features (`safe-net`): the same in every system."""
    inputs = 2 if network == "pinn" else 4 * SETS + len(WAVES)
    sizes = [inputs, *[HIDDEN] * (DEPTH if network == "pinn" else 1), 1]
    draw = np.random.default_rng(0)
    made = []
    for columns, rows in pairwise(sizes):
        bound = math.sqrt(6 / (rows + columns))
        made.append((draw.uniform(-bound, bound, (rows, columns)), draw.uniform(-bound, bound, rows)))
    return made


def frequencies() -> tuple[np.ndarray, np.ndarray, float]:
    """(ω (sets, 2), c (sets, 4), s) of SAFE-NET's features c {sin | cos}(ω₁ x) {sin | cos}(ω₂ t) / s."""
    index = np.stack(np.divmod(np.arange(SETS), 4), axis=1) + 1.0
    return np.pi * index, np.repeat(np.max(index, axis=1)[:, None] ** -2, 4, axis=1), 2.0


def parameters(network: str) -> int:
    own = 0 if network == "pinn" else 6 * SETS
    return own + sum(W.size + b.size for W, b in layers(network))


# ---- measuring


class Enough(Exception):  # noqa: N818  (the end, not an error)
    """The race is over: the time is up or the last error is reached."""


class Laps:
    """Times of single iterations; call `lap(n)` after every n of them, once their results are computed."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.seconds, self.most = task["seconds"], task.get("iterations", 10_000)
        self.began = self.last = time.perf_counter()
        self.worked = time.process_time()
        self.first = 0.0
        self.found: list[float] = []
        self.busy: list[float] = []

    def lap(self, iterations: int = 1) -> None:
        now, worked = time.perf_counter(), time.process_time()
        if not self.first:
            self.first = now - self.began  # includes compiling, allocating, warming up
        else:
            self.found.append(1e3 * (now - self.last) / iterations)
            self.busy.append(1e3 * (worked - self.worked) / iterations)
        late = now - self.began - self.first > self.seconds and len(self.found) >= FEWEST
        if late or len(self.found) >= self.most:
            raise Enough
        self.last, self.worked = time.perf_counter(), time.process_time()

    @property
    def answer(self) -> dict[str, Any]:
        """Wall-clock and processor time of each lap; only the latter is comparable on a shared machine."""
        rounded = {"ms": self.found, "cpu_ms": self.busy}
        times = {key: [round(ms, 4) for ms in values] for key, values in rounded.items()}
        return {**times, "first_seconds": round(self.first, 3)}


class Race:
    """Seconds of training against the relative error on the grid; the clock stops while the error is computed."""

    def __init__(self, task: dict[str, Any]) -> None:
        grid = np.load(task["truth"])
        self.grid, self.truth = grid["points"], grid["values"]
        self.limit = task["seconds"]
        self.used = self.next = 0.0
        self.began = time.perf_counter()
        self.curve: list[tuple[float, float]] = []
        self.compilations: list[tuple[float, float]] = []  # (when it ended, how long it took)
        self.program()

    def program(self) -> None:
        """A new program follows: the time until its first iteration ends counts as compiling."""
        self.compiling: float | None = self.seconds

    def step(self) -> None:
        """To be called after each iteration."""
        if self.compiling is not None:
            self.compilations.append((self.seconds, self.seconds - self.compiling))
            self.compiling = None

    @property
    def compiled(self) -> float:
        """Seconds spent on compiling."""
        return sum(seconds for _, seconds in self.compilations)

    @property
    def seconds(self) -> float:
        return self.used + time.perf_counter() - self.began

    @property
    def due(self) -> bool:
        return self.seconds >= self.next

    def error(self, values: Any) -> float:
        difference = np.asarray(values, float).ravel() - self.truth
        return float(np.linalg.norm(difference) / np.linalg.norm(self.truth))

    def look(self, predict: Callable[[np.ndarray], Any]) -> None:
        """Record the error, at most each time the clock has advanced by 2%; raises Enough at the end of the race."""
        self.used = self.seconds
        error = self.error(predict(self.grid))
        self.curve.append((self.used, error))
        self.next = max(1.02 * self.used, self.used + 0.02)
        if error <= LEAST or self.used > self.limit:
            raise Enough
        self.began = time.perf_counter()

    @property
    def answer(self) -> dict[str, Any]:
        best: list[tuple[float, float]] = []
        for seconds, error in self.curve:
            if math.isfinite(error) and (not best or error < best[-1][1]):
                best.append((round(seconds, 3), float(f"{error:.3e}")))
        compiled = [(round(seconds - self._compiled_by(seconds), 3), error) for seconds, error in best]
        return {"curve": best, "compiled_curve": compiled}

    def _compiled_by(self, when: float) -> float:
        return sum(seconds for end, seconds in self.compilations if end <= when)


def serve(packages: tuple[str, ...], tasks: dict[str, Callable[[dict[str, Any]], dict[str, Any]]]) -> None:
    """Read the task from the command line, print the answer as the last line. A failure is answered with its reason."""
    task = json.loads(sys.argv[1])
    sys.stdout = sys.stderr  # libraries may print what they like
    began = time.perf_counter()
    try:
        answer = tasks[task["task"]](task)
    except Exception as problem:
        answer = {"failed": f"{type(problem).__name__}: {problem}".splitlines()[0][:300]}
    versions = {name: importlib.metadata.version(name) for name in packages}
    answer |= {"versions": versions, "process_seconds": round(time.perf_counter() - began, 2)}
    print(json.dumps(answer), file=sys.__stdout__, flush=True)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


HERE = Path(__file__).parent
