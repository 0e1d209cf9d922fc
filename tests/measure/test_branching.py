"""Is a solution at rest where others leave? Cases without a solve; `trust/test_known_failures.py` has the others."""

import numpy as np

import safenet as sn
from safenet.fields.pieces import TimePieces
from safenet.measure.orbits.branching import branching


def test_a_root_of_something_that_has_no_value_along_the_solution_decides_nothing():
    problem = sn.Problem(equations=["u_t = sqrt(log(u))"], conditions=["u(0) = 2"], domain={"t": (0, 1)})
    below_zero = TimePieces((np.array([[-1.0, 0.0]]),), np.array([0.0, 1.0]), np.zeros(2), ((),))
    assert branching(problem, below_zero) == ""
