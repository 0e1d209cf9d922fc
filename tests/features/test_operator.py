"""Every feature solves the equation, at the start and with any other k; refused where there is nothing to solve."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet import library
from safenet.features import Coordinates, box, operator_features
from safenet.fields.field import jets
from safenet.networks import build, method
from safenet.problem import loads

KLEIN_GORDON = loads("""
unknowns = ["u"]
equations = ["u_tt = 4*u_xx - 9*u"]
conditions = ["u(x, 0) = 0", "u_t(x, 0) = 1"]
domain = { x = [0, 1], t = [0, 2] }
""")
FREE = loads("""
unknowns = ["u"]
equations = ["u_tt = 4*u_xx"]
conditions = ["u_x(0, t) = 0", "u_x(1, t) = 0", "u(x, 0) = 0", "u_t(x, 0) = 1"]
domain = { x = [0, 1], t = [0, 2] }
""")
KDV = loads("""
unknowns = ["u"]
equations = ["u_t + u_xxx = 0"]
conditions = ["u(x, 0) = 0"]
domain = { x = [0, 1], t = [0, 1] }
""")
SOLVED = {
    **{name: library.problem(name) for name in ("wave", "convection-50", "heat2d", "helmholtz", "nh-heat")},
    **{"Klein–Gordon": KLEIN_GORDON, "free ends": FREE, "KdV": KDV},
}


def misfit(problem, features):
    """The homogeneous equation's residual of each feature, relative to its largest term."""
    random = np.random.default_rng(0)
    ends = np.array(box(problem))
    points = ends[0] + (ends[1] - ends[0]) * random.random((16, len(problem.axes)))
    (equation,) = problem.equations
    found = jets(features, points, [jet.orders for jet in equation.jets.values()])
    terms = [
        float(problem.value(equation.coefficient(symbol))) * np.asarray(found[jet.orders])
        for symbol, jet in equation.jets.items()
    ]
    largest = np.max(np.abs(terms), axis=(0, 1))
    return np.max(np.abs(sum(terms)), axis=0) / np.where(largest > 0, largest, 1)


@pytest.mark.parametrize("name", SOLVED)
def test_every_feature_solves_the_equation(name):
    problem = SOLVED[name]
    features = operator_features(problem, 24, dtype=jnp.float64)
    assert 20 <= features.size <= 24
    assert misfit(problem, features).max() < 1e-12


@pytest.mark.parametrize("name", ["wave", "convection-50", "heat2d", "Klein–Gordon", "KdV"])
def test_the_exponents_follow_the_waves(name):
    """With other k the features are still solutions, and the derivative of s is that of the implicit function."""
    problem = SOLVED[name]
    features = operator_features(problem, 16, dtype=jnp.float64)
    moved = eqx.tree_at(lambda f: f.k, features, 1.1 * features.k + 0.05)
    assert misfit(problem, moved).max() < 1e-9
    assert np.abs(moved.exponents() - features.exponents()).max() > 0.01

    @jax.jit
    def total(k):
        return jnp.sum(jnp.abs(eqx.tree_at(lambda f: f.k, features, k).exponents()[:, -1]) ** 2)

    k, direction = features.k + 0.01, jnp.ones_like(features.k)
    slope = jax.jvp(total, (k,), (direction,))[1]
    step = 1e-5
    central = (total(k + step * direction) - total(k - step * direction)) / (2 * step)
    assert float(slope) == pytest.approx(float(central), rel=1e-6)


def test_a_free_string_drifts():
    """k = 0 is a double root: 1 and t are among the features."""
    features = operator_features(FREE, 12, dtype=jnp.float64)
    values = features(jnp.array([0.3, 1.7]))
    assert any(np.isclose(values, 1.0))
    assert any(np.isclose(values, 1.7))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_they_join_others_and_feed_a_network(dtype):
    problem = library.problem("wave")
    joined = operator_features(problem, 8, dtype=dtype) + Coordinates(*box(problem))
    point = jnp.array([0.2, 0.4], dtype)
    values = eqx.filter_jit(joined)(point)
    assert values.shape == (joined.size,)
    assert values.dtype == dtype
    chosen = method("safe-net", features=8, width=3, embedding="operator", normalise="none")
    network = build(problem, chosen, key=jax.random.key(0), dtype=dtype)
    slopes = eqx.filter_jit(eqx.filter_grad(lambda net: jnp.sum(net(point))))(network)
    moving = slopes.features.parts[0].k
    assert np.isfinite(moving).all()
    assert np.any(moving != 0)


def test_a_nonlinear_equation_lends_its_linear_part():
    """u_t = ν u_xx of Burgers' equation: every feature is a decaying sine."""
    features = operator_features(library.problem("burgers"), 8, dtype=jnp.float64)
    assert features.factors == (("sin", "exp"),)
    assert all(features.real)
