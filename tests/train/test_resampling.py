"""Adaptive points: drawn with the density they should have, the same for the same step, and resumed to the bit."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from carrying import train
from jaxtyping import Array

import safenet as sn
from safenet import library
from safenet.measure.points import sample
from safenet.train import run as training
from safenet.train.objective import physics_loss
from safenet.train.optimisers.levenberg import LevenbergMarquardt
from safenet.train.optimisers.ssbroyden import SSBroyden
from safenet.train.resampling import adaptive_points, even_points, inclusion
from safenet.train.run import Run
from safenet.train.solver import Train

GROWTH = sn.loads("""
name = "growth"
unknowns = ["u"]
equations = ["u_t = u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
""")
PLAN = dataclasses.replace(
    Train(features=4, width=3, points=12, condition_points=1).plan(GROWTH),
    phases=(LevenbergMarquardt(11, resample=4, patience=0),),
)


class Power(eqx.Module):
    """u = a t^b, whose residual is a (b − t) t^(b−1)."""

    theta: Array

    def __call__(self, point):
        a, b = self.theta
        return a * point**b


def drawn(b, count=4000, seed=(0, 0, 4)):
    loss, theta = physics_loss(GROWTH, Power(jnp.asarray([1.0, b])), sample(GROWTH, 5, 1, "uniform", 0))
    return adaptive_points(GROWTH, loss, theta, count, seed)


def test_the_density_of_the_points_is_that_of_the_residual_and_a_floor():
    points = drawn(8.0)[:, 0]
    assert len(np.unique(points)) == 4000
    found, edges = np.histogram(points, bins=8, range=(0, 1))
    t = (np.arange(8000) + 0.5) / 8000
    residual = (8 - t) * t**7
    density = np.histogram(t, edges, weights=residual / residual.mean() + 1)[0]
    expected = 4000 * density / density.sum()
    assert found[-1] > 3 * found[0]
    np.testing.assert_allclose(found, expected, rtol=0.1)
    assert np.array_equal(points, drawn(8.0)[:, 0])
    assert not np.array_equal(points, drawn(8.0, seed=(0, 0, 8))[:, 0])


def test_with_their_shares_the_points_give_the_means_over_the_domain():
    points, shares = drawn(8.0).T
    np.testing.assert_allclose(shares.mean(), 1)
    for power in (1, 2, 7, 14):
        np.testing.assert_allclose(np.mean(shares * points**power), 1 / (power + 1), rtol=0.03)
        assert np.mean(points**power) > 1.2 / (power + 1)  # without them, no longer


def test_no_point_is_more_than_certain_and_all_of_them_make_the_count():
    density = np.array([100.0, 50.0, 1.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(inclusion(density, 4), [1, 1, 0.5, 0.5, 0.5, 0.5])


def test_the_loss_at_points_with_shares_weighs_every_row_by_them():
    loss, theta = physics_loss(GROWTH, Power(jnp.asarray([1.0, 3.0])), sample(GROWTH, 5, 1, "uniform", 0))
    t, shares = jnp.asarray([0.2, 0.5, 0.9]), jnp.asarray([0.5, 1.0, 1.5])
    there = loss.at(jnp.stack([t, shares], axis=1))
    r = (3 - t) * t**2
    total, terms = there(theta)
    np.testing.assert_allclose(terms[0], jnp.mean(shares * r**2) / 2)
    np.testing.assert_allclose(jnp.sum(there.rows(theta) ** 2) / 2, total)
    (blocked, means), gradient = there.value_and_gradient(theta)
    np.testing.assert_allclose(means, terms)
    np.testing.assert_allclose(blocked, total)
    np.testing.assert_allclose(gradient, jax.grad(lambda p: there(p)[0])(theta), rtol=1e-10)
    np.testing.assert_allclose(there.normal_equations(theta)[1], gradient, rtol=1e-10)


def test_even_points_leave_the_loss_as_it_is():
    loss, theta = physics_loss(GROWTH, Power(jnp.asarray([1.0, 3.0])), sample(GROWTH, 5, 1, "uniform", 0))
    np.testing.assert_allclose(loss.at(even_points(loss))(theta)[0], loss(theta)[0])


def test_what_has_no_residual_has_points_everywhere():
    loss, theta = physics_loss(GROWTH, Power(jnp.asarray([0.0, 1.0])), sample(GROWTH, 5, 1, "uniform", 0))
    points, shares = adaptive_points(GROWTH, loss, theta, 4000, (1,)).T
    found, _ = np.histogram(points, bins=4, range=(0, 1))
    np.testing.assert_allclose(found, 1000, rtol=0.15)
    np.testing.assert_allclose(shares, 1)


class Interrupter(sn.Monitor):
    def __init__(self, n):
        self.n = n

    def losses(self, *_):
        self.n -= 1
        if self.n == 0:
            raise KeyboardInterrupt


def test_new_points_come_after_so_many_steps_and_an_interruption_changes_none(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        training,
        "adaptive_points",
        lambda *args: seen.append((args[-1], adaptive_points(*args))) or seen[-1][1],
    )
    whole = train(GROWTH, PLAN)
    assert [seed for seed, _ in seen] == [(0, 0, 4), (0, 0, 8)]
    assert not np.array_equal(seen[0][1], seen[1][1])
    monkeypatch.setattr(training, "CHUNK_SECONDS", 0.0)  # a look after every step
    for n in (3, 4, 5, 9):
        folder = tmp_path / str(n)
        folder.mkdir()
        stopped = train(GROWTH, PLAN, Interrupter(n), folder)
        assert stopped.interrupted
        resumed = train(GROWTH, PLAN, folder=folder, resume=True)
        assert np.array_equal(resumed.history, whole.history)
        assert [r.outcome for r in resumed.records] == [r.outcome for r in whole.records]
        for a, b in zip(
            *(eqx.filter(run.field, eqx.is_array).weights for run in (resumed, whole)), strict=True
        ):
            assert np.array_equal(a, b)
        assert [(r.iterations, r.evaluations) for r in resumed.records] == [
            (r.iterations, r.evaluations) for r in whole.records
        ]


def test_the_patience_begins_anew_with_the_points():
    phase = LevenbergMarquardt(50, patience=2, decrease=0.999999)
    loss, theta = physics_loss(GROWTH, Power(jnp.asarray([1.0, 1.5])), sample(GROWTH, 30, 1, "uniform", 0))
    state, _ = phase.advance(loss, phase.start(loss, theta), 1)
    other = loss.at(loss.terms[0].points[::-1] / 2)
    fresh = phase.refresh(other, state)
    assert float(fresh.damping) == float(state.damping)
    assert int(fresh.iteration) == 1
    assert int(fresh.evaluations) == int(state.evaluations) + 1
    assert float(fresh.best_total) == float(fresh.total) == pytest.approx(float(other(state.theta)[0]))
    # Two slow steps would stop a run of patience 2; the first of them after a change of points does not count.
    after, _ = phase.advance(other, fresh, 1)
    assert int(after.status) == 0


def test_new_points_begin_a_new_comparison_of_losses():
    phase = SSBroyden(20)
    loss, theta = physics_loss(GROWTH, Power(jnp.asarray([1.0, 1.5])), sample(GROWTH, 30, 1, "uniform", 0))
    state, _ = phase.advance(loss, phase.start(loss, theta), 3)
    other = loss.at(loss.terms[0].points[::-1] / 2)
    fresh = phase.refresh(other, state)
    assert int(fresh.iteration) == 3
    assert int(fresh.evaluations) == int(state.evaluations) + 1
    assert float(fresh.best_total) == float(fresh.total) == pytest.approx(float(other(state.theta)[0]))
    after, _ = phase.advance(other, fresh, 5)
    assert float(after.total) < float(fresh.total)


def test_a_dense_inverse_hessian_survives_new_points():
    phase = SSBroyden(20)
    loss, theta = physics_loss(GROWTH, Power(jnp.asarray([1.0, 1.5])), sample(GROWTH, 30, 1, "uniform", 0))
    state, _ = phase.advance(loss, phase.start(loss, theta), 3)
    fresh = phase.refresh(loss.at(loss.terms[0].points / 2), state)
    assert np.array_equal(fresh.H.matrix, state.H.matrix)
    np.testing.assert_allclose(fresh.direction, -fresh.H.matrix @ fresh.gradient)
    assert not np.allclose(fresh.gradient, state.gradient)


def test_fresh_points_are_uniform_in_the_box_and_others_at_every_iteration():
    problem = library.problem("convection")
    run = Run(
        problem,
        sn.Train("pinn", "paper-4", sampler="fresh", width=2, depth=1).plan(problem),
        sn.Monitor(),
        None,
    )
    loss, _ = run.loss_and_theta()
    first, again, second = (np.asarray(loss.renewed(jnp.asarray(i)).terms[0].points) for i in (1, 1, 2))
    assert first.shape == (20_000, 2)
    np.testing.assert_array_equal(first, again)
    assert not np.isin(first[:, 0], second[:, 0]).mean() > 0.01  # float32 has doubles among so many
    box = np.array([2 * np.pi, 1.0])
    # Of 20,000 numbers the mean is within 4 standard errors, and the extremes are near the ends.
    np.testing.assert_allclose(first.mean(axis=0), box / 2, atol=4 * box.max() / np.sqrt(12 * 20_000))
    assert (first.min(axis=0) >= 0).all()
    assert (first.max(axis=0) <= box * (1 + 1e-7)).all()
    assert (np.ptp(first, axis=0) > 0.999 * box).all()
    # Conditions keep theirs, and a usual run has one set of points for all iterations.
    for before, after in zip(loss.terms[1:], loss.renewed(jnp.asarray(2)).terms[1:], strict=True):
        assert before.points is after.points
    usual, _ = Run(
        problem, sn.Train("pinn", "paper-4", width=2).plan(problem), sn.Monitor(), None
    ).loss_and_theta()
    assert usual.renewed(jnp.asarray(2)) is usual


def test_fresh_points_are_refused_where_they_have_no_meaning():
    with pytest.raises(sn.SafeNetError, match="needs a box"):
        sn.Train("pinn", "paper-4", sampler="fresh").plan(library.problem("backstep"))
    with pytest.raises(sn.SafeNetError, match="needs fixed points"):
        sn.Train("rba-pinn", "paper-4", sampler="fresh").plan(library.problem("wave"))
