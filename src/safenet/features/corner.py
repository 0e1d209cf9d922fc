"""Ψ = r^λ cos(λα + …), 0 < λ < 2: how solutions behave at a corner, where no smooth feature follows them.

At a corner of angle ω the leading terms of a solution of −Δu + … = f are r^λ sin λφ, λ = kπ/ω, if u is given on both
sides, r^λ cos λφ if its slope is, and λ = (k − ½)π/ω if one of each is; φ is the angle from the first side. A viscous
flow with velocities given on both sides behaves like a Stokes flow: sin² λω = λ² sin² ω, with velocities like r^λ and a
pressure like r^{λ−1}, which share one factor; those with λ < 1 are taken. Derivatives of these modes are infinite at
the corner, so a network without them minimises its residual by being wrong there, and as a result everywhere. All of it
is read off the symbols and the shape.

An angle has a branch cut. It lies opposite to the bisector, outside Ω near the corner; before it re-enters Ω, behind a
hole or a fin, a factor (1 − r²/R²)⁴ has ended the modes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import brentq

from ..errors import SafeNetError
from ..problem import Problem
from ..problem.facts.elliptic import vertices
from ..problem.geometry.boundary import Corner
from ..problem.geometry.edges import Segment, meetings
from ..problem.geometry.region import Region
from ..problem.weak_form import WeakEquations, weak_equations
from .base import Features

SMOOTH = 2.0  # λ from which second derivatives are bounded: r² cos 2α and the like are polynomials
# The largest λ for which a corner counts: larger ones occur in polygons that approximate curves.
SINGULAR = 0.9
AT_CORNER = 1e-12  # r at the corner itself, where pressures are infinite, as a share of the scale
# Shortest reach, as a share of the scale: shorter modes are left out, as few points would see them.
SHORT = 0.05

Wave = tuple[float, float, float, float]  # c, p, m, s of c r^p cos(mα + s)
Mode = dict[str, list[Wave]]  # the waves of each unknown that takes part
# `_given` of each unknown, on the first and on the last side.
Sides = dict[str, tuple[bool | None, bool | None]]


class CornerModes(Features):
    """Ψ_mf: for each mode m and each unknown f a sum of waves, α the angle from the bisector, r in units of `scale`.

    `reach` is R in these units, or infinity.
    """

    point: tuple[float, float] = eqx.field(static=True)
    bisector: float = eqx.field(static=True)
    scale: float = eqx.field(static=True)
    waves: tuple[tuple[Wave, ...], ...] = eqx.field(static=True)
    reach: float = eqx.field(static=True, default=math.inf)

    @property
    def size(self) -> int:
        return len(self.waves)

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        x, y = ((point[i] - at) / self.scale for i, at in enumerate(self.point))
        cos, sin = math.cos(self.bisector), math.sin(self.bisector)
        along, across = cos * x + sin * y, cos * y - sin * x
        square = along**2 + across**2
        log_r = jnp.log(square + AT_CORNER**2) / 2
        # At the corner itself the angle has no derivative, and any value will do.
        alpha = jnp.arctan2(across, jnp.where(square > 0, along, 1))
        zero = jnp.zeros((), point.dtype)
        sums = [
            sum((c * jnp.exp(p * log_r) * jnp.cos(m * alpha + s) for c, p, m, s in waves), start=zero)
            for waves in self.waves
        ]
        if math.isinf(self.reach):
            return jnp.stack(sums)
        left = jnp.maximum(1 - square / self.reach**2, 0)
        return left**4 * jnp.stack(sums)


def corner_modes(problem: Problem) -> Features | None:
    """The modes of a plane region's corners, each for all unknowns in turn; None if there are none."""
    region = problem.plane
    if region is None:
        return None
    try:
        weak = weak_equations(problem)
    except SafeNetError:
        return None  # of another kind: its behaviour at corners is not known
    lower, upper = region.bounds
    scale = float(min(np.subtract(upper, lower))) / 2
    found: list[Features] = []
    for corner, first, last in vertices(problem):
        given = {
            name: (_given(problem, first, name), _given(problem, last, name)) for name in problem.unknowns
        }
        modes = [*_flow(weak, corner, scale, given), *_diffusing(weak, corner, given)]
        waves = tuple(tuple(mode.get(name, ())) for mode in modes for name in problem.unknowns)
        reach = _reach(region, corner) / scale
        if modes and reach > SHORT:
            at, bisector = corner.point, float(corner.direction + corner.angle / 2)
            found.append(CornerModes((float(at[0]), float(at[1])), bisector, scale, waves, reach))
    return None if not found else sum(found[1:], start=found[0])


def _reach(region: Region, corner: Corner) -> float:
    """The distance from the corner, opposite to the bisector, at which Ω begins again; infinity if it never does."""
    at, away = np.array(corner.point), corner.direction + corner.angle / 2 + np.pi
    far = 2 * float(np.linalg.norm(np.subtract(*region.bounds)))
    end = at + far * np.array([np.cos(away), np.sin(away)])
    ray = Segment((float(at[0]), float(at[1])), (float(end[0]), float(end[1])))
    distances = [
        float(distance)
        for edge in region.edges
        for distance in np.hypot(*(meetings(ray, edge, region.tolerance) - at).reshape(-1, 2).T)
        if distance > 8 * region.tolerance
    ]
    return min(distances, default=math.inf)


def _given(problem: Problem, piece: str, name: str) -> bool | None:
    """True if the slope of an unknown is given on a piece, False if its value is; None if neither or both are."""
    conditions = [c for c in problem.conditions if c.piece == piece]
    own = [c for c in conditions if any(jet.field == name for jet in c.jets.values())]
    if len(own) != 1:
        return None
    return any(any(jet.orders[:2]) for jet in own[0].jets.values() if jet.field == name)


def _diffusing(weak: WeakEquations, corner: Corner, given: Sides) -> Iterator[Mode]:
    """The modes of each unknown that diffuses on its own."""
    if any(weak.linear_field(name) for name in weak.tested):
        return
    for name in (n for n, a in zip(weak.tested, weak.diffusion, strict=True) if a != 0):
        first, last = given[name]
        if first is None or last is None:
            continue
        k = 1.0 if first == last else 0.5
        if k * np.pi / corner.angle > SINGULAR:
            continue
        while (power := float(k * np.pi / corner.angle)) < SMOOTH - 1e-6:
            # φ = α + ω/2: sin λφ where the value is given on the first side, cos λφ where the slope is.
            shift = float(power * corner.angle / 2 - (0.0 if first else np.pi / 2))
            if abs(power - round(power)) > 1e-6:
                yield {name: [(1.0, power, power, shift)]}
            k += 1


def _flow(weak: WeakEquations, corner: Corner, scale: float, given: Sides) -> Iterator[Mode]:
    """The modes of velocities and a pressure: ν Δu = c p_x, ν Δv = c p_y, u_x + v_y = 0."""
    pressures = [name for name in weak.tested if weak.linear_field(name)]
    if len(weak.tested) != 3 or len(pressures) != 1:
        return
    (p,) = pressures
    pushed = {}  # axis → (velocity, c/ν)
    for name, row, nu in zip(weak.tested, weak.rows, weak.diffusion, strict=True):
        for axis, order in enumerate([(1, 0), (0, 1)]):
            push = -row[0].diff(weak.jets[p, order])
            if name != p and push != 0 and push.is_number and nu.is_number:
                pushed[axis] = name, float(push / nu)
    if set(pushed) != {0, 1} or pushed[0][0] == pushed[1][0] or pushed[0][1] != pushed[1][1]:
        return
    (u, ratio), (v, _) = pushed[0], pushed[1]
    closed = weak.rows[weak.tested.index(p)][0]
    shares = [closed.diff(weak.jets[name, order]) for name, order in ((u, (1, 0)), (v, (0, 1)))]
    if shares[0] == 0 or shares[0] != shares[1]:
        return
    if {*given[u], *given[v]} != {False}:
        return
    bisector = corner.direction + corner.angle / 2
    exponents = stokes_exponents(corner.angle)
    if not exponents or exponents[0][0] > SINGULAR:
        return
    for power, odd in exponents:
        along, across, pressure = _stokes(corner.angle, power, odd)
        cos, sin = np.cos(bisector), np.sin(bisector)
        yield {
            u: [*_scaled(cos, along), *_scaled(-sin, across)],
            v: [*_scaled(sin, along), *_scaled(cos, across)],
            p: _scaled(1 / (ratio * scale), pressure),
        }


def stokes_exponents(angle: float) -> list[tuple[float, bool]]:
    """All 0 < λ < 1 with sin λω = ∓λ sin ω, and whether the stream function is odd about the bisector (the + sign)."""
    # λ = 0 and 1 are trivial solutions. No point k/401 of the grid is ½, where both roots of a slit are.
    grid = np.linspace(0, 1, 402)[1:-1]

    def left(power: float, sign: int) -> float:
        return float(np.sin(power * angle) + sign * power * np.sin(angle))

    return sorted(
        (float(brentq(left, a, b, args=(sign,), xtol=1e-15)), sign < 0)
        for sign in (1, -1)
        for a, b in itertools.pairwise(grid)
        if left(a, sign) * left(b, sign) < 0
    )


def _stokes(angle: float, power: float, odd: bool) -> tuple[list[Wave], list[Wave], list[Wave]]:
    """(ψ_y, −ψ_x, P) of ψ = A r^{λ+1} cos((λ+1)α) + B r^{λ+1} cos((λ−1)α), or with sines, where ψ = ψ_α = 0 at ±ω/2.

    ΔΔψ = 0, and ∂_y Δψ = P_x, −∂_x Δψ = P_y.
    """
    half, upper, lower = angle / 2, power + 1, power - 1
    trig, slope = (np.sin, np.cos) if odd else (np.cos, np.sin)
    rows = (
        [trig(upper * half), trig(lower * half)],
        [upper * slope(upper * half), lower * slope(lower * half)],
    )
    # At an exponent the rows are proportional, but one of them may vanish: use the longer row.
    first_row, second_row = max(rows, key=lambda row: np.hypot(*row))
    A, B = np.array([second_row, -first_row]) / np.hypot(first_row, second_row)
    turn = -np.pi / 2 if odd else 0.0  # cos(z − π/2) = sin z
    first, second = A * upper + B, B * power
    slope_x = [(first, power, power, turn), (second, power, power - 2, turn)]
    # cos(z + π/2) = −sin z; with sines it is cos z.
    slope_y = [(A * upper - B, power, power, turn + np.pi / 2), (second, power, power - 2, turn + np.pi / 2)]
    pressure = [(4 * second, lower, lower, turn + np.pi / 2)]
    return slope_y, _scaled(-1.0, slope_x), pressure


def _scaled(factor: float, waves: list[Wave]) -> list[Wave]:
    return [(float(factor * c), p, m, s) for c, p, m, s in waves]
