"""Sums of modes: closed-form derivatives against automatic ones, and there and back through a file."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from safenet import library
from safenet.fields.field import jets
from safenet.fields.modes import ModalForm, waves
from safenet.fields.saved import field_skeleton
from safenet.problem import loads
from safenet.problem.facts.waves import families, forced
from safenet.run.checkpoint import fill, leaves

JORDAN = loads("""
unknowns = ["u", "v"]
equations = ["u_t = v", "v_t = u_xx - 4*sin(t)"]
conditions = ["u(x, 0) = 0", "v(x, 0) = 0"]
domain = { x = [0, 1], t = [0, 2] }
""")
PROBLEMS = {"wave": library.problem("wave"), "heat2d": library.problem("heat2d"), "system": JORDAN}


def form(problem):
    """All families with random coefficients, and the particular solution."""
    random = np.random.default_rng(3)
    parts = []
    for family in families(problem, [2] * len(problem.axes)):
        count = len(family.wave)
        parts.append(
            waves(family.take(np.arange(count), random.normal(size=count) + 1j * random.normal(size=count)))
        )
    source = forced(problem, problem.time)
    return ModalForm((*parts, *(() if source is None else (waves(source),))))


@pytest.mark.parametrize("name", PROBLEMS)
def test_derivatives_in_closed_form_are_those_of_the_function(name):
    problem = PROBLEMS[name]
    network = form(problem)
    points = np.random.default_rng(0).random((5, len(problem.axes)))
    axes = len(problem.axes)
    orders = [(0,) * axes, (1,) + (0,) * (axes - 1), (0,) * (axes - 1) + (2,), (1,) * axes]
    closed = network.jets(points, orders)
    automatic = jets(lambda point: network(point), points, orders)
    for order in orders:
        scale = np.abs(automatic[order]).max()
        np.testing.assert_allclose(closed[order], automatic[order], rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_sum_satisfies_its_equations(name):
    problem = PROBLEMS[name]
    network = form(problem)
    points = np.random.default_rng(0).random((20, len(problem.axes)))
    for equation in problem.equations:
        found = network.jets(points, [jet.orders for jet in equation.jets.values()])
        values = {axis.symbol: points[:, i] for i, axis in enumerate(problem.axes)}
        terms = [
            float(problem.value(equation.coefficient(s)))
            * found[jet.orders][:, problem.unknowns.index(jet.field)]
            for s, jet in equation.jets.items()
        ]
        source = problem.value(equation.source)
        right = np.array(
            [float(source.subs({x: v[i] for x, v in values.items()})) for i in range(len(points))]
        )
        size = max(np.abs(terms).max(), np.abs(right).max())
        assert np.abs(sum(terms) - right).max() < 1e-12 * size


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_sum_of_modes_is_rebuilt_from_its_file(name):
    network = form(PROBLEMS[name])
    spec = json.loads(json.dumps(network.spec()))
    arrays = {key: np.asarray(leaf) for key, leaf in leaves(network).items()}
    again = fill(field_skeleton(PROBLEMS[name], spec), arrays)
    assert again.parameters == network.parameters
    points = np.random.default_rng(0).random((5, len(PROBLEMS[name].axes)))
    order = (0,) * (points.shape[1] - 1) + (1,)
    np.testing.assert_array_equal(again.jets(points, [order])[order], network.jets(points, [order])[order])


def test_single_precision_points_give_single_precision_fields():
    network = form(PROBLEMS["wave"])
    point = jnp.array([0.3, 0.4], jnp.float32)
    assert network(point).dtype == jnp.float32
    np.testing.assert_allclose(network(point), network(point.astype(jnp.float64)), rtol=1e-4)
