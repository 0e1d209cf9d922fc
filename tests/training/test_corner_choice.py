"""Of two solutions the better one is kept, also where data that jump leave both with the same worst residual."""

import numpy as np
import pytest

import safenet as sn
from safenet.problem import loads
from safenet.training.heldout import HeldOut


@pytest.mark.parametrize(
    ("one", "other", "better"),
    [
        (HeldOut((1e-3,), (1e-8,)), HeldOut((1e-2,), (1e-15,)), True),  # by the worst
        (HeldOut((1e-6,), (5e-2,)), HeldOut((1e-4,), (4e-2,)), True),  # alike: by all
        (HeldOut((1e-4,), (4e-2,)), HeldOut((1e-6,), (5e-2,)), False),
        (HeldOut((1e-6,), (5e-2,), jumps=0.2), HeldOut((1e-4,), (4e-2,)), False),
        (HeldOut((0.0,), (0.0,)), HeldOut((0.0,), (0.0,)), False),
        (HeldOut((np.nan,), (0.0,)), HeldOut((1.0,), (1.0,)), False),
        (HeldOut((1.0,), (1.0,)), HeldOut((np.inf,), (0.0,)), True),
        (HeldOut((np.inf,), (0.0,)), HeldOut((np.inf,), (0.0,)), False),
    ],
)
def test_the_worst_part_decides_and_where_it_does_not_the_others(one, other, better):
    assert one.better(other) is better


def test_a_rod_that_is_heated_at_one_end_of_a_sudden():
    rod = loads(
        """
        name = "rod"
        unknowns = ["u"]
        equations = ["u_t = u_xx/10"]
        conditions = ["u(0, t) = 1", "u(1, t) = 0", "u(x, 0) = 0"]
        [domain]
        x = [0, 1]
        t = [0, 1]
        """
    )
    x, t = np.meshgrid(np.linspace(0, 1, 51), np.linspace(0.02, 1, 50), indexing="ij")
    n = np.arange(1, 200)[:, None, None]
    waves = np.sin(n * np.pi * x) * np.exp(-((n * np.pi) ** 2) * t / 10) / n
    exact = 1 - x - 2 / np.pi * waves.sum(axis=0)
    solution = sn.solve(rod)
    assert np.linalg.norm(solution(x=x, t=t) - exact) < 1e-4 * np.linalg.norm(exact)  # modes alone: 2e-3
