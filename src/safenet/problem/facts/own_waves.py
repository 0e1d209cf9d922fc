"""e^{iκ·x}, det M(x₀, iκ) = 0: waves that linear equations carry whatever is asked of them, as u_xx + k² u = f does.

A space that is too coarse for them finds u ≈ f/k², which a richer one of its kind confirms: neither residuals nor
differences between levels show what is missing. So every space has to resolve them, or nothing is known.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ...errors import SafeNetError
from ..evaluate import evaluate
from ..problem import Problem
from .direction import MOST_UNKNOWNS, PLACES, determinant
from .fact import fact


@fact
def own_waves(problem: Problem) -> tuple[float, ...]:
    """For each axis the largest wave number κ along it, with coefficients frozen at some places; 0 if there is none.

    For steady linear equations. A wave that decays by more than e^(−κ) while its phase turns by κ is none.
    """
    none = (0.0,) * len(problem.axes)
    few = len(problem.equations) == len(problem.unknowns) <= MOST_UNKNOWNS
    if problem.time is not None or not few or not all(equation.linear for equation in problem.equations):
        return none
    return tuple(_fastest(problem, i) for i in range(len(problem.axes)))


def _fastest(problem: Problem, i: int) -> float:
    found = 0.0
    try:
        coefficients, exponents, _ = determinant(problem, i)
        still = dict.fromkeys(exponents, 0.0)
        for place in product(PLACES, repeat=len(problem.axes)):
            lines = zip(problem.axes, place, strict=True)
            at = {axis.symbol: axis.lo + share * axis.length for axis, share in lines}
            numbers = np.array([complex(evaluate(c, at | still, np)) for c in coefficients])
            if np.isfinite(numbers).all() and numbers.any():
                roots = np.roots(numbers / np.abs(numbers).max())
                found = max(found, *np.abs(roots.imag[np.abs(roots.real) < np.abs(roots.imag)]), 0.0)
    except (SafeNetError, TypeError, ValueError, np.linalg.LinAlgError):
        pass  # nothing is known
    return float(found)
