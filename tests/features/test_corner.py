"""Modes of re-entrant corners: they solve the leading part of the equations and the conditions at the corner."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.features.corner import _stokes, corner_modes, stokes_exponents

L_SHAPE = """
unknowns = ["u"]
equations = ["u_xx + u_yy + u = -1"]
conditions = {conditions}
[domain]
x = [-1, 1]
y = [-1, 1]
remove = [{{ box = {{ x = [0, 1], y = [-1, 0] }} }}]
[pieces]
flat = "y = 0"
steep = "x = 0"
walls = "rest"
"""
VALUE, SLOPE = "u = 0 on {}", "n_x*u_x + n_y*u_y = 0 on {}"
FLAT, STEEP = (0.3, 0.0), (0.0, -0.3)  # points of the two sides that meet at the corner, 0


def l_shape(flat, steep):
    conditions = [flat.format("flat"), steep.format("steep"), "u = 0 on walls"]
    return sn.loads(L_SHAPE.format(conditions=conditions))


@pytest.mark.parametrize(
    ("flat", "steep", "powers"),
    [
        (VALUE, VALUE, [2 / 3, 4 / 3]),
        (SLOPE, SLOPE, [2 / 3, 4 / 3]),
        (VALUE, SLOPE, [1 / 3, 5 / 3]),
        (SLOPE, VALUE, [1 / 3, 5 / 3]),
    ],
)
def test_modes_are_harmonic_and_fit_both_sides(flat, steep, powers):
    modes = corner_modes(l_shape(flat, steep))
    slope, second = jax.jacfwd(modes), jax.jacfwd(jax.jacfwd(modes))
    assert [waves[0][1] for waves in modes.waves] == pytest.approx(powers)
    for point in ((0.3, 0.4), (-0.5, 0.1), (-0.2, -0.6)):
        np.testing.assert_allclose(np.trace(second(jnp.array(point)), axis1=1, axis2=2), 0, atol=1e-13)
    for point, axis, kind in ((FLAT, 1, flat), (STEEP, 0, steep)):
        at = jnp.array(point)
        given = modes(at) if kind == VALUE else slope(at)[:, axis]
        np.testing.assert_allclose(given, 0, atol=1e-13)
        assert np.abs(modes(at) if kind == SLOPE else slope(at)[:, axis]).min() > 0.1  # and not both


def test_modes_of_a_flow_are_those_of_stokes():
    problem = sn.library.problem("backstep")
    modes = corner_modes(problem)
    assert modes.size == 2 * 3  # λ = 0.544 and 0.909, for u, v and p
    for point in ((2.3, 0.7), (1.5, 0.8), (2.2, 1.6)):
        at = jnp.array(point)
        slope, second = (np.asarray(d(at)) for d in (jax.jacfwd(modes), jax.jacfwd(jax.jacfwd(modes))))
        for u, v, p in ((0, 1, 2), (3, 4, 5)):
            assert slope[u, 0] + slope[v, 1] == pytest.approx(0, abs=1e-14)
            for axis, velocity in enumerate((u, v)):
                viscous = np.trace(second[velocity]) / 100
                assert abs(viscous) > 1e-5
                assert viscous == pytest.approx(slope[p, axis], abs=1e-14)
    for wall in ((1.4, 1.0), (2.0, 1.7)):
        velocities = modes(jnp.array(wall)).reshape(2, 3)[:, :2]
        np.testing.assert_allclose(velocities, 0, atol=1e-12)


def test_exponents_of_moffatt_and_dean():
    # A slit: 1/2, twice. From 257.5° on a second one is below 1.
    for slit in (2 * np.pi, 2 * np.pi - 1e-9):
        assert stokes_exponents(slit) == [(pytest.approx(0.5, abs=1e-6), odd) for odd in (False, True)]
    assert [power for power, _ in stokes_exponents(1.5 * np.pi)] == pytest.approx(
        [0.544484, 0.908529], abs=1e-6
    )
    assert len(stokes_exponents(1.2 * np.pi)) == 1


def test_stokes_modes_stick_to_both_sides_at_any_angle():
    for angle in (1.2 * np.pi, 1.5 * np.pi, 1.9 * np.pi, 2 * np.pi):
        for power, odd in stokes_exponents(angle):
            for waves in _stokes(angle, power, odd)[:2]:
                for alpha in (-angle / 2, angle / 2):
                    assert abs(sum(c * np.cos(m * alpha + s) for c, _, m, s in waves)) < 1e-12


BOX = """
unknowns = ["u"]
equations = ["u_xx + u_yy = -1"]
conditions = ["u = 0 on walls"]
[domain]
x = [-1, 1]
y = [-1, 1]
remove = [{{ box = {{ x = {x}, y = {y} }} }}]
[pieces]
walls = "rest"
"""


@pytest.mark.parametrize(("x", "y"), [("[-0.2, 0.2]", "[-0.2, 0.2]"), ("[-0.1, 0.1]", "[-1, 0]")])
def test_modes_do_not_jump_where_their_angle_does(x, y):
    """Behind a hole or a fin, where the cut of the angle is inside the domain."""
    problem = sn.loads(BOX.format(x=x, y=y))
    modes = corner_modes(problem)
    assert modes is not None
    inside = 0
    for own in modes.parts:
        back = np.array([np.cos(own.bisector), np.sin(own.bisector)])
        for r in np.linspace(0.05, 2, 200):
            at = np.array(own.point) - r * back
            beside = 1e-9 * np.array([-back[1], back[0]])
            if problem.plane.contains(np.array([at]), slack=-1e-6)[0]:
                inside += 1
                np.testing.assert_allclose(
                    own(jnp.array(at + beside)), own(jnp.array(at - beside)), atol=1e-7
                )
    assert inside > 100


def test_at_the_corner_itself_derivatives_are_numbers_and_single_precision_stays():
    modes = corner_modes(l_shape(VALUE, VALUE))
    assert np.isfinite(jax.jacfwd(modes)(jnp.zeros(2))).all()
    assert modes(jnp.ones(2, jnp.float32)).dtype == jnp.float32


def test_a_polygon_that_stands_for_a_curve_has_none_and_a_change_of_condition_has_its_own():
    turns = np.linspace(0, 2 * np.pi, 161)[:-1]
    ring = [
        [float(0.5 * np.cos(t)), float(0.5 * np.sin(t))] for t in turns
    ]  # in one line: more than 300 dots
    many = BOX.format(x="[0, 1]", y="[0, 1]").replace(
        "box = { x = [0, 1], y = [0, 1] }", f"polygon = {{ vertices = {ring} }}"
    )
    assert corner_modes(sn.loads(many)) is None
    motz = """
unknowns = ["u"]
equations = ["u_xx + u_yy = 0"]
conditions = ["u = 0 on left", "u_y = 0 on right", "u = 1 on walls"]
domain = { x = [-1, 1], y = [0, 1] }
[pieces]
left = "y = 0 and x < 0"
right = "y = 0 and x > 0"
walls = "rest"
"""
    modes = corner_modes(sn.loads(motz))
    assert modes.point == pytest.approx((0, 0), abs=1e-12)
    assert [waves[0][1] for waves in modes.waves] == pytest.approx([0.5, 1.5])


def test_where_a_side_has_not_one_condition_for_an_unknown_there_are_none():
    problem = l_shape("n_x*u_x + n_y*u_y + u = 0 on {}", VALUE)
    assert [waves[0][1] for waves in corner_modes(problem).waves] == pytest.approx(
        [1 / 3, 5 / 3]
    )  # a slope leads
    free = sn.loads(L_SHAPE.format(conditions=["u = 0 on flat", "u = 0 on walls"]))
    assert corner_modes(free) is None


def test_where_nothing_is_known_there_are_none():
    assert corner_modes(sn.library.problem("wave")) is None
    fourth = L_SHAPE.replace("u_xx + u_yy + u = -1", "u_xxxx + u_yyyy = -1")
    conditions = ["u = 0 on flat", "u = 0 on steep", "u = 0 on walls"]
    assert corner_modes(sn.loads(fourth.format(conditions=conditions))) is None
