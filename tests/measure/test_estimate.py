"""The estimated error against the true one: within a factor of a few, for forms of every kind, good and bad."""

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import safenet as sn
from safenet import library
from safenet.direct import Cells, LeastSquares, carry_out, plan_of
from safenet.direct.march_on_cells import MarchOnCells
from safenet.direct.march_on_grid import MarchOnGrid
from safenet.direct.march_on_series import MarchOnSeries
from safenet.measure import estimate
from safenet.measure.estimate import adrift, estimated, estimated_error
from safenet.measure.heldout import held_out
from safenet.problem import Disc, On, Problem
from safenet.run.budget import Budget
from safenet.run.progress import Monitor
from scoring import l2re

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)


def disc(exact):
    return Problem(
        sp.Eq(u.diff(x, 2) + u.diff(y, 2), exact.diff(x, 2) + exact.diff(y, 2)),
        domain={x: (-1, 1), y: (-1, 1)},
        shape=Disc((0, 0), 1),
        pieces={"rim": "rest"},
        conditions=[On("rim", sp.Eq(u, exact))],
        exact=exact,
    )


CASES = {
    "slabs": (library.problem("reaction"), MarchOnCells(tail=1e-4)),
    "cells": (disc(sp.exp(x) * sp.sin(9 * y)), Cells(degree=5, unknowns=700)),
    "linear form": (library.problem("wave-hard"), LeastSquares(unknowns=600)),
    "grid": (library.problem("reaction"), MarchOnGrid(tail=1e-3)),
    "pieces": (library.problem("reaction"), MarchOnSeries(tail=0.1)),
}


@pytest.mark.parametrize(("problem", "phase"), CASES.values(), ids=CASES)
def test_it_is_near_the_true_error(problem, phase):
    network = list(phase.run(problem, Monitor(), Budget()))[-1].field
    true = l2re(problem, network)
    assert 1e-9 < true < 0.1
    assert 0.1 < estimated_error(problem, network) / true < 10


def test_a_solution_that_was_spoilt_is_told_how_far():
    """A fault of 3% that satisfies the boundary conditions, and so shows only in the equation."""
    problem = library.problem("helmholtz")
    good = list(LeastSquares().run(problem, Monitor(), Budget()))[-1].field

    class Spoilt:
        def __call__(self, point):
            raise NotImplementedError

        def jets(self, points, orders):
            found = good.jets(points, orders)
            a, b = np.pi * points.T
            for order, values in found.items():
                waves = [np.sin(z + k * np.pi / 2) * np.pi**k for z, k in zip((a, b), order, strict=True)]
                found[order] = values + 0.03 * np.prod(waves, axis=0)[:, None]
            return found

    spoilt = Spoilt()
    assert estimated_error(problem, spoilt) == pytest.approx(l2re(problem, spoilt), rel=0.05)
    assert estimated_error(problem, good) < 1e-9


def test_a_field_that_knows_no_derivatives_has_one_too():
    """As a network: differentiated by JAX, wrong by 1 % of a wave that the equation does not have."""
    problem = library.problem("convection")

    def network(point):
        x, t = point
        return (jnp.sin(x - t / 10) + 0.01 * jnp.sin(2 * x + 3 * t))[None]

    assert 0.2 < estimated_error(problem, network) / l2re(problem, network) < 5


FRONT = sn.loads("""
name = "front"
unknowns = ["u"]
equations = ["u_t + u*u_x = u_xx/400"]
conditions = ["u(x, 0) = (1 - tanh(100*(x - 0.3)))/2", "u(0, t) = 1", "u(1, t) = 0"]
domain = { x = [0, 1], t = [0, 0.5] }
exact = { u = "(1 - tanh(100*(x - 0.3 - t/2)))/2" }
""")


def too_wide(point):
    x, t = point
    return ((1 - jnp.tanh(99 * (x - 0.3 - t / 2))) / 2)[None]


def test_cells_are_split_where_a_network_has_a_front():
    """The front is a fifth of a cell: the grid leaves most of the residual, and sees half of the error."""
    found = estimated(FRONT, too_wide)
    assert not found.cut
    assert found.left < 0.3
    assert found.error == pytest.approx(l2re(FRONT, too_wide), rel=0.1)


def test_without_time_for_more_cells_what_the_grid_says_counts_as_a_lower_limit():
    class Late(Budget):
        left = 0.0

    found = estimated(FRONT, too_wide, None, Late())
    assert found.cut
    assert found.left >= 1.0
    assert 0 < found.error < l2re(FRONT, too_wide)


SPOT = sn.loads(
    """
name = "spot"
unknowns = ["u"]
equations = ["u_xx + u_yy = (r2 - 2*w**2)/w**4*exp(-r2/(2*w**2))"]
conditions = ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]
domain = { x = [0, 1], y = [0, 1] }
parameters = { w = 0.015 }
exact = { u = "exp(-((x - 0.3)**2 + (y - 0.6)**2)/(2*w**2))" }
""".replace("r2", "((x - 0.3)**2 + (y - 0.6)**2)")
)


def test_a_network_with_a_narrow_source_is_not_called_far_worse_than_it_is():
    """Its error was estimated 5 times too large, or more."""

    def network(point):
        x, y = point
        return jnp.exp(-((x - 0.3) ** 2 + (y - 0.6) ** 2) / (2 * 0.01515**2))[None]

    found = estimated(SPOT, network)
    assert found.left < 0.1
    # ‖e‖/‖u‖ on a grid with twenty lines across the source: scattered points hardly meet it.
    lines = np.linspace(0, 1, 1401)
    r2 = (lines[:, None] - 0.3) ** 2 + (lines - 0.6) ** 2
    own, exact = (np.exp(-r2 / (2 * width**2)) for width in (0.01515, 0.015))
    true = np.linalg.norm(own - exact) / np.linalg.norm(exact)
    assert 0.5 < found.error / true < 2


BALL = """
name = "ball"
unknowns = ["u"]
equations = ["u_xx + u_yy + u_zz = exp(x)"]
conditions = ["u = exp(x) on rim"]
[domain]
x = [-1, 1]
y = [-1, 1]
z = [-1, 1]
shape = [{ ball = { center = [0, 0, 0], radius = 1 } }]
[pieces]
rim = "rest"
"""


def test_none_where_there_is_no_way_to_tell():
    assert estimated_error(sn.loads(BALL), lambda point: jnp.exp(point[:1])) is None


def test_each_unknown_has_its_own_error():
    """v is a thousandth of u, and wrong by a tenth; w is zero, and its error relative to u."""
    problem = sn.loads("""
unknowns = ["u", "v", "w"]
equations = ["u_t = -u", "v_t = -v", "w_t = -w"]
conditions = ["u(0) = 1", "v(0) = 1e-3", "w(0) = 0"]
domain = { t = [0, 1] }
""")

    class Wrong:
        def __call__(self, point):
            raise NotImplementedError

        def jets(self, points, orders):
            t = points[:, 0]
            return {
                (n,): np.stack([(-1) ** n * np.exp(-t), (-1) ** n * 1.1e-3 * np.exp(-t), 0 * t], axis=1)
                for (n,) in orders
            }

    found = estimated(problem, Wrong())
    assert found.fields == pytest.approx((0, 0.1 / 1.1, 0), abs=1e-9)
    assert found.error == pytest.approx(1e-4, rel=1e-3)


CORNER = """
name = "corner"
unknowns = ["u"]
equations = ["u_t = u_xx - u^3"]
conditions = ["u(0, t) = 1", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 1], t = [0, 1] }
"""


@pytest.mark.slow
def test_where_the_data_clash_it_holds_after_the_jump(monkeypatch):
    """At the start a correction explains nothing of a jump; from a hundredth of the time on all is smooth again."""
    problem = sn.loads(CORNER)
    rough, short = (
        list(
            MarchOnCells(tail=1e-4, insist=True, shortest=least, narrowest=1e-3).run(
                problem, Monitor(), Budget()
            )
        )[-1]
        for least in (1e-3, 1e-5)
    )
    found = estimated(problem, short.field)
    assert found.since == 0.01
    assert found.left < 0.1
    assert 1e-8 < found.error < 1e-5  # 6e-7 by a Chebyshev method of lines in time steps to 1e-9
    # A large residual that nothing smooth explains, and no clash that does: nothing is said.
    monkeypatch.setattr(estimate, "clashes", lambda problem: [])
    assert estimated_error(problem, rough.field) is None


@pytest.mark.parametrize(("width", "held"), [(0.05, True), (0.01, False)])
def test_a_layer_that_no_condition_holds_has_no_estimate(width, held):
    # u = -tanh((x - c)/(2 width)) solves it for every c, but for e^(-1/(2 width)) at the ends.
    layer = sn.loads(f"""
name = "layer"
unknowns = ["u"]
equations = ["{width}*u_xx = u*u_x"]
conditions = ["u(0) = 1", "u(1) = -1"]
domain = {{ x = [0, 1] }}
""")
    field = carry_out(layer, plan_of([LeastSquares(), Cells(only_above=1e-6)], layer, "auto")).field
    assert adrift(layer, field) is not held
    assert held_out(layer, field).worst < 1e-9  # which says nothing where it is adrift
    if held:
        assert estimated_error(layer, field) < 1e-10


def test_a_nonlinear_condition_holds_a_solution_in_place():
    """Its slope, 1 + 2 u(0), is no constant but depends on the solution."""
    problem = sn.Problem(
        equations=["u_xx = 6*u**2 - 4*u"],
        conditions=["u(0) + u(0)**2 = 2", "u(1) + u_x(1)**2 = 1"],
        domain={"x": (0, 1)},
    )
    field = carry_out(problem, plan_of([LeastSquares()], problem, "auto")).field
    assert held_out(problem, field).worst < 1e-9
    assert not adrift(problem, field)
