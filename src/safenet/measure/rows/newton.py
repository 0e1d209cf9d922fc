"""a ← a − J⁺ r(a): Gauss–Newton on the coefficients of a linear form; one step solves a linear problem.

Each step is a least-squares solve with the column-scaled Jacobian. Where the bases are orthogonal (sine, periodic,
Chebyshev) the normal equations are well conditioned and fastest; otherwise (the paper's harmonics are a frame, not
a basis) a regularised QR,

    min ‖J D⁻¹ y + r‖² + ε² ‖y‖²,   D = column norms,

with ε just above rounding, so that redundant functions cost no digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy

from ..relative import TINY
from ..thresholds import (
    DESCENT,
    LEAST_STEP,
    PREDICTED,
    REGULARISATION,
    SETTLED,
    WELL_CONDITIONED,
)


@runtime_checkable
class System(Protocol):
    """r(a): rows to be made zero in the least-squares sense."""

    def linearise(self, coefficients: np.ndarray) -> tuple[Any, np.ndarray]:
        """J and r; J is whatever `solve` takes."""

    def residual(self, coefficients: np.ndarray) -> np.ndarray: ...

    def solve(self, jacobian: Any, residual: np.ndarray) -> tuple[np.ndarray, float]:
        """The δ that minimises ‖J δ + r‖, and the minimum."""


@dataclass
class Newton:
    """Where the iteration ended: `norm` is ‖r‖ there, `converged` whether it settled."""

    coefficients: np.ndarray
    norm: float
    iterations: int
    evaluations: int
    converged: bool
    stopped: bool = False  # it was asked to stop, and did so between two steps


def least_squares(jacobian: np.ndarray, residual: np.ndarray, orthogonal: bool) -> tuple[np.ndarray, float]:
    """The δ that minimises ‖J δ + r‖, and the minimum. J is overwritten: its columns are scaled in place."""
    scale = np.sqrt(np.einsum("ij,ij->j", jacobian, jacobian))
    scale[scale == 0] = 1.0
    jacobian /= scale
    step = _normal_equations(jacobian, residual) if orthogonal else None
    if step is None:
        step, minimum = _regularised_qr(jacobian, residual)
    else:
        minimum = float(np.linalg.norm(jacobian @ step + residual))
    return step / scale, minimum


def _normal_equations(jacobian: np.ndarray, residual: np.ndarray) -> np.ndarray | None:
    """−(JᵀJ)⁻¹ Jᵀr by Cholesky, or None where JᵀJ is too ill conditioned for it."""
    gram = jacobian.T @ jacobian
    norm = float(np.abs(gram).sum(axis=0).max())
    try:
        factor = scipy.linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    (pocon,) = scipy.linalg.get_lapack_funcs(("pocon",), (factor[0],))
    reciprocal, _ = pocon(factor[0], norm, uplo="L")
    if not reciprocal > WELL_CONDITIONED:
        return None
    step = -scipy.linalg.cho_solve(factor, jacobian.T @ residual, check_finite=False)
    # One refinement with the same factor recovers the digits that squaring the condition number lost.
    return np.asarray(
        step - scipy.linalg.cho_solve(factor, jacobian.T @ (jacobian @ step + residual), check_finite=False)
    )


def _regularised_qr(jacobian: np.ndarray, residual: np.ndarray) -> tuple[np.ndarray, float]:
    rows, columns = jacobian.shape
    augmented = np.zeros((rows + columns, columns + 1), order="F")
    augmented[:rows, :columns] = jacobian
    augmented[:rows, columns] = -residual
    augmented[rows + np.arange(columns), np.arange(columns)] = REGULARISATION * np.sqrt(columns)
    (geqrf,) = scipy.linalg.get_lapack_funcs(("geqrf",), (augmented,))
    # The last column becomes Qᵀ(−r): Q itself is never formed.
    factor, *_ = geqrf(augmented, lwork=64 * (columns + 1), overwrite_a=True)
    step = scipy.linalg.solve_triangular(
        factor[:columns, :columns], factor[:columns, columns], check_finite=False
    )
    return step, abs(float(factor[columns, columns]))


@np.errstate(all="ignore")  # values that are not finite are checked for here
def newton(
    system: System,
    coefficients: np.ndarray,
    linear: bool,
    iterations: int = 20,
    tolerance: float = 1e-9,
    report: Callable[[int, float], None] = lambda iteration, norm: None,
    stop: Callable[[], bool] = lambda: False,
) -> Newton:
    """Iterate until the step is below `tolerance` relative to the coefficients, halving steps that do not descend.

    `stop` is called after every step: if it returns true, the iteration ends.
    """
    jacobian, residual = system.linearise(coefficients)
    norm, evaluations = float(np.linalg.norm(residual)), 1
    for iteration in range(1, iterations + 1):
        step, predicted = system.solve(jacobian, residual)
        if not np.isfinite(step).all():
            return Newton(coefficients, norm, iteration, evaluations, converged=False)
        if linear:
            return Newton(coefficients + step, predicted, iteration, evaluations, converged=True)
        length = 1.0
        while True:
            trial = coefficients + length * step
            trial_norm = float(np.linalg.norm(system.residual(trial)))
            evaluations += 1
            # A least-squares residual need not fall to zero: near the end it may stay the same, within rounding.
            if np.isfinite(trial_norm) and trial_norm <= norm * (1 + DESCENT):
                break
            length /= 2
            if length < LEAST_STEP:
                return Newton(coefficients, norm, iteration, evaluations, converged=False)
        report(iteration, trial_norm)
        size = float(np.linalg.norm(length * step)) / max(float(np.linalg.norm(trial)), TINY)
        # The residual fell as far as the linear model predicted: the next step would change nothing.
        settled = length == 1.0 and size < SETTLED and trial_norm <= PREDICTED * predicted
        coefficients, norm = trial, trial_norm
        if size < tolerance or settled:
            return Newton(coefficients, norm, iteration, evaluations, converged=True)
        if stop():
            return Newton(coefficients, norm, iteration, evaluations, converged=False, stopped=True)
        jacobian, residual = system.linearise(coefficients)
        norm = float(np.linalg.norm(residual))  # linearising weighs the rows anew
    return Newton(coefficients, norm, iterations, evaluations, converged=False)
