"""`+` joins feature maps; coordinates are scaled to [−1, 1]; normalisations equal their printed formulas."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from safenet import library
from safenet.features import (
    Coordinates,
    Joined,
    PointNormalised,
    Scaled,
    domain_features,
    fourier_products,
    normalised,
)

WAVE = library.wave()
POINT = jnp.array([0.3, 0.8])


def fourier(amplitudes="gaussian"):
    return fourier_products(WAVE, 16, "harmonic", amplitudes, key=jax.random.key(1), dtype=jnp.float64)


def test_joining_concatenates_in_order_and_does_not_nest():
    parts = fourier(), domain_features(WAVE), Coordinates((0.0, 0.0), (1.0, 1.0))
    left, right = (parts[0] + parts[1]) + parts[2], parts[0] + (parts[1] + parts[2])
    assert isinstance(left, Joined)
    assert left.parts == right.parts == parts
    assert left.size == 16 + 2 + 2
    np.testing.assert_array_equal(left(POINT), np.concatenate([part(POINT) for part in parts]))


def test_coordinates_map_the_box_to_the_unit_cube():
    coordinates = Coordinates((-1.0, 2.0), (3.0, 2.5))
    corners = jnp.array([[-1.0, 2.0], [3.0, 2.5], [1.0, 2.125]])
    np.testing.assert_array_equal(jax.vmap(coordinates)(corners), [[-1, -1], [1, 1], [0, -0.5]])


def test_point_normalisation_is_the_printed_formula():
    inner = fourier() + domain_features(WAVE)
    v = [mpmath.mpf(float(value)) for value in inner(POINT)]
    mean = mpmath.fsum(v) / len(v)
    norm = mpmath.sqrt(mpmath.fsum((value - mean) ** 2 for value in v))
    expected = [float((value - mean) / (norm + mpmath.mpf("1e-3"))) for value in v]
    np.testing.assert_allclose(PointNormalised(inner)(POINT), expected, rtol=1e-13)


def test_fixed_scale_makes_the_mean_square_over_the_box_one():
    problem = library.convection()  # a box that is not the unit square
    inner = fourier_products(problem, 16, "box", "decay", key=jax.random.key(1), dtype=jnp.float64)
    scaled = normalised(inner, "fixed", problem, jnp.float64)
    assert isinstance(scaled, Scaled)
    z, w = np.polynomial.legendre.leggauss(24)
    points = np.stack([m.ravel() for m in np.meshgrid(np.pi * (z + 1), (z + 1) / 2, indexing="ij")], axis=1)
    squares = jnp.sum(jax.vmap(scaled)(jnp.asarray(points)) ** 2, axis=1)
    # 512 Sobol points against a converged quadrature: log²(512)/512 is 8 %, and in practice well below 1 %.
    assert float(np.outer(w, w).ravel() @ np.asarray(squares)) / 4 == pytest.approx(1, abs=1e-2)


def test_no_gradient_reaches_the_scale():
    scaled = normalised(fourier(), "fixed", WAVE, jnp.float64)
    gradient = jax.grad(lambda features: jnp.sum(features(POINT)))(scaled)
    assert float(gradient.scale) == 0
    assert np.abs(np.asarray(gradient.inner.omega)).max() > 0


def test_without_normalisation_the_features_are_untouched():
    inner = fourier()
    assert normalised(inner, "none", WAVE, jnp.float64) is inner
