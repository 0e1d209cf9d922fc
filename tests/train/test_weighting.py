"""Weights against their definitions: traces of the whole kernel, a sequence by hand; a phase that splits anywhere."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet import library
from safenet.measure.points import sample
from safenet.measure.residuals import together
from safenet.networks import METHODS, build, method
from safenet.problem import loads
from safenet.train.objective import physics_loss
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.status import Status
from safenet.train.weighting import NTK, RBA, Fixed, balance, weighting

# Two equations, a condition on a face, one at a point.
SYSTEM = loads("""
unknowns = ["u", "v"]
equations = ["u_t = 3*v", "v_t = -u*v + u_xx"]
conditions = ["u(x, 0) = sin(x)", "v(x, 0) = 0", "v(0, 1) = 1"]
[domain]
x = [0, 1]
t = [0, 1]
""")
SMALL = method("pinn", width=4, depth=1)
ZERO = jnp.asarray(0, jnp.int32)


def small_loss(chosen, problem=SYSTEM, dtype=jnp.float64, seed=1):
    network = build(problem, chosen, key=jax.random.key(seed), dtype=dtype)
    points = sample(problem, 11, 5, "uniform", seed)
    return physics_loss(problem, network, points, weighting=weighting(chosen))


NTK_METHOD = dataclasses.replace(SMALL, weighting="ntk", ntk_every=3, ntk_points=4)
RBA_METHOD = dataclasses.replace(SMALL, weighting="rba")


def test_a_method_declares_its_weighting():
    assert weighting(METHODS["pinn"]) == Fixed()
    assert weighting(METHODS["w-pinn"]) == NTK(1000, 300)
    assert weighting(METHODS["rba-pinn"]) == RBA(0.999, 0.01)
    assert weighting(NTK_METHOD) == NTK(3, 4)
    assert weighting(method("rba-pinn", rba_decay=0.5, rba_rate=0.1)) == RBA(0.5, 0.1)


# ---- W-PINN


@pytest.mark.parametrize("count", [4, 300])
@pytest.mark.slow
def test_ntk_weights_are_the_traces_of_the_whole_kernel(count):
    loss, theta = small_loss(dataclasses.replace(NTK_METHOD, ntk_points=count))
    weights = eqx.filter_jit(lambda loss, theta: loss.adapt(theta, None, ZERO))(loss, theta)

    def residuals(theta):
        residuals, places = [term.residual for term in loss.terms], [term.points for term in loss.terms]
        return [each[:count] for each in together(loss.field(theta), residuals, places)]

    traces = []
    for J in jax.jit(jax.jacrev(residuals))(theta):
        K = np.asarray(J) @ np.asarray(J).T
        traces.append(np.trace(K) / len(K))
    # Per point, so that the condition at one point is not overcounted; with equal numbers it is Tr K itself.
    assert [min(n, count) for n in (11, 11, 5, 5, 1)] == [len(r) for r in residuals(theta)]
    np.testing.assert_allclose(weights, np.sum(traces) / traces, rtol=1e-10)
    assert float(jnp.sum(1 / weights)) == pytest.approx(1, rel=1e-12)


def test_ntk_weights_replace_the_plans_in_the_total_and_leave_the_terms_raw():
    loss, theta = small_loss(NTK_METHOD)
    weights = jnp.array([2.0, 3.0, 5.0, 7.0, 11.0])
    (plain, terms), (total, raw) = loss(theta), loss.weighted(weights)(theta)
    np.testing.assert_array_equal(raw, terms)
    assert float(total) == pytest.approx(float(weights @ terms), rel=1e-14)
    assert float(plain) == pytest.approx(float(terms[:2].sum() + 100 * terms[2:].sum()), rel=1e-14)
    # Best and divergence are judged by the plan's weights, whatever they have become.
    assert float(loss.weighted(weights).yardstick(total, raw)) == pytest.approx(float(plain), rel=1e-14)


def test_ntk_weights_change_every_so_many_iterations_only():
    loss, theta = small_loss(NTK_METHOD)
    phase = Adam(8, rate=1e-2)
    state = phase.start(loss, theta)
    seen = [np.asarray(state.weights)]
    for _ in range(8):
        state, _ = phase.advance(loss, state, 1)
        seen.append(np.asarray(state.weights))
    changes = [i for i in range(1, 9) if not np.array_equal(seen[i], seen[i - 1])]
    assert changes == [3, 6]


def test_a_term_that_nothing_moves_has_weight_one():
    np.testing.assert_array_equal(balance(jnp.array([3.0, 0.0, 1.0])), [4 / 3, 1, 4])
    # A periodic network satisfies u(−1, t) = u(1, t) exactly, whatever its parameters.
    problem = library.problem("allen-cahn")
    chosen = method("rba-pinn", weighting="ntk", width=4, depth=1, features=4)
    loss, theta = small_loss(chosen, problem)
    weights = eqx.filter_jit(lambda loss, theta: loss.adapt(theta, None, ZERO))(loss, theta)
    np.testing.assert_array_equal(weights[1:3], 1)
    assert np.isfinite(weights).all()


# ---- RBA


def test_rba_weights_follow_the_sequence_by_hand():
    loss, theta = small_loss(dataclasses.replace(RBA_METHOD, rba_decay=0.9, rba_rate=0.2))
    expected, weights = [np.zeros(11), np.zeros(11)], None
    step = eqx.filter_jit(lambda loss, theta, weights: loss.adapt(theta, weights, ZERO))
    for shift in (0.0, 0.3, -0.2):
        residuals = [np.asarray(r) for r in loss.equation_residuals(theta + shift)]
        weights = step(loss, theta + shift, weights)
        for k, r in enumerate(residuals):
            expected[k] = 0.9 * expected[k] + 0.2 * np.abs(r) / np.abs(r).max()
    for lam, by_hand in zip(weights, expected, strict=True):
        np.testing.assert_allclose(lam, by_hand, rtol=1e-12)


def test_rba_weights_stay_within_their_bound_and_reach_it():
    chosen = dataclasses.replace(RBA_METHOD, rba_decay=0.9, rba_rate=0.2)
    loss, theta = small_loss(chosen)
    step = eqx.filter_jit(lambda loss, theta, weights: loss.adapt(theta, weights, ZERO))
    weights, bound = None, 0.2 / (1 - 0.9)
    for _ in range(400):
        weights = step(loss, theta, weights)
    for lam in weights:
        assert (np.asarray(lam) >= 0).all()
        # At a fixed θ the point with the largest residual gets there: η Σ γ^k.
        assert float(lam.max()) == pytest.approx(bound, rel=1e-12)
        assert float(lam.min()) < bound


def test_rba_weighs_every_point_of_the_equations_by_the_square():
    loss, theta = small_loss(RBA_METHOD)
    random = np.random.default_rng(0)
    lam = tuple(jnp.asarray(random.random(11)) for _ in range(2))
    total, terms = loss.weighted(lam)(theta)
    residuals = loss.equation_residuals(theta)
    expected = sum(np.mean((np.asarray(l) * np.asarray(r)) ** 2) for l, r in zip(lam, residuals, strict=True))
    assert float(total) == pytest.approx(expected + 100 * float(terms[2:].sum()), rel=1e-13)
    np.testing.assert_array_equal(terms, loss(theta)[1])


def test_no_residual_leaves_no_attention():
    nothing = RBA(0.5, 0.1)._next(jnp.ones(3), jnp.zeros(3))
    np.testing.assert_array_equal(nothing, 0.5)


# ---- what every optimiser relies on


@pytest.mark.parametrize("chosen", [NTK_METHOD, RBA_METHOD], ids=lambda c: c.weighting)
def test_rows_and_normal_equations_have_the_adapted_weights(chosen):
    loss, theta = small_loss(chosen)
    loss = loss.weighted(loss.adapt(theta, None, ZERO))

    @eqx.filter_jit
    def linearised(loss, theta):
        value = jax.value_and_grad(lambda p: loss(p)[0])(theta)
        return value, loss.rows(theta), loss.normal_equations(theta), jax.jacfwd(loss.rows)(theta)

    (total, slope), rows, (gram, gradient, again), J = linearised(loss, theta)
    assert float(jnp.sum(rows**2) / 2) == pytest.approx(float(total), rel=1e-12)
    assert float(again) == pytest.approx(float(total), rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gram, J.T @ J, rtol=1e-9, atol=1e-12)


def test_weights_are_not_differentiated():
    loss, theta = small_loss(RBA_METHOD)
    phase = Adam(1)
    state = phase.start(loss, theta)
    frozen = loss.weighted(state.weights)
    slope = eqx.filter_jit(lambda loss, theta: jax.grad(lambda p: loss(p)[0])(theta))(frozen, theta)
    np.testing.assert_allclose(state.gradient, slope, rtol=1e-12)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("chosen", [NTK_METHOD, RBA_METHOD], ids=lambda c: c.weighting)
def test_chunks_of_any_size_give_the_same_bits_in_the_precision_asked_for(chosen, dtype):
    loss, theta = small_loss(chosen, dtype=dtype)
    phase = Adam(20, rate=1e-2)
    whole, rows = phase.advance(loss, phase.start(loss, theta), 20)
    state, pieces = phase.start(loss, theta), []
    for count in (1, 4, 0, 8, 100):
        state, trace = phase.advance(loss, state, count)
        pieces.append(trace.terms[: int(trace.length)])
    same = jax.tree.map(lambda a, b: np.array_equal(a, b), whole, state)
    assert all(jax.tree.leaves(same))
    np.testing.assert_array_equal(np.concatenate(pieces), rows.terms[:20])
    kinds = {leaf.dtype for leaf in jax.tree.leaves(state) if jnp.issubdtype(leaf.dtype, jnp.floating)}
    assert kinds == {jnp.dtype(dtype)}


def test_attention_that_grows_from_zero_is_neither_divergence_nor_the_best_at_the_start():
    loss, theta = small_loss(dataclasses.replace(RBA_METHOD, rba_rate=10.0))
    phase = Adam(300, rate=1e-3, patience=0)
    state, trace = phase.advance(loss, phase.start(loss, theta), 300)
    totals = np.asarray(trace.terms[:300, 0])
    plan = np.array([1, 1, 100, 100, 100])
    judged = np.asarray(trace.terms[:300, 1:]) @ plan
    assert totals.max() > 1e2 * totals[0]  # η = 10: λ² grows by orders of magnitude
    assert Status(int(state.status)) is Status.FINISHED
    assert float(state.best_total) == pytest.approx(judged.min(), rel=1e-12)
    assert judged.min() < 0.9 * judged[0]
    np.testing.assert_allclose(loss(state.best_theta)[0], state.best_total, rtol=1e-12)
    assert float(state.judged) == pytest.approx(judged[-1], rel=1e-12)


@pytest.mark.parametrize("chosen", [NTK_METHOD, RBA_METHOD], ids=lambda c: c.weighting)
def test_a_batch_of_seeds_adapts_as_each_by_itself(chosen):
    losses, thetas = zip(*(small_loss(chosen, seed=seed) for seed in (1, 2)), strict=True)
    phase = Adam(4, rate=1e-2)

    def go(loss, theta):
        return phase.advance(loss, phase.start(loss, theta), 4)[0]

    # Losses of one problem have one structure, whatever their seed, so that they stack.
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *losses)
    together = jax.vmap(go)(stacked, jnp.stack(thetas))
    for i, (loss, theta) in enumerate(zip(losses, thetas, strict=True)):
        alone = go(loss, theta)
        np.testing.assert_allclose(together.theta[i], alone.theta, rtol=1e-9, atol=1e-12)
        for a, b in zip(jax.tree.leaves(together.weights), jax.tree.leaves(alone.weights), strict=True):
            np.testing.assert_allclose(a[i], b, rtol=1e-9, atol=1e-12)
