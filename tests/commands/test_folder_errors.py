"""Run folders that exist already, are none, or are damaged: said in a sentence, with what to try."""

import json
import re

import numpy as np
import pytest
from refusing import (
    desk,  # noqa: F401
    refused,
)

import safenet as sn
from running import DECAY, run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, to be copied before it is damaged."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "decay.toml").write_text(DECAY)
    assert run("solve", "decay.toml", "--out", "run", cwd=folder).code == 0
    return folder / "run"


@pytest.fixture
def desk_with_run(desk, finished):
    (desk / "run").mkdir()
    for file in finished.iterdir():
        (desk / "run" / file.name).write_bytes(file.read_bytes())
    return desk


def test_a_run_is_not_overwritten_unless_asked(desk_with_run):
    says = "run holds a run already; nothing was changed"
    refused(
        "solve", "heat.toml", "--out", "run", cwd=desk_with_run, says=says, remedy="--resume run.*--force"
    )


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_what_is_not_a_run_is_never_overwritten(force, desk):
    refused(
        "solve", "heat.toml", "--out", "notes.txt", *force, cwd=desk, says="a file, not a run", remedy="--out"
    )
    refused(
        "solve",
        "heat.toml",
        "--out",
        "photos",
        *force,
        cwd=desk,
        says="other files, not a run",
        remedy="--out",
    )
    refused(
        "solve", "heat.toml", "--out", ".", *force, cwd=desk, says="other files, not a run", remedy="--out"
    )


def test_a_mistake_in_the_problem_leaves_the_run_that_force_would_replace(desk_with_run):
    words = ("solve", "heat.toml", "--set", "q=1", "--out", "run", "--force")
    refused(*words, cwd=desk_with_run, says="no parameter 'q'", remedy="k")


def test_a_place_that_cannot_be_written_is_said_at_once(desk_with_run):
    words = ("solve", "heat.toml", "--out", "notes.txt/run")
    refused(*words, cwd=desk_with_run, says="cannot write to notes.txt/run", remedy="another --out")
    words = ("plot", "run", "-o", "notes.txt/picture.png")
    refused(*words, cwd=desk_with_run, says="cannot write notes.txt/picture.png", remedy="another place")
    with pytest.raises(sn.SafeNetError, match=r"cannot write to .*notes\.txt/run"):
        sn.load(desk_with_run / "run").save(desk_with_run / "notes.txt" / "run")


@pytest.mark.parametrize("name", ["picture.jpg", "picture", "picture.png.txt"])
def test_a_picture_of_an_unknown_kind_is_refused(name, desk_with_run):
    refused(
        "plot",
        "run",
        "-o",
        name,
        cwd=desk_with_run,
        says=f"cannot draw into {name}",
        remedy=r"\.png, \.pdf or \.svg",
    )


@pytest.mark.parametrize(
    ("words", "says", "remedy"),
    [
        (("--at", "t=2"), r"t = 2 is outside the domain \[0, 1\]", "only inside"),
        (("--at", "t=-1e-3"), r"t = -0.001 is outside the domain", "only inside"),
        (("--at", "0.5"), "--at 0.5 is not of the form", "--at x=0.3,t=0.5"),
        (("--at", "t=0.5,"), "--at t=0.5, is not of the form", "--at x=0.3,t=0.5"),
        (("--at", ""), "--at  is not of the form", "--at x=0.3,t=0.5"),
        (("--at", "t="), "--at t= is empty", "give a number"),
        (("--at", "t=half"), "--at t=half.*'half' is not known", "give a number"),
        (("--at", "t=0.1,t=0.2"), "gives an axis twice", "every axis once"),
        (("--at", "x=0.5"), "the coordinate t is missing", r"\bt\b"),
        (("--at", "t=0.5,x=0"), "'x' is not an axis", "the axes are t"),
        (("--at", "t=0.5", "--diff", "x"), "--diff 'x' is not made of axes", "the axes are t"),
        (("--at", "t=0.5", "--diff", "t2"), "--diff 't2' is not made of axes", "the axes are t"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_a_point_that_cannot_be_evaluated_is_refused(words, says, remedy, desk_with_run):
    refused("eval", "run", *words, cwd=desk_with_run, says=says, remedy=remedy)


@pytest.mark.parametrize(
    "command", [("eval", "{}", "--at", "t=0"), ("plot", "{}", "-o", "x.png"), ("solve", "--resume", "{}")]
)
@pytest.mark.parametrize(
    ("name", "says"),
    [("nowhere", "does not exist"), ("notes.txt", "is a file"), ("photos", "has no problem.toml")],
)
def test_what_is_not_a_run_folder_is_said_to_be_none(command, name, says, desk):
    words = [word.format(name) for word in command]
    refused(*words, cwd=desk, says=f"{name} is not a run folder: it {says}", remedy="safenet solve --out")


@pytest.mark.parametrize(
    "words",
    [
        ("solve", "wave"),
        ("solve", "--solver", "march"),
        ("solve", "--out", "new"),
        ("solve", "--force"),
        ("train", "--seed", "3"),
        ("train", "--recipe", "paper-1"),
        ("train", "--points", "9"),
    ],
)
def test_resume_refuses_what_it_would_ignore(words, desk_with_run):
    given = "a problem" if words[1] == "wave" else words[1]
    says = f"plan of its run; {given} cannot be given"
    refused(*words, "--resume", "run", cwd=desk_with_run, says=says, remedy="leave it out")


# NumPy leaves a file that is not a whole zip archive to the garbage collector.
numpy_leaves_files_open = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

DAMAGES = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "other": lambda data: b"[1, 2, 3]\n",
    "binary": lambda data: b"\xff\xfe\x00" + data,
}


@numpy_leaves_files_open
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["solution.npz", "result.json", "plan.json", "problem.toml"])
def test_a_damaged_file_of_a_run_is_named(name, damage, desk_with_run):
    path = desk_with_run / "run" / name
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    refused("eval", "run", "--at", "t=0.5", cwd=desk_with_run, says=f"run/{re.escape(name)}", remedy=".")


def test_a_flipped_bit_in_the_numbers_is_noticed(desk_with_run):
    path = desk_with_run / "run" / "solution.npz"
    data = bytearray(path.read_bytes())
    with np.load(path) as arrays:
        at = bytes(data).index(arrays["a0"].tobytes()[:16])
    data[at + 3] ^= 1
    path.write_bytes(data)
    refused(
        "eval", "run", "--at", "t=0.5", cwd=desk_with_run, says="run/solution.npz .*damaged", remedy="--force"
    )


@numpy_leaves_files_open
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_named_and_removing_it_helps(damage, desk_with_run):
    path = desk_with_run / "run" / "checkpoint.npz"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    words = ("solve", "--resume", "run")
    refused(*words, cwd=desk_with_run, says=r"run/checkpoint.npz .*damaged", remedy="remove it")
    path.unlink()
    assert run(*words, cwd=desk_with_run).code == 0


def test_a_plan_that_lacks_a_part_is_refused(desk_with_run):
    plan = json.loads((desk_with_run / "run" / "plan.json").read_text())
    del plan["reasons"]
    (desk_with_run / "run" / "plan.json").write_text(json.dumps(plan))
    refused(
        "eval", "run", "--at", "t=0.5", cwd=desk_with_run, says=r"run/plan.json .*reasons", remedy="--force"
    )


def test_arrays_of_another_network_are_refused(desk_with_run):
    path = desk_with_run / "run" / "solution.npz"
    with np.load(path) as data:
        arrays = {name: data[name] for name in data.files}
    arrays["a0"] = arrays["a0"][:-1]
    np.savez(path, **arrays)
    refused(
        "eval", "run", "--at", "t=0.5", cwd=desk_with_run, says="solution.npz.*do not fit", remedy="--force"
    )


@pytest.mark.parametrize("name", ["result.json", "plan.json", "problem.toml"])
def test_a_missing_file_of_a_run_is_named(name, desk_with_run):
    (desk_with_run / "run" / name).unlink()
    refused("eval", "run", "--at", "t=0.5", cwd=desk_with_run, says=name.replace(".", r"\."), remedy=".")


def test_a_run_that_was_killed_before_it_had_a_solution_says_how_to_go_on(desk_with_run):
    (desk_with_run / "run" / "solution.npz").unlink()
    words = ("plot", "run", "-o", "x.png")
    refused(*words, cwd=desk_with_run, says="before it had a solution", remedy="safenet solve --resume run")


def test_a_user_problem_that_shares_a_library_name_is_the_users_own(tmp_path):
    (tmp_path / "burgers.toml").write_text(DECAY.replace("decay", "burgers").replace("-3*u", "-mu*u").replace(
        "-3*t", "-mu*t") + "parameters = { mu = 3 }\n")  # fmt: skip
    ran = run("solve", "burgers.toml", "--out", "run", "--json", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert ran.json["l2re"] < 1e-10
    assert run("eval", "run", "--at", "t=0.5", cwd=tmp_path).code == 0
