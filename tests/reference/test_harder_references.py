"""The references of the harder suite, each against a second method that shares no formula with it."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from etdrk4 import etdrk4
from numpy.polynomial.legendre import leggauss
from scipy.fft import idst

import safenet as sn
from safenet.library import with_library_reference
from safenet.reference import burgers_two, heat_bump, wave_hard
from safenet.reference.cole_hopf import TWO_MODES, cole_hopf
from safenet.reference.d_alembert import lopsided
from safenet.reference.heat_images import bump

NU = 0.01 / np.pi
KAPPA, WIDTH = 0.05, 0.05
NUMERICAL = ("wave-hard", "heat-bump", "burgers-two")


def relative_l2(u, v):
    return float(np.linalg.norm(u - v) / np.linalg.norm(v))


def sine_coefficients(profile, modes):
    """b_k = 2∫₀¹ u₀ sin kπx dx, k = 1, …, modes, by Gauss–Legendre, which integrates sin kπx exactly for k ≤ nodes."""
    nodes, weights = leggauss(modes + 200)
    x, w = (nodes + 1) / 2, weights / 2
    k = np.arange(1, modes + 1)
    return 2 * np.sin(np.pi * np.multiply.outer(k, x)) @ (w * profile(x))


def sine_series(b, x, t, factor):
    """Σ b_k factor(kπ, t) sin kπx on the grid x × t."""
    k_pi = np.pi * np.arange(1, len(b) + 1)
    return np.sin(np.multiply.outer(x, k_pi)) @ (b[:, None] * factor(k_pi[:, None], t))


# ---- every one of them


@pytest.mark.parametrize("name", NUMERICAL)
def test_the_reference_has_the_initial_and_the_boundary_values_of_the_statement(name):
    problem = sn.library.problem(name)
    reference, space = problem.reference, problem.axes[0]
    x, t = np.linspace(space.lo, space.hi, 201), np.linspace(0, 1, 51)
    start = {
        "wave-hard": x * (1 - x) * np.exp(np.sin(3 * x)),
        "heat-bump": np.exp(-200 * (x - 0.4) ** 2),
        "burgers-two": -np.sin(np.pi * x) + np.sin(2 * np.pi * x) / 2,
    }[name]
    np.testing.assert_allclose(reference(x=x, t=0.0), start, atol=1e-15)
    # As the limit, too: 1e-9 later nothing has moved by more than 1e-6.
    np.testing.assert_allclose(reference(x=x, t=1e-9), start, atol=1e-6)
    for end in (space.lo, space.hi):
        # The bump itself is 1.3e-14 at its nearer end.
        np.testing.assert_allclose(reference(x=end, t=t), 0, atol=2e-14)
    assert 0 < problem.reference_accuracy <= 1e-11


@pytest.mark.parametrize("name", NUMERICAL)
def test_the_reference_satisfies_the_equation(name):
    """By central differences, whose error falls fourfold when the step is halved."""
    reference = sn.library.problem(name).reference
    # Off the characteristics x ± 2t ∈ ℤ of the wave, off the fronts of Burgers.
    x, t = {
        "wave-hard": (np.array([0.13, 0.33, 0.52]), np.array([[0.1], [0.3], [0.7]])),
        "heat-bump": (np.array([0.2, 0.45, 0.8]), np.array([[0.1], [0.3], [0.7]])),
        "burgers-two": (np.array([-0.7, 0.5, 0.85]), np.array([[0.1], [0.3], [0.7]])),
    }[name]

    def residual(h):
        u, right, left = (reference(x=x + s, t=t) for s in (0, h, -h))
        later, sooner = reference(x=x, t=t + h), reference(x=x, t=t - h)
        u_t, u_tt = (later - sooner) / (2 * h), (later - 2 * u + sooner) / h**2
        u_x, u_xx = (right - left) / (2 * h), (right - 2 * u + left) / h**2
        terms = {
            "wave-hard": (u_tt, -4 * u_xx),
            "heat-bump": (u_t, -KAPPA * u_xx),
            "burgers-two": (u_t, u * u_x, -NU * u_xx),
        }[name]
        return np.abs(sum(terms)).max() / np.abs(terms[0]).max()

    assert residual(1e-3) < 2e-3
    assert residual(2e-3) / residual(1e-3) == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize(
    ("name", "other", "changed"),
    [
        ("wave-hard", {"c": 0.5}, {"c": 3}),
        ("heat-bump", {"kappa": 0.2, "width": 0.1}, {"width": 0.2}),
        ("burgers-two", {"nu": 0.1}, {"nu": 1}),
    ],
)
def test_the_reference_follows_the_parameters_into_a_file_and_back(name, other, changed):
    original, stated = sn.library.problem(name), sn.library.problem(name, **other)
    again = with_library_reference(sn.loads(sn.dumps(stated)))
    axis = stated.axes[0]
    points = {"x": np.linspace(axis.lo, axis.hi, 9), "t": 0.3}
    np.testing.assert_array_equal(again.reference(**points), stated.reference(**points))
    assert np.abs(stated.reference(**points) - original.reference(**points)).max() > 1e-2
    # Parameters changed by another road than the library's leave no reference behind.
    assert not stated.with_parameters(**changed).has_reference
    # Neither does a statement that only shares the name.
    foreign = sn.loads(sn.dumps(stated).replace("t = [0, 1]", "t = [0, 2]"))
    assert not with_library_reference(foreign).has_reference


@pytest.mark.parametrize(("name", "other"), [("heat-bump", {"kappa": 0}), ("heat-bump", {"kappa": -1}),
                                             ("burgers-two", {"nu": 0}), ("burgers-two", {"nu": -1})])  # fmt: skip
def test_parameters_that_no_formula_covers_have_no_reference(name, other):
    assert not sn.library.problem(name, **other).has_reference


# ---- the string


@pytest.mark.parametrize("c", [2.0, -2.0, 0.3])
def test_the_string_is_its_sine_series_up_to_a_tail_of_order_five_halves(c):
    # b_k ≈ 2·8.54/(kπ)³ for odd k and next to nothing for even: what lies above K has the mean square
    # ½·½·Σ b_k² (over x and over t) = (0.087 K^{−5/2})².
    # The tail lives within 1/K of the characteristics: the points are denser than that, and the times in no ratio.
    x, t = (np.arange(4000) + 0.5) / 4000, np.sqrt([0.001, 0.03, 0.2, 0.5, 0.9])
    exact = wave_hard(c)(x=x[:, None], t=t)
    b = sine_coefficients(lopsided, 1000)

    def tail(modes):
        series = sine_series(b[:modes], x, t, lambda w, s: np.cos(c * w * s))
        return np.sqrt(np.mean((series - exact) ** 2))

    coarse, fine = tail(250), tail(1000)
    assert fine == pytest.approx(0.087 * 1000**-2.5, rel=0.1)
    assert coarse / fine == pytest.approx(32, rel=0.1)


@pytest.mark.parametrize("c", [2.0, 100.0])
def test_the_string_is_exact_up_to_rounding(c):
    reference = wave_hard(c)
    x, t = np.linspace(0, 1, 23), np.linspace(0, 1, 19)

    def profile(y):
        # In 30 digits, and continued by reflections instead of by rounding to a period.
        y, sign = y % 2, 1
        if y > 1:
            y, sign = 2 - y, -1
        return sign * y * (1 - y) * mpmath.exp(mpmath.sin(3 * y))

    with mpmath.workdps(30):
        exact = np.array(
            [
                [float((profile(mpmath.mpf(a) + c * mpmath.mpf(s)) + profile(mpmath.mpf(a) - c * mpmath.mpf(s))) / 2)
                 for s in t] for a in x
            ]
        )  # fmt: skip
    assert relative_l2(reference(x=x[:, None], t=t), exact) < reference.accuracy


def test_second_derivatives_of_the_string_jump_where_the_problem_file_says():
    """By half of ũ₀'' jumping from −4 to 4 across x = 2t, and likewise with 4.54 across x = 1 − 2t."""
    reference, t, h = wave_hard(2.0), 0.1, 1e-4

    def u_xx(x):
        return (reference(x=x + h, t=t) - 2 * reference(x=x, t=t) + reference(x=x - h, t=t)) / h**2

    def slope(x):
        return (reference(x=x + h, t=t) - reference(x=x - h, t=t)) / (2 * h)

    for characteristic, jump in ((0.2, 4.0), (0.8, -np.exp(np.sin(3)) * (-2 - 6 * np.cos(3)))):
        right, left = characteristic + 2 * h, characteristic - 2 * h
        assert u_xx(right) - u_xx(left) == pytest.approx(jump, abs=0.02)
        assert slope(right) - slope(left) == pytest.approx(0, abs=0.01)
    assert u_xx(0.5 + 2 * h) - u_xx(0.5 - 2 * h) == pytest.approx(0, abs=0.02)


# ---- heat


@pytest.mark.parametrize(
    ("kappa", "width", "first"),
    # The first: the library's. Bumps as wide as the box are cut off by the ends, where the error functions matter.
    # Large diffusivities need many images, and are over soon.
    [(KAPPA, WIDTH, 0.002), (KAPPA, 0.5, 0.02), (0.05, 20.0, 0.02), (1.0, 0.2, 0.001), (30.0, 0.05, 0.0001)],
)
def test_images_and_sine_series_are_the_same(kappa, width, first):
    # At the first time the modes above 600 have decayed by e^{−(600π)²κt} < e^{−350}.
    x, t = np.linspace(0, 1, 41), np.concatenate([[first, 2 * first], np.linspace(0.05, 1, 20)])
    b = sine_coefficients(lambda y: np.exp(-((y - 0.4) ** 2) / (2 * width**2)), 600)
    series = sine_series(b, x, t, lambda w, s: np.exp(-kappa * w**2 * s))
    reference = heat_bump(kappa, width)
    images = reference(x=x[:, None], t=t)
    assert relative_l2(images, series) < reference.accuracy / 10
    assert np.abs(images - series).max() < 1e-13


def test_narrow_bumps_at_early_times_are_those_of_the_whole_line():
    # At κt = 1e-6 the ends are 280 diffusion lengths away.
    x, t, w = np.linspace(0.1, 0.9, 81), 2e-5, 0.01
    free = w / np.sqrt(w**2 + 2 * KAPPA * t) * np.exp(-((x - 0.4) ** 2) / (2 * (w**2 + 2 * KAPPA * t)))
    np.testing.assert_allclose(heat_bump(KAPPA, w)(x=x, t=t), free, atol=1e-15)


def test_heat_by_finite_differences_converges_to_the_images_at_second_order():
    """Crank–Nicolson: no Gaussian, no image and no mode enters it."""

    def implicit(n):
        x, steps = np.linspace(0, 1, n + 1), n
        u = bump(x, WIDTH)[1:-1]
        ratio = KAPPA / steps * n**2
        matrix = np.diag(np.full(n - 1, -2.0)) + np.diag(np.ones(n - 2), 1) + np.diag(np.ones(n - 2), -1)
        forward = np.linalg.solve(np.eye(n - 1) - ratio / 2 * matrix, np.eye(n - 1) + ratio / 2 * matrix)
        exact = heat_bump(KAPPA, WIDTH)(x=x[1:-1], t=1.0)
        return np.abs(np.linalg.matrix_power(forward, steps) @ u - exact).max()

    coarse, fine = implicit(100), implicit(200)
    assert fine < 1e-5
    assert coarse / fine == pytest.approx(4, rel=0.1)


@pytest.mark.parametrize(
    ("t", "kappa", "sentence"), [(-0.1, KAPPA, "backwards"), (0.5, 0.0, "kappa must be > 0")]
)
def test_heat_does_not_run_backwards(t, kappa, sentence):
    with pytest.raises(ValueError, match=sentence):
        heat_bump(kappa, WIDTH)(x=0.5, t=t)


# ---- Burgers from two modes


def textbook(x, t, nu):
    """∫ (x − y)/t e^{−H} dy / ∫ e^{−H} dy in 40 digits: not the average that the code takes."""
    with mpmath.workdps(40):
        x, t, nu = mpmath.mpf(x), mpmath.mpf(t), mpmath.mpf(nu)

        def exponent(y):
            antiderivative = mpmath.cos(mpmath.pi * y) - mpmath.cos(2 * mpmath.pi * y) / 4
            return antiderivative / (2 * mpmath.pi * nu) + (x - y) ** 2 / (4 * nu * t)

        reach = mpmath.mpf("1.3") * t + 20 * mpmath.sqrt(nu * t)
        panels = mpmath.linspace(x - reach, x + reach, 41)
        lowest = min(map(exponent, mpmath.linspace(x - reach, x + reach, 401)))
        weight = mpmath.memoize(lambda y: mpmath.exp(lowest - exponent(y)))
        return float(mpmath.quad(lambda y: (x - y) / t * weight(y), panels) / mpmath.quad(weight, panels))


# Before, at and after the two fronts meet at x = 0 near t = 0.6, inside them and beside.
@pytest.mark.parametrize(
    ("x", "t"), [(0.3, 0.01), (0.2, 0.3), (0.068, 0.5), (-0.01, 0.6), (1e-4, 1.0), (0.9, 1.0)]
)
def test_two_modes_agree_with_forty_digit_quadrature(x, t):
    assert abs(burgers_two(NU)(x=x, t=t) - textbook(x, t, NU)) < 1e-12


@pytest.mark.parametrize("nu", [NU, 0.1, 1.0])
def test_halving_the_quadrature_step_of_two_modes_changes_nothing(nu):
    x, t = np.linspace(-1, 1, 65)[:, None], np.linspace(0, 1, 26)
    assert relative_l2(cole_hopf(x, t, nu, TWO_MODES), cole_hopf(x, t, nu, TWO_MODES, refinement=3.0)) < 1e-13


@pytest.mark.parametrize(("nu", "end"), [(0.02, 1.0), (NU, 0.2)])
def test_two_modes_agree_with_a_spectral_solver(nu, end):
    """b_k' = −ν(kπ)² b_k − (u u_x)_k on sines, ETDRK4: until the fronts at the library's viscosity, beyond at more."""
    modes = 512
    k_pi = np.pi * np.arange(1, modes)
    points = 2 * modes  # u² has modes up to 2·modes: those kept are free of aliasing

    def steepening(b):
        # u u_x = ½ (u²)_x; u² is even, so that the cosines of u² give the sines of its derivative.
        u = idst(np.pad(b, (0, points - modes)), type=1, norm="forward") / 2
        square = np.concatenate([[0.0], u**2, [0.0]])
        cosines = np.fft.rfft(np.concatenate([square, square[-2:0:-1]])).real[1:modes] / points
        return k_pi * cosines / 2

    start = np.zeros(modes - 1)
    start[:2] = -1.0, 0.5
    b = etdrk4(-nu * k_pi**2, steepening, start, np.array([0.0, end]), 2.5e-4)[-1]
    x = np.linspace(-1, 1, 101)
    u = np.sin(np.multiply.outer(x, k_pi)) @ b
    assert np.abs(b[-50:]).max() < 1e-11  # resolved, or the comparison would be with noise
    assert relative_l2(burgers_two(nu)(x=x, t=end), u) < 1e-9


def test_two_modes_stay_odd():
    x, t = np.linspace(-1, 1, 65)[:, None], np.linspace(0, 1, 26)
    u = burgers_two(NU)(x=x, t=t)
    np.testing.assert_allclose(u, -u[::-1], atol=1e-13)
    assert np.abs(u).max() > 1.2
