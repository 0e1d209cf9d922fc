"""R(y) = 0 by Newton's method; where that fails, along R_s = s R + (1 − s)(R(y₀) + R′(y₀)(y − y₀)), s from 0 to 1.

For a flow y₀ is the state at rest: R_0 is the Stokes problem, and s the share of the convective terms, the Reynolds
number relative to the requested one. Other problems start from their conditions, extended into the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..thresholds import NEWTON_LEAST, NEWTON_MOST, NEWTON_SETTLED, NEWTON_SHARE
from .assembly import Assembly


@dataclass(frozen=True)
class Blend:
    """R_s and its Jacobian."""

    assembly: Assembly
    origin: np.ndarray
    still: np.ndarray
    slopes: Any

    @staticmethod
    def of(assembly: Assembly, origin: np.ndarray) -> Blend:
        return Blend(assembly, origin, assembly.residual(0.0, origin), assembly.jacobian(0.0, origin))

    def residual(self, y: np.ndarray, s: float) -> np.ndarray:
        own = self.assembly.residual(0.0, y) if s else 0.0
        if s == 1.0:
            return np.asarray(own)
        return np.asarray(s * own + (1 - s) * (self.still + self.slopes @ (y - self.origin)))

    def jacobian(self, y: np.ndarray, s: float) -> Any:
        if not s:
            return self.slopes
        own = self.assembly.jacobian(0.0, y)
        return own if s == 1.0 else s * own + (1 - s) * self.slopes


@np.errstate(all="ignore")  # values that are not finite are checked for in Newton's method
def steady(
    assembly: Assembly, guess: np.ndarray | None, show: Callable[[str], None], over: Callable[[], bool]
) -> np.ndarray | None:
    """The steady state near a guess, or the one reached from the first origin from which one is; None if none is."""
    for origin in _origins(assembly):
        blend = Blend.of(assembly, origin)
        if (found := _newton(blend, origin if guess is None else guess, 1.0, show, over)) is not None:
            return found
        if (found := _followed(blend, show, over)) is not None:
            return found
    return None


def _origins(assembly: Assembly) -> Iterator[np.ndarray]:
    """Rest for a flow; else the values on the sides, extended into the domain, and rest if that fails."""
    rest = assembly.with_sides(0.0, assembly.start(0.0))
    if not assembly.constant and not any(map(assembly.weak.linear_field, assembly.names)):
        yield _extended(assembly, rest)
    yield rest


def _extended(assembly: Assembly, y: np.ndarray) -> np.ndarray:
    """min ∫ |∇u|² with the given values of y; zero where no value of an unknown is given."""
    y = y.copy()
    for name in assembly.names:
        part, few = assembly.part(name), assembly.few[name]
        slopes = [assembly.B[few, order] for order in assembly.tests[1:]]
        stiffness = sum(B.T @ scipy.sparse.diags_array(assembly.w) @ B for B in slopes).tocsr()
        taken, own = assembly.taken[part], y[part]
        if taken.any():
            free = stiffness[~taken]
            own[~taken] = scipy.sparse.linalg.spsolve(free[:, ~taken].tocsc(), -(free[:, taken] @ own[taken]))
    return y


def _followed(blend: Blend, show: Callable[[str], None], over: Callable[[], bool]) -> np.ndarray | None:
    """The steady state along R_s."""
    y, s, step = _newton(blend, blend.origin, 0.0, show, over), 0.0, NEWTON_SHARE
    while y is not None and s < 1.0 and step > NEWTON_LEAST and not over():
        following = min(1.0, s + step)
        after = _newton(blend, y, following, show, over)
        if after is None:
            step /= 4
        else:
            y, s, step = after, following, 2 * step
    return y if s == 1.0 else None


def _newton(
    blend: Blend, y: np.ndarray, s: float, show: Callable[[str], None], over: Callable[[], bool]
) -> np.ndarray | None:
    """Newton's method; steps are halved until they lower the residual."""
    residual = blend.residual(y, s)
    for step in range(NEWTON_MOST):
        show(f"step {step + 1}" if s == 1.0 else f"{s:.0%} of the nonlinear terms, step {step + 1}")
        if over() or (factor := blend.assembly.factored(-blend.jacobian(y, s))) is None:
            return None
        change, share = factor.solve(residual), 1.0
        while True:
            after = blend.residual(y + share * change, s)
            # The first step may start at rest, where convective terms vanish, and raise the residual.
            if step == 0 or np.linalg.norm(after) < np.linalg.norm(residual) or share < NEWTON_LEAST:
                break
            share /= 2
        if not np.isfinite(after).all() or share < NEWTON_LEAST:
            return None
        y, residual = y + share * change, after
        if np.linalg.norm(share * change) < NEWTON_SETTLED * np.linalg.norm(y):
            return y
    return None
