"""`safenet …` in this process, and problems that are solved at once: what many tests run."""

import atexit
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import safenet
from safenet import cli

# Compiled programs are kept for the session, never in the user's own cache.
CACHE = tempfile.mkdtemp(prefix="safenet-test-cache-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)

DECAY = """
name = "decay"
unknowns = ["u"]
equations = ["u_t = -3*u"]
conditions = ["u(0) = 1"]
exact = { u = "exp(-3*t)" }
domain = { t = [0, 1] }
"""

SOUND = """
name = "sound"
unknowns = ["p", "v"]
equations = ["p_t + v_x = 0", "v_t + p_x = 0"]
conditions = ["v(0, t) = 0", "v(1, t) = 0", "p(x, 0) = 3 + cos(pi*x)", "v(x, 0) = 0"]
exact = { p = "3 + cos(pi*x)*cos(pi*t)", v = "sin(pi*x)*sin(pi*t)" }
domain = { x = [0, 1], t = [0, 2] }
"""

# What travels on as a jump, ends, and becomes a jump.
SQUARE = """
name = "square"
unknowns = ["u"]
equations = ["u_t + u_x = 0"]
conditions = ["u(0, t) = 0", "u(x, 0) = (sign(x - 0.2) - sign(x - 0.4))/2"]
domain = { x = [0, 1], t = [0, 0.5] }
"""
BLOW_UP = """
name = "blow-up"
unknowns = ["u"]
equations = ["u_t = u**2"]
conditions = ["u(0) = 1"]
domain = { t = [0, 2] }
"""
SHOCK = """
name = "shock"
unknowns = ["u"]
equations = ["u_t + u*u_x = 0"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(2*pi*x)"]
domain = { x = [0, 1], t = [0, 0.5] }
"""

# A network so small that its programs compile in a second or two.
SMALL = (
    *("--points", "16", "--condition-points", "1"),
    *("--features", "4", "--width", "4"),
)

SHORT = ("--recipe", "paper-4", "--scale", "0.001")


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one JSON document on standard output; NaN is not JSON and would not pass."""

        def refuse(constant):
            raise AssertionError(f"{constant} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


def run(*words, cwd) -> Ran:
    """`safenet words…` in this process, through the same `main` as the script."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["safenet", *map(str, words)]),
        mock.patch.dict(os.environ, {"XDG_CACHE_HOME": CACHE}),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
    return Ran(code, out.getvalue(), err.getvalue())


def program() -> list[str]:
    """The script that was installed beside this interpreter, or the same by hand."""
    script = Path(sys.executable).with_name("safenet")
    return (
        [str(script)] if script.exists() else [sys.executable, "-c", "from safenet.cli import main; main()"]
    )


def environment() -> dict[str, str]:
    source = str(Path(safenet.__file__).parents[1])
    return os.environ | {"XDG_CACHE_HOME": CACHE, "PYTHONPATH": source}


class Interrupter(safenet.Monitor):
    """Ctrl-C at the n-th thing that a run reports."""

    def __init__(self, n):
        self.n, self.calls = n, 0

    def report(self, *_, **__):
        self.calls += 1
        if self.calls == self.n:
            raise KeyboardInterrupt

    phase = step = level = losses = network = report
