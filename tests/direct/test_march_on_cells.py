"""Marching on cells: fronts, periodic seams and waves against exact solutions; where it ends, and that it goes on."""

import re

import numpy as np
import pytest

from safenet import library
from safenet.direct import Cells, March, carry_out, plan_of
from safenet.direct.march_on_cells import MarchOnCells
from safenet.direct.marches import CELL_MARCHES
from safenet.direct.state import Direct
from safenet.fields.field import jets
from safenet.measure.heldout import held_out
from safenet.measure.rows.cells import CellRows
from safenet.measure.rows.newton import newton
from safenet.problem import loads
from safenet.run.budget import Budget
from safenet.run.progress import Monitor
from scoring import l2re, states

# u_t + u u_x = ν u_xx: a front of width 8ν that travels at speed 1/2.
FRONT = """
unknowns = ["u"]
equations = ["u_t + u*u_x = nu*u_xx"]
conditions = ["u(x, 0) = (1 - tanh((x - 0.3)/(4*nu)))/2", "u(0, t) = (1 - tanh((-0.3 - t/2)/(4*nu)))/2",
    "u(1, t) = (1 - tanh((0.7 - t/2)/(4*nu)))/2"]
exact = { u = "(1 - tanh((x - 0.3 - t/2)/(4*nu)))/2" }
domain = { x = [0, 1], t = [0, 0.5] }
parameters = { nu = 0.005 }
"""
# Periodic and nonlinear, with u_x periodic too: u = 2 + sin(x − t).
PERIODIC = """
unknowns = ["u"]
equations = ["u_t + u*u_x = u_xx + (1 + sin(x - t))*cos(x - t) + sin(x - t)"]
conditions = ["u(x, 0) = 2 + sin(x)", "u(0, t) = u(2*pi, t)", "u_x(0, t) = u_x(2*pi, t)"]
exact = { u = "2 + sin(x - t)" }
domain = { x = [0, "2*pi"], t = [0, 1] }
"""
WAVE = """
unknowns = ["u"]
equations = ["u_tt = u_xx + u**2 - (sin(pi*x)*cos(pi*t))**2"]
conditions = ["u(x, 0) = sin(pi*x)", "u_t(x, 0) = 0", "u(0, t) = 0", "u(1, t) = 0"]
exact = { u = "sin(pi*x)*cos(pi*t)" }
domain = { x = [0, 1], t = [0, 1] }
"""
TWO = """
unknowns = ["u", "v"]
equations = ["u_t = u_xx - u*v + exp(-2*t)*cos(x)*sin(x)", "v_t = v_xx + u_x + exp(-t)*sin(x)"]
conditions = ["u(x, 0) = cos(x)", "v(x, 0) = sin(x)", "u_x(0, t) = 0", "u(1, t) = exp(-t)*cos(1)",
    "v(0, t) = 0", "v(1, t) = exp(-t)*sin(1)"]
exact = { u = "exp(-t)*cos(x)", v = "exp(-t)*sin(x)" }
domain = { x = [0, 1], t = [0, 1] }
"""
BLOW_UP = """
unknowns = ["u"]
equations = ["u_t = u**2"]
conditions = ["u(x, 0) = 1 + x"]
domain = { x = [0, 1], t = [0, 1] }
"""


# A source that is switched on and off: u = sin(πx) v(t), v' = −λ v + 1 while it is on.
SWITCH = """
unknowns = ["u"]
equations = ["u_t = u_xx/10 + where(1/4 < t <= 1/2, sin(pi*x), 0)"]
conditions = ["u(x, 0) = 0", "u(0, t) = 0", "u(1, t) = 0"]
domain = { x = [0, 1], t = [0, 1] }
"""
# u = x²/2 − 5x/18, then (x − 1)/18.
HALF_LOADED = """
unknowns = ["u"]
equations = ["u_xx = where(x < 1/3, 1, 0)"]
conditions = ["u(0) = 0", "u(1) = 0"]
domain = { x = [0, 1] }
"""


def march(text, **options):
    return states(MarchOnCells(**options), loads(text))


@pytest.mark.parametrize(
    "text",
    [pytest.param(FRONT, marks=pytest.mark.slow), PERIODIC, WAVE, TWO],
    ids=["front", "periodic", "wave", "two fields"],
)
def test_the_error_follows_the_tail(text):
    found = [l2re(loads(text), march(text, tail=tail)[-1].field) for tail in (1e-3, 1e-6)]
    assert found[1] < 1e-6
    assert found[1] < max(0.1 * found[0], 1e-12)


def test_cells_follow_the_front_and_are_joined_behind_it():
    network = march(FRONT, tail=1e-6)[-1].field
    cells = np.array(network.cells)
    width, middle = cells[:, 0, 1] - cells[:, 0, 0], cells[:, 0].mean(axis=1)
    time = cells[:, 1].mean(axis=1)
    near = np.abs(middle - 0.3 - time / 2) < 0.05
    assert width[near].max() <= 0.125
    late = time > 0.4
    behind = late & (np.abs(middle - 0.3) < 0.1)  # where the front began
    assert width[behind].min() > width[near].min()


def test_a_slab_hands_over_values_and_speeds():
    states = march(WAVE, tail=1e-6)
    network = states[-1].field
    seams = sorted({cell[-1][1] for cell in network.cells})[:-1]
    assert seams
    x = np.linspace(0.05, 0.95, 7)
    for t in seams:
        for k in (0, 1):
            sides = [
                network.jets(np.column_stack([x, np.full(7, t + s)]), [(0, k)])[0, k] for s in (-1e-9, 1e-9)
            ]
            np.testing.assert_allclose(*sides, atol=1e-5)


def test_what_ceases_to_exist_is_said_to():
    """u = (1 + x)/(1 − (1 + x)t) is infinite at x = 1, t = 1/2."""
    sizes = {"tail": 1e-4, "shortest": 1e-3, "narrowest": 1e-2}
    rough = march(BLOW_UP, **sizes, insist=True)[-1]
    assert (rough.suspect, rough.final) == (True, False)  # for a finer one to say
    state = march(BLOW_UP, **sizes)[-1]
    assert state.given_up
    assert state.final
    said = re.search(r"blow up near t = ([\d.]+\d)", state.reason)
    assert float(said.group(1)) == pytest.approx(0.5, abs=1e-3)
    assert state.cursor["t"] == pytest.approx(0.5, abs=1e-3)


def test_what_costs_too_much_is_given_up():
    state = march(FRONT, tail=1e-6, work=1e7)[-1]
    assert state.given_up
    assert "cost too much" in state.reason


@pytest.mark.slow
def test_a_kink_at_the_start_is_given_up_unless_it_insists():
    kink = FRONT.replace("(1 - tanh((x - 0.3)/(4*nu)))/2", "abs(x - 0.31)", 1).replace(
        "nu = 0.005", "nu = 0.05"
    )
    kink = "\n".join(line for line in kink.splitlines() if not line.startswith("exact"))
    patient, hasty = (march(kink, tail=1e-6, shortest=3e-2, insist=insist)[-1] for insist in (True, False))
    assert hasty.given_up
    assert "short enough" in hasty.reason
    assert not patient.given_up


def test_it_goes_on_from_any_slab_to_the_same_result():
    problem, phase = loads(WAVE), MarchOnCells(tail=1e-5)
    states = list(phase.run(problem, Monitor(), Budget()))
    assert len(states) > 2
    middle = states[1]
    again = Direct(**{**vars(middle), "cursor": dict(middle.cursor)})
    final = list(phase.run(problem, Monitor(), Budget(), again))[-1]
    assert final.field.cells == states[-1].field.cells
    np.testing.assert_array_equal(final.field.coefficients, states[-1].field.coefficients)


def test_cells_of_different_sizes_face_each_other_across_a_periodic_seam():
    """Poisson's equation, periodic in x, on cells that are halved on one side only."""
    problem = loads("""
unknowns = ["u"]
equations = ["u_xx + u_yy = -2*sin(x)*exp(y) + 2*sin(x)*exp(y)"]
conditions = ["u(0, y) = u(2*pi, y)", "u_x(0, y) = u_x(2*pi, y)", "u(x, 0) = sin(x)", "u(x, 1) = e*sin(x)"]
exact = { u = "sin(x)*exp(y)" }
domain = { x = [0, "2*pi"], y = [0, 1] }
""")
    pi = float(np.pi)
    cells = [((0.0, pi), (0.0, 0.5)), ((0.0, pi), (0.5, 1.0)), ((pi, 2 * pi), (0.0, 1.0))]
    rows = CellRows(problem, cells, 12, 1.5)
    form = rows.form(newton(rows, np.zeros(rows.unknowns), True).coefficients)
    assert l2re(problem, form) < 1e-7


def test_burgers_from_the_library_is_known_to_nine_digits():
    state = list(MarchOnCells(tail=1e-6).run(library.problem("burgers"), Monitor(), Budget()))[-1]
    assert l2re(library.problem("burgers"), state.field) < 2e-8


@pytest.mark.slow
def test_a_jump_between_the_data_is_passed_by_the_march_that_insists():
    """Cold at the start, hot at the wall: u = 1 and u = 0 meet in a corner that no cell resolves."""
    problem = loads("""
unknowns = ["u"]
equations = ["u_t + u*u_x = u_xx/100"]
conditions = ["u(0, t) = 1", "u(1, t) = 0", "u(x, 0) = 0"]
domain = { x = [0, 1], t = [0, 1] }
""")
    state = list(CELL_MARCHES[0].run(problem, Monitor(), Budget()))[-1]
    assert state.done
    assert not state.given_up
    assert held_out(problem, state.field).worst < 0.05
    # Behind the front, which runs at speed 1/2, and ahead of it.
    values = state.field.jets(np.array([[0.2, 0.9], [0.9, 0.9]]), [(0, 0)])[0, 0]
    np.testing.assert_allclose(values, [[1], [0]], atol=0.02)


def solved(text, solver):
    problem = loads(text)
    return carry_out(problem, plan_of([solver], problem, solver.name)).field


def test_slabs_and_cells_end_where_the_symbols_break():
    field = solved(SWITCH, March())
    assert {0.25, 0.5} <= {end for *_, span in field.cells for end in span}
    t, decay = np.array([0.1, 0.25, 0.4, 0.5, 0.9]), np.pi**2 / 10
    on = (1 - np.exp(-decay * np.clip(t - 0.25, 0, 0.25))) / decay
    found = jets(field, np.column_stack([np.full(5, 0.5), t]), [(0, 0)])[0, 0][:, 0]
    np.testing.assert_allclose(found, on * np.exp(-decay * np.clip(t - 0.5, 0, 1)), atol=1e-10)

    x = np.linspace(0, 1, 31)
    exact = np.where(x < 1 / 3, x**2 / 2 - 5 * x / 18, (x - 1) / 18)
    found = jets(solved(HALF_LOADED, Cells()), x[:, None], [(0,)])[(0,)][:, 0]
    np.testing.assert_allclose(found, exact, atol=1e-14)


def test_cells_are_not_joined_across_a_break():
    # So small a jump would not be noticed.
    text = SWITCH.replace("where(1/4 < t <= 1/2, sin(pi*x), 0)", "1e-9*where(x < 1/2, 1, 0)")
    form = march(text.replace("u(x, 0) = 0", "u(x, 0) = sin(pi*x)"), tail=1e-4)[-1].field
    assert not any(low < 0.5 < high for (low, high), _ in form.cells)
