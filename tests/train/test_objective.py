"""The physics loss against its formula written out with NumPy, its rows and normal equations against dense algebra."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from safenet import library
from safenet.measure.points import Points, sample
from safenet.measure.residuals import together
from safenet.networks import build, method
from safenet.problem import loads
from safenet.train import objective
from safenet.train.objective import Weighing, physics_loss
from safenet.train.terms import term_names


class Known(eqx.Module):
    """u = a sin(bx) cos(ct) + dxt: four parameters, every derivative known."""

    theta: Array
    fields: int = eqx.field(static=True, default=1)

    def __call__(self, point):
        a, b, c, d = self.theta
        x, t = point
        u = a * jnp.sin(b * x) * jnp.cos(c * t) + d * x * t
        return jnp.stack([u, jnp.exp(c * x) * t][: self.fields])


A, B, C, D = THETA = 0.7, 2.3, 1.9, -0.4
WAVE = library.wave()
POINTS = sample(WAVE, 13, 7, "uniform", seed=2)


def u(x, t):
    return A * np.sin(B * x) * np.cos(C * t) + D * x * t


def wave_residuals():
    x, t = POINTS.interior.T
    u_tt = -A * C**2 * np.sin(B * x) * np.cos(C * t)
    u_xx = -A * B**2 * np.sin(B * x) * np.cos(C * t)
    (_, t_0), (_, t_1), (x_0, _), (x_1, _) = (at.T for at in POINTS.conditions)
    return [
        u_tt - 4 * u_xx,
        u(0, t_0),
        u(1, t_1),
        u(x_0, 0) - np.sin(np.pi * x_0) - np.sin(4 * np.pi * x_0) / 2,
        D * x_1,
    ]


@pytest.mark.parametrize(("inner", "outer"), [(1.0, 100.0), (0.25, 3.0)])
def test_the_loss_is_the_weighted_sum_of_half_mean_squares(inner, outer):
    usual = (inner, outer) == (1.0, 100.0)
    weights = () if usual else (Weighing(inner, outer),)
    loss, theta = physics_loss(WAVE, Known(jnp.array(THETA)), POINTS, *weights)
    total, terms = eqx.filter_jit(loss)(theta)
    expected = [np.mean(residual**2) / 2 for residual in wave_residuals()]
    np.testing.assert_allclose(terms, expected, rtol=1e-12)
    assert float(total) == pytest.approx(inner * expected[0] + outer * sum(expected[1:]), rel=1e-12)


def test_rows_are_the_residuals_with_half_their_squares_summing_to_the_loss():
    loss, theta = physics_loss(WAVE, Known(jnp.array(THETA)), POINTS)
    scales = [np.sqrt(1 / 13), *[np.sqrt(100 / 7)] * 4]
    expected = np.concatenate([s * r for s, r in zip(scales, wave_residuals(), strict=True)])
    rows, (total, _) = eqx.filter_jit(lambda loss, theta: (loss.rows(theta), loss(theta)))(loss, theta)
    np.testing.assert_allclose(rows, expected, rtol=1e-11, atol=1e-13)
    assert np.sum(np.asarray(rows) ** 2) / 2 == pytest.approx(float(total), rel=1e-13)


@eqx.filter_jit
def linearised(loss, theta):
    return (
        loss.normal_equations(theta),
        jax.jacfwd(loss.rows)(theta),
        loss.rows(theta),
        jax.value_and_grad(lambda p: loss(p)[0])(theta),
    )


@pytest.mark.parametrize("chunk", [4, 7])
def test_normal_equations_are_the_products_of_the_whole_jacobian(chunk, monkeypatch):
    monkeypatch.setattr(objective, "CHUNK", chunk)  # 13 and 7 points: padded blocks and full ones
    loss, theta = physics_loss(WAVE, Known(jnp.array(THETA)), POINTS)
    (gram, gradient, total), J, rows, (value, slope) = jax.tree.map(np.asarray, linearised(loss, theta))
    np.testing.assert_allclose(gram, J.T @ J, rtol=1e-12)
    np.testing.assert_allclose(gradient, J.T @ rows, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-11, atol=1e-12)
    assert total == pytest.approx(value, rel=1e-13)


PLACED = loads("""
unknowns = ["u", "v"]
equations = ["u_t = v_x + x*t", "v_t + u*v = u_xx"]
conditions = [
    "u_x(1, t) + 4*u(1, t) = exp(t)", "u(0, t) = u(2, t)", "u_x(0, t) = u_x(2, t)",
    "v(2, 1/2) = 3", "u(x, 0)*v(x, 1) = x", "v(x, 0) = k",
]
[domain]
x = [0, 2]
t = [0, 1]
[parameters]
k = 0.3
""")


def test_conditions_are_evaluated_where_their_arguments_say():
    points = sample(PLACED, 3, 4, "uniform", seed=5)
    loss, theta = physics_loss(PLACED, Known(jnp.array(THETA), 2), points)
    field = loss.field(theta)

    def u_x(x, t):
        return A * B * np.cos(B * x) * np.cos(C * t) + D * t

    def v(x, t):
        return np.exp(C * x) * t

    (robin, value, slope, _, product, start) = points.conditions
    x, t = points.interior.T
    u_t = -A * C * np.sin(B * x) * np.sin(C * t) + D * x
    u_xx = -A * B**2 * np.sin(B * x) * np.cos(C * t)
    expected = [
        u_t - C * v(x, t) - x * t,
        np.exp(C * x) + u(x, t) * v(x, t) - u_xx,
        u_x(1, robin[:, 1]) + 4 * u(1, robin[:, 1]) - np.exp(robin[:, 1]),
        u(0, value[:, 1]) - u(2, value[:, 1]),
        u_x(0, slope[:, 1]) - u_x(2, slope[:, 1]),
        np.array([v(2, 0.5) - 3]),
        u(product[:, 0], 0) * v(product[:, 0], 1) - product[:, 0],
        v(start[:, 0], 0) - 0.3,
    ]
    residuals, places = [term.residual for term in loss.terms], [term.points for term in loss.terms]
    found = eqx.filter_jit(together)(field, residuals, places)
    for residual, by_hand in zip(found, expected, strict=True):
        np.testing.assert_allclose(residual, by_hand, rtol=1e-12, atol=1e-13)


def test_terms_are_named_as_they_are_written():
    assert term_names(WAVE) == ("equation", "u(0, t)", "u(1, t)", "u(x, 0)", "u_t(x, 0)")


def test_a_condition_that_compares_two_places_is_named_as_it_is_written():
    text = (
        'unknowns = ["u"]\nequations = ["u_t = u_xx"]\nperiodic = ["x"]\nconditions = ["u(x, 0) = sin(x)"]\n'
    )
    ring = loads(text + "[domain]\nx = [0, 6.283185307179586]\nt = [0, 1]\n")
    assert term_names(ring)[:2] == ("equation", "u(x, 0)")
    assert all(" = u" in name for name in term_names(ring)[2:])
    names = term_names(PLACED)
    assert names[:2] == ("equation 1", "equation 2")
    assert len(set(names)) == len(names) == 8


def test_the_flat_parameters_are_all_that_trains_and_nothing_else():
    network = build(WAVE, method("safe-net", features=8, width=3), key=jax.random.key(0))
    one = Points(POINTS.interior[:1], tuple(at[:1] for at in POINTS.conditions))
    loss, theta = physics_loss(WAVE, network, one)
    assert theta.size == network.parameters
    again = loss.field(theta)
    assert jax.tree.structure(again) == jax.tree.structure(network)
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, again, network)))
    moved = loss.field(theta + 1)
    assert float(moved.features.scale.array) == float(network.features.scale.array)
    np.testing.assert_allclose(moved.weights[0], network.weights[0] + 1)


def test_single_precision_stays_single():
    network = build(WAVE, method("pinn", width=3, depth=1), key=jax.random.key(0), dtype=jnp.float32)
    loss, theta = physics_loss(WAVE, network, POINTS)
    found = jax.eval_shape(lambda theta: (loss(theta), loss.rows(theta), loss.normal_equations(theta)), theta)
    assert {leaf.dtype for leaf in jax.tree.leaves((theta, found))} == {jnp.dtype("float32")}


def test_losses_of_one_problem_stack_whatever_their_seed():
    def loss(seed, problem):
        network = build(problem, method("rff", features=8, width=3, depth=1), key=jax.random.key(seed))
        return physics_loss(problem, network, sample(problem, 4, 2, "uniform", seed))[0]

    first, second = loss(0, library.wave()), loss(1, library.wave())
    assert jax.tree.structure(first) == jax.tree.structure(second)
    # B differs by the seed and is stacked with the rest.
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), first, second)
    assert np.any(np.diff(stacked.fixed.features.B.array, axis=0))


def test_a_single_term_may_have_a_weight_of_its_own():
    weighed = Weighing(1.0, 100.0, (("u(x, 0)", 7.0),))
    loss, theta = physics_loss(WAVE, Known(jnp.array(THETA)), POINTS, weighed)
    total, terms = loss(theta)
    assert float(total) == pytest.approx(float(jnp.array([1.0, 100.0, 100.0, 7.0, 100.0]) @ terms), rel=1e-12)


def test_own_terms_are_in_the_loss_its_gradient_and_its_rows():
    """λ/2 mean r² beside the others, by every way that an optimiser asks for the loss."""

    def mass(network):
        return jax.vmap(network)(jnp.asarray(POINTS.interior))[:, 0] - 0.3

    plain, theta = physics_loss(WAVE, Known(jnp.array(THETA)), POINTS)
    loss, _ = physics_loss(WAVE, Known(jnp.array(THETA)), POINTS, own=[(5.0, mass)])
    x, t = POINTS.interior.T
    own = np.mean((u(x, t) - 0.3) ** 2) / 2
    compiled = eqx.filter_jit(lambda method, theta: method(theta))
    total, terms = compiled(loss, theta)
    assert float(terms[-1]) == pytest.approx(own, rel=1e-12)
    assert float(total) == pytest.approx(float(compiled(plain, theta)[0]) + 5 * own, rel=1e-12)
    (again, same), gradient = compiled(loss.value_and_gradient, theta)
    np.testing.assert_allclose([again, *same], [total, *terms], rtol=1e-12)
    expected = compiled(jax.grad(lambda p: loss(p)[0]), theta)
    np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
    rows = compiled(loss.rows, theta)
    assert float(jnp.sum(rows**2) / 2) == pytest.approx(float(total), rel=1e-12)
    J, r = compiled(loss.jacobian, theta)
    np.testing.assert_allclose(r, rows, rtol=1e-12, atol=1e-15)
    gram, slope, value = compiled(loss.normal_equations, theta)
    np.testing.assert_allclose(gram, J.T @ J, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(slope, gradient, rtol=1e-9, atol=1e-12)
    assert float(value) == pytest.approx(float(total), rel=1e-12)
