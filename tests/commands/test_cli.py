"""The command line as its users meet it: what is printed, what is written, and that both are true."""

import json
import re
import subprocess
import sys
from unittest import mock

import numpy as np
import pytest
from placed import place, sound, wave  # noqa: F401

import safenet
from running import DECAY, SMALL, environment, run
from safenet import library
from safenet.direct.solver import SOLVERS
from safenet.run import progress
from safenet.solving import door

CONTRACT = (
    *(
        "problem",
        "solver",
        "method",
        "recipe",
        "seed",
        "l2re",
        "residual",
        "parameters",
        "iterations",
        "evaluations",
    ),
    *("seconds", "precision", "device", "outcome", "stop_reason"),
)
COMMANDS = ("list", "show", "solve", "train", "eval", "plot")


# ---- help


@pytest.mark.parametrize(
    ("words", "lessons"),
    [
        (
            (),
            (
                *COMMANDS,
                "equations = [",
                "conditions = [",
                "domain = {",
                "safenet solve wave --out runs/wave",
            ),
        ),
        (("list",), ("problems, solvers, networks, recipes and suites", "--json")),
        (("show",), ("library problem or a .toml file", "--set NAME=VALUE", "--json")),
        (
            ("solve",),
            ("--solver", "march", "--budget 60s", "--out DIR", "--resume RUN", "Ctrl-C", "exit status"),
        ),
        (
            ("train",),
            ("--method", "--recipe", "--seed", "--out DIR", "--resume RUN", "Ctrl-C", "float32", "sobol"),
        ),
        (("eval",), ("--at x=0.3,t=0.5", "--diff AXES", "safenet solve --out", "--json")),
        (("plot",), (".png, .pdf or .svg", "safenet solve --out")),
    ],
    ids=lambda words: " ".join(words) or "safenet",
)
def test_help_exits_0_and_teaches_by_example(words, lessons, tmp_path):
    ran = run(*words, "--help", cwd=tmp_path)
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: {' '.join(('safenet', *words))} ")
    for lesson in lessons:
        assert lesson in ran.out


def test_the_problem_file_in_the_help_can_be_copied_and_solved(tmp_path):
    text = run("--help", cwd=tmp_path).out
    lines = [line for line in text.splitlines() if re.match(r"\s+\w+ = [\[{\"]", line)]
    assert len(lines) == 5
    (tmp_path / "copied.toml").write_text("\n".join(lines))
    ran = run("solve", "copied.toml", "--out", "copied", "--json", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert ran.json["residual"] < 1e-6


def test_help_is_quick_because_it_imports_nothing_heavy(tmp_path):
    code = (
        "import sys, time; sys.argv = ['safenet', '--help']\n"
        "from safenet.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "loaded = {'jax', 'sympy', 'numpy', 'scipy', 'matplotlib', 'equinox'} & sys.modules.keys()\n"
        "print(sorted(loaded), time.process_time(), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    loaded, seconds = done.stderr.rsplit(maxsplit=1)
    assert loaded == "[]"
    assert float(seconds) < 1.0  # of the processor; JAX alone takes more


def test_no_command_shows_the_help(tmp_path):
    ran = run(cwd=tmp_path)
    assert "Commands:" in ran.out + ran.err


# ---- list and show


def test_list_json_names_what_the_library_has(tmp_path):
    listing = run("list", "--json", cwd=tmp_path).json
    assert set(listing) == {"problems", "solvers", "methods", "recipes", "suites"}
    assert listing["problems"] == list(library.names())
    assert listing["solvers"] == ["auto", *SOLVERS, "train"]
    assert {"safe-net", "safe-net-literal", "pinn"} <= set(listing["methods"])
    assert {"default", "paper-1", "paper-4"} <= set(listing["recipes"])


def test_list_says_a_line_about_everything_it_lists(tmp_path):
    listing, text = run("list", "--json", cwd=tmp_path).json, run("list", cwd=tmp_path).out
    for name in (name for kind in ("problems", "solvers", "methods", "recipes") for name in listing[kind]):
        assert re.search(rf"^  {re.escape(name)} +\S.{{8,}}$", text, re.MULTILINE), name


def test_show_json_is_the_statement_and_what_follows_from_it(tmp_path):
    facts = run("show", "wave", "--json", cwd=tmp_path).json
    assert facts["equations"] == ["u_tt = c**2*u_xx"]
    assert [c["kind"] for c in facts["conditions"]] == ["dirichlet", "dirichlet", "initial", "initial"]
    assert facts["linear"] is True
    assert facts["exact_proven"] is True
    assert facts["axes"] == {"u": {"x": "sine", "t": "general"}}
    # sin πx and sin 4πx stand in the initial condition.
    np.testing.assert_allclose(facts["named_frequencies"]["x"], [np.pi, 4 * np.pi], rtol=1e-15)


def test_show_takes_data_and_a_parameter_to_be_found(tmp_path):
    (tmp_path / "probe.csv").write_text("x,t,u\n0.5,0.1,0.9\n0.3,0.2,0.8\n")
    facts = run("show", "wave", "--find", "c", "--data", "probe.csv", "--json", cwd=tmp_path).json
    assert facts["data"] == ["2 values of u"]
    assert "wave has no parameter 'd'" in run("show", "wave", "--find", "d", cwd=tmp_path).err


def test_show_reads_a_file_and_a_changed_parameter(place, tmp_path):
    assert "u_t = -3*u" in run("show", place / "decay.toml", cwd=tmp_path).out
    text = run("show", "convection", "--set", "beta=30", cwd=tmp_path).out
    assert re.search(r"^  beta = 30$", text, re.MULTILINE)


# ---- solve


def test_solve_prints_one_json_document_which_is_result_json(wave, place):
    assert wave.json == json.loads((place / "wave" / "result.json").read_text())
    assert set(CONTRACT) <= wave.json.keys()


def test_result_states_true_values_of_the_right_kinds(wave):
    result = wave.json
    assert (result["problem"], result["solver"]) == ("wave", "auto")
    assert result["method"] is result["recipe"] is None  # those of networks
    assert (result["seed"], result["precision"], result["device"]) == (0, "float64", "cpu")
    assert result["outcome"] == "solved"
    assert result["stop_reason"]
    assert 0 < result["l2re"] < 1e-10
    assert 0 < result["residual"] < 1e-10
    assert 0 < result["seconds"] < 60
    for count in ("parameters", "iterations", "evaluations"):
        assert isinstance(result[count], int)
        assert result[count] > 0


def test_parameters_counts_the_numbers_that_were_solved_for(wave, place):
    """Of waves whose frequencies the equation gives: the coefficients, which are stored first."""
    with np.load(place / "wave" / "solution.npz", allow_pickle=False) as data:
        assert wave.json["parameters"] == data["a0"].size


def test_several_unknowns_have_an_error_each_and_a_pooled_one(sound):
    assert set(sound.json["l2re"]) == {"p", "v", "pooled", "mean"}
    assert max(sound.json["l2re"].values()) < 1e-10


def test_solve_without_out_writes_into_runs(place, tmp_path):
    assert run("solve", place / "decay.toml", cwd=tmp_path).code == 0
    assert json.loads((tmp_path / "runs" / "decay" / "result.json").read_text())["problem"] == "decay"


def test_a_second_solve_has_a_folder_of_its_own_and_a_refused_one_leaves_none(place, tmp_path):
    refused = run("solve", place / "decay.toml", "--solver", "conserve", cwd=tmp_path)
    assert refused.code == 2, refused.err
    assert not (tmp_path / "runs").exists()
    assert run("solve", place / "decay.toml", cwd=tmp_path).code == 0
    mistaken = run("train", place / "decay.toml", "--recipe", "paper-9", cwd=tmp_path)
    assert mistaken.code == 2
    assert "this run goes to" not in mistaken.err  # nothing runs
    assert "this run goes to runs/decay-2" in run("solve", place / "decay.toml", cwd=tmp_path).err
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["decay", "decay-2"]


def test_solve_says_the_error_and_the_next_step(place, tmp_path):
    text = run("solve", place / "decay.toml", "--out", "here I am", cwd=tmp_path).out
    assert re.search(r"L2RE +\d\.\d\de[-+]\d\d", text)
    assert "safenet plot 'here I am' -o" in text  # as a shell reads it


def test_without_a_reference_the_error_is_null_and_the_residual_stands(tmp_path):
    (tmp_path / "blind.toml").write_text(DECAY.replace("exact", "#"))
    result = run("solve", "blind.toml", "--json", cwd=tmp_path).json
    assert result["l2re"] is None
    assert result["residual"] < 1e-10


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("solved", 0),
        ("not solved", 1),
        ("out of time", 1),
        ("given up", 1),
        ("diverged", 1),
        ("interrupted", 130),
    ],
)
def test_the_exit_status_says_how_a_solve_ended(outcome, code, place, tmp_path):
    solve = door.solve

    def ended(*given, **options):
        solution = solve(*given, **options)
        solution.result.outcome = safenet.Outcome(outcome)
        return solution

    with mock.patch.object(safenet.solving.door, "solve", ended):
        assert run("solve", place / "decay.toml", "--json", cwd=tmp_path).code == code


def test_a_parameter_changes_the_problem_that_is_solved(tmp_path):
    ran = run("solve", "convection", "--set", "beta=30", "--out", "fast", "--json", cwd=tmp_path)
    assert ran.json["l2re"] < 1e-10
    value = run("eval", "fast", "--at", "x=1,t=0.7", "--json", cwd=tmp_path).json["u"]
    assert value == pytest.approx(np.sin(1 - 30 * 0.7), abs=1e-9)


def test_literal_schedule_does_30_adam_and_10_lbfgs_steps_in_float32(place, tmp_path):
    small = ("--scale", "0.001", *SMALL, "--depth", "1")
    words = ("train", place / "decay.toml", "--method", "safe-net-literal", "--recipe", "paper-1", *small)
    with mock.patch.object(progress, "LINE_EVERY", 0.0):
        ran = run(*words, "--out", "literal", "--json", cwd=tmp_path)
    assert ran.code == 1, ran.err  # forty steps do not solve it
    result = ran.json
    assert result["precision"] == "float32"
    assert [(phase["name"], phase["iterations"]) for phase in result["phases"]] == [
        ("adam", 30),
        ("lbfgs", 10),
    ]
    assert result["iterations"] == 40
    # Adam evaluates at its start and after every step, L-BFGS at least so.
    assert result["phases"][0]["evaluations"] == 31
    assert result["phases"][1]["evaluations"] >= 11
    assert result["evaluations"] == sum(phase["evaluations"] for phase in result["phases"])
    with np.load(tmp_path / "literal" / "solution.npz", allow_pickle=False) as data:
        history = data["history"]
        trained = sum(v.size for k, v in data.items() if k.startswith("a") and v.dtype == np.float32)
    assert history[:, 0].tolist() == list(range(1, 41))
    # loss, the equation and its condition; L-BFGS never lets the loss rise.
    assert history.shape[1] == 1 + 3
    assert np.all(np.diff(history[30:, 1]) <= 0)
    assert trained == result["parameters"]
    # Progress is plain lines, one to a line, and none of it on standard output.
    lines = ran.err.splitlines()
    assert any("adam: 30/30 · loss" in line for line in lines)
    assert any("lbfgs: 10/10 · loss" in line for line in lines)
    assert all(re.match(r" *\d+ s  \w", line) for line in lines)
    assert "\x1b" not in ran.err


# ---- eval


# ---- plot


def test_what_crashes_while_python_ends_does_not_change_the_status_of_an_interrupted_run():
    program = """
import atexit, os, sys
from safenet import cli
atexit.register(os.abort)
cli.app = lambda **_: (print("kept"), sys.exit(130))
cli.program()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment())
    assert (ended.returncode, ended.stdout) == (130, "kept\n")
