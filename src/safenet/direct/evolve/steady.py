"""R(y) = 0 by Newton's method; where that fails, along R_s = s R + (1 − s)(R(y₀) + R′(y₀)(y − y₀)), s from 0 to 1.

y₀ is the state at rest. For a flow, R_0 is the Stokes problem and s the share of the convective terms: the Reynolds
number relative to the requested one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    def of(assembly: Assembly) -> Blend:
        origin = assembly.with_sides(0.0, assembly.start(0.0))
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


def steady(
    assembly: Assembly, guess: np.ndarray | None, show: Callable[[str], None], over: Callable[[], bool]
) -> np.ndarray | None:
    """The steady state near a guess, or the one reached from rest; None if none is found."""
    blend = Blend.of(assembly)
    start = blend.origin if guess is None else guess
    if (found := _newton(blend, start, 1.0, show, over)) is not None:
        return found
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
