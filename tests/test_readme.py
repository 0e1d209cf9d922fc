"""What the README shows is what happens: its programs and commands are run, in the order in which they stand."""

import contextlib
import io
import re
import shlex
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import safenet as sn
from running import run

README = Path(__file__).parents[1] / "README.md"
pytestmark = pytest.mark.skipif(not README.exists(), reason="there is no README.md")


def fences(language):
    """The contents of the ```language blocks."""
    text = README.read_text(encoding="utf-8") if README.exists() else ""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands():
    """The `safenet …` lines of the bash blocks, continued lines joined, without their comments."""
    lines = [line for block in fences("bash") for line in block.replace("\\\n", " ").splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    return [line[1:] for line in words if line[:1] == ["safenet"]]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """The reader's folder: the problem files of the README are in it, and what earlier commands left."""
    folder = tmp_path_factory.mktemp("reader")
    for text in fences("toml"):
        name = re.match(r"# (\S+\.toml)\n", text)
        if name:
            (folder / name[1]).write_text(text)
    measured(folder)
    return folder


def measured(folder):
    """probe.csv: 60 temperatures of the rod with κ = 0.2, to 0.01."""
    rod = sn.solve(sn.read(folder / "rod.toml").with_parameters(kappa=0.2), monitor=sn.Monitor())
    random = np.random.default_rng(0)
    x, t = random.random((2, 60))
    u = rod(x=x, t=t) + 0.01 * random.normal(size=60)
    np.savetxt(folder / "probe.csv", np.c_[x, t, u], delimiter=",", header="x,t,u", comments="")


def test_the_readme_shows_a_program_commands_and_a_problem_file():
    assert fences("python")
    assert {"list", "show", "solve", "train", "eval", "plot"} <= {words[0] for words in commands()}
    assert fences("toml")


@pytest.mark.parametrize("index", range(len(fences("python"))))
def test_the_program_runs_and_says_how_good_its_solution_is(index, tmp_path):
    out, names = io.StringIO(), {"__name__": "__main__"}
    program = fences("python")[index]
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(out):
        exec(compile(program, f"README.md, python block {index + 1}", "exec"), names)
    for picture in re.findall(r'savefig\("(.*?)"\)', program):
        assert (tmp_path / picture).stat().st_size > 10_000
    if "sol" in names:
        assert names["sol"].error().l2re < 1e-6
        assert "L2RE" in out.getvalue()


def marked(words):
    """A schedule of the paper and a spectrum compile for half a minute; smaller ones are run always, elsewhere."""
    slow = "--recipe" in words or "spectrum" in words
    return pytest.param(words, marks=pytest.mark.slow if slow else (), id=" ".join(words))


@pytest.mark.parametrize("words", [marked(words) for words in commands()])
def test_the_command_runs(words, desk):
    command = words[: words.index("||")] if "||" in words else words
    ran = run(*command, cwd=desk)
    assert ran.code == int(command != words), ran.err  # `|| true`: a schedule cut short solves nothing
    assert ran.out
    for block in fences("text"):
        if "--find" in words and block.startswith("rod: "):
            assert block in ran.out
    for option, value in pairwise(words):
        if option in ("-o", "--out", "--output"):
            assert (desk / value).exists()


@pytest.mark.slow
@pytest.mark.parametrize("text", fences("toml"), ids=lambda text: text.splitlines()[0])
def test_the_problem_file_is_solved_without_options(text):
    solution = sn.solve(sn.loads(text))
    assert solution.result.outcome == "solved"
    assert solution.result.residual < 1e-6
