"""∫ (c u_xx + …) v = −∫ c u_x v_x − ∫ c_x u_x v + ∮ c u_x n_x v + …: polynomials of degree p on rectangles, continuous.

The unknowns are values at Gauss–Lobatto nodes. Those inside a rectangle are eliminated there, the others by a sparse
factorisation, which needs no definite form: it handles waves as well as diffusion.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy
import sympy as sp

from ...measure.points import coordinates
from ...measure.relative import ratio
from ...problem import Problem
from ...problem.evaluate import evaluate
from ...problem.facts.elliptic import Elliptic, Side
from ...problem.jets import Orders
from .mesh import Mesh, on_side

chebyshev = np.polynomial.chebyshev
legendre = np.polynomial.legendre
EPS = float(np.finfo(float).eps)


@cache
def reference(p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """On [−1, 1]: nodes, Gauss points and weights, the Lagrange polynomials there, their slopes, and nodes → T_k."""
    inner = np.sort(legendre.Legendre.basis(p).deriv().roots().real)
    nodes = np.concatenate([[-1.0], inner, [1.0]])
    points, weights = legendre.leggauss(p + 2)
    to_chebyshev = np.linalg.inv(chebyshev.chebvander(nodes, p))
    values = chebyshev.chebvander(points, p) @ to_chebyshev
    slopes = chebyshev.chebval(points, chebyshev.chebder(np.eye(p + 1), axis=0)).T @ to_chebyshev
    return nodes, points, weights, values, slopes, to_chebyshev


class Galerkin:
    """The equations of one mesh and one degree."""

    def __init__(self, problem: Problem, system: Elliptic, mesh: Mesh, degree: int) -> None:
        self.problem, self.system, self.mesh, self.p = problem, system, mesh, degree
        self.fields, self.n, self.cells = len(problem.unknowns), degree + 1, mesh.cells
        self.noise = 0.0  # relative error of the solution due to rounding
        x, y = (axis.symbol for axis in problem.axes)
        # Integration by parts of a varying coefficient leaves −c_x u_x v.
        self.weak: list[dict[tuple[int, Orders, Orders], sp.Expr]] = []
        for terms in system.terms:
            own: dict[tuple[int, Orders, Orders], sp.Expr] = {}
            for (f, orders), c in terms.items():
                if sum(orders) == 2:
                    first = (orders[0] // 2, orders[1] // 2)
                    own[f, first, first] = -c
                    c, orders = -c.diff(x if orders[0] else y), first
                own[f, orders, (0, 0)] = own.get((f, orders, (0, 0)), sp.Integer(0)) + c
            self.weak.append({key: c for key, c in own.items() if c != 0})
        local = np.arange(self.n)
        self.globals = np.array(
            [
                (degree * i + local)[:, None] * (degree * len(mesh.lines[1]) + 1) + (degree * j + local)
                for i, j in mesh.places
            ]
        )
        edge = (local == 0) | (local == degree)
        self.rim = np.flatnonzero((edge[:, None] | edge).ravel())
        self.inner = np.flatnonzero(~(edge[:, None] | edge).ravel())

    @property
    def size(self) -> int:
        return self.fields * len(self.mesh.places) * self.p**2

    # ---- within a rectangle

    def _values(self, expression: sp.Expr, at: np.ndarray) -> Any:
        with np.errstate(all="ignore"):
            found = evaluate(expression, coordinates(self.problem, at), np)
        return np.broadcast_to(np.asarray(found, float), len(at))

    @cached_property
    def _everywhere(self) -> dict[sp.Expr, np.ndarray]:
        """Every coefficient and source at the Gauss points of all rectangles: (rectangles, points, points)."""
        points = reference(self.p)[1]
        box = np.array(self.mesh.cells)
        ticks = box.mean(axis=2)[..., None] + np.diff(box, axis=2) / 2 * points
        shape = len(box), len(points), len(points)
        at = [np.broadcast_to(ticks[:, 0, :, None], shape), np.broadcast_to(ticks[:, 1, None, :], shape)]
        every = np.stack([one.ravel() for one in at], axis=1)
        wanted = {c for terms in self.weak for c in terms.values()} | set(self.system.sources)
        return {c: self._values(c, every).reshape(shape) for c in wanted}

    def _element(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The matrix and the right-hand side of one rectangle, (fields · nodes)."""
        _, points, weights, values, slopes, _ = reference(self.p)
        (a, b), (c, d) = self.cells[number]
        half = np.array([b - a, d - c]) / 2
        measure, count, n = np.outer(weights, weights) * half.prod(), len(points), self.n
        tables = [(values, slopes / half[0]), (values, slopes / half[1])]
        matrix = np.zeros((self.fields, n * n, self.fields, n * n))
        right = np.zeros((self.fields, n * n))
        for e, terms in enumerate(self.weak):
            for (f, trial, test), c in terms.items():
                weight = measure * self._everywhere[c][number]
                pairs = [
                    (tables[i][test[i]][:, :, None] * tables[i][trial[i]][:, None, :]).reshape(count, -1)
                    for i in range(2)
                ]
                block = (pairs[0].T @ weight @ pairs[1]).reshape(n, n, n, n)
                matrix[e, :, f] += block.transpose(0, 2, 1, 3).reshape(n * n, n * n)
            source = measure * self._everywhere[self.system.sources[e]][number]
            right[e] = (values.T @ source @ values).ravel()
        return matrix, right

    # ---- on a side

    def _condition(self, side: Side, f: int, at: np.ndarray) -> tuple[dict[int, Any], Any, Any]:
        """The coefficients of the values, by unknown, that of the slope, and the given value."""
        condition, slope = side.conditions[f], np.zeros(len(at))
        values: dict[int, Any] = {}
        normals = np.zeros((len(at), 2))
        normals[:, side.axis] = side.sign
        at = np.column_stack([at, normals])
        for symbol, jet in condition.jets.items():
            coefficient = self._values(self.problem.value(condition.coefficient(symbol)), at)
            if not sum(jet.orders):
                field = self.problem.unknowns.index(jet.field)
                values[field] = values.get(field, 0.0) + coefficient
            elif jet.orders[side.axis]:
                slope = slope + coefficient
        return values, slope, self._values(self.problem.value(condition.source), at)

    def _sides(self, matrices: list[np.ndarray], rights: list[np.ndarray]) -> dict[int, float]:
        """Add given slopes to the rectangles' integrals; returns {number of an unknown: value} of given values."""
        given: dict[int, float] = {}
        nodes, points, weights, values, _, _ = reference(self.p)
        for side in self.system.sides:
            along = self.mesh.lines[1 - side.axis]
            for number, k in on_side(self.mesh, side):
                middle, half = (along[k] + along[k + 1]) / 2, (along[k + 1] - along[k]) / 2
                own = np.arange(self.n**2).reshape(self.n, self.n)
                end = -1 if side.sign > 0 else 0
                line = own[end] if side.axis == 0 else own[:, end]
                for f in range(self.fields):
                    ticks = middle + half * (points if side.slopes[f] else nodes)
                    at = np.full((len(ticks), 2), side.place)
                    at[:, 1 - side.axis] = ticks
                    others, slope, g = self._condition(side, f, at)
                    if not side.slopes[f]:
                        numbers = self.globals[number].ravel()[line] * self.fields + f
                        given |= dict(zip(numbers.tolist(), (g / others[f]).tolist(), strict=True))
                        continue
                    orders = (2, 0) if side.axis == 0 else (0, 2)
                    flux = side.sign * self._values(self.system.terms[f][f, orders], at) / slope
                    weight = half * weights * flux
                    rights[number][f, line] -= values.T @ (weight * g)
                    for other, c in others.items():
                        block = values.T @ ((weight * c)[:, None] * values)
                        matrices[number][f, line[:, None], other, line] -= block
        return given

    # ---- the whole system

    def solve(self) -> np.ndarray:
        """Chebyshev coefficients, (rectangles, fields, p + 1, p + 1)."""
        count = len(self.mesh.places)
        elements = [self._element(number) for number in range(count)]
        matrices, rights = [m for m, _ in elements], [r for _, r in elements]
        given = self._sides(matrices, rights)
        rim, inner = (
            (np.arange(self.fields)[:, None] * self.n**2 + part).ravel() for part in (self.rim, self.inner)
        )
        rows, columns, entries, loads, kept = [], [], [], [], []
        for number, (matrix, right) in enumerate(zip(matrices, rights, strict=True)):
            whole, load = matrix.reshape(self.fields * self.n**2, -1), right.ravel()
            coupled = np.concatenate([whole[np.ix_(inner, rim)], load[inner, None]], axis=1)
            solved = np.linalg.solve(whole[np.ix_(inner, inner)], coupled)
            outward = whole[np.ix_(rim, inner)]
            names = (
                self.globals[number].ravel()[self.rim] * self.fields + np.arange(self.fields)[:, None]
            ).ravel()
            entries.append((whole[np.ix_(rim, rim)] - outward @ solved[:, :-1]).ravel())
            rows.append(np.repeat(names, len(rim)))
            columns.append(np.tile(names, len(rim)))
            loads.append((names, load[rim] - outward @ solved[:, -1]))
            kept.append((names, solved))
        known = np.unique(np.concatenate([names for names, _ in loads]))
        values = self._skeleton(known, rows, columns, entries, loads, given)
        found = np.empty((count, self.fields, self.n**2))
        for number, (names, solved) in enumerate(kept):
            at = values[np.searchsorted(known, names)]
            nodes = np.empty(self.fields * self.n**2)
            nodes[rim], nodes[inner] = at, solved[:, -1] - solved[:, :-1] @ at
            found[number] = nodes.reshape(self.fields, -1)
        to_chebyshev = reference(self.p)[-1]
        shaped = found.reshape(count, self.fields, self.n, self.n)
        return np.asarray(np.einsum("ka,cfab,lb->cfkl", to_chebyshev, shaped, to_chebyshev, optimize=True))

    def _skeleton(
        self,
        known: np.ndarray,
        rows: list[np.ndarray],
        columns: list[np.ndarray],
        entries: list[np.ndarray],
        loads: list[tuple[np.ndarray, np.ndarray]],
        given: dict[int, float],
    ) -> np.ndarray:
        """The values on the sides of the rectangles, in the order of their numbers `known`."""
        size = len(known)
        right = np.zeros(size)
        for names, load in loads:
            np.add.at(right, np.searchsorted(known, names), load)
        at = [np.searchsorted(known, np.concatenate(part)) for part in (rows, columns)]
        matrix = scipy.sparse.csc_array((np.concatenate(entries), (at[0], at[1])), shape=(size, size))
        values, free = np.zeros(size), np.ones(size, bool)
        fixed = np.searchsorted(known, np.array(list(given), dtype=int))
        values[fixed], free[fixed] = list(given.values()), False
        reduced = matrix[free][:, free].tocsc()
        factor = scipy.sparse.linalg.splu(reduced, permc_spec="COLAMD")
        load = (right - matrix @ values)[free]
        solved = factor.solve(load)
        values[free] = solved + factor.solve(load - reduced @ solved)
        # The effect of rounding every entry and load: amplified by e^{1/ε} where convection leaves on all sides.
        # Relative to the largest value, even where this solution happens to be zero: another need not be.
        largest = np.full(size, np.abs(values).max(initial=0.0))
        rounding = EPS * (abs(matrix) @ largest + np.abs(right))[free]
        moved = factor.solve(rounding * np.random.default_rng(size).choice([-1.0, 1.0], size=len(load)))
        self.noise = ratio(moved, values)
        return values
