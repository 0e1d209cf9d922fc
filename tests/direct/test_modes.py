"""Sums of exact solutions against the known ones: to rounding where the data are a few waves, at the rate of the data
elsewhere; and declined where the symbols do not give them."""

import math

import numpy as np
import pytest

import safenet as sn
from safenet import library
from safenet.direct import Modes
from safenet.direct.modal_rows import decoupled
from safenet.direct.passes import carry_out
from safenet.direct.plan import plan_of
from safenet.direct.state import Direct
from safenet.errors import SafeNetError
from safenet.fields.modes import ModalForm
from safenet.measure.heldout import grid, held_out
from safenet.problem import loads
from safenet.run.budget import Budget
from safenet.run.progress import Monitor


def finished(problem, phase=Modes()):  # noqa: B008 - a frozen dataclass
    """The last state, which is the only one done, and all residuals on the way."""
    states = list(phase.run(problem, Monitor(), Budget()))
    assert [state.done for state in states] == [*[False] * (len(states) - 1), True]
    return states[-1], [state.residual for state in states]


def relative_error(problem, network, ticks=23):
    coordinates = grid(problem, [ticks] * len(problem.axes))
    order = (0,) * len(coordinates)
    values = network.jets(np.stack(coordinates, axis=1), [order])[order]
    truth = problem.reference(**dict(zip(problem.axis_names, coordinates, strict=True)))
    truth = np.stack([truth[u] for u in problem.unknowns] if isinstance(truth, dict) else [truth], axis=1)
    return np.linalg.norm(values - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize(
    "name", ["wave", "convection", "convection-50", "diffusion", "heat2d", "nh-heat", "helmholtz"]
)
def test_the_linear_problems_of_the_library_are_solved_to_rounding(name):
    problem = library.problem(name)
    state, _ = finished(problem)
    assert isinstance(state.field, ModalForm)
    assert state.residual <= 1e-12
    assert relative_error(problem, state.field) <= 1e-12


def stated(equations, conditions, exact, domain, unknowns=("u",)):
    text = f"unknowns = {list(unknowns)}\nequations = {equations}\nconditions = {conditions}\n".replace(
        "'", '"'
    )
    fields = ", ".join(f'{u} = "{expression}"' for u, expression in zip(unknowns, exact, strict=True))
    axes = ", ".join(f'{axis} = [{low}, "{high}"]' for axis, (low, high) in domain.items())
    return loads(f"{text}exact = {{ {fields} }}\ndomain = {{ {axes} }}\n")


def ring(*fields, order=2):
    return [f"{u}{d}(0, t) = {u}{d}(2*pi, t)" for u in fields for d in ("", "_x", "_xx")[:order]]


RING, UNIT = {"x": (0, "2*pi"), "t": (0, 2)}, {"x": (0, 1), "t": (0, 1)}
HELD = ["u(0, t) = 0", "u(1, t) = 0"]
PROBLEMS = {
    "Schrödinger": stated(
        ["u_t = -v_xx/2", "v_t = u_xx/2"],
        [*ring("u", "v"), "u(x, 0) = cos(3*x) + 1", "v(x, 0) = sin(3*x)"],
        ["cos(3*x - 9*t/2) + 1", "sin(3*x - 9*t/2)"],
        RING,
        ("u", "v"),
    ),
    "KdV": stated(
        ["u_t + u_xxx = 0"],
        [*ring("u", order=3), "u(x, 0) = sin(2*x) + 3"],
        ["sin(2*x + 8*t) + 3"],
        RING,
    ),
    "critical damping": stated(
        ["u_tt + 2*pi*u_t = u_xx"],
        [*HELD, "u(x, 0) = sin(pi*x)", "u_t(x, 0) = 0"],
        ["sin(pi*x)*(1 + pi*t)*exp(-pi*t)"],
        UNIT,
    ),
    "growth": stated(
        ["u_t = u_xx/100 + 10*u"],
        ["u_x(0, t) = 0", "u_x(1, t) = 0", "u(x, 0) = cos(pi*x)"],
        ["cos(pi*x)*exp((10 - pi**2/100)*t)"],
        UNIT,
    ),
    "resonance": stated(
        ["u_tt = u_xx + sin(pi*x)*sin(pi*t)"],
        [*HELD, "u(x, 0) = 0", "u_t(x, 0) = 0"],
        ["sin(pi*x)*(sin(pi*t)/(2*pi**2) - t*cos(pi*t)/(2*pi))"],
        UNIT,
    ),
    "a mixed condition in time": stated(
        ["u_tt = u_xx"],
        [*HELD, "u(x, 0) + 2*u(x, 1/4) = sin(pi*x)*(1 + sqrt(2))", "u_t(x, 0) = 0"],
        ["sin(pi*x)*cos(pi*t)"],
        UNIT,
    ),
    "acoustics": stated(
        ["u_t = -p_x", "p_t = -u_x"],
        [*HELD, "u(x, 0) = sin(pi*x)", "p(x, 0) = 0"],
        ["sin(pi*x)*cos(pi*t)", "-cos(pi*x)*sin(pi*t)"],
        UNIT,
        ("u", "p"),
    ),
    "driven ends": stated(
        ["u_tt = 4*u_xx"],
        [
            *("u(0, t) = sin(3*t)", "u(1, t) = sin(3*(t - 1/2))"),
            *("u(x, 0) = -sin(3*x/2)", "u_t(x, 0) = 3*cos(3*x/2)"),
        ],
        ["sin(3*(t - x/2))"],
        UNIT,
    ),
    "Laplace": stated(
        ["u_xx + u_yy = 0"],
        *(
            [
                "u(0, y) = cos(y) + y",
                "u(1, y) = e*cos(y) + y",
                "u_y(x, 0) = 1",
                "u(x, 1) = exp(x)*cos(1) + 1",
            ],
        ),
        ["exp(x)*cos(y) + y"],
        {"x": (0, 1), "y": (0, 1)},
    ),
    "Helmholtz": stated(
        ["u_xx + u_yy + 100*u = 0"],
        ["u(0, y) = cos(8*y)", "u(1, y) = cos(6 + 8*y)", "u(x, 0) = cos(6*x)", "u(x, 1) = cos(6*x + 8)"],
        ["cos(6*x + 8*y)"],
        {"x": (0, 1), "y": (0, 1)},
    ),
    "an oscillator": stated(
        ["u_tt + u = sin(t)"], ["u(0) = 0", "u_t(0) = 0"], ["sin(t)/2 - t*cos(t)/2"], {"t": (0, 5)}
    ),
    "a plate with a current": loads("""
unknowns = ["u"]
equations = ["u_t + u_x = (u_xx + u_yy)/50"]
conditions = ["u(0, y, t) = u(1, y, t)", "u_x(0, y, t) = u_x(1, y, t)", "u(x, 0, t) = 0", "u(x, 1, t) = 0",
  "u(x, y, 0) = sin(2*pi*x)*sin(3*pi*y)"]
exact = { u = "sin(2*pi*(x - t))*sin(3*pi*y)*exp(-13*pi**2*t/50)" }
domain = { x = [0, 1], y = [0, 1], t = [0, 1] }
"""),
}
TOGETHER = {"acoustics", "driven ends", "Laplace", "Helmholtz"}


@pytest.mark.parametrize("name", PROBLEMS)
def test_sums_of_modes_are_found(name):
    problem = PROBLEMS[name]
    assert Modes().obstacle(problem) is None
    assert decoupled(problem) == (name not in TOGETHER)
    state, _ = finished(problem)
    assert state.residual <= 1e-12
    assert relative_error(problem, state.field) <= 1e-12


def test_a_kink_is_followed_at_the_rate_of_its_coefficients():
    """wave-hard: sine coefficients like k^−3, so that N modes leave N^−2.5 in L²."""
    problem = library.problem("wave-hard")
    state, residuals = finished(problem, Modes(modes=960))
    assert "960 coefficients" in state.reason
    assert state.field.parameters == 448
    # Levels of 7, 14, 28, … modes; the last state says that there is no more.
    rates = [math.log2(a / b) / 2 for a, b in zip(residuals[2:-3], residuals[4:-1], strict=True)]
    np.testing.assert_allclose(rates, 2.5, atol=0.15)
    assert relative_error(problem, state.field, 101) < 1e-7


def test_a_bump_needs_few_levels():
    problem = library.problem("heat-bump")
    state, residuals = finished(problem)
    assert residuals == sorted(residuals, reverse=True)
    assert relative_error(problem, state.field, 41) < 1e-11


def test_both_ways_to_the_coefficients_give_one_solution():
    """A condition that is always met, written at a point, ties all waves together; the solution stays."""
    apart = PROBLEMS["critical damping"]
    conditions = [condition.statement for condition in apart.conditions]
    tied = stated(
        ["u_tt + 2*pi*u_t = u_xx"],
        [*HELD, "u(0, 1/2) = 0", "u(x, 0) = sin(pi*x)", "u_t(x, 0) = 0"],
        ["sin(pi*x)*(1 + pi*t)*exp(-pi*t)"],
        UNIT,
    )
    assert len(tied.conditions) == len(conditions) + 1
    assert not decoupled(tied)
    assert relative_error(tied, finished(tied)[0].field) < 1e-12


def test_a_phase_goes_on_from_where_it_was():
    problem = library.problem("heat-bump")
    states = list(Modes().run(problem, Monitor(), Budget()))
    middle = states[1]
    again = list(Modes().run(problem, Monitor(), Budget(), Direct(**vars(middle))))
    assert [state.residual for state in again] == [state.residual for state in states[2:]]


def test_the_exact_solution_is_not_read(monkeypatch):
    problem = PROBLEMS["resonance"]
    expected = finished(problem)[0].residual
    monkeypatch.setattr(problem, "exact", None)
    assert finished(problem)[0].residual == expected


@pytest.mark.parametrize(
    ("problem", "complaint"),
    [
        (library.problem("burgers"), "not linear"),
        (library.problem("four-holes"), "not a box"),
        ("u_t = (1 + x)*u_xx", "not constant"),
        ("u_t = u_xx + exp(-x**2)", "not a sum of exponentials"),
    ],
    ids=["nonlinear", "region", "coefficient", "source"],
)
def test_what_is_no_sum_of_modes_is_declined_with_a_reason(problem, complaint):
    if isinstance(problem, str):
        problem = loads(
            f'unknowns = ["u"]\nequations = ["{problem}"]\n'
            'conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = 0"]\ndomain = { x = [0, 1], t = [0, 1] }'
        )
    assert complaint in Modes().obstacle(problem)
    with pytest.raises(SafeNetError, match="modes does not suit"):
        plan_of([Modes()], problem, "modes")


def test_more_coefficients_than_allowed_are_not_tried():
    state, _ = finished(library.problem("heat2d"), Modes(modes=100))
    assert state.given_up
    assert state.field is None


def test_the_solver_is_carried_out_saved_and_measured(tmp_path):
    problem = library.problem("wave")
    plan = plan_of([Modes()], problem, "modes")
    carried = carry_out(problem, plan, folder=tmp_path)
    assert isinstance(carried.field, ModalForm)
    assert carried.residual == held_out(problem, carried.field).worst
    again = carry_out(problem, plan, folder=tmp_path, resume=True)
    np.testing.assert_array_equal(again.field.parts[0].coefficients, carried.field.parts[0].coefficients)


def test_a_tolerance_that_is_asked_for_ends_the_growth_of_one_dense_system():
    rod = sn.loads("""
    name = "rod"
    unknowns = ["u"]
    equations = ["u_t = u_xx/10"]
    conditions = ["u(0, t) = 0", "u_x(1, t) + 4*u(1, t) = 1", "u(x, 0) = x/5 + sin(pi*x)**4"]
    domain = { x = [0, 1], t = [0, 1] }
    """)
    rough, finer = (sn.solve(rod, sn.Modes().aimed(tol)) for tol in (1e-3, 1e-6))
    assert rough.field.parameters < finer.field.parameters < 500  # more than a thousand at 1e-12
    for solution, tol in ((rough, 1e-3), (finer, 1e-6)):
        assert solution.result.estimate < tol
