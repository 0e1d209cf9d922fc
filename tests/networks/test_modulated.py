"""u = N₀ + Σ ψ N_ψ and u = Σ a φ + layers: values as written, derivatives on a batch as those at a point."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet import library
from safenet.fields.derivatives import Operator, batch_jets, point_jets
from safenet.networks import build, method
from safenet.networks.methods import TRAINED_DENSELY
from safenet.networks.modulated import Modulated
from safenet.networks.perceptron import trainable

SMALL = {"features": 16, "width": 5, "degree": 1}


def built(problem, **options):
    network = build(problem, method("safe-net", **(SMALL | options)), key=jax.random.key(3))
    random = np.random.default_rng(1)
    moved = jax.tree.map(lambda leaf: leaf + 0.2 * random.normal(size=leaf.shape), trainable(network))
    return eqx.combine(moved, network)


SKIP, ALL = {"skip": True}, {"carriers": True, "skip": True, "depth": 2, "seams": True, "corners": True}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *(("wave", SKIP), ("backstep", SKIP), ("allen-cahn", ALL)),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("heat2d", SKIP),
                ("allen-cahn", SKIP),
                ("wave", ALL),
                ("heat2d", ALL),
                ("backstep", ALL),
            ]
        ),
    ],
)
def test_derivatives_on_a_batch_are_those_at_a_point(name, options):
    problem = library.problem(name)
    network = built(problem, **options)
    axes = len(problem.axes)
    low, length = (np.array([getattr(axis, key) for axis in problem.axes]) for key in ("lo", "length"))
    points = jnp.asarray(low + length * np.random.default_rng(0).uniform(0.05, 0.95, (4, axes)))
    first, second, mixed = np.eye(axes, dtype=int)[1], 2 * np.eye(axes, dtype=int)[0], [1, 1, 0][:axes]
    orders = [(0,) * axes, tuple(map(int, first)), tuple(map(int, second)), tuple(mixed)]
    found, expected = batch_jets(network, points, orders), jax.vmap(point_jets(network, orders))(points)
    for alpha in orders:
        np.testing.assert_allclose(found[alpha], expected[alpha], rtol=1e-9, atol=1e-9)
    L = Operator({orders[1]: 2.0, orders[2]: -0.5})
    np.testing.assert_allclose(
        batch_jets(network, points, [L])[L],
        2 * expected[orders[1]] - 0.5 * expected[orders[2]],
        rtol=1e-8,
        atol=1e-8,
    )


def test_a_skip_adds_the_linear_form_of_the_features():
    network = built(library.wave(), skip=True)
    without = eqx.tree_at(lambda n: n.skip, network, jnp.zeros_like(network.skip))
    x = jnp.asarray([0.3, 0.7])
    np.testing.assert_allclose(network(x) - without(x), network.skip @ network.features(x), rtol=1e-9)


def test_the_functions_of_the_conditions_carry_outputs_of_their_own():
    network = built(library.wave(), carriers=True)
    assert isinstance(network, Modulated)
    x = jnp.asarray([0.3, 0.7])
    plain, *carried = network.inner(x)
    psi = {"sin(pi*x)": np.sin(np.pi * 0.3), "sin(4*pi*x)": np.sin(4 * np.pi * 0.3)}
    named = zip(map(str, network.carriers.inner.expressions), carried, strict=True)
    expected = plain + sum(psi[name] * value for name, value in named) / network.carriers.scale.array
    np.testing.assert_allclose(network(x)[0], expected, rtol=1e-12)
    assert trainable(network).carriers.scale.array is None


def test_without_functions_in_the_conditions_there_is_nothing_to_carry():
    assert not isinstance(built(library.helmholtz(), carriers=True), Modulated)


@pytest.mark.slow
def test_one_declaration_serves_every_problem_with_few_enough_parameters_for_a_dense_matrix():
    for name in library.names():
        network = build(library.problem(name), method("safe-net", **TRAINED_DENSELY), key=jax.random.key(0))
        assert 4000 < network.parameters < 7000


@pytest.mark.parametrize("hard", [False, True])
def test_its_perceptron_is_found_within_and_it_can_be_added_to_another_network(hard):
    network = built(library.problem("wave"), carriers=True, hard=hard)
    assert isinstance(network.inner if hard else network, Modulated)
    assert network.perceptron.weights is network.weights
    assert network.without_data().perceptron is network.perceptron
