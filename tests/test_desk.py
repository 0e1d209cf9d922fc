"""The commands around a solve: `--version`, completion, `new`, `runs`, `doctor`, and help under headings."""

import json
import os
import subprocess
import sys
import tomllib

import numpy as np
import pytest

import safenet as sn
from running import environment, run
from safenet import listed
from safenet.commands.solving import _coloured

DECAY = """
name = "decay"
unknowns = ["u"]
equations = ["u_t = -3*u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Two runs of one problem, by different solvers, and one that was killed."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "decay.toml").write_text(DECAY)
    for out, *more in (("first",), ("second", "--solver", "least-squares")):
        assert run("solve", "decay.toml", "--out", f"runs/{out}", *more, cwd=folder).code == 0
    (folder / "runs" / "killed").mkdir()
    (folder / "runs" / "killed" / "plan.json").write_text("{}")
    return folder


def test_the_version_is_printed(tmp_path):
    assert run("--version", cwd=tmp_path).out.strip() == f"safenet {sn.__version__}"


@pytest.mark.parametrize("command", ["solve", "train", "runs", "new", "doctor", "list"])
def test_h_is_help(command, tmp_path):
    ran = run(command, "-h", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, run(command, "--help", cwd=tmp_path).out)


def test_options_have_headings_and_say_their_defaults(tmp_path):
    text = run("train", "-h", cwd=tmp_path).out
    headings = [line for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings[:1] + headings[-1:] == ["Arguments:", "Options:"]
    assert {"Training:", "Points:", "Network:", "Problem:", "Run folder:", "Time and device:"} < set(headings)
    for option in (
        "method",
        "recipe",
        "seed",
        "scale",
        "precision",
        "points",
        "width",
        "out",
        "device",
        "budget",
    ):
        entry = text[text.index(f"  --{option} ", text.index("Training:")) :].split("\n  -", 1)[0]
        assert "[default:" in " ".join(entry.split()), option


def test_the_shell_completes_commands_and_problems(tmp_path):
    def completed(words):
        line = {"COMP_WORDS": f"safenet {words}", "COMP_CWORD": str(len(words.split()))}
        done = subprocess.run(
            [sys.executable, "-c", "from safenet.cli import main; main()"],
            env=environment() | {"_SAFENET_COMPLETE": "complete_bash"} | line,
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        return done.stdout.split()

    (tmp_path / "wavelet.toml").write_text("")
    assert "solve" in completed("so")
    assert completed("solve wav") == ["wave", "wave-hard", "wavelet.toml"]


def test_list_has_a_line_on_every_name_without_importing_jax_or_sympy(tmp_path):
    from safenet.direct.solver import SOLVERS
    from safenet.networks.methods import METHODS
    from safenet.train.recipes import RECIPES

    assert list(listed.SOLVERS) == list(SOLVERS)
    assert list(listed.METHODS) == list(METHODS)
    assert list(listed.RECIPES) == list(RECIPES)
    program = (
        "import sys; sys.argv = ['safenet', 'list']\n"
        "from safenet.cli import main\n"
        "try: main()\n"
        "finally: print(sorted({'jax', 'sympy', 'numpy'} & sys.modules.keys()), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stderr.strip() == "[]"
    assert "wave" in done.stdout


def test_a_new_file_can_be_solved_at_once(tmp_path):
    ran = run("new", "my rod.toml", cwd=tmp_path)
    assert ran.code == 0
    text = (tmp_path / "my rod.toml").read_text()
    assert "NAME" not in text
    assert "FILE" not in text
    problem = sn.read(tmp_path / "my rod.toml")
    # κ = 1/10: u = exp(−π²t/10) sin πx
    assert sn.solve(problem)(x=0.5, t=1.0) == pytest.approx(np.exp(-(np.pi**2) / 10), abs=1e-10)


def test_new_never_overwrites_and_starts_from_the_library_if_asked(tmp_path):
    assert run("new", "mine.toml", "--like", "burgers", cwd=tmp_path).code == 0
    text = (tmp_path / "mine.toml").read_text()
    assert tomllib.loads(text)["name"] == "burgers"
    again = run("new", "mine.toml", cwd=tmp_path)
    assert again.code == 2
    assert "nothing was changed" in again.err
    assert (tmp_path / "mine.toml").read_text() == text
    assert run("new", "mine", cwd=tmp_path).code == 2


def test_runs_are_listed_the_newest_first(desk):
    past = {
        folder: json.loads((desk / folder / "result.json").read_text())
        for folder in ("runs/first", "runs/second")
    }
    rows = run("runs", "--json", cwd=desk).json
    assert [row["run"] for row in rows] == ["runs/killed", "runs/second", "runs/first"]
    assert [row["outcome"] for row in rows] == ["no result yet", "solved", "solved"]
    for row in rows[1:]:
        assert row["estimate"] == past[row["run"]]["estimate"]
        assert row["solver"] == past[row["run"]]["solver"]
    lines = run("runs", cwd=desk).out.splitlines()
    assert lines[0].split()[:4] == ["run", "problem", "solver", "outcome"]
    assert "least-squares" in lines[2]


def test_two_runs_are_compared(desk):
    found = run("runs", "runs/first", "runs/second", "--json", cwd=desk).json
    assert 0 < found["difference"]["u"] < 1e-8  # two solvers, one solution
    text = run("runs", "runs/first", "runs/second", cwd=desk).out
    assert any(line.split()[:1] == ["solver"] and "least-squares" in line for line in text.splitlines())
    assert "difference in u" in text


@pytest.mark.parametrize("words", [("nowhere",), ("runs/first", "runs/killed"), ("a", "b", "c")])
def test_runs_that_are_not_there_are_an_error_with_a_remedy(words, desk):
    ran = run("runs", *words, cwd=desk)
    assert ran.code == 2
    assert len(ran.err.strip().splitlines()) == 2


def test_doctor_names_versions_devices_and_the_cache(tmp_path):
    facts = run("doctor", "--json", cwd=tmp_path).json
    assert facts["versions"]["safenet"] == sn.__version__
    assert facts["versions"]["numpy"] == np.__version__
    assert facts["devices"]["float64"] == "on"
    assert facts["advice"]
    assert "jax" in run("doctor", cwd=tmp_path).out


@pytest.mark.parametrize(
    ("outcome", "colour"), [("solved", 32), ("not solved", 31), ("given up", 31), ("interrupted", 33)]
)
def test_the_verdict_has_a_colour_on_a_terminal_only(outcome, colour, monkeypatch):
    assert _coloured("u: solved", sn.Outcome(outcome)) == "u: solved"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert f"\x1b[{colour}m" in _coloured("u: solved", sn.Outcome(outcome))
    monkeypatch.setitem(os.environ, "NO_COLOR", "1")
    assert _coloured("u: solved", sn.Outcome(outcome)) == "u: solved"
