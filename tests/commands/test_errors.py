"""What a user gets wrong is one readable message: what, where, what to try. Exit code 2, and nothing is touched."""

import re
import subprocess

import pytest
from refusing import (
    HEAT,
    desk,  # noqa: F401
    fingerprint,
    refused,
)

import safenet as sn
from running import environment, program, run

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
        (("helmholtz", "--solver", "march"), "march does not suit helmholtz", "leave out the solver"),
        (("burgers", "--solver", "modes"), "modes does not suit burgers", "leave out the solver"),
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
        (("--points", "0"), "number of points is 0", "at least 1"),
        (("--condition-points", "0"), "number of condition points is 0", "at least 1"),
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
        "  → use --device cpu, or install the GPU build: pip install 'safenet-pde[cuda]'",
    ]
    assert not (tmp_path / "run").exists()


# ---- where results go


# ---- eval


# ---- run folders that are none, or damaged
