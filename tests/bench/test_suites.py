"""Suites expand to cases, and cases are named by their content."""

import dataclasses
import random
from pathlib import Path

import pytest

import safenet as sn
from safenet import METHODS, SafeNetError, bench, library
from safenet.bench import running
from safenet.bench.case import Case, planned
from safenet.bench.catalogue import loads
from safenet.run.plans import changed
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.lbfgs import LBFGS
from safenet.train.plan import Plan
from safenet.train.terms import term_names

WAVE = library.problem("wave")


def parsed(text, tmp_path):
    return loads(text, "mine", tmp_path)


# ---- the built-in suites


@pytest.mark.parametrize("name", bench.names())
def test_every_suite_has_a_smoke_scale_that_is_small(name):
    suite = bench.suite(name)
    smoke = suite.cases("smoke")
    assert suite.title
    assert 0 < len(smoke) <= 18
    for case in smoke:
        if case.plan.trains:
            assert sum(phase.iterations for phase in case.plan.phases) <= 3000
            assert case.plan.interior <= 4000


def test_the_first_seed_of_everything_comes_before_the_second():
    seeds = [case.plan.seed for case in bench.suite("paper-main").cases()]
    assert seeds == sorted(seeds)


# ---- what a suite file may say


FILE = """
title = "Mine"
problems = ["wave", { name = "convection", beta = 30 }, "decay.toml"]
methods = ["pinn"]
recipes = ["paper-4"]
seeds = [3, 1]
options = { depth = [1, 2], width = 8 }
[[part]]
[[part]]
methods = ["rff"]
problems = ["wave"]
seeds = 1
options = {}
[smoke]
seeds = 1
"""
DECAY = """
name = "decay"
unknowns = ["u"]
equations = ["u_t = -k*u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
parameters = { k = 3 }
"""


def test_a_file_names_problems_files_parameters_grids_and_parts(tmp_path):
    (tmp_path / "decay.toml").write_text(DECAY)
    (tmp_path / "mine.toml").write_text(FILE)
    suite = bench.suite(tmp_path / "mine.toml")
    cases = suite.cases()
    assert len(cases) == 3 * 2 * 2 + 1
    assert {case.plan.seed for case in cases} == {0, 1, 3}
    assert {case.plan.network.depth for case in cases if case.plan.method == "pinn"} == {1, 2}
    assert any(case.problem == library.problem("convection", beta=30) for case in cases)
    assert any("convection beta=30" in case.label for case in cases)
    assert [case.plan.method for case in suite.cases(only="rff")] == ["rff"]
    assert len(suite.cases(only="wave depth=2")) == 2  # the default depth of pinn is 4
    assert {case.plan.seed for case in suite.cases("smoke")} == {0}


def test_solvers_stand_in_place_of_methods_recipes_and_seeds(tmp_path):
    text = """
    problems = ["wave"]
    methods = ["pinn"]
    recipes = ["paper-4"]
    seeds = 3
    [[part]]
    [[part]]
    problems = ["wave", "burgers"]
    solvers = ["auto", "march"]
    """
    cases = parsed(text, tmp_path).cases(only="burgers")
    assert [case.id for case in cases] == [
        Case(case.problem, planned(case.problem, solver=solver)).id
        for case, solver in zip(cases, ("auto", "march"), strict=True)
    ]
    assert len(parsed(text, tmp_path).cases()) == 3 + 4
    small = parsed(text + '[smoke]\nproblems = ["wave"]\nsolvers = ["auto"]\n', tmp_path)
    assert len(small.cases("smoke")) == 1
    trained = parsed(text + '[smoke]\nmethods = ["rff"]\nrecipes = ["paper-4"]\n', tmp_path)
    assert {case.plan.method for case in trained.cases("smoke")} == {"rff"}


def test_the_suites_of_the_package_have_each_a_name_of_their_own():
    files = sorted(path.stem for path in Path(sn.__file__).parent.glob("*/suites/*.toml"))
    assert list(bench.names()) == files
    assert {"smoke", "paper-main"} <= set(files)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("problems =", "problem ="), ["problem", "problems"]),
        (('"pinn"', '"pin"'), ["pin", "did you mean 'pinn'"]),
        (('"paper-4"', '"paper-9"'), ["paper-9"]),
        (("depth =", "deepth ="), ["deepth", "depth"]),
        (("[3, 1]", "[-1]"), ["seeds", "[-1]"]),
        (("[3, 1]", "true"), ["seeds"]),
        (("[3, 1]", "0"), ["seeds = 0", "1 or more"]),
        (("[3, 1]", "[]"), ["seeds = []"]),
        (('["pinn"]', '["pinn", 3]'), ["3 among its methods", "a name"]),
        (('["paper-4"]', "[[]]"), ["[] among its recipes", "a name"]),
        (('"wave"', "3"), ["3 among its problems", "a name"]),
        (('"Mine"', "3"), ["title = 3", "a text"]),
        (('"Mine"', '"Mine"\nlabels = "a"'), ["labels = 'a'", "a list of texts"]),
        ((FILE[FILE.index("[[part]]") :], 'smoke = "x"'), ["smoke = 'x'", "a table"]),
        ((FILE[FILE.index("[[part]]") :], "part = []"), ["part = []", "[[part]]"]),
        ((FILE[FILE.index("[[part]]") :], "[part]"), ["part = {}", "[[part]]"]),
        (("seeds = [3, 1]", "spectrum = 100"), ["spectrum", "[100, 200]"]),
        (('methods = ["pinn"]', 'methods = "pinn"'), ["list of methods"]),
        (("[smoke]", "[smok]"), ["smok", "smoke"]),
        (("title", "= title"), ["TOML"]),
        (('"convection"', '"convektion"'), ["convektion", "convection"]),
        (("depth = [1, 2]", "depth = []"), ["no value for depth"]),
        (("depth = [1, 2]", 'depth = ["a"]'), ["depth = 'a' is not a whole number", "e.g. depth = 1"]),
        (("depth = [1, 2]", "k = [1]"), ["k = 1 is not a text", 'e.g. k = "auto"']),
        (("depth = [1, 2]", "hard = 1"), ["hard = 1 is not true or false"]),
        (("methods =", 'solvers = ["auto"]\nmethods ='), ["solvers and methods", "[[part]]"]),
        (("[smoke]", '[[part]]\nsolvers = ["mach"]\n[smoke]'), ["mach", "did you mean 'march'"]),
        (("[smoke]", "[[part]]\nsolvers = [3]\n[smoke]"), ["3 among its solvers", "a name"]),
        (("depth = [1, 2]", 'scale = "x"'), ["scale = 'x' is not a number"]),
        (("depth = [1, 2]", "weight_grid = [0.1]"), ["weight_grid = 0.1 is not a list of numbers"]),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_a_wrong_suite_is_refused_with_its_name_and_a_remedy(change, words, tmp_path):
    (tmp_path / "decay.toml").write_text(DECAY)
    with pytest.raises(SafeNetError) as caught:
        parsed(FILE.replace(*change, 1), tmp_path).cases()
    for word in words:
        assert word in str(caught.value)


def test_words_of_a_label_are_whole_and_a_seed_is_one(tmp_path):
    text = """
    problems = ["wave", "wave-hard"]
    methods = ["pinn", "rba-pinn"]
    recipes = ["paper-1"]
    seeds = [0, 1, 11]
    """
    suite = parsed(text, tmp_path)
    assert {case.plan.method for case in suite.cases(only="pinn")} == {"pinn"}
    assert {case.problem.name for case in suite.cases(only="wave")} == {"wave"}
    assert {case.plan.seed for case in suite.cases(only="seed 1")} == {1}
    assert len(suite.cases(only="wave · rba-pinn  · seed 11")) == 1  # as a label has it
    with pytest.raises(SafeNetError, match="did you mean 'pinn'"):
        suite.cases(only="pin")
    with pytest.raises(SafeNetError, match="no case has all of these words"):
        suite.cases(only="wave wave-hard")


def test_an_unknown_suite_or_scale_is_refused():
    with pytest.raises(SafeNetError, match="paper-main"):
        bench.suite("paper-mian")
    with pytest.raises(SafeNetError, match="smoke"):
        bench.suite("smoke").cases("tiny")


# ---- a case is its content


def case(seed=0, method="pinn", recipe="paper-1", problem=WAVE, **options):
    return Case(problem, planned(problem, method=method, recipe=recipe, seed=seed, **options))


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        ('methods = ["pinn"]\n[[part]]\nsolvers = ["auto"]', "methods"),
        ('seeds = 3\n[[part]]\nsolvers = ["auto"]', "seeds"),
        ('recipes = ["paper-1"]\n[[part]]\nmethods = ["pinn"]\nrecipes = ["paper-4"]', "recipes"),
        ('solvers = ["auto"]\n[[part]]\nmethods = ["pinn"]\nrecipes = ["paper-4"]', "solvers"),
    ],
)
def test_what_stands_above_the_parts_and_no_part_uses_is_refused(tmp_path, parts, key):
    with pytest.raises(SafeNetError, match=f"has {key} above its parts, but no") as refused:
        parsed(f'problems = ["wave"]\n{parts}\n', tmp_path)
    assert "a [[part]] of its own" in refused.value.remedy


def test_a_suite_without_a_smoke_table_is_not_run_in_full_by_smoke(tmp_path):
    suite = parsed('problems = ["wave"]\nmethods = ["pinn"]\nrecipes = ["paper-1"]\n', tmp_path)
    assert len(suite.cases()) == 1
    with pytest.raises(SafeNetError, match=r"the suite mine has no \[smoke\] table") as refused:
        suite.cases("smoke")
    assert "scale = 0.02" in refused.value.remedy


def test_a_case_keeps_its_own_statement_beside_one_of_the_same_task():
    """Problems that differ in their known solution only are equal, and are still two texts."""
    scored = DECAY + 'exact = { u = "exp(-k*t)" }\n'
    scored = scored.replace("parameters = { k = 3 }\n", "") + "parameters = { k = 3 }\n"
    unscored, known = sn.loads(DECAY), sn.loads(scored)
    assert unscored == known
    texts = [case(problem=problem).configuration["problem"] for problem in (unscored, known)]
    assert ["exact" in text for text in texts] == [False, True]


def test_the_name_of_a_case_does_not_depend_on_order_or_on_how_a_default_is_said():
    assert case(depth=2, width=9).id == case(width=9, depth=2).id
    assert case(precision="float32", activation="tanh", points=20_000).id == case().id
    again = Case.of(case().configuration)
    assert again.id == case().id
    shuffled = list(case().configuration["plan"].items())
    random.Random(0).shuffle(shuffled)
    assert Case.of(case().configuration | {"plan": dict(shuffled)}).id == case().id


OTHERS = {
    "features": 64, "frequencies": "gaussian", "amplitudes": "decay", "normalise": "batch", "domain": True,
    "width": 49, "depth": 3, "activation": "sine", "omega_0": 2.0, "embedding": "radial", "k": "L",
    "scaled": False, "sigma_space": 2.0, "sigma_time": 2.0, "bandwidth": 2.0, "degree": 1, "batch": 64,
    "weighting": "rba", "ntk_every": 10, "ntk_points": 10, "rba_decay": 0.9, "rba_rate": 0.1,
    "weight_grid": (0.5,), "hard": True, "train_features": False,
    "carriers": True, "skip": True, "seams": True, "corners": True, "adaptive": True, "layers": "pirate",
}  # fmt: skip


def test_every_option_changes_the_name():
    variants = [case(**{name: value}) for name, value in OTHERS.items()]
    variants += [case(seed=1), case(method="rff"), case(recipe="paper-3a"), case(precision="float64")]
    variants += [case(points=100), case(condition_points=100), case(sampler="sobol"), case(scale=0.5)]
    variants += [case(problem=library.problem("wave", c=3)), case(problem=library.problem("diffusion"))]
    assert len({variant.id for variant in [*variants, case()]}) == len(variants) + 1
    # All options of a method are here: one that is added must be, too.
    assert OTHERS.keys() == {item.name for item in dataclasses.fields(METHODS["pinn"])}


def test_networks_that_differ_in_where_they_start_share_a_program():
    usual = case()
    for options in ({"k": "L"}, {"frequencies": "uniform"}, {"amplitudes": "gaussian"}):
        assert case(**options).program == usual.program
        assert case(**options).group != usual.group
    for options in ({"depth": 2}, {"features": 64}, {"normalise": "point"}, {"recipe": "paper-4"}):
        assert case(**options).program != usual.program


def test_groups_of_one_program_are_joined_as_far_as_a_task_goes():
    groups = {"a": ["a0"], "b": ["b0"], "c": ["c0"], "d": [f"d{i}" for i in range(5)]}
    programs = {"a": "1", "b": "2", "c": "1", "d": "1"}
    assert running._joined(groups, programs) == [["a0", "c0", *groups["d"]], ["b0"]]
    groups["e"], programs["e"] = ["e0", "e1"], "1"
    assert running._joined(groups, programs)[2] == ["e0", "e1"]
    assert running._joined({"x": ["x0"]}, {}) == [["x0"]]


def test_seeds_share_a_group_and_nothing_else():
    assert case(seed=1).group == case(seed=2).group
    assert case(seed=1).id != case(seed=2).id
    assert case(depth=2).group != case().group


def test_a_spectrum_is_another_case_of_the_same_training():
    looked = Case(WAVE, case().plan, (4, 9))
    assert len({looked.id, looked.plain.id, Case(WAVE, case().plan, (4, 8)).id}) == 3
    assert (looked.plain.id, Case.of(looked.configuration).id) == (case().id, looked.id)
    assert looked.label == "wave · pinn · paper-1 · spectrum · seed 0"


def test_a_title_is_no_content():
    titled = library.problem("wave")
    assert titled.title
    assert "title" not in case(problem=titled).configuration["problem"]


def test_a_configuration_is_a_plan_to_carry_out():
    again = Case.of(case(depth=2, scale=0.1).configuration)
    assert again.problem == WAVE
    assert dataclasses.replace(again.plan, reasons=()) == case(depth=2, scale=0.1).plan


def test_the_defaults_that_no_name_repeats_are_those_of_the_first_results():
    """A default that changes changes results and no name: then PROTOCOL must be raised, and this list with it."""
    defaults = {
        Plan: {"interior": 20_000, "condition": 2_000, "residual_weight": 1.0, "condition_weight": 100.0},
        Adam: {"rate": 1e-3, "decay": 0.9, "every": 2000, "patience": 0},
        LBFGS: {"tolerance": 1e-10},
        type(METHODS["pinn"]): {"features": 128, "width": 50, "depth": 1, "activation": "tanh", "batch": 512},
    }
    for kind, values in defaults.items():
        known = {item.name: item.default for item in dataclasses.fields(kind)}
        assert {name: known[name] for name in values} == values


def test_changed_fields_are_those_that_differ():
    assert changed(Adam(5)) == {"iterations": 5}
    assert changed(Adam(5, rate=1e-2)) == {"iterations": 5, "rate": 1e-2}


def test_weights_and_tolerances_are_in_the_label(tmp_path):
    """Else two configurations would be one row of a report, as two seeds."""
    text = """
problems = ["wave"]
methods = ["pinn"]
recipes = ["paper-1"]
seeds = 1
[options]
weights = [{ conditions = 10 }, { equations = 2 }, { "TERM" = 3 }]
tol = [0.01, 0.001]
"""
    text = text.replace("TERM", term_names(WAVE)[-1])
    cells = [case.cell for case in parsed(text, tmp_path).cases()]
    assert len(set(cells)) == len(cells) == 6
    assert any({"weights.conditions=10.0", "tol=0.01"} <= set(cell.split(" · ")) for cell in cells)
