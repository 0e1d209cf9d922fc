"""u(x, 0) ↦ u(x, 1) for Burgers' equation, ν = 0.1, on a ring: a Fourier neural operator (Li et al., 2021).

v ↦ σ(W v + F⁻¹(R_k · (F v)_k, |k| ≤ 16)), four times, 64 channels, Adam at 1e-3 halved every 100 epochs: its authors'
settings, with their initial values N(0, 625 (−Δ + 25)^−2). The data are our own, by the time steps of `sn.Fourier` on
1,024 points, for all samples at once. Errors are measured on samples that it was not trained on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

import safenet as sn
from safenet.direct.steps.exponential import Evolution
from safenet.direct.steps.waves import Waves

GRID, STEPS = 1024, 512
BURGERS = """
name = "burgers-ring"
unknowns = ["u"]
equations = ["u_t + u*u_x = u_xx/10"]
conditions = ["u(x, 0) = sin(2*pi*x)"]
periodic = ["x"]
domain = { x = [0, 1], t = [0, 1] }
"""
WIDTH, MODES, DEPTH = 64, 16, 4
TRAINED, TESTED, BATCH = 1000, 200, 20
# The authors use 500; on a GPU: SAFENET_FNO_EPOCHS=500 python -m benchmarks.named fno
EPOCHS = int(os.environ.get("SAFENET_FNO_EPOCHS", "20"))
RESOLUTIONS = (256, 512, 1024)


def initial(count: int, key: Array) -> Float[Array, "count grid"]:
    """Samples of N(0, 625 (−Δ + 25)^−2) on the ring of length 1: √λ_k = 25/(4π²k² + 25) in an orthonormal basis."""
    k = np.arange(1.0, GRID // 2)
    deviation = np.sqrt(2) * 25 / (4 * np.pi**2 * k**2 + 25)
    a, b = jax.random.normal(key, (2, count, len(k))) * deviation
    spectrum = (
        jnp.zeros((count, GRID // 2 + 1), complex).at[:, 1 : GRID // 2].set(jax.lax.complex(a, -b) / 2 * GRID)
    )
    mean = jax.random.normal(jax.random.fold_in(key, 1), (count,))
    return jnp.fft.irfft(spectrum.at[:, 0].set(jax.lax.complex(mean, 0 * mean) * GRID), n=GRID)


def solved(start: Float[Array, "count grid"], steps: int) -> Float[Array, "count grid"]:
    """u(·, 1) of every sample, by the time steps of `sn.Fourier`."""
    problem = sn.loads(BURGERS)
    waves = Waves(problem.axes[:-1], (("periodic",),), ((GRID - 1) // 3,))
    evolution, h = Evolution(problem, waves, jnp), 1 / steps

    def one(u: Float[Array, " grid"]) -> Float[Array, " grid"]:
        def step(k: Any, y: Any) -> Any:
            return evolution.step(k * h, y, h, evolution.rest(k * h, y))

        return waves.backward(jax.lax.fori_loop(0, steps, step, waves.forward(u[None], jnp)), jnp)[0]

    found: Float[Array, "count grid"] = jax.jit(jax.vmap(one))(start)
    return found


class Layer(eqx.Module):
    """W v + b + F⁻¹(R · F v) on the lowest modes."""

    weight: eqx.nn.Linear
    modes: Float[Array, "two k width width"]

    def __init__(self, key: Array) -> None:
        first, second = jax.random.split(key)
        self.weight = eqx.nn.Linear(WIDTH, WIDTH, key=first)
        self.modes = jax.random.uniform(second, (2, MODES, WIDTH, WIDTH)) / WIDTH**2

    def __call__(self, v: Float[Array, "n width"]) -> Float[Array, "n width"]:
        low = jnp.fft.rfft(v, axis=0)[:MODES]
        turned = jnp.einsum("ki,kio->ko", low, jax.lax.complex(*self.modes))
        return jax.vmap(self.weight)(v) + jnp.fft.irfft(turned, n=len(v), axis=0)


class Operator(eqx.Module):
    """(u, x) → 64 channels → four layers → u at the end."""

    lift: eqx.nn.Linear
    layers: list[Layer]
    out: eqx.nn.MLP

    def __init__(self, key: Array) -> None:
        first, last, *keys = jax.random.split(key, DEPTH + 2)
        self.lift = eqx.nn.Linear(2, WIDTH, key=first)
        self.layers = [Layer(key) for key in keys]
        self.out = eqx.nn.MLP(WIDTH, 1, 128, 1, jax.nn.relu, key=last)

    def __call__(self, u: Float[Array, " n"]) -> Float[Array, " n"]:
        x = jnp.asarray(np.arange(len(u)) / len(u), u.dtype)
        v = jax.vmap(self.lift)(jnp.stack([u, x], axis=1))
        for layer in self.layers[:-1]:
            v = jax.nn.relu(layer(v))
        return jax.vmap(self.out)(self.layers[-1](v))[:, 0]


def relative(operator: Operator, u: Array, end: Array) -> Float[Array, ""]:
    """The mean over samples of ‖error‖/‖u(·, 1)‖: both the loss and the reported error."""
    error = jax.vmap(operator)(u) - end
    return jnp.mean(jnp.linalg.norm(error, axis=1) / jnp.linalg.norm(end, axis=1))


def trained(u: Array, end: Array, epochs: int, key: Array) -> Operator:
    operator = jax.tree.map(lambda leaf: leaf.astype(u.dtype) if eqx.is_array(leaf) else leaf, Operator(key))
    per_epoch = len(u) // BATCH
    # Halved every fifth of the training, as the authors do over 500 epochs.
    rate = optax.exponential_decay(1e-3, max(1, per_epoch * epochs // 5), 0.5, staircase=True)
    optimiser = optax.adamw(rate, weight_decay=1e-4)

    @eqx.filter_jit
    def epoch(operator: Operator, state: Any, key: Array) -> Any:
        numbers, rest = eqx.partition(operator, eqx.is_array)

        def step(carry: Any, chosen: Array) -> Any:
            numbers, state = carry

            def loss(numbers: Any) -> Array:
                return relative(eqx.combine(numbers, rest), u[chosen], end[chosen])

            updates, state = optimiser.update(jax.grad(loss)(numbers), state, numbers)
            return (optax.apply_updates(numbers, updates), state), None

        order = jax.random.permutation(key, len(u))[: per_epoch * BATCH].reshape(per_epoch, BATCH)
        (numbers, state), _ = jax.lax.scan(step, (numbers, state), order)
        return eqx.combine(numbers, rest), state

    state = optimiser.init(eqx.filter(operator, eqx.is_array))
    for number in range(epochs):
        operator, state = epoch(operator, state, jax.random.fold_in(key, number))
    return operator


def study() -> Iterator[tuple[str, dict[str, Any]]]:
    """Train and test at each resolution; test the one trained on the coarsest grid also on the finest."""
    began = time.monotonic()
    start = initial(TRAINED + TESTED, jax.random.key(0))
    end = solved(start, STEPS)
    finer = solved(start[:8], 2 * STEPS)
    error = float(jnp.linalg.norm(finer - end[:8]) / jnp.linalg.norm(finer))
    yield (
        "FNO, its data",
        {"samples": len(start), "error": error, "seconds": round(time.monotonic() - began, 1)},
    )
    for size in RESOLUTIONS if jax.default_backend() != "cpu" else RESOLUTIONS[:1]:
        u, v = (jnp.asarray(values[:, :: GRID // size], jnp.float32) for values in (start, end))
        began = time.monotonic()
        operator = trained(u[:TRAINED], v[:TRAINED], EPOCHS, jax.random.key(1))
        error = float(relative(operator, u[TRAINED:], v[TRAINED:]))
        count = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(operator, eqx.is_array)))
        told = {"error": error, "epochs": EPOCHS, "parameters": count}
        yield f"FNO, s = {size}", {**told, "seconds": round(time.monotonic() - began, 1)}
        if size == RESOLUTIONS[0]:
            fine = (jnp.asarray(values[TRAINED:], jnp.float32) for values in (start, end))
            yield f"FNO, trained on {size}, tested on {GRID}", {"error": float(relative(operator, *fine))}
