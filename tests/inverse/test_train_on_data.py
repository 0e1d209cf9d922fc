"""Train with data: unknown numbers are the last parameters, data are one term, and both follow the loss."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.measure.points import sample
from safenet.networks.methods import build
from safenet.solving.plans import plan_for
from safenet.train.objective import Weighing, physics_loss
from safenet.train.run import Run
from safenet.train.terms import term_names

DECAY = """
name = "decay"
unknowns = ["y"]
equations = ["y_t = -2*k*c*y**n"]
[domain]
t = [0, 2]
[parameters]
c = 0.5
[unknown]
k = { start = 1, above = 0 }
n = { start = 1, below = 2, above = 0 }
"""
T = np.linspace(0, 2, 30)


def decay(**data):
    return sn.loads(DECAY).with_data(sn.Data(t=T, **data or {"y": 3 * np.exp(-0.7 * T)}))


@pytest.fixture(scope="module")
def loss_and_theta():
    problem = decay(y=3 * np.exp(-0.7 * T), sigma=np.linspace(0.1, 0.2, 30))
    network = build(problem, sn.Method(width=8, depth=1), key=jax.random.key(0))
    return physics_loss(problem, network, sample(problem, 16, 4, "uniform", 0), Weighing())


def test_the_residual_of_data_is_model_minus_value(loss_and_theta):
    loss, theta = loss_and_theta
    equation, measured = eqx.filter_jit(loss.residuals)(theta)
    expected = jax.jit(jax.vmap(loss.field(theta)))(T[:, None])[:, 0] - 3 * np.exp(-0.7 * T)
    np.testing.assert_allclose(measured, expected, rtol=1e-12)
    assert len(equation) == 16


def test_unknown_numbers_are_the_last_of_theta_and_stay_in_their_bounds(loss_and_theta):
    loss, theta = loss_and_theta
    assert loss.found(theta) == pytest.approx({"k": 1.0, "n": 1.0})
    moved = loss.found(theta.at[-2:].add(jnp.array([-50.0, 50.0])))
    assert 0 < moved["k"] < 1e-20
    assert moved["n"] == pytest.approx(2)


def test_the_equation_sees_the_numbers_and_so_does_its_gradient(loss_and_theta):
    """r = y_t + 2 k c yⁿ by hand, at other numbers than those of the statement; exponents included."""
    loss, theta = loss_and_theta
    theta = theta.at[-2:].set(jnp.array([0.3, 0.4])).at[-3].add(3.0)  # the last bias: y > 0
    found, field = loss.found(theta), loss.field(theta)
    at = loss.terms[0].points
    y, y_t = jax.jit(jax.vmap(lambda p: jax.jvp(lambda q: field(q)[0], (p,), (jnp.ones(1),))))(at)
    np.testing.assert_allclose(
        eqx.filter_jit(loss.residuals)(theta)[0], y_t + found["k"] * y ** found["n"], rtol=1e-10
    )
    (_, gradient), step = eqx.filter_jit(loss.value_and_gradient)(theta), 1e-6
    value = eqx.filter_jit(lambda theta: loss(theta)[0])
    for i in (-1, -2, 0):
        up, down = (value(theta.at[i].add(h)) for h in (step, -step))
        assert gradient[i] == pytest.approx(float(up - down) / (2 * step), rel=1e-6)


def test_values_count_by_their_sigma(loss_and_theta):
    loss, _ = loss_and_theta
    shares = np.asarray(loss.terms[1].shares)
    assert shares.mean() == pytest.approx(1)
    assert shares[0] / shares[-1] == pytest.approx(4)


def test_data_are_one_term_however_many():
    problem = decay()
    assert term_names(problem) == ("equation", "data y")


def test_a_network_is_chosen_where_the_data_stand_for_initial_values():
    plan = plan_for(decay())
    assert plan.solver == "train"
    assert "no initial condition" in plan.reasons[0]


class Line(eqx.Module):
    """y = a + b t + c t²: the user's own network."""

    weights: jax.Array

    def __call__(self, point):
        return (self.weights @ jnp.stack([jnp.ones(()), point[0], point[0] ** 2]))[None]


def test_an_own_network_finds_a_number(tmp_path):
    text = DECAY.replace("-2*k*c*y**n", "k").replace("c = 0.5", "")
    text = text.replace("n = { start = 1, below = 2, above = 0 }", "")
    problem = sn.loads(text).with_data(sn.Data(t=T, y=1 + 0.25 * T))
    with pytest.warns(sn.SafeNetWarning, match="the error is not estimated"):
        sol = sn.solve(problem, sn.Train(Line(jnp.zeros(3)), [sn.SSBroyden(200)], points=16))
    assert sol.result.outcome == "unverified"
    assert sol.found["k"] == pytest.approx(0.25, rel=1e-6)
    assert sol.found["k"].error is None
    assert sol(t=1.0) == pytest.approx(1.25, rel=1e-6)
    assert sol.result.estimate is None  # only the data fix the solution


@pytest.mark.filterwarnings("ignore::safenet.SafeNetWarning")  # so few steps do not solve it
def test_an_interrupted_training_with_numbers_goes_on(tmp_path):
    text = DECAY.replace("-2*k*c*y**n", "-k*y").replace("c = 0.5", "")
    text = text.replace("n = { start = 1, below = 2, above = 0 }", "")
    problem = sn.loads(text).with_data(sn.Data(t=T, y=3 * np.exp(-0.7 * T)))
    training = sn.Train("pinn", [sn.Adam(20), sn.LBFGS(20)], points=16, width=6, depth=1)
    whole = sn.solve(problem, training, out=tmp_path / "whole")
    again = sn.load(tmp_path / "whole")
    assert again.found == whole.found
    assert sn.resume(tmp_path / "whole").found == whole.found
    assert whole.found["k"] != 1


def test_the_smoothness_of_an_unknown_function_is_one_of_the_terms_told():
    text = DECAY.replace("-2*k*c*y**n", "-k*y").replace("c = 0.5", "")
    text = text.replace("n = { start = 1, below = 2, above = 0 }", "")
    text = text.replace("k = { start", 'k = { of = ["t"], cells = 4, start')
    problem = sn.loads(text).with_data(sn.Data(t=T, y=3 * np.exp(-T)))
    plan = sn.Train("pinn", [sn.Adam(1)], points=16, width=4, depth=1).plan(problem)
    run = Run(problem, plan, sn.Monitor(), None)
    loss, theta = run.loss_and_theta()
    theta = theta.at[-1].add(1.0)
    total, terms = loss(theta)
    told, parts = run.parts(loss, theta, [float(total), *terms.tolist()])
    assert list(parts) == ["equation", "data y", "smoothness"]
    assert told == pytest.approx(sum(parts.values()), rel=1e-13)
    assert parts["smoothness"] > 1e-10 * told


@pytest.mark.parametrize("phase", ["Stage", "VariableProjection"])
def test_what_cannot_find_numbers_is_refused(phase):
    from safenet.train import phases

    with pytest.raises(sn.SafeNetError, match="cannot train the unknown numbers"):
        sn.Train("pinn", [getattr(phases, phase)(10)]).plan(decay())
