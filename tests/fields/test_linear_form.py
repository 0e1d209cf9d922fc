"""Σ_k a_k Π φ_{k_i}(x_i) against the sum written out, its pieces in time, and where they end."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet.fields.basis import AxisBasis
from safenet.fields.series import LinearForm, Piecewise

BASES = (
    (AxisBasis("sine", 3, 0.0, 2.0), AxisBasis("chebyshev", 4, -1.0, 1.0), AxisBasis("fourier", 2, 0.0, 1.0)),
    (
        AxisBasis("cosine", 2, 0.0, 2.0),
        AxisBasis("periodic", 1, -1.0, 1.0),
        AxisBasis("chebyshev", 3, 0.0, 1.0),
    ),
)


def form(bases=BASES, seed=0):
    random = np.random.default_rng(seed)
    return LinearForm(tuple(random.normal(size=[b.size for b in axes]) for axes in bases), bases)


def written_out(network, point, orders):
    """The sum, term by term."""
    fields = []
    for coefficient, axes in zip(network.coefficients, network.bases, strict=True):
        tables = [b(np.float64(p), o) for b, p, o in zip(axes, point, orders, strict=True)]
        indices = itertools.product(*(range(b.size) for b in axes))
        fields.append(
            math.fsum(
                float(coefficient[k]) * math.prod(T[i] for T, i in zip(tables, k, strict=True))
                for k in indices
            )
        )
    return fields


@pytest.mark.parametrize("orders", [(0, 0, 0), (1, 0, 0), (0, 2, 1), (2, 1, 2)])
def test_closed_form_derivatives_are_the_sum_of_the_terms_derivatives(orders):
    network = form()
    points = np.array([[0.3, 0.2, 0.9], [1.9, -0.7, 0.1], [0.0, 1.0, 0.0]])
    expected = [written_out(network, point, orders) for point in points]
    found = network.jets(points, [orders, (0, 0, 0)])
    assert found.keys() == {orders, (0, 0, 0)}
    np.testing.assert_allclose(found[orders], expected, rtol=1e-11, atol=1e-11)


def test_calling_it_is_the_derivative_of_order_zero():
    network, points = form(), np.array([[0.3, 0.2, 0.9], [1.9, -0.7, 0.1]])
    called = jax.vmap(network)(jnp.asarray(points))
    np.testing.assert_allclose(called, network.jets(points, [(0, 0, 0)])[(0, 0, 0)], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("fixed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("first", ["periodic", "sine"])
def test_points_on_a_face_are_as_any_other(first, fixed):
    """Axes along which all points agree are contracted before the others; a period by its coefficients' derivatives."""
    axes = (AxisBasis(first, 3, 0.0, 2.0), *BASES[0][1:])
    network, orders = form((axes, axes)), [(0, 0, 0), (1, 0, 0), (2, 1, 0), (0, 2, 1), (1, 1, 1)]
    points = np.random.default_rng(2).random((7, 3))
    points[:, fixed] = points[0, fixed]
    found = network.jets(points, orders)
    for order in orders:
        expected = [written_out(network, point, order) for point in points]
        np.testing.assert_allclose(found[order], expected, rtol=1e-11, atol=1e-11)


def test_blocks_of_points_do_not_show():
    bases = ((AxisBasis("sine", 2, 0.0, 1.0), AxisBasis("chebyshev", 2, 0.0, 1.0)),)
    network, points = form(bases), np.random.default_rng(1).random((4096 + 3, 2))
    whole = network.jets(points, [(1, 0)])[(1, 0)]
    some = [0, 4095, 4096, 4098]
    np.testing.assert_allclose(whole[some], network.jets(points[some], [(1, 0)])[(1, 0)], rtol=1e-13)


def test_parameters_are_the_coefficients():
    assert form().parameters == 3 * 5 * 5 + 3 * 3 * 4


TIMES = (0.0, 0.5, 0.75, 2.0)


def pieces():
    """Constants 1, 2, 3 plus the same slope in time, on three pieces."""

    def one(index):
        basis = AxisBasis("chebyshev", 1, TIMES[index], TIMES[index + 1])
        half = basis.length / 2
        return LinearForm(
            (np.array([[index + 1 + half, half]]),), ((AxisBasis("chebyshev", 0, 0.0, 1.0), basis),)
        )

    return Piecewise(tuple(one(i) for i in range(3)), TIMES)


@pytest.mark.parametrize(
    ("time", "value"),
    [(0.0, 1), (0.4, 1.4), (0.5, 2), (0.7499, 2.2499), (0.75, 3), (1.75, 4), (2.0, 4.25), (2.001, math.nan)],
)
def test_a_piece_holds_from_its_break_to_the_next_and_nothing_beyond_the_last(time, value):
    network, slope = pieces(), math.nan if math.isnan(value) else 1.0
    point = np.array([[0.3, time]])
    found = network.jets(point, [(0, 0), (0, 1)])
    np.testing.assert_allclose(found[(0, 0)], [[value]], rtol=1e-14)
    np.testing.assert_allclose(found[(0, 1)], [[slope]], rtol=1e-14)
    np.testing.assert_allclose(network(jnp.asarray(point[0])), [value], rtol=1e-14)


def test_a_march_that_has_only_begun_has_one_piece():
    whole = pieces()
    begun = Piecewise(whole.pieces[:1], whole.breaks[:2])
    values = begun.jets(np.array([[0.3, 0.2], [0.3, 0.9]]), [(0, 0)])[(0, 0)][:, 0]
    np.testing.assert_allclose(values, [1.2, math.nan])
    assert begun.parameters == 2
    assert whole.parameters == 6
