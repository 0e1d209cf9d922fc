"""A solution is a function: its values, derivatives and errors are those of mathematics, and a file keeps them all."""

import json
import zipfile

import jax
import numpy as np
import pytest
from solved_problems import exact, pieces, sound, untrained, wave  # noqa: F401

import safenet as sn
from running import DECAY, SOUND
from safenet.measure.scores import GRIDS, Errors, errors_json
from safenet.networks import build
from safenet.reference import Reference
from safenet.solution import Solution

STILL = """
name = "still"
unknowns = ["u", "v"]
equations = ["u_t = -u", "v_t = -v"]
conditions = ["u(0) = 1", "v(0) = 0"]
exact = { u = "exp(-t)", v = "0" }
domain = { t = [0, 1] }
"""


# ---- values


def test_coordinates_broadcast_like_numpy(wave):
    x, t = np.linspace(0, 1, 7), np.linspace(0, 1, 5)
    values = wave(x=x[:, None], t=t)
    assert values.shape == (7, 5)
    # The solve is good to 1e-13.
    np.testing.assert_allclose(values, exact(x[:, None], t), atol=1e-11)
    assert wave(t=0.5, x=0.3).shape == ()
    assert wave(x=[0.1, 0.2], t=1).shape == (2,)
    np.testing.assert_array_equal(wave(x=x[:, None], t=t)[3], wave(x=x[3], t=t))


def test_no_points_give_no_values(wave, sound):
    assert wave(x=[], t=0.5).shape == (0,)
    assert {name: value.shape for name, value in sound(x=np.empty((0, 3)), t=0).items()} == {
        "p": (0, 3),
        "v": (0, 3),
    }


def test_several_unknowns_are_a_dict(sound):
    x, t = np.linspace(0, 1, 9), 0.25
    values = sound(x=x, t=t)
    assert list(values) == ["p", "v"]
    np.testing.assert_allclose(values["p"], 3 + np.cos(np.pi * x) * np.cos(np.pi * t), atol=1e-12)
    np.testing.assert_allclose(values["v"], np.sin(np.pi * x) * np.sin(np.pi * t), atol=1e-12)


# Every derivative multiplies an error in the highest of some 20 modes by at most 60.
@pytest.mark.parametrize(
    ("steps", "truth", "tolerance"),
    [
        ([("x", 1)], lambda x, t: (np.cos(np.pi * x) * np.cos(2 * np.pi * t)) * np.pi
         + 2 * np.pi * np.cos(4 * np.pi * x) * np.cos(8 * np.pi * t), 1e-9),
        ([("x", 2)], lambda x, t: -(np.pi**2) * np.sin(np.pi * x) * np.cos(2 * np.pi * t)
         - 8 * np.pi**2 * np.sin(4 * np.pi * x) * np.cos(8 * np.pi * t), 1e-8),
        ([("x", 1), ("t", 1)], lambda x, t: -2 * np.pi**2 * np.cos(np.pi * x) * np.sin(2 * np.pi * t)
         - 16 * np.pi**2 * np.cos(4 * np.pi * x) * np.sin(8 * np.pi * t), 1e-8),
        ([("x", 2), ("t", 1)], lambda x, t: 2 * np.pi**3 * np.sin(np.pi * x) * np.sin(2 * np.pi * t)
         + 64 * np.pi**3 * np.sin(4 * np.pi * x) * np.sin(8 * np.pi * t), 1e-6),
    ],
    ids=["x", "xx", "xt", "xxt"],
)  # fmt: skip
def test_derivatives_are_those_of_the_exact_solution(steps, truth, tolerance, wave):
    x, t = np.meshgrid(np.linspace(0, 1, 11), np.linspace(0, 1, 13))
    derivative, reverse = wave, wave
    for axis, order in steps:
        derivative = derivative.diff(axis, order)
    for axis, order in reversed(steps):
        for _ in range(order):
            reverse = reverse.diff(axis)
    np.testing.assert_allclose(derivative(x=x, t=t), truth(x, t), atol=tolerance)
    np.testing.assert_array_equal(derivative(x=x, t=t), reverse(x=x, t=t))


def test_a_derivative_may_be_named_by_a_sympy_symbol_and_leaves_the_solution_alone(wave):
    from sympy import Symbol

    assert wave.diff(Symbol("x"))(x=0.2, t=0.1) == wave.diff("x")(x=0.2, t=0.1)
    assert wave.diff("t", 0)(x=0.2, t=0.1) == wave(x=0.2, t=0.1)


def test_derivatives_of_a_network_are_its_difference_quotients():
    network = untrained(SOUND)
    x, t, h = np.linspace(0.1, 0.9, 5), 0.7, 1e-4
    for name, values in network.diff("x", 2)(x=x, t=t).items():
        left, here, right = (network(x=x + s, t=t)[name] for s in (-h, 0, h))
        # h²/12 times a fourth derivative of some 10⁵, and rounding of 10⁻¹⁶ over h².
        np.testing.assert_allclose(values, (left - 2 * here + right) / h**2, atol=1e-3)
        assert np.abs(values).max() > 1


def test_a_network_in_float32_is_that_in_float64_up_to_rounding():
    single = untrained(SOUND, "float32")
    double = Solution(
        single.problem, jax.tree.map(lambda leaf: leaf.astype(float), single.field), single.plan
    )
    points = {"x": np.linspace(0.1, 0.9, 5), "t": 0.7}
    for name, values in double.diff("x", 2)(**points).items():
        # Second derivatives of harmonics up to 6π in float32.
        np.testing.assert_allclose(
            single.diff("x", 2)(**points)[name], values, atol=1e-4 * np.abs(values).max()
        )


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda s: s(x=0.5), "the coordinate t is missing\n  → call it with x, t"),
        (lambda s: s(x=0.5, t=0.5, y=1), "'y' is not an axis\n  → the axes are x, t"),
        (lambda s: s(x=[0.5, 1.25], t=0.5), "x = 1.25 is outside the domain [0, 1]"),
        (lambda s: s(x=0.5, t=-0.1), "t = -0.1 is outside the domain [0, 1]"),
        (lambda s: s.diff("y"), "'y' is not an axis\n  → the axes are x, t"),
        (lambda s: s.diff("x", -1), "-1 is not the order of a derivative"),
        (lambda s: s.diff("x", 1.0), "1.0 is not the order of a derivative"),
        (lambda s: s.diff("x", "2"), "'2' is not the order of a derivative"),
        (
            lambda s: s.diff("x", "t"),
            "'t' is not the order of a derivative\n  → differentiate once more by t: .diff('x').diff('t')",
        ),
        (lambda s: s.diff("x").estimate(), "a derivative of a solution cannot be estimated"),
        (lambda s: s(x="left", t=0), "the coordinates are not points"),
    ],
)
def test_a_call_that_means_nothing_is_refused(call, says, wave):
    with pytest.raises(sn.SafeNetError) as caught:
        call(wave)
    assert str(caught.value).startswith(says)


def test_rounding_at_the_edge_of_the_domain_is_inside():
    turn = sn.solve(sn.library.convection())
    assert turn(x=np.float32(2 * np.pi), t=1.0) == pytest.approx(np.sin(2 * np.pi - 0.1), abs=1e-6)


# ---- errors


def test_errors_are_the_norms_over_the_evaluation_grid(sound):
    nx, nt = GRIDS[2]
    x, t = np.linspace(0, 1, nx)[:, None], np.linspace(0, 2, nt)
    rough = Solution(sound.problem, untrained(SOUND).field, sound.plan)
    values, measured = rough(x=x, t=t), rough.error()
    truth = {
        "p": 3 + np.cos(np.pi * x) * np.cos(np.pi * t),
        "v": np.sin(np.pi * x) * np.sin(np.pi * t),
    }
    errors = {name: np.sqrt(np.sum((values[name] - truth[name]) ** 2)) for name in truth}
    sizes = {name: np.sqrt(np.sum(truth[name] ** 2)) for name in truth}
    for name in truth:
        assert measured.fields[name] == pytest.approx(errors[name] / sizes[name], rel=1e-12)
    pooled = np.hypot(errors["p"], errors["v"]) / np.hypot(sizes["p"], sizes["v"])
    assert measured.l2re == pytest.approx(pooled, rel=1e-12)
    mean = (errors["p"] / sizes["p"] + errors["v"] / sizes["v"]) / 2
    assert measured.mean == pytest.approx(mean, rel=1e-12)
    # p is about six times v: the conventions are not the same, and this test can tell them apart.
    assert abs(mean / pooled - 1) > 0.05
    largest = max(np.abs(values[name] - truth[name]).max() for name in truth)
    assert measured.max_error == pytest.approx(largest, rel=1e-12)
    assert measured.l2re > 0.01  # an untrained network is far off, or this test would prove nothing


def test_a_field_that_vanishes_is_measured_absolutely():
    measured = sn.solve(sn.loads(STILL)).error()
    assert measured.fields["v"] < 1e-10
    zero = sn.loads(STILL.replace("u(0) = 1", "u(0) = 0").replace("exp(-t)", "0"))
    assert sn.solve(zero).error().l2re < 1e-10


def test_the_error_of_several_fields_is_said_and_written_in_three_ways(sound):
    rough = Solution(sound.problem, untrained(SOUND).field, sound.plan)
    measured = rough.error()
    written = errors_json(measured, 2)
    assert list(written) == ["p", "v", "pooled", "mean"]
    assert written == {**measured.fields, "pooled": measured.l2re, "mean": measured.mean}
    for name, value in written.items():
        assert f"{name} {value:.2e}" in str(measured)
    # One field has one error, which is a number.
    alone = Errors(0.25, 0.5, {"u": 0.25}, 0.0, measured.held_out)
    assert (errors_json(alone, 1), alone.mean, alone.l2re_text) == (0.25, 0.25, "2.50e-01")


def test_fields_named_pooled_and_mean_do_not_hide_the_errors_of_all():
    text = SOUND
    for old, new in (("v_", "mean_"), ("v(", "mean("), ("v =", "mean ="), ('"v"', '"mean"')):
        text = text.replace(old, new)
    for old, new in (("p_", "pooled_"), ("p(", "pooled("), ("p =", "pooled ="), ('"p"', '"pooled"')):
        text = text.replace(old, new)
    measured = untrained(text).error()
    written = errors_json(measured, 2)
    assert list(measured.fields) == ["pooled", "mean"]
    assert written == {
        "pooled (unknown)": measured.fields["pooled"],
        "mean (unknown)": measured.fields["mean"],
        "pooled": measured.l2re,
        "mean": measured.mean,
    }
    assert len(set(written.values())) == 4


def test_an_error_below_the_accuracy_of_the_reference_is_said_to_be_below_it(wave):
    accurate = Reference(lambda x, t: exact(x, t), 1e-6, "the formula, with a modest claim")
    problem = wave.problem.with_reference(accurate)
    measured = Solution(problem, wave.field, wave.plan).error()
    assert measured.floor == 1e-6
    assert measured.l2re < 1e-6
    assert measured.l2re_text == "≤ 1.0e-06 (the reference's own accuracy)"
    assert "L2RE ≤ 1.0e-06" in str(measured)
    off = Reference(lambda x, t: exact(x, t) + 1e-3, 1e-6, "the formula, a thousandth too high")
    measured = Solution(problem.with_reference(off), wave.field, wave.plan).error()
    # ‖1e-3‖ / ‖u*‖ with u* of mean square ¼ + 1/16: each mode averages ½ in x and in t.
    assert measured.l2re == pytest.approx(1e-3 / np.sqrt(1 / 4 + 1 / 16), rel=0.02)
    assert "≤" not in measured.l2re_text


def test_without_a_reference_there_is_no_error_but_a_residual():
    measured = sn.solve(sn.loads(DECAY.replace("exact", "#"))).error()
    assert (measured.l2re, measured.max_error, measured.fields, measured.floor) == (None, None, {}, None)
    assert measured.held_out.worst < 1e-10
    assert str(measured).startswith("no reference; held-out residual ")


def test_the_error_of_a_derivative_is_against_that_of_the_exact_solution():
    rough = untrained(SOUND)
    nx, nt = GRIDS[2]
    x, t = np.linspace(0, 1, nx)[:, None], np.linspace(0, 2, nt)
    truth = {
        "p": -np.pi * np.sin(np.pi * x) * np.cos(np.pi * t),
        "v": np.pi * np.cos(np.pi * x) * np.sin(np.pi * t),
    }
    values, measured = rough.diff("x")(x=x, t=t), rough.diff("x").error()
    for name, slope in truth.items():
        expected = np.linalg.norm(values[name] - slope) / np.linalg.norm(slope)
        assert measured.fields[name] == pytest.approx(expected, rel=1e-12)
    assert measured.floor == 0
    assert measured.held_out == rough.error().held_out
    assert rough.diff("x", 0).error() == rough.error()


def test_a_reference_of_values_alone_scores_no_derivative(wave):
    values = wave.problem._copy(exact=None, reference=Reference(exact, 1e-9, "values alone"))
    slope = Solution(values, wave.field, wave.plan).diff("x")
    with pytest.raises(sn.SafeNetError, match="the reference of wave has values only"):
        slope.error()
    nothing = Solution(wave.problem._copy(exact=None, reference=None), wave.field, wave.plan)
    assert nothing.diff("x").error().l2re is None


def test_the_error_is_that_of_result_json(wave):
    measured = wave.error()
    assert wave.result.l2re == measured.l2re
    assert wave.result.max_error == measured.max_error
    assert wave.result.residual == measured.held_out.worst


# ---- files

KINDS = {
    "linear form": lambda: sn.solve(sn.loads(DECAY)),
    "two unknowns": lambda: sn.solve(sn.loads(SOUND)),
    "pieces": pieces,
    "network": lambda: untrained(SOUND),
    "network, float32": lambda: untrained(SOUND, "float32"),
    "plain network": lambda: untrained(SOUND, network="pinn"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_load_gives_back_the_solution_to_the_bit(kind, tmp_path):
    saved = KINDS[kind]()
    saved.history = np.array([[1.0, 0.5, 0.25], [2.0, np.pi, 1e-300]])
    assert saved.save(tmp_path / "deep" / "run") == tmp_path / "deep" / "run"
    loaded = sn.load(tmp_path / "deep" / "run")
    old, new = jax.tree.leaves(saved.field), jax.tree.leaves(loaded.field)
    assert len(old) == len(new)
    for a, b in zip(old, new, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    np.testing.assert_array_equal(loaded.history, saved.history)
    assert (loaded.problem, loaded.plan, loaded.result) == (saved.problem, saved.plan, saved.result)
    points = {axis.name: np.linspace(axis.lo, axis.hi, 9) for axis in saved.problem.axes}
    for derivative in (lambda s: s, lambda s: s.diff(s.problem.axis_names[0], 2)):
        a, b = derivative(saved)(**points), derivative(loaded)(**points)
        np.testing.assert_array_equal(np.array(list(a.values()) if isinstance(a, dict) else a),
                                      np.array(list(b.values()) if isinstance(b, dict) else b))  # fmt: skip


def test_a_derivative_is_not_saved_as_if_it_were_the_solution(wave, tmp_path):
    with pytest.raises(
        sn.SafeNetError, match=r"cannot be saved\n  → save the solution itself, and call \.diff"
    ):
        wave.diff("x").save(tmp_path / "slope")
    assert not (tmp_path / "slope").exists()


def test_saving_what_was_loaded_writes_the_same_files(tmp_path, sound):
    sound.save(tmp_path / "first")
    sn.load(tmp_path / "first").save(tmp_path / "second")
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes()


def test_a_run_folder_is_toml_json_and_plain_arrays(tmp_path, sound):
    import tomllib

    sound.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "problem.toml",
        "plan.json",
        "solution.npz",
        "result.json",
    }
    assert tomllib.loads((tmp_path / "problem.toml").read_text())["name"] == "sound"
    for name in ("plan.json", "result.json"):
        assert isinstance(json.loads((tmp_path / name).read_text()), dict)
    with np.load(tmp_path / "solution.npz", allow_pickle=False) as data:
        assert all(data[name].dtype != object for name in data.files)
        assert json.loads(data["facts"].tobytes())["network"]["kind"] == "modes"
    with zipfile.ZipFile(tmp_path / "solution.npz") as archive:
        assert all(name.endswith(".npy") for name in archive.namelist())


def test_a_library_problem_gets_its_reference_back(tmp_path):
    problem = sn.library.burgers(nu=0.5)
    network = build(problem, sn.METHODS["pinn"], key=jax.random.key(0))
    Solution(problem, network, sn.Train("pinn").plan(problem)).save(tmp_path)
    loaded = sn.load(tmp_path).problem
    assert loaded.reference_accuracy == problem.reference_accuracy
    points = {"x": np.linspace(-1, 1, 7), "t": 0.6}
    np.testing.assert_array_equal(loaded.reference(**points), problem.reference(**points))


# ---- pictures
