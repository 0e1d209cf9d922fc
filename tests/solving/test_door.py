"""One door, two families: what was confused before stays apart."""

import json
import re

import numpy as np
import pytest

import safenet as sn
from safenet.direct.plan import DirectPlan
from safenet.errors import SafeNetError
from safenet.run.result import Ending, Outcome, PhaseRecord, Result
from safenet.solving.plans import DATA_ONLY, NAMES, plan_for, solver_named
from safenet.train.plan import Plan

FISHER = sn.loads("""
name = "fisher"
unknowns = ["u"]
equations = ["u_t = u_xx/20 + u - u**3"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 1], t = [0, 1] }
""")
DECAY = sn.loads("""
name = "decay"
unknowns = ["u"]
equations = ["u_t = -u"]
conditions = ["u(0) = 1"]
domain = { t = [0, 1] }
""")


def test_solve_without_a_solver_is_auto():
    assert plan_for(FISHER) == plan_for(FISHER, sn.Auto()) == plan_for(FISHER, "auto")


def test_a_direct_solver_never_carries_a_networks_name():
    """`method="pinn", recipe="modes"` used to return a sum of modes that called itself pinn."""
    with pytest.raises(SafeNetError, match="no recipe 'modes'"):
        sn.Train("pinn", "modes")
    result = sn.solve("wave", sn.Modes(), monitor=sn.Monitor()).result
    assert (result.solver, result.method, result.recipe) == ("modes", None, None)


def test_an_option_of_a_network_never_changes_the_solver():
    """`k="auto"`, the default, used to turn a march into Levenberg–Marquardt."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'k'"):
        sn.solve(FISHER, k="auto")
    assert sn.Train(k="auto").plan(FISHER) == sn.Train().plan(FISHER)
    assert isinstance(plan_for(FISHER), DirectPlan)


def test_the_same_march_has_the_same_estimate_whoever_asked_for_it():
    """Only solves called `default` used to have one. Values at a side make no series: cells are Auto's choice."""
    problem = sn.loads(FISHER.toml().replace("u(1, t) = 0", "u(1, t) = t/10"))
    chosen, asked = (sn.solve(problem, s, monitor=sn.Monitor()) for s in (sn.Auto(), sn.March(on="cells")))
    assert chosen.plan.passes == asked.plan.passes
    assert chosen.result.estimate == asked.result.estimate is not None


DISC = sn.loads("""
unknowns = ["u"]
equations = ["u_t = u_xx + u_yy"]
conditions = ["u = 0 on all", "u(x, y, 0) = 1 - x**2 - y**2"]
[domain]
x = [-1, 1]
y = [-1, 1]
t = [0, 1]
shape = [{ disc = { center = [0, 0], radius = 1 } }]
[pieces]
all = "rest"
""")
FOUR = sn.loads("""
unknowns = ["u"]
equations = ["u_aa + u_bb + u_cc + u_dd = 1"]
conditions = ["u(0, b, c, d) = 0"]
domain = { a = [0, 1], b = [0, 1], c = [0, 1], d = [0, 1] }
""")
SUITED = {
    "elements": sn.library.problem("helmholtz"),
    "conserve": sn.library.problem("burgers"),
    "evolve": DISC,
    "sparse": FOUR,
}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DATA_ONLY])
def test_every_solver_has_a_name_and_a_plan_that_survives_json(name):
    problem = {**SUITED, "integrate": DECAY, "fourier": FISHER}.get(name, sn.library.problem("wave"))
    plan = plan_for(problem, name)
    assert plan.solver == name
    again = (Plan if name == "train" else DirectPlan).from_json(plan.to_json())
    assert again == plan
    assert solver_named(name).name == name


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ("marsh", "no solver 'marsh'.*\n.*march"),
        (sn.March(), "march does not suit poisson.*no time axis"),
        (sn.March, r"March is a class, not a solver\s.*sn.March"),
        (sn.Modes(), "modes does not suit bratu.*not linear"),
        (sn.METHODS["pinn"], "is not a solver.*\n.*sn.Train"),
    ],
)
def test_a_solver_that_does_not_suit_is_refused_with_the_reason_and_the_remedy(solver, message):
    text = """
name = "poisson"
unknowns = ["u"]
equations = ["u_xx = -1"]
conditions = ["u(0) = 0", "u(1) = 0"]
domain = { x = [0, 1] }
"""
    if "bratu" in message:
        text = text.replace("poisson", "bratu").replace("-1", "-exp(u)")
    with pytest.raises(SafeNetError, match=message):
        sn.solve(sn.loads(text), solver)


def test_a_problem_may_be_named(tmp_path):
    path = tmp_path / "decay.toml"
    path.write_text(DECAY.toml())
    assert sn.solve(str(path), monitor=sn.Monitor())(t=1.0) == pytest.approx(np.exp(-1), rel=1e-12)
    assert sn.solve(path, monitor=sn.Monitor()).problem == DECAY
    with pytest.raises(SafeNetError, match=r"no problem 'wafe'[\s\S]*wave"):
        sn.solve("wafe")


def test_no_direct_solver_for_five_axes_means_a_network_and_says_so():
    axes = "xyzvw"
    terms = " + ".join(f"u_{a}{a}" for a in axes)
    faces = [f"u({', '.join(str(v) if b == a else b for b in axes)}) = {v}" for a in axes for v in (0, 1)]
    problem = sn.loads(
        f"""
name = "five"
unknowns = ["u"]
equations = ["{terms} = u**2"]
conditions = {json.dumps(faces)}
domain = {{ {", ".join(f"{a} = [0, 1]" for a in axes)} }}
"""
    )
    plan = plan_for(problem)
    assert isinstance(plan, Plan)
    assert "no direct solver suits" in plan.reasons[0]


def test_outcomes_are_a_closed_set_and_decide_the_exit_status():
    status = {outcome.value: outcome.exit_status for outcome in Outcome}
    assert status == {
        "solved": 0,
        "unverified": 1,
        "not solved": 1,
        "given up": 1,
        "diverged": 1,
        "out of time": 1,
        "interrupted": 130,
    }


def test_a_result_survives_json_and_leaves_out_what_it_does_not_know():
    result = Result(problem="p", solver="march", outcome=Outcome.SOLVED, phases=[PhaseRecord("adam", 3)])
    data = json.loads(json.dumps(result.to_json())) | {"of a later version": 1}
    again = Result.from_json(data)
    assert again == result
    assert again.outcome is Outcome.SOLVED
    assert again.phases[0].outcome is Ending.FINISHED


def test_a_network_that_misses_its_equations_is_not_solved_and_python_says_so():
    """It used to be «finished», without a word."""
    training = sn.Train("pinn", [sn.Adam(1)], width=3, depth=1, points=8, condition_points=1)
    with pytest.warns(sn.SafeNetWarning) as told:
        result = sn.solve(DECAY, training, monitor=sn.Monitor()).result
    said = "; ".join(str(warning.message) for warning in told)
    assert re.search("not solved: residual .* on unseen points", said)
    assert result.outcome is Outcome.NOT_SOLVED
    assert result.residual > 0.1
    assert any("not solved" in text for text in result.warnings)


def test_a_budget_leaves_the_plan_of_a_training_as_it_is():
    """200 steps · 0.2 used to be 40 steps, and with a budget 219."""
    training = sn.Train("pinn", "levenberg-marquardt", scale=0.2, width=4, depth=1)
    assert plan_for(DECAY, training, budget=30.0) == plan_for(DECAY, training)
    assert plan_for(DECAY, training).phases[0].iterations == 40
