"""nu = [0.1, 0.4]: a parameter with a range is an axis of the solution, along which nothing is differentiated."""

import numpy as np
import pytest
import sympy as sp

import safenet as sn

HEAT = """
name = "family"
unknowns = ["u"]
equations = ["u_t = nu*c*u_xx"]
conditions = ["u(0, t) = 0", "u_x(1, t) = nu - nu", "u(x, 0) = sin(pi*x/2)"]
[domain]
x = [0, 1]
t = [0, 1]
[parameters]
c = 2
nu = [0.1, 0.4]
"""


@pytest.fixture(scope="module")
def heat():
    return sn.loads(HEAT)


def test_the_range_is_an_axis_before_time(heat):
    assert heat.axis_names == ("x", "nu", "t")
    assert heat.axes[1].bounds == (0.1, 0.4)
    assert heat.conditions[0].text == "u(0, nu, t) = 0"
    assert heat.order(1) == 0
    assert [symbol.name for symbol in heat.parameters] == ["c"]


def test_a_family_is_read_back_and_copied(heat):
    assert sn.loads(heat.toml()) == heat
    assert heat.with_parameters(c=3).axis_names == heat.axis_names


def test_python_states_the_same(heat):
    x, t, nu = sp.symbols("x t nu", real=True)
    u = sp.Function("u")(x, t)
    same = sn.Problem(
        sp.Eq(u.diff(t), 2 * nu * u.diff(x, 2)),
        domain={x: (0, 1), t: (0, 1)},
        conditions=[
            sp.Eq(u.subs(x, 0), 0),
            sp.Eq(u.diff(x).subs(x, 1), 0),
            sp.Eq(u.subs(t, 0), sp.sin(sp.pi * x / 2)),
        ],
        parameters={nu: (0.1, 0.4)},
    )
    assert same == heat


@pytest.mark.parametrize("given", ["[0.1]", "[0.4, 0.1]", "[0.1, 0.2, 0.3]"])
def test_what_is_no_range_is_refused(given):
    with pytest.raises(sn.SafeNetError, match="line"):
        sn.loads(HEAT.replace("[0.1, 0.4]", given))


@pytest.mark.slow
def test_one_solution_has_them_all(heat):
    sol = sn.solve(heat)
    x, nu, t = np.random.default_rng(0).random((3, 200)) * [[1], [0.3], [1]] + [[0], [0.1], [0]]
    exact = np.exp(-2 * nu * (np.pi / 2) ** 2 * t) * np.sin(np.pi * x / 2)
    np.testing.assert_allclose(sol(x=x, nu=nu, t=t), exact, atol=1e-7)
    slope = sol.diff("nu")(x=0.5, nu=0.2, t=0.5)  # differentiated like any other
    assert slope == pytest.approx(-(np.pi**2) / 4 * np.exp(-0.05 * np.pi**2) * np.sin(np.pi / 4), rel=1e-4)
