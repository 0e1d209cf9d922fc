"""Seeds together are the seeds alone."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from carrying import train
from test_run import DECAY, FINITE_AT_FIRST, Watch, compiled_once  # noqa: F401

from safenet import library
from safenet.networks import method
from safenet.run.budget import Budget
from safenet.run.progress import Monitor
from safenet.train.batch import train_runs
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.lbfgs import LBFGS
from safenet.train.optimisers.ssbroyden import SSBroyden
from safenet.train.plan import Plan
from safenet.train.run import Run
from safenet.train.weighting import NTK

WAVE = library.problem("wave")
SEEDS = (0, 3)
SMALL = Plan(network=method("pinn", width=3, depth=1), interior=8, condition=1, sampler="sobol")


def train_many(problems, plans, monitor=None):
    """Several runs as one program."""
    monitor = monitor or Monitor()
    runs = [Run(problem, plan, monitor, None) for problem, plan in zip(problems, plans, strict=True)]
    return train_runs(runs, monitor, together=True)


def seeds(plan, *numbers):
    return [dataclasses.replace(plan, seed=seed) for seed in numbers or SEEDS]


def compare(problem, plans, tolerance=1e-9):
    """Histories to the tolerance; iterations, evaluations, outcomes and their reasons exactly."""
    together, alone = (
        train_many([problem] * len(plans), plans),
        [train(problem, plan) for plan in plans],
    )
    for a, b in zip(together, alone, strict=True):
        assert a.history.shape == b.history.shape
        np.testing.assert_allclose(a.history, b.history, rtol=tolerance, atol=0)
        for mine, its in zip(a.records, b.records, strict=True):
            facts = [dataclasses.replace(record, seconds=0.0, residual=None) for record in (mine, its)]
            assert facts[0] == facts[1]
        assert (a.ending, a.stop_reason, a.winner) == (b.ending, b.stop_reason, b.winner)
        assert a.residual == pytest.approx(b.residual, rel=1e-6)
    assert len({run.history[-1, 1] for run in together}) == len(together)  # the seeds do differ
    return together


@pytest.mark.parametrize(
    "network",
    [
        method("pinn", width=3, depth=1),
        pytest.param(method("safe-net-literal", features=8, width=4), marks=pytest.mark.slow),
    ],
    ids=["pinn", "safe-net-literal"],
)
def test_adam_and_lbfgs_are_those_of_single_runs_on_the_wave_equation(network):
    plan = Plan(
        network=network,
        interior=24,
        condition=6,
        sampler="uniform",
        phases=(Adam(50), LBFGS(6, tolerance=0.0)),
    )
    compare(WAVE, seeds(plan))


def test_ssbroyden_with_new_points_is_that_of_single_runs():
    phases = (Adam(5), SSBroyden(15, resample=6))
    compare(DECAY, seeds(dataclasses.replace(SMALL, phases=phases)), tolerance=1e-6)


@pytest.mark.parametrize("last", [5, 15], ids=["at the end of a phase", "within one"])
def test_a_batch_that_the_clock_stops_goes_on_to_the_same_end(tmp_path, last):
    plans = seeds(dataclasses.replace(SMALL, phases=(Adam(5), SSBroyden(15, resample=6))))
    folders = [tmp_path / str(plan.seed) for plan in plans]
    for folder in folders:
        folder.mkdir()

    class Stop(Monitor):
        def losses(self, iteration, total, loss, terms):
            budget.spent |= total == last

    def carried(monitor, budget):
        runs = [
            Run(DECAY, plan, monitor, folder, None, budget)
            for plan, folder in zip(plans, folders, strict=True)
        ]
        return train_runs(runs, monitor, together=True)

    budget = Budget()
    stopped = carried(Stop(), budget)
    assert [end.stopped for end in stopped] == [True, True]
    assert all(5 <= len(end.history) < 20 for end in stopped)
    for end, whole in zip(carried(Monitor(), Budget()), train_many([DECAY] * 2, plans), strict=True):
        np.testing.assert_array_equal(end.history, whole.history)
        assert not end.stopped


@pytest.mark.slow
def test_weights_that_adapt_are_each_seeds_own():
    network = method("pinn", width=3, depth=1, weighting="rba")
    compare(DECAY, seeds(dataclasses.replace(SMALL, network=network, phases=(Adam(20), LBFGS(4)))))


def test_single_precision_stays_single():
    plan = dataclasses.replace(SMALL, precision="float32", phases=(Adam(5),))
    ends = train_many([DECAY] * 2, seeds(plan))
    assert {end.field.weights[0].dtype.name for end in ends} == {"float32"}


def test_each_seed_gets_the_iterations_that_its_own_phases_left():
    # A plateau comes at another iteration for each seed, and L-BFGS fills up to 40.
    first = Adam(40, rate=0.3, patience=3)
    plan = dataclasses.replace(SMALL, phases=(first, LBFGS(40)), until=(0, 40))
    ends = compare(DECAY, seeds(plan, 0, 1), tolerance=1e-6)
    assert len({end.records[0].iterations for end in ends}) > 1
    assert {sum(record.iterations for record in end.records) for end in ends} == {40}


def test_a_seed_that_leaves_the_finite_stops_and_the_others_go_on():
    # Those whose u starts above its pole have no logarithm from the start.
    plan = dataclasses.replace(SMALL, phases=(Adam(60, rate=0.1), LBFGS(5)))
    ends = train_many([FINITE_AT_FIRST] * 3, seeds(plan, 0, 1, 2))
    for seed, end in enumerate(ends):
        alone = train(FINITE_AT_FIRST, dataclasses.replace(plan, seed=seed))
        assert [record.outcome for record in end.records] == [record.outcome for record in alone.records]
        assert [record.iterations for record in end.records] == [r.iterations for r in alone.records]
        assert np.isfinite(end.history).all()
    assert "diverged" in {end.ending for end in ends}


def test_kernel_weights_of_seeds_together_are_those_of_each_alone():
    network = method("pinn", width=3, depth=1, weighting="ntk", ntk_every=4)
    compare(DECAY, seeds(dataclasses.replace(SMALL, network=network, phases=(Adam(10),))))


def test_kernels_of_a_batch_of_seeds_are_computed_only_when_due():
    """A predicate for each seed would make of the `cond` a `select`, which computes both sides in every iteration."""

    def weights(iteration, weights):
        return NTK(every=4).adapt(Ones, jnp.zeros(1), weights, iteration)

    iterations, old = jnp.array([3, 4, 8]), jnp.zeros((3, 2))
    assert "cond[" in str(jax.make_jaxpr(jax.vmap(weights))(iterations, old))
    np.testing.assert_array_equal(jax.vmap(weights)(iterations, old), [[0, 0], [2, 2], [2, 2]])


class Ones:
    """A loss of two terms whose kernels have the trace one."""

    @staticmethod
    def traces(theta, count):
        return jnp.ones(2)


def test_the_monitor_hears_of_the_batch():
    watch = Watch()
    plans = seeds(dataclasses.replace(SMALL, phases=(Adam(5),)))
    train_many([DECAY] * 2, plans, watch)
    assert watch.told[0] == ("phase", ("adam", "2 runs, compiling"))
    assert watch.told[1][0] == "losses"
    assert watch.told[1][1][:2] == (5, 5)
