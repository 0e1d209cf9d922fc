"""docs/inverse.md: its programs and its problem file do what they say."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

import safenet as sn

PAGE = (Path(__file__).parents[2] / "docs" / "inverse.md").read_text("utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(HEAT,) = re.findall(r"^```toml\n# heat.toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("program", "name", "value", "tolerance"),
    [(PROGRAMS[0], "nu", 0.3, 1e-8), pytest.param(PROGRAMS[3], "k", 0.7, 1e-2, marks=pytest.mark.slow)],
    ids=["Gauss–Newton", "a network"],
)
def test_the_program_finds_the_number(program, name, value, tolerance):
    names = {"__name__": "page"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(program, "inverse.md", "exec"), names)
    assert out.getvalue().strip()
    assert abs(names["sol"].found[name] - value) < tolerance


def test_a_table_is_a_grid_or_a_function():
    names = {"__name__": "page"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(PROGRAMS[1], "inverse.md", "exec"), names)
    assert out.getvalue().startswith("u_x*k_x + u_xx*k = -1 0.09")
    at = np.linspace(0, 1, 9)
    grid, function = (names[name].tables["k"].spline([at], (0,)) for name in ("grid", "function"))
    np.testing.assert_allclose(grid, function, atol=1e-9)


def test_a_problem_with_an_unknown_function_is_read(tmp_path):
    (text,) = re.findall(r"^```toml\n# rod.toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "ends.csv").write_text("x,t,u\n0,1,0.5\n1,1,0.2\n")
    (tmp_path / "rod.toml").write_text(text)
    assert sn.read(tmp_path / "rod.toml").curves["k"].cells == 24


def test_the_file_is_read(tmp_path):
    x, t = np.random.default_rng(0).random((2, 20))
    np.savetxt(tmp_path / "probe.csv", np.column_stack([x, t, x]), delimiter=",", header="x,t,u", comments="")
    (tmp_path / "heat.toml").write_text(HEAT)
    problem = sn.read(tmp_path / "heat.toml")
    assert list(problem.unknown) == ["nu"]
    np.testing.assert_allclose(problem.measured[0].sigma, 0.01)
