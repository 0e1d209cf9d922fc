"""Does a solve end when its budget is spent, and at once after Ctrl-C, whatever the solver?

    python -m benchmarks.trust.budgets [--seconds 15] [--only WORD]

Times are from the start of the process to its end. Each problem would take longer than its budget. `silent` is the
longest time in which nothing was written to the terminal, a pseudo-terminal that a thread reads. A second run gets a
Ctrl-C at a random moment of its budget: how long the process takes to end, and what was kept, if anything.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pty
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = "from safenet.cli import program; program()"


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
    "a body": (
        stated(
            "u_t = (u_xx + u_yy + u_zz)/10 + u*(1 - u)",
            "u = 0 on skin; u(x, y, z, 0) = exp(-20*(x**2 + y**2 + z**2))",
            "[domain]\nx = [-1, 1]\ny = [-1, 1]\nz = [-1, 1]\nt = [0, 1]\n"
            'shape = [{ ball = { center = [0, 0, 0], radius = 1 } }]\n[pieces]\nskin = "rest"',
        ),
        ["--tol", "1e-5"],
    ),
    "four dimensions": (
        stated(
            "u_aa + u_bb + u_cc + u_dd = exp(-4*(a*b + c*d)**2)*sin(5*a*c + 3*b*d)",
            "; ".join(
                f"u({', '.join(s if k == j else n for k, n in enumerate('abcd'))}) = 0"
                for j in range(4)
                for s in "01"
            ),
            "domain = { a = [0, 1], b = [0, 1], c = [0, 1], d = [0, 1] }",
        ),
        [],
    ),
    "a flow": ("backstep", []),
    "a surface by a network": (str(ROOT / "examples" / "space" / "ring.toml"), []),
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
    """x, t, u at a hundred points, of no particular solution."""
    rng = random.Random(1)
    places = [(rng.random(), rng.random()) for _ in range(100)]
    rows = [f"{x},{t},{math.exp(-t) * math.sin(math.pi * x) + rng.gauss(0, 0.01)}" for x, t in places]
    return "\n".join(["x,t,u", *rows, ""])


def found(subject: str, place: Path) -> list[str]:
    """The words of a command; a problem given as text is written into `place`."""
    text, words = SUBJECTS[subject]
    if "\n" in text:
        (place / "tried.toml").write_text(text)
        (place / "probe.csv").write_text(probe())
        text = "tried.toml"
    elif os.path.isdir(text):
        text = str(max(Path(text).glob("*.toml"), key=lambda path: path.stat().st_size))
    command = "train" if words == ["train"] else "solve"
    return [command, text, *(word for word in words if word != "train"), "--out", "out", "--json"]


class Begun:
    """A command in a process of its own, with a pseudo-terminal for its messages."""

    def __init__(self, subject: str, place: Path, *more: str) -> None:
        self.began = time.monotonic()
        terminal, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *found(subject, place), *more],
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            env=environment,
            # Processes that a shell starts in the background ignore Ctrl-C, and so would their children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(theirs)
        self.said, self.times = b"", [self.began]
        self.reader = threading.Thread(target=self._read, args=(terminal,))
        self.reader.start()

    def _read(self, terminal: int) -> None:
        try:
            while part := os.read(terminal, 4096):
                self.said += part
                self.times.append(time.monotonic())
        except OSError:  # the end of a pseudo-terminal
            pass
        os.close(terminal)

    def ended(self) -> tuple[str, float]:
        """Wait for the end: the text on standard output, and the time of the end."""
        out, _ = self.process.communicate()
        end = time.monotonic()
        self.reader.join()
        return out, end

    def silent(self, end: float) -> tuple[float, float]:
        """The longest silence, and when it began."""
        gaps = [(after - before, before - self.began) for before, after in pairwise([*self.times, end])]
        return max(gaps)


def timed(subject: str, seconds: float, rng: random.Random) -> str:
    """A row: seconds taken, the outcome, the longest silence; seconds from Ctrl-C to the end, and what was kept."""
    with tempfile.TemporaryDirectory() as place:
        run = Begun(subject, Path(place), "--budget", f"{seconds}s")
        out, end = run.ended()
        gap, at = run.silent(end)
        row = f"{end - run.began:.1f} | {told(out)} | {gap:.1f} at {at:.0f}"
    with tempfile.TemporaryDirectory() as place:
        run, wait = Begun(subject, Path(place)), rng.uniform(2.0, seconds)
        try:
            run.process.wait(wait)
        except subprocess.TimeoutExpired:
            run.process.send_signal(signal.SIGINT)
        stopped = time.monotonic()
        out, end = run.ended()
        kept = "a traceback" if b"Traceback" in run.said else told(out)
        return f"{row} | {end - stopped:.1f} at {wait:.0f} | {kept}, exit {run.process.returncode}"


def told(out: str) -> str:
    try:
        result = json.loads(out)
    except ValueError:
        return "nothing"
    estimate = result["estimate"]["pooled"] if isinstance(result["estimate"], dict) else result["estimate"]
    numbers = {"residual": result["residual"], "estimate": estimate}
    known = (f"{name} {value:.0e}" if value is not None else f"no {name}" for name, value in numbers.items())
    return ", ".join([str(result["outcome"]), *known])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--only", nargs="*", default=[""], metavar="WORD")
    given = parser.parse_args()
    rng = random.Random(0)
    print(
        "| solver | budget, s | took, s | outcome | silent, s | Ctrl-C, s | kept |\n|" + "---|" * 7,
        flush=True,
    )
    for subject in SUBJECTS:
        if any(word in subject for word in given.only):
            print(f"| {subject} | {given.seconds:g} | {timed(subject, given.seconds, rng)} |", flush=True)


if __name__ == "__main__":
    main()
