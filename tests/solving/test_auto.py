"""Auto: chosen by symbols and not by name, with reasons."""

import pytest

from safenet import library
from safenet.direct import Cells, Elements, Fourier, LeastSquares, March, Modes
from safenet.direct.march_on_cells import MarchOnCells
from safenet.errors import SafeNetError
from safenet.problem import Problem, loads
from safenet.solving.auto import Auto
from safenet.solving.plans import plan_for

POISSON = loads("""
name = "poisson"
unknowns = ["u"]
equations = ["u_xx + u_yy = 1"]
conditions = ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]
[domain]
x = [0, 1]
y = [0, 1]
""")
BRATU = loads(POISSON.toml().replace('= 1"', '= -exp(u)"').replace("poisson", "bratu"))
AHEAD = loads("""
name = "ahead"
unknowns = ["u"]
equations = ["u_t = u_xx - u**3"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 1) = sin(pi*x)"]
[domain]
x = [0, 1]
t = [0, 1]
""")


def kinds(passes):
    """The kinds of passes in their order, repetitions joined."""
    return list(dict.fromkeys(type(each) for each in passes))


def renamed(problem, name):
    return Problem(
        [equation.statement for equation in problem.equations],
        domain=problem.bounds,
        conditions=[condition.statement for condition in problem.conditions],
        parameters=problem.parameters,
        name=name,
    )


@pytest.mark.parametrize(
    ("problem", "expected", "words"),
    [
        (
            library.problem("wave"),
            [Modes, LeastSquares, MarchOnCells],
            ["odd about the faces of x", "linear", "constant coefficients"],
        ),
        (
            library.problem("convection"),
            [Modes, LeastSquares, MarchOnCells],
            ["periodic in x", "linear"],
        ),
        (library.problem("reaction"), [MarchOnCells], ["nonlinear", "slab", "cells"]),
        (library.problem("burgers"), [Fourier, MarchOnCells], ["nonlinear and smooth", "exponential steps"]),
        (
            library.problem("nh-heat"),
            [Modes, LeastSquares, MarchOnCells],
            ["no symmetry", "linear"],
        ),
        (POISSON, [Modes, Elements, LeastSquares, Cells], ["linear", "high-degree elements"]),
        (BRATU, [LeastSquares, Cells], ["nonlinear", "no time axis", "cells"]),
        (AHEAD, [LeastSquares, Cells], ["nonlinear", "holds at a fixed time", "cells"]),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_the_default_follows_from_the_symbols_and_says_why(problem, expected, words):
    solvers, reasons = Auto().choice(problem)
    assert kinds(plan_for(problem).passes) == expected
    assert all(word in "; ".join(reasons) for word in words)
    # The same statement under any name, without its known solution, is the same plan.
    for name in ("problem", "wave", "burgers"):
        assert Auto().choice(renamed(problem, name)) == (solvers, reasons)


@pytest.mark.parametrize("problem", [POISSON, AHEAD], ids=["steady", "data at the end"])
def test_what_has_no_beginning_is_not_marched(problem):
    assert March().obstacle(problem)
    with pytest.raises(SafeNetError, match="march does not suit"):
        plan_for(problem, March(on="series"))
