"""Tangent kernels and Gram matrices; what the paper says about them, checked."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.analysis import FollowGram, curvature, feature_grams, field_kernel, tangent_kernels
from safenet.measure.points import sample
from safenet.networks.methods import build, method
from safenet.train.objective import physics_loss
from safenet.train.terms import term_names


@pytest.fixture(scope="module")
def wave_features():
    problem = sn.library.wave()
    return problem, build(problem, method("safe-net-literal"), key=jax.random.key(0))


def exact_gram(sets):
    """∫∫ over [0, 1]² of products of {sin, cos}(ℓπx) {sin, cos}(ℓπt), from the integrals along one axis."""
    x, w = np.polynomial.legendre.leggauss(300)
    phase = np.outer(np.arange(1, sets + 1) * np.pi, (x + 1) / 2)
    waves = {"s": np.sin(phase), "c": np.cos(phase)}
    axis = {(a, b): (waves[a] * w / 2) @ waves[b].T for a, b in itertools.product("sc", repeat=2)}
    kinds = [("s", "c"), ("c", "s"), ("s", "s"), ("c", "c")]
    return np.block([[axis[a, c] * axis[b, d] for c, d in kinds] for a, b in kinds])


def test_the_literal_features_are_not_orthonormal_their_gram_matrix_has_condition_87(wave_features):
    gram = feature_grams(*wave_features)["fourier"]
    values = np.linalg.eigvalsh(exact_gram(32))
    assert values[-1] / values[0] == pytest.approx(87.08, abs=0.01)
    np.testing.assert_allclose(gram.eigenvalues, values[::-1], atol=1e-12)
    assert gram.condition == pytest.approx(87.08, abs=0.01)
    # The prediction: squared amplitudes, all 1.
    assert gram.to_json()["predicted_condition"] == 1.0


def test_normalised_over_a_point_the_features_depend_on_each_other(wave_features):
    """(φ − mean φ)/… sums to zero at every point: one combination of the features is nothing at all."""
    gram = feature_grams(*wave_features)["features"]
    assert len(gram.matrix) == 130
    assert gram.condition == np.inf
    np.testing.assert_allclose(gram.matrix @ np.ones(130), 0, atol=1e-14)


def test_on_a_whole_period_sines_and_cosines_are_orthogonal():
    """Where the paper's argument holds: x in [0, 2], ω = ℓπ, products with distinct frequency sets."""
    text = """
name = "box"
unknowns = ["u"]
equations = ["u_t = u_xx"]
conditions = ["u(0, t) = 0", "u(2, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 2], t = [0, 2] }
"""
    problem = sn.loads(text)
    network = build(problem, method("safe-net-literal", features=32, k="1"), key=jax.random.key(0))
    gram = feature_grams(problem, network)["fourier"]
    np.testing.assert_allclose(gram.matrix, np.eye(32), atol=1e-12)
    assert gram.condition == pytest.approx(1)


def test_the_kernel_of_the_field_is_the_product_of_its_gradients():
    problem = sn.library.convection()
    network = build(problem, method("safe-net", features=16, width=4), key=jax.random.key(0))
    points = sample(problem, 200, 20, "sobol", 0)
    loss, theta = physics_loss(problem, network, points)
    kernel = field_kernel(loss, theta, jnp.asarray(points.interior))
    J = jax.jit(jax.jacobian(lambda t: jax.vmap(loss.field(t))(points.interior)[:, 0]))(theta)
    np.testing.assert_allclose(kernel.matrix, J @ J.T / 200, atol=1e-12)


def test_the_kernel_of_the_loss_has_the_eigenvalues_of_its_gauss_newton_matrix():
    problem = sn.library.convection()
    network = build(problem, method("pinn", width=6, depth=1), key=jax.random.key(3))
    loss, theta = physics_loss(problem, network, sample(problem, 50, 15, "sobol", 0))
    kernels = tangent_kernels(loss, theta, term_names(problem), points=50)
    assert list(kernels) == ["loss", *term_names(problem)]
    expected = np.linalg.eigvalsh(curvature(loss, theta, "gauss-newton").dense())[::-1]
    np.testing.assert_allclose(kernels["loss"].eigenvalues[:10], expected[:10], rtol=1e-9)
    _, vectors = np.linalg.eigh(curvature(loss, theta, "gauss-newton").dense())
    assert abs(vectors[:, -1] @ kernels["loss"].stiffest) == pytest.approx(1, abs=1e-6)
    # All of the residual is along some eigenvector; half the rows' squares sum to the loss.
    whole = kernels["loss"]
    assert whole.alignment.sum() == pytest.approx(1)
    assert np.sum(whole.residual**2) / 2 == pytest.approx(float(loss(theta)[0]))
    assert 0 < whole.effective_dimension(1e-2) < whole.effective_dimension(1e-8) <= theta.size + 1


def test_gradient_flow_forgets_the_residual_along_large_eigenvalues_first():
    """The meaning of the alignment: after a few small steps of gradient descent the rest of r is along small κ."""
    problem = sn.library.convection()
    network = build(problem, method("pinn", width=6, depth=1), key=jax.random.key(3))
    loss, theta = physics_loss(problem, network, sample(problem, 50, 15, "sobol", 0))
    names = term_names(problem)
    before = tangent_kernels(loss, theta, names, points=50)["loss"]
    gradient = jax.jit(jax.grad(lambda t: loss(t)[0]))
    for _ in range(200):
        theta = theta - 0.5 / before.eigenvalues[0] * gradient(theta)
    after = tangent_kernels(loss, theta, names, points=50)["loss"]
    assert after.alignment[0] < 0.1 * before.alignment[0]
    assert after.remaining(100) > before.remaining(100)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
def test_the_eigenvalues_are_followed_along_training():
    problem = sn.library.convection()
    follow = FollowGram(problem, every=20)
    few = sn.Train("safe-net", "paper-4", scale=0.0006, points=40, condition_points=10, features=8, width=4)
    sn.solve(problem, few, monitor=follow)
    iterations = [iteration for iteration, _ in follow.records]
    assert len(iterations) >= 2
    assert np.all(np.diff(iterations) >= 20)
    first, last = follow.records[0][1], follow.records[-1][1]
    assert not np.allclose(first.squared_amplitudes, last.squared_amplitudes)
    # Adam moves amplitudes; the eigenvalues follow them, but are not them.
    assert not np.allclose(first.eigenvalues, last.eigenvalues)


def test_a_network_without_features_has_no_gram_matrix_of_products():
    problem = sn.library.convection()
    network = build(problem, method("pinn"), key=jax.random.key(0))
    grams = feature_grams(problem, network)
    assert list(grams) == ["features"]
    # [2s − 1] on the box: ∫∫ x² = |box|/3 in coordinates of [−1, 1].
    np.testing.assert_allclose(grams["features"].matrix, np.eye(2) * 2 * np.pi / 3, atol=1e-12)
