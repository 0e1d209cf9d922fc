"""d/dt ū = −(F_{i+1/2} − F_{i−1/2})/h + …: finite volumes, limited slopes (MUSCL), Rusanov's flux, SSP Runge–Kutta 3.

Slopes are van Leer's monotonised central ones: no new extrema, second order where u is smooth. F is the mean of f on
both sides of a face less ρ/2 times the jump, ρ the largest speed there (Rusanov, 1961; Shu & Osher, 1988; van Leer,
1977). Terms that are no flux, B ∂u, are integrated along the straight line between both sides of a face (Parés, 2006).

If the slope of a flux is not monotone in u, limited slopes can converge to a shock that no viscosity produces; slopes
are then set to zero, and Rusanov's scheme is monotone (Crandall & Majda, 1980).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ...lazily import later
from ...measure.relative import TINY
from ...problem import Problem
from ...problem.evaluate import evaluate
from ...problem.facts.conservation import conservation, fixed_value
from ...problem.facts.structure import axis_kinds

jax, jnp = later("jax"), later("jax.numpy")  # importing it takes a second, and only this solver needs it

COURANT = 0.4  # of the stability limit of a step, over all axes
SAMPLES = 5  # Gauss points of a cell along each axis, for the means of the initial values


def sides_given(problem: Problem) -> dict[tuple[int, int], dict[str, sp.Expr | None]]:
    """(axis, end) → unknown → its value there, or None for a slope of zero; raises for anything else."""
    found: dict[tuple[int, int], dict[str, sp.Expr | None]] = {}
    time = len(problem.axes) - 1
    for condition in problem.conditions:
        if condition.initial or condition.kind == "periodic":
            continue
        fixed = [i for i in range(time + 1) if i not in condition.free]
        if len(fixed) != 1 or fixed[0] == time or len(condition.places) > 1:
            raise SafeNetError(f"the condition {condition.text} does not hold on a whole side")
        axis, ((place,), *_) = fixed[0], [[one[fixed[0]] for one in condition.places]]
        end = next(
            (k for k, at in enumerate((problem.axes[axis].lower, problem.axes[axis].upper)) if at == place),
            None,
        )
        if end is None:
            raise SafeNetError(f"the condition {condition.text} is inside the domain")
        field, value = _ghost(problem, condition, axis)
        found.setdefault((axis, end), {})[field] = value
    return found


def _ghost(problem: Problem, condition: Any, axis: int) -> tuple[str, sp.Expr | None]:
    if condition.kind == "neumann" and len(condition.jets) == 1 and problem.value(condition.source) == 0:
        (jet,) = condition.jets.values()
        if sum(jet.orders) == jet.orders[axis] == 1:
            return jet.field, None
    return fixed_value(problem, condition)


def periodic_axes(problem: Problem) -> tuple[bool, ...]:
    return tuple(
        all(kinds[i] == "periodic" for kinds in axis_kinds(problem).values())
        for i in range(len(problem.axes) - 1)
    )


class Scheme:
    """One problem on one grid of cells; `advance(t, u, end)` steps from t to `end`."""

    def __init__(self, problem: Problem, cells: tuple[int, ...]) -> None:
        self.problem, self.cells, self.law = problem, cells, conservation(problem)
        self.axes = problem.axes[:-1]
        self.h = [axis.length / n for axis, n in zip(self.axes, cells, strict=True)]
        self.centres = [
            axis.lo + h * (np.arange(n) + 0.5) for axis, h, n in zip(self.axes, self.h, cells, strict=True)
        ]
        self.sides, self.periodic = sides_given(problem), periodic_axes(problem)

    # ---- initial values

    def start(self) -> np.ndarray:
        """Means of the initial values over the cells, by Gauss quadrature in each."""
        nodes, weights = np.polynomial.legendre.leggauss(SAMPLES)
        total = np.zeros((len(self.law.start), *self.cells))
        for which in np.ndindex(*(SAMPLES,) * len(self.cells)):
            at = np.meshgrid(
                *(c + h / 2 * nodes[k] for c, h, k in zip(self.centres, self.h, which, strict=True)),
                indexing="ij",
            )
            values = dict(zip([axis.symbol for axis in self.axes], at, strict=True))
            weight = np.prod([weights[k] / 2 for k in which])
            with np.errstate(all="ignore"):
                total += weight * np.stack(
                    [np.broadcast_to(evaluate(e, values, np), self.cells) for e in self.law.start]
                )
        return total

    @cached_property
    def bends(self) -> bool:
        """Whether the flux of a single unknown is neither convex nor concave between its least and largest values."""
        if len(self.law.symbols) > 1 or self.law.viscous:
            return False
        (u,), values = self.law.symbols, self.start()
        between = {u: np.linspace(values.min(), values.max(), 101)}
        for A in self.law.slopes:
            second = A[0, 0].diff(u)
            if u not in second.free_symbols:
                continue
            if second.free_symbols != {u}:
                return True
            with np.errstate(all="ignore"):
                curved = np.asarray(evaluate(second, between, np))
            if not (np.all(curved >= 0) or np.all(curved <= 0)):
                return True
        return False

    @property
    def carried(self) -> bool:
        """Whether each unknown is transported by itself, at speeds independent of the solution: no jump steepens."""
        law = self.law
        return not (law.nonlinear or law.viscous) and all(A.is_diagonal() for A in law.slopes)

    # ---- steps

    @cached_property
    def advance(self) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
        """(t, u, end) → (u at end, how many steps)."""

        def step(carry: tuple[Any, Any, Any], end: Any) -> tuple[Any, Any, Any]:
            t, u, count = carry
            dt = jnp.minimum(self._longest(t, u), end - t)
            first = u + dt * self._rate(t, u)
            second = (3 * u + first + dt * self._rate(t + dt, first)) / 4
            third = (u + 2 * (second + dt * self._rate(t + dt / 2, second))) / 3
            # The last step ends exactly at `end`, whatever t + dt rounds to.
            return jnp.where(dt >= end - t, end, t + dt), third, count + 1

        def run(t: Any, u: Any, end: Any) -> tuple[Any, Any]:
            def going(carry: tuple[Any, Any, Any]) -> Any:
                return (carry[0] < end) & jnp.isfinite(carry[1]).all()

            _, u, count = jax.lax.while_loop(going, lambda carry: step(carry, end), (t, u, 0))
            return u, count

        compiled: Callable[[Any, Any, Any], tuple[Any, Any]] = jax.jit(run)
        return compiled

    def _longest(self, t: Any, u: Any) -> Any:
        """1/Σ_i (ρ_i/(C h_i) + 4ν/h_i² + …): the longest step, limited by transport, viscosity and sources together."""
        total = self._crossed(t, u) / COURANT + self._relaxed(t, u)
        for nu, h in zip(self.law.viscosity, self.h, strict=True):
            total = total + 4 * max(float(n) for n in nu) / h**2
        return 1 / jnp.maximum(total, TINY)

    def stiffness(self, t: Any, u: Any) -> float:
        """The relaxation times of the sources that pass while a wave crosses a cell."""
        return float(self._relaxed(t, u) / jnp.maximum(self._crossed(t, u), TINY))

    def _crossed(self, t: Any, u: Any) -> Any:
        """Σ_i ρ_i/h_i: how many cells waves cross in a unit of time."""
        values = self._values(t, u, self.centres)
        pairs = zip(self.law.slopes, self.h, strict=True)
        return sum(jnp.max(_radius(_matrix(A, values), len(u))) / h for A, h in pairs)

    def _relaxed(self, t: Any, u: Any) -> Any:
        """Σ max |∂s/∂u|: the rate at which sources act."""
        values = self._values(t, u, self.centres)
        slopes = (s.diff(v) for s in self.law.source for v in self.law.symbols)
        return sum(
            (jnp.max(jnp.abs(evaluate(e, values, jnp))) for e in slopes if e != 0), start=jnp.array(0.0)
        )

    def _values(self, t: Any, u: Any, coordinates: list[Any]) -> dict[Any, Any]:
        space = jnp.meshgrid(*coordinates, indexing="ij")
        known = dict(zip([axis.symbol for axis in self.axes], space, strict=True))
        return {**known, self.problem.axes[-1].symbol: t, **dict(zip(self.law.symbols, u, strict=True))}

    def _rate(self, t: Any, u: Any) -> Any:
        values = self._values(t, u, self.centres)
        total = jnp.stack([jnp.broadcast_to(evaluate(s, values, jnp), self.cells) for s in self.law.source])
        for axis in range(len(self.cells)):
            total = total + self._along(axis, t, u)
        return total

    def _along(self, axis: int, t: Any, u: Any) -> Any:
        """The contribution of one axis, with two cells beyond each end."""
        wide = self._padded(axis, t, u)
        h, n = self.h[axis], self.cells[axis]
        differences = _cut(wide, axis + 1, 1, n + 4) - _cut(wide, axis + 1, 0, n + 3)
        limited = _sharpened if self.carried else _limited
        slope = limited(_cut(differences, axis + 1, 0, n + 2), _cut(differences, axis + 1, 1, n + 3))
        slope = jnp.zeros_like(slope) if self.bends else slope
        middle = _cut(wide, axis + 1, 1, n + 3)
        left, right = (
            _cut(middle + slope / 2, axis + 1, 0, n + 1),
            _cut(middle - slope / 2, axis + 1, 1, n + 2),
        )
        faces = list(self.centres)
        faces[axis] = self.axes[axis].lo + h * np.arange(n + 1)
        sides = [self._values(t, one, faces) for one in (left, right)]
        A = self.law.slopes[axis]
        rho = jnp.maximum(*(_radius(_matrix(A, one), len(u)) for one in sides))
        between = self._values(t, (left + right) / 2, faces)
        inside = self._values(t, u, self.centres)
        rows = []
        for j, flux in enumerate(self.law.flux[axis]):
            jump = right[j] - left[j]
            through = -rho * jump / 2
            if flux is not None:
                through = through + sum(evaluate(flux, one, jnp) for one in sides) / 2
            if nu := float(self.law.viscosity[axis][j]):
                through = through - nu * _cut(differences, axis + 1, 1, n + 2)[j] / h
            rate = -jnp.diff(through, axis=axis) / h
            if flux is None:
                crossed = sum(
                    evaluate(a, between, jnp) * (right[k] - left[k]) for k, a in enumerate(A.row(j)) if a != 0
                )
                own = _cut(slope, axis + 1, 1, n + 1)
                along = sum(evaluate(a, inside, jnp) * own[k] for k, a in enumerate(A.row(j)) if a != 0)
                rate = rate - ((_cut(crossed, axis, 0, n) + _cut(crossed, axis, 1, n + 1)) / 2 + along) / h
            rows.append(rate)
        return jnp.stack(rows)

    # ---- beyond the sides

    def _padded(self, axis: int, t: Any, u: Any) -> Any:
        """u with two more cells at each end: periodic, given values, mirror images, or the last value repeated."""
        n, at = self.cells[axis], axis + 1
        if self.periodic[axis]:
            width = [(2, 2) if i == at else (0, 0) for i in range(u.ndim)]
            return jnp.pad(u, width, mode="wrap")
        ends = []
        for end in (0, 1):
            given = self.sides.get((axis, end), {})
            near = (
                jax.lax.slice_in_dim(u, 0, 2, axis=at)
                if end == 0
                else jax.lax.slice_in_dim(u, n - 2, n, axis=at)
            )
            mirrored = jnp.flip(near, at)
            last = (
                jax.lax.slice_in_dim(u, 0, 1, axis=at)
                if end == 0
                else jax.lax.slice_in_dim(u, n - 1, n, axis=at)
            )
            # Mirror images if only some unknowns are given (a wall), or if viscosity makes values hold at the face.
            whole = (
                all(given.get(name) is not None for name in self.problem.unknowns) and not self.law.viscous
            )
            rows = []
            for j, name in enumerate(self.problem.unknowns):
                shape = near[j].shape
                if given.get(name) is None:
                    rows.append(jnp.broadcast_to(last[j], shape) if whole or not given else mirrored[j])
                    continue
                value = jnp.broadcast_to(self._side_value(given[name], axis, end, t, shape), shape)
                rows.append(value if whole else 2 * value - mirrored[j])
            ends.append(jnp.stack(rows))
        return jnp.concatenate([ends[0], u, ends[1]], axis=at)

    def _side_value(self, value: Any, axis: int, end: int, t: Any, shape: tuple[int, ...]) -> Any:
        coordinates = list(self.centres)
        coordinates[axis] = np.full(shape[axis], self.axes[axis].bounds[end])
        space = np.meshgrid(*coordinates, indexing="ij")
        known = dict(zip([one.symbol for one in self.axes], space, strict=True))
        return evaluate(value, {**known, self.problem.axes[-1].symbol: t}, jnp)


def _cut(a: Any, axis: int, low: int, high: int) -> Any:
    return jax.lax.slice_in_dim(a, low, high, axis=axis)


def _limited(before: Any, after: Any) -> Any:
    """Van Leer's monotonised central slope: the least of twice each difference and their mean; 0 at extrema."""
    least = jnp.minimum(2 * jnp.minimum(jnp.abs(before), jnp.abs(after)), jnp.abs(before + after) / 2)
    return jnp.where(before * after > 0, jnp.sign(before) * least, 0.0)


def _sharpened(before: Any, after: Any) -> Any:
    """Roe's superbee: the larger of both differences, but at most twice the smaller one; 0 at extrema."""
    one, other = jnp.abs(before), jnp.abs(after)
    steep = jnp.minimum(jnp.maximum(one, other), 2 * jnp.minimum(one, other))
    return jnp.where(before * after > 0, jnp.sign(before) * steep, 0.0)


def _matrix(A: sp.Matrix, values: dict[Any, Any]) -> list[list[Any]]:
    return [[evaluate(entry, values, jnp) for entry in A.row(j)] for j in range(A.rows)]


def _radius(A: list[list[Any]], size: int) -> Any:
    """ρ(A) of small matrices at every face: exact for up to three rows, else ‖A⁸‖^(1/8), which is not less."""
    if size == 1:
        return jnp.abs(A[0][0])
    if size == 2:
        half = (A[0][0] + A[1][1]) / 2
        apart = ((A[0][0] - A[1][1]) / 2) ** 2 + A[0][1] * A[1][0]
        return jnp.abs(half) + jnp.sqrt(jnp.maximum(apart, 0.0))
    shape = jnp.broadcast_shapes(*(jnp.shape(entry) for row in A for entry in row))
    whole = jnp.stack([jnp.stack([jnp.broadcast_to(entry, shape) for entry in row], -1) for row in A], -2)
    if size == 3:
        return _largest_of_three(whole)
    power = whole
    for _ in range(3):
        power = power @ power
    return jnp.sqrt(jnp.sum(power**2, axis=(-2, -1))) ** (1 / 8)


def _largest_of_three(A: Any) -> Any:
    """The largest |root| of the characteristic polynomial, whose three roots are real: λ = m + 2√p cos(φ + 2πk/3)."""
    m = jnp.trace(A, axis1=-2, axis2=-1) / 3
    B = A - m[..., None, None] * jnp.eye(3)
    p = jnp.maximum(jnp.einsum("...ij,...ji->...", B, B) / 6, TINY)
    phi = jnp.arccos(jnp.clip(jnp.linalg.det(B) / 2 / p**1.5, -1.0, 1.0)) / 3
    roots = [m + 2 * jnp.sqrt(p) * jnp.cos(phi + 2 * jnp.pi * k / 3) for k in range(3)]
    return jnp.max(jnp.abs(jnp.stack(roots)), axis=0)
