"""Families of exact solutions: as many as the box has waves, real where they can be, finite however they grow."""

import numpy as np
import pytest

from safenet import library
from safenet.errors import SafeNetError
from safenet.problem import loads
from safenet.problem.facts.waves import families, forced, open_axes, shifted


def test_the_wave_equation_between_held_ends_has_one_sine_for_each_harmonic_and_direction_of_time():
    problem = library.problem("wave")
    assert open_axes(problem) == [1]
    (family,) = families(problem, [3, 0])
    assert family.factors == (("sin", "exp"),)
    np.testing.assert_allclose(
        sorted(family.exponents[:, 1].imag), 2 * np.pi * np.array([-3, -2, -1, 1, 2, 3])
    )
    assert family.standing.all()
    assert not family.real.any()


def test_a_periodic_axis_has_whole_waves_and_one_of_each_pair_of_conjugates():
    (family,) = families(library.problem("convection-50"), [3, 0])
    np.testing.assert_allclose(family.exponents[:, 0].imag, [0, 1, 2, 3], rtol=1e-15)
    np.testing.assert_allclose(family.exponents[:, 1], -50j * np.arange(4), rtol=1e-15)


def test_without_symmetry_there_is_a_family_along_each_axis():
    robin = library.problem("nh-heat")
    assert open_axes(robin) == [0, 1]
    in_space, in_time = families(robin, [2, 2])
    assert (in_space.along, in_time.along) == (0, 1)
    # iω = κ², and 1 and x at ω = 0
    np.testing.assert_allclose(in_space.exponents[:, 0] ** 2, in_space.exponents[:, 1], rtol=1e-12)
    assert in_space.coefficients.shape[2] == 2


GROWING = loads("""
unknowns = ["u"]
equations = ["u_xx + u_yy = 0"]
conditions = ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 1", "u(x, 2) = 1"]
domain = { x = [0, 1], y = [0, 2] }
""")


def test_what_grows_is_anchored_where_it_is_largest():
    (family,) = families(GROWING, [400, 0])
    s, anchor = family.exponents[:, 1], family.anchors[:, 1]
    assert s.real.max() * 2 > 2000  # e^{2000} is no float64
    for y in (0.0, 1.0, 2.0):
        assert np.all(s.real * (y - anchor) <= 0)


def test_standing_waves_of_a_system_have_real_coefficients():
    acoustics = loads("""
unknowns = ["u", "p"]
equations = ["u_t = p_xx - u", "p_t = u_xx - 3*p"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "p(0, t) = 0", "p(1, t) = 0", "u(x, 0) = 1", "p(x, 0) = 0"]
domain = { x = [0, 1], t = [0, 1] }
""")
    (family,) = families(acoustics, [4, 0])
    assert family.real.all()
    assert len(family.wave) == 8
    np.testing.assert_array_equal(family.coefficients.imag, 0)


def test_powers_are_moved_with_their_anchor():
    random = np.random.default_rng(1)
    c, kappa, by = random.normal(size=(1, 1, 3)) + 0j, np.array([0.3 - 2j]), np.array([0.7])
    moved = shifted(c, kappa, by)

    def value(c, z):
        return np.exp(kappa * z) * (c[0, 0, 0] + c[0, 0, 1] * z + c[0, 0, 2] * z**2 / 2)

    np.testing.assert_allclose(value(moved, 0.4), value(c, 1.1), rtol=1e-13)


def test_a_source_that_is_no_sum_of_exponentials_is_refused():
    bump = loads("""
unknowns = ["u"]
equations = ["u_t = u_xx + exp(-x**2)"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = 0"]
domain = { x = [0, 1], t = [0, 1] }
""")
    with pytest.raises(SafeNetError, match="not a sum of exponentials"):
        forced(bump, 1)


def test_without_a_source_there_is_nothing_to_answer():
    assert forced(library.problem("wave"), 1) is None
