"""v(x) = [1, cos ωx, sin ωx, …, cos mωx, sin mωx] for every axis of space, ω = 2π/P: the embedding of RBA-PINN.

P is the axis' length where the symbols say that the solution is periodic: then the network is, too, exactly.
Elsewhere P is twice the length, so that the series can be any function on the axis. Time is a plain coordinate.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..problem import Problem
from ..problem.structure import axis_kinds
from .base import Features, box, unit


class Series(Features):
    """`modes` m for each axis; `periods` P/length: 1 periodic, 2 not, 0 the coordinate in [−1, 1] itself."""

    modes: int = eqx.field(static=True)
    periods: tuple[int, ...] = eqx.field(static=True)
    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        return sum(1 + 2 * self.modes if period else 1 for period in self.periods)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        s = unit(point, self.lower, self.upper)
        return jnp.concatenate(
            [self._waves(s[i] / p) if p else 2 * s[i, None] - 1 for i, p in enumerate(self.periods)]
        )

    def _waves(self, s: Float[Array, ""]) -> Float[Array, " waves"]:
        """[1, cos 2πs, sin 2πs, …]; whole periods are taken off first, so that both faces give the same bits."""
        k = jnp.arange(1, self.modes + 1, dtype=s.dtype)
        phase = 2 * math.pi * k * (s - jnp.round(s))
        waves = jnp.stack([jnp.cos(phase), jnp.sin(phase)], axis=1).ravel()
        return jnp.concatenate([jnp.ones(1, s.dtype), waves])


def series(problem: Problem, modes: int) -> Series:
    """Periods as the symbols allow: hard periodicity only where enough derivatives are declared periodic."""
    kinds = axis_kinds(problem).values()
    periods = tuple(
        0 if axis.is_time else 1 if all(kind[i] == "periodic" for kind in kinds) else 2
        for i, axis in enumerate(problem.axes)
    )
    return Series(modes, periods, *box(problem))
