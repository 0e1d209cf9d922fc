"""What a user gets wrong is one readable message: what, where, what to try. Exit code 2, and nothing is touched."""

import json
import re
import subprocess

import numpy as np
import pytest

import safenet as sn
from test_cli import DECAY, environment, program, run

HEAT = """
name = "heat"
unknowns = ["u"]
equations = ["u_t = k*u_xx"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
exact = { u = "exp(-pi**2*k*t)*sin(pi*x)" }
[domain]
x = [0, 1]
t = [0, 1]
[parameters]
k = 0.1
"""


def fingerprint(folder):
    """Every file below a folder with its bytes and the time it was written."""
    return {
        path.relative_to(folder): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def refused(*words, cwd, says, remedy) -> str:
    """The message of a command that must fail as a user's mistake, leaving `cwd` as it was."""
    before = fingerprint(cwd)
    ran = run(*words, cwd=cwd)
    assert ran.code == 2, ran.out + ran.err
    assert ran.out == ""
    assert ran.err.startswith("safenet: "), ran.err
    assert "Traceback" not in ran.err
    message, arrow, cure = ran.err.removeprefix("safenet: ").partition("\n  → ")
    assert arrow, f"no remedy in: {ran.err}"
    # A message is a line, and where it points into a text, that line and a caret.
    assert len(ran.err.splitlines()) <= 4 + remedy.count("\n")
    assert re.search(says, message), message
    assert re.search(remedy, cure), cure
    assert fingerprint(cwd) == before
    return ran.err


@pytest.fixture
def desk(tmp_path):
    """A folder with a problem file, an unrelated file and an unrelated folder."""
    (tmp_path / "heat.toml").write_text(HEAT)
    (tmp_path / "notes.txt").write_text("do not touch\n")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"meow")
    return tmp_path


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


# ---- the problem file


@pytest.mark.parametrize(
    ("old", "new", "says", "remedy"),
    [
        pytest.param("k*u_xx", "k*u_xx + q", r"line 4\b.*'q' is not known", r"known: .*\bk\b", id="symbol"),
        pytest.param("k*u_xx", "k*u_xx + foo(x)", r"line 4\b.*'foo'", r"known", id="function"),
        pytest.param(
            "u(1, t) = 0", "u(2, t) = 0", r"condition 2 is placed at x = 2, outside .*0 ≤ x ≤ 1", r"x = 0 or 1",
            id="condition-outside-the-domain",
        ),
        pytest.param(
            ', "u(x, 0) = sin(pi*x)"', "", r"u has 1 time derivative but no initial condition", r"u\(x, 0\) = …",
            id="missing-initial-condition",
        ),
        pytest.param("u_t = k*u_xx", "1 = 0", r"line 4\b.*does not contain an unknown", r"\bu\b", id="no-unknown"),
        pytest.param("[parameters]\nk = 0.1", "", r"'k' is not known", r"needs a value in the parameters",
                     id="parameter-without-value"),
        pytest.param("k = 0.1", 'k = "2*q"', r"line 11\b.*'q' is not known", r"known", id="parameter-of-nothing"),
        pytest.param("x = [0, 1]", "x = [1, 0]", r"interval of x is \[1, 0\].*reversed", r"x = \[0, 1\]",
                     id="reversed-interval"),
        pytest.param("x = [0, 1]", "x = [0]", r"line 8\b.*interval of x is not a pair", r"x = \[0, 1\]",
                     id="interval-of-one-end"),
        pytest.param('name = "heat"', "name = heat", r"not valid TOML.*line 2\b", r"quotes", id="toml"),
        pytest.param("x = [0, 1]", "x = [0, 1", r"not valid TOML.*line 9\b", r"quotes", id="toml-bracket"),
        pytest.param("unknowns =", "unknown =", r"line 3\b.*unknown key 'unknown'", r"did you mean 'unknowns'",
                     id="misspelt-key"),
        pytest.param("-pi**2*k*t", "-pi**2*t", r"does not satisfy equation 1: u_t = k\*u_xx",
                     r"at x = .*its terms are .*u_t → .*u_xx → .*which sum to", id="wrong-exact-solution"),
        pytest.param("exp(-pi**2*k*t)*", "2*exp(-pi**2*k*t)*", r"does not satisfy condition 3: u\(x, 0\) = sin",
                     r"u\(x, 0\) → ", id="exact-solution-against-a-condition"),
        pytest.param("k*u_xx", "__import__('os').system('touch pwned')", r"line 4\b", r".", id="code"),
    ],
)  # fmt: skip
def test_a_faulty_problem_file_is_named_with_its_fault(old, new, says, remedy, desk):
    assert HEAT.count(old) == 1
    (desk / "faulty.toml").write_text(HEAT.replace(old, new))
    for command in ("show", "solve"):
        message = refused(command, "faulty.toml", cwd=desk, says=says, remedy=remedy)
        assert "faulty.toml" in message


def test_binary_and_missing_and_unreadable_problem_files(desk):
    (desk / "binary.toml").write_bytes(b'name = "x"\n\xff\xfe\x00\x01')
    refused(
        "solve",
        "binary.toml",
        cwd=desk,
        says=r"binary.toml, line 2: not UTF-8",
        remedy="save the file as UTF-8",
    )
    refused("solve", "heta.toml", cwd=desk, says=r"no file heta.toml", remedy=r"did you mean 'heat.toml'")
    refused("solve", "photos/", cwd=desk, says=r"photos is a directory", remedy=r"\.toml file")
    refused("solve", "notes.txt", cwd=desk, says=r"notes.txt: .*not valid TOML.*line 1\b", remedy=".")
    refused(
        "solve", "notes.txt/heat.toml", cwd=desk, says="cannot read notes.txt/heat.toml", remedy="readable"
    )


def test_an_equation_that_is_always_true_is_named_with_its_line(desk):
    (desk / "faulty.toml").write_text(HEAT.replace("u_t = k*u_xx", "u_t - k*u_xx = u_t - k*u_xx"))
    ran = run("solve", "faulty.toml", cwd=desk)
    assert ran.code == 2
    assert ran.err.startswith("safenet: faulty.toml, line 4: equation 1 is always true: both sides are ")


def test_sympy_equations_that_collapse_are_explained():
    from sympy import Eq, Function, symbols

    x = symbols("x")
    u = Function("u")
    where = [Eq(u(0), 0)]
    with pytest.raises(sn.SafeNetError, match=r"always true: SymPy reduced it to True\n  → check that both"):
        sn.Problem(Eq(u(x), u(x)), domain={x: (0, 1)}, conditions=where)
    with pytest.raises(sn.SafeNetError, match=r"always false: SymPy reduced it to False\n  → use sympy.Eq"):
        sn.Problem(u(x).diff(x) == u(x), domain={x: (0, 1)}, conditions=where)


# ---- names and numbers on the command line


@pytest.mark.parametrize(
    ("words", "says", "remedy"),
    [
        (("waev",), "no problem 'waev'", "did you mean 'wave'"),
        (("allen-kahn",), "no problem 'allen-kahn'", "did you mean 'allen-cahn'"),
        (("wave", "--device", "gpux"), "no device 'gpux'", "did you mean 'gpu'"),
        (("wave", "--set", "gamma=3"), "no parameter 'gamma'", "beta, c"),
        (("wave", "--set", "c"), "--set c is not of the form NAME=VALUE", "--set beta=30"),
        (("wave", "--set", "c="), "--set c= is empty", "give a number"),
        (("wave", "--set", "c=fast"), "--set c=fast.*'fast' is not known", "give a number"),
        (("wave", "--set", "c=1/0"), "--set c=1/0.*division by zero", "give a number"),
        (("heat.toml", "--set", "kappa=1"), "heat has no parameter 'kappa'", r"\bk\b"),
        (("wave", "--budget", "soon"), "budget 'soon' is not a time", "60s, 5m or 1h"),
        (("wave", "--budget", "0s"), "budget '0s' is not a time", "60s, 5m or 1h"),
        ((), "no problem was given", "safenet {command} wave"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
@pytest.mark.parametrize("command", ["solve", "train"])
def test_an_unknown_name_or_number_is_refused_with_the_nearest(command, words, says, remedy, desk):
    refused(command, *words, cwd=desk, says=says, remedy=remedy.format(command=command))


@pytest.mark.parametrize(
    ("words", "says", "remedy"),
    [
        (("wave", "--solver", "marsh"), "no solver 'marsh'", "did you mean 'march'"),
        (("wave", "--solver", "train"), "trained by another command", "safenet train wave"),
        (("helmholtz", "--solver", "march"), "march does not suit helmholtz", "leave out --solver"),
        (("burgers", "--solver", "modes"), "modes does not suit burgers", "leave out --solver"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_a_solver_that_is_none_or_does_not_suit_is_refused(words, says, remedy, desk):
    refused("solve", *words, cwd=desk, says=says, remedy=remedy)


@pytest.mark.parametrize(
    ("words", "says", "remedy"),
    [
        (("--method", "safenet"), "no method 'safenet'", "did you mean 'safe-net'"),
        (("--recipe", "paper1"), "no recipe 'paper1'", "did you mean 'paper-1'"),
        (("--sampler", "sobl"), "no sampler 'sobl'", "did you mean 'sobol'"),
        (("--activation", "tahn"), "activation = 'tahn'", "did you mean 'tanh'"),
        (("--frequencies", "gauss"), "frequencies = 'gauss'", "did you mean 'gaussian'"),
        (("--amplitudes", "units"), "amplitudes = 'units'", "did you mean 'unit'"),
        (("--normalise", "fix"), "normalise = 'fix'", "did you mean 'fixed'"),
        (("--precision", "float16"), "no precision 'float16'", "did you mean 'float"),
        (("--precision", "float32"), "needs float64", "leave out the precision"),
        (("--scale", "0"), "scale is 0", "positive"),
        (("--scale", "-1"), "scale is -1", "positive"),
        (("--scale", "nan"), "scale is nan", "positive"),
        (("--scale", "inf"), "scale is inf", "positive"),
        (("--points", "0"), "0 points", "at least 1"),
        (("--condition-points", "0"), "0 condition points", "at least 1"),
        (("--features", "-1"), "features = -1 is too small", "least is 0"),
        (("--width", "0"), "width = 0 is too small", "least is 1"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_a_network_or_a_schedule_that_is_none_is_refused(words, says, remedy, desk):
    refused("train", "wave", *words, cwd=desk, says=says, remedy=remedy)


@pytest.mark.parametrize(
    "words",
    [
        ("train", "wave", "--seed", "-1"),
        ("train", "wave", "--points", "many"),
        ("solve", "wave", "--method", "pinn"),
        ("eval",),
        ("plot", "x"),
        ("bake",),
    ],
)
def test_words_that_make_no_command_are_a_usage_message(words, desk):
    before = fingerprint(desk)
    ran = run(*words, cwd=desk)
    assert ran.code == 2
    assert re.search(r"^Usage: safenet .*\n.*--help.*\n+Error: ", ran.err)
    assert fingerprint(desk) == before


def test_a_gpu_that_is_not_there_is_said_before_anything_is_written(tmp_path):
    # JAX settles its device once for a process, hence one of its own; without visible devices also where there is one.
    words = ["solve", "wave", "--device", "gpu", "--out", "run"]
    env = environment() | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([*program(), *words], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-2:] == [
        "safenet: this machine has no gpu that JAX can use",
        "  → use --device cpu, or install the GPU build: pip install 'safenet[cuda]'",
    ]
    assert not (tmp_path / "run").exists()


# ---- where results go


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


# ---- eval


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


# ---- run folders that are none, or damaged


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
