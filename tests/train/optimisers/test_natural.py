"""The natural gradient against what defines it: the best approximation of −r in function space, by either system."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from losses import assert_the_same_split
from test_levenberg import network, solve
from test_levenberg_dual import wide

from safenet.errors import SafeNetError
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.lbfgs import LBFGS
from safenet.train.optimisers.natural import NaturalGradient
from safenet.train.optimisers.status import Status


class Linear(eqx.Module):
    """½‖A θ − b‖²: what one step solves."""

    A: Array
    b: Array

    def rows(self, theta):
        return self.A @ theta - self.b

    def __call__(self, theta):
        total = jnp.sum(self.rows(theta) ** 2) / 2
        return total, total[None]

    def normal_equations(self, theta):
        r = self.rows(theta)
        return self.A.T @ self.A, self.A.T @ r, jnp.sum(r**2) / 2


def stepped(phase, objective, theta):
    return phase.advance(objective, phase.start(objective, theta), 1)[0]


def test_linear_residuals_are_solved_in_one_step():
    random = np.random.default_rng(0)
    A, b = random.normal(size=(12, 5)), random.normal(size=12)
    expected, *_ = np.linalg.lstsq(A, b, rcond=None)
    objective = Linear(jnp.asarray(A), jnp.asarray(b))
    after = stepped(NaturalGradient(3), objective, jnp.zeros(5))
    np.testing.assert_allclose(after.theta, expected, rtol=1e-9)


def test_the_step_points_to_the_best_approximation_in_function_space():
    objective, theta = network()
    J, r = np.asarray(jax.jacobian(objective.rows)(theta)), np.asarray(objective.rows(theta))
    best = J @ np.linalg.lstsq(J, -r, rcond=1e-8)[0]
    after = stepped(NaturalGradient(1, damping=1e-14), objective, theta)
    ours = J @ np.asarray(after.theta - theta)
    assert ours @ best / np.linalg.norm(ours) / np.linalg.norm(best) > 0.999
    assert float(after.total) < float(objective(theta)[0])


def test_with_fewer_rows_than_parameters_the_kernel_of_the_rows_gives_the_same_step():
    primal, dual, theta = wide()
    steps = [
        stepped(NaturalGradient(1, damping=1e-6), objective, theta).theta - theta
        for objective in (primal, dual)
    ]
    np.testing.assert_allclose(steps[1], steps[0], rtol=0, atol=1e-7 * float(jnp.max(jnp.abs(steps[0]))))


def test_a_network_is_trained_in_fewer_steps_than_by_lbfgs():
    objective, theta = network()
    starts = [solve(Adam(steps, rate=1e-2), objective, theta).theta for steps in (100, 200, 300, 400, 500)]
    # From each of them: with one direction, it crawled along a valley from two of five.
    own, others = (
        [float(solve(phase, objective, start).total) for start in starts]
        for phase in (NaturalGradient(60), LBFGS(60, tolerance=0.0))
    )
    assert max(own) < 1e-2 * min(others)


def test_splitting_a_run_anywhere_gives_the_same_bits():
    assert_the_same_split(NaturalGradient(12), *network(), (1, 4, 0, 20))


def test_what_cannot_be_run_is_refused_and_a_minimum_ends_it():
    with pytest.raises(SafeNetError, match="float64"):
        NaturalGradient(10).start(network()[0], jnp.ones(2, jnp.float32))
    phase = NaturalGradient(100, damping=1e-9)
    assert NaturalGradient(**json.loads(json.dumps(dataclasses.asdict(phase)))) == phase
    solved = Linear(jnp.eye(3), jnp.ones(3))
    state = solve(phase, solved, jnp.zeros(3))
    assert Status(int(state.status)) in (Status.NO_STEP, Status.GRADIENT)
    np.testing.assert_allclose(state.theta, 1, rtol=1e-9)
