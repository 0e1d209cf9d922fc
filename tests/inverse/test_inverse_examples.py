"""examples/inverse: each finds, within three standard errors, what its data were made with."""

import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

import safenet as sn

EXAMPLES = Path(__file__).parents[2] / "examples" / "inverse"
MADE = runpy.run_path(str(EXAMPLES / "make_data.py"))
NUMBERS = {
    "diffusion": {"nu": 0.3},
    "reaction": {"k": 0.8, "n": 1.5},
    "lorenz": {"s": 10, "r": 28, "b": 8 / 3},
    "brinkman": {"nue": 0.001, "K": 0.001},
    "vortices": {"c": 1, "nu": 0.05},
    "sensors": {"nu": 0.1},
}
x = np.linspace(0, 1, 101)
square = dict(zip("xy", np.meshgrid(x[::4], x[::4], indexing="ij"), strict=True))
FUNCTIONS = {
    # where, what it is there, and the largest relative error
    "coefficient": ("a", square, MADE["coefficient_of"](**square), 0.02),
    "conductivity": ("k", {"x": x}, MADE["conductivity_of"](x), 0.15),
    "backwards": ("f", {"x": x}, MADE["temperature_of"](x, 0), 0.3),
}
ILL_POSED = ("conductivity", "backwards")


def example(name, level=MADE["NOISE"], seed=2026):
    text = (EXAMPLES / f"{name}.toml").read_text("utf-8").split("[[data]]")[0]
    return sn.loads(text, name, data=sn.Data(MADE["make"](MADE[name], level, seed)))


def slow(*names):
    return [pytest.param(name, marks=pytest.mark.slow) for name in names]


def test_every_example_has_its_truth_here():
    names = {path.stem for path in EXAMPLES.glob("*.toml")}
    assert names == NUMBERS.keys() | FUNCTIONS.keys()
    assert {function.__name__ for function in MADE["EXAMPLES"]} == names


def test_the_script_writes_what_a_file_reads(tmp_path, monkeypatch):
    for name in ("make_data.py", "reaction.toml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    monkeypatch.setattr("sys.argv", ["make_data.py", "reaction"])
    runpy.run_path(str(tmp_path / "make_data.py"), run_name="__main__")
    assert len(sn.read(tmp_path / "reaction.toml").measured) == 2
    assert {path.name for path in tmp_path.glob("*.csv")} == {"reaction.csv"}


@pytest.mark.parametrize(
    "name", ["diffusion", "reaction", "brinkman", *slow("lorenz", "vortices", "sensors")]
)
def test_the_numbers_are_found(name):
    sol = sn.solve(example(name))
    for key, truth in NUMBERS[name].items():
        number = sol.found[key]
        assert abs(number - truth) < 3 * number.error
        assert number.error < 0.05 * truth
    assert sol.result.outcome == "solved"
    assert not sol.result.warnings


@pytest.mark.parametrize("name", ["brinkman", *slow("vortices")])
def test_without_noise_they_are_found_to_many_digits(name):
    sol = sn.solve(example(name, 0.0))
    assert [float(sol.found[key]) for key in NUMBERS[name]] == pytest.approx(
        list(NUMBERS[name].values()), rel=1e-8
    )


@pytest.mark.slow
def test_the_pressure_is_found_from_velocities_up_to_its_gauge():
    """p = −(cos 2(x − t) + cos 2(y − t/2)) exp(−0.2 t)/4 + a number for each time."""
    sol = sn.solve(example("vortices", 0.0))
    x, y = np.random.default_rng(0).random((2, 50)) * 2 * np.pi
    p = sol(x=x, y=y, t=0.5)["p"]
    exact = -(np.cos(2 * x - 1) + np.cos(2 * y - 0.5)) * np.exp(-0.1) / 4
    np.testing.assert_allclose(p - p.mean(), exact - exact.mean(), atol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_functions_are_found_with_errors_that_hold(name):
    sol = sn.solve(example(name))
    key, at, truth, tolerance = FUNCTIONS[name]
    function = sol.found[key]
    gap = function(**at) - truth
    assert np.linalg.norm(gap) < tolerance * np.linalg.norm(truth)
    assert 0.3 < np.sqrt(np.mean((gap / function.error(**at)) ** 2)) < 2
    assert sol.result.outcome == "solved"
    assert any("ill-posed" in text for text in sol.result.warnings) == (name in ILL_POSED)
