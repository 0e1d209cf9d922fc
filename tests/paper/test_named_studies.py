"""What `benchmarks.named` measures with: data that solve their equation, quantities that are conserved."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.named import conserved, fno

import safenet as sn
from safenet.backend import device_name


@pytest.fixture(scope="module", autouse=True)
def double():
    assert device_name()  # float64 is switched on with the backend


@pytest.mark.slow
def test_the_data_of_the_operator_are_solutions_of_burgers_equation():
    x = np.arange(fno.GRID) / fno.GRID
    (end,) = fno.solved(jnp.sin(2 * np.pi * x)[None], 200)
    sol = sn.solve(sn.loads(fno.BURGERS), monitor=sn.Monitor())
    assert np.abs(end - sol(x=x, t=np.ones_like(x))).max() < 1e-8


def test_initial_values_have_the_covariance_of_the_operators_benchmark():
    """⟨|û_k|²⟩ = 625/(4π²k² + 25)², for the mean of a ring of length 1 and for its first waves."""
    power = np.mean(np.abs(np.fft.rfft(fno.initial(4000, jax.random.key(0)), norm="forward")) ** 2, axis=0)
    k = np.arange(4)
    assert power[:4] == pytest.approx(625 / (4 * np.pi**2 * k**2 + 25) ** 2, rel=0.1)


def test_the_energy_of_waves_is_conserved_and_that_of_damped_ones_is_not():
    (energy,) = conserved.cases()["wave, energy"]

    def exact(point, damping=0.0):
        x, t = point
        return jnp.array([jnp.exp(-damping * t) * jnp.sin(jnp.pi * x) * jnp.cos(2 * jnp.pi * t)])  # c = 2

    assert np.abs(energy(exact)).max() < 1e-12
    lost = energy(lambda point: exact(point, 0.5))
    assert lost[-1] == pytest.approx(np.exp(-1.0) - 1, abs=0.02)


def test_what_is_dissipated_is_integrated_to_rounding():
    """u = e^(−νπt) sin πx loses ∫∫ (ν/π) u_x² of its energy."""
    (energy,) = conserved.cases()["burgers nu=0.1, energy"]

    def decaying(point):
        x, t = point
        return jnp.array([jnp.exp(-0.1 * jnp.pi * t) * jnp.sin(jnp.pi * x)])

    assert np.abs(energy(decaying)).max() < 1e-12


@pytest.mark.slow
def test_the_operator_learns_and_is_the_same_on_every_grid():
    u = fno.initial(40, jax.random.key(2))[:, ::16]
    before = fno.relative(fno.Operator(jax.random.key(1)), u, u)
    with jax.numpy_dtype_promotion("standard"):  # Optax's own
        operator = fno.trained(u, u, 30, jax.random.key(1))
    assert fno.relative(operator, u, u) < 0.5 * before
    smooth = [jnp.sin(2 * np.pi * np.arange(n) / n) for n in (64, 256)]
    coarse, fine = (operator(one) for one in smooth)
    assert jnp.abs(coarse - fine[::4]).max() < 0.02 * jnp.abs(coarse).max()
