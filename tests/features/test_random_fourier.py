"""[cos 2πBv, sin 2πBv] written out; the deviation of B per axis; B is no parameter and does not move."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet import library
from safenet.features import UnitBox, random_fourier
from safenet.measure.points import sample
from safenet.networks import METHODS, build
from safenet.networks.perceptron import trainable
from safenet.train.objective import physics_loss
from safenet.train.optimisers.adam import Adam

HEAT = library.problem("heat2d")
KEY = jax.random.key(8)


def test_values_are_the_printed_waves():
    features = random_fourier(HEAT, 10, 2.0, 0.5, key=KEY, dtype=jnp.float64)
    point = np.array([0.3, 0.8, 4.1])
    phase = 2 * np.pi * np.asarray(features.B.array) @ point
    assert features.size == 10
    np.testing.assert_allclose(
        features(jnp.asarray(point)), np.concatenate([np.cos(phase), np.sin(phase)]), atol=1e-13
    )


def test_inputs_may_be_scaled_to_the_box():
    box = UnitBox((0.0, 0.0, 0.0), (1.0, 1.0, 5.0))
    plain, scaled = (random_fourier(HEAT, 6, 1.0, 1.0, i, key=KEY, dtype=jnp.float64) for i in (None, box))
    np.testing.assert_allclose(
        scaled(jnp.array([0.3, 0.8, 5.0])), plain(jnp.array([0.3, 0.8, 1.0])), atol=1e-14
    )


def test_frequencies_have_the_deviation_of_their_axis():
    features = random_fourier(HEAT, 8192, 200.0, 10.0, key=KEY, dtype=jnp.float64)
    B = np.asarray(features.B.array)
    # Five standard errors of a deviation: 5/√(2·4096) is 5.5 %.
    np.testing.assert_allclose(B.std(axis=0), [200, 200, 10], rtol=0.055)
    assert (np.abs(B.mean(axis=0)) < 5 * B.std(axis=0) / np.sqrt(4096)).all()


@pytest.mark.parametrize("name", ["rff", pytest.param("rff-tuned", marks=pytest.mark.slow)])
def test_the_matrix_does_not_move_while_the_layers_do(name):
    wave = library.wave()
    network = build(wave, METHODS[name], key=KEY)
    assert trainable(network).features.B.array is None
    assert network.parameters == 50 * 128 + 50 + 3 * 2550 + 51
    loss, theta = physics_loss(wave, network, sample(wave, 8, 2, "uniform", 0))
    phase = Adam(5, rate=0.1)
    state, _ = phase.advance(loss, phase.start(loss, theta), 5)
    after = loss.field(state.theta)
    np.testing.assert_array_equal(after.features.B.array, network.features.B.array)
    assert all(np.any(a != b) for a, b in zip(after.weights, network.weights, strict=True))


def test_the_printed_deviations_are_200_in_space_and_10_in_time():
    B = np.asarray(build(HEAT, METHODS["rff"], key=KEY).features.B.array)
    assert B.shape == (64, 3)
    assert (np.abs(B.std(axis=0) / [200, 200, 10] - 1) < 0.45).all()  # five standard errors of 64 numbers
