"""v(x) = [1, cos ωx, sin ωx, …, cos mωx, sin mωx] for every axis of space, ω = 2π/P: the embedding of RBA-PINN.

P is the axis' length if the symbols say that the solution is periodic: the network then is periodic, too, exactly.
Otherwise P is twice the length, so that the series can be any function on the axis. Time is a plain coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..fields.derivatives import Jets, Orders, composed
from ..problem import Problem
from ..problem.facts.structure import axis_kinds
from .base import Features, box, stacked, straight, unit
from .sincos import sin_cos


class Series(Features):
    """`modes` m for each axis; `periods` P/length: 1 periodic, 2 not, 0 the coordinate in [−1, 1] itself."""

    modes: int = eqx.field(static=True)
    periods: tuple[int, ...] = eqx.field(static=True)
    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)
    operators: ClassVar[tuple[str, ...]] = ("table",)

    @property
    def size(self) -> int:
        return sum(1 + 2 * self.modes if period else 1 for period in self.periods)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        s = unit(point, self.lower, self.upper)
        return jnp.concatenate(
            [self._waves(s[i] / p) if p else 2 * s[i, None] - 1 for i, p in enumerate(self.periods)]
        )

    def _waves(self, s: Float[Array, ""]) -> Float[Array, " waves"]:
        """[1, cos 2πs, sin 2πs, …]; whole periods are subtracted first, so that both faces give the same bits."""
        k = jnp.arange(1, self.modes + 1, dtype=s.dtype)
        phase = 2 * math.pi * k * (s - jnp.round(s))
        waves = jnp.stack([jnp.cos(phase), jnp.sin(phase)], axis=1).ravel()
        return jnp.concatenate([jnp.ones(1, s.dtype), waves])

    def table(self, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        """Every row is a function of one axis; the derivatives of its waves go cos → −sin, sin → cos."""
        zero = (0,) * x.shape[0]
        k = jnp.repeat(jnp.arange(1, self.modes + 1, dtype=x.dtype), 2)[:, None]
        tables: list[Jets] = []
        for i, (low, high, period) in enumerate(zip(self.lower, self.upper, self.periods, strict=True)):
            s = (x[i] - low) / (high - low)
            if not period:
                slope = jnp.full((1, 1), 2 / (high - low), x.dtype)
                tables.append(straight(2 * s[None] - 1, {i: slope}, orders))
                continue
            turns = s / period - jnp.round(s / period)
            slope = 2 * math.pi * k / (period * (high - low))
            phase = straight(2 * math.pi * k * turns, {i: slope}, orders)
            sine, cosine = (wave[::2] for wave in sin_cos(phase[zero]))
            cycle = [(cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine)]
            waves = [jnp.stack(pair, axis=1).reshape(phase[zero].shape) for pair in cycle]
            tables += [{zero: jnp.ones_like(s[None])}, composed(partial(_turned, waves), phase, orders)]
        return stacked(tables, orders)


def _turned(waves: Sequence[Float[Array, "waves points"]], quarters: int) -> Float[Array, "waves points"]:
    return waves[quarters % 4]


def series(problem: Problem, modes: int) -> Series:
    """Periods as the symbols allow: hard periodicity only where enough derivatives are declared periodic."""
    kinds = axis_kinds(problem).values()
    periods = tuple(
        0 if axis.is_time else 1 if all(kind[i] == "periodic" for kind in kinds) else 2
        for i, axis in enumerate(problem.axes)
    )
    return Series(modes, periods, *box(problem))
