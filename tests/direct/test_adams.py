"""Exponential Adams steps, and terms of N that are computed as derivatives."""

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

from safenet.direct.steps.adams import Adams
from safenet.direct.steps.exponential import Evolution
from safenet.direct.steps.fluxes import Fluxes
from safenet.direct.steps.trail import Trail
from safenet.direct.steps.waves import Waves, fast_length
from safenet.problem.facts.semilinear import semilinear
from safenet.problem.facts.structure import axis_kinds
from safenet.problem.toml import loads

BURGERS = """
unknowns = ["u"]
equations = ["u_t + u*u_x = u_xx/10 + u*(1 - u)/5"]
conditions = ["u(x, 0) = sin(x)"]
periodic = ["x"]
[domain]
x = [0, "2*pi"]
t = [0, 1]
"""
FLOW = """
unknowns = ["u", "v", "p"]
equations = [
    "u_t + u*u_x + v*u_y = -p_x + (u_xx + u_yy)/50",
    "v_t + u*v_x + v*v_y = -p_y + (v_xx + v_yy)/50",
    "u_x + v_y = 0",
]
conditions = ["u(x, y, 0) = sin(y)", "v(x, y, 0) = sin(x)/3", "p(0, 0, t) = 0"]
periodic = ["x", "y"]
[domain]
x = [0, "2*pi"]
y = [0, "2*pi"]
t = [0, 1]
"""


def evolution_of(text, modes, xp=np):
    problem = loads(text)
    kinds = tuple(tuple(axis_kinds(problem)[name][:-1]) for name in problem.unknowns)
    return Evolution(problem, Waves(problem.axes[:-1], kinds, modes), xp)


def final(text, modes, steps, xp=np):
    evolution = evolution_of(text, modes, xp)
    y, adams = evolution.start(), Adams(evolution)
    for k in range(steps):
        y, _ = adams.step(k / steps, y, 1 / steps)
    return np.asarray(y)


def test_halving_the_steps_divides_the_error_by_more_than_32():
    exact = final(BURGERS, (24,), 512)
    rough, fine = (np.abs(final(BURGERS, (24,), n) - exact).max() for n in (32, 64))
    assert 1e-12 < fine < rough / 32


def test_steps_of_changing_length_are_as_accurate():
    evolution = evolution_of(BURGERS, (24,))
    y, adams, t = evolution.start(), Adams(evolution), 0.0
    for h in [1 / 64] * 16 + [1 / 32] * 8 + [1 / 128] * 64:
        y, _ = adams.step(t, y, h)
        t += h
    assert t == 1.0
    assert np.abs(y - final(BURGERS, (24,), 512)).max() < 1e-8


def test_the_difference_of_predictor_and_corrector_bounds_the_error_of_a_step():
    evolution = evolution_of(BURGERS, (24,))
    y, adams = evolution.start(), Adams(evolution)
    for k in range(8):
        before = y
        y, difference = adams.step(k / 32, y, 1 / 32)
    exact, finer = before, Adams(evolution)
    for k in range(64):
        exact, _ = finer.step(7 / 32 + k / 2048, exact, 1 / 2048)
    assert 0 < np.linalg.norm(y - exact) < np.linalg.norm(difference) < 1e-5


@pytest.mark.parametrize(("text", "modes"), [(BURGERS, (8,)), (FLOW, (5, 5))])
def test_jax_takes_the_same_steps_as_numpy(text, modes):
    assert np.allclose(final(text, modes, 8, jnp), final(text, modes, 8), atol=1e-13)


@pytest.mark.parametrize(("text", "modes"), [(BURGERS, (9,)), (FLOW, (6, 6))])
def test_fluxes_are_the_nonlinear_part(text, modes):
    """Against N as it is written, at the nodes of the grid."""
    evolution = evolution_of(text, modes)
    system, waves, y = evolution.system, evolution.waves, evolution.start()
    values = {
        symbol: waves.backward(waves.power(orders) * y[column]) for symbol, column, orders in system.jets
    }
    own = evolution._unprojected(0.0, y)
    for row, rest in enumerate(system.rest):
        exact = sp.lambdify(list(values), rest, "numpy")(*values.values())
        assert np.allclose(own[row], waves.forward(np.broadcast_to(exact, waves.shape)), atol=1e-13)


def test_transport_by_a_flow_without_sources_needs_no_slopes():
    fluxes = Fluxes(semilinear(loads(FLOW)))
    assert len(fluxes.jets) == 2
    assert all(sum(orders) == 0 for _, _, orders in fluxes.jets)


def test_what_two_rows_share_is_one_term():
    text = BURGERS.replace('["u"]', '["u", "v"]', 1)
    text = text.replace(
        'equations = ["u_t + u*u_x = u_xx/10 + u*(1 - u)/5"]',
        'equations = ["u_t = u_xx - u*v**2 + 3", "v_t = v_xx + 2*u*v**2"]',
    ).replace('"u(x, 0) = sin(x)"', '"u(x, 0) = sin(x)", "v(x, 0) = cos(x)"')
    fluxes = Fluxes(semilinear(loads(text)))
    assert len(fluxes.terms) == 1
    assert sorted(fluxes.terms[0].rows) == [(0, -1.0), (1, 2.0)]
    assert fluxes.constants == [3.0, 0.0]


@pytest.mark.parametrize("least", [1, 7, 11, 97, 1021])
def test_fast_lengths_have_small_factors(least):
    n = fast_length(least)
    assert n >= least
    assert set(sp.factorint(n)) <= {2, 3, 5}
    assert not any(set(sp.factorint(k)) <= {2, 3, 5} for k in range(least, n))


def test_steps_are_shortened_by_the_ratio_and_meet_at_the_snapshots():
    steps = [(0.125 * i, 0.125) for i in range(8)] + [(1 + 0.25 * i, 0.25) for i in range(4)]
    waves = Waves((), ((),), ())
    rough = Trail(steps, waves, snapshots=dict.fromkeys((4, 8, 10, 12), (waves, np.zeros(1))))
    found = dict(rough.refined(1.3))
    assert list(found) == [4, 8, 10, 12]
    for number, finer in found.items():
        ends = [t + h for t, h in finer]
        assert ends[-1] == pytest.approx(sum(steps[number - 1]))
        assert max(h for _, h in finer) <= steps[number - 1][1] / 1.3
        assert [t for t, _ in finer[1:]] == pytest.approx(ends[:-1])
    assert len(dict(rough.refined(1.3))[4]) == 6  # not eight: a ratio need not be an integer
