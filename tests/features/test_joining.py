"""`+` joins feature maps; coordinates are scaled to [−1, 1]; normalisations equal their printed formulas."""

import equinox as eqx
import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from safenet import library
from safenet.features import (
    BatchNormalised,
    Coordinates,
    Joined,
    PointNormalised,
    Scaled,
    UnitBox,
    Unscaled,
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


def test_the_unit_box_hits_its_faces_exactly_and_unscaled_coordinates_stay():
    lower, upper = (0.1, -1.0), (0.7, 2.0)
    for dtype in (jnp.float32, jnp.float64):
        faces = jax.vmap(UnitBox(lower, upper))(jnp.array([lower, upper], dtype))
        np.testing.assert_array_equal(faces, [[0, 0], [1, 1]])
    np.testing.assert_array_equal(Unscaled(lower, upper)(POINT), POINT)
    assert Unscaled(lower, upper).size == UnitBox(lower, upper).size == 2


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
    assert float(gradient.scale.array) == 0
    assert np.abs(np.asarray(gradient.inner.omega)).max() > 0


def test_without_normalisation_the_features_are_untouched():
    inner = fourier()
    assert normalised(inner, "none", WAVE, jnp.float64) is inner


def test_batch_normalisation_is_the_printed_formula_over_a_sample_of_the_box():
    problem = library.convection()  # a box that is not the unit square
    inner = fourier_products(problem, 8, "box", "decay", key=jax.random.key(1), dtype=jnp.float64)
    features = normalised(inner, "batch", problem, jnp.float64, 100)
    assert isinstance(features, BatchNormalised)
    sample = np.asarray(features.sample.array)
    assert sample.shape == (100, 2)
    assert sample.min() >= 0
    assert (sample.max(axis=0) <= [2 * np.pi, 1]).all()
    # Where x and t start at 0: φ = ℓ⁻² {sc, cs, ss, cc}, written out.
    omega, c = np.asarray(inner.omega), np.asarray(inner.amplitude)

    def phi(x, t):
        sin, cos = np.sin(omega * [x, t]), np.cos(omega * [x, t])
        products = [
            sin[:, 0] * cos[:, 1],
            cos[:, 0] * sin[:, 1],
            sin[:, 0] * sin[:, 1],
            cos[:, 0] * cos[:, 1],
        ]
        return (c * np.stack(products, axis=1)).ravel()

    batch = np.array([phi(*point) for point in sample])
    norm = np.sqrt(np.sum((batch - batch.mean(axis=0)) ** 2, axis=0))
    expected = (phi(2.0, 0.3) - batch.mean(axis=0)) / (norm + 1e-3)
    np.testing.assert_allclose(features(jnp.array([2.0, 0.3])), expected, rtol=1e-12, atol=1e-14)


def test_global_normalisation_has_one_mean_and_one_norm_for_the_whole_sample():
    inner = fourier() + domain_features(WAVE)
    features = normalised(inner, "global", WAVE, jnp.float64, 50)
    batch = np.asarray(jax.vmap(inner)(features.sample.array))
    centred = batch - batch.mean()
    expected = (np.asarray(inner(POINT)) - batch.mean()) / (np.sqrt((centred**2).sum()) + 1e-3)
    np.testing.assert_allclose(features(POINT), expected, rtol=1e-12, atol=1e-15)


def test_batch_normalised_features_have_mean_zero_and_norm_one_on_their_sample():
    features = normalised(fourier(), "batch", WAVE, jnp.float64, 64)
    values = np.asarray(jax.vmap(features)(features.sample.array))
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-15)
    norms = np.linalg.norm(values, axis=0)
    assert (norms < 1).all()
    assert (norms > 0.99).all()  # but for the 10⁻³


def test_a_constant_feature_is_normalised_to_zero_with_a_finite_gradient():
    still = jax.tree.map(jnp.zeros_like, fourier())  # all features are 0 everywhere
    for how in ("point", "batch", "global"):
        features = normalised(still, how, WAVE, jnp.float64, 16)
        gradient = eqx.filter_jit(jax.grad(lambda features: jnp.sum(features(POINT))))(features)
        assert not np.any(eqx.filter_jit(features)(POINT))
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


def test_statistics_of_the_batch_follow_the_features_and_not_the_sample():
    features = normalised(fourier(), "batch", WAVE, jnp.float64, 32)
    gradient = jax.grad(lambda features: jnp.sum(features(POINT) ** 2))(features)
    assert not np.any(gradient.sample.array)
    # Every amplitude cancels in φ/‖φ‖ but for ε, which is below a hundredth of the norms.
    bare = jax.grad(lambda features: jnp.sum(features(POINT) ** 2))(features.inner)
    assert np.abs(gradient.inner.amplitude).max() < 1e-2 * np.abs(bare.amplitude).max()
