"""A network that jumps, or whose slope does, is told so, as no equation at points shows it; a front is not a jump."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.measure.estimate import estimated
from safenet.measure.torn import torn
from safenet.run.result import Outcome

SMALL = {"activation": "relu", "points": 30, "width": 8, "depth": 2}
LINE = sn.Problem("u_xx = 0", domain={"x": (0, 1)}, conditions=["u(0) = 0", "u(1) = 1"])
DECAY = sn.Problem("u_t = -u", domain={"t": (0, 1)}, conditions=["u(0) = 1"])
LAPLACE = sn.Problem(
    "u_xx + u_yy = 0",
    domain={"x": (0, 1), "y": (0, 1)},
    conditions=["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = sin(pi*x)", "u(x, 1) = 0"],
)
STRING = sn.Problem(
    "u_tt = u_xx",
    domain={"x": (0, 1), "t": (0, 1)},
    conditions=["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)", "u_t(x, 0) = 0"],
)
BURGERS = sn.Problem(
    "u_t + u*u_x = u_xx/300",
    domain={"x": (-1, 1), "t": (0, 1)},
    conditions=["u(-1, t) = 1", "u(1, t) = -1", "u(x, 0) = -tanh(150*x)"],
)


def relus(axes):
    return eqx.nn.MLP(axes, 1, 20, 2, jax.nn.relu, key=jax.random.key(0))


@pytest.mark.parametrize(("problem", "axes"), [(LINE, 1), (LAPLACE, 2), (STRING, 2)], ids=["1", "2", "wave"])
def test_the_slope_of_relus_jumps(problem, axes):
    assert "of the network is discontinuous" in torn(problem, relus(axes), 0.0)


def test_the_place_of_a_kink_is_told():
    said = torn(LINE, lambda p: jnp.maximum(p, 0.4), 0.0)
    assert "x = 0.4)" in said
    assert "u_xx" in said


def test_the_place_of_a_jump_is_told():
    assert "t = 0.5)" in torn(DECAY, lambda t: jnp.exp(-t) + jnp.where(t > 0.5, 0.1, 0.0), 0.0)


def test_no_error_is_estimated_from_kinks():
    """max(x, 0.4) − 0.4·(1 − x) meets the equation at almost all points and both conditions."""
    found = estimated(LINE, lambda p: jnp.maximum(p, 0.4) - 0.4 * (1 - p))
    assert found.lost


def test_kinks_smaller_than_the_residual_are_harmless():
    small = lambda p: p + 1e-3 * p * (1 - p) + 1e-5 * jnp.abs(p - 0.4)  # noqa: E731
    assert torn(LINE, small, 0.0)
    assert not torn(LINE, small, 10.0)


@pytest.mark.parametrize("width", [1e-2, 1e-3])
def test_a_front_is_no_jump(width):
    assert torn(BURGERS, lambda p: -jnp.tanh((p[:1] - 0.01) / (2 * width)), 0.0) == ""


def test_a_corner_mode_is_no_jump():
    assert torn(LAPLACE, lambda p: jnp.sum(p**2, keepdims=True) ** (1 / 3), 0.0) == ""


def test_a_kink_along_a_characteristic_is_no_jump_for_the_wave_equation():
    assert torn(STRING, lambda p: jnp.abs(p[:1] - p[1:] - 0.2), 0.0) == ""
    assert torn(STRING, lambda p: jnp.abs(p[:1] - 0.5 * p[1:] - 0.2), 0.0)


def test_a_training_with_relus_is_not_solved():
    with pytest.warns(sn.SafeNetWarning, match="of the network is discontinuous"):
        trained = sn.solve(LINE, sn.Train("pinn", [sn.Adam(300, rate=1e-2)], **SMALL))
    assert trained.result.outcome == Outcome.NOT_SOLVED
    assert trained.result.estimate is None


BOX = sn.Problem(
    "u_t + u_x = 0",
    domain={"x": (0, 2), "t": (0, 1)},
    conditions=["u(0, t) = 0", "u(x, 0) = where(1/4 < x, where(x < 1/2, 1, 0), 0)"],
)


@pytest.mark.parametrize(("speed", "stands"), [(0.0, True), (0.97, True), (1.0, False)])
def test_a_jump_that_does_not_move_along_the_characteristics_is_told(speed, stands):
    def box(p):
        z = p[:1] - speed * p[1:]
        return jnp.where((z > 0.25) & (z < 0.5), 1.0, 0.0)

    assert bool(torn(BOX, box, 0.0)) == stands


def test_a_network_that_keeps_a_jump_of_the_data_in_place_has_no_estimate():
    """All residuals are zero at all points, and the error is 133 %."""
    found = estimated(BOX, lambda p: jnp.where((p[:1] > 0.25) & (p[:1] < 0.5), 1.0, 0.0))
    assert np.isnan(found.error)
    assert "solve the problem directly" in found.lost
