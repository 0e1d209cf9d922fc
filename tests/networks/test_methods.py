"""Methods as declarations: the printed network to the last parameter and digit, wrong words refused, round trips."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import sympy as sp

from safenet import library, listed
from safenet.errors import SafeNetError
from safenet.features.fourier import AMPLITUDES, FREQUENCIES
from safenet.fields.saved import field_skeleton
from safenet.networks import METHODS, AxisBasis, LinearForm, Method, Piecewise, build, method
from safenet.networks.methods import settled
from safenet.networks.perceptron import trainable
from safenet.networks.saved import network_spec, skeleton
from safenet.run.checkpoint import fill, leaves
from safenet.train.plan import Plan

WAVE = library.wave()


def disturbed(network, seed=0):
    """All arrays moved off their starting values, so that no 1 or 0 can hide a mistake."""
    random = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: leaf + 0.3 * random.normal(size=leaf.shape), network)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        # 32·2 frequencies, 32·4 amplitudes, 50·(128 + 2) + 50 and 50 + 1
        ("safe-net-literal", 6793),
        # 2·50 + 50, three times 50·50 + 50, 50 + 1
        ("pinn", 7851),
        ("fls-pinn", 7851),
        ("w-pinn", 7851),
        ("w-pinn-grid", 7851),
        # (63 + 1)·50 + 50, five times 2550, 51
        ("rba-pinn", 16051),
        # 128·50 + 50, three times 2550, 51; B is frozen
        ("rff", 14151),
        ("rff-tuned", 14151),
        # as rff, 128·2 centres and 128 widths
        ("rbf", 14535),
        # and 6·50 for the monomials
        ("rbf-p", 14835),
    ],
)
def test_the_papers_networks_have_the_papers_number_of_parameters(name, parameters):
    network = build(WAVE, METHODS[name], key=jax.random.key(0))
    assert network.parameters == parameters
    assert sum(leaf.size for leaf in jax.tree.leaves(trainable(network))) == parameters


def test_every_method_is_described_and_none_is_a_rename_of_another():
    assert list(listed.METHODS) == list(METHODS)
    assert len(set(METHODS.values())) == len(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_survives_json(name):
    saved = json.loads(json.dumps(dataclasses.asdict(METHODS[name])))
    assert Method(**saved) == METHODS[name]
    assert hash(Method(**saved)) == hash(METHODS[name])


def test_a_plan_of_an_earlier_version_is_read_as_what_it_was():
    first = ("features", "frequencies", "amplitudes", "normalise", "domain", "width", "depth", "activation")
    for name in ("safe-net", "safe-net-literal", "pinn"):
        whole = dataclasses.asdict(METHODS[name])
        # k has been changed since: a plan that does not name it means the printed rule.
        assert Method(**{field: whole[field] for field in first}) == dataclasses.replace(
            METHODS[name], k="auto"
        )


def test_one_network_has_one_name():
    literal = METHODS["safe-net-literal"]
    assert settled(WAVE, literal).k == settled(WAVE, dataclasses.replace(literal, k="axis")).k == "auto"
    reaction = library.problem("reaction")
    assert [settled(reaction, dataclasses.replace(literal, k=k)).k for k in ("auto", "1", "L", "axis")] == [
        *("auto", "auto", "L", "axis"),
    ]
    assert settled(reaction, METHODS["pinn"]) is METHODS["pinn"]


def test_a_fixed_scale_is_no_parameter():
    network = build(WAVE, method("safe-net", features=8, width=3), key=jax.random.key(0))
    assert network.parameters == 2 * 2 + 2 * 4 + 3 * (8 + 2) + 3 + 3 + 1
    assert trainable(network).features.scale.array is None


def printed(network, x, t):
    """The paper's forward pass in 40 digits, with the network's own numbers."""
    number = np.vectorize(lambda value: mpmath.mpf(float(value)), otypes=[object])
    inner = network.features.inner
    fourier, domain = inner.parts
    phi = []
    for (omega, lam), (a, b, c, d) in zip(number(fourier.omega), number(fourier.amplitude), strict=True):
        sin_x, cos_x, sin_t, cos_t = (
            mpmath.sin(omega * x),
            mpmath.cos(omega * x),
            mpmath.sin(lam * t),
            mpmath.cos(lam * t),
        )
        phi += [a * sin_x * cos_t, b * cos_x * sin_t, c * sin_x * sin_t, d * cos_x * cos_t]
    phi += [sp.lambdify(domain.symbols, psi, "mpmath")(x, t) for psi in domain.expressions]
    mean = mpmath.fsum(phi) / len(phi)
    norm = mpmath.sqrt(mpmath.fsum((value - mean) ** 2 for value in phi))
    v = np.array([(value - mean) / (norm + mpmath.mpf("0.001")) for value in phi])
    (W_1, w_2), (b_1, b_2) = map(number, network.weights), map(number, network.biases)
    return (w_2 @ np.vectorize(mpmath.tanh)(W_1 @ v + b_1) + b_2)[0]


def test_the_forward_pass_is_the_printed_one():
    network = disturbed(build(WAVE, METHODS["safe-net-literal"], key=jax.random.key(0)))
    assert network.features.inner.parts[1].size == 2
    for x, t in np.random.default_rng(5).random((3, 2)):
        with mpmath.workdps(40):
            expected = float(printed(network, mpmath.mpf(x), mpmath.mpf(t)))
        # 130 features and phases up to 32π, each rounded once: a few hundred roundings of 1e-16.
        assert float(network(jnp.array([x, t]))[0]) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("depth", "activation"), [(1, "sine"), (3, "swish"), (2, "gelu"), (2, "relu")])
def test_layers_follow_one_another_with_the_activation_between(depth, activation):
    chosen = method("pinn", depth=depth, width=4, activation=activation)
    network = disturbed(build(library.nh_heat(), chosen, key=jax.random.key(2)))
    sigma = {
        "sine": np.sin,
        "swish": lambda z: z / (1 + np.exp(-z)),
        "relu": lambda z: np.maximum(z, 0),
        # JAX's default, the approximation of Hendrycks and Gimpel by a tanh
        "gelu": lambda z: z / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))),
    }[activation]
    value = np.array([2 * 0.3 - 1, 2 * 0.9 - 1])
    for index, (W, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        value = np.asarray(W) @ value + np.asarray(b)
        value = sigma(value) if index < depth else value
    np.testing.assert_allclose(network(jnp.array([0.3, 0.9])), value, rtol=1e-13)


@pytest.mark.parametrize("omega_0", [1.0, 30.0])
def test_the_first_layer_of_fls_is_a_sine_and_the_others_are_not(omega_0):
    chosen = method("fls-pinn", depth=3, width=4, omega_0=omega_0)
    network = disturbed(build(library.nh_heat(), chosen, key=jax.random.key(2)))
    (W_1, W_2, W_3, W_4), (b_1, b_2, b_3, b_4) = (
        map(np.asarray, network.weights),
        map(np.asarray, network.biases),
    )
    value = np.sin(omega_0 * (W_1 @ [2 * 0.3 - 1, 2 * 0.9 - 1] + b_1))
    value = W_4 @ np.tanh(W_3 @ np.tanh(W_2 @ value + b_2) + b_3) + b_4
    np.testing.assert_allclose(network(jnp.array([0.3, 0.9])), value, rtol=1e-12)


def test_the_first_layer_of_fls_starts_uniform_in_one_over_the_inputs():
    network = build(WAVE, method("fls-pinn", width=2000, depth=2), key=jax.random.key(0))
    first, second = np.asarray(network.weights[0]), np.asarray(network.weights[1])
    assert 0.99 / 2 < np.abs(first).max() <= 1 / 2
    assert first.std() == pytest.approx(
        1 / 2 / np.sqrt(3), rel=0.05
    )  # of 4000 numbers, five standard errors: 5 %
    assert np.abs(second).max() <= np.sqrt(6 / 4000)


def test_weights_start_glorot_uniform_and_biases_at_zero():
    network = build(WAVE, Method(), key=jax.random.key(0))
    for W in network.weights:
        bound = np.sqrt(6 / sum(W.shape))
        assert 0.9 * bound < np.abs(W).max() <= bound
    spread = np.asarray(network.weights[0])
    # Of 6500 uniform numbers: the deviation is bound/√3 within five standard errors (1 %).
    assert spread.std() == pytest.approx(np.sqrt(6 / sum(spread.shape)) / np.sqrt(3), rel=0.05)
    assert all(not np.any(b) for b in network.biases)


@pytest.mark.parametrize(
    ("options", "complaint", "remedy"),
    [
        ({"activation": "tahn"}, "activation = 'tahn'", "'tanh'"),
        ({"frequencies": "harmonics"}, "frequencies = 'harmonics'", "'harmonic'"),
        ({"amplitudes": "decaying"}, "amplitudes = 'decaying'", "'decay'"),
        ({"normalise": "pointwise"}, "normalise = 'pointwise'", "'point'"),
        ({"embedding": "radail"}, "embedding = 'radail'", "'radial'"),
        ({"weighting": "nkt"}, "weighting = 'nkt'", "'ntk'"),
        ({"k": "2"}, "k = '2'", "L"),
        ({"features": -1}, "features = -1", "0"),
        ({"batch": 1}, "batch = 1", "2"),
        ({"ntk_every": 0}, "ntk_every = 0", "1"),
        ({"omega_0": -1.0}, "omega_0 = -1.0", "0"),
        ({"omega_0": float("nan")}, "omega_0 = nan", "0"),
        ({"bandwidth": 0.0}, "bandwidth = 0.0", "positive"),
        ({"rba_decay": 1.0}, "rba_decay = 1.0", "0.999"),
        ({"weight_grid": (1.0, 0.0)}, "weight_grid = (1.0, 0.0)", "positive"),
        ({"width": 0}, "width = 0", "1"),
        ({"depth": -1}, "depth = -1", "0"),
        ({"widht": 3}, "'widht'", "'width'"),
    ],
)
def test_wrong_options_are_refused_with_a_remedy(options, complaint, remedy):
    with pytest.raises(SafeNetError) as caught:
        method("safe-net", **options)
    assert complaint in caught.value.message
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("width", 2.5, "width = 2.5 is not a whole number"),
        ("features", "64", "features = '64' is not a whole number"),
        ("omega_0", "1", "omega_0 = '1' is not a finite number"),
        ("sigma_space", "x", "sigma_space = 'x' is not positive"),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused(name, value, complaint):
    chosen = method("safe-net")
    vars(chosen)[name] = value  # the constructor's types are checked in tests only, and before this
    with pytest.raises(SafeNetError) as caught:
        chosen.__post_init__()
    assert complaint in caught.value.message


def test_an_unknown_method_is_refused_with_the_nearest():
    with pytest.raises(SafeNetError, match="safe-nett") as caught:
        method("safe-nett")
    assert "did you mean 'safe-net'" in caught.value.remedy


def refilled(problem, field, spec, skeleton=skeleton):
    """The field through JSON and arrays, as a file holds it."""
    made = skeleton(problem, json.loads(json.dumps(spec)))
    return fill(made, {name: np.asarray(leaf) for name, leaf in leaves(field).items()})


def same_bits(a, b):
    return all(np.array_equal(p, q) for p, q in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_rebuilt_from_its_declaration(name, dtype):
    chosen = dataclasses.replace(METHODS[name], width=5)
    network = build(WAVE, chosen, key=jax.random.key(7), dtype=jnp.dtype(dtype))
    again = refilled(WAVE, network, network_spec(network, Plan(network=chosen, precision=dtype)))
    assert same_bits(network, again)
    point = jnp.array([0.3, 0.9], dtype)
    assert again(point).dtype == jnp.dtype(dtype)
    np.testing.assert_array_equal(network(point), again(point))


@pytest.mark.parametrize("frequencies", FREQUENCIES)
@pytest.mark.parametrize("amplitudes", AMPLITUDES)
def test_every_start_is_finite_and_rebuilt(frequencies, amplitudes):
    chosen = method("safe-net", features=16, width=3, frequencies=frequencies, amplitudes=amplitudes)
    network = build(WAVE, chosen, key=jax.random.key(7))
    assert np.isfinite(network(jnp.array([0.3, 0.9]))).all()
    assert same_bits(network, refilled(WAVE, network, network_spec(network, Plan(network=chosen))))


def test_linear_forms_and_their_pieces_are_rebuilt():
    random = np.random.default_rng(0)

    def form(lower, upper, modes):
        bases = ((AxisBasis("sine", modes, 0.0, 1.0), AxisBasis("chebyshev", 3, lower, upper)),)
        return LinearForm((random.normal(size=(modes, 4)),), bases)

    for field in (form(0.0, 1.0, 3), Piecewise((form(0.0, 0.3, 3), form(0.3, 1.0, 5)), (0.0, 0.3, 1.0))):
        again = refilled(WAVE, field, field.spec(), field_skeleton)
        assert type(again) is type(field)
        points = np.array([[0.2, 0.1], [0.7, 0.8]])
        np.testing.assert_array_equal(*(f.jets(points, [(1, 1)])[(1, 1)] for f in (field, again)))


def test_arrays_of_another_network_are_refused():
    chosen = method("pinn", width=3, depth=1)
    network = build(WAVE, chosen, key=jax.random.key(0))
    wider = build(WAVE, dataclasses.replace(chosen, width=4), key=jax.random.key(0))
    with pytest.raises(SafeNetError, match="do not fit"):
        fill(network, {name: np.asarray(leaf) for name, leaf in leaves(wider).items()})
