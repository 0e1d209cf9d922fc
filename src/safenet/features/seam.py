"""G(x, t) = Σ_± s ierfc(ξ_±/s), s = √(4κt), ξ_± the distance to either end: how heat rounds off a kink at the seam.

Initial data that are periodic in value but not in slope, u₀′(upper) ≠ u₀′(lower), have a kink where the ends meet. By
u_t = κ u_xx it is rounded off at once, in a layer of width s that no smooth feature follows: u_xx is infinite at t = 0.
G solves the heat equation, is zero at t = 0 and has the slopes −1 and 1 at the ends for t > 0, so that u minus a
multiple of G is smooth where the kink was. If the equation has other terms, this holds to leading order. Everything is
read off the symbols: the ends, κ and the jump.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
import sympy as sp
from jax.scipy.special import erfc
from jaxtyping import Array, Float

from ..problem import Problem
from ..problem.facts.structure import axis_kinds
from ..problem.jets import along
from .base import Features, box

NEVER = 1e-14  # smallest t, as a share of the time axis: at t = 0 itself, G is its limit


class SeamFlow(Features):
    """One G for each axis in `along`, with its κ."""

    along: tuple[int, ...] = eqx.field(static=True)
    kappa: tuple[float, ...] = eqx.field(static=True)
    time: int = eqx.field(static=True)
    lower: tuple[float, ...] = eqx.field(static=True)
    upper: tuple[float, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        return len(self.along)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        start, length = self.lower[self.time], self.upper[self.time] - self.lower[self.time]
        t = jnp.maximum(point[self.time] - start, NEVER * length)
        found = []
        for axis, kappa in zip(self.along, self.kappa, strict=True):
            s = jnp.sqrt(4 * kappa * t)
            ends = point[axis] - self.lower[axis], self.upper[axis] - point[axis]
            found.append(sum(s * _ierfc(xi / s) for xi in ends))
        return jnp.stack(found)


def _ierfc(z: Float[Array, ""]) -> Float[Array, ""]:
    """∫_z^∞ erfc = e^{−z²}/√π − z erfc z"""
    return jnp.exp(-z * z) / math.sqrt(math.pi) - z * erfc(z)


def seam_flow(problem: Problem) -> SeamFlow | None:
    """G for the kinks that the symbols show, or None if there are none."""
    if problem.time is None or len(problem.unknowns) > 1 or len(problem.equations) > 1:
        return None
    starts = [c for c in problem.conditions if c.initial and c.linear]
    if len(starts) != 1:
        return None
    data = problem.value(starts[0].source)
    kinds = axis_kinds(problem)[problem.unknowns[0]]
    found = []
    for index, axis in enumerate(problem.axes):
        kappa = _diffusivity(problem, index, problem.time) if kinds[index] == "periodic" else 0.0
        jumps = [
            sp.simplify(d.subs(axis.symbol, axis.upper) - d.subs(axis.symbol, axis.lower))
            for d in (data, data.diff(axis.symbol))
        ]
        if kappa > 0 and jumps[0] == 0 and jumps[1] != 0:
            found.append((index, kappa))
    if not found:
        return None
    along, kappas = zip(*found, strict=True)
    return SeamFlow(along, kappas, problem.time, *box(problem))


def _diffusivity(problem: Problem, index: int, time: int) -> float:
    """κ of u_t = κ ∂²u + …; 0 if the equation is of another kind."""
    (equation,) = problem.equations
    slopes = {
        jet.orders: problem.value(equation.residual.diff(symbol)) for symbol, jet in equation.jets.items()
    }
    first = along(time, len(problem.axes))
    second = tuple(2 * i for i in along(index, len(problem.axes)))
    if any(orders[time] > 1 for orders in slopes) or not {first, second} <= slopes.keys():
        return 0.0
    kappa = -slopes[second] / slopes[first]
    return float(kappa) if kappa.is_number else 0.0
