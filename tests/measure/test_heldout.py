"""The held-out residual: nothing for the exact solution, one for none, the same in all units, never silent on nan."""

import math

import numpy as np
import pytest
import sympy as sp

from safenet import library
from safenet.fields.cells import CellForm
from safenet.measure.heldout import HeldOut, grid, held_out, jumps
from safenet.problem import loads


class Formula:
    """Expressions of the coordinates in the place of a network, differentiated by SymPy."""

    def __init__(self, problem, expressions):
        self.symbols = [axis.symbol for axis in problem.axes]
        self.expressions = [sp.sympify(expression) for expression in expressions]

    def __call__(self, point):
        raise AssertionError("asked for values although it knows its derivatives")

    def jets(self, points, orders):
        found = {}
        for order in orders:
            columns = []
            for expression in self.expressions:
                derivative = sp.diff(expression, *zip(self.symbols, order, strict=True))
                values = sp.lambdify(self.symbols, derivative, "numpy")(*np.asarray(points).T)
                columns.append(np.broadcast_to(values, len(points)))
            found[order] = np.stack(columns, axis=1).astype(float)
        return found


def exact(problem):
    return Formula(problem, [problem.value(problem.exact[name]) for name in problem.unknowns])


def scaled_heat(coefficient, length, duration, exact_factor=1):
    """u_t = κ u_xx with κ = length²/duration, started from coefficient·sin(πx/length)."""
    problem = loads(f"""
unknowns = ["u"]
equations = ["u_t = {length**2 / duration}*u_xx"]
conditions = ["u(0, t) = 0", "u({length}, t) = 0", "u(x, 0) = {coefficient}*sin(pi*x/{length})"]
[domain]
x = [0, {length}]
t = [0, {duration}]
""")
    x, t = (axis.symbol for axis in problem.axes)
    rate = sp.Rational(11, 10) * sp.pi**2 / duration
    return problem, Formula(problem, [coefficient * sp.sin(sp.pi * x / length) * sp.exp(-rate * t)])


@pytest.mark.parametrize("name", ["wave", "convection", "diffusion", "nh-heat", "reaction"])
def test_the_exact_solution_leaves_only_rounding(name):
    problem = library.problem(name)
    found = held_out(problem, exact(problem), 128)
    assert len(found.equations) == 1
    assert len(found.conditions) == len(problem.conditions)
    assert found.worst < 1e-12


def test_nothing_solves_nothing():
    problem = library.problem("wave")
    found = held_out(problem, Formula(problem, [0]), 128)
    # 0 satisfies all that is homogeneous, and of u(x, 0) = f it misses everything: ‖f‖ over the norm of its
    # largest part, sin πx, which is √(1 + ¼).
    assert found.equations == (0.0,)
    assert [found.conditions[i] for i in (0, 1, 3)] == [0.0] * 3
    assert found.conditions[2] == found.worst == pytest.approx(math.sqrt(1.25), rel=1e-2)


def test_an_error_of_a_millionth_is_measured_as_a_millionth():
    problem = library.problem("wave")
    (u,) = exact(problem).expressions
    x, t = (axis.symbol for axis in problem.axes)
    wrong = Formula(problem, [u + sp.Float("1e-6") * sp.cos(3 * x) * sp.exp(t)])
    found = held_out(problem, wrong, 256)
    assert all(1e-8 < value < 1e-5 for value in (*found.equations, *found.conditions))


@pytest.mark.parametrize(
    ("coefficient", "length", "duration"), [(1000, 1, 1), (1, 50, 1), (1, 1, 300), (7, 20, 3)]
)
def test_units_do_not_matter(coefficient, length, duration):
    plain, other = (
        held_out(*scaled_heat(*units), 128) for units in ((1, 1, 1), (coefficient, length, duration))
    )
    # The wrong rate leaves 1/11 of u_t, and less where u_t is below its mean.
    assert 0.04 < plain.equations[0] < 0.1
    np.testing.assert_allclose(other.equations, plain.equations, rtol=1e-10)
    np.testing.assert_allclose(other.conditions, plain.conditions, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("everywhere", [True, False])
def test_what_is_not_finite_is_infinitely_wrong(value, everywhere):
    problem = library.problem("reaction")

    class Broken(Formula):
        def jets(self, points, orders):
            finite = np.zeros(len(points), bool) if everywhere else np.arange(len(points)) > 0
            return {order: np.where(finite, 0.5, value)[:, None] for order in orders}

    assert held_out(problem, Broken(problem, [0]), 64).worst == math.inf


@pytest.mark.parametrize(
    ("equation", "condition"), [("u_xx = log(u - 1)", "u(0) = 0"), ("u_xx = 0", "u(0)*log(u(0) - 1) = 0")]
)
def test_a_residual_that_is_nan_for_a_finite_field_is_infinitely_wrong(equation, condition):
    problem = loads(f"""
unknowns = ["u"]
equations = ["{equation}"]
conditions = ["{condition}", "u(1) = 0"]
[domain]
x = [0, 1]
""")
    # Every other term is zero here: nothing but the nan can be seen.
    assert held_out(problem, Formula(problem, [0]), 64).worst == math.inf


def test_a_jump_between_cells_that_is_nan_is_infinitely_wrong():
    problem, _ = scaled_heat(1, 1, 1)
    cells = tuple(((low, low + 0.5), (0.0, 1.0)) for low in (0.0, 0.5))
    known = np.zeros((2, 1, 2, 2))
    known[0, 0, 0, 0] = np.nan
    seen = np.array([[0.75, 0.5]])  # in the cell that has values
    found = jumps(problem, CellForm(known, cells, (1, 1)), seen, np.ones(1))
    assert math.isnan(found)
    assert HeldOut((0.0,), (0.0,), found).worst == math.inf


def test_on_a_later_slab_the_initial_conditions_are_left_out():
    problem = library.problem("wave")

    class Late(Formula):
        def jets(self, points, orders):
            assert 0.25 <= np.asarray(points)[:, 1].min() <= np.asarray(points)[:, 1].max() <= 0.5
            return exact(problem).jets(points, orders)

    later = held_out(problem, Late(problem, [0]), 64, (0.25, 0.5))
    assert len(later.conditions) == 2
    assert later.worst < 1e-12
    assert len(held_out(problem, exact(problem), 64, (0.0, 0.5)).conditions) == 4


def test_a_system_is_measured_equation_by_equation():
    problem = loads("""
unknowns = ["u", "v"]
equations = ["u_t = v", "v_t = -u"]
conditions = ["u(0) = 0", "v(0) = 1"]
[domain]
t = [0, 1]
""")
    (t,) = (axis.symbol for axis in problem.axes)
    found = held_out(problem, Formula(problem, [sp.sin(t), sp.cos(t)]), 64)
    assert found.worst < 1e-14
    half = held_out(problem, Formula(problem, [sp.sin(t), sp.cos(t) + sp.Rational(1, 2)]), 64)
    assert half.equations[1] < 1e-14
    assert half.equations[0] > 0.1
    assert half.conditions[0] < 1e-14
    assert half.conditions[1] == pytest.approx(1 / 3, rel=0.5)


def test_the_grid_runs_over_the_box_with_its_faces():
    x, t = grid(library.problem("convection"), (5, 3))
    assert (x.min(), x.max(), t.min(), t.max()) == (0, 2 * math.pi, 0, 1)
    assert len(set(zip(x, t, strict=True))) == 15
    np.testing.assert_array_equal(t[:3], [0, 0.5, 1])


def test_derivatives_at_the_points_are_asked_for_once():
    problem = loads(
        'unknowns = ["u"]\nequations = ["u_t = u_xx"]\n'
        'conditions = ["u(x, 0) = sin(x)", "u(0, t) = 0", "u_x(pi, t) = -exp(-t)"]'
        '\n[domain]\nx = [0, "pi"]\nt = [0, 1]'
    )
    asked = []

    class Watched(Formula):
        def jets(self, points, orders):
            asked.append(np.ptp(points, axis=0).min() > 0)
            return super().jets(points, orders)

    found = held_out(
        problem, Watched(problem, [sp.exp(-problem.axes[1].symbol) * sp.sin(problem.axes[0].symbol)])
    )
    assert found.worst < 1e-13
    assert sum(asked) == 1
