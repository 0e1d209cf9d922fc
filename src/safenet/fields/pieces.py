"""u(x, t) = Σ_k Σ_m a_km^(p) φ_k(x) T_m(t) for t in piece p: series in space, polynomials in many pieces of time.

All pieces use the same functions, so a thousand of them are one array. Without space axes it is the result of an
integrator of ordinary differential equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ..problem import Problem
from ..trees import Tree, static
from .basis import AxisBasis
from .field import Orders, volume
from .series import BLOCK, SCATTERED, Bases, asked, contract, contractions

NUMBERS, LEAST = 2**17, 64  # at most so many numbers in a block's table, at least so many points


class TimePieces(Tree):
    """Coefficients (pieces, functions of each space axis …, degree + 1) of each field; nan beyond the last break.

    `error` is the solver's own estimate: the relative error of each field, then of all together; nan if unknown.
    """

    in_parts: ClassVar[str] = "pieces of time with a polynomial in each"

    coefficients: tuple[Any, ...]  # NumPy or JAX arrays
    breaks: Any
    error: Any
    space: Bases = static()

    @property
    def parameters(self) -> int:
        return sum(int(np.size(own)) for own in self.coefficients)

    @property
    def degree(self) -> int:
        return int(np.shape(self.coefficients[0])[-1]) - 1

    @property
    def _unit(self) -> AxisBasis:
        return AxisBasis("chebyshev", self.degree, -1.0, 1.0)

    def __call__(self, point: Any) -> Any:
        import jax.numpy as jnp

        breaks, t = jnp.asarray(self.breaks, point.dtype), point[-1]
        which = jnp.searchsorted(breaks[1:-1], t, side="right")
        low, high = breaks[which], breaks[which + 1]
        within = self._unit((2 * t - low - high) / (high - low), 0, jnp)
        values = []
        for own, bases in zip(self.coefficients, self.space, strict=True):
            value = jnp.asarray(own, point.dtype)[which] @ within
            for axis, basis in enumerate(bases):
                value = jnp.tensordot(basis(point[axis], 0, jnp), value, axes=1)
            values.append(value)
        return jnp.where(t <= breaks[-1], jnp.stack(values), jnp.nan)

    def jets(self, points: Any, orders: Sequence[Orders]) -> dict[Orders, Any]:
        points, breaks = np.asarray(points, dtype=float), np.asarray(self.breaks)
        found = {order: np.empty((len(points), len(self.space))) for order in orders}
        # Sorted by time, a block of points meets few pieces, and its tables stay in the cache.
        sorted_ = np.argsort(points[:, -1], kind="stable")
        widest = max((basis.size for bases in self.space for basis in bases), default=1)
        size = min(BLOCK, max(LEAST, NUMBERS // widest))
        for start in range(0, len(points), size):
            here = sorted_[start : start + size]
            block = points[here]
            which = np.searchsorted(breaks[1:-1], block[:, -1], side="right")
            length = breaks[which + 1] - breaks[which]
            z = (2 * block[:, -1] - breaks[which] - breaks[which + 1]) / length
            times = {
                k: self._unit(z, k) * ((2 / length) ** k)[:, None] for k in {order[-1] for order in orders}
            }
            unknown = block[:, -1] > breaks[-1]
            tables = {
                (i, basis): basis.tables(block[:, i], asked(basis, i, orders))
                for i, basis in {pair for bases in self.space for pair in enumerate(bases)}
            }
            for f in range(len(self.space)):
                for order, values in self._field(f, which, orders, times, tables).items():
                    values[unknown] = np.nan
                    found[order][here, f] = values
        return found

    def _field(
        self,
        f: int,
        which: np.ndarray,
        orders: Sequence[Orders],
        times: dict[int, np.ndarray],
        of: dict[tuple[int, AxisBasis], dict[int, np.ndarray]],
    ) -> dict[Orders, np.ndarray]:
        """One field at points sorted by their pieces `which`; contractions that derivatives share are done once."""
        own, bases = np.asarray(self.coefficients[f]), self.space[f]
        if not bases:
            return {order: np.einsum("pk,pk->p", own[which], times[order[-1]]) for order in orders}
        found = {order: np.empty(len(which)) for order in orders}
        tables = [*(of[i, basis] for i, basis in enumerate(bases)), times]
        for low, high in pairwise((0, *(np.flatnonzero(np.diff(which)) + 1).tolist(), len(which))):
            here = [{k: table[low:high] for k, table in one.items()} for one in tables]
            for order, values in contractions(own[which[low]], bases[0], here, orders).items():
                found[order][low:high] = values
        return found

    def jump_integrals(
        self, problem: Problem, axis: int, orders: int, points: np.ndarray
    ) -> np.ndarray | None:
        """The jumps at every break in time, averaged over some of the points."""
        if axis != problem.time:
            return None
        ends = [self._unit(np.array([-1.0, 1.0]), k) for k in range(orders)]
        half = np.diff(np.asarray(self.breaks)) / 2
        totals = np.zeros((orders, len(self.space)))
        for f, (own, bases) in enumerate(zip(self.coefficients, self.space, strict=True)):
            tables = [basis(points[:SCATTERED, i]) for i, basis in enumerate(bases)]
            for k, (first, last) in enumerate(ends):
                rates = (half**-k).reshape(-1, *[1] * len(bases))
                jump = ((np.asarray(own) @ last) * rates)[:-1] - ((np.asarray(own) @ first) * rates)[1:]
                sizes = [np.mean(np.abs(contract(one, tables))) for one in jump] if bases else np.abs(jump)
                totals[k, f] = np.sum(sizes)
        return totals * volume(problem) / problem.axes[axis].length

    def moved(self, order: int) -> np.ndarray:
        """Σ |change of u^(order) over a piece| of each field without space: at most ∫ |u^(order + 1)| dt."""
        ends = np.diff(self._unit(np.array([-1.0, 1.0]), order), axis=0)[0]
        rates = (np.diff(np.asarray(self.breaks)) / 2) ** -order
        return np.array([np.abs((np.asarray(own) @ ends) * rates).sum() for own in self.coefficients])

    def spec(self) -> dict[str, Any]:
        return {
            "kind": "time-pieces",
            "pieces": len(self.breaks) - 1,
            "degree": self.degree,
            "space": [[asdict(b) for b in bases] for bases in self.space],
        }


def pieces_skeleton(spec: dict[str, Any]) -> TimePieces:
    """Time pieces of the structure `spec` describes, all numbers zero."""
    space = tuple(tuple(AxisBasis(**basis) for basis in axes) for axes in spec["space"])
    count, width = spec["pieces"], spec["degree"] + 1
    coefficients = tuple(np.zeros((count, *(basis.size for basis in axes), width)) for axes in space)
    return TimePieces(coefficients, np.zeros(count + 1), np.zeros(len(space) + 1), space)


def hermite(ends: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Chebyshev coefficients of the polynomials with given derivatives 0, 1, …, m at both ends of each piece.

    `ends` is (breaks, fields, m + 1), `halves` half of each piece's length; the result is (pieces, fields, 2m + 2).
    """
    known = ends.shape[-1]
    unit = AxisBasis("chebyshev", 2 * known - 1, -1.0, 1.0)
    rows = np.concatenate([unit(np.array([-1.0, 1.0]), k) for k in range(known)])
    scaled = halves[:, None, None] ** np.arange(known)
    both = np.stack([ends[:-1] * scaled, ends[1:] * scaled], axis=-1)
    return np.asarray(both.reshape(*both.shape[:2], -1) @ np.linalg.inv(rows).T)
