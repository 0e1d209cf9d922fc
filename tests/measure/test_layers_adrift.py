"""A steady layer that conditions fix only by e^(−distance/width): a larger residual does not show where it is."""

import jax.numpy as jnp
import pytest

import safenet as sn
from safenet.measure.estimate import estimated
from safenet.measure.verdict.accepting import undetermined

ENDS = {"domain": {"x": (-1, 1)}, "conditions": ["u(-1) = -1", "u(1) = 1"]}


def moved(width, by, noise):
    """A layer that should be at 0, with what the training of a network leaves."""
    return lambda x: jnp.tanh((x - by) / width) + noise * (jnp.sin(7 * x + 1) + x * jnp.cos(11 * x))


def flow(nu):
    return sn.Problem(f"u*u_x = -{nu}*u_xx", **ENDS)


def phases(epsilon):
    return sn.Problem(f"{epsilon}**2*u_xx + u - u**3 = 0", **ENDS)


LOST = {
    "flow": (flow(0.01), 0.02),
    "thin flow": (flow(0.002), 0.004),
    "wide flow": (flow(0.05), 0.1),
    "phases": (phases(0.1), 0.1 * 2**0.5),
    "thin phases": (phases(0.03), 0.03 * 2**0.5),
}


@pytest.mark.parametrize("noise", [1e-6, 1e-4])
@pytest.mark.parametrize(("problem", "width"), LOST.values(), ids=LOST)
def test_a_layer_in_a_wrong_place_has_no_estimate(problem, width, noise):
    field = moved(width, 0.05, noise)
    assert undetermined(problem, estimated(problem, field))


@pytest.mark.parametrize(
    ("problem", "width"), [(flow(0.2), 0.4), (phases(0.3), 0.3 * 2**0.5)], ids=["flow", "phases"]
)
def test_a_layer_that_the_ends_hold_has_an_estimate(problem, width):
    found = estimated(problem, moved(width, 0.1, 1e-6))
    assert undetermined(problem, found) is None
    assert found.error > 0.05
