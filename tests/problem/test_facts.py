"""What the symbols prove is derived once for each problem, and belongs to that problem alone."""

import copy
import pickle
import warnings
from collections import Counter

import pytest

import safenet as sn
from safenet import library
from safenet.commands.arguments import problem_named
from safenet.errors import SafeNetError, about
from safenet.measure.heldout import interior_points
from safenet.problem.facts import agreement, balance, posedness, structure
from safenet.problem.facts.agreement import clashes
from safenet.problem.facts.dispersion import symbol
from safenet.problem.facts.evolution import time_obstacle
from safenet.problem.facts.fact import fact
from safenet.problem.facts.posedness import doubts
from safenet.problem.facts.structure import axis_kinds, breaks
from safenet.problem.facts.undecided import undecided

HEAT = """
name = "heat"
unknowns = ["u"]
equations = ["u_t = k*u_xx"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
[domain]
x = [0, 1]
t = [0, 1]
[parameters]
k = 0.1
"""


@pytest.fixture
def counted(monkeypatch):
    """How often named functions of a module are called."""
    calls = Counter()

    def watch(module, name):
        original = getattr(module, name)

        def spy(*args, **options):
            calls[name] += 1
            return original(*args, **options)

        monkeypatch.setattr(module, name, spy)

    watch.calls = calls
    return watch


@pytest.mark.parametrize("text", [HEAT, HEAT.replace("k*u_xx", "k*u_xx - u**3")], ids=["linear", "nonlinear"])
def test_one_solve_derives_each_fact_once(text, counted):
    problem = sn.loads(text.replace("t = [0, 1]", "t = [0, 0.1]"))
    # One step of each derivation: of doubts, of corners, of clashes, of the balance, of the kinds.
    counted(posedness, "_homogeneous")
    counted(agreement, "_values")
    counted(agreement, "_begun")
    counted(balance, "_sides")
    counted(structure, "_parities")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sn.solve(problem, monitor=sn.Monitor())
        sn.solve(problem, monitor=sn.Monitor())
    calls = counted.calls
    assert calls["_homogeneous"] == 1
    assert calls["_values"] == 1
    assert calls["_begun"] == 1 + problem.linear  # where modes are possible, `bends` shares it
    assert calls["_sides"] == len(balance.NODES)
    assert calls["_parities"] == 1


def test_a_library_problem_is_built_once_for_a_command(counted):
    library._read.cache_clear()
    counted(sn.Problem, "__init__")
    burgers = problem_named("burgers")
    assert counted.calls["__init__"] == 1
    assert burgers.has_reference
    # Read back from a run folder: once from its text, and not again for the library's reference.
    again = library.with_library_reference(sn.loads(sn.dumps(burgers)))
    assert again.has_reference
    assert counted.calls["__init__"] == 3  # dumps reads what it has written


def test_a_file_is_built_once_for_a_command(counted, tmp_path):
    (tmp_path / "heat.toml").write_text(HEAT)
    counted(sn.Problem, "__init__")
    assert problem_named(str(tmp_path / "heat.toml")).name == "heat"
    assert counted.calls["__init__"] == 1


def test_a_problem_is_named_in_python_as_on_the_command_line(tmp_path):
    (tmp_path / "heat.toml").write_text(HEAT)
    stated = library.named(str(tmp_path / "heat.toml"), k=2)
    assert [float(value) for value in stated.parameters.values()] == [2.0]
    assert library.named("allen_cahn") == library.problem("allen-cahn")
    assert library.named("convection", beta=7) == library.problem("convection", beta=7)
    with pytest.raises(SafeNetError, match=r"no problem 'waev'.*\n.*'wave'.*a file must end in \.toml"):
        library.named("waev")
    with pytest.raises(SafeNetError, match="there is no file"):
        library.named("nowhere.toml")


def test_other_parameters_have_other_facts_and_another_reference_the_same():
    problem = sn.loads(HEAT.replace("sin(pi*x)", "abs(x - k)"))
    assert breaks(problem)[0] == (pytest.approx(0.1),)
    assert breaks(problem.with_parameters(k=0.3))[0] == (pytest.approx(0.3),)
    assert clashes(problem) is clashes(problem)
    assert clashes(problem.with_reference(lambda x, t: x)) is clashes(problem)


def test_arguments_of_a_fact_are_told_apart():
    problem = sn.loads(HEAT.replace("sin(pi*x)", "abs(x - 1/4)"))
    assert breaks(problem) == ((0.25,), ())
    assert breaks(problem, conditions=False) == ((), ())


def test_facts_are_neither_compared_nor_written_nor_copied():
    known, fresh = sn.loads(HEAT), sn.loads(HEAT)
    doubts(known)
    assert known.facts
    assert known == fresh
    assert hash(known) == hash(fresh)
    assert sn.dumps(known) == sn.dumps(fresh)
    for twin in (copy.deepcopy(known), pickle.loads(pickle.dumps(known)), copy.copy(known)):
        assert twin == known
        assert twin.facts == {}
        assert axis_kinds(twin) == axis_kinds(known)
    assert known.facts


def test_a_refusal_is_derived_once_too():
    calls = []

    @fact
    def refused(problem):
        calls.append(problem)
        raise SafeNetError("no", "never")

    problem = sn.loads(HEAT)
    for _ in range(3):
        with pytest.raises(SafeNetError, match="never"):
            refused(problem)
    assert len(calls) == 1
    varying = sn.loads(HEAT.replace("k*u_xx", "x*u_xx"))
    for _ in range(2):
        with pytest.raises(SafeNetError, match="is not constant"):
            symbol(varying)


def test_what_a_fact_holds_cannot_be_changed():
    problem = sn.loads(HEAT)
    with pytest.raises(TypeError):
        axis_kinds(problem)["u"] = ()
    points = interior_points(problem, 64)
    points[:] = 7.0
    assert interior_points(problem, 64).max() <= 1.0


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("", "", None),
        (
            "u(1, t) = 0",
            "u(x, 1) = 0",
            "the condition u(x, 1) = 0 holds at a fixed time and is not an initial condition",
        ),
        ("u_t = k*u_xx", "u_xx = k", "no equation has a time derivative"),
    ],
)
def test_what_keeps_a_problem_from_being_marched_in_time(old, new, says):
    assert time_obstacle(sn.loads(HEAT.replace(old, new, 1))) == says


def test_a_steady_problem_has_no_time_to_march_in():
    assert time_obstacle(library.problem("helmholtz")) == "it has no time axis"
    assert time_obstacle(library.problem("four-holes")) == "its domain is not a box"


@pytest.mark.parametrize(
    ("equation", "needed"),
    [
        ("r*u_rr + u_r = 1", False),  # bounded: 1/4 (r² − 1); the other solution is log r
        ("u_rr + 2*u_r/r = 1", False),
        ("-u_rr - u_r/r = 1", False),
        ("r*u_rr - u_r = 1", True),  # c r² + d is bounded for every d
        ("r*u_rr + u = 1", True),
        ("u_rr + u_r = 1", True),
    ],
)
def test_a_face_where_the_equation_degenerates_needs_a_condition_only_by_ficheras_sign(equation, needed):
    problem = sn.Problem(equation, domain={"r": (0, 1)}, conditions=["u(1) = 0"])
    assert any("r = 0 has no condition" in text for text in doubts(problem)) == needed


def test_a_disc_in_polar_coordinates_asks_for_nothing_at_its_centre():
    equation = "r**2*u_rr + r*u_r + u_qq = 0"
    disc = sn.Problem(
        equation, domain={"r": (0, 1), "q": (0, "2*pi")}, conditions=["u(1, q) = cos(q)"], periodic=["q"]
    )
    assert doubts(disc) == ()


def test_a_refusal_that_is_kept_does_not_learn_where_it_was_first_met():
    @fact
    def hopeless(problem):
        raise SafeNetError("there is no such thing", "try another")

    problem = sn.loads(HEAT)
    for place in (("equations", 7), ("conditions", 2)):
        with (
            pytest.raises(SafeNetError, match="there is no such thing\n  → try another") as caught,
            about(*place),
        ):
            hopeless(problem)
        assert caught.value.where.path == place
        assert caught.value.__context__ is None


CAUCHY = "u_t + u_x**2/2 = 0"
PRODUCT = "u*u_t + u**2*u_x = 0"  # it does not say how fast a jump moves


@pytest.mark.parametrize(
    ("equation", "start", "end", "said"),
    [
        (CAUCHY, "1e-9*exp(-((x - 1/7)/0.002)**2)", 1e-7, ""),  # narrow, and smooth
        (CAUCHY, "max(x - 1/2, 0)**2", 1, ""),  # the slope is continuous
        (CAUCHY, "abs(x - 1/2)", 1, "kink at x = 0.5"),
        (CAUCHY, "sqrt(abs(x - 1/2))", 1, "kink at x = 0.5"),
        (CAUCHY, "where(x < 1/2, 0, 1)", 1, "kink at x = 0.5"),
        (PRODUCT, "max(x - 1/2, 0)", 0.1, ""),
        (PRODUCT, "where(x < 1/2, 2, 1)", 0.1, "jump at x = 0.5"),
    ],
)
def test_initial_values_have_kinks_and_jumps_only_where_slopes_and_values_differ(equation, start, end, said):
    problem = sn.Problem(equation, domain={"x": (0, 1), "t": (0, end)}, conditions=[f"u(x, 0) = {start}"])
    reasons = " ".join(undecided(problem))
    assert said in reasons
    assert bool(said) == bool(reasons)
