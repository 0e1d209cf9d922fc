"""Every method on every problem in both precisions, and every switch of an ablation: a few iterations of each.

Compiling is what takes time, so the fast tests trace all pairs of the paper (shapes, precisions and every rule are
checked, nothing is compiled) and run each method once, at most two layers deep; the slow one runs the whole matrix.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet import library
from safenet.features.fourier import AMPLITUDES, FREQUENCIES, LENGTHS
from safenet.features.normalise import NORMALISATIONS
from safenet.measure.points import sample
from safenet.networks import METHODS, build, method
from safenet.networks.methods import EMBEDDINGS, WEIGHTINGS
from safenet.networks.perceptron import ACTIVATIONS
from safenet.train.objective import physics_loss
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.status import Status, evaluate
from safenet.train.weighting import weighting

PAPER = ("wave", "reaction", "convection", "heat2d", "burgers", "diffusion", "allen-cahn", "nh-heat")
PRECISIONS = ("float32", "float64")
# All pairs of method and problem once, the precision changing along both.
PAIRS = [
    (name, problem, PRECISIONS[(i + j) % 2])
    for i, name in enumerate(METHODS)
    for j, problem in enumerate(PAPER)
]
ONCE = [
    (name, PAPER[i % len(PAPER)], PRECISIONS[(i + i // len(PAPER)) % 2]) for i, name in enumerate(METHODS)
]

LARGE = ("piratenet", "pinnsformer")  # hundreds of thousands of parameters: a minute to compile and train


def loss_of(problem, chosen, precision, key):
    network = build(problem, chosen, key=key, dtype=jnp.dtype(precision))
    return physics_loss(problem, network, sample(problem, 24, 8, "uniform", 0), weighting=weighting(chosen))


def traced(problem, chosen, precision="float64"):
    """Loss, terms and gradient with adapted weights, from the key on: their shapes and precisions."""

    def everything(key):
        loss, theta = loss_of(problem, chosen, precision, key)
        weights = loss.adapt(theta, loss.weights, jnp.asarray(1, jnp.int32))
        return evaluate(loss.weighted(weights), theta)

    return jax.eval_shape(everything, jax.random.key(0))


def train_a_little(chosen, problem, precision):
    loss, theta = loss_of(library.problem(problem), chosen, precision, jax.random.key(0))
    phase = Adam(3)
    state, trace = phase.advance(loss, phase.start(loss, theta), 3)
    # Three steps at 10⁻³ may raise a loss, not break it.
    assert Status(int(state.status)) is Status.FINISHED
    assert np.isfinite(trace.terms[:3]).all()
    assert np.any(state.theta != theta)
    numbers = [leaf for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    assert {leaf.dtype.name for leaf in numbers} == {precision}


def test_the_pairs_cover_each_method_and_problem_in_both_precisions():
    matrix = list(itertools.product(METHODS, PAPER, PRECISIONS))
    for first, second in itertools.combinations(range(3), 2):
        assert {(case[first], case[second]) for case in PAIRS} == {(c[first], c[second]) for c in matrix}
    assert {problem for _, problem, _ in ONCE} == set(PAPER)


def long(names, short):
    """All of them, those that are not in `short` as slow tests."""
    return [name if name in short else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", long(METHODS, {"safe-net", "pinn"}))
def test_every_method_is_traced_on_every_problem(name):
    for _, problem, precision in (pair for pair in PAIRS if pair[0] == name):
        here = traced(library.problem(problem), METHODS[name], precision)
        assert {leaf.dtype.name for leaf in jax.tree.leaves(here)} == {precision}
        assert here.gradient.size > 6000


# A variant of a method that is run is traced each time, and run by `make test-all`.
VARIANTS = {"safe-net-literal", "fls-pinn", "rbf-p", "rff-tuned", "w-pinn-grid"}


@pytest.mark.parametrize(
    ("name", "problem", "precision"),
    [
        pytest.param(*case, marks=pytest.mark.slow if case[0] in VARIANTS | set(LARGE) else ())
        for case in ONCE
    ],
)
def test_every_method_trains(name, problem, precision):
    train_a_little(method(name, depth=min(METHODS[name].depth, 2)), problem, precision)


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("problem", library.names())
@pytest.mark.parametrize("name", METHODS)
def test_every_method_trains_on_every_problem(name, problem, precision):
    train_a_little(METHODS[name], problem, precision)
    jax.clear_caches()  # hundreds of programs in one process are more than the system lets it map


SWITCHES = {
    "activation": tuple(ACTIVATIONS),
    "features": (16, 32, 64, 96, 112, 144, 192, 256),
    "frequencies": FREQUENCIES,
    "amplitudes": AMPLITUDES,
    "depth": (1, 2, 3, 4, 5, 6),
    "normalise": NORMALISATIONS,
    "k": LENGTHS,
    "domain": (True, False),
    "weighting": WEIGHTINGS,
    "embedding": tuple(EMBEDDINGS),
    "degree": (0, 2),
    "omega_0": (0.0, 1.0, 30.0),
    "scaled": (True, False),
}


@pytest.mark.parametrize("switch", long(SWITCHES, SWITCHES.keys() - {"features", "depth", "embedding"}))
def test_every_switch_is_a_plain_option(switch):
    problem = library.problem("reaction")  # the fewest derivatives
    for value in SWITCHES[switch]:
        chosen = method("safe-net-literal", **{switch: value})

        def terms(key, chosen=chosen):
            loss, theta = loss_of(problem, chosen, "float64", key)
            return loss.weighted(loss.adapt(theta, loss.weights, jnp.asarray(1, jnp.int32)))(theta)[1]

        assert jax.eval_shape(terms, jax.random.key(0)).shape == (3,)


@pytest.mark.parametrize(
    ("options", "more"),
    [({"domain": True}, 2 * 50), ({"degree": 2}, 6 * 50), ({"depth": 6}, 2 * 2550), ({"omega_0": 30.0}, 0)],
    ids=str,
)
def test_a_plain_network_takes_the_options_too(options, more):
    sizes = [traced(library.wave(), method("pinn", **o)).gradient.size for o in (options, {})]
    assert sizes[0] - sizes[1] == more
