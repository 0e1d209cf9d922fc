"""Variable projection against finite differences and dense least squares; frequencies that no initial set has."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import safenet as sn
from safenet.errors import SafeNetError
from safenet.measure.heldout import held_out
from safenet.measure.points import sample
from safenet.networks import build, method
from safenet.train.objective import physics_loss
from safenet.train.optimisers.varpro import Projected, VariableProjection, last_layer
from safenet.train.solver import Train

# u = sin(2.7 (x − 2t)): no harmonic of the box.
CONVECTION = sn.loads("""
name = "convection"
unknowns = ["u"]
equations = ["u_t + 2*u_x = 0"]
conditions = ["u(x, 0) = sin(27*x/10)", "u(0, t) = -sin(54*t/10)"]
domain = { x = [0, 1], t = [0, 1] }
exact = { u = "sin(27*x/10 - 54*t/10)" }
""")
# u = sin(5t), between the second and the third half-wave of the box, within reach of two frequencies.
OSCILLATOR = sn.loads("""
name = "oscillator"
unknowns = ["u"]
equations = ["u_tt = -25*u"]
conditions = ["u(0) = 0", "u_t(0) = 5"]
domain = { t = [0, 1] }
""")


class Exponentials(eqx.Module):
    """a e^(−bx) + c e^(−dx) − data, with theta = (b, a, d, c): linear in two of the four, scattered."""

    data: jax.Array

    def rows(self, theta):
        b, a, d, c = theta
        x = jnp.linspace(0, 4, 50)
        return a * jnp.exp(-b * x) + c * jnp.exp(-d * x) - self.data

    def jacobian(self, theta):
        return jax.jacfwd(self.rows)(theta), self.rows(theta)

    def __call__(self, theta):
        total = jnp.sum(self.rows(theta) ** 2) / 2
        return total, total[None]


def exponentials(noise):
    x = np.linspace(0, 4, 50)
    exact = 2 * np.exp(-0.5 * x) + np.exp(-3 * x)
    data = exact + noise * np.random.default_rng(0).normal(size=50)
    return Projected(Exponentials(jnp.asarray(data)), jnp.asarray([1, 3], jnp.int32))


def differences(function, theta, step=1e-6):
    """∂function/∂(b, d), central."""
    b, d = (step * jnp.eye(4)[i] for i in (0, 2))
    return np.stack([(function(theta + e) - function(theta - e)) / (2 * step) for e in (b, d)], axis=-1)


def test_the_amplitudes_are_the_least_squares_ones_whatever_they_were():
    projected = exponentials(noise=0.3)
    found = [projected.solved(jnp.asarray([0.7, a, 2.0, c])) for a, c in ((1.0, 1.0), (-1e3, 7.0))]
    assert np.array_equal(*found)
    x = np.linspace(0, 4, 50)
    A = np.stack([np.exp(-0.7 * x), np.exp(-2.0 * x)], axis=1)
    np.testing.assert_allclose(
        found[0][jnp.asarray([1, 3])], np.linalg.lstsq(A, projected.inner.data)[0], rtol=1e-12
    )
    assert np.array_equal(found[0][jnp.asarray([0, 2])], [0.7, 2.0])


def test_the_gradient_of_the_projected_loss_is_exact_with_kaufmans_jacobian():
    projected, theta = exponentials(noise=0.3), jnp.asarray([0.7, 0.0, 2.0, 0.0])
    _, gradient, total = projected.normal_equations(theta)
    expected = differences(lambda theta: projected(theta)[0], theta)
    np.testing.assert_allclose(gradient[jnp.asarray([0, 2])], expected, rtol=1e-7)
    assert np.array_equal(gradient[projected.linear], [0, 0])
    np.testing.assert_allclose(total, projected(theta)[0], rtol=1e-13)
    by_grad = jax.grad(lambda theta: projected(theta)[0])(theta)
    np.testing.assert_allclose(by_grad, gradient, rtol=1e-9, atol=1e-12)


def test_kaufmans_jacobian_is_that_of_the_projected_rows_where_these_vanish():
    projected, theta = exponentials(noise=0.0), jnp.asarray([0.5, 0.0, 3.0, 0.0])
    J, r = projected.projected(projected.solved(theta))
    np.testing.assert_allclose(r, 0, atol=1e-14)
    np.testing.assert_allclose(J[:, [0, 2]], differences(projected.rows, theta), atol=1e-8)
    assert np.abs(J[:, [0, 2]]).max() > 0.1
    # Where they do not, the part that is left out is no larger than they are.
    projected = exponentials(noise=0.01)
    J, r = projected.projected(projected.solved(theta))
    left_out = np.abs(J[:, [0, 2]] - differences(projected.rows, theta)).max()
    assert 1e-6 < left_out < np.linalg.norm(r)


@pytest.mark.parametrize("depth", [0, 2])
def test_the_last_layer_is_found_in_a_network_of_any_depth(depth):
    network = build(CONVECTION, method("pinn", width=3, depth=depth), key=jax.random.key(0))
    theta, unravel = ravel_pytree(network)
    where, point = last_layer(network), jnp.asarray([0.3, 0.4])
    assert where.size == (3 if depth else 2) + 1
    np.testing.assert_allclose(unravel(theta.at[where].multiply(2.0))(point), 2 * network(point), rtol=1e-12)


@pytest.mark.slow
def test_frequencies_that_train_beat_frozen_ones_and_splitting_the_run_changes_no_bit():
    network = build(OSCILLATOR, method("safe-net", features=4, depth=0, domain=False), key=jax.random.key(0))
    loss, theta = physics_loss(OSCILLATOR, network, sample(OSCILLATOR, 60, 1, "sobol", 0))
    phase = VariableProjection(12)
    state = start = phase.start(loss, theta)
    whole, rows = phase.advance(loss, state, 12)
    for count in (1, 0, 2, 20):
        state, _ = phase.advance(loss, state, count)
    assert all(np.array_equal(*pair) for pair in zip(*map(jax.tree.leaves, (whole, state)), strict=True))
    assert (np.diff(rows.terms[: int(rows.length), 0]) < 0).all()
    # The first state has the best amplitudes for frequencies that stay as they are.
    frozen, trained = (held_out(OSCILLATOR, loss.field(s.theta)).worst for s in (start, whole))
    assert frozen > 1e-3
    assert trained < 1e-9 * frozen


@pytest.mark.slow
def test_the_recipe_finds_the_frequencies_of_the_data():
    options = {"features": 16, "domain": False, "points": 200, "condition_points": 40}
    solution = sn.solve(CONVECTION, sn.Train("safe-net", "variable-projection", **options))
    assert solution.result.l2re < 1e-12
    assert solution.result.residual < 1e-12
    assert (
        solution.result.parameters == 41
    )  # 4 · 2 frequencies, 16 amplitudes of the features, 16 + 1 of the layer
    omega = np.abs(np.asarray(solution.field.features.inner.omega))
    assert np.any(np.abs(omega - [2.7, 5.4]).max(axis=1) < 1e-6)


def test_what_is_not_linear_is_refused_with_a_remedy():
    with pytest.raises(SafeNetError, match=r"variable-projection is for linear problems.*\n.*another recipe"):
        Train("safe-net", "variable-projection").plan(sn.library.problem("burgers"))
    plan = Train("safe-net", "variable-projection", features=16).plan(CONVECTION)
    assert (plan.network.depth, plan.network.features) == (0, 16)
    assert Train("safe-net", "variable-projection", depth=1).plan(CONVECTION).network.depth == 1
