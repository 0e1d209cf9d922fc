"""What the paper names beside its own: PirateNets, PINNsFormer, adaptive activations, hybrid features, MultiAdam."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet import METHODS, library
from safenet.fields.derivatives import Operator, batch_jets, point_jets
from safenet.measure.points import sample
from safenet.networks import build, method
from safenet.networks.former import DELTA, Former
from safenet.networks.perceptron import parameter_count
from safenet.networks.pirate import Pirate
from safenet.train.objective import Weighing, physics_loss
from safenet.train.optimisers.adam import MultiAdam
from safenet.train.optimisers.status import evaluate

WAVE = library.problem("wave")
KEY = jax.random.key(0)
POINTS = jnp.asarray(np.random.default_rng(0).random((5, 2)))
ORDERS = [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2)]


def count(name):
    return parameter_count(eqx.filter_eval_shape(lambda key: build(WAVE, METHODS[name], key=key), KEY))


def disturbed(network):
    """With every trainable number away from where it starts."""
    rng = np.random.default_rng(1)
    return jax.tree.map(
        lambda leaf: leaf + 0.1 * rng.normal(size=leaf.shape) if eqx.is_inexact_array(leaf) else leaf, network
    )


def test_sizes_are_the_authors():
    assert count("pinnsformer") == 453_561  # «454k»
    # Eleven layers of 256 by 256 in factors, a last one, three α: «727k», of which the paper says «720k or more».
    assert count("piratenet") == 11 * (256 * 256 + 2 * 256) + 257 + 3 == 726_788


def test_a_piratenet_starts_as_the_linear_form_of_its_features():
    network = build(WAVE, method("piratenet", features=8, depth=2), key=KEY)
    assert isinstance(network, Pirate)
    for point in POINTS:
        linear = network.weights[0] @ network.features(point) + network.biases[0]
        np.testing.assert_allclose(network(point), linear, rtol=1e-12)


def test_a_block_is_the_printed_formula():
    network = disturbed(build(WAVE, method("piratenet", features=4, depth=1), key=KEY))
    (first, second, third), x = network.blocks[0], network.features(POINTS[0])
    U, V = (jnp.tanh((jnp.exp(g.s)[:, None] * g.V) @ x + g.b) for g in network.gates)
    f = jnp.tanh(first(x))
    z = f * U + (1 - f) * V
    g = jnp.tanh(second(z))
    z = g * U + (1 - g) * V
    alpha = float(network.alpha[0])
    out = network.weights[0] @ (alpha * jnp.tanh(third(z)) + (1 - alpha) * x) + network.biases[0]
    np.testing.assert_allclose(network(POINTS[0]), out, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "options"),
    [("piratenet", {"features": 6, "depth": 2}), ("pinn", {"adaptive": True, "depth": 2, "width": 4})],
)
def test_derivatives_on_a_batch_are_those_at_a_point(name, options):
    network = disturbed(build(WAVE, method(name, **options), key=KEY))
    L = Operator({(2, 0): 3.0, (0, 1): -1.0})
    expected = jax.jit(jax.vmap(point_jets(network, ORDERS)))(POINTS)
    values = jax.jit(lambda points: list(batch_jets(network, points, [*ORDERS, L]).values()))(POINTS)
    found = dict(zip([*ORDERS, L], values, strict=True))
    for alpha in ORDERS:
        np.testing.assert_allclose(found[alpha], expected[alpha], rtol=1e-10, atol=1e-10)
    whole = 3 * expected[2, 0] - expected[0, 1]
    np.testing.assert_allclose(found[L], whole, rtol=1e-10, atol=1e-9)


def test_adaptive_activations_start_as_the_network_without_them_and_steepen_it():
    plain, adaptive = (
        build(WAVE, method("pinn", adaptive=a, depth=2, width=4), key=KEY) for a in (False, True)
    )
    np.testing.assert_allclose(plain(POINTS[0]), adaptive(POINTS[0]), rtol=1e-12)
    assert adaptive.parameters == plain.parameters + 2
    steeper = eqx.tree_at(lambda n: n.slopes, adaptive, jnp.asarray([0.2, 0.1]))
    doubled = eqx.tree_at(lambda n: n.weights[0], plain, 2 * plain.weights[0])  # biases are zero
    np.testing.assert_allclose(steeper(POINTS[0]), doubled(POINTS[0]), rtol=1e-12)


def test_a_pinnsformer_looks_a_little_ahead_in_time_only():
    network = build(WAVE, method("pinnsformer", width=8), key=KEY)
    assert isinstance(network, Former)
    x = jnp.asarray([0.3, 0.5])
    sequence = x + DELTA * jnp.arange(5.0)[:, None] * jnp.asarray([0.0, 1.0])
    embedded = network.embedding(sequence)
    whole = network.head(network.decoder(embedded, network.encoder(embedded)))
    np.testing.assert_allclose(network(x), whole[0], rtol=1e-12)
    # The derivative is that of the map from the point: a difference quotient agrees.
    h = 1e-6
    quotient = (network(x + jnp.asarray([0.0, h])) - network(x - jnp.asarray([0.0, h]))) / (2 * h)
    np.testing.assert_allclose(point_jets(network, [(0, 1)])(x)[0, 1], quotient, rtol=1e-5)


def test_hybrid_features_are_half_waves_and_half_radial():
    features = build(
        WAVE, method("safe-net-literal", embedding="hybrid", domain=False, normalise="none"), key=KEY
    ).features
    assert [part.size for part in features.parts] == [64, 64]


def test_multiadam_steps_by_the_mean_of_both_groups_signs_whatever_their_weights():
    network = build(WAVE, method("pinn", width=3, depth=1), key=KEY)
    updates = []
    for weight in (1.0, 1000.0):
        weighing = Weighing(1.0, weight)
        loss, theta = physics_loss(WAVE, network, sample(WAVE, 16, 4, "uniform", 0), weighing)
        phase = MultiAdam(10, rate=1e-2)
        state = phase.start(loss, theta)
        equations = evaluate(loss.equations_alone(), theta).gradient
        conditions = state.gradient - equations
        expected = -1e-2 * (jnp.sign(equations) + jnp.sign(conditions)) / 2
        update, moments = phase.updated(loss, state)
        clear = (jnp.abs(equations) > 1e-4) & (jnp.abs(conditions) > 1e-4)  # ε = 1e-8 beside them is nothing
        assert int(clear.sum()) > 5
        np.testing.assert_allclose(update[clear], expected[clear], rtol=1e-3, atol=1e-6)
        assert len(moments) == 2
        updates.append((update, clear))
    (first, clear), (second, _) = updates
    np.testing.assert_allclose(first[clear], second[clear], rtol=1e-3, atol=1e-6)
