"""[1, cos kωx, sin kωx] per axis of space: written out, periodic exactly where the symbols say so, else over twice."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet import library
from safenet.features import series
from safenet.networks import METHODS, build


@pytest.mark.parametrize(
    ("name", "periods"),
    [
        ("allen-cahn", (1, 0)),
        ("convection", (1, 0)),
        ("reaction", (2, 0)),  # only u is periodic there, and the equation does not smooth
        ("wave", (2, 0)),
        ("heat2d", (2, 2, 0)),
    ],
)
def test_periods_are_those_that_the_symbols_allow(name, periods):
    assert series(library.problem(name), 3).periods == periods


def test_values_are_the_printed_series():
    features = series(library.problem("allen-cahn"), 3)
    x, t = 0.37, 0.2
    waves = [f(k * np.pi * (x + 1)) for k in (1, 2, 3) for f in (np.cos, np.sin)]
    np.testing.assert_allclose(features(jnp.array([x, t])), [1, *waves, 2 * t - 1], atol=1e-14)
    assert features.size == 8
    twice = series(library.wave(), 2)(jnp.array([x, t]))
    waves = [f(k * np.pi * x) for k in (1, 2) for f in (np.cos, np.sin)]
    np.testing.assert_allclose(twice, [1, *waves, 2 * t - 1], atol=1e-14)


def test_each_axis_of_space_has_its_own_series():
    features = series(library.problem("heat2d"), 31)
    assert features.size == 63 + 63 + 1


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("name", ["allen-cahn", "convection"])
@pytest.mark.slow
def test_the_network_and_its_derivatives_agree_on_both_faces_to_the_bit(name, dtype):
    problem = library.problem(name)
    network = build(problem, METHODS["rba-pinn"], key=jax.random.key(1), dtype=dtype)
    axis = problem.axes[0]
    left, right = jnp.array([[axis.lo, 0.3], [axis.hi, 0.3]], dtype)
    for function in (network, jax.jacfwd(network), jax.jacfwd(jax.jacfwd(network))):
        np.testing.assert_array_equal(function(left), function(right))


def test_a_whole_period_changes_nothing_inside():
    features = series(library.problem("allen-cahn"), 4)
    points = jnp.array([[-0.7, 0.3], [0.11, 0.3], [0.999, 0.3]])
    moved = jax.vmap(features)(points + jnp.array([2.0, 0.0]))
    # x + 2 is rounded by 2e-16, and so is the phase, up to 4·π times as much.
    np.testing.assert_allclose(moved, jax.vmap(features)(points), rtol=0, atol=1e-14)
