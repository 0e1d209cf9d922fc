"""The Allen–Cahn reference against another solver, finer solutions, the heat series, and published data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.io
from allen_cahn_solver import decay_rates, initial_coefficients, refinement_study, solve, values
from etdrk4 import etdrk4
from scipy.integrate import quad, solve_ivp

from safenet.reference import allen_cahn
from safenet.reference.allen_cahn_series import heat_flow

# Distances to the seam from 1e-7 to 1, and the seam.
TOWARDS_THE_SEAM = np.append(1 - np.logspace(-7, 0, 150), 1.0)


def relative_l2(u: np.ndarray, v: np.ndarray) -> float:
    return float(np.linalg.norm(u - v) / np.linalg.norm(v))


def published(name: str) -> Path:
    for folder in Path(__file__).resolve().parents:
        if (found := folder / "shared" / "reference" / name).exists():
            return found
    pytest.skip(f"{name} is not here")


def runge_kutta_fourier(times: np.ndarray) -> np.ndarray:
    """u at 2048 points of [−1, 1): full Fourier collocation, Dormand–Prince of order 8, nothing shared."""
    n, fine = 2048, 2**20
    # A fine sampling, cut to n points in Fourier space, keeps the kink's aliasing near 1e-12 per mode.
    x = np.arange(fine) / fine * 2 - 1
    start = np.fft.rfft(x**2 * np.cos(np.pi * x))[: n // 2 + 1] * (n / fine)
    start[-1] = 0.0
    laplacian = -((np.pi * np.arange(n // 2 + 1)) ** 2)

    def rhs(_: float, u: np.ndarray) -> np.ndarray:
        return 1e-4 * np.fft.irfft(laplacian * np.fft.rfft(u)) + 5 * u - 5 * u**3

    u, rows = np.fft.irfft(start), []
    # One run per interval: the dense output between steps is far less accurate than the steps.
    for span in zip(np.append(0.0, times[:-1]), times, strict=True):
        u = solve_ivp(rhs, span, u, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
        rows.append(u)
    return np.stack(rows)


def test_the_reference_agrees_with_an_independent_solver_within_its_stated_accuracy() -> None:
    x, t = np.arange(2048) / 1024 - 1, np.array([0.05, 0.1, 0.3, 0.6, 1.0])
    reference = allen_cahn()
    assert relative_l2(reference(x=x, t=t[:, None]), runge_kutta_fourier(t)) <= reference.accuracy


@pytest.mark.slow  # the data do not change by themselves
def test_refinement_moves_the_solution_by_less_than_the_stated_accuracy() -> None:
    # Half the modes and twice the step of the shipped solution, so its own margin is wider still.
    for what, moved in refinement_study(modes=1024, step=1e-3, rows=20).items():
        assert moved.relative_l2 < allen_cahn().accuracy, what
        assert moved.maximum < 1e-9, what


@pytest.mark.parametrize(
    ("modes", "times"), [(2**15, [0.0, 1e-5, 1e-4, 3e-4]), (2**13, [0.0, 1e-3, 2e-3, 6e-3, 0.02])]
)
def test_the_reference_is_right_to_1e_9_at_the_kink_in_the_first_instants(
    modes: int, times: list[float]
) -> None:
    t = np.array(times)
    fresh = values(solve(t, modes, step=5e-5), TOWARDS_THE_SEAM)
    u = allen_cahn()(x=TOWARDS_THE_SEAM, t=t[1:, None])
    assert np.max(np.abs(u - fresh[1:])) < 1e-9


def test_etdrk4_converges_with_order_four_on_allen_cahn() -> None:
    t = np.array([0.0, 1.0])
    exact = solve(t, 64, 1 / 1024)[-1]
    errors = [np.linalg.norm(solve(t, 64, h)[-1] - exact) for h in (1 / 32, 1 / 64, 1 / 128)]
    np.testing.assert_allclose(np.log2(errors[:-1]) - np.log2(errors[1:]), 4.0, atol=0.4)


def test_etdrk4_solves_the_logistic_equation_with_order_four() -> None:
    # u' = u − u², beside a stiff mode that starts at its equilibrium and must stay there.
    linear, initial = np.array([1.0, -1e6]), np.array([0.1, 1.0])
    exact = 1 / (1 + 9 * np.exp(-2.0))

    def nonlinear(u: np.ndarray) -> np.ndarray:
        return np.array([-(u[0] ** 2), 1e6])

    runs = [etdrk4(linear, nonlinear, initial, np.array([0.0, 2.0]), h)[-1] for h in (1 / 8, 1 / 16, 1 / 32)]
    errors = [abs(u[0] - exact) for u in runs]
    np.testing.assert_allclose(np.log2(errors[:-1]) - np.log2(errors[1:]), 4.0, atol=0.3)
    np.testing.assert_allclose([u[1] for u in runs], 1.0, rtol=1e-9)


def test_the_initial_coefficients_are_the_cosine_integrals() -> None:
    c = initial_coefficients(40)
    for k in (0, 1, 2, 3, 10, 39):
        integral, _ = quad(
            lambda x, k=k: x**2 * np.cos(np.pi * x) * np.cos(k * np.pi * x), 0, 1, epsabs=1e-13, limit=200
        )
        assert abs(c[k] - integral * (1 if k == 0 else 2)) < 1e-12


def test_the_heat_flow_in_closed_form_is_its_cosine_series() -> None:
    t, modes = np.array([1e-4, 1e-2, 1.0]), 2**15
    series = initial_coefficients(modes) * np.exp(-np.multiply.outer(t, decay_rates(modes)))
    np.testing.assert_allclose(
        heat_flow(TOWARDS_THE_SEAM, t[:, None]), values(series, TOWARDS_THE_SEAM), atol=1e-13
    )


def test_the_initial_condition_is_exact_and_approached_without_overflow() -> None:
    x = np.linspace(-1, 1, 101)
    np.testing.assert_array_equal(allen_cahn()(x=x, t=0.0), x**2 * np.cos(np.pi * x))
    np.testing.assert_allclose(allen_cahn()(x=x, t=1e-308), x**2 * np.cos(np.pi * x), atol=1e-9)


def test_the_solution_is_even_periodic_and_smooth_across_the_seam() -> None:
    reference, t, h = allen_cahn(), np.array([0.01, 0.3, 1.0]), 1e-4
    x = np.linspace(0, 1, 33)[:, None]
    np.testing.assert_allclose(reference(x=x, t=t), reference(x=-x, t=t), atol=1e-14)
    np.testing.assert_allclose(reference(x=x, t=t), reference(x=x - 2, t=t), atol=1e-12)
    # A one-sided second-order difference at the seam: 2 before the flow, 0 after.
    slope = (-3 * reference(x=1.0, t=t) + 4 * reference(x=1 - h, t=t) - reference(x=1 - 2 * h, t=t)) / (2 * h)
    np.testing.assert_allclose(slope, 0.0, atol=0.02)


@pytest.mark.parametrize("t", [-1e-9, 1.5, np.nan])
def test_times_outside_the_data_are_refused(t: float) -> None:
    with pytest.raises(ValueError, match="0 <= t <= 1"):
        allen_cahn()(x=0.0, t=t)


def test_the_reference_agrees_with_published_data_away_from_the_seam() -> None:
    # The published solution samples the kink on 512 points, which spoils it at the seam.
    data = scipy.io.loadmat(published("jaxpi_allen_cahn.mat"))
    x, t = data["x"].ravel(), data["t"].reshape(-1, 1)
    away = np.abs(x) <= 0.98
    assert relative_l2(allen_cahn()(x=x[away], t=t), data["usol"][:, away]) <= 2e-7
