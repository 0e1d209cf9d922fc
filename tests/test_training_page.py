"""docs/training.md: every program runs as it stands."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import safenet as sn

PAGE = Path(__file__).parents[1] / "docs" / "training.md"
PROGRAMS = re.findall(
    r"^## (.*?)\n.*?^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
)


LONG = ("Points, weights, a start, a callback", "Several seeds, several problems")


@pytest.mark.parametrize(
    ("title", "program"),
    [pytest.param(*one, id=one[0], marks=[pytest.mark.slow] if one[0] in LONG else []) for one in PROGRAMS],
)
@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
def test_the_program_runs_and_its_solution_is_right(title, program, tmp_path):
    names = {"__name__": "page"}
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(program, f"training.md, {title}", "exec"), names)
    assert out.getvalue().strip()
    expected = {
        "A method and a schedule by name": lambda: names["sol"](t=1.0) - 0.36788,
        "Your own network, your own optimiser": lambda: names["again"](t=0.5) - 0.60653,
        # u = −x²/2 + s x with mass s/2 − 1/6 = 1/4.
        "Terms of your own": lambda: names["sol"](x=1.0) - (5 / 6 - 1 / 2),
        "Points, weights, a start, a callback": lambda: abs(names["sol"].result.residual) * 0.01,
        "Several seeds, several problems": lambda: names["solutions"][0](t=1.0) - 0.36788,
    }
    assert abs(float(expected[title]())) < 0.02
    assert isinstance(names.get("sol", names.get("solutions", [None])[0]), sn.Solution)
