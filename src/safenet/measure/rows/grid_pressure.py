"""[A B; C 0]⁻¹ (f, g) on a tensor grid, for an unknown that its own equation does not contain: a pressure and ∇·v = 0.

Elimination of v = A⁻¹(f − B p) leaves S p = C A⁻¹ f − g with S = C A⁻¹ B. Without walls C and B commute with A = a − νΔ
and S⁻¹ = A E⁻¹ with E = C B; between walls that is a good preconditioner (Cahouet & Chabard, 1988). E is a sum of
products D_i G_i of one axis each, and so diagonal in their eigenvectors.

p has no values on the faces: it is a polynomial two degrees below v's, on v's inner nodes. So it has no spurious modes
(Bernardi & Maday, 1992), and with an odd number of nodes ∮ v·n = 0 is exactly the condition for a solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
import sympy as sp

from ...problem import Problem
from ...problem.jets import Jet
from ..thresholds import DEGENERATE
from .grid_lines import Line, each

Means = list[dict[sp.Symbol, float]]  # for every equation: jet → the mean of its coefficient
Modes = np.ndarray  # (fields, *space, modes in time)


def pressure(problem: Problem, owner: Sequence[int], lines: Sequence[Sequence[Line]]) -> int | None:
    """The field that is not in the equation it owns, if its polynomials differ from those of the others."""
    for equation, f in zip(problem.equations, owner, strict=True):
        name = problem.unknowns[f]
        absent = all(jet.field != name for jet in equation.jets.values())
        if absent and any(other != lines[f] for other in lines):
            return f
    return None


class Schur:
    """C, B and S⁻¹ with mean coefficients, for one `field`; `rates` are the eigenvalues of ∂_t in a slab."""

    def __init__(
        self,
        problem: Problem,
        owner: Sequence[int],
        lines: Sequence[Sequence[Line]],
        field: int,
        means: Means,
        rates: np.ndarray,
    ) -> None:
        self.problem, self.lines, self.owner, self.field, self.means = problem, lines, owner, field, means
        self.jets = {symbol: jet for equation in problem.equations for symbol, jet in equation.jets.items()}
        self.own = list(owner).index(field)
        self.C = [(c, self._of(jet), jet) for c, jet in self._terms(self.own)]
        self.B = [
            (e, b, jet)
            for e in range(len(owner))
            for b, jet in self._terms(e)
            if e != self.own and self._of(jet) == field
        ]
        found = [self._along(axis) for axis in range(len(lines[0]))]
        values, self._vectors = [v for v, _, _ in found], [v for _, v, _ in found]
        self._inverses = [np.linalg.inv(v) for v in self._vectors]
        total = reduce(np.add.outer, values)
        laplace = [
            c / beta if beta else 0.0 for c, (_, _, beta) in zip(self._diffusion(), found, strict=True)
        ]
        decay = reduce(np.add.outer, [c * v for c, v in zip(laplace, values, strict=True)])
        blind = np.abs(total) < DEGENERATE * np.abs(total).max()
        inverse = np.where(blind, 0.0, 1 / np.where(blind, 1.0, total))
        rate, still = self._rate()
        self._symbol = inverse[..., None] * (decay[..., None] + rate * rates + still)

    def _of(self, jet: Jet) -> int:
        return self.problem.unknowns.index(jet.field)

    def _terms(self, equation: int) -> list[tuple[float, Jet]]:
        return [(mean, self.jets[symbol]) for symbol, mean in self.means[equation].items()]

    def _moved(self, jet: Jet, values: np.ndarray) -> np.ndarray:
        orders = zip(self.lines[self._of(jet)], jet.orders, strict=False)
        return each([line.derivative(order) if order else None for line, order in orders], values)

    def _along(self, axis: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Eigenvalues and eigenvectors of Σ c b D G along an axis, and Σ c b."""

        def first(jet: Jet) -> bool:
            return sum(jet.orders) == jet.orders[axis] == 1

        G = self.lines[self.field][axis].derivative(1)
        pairs = [
            (c * b, self.lines[f][axis].derivative(1) @ G)
            for c, f, one in self.C
            for e, b, other in self.B
            if self.owner[e] == f and first(one) and first(other)
        ]
        matrix = reduce(np.add, (weight * product for weight, product in pairs), np.zeros(G.shape))
        values, vectors = np.linalg.eig(matrix)
        return values, vectors, sum(weight for weight, _ in pairs)

    def _own_terms(self, kind: Callable[[Jet], bool]) -> float:
        """The mean, over the fields in C, of a coefficient in their own equations."""
        carried = sorted({f for _, f, _ in self.C})
        found = [
            sum(c for c, jet in self._terms(list(self.owner).index(f)) if self._of(jet) == f and kind(jet))
            for f in carried
        ]
        return float(np.mean(found))

    def _diffusion(self) -> list[float]:
        return [
            self._own_terms(lambda jet, axis=axis: sum(jet.orders) == jet.orders[axis] == 2)  # type: ignore[misc]
            for axis in range(len(self.lines[0]))
        ]

    def _rate(self) -> tuple[float, float]:
        return self._own_terms(lambda jet: sum(jet.orders) == jet.orders[-1] == 1), self._own_terms(
            lambda jet: not any(jet.orders)
        )

    def solve(self, rows: Modes, invert: Callable[[Modes], Modes]) -> Modes:
        """(v, p) from (f, g); `invert` applies A⁻¹ to all rows but p's own, with the fields in order."""
        others = [e for e in range(len(rows)) if e != self.own]
        carried = [f for f in range(len(rows)) if f != self.field]
        first = dict(zip(carried, invert(rows[others]), strict=True))
        lacking = reduce(np.add, (c * self._moved(jet, first[f]) for c, f, jet in self.C)) - rows[self.own]
        p = each(self._vectors, self._symbol * each(self._inverses, lacking))
        pushed = np.zeros_like(rows)
        for e, b, jet in self.B:
            pushed[e] += b * self._moved(jet, p)
        moved = dict(zip(carried, invert(pushed[others]), strict=True))
        return np.stack([p if f == self.field else first[f] - moved[f] for f in range(len(rows))])
