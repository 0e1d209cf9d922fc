"""y_t = L y + N(y) along Fourier modes: e^{hL} exactly, N by a Runge–Kutta scheme (Krogstad's ETDRK4).

U₂ = e^{z/2}y + h/2 φ₁(z/2) N₁                                  z = hL
U₃ = e^{z/2}y + h (φ₁/2 − φ₂)(z/2) N₁ + h φ₂(z/2) N₂
U₄ = e^z y + h (φ₁ − 2φ₂)(z) N₁ + 2h φ₂(z) N₃
y⁺ = e^z y + h ((φ₁ − 3φ₂ + 4φ₃) N₁ + (2φ₂ − 4φ₃)(N₂ + N₃) + (4φ₃ − φ₂) N₄)

Unknowns without a time derivative are eliminated mode by mode: a = −D⁻¹C y where D has an inverse, else (D = 0, a
pressure) a = −(CB)⁻¹C(Ly + N), which keeps C y = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ...fields.series import contract
from ...measure.compiled import compiled
from ...measure.heldout import scattered
from ...measure.relative import TINY
from ...problem import Condition, Problem
from ...problem.evaluate import evaluate
from ...problem.facts.semilinear import Semilinear, is_pin, semilinear
from .fluxes import Fluxes
from .phi import phi, phi_matrices
from .waves import UNCHANGED, Waves, squares

RANK = 1e-10  # relative singular values of a constraint below this are zero, e.g. for the mean of a pressure


class Evolution:
    """A problem's matrices and its N on one grid; `evaluations` counts how often N was computed.

    `xp` is the library of the arrays that a step takes and returns: numpy or jax.numpy.
    """

    def __init__(self, problem: Problem, waves: Waves, xp: Any = np) -> None:
        self.problem, self.waves, self.system, self.xp = problem, waves, semilinear(problem), xp
        self.count, self.evaluations = len(self.system.evolving), 0
        self.places = places_of(problem, self.system)
        self._steps: dict[float, tuple[Any, ...]] = {}
        self._decays: dict[float, np.ndarray] = {}
        self._eliminate()
        axes = [axis.symbol for axis in problem.axes]
        fluxes = Fluxes(self.system)
        self._terms = [
            [(row, xp.asarray(factor * waves.power(one.orders))) for row, factor in one.rows]
            for one in fluxes.terms
        ]
        self._constants = [(row, value) for row, value in enumerate(fluxes.constants) if value]
        self._used = [(column, waves.power(orders)) for _, column, orders in fluxes.jets]
        self._rest = compiled(
            [one.expression for one in fluxes.terms], [*axes, *(symbol for symbol, _, _ in fluxes.jets)], xp
        )
        self._all = [(column, waves.power(orders)) for _, column, orders in self.system.jets]
        symbols = [symbol for symbol, _, _ in self.system.jets]
        active = [one for one in self.system.rest if one != 0]
        slopes = [one.diff(symbol) for symbol in symbols for one in active]
        self._slopes = compiled(slopes, [*axes, *symbols])

    # ---- the linear part

    def _matrix(self, rows: Sequence[int], columns: Sequence[int]) -> np.ndarray:
        """Σ c (ik)^α, (modes …, rows, columns)."""
        found = np.zeros((*self.waves.spectrum, len(rows), len(columns)), complex)
        for (row, column), terms in self.system.linear.items():
            if row in rows and column in columns:
                entry = sum(c * self.waves.power(orders) for c, orders in terms)
                found[..., rows.index(row), columns.index(column)] = entry
        return found

    def _eliminate(self) -> None:
        own, others = (
            list(range(self.count)),
            list(range(self.count, self.count + len(self.system.algebraic))),
        )
        linear = self._matrix(own, own)
        self.project: np.ndarray | None = None
        self.follow: Any = None  # a = follow · y, where the constraints give it
        if others:
            b, c, d = self._matrix(own, others), self._matrix(others, own), self._matrix(others, others)
            if d.any():
                follow = -np.linalg.pinv(d, rcond=RANK) @ c
                self.follow, linear = self.xp.asarray(_first(follow)), linear + b @ follow
            else:
                # I − B(CB)⁻¹C keeps C y = 0; the pseudo-inverse skips modes in which the constraint is void.
                inverse = np.linalg.pinv(c @ b, rcond=RANK) @ c
                self.project = np.eye(self.count) - b @ inverse
                self._inverse, self._pressed = _first(inverse), _first(linear)
                # A viscosity that is the same for all parts keeps the constraint: a number replaces each matrix.
                alike = linear[..., :1, :1] * np.eye(self.count)
                linear = linear if np.array_equal(linear, alike) else self.project @ linear
        off = linear * (1 - np.eye(self.count))
        self.blocks = bool(off.any())
        self.linear = linear
        self.packed = np.moveaxis(np.einsum("...ii->...i", linear), -1, 0)

    @cached_property
    def _eigenvalues(self) -> np.ndarray:
        found = np.linalg.eigvals(self.linear) if self.blocks else np.einsum("...ii->...i", self.linear)
        return np.asarray(found)

    @cached_property
    def decay_rates(self) -> np.ndarray:
        """−Re λ, the largest over the eigenvalues of L along each mode."""
        return np.asarray((-self._eigenvalues.real).max(axis=-1))

    def slope(self, t: float, y: Any) -> np.ndarray:
        """y_t = L y + N(y)."""
        linear = _first(self.linear) if self.blocks else self.packed
        return np.asarray(self.times(linear, y) + self.rest(t, y))

    def times(self, matrix: Any, y: Any) -> Any:
        """matrix · y for each mode; a diagonal matrix is given by its diagonal, with one axis less."""
        if matrix.ndim == y.ndim:
            return matrix * y
        return self.xp.einsum("ij...,j...->i...", matrix, y)

    # ---- the rest, N

    def _jets(self, t: Any, y: Any, jets: list[tuple[int, Any]]) -> list[Any]:
        """The coordinates, t, and each ∂^α of a part of y, on the grid."""
        xp, whole = self.xp, y
        if self.follow is not None and any(column >= self.count for column, _ in jets):
            whole = xp.concatenate([y, self.times(self.follow, y)])
        found = [
            self.waves.backward(whole[column] if power is UNCHANGED else power * whole[column], xp)
            for column, power in jets
        ]
        return [*self.waves.coordinates, t, *found]

    def rest(self, t: Any, y: Any) -> Any:
        """N(y), along modes."""
        found = self._unprojected(t, y)
        return found if self.project is None else self.times(self.projection, found)

    def _unprojected(self, t: Any, y: Any) -> Any:
        """N(y) before its projection onto what a constraint allows."""
        self.evaluations += 1
        xp, shape = self.xp, self.waves.shape
        rows: list[Any] = [None] * self.count
        values = self._rest(*self._jets(t, y, self._used)) if self._terms else ()
        for owners, value in zip(self._terms, values, strict=True):
            whole = value if np.shape(value) == shape else xp.broadcast_to(xp.asarray(value), shape)
            term = self.waves.forward(whole, xp)
            for row, factor in owners:
                part = factor * term
                rows[row] = part if rows[row] is None else rows[row] + part
        for row, number in self._constants:
            first = self._mean * number
            rows[row] = first if rows[row] is None else rows[row] + first
        if self.count == 1 and rows[0] is not None:
            return rows[0][None]
        return xp.stack([xp.zeros_like(y[0]) if one is None else one for one in rows])

    @cached_property
    def _mean(self) -> Any:
        """The function 1, along modes."""
        found = np.zeros(self.waves.spectrum, complex)
        found[(0,) * found.ndim] = 1.0
        return self.xp.asarray(found)

    @cached_property
    def projection(self) -> Any:
        assert self.project is not None
        return self.xp.asarray(_first(self.project))

    def slopes(self, t: float, y: np.ndarray) -> np.ndarray:
        """ρ(k): the largest change of N, relative to a change of y along mode k."""
        found = np.zeros(self.waves.spectrum)
        if not self.system.jets:
            return found
        with np.errstate(all="ignore"):
            sizes = [float(np.max(np.abs(one))) for one in self._slopes(*self._jets(t, y, self._all))]
        each = np.reshape(sizes, (len(self._all), -1)).sum(axis=1)
        for size, (_, power) in zip(each, self._all, strict=True):
            found = found + size * np.abs(power)
        return found

    def dropped(self, t: float, y: Any, h: float) -> np.ndarray:
        """h φ₁(hL) N(y) along the modes that the grid lacks, relative to y, per axis, computed with twice the modes.

        A spectrum may have gaps: if u = cos kx, u³ contains cos 3kx, of which an empty tail shows nothing.
        """
        wide = replace(self.waves, modes=tuple(2 * m for m in self.waves.modes))
        other = Evolution(self.problem, wide)
        whole = self.waves.onto(wide, np.asarray(y))
        added = other.times(h * other.phis(h, 2)[1], other.rest(t, whole))
        space = tuple(range(1, added.ndim))
        size = np.sum(squares(whole + added), axis=space)
        size, added = np.maximum(size, 1e-6 * size.max() + TINY), squares(added)
        beyond = (np.abs(k) > m for k, m in zip(wide.indices, self.waves.modes, strict=True))
        return np.array([np.sqrt(np.max(np.sum(added * one, axis=space) / size)) for one in beyond])

    def mean_of_decay(self, h: float) -> np.ndarray:
        """|φ₁(hλ)|, the largest over the eigenvalues λ of L along each mode: what L leaves of a constant N."""
        if h not in self._decays:
            self._decays[h] = np.abs(phi(h * self._eigenvalues, 2)[1]).max(axis=-1)
        return self._decays[h]

    # ---- steps

    def _coefficients(self, h: float) -> tuple[Any, ...]:
        if h not in self._steps:
            half, whole = (self.phis(h / 2), self.phis(h))
            e, p1, p2, p3 = whole
            e2, q1, q2, _ = half
            found = (
                *(e2, h / 2 * q1, h * (q1 / 2 - q2), h * q2),
                *(e, h * (p1 - 2 * p2), 2 * h * p2),
                *(h * (p1 - 3 * p2 + 4 * p3), h * (2 * p2 - 4 * p3), h * (4 * p3 - p2)),
            )
            self._steps[h] = tuple(self.xp.asarray(one) for one in found)
            if len(self._steps) > 8:
                self._steps.pop(next(iter(self._steps)))
        return self._steps[h]

    def phis(self, h: float, count: int = 4) -> np.ndarray:
        """φ₀(hL), φ₁(hL), …, each as `times` takes it."""
        if not self.blocks:
            return phi(h * self.packed, count)
        return np.moveaxis(phi_matrices(h * self.linear, count), (-2, -1), (1, 2))

    def step(self, t: Any, y: Any, h: float, first: Any) -> Any:
        """y(t + h); `first` is N(y)."""
        e2, a1, b1, b2, e, c1, c3, d1, d2, d4 = self._coefficients(h)
        x = self.times
        start = x(e2, y)
        second = self.rest(t + h / 2, start + x(a1, first))
        third = self.rest(t + h / 2, start + x(b1, first) + x(b2, second))
        whole = x(e, y)
        fourth = self.rest(t + h, whole + x(c1, first) + x(c3, third))
        return whole + x(d1, first) + x(d2, second + third) + x(d4, fourth)

    def extrapolated(self, t: Any, y: Any, h: float, first: Any) -> tuple[Any, Any]:
        """y(t + h) of order 5, extrapolated from two half steps and a whole one, and its error; `first` is N(y)."""
        whole = self.step(t, y, h, first)
        middle = self.step(t, y, h / 2, first)
        twice = self.step(t + h / 2, middle, h / 2, self.rest(t + h / 2, middle))
        difference = (twice - whole) / 15
        return self.cleaned(twice + difference), difference

    def cleaned(self, y: Any) -> Any:
        """y without what rounding has added: waves of the wrong parity, and those that a constraint forbids."""
        if any(self.waves.mirrored):
            values = self.waves.backward(y, self.xp)
            fields = [self.problem.unknowns.index(name) for name, _ in self.system.evolving]
            even = [self.waves.continued(one, f, self.xp) for one, f in zip(values, fields, strict=True)]
            y = self.waves.forward(self.xp.stack(even), self.xp)
        return y if self.project is None else self.times(self.projection, y)

    # ---- initial and recorded values

    def start(self) -> Any:
        values = self.xp.asarray(beginning(self.problem, self.waves))
        return self.cleaned(self.waves.forward(values, self.xp))

    def unknowns(self, t: float, y: Any) -> np.ndarray:
        """All unknowns along modes, in the order of the problem: those of y, and a."""
        if not self.system.algebraic:
            return np.asarray(np.asarray(y)[self.places])
        if self.follow is not None:
            a = np.array(self.times(self.follow, y))
        else:
            forces = self.times(self._pressed, y) + self._unprojected(t, y)
            a = -np.asarray(self.times(self._inverse, forces))
        for place, name in enumerate(self.system.algebraic):
            if condition := pinned(self.problem, name):
                a[place][(0,) * len(self.waves.shape)] += self._missed(condition, t, a[place])
        whole = np.concatenate([np.asarray(y), a])
        return np.asarray(whole[self.places])

    def _missed(self, condition: Condition, t: float, waves: np.ndarray) -> float:
        """g(t) − p(x₀) of a condition p(x₀, t) = g."""
        ((symbol, jet),) = condition.jets.items()
        at: Any = 1.0
        for place, axis, k, length in zip(
            jet.place, self.waves.axes, self.waves.indices, self.waves.lengths, strict=False
        ):
            x = float(self.problem.value(sp.sympify(place)))
            at = at * np.exp(2j * np.pi * k * (x - axis.lo) / length)
        twice = np.where(self.waves.indices[-1] > 0, 2.0, 1.0)
        value = float(np.sum(twice * (waves * at).real))
        slope = float(self.problem.value(condition.coefficient(symbol)))
        given = evaluate(self.problem.value(condition.source), {self.problem.axes[-1].symbol: t}, np)
        return float(given) / slope - value


def _first(matrices: np.ndarray) -> np.ndarray:
    """The axes of small matrices, moved before those of the modes."""
    return np.ascontiguousarray(np.moveaxis(matrices, (-2, -1), (0, 1)))


def beginning(problem: Problem, waves: Waves) -> np.ndarray:
    """The initial values on a grid, continued by parity."""
    system, symbols = semilinear(problem), [axis.symbol for axis in problem.axes[:-1]]
    found = []
    for (name, _), expression in zip(system.evolving, system.start, strict=True):
        with np.errstate(all="ignore"):
            values = evaluate(expression, dict(zip(symbols, waves.coordinates, strict=True)), np)
        whole = np.broadcast_to(np.asarray(values, dtype=float), waves.shape)
        found.append(waves.continued(whole, problem.unknowns.index(name)))
    return np.stack(found)


def missed(problem: Problem, waves: Waves, start: np.ndarray) -> float:
    """‖u₀ − its waves‖/‖u₀‖ at scattered points: on the grid, a short wave looks like a long one."""
    system, axes = semilinear(problem), problem.axes[:-1]
    points = np.array(
        [axis.lo + axis.length * share for axis, share in zip(axes, scattered(256, len(axes)).T, strict=True)]
    )
    at = dict(zip((axis.symbol for axis in axes), points, strict=True))
    pairs = []
    for own, (name, _), expression in zip(start, system.evolving, system.start, strict=True):
        field = problem.unknowns.index(name)
        tables = [basis(points[i]) for i, basis in enumerate(waves.bases(field))]
        data = np.broadcast_to(np.asarray(evaluate(expression, at, np), dtype=float), points.shape[1:])
        pairs.append((contract(waves.coefficients(own, field), tables), data))
    found, given = map(np.array, zip(*pairs, strict=True))
    return float(np.linalg.norm(found - given) / max(float(np.linalg.norm(given)), TINY))


def pinned(problem: Problem, name: str) -> Condition | None:
    """The condition that fixes the additive constant of an unknown, if there is one."""
    for condition in problem.conditions:
        fields = {jet.field for jet in condition.jets.values()}
        if is_pin(condition, len(problem.axes) - 1) and fields == {name} and not condition.initial:
            return condition
    return None


def places_of(problem: Problem, system: Semilinear) -> list[int]:
    """The place of each unknown itself in (y, a)."""
    parts = [*system.evolving, *((name, 0) for name in system.algebraic)]
    return [parts.index((name, 0)) for name in problem.unknowns]


def check_pins(problem: Problem) -> None:
    """Raise unless every condition is initial, on a whole face, or a pin of an unknown without time derivative."""
    system = semilinear(problem)
    for condition in problem.conditions:
        whole = len(condition.free) == len(problem.axes) - 1
        fields = {jet.field for jet in condition.jets.values()}
        simple = (
            condition.linear
            and len(condition.jets) == 1
            and not any(sum(jet.orders) for jet in condition.jets.values())
        )
        if not (
            whole or (is_pin(condition, len(problem.axes) - 1) and simple and fields <= set(system.algebraic))
        ):
            raise SafeNetError(f"the condition {condition.text} does not hold on a whole side")
