"""Seeds, bits, budgets, values and pictures: what the command line does with a run."""

import contextlib
import json
import os
import pty
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from matplotlib.image import imread
from placed import place, sound, wave  # noqa: F401

from running import SHORT, SMALL, environment, program, run


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


FREE = """
unknowns = ["u"]
equations = ["u_t = u_xx"]
conditions = ["u(0, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 1], t = [0, 1] }
"""


def test_what_is_missing_is_said_before_a_training_and_not_only_after_it(place):
    (place / "free.toml").write_text(FREE)
    ran = run("train", "free.toml", *SMALL, *SHORT, cwd=place)
    assert ran.err.startswith("warning: the face x = 1 has no condition")
    assert "the face x = 1 has no condition" in ran.out


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
