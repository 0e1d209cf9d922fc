"""‖u − u*‖/‖u*‖ on a uniform grid, and the states of a direct pass: what the tests of solvers share."""

import numpy as np
import pytest

from safenet.fields.field import jets
from safenet.measure.heldout import grid
from safenet.run.budget import Budget
from safenet.run.progress import Monitor

# A few steps of training solve nothing, and that is said.
SAID = "not solved|is estimated at|left unexplained"
unsolved = pytest.mark.filterwarnings(f"ignore:.*({SAID}):safenet.errors.SafeNetWarning")


def l2re(problem, field, ticks=31):
    """All unknowns together, against the problem's exact solution or reference."""
    coordinates = grid(problem, [ticks] * len(problem.axes))
    order = (0,) * len(coordinates)
    values = np.asarray(jets(field, np.stack(coordinates, axis=1), [order])[order])
    truth = problem.reference(**dict(zip(problem.axis_names, coordinates, strict=True)))
    columns = [truth[name] for name in problem.unknowns] if isinstance(truth, dict) else [truth]
    truth = np.stack([np.broadcast_to(column, len(values)) for column in columns], axis=1)
    return np.linalg.norm(values - truth) / np.linalg.norm(truth)


def states(each, problem, state=None):
    """Of a pass that is given all the time it wants."""
    return list(each.run(problem, Monitor(), Budget(), state))


def last(each, problem):
    return states(each, problem)[-1]
