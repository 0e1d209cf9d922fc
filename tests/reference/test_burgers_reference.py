"""Burgers' reference against quadrature in 40 digits, a closed-form solution, and published data."""

from __future__ import annotations

from pathlib import Path

import mpmath
import numpy as np
import pytest
import scipy.io

from safenet.reference import Reference, burgers
from safenet.reference.cole_hopf import InitialVelocity, cole_hopf

NU = 0.01 / np.pi
X, T = np.linspace(-1, 1, 257)[:, None], np.linspace(0, 1, 101)


def relative_l2(u: np.ndarray, v: np.ndarray) -> float:
    return float(np.linalg.norm(u - v) / np.linalg.norm(v))


def published(name: str) -> Path:
    for folder in Path(__file__).resolve().parents:
        if (found := folder / "shared" / "reference" / name).exists():
            return found
    pytest.skip(f"{name} is not here")


def textbook(x: float, t: float, nu: float) -> float:
    """∫ (x − y)/t e^{−H} dy / ∫ e^{−H} dy in 40 digits: not the average that the code takes."""
    with mpmath.workdps(40):
        x, t, nu = mpmath.mpf(x), mpmath.mpf(t), mpmath.mpf(nu)

        def exponent(y: mpmath.mpf) -> mpmath.mpf:
            return mpmath.cos(mpmath.pi * y) / (2 * mpmath.pi * nu) + (x - y) ** 2 / (4 * nu * t)

        reach = t + 20 * mpmath.sqrt(nu * t)
        panels = mpmath.linspace(x - reach, x + reach, 41)
        # quad stops at an absolute error, so the weights are scaled to a maximum near 1.
        lowest = min(map(exponent, mpmath.linspace(x - reach, x + reach, 401)))
        weight = mpmath.memoize(lambda y: mpmath.exp(lowest - exponent(y)))
        return mpmath.quad(lambda y: (x - y) / t * weight(y), panels) / mpmath.quad(weight, panels)


@pytest.mark.parametrize("nu", [NU, 1e-3])
@pytest.mark.parametrize(
    ("x", "t"), [(-0.9, 0.01), (0.01, 0.01), (0.5, 0.3), (0.001, 0.5), (1e-5, 1.0), (0.03, 1.0)]
)
def test_cole_hopf_agrees_with_forty_digit_quadrature(x: float, t: float, nu: float) -> None:
    # max |u| = 1, and H reaches 160: thirteen digits are what double precision leaves.
    assert abs(cole_hopf(x, t, nu) - textbook(x, t, nu)) < 1e-13


@pytest.mark.parametrize("nu", [1e-3, NU, 0.1, 1.0])
def test_halving_the_quadrature_step_changes_nothing_and_a_coarse_step_does(nu: float) -> None:
    x, t = X[::4], T[::4]
    fine = cole_hopf(x, t, nu, refinement=3.0)
    assert relative_l2(cole_hopf(x, t, nu), fine) < 1e-13
    assert relative_l2(cole_hopf(x, t, nu, refinement=0.25), fine) > 1e-11


def test_burgers_agrees_with_the_published_solution_within_its_stated_accuracy() -> None:
    data = scipy.io.loadmat(published("raissi_burgers_shock.mat"))
    reference = burgers(NU)
    u = reference(x=data["x"].reshape(-1, 1), t=data["t"].reshape(1, -1))
    assert relative_l2(u, data["usol"]) <= reference.accuracy


@pytest.mark.parametrize("nu", [0.003, 0.1])
def test_another_initial_velocity_reproduces_its_closed_form(nu: float) -> None:
    # φ = 2 + cos(πx) e^{−νπ²t} solves the heat equation, so u = −2ν φ_x/φ solves Burgers' equation.
    initial = InitialVelocity(
        velocity=lambda y: 2 * nu * np.pi * np.sin(np.pi * y) / (2 + np.cos(np.pi * y)),
        antiderivative=lambda y: -2 * nu * np.log(2 + np.cos(np.pi * y)),
        speed=2 * nu * np.pi / np.sqrt(3),
        slope=2 * nu * np.pi**2,
    )
    decay = np.exp(-nu * np.pi**2 * T)
    exact = 2 * nu * np.pi * np.sin(np.pi * X) * decay / (2 + np.cos(np.pi * X) * decay)
    assert relative_l2(cole_hopf(X, T, nu, initial), exact) < 1e-13


def test_the_initial_condition_is_exact_and_approached_without_underflow() -> None:
    x = X.ravel()
    np.testing.assert_array_equal(cole_hopf(x, 0.0, NU), -np.sin(np.pi * x))
    np.testing.assert_allclose(cole_hopf(x, 1e-300, NU), -np.sin(np.pi * x), atol=1e-14)


def test_the_solution_is_odd_and_vanishes_at_the_walls() -> None:
    u = cole_hopf(X, T, NU)
    np.testing.assert_allclose(u, -u[::-1], atol=1e-13)
    np.testing.assert_allclose(u[[0, -1]], 0.0, atol=1e-13)


def test_values_do_not_depend_on_the_block_a_point_falls_into() -> None:
    generator = np.random.default_rng(0)
    x, t = generator.uniform(-1, 1, 20_000), generator.uniform(0, 1, 20_000)
    u = cole_hopf(x, t, NU)
    for i in (0, 7_777, 19_999):
        assert abs(u[i] - cole_hopf(x[i], t[i], NU)) < 1e-13


@pytest.mark.parametrize(
    ("t", "nu", "sentence"), [(-0.1, NU, "backwards"), (np.nan, NU, "t must"), (0.5, 0.0, "nu > 0")]
)
def test_meaningless_arguments_are_refused_in_a_sentence(t: float, nu: float, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        cole_hopf(0.0, t, nu)


def test_a_reference_broadcasts_its_named_coordinates_in_double_precision() -> None:
    reference = Reference(evaluate=lambda x, t: x - 10 * t, accuracy=0.0, origin="arithmetic")
    u = reference(t=np.arange(3, dtype=np.float32), x=[[1], [2]])
    np.testing.assert_array_equal(u, [[1, -9, -19], [2, -8, -18]])
    assert u.dtype == np.float64
