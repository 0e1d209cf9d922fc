"""Recipes and plans of training: the paper's as printed; data that survives JSON; wrong words refused."""

import json
import re

import numpy as np
import pytest

from safenet import library, listed
from safenet.errors import SafeNetError
from safenet.networks import METHODS
from safenet.train.optimisers.adam import Adam
from safenet.train.optimisers.lbfgs import LBFGS
from safenet.train.optimisers.ssbroyden import SSBroyden
from safenet.train.plan import Plan
from safenet.train.recipes import RECIPES
from safenet.train.solver import Train


@pytest.mark.parametrize("options", [{"network": "pinn"}, {"network": "safe-net-literal"}, {"width": 7}])
def test_a_network_that_was_asked_for_is_the_one_trained(options):
    plan = Train(**options).plan(library.problem("wave"))
    assert plan.network.width == options.get("width", METHODS[plan.method].width)


def test_the_default_is_ssbroyden_in_double_precision_and_lbfgs_where_a_dense_matrix_does_not_fit():
    small = Train().plan(library.problem("wave"))
    assert [type(phase) for phase in small.phases] == [Adam, SSBroyden]
    assert small.precision == "float64"
    assert "dense inverse Hessian" in small.reasons[0]
    large = Train("pinn", width=200).plan(library.problem("wave"))
    assert [type(phase) for phase in large.phases] == [Adam, LBFGS]
    assert "too many" in large.reasons[0]


def test_on_a_cpu_fronts_have_more_layers_and_points():
    smooth, steep = (Train().plan(library.problem(name)) for name in ("wave", "burgers"))
    assert (smooth.network.depth, smooth.interior) == (2, 2_000)
    assert (steep.network.depth, steep.interior) == (3, 4_000)
    assert steep.reasons[0].startswith("u_x is multiplied by an unknown")


def test_the_papers_schedules_are_as_printed():
    iterations = {
        name: [(type(phase), phase.iterations) for phase in RECIPES[name].phases]
        for name in RECIPES
        if "paper-" in name
    }
    printed = {
        "paper-1": [(Adam, 30_000), (LBFGS, 10_000)],
        "paper-1-torch": [
            (Adam, 30_000),
            (LBFGS, 10_000 * 20),
        ],  # a call of torch's `step` is up to 20 iterations
        "paper-2": [(Adam, 3_000), (LBFGS, 10_000), (Adam, 24_000), (LBFGS, 3_000)],
        "paper-3a": [(Adam, 20_000), (LBFGS, 20_000)],
        "paper-3b": [(Adam, 10_000), (LBFGS, 30_000)],
        "paper-3c": [(Adam, 5_000), (LBFGS, 35_000)],
        "paper-3d": [(Adam, 25_000), (LBFGS, 10_000), (Adam, 5_000)],
        "paper-3e": [(Adam, 40_000), (LBFGS, 40_000)],
        "paper-4": [(Adam, 100_000)],
    }
    assert printed == iterations
    plan = Train("safe-net-literal", "paper-1").plan(library.problem("wave"))
    assert (plan.interior, plan.condition, plan.sampler) == (20_000, 2_000, "uniform")
    assert (plan.residual_weight, plan.condition_weight) == (1, 100)
    first = plan.phases[0]
    assert (first.rate, first.decay, first.every) == (1e-3, 0.9, 2000)


def test_a_schedule_of_forty_thousand_ends_there_however_early_a_phase_stops():
    twice = Train("pinn", "paper-2").plan(library.problem("wave"))
    # L-BFGS stalls after 1234 steps: Adam goes on to 37 000 in all, and 3 000 of L-BFGS are always left.
    assert twice.phase(2, 3_000 + 1_234).iterations == 37_000 - 4_234
    assert twice.phase(2, 13_000).iterations == 24_000
    assert twice.phase(3, 37_000).iterations == 3_000
    plateau = Train("pinn", "paper-3e").plan(library.problem("wave"))
    assert plateau.phases[0].patience == 1_000
    assert plateau.phase(1, 8_765).iterations == 40_000 - 8_765
    # A hundredth of it is the same in small.
    small = Train("pinn", "paper-3e", scale=0.01).plan(library.problem("wave"))
    assert (small.phases[0].iterations, small.phases[0].patience, small.until) == (400, 10, (0, 400))


def test_every_recipe_has_a_plan_and_words():
    assert all(Train("safe-net", name).plan(library.problem("wave")).phases for name in RECIPES)
    assert all(listed.RECIPES[name] for name in RECIPES)


@pytest.mark.parametrize("recipe", RECIPES)
def test_plans_survive_json(recipe):
    plan = Train("safe-net", recipe, seed=7, scale=0.5, points=11, sampler="latin").plan(
        library.problem("wave")
    )
    text = plan.to_json()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert Plan.from_json(text) == plan
    assert Plan.from_json(text).to_json() == text


@pytest.mark.parametrize(("scale", "expected"), [(1.0, [30_000, 10_000]), (0.001, [30, 10]), (1e-9, [1, 1])])
def test_scale_multiplies_the_iterations_of_optimisers(scale, expected):
    plan = Train("safe-net", "paper-1", scale=scale).plan(library.problem("wave"))
    assert [phase.iterations for phase in plan.phases] == expected


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"schedule": "papper-1"}, "no recipe 'papper-1'.*did you mean 'paper-1'"),
        ({"network": "pin"}, "no method 'pin'.*did you mean 'pinn'"),
        ({"precision": "float23"}, "no precision 'float23'.*did you mean 'float32'"),
        ({"sampler": "sobel"}, "no sampler 'sobel'.*did you mean 'sobol'"),
        ({"activation": "sin"}, "activation = 'sin'.*did you mean 'sine'"),
        ({"depths": 3}, "no option 'depths'.*did you mean 'depth'"),
        ({"scael": 0.1}, "no option 'scael'.*did you mean 'scale'"),
        ({"pionts": 99}, "no option 'pionts'.*did you mean 'points'"),
        ({"scale": -1}, "scale is -1.*positive"),
        ({"scale": float("nan")}, "scale is nan.*positive"),
        ({"scale": "0.1"}, "scale is '0.1'.*positive"),
        ({"seed": -1}, "seed is -1.*whole number from 0"),
        ({"seed": 1.5}, "seed is 1.5.*whole number from 0"),
        ({"seed": "1"}, "seed is '1'.*whole number from 0"),
        ({"points": 0}, "^the number of points is 0.*at least 1"),
        ({"points": 100.5}, "number of points is 100.5.*whole number"),
        (
            {"points": np.linspace(0, 1, 50)},
            r"number of points is an array of shape \(50,\).*a row for each point",
        ),
        ({"points": np.ones((50, 3))}, r"an array of shape \(50, 3\).*a column for each of x, t"),
        (
            {"points": np.array([[0.5, 2.0], [0.5, 0.5]])},
            "1 of 2 points are outside the domain, such as x = 0.5, t = 2",
        ),
        ({"condition_points": -3}, "number of condition points is -3.*at least 1"),
        ({"schedule": "levenberg-marquardt", "precision": "float32"}, "needs float64"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_planned_is_refused_with_a_remedy(options, pattern):
    with pytest.raises(SafeNetError) as caught:
        Train(**options).plan(library.problem("wave"))
    assert re.search(pattern, str(caught.value), re.DOTALL)


def test_whole_numbers_of_numpy_are_as_good_and_can_be_written_down():
    asked = Train(seed=np.int64(3), points=np.int32(64)).plan(library.problem("wave"))
    assert Plan.from_json(asked.to_json()) == asked == Train(seed=3, points=64).plan(library.problem("wave"))
