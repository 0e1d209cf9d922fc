"""Any optax optimiser as a phase: each is a program of its own."""

import jax.numpy as jnp
import numpy as np
import optax
from losses import Quadratic

from safenet.train.optimisers.own import Optax


def test_optimisers_that_differ_only_in_their_rate_do_not_share_a_program():
    objective, theta = Quadratic(jnp.asarray([1.0, 3.0])), jnp.asarray([2.0, -1.0])
    for rate in (1e-1, 1e-3):
        phase = Optax(optax.sgd(rate), 3)
        state, _ = phase.advance(objective, phase.start(objective, theta), 3)
        np.testing.assert_allclose(state.theta, theta * (1 - rate * objective.data) ** 3, rtol=1e-14)


def test_one_optimiser_is_compiled_once(monkeypatch):
    traced = []

    def loss(self, theta):
        traced.append("traced")
        return jnp.sum(self.data * theta**2)

    monkeypatch.setattr(Quadratic, "loss", loss)
    rule, theta, objective = optax.sgd(1e-2), jnp.ones(5), Quadratic(jnp.ones(5))
    for iterations in (2, 5):
        phase = Optax(rule, iterations)
        phase.advance(objective, phase.start(objective, theta), 2)
        traced.append(iterations)
    assert traced.index(2) > 0
    assert traced[traced.index(2) :] == [2, 5]
