"""A network that leaves its equation for another solution on the way is not believed."""

import jax.numpy as jnp
import pytest

import safenet as sn
from safenet.measure.estimate import estimated
from safenet.measure.orbits import astray as module
from safenet.measure.orbits.astray import astray


def equation(text, end):
    return sn.Problem(text, domain={"t": (0, end)}, conditions=["u(0) = 1"])


@pytest.mark.parametrize("width", [1e-4, 1e-2])
def test_a_layer_at_the_start_that_leads_to_another_solution_is_seen(width):
    """The solution ends at t = 1; 1/(2.1 − t) does not, and hardly a point is in the layer."""
    grows = equation("u_t = u**2", 2)

    def network(t):
        return 1 / (2.1 - t) + (1 - 1 / 2.1) * jnp.exp(-t / width)

    assert "before t = 0.25 the network misses" in astray(grows, network)
    found = estimated(grows, network)
    assert found.error != found.error
    assert "a different solution" in found.lost


def test_a_network_that_follows_its_equation_is_left_alone():
    assert not astray(equation("u_t = u**2", 0.99), lambda t: (1 + 1e-2 * jnp.sin(40 * t)) / (1 - t))
    # A residual of 2 everywhere, beside terms of 10,000: the error is 1e-4.
    stiff = equation("u_t = 10000*(cos(t) - u)*(1 + u**2) - sin(t)", 10)
    assert not astray(stiff, lambda t: jnp.cos(t) + 1e-4)


def test_what_is_missed_where_u_is_next_to_nothing_does_not_matter_later(monkeypatch):
    """u = tan(t⁵): at first a wave of 5e-5 is larger than u and its rate, and small beside what comes."""
    late = sn.Problem("u_t = 5*t**4*(1 + u**2)", domain={"t": (0, 1)}, conditions=["u(0) = 0"])

    def network(t):
        return jnp.tan(t**5) + 5e-5 * jnp.sin(40 * t)

    assert not astray(late, network)
    monkeypatch.setattr(module, "FAINT", 0.0)
    assert astray(late, network)


def test_a_network_that_is_rough_everywhere_is_measured_all_the_same():
    """Every segment is halved, and none is left behind at first."""
    assert astray(equation("u_t = u - u**3", 1), lambda t: jnp.sin(20000 * t))
