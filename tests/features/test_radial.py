"""φ_i/Σφ_j against exponentials in 60 digits, where those underflow too; monomials counted and written out."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from safenet.features import Monomials, Radial, UnitBox, radial

BOX = UnitBox((-1.0, 0.0), (3.0, 0.5))
POINTS = np.array([[-1.0, 0.0], [0.2, 0.31], [3.0, 0.5], [2.9, 0.01]])


def features(count=7, sigma=1.0, dtype=jnp.float64):
    return radial(BOX, count, sigma, key=jax.random.key(4), dtype=dtype)


def quotients(network, point):
    """φ_i/Σφ_j as printed, in enough digits for any exponent."""
    with mpmath.workdps(60):
        s = [(mpmath.mpf(float(x)) - a) / (b - a) for x, a, b in zip(point, (-1, 0), (3, 0.5), strict=True)]
        phi = []
        for centre, log_sigma in zip(np.asarray(network.centres), np.asarray(network.log_sigma), strict=True):
            square = mpmath.fsum((a - mpmath.mpf(float(c))) ** 2 for a, c in zip(s, centre, strict=True))
            phi.append(mpmath.exp(-square / mpmath.exp(mpmath.mpf(float(log_sigma))) ** 2))
        return [float(value / mpmath.fsum(phi)) for value in phi]


@pytest.mark.parametrize("sigma", [1.0, 0.3, 1e-2])  # of the last, all φ are below the smallest float
def test_values_are_the_printed_quotients(sigma):
    network = features(sigma=sigma)
    for point in POINTS:
        np.testing.assert_allclose(
            network(jnp.asarray(point)), quotients(network, point), rtol=1e-9, atol=1e-300
        )


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_features_sum_to_one_near_and_far(dtype):
    network = features(128, 0.05, dtype)
    points = jnp.asarray(np.concatenate([POINTS, [[1e3, -1e3]]]), dtype)
    sums = jnp.sum(jax.vmap(network)(points), axis=1)
    np.testing.assert_allclose(sums, 1, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.slow
def test_gradients_are_finite_at_a_centre():
    network = features(5)
    centre = np.asarray(network.centres[2])
    point = jnp.asarray(np.array([-1, 0]) + np.array([4, 0.5]) * centre)
    first, second = jax.jacfwd(network)(point), jax.hessian(network)(point)
    by_parameter = jax.grad(lambda network: network(point)[2])(network)
    for leaf in jax.tree.leaves((first, second, by_parameter)):
        assert np.isfinite(leaf).all()
    step = 1e-6 * jnp.eye(2)
    differences = [(network(point + h) - network(point - h)) / 2e-6 for h in step]
    np.testing.assert_allclose(first, np.stack(differences, axis=1), rtol=1e-6, atol=1e-9)


def test_centres_are_normal_and_widths_start_equal():
    network = features(4096, 0.5)
    values = np.asarray(network.centres).ravel()
    assert abs(values.mean()) < 5 / np.sqrt(values.size)  # five standard errors
    assert abs(values.std() - 1) < 5 / np.sqrt(2 * values.size)
    np.testing.assert_allclose(network.log_sigma, np.log(0.5), rtol=1e-15)
    assert isinstance(network, Radial)
    assert network.size == 4096


@pytest.mark.parametrize(("axes", "degree", "count"), [(2, 2, 6), (3, 2, 10), (1, 3, 4), (2, 1, 3)])
def test_monomials_are_counted_by_total_degree(axes, degree, count):
    monomials = Monomials(UnitBox((0.0,) * axes, (1.0,) * axes), degree)
    assert monomials.size == count == monomials(jnp.zeros(axes)).size


def test_monomials_are_those_of_the_inputs():
    x, t = (0.2 + 1) / 4, 0.31 / 0.5
    values = Monomials(BOX, 2)(jnp.array([0.2, 0.31]))
    np.testing.assert_allclose(values, [1, x, t, x * x, x * t, t * t], rtol=1e-14)
    y = jnp.array([0.3, 0.5, 0.7])
    cube = Monomials(UnitBox((0.0,) * 3, (1.0,) * 3), 2)(y)
    np.testing.assert_allclose(cube, [1, 0.3, 0.5, 0.7, 0.09, 0.15, 0.21, 0.25, 0.35, 0.49], rtol=1e-14)
