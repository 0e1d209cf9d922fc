"""examples/tables: a permeability that jumps, against finite volumes; a wave speed, against leapfrog."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import safenet as sn

EXAMPLES = Path(__file__).parents[2] / "examples" / "tables"
MADE = runpy.run_path(str(EXAMPLES / "make_tables.py"))


def example(name, table):
    text = (EXAMPLES / f"{name}.toml").read_text("utf-8").split("[tables]")[0]
    return sn.loads(text, name, tables={table.name: table})


def darcy(n):
    table = sn.Table(MADE["darcy"](n), name="a", of=("x", "y"), interpolation="constant")
    return example("darcy", table), table.values


def pressures(n, finer):
    problem, a = darcy(n)
    sol = sn.solve(problem)
    x, p = MADE["pressure"](a, finer)
    own = sol(x=x[:, None], y=x)
    return sol, float(np.linalg.norm(own - p) / np.linalg.norm(p))


@pytest.mark.slow
def test_the_pressure_in_a_rock_of_two_kinds_is_that_of_finite_volumes():
    sol, far = pressures(8, 8)
    _, nearer = pressures(8, 24)
    assert sol.result.outcome == "solved"
    assert sol.result.estimate < 2e-3
    # Finite volumes converge slowly at corners of the table: they come nearer, and not to something else.
    assert nearer < 0.6 * far < 6e-3
    assert "jumps under a derivative" in sol.result.reasons[0]


def test_no_other_solver_takes_the_slope_of_a_jump_for_zero():
    problem, _ = darcy(4)
    for solver in (sn.Cells(), sn.LeastSquares(), sn.Train()):
        with pytest.raises(sn.SafeNetError, match="only the solver elements"):
            sn.solve(problem, solver)


@pytest.mark.slow
def test_a_table_of_128_times_128():
    sol, gap = pressures(128, 3)
    assert gap < 1e-2
    assert sol.result.outcome == "solved"


@pytest.mark.slow
def test_a_wave_speed_from_a_table_is_that_of_leapfrog():
    columns = MADE["layers"]()
    problem = example("layers", sn.Table(columns, name="c", of=("x",)))
    sol = sn.solve(problem)
    x, u = MADE["line_wave"](
        CubicSpline(columns["x"], columns["c"]), lambda x: np.exp(-200 * (x - 0.3) ** 2), 0.5, 2000
    )
    assert np.linalg.norm(sol(x=x, t=0.5) - u) < 1e-4 * np.linalg.norm(u)
    assert sol.result.outcome == "solved"
    assert sol.result.estimate < 1e-4
    assert "spline through a table" in sol.result.reasons[0]


def test_every_table_has_its_script():
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == {f.__name__ for f in MADE["TABLES"]}
