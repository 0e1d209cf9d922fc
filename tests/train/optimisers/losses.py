"""Losses that an optimiser is tried on, and how."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from safenet.run.checkpoint import fill, leaves
from safenet.train.optimisers.status import Status


class Toy(eqx.Module):
    data: jax.Array

    def loss(self, theta):
        raise NotImplementedError

    def __call__(self, theta):
        total = self.loss(theta)
        return total, jnp.stack([total, 2 * total])

    def rows(self, theta):
        raise NotImplementedError

    def normal_equations(self, theta):
        raise NotImplementedError


class Quadratic(Toy):
    def loss(self, theta):
        return jnp.sum(self.data * theta**2) / 2


class Rosenbrock(Toy):
    def loss(self, theta):
        return jnp.sum(100 * (theta[1:] - theta[:-1] ** 2) ** 2 + (1 - theta[:-1]) ** 2)


class Network(Toy):
    """−u'' = π² sin πx on [−1, 1], u(±1) = 0, for a tanh network: the kind of loss this is meant for."""

    def u(self, theta, x):
        w_1, b_1, w_2, b_2, w_3 = jnp.split(theta, [10, 20, 120, 130])
        return w_3 @ jnp.tanh(w_2.reshape(10, 10) @ jnp.tanh(w_1 * x + b_1) + b_2)

    def loss(self, theta):
        u_xx = jax.vmap(jax.grad(jax.grad(self.u, 1), 1), (None, 0))(theta, self.data)
        residual = u_xx + jnp.pi**2 * jnp.sin(jnp.pi * self.data)
        ends = jnp.stack([self.u(theta, jnp.asarray(end, theta.dtype)) for end in (-1.0, 1.0)])
        return jnp.mean(residual**2) / 2 + 50 * jnp.sum(ends**2)


class Barrier(Toy):
    """−log(1 − x) + x²/2 − 3x: infinite beyond 1, so that the first steps overshoot into NaN."""

    def loss(self, theta):
        return jnp.sum(theta**2 / 2 - 3 * theta - jnp.log(1 - theta) * self.data)


@jax.custom_jvp
def uphill(theta):
    return jnp.sum(theta**2)


@uphill.defjvp
def _(primals, tangents):
    return uphill(primals[0]), -2 * primals[0] @ tangents[0]


@eqx.filter_jit
def gradient(objective, theta):
    return jax.grad(lambda t: objective(t)[0])(theta)


def solve(phase, objective, theta, chunk=500):
    state = phase.start(objective, theta)
    while int(state.status) == Status.RUNNING:
        state, _ = phase.advance(objective, state, chunk)
    return state


def rosenbrock(p):
    return Rosenbrock(jnp.zeros(0)), jnp.asarray(np.resize([-1.2, 1.0], p))


def network(seed=0):
    theta = np.random.default_rng(seed).normal(size=140) * np.repeat([1, 0.5, 0.3], [10, 10, 120])
    return Network(jnp.linspace(-1, 1, 64)), jnp.asarray(theta)


class Only(Toy):
    """Finite at one theta, NaN everywhere else."""

    def loss(self, theta):
        return jnp.sum(theta) + jnp.where(jnp.all(theta == self.data), 0, jnp.nan)


class Liar(Toy):
    """theta² with the sign of its gradient wrong: no step can lower it."""

    def loss(self, theta):
        return uphill(theta)


@eqx.filter_jit
def value(objective, theta):
    return objective.loss(theta)


def assert_the_same_split(phase, objective, theta, counts):
    """A whole run, and one in pieces that goes through a file after each: the same bits in state and trace."""
    whole, rows = phase.advance(objective, phase.start(objective, theta), phase.iterations)
    state, pieces = phase.start(objective, theta), []
    for count in counts:
        state, trace = phase.advance(objective, state, count)
        pieces.append(trace.terms[: int(trace.length)])
        saved = {name: np.asarray(leaf) for name, leaf in leaves(state).items()}
        state = fill(phase.start(objective, theta), saved)
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(state), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(np.concatenate(pieces), rows.terms[: phase.iterations])
    assert Status(int(state.status)) is Status.FINISHED


def singly(phase, objective, theta):
    """The states after each accepted step, one call each."""
    states = [phase.start(objective, theta)]
    while int(states[-1].status) == Status.RUNNING:
        state, trace = phase.advance(objective, states[-1], 1)
        if int(trace.length):
            states.append(state)
        else:
            break
    return states
