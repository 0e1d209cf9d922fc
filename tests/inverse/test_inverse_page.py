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
    [(PROGRAMS[0], "nu", 0.3, 1e-8), (PROGRAMS[1], "k", 0.7, 1e-2)],
    ids=["Gauss–Newton", "a network"],
)
def test_the_program_finds_the_number(program, name, value, tolerance):
    names = {"__name__": "page"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(program, "inverse.md", "exec"), names)
    assert out.getvalue().strip()
    assert abs(names["sol"].found[name] - value) < tolerance


def test_the_file_is_read(tmp_path):
    x, t = np.random.default_rng(0).random((2, 20))
    np.savetxt(tmp_path / "probe.csv", np.column_stack([x, t, x]), delimiter=",", header="x,t,u", comments="")
    (tmp_path / "heat.toml").write_text(HEAT)
    problem = sn.read(tmp_path / "heat.toml")
    assert list(problem.unknown) == ["nu"]
    np.testing.assert_allclose(problem.measured[0].sigma, 0.01)
