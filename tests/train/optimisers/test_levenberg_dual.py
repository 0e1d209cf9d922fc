"""The dual (Woodbury) form of the Levenberg–Marquardt step, where there are fewer rows than parameters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_levenberg import Network, Toy, network, solve
from test_levenberg import linearised as rows_of

from safenet.measure.points import sample
from safenet.networks import build, method
from safenet.problem import loads
from safenet.train import objective as objective_module
from safenet.train.objective import physics_loss
from safenet.train.optimisers.levenberg import LevenbergMarquardt, linearised
from safenet.train.optimisers.status import Status

DECAY = loads("""
name = "decay"
unknowns = ["u"]
equations = ["u_t = -u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
""")


class Whole(Network):
    """The same network, which can hold its Jacobian whole."""

    def jacobian(self, theta):
        return jax.jacfwd(self.rows)(theta), self.rows(theta)


class Flat(Toy):
    """Rows that depend on no parameter."""

    def rows(self, theta):
        return self.data + 0 * theta


def wide():
    """40 rows for 60 parameters, by either system."""
    theta = jnp.asarray(np.random.default_rng(1).normal(size=60) * np.repeat([3, 1, 0.3], 20))
    data = jnp.sin(5 * jnp.linspace(-1, 1, 40)), jnp.asarray(1.0)
    return Network(*data), Whole(*data), theta


@pytest.mark.parametrize("damping", [1e-4, 1e-2, 1.0, 100.0])
def test_with_fewer_rows_than_parameters_the_dual_step_is_the_primal_one(damping):
    primal, dual, theta = wide()
    systems = [linearised(objective, theta) for objective in (primal, dual)]
    assert [system.gram.shape for system in systems] == [(60, 60), (40, 40)]
    steps = [system.step(jnp.asarray(damping)) / system.scale for system in systems]
    np.testing.assert_allclose(steps[1], steps[0], rtol=0, atol=1e-10 * float(jnp.max(jnp.abs(steps[0]))))
    np.testing.assert_allclose(*(system.gradient for system in systems), rtol=1e-10, atol=1e-12)


def test_the_system_is_chosen_by_size():
    tall, theta = network()
    whole = Whole(tall.data, tall.scale)
    assert linearised(whole, theta).gram.shape == (30, 30)
    assert linearised(whole, theta).rows is None


def test_the_dual_system_fits_a_network_and_a_run_splits_anywhere():
    _, dual, theta = wide()
    phase = LevenbergMarquardt(60)
    end = solve(phase, dual, theta)
    assert float(end.total) < 1e-7 * float(dual(theta)[0])
    split = phase.start(dual, theta)
    for chunk in (3, 0, 14, 100):
        split, _ = phase.advance(dual, split, chunk)
    assert all(np.array_equal(*pair) for pair in zip(*map(jax.tree.leaves, (split, end)), strict=True))


def test_the_whole_jacobian_of_a_physics_loss_is_that_of_its_rows(monkeypatch):
    monkeypatch.setattr(objective_module, "CHUNK", 3)  # 7 points: three blocks, the last one filled up
    chosen = build(DECAY, method("safe-net", features=8, width=3), key=jax.random.key(0))
    loss, theta = physics_loss(DECAY, chosen, sample(DECAY, 7, 4, "uniform", seed=1))
    J, r = rows_of(loss, theta)
    assert J.shape[0] < J.shape[1]
    dual, (whole, residual), (gram, gradient, _) = eqx.filter_jit(
        lambda loss, theta: (linearised(loss, theta), loss.jacobian(theta), loss.normal_equations(theta))
    )(loss, theta)
    np.testing.assert_allclose(whole, J, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(residual, r, rtol=1e-12, atol=1e-13)
    assert dual.gram.shape == (J.shape[0], J.shape[0])
    primal = np.linalg.solve(gram + 0.1 * np.diag(np.asarray(dual.scale) ** 2), -np.asarray(gradient))
    step = np.asarray(dual.step(jnp.asarray(0.1)) / dual.scale)
    np.testing.assert_allclose(step, primal, rtol=0, atol=1e-10 * np.abs(primal).max())


def test_rows_that_nothing_moves_are_stationary():
    state = solve(LevenbergMarquardt(10), Flat(jnp.ones(2)), jnp.ones(2))
    assert Status(int(state.status)) is Status.GRADIENT
