"""Marching on a tensor grid: its rows are the equations', and planes, pressures and stiff systems are solved."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from safenet.direct import March
from safenet.direct.march_on_grid import MarchOnGrid
from safenet.fields.series import Piecewise
from safenet.measure.heldout import held_out
from safenet.measure.rows.grid import TensorRows, beginning
from safenet.measure.rows.grid_lines import radau
from safenet.measure.rows.newton import newton
from safenet.problem import Problem
from safenet.problem.toml import loads
from safenet.run.budget import Budget
from safenet.run.progress import Monitor
from scoring import l2re

x, y, t = sp.symbols("x y t")
u, v, p = (sp.Function(name)(x, y, t) for name in "uvp")
SQUARE = {x: (0, 1), y: (0, 1), t: (0, 1)}


def at(expression, axis, value):
    return expression.subs(axis, value)


def start(field, exact):
    return sp.Eq(at(field, t, 0), at(exact, t, 0))


def walls(field, exact):
    return [sp.Eq(at(field, a, c), at(exact, a, c)) for a in (x, y) for c in (0, 1)]


def periods(*fields, axes=(x, y)):
    return [
        sp.Eq(at(f.diff(a, k) if k else f, a, 0), at(f.diff(a, k) if k else f, a, 2 * sp.pi))
        for f in fields
        for a in axes
        for k in (0, 1)
    ]


def burgers():
    """Two components, Dirichlet on all sides, a front along a diagonal."""
    share = 1 / (4 * (1 + sp.exp(sp.Rational(5, 8) * (4 * y - 4 * x - t))))
    exact = {u: sp.Rational(3, 4) - share, v: sp.Rational(3, 4) + share}
    flow = [
        sp.Eq(f.diff(t) + u * f.diff(x) + v * f.diff(y), (f.diff(x, 2) + f.diff(y, 2)) / 20) for f in (u, v)
    ]
    conditions = [c for f, e in exact.items() for c in (start(f, e), *walls(f, e))]
    return Problem(flow, domain={**SQUARE, t: (0, sp.Rational(1, 2))}, conditions=conditions, exact=exact)


def vortices(nu):
    """Taylor and Green's, with pressure: equations and exact solution."""
    decay = sp.exp(-2 * nu * t)
    exact = {
        u: -sp.cos(x) * sp.sin(y) * decay,
        v: sp.sin(x) * sp.cos(y) * decay,
        p: -(sp.cos(2 * x) + sp.cos(2 * y)) / 4 * decay**2,
    }
    momentum = [
        sp.Eq(f.diff(t) + u * f.diff(x) + v * f.diff(y), nu * (f.diff(x, 2) + f.diff(y, 2)) - p.diff(a))
        for f, a in ((u, x), (v, y))
    ]
    return [*momentum, sp.Eq(u.diff(x) + v.diff(y), 0)], exact


def taylor_green():
    """Navier–Stokes on a torus: the pressure has no time derivative, and its mean no equation."""
    flow, exact = vortices(sp.Rational(1, 20))
    return Problem(
        flow,
        domain={x: (0, 2 * sp.pi), y: (0, 2 * sp.pi), t: (0, 1)},
        conditions=[start(u, exact[u]), start(v, exact[v]), *periods(u, v, p)],
        exact=exact,
    )


def enclosed():
    """Between four walls nothing is said of the pressure, but at a point inside."""
    flow, exact = vortices(sp.Rational(1, 10))
    pin = sp.Eq(
        p.subs({x: sp.Rational(1, 3), y: sp.Rational(1, 2)}),
        exact[p].subs({x: sp.Rational(1, 3), y: sp.Rational(1, 2)}),
    )
    given = [c for f in (u, v) for c in (start(f, exact[f]), *walls(f, exact[f]))]
    return Problem(flow, domain={x: (0, 1), y: (0, 1), t: (0, 1)}, conditions=[*given, pin], exact=exact)


def channel():
    """Periodic along x, walls in y."""
    flow, exact = vortices(sp.Rational(1, 10))
    ends = periods(u, v, p, axes=[x])
    sides = [sp.Eq(at(f, y, c), at(exact[f], y, c)) for f in (u, v) for c in (0, 1)]
    pin = sp.Eq(p.subs({x: 0, y: 0}), exact[p].subs({x: 0, y: 0}))
    begin = [start(f, exact[f]) for f in (u, v)]
    domain = {x: (0, 2 * sp.pi), y: (0, 1), t: (0, 1)}
    return Problem(flow, domain=domain, conditions=[*begin, *ends, *sides, pin], exact=exact)


def sine_gordon():
    """Second order in time; slopes given on two sides, a mixture of slope and value on the others."""
    exact = 4 * sp.atan(sp.exp(x + y - t))
    sides = [sp.Eq(at(u.diff(x), x, c), at(exact.diff(x), x, c)) for c in (0, 1)]
    sides += [sp.Eq(at(u.diff(y) + 2 * u, y, c), at(exact.diff(y) + 2 * exact, y, c)) for c in (0, 1)]
    begin = sp.Eq(at(u.diff(t), t, 0), at(exact.diff(t), t, 0))
    equation = sp.Eq(u.diff(t, 2), u.diff(x, 2) + u.diff(y, 2) - sp.sin(u))
    return Problem(equation, domain=SQUARE, conditions=[start(u, exact), begin, *sides], exact={u: exact})


def transport():
    """First order in space: one condition on each axis, where it flows in."""
    exact = 1 + sp.sin(x + y - 2 * t) / 4
    source = exact.diff(t) + exact * exact.diff(x) + exact.diff(y)
    inflow = [sp.Eq(at(u, a, 0), at(exact, a, 0)) for a in (x, y)]
    equation = sp.Eq(u.diff(t) + u * u.diff(x) + u.diff(y), source)
    return Problem(equation, domain=SQUARE, conditions=[start(u, exact), *inflow], exact={u: exact})


PROBLEMS = {
    "burgers": (burgers, 1e-10),
    "taylor-green": (taylor_green, 1e-11),
    "enclosed": (enclosed, 1e-10),
    "channel": (channel, 1e-10),
    "sine-gordon": (sine_gordon, 1e-8),
    "transport": (transport, 1e-8),
}


def solved(problem, phase=None):
    *_, state = (phase or MarchOnGrid(tail=1e-7)).run(problem, Monitor(), Budget())
    assert not state.given_up, state.reason
    return state


@pytest.mark.parametrize(("make", "tolerance"), PROBLEMS.values(), ids=PROBLEMS)
def test_it_solves(make, tolerance):
    problem = make()
    assert March().kind(problem) == "grid"
    network = solved(problem).field
    assert l2re(problem, network) < tolerance
    assert held_out(problem, network).worst < 1e-6


@pytest.mark.parametrize("make", [burgers, taylor_green, enclosed, channel, sine_gordon, transport])
def test_the_product_is_the_slope_of_the_rows(make):
    """(r(w + εd) − r(w − εd))/2ε against J d, behind the same preconditioner."""
    problem = make()
    rows = TensorRows(problem, [7, 9], 4, (0.0, 0.1), beginning(problem))
    generator = np.random.default_rng(0)
    here = rows.guess() + 0.1 * generator.standard_normal(rows.unknowns)
    jacobian, _ = rows.linearise(here)
    along, h = generator.standard_normal(rows.unknowns), 1e-6
    slope = (rows.residual(here + h * along) - rows.residual(here - h * along)) / (2 * h)
    np.testing.assert_allclose(jacobian @ along, slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max())


def test_the_conditions_on_the_faces_hold_whatever_the_values():
    problem = sine_gordon()
    rows = TensorRows(problem, [9, 9], 4, (0.0, 0.1), beginning(problem))
    form = rows.form(rows.guess() + np.random.default_rng(0).standard_normal(rows.unknowns))
    found = held_out(problem, form, 64, (0.0, 0.1))
    faces = [r for c, r in zip(problem.conditions, found.conditions, strict=True) if not c.initial]
    assert max(faces) < 1e-5  # as nine nodes interpolate the data
    assert found.worst > 0.1


def test_radau_is_exact_for_polynomials_through_the_start():
    nodes = radau(5)
    assert nodes[-1] == 1
    assert (np.diff([0, *nodes]) > 0).all()
    weights = np.linalg.solve(np.vander(nodes, increasing=True).T, 1 / np.arange(1, 6))
    for degree in range(9):  # 2 s − 1
        assert weights @ nodes**degree == pytest.approx(1 / (degree + 1), rel=1e-12)


def test_a_linear_slab_is_one_newton_step_and_a_little():
    a = 1 + x * y
    equation = sp.Eq(u.diff(t), a * (u.diff(x, 2) + u.diff(y, 2)))
    first = sp.sin(sp.pi * x) * sp.sin(sp.pi * y)
    sides = [sp.Eq(at(u, axis, c), 0) for axis in (x, y) for c in (0, 1)]
    problem = Problem(equation, domain=SQUARE, conditions=[sp.Eq(at(u, t, 0), first), *sides])
    rows = TensorRows(problem, [15, 15], 6, (0.0, 0.05), beginning(problem))
    result = newton(rows, rows.guess(), linear=False)
    assert result.converged
    assert rows.products < 40


def carried(speed):
    """u = e^{ax + by − ct}, carried and smoothed: constant coefficients, values on all sides."""
    exact = sp.exp(x / 2 + y / 3 - t)
    flow = u.diff(t) + speed * u.diff(x) + u.diff(y) / 2 - (u.diff(x, 2) + u.diff(y, 2)) / 20
    equation = sp.Eq(flow, flow.subs(u, exact).doit())
    return Problem(equation, domain=SQUARE, conditions=[start(u, exact), *walls(u, exact)], exact={u: exact})


@pytest.mark.parametrize(("speed", "exact"), [(1, True), (2, False), (x, False)])
def test_constant_coefficients_take_one_step_and_no_krylov_space(speed, exact):
    """Where a strong wind makes the eigenvectors nearly dependent, those of diffusion and GMRES take over."""
    problem = carried(speed)
    rows = TensorRows(problem, [20, 20], 8, (0.0, 0.2), beginning(problem))
    assert rows.separable == exact
    result = newton(rows, rows.guess(), linear=rows.separable)
    assert result.converged
    assert (rows.products == 1) == exact
    points = np.random.default_rng(0).random((200, 3)) * [1, 1, 0.2]
    found = rows.form(result.coefficients).jets(points, [(0, 0, 0)])[0, 0, 0][:, 0]
    np.testing.assert_allclose(found, np.exp(points @ [1 / 2, 1 / 3, -1]), rtol=1e-9)


def robertson():
    return loads("""
        name = "robertson"
        unknowns = ["a", "b", "c"]
        equations = ["a_t = -k*a + 1e4*b*c", "b_t = k*a - 1e4*b*c - 3e7*b^2", "c_t = 3e7*b^2"]
        conditions = ["a(0) = 1", "b(0) = 0", "c(0) = 0"]
        domain = { t = [0, 40] }
        parameters = { k = 0.04 }
    """)


def test_stiff_ordinary_equations_have_no_space_axis():
    problem = robertson()
    network = solved(problem, MarchOnGrid(tail=1e-6)).field

    def rate(_, s):
        a, b, c = s
        return [-0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b**2, 3e7 * b**2]

    times = np.array([1e-3, 0.1, 4.0, 40.0])
    expected = solve_ivp(rate, (0, 40), [1, 0, 0], "Radau", times, rtol=1e-11, atol=1e-14).y.T
    np.testing.assert_allclose(network.jets(times[:, None], [(0,)])[(0,)], expected, rtol=1e-5)


def test_a_march_goes_on_from_where_it_was_left():
    problem, phase = burgers(), MarchOnGrid(tail=1e-4)
    whole = list(phase.run(problem, Monitor(), Budget()))
    left = whole[1]
    again = list(phase.run(problem, Monitor(), Budget(), left))[-1]
    for one, other in zip(whole[-1].field.pieces, again.field.pieces, strict=True):
        for a, b in zip(one.coefficients, other.coefficients, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_jump_between_slabs_is_seen():
    """Equations hold within each slab, whatever the next one begins with."""
    problem = taylor_green()
    network = solved(problem, MarchOnGrid(tail=1e-4)).field
    assert held_out(problem, network).jumps < 1e-6
    *first, last = network.pieces
    spoilt = type(last)(tuple(a * 1.1 for a in last.coefficients), last.bases)
    assert held_out(problem, Piecewise((*first, spoilt), network.breaks)).jumps > 1e-2


def test_a_pressure_is_what_it_is_said_to_be_at_a_point():
    problem = taylor_green()
    pinned = Problem(
        [equation.statement for equation in problem.equations],
        domain={x: (0, 2 * sp.pi), y: (0, 2 * sp.pi), t: (0, 1)},
        conditions=[*(c.statement for c in problem.conditions), sp.Eq(at(at(p, x, 1), y, 2), 5 + t)],
    )
    network = solved(pinned, MarchOnGrid(tail=1e-4)).field
    times = np.linspace(0, 1, 7)
    here = np.column_stack([np.full(7, 1.0), np.full(7, 2.0), times])
    value = (0, 0, 0)
    np.testing.assert_allclose(network.jets(here, [value])[value][:, 2], 5 + times, rtol=1e-9)
    free = solved(problem, MarchOnGrid(tail=1e-4)).field
    slope = (1, 0, 0)
    np.testing.assert_allclose(network.jets(here, [slope])[slope], free.jets(here, [slope])[slope], atol=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: [*c[:-1], sp.Eq(at(u, y, 1) ** 2, 1)], "is not linear"),
        (lambda c: [*c[:-1], sp.Eq(at(u, y, 1) + at(v, y, 1), 1)], "one unknown and its normal derivatives"),
        (lambda c: c[:-1], "v has 1 conditions in y"),
        (lambda c: [*c[1:], sp.Eq(at(u, t, 0) + at(v, t, 0), 1)], "u lacks an initial value"),
    ],
)
def test_what_does_not_fix_the_values_axis_by_axis_is_said(change, said):
    problem = burgers()
    conditions = [condition.statement for condition in problem.conditions]
    equations = [equation.statement for equation in problem.equations]
    changed = Problem(equations, domain={x: (0, 1), y: (0, 1), t: (0, 1)}, conditions=change(conditions))
    assert said in MarchOnGrid().obstacle(changed)


def test_a_source_that_breaks_in_space_is_left_to_cells():
    """Of a step the nodes of a grid know where it is only to their distance: 9e-3 where cells have 3e-5."""
    source = sp.Piecewise((1, x < sp.Rational(1, 2)), (0, True))
    equation = sp.Eq(u.diff(t), (u.diff(x, 2) + u.diff(y, 2)) / 10 + source - u**3)
    sides = [sp.Eq(at(u, a, c), 0) for a in (x, y) for c in (0, 1)]
    problem = Problem(equation, domain=SQUARE, conditions=[sp.Eq(at(u, t, 0), 0), *sides])
    assert MarchOnGrid().obstacle(problem) == "its coefficients or sources are not smooth at x = 0.5"


@pytest.mark.slow
def test_what_blows_up_is_said_to():
    equation = sp.Eq(u.diff(t), (u.diff(x, 2) + u.diff(y, 2)) / 10 + u**2)
    sides = [sp.Eq(at(u.diff(a), a, c), 0) for a in (x, y) for c in (0, 1)]
    first = 3 + sp.cos(sp.pi * x) * sp.cos(sp.pi * y)
    problem = Problem(equation, domain=SQUARE, conditions=[sp.Eq(at(u, t, 0), first), *sides])
    *_, state = MarchOnGrid(tail=1e-4, shortest=1e-3).run(problem, Monitor(), Budget())
    assert state.final
    assert "blow up" in state.reason


def test_a_start_that_disagrees_with_its_sides_takes_few_tries():
    """u_x is not zero on the sides, where u_t is: a slab's tail falls like its length, not like its eighth power."""
    problem = loads(
        'unknowns = ["u"]\nequations = ["u_t + u_x + u_y/2 = (u_xx + u_yy)/20"]\nconditions = ['
        '"u(x, y, 0) = sin(pi*x)*sin(pi*y)", "u(0, y, t) = 0", "u(1, y, t) = 0", "u(x, 0, t) = 0", "u(x, 1, t) = 0"]'
        "\n[domain]\nx = [0, 1]\ny = [0, 1]\nt = [0, 0.5]"
    )
    states = list(MarchOnGrid(tail=1e-6, insist=True).run(problem, Monitor(), Budget()))
    assert states[-1].done
    assert (
        states[-1].iterations - len(states) < 12
    )  # tried again; 16 of them with shares of a smooth solution's rate
