"""Least squares and marching against exact solutions: machine precision, the rate theory names, the end of time."""

import math
import re

import numpy as np
import pytest

from safenet import library
from safenet.direct import LeastSquares
from safenet.direct.bases import axis_bases, first_modes
from safenet.direct.march_on_series import MarchOnSeries
from safenet.fields.basis import AxisBasis
from safenet.fields.series import LinearForm, Piecewise
from safenet.measure.heldout import grid, held_out
from safenet.measure.rows.newton import newton
from safenet.measure.rows.series import Collocation
from safenet.problem import loads
from safenet.run.budget import Budget
from safenet.run.progress import Monitor


def finished(phase, problem):
    """The last state, which is the only one done, and all residuals on the way."""
    states = list(phase.run(problem, Monitor(), Budget()))
    assert [state.done for state in states] == [*[False] * (len(states) - 1), True]
    return states[-1], [state.residual for state in states]


def relative_error(problem, network, shape=(41, 31)):
    coordinates = grid(problem, shape)
    order = (0,) * len(coordinates)
    values = network.jets(np.stack(coordinates, axis=1), [order])[order][:, 0]
    truth = problem.reference(**dict(zip(problem.axis_names, coordinates, strict=True)))
    return np.linalg.norm(values - truth) / np.linalg.norm(truth)


@pytest.mark.parametrize("name", ["wave", "convection", "diffusion", "nh-heat"])
def test_linear_problems_are_solved_to_eleven_digits(name):
    problem = library.problem(name)
    state, _ = finished(LeastSquares(), problem)
    assert isinstance(state.field, LinearForm)
    assert state.residual <= 1e-11
    assert relative_error(problem, state.field) <= 1e-11


SWELL = loads("""
unknowns = ["u"]
equations = ["u_t + u_x = 0"]
conditions = ["u(0, t) = u(2*pi, t)", "u(x, 0) = 1/(2 + cos(x))"]
exact = { u = "1/(2 + cos(x - t))" }
[domain]
x = [0, "2*pi"]
t = [0, 1]
""")


def test_the_error_falls_at_the_rate_of_the_nearest_singularity():
    """1/(2 + cos x) has poles at distance log(2 + √3) from the axis: N modes leave (2 + √3)^−N."""
    errors = {}
    for modes in (4, 8, 12, 16):
        bases = ((AxisBasis("periodic", modes, 0.0, 2 * math.pi), AxisBasis("chebyshev", 16, 0.0, 1.0)),)
        collocation = Collocation(SWELL, bases)
        coefficients = newton(collocation, np.zeros(collocation.unknowns), linear=True).coefficients
        errors[modes] = relative_error(SWELL, collocation.form(coefficients))
    rate = math.log(2 + math.sqrt(3))
    for modes in (4, 8, 12):
        assert math.log(errors[modes] / errors[modes + 4]) / 4 == pytest.approx(rate, rel=0.1)


def test_levels_grow_until_the_limit_and_the_best_is_kept():
    phase = LeastSquares(unknowns=300, tolerance=0.0)
    state, residuals = finished(phase, SWELL)
    assert "300 coefficients" in state.reason
    assert state.field.parameters <= 300
    assert residuals == sorted(residuals, reverse=True)
    assert state.residual == pytest.approx(held_out(SWELL, state.field).worst, rel=1e-12)


def test_levels_that_no_longer_help_end_the_phase():
    decay = loads("""
unknowns = ["u"]
equations = ["u_t = -u"]
conditions = ["u(0) = 1"]
[domain]
t = [0, 1]
""")
    state, residuals = finished(LeastSquares(tolerance=0.0), decay)
    assert "no longer" in state.reason
    assert not state.given_up
    assert state.residual < 1e-12
    # Three levels in a row did not halve it.
    assert residuals[-1] > residuals[-4] / 8


BRATU = loads("""
unknowns = ["u"]
equations = ["u_xx + u_yy + exp(u) = 0"]
conditions = ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]
[domain]
x = [0, 1]
y = [0, 1]
""")


def test_a_steady_nonlinear_problem_agrees_with_finite_differences():
    """Five-point differences at two mesh widths, extrapolated: the value in the middle to 1e-6."""

    def middle(n):
        h = 1 / n
        laplace = (np.eye(n - 1, k=1) + np.eye(n - 1, k=-1) - 2 * np.eye(n - 1)) / h**2
        L = np.kron(laplace, np.eye(n - 1)) + np.kron(np.eye(n - 1), laplace)
        u = np.zeros((n - 1) ** 2)
        for _ in range(6):
            u -= np.linalg.solve(L + np.diag(np.exp(u)), L @ u + np.exp(u))
        return u[len(u) // 2]

    state, _ = finished(LeastSquares(general="chebyshev", unknowns=400), BRATU)
    value = float(state.field.jets(np.array([[0.5, 0.5]]), [(0, 0)])[(0, 0)][0, 0])
    assert value == pytest.approx((4 * middle(20) - middle(10)) / 3, abs=2e-5)


def test_marching_solves_the_reaction_to_six_digits():
    problem = library.problem("reaction")
    state, _ = finished(MarchOnSeries(tail=1e-6), problem)
    assert isinstance(state.field, Piecewise)
    assert state.field.breaks[0] == 0
    assert state.field.breaks[-1] == 1
    assert list(state.field.breaks) == sorted(set(state.field.breaks))
    assert relative_error(problem, state.field) <= 1e-6


def test_a_smaller_tail_gives_a_smaller_error():
    problem = library.problem("reaction")
    rough, fine = (finished(MarchOnSeries(tail=tail), problem)[0] for tail in (1e-2, 1e-6))
    errors = [relative_error(problem, state.field) for state in (rough, fine)]
    assert errors[1] < errors[0] / 100


def test_slabs_join_with_their_velocity():
    problem = library.problem("wave")
    state, _ = finished(MarchOnSeries(), problem)
    assert relative_error(problem, state.field) <= 1e-6
    pieces, breaks = state.field.pieces, state.field.breaks
    assert len(pieces) > 1
    x = np.linspace(0, 1, 17)
    for before, after, time in zip(pieces[:-1], pieces[1:], breaks[1:-1], strict=True):
        points = np.stack([x, np.full_like(x, time)], axis=1)
        for order in ((0, 0), (0, 1)):
            left, right = before.jets(points, [order])[order], after.jets(points, [order])[order]
            np.testing.assert_allclose(left, right, rtol=0, atol=1e-4)


def test_a_solution_that_ends_is_followed_to_its_end():
    """u_t = u², u(x, 0) = 2: u = 2/(1 − 2t) until t = ½, and nothing after."""
    blow_up = loads("""
unknowns = ["u"]
equations = ["u_t = u**2"]
conditions = ["u(x, 0) = 2"]
[domain]
x = [0, 1]
t = [0, 1]
""")
    state, _ = finished(MarchOnSeries(), blow_up)
    assert state.given_up
    assert state.final
    place = re.search(r"blow up near t = ([\d.]+):", state.reason)
    assert float(place[1]) == pytest.approx(0.5, abs=1e-3)
    assert 0.49 < state.field.breaks[-1] < 0.51
    times = np.linspace(0, 0.45, 7)
    values = state.field.jets(np.stack([np.full(7, 0.3), times], axis=1), [(0, 0)])[(0, 0)][:, 0]
    np.testing.assert_allclose(values, 2 / (1 - 2 * times), rtol=1e-4)
    assert held_out(blow_up, state.field).worst == math.inf


@pytest.mark.parametrize(
    "phase", [LeastSquares(general="chebyshev"), MarchOnSeries()], ids=lambda phase: phase.name
)
def test_a_problem_that_is_nowhere_finite_is_given_up(phase):
    nowhere = loads("""
unknowns = ["u"]
equations = ["u_t = log(u - 1)"]
conditions = ["u(x, 0) = 0"]
[domain]
x = [0, 1]
t = [0, 1]
""")
    state, _ = finished(phase, nowhere)
    assert state.given_up
    assert state.field is None


@pytest.mark.parametrize(
    ("name", "kinds", "modes"),
    [
        # least = 6 beside the highest named frequency: 4π on [0, 1] is the 4th half wave
        ("wave", ("sine", "fourier"), [10, 6]),
        ("convection", ("periodic", "fourier"), [7, 6]),
        ("reaction", ("fourier", "fourier"), [6, 6]),
        # 6.3π on [0, 1] is between the 6th and the 7th, 3π in time the 3rd
        ("nh-heat", ("fourier", "fourier"), [13, 9]),
    ],
)
def test_the_first_level_holds_every_named_frequency(name, kinds, modes):
    problem = library.problem(name)
    assert first_modes(problem, 6) == modes
    (bases,) = axis_bases(problem, modes, "fourier")
    assert tuple(basis.kind for basis in bases) == kinds
    assert [basis.modes for basis in bases] == modes
    assert [(basis.lower, basis.upper) for basis in bases] == [(axis.lo, axis.hi) for axis in problem.axes]


def test_within_a_slab_time_is_a_polynomial_of_the_slab():
    ((space, time),) = axis_bases(library.problem("wave"), [5, 4], "chebyshev", (0.25, 0.5))
    assert space == AxisBasis("sine", 5, 0.0, 1.0)
    assert time == AxisBasis("chebyshev", 4, 0.25, 0.5)
