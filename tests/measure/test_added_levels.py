"""The correction of a network is refined until it explains nine tenths of the residual."""

import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.measure import added
from safenet.measure.estimate import estimated
from safenet.measure.heldout import interior_points

WIDTH = 0.01  # the first grid leaves a fifth of the residual of this ridge


def ridge(x, t, xp):
    return 0.01 * xp.exp(-(((x - 0.5) / WIDTH) ** 2)) * xp.tanh(t / WIDTH) * x


def test_a_grid_that_leaves_a_fifth_of_the_residual_is_refined():
    carried = sn.Problem(
        "u_t + u_x = 0",
        domain={"x": (0, 1), "t": (0, 1)},
        conditions=["u(0, t) = -sin(pi*t)", "u(x, 0) = sin(pi*x)"],
    )
    found = estimated(carried, lambda p: (jnp.sin(jnp.pi * (p[0] - p[1])) + ridge(p[0], p[1], jnp))[None])
    x, t = interior_points(carried).T
    true = np.linalg.norm(ridge(x, t, np)) / np.linalg.norm(np.sin(np.pi * (x - t)))
    assert found.left < 0.1
    assert found.error == pytest.approx(true, rel=0.01)


def test_a_first_grid_that_cannot_be_refined_is_still_believed_for_what_it_explains(monkeypatch):
    """No level changed anything: `left` is what the grid leaves of the residual, not all of it."""
    monkeypatch.setattr(added, "PLANE_MOST", 10)
    carried = sn.Problem(
        "u_t + u_x = 0",
        domain={"x": (0, 1), "t": (0, 1)},
        conditions=["u(0, t) = -sin(pi*t)", "u(x, 0) = sin(pi*x)"],
    )
    found = estimated(carried, lambda p: (jnp.sin(jnp.pi * (p[0] - p[1])) + ridge(p[0], p[1], jnp))[None])
    assert 0.1 < found.left < 0.5
