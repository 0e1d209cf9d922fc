"""Carrying out a plan: the same bits again, after an interruption too; what is not finite; what is never read."""

import dataclasses
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from carrying import train
from jax.experimental.compilation_cache import compilation_cache

from safenet.networks import Perceptron, method
from safenet.problem import loads
from safenet.run.budget import Budget
from safenet.run.progress import Monitor
from safenet.train import run
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.lbfgs import LBFGS
from safenet.train.optimisers.levenberg import LevenbergMarquardt
from safenet.train.plan import Plan

DECAY = loads("""
name = "decay"
unknowns = ["u"]
equations = ["u_t = -u"]
conditions = ["u(0) = 1"]
[domain]
t = [0, 1]
""")
LOGISTIC = loads("""
name = "logistic"
unknowns = ["u"]
equations = ["u_t = 4*u*(1 - u)"]
conditions = ["u(x, 0) = (2 + cos(pi*x))/4"]
[domain]
x = [0, 1]
t = [0, 1]
""")
NETWORK = method("pinn", width=3, depth=1)
SMALL = Plan(method="pinn", network=NETWORK, interior=8, condition=1, sampler="sobol", seed=1)
OPTIMISED = dataclasses.replace(SMALL, phases=(Adam(12), LBFGS(6)))
# Weights that adapt in Adam, are kept in L-BFGS, and go on in the second Adam.
ADAPTED = {
    name: dataclasses.replace(
        SMALL,
        network=method("pinn", width=3, depth=1, weighting=name, ntk_every=3),
        phases=(Adam(8), LBFGS(4), Adam(4)),
    )
    for name in ("ntk", "rba")
}
# What is carried out, and at which of the monitor's calls it is interrupted.
RUNS = {
    "adam and l-bfgs": (DECAY, OPTIMISED, (1, 4, 31)),
    # In the middle of each of the three phases: every iteration is two calls, every phase one more.
    "ntk weights": (DECAY, ADAPTED["ntk"], (8, 22)),
    "rba weights": (DECAY, ADAPTED["rba"], (8, 22, 30)),
    "levenberg-marquardt": (DECAY, dataclasses.replace(SMALL, phases=(LevenbergMarquardt(9),)), (5,)),
}


@pytest.fixture(autouse=True, scope="module")
def compiled_once(tmp_path_factory):
    """The same plan compiles to the same program: kept in a folder for as long as this module runs."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = [getattr(jax.config, name) for name in names]
    for name, value in zip(names, (str(tmp_path_factory.mktemp("jax")), 0.0), strict=True):
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield
    for name, value in zip(names, before, strict=True):
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.fixture(autouse=True)
def looks_often(monkeypatch):
    """The device is asked for few iterations at a time, so that there are moments to interrupt."""
    monkeypatch.setattr(run, "CHUNK_SECONDS", 1e-9)


class Watch(Monitor):
    """Counts what a run tells, and raises at one of its calls."""

    def __init__(self, stop=None):
        self.stop, self.told = stop, []

    def hear(self, what, *details):
        self.told.append((what, details))
        if len(self.told) == self.stop:
            raise KeyboardInterrupt

    def phase(self, name, detail="", fraction=None):
        self.hear("phase", name, detail)

    def step(self, iteration, loss):
        self.hear("step", iteration, loss)

    def level(self, unknowns, residual):
        self.hear("level", unknowns, residual)

    def losses(self, iteration, total, loss, terms):
        self.hear("losses", iteration, total, loss, terms)

    def network(self, current):
        self.hear("network", current)


def facts(trained):
    """All that a run ends with, but the time it took."""
    records = [dataclasses.replace(record, seconds=0.0) for record in trained.records]
    arrays = [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(trained.field)]
    return (
        trained.residual,
        trained.interrupted,
        trained.stop_reason,
        records,
        arrays,
        trained.history.tobytes(),
    )


@pytest.fixture(scope="module")
def undisturbed():
    """The end of each run, carried out once."""
    ends = {}

    def end(name):
        if name not in ends:
            problem, plan, _ = RUNS[name]
            ends[name] = facts(train(problem, plan))
        return ends[name]

    return end


@pytest.mark.parametrize("name", RUNS)
def test_the_same_plan_gives_the_same_bits(name, undisturbed):
    problem, plan, _ = RUNS[name]
    again = train(problem, Plan.from_json(plan.to_json()))
    assert facts(again) == undisturbed(name)


def test_another_seed_gives_another_network():
    ends = [train(DECAY, dataclasses.replace(SMALL, seed=seed, phases=(Adam(1),))).field for seed in (1, 2)]
    assert not np.array_equal(*(network.weights[0] for network in ends))


@pytest.mark.parametrize(
    ("name", "stop"), [(name, stop) for name, (_, _, stops) in RUNS.items() for stop in stops]
)
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(name, stop, undisturbed, tmp_path):
    problem, plan, _ = RUNS[name]
    interrupted = train(problem, plan, Watch(stop), tmp_path)
    assert interrupted.interrupted
    assert "Interrupted" in interrupted.stop_reason
    assert interrupted.field is not None
    resumed = train(problem, plan, None, tmp_path, resume=True)
    assert facts(resumed) == undisturbed(name)
    # Finished is finished.
    watch = Watch()
    assert facts(train(problem, plan, watch, tmp_path, resume=True)) == undisturbed(name)
    assert watch.told == []


def test_an_interruption_before_anything_was_computed_keeps_the_network_as_it_was_built():
    early = train(DECAY, OPTIMISED, Watch(1))
    assert isinstance(early.field, Perceptron)
    assert np.isfinite(early.field(jnp.array([0.5]))).all()


def test_the_monitor_hears_plain_numbers_of_every_iteration():
    watch = Watch()
    trained = train(DECAY, OPTIMISED, watch)
    heard = [details for what, details in watch.told if what == "losses"]
    assert [details[:2] for details in heard][:12] == [(i, 12) for i in range(1, 13)]
    json.dumps(heard)
    for (_, _, loss, terms), row in zip(heard, trained.history, strict=True):
        assert list(terms) == ["equation", "u(0)"]
        assert [loss, *terms.values()] == (row[1:] * [1, 1, 100]).tolist()
        assert loss == pytest.approx(sum(terms.values()), rel=1e-12)
    # Iterations are numbered through, phase after phase.
    np.testing.assert_array_equal(trained.history[:, 0], np.arange(1, len(trained.history) + 1))
    assert [record.iterations for record in trained.records] == [12, len(trained.history) - 12]


@pytest.mark.parametrize("name", ["ntk", "rba"])
def test_terms_add_up_to_the_loss_while_weights_adapt(name):
    watch = Watch()
    trained = train(DECAY, ADAPTED[name], watch)
    heard = [details for what, details in watch.told if what == "losses"]
    for (_, _, loss, terms), row in zip(heard, trained.history, strict=True):
        assert list(terms.values()) == (row[2:] * [1, 100]).tolist()
        assert loss == sum(terms.values())
    assert np.any([loss for _, _, loss, _ in heard] != trained.history[:, 1])


def test_lbfgs_keeps_the_weights_that_adam_left():
    trained = train(DECAY, ADAPTED["ntk"])
    assert [record.name for record in trained.records] == ["adam", "lbfgs", "adam"]
    totals, terms = trained.history[:, 1], trained.history[:, 2:]
    # Two rows of L-BFGS give both weights; with them, the last of Adam's is the same loss at another θ.
    weights = np.linalg.solve(terms[8:10], totals[8:10])
    np.testing.assert_allclose(terms[7:12] @ weights, totals[7:12], rtol=1e-6)
    assert abs(weights[1] - 100) > 1
    assert (np.diff(totals[7:12]) < 0).all()


def test_the_loss_falls_and_the_held_out_residual_with_it():
    plan = dataclasses.replace(SMALL, phases=(LevenbergMarquardt(40),))
    trained = train(DECAY, plan)
    assert trained.history[-1, 1] < 1e-4 * trained.history[0, 1]
    t = np.linspace(0, 1, 11)[:, None]
    np.testing.assert_allclose(jax.vmap(trained.field)(jnp.asarray(t)), np.exp(-t), rtol=0, atol=1e-2)
    assert trained.residual < 2e-2


FINITE_AT_FIRST = loads("""
name = "finite-at-first"
unknowns = ["u"]
equations = ["u_t = log(2 - u**2)"]
conditions = ["u(0) = 5"]
[domain]
t = [0, 1]
""")


def test_a_run_that_leaves_the_finite_stops_as_diverged_with_the_best_before(tmp_path):
    # The condition pulls u beyond √2, where the logarithm ends.
    plan = dataclasses.replace(SMALL, phases=(Adam(500, rate=0.1), LBFGS(5)))
    trained = train(FINITE_AT_FIRST, plan, None, tmp_path)
    assert trained.ending == "diverged"
    assert "NaN" in trained.stop_reason
    assert [record.name for record in trained.records] == ["adam"]
    assert 1 < trained.records[0].iterations < 500
    assert np.isfinite(trained.history).all()
    assert np.isfinite(trained.field(jnp.array([0.3]))).all()
    # Resuming does not pretend otherwise.
    assert facts(train(FINITE_AT_FIRST, plan, None, tmp_path, resume=True)) == facts(trained)


def test_adam_after_lbfgs_may_rise_from_what_it_was_given():
    # η = 0.1 throws away what L-BFGS found; judged by that alone, the schedule would end here.
    plan = dataclasses.replace(SMALL, phases=(Adam(20), LBFGS(100), Adam(3, rate=0.1), LBFGS(30)))
    trained = train(DECAY, plan)
    ends = np.cumsum([record.iterations for record in trained.records])
    _, found, thrown, last = trained.history[ends - 1, 1]
    assert thrown > 100 * found
    assert last < thrown / 100
    assert [record.outcome for record in trained.records[:3]] == ["finished"] * 3
    assert len(trained.records) == 4


def test_adam_that_ends_far_above_where_the_run_began_has_diverged():
    plan = dataclasses.replace(SMALL, phases=(Adam(20), LBFGS(20), Adam(3, rate=100.0), LBFGS(5)))
    trained = train(DECAY, plan)
    assert trained.history[-1, 1] > 10 * trained.records[0].first_loss
    assert [record.name for record in trained.records] == ["adam", "lbfgs", "adam"]
    assert trained.ending == "diverged"
    assert "far above" in trained.stop_reason


def test_a_run_that_is_never_finite_ends_with_its_first_network():
    nowhere = loads(LOGISTIC.toml().replace("4*u*(1 - u)", "log(u - 9)"))
    trained = train(nowhere, dataclasses.replace(SMALL, phases=(LevenbergMarquardt(5),)))
    assert trained.ending == "diverged"
    assert trained.residual == math.inf
    assert isinstance(trained.field, Perceptron)


def test_no_training_reads_the_reference():
    def forbidden(**coordinates):
        raise AssertionError("the reference was read while training")

    assert facts(train(DECAY.with_reference(forbidden), OPTIMISED)) == facts(train(DECAY, OPTIMISED))


def test_a_clock_stops_a_training_which_goes_on_later_as_if_nothing_had_happened(undisturbed, tmp_path):
    class Clock(Budget):
        looks = 0

        def over(self, ahead=0.0):
            self.looks += 1
            self.spent = self.spent or (self.found and self.looks > 5)
            return self.spent

    stopped = train(DECAY, OPTIMISED, None, tmp_path, budget=Clock())
    assert stopped.stopped
    assert not stopped.interrupted
    assert 0 < len(stopped.history) < 12
    resumed = train(DECAY, OPTIMISED, None, tmp_path, resume=True)
    assert facts(resumed) == undisturbed("adam and l-bfgs")


def test_a_resumed_run_takes_only_shapes_from_a_start_and_has_something_to_keep(tmp_path, monkeypatch):
    train(DECAY, OPTIMISED, Watch(2), tmp_path)
    starts, own = [], Adam.start
    monkeypatch.setattr(
        Adam, "start", lambda self, loss, theta: starts.append(theta) or own(self, loss, theta)
    )
    resumed = run.Run(DECAY, OPTIMISED, Monitor(), tmp_path)
    resumed.restore()
    assert resumed.state is not None
    assert all(isinstance(theta, jax.core.Tracer) for theta in starts)
    assert resumed.budget.found  # so it stops while time is left to measure
