"""Jets of a whole batch against nested forward mode at each point: values, gradients, and what has no rule."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sympy import Function, symbols

from safenet import features as ft
from safenet import library
from safenet.features.base import Frozen, image, table
from safenet.features.fourier import sine_patterns, turned
from safenet.features.sincos import sin_cos
from safenet.fields import derivatives
from safenet.fields.derivatives import (
    Operator,
    batch_jets,
    below,
    composed,
    elementwise,
    knows,
    point_jets,
    product,
    propagated,
)
from safenet.measure.points import sample
from safenet.measure.residuals import PointResidual
from safenet.networks import METHODS, build, method
from safenet.networks.frozen import FrozenMap
from safenet.networks.perceptron import ACTIVATIONS, slopes
from safenet.networks.staged import Staged
from safenet.problem import Problem
from safenet.train import objective as objective_module
from safenet.train.objective import physics_loss
from safenet.train.optimisers.status import evaluate
from safenet.train.weighting import RBA

x, y, t = symbols("x y t")
u, v = Function("u"), Function("v")
WAVE = library.wave()
UNEQUAL = Problem(
    [u(x, t).diff(t) - v(x, t).diff(x), v(x, t).diff(t) - u(x, t) * u(x, t).diff(x, 2)],
    domain={x: (-1, 2), t: (0, 1)},
    conditions=[u(-1, t) - u(2, t), v(x, 0) - x, u(x, 0) - 1, u(0, 0) - 1, u(x, t).diff(x).subs(x, 2)],
)
ORDERS = below([(2, 1), (0, 2)])
RNG = np.random.default_rng(5)
L = Operator({(1, 0): 0.7, (0, 1): -0.2, (2, 0): -1.3, (1, 1): 0.4, (0, 2): 2.0})
POINTS = jnp.asarray(RNG.random((4, 2)))


class Plain(eqx.Module):
    """The same network without its rule: nested forward mode, point by point."""

    inner: Any

    def __call__(self, point):
        return self.inner(point)


class Mine(ft.Features):
    """A user's own features, without any rule."""

    rate: jax.Array

    @property
    def size(self):
        return 3

    def __call__(self, point):
        return jnp.stack([jnp.sin(self.rate * point[0] * point[1]), point[0] ** 3, jnp.exp(point[1])])


class Tabled(Mine):
    """A user's features with a rule, which knows multi-indices only."""

    def __call__(self, point):
        return super().__call__(point)

    def table(self, x, orders):
        assert all(len(alpha) == len(x) for alpha in orders)
        return propagated(Mine(self.rate), x, orders)


class Louder(ft.FourierProducts):
    """Another map than its parent, whose rules no longer hold for it."""

    def __call__(self, point):
        return 2 * super().__call__(point)


def fourier(sets, axes=2, cls=ft.FourierProducts):
    omega, amplitude = 3 * RNG.normal(size=(sets, axes)), RNG.normal(size=(sets, 2**axes))
    return cls(jnp.asarray(omega), jnp.asarray(amplitude), tuple(0.1 * (i + 1) for i in range(axes)))


BOX = (-1.0, 0.0), (2.0, 3.0)
DOMAIN = ft.domain_features(WAVE)
SAMPLE = ft.Frozen(jnp.asarray(RNG.random((7, 2))))
FEATURES = {
    "coordinates": ft.Coordinates(*BOX),
    "unit box": ft.UnitBox(*BOX),
    "unscaled": ft.Unscaled(*BOX),
    "fourier": fourier(3),
    "fourier, a subclass": fourier(3, cls=Louder),
    "domain": DOMAIN,
    "random": ft.RandomFourier(ft.Frozen(jnp.asarray(RNG.normal(size=(3, 2)))), ft.UnitBox(*BOX)),
    "radial": ft.Radial(
        jnp.asarray(RNG.normal(size=(4, 2))), jnp.asarray([0.1, -0.3, 0.5, 0.0]), ft.UnitBox(*BOX)
    ),
    "monomials": ft.Monomials(ft.Coordinates(*BOX), 3),
    "monomials of waves": ft.Monomials(fourier(1), 2),
    "series": ft.Series(2, (1, 0), *BOX),
    "series, not periodic": ft.Series(2, (2, 2), *BOX),
    "mine": Mine(jnp.asarray(1.3)),
    "mine, with a rule": Tabled(jnp.asarray(0.9)),
    "joined": fourier(2) + ft.Coordinates(*BOX) + Mine(jnp.asarray(0.7)),
    "scaled": ft.Scaled(fourier(2) + DOMAIN, ft.Frozen(jnp.asarray(3.0))),
    "normalised by point": ft.PointNormalised(ft.Coordinates(*BOX) + fourier(1)),
    "normalised by point, many waves": ft.PointNormalised(fourier(8) + DOMAIN),
    "normalised by batch": ft.BatchNormalised(fourier(2) + DOMAIN, SAMPLE),
    "normalised as a whole": ft.BatchNormalised(fourier(2) + DOMAIN, SAMPLE, True),
}


def agree(found, expected, tolerance=1e-11):
    """To a part of the largest derivative of the same order: rounding grows with the derivative."""
    for alpha, values in expected.items():
        scale = max(np.abs(other).max() for beta, other in expected.items() if sum(beta) == sum(alpha))
        assert np.abs(np.asarray(found[alpha]) - values).max() <= tolerance * max(scale, 1e-300), alpha


def spread(jets, rows):
    nothing = jnp.zeros((rows, len(POINTS)))
    return {alpha: nothing + jets.get(alpha, 0.0) for alpha in ORDERS}


@pytest.mark.parametrize("name", FEATURES)
def test_features_and_their_image_have_the_derivatives_of_the_map(name):
    """An operator among them is the sum of its parts."""
    features = FEATURES[name]
    W = jnp.asarray(RNG.normal(size=(2, features.size)))
    nested = jax.jit(jax.vmap(point_jets(features, ORDERS), in_axes=1, out_axes=1))(POINTS.T)
    expected = {alpha: np.asarray(nested[alpha]) for alpha in ORDERS}
    orders = below([*ORDERS, L])
    found = jax.jit(
        lambda x: [
            list(map(rule.get, orders))
            for rule in (table(features, x, orders), image(features, W, x, orders))
        ]
    )(POINTS.T)
    found = [
        {alpha: value for alpha, value in zip(orders, values, strict=True) if value is not None}
        for values in found
    ]
    agree(spread(found[0], features.size), expected)
    agree(spread(found[1], 2), {alpha: W @ value for alpha, value in expected.items()})
    whole = sum(c * expected[alpha] for alpha, c in L.parts.items())
    scale = max(np.abs(value).max() for value in expected.values())
    assert np.abs(found[0][L] - whole).max() <= 1e-11 * scale
    assert np.abs(found[1][L] - W @ whole).max() <= 1e-11 * scale


def test_an_operator_needs_no_second_derivative_beside_it():
    assert below([L]) == ((0, 0), (0, 1), (1, 0), L)


@pytest.mark.parametrize(
    ("problem", "spared"),
    [("wave", 1), ("convection", 1), ("burgers", 1), ("heat2d", 2), ("reaction", 0), ("backstep", 0)],
)
def test_an_equations_derivatives_go_as_one_where_that_spares_some(problem, spared):
    problem = library.problem(problem)
    residual = PointResidual(problem, problem.equations[0])
    wanted, rest = [jet.orders for _, jet in residual.jets], residual.orders_in(residual.rest)
    jets = below([*rest, Operator(dict(residual.principal))] if residual.principal else wanted)
    assert len(below(wanted)) - len(jets) == spared


def test_waves_on_three_axes_turn_into_each_other():
    features, points = fourier(2, axes=3), jnp.asarray(RNG.random((3, 3)))
    orders = below([(1, 1, 1), (0, 0, 3)])
    W = jnp.asarray(RNG.normal(size=(2, features.size)))
    nested = jax.jit(jax.vmap(point_jets(features, orders), in_axes=1, out_axes=1))
    expected = nested(points.T)
    found, squares = jax.jit(lambda x: (image(features, W, x, orders), features.squares(x, orders)))(points.T)
    agree(found, {alpha: np.asarray(W @ expected[alpha]) for alpha in orders})
    summed = jax.jit(
        jax.vmap(point_jets(lambda p: jnp.sum(features(p) ** 2)[None], orders), in_axes=1, out_axes=1)
    )
    agree(squares, {alpha: np.asarray(value) for alpha, value in summed(points.T).items()})


def test_squares_are_the_same_as_a_product_and_as_a_sum(monkeypatch):
    """An accelerator sums what a CPU multiplies: the same numbers, but for rounding, and the same gradients."""
    features, orders = fourier(8), below([(2, 0), (0, 2)])
    weights = jnp.asarray(RNG.normal(size=(len(orders), len(POINTS))))

    def score(features):
        found = features.squares(POINTS.T, orders)
        return sum(jnp.sum(own * found[alpha]) for own, alpha in zip(weights, orders, strict=True))

    ways = []
    for backend in ("cpu", "an accelerator"):
        monkeypatch.setattr(jax, "default_backend", lambda backend=backend: backend)
        ways.append(jax.tree.leaves(jax.value_and_grad(score)(features)))
    for one, other in zip(*ways, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11 * np.abs(one).max())


def test_four_derivatives_of_a_wave_are_itself():
    for pattern in sine_patterns(2):
        assert turned(pattern, (4, 0)) == turned(pattern, (2, 2)) == (1, pattern)
        assert turned(pattern, (2, 0)) == (-1, pattern)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_slopes_of_activations(activation):
    h = jnp.asarray([-30.0, -2.0, -0.3, 0.2, 1.7, 30.0])
    expected = elementwise(ACTIVATIONS[activation], h)
    found = slopes(activation, h)
    for k in range(5):
        np.testing.assert_allclose(found(k), expected(k), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 1e4), (np.float64, 1e6)])
def test_sines_and_cosines_are_right_to_one_rounding(dtype, far):
    angles = np.concatenate(
        [RNG.uniform(-far, far, 20_000), RNG.normal(size=5_000), np.arange(-999, 999) * np.pi / 4]
    )
    angles = angles.astype(dtype)
    sine, cosine = (np.asarray(wave) for wave in jax.jit(sin_cos)(angles))
    assert sine.dtype == cosine.dtype == dtype
    exact = angles.astype(np.longdouble)
    assert np.abs(sine - np.sin(exact)).max() <= np.finfo(dtype).eps
    assert np.abs(cosine - np.cos(exact)).max() <= np.finfo(dtype).eps


def test_sines_beyond_all_reason_stay_waves():
    sine, cosine = sin_cos(jnp.asarray([1e15, -1e15, jnp.inf, jnp.nan]))
    np.testing.assert_allclose(sine[:2] ** 2 + cosine[:2] ** 2, 1, rtol=1e-12)
    assert np.isnan(sine[2:]).all()
    assert np.isnan(cosine[2:]).all()


def test_leibniz_and_faa_di_bruno_on_polynomials():
    """f = x²y, g = 1 + xy, and g³ = σ(g): every derivative by hand at (2, 3)."""
    orders = below([(2, 1)])
    f = {(0, 0): 12.0, (1, 0): 12.0, (2, 0): 6.0, (0, 1): 4.0, (1, 1): 4.0, (2, 1): 2.0}
    g = {(0, 0): 7.0, (1, 0): 3.0, (0, 1): 2.0, (1, 1): 1.0}
    # f g = x²y + x³y²
    assert product(f, g, orders) == {
        (0, 0): 84.0, (1, 0): 120.0, (2, 0): 114.0, (0, 1): 52.0, (1, 1): 76.0, (2, 1): 74.0,
    }  # fmt: skip
    # (1 + xy)³
    cubes = composed(lambda k: [343.0, 147.0, 42.0, 6.0][k], g, orders)
    assert cubes == {
        (0, 0): 343.0, (0, 1): 294.0, (1, 0): 441.0, (1, 1): 399.0, (2, 0): 378.0, (2, 1): 360.0,
    }  # fmt: skip


def test_a_subclass_that_changes_the_map_is_not_held_to_the_old_rule():
    assert knows(fourier(1), "image")
    assert not knows(fourier(1, cls=Louder), "image")
    assert not knows(Mine(jnp.asarray(1.0)), "table")


def losses(problem, chosen, dtype=jnp.float64, counts=(40, 9), weighting=None):
    """The loss as it is, and the same by nested forward mode on all points at once."""
    network = build(problem, chosen, key=jax.random.key(3), dtype=dtype)
    points = sample(problem, *counts, "uniform", 0)
    loss, theta = physics_loss(problem, network, points, weighting=weighting)
    nested, same = physics_loss(problem, Plain(network), points, weighting=weighting)
    np.testing.assert_array_equal(theta, same)
    return loss, nested, theta


def equal(loss, nested, theta, tolerance=1e-9):
    found = eqx.filter_jit(evaluate)(loss, theta)
    (total, terms), gradient = eqx.filter_jit(eqx.filter_value_and_grad(lambda t: nested(t), has_aux=True))(
        theta
    )
    np.testing.assert_allclose(found.total, total, rtol=tolerance)
    np.testing.assert_allclose(found.terms, terms, rtol=tolerance)
    np.testing.assert_allclose(found.gradient, gradient, rtol=0, atol=tolerance * np.abs(gradient).max())


@pytest.mark.parametrize(
    "name",
    [
        *("pinn", "safe-net-literal"),
        *(
            pytest.param(m, marks=pytest.mark.slow)
            for m in ("rbf-p", "fls-pinn", "rba-pinn", "rff-tuned", "safe-net")
        ),
    ],
)
def test_loss_and_gradient_are_those_of_nested_forward_mode(name, monkeypatch):
    monkeypatch.setattr(objective_module, "CACHED", 7)  # blocks that are not full
    chosen = METHODS[name]
    equal(*losses(WAVE, method(name, width=4, depth=min(2, chosen.depth), features=min(32, chosen.features))))


@pytest.mark.parametrize(
    ("name", "problem"), [("pinn", WAVE), ("safe-net", UNEQUAL)], ids=["one field", "two"]
)
def test_an_accelerator_sums_narrow_products(name, problem, monkeypatch):
    network = build(problem, method(name, width=12, depth=2, features=16), key=jax.random.key(3))
    expected = jax.vmap(point_jets(network, ORDERS))(POINTS)
    monkeypatch.setattr(jax, "default_backend", lambda: "an accelerator")
    found = jax.jit(lambda points: batch_jets(network, points, ORDERS))(POINTS)
    agree(found, {alpha: np.asarray(expected[alpha]) for alpha in ORDERS})


@pytest.mark.parametrize("name", [pytest.param("pinn", marks=pytest.mark.slow), "safe-net"])
def test_points_that_fill_up_a_batch_on_an_accelerator_weigh_nothing(name, monkeypatch):
    monkeypatch.setattr(derivatives, "ALIGNED", 7)  # 16 times as many are many
    network = build(WAVE, method(name, width=4, depth=1, features=8), key=jax.random.key(3))
    loss, theta = physics_loss(WAVE, network, sample(WAVE, 115, 3, "uniform", 0))

    def derivatives_of():
        """Value, gradient and a product with the Hessian, traced anew."""

        def gradient(at):
            return jax.value_and_grad(loss, has_aux=True)(at)

        return jax.jit(lambda at: jax.jvp(gradient, (at,), (at,)))(theta)

    expected, widths = derivatives_of(), []
    monkeypatch.setattr(jax, "default_backend", lambda: "an accelerator")
    monkeypatch.setattr(
        derivatives, "propagated", lambda *parts: widths.append(parts[1].shape[1]) or propagated(*parts)
    )
    found = derivatives_of()
    assert max(widths) == 119  # of 115 points
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9), found, expected)


def test_systems_share_points_and_conditions_of_any_size_share_a_batch(monkeypatch):
    monkeypatch.setattr(objective_module, "CACHED", 7)
    loss, nested, theta = losses(UNEQUAL, method("pinn", width=4, depth=2))
    assert {term.points.shape[0] for term in loss.terms} == {40, 9, 1}
    equal(loss, nested, theta)
    rows, expected = eqx.filter_jit(lambda: (loss.rows(theta), nested.rows(theta)))()
    np.testing.assert_allclose(rows, expected, rtol=1e-9, atol=1e-12)


def test_weights_of_points_reach_their_blocks(monkeypatch):
    monkeypatch.setattr(objective_module, "CACHED", 7)
    loss, nested, theta = losses(WAVE, method("pinn", width=4, depth=1), weighting=RBA())
    weights = (jnp.asarray(RNG.random(40)),)
    equal(loss.weighted(weights), nested.weighted(weights), theta)


@pytest.mark.parametrize("kind", ["hard", "frozen", "staged"])
def test_networks_around_a_network_have_its_rule(kind):
    chosen = method("safe-net", width=3, features=8, hard=kind != "frozen", train_features=kind != "frozen")
    network = build(WAVE, chosen, key=jax.random.key(0))
    if kind == "staged":
        network = Staged(FrozenMap(network), network, Frozen(jnp.asarray([1e-3])), chosen)
    expected = jax.jit(jax.vmap(point_jets(network, ORDERS)))(POINTS)
    assert knows(network, "propagate")
    agree(jax.jit(lambda p: batch_jets(network, p, ORDERS))(POINTS), expected, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("problem", library.names())
@pytest.mark.parametrize("name", METHODS)
def test_every_method_on_every_problem(name, problem):
    stated = library.problem(problem)
    chosen = METHODS[name]
    network = build(stated, method(name, width=4, features=min(32, chosen.features)), key=jax.random.key(0))
    points = sample(stated, 5, 2, "uniform", 0)
    orders = [
        jet.orders for relation in (*stated.equations, *stated.conditions) for jet in relation.jets.values()
    ]
    inside = jnp.asarray(points.interior)[:, : len(stated.axes)]
    expected = jax.jit(jax.vmap(point_jets(network, orders)))(inside)
    found = jax.jit(lambda p: batch_jets(network, p, orders))(inside)
    agree(found, {alpha: np.asarray(expected[alpha]) for alpha in orders}, 1e-10)
