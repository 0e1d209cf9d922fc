"""∂^α f in one pass against nested forward-mode Jacobians, for every network; exactly the derivatives on the way."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sympy import Eq, Function, exp, sin, symbols

from safenet import library
from safenet.fields.derivatives import _tree, point_jets
from safenet.fields.field import jets
from safenet.networks import METHODS, AxisBasis, LinearForm, Piecewise, build, method
from safenet.problem import Problem

x, y, t = symbols("x y t")
u, v = Function("u"), Function("v")
PLANE = library.wave()
PAIR = Problem(
    [Eq(u(x, y, t).diff(t), v(x, y, t).diff(x)), Eq(v(x, y, t).diff(t), u(x, y, t).diff(y))],
    domain={x: (0, 1), y: (-1, 1), t: (0, 1)},
    conditions=[Eq(u(x, y, 0), sin(x) * exp(y)), Eq(v(x, y, 0), 0)],
)


def multi_indices(axes, order):
    return [alpha for alpha in itertools.product(range(order + 1), repeat=axes) if sum(alpha) <= order]


def brute_force(field, points, order):
    """{α: ∂^α f} from the full tensors of derivatives, f, ∇f, ∇∇f, …: fields × axes × axes × …"""
    functions = [field]
    for _ in range(order):
        functions.append(jax.jacfwd(functions[-1]))
    tensors = jax.jit(jax.vmap(lambda point: [function(point) for function in functions]))(points)
    found = {}
    for alpha in multi_indices(points.shape[1], order):
        path = tuple(axis for axis, count in enumerate(alpha) for _ in range(count))
        found[alpha] = np.asarray(tensors[sum(alpha)][(slice(None), slice(None), *path)])
    return found


def small(problem, name, **options):
    return build(problem, method(name, width=3, **options), key=jax.random.key(4))


def linear_form(lower=0.0, upper=1.0):
    bases = (
        (AxisBasis("fourier", 2, 0.0, 1.0), AxisBasis("chebyshev", 5, lower, upper)),
        (AxisBasis("periodic", 2, 0.0, 1.0), AxisBasis("chebyshev", 3, lower, upper)),
    )
    random = np.random.default_rng(1)
    return LinearForm(tuple(random.normal(size=[b.size for b in axes]) for axes in bases), bases)


# What is built, and the order up to which it is compared in the fast tests; in the slow ones it is 4 for all.
NETWORKS = {
    "tanh, depth 1": (lambda: small(PLANE, "pinn", depth=1), 4),
    "tanh, depth 3": (lambda: small(PLANE, "pinn", depth=3), 4),
    **{a: (lambda a=a: small(PLANE, "pinn", depth=2, activation=a), 3) for a in ("sine", "gelu", "swish")},
    **{
        name: (
            lambda name=name, chosen=chosen: small(PLANE, name, features=min(8, chosen.features), depth=1),
            2,
        )
        for name, chosen in METHODS.items()
    },
    "linear form": (linear_form, 4),
    "pieces": (lambda: Piecewise((linear_form(0.0, 0.4), linear_form(0.4, 1.0)), (0.0, 0.4, 1.0)), 2),
    "two fields on three axes": (lambda: small(PAIR, "pinn", depth=1), 4),
    "safe-net on three axes": (lambda: small(PAIR, "safe-net", features=8, depth=1), 2),
}


@pytest.mark.parametrize(
    ("name", "order"),
    [
        *((name, order) for name, (_, order) in NETWORKS.items()),
        *(
            pytest.param(name, 4, marks=pytest.mark.slow)
            for name, (_, order) in NETWORKS.items()
            if order < 4
        ),
    ],
)
def test_every_derivative_equals_the_nested_jacobian(name, order):
    field = NETWORKS[name][0]()
    axes = 3 if "three" in name else 2
    points = jnp.asarray(np.random.default_rng(2).random((2, axes)))
    expected = brute_force(field, points, order)
    found = jets(field, points, list(expected))
    for alpha, values in expected.items():
        # Both are exact up to rounding, which grows with the derivative like the derivative itself.
        scale = max(np.abs(other).max() for beta, other in expected.items() if sum(beta) == sum(alpha))
        np.testing.assert_allclose(found[alpha], values, rtol=0, atol=1e-11 * scale, err_msg=str(alpha))


@pytest.mark.parametrize(
    ("orders", "nodes"),
    [
        ([(0, 0)], {(0, 0)}),
        ([(2, 0), (0, 2)], {(0, 0), (1, 0), (2, 0), (0, 1), (0, 2)}),
        ([(1, 1)], {(0, 0), (1, 0), (1, 1)}),
        ([(1, 2), (1, 0)], {(0, 0), (1, 0), (1, 1), (1, 2)}),
        ([(0, 0, 3)], {(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)}),
        ([(4, 0), (0, 1)], {(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (0, 1)}),
    ],
)
def test_nothing_is_computed_that_is_not_on_the_way(orders, nodes):
    calls = []

    def field(point):
        calls.append(1)
        return jnp.stack([jnp.prod(jnp.sin(point))])

    assert _tree(orders) == nodes
    found = point_jets(field, orders)(jnp.full(len(orders[0]), 0.3))
    assert found.keys() == nodes
    assert len(calls) == len(nodes)


def test_a_field_trained_in_single_precision_is_differentiated_in_that_of_the_points():
    network = build(PLANE, method("pinn", width=3), key=jax.random.key(0), dtype=jnp.float32)
    points = np.array([[0.3, 0.7]])
    wide = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), network)
    found = jets(network, points, [(2, 0)])[(2, 0)]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, jets(wide, points, [(2, 0)])[(2, 0)], rtol=1e-12)


def test_a_closed_form_is_asked_itself():
    class Known:
        def __call__(self, point):
            raise AssertionError("differentiated although it knows its derivatives")

        def jets(self, points, orders):
            return {order: np.full((len(points), 1), 10.0 * order[0] + order[1]) for order in orders}

    found = jets(Known(), np.zeros((3, 2)), [(2, 1)])
    np.testing.assert_array_equal(found[(2, 1)], np.full((3, 1), 21.0))
