"""The command line as its users meet it: what is printed, what is written, and that both are true."""

import atexit
import contextlib
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from matplotlib.image import imread

import safenet
from safenet import cli, library
from safenet.direct.solver import SOLVERS
from safenet.run import progress

# Compiled programs are kept for the session, never in the user's own cache.
CACHE = tempfile.mkdtemp(prefix="safenet-test-cache-")
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)

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


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with problem files and the runs of `solve`, made once."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "decay.toml").write_text(DECAY)
    (folder / "sound.toml").write_text(SOUND)
    return folder


@pytest.fixture(scope="module")
def wave(place):
    ran = run("solve", "wave", "--out", "wave", "--json", cwd=place)
    assert ran.code == 0, ran.err
    return ran


@pytest.fixture(scope="module")
def sound(place):
    ran = run("solve", "sound.toml", "--out", "sound", "--json", cwd=place)
    assert ran.code == 0, ran.err
    return ran


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


def test_solve_says_the_error_and_the_next_step(place, tmp_path):
    text = run("solve", place / "decay.toml", "--out", "here", cwd=tmp_path).out
    assert re.search(r"L2RE +\d\.\d\de[-+]\d\d", text)
    assert "safenet plot here -o" in text


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
    solve = safenet.solving.door.solve

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


@pytest.fixture(scope="module")
def seeded(place):
    """The same small network from seeds 0, 0 and 1."""
    for name, seed in (("first", 0), ("again", 0), ("other", 1)):
        ran = run("train", "decay.toml", *SMALL, *SHORT, "--seed", seed, "--out", name, cwd=place)
        assert ran.code == 1, ran.err  # a hundred steps do not solve it
    return place


def test_the_same_seed_gives_the_same_bits(seeded):
    assert (seeded / "first" / "solution.npz").read_bytes() == (
        seeded / "again" / "solution.npz"
    ).read_bytes()


def test_another_seed_gives_another_solution_and_is_recorded(seeded):
    values = [
        run("eval", name, "--at", "t=0.3", "--json", cwd=seeded).json["u"] for name in ("first", "other")
    ]
    assert values[0] != values[1]
    assert json.loads((seeded / "other" / "result.json").read_text())["seed"] == 1


def test_a_direct_solve_gives_the_same_bits_again(wave, place):
    assert run("solve", "wave", "--out", "wave2", cwd=place).code == 0
    assert (place / "wave" / "solution.npz").read_bytes() == (place / "wave2" / "solution.npz").read_bytes()


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_precision_is_that_of_the_saved_numbers(precision, seeded, tmp_path):
    words = ("train", seeded / "decay.toml", *SMALL, *SHORT, "--device", "cpu", "--precision", precision)
    ran = run(*words, "--out", "run", "--json", cwd=tmp_path)
    assert (ran.json["precision"], ran.json["device"]) == (precision, "cpu")
    with np.load(tmp_path / "run" / "solution.npz", allow_pickle=False) as data:
        assert {data[k].dtype.name for k in data.files if k.startswith("a")} == {precision}


def test_a_budget_is_resolved_into_the_plan_and_said(place, tmp_path):
    ran = run("solve", place / "decay.toml", "--budget", "5s", "--out", "run", "--json", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert any("budget of 5 s" in reason for reason in ran.json["reasons"])
    assert ran.json["l2re"] < 1e-10


def test_force_replaces_an_earlier_run(place, tmp_path):
    assert run("solve", place / "decay.toml", "--out", "run", cwd=tmp_path).code == 0
    assert run("solve", place / "sound.toml", "--out", "run", "--force", cwd=tmp_path).code == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())["problem"] == "sound"


def test_on_a_terminal_progress_is_drawn_on_stderr_and_stdout_stays_one_document(place, tmp_path):
    parent, child = pty.openpty()
    words = ["solve", str(place / "decay.toml"), "--out", "run", "--json"]
    env = environment() | {"TERM": "xterm-256color", "COLUMNS": "120"}
    done = subprocess.Popen([*program(), *words], cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=child)
    os.close(child)
    drawn = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an input/output error
        while piece := os.read(parent, 4096):
            drawn += piece
    os.close(parent)
    out, _ = done.communicate(timeout=60)
    assert done.returncode == 0
    assert json.loads(out)["problem"] == "decay"
    assert b"\x1b[" in drawn
    assert b"Traceback" not in drawn


# ---- eval


def exact(x, t):
    """The library's wave: sin πx cos 2πt + ½ sin 4πx cos 8πt."""
    return np.sin(np.pi * x) * np.cos(2 * np.pi * t) + np.sin(4 * np.pi * x) * np.cos(8 * np.pi * t) / 2


def exact_xt(x, t):
    first = -2 * np.pi**2 * np.cos(np.pi * x) * np.sin(2 * np.pi * t)
    return first - 16 * np.pi**2 * np.cos(4 * np.pi * x) * np.sin(8 * np.pi * t)


def exact_xx(x, t):
    first = -(np.pi**2) * np.sin(np.pi * x) * np.cos(2 * np.pi * t)
    return first - 8 * np.pi**2 * np.sin(4 * np.pi * x) * np.cos(8 * np.pi * t)


# The solve is good to 1e-13; each derivative of the highest of its modes costs a factor of at most 60.
@pytest.mark.parametrize(
    ("diff", "truth", "tolerance"),
    [
        (None, exact, 1e-11),
        ("xt", exact_xt, 1e-8),
        ("tx", exact_xt, 1e-8),
        ("xx", exact_xx, 1e-8),
        ("tt", lambda x, t: 4 * exact_xx(x, t), 1e-8),
    ],
)
def test_eval_gives_the_exact_solution_and_its_derivatives(diff, truth, tolerance, wave, place):
    words = ("eval", "wave", "--at", "x=0.3,t=0.55", "--json", *(("--diff", diff) if diff else ()))
    answer = run(*words, cwd=place).json
    assert answer["at"] == {"x": 0.3, "t": 0.55}
    assert answer["u"] == pytest.approx(truth(0.3, 0.55), abs=tolerance)


def test_eval_takes_several_points_and_formulas(wave, place):
    answers = run("eval", "wave", "--at", "t=1/3, x=pi/4", "--at", "x=0,t=1", "--json", cwd=place).json
    assert [answer["at"] for answer in answers] == [{"t": 1 / 3, "x": np.pi / 4}, {"x": 0.0, "t": 1.0}]
    assert answers[0]["u"] == pytest.approx(exact(np.pi / 4, 1 / 3), abs=1e-11)
    assert answers[1]["u"] == pytest.approx(0, abs=1e-11)


def test_eval_names_every_unknown(sound, place):
    answer = run("eval", "sound", "--at", "x=0.25,t=0.5", "--json", cwd=place).json
    assert answer["p"] == pytest.approx(3, abs=1e-11)
    assert answer["v"] == pytest.approx(np.sqrt(0.5), abs=1e-11)


def test_eval_as_text_says_what_where_and_how_much(sound, place):
    text = run("eval", "sound", "--at", "x=0.5,t=0.5", "--diff", "t", cwd=place).out
    names, values = zip(*(line.split(" = ") for line in text.splitlines()), strict=True)
    assert names == ("p_t(x=0.5, t=0.5)", "v_t(x=0.5, t=0.5)")
    assert float(values[0]) == pytest.approx(0, abs=1e-9)


# ---- plot


def test_plot_writes_a_png_with_colours(wave, place):
    ran = run("plot", "wave", "-o", "pictures/wave.png", cwd=place)
    assert (ran.code, ran.out.strip()) == (0, "pictures/wave.png")
    picture = imread(place / "pictures" / "wave.png")
    assert min(picture.shape[:2]) > 400
    assert len(np.unique(picture[::7, ::7, :3].reshape(-1, 3), axis=0)) > 200


def test_plot_writes_an_svg_with_a_panel_for_each_field_reference_and_error(sound, place):
    assert run("plot", "sound", "-o", "sound.svg", cwd=place).code == 0
    root = ElementTree.parse(place / "sound.svg").getroot()
    assert root.tag.endswith("svg")
    ids = {element.get("id", "") for element in root.iter()}
    # Two unknowns of three panels, each with a colour bar of its own axes.
    assert sum(bool(re.fullmatch(r"axes_\d+", name)) for name in ids) == 12


def test_plot_writes_a_pdf(sound, place):
    assert run("plot", "sound", "-o", "sound.PDF", cwd=place).code == 0
    assert (place / "sound.PDF").read_bytes().startswith(b"%PDF-")
