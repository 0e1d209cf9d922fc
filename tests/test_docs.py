"""docs/problems.md: its problem files say what they solve, its commands run."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import safenet as sn
from running import run
from safenet.problem.language.notation import FUNCTIONS

PAGE = Path(__file__).parents[1] / "docs" / "problems.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="there is no docs/problems.md")
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
FILES = dict(re.findall(r"^```toml\n# (\S+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
COMMANDS = re.findall(r"^safenet (.*)$", "".join(re.findall(r"^```bash\n(.*?)^```", TEXT, re.M | re.S)), re.M)


def rod(x, t):
    """The Fourier series of the step, each sine decaying at its own rate."""
    k = np.pi * np.arange(1, 400)
    amplitudes = 2 * (np.cos(k / 4) - np.cos(3 * k / 4)) / k
    return np.sum(amplitudes * np.sin(k * x) * np.exp(-(k**2) * t / 10))


def ring(x, y):
    """1 + b log r with u_r = 2u at r = 1/4, since the outward normal points into the hole."""
    b = 2 / (4 - 2 * np.log(1 / 4))
    return 1 + b * np.log(np.hypot(x, y))


# Points of the domain, and what is known there by other means.
KNOWN = {
    "channel.toml": ({"x": [0.1, 1.3, 2], "y": [0.2, 0.9, 1]}, lambda x, y: 1 + x),
    "triangle.toml": ({"x": [0.1, 0.3, 0.5], "y": [0.2, 0.6, 0.5]}, lambda x, y: x * y * (1 - x - y)),
    "ring.toml": ({"x": [0.3, -0.6, 0.0], "y": [0.1, 0.6, 0.9]}, ring),
    "rod.toml": ({"x": [0.3, 0.7, 0.25], "t": [0.1, 0.5, 0.02]}, rod),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow if n in ("ring.toml", "rod.toml") else ())
        for n in sorted(KNOWN | FILES)
    ],
)
def test_the_problem_file_is_solved_without_options(name):
    problem = sn.loads(FILES[name], name)
    assert sn.loads(problem.toml()) == problem
    points, exact = KNOWN[name]
    values = sn.solve(problem)(**points)
    np.testing.assert_allclose(values, [exact(*p) for p in zip(*points.values(), strict=True)], atol=1e-6)


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_runs(command, desk):
    words = shlex.split(command)
    ran = run(*words, cwd=desk)
    assert ran.code == 0, ran.err
    assert all((desk / value).exists() for option, value in pairwise(words) if option in ("-o", "--out"))


def test_the_list_of_functions_is_complete():
    listed = re.search(r"The functions: `(.*?)`", TEXT, re.DOTALL)
    assert listed
    assert set(listed[1].split()) == FUNCTIONS.keys() - {"ln"}
