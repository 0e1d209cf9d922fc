"""u_f(x) = Re Σ_n Σ_j c_nfj z^j/j! Π_i g_fi(κ_ni z_i), z = x − anchor: a sum of exact solutions of the equations.

g is e^{κz} along an axis, or sin kz or cos kz for κ = ik. A derivative is a sum of the same kind with other
coefficients: ∂ multiplies by κ, turns sines and cosines into each other, and lowers the powers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from ..problem.facts.waves import Factors, Family
from ..trees import Tree, static
from .field import Orders

BLOCK = 50_000  # numbers in a table of points × modes: it stays in the cache


def wave_factor(name: str, kappa: Any, z: Any, xp: Any) -> Any:
    """e^{κz}, or sin kz or cos kz for κ = ik."""
    if name == "exp":
        return xp.exp(kappa * z.astype(kappa.dtype))
    return {"sin": xp.sin, "cos": xp.cos}[name](kappa.imag * z)


def wave_factors(row: Sequence[str], kappa: Any, z: Any, xp: Any) -> Any:
    """Π_i g_i(κ_i z_i) of every mode; κ and z are (modes, axes), and `row` names the factors g_i."""
    factors = [wave_factor(name, kappa[:, i], z[:, i], xp) for i, name in enumerate(row)]
    return math.prod(factor.astype(kappa.dtype) for factor in factors)


class Waves(Tree):
    """The modes of one family with their coefficients."""

    coefficients: Any  # (modes, fields, powers), complex
    exponents: Any  # (modes, axes), complex
    anchors: Any  # (modes, axes)
    factors: Factors = static()
    along: int = static()

    def derivative(self, order: Orders) -> Waves:
        """∂^order: multiplies by κ^n, turns sin kz and cos kz into each other, and acts on z^j/j! by Leibniz' rule."""
        kappa = np.asarray(self.exponents)
        c = np.array(self.coefficients)
        factors = [list(row) for row in self.factors]
        for i, n in enumerate(order):
            if i == self.along:
                c = _lowered(c, kappa[:, i], n)
                continue
            c = c * (kappa[:, i] ** n)[:, None, None]
            if n % 2:
                for f, row in enumerate(factors):
                    if row[i] != "exp":
                        c[:, f] = c[:, f] * (-1j if row[i] == "sin" else 1j)
                        row[i] = "cos" if row[i] == "sin" else "sin"
        return Waves(c, self.exponents, self.anchors, tuple(map(tuple, factors)), self.along)

    def __call__(self, point: Any) -> Any:
        import jax.numpy as jnp

        precision = jnp.complex64 if point.dtype == jnp.float32 else jnp.complex128
        c, kappa = jnp.asarray(self.coefficients, precision), jnp.asarray(self.exponents, precision)
        z = point - jnp.asarray(self.anchors, point.dtype)
        along = z[:, self.along].astype(precision)
        modes = [
            polynomial(c[:, f], along) * wave_factors(row, kappa, z, jnp)
            for f, row in enumerate(self.factors)
        ]
        return jnp.stack([jnp.sum(mode.real) for mode in modes])

    def at(self, points: np.ndarray, coefficients: Sequence[np.ndarray]) -> np.ndarray:
        """Values (sets of coefficients, points, fields), in blocks whose tables stay in the cache."""
        size, ticked = max(1, BLOCK // max(1, len(self.exponents))), [_ticks(line) for line in points.T]
        values, distinct = np.empty((len(coefficients), len(points), len(self.factors))), self._distinct()
        every = np.stack(coefficients, axis=-1)
        for f in range(len(self.factors)):
            factors, c = self._factors(ticked, f, distinct), _plain(every[:, f])
            for start in range(0, len(points), size):
                block = slice(start, start + size)
                products, z = self._products(factors, block)
                found = products @ c[:, 0]
                for j in range(1, c.shape[1]):
                    products = products * z / j
                    found = found + products @ c[:, j]
                values[:, block, f] = found.real.T
        return values

    def table(self, points: np.ndarray, field: int) -> np.ndarray:
        """Every mode's complex value of one field, (points, modes)."""
        factors = self._factors([_ticks(line) for line in points.T], field, self._distinct())
        products, z = self._products(factors, slice(None))
        return np.asarray(products * polynomial(np.asarray(self.coefficients)[:, field], z), dtype=complex)

    def _distinct(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        exponents, anchors = np.asarray(self.exponents), np.asarray(self.anchors)
        return [_distinct(*pair) for pair in zip(exponents.T, anchors.T, strict=True)]

    def _factors(
        self,
        ticked: list[tuple[np.ndarray, np.ndarray | None]],
        field: int,
        distinct: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    ) -> list[_Factor]:
        """g(κz) along every axis at its ticks, for its distinct κ: few factors make many products."""
        found = []
        for factor, (ticks, which), (kappa, anchor, own) in zip(
            self.factors[field], ticked, distinct, strict=True
        ):
            wave = _plain(kappa) if factor == "exp" else kappa
            value = wave_factor(factor, wave, ticks[:, None] - anchor, np)
            found.append(_Factor(value, ticks, which, own))
        return found

    def _products(self, factors: list[_Factor], block: slice) -> tuple[np.ndarray, np.ndarray]:
        """Π_i g_i(κ_i z_i) of every mode at the points of a block, and the z of its powers."""
        # Real factors first: from the first complex factor on, the product is complex and costs twice as much.
        tables = sorted((factor.at(block) for factor in factors), key=np.iscomplexobj)
        along = factors[self.along]
        z = along.coordinates(block)[:, None] - np.asarray(self.anchors)[:, self.along]
        return reduce(np.multiply, tables), z


@dataclass(frozen=True)
class _Factor:
    """g(κz) along an axis, (ticks, distinct κ), with the tick of each point and the κ of each mode."""

    values: np.ndarray
    ticks: np.ndarray
    which: np.ndarray | None  # None if every point has its own tick
    own: np.ndarray

    def at(self, block: slice) -> np.ndarray:
        return np.take(self.values[self._rows(block)], self.own, axis=1)

    def coordinates(self, block: slice) -> np.ndarray:
        return np.asarray(self.ticks[self._rows(block)])

    def _rows(self, block: slice) -> Any:
        return block if self.which is None else self.which[block]


def _ticks(x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """The distinct coordinates (ticks), and the tick of each point: on faces and grids coordinates repeat."""
    ticks, which = np.unique(x, return_inverse=True)
    return (ticks, which) if len(ticks) < len(x) else (x, None)


def _plain(numbers: np.ndarray) -> np.ndarray:
    """The numbers as real ones if no imaginary part is left: products then cost a third."""
    return numbers if numbers.imag.any() else numbers.real


def _distinct(kappa: np.ndarray, anchor: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct (κ, anchor) along an axis, and which one each mode has: few waves make many products."""
    pairs = np.stack([kappa.real, kappa.imag, anchor], axis=1)
    few, own = np.unique(pairs, axis=0, return_inverse=True)
    return few[:, 0] + 1j * few[:, 1], few[:, 2], own


class ModalForm(Tree):
    """u = Σ of families of waves: those whose coefficients meet the conditions, and a particular solution."""

    in_parts: ClassVar[str] = "exact solutions of the equations, fitted to the conditions alone"

    parts: tuple[Waves, ...]

    def __call__(self, point: Any) -> Any:
        import jax.numpy as jnp

        return jnp.sum(jnp.stack([part(point) for part in self.parts]), axis=0)

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        points = np.asarray(points, dtype=float)
        found = {order: np.zeros((len(points), len(self.parts[0].factors))) for order in orders}
        for part in self.parts:
            # Derivatives that turn no sine into a cosine (all even ones) differ only in their coefficients.
            alike: dict[Factors, list[tuple[Orders, Waves]]] = {}
            for order in orders:
                one = part.derivative(order)
                alike.setdefault(one.factors, []).append((order, one))
            for group in alike.values():
                values = group[0][1].at(points, [np.asarray(one.coefficients) for _, one in group])
                for (order, _), own in zip(group, values, strict=True):
                    found[order] += own
        return found

    def spec(self) -> dict[str, Any]:
        parts = [
            {"shape": list(np.shape(part.coefficients)), "factors": part.factors, "along": part.along}
            for part in self.parts
        ]
        return {"kind": "modes", "parts": parts}

    @property
    def parameters(self) -> int:
        """The number of modes: each has one coefficient."""
        return sum(len(part.exponents) for part in self.parts)


def polynomial(c: Any, z: Any) -> Any:
    """Σ_j c_j z^j/j! of every mode, c (modes, powers), by Horner's rule."""
    value = c[:, -1]
    for j in range(c.shape[1] - 1, 0, -1):
        value = value * z / j + c[:, j - 1]
    return value


def waves(family: Family) -> Waves:
    return Waves(family.coefficients, family.exponents, family.anchors, family.factors, family.along)


def modal_skeleton(axes: int, spec: dict[str, Any]) -> ModalForm:
    """A sum of modes of the structure `spec` describes, all numbers zero."""
    parts = []
    for part in spec["parts"]:
        modes, fields, powers = part["shape"]
        arrays = np.zeros((modes, fields, powers), complex), np.zeros((modes, axes), complex)
        factors = tuple(tuple(row) for row in part["factors"])
        parts.append(Waves(*arrays, np.zeros((modes, axes)), factors, part["along"]))
    return ModalForm(tuple(parts))


def _lowered(c: np.ndarray, kappa: np.ndarray, order: int) -> np.ndarray:
    """∂^n Σ_j c_j z^j/j! e^{κz} = Σ_j c′_j z^j/j! e^{κz},  c′_j = Σ_i C(n, i) κ^{n−i} c_{j+i}."""
    powers = c.shape[2]
    lowered = np.zeros_like(c)
    for j in range(powers):
        for i in range(min(order, powers - 1 - j) + 1):
            lowered[:, :, j] += math.comb(order, i) * (kappa ** (order - i))[:, None] * c[:, :, j + i]
    return lowered
