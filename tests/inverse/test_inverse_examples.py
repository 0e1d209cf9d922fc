"""examples/inverse: each finds, within three standard errors, the numbers that its data were made with."""

import filecmp
import runpy
import shutil
from pathlib import Path

import pytest

import safenet as sn

EXAMPLES = Path(__file__).parents[2] / "examples" / "inverse"
TRUTH = {
    "diffusion": {"nu": 0.3},
    "reaction": {"k": 0.8, "n": 1.5},
    "lorenz": {"s": 10, "r": 28, "b": 8 / 3},
}


def test_every_example_has_its_truth_here():
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == TRUTH.keys()


def test_the_script_makes_the_data_that_are_there(tmp_path):
    shutil.copy(EXAMPLES / "make_data.py", tmp_path)
    runpy.run_path(str(tmp_path / "make_data.py"))
    for name in TRUTH:
        assert filecmp.cmp(tmp_path / f"{name}.csv", EXAMPLES / f"{name}.csv", shallow=False)


@pytest.mark.parametrize("name", ["diffusion", "reaction", pytest.param("lorenz", marks=pytest.mark.slow)])
def test_the_numbers_are_found(name):
    sol = sn.solve(sn.read(EXAMPLES / f"{name}.toml"))
    for key, truth in TRUTH[name].items():
        number = sol.found[key]
        assert abs(number - truth) < 3 * number.error
        assert number.error < 0.05 * truth
    assert sol.result.outcome == "solved"
    assert not sol.result.warnings
