"""Exponential steps on Fourier grids: against closed forms, with estimates within ten times of the error."""

import json
import math

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.linalg import expm

import safenet as sn
from safenet.direct.steps import fourier
from safenet.direct.steps.fourier import Fourier, _March
from safenet.direct.steps.phi import phi, phi_matrices
from safenet.direct.steps.recorder import Recorder
from safenet.direct.steps.waves import Waves
from safenet.fields.series import LinearForm
from safenet.problem.toml import loads
from safenet.run.budget import Budget
from safenet.run.result import Outcome


def boxed(unknowns, equations, starts, axes, end, order=2, more=()):
    """A problem whose unknowns and their derivatives below `order` are periodic along every axis."""
    conditions = list(starts) + list(more)
    for name in unknowns:
        for axis, ends in axes.items():
            for k in range(order):
                shown = f"{name}_{axis * k}" if k else name
                places = [", ".join([*(x if a == axis else a for a in axes), "t"]) for x in ends]
                conditions.append(f"{shown}({places[0]}) = {shown}({places[1]})")
    listing = {"unknowns": list(unknowns), "equations": equations, "conditions": conditions}
    text = "\n".join(f"{key} = {json.dumps(value)}" for key, value in listing.items())
    sides = "\n".join(f"{axis} = {json.dumps(list(ends))}" for axis, ends in axes.items())
    return loads(f"{text}\n[domain]\n{sides}\nt = [0, {end}]")


def check(problem, exact, tolerance=1e-8):
    """Solve; compare with exact(coordinates…) → one array for each unknown at points of the whole box."""
    sol = sn.solve(problem, monitor=sn.Monitor())
    assert sol.result.phases[0].name == "fourier"
    assert sol.result.outcome == Outcome.SOLVED
    share = np.random.default_rng(1).random((400, len(problem.axes)))
    points = [axis.lo + axis.length * one for axis, one in zip(problem.axes, share.T, strict=True)]
    found = sol(**dict(zip(problem.axis_names, points, strict=True)))
    found = found if isinstance(found, dict) else {problem.unknowns[0]: found}
    estimates = sol.result.estimate if isinstance(sol.result.estimate, dict) else {"u": sol.result.estimate}
    for name, truth in zip(problem.unknowns, exact(*points), strict=True):
        error = np.linalg.norm(found[name] - truth) / np.linalg.norm(truth)
        assert error < tolerance
        # Below 1e-12 roundings of the transforms are all that is left.
        assert estimates[name] > error / 10 or error < 1e-11
        assert estimates[name] < max(10 * error, 1e-11) or estimates[name] < 1e-9
    return sol


@pytest.mark.parametrize("z", [0.0, 1e-9, -0.3, 0.999j, -1.001, 30j, -1e5])
def test_phi_agrees_with_fifty_digits(z):
    mpmath.mp.dps = 50
    exact = [mpmath.exp(z)]
    for j in range(3):
        exact.append(
            (exact[-1] - mpmath.mpf(1) / math.factorial(j)) / mpmath.mpmathify(z)
            if z
            else 1 / math.factorial(j + 1)
        )
    own = phi(np.array([z]))[:, 0]
    for mine, truth in zip(own, exact, strict=True):
        assert abs(mine - complex(truth)) < 2e-15 * max(1.0, abs(complex(truth)))


@pytest.mark.parametrize(
    "matrix", [[[0, 1], [0, 0]], [[0, 1], [-400, 0]], [[-1, 2], [3, -50]], [[-1e-3, 1], [0, -1e-3]]]
)
def test_phi_of_a_matrix_is_in_the_exponential_of_a_larger_one(matrix):
    a, n = np.array(matrix, dtype=complex), 2
    larger = np.zeros((4 * n, 4 * n), complex)
    larger[:n, :n] = a
    for j in range(3):
        larger[j * n : (j + 1) * n, (j + 1) * n : (j + 2) * n] += np.eye(n)
    exact = expm(larger)[:n].reshape(n, 4, n).transpose(1, 0, 2)
    assert np.abs(phi_matrices(a[None])[:, 0] - exact).max() < 1e-11 * max(1.0, np.abs(exact).max())


def waves_of(kinds, modes):
    problem = boxed(["u"], ["u_t = u_xx + u_yy"], ["u(x, y, 0) = 0"], {"x": ("1", "3"), "y": ("-1", "4")}, 1)
    return Waves(problem.axes[:-1], (kinds,), modes)


@pytest.mark.parametrize("kinds", [("periodic", "periodic"), ("sine", "cosine"), ("cosine", "sine")])
def test_coefficients_of_waves_are_those_of_the_series(kinds):
    waves = waves_of(kinds, (5, 4))
    shape = [basis.size for basis in waves.bases(0)]
    series = LinearForm((np.random.default_rng(0).standard_normal(shape),), (waves.bases(0),))
    grid = np.stack([x.ravel() for x in np.broadcast_arrays(*waves.coordinates)], axis=1)
    values = series.jets(grid, [(0, 0)])[0, 0].reshape(waves.shape)
    assert np.allclose(waves.coefficients(waves.forward(values), 0), series.coefficients[0], atol=1e-13)
    assert np.allclose(waves.continued(values, 0), values, atol=1e-13)


def test_waves_move_onto_a_finer_grid_and_back():
    rough, fine = waves_of(("periodic",) * 2, (5, 4)), waves_of(("periodic",) * 2, (9, 11))
    own = rough.forward(np.random.default_rng(0).standard_normal(rough.shape))
    assert np.array_equal(fine.onto(rough, rough.onto(fine, own)), own)
    assert np.allclose(
        rough.coefficients(own, 0),
        fine.coefficients(rough.onto(fine, own), 0)[
            np.ix_([*range(6), *range(10, 15)], [*range(5), *range(12, 16)])
        ],
        atol=1e-13,
    )


def test_a_recorder_follows_waves_with_few_pieces():
    waves = waves_of(("periodic",) * 2, (2, 2))
    recorder = Recorder(1e-9)
    state = waves.forward(np.broadcast_to(np.cos(np.pi * waves.coordinates[0]), waves.shape))[None]
    for t in np.linspace(0, 2, 201):
        recorder.add(t, np.cos(3 * t) * state, waves)
    form = recorder.form()
    assert len(form.breaks) < 12
    t = np.linspace(0, 2, 57)
    points = np.column_stack([np.full(57, 1.25), np.zeros(57), t])
    values = form.jets(points, [(0, 0, 0), (0, 0, 1)])
    assert np.abs(values[0, 0, 0][:, 0] - np.cos(3 * t) * np.cos(1.25 * np.pi)).max() < 1e-8
    assert np.abs(values[0, 0, 1][:, 0] + 3 * np.sin(3 * t) * np.cos(1.25 * np.pi)).max() < 1e-6
    assert np.allclose(
        np.asarray(form(jnp.array([1.25, 0.0, 0.7]))), np.cos(2.1) * np.cos(1.25 * np.pi), atol=1e-8
    )


def test_a_soliton_of_kdv_keeps_its_shape():
    problem = boxed(
        ["u"], ["u_t + 6*u*u_x + u_xxx = 0"], ["u(x, 0) = sech(x)**2/2*4"], {"x": ("-20", "20")}, 0.5, 3
    )
    check(problem, lambda x, t: [2 / np.cosh(x - 4 * t) ** 2])


def test_schroedingers_waves_are_followed_by_blocks_of_two():
    equations = ["u_t = -v_xx/2 - (u**2 + v**2)*v", "v_t = u_xx/2 + (u**2 + v**2)*u"]
    starts = ["u(x, 0) = sech(x)", "v(x, 0) = 0"]
    problem = boxed(["u", "v"], equations, starts, {"x": ("-28", "28")}, 2)
    check(problem, lambda x, t: [np.cos(t / 2) / np.cosh(x), np.sin(t / 2) / np.cosh(x)])


def test_second_order_in_time_is_a_block_with_a_double_root_at_rest():
    starts = ["u(x, 0) = 4*atan(sqrt(3)/cosh(sqrt(3)/2*x))", "u_t(x, 0) = 0"]
    problem = boxed(["u"], ["u_tt = u_xx - sin(u)"], starts, {"x": ("-30", "30")}, 3)
    root = math.sqrt(3)
    check(problem, lambda x, t: [4 * np.arctan(root * np.cos(t / 2) / np.cosh(root / 2 * x))])


FLOW = {"x": ("0", "2*pi"), "y": ("0", "2*pi")}


def test_a_pressure_keeps_the_flow_free_of_divergence_and_is_found_with_its_constant():
    equations = [
        "u_t + u*u_x + v*u_y = -p_x + (u_xx + u_yy)/10",
        "v_t + u*v_x + v*v_y = -p_y + (v_xx + v_yy)/10",
        "u_x + v_y = 0",
    ]
    starts = ["u(x, y, 0) = 1 + sin(x)*cos(y)", "v(x, y, 0) = -cos(x)*sin(y)"]
    problem = boxed(["u", "v", "p"], equations, starts, FLOW, 0.5, more=["p(1, 0, t) = 0"])

    def exact(x, y, t):
        e, moved = np.exp(-t / 5), x - t
        pressure = e**2 / 4 * (np.cos(2 * moved) + np.cos(2 * y) - np.cos(2 * (1 - t)) - 1)
        return 1 + e * np.sin(moved) * np.cos(y), -e * np.cos(moved) * np.sin(y), pressure

    check(problem, exact)


def test_a_stream_function_follows_the_vorticity():
    equations = ["w_t + s_y*w_x - s_x*w_y = (w_xx + w_yy)/10", "s_xx + s_yy = -w"]
    problem = boxed(
        ["w", "s"], equations, ["w(x, y, 0) = 2*sin(x)*sin(y)"], FLOW, 0.5, more=["s(0, 0, t) = 0"]
    )

    def exact(x, y, t):
        whole = np.exp(-t / 5) * np.sin(x) * np.sin(y)
        return 2 * whole, whole

    check(problem, exact)


MIRRORED = """
equations = ["u_t = u_xx + u**3 + ({u})*(pi**2 - 1) - ({u})**3"]
unknowns = ["u"]
conditions = ["{d}(0, t) = 0", "{d}(1, t) = 0", "u(x, 0) = {start}"]
[domain]
x = [0, 1]
t = [0, 0.5]
"""


@pytest.mark.parametrize(("wave", "condition"), [("sin", "u"), ("cos", "u_x")])
def test_faces_that_are_mirrors_make_sine_and_cosine_series(wave, condition):
    text = MIRRORED.format(u=f"exp(-t)*{wave}(pi*x)", d=condition, start=f"{wave}(pi*x)")
    sol = check(loads(text), lambda x, t: [np.exp(-t) * getattr(np, wave)(np.pi * x)])
    assert sol.field.space[0][0].kind == ("sine" if wave == "sin" else "cosine")


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (boxed(["u"], ["u_t = u_xx + u**2"], ["u(x, 0) = abs(x)"], {"x": ("-1", "1")}, 1), "not smooth"),
        (boxed(["u"], ["u_t = u_xx + u**2"], ["u(x, 0) = x**2"], {"x": ("-1", "1")}, 1), "not smooth"),
        (
            boxed(["u"], ["u_t = u_xx + x*u**2*u_t"], ["u(x, 0) = 1"], {"x": ("-1", "1")}, 1),
            "constant coefficients",
        ),
        (sn.library.named("nh-heat"), "not periodic"),
    ],
)
def test_what_is_not_smooth_or_not_mirrored_is_left_to_others(problem, why):
    assert why in Fourier().obstacle(problem)


def test_a_front_that_becomes_a_jump_is_given_up_and_is_for_finite_volumes():
    problem = boxed(["u"], ["u_t + u*u_x = 0"], ["u(x, 0) = sin(2*pi*x)"], {"x": ("0", "1")}, 1, order=1)
    *_, last = Fourier(tolerance=1e-4).run(problem, sn.Monitor(), Budget())
    assert last.given_up
    assert last.iterations > 10
    assert last.evaluations > 20
    assert "too steep" in last.reason or "cost" in last.reason
    assert [solver.name for solver in sn.Auto().choice(problem)[0]] == ["conserve"]


def test_a_second_run_has_more_modes_at_every_time_than_the_first():
    """Both runs are refined alike, so that their difference is an error; the beginning of the first has one grid."""
    problem = boxed(["u"], ["u_t + u*u_x = u_xx/(20*pi)"], ["u(x, 0) = -sin(pi*x)"], {"x": ("-1", "1")}, 1)
    march = _March(Fourier(tolerance=1e-6), problem, sn.Monitor(), Budget())
    rough = march.explore()
    finer = march.repeat(rough, 1.5)
    places = [t for t, _ in rough.steps]
    assert rough.grids[0].modes == rough.grids[np.searchsorted(places, 1 / 8) - 1].modes
    assert rough.grids[0].modes < rough.grids[-1].modes
    for (t, _), grid in zip(finer.steps, finer.grids, strict=True):
        other = rough.grids[np.searchsorted(places, t + 1e-12) - 1]
        assert other.modes < grid.modes <= tuple(math.ceil(1.3 * m) for m in rough.grids[-1].modes)


def test_the_cost_of_a_run_is_that_of_all_its_grids(monkeypatch):
    problem = boxed(["u"], ["u_t + u*u_x = u_xx/(20*pi)"], ["u(x, 0) = -sin(pi*x)"], {"x": ("-1", "1")}, 1)
    visited = []

    class Noted(fourier.Evolution):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            visited.append(self)

    monkeypatch.setattr(fourier, "Evolution", Noted)
    march = _March(Fourier(tolerance=1e-6), problem, sn.Monitor(), Budget())
    march.explore()
    costs = [one.evaluations * (one.waves.points + fourier.OVERHEAD) for one in visited]
    assert len(costs) > 2
    assert march.cost == sum(costs) > 1.1 * costs[-1]
    assert march.evaluations == sum(one.evaluations for one in visited)


def test_the_tail_is_of_each_unknown_by_itself():
    """v is a thousandth of u and rough: its tail says nothing about u."""
    problem = boxed(
        ["u", "v"],
        ["u_t = u_xx/100 - u**3", "v_t = v_xx/100 - v**3"],
        ["u(x, 0) = cos(pi*x)", "v(x, 0) = exp(-30*(1 - cos(pi*x)))/1000"],
        {"x": ("-1", "1")},
        1 / 10,
    )
    march = _March(Fourier(tolerance=1e-4), problem, sn.Monitor(), Budget())
    u, v, both = march.repeat(march.explore(), 1.25).tail
    assert u < 1e-6 * v
    assert both == v


def test_a_mode_that_settles_within_a_usual_step_is_followed():
    """u = e^{−t} cos x + (1 − e^{−λt})/λ sin 20x, λ = 400: the second part is there after 1/400 of the time."""
    problem = boxed(["u"], ["u_t = u_xx + sin(20*x)"], ["u(x, 0) = cos(x)"], {"x": ("0", "2*pi")}, 1)
    sol = sn.solve(problem, sn.Fourier(tolerance=1e-6), monitor=sn.Monitor())
    t, x = (one.ravel() for one in np.meshgrid(np.geomspace(1e-6, 1, 200), np.linspace(0, 6, 31)))
    exact = np.exp(-t) * np.cos(x) + (1 - np.exp(-400 * t)) / 400 * np.sin(20 * x)
    assert np.abs(sol(x=x, t=t) - exact).max() < 1e-5


@pytest.mark.parametrize("end", [0.07, 1.3])
def test_a_run_ends_where_time_ends_to_the_bit(end):
    """Steps of 1.3/2^j add up to 1.2999999999999998, and what lies behind the last piece is not a number."""
    start = "u(x, 0) = sin(2*pi*x)"
    problem = boxed(["u"], ["u_t = u_xx/10 + u - u**3"], [start], {"x": ("0", "1")}, end)
    assert np.isfinite(sn.solve(problem, "fourier", monitor=sn.Monitor())(x=0.3, t=end))


def test_a_short_wave_at_the_start_is_not_taken_for_a_long_one():
    """sin 256x is zero on every grid of 2^j ≤ 512 points, and on others a long wave."""
    problem = boxed(
        ["u"], ["u_t + u_x = u_xx/10"], ["u(x, 0) = 1 + sin(256*x)/1000"], {"x": ("0", "2*pi")}, 1
    )
    solution = sn.solve(problem, "fourier", monitor=sn.Monitor())
    x = np.linspace(0, 2, 50)
    np.testing.assert_allclose(solution(x=x, t=0 * x), 1 + np.sin(256 * x) / 1000, rtol=1e-6)
