"""Solutions and networks that were not trained."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from running import SOUND
from safenet.networks import AxisBasis, LinearForm, Piecewise, build
from safenet.solution import Solution
from safenet.solving.plans import plan_for

HEAT_2D = """
name = "heat-in-a-square"
unknowns = ["u"]
equations = ["u_t = (u_xx + u_yy)/10"]
conditions = [
  "u(0, y, t) = 0", "u(1, y, t) = 0", "u(x, 0, t) = 0", "u(x, 1, t) = 0", "u(x, y, 0) = sin(pi*x)*sin(pi*y)"
]
exact = { u = "sin(pi*x)*sin(pi*y)*exp(-pi**2*t/5)" }
domain = { x = [0, 1], y = [0, 1], t = [0, 1] }
"""


def untrained(text, precision="float64", network="safe-net"):
    """A network as it is before training, as a solution: it has derivatives and can be saved like any other."""
    problem = sn.loads(text)
    plan = sn.Train(network, "paper-4", precision=precision, features=6, width=5).plan(problem)
    network = build(problem, plan.network, key=jax.random.key(3), dtype=jnp.dtype(precision))
    return Solution(problem, network, plan)


def pieces(text=HEAT_2D, until=0.5):
    """Two slabs of an exact mode of the heat equation in a square, up to a time before the end."""
    problem = sn.loads(text)
    forms = []
    for lower, upper in ((0.0, until / 2), (until / 2, until)):
        space = (AxisBasis("sine", 1, 0.0, 1.0), AxisBasis("sine", 1, 0.0, 1.0))
        time = AxisBasis("chebyshev", 12, lower, upper)
        nodes = np.cos(np.pi * (np.arange(13) + 0.5) / 13)
        decay = np.exp(-(np.pi**2) / 5 * (lower + (upper - lower) * (nodes + 1) / 2))
        coefficients = np.polynomial.chebyshev.chebfit(nodes, decay, 12)
        forms.append(LinearForm((jnp.asarray(coefficients)[None, None, :],), ((*space, time),)))
    network = Piecewise(tuple(forms), (0.0, until / 2, until))
    return Solution(problem, network, plan_for(problem))


def exact(x, t):
    return np.sin(np.pi * x) * np.cos(2 * np.pi * t) + np.sin(4 * np.pi * x) * np.cos(8 * np.pi * t) / 2


@pytest.fixture(scope="module")
def wave():
    return sn.solve(sn.library.wave())


@pytest.fixture(scope="module")
def sound():
    return sn.solve(sn.loads(SOUND))
