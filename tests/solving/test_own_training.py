"""Train is open: networks, optimisers, terms, points, weights, starts and callbacks of one's own."""

import functools
import sys  # noqa: F401  (a function in it that a folder may not call)

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import safenet as sn
from safenet.errors import SafeNetError
from safenet.networks.saved import skeleton
from scoring import unsolved

DECAY = sn.loads("""
name = "decay"
unknowns = ["u"]
equations = ["u_t = -u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
[exact]
u = "exp(-t)"
""")
POISSON = sn.loads("""
name = "poisson"
unknowns = ["u"]
equations = ["u_xx + u_yy = -2*pi**2*sin(pi*x)*sin(pi*y)"]
conditions = ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]
domain = { x = [0, 1], y = [0, 1] }
""")


class Tanh(eqx.Module):
    """A network that a user might write."""

    layers: eqx.nn.MLP

    def __call__(self, point):
        return self.layers(2 * point - 1)


def make(key):
    return Tanh(eqx.nn.MLP(1, 1, 8, 1, jnp.tanh, key=key))


QUICK = {"points": 40, "condition_points": 1}
FEW = [sn.Optax(optax.adam(1e-2), 30), sn.LevenbergMarquardt(25)]


def test_an_own_network_and_an_optax_optimiser_solve_the_problem():
    solution = sn.solve(DECAY, sn.Train(make, FEW, **QUICK), monitor=sn.Monitor())
    assert solution.result.method == solution.result.recipe == "own"
    assert [record.name for record in solution.result.phases] == ["optax", "levenberg-marquardt"]
    assert solution.result.parameters == 8 + 8 + 8 + 1
    assert solution.result.l2re < 1e-4
    assert solution.result.outcome is sn.Outcome.SOLVED
    assert solution.error().l2re == solution.result.l2re
    # What it thinks of itself is about right, and it can be looked into like any other.
    assert solution.result.l2re / 10 < solution.result.estimate < 10 * solution.result.l2re
    assert sn.spectrum(solution, points=20, condition_points=1).parameters == 25
    assert solution.plot() is not None
    assert solution.to_xarray(t=5)["u"].shape == (5,)


def test_what_was_trained_so_is_loaded_again_by_the_function_that_made_it(tmp_path):
    solution = sn.solve(DECAY, sn.Train(make, FEW, **QUICK), out=tmp_path / "run", monitor=sn.Monitor())
    again = sn.load(tmp_path / "run")
    t = np.linspace(0, 1, 7)
    np.testing.assert_array_equal(again(t=t), solution(t=t))
    assert again.result == solution.result
    # Somewhere else its module is not imported: then the function is asked for, and nothing is imported.
    plan = (tmp_path / "run" / "plan.json").read_text()
    (tmp_path / "run" / "plan.json").write_text(plan.replace("test_own_training", "elsewhere"))
    moved = sn.load(tmp_path / "run", factory=make)
    np.testing.assert_array_equal(moved(t=t), solution(t=t))


@unsolved
def test_a_folder_names_its_factory_and_never_imports_it(tmp_path):
    sn.solve(DECAY, sn.Train(make, FEW[1:], scale=0.1, **QUICK), monitor=sn.Monitor()).save(tmp_path)
    spec = tmp_path / "solution.npz"
    with np.load(spec) as data:
        arrays = dict(data)
    facts = arrays["facts"].tobytes().decode().replace("test_own_training:make", "antigravity:make")
    arrays["facts"] = np.frombuffer(facts.encode(), dtype=np.uint8)
    np.savez(spec, **arrays)
    with pytest.raises(SafeNetError, match=r"not known here[\s\S]*factory=make"):
        sn.load(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["sys:exit", "os:abort", "jax.random:split", "safenet.cli:main", "test_own_training:sys.exit", ":", ""],
)
def test_a_folder_of_a_stranger_calls_only_functions_that_the_user_has_defined(name):
    spec = {"kind": "own", "class": "Tanh", "factory": name, "dtype": "float64"}
    with pytest.raises(SafeNetError, match=r"not known here[\s\S]*factory=make"):
        skeleton(DECAY, spec)
    mine = spec | {"factory": f"{__name__}:make"}
    assert isinstance(skeleton(DECAY, mine), Tanh)


@unsolved
def test_a_bare_module_trains_and_a_factory_is_asked_for_when_it_is_saved(tmp_path):
    module = make(jax.random.key(3))
    training = sn.Train(module, [sn.LevenbergMarquardt(5)], **QUICK)
    with pytest.raises(SafeNetError, match=r"the function that makes it[\s\S]*network=make"):
        sn.solve(DECAY, training, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    solution = sn.solve(DECAY, training, monitor=sn.Monitor())
    with pytest.raises(SafeNetError, match="factory=make"):
        solution.save(tmp_path / "saved")
    with pytest.raises(SafeNetError, match="factory=make"):
        solution.save(tmp_path / "saved", factory=lambda key: module)
    solution.save(tmp_path / "saved", factory=make)
    np.testing.assert_array_equal(sn.load(tmp_path / "saved")(t=0.5), solution(t=0.5))


def test_a_function_without_a_name_makes_a_network_too():
    plan = sn.Train(functools.partial(eqx.nn.MLP, 1, 1, 4, 1), [sn.Adam(1)], **QUICK).plan(DECAY)
    assert plan.own == ("network partial",)
    assert plan.factory == ""


@unsolved
def test_own_terms_pull_the_network_their_way():
    def mass(network):
        """∫ u = 0.7, which contradicts the equation: u ends between the two."""
        t = jnp.linspace(0.0, 1.0, 33)[:, None]
        return jnp.mean(jax.vmap(network)(t)) - 0.7

    def mean(weight):
        terms = [(weight, mass)] if weight else []
        training = sn.Train(make, [sn.LevenbergMarquardt(40)], terms=terms, **QUICK)
        solution = sn.solve(DECAY, training, monitor=sn.Monitor())
        return float(np.mean(solution(t=np.linspace(0, 1, 33)))), solution

    free, _ = mean(0.0)
    little, _ = mean(1.0)
    much, solution = mean(1e6)
    assert free == pytest.approx(np.mean(np.exp(-np.linspace(0, 1, 33))), abs=1e-3)
    assert free < little < much
    assert much == pytest.approx(0.7, abs=1e-4)
    assert solution.history.shape[1] == 2 + 3  # iteration, total; equation, u(0), mass


@unsolved
def test_points_and_weights_are_the_users():
    at = np.linspace(0.0, 1.0, 21)[:, None]
    training = sn.Train(make, [sn.Adam(3)], points=at, weights={"conditions": 7.0, "equation": 2.0})
    plan = training.plan(DECAY)
    assert (plan.interior, plan.condition_weight, plan.weights) == (21, 7.0, (("equation", 2.0),))
    history = sn.solve(DECAY, training, monitor=sn.Monitor()).history
    np.testing.assert_allclose(history[:, 1], 2 * history[:, 2] + 7 * history[:, 3], rtol=1e-12)
    with pytest.raises(SafeNetError, match=r"no term 'u\(1\)'[\s\S]*equation, u\(0\)"):
        sn.Train(weights={"u(1)": 2.0}).plan(DECAY)
    assert sn.Train(weights={"u( 0 )": 2.0}).plan(DECAY).weights == (("u(0)", 2.0),)


@unsolved
def test_a_start_of_the_same_structure_is_copied_and_any_other_is_fitted():
    first = sn.solve(DECAY, sn.Train(make, [sn.LevenbergMarquardt(30)], **QUICK), monitor=sn.Monitor())
    nothing = [sn.Adam(1, rate=1e-12)]
    same = sn.solve(DECAY, sn.Train(make, nothing, start=first, seed=5, **QUICK), monitor=sn.Monitor())
    np.testing.assert_allclose(same(t=0.4), first(t=0.4), rtol=1e-9)
    fresh = sn.solve(DECAY, sn.Train("pinn", nothing, width=6, depth=1, **QUICK), monitor=sn.Monitor())
    direct = sn.solve(DECAY, monitor=sn.Monitor())
    warm = sn.solve(
        DECAY, sn.Train("pinn", nothing, width=6, depth=1, start=direct, **QUICK), monitor=sn.Monitor()
    )
    assert warm.result.l2re < 1e-2 < fresh.result.l2re


@unsolved
def test_a_callback_is_told_of_the_progress_and_can_stop():
    heard = []

    def enough(progress):
        heard.append((progress.phase, progress.iteration, progress.loss, list(progress.terms)))
        return progress.iteration >= 3

    training = sn.Train(make, [sn.Adam(1000), sn.LBFGS(5)], callback=enough, **QUICK)
    solution = sn.solve(DECAY, training, monitor=sn.Monitor())
    assert heard[0][0] == "adam"
    assert heard[0][3] == ["equation", "u(0)"]
    assert heard[-1][1] < 1000
    assert [record.name for record in solution.result.phases] == ["adam"]
    assert "callback" in solution.result.stop_reason


@unsolved
def test_a_callback_stops_runs_that_could_share_a_program_too():
    training = sn.Train("pinn", [sn.Adam(3000)], callback=lambda _: True, width=4, depth=1, **QUICK)
    for solution in sn.solve_many(DECAY, training, seeds=[0, 1], together=True, monitor=sn.Monitor()):
        assert solution.result.iterations < 3000
        assert "callback" in solution.result.stop_reason


def test_a_run_with_code_of_its_own_is_resumed_with_the_same_code(tmp_path):
    class Stop(sn.Monitor):
        calls = 0

        def losses(self, *told):
            self.calls += 1
            if self.calls == 2:
                raise KeyboardInterrupt

    training = sn.Train(make, FEW, **QUICK)
    whole = sn.solve(DECAY, training, monitor=sn.Monitor())
    stopped = sn.solve(DECAY, training, out=tmp_path, monitor=Stop())
    assert stopped.result.outcome is sn.Outcome.INTERRUPTED
    with pytest.raises(SafeNetError, match="code of your own: network make, optimiser optax"):
        sn.resume(tmp_path)
    resumed = sn.resume(tmp_path, training, monitor=sn.Monitor())
    np.testing.assert_array_equal(resumed(t=0.3), whole(t=0.3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"network": 3}, "3 is not a network"),
        ({"network": make, "width": 7}, "width is an option of a method"),
        ({"schedule": [optax.adam(1e-3)]}, "not made of known optimisers"),
        ({"schedule": []}, "not made of known optimisers"),
        ({"terms": [make]}, "not a weight and a function"),
        ({"terms": [(-1.0, make)]}, r"weight of the term make is -1\.0"),
        ({"weights": {"equations": -1.0}}, r"weight of equations is -1\.0"),
        ({"weights": {"conditions": float("inf")}}, "weight of conditions is inf"),
        (
            {"network": lambda key: eqx.nn.MLP(2, 1, 4, 1, key=key)},
            "cannot be called with a point of 1 coord",
        ),
        ({"network": lambda key: eqx.nn.MLP(1, 3, 4, 1, key=key)}, r"gives \(3,\) for a point"),
        ({"network": lambda key: eqx.nn.MLP(1, "scalar", 4, 1, key=key)}, r"gives \(\) for a point"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is(arguments, message):
    with pytest.raises(SafeNetError, match=message):
        sn.solve(DECAY, sn.Train(**{"schedule": [sn.Adam(1)], **arguments}), monitor=sn.Monitor())


@pytest.mark.slow
def test_an_optax_line_search_is_given_what_it_needs():
    training = sn.Train("pinn", [sn.Optax(optax.lbfgs(), 60)], width=6, depth=1, **QUICK)
    assert sn.solve(DECAY, training, monitor=sn.Monitor()).result.l2re < 1e-2


def test_steps_and_rates_are_said_to_be_those_of_the_optimisers():
    with pytest.raises(sn.SafeNetError, match=r"sn\.Adam\(1000, rate=1e-3\)"):
        sn.Train("pinn", iterations=1000).plan(DECAY)
