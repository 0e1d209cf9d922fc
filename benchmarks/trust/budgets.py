"""Does a solve end when its budget is spent, and at once after Ctrl-C, whatever the solver?

    python -m benchmarks.trust.budgets [--seconds 15] [--only WORD]

From the start of the process to its end. Each problem would take longer than its budget. The second number is from a
Ctrl-C, at a random moment of that time, to the end of the process; then what was kept, if anything.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = "from safenet.cli import main; main()"


def stated(equations: str, conditions: str, domain: str, unknowns: str = "u") -> str:
    def listed(text: str) -> str:
        return ", ".join(f'"{each}"' for each in text.split("; "))

    names = ", ".join(f'"{each}"' for each in unknowns)
    return f"unknowns = [{names}]\nequations = [{listed(equations)}]\nconditions = [{listed(conditions)}]\n{domain}\n"


def impedance(k: float) -> str:
    """Sides that let waves out, −∂u/∂n = k v and ∂v/∂n = −k u …, around a source."""
    sides = []
    for place, axis, sign in (("0, y", "x", "-"), ("1, y", "x", ""), ("x, 0", "y", "-"), ("x, 1", "y", "")):
        sides += [
            f"{sign}u_{axis}({place}) - {k}*v({place}) = 0",
            f"{sign}v_{axis}({place}) + {k}*u({place}) = 0",
        ]
    source = "exp(-50*((x - 0.5)**2 + (y - 0.5)**2))"
    return stated(
        f"u_xx + u_yy + {k}**2*u = {source}; v_xx + v_yy + {k}**2*v = 0",
        "; ".join(sides),
        "domain = { x = [0, 1], y = [0, 1] }",
        "uv",
    )


WALLS = "u(0, y) = 0; u(1, y) = sin(pi*y); u(x, 0) = 0; u(x, 1) = 0"
SMALL = ["--points", "256", "--width", "32"]
# name → (problem: a text, or a path or name), further words
SUBJECTS: dict[str, tuple[str, list[str]]] = {
    "march": ("allen-cahn", ["--solver", "march"]),
    "fourier": (
        stated(
            "u_t = -u*u_x - u_xx - u_xxxx",
            "u(x, 0) = cos(x/16)*(1 + sin(x/16))",
            'periodic = ["x"]\ndomain = { x = [0, "32*pi"], t = [0, 400] }',
        ),
        [],
    ),
    "integrate": (
        stated(
            "u_t = 10*(v - u); v_t = u*(28 - w) - v; w_t = u*v - 8/3*w",
            "u(0) = 1; v(0) = 1; w(0) = 1",
            "domain = { t = [0, 2000] }",
            "uvw",
        ),
        ["--solver", "integrate"],
    ),
    "elements": (impedance(120), []),
    "cells": (
        stated("0.002*(u_xx + u_yy) + u_x = u**2", WALLS, "domain = { x = [0, 1], y = [0, 1] }"),
        ["--solver", "cells"],
    ),
    "least squares": (
        stated(
            "u_xx + u_yy + u_zz = u**3 - 1",
            "u(0, y, z) = 0; u(1, y, z) = y*z; u(x, 0, z) = 0; u(x, 1, z) = x*z; u(x, y, 0) = 0; u(x, y, 1) = x*y",
            "domain = { x = [0, 1], y = [0, 1], z = [0, 1] }",
        ),
        ["--solver", "least-squares"],
    ),
    "conserve": (
        stated(
            "u_t + u*u_x + u*u_y = 0",
            "u(x, y, 0) = sin(2*pi*x)*cos(2*pi*y) + 1/2",
            'periodic = ["x", "y"]\ndomain = { x = [0, 1], y = [0, 1], t = [0, 1] }',
        ),
        ["--solver", "conserve"],
    ),
    "evolve": (
        stated(
            "u_t = u_xx + u_yy + u**2",
            "u = 0 on rim; u(x, y, 0) = exp(-30*(x**2 + y**2))",
            "[domain]\nx = [-1, 1]\ny = [-1, 1]\nt = [0, 1]\nshape = [{ disc = { center = [0, 0], radius = 1 } }]\n"
            '[pieces]\nrim = "rest"',
        ),
        ["--tol", "1e-6"],
    ),
    "a flow": ("backstep", []),
    "sparse": (str(ROOT / "examples" / "many"), []),
    "fit": (
        stated(
            "u_t = k*u_xx + u - u**3",
            "u(0, t) = 0; u(1, t) = 0; u(x, 0) = sin(pi*x)",
            "domain = { x = [0, 1], t = [0, 1] }\n[unknown]\nk = { start = 0.3, above = 0 }\n"
            '[[data]]\nfile = "probe.csv"\nsigma = 0.01',
        ),
        [],
    ),
    "train": ("burgers", ["train"]),
}


def probe() -> str:
    """x, t, u at a hundred places, of no solution in particular."""
    rng = random.Random(1)
    places = [(rng.random(), rng.random()) for _ in range(100)]
    rows = [f"{x},{t},{math.exp(-t) * math.sin(math.pi * x) + rng.gauss(0, 0.01)}" for x, t in places]
    return "\n".join(["x,t,u", *rows, ""])


def found(subject: str, place: Path) -> list[str]:
    """The words of a command, its problem written into `place` where it is a text."""
    text, words = SUBJECTS[subject]
    if "\n" in text:
        (place / "tried.toml").write_text(text)
        (place / "probe.csv").write_text(probe())
        text = "tried.toml"
    elif os.path.isdir(text):
        text = str(max(Path(text).glob("*.toml"), key=lambda path: path.stat().st_size))
    command = "train" if words == ["train"] else "solve"
    return [command, text, *(word for word in words if word != "train"), "--out", "out", "--json"]


def begun(subject: str, place: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *found(subject, place), *more],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def timed(subject: str, seconds: float, rng: random.Random) -> tuple[float, str, float, str]:
    """(seconds with a budget, its outcome, seconds from Ctrl-C to the end, what was kept)"""
    with tempfile.TemporaryDirectory() as place:
        began = time.monotonic()
        out, _ = begun(subject, Path(place), "--budget", f"{seconds}s").communicate()
        took, outcome = time.monotonic() - began, told(out)
    with tempfile.TemporaryDirectory() as place:
        process = begun(subject, Path(place))
        try:
            process.wait(rng.uniform(2.0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = process.communicate()
        stop = time.monotonic() - began
        return took, outcome, stop, "a traceback" if "Traceback" in err else told(out)


def told(out: str) -> str:
    try:
        result = json.loads(out)
    except ValueError:
        return "nothing"
    residual = "no residual" if result["residual"] is None else f"residual {result['residual']:.0e}"
    return f"{result['outcome']}, {residual}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    rng = random.Random(0)
    print(
        "| solver | budget, s | took, s | outcome | Ctrl-C, s | kept |\n|---|---|---|---|---|---|", flush=True
    )
    for subject in SUBJECTS:
        if given.only in subject:
            took, outcome, stop, kept = timed(subject, given.seconds, rng)
            print(
                f"| {subject} | {given.seconds:g} | {took:.1f} | {outcome} | {stop:.1f} | {kept} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
