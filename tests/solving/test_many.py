"""Runs that differ in numbers only, in rates and parameters as in seeds, are one program; all others run alone."""

import dataclasses
import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

from safenet import SafeNetError, Train, library, load, resume, solve, solve_many
from safenet.measure.residuals import PointResidual, opened
from safenet.networks import METHODS, method
from safenet.problem import loads
from safenet.problem.evaluate import evaluate
from safenet.run.budget import Budget
from safenet.run.progress import Monitor
from safenet.train import batch, phases
from safenet.train.batch import alike, train_runs
from safenet.train.optimisers.adam import Adam
from safenet.train.plan import Plan
from safenet.train.run import Run
from scoring import unsolved

SEEDS = (0, 3)
SMALL = Plan(network=method("pinn", width=3, depth=1), interior=8, condition=1, sampler="sobol")
DECAY = loads("""
name = "decay"
unknowns = ["u"]
equations = ["u_t = -u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
""")
TINY = {"network": "pinn", "schedule": "paper-4", "scale": 5e-4, "precision": "float64"}
TINY |= {"points": 8, "condition_points": 2, "width": 3, "depth": 1}
GROWTH = loads(DECAY.toml().replace("-u", "k*u") + "\n[parameters]\nk = 1\n")
ADVECTION = loads("""
name = "advection"
unknowns = ["u"]
equations = ["u_t + beta*u_x = 2*nu**2*u_xx - gamma*u**p"]
conditions = ["u(0, t) = 0", "u(length, t) = t*sin(beta)", "u(x, 0) = sin(mode*pi*x)"]
[domain]
x = [0, "length"]
t = [0, 1]
[parameters]
beta = 3
nu = 0.1
gamma = 1
p = 2
length = 1
mode = 1
""")


def train(problem, plan):
    return Run(problem, plan, Monitor(), None).carry_out()


def train_many(problems, plans):
    runs = [Run(problem, plan, Monitor(), None) for problem, plan in zip(problems, plans, strict=True)]
    return train_runs(runs, Monitor(), together=True)


class Stopping(Monitor):
    """A Ctrl-C at the third thing that is told."""

    told = 0

    def phase(self, *told):
        self.hear()

    def losses(self, *told):
        self.hear()

    def hear(self):
        self.told += 1
        if self.told == 3:
            raise KeyboardInterrupt


def advection(**parameters):
    return ADVECTION.with_parameters(**parameters)


def compare(problems, plans):
    """Together and alone: the same losses over all iterations, of runs that do differ."""
    runs = [Run(problem, plan, Monitor(), None) for problem, plan in zip(problems, plans, strict=True)]
    assert list(map(len, alike(runs))) == [len(plans)]
    ends = train_many(problems, plans)
    for end, problem, plan in zip(ends, problems, plans, strict=True):
        alone = train(problem, plan)
        np.testing.assert_allclose(end.history, alone.history, rtol=1e-10, atol=0)
        assert end.residual == pytest.approx(alone.residual, rel=1e-8)
    assert len({end.history[-1, 1] for end in ends}) == len(ends)


def test_rates_and_decays_together_are_those_of_single_runs():
    phases = [Adam(50, rate, decay, every=10) for rate in (1e-3, 1e-2) for decay in (0.9, 0.5)]
    compare([DECAY] * 4, [dataclasses.replace(SMALL, phases=(phase,)) for phase in phases])


def test_parameters_together_are_those_of_single_runs():
    plan = dataclasses.replace(SMALL, phases=(Adam(50),))
    compare([advection(beta=beta, nu=nu) for beta, nu in ((3, 0.1), (30, 0.2))], [plan] * 2)


@unsolved
@pytest.mark.slow
def test_parameters_rates_and_seeds_together_are_solutions_in_the_order_asked(tmp_path):
    problems, rates = [GROWTH.with_parameters(k=k) for k in (1, 3)], (1e-3, 1e-2)
    asked = {"seeds": SEEDS, "rates": rates}
    solutions = solve_many(problems, Train(**TINY), together=True, out=tmp_path, **asked)
    alone = solve_many(problems, Train(**TINY), together=False, **asked)
    order = list(itertools.product(problems, rates, SEEDS))
    assert len(solutions) == len(alone) == len(order) == 8
    for i, (a, b, (problem, rate, seed)) in enumerate(zip(solutions, alone, order, strict=True)):
        assert len(a.history) == 50
        np.testing.assert_allclose(a.history, b.history, rtol=1e-10, atol=0)
        # What is saved says what it is, and is all that is needed to do it again.
        saved = load(tmp_path / str(i))
        assert saved.problem == problem
        assert saved.plan == b.plan
        assert (saved.plan.phases[0].rate, saved.plan.seed) == (rate, seed)
        np.testing.assert_allclose(saved(t=0.5), b(t=0.5), rtol=1e-9)
    first = solve(problems[1], Train(seed=SEEDS[0], **TINY))
    np.testing.assert_allclose(first.history, alone[4].history, rtol=1e-12)  # 1e-3 is the recipe's own


@unsolved
def test_one_of_a_batch_goes_on_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "SAVE_BATCH_EVERY", 0.0)
    training = Train(**{**TINY, "scale": 6e-3})  # 600 iterations: a batch takes 512 at once
    rates = (1e-3, 1e-2)
    with pytest.raises(KeyboardInterrupt):
        solve_many(DECAY, training, rates=rates, together=True, out=tmp_path, monitor=Stopping())
    records = [json.loads((tmp_path / str(i) / "plan.json").read_text())["phases"] for i in range(2)]
    assert [phases[0]["rate"] for phases in records] == [1e-3, 1e-2]
    resumed = resume(tmp_path / "1")
    whole = solve_many(DECAY, training, rates=rates, together=True)[1]
    assert resumed.result.iterations == 600
    np.testing.assert_allclose(resumed.history, whole.history, rtol=1e-8, atol=0)


@pytest.fixture
def compilations():
    """Grows by one for each program that is compiled."""
    found, watching = [], [True]

    def heard(event, seconds, **more):
        if watching and event == "/jax/core/compile/backend_compile_duration":
            found.append(event)

    jax.monitoring.register_event_duration_secs_listener(heard)
    yield found
    watching.clear()  # a listener cannot be taken away


def test_another_rate_and_another_parameter_compile_nothing(compilations):
    # A width that no other test has.
    plan = dataclasses.replace(SMALL, network=method("pinn", width=5, depth=1))
    plans = [dataclasses.replace(plan, phases=(Adam(3, rate=rate),)) for rate in (1e-3, 1e-2, 3e-3, 0.1)]
    train(advection(beta=3), plans[0])
    assert compilations
    compilations.clear()
    train(advection(beta=4), plans[1])
    assert not compilations
    train_many([advection(beta=beta) for beta in (3, 4)], plans[:2])
    assert compilations
    compilations.clear()
    train_many([advection(beta=beta) for beta in (5, 6)], plans[2:])
    assert not compilations


@pytest.mark.parametrize("name", sorted(METHODS))
def test_seeds_of_every_method_are_alike(name):
    small = {"width": 3, "depth": min(1, METHODS[name].depth), "features": min(8, METHODS[name].features)}
    plan = dataclasses.replace(SMALL, network=dataclasses.replace(METHODS[name], **small), phases=(Adam(1),))
    plans = [dataclasses.replace(plan, seed=seed) for seed in SEEDS]
    runs = [Run(library.wave(), plan, Monitor(), None) for plan in plans]
    assert alike(runs) == [runs]


@pytest.mark.parametrize(
    ("change", "network"),
    [
        ({"length": 2}, "pinn"),  # a face elsewhere, another box to scale
        ({"p": 3}, "pinn"),  # other multiplications
        ({"gamma": 0}, "pinn"),  # a term less
        ({"mode": 2}, "safe-net"),  # other features
    ],
)
def test_what_a_parameter_decides_is_another_program(change, network):
    chosen = method(network, width=3, depth=1, **({"features": 4} if network == "safe-net" else {}))
    plan = dataclasses.replace(SMALL, network=chosen, phases=(Adam(2),))
    problems = [advection(), advection(**change), advection(beta=4), advection(beta=4, **change)]
    runs = [Run(problem, plan, Monitor(), None) for problem in problems]
    # Those that have it in common are still together.
    assert [list(map(runs.index, batch)) for batch in alike(runs)] == [[0, 2], [1, 3]]


def test_a_face_that_moves_gives_what_single_runs_give():
    plan = dataclasses.replace(SMALL, phases=(Adam(5),))
    problems = [advection(length=1), advection(length=2)]
    for end, problem in zip(train_many(problems, [plan] * 2), problems, strict=True):
        np.testing.assert_array_equal(end.history, train(problem, plan).history)


# ---- numbers


def test_each_number_that_parameters_make_is_one_symbol():
    residual = ADVECTION.equations[0].residual
    expression, numbers = opened(ADVECTION, residual)
    assert sorted(numbers.values()) == pytest.approx([-0.02, 1, 3], rel=1e-15)
    assert not expression.free_symbols & ADVECTION.parameters.keys()
    assert sp.expand(expression.xreplace({s: sp.nsimplify(n) for s, n in numbers.items()})) == sp.expand(
        ADVECTION.value(residual)
    )


def test_a_zero_takes_its_term_away():
    """0·log(u) would be nan where u is negative."""
    problem = loads(
        """
    name = "growth"
    unknowns = ["u"]
    equations = ["u_t = a*log(u) + b*u**q"]
    conditions = ["u(0) = a"]
    [domain]
    t = [0, 1]
    [parameters]
    a = 0
    b = 2
    q = 2
    """.replace("\n    ", "\n")
    )
    expression, numbers = opened(problem, problem.equations[0].residual)
    assert not expression.has(sp.log)
    assert list(numbers.values()) == [-2]
    assert opened(problem, problem.conditions[0].residual)[1] == {}


@pytest.mark.parametrize("name", ["backstep", "burgers", "heat-bump", "helmholtz", "nh-heat", "wave-hard"])
def test_residuals_are_those_with_the_parameters_in_place(name):
    problem = library.problem(name)
    generator = np.random.default_rng(0)
    for relation in (*problem.equations, *problem.conditions):
        residual = PointResidual(problem, relation)
        point = jnp.asarray(generator.uniform(0.2, 0.8, (5, len(residual.coordinates))))
        values = {symbol: generator.uniform(0.5, 1.5, 5) for symbol in relation.jets}
        found = {place: {} for place, _ in residual.places}
        for symbol, jet in relation.jets.items():
            columns = found[jet.place].setdefault(jet.orders, np.zeros((5, len(problem.unknowns))))
            columns[:, problem.unknowns.index(jet.field)] = values[symbol]
        values |= {symbol: np.asarray(point[:, i]) for i, symbol in enumerate(residual.coordinates)}
        expected = np.broadcast_to(evaluate(problem.value(relation.residual), values, np), 5)
        jets = {place: {orders: jnp.asarray(v) for orders, v in own.items()} for place, own in found.items()}
        np.testing.assert_allclose(residual.value(point, jets), expected, rtol=1e-13, atol=1e-14)


# ---- what is refused


@pytest.mark.parametrize(
    ("recipe", "rate", "message"),
    [
        ("levenberg-marquardt", 1e-3, "no rate"),
        ("paper-2", 1e-3, "already tries several rates"),
        ("paper-1", -1.0, "the rate is -1"),
        ("paper-1", float("nan"), "the rate is nan"),
    ],
)
def test_rates_that_mean_nothing_are_refused(recipe, rate, message):
    with pytest.raises(SafeNetError, match=message):
        solve_many(DECAY, Train("safe-net", recipe), rates=[rate])


@unsolved
def test_later_rates_stay_in_proportion_and_variants_stay():
    tiny = {**TINY, "network": "w-pinn-grid", "schedule": "paper-3d", "scale": 1e-9}
    (solution,) = solve_many(DECAY, Train(**tiny), rates=[0.1])
    assert [phase.rate for phase in solution.plan.phases if isinstance(phase, Adam)] == [0.1, 0.1]
    assert len(solution.plan.variants) == len(solution.result.candidates) == 3


@unsolved
def test_solutions_of_seeds_are_those_of_solve():
    tiny = {"network": "w-pinn-grid", "schedule": "paper-1", "scale": 1e-3, "precision": "float64"}
    tiny |= {"points": 8, "condition_points": 1, "width": 3, "depth": 1}
    together = solve_many(DECAY, Train(**tiny), seeds=SEEDS, together=True)
    for seed, solution in zip(SEEDS, together, strict=True):
        alone = solve(DECAY, Train(seed=seed, **tiny))
        assert solution.plan == alone.plan
        assert solution.result.seed == seed
        chosen = [[c["chosen"] for c in each.result.candidates] for each in (solution, alone)]
        assert chosen[0] == chosen[1]
        np.testing.assert_allclose(solution(t=0.3), alone(t=0.3), rtol=1e-9)


def test_seeds_are_also_those_of_a_training_that_is_only_named(tmp_path):
    at_once = Stopping()
    at_once.told = 2
    with pytest.raises(KeyboardInterrupt):
        solve_many(DECAY, "train", seeds=SEEDS, out=tmp_path, monitor=at_once)
    assert [json.loads((tmp_path / str(i) / "plan.json").read_text())["seed"] for i in (0, 1)] == list(SEEDS)


def test_a_direct_solver_has_no_rates():
    with pytest.raises(SafeNetError, match="rates apply to trained networks"):
        solve_many(DECAY, "least-squares", rates=[1e-3])


def test_direct_solves_run_one_after_another():
    together = solve_many([DECAY, DECAY], together=True)
    assert [solution.result.phases[0].name for solution in together] == ["integrate"] * 2
    assert solve_many(DECAY, seeds=[]) == []


@pytest.mark.filterwarnings("ignore::safenet.SafeNetWarning")
def test_a_budget_is_for_all_runs_together():
    clock = Budget()
    training = Train(
        "pinn", [phases.Adam(50)], points=8, width=3, depth=1, callback=lambda told: spend(clock)
    )
    first, second = solve_many(DECAY, training, seeds=(0, 1), budget=clock, monitor=Monitor(), together=False)
    assert first.result.stopped
    assert second.result.stopped
    assert second.result.iterations == 0


def spend(clock):
    clock.spent = True
