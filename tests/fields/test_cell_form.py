"""Polynomials on cells: values and derivatives, NumPy against JAX, parts of a cell, what is outside."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet.fields.cells import CellForm, cell_skeleton, restricted
from safenet.fields.derivatives import point_jets

CELLS = (((0.0, 1.0), (0.0, 2.0)), ((1.0, 3.0), (0.0, 1.0)))


@pytest.fixture
def form():
    return CellForm(np.random.default_rng(0).normal(size=(2, 2, 5, 5)), CELLS, (4, 4))


def points(count=50):
    unit = np.random.default_rng(1).random((count, 2))
    low, high = (np.array([[ends[k] for ends in cell] for cell in CELLS]) for k in (0, 1))
    which = np.arange(count) % 2
    return low[which] + (high - low)[which] * unit


def test_closed_derivatives_are_those_of_automatic_differentiation(form):
    at, orders = points(), [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 3)]
    closed = form.jets(at, orders)
    automatic = jax.vmap(point_jets(form, orders))(jnp.asarray(at))
    for order in orders:
        np.testing.assert_allclose(closed[order], automatic[order], rtol=1e-9, atol=1e-9)


def test_a_polynomial_is_itself_on_parts_of_its_cells(form):
    parts = [
        ((0.0, 0.5), (0.0, 2.0)),
        ((0.5, 1.0), (0.0, 0.7)),
        ((0.5, 1.0), (0.7, 2.0)),
        ((1.0, 3.0), (0.0, 1.0)),
    ]
    at = points()
    np.testing.assert_allclose(
        restricted(form, parts).jets(at, [(0, 0)])[0, 0],
        form.jets(at, [(0, 0)])[0, 0],
        rtol=1e-11,
        atol=1e-11,
    )


def test_where_no_cell_is_there_is_no_value(form):
    outside = np.array([[2.0, 1.5], [-0.1, 0.5]])
    assert np.isnan(form.jets(outside, [(0, 0)])[0, 0]).all()
    assert np.isnan(form(jnp.array([2.0, 1.5]))).all()


def test_a_rounding_beyond_the_edge_is_still_inside(form):
    edge = np.array([[3.0 + 1e-15, 0.5], [0.5, 2.0 + 2e-16]])
    assert np.isfinite(form.jets(edge, [(0, 0)])[0, 0]).all()


def test_the_spec_makes_a_form_of_the_same_structure(form):
    again = cell_skeleton(2, form.spec())
    assert (again.cells, again.degrees) == (form.cells, form.degrees)
    assert np.shape(again.coefficients) == np.shape(form.coefficients)
    assert again.parameters == 100
