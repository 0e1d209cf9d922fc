"""Modes of re-entrant corners: they solve the leading part of the equations and the conditions at the corner."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.features.corner import corner_modes, stokes_exponents

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
    # A slit: 1/2. From 257.5° on a second one is below 1.
    assert [power for power, _ in stokes_exponents(2 * np.pi - 1e-9)] == pytest.approx([0.5], abs=1e-6)
    assert [power for power, _ in stokes_exponents(1.5 * np.pi)] == pytest.approx(
        [0.544484, 0.908529], abs=1e-6
    )
    assert len(stokes_exponents(1.2 * np.pi)) == 1


def test_where_nothing_is_known_there_are_none():
    assert corner_modes(sn.library.problem("wave")) is None
    fourth = L_SHAPE.replace("u_xx + u_yy + u = -1", "u_xxxx + u_yyyy = -1")
    conditions = ["u = 0 on flat", "u = 0 on steep", "u = 0 on walls"]
    assert corner_modes(sn.loads(fourth.format(conditions=conditions))) is None
