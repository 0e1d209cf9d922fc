"""The estimated error against the true one: within a factor of a few, for forms of every kind, good and bad."""

import numpy as np
import pytest
import sympy as sp

import safenet as sn
from safenet import library
from safenet.direct.cells import Subdivision
from safenet.direct.direct import LeastSquares, Marching
from safenet.direct.march_on_cells import CellMarching
from safenet.fields.cells import CellForm
from safenet.measure import estimate
from safenet.measure.estimate import estimated, estimated_error
from safenet.problem import Disc, On, Problem
from safenet.run.progress import Monitor
from safenet.solution import errors

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)


def disc(exact):
    return Problem(
        sp.Eq(u.diff(x, 2) + u.diff(y, 2), exact.diff(x, 2) + exact.diff(y, 2)),
        on={x: (-1, 1), y: (-1, 1)},
        shape=Disc((0, 0), 1),
        pieces={"rim": "rest"},
        where=[On("rim", sp.Eq(u, exact))],
        exact=exact,
    )


CASES = {
    "slabs": (library.problem("reaction"), CellMarching(tail=1e-4)),
    "cells": (disc(sp.exp(x) * sp.sin(9 * y)), Subdivision(degree=5, unknowns=700)),
    "linear form": (library.problem("wave-hard"), LeastSquares(unknowns=600)),
    "pieces": (library.problem("reaction"), Marching(tail=1e-3)),
}


@pytest.mark.parametrize(("problem", "phase"), CASES.values(), ids=CASES)
def test_it_is_near_the_true_error(problem, phase):
    network = list(phase.run(problem, Monitor()))[-1].network
    true = errors(problem, network).l2re
    assert 1e-9 < true < 0.1
    assert 0.1 < estimated_error(problem, network) / true < 10


def test_a_solution_that_was_spoilt_is_told_how_far():
    """A fault of 3% that satisfies the boundary conditions, and so shows only in the equation."""
    problem = library.problem("helmholtz")
    good = list(LeastSquares().run(problem, Monitor()))[-1].network

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
    assert estimated_error(problem, spoilt) == pytest.approx(errors(problem, spoilt).l2re, rel=0.05)
    assert estimated_error(problem, good) < 1e-9


def test_a_trained_network_has_one_too():
    problem = library.problem("convection")
    solution = sn.solve(problem, sn.Train("pinn", "levenberg-marquardt", width=8, depth=1, scale=0.1))
    assert 0.2 < estimated_error(problem, solution.field) / solution.error().l2re < 5


def test_none_where_there_is_no_way_to_tell():
    problem = disc(sp.exp(x))
    network = sn.solve(problem, sn.Train("pinn", "levenberg-marquardt", width=4, depth=1, scale=0.01)).network
    assert not isinstance(network, CellForm)
    assert estimated_error(problem, network) is None


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
        list(CellMarching(tail=1e-4, insist=True, shortest=least, narrowest=1e-3).run(problem, Monitor()))[-1]
        for least in (1e-3, 1e-5)
    )
    found = estimated(problem, short.network)
    assert found.since == 0.01
    assert found.left < 0.1
    assert 1e-8 < found.error < 1e-5  # 6e-7 by a Chebyshev method of lines in time steps to 1e-9
    # A large residual that nothing smooth explains, and no clash that does: nothing is said.
    monkeypatch.setattr(estimate, "clashes", lambda problem: [])
    assert estimated(problem, rough.network) is None


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
    if held:
        assert sn.solve(layer).result.estimate < 1e-10
        return
    with pytest.warns(sn.SafeNetWarning, match="moved along its axis"):
        solution = sn.solve(layer)
    assert solution.result.estimate is None
    assert solution.result.residual < 1e-9  # which says nothing here
