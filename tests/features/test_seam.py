"""The flow of a kink: a solution of the heat equation with the kink's slopes, found only where the symbols have one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import safenet as sn
from safenet.features import seam_flow

KINK = """
name = "kink"
unknowns = ["u"]
equations = ["2*u_t = nu*u_xx + u**3"]
conditions = ["u(-1, t) = u(2, t)", "u_x(-1, t) = u_x(2, t)", "u(x, 0) = {start}"]
domain = {{ x = [-1, 2], t = [0, 4] }}
parameters = {{ nu = 0.1 }}
"""


def flow(start="(x + 1)*(x - 2)"):
    return seam_flow(sn.loads(KINK.format(start=start)))


def value(x, t):
    return flow()(jnp.asarray([x, t]))[0]


@pytest.mark.parametrize(("x", "t"), [(-0.9, 0.5), (1.7, 0.02), (0.1, 3.0)])
def test_it_solves_the_heat_equation_with_the_equations_own_diffusivity(x, t):
    u_t = jax.grad(value, 1)(x, t)
    u_xx = jax.grad(jax.grad(value))(x, t)
    assert float(u_t) != 0
    np.testing.assert_allclose(u_t, 0.05 * u_xx, rtol=1e-9, atol=1e-14)


def test_it_is_zero_at_first_and_has_the_slopes_of_a_kink_from_then_on():
    assert float(value(-1.0, 0.0)) < 1e-6
    assert float(value(0.3, 0.0)) == 0
    for t in (1e-6, 1e-2):
        np.testing.assert_allclose(jax.grad(value)(-1.0, t), -1, rtol=1e-12)
        np.testing.assert_allclose(jax.grad(value)(2.0, t), 1, rtol=1e-12)


def test_it_is_the_convolution_of_the_kink_with_the_kernel_less_the_kink_itself():
    kappa, t, xi = 0.05, 0.3, 0.1
    kernel = lambda z: np.exp(-z * z / (4 * kappa * t)) / np.sqrt(4 * np.pi * kappa * t)  # noqa: E731
    expected = quad(lambda z: abs(xi - z) * kernel(z), -3, 3, points=[0, xi], epsabs=1e-13)[0] - xi
    np.testing.assert_allclose(value(-1 + xi, t), expected, rtol=1e-10)  # the other end is 2.9 away


@pytest.mark.parametrize("start", ["sin(2*pi*(x + 1)/3)", "x", "3"])
def test_smooth_starts_and_jumps_have_none(start):
    assert flow(start) is None


def test_of_the_library_allen_cahn_alone_has_one():
    found = [name for name in sn.library.names() if seam_flow(sn.library.problem(name)) is not None]
    assert found == ["allen-cahn"]
