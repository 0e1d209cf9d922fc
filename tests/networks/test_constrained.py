"""u = g + d N: conditions that hold for any N, derived from the symbols; what cannot be so stays as it was."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import safenet as sn
from safenet.fields.field import jets
from safenet.measure.heldout import held_out
from safenet.networks import Perceptron, build, method
from safenet.networks.constrained import Constrained, hard_form
from safenet.networks.perceptron import trainable
from safenet.train.optimisers.varpro import last_layer

SMALL = {"features": 8, "width": 4}
DECAY = sn.loads("""
name = "decay"
unknowns = ["u"]
equations = ["u_tt = -u"]
conditions = ["u(0) = 1", "u_t(0) = 2"]
domain = { t = [0, 1] }
""")
BOX = """
name = "box"
unknowns = ["u"]
equations = ["u_t = u_xx"]
conditions = {conditions}
domain = {{ x = [0, 2], t = [1, 3] }}
"""


def box(*conditions):
    return sn.loads(BOX.format(conditions=list(conditions)))


def hard(problem):
    return {c.text for name in problem.unknowns for c in hard_form(problem, name).conditions}


@pytest.mark.parametrize("name", ["wave", "burgers", "reaction", "cavity"])
@pytest.mark.parametrize("seed", [0, 1])
def test_hard_conditions_hold_to_rounding_whatever_the_parameters(name, seed):
    problem = sn.library.problem(name)
    network = build(problem, method("safe-net", hard=True, **SMALL), key=jax.random.key(seed))
    assert isinstance(network, Constrained)
    left = dict(
        zip((c.text for c in problem.conditions), held_out(problem, network, 64).conditions, strict=True)
    )
    assert max(left[text] for text in hard(problem)) < 1e-12
    # And the network is not merely the data: N moves it.
    assert any(held_out(problem, network, 64).equations)


@pytest.mark.parametrize(
    ("name", "soft"),
    [
        ("wave", set()),
        ("reaction", {"u(0, t) = u(2*pi, t)"}),
        ("cavity", {"p(0, 0) = 0"}),
        ("heat-bump", {"u(0, t) = 0", "u(1, t) = 0"}),  # e^{-32} is not 0
    ],
)
def test_what_can_be_hard_is_and_the_rest_stays_soft(name, soft):
    problem = sn.library.problem(name)
    assert {c.text for c in problem.conditions} - hard(problem) == soft


def test_second_order_needs_both_values_and_the_factor_vanishes_twice():
    x, t = sp.symbols("x t", real=True)
    form = hard_form(sn.library.problem("wave"), "u")
    assert sp.expand(form.factor - 4 * t**2 * x * (1 - x)) == 0
    assert form.offset == sp.sin(sp.pi * x) + sp.sin(4 * sp.pi * x) / 2


def test_faces_that_move_are_interpolated_where_they_agree_with_the_beginning():
    x, t = sp.symbols("x t", real=True)
    problem = box("u(0, t) = t", "u(2, t) = 3", "u(x, 1) = 1 + x**2/2")
    form = hard_form(problem, "u")
    assert len(form.conditions) == 3
    assert sp.expand(form.offset - (1 + x**2 / 2 + (1 - x / 2) * (t - 1))) == 0


@pytest.mark.parametrize(
    ("conditions", "kept"),
    [
        (("u(0, t) = 1", "u(2, t) = 0", "u(x, 1) = 0"), 2),  # 1 meets 0 in the corner
        (("u_x(0, t) = 0", "u(2, t) = 0", "u(x, 1) = 4 - x**2"), 2),  # a slope is no value
        (("u(0, t) = 0", "u(2, t) + u_x(2, t) = 0", "u(x, 1) = 0"), 2),
        (("u(0, t) = 0", "u(2, t) = 0", "u(x, 1) = 1 - abs(x - 1)"), 2),  # a kink, of which u_xx is asked
        (("u(0, t) = 0", "u(2, t)**2 = 0", "u(x, 1) = 0"), 2),
    ],
    ids=["corner", "neumann", "robin", "kink", "nonlinear"],
)
def test_conditions_that_do_not_fit_stay_soft(conditions, kept):
    assert len(hard(box(*conditions))) == kept


def test_on_a_region_nothing_is_hard_and_the_network_is_the_plain_one():
    problem = sn.library.problem("four-holes")
    network = build(problem, method("safe-net", hard=True, **SMALL), key=jax.random.key(0))
    assert isinstance(network, Perceptron)


def test_derivatives_of_the_sum_are_those_of_its_parts():
    """∂_x (g + d N) by hand, from N's own derivatives."""
    problem = sn.library.problem("burgers")
    network = build(problem, method("safe-net", hard=True, **SMALL), key=jax.random.key(3))
    at = jnp.asarray(np.random.default_rng(0).uniform((-1, 0), (1, 1), (20, 2)))
    x, t = at.T
    inner = {orders: value[:, 0] for orders, value in jets(network.inner, at, [(0, 0), (1, 0)]).items()}
    d, d_x = t * (1 - x**2), -2 * x * t
    expected = -jnp.pi * jnp.cos(jnp.pi * x) + d_x * inner[0, 0] + d * inner[1, 0]
    np.testing.assert_allclose(jets(network, at, [(1, 0)])[1, 0][:, 0], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
@pytest.mark.slow
def test_a_solution_with_hard_conditions_is_saved_and_stays_hard(tmp_path):
    few = {"scale": 1e-4, "points": 40, "condition_points": 5, "precision": "float64"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.SafeNetWarning)  # ten iterations solve nothing
        solution = sn.solve(DECAY, sn.Train("safe-net", "paper-4", hard=True, **few, **SMALL))
    assert isinstance(solution.field, Constrained)
    assert max(solution.error().held_out.conditions) < 1e-12
    again = sn.load(solution.save(tmp_path / "run"))
    np.testing.assert_array_equal(again(t=[0.2, 0.7]), solution(t=[0.2, 0.7]))


def test_the_last_layer_is_where_variable_projection_looks_for_it():
    network = build(DECAY, method("safe-net", hard=True, **SMALL), key=jax.random.key(0))
    np.testing.assert_array_equal(last_layer(network), last_layer(network.inner))


def test_frozen_features_are_the_same_map_with_nothing_to_train():
    frozen, plain = (
        build(DECAY, method("safe-net", train_features=train, **SMALL), key=jax.random.key(0))
        for train in (False, True)
    )
    point = jnp.asarray([0.3])
    np.testing.assert_array_equal(frozen(point), plain(point))
    assert not jax.tree.leaves(trainable(frozen).features)
    assert len(jax.tree.leaves(trainable(frozen))) == 4  # two weights, two biases
    assert plain.parameters - frozen.parameters == 4 * 1 + 4 * 2  # four frequencies, two amplitudes each
