"""F(u, u_t, ∂^α u) = 0 at the nodes of a tensor grid in a slab of time: a square system that is never formed.

Along an axis the values w at the inner nodes and the data g of the conditions on its faces fix the coefficients,

    a = E w + L g,   [E L] = [φ(nodes); B φ]⁻¹,

and time is an axis whose data are the values at the slab's start and whose nodes are Radau's. So ∂^α u at the nodes is
a product of small matrices, one for each axis, and Newton's equation is solved by GMRES. Its preconditioner replaces
every coefficient by its mean: D_t ⊗ 1 − Σ_i c_i ⊗ D_i is diagonal in the eigenvectors of each axis (fast
diagonalisation), except for a small matrix over the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy
import sympy as sp

from ...fields.basis import AxisBasis
from ...fields.series import LinearForm
from ...problem import Problem
from ...problem.evaluate import evaluate
from ...problem.jets import Jet
from ..relative import TINY
from ..thresholds import DEGENERATE, ENOUGH, FORCING, KRYLOV, RESTARTS
from .grid_conditions import on_faces, periodic, pins
from .grid_lines import Line, Terms, along, each, radau
from .grid_pressure import Schur, pressure
from .relation import Formula

# (field, time order, nodes of each space axis) → values at the slab's start on the grid of these nodes.
Start = Callable[[int, int, Sequence[np.ndarray]], np.ndarray]


def beginning(problem: Problem) -> Start:
    """The initial values that the conditions give."""

    def start(field: int, k: int, nodes: Sequence[np.ndarray]) -> np.ndarray:
        condition, symbol = next(
            (condition, symbol)
            for condition in problem.conditions
            if condition.initial
            for symbol, jet in condition.jets.items()
            if jet.field == problem.unknowns[field] and jet.orders[-1] == k
        )
        mesh = np.meshgrid(*nodes, indexing="ij")
        at = {axis.symbol: m for axis, m in zip(problem.axes, mesh, strict=False)}
        value = problem.value(condition.source / condition.coefficient(symbol))
        return np.broadcast_to(evaluate(value, at, np), [len(x) for x in nodes])

    return start


def continued(before: LinearForm, t: float) -> Start:
    """The values at the end of the slab before."""

    def start(field: int, k: int, nodes: Sequence[np.ndarray]) -> np.ndarray:
        *space, time = before.bases[field]
        state = np.tensordot(np.asarray(before.coefficients[field]), time(np.asarray(t), k), axes=1)
        return each([basis(x) for basis, x in zip(space, nodes, strict=True)], state)

    return start


@dataclass(frozen=True)
class Product:
    """v → J v as J @ v."""

    of: Callable[[np.ndarray], np.ndarray]

    def __matmul__(self, direction: np.ndarray) -> np.ndarray:
        return self.of(direction)


class TensorRows:
    """The rows of a problem on `counts` nodes of each space axis and `stages` of time in `span`."""

    def __init__(
        self, problem: Problem, counts: Sequence[int], stages: int, span: tuple[float, float], start: Start
    ) -> None:
        self.problem, self.counts, self.span, self.products = problem, tuple(counts), span, 0
        self.forcing = FORCING
        self.unfinished = False  # whether the last step left more of the residual than that
        fields = range(len(problem.unknowns))
        self.lines = [[self._line(f, axis, count) for axis, count in enumerate(counts)] for f in fields]
        t0, length = span[0], span[1] - span[0]
        self.times = t0 + length * radau(stages)
        self.time_bases = [
            AxisBasis("chebyshev", stages if problem.time_order(name) else stages - 1, *span)
            for name in problem.unknowns
        ]
        # u_t = D u + d u₀ for polynomials through the start; u_tt follows from u_t by the same rule.
        whole = AxisBasis("chebyshev", stages, *span)
        slope = whole(self.times, 1) @ np.linalg.inv(whole(np.append(self.times, t0)))
        self.rate, self.rate_start = slope[:, :-1], slope[:, -1]
        self.shape = (len(problem.unknowns), *self.counts, stages)
        self.started = [self._started(f, start) for f in fields]
        self.lifted = [self._lifted(f, self.times) for f in fields]
        self.pins = pins(problem)
        self.jets = {symbol: jet for equation in problem.equations for symbol, jet in equation.jets.items()}
        self.equations = [Formula.of(problem, equation) for equation in problem.equations]
        mesh = np.meshgrid(*self._nodes(self.lines[0]), indexing="ij")
        self.coordinates = {a.symbol: m for a, m in zip(problem.axes, mesh, strict=True)}
        self._rates, vectors = np.linalg.eig(self.rate)
        self._stages, self._unstaged = vectors, np.linalg.inv(vectors)
        self._owner, self._constant = self._owners(), self._has_constant_coefficients()
        found = [
            [line.eigenvectors(self._terms(f, axis)) for axis, line in enumerate(self.lines[f])]
            for f in fields
        ]
        self._vectors = [[vectors for vectors, _ in axes] for axes in found]
        self._inverses = [[inverse for _, inverse in axes] for axes in found]
        self.separable = self._constant and all(
            line.diagonal(self._terms(0, axis)) for axis, line in enumerate(self.lines[0])
        )
        self._oscillating = any(np.iscomplexobj(v) for axes in self._vectors for v in axes)
        self._pressure = pressure(problem, self._owner, self.lines)
        self._carried = [f for f in fields if f != self._pressure]

    @property
    def unknowns(self) -> int:
        return int(np.prod(self.shape))

    @property
    def work(self) -> float:
        """Multiplications so far, in products with the Jacobian and its preconditioner."""
        each_axis = self.unknowns * sum(self.shape[1:])
        return self.products * each_axis * (8 + len(self.jets) / len(self.problem.unknowns))

    def _line(self, field: int, axis: int, count: int) -> Line:
        problem, name = self.problem, self.problem.unknowns[field]
        low, high = problem.axes[axis].lo, problem.axes[axis].hi
        if periodic(problem, axis):
            return Line(AxisBasis("periodic", count // 2, low, high), count)
        conditions = on_faces(problem, axis, name)
        boundary = tuple(
            tuple(
                (float(problem.value(c.coefficient(s))), self._place(jet, axis), jet.orders[axis])
                for s, jet in c.jets.items()
            )
            for c in conditions
        )
        return Line(AxisBasis("chebyshev", count + len(conditions) - 1, low, high), count, boundary)

    def _place(self, jet: Jet, axis: int) -> float:
        place = jet.place[axis]
        assert place is not None
        return float(self.problem.value(place))

    def _lifted(self, field: int, times: np.ndarray, order: int = 0) -> np.ndarray:
        """What the data on the faces add to the coefficients at these times, or to their time derivative."""
        lines, problem = self.lines[field], self.problem
        total = np.zeros((*(line.basis.size for line in lines), len(times)))
        for axis in reversed(range(len(lines))):
            sources = [problem.value(c.source) for c in on_faces(problem, axis, problem.unknowns[field])]
            sources = (
                [source.diff(problem.axes[-1].symbol, order) for source in sources] if order else sources
            )
            if all(source == 0 for source in sources):
                continue
            # Axes before this one: values, to be extended. Axes after it: coefficients, from as many nodes.
            whole = [line.whole() for line in lines]
            nodes = [line.nodes if i < axis else whole[i].nodes for i, line in enumerate(lines)]
            nodes[axis] = np.zeros(1)
            mesh = np.meshgrid(*nodes, times, indexing="ij")
            at = {a.symbol: m for a, m in zip(problem.axes, mesh, strict=True)}
            data = [np.broadcast_to(evaluate(source, at, np), mesh[0].shape) for source in sources]
            matrices: list[np.ndarray | None] = [
                line.extension if i < axis else whole[i].extension for i, line in enumerate(lines)
            ]
            matrices[axis] = lines[axis].lift
            total += each(matrices, np.concatenate(data, axis=axis))
        return total

    def _started(self, field: int, start: Start) -> list[np.ndarray]:
        """The coefficients of u, and of u_t where the equation has u_tt, at the slab's start."""
        lines, begin = self.lines[field], np.array(self.span[:1])
        nodes = [line.dense[0] for line in lines]
        tables = [line.basis(x) for line, x in zip(lines, nodes, strict=True)]
        found = []
        for k in range(self.problem.time_order(self.problem.unknowns[field])):
            lifted = self._lifted(field, begin, k)[..., 0]
            rest = np.asarray(start(field, k, nodes) - each(tables, lifted))
            inner = each([line.extension @ line.dense[1] for line in lines], rest)
            found.append(np.asarray(inner + lifted))
        return found

    @property
    def starting_tails(self) -> np.ndarray:
        """For each space axis the share of the initial values' coefficients in its highest modes."""
        begun = [(f, started[0]) for f, started in enumerate(self.started) if started]
        tails = np.max(
            [[line.basis.tail(a, i) for i, line in enumerate(self.lines[f])] for f, a in begun], axis=0
        )
        return np.asarray(tails)

    def guess(self) -> np.ndarray:
        """u₀ at every node, and zero for fields without initial values."""
        values = np.zeros(self.shape)
        for f, started in enumerate(self.started):
            if started:
                tables: list[np.ndarray | None] = [line.table(0) for line in self.lines[f]]
                values[f] = each(tables, started[0])[..., None]
        return values.ravel()

    def at_nodes(self, form: LinearForm) -> np.ndarray:
        """The values at the nodes of a form on the same slab."""
        fields = zip(form.coefficients, form.bases, self.lines, strict=True)
        return np.stack(
            [
                each([basis(x) for basis, x in zip(bases, self._nodes(lines), strict=True)], np.asarray(a))
                for a, bases, lines in fields
            ]
        ).ravel()

    def _nodes(self, lines: Sequence[Line]) -> list[np.ndarray]:
        return [*(line.nodes for line in lines), self.times]

    def _coefficients(self, values: np.ndarray) -> list[np.ndarray]:
        """Coefficients in space; in time, still the values at the nodes."""
        fields = values.reshape(self.shape)
        return [
            each([line.extension for line in lines], fields[f]) + self.lifted[f]
            for f, lines in enumerate(self.lines)
        ]

    def _in_time(self, field: int, coefficients: np.ndarray, order: int) -> np.ndarray:
        for k in range(order):
            coefficients = (
                along(self.rate, coefficients, -1) + self.started[field][k][..., None] * self.rate_start
            )
        return coefficients

    def _values(self, values: np.ndarray) -> dict[sp.Symbol, np.ndarray]:
        coefficients, found = self._coefficients(values), dict(self.coordinates)
        for symbol, jet in self.jets.items():
            f = self.problem.unknowns.index(jet.field)
            tables: list[np.ndarray | None] = [
                line.table(order) for line, order in zip(self.lines[f], jet.orders, strict=False)
            ]
            found[symbol] = each(tables, self._in_time(f, coefficients[f], jet.orders[-1]))
        return found

    def _residual(self, at: dict[sp.Symbol, np.ndarray]) -> np.ndarray:
        return np.stack([np.broadcast_to(f.residual_at(at), self.shape[1:]) for f in self.equations])

    def residual(self, values: np.ndarray) -> np.ndarray:
        return self._preconditioned(self._residual(self._values(values)))

    def linearise(self, values: np.ndarray) -> tuple[Any, np.ndarray]:
        """The Jacobian as an operator, and the residual, both preconditioned with the coefficients at these values."""
        at = self._values(values)
        slopes = [
            {s: np.broadcast_to(slope, self.shape[1:]) for s, slope in formula.slopes_at(at).items()}
            for formula in self.equations
        ]
        means = [{s: float(c.mean()) for s, c in row.items()} for row in slopes]
        self._factor = self._symbol(means)
        if self._pressure is not None:
            carried = self.problem, self._owner, self.lines
            self._schur = Schur(*carried, self._pressure, means, self._rates)

        def product(direction: np.ndarray) -> np.ndarray:
            self.products += 1
            fields = direction.reshape(self.shape)
            moved = {symbol: self._moved(jet, fields) for symbol, jet in self.jets.items()}
            rows = [reduce(np.add, (c * moved[s] for s, c in row.items())) for row in slopes]
            return self._preconditioned(np.stack(rows))

        return Product(product), self._preconditioned(self._residual(at))

    def _moved(self, jet: Jet, fields: np.ndarray) -> np.ndarray:
        """∂^α of a change of the values, at the nodes."""
        f = self.problem.unknowns.index(jet.field)
        matrices = [
            line.derivative(order) if order else None
            for line, order in zip(self.lines[f], jet.orders, strict=False)
        ]
        power = np.linalg.matrix_power(self.rate, jet.orders[-1]) if jet.orders[-1] else None
        return each([*matrices, power], fields[f])

    def solve(self, jacobian: Any, residual: np.ndarray) -> tuple[np.ndarray, float]:
        """The Newton step δ, and 0 for the minimum: Newton then takes another step unless this one was small."""
        if self.separable:
            return -residual - (residual - jacobian @ residual), 0.0
        operator = scipy.sparse.linalg.LinearOperator(
            (self.unknowns, self.unknowns), matvec=jacobian.__matmul__, dtype=float
        )
        step, unfinished = scipy.sparse.linalg.gmres(
            operator, -residual, rtol=self.forcing, restart=KRYLOV, maxiter=RESTARTS
        )
        self.unfinished = bool(unfinished)
        if unfinished and np.linalg.norm(jacobian @ step + residual) > ENOUGH * np.linalg.norm(residual):
            return np.full_like(step, np.nan), 0.0
        return step, 0.0

    def _owners(self) -> list[int]:
        """For each equation the unknown whose eigenvectors transform its rows: that of its highest derivatives."""
        unknowns = self.problem.unknowns
        if len(unknowns) == 1:
            return [0]
        score = np.zeros((len(unknowns), len(unknowns)))
        for e, equation in enumerate(self.problem.equations):
            for jet in equation.jets.values():
                f = unknowns.index(jet.field)
                score[e, f] = max(score[e, f], 100 * jet.orders[-1] + sum(jet.orders))
        return [int(f) for f in scipy.optimize.linear_sum_assignment(-score)[1]]

    def _terms(self, field: int, axis: int) -> Terms:
        """(k, c_k) of the derivatives along one axis: all of them where coefficients are constant, else the highest."""
        if not self._constant:
            return ((self.problem.order(axis, self.problem.unknowns[field]), 1.0),)
        (formula,) = self.equations
        orders = {self.jets[symbol].orders: float(slope) for symbol, slope in formula.slopes.items()}
        return tuple(sorted((alpha[axis], c) for alpha, c in orders.items() if alpha[axis]))

    def _has_constant_coefficients(self) -> bool:
        """Whether it is one equation Σ_i Σ_k c_ik ∂_i^k u = g with numbers c: then the preconditioner is exact."""
        return len(self.equations) == 1 and all(
            slope.is_number and sum(map(bool, self.jets[symbol].orders)) <= 1
            for formula in self.equations
            for symbol, slope in formula.slopes.items()
        )

    def _symbol(self, means: list[dict[sp.Symbol, float]]) -> np.ndarray:
        """The inverse of Σ_α c̄_α μ^α λ^α over the fields, for every mode in space and time."""
        count = len(self._carried)
        matrix = np.zeros((*self.shape[1:], count, count), dtype=complex)
        rows = [(owner, row) for owner, row in zip(self._owner, means, strict=True) if owner in self._carried]
        for e, (owner, row) in enumerate(rows):
            for symbol, mean in row.items():
                jet = self.jets[symbol]
                f = self.problem.unknowns.index(jet.field)
                if f not in self._carried or self.lines[f] != self.lines[owner]:
                    continue
                factors = [
                    np.einsum("ij,ji->i", self._inverses[f][i] @ self.lines[f][i].derivative(order), v)
                    for i, (v, order) in enumerate(zip(self._vectors[f], jet.orders, strict=False))
                ]
                matrix[..., e, self._carried.index(f)] += mean * reduce(
                    np.multiply.outer, [*factors, self._rates ** jet.orders[-1]]
                )
        if count == 1:
            return np.where(matrix == 0, 0.0, 1 / np.where(matrix == 0, 1.0, matrix))
        size = np.abs(matrix).max(axis=(-2, -1), keepdims=True)
        scaled = matrix / np.maximum(size, TINY)
        blind = np.abs(np.linalg.det(scaled)) < DEGENERATE
        if not np.isfinite(scaled).all():
            return np.full_like(matrix, np.nan)
        inverse = np.empty_like(matrix)
        inverse[~blind] = np.linalg.inv(scaled[~blind])
        inverse[blind] = np.linalg.pinv(scaled[blind], rcond=DEGENERATE)
        return np.asarray(inverse / np.maximum(size, TINY))

    def _preconditioned(self, rows: np.ndarray) -> np.ndarray:
        if self._pressure is not None:
            modes = self._schur.solve(along(self._unstaged, rows, -1), self._inverted)
            return along(self._stages, modes, -1).real.ravel()
        there = [each([*self._inverses[self._owner[e]], self._unstaged], row) for e, row in enumerate(rows)]
        modes = along(self._stages, np.einsum("...fe,e...->f...", self._factor, np.stack(there)), -1)
        modes = modes if self._oscillating else modes.real
        return np.stack([each(self._vectors[f], mode).real for f, mode in enumerate(modes)]).ravel()

    def _inverted(self, rows: np.ndarray) -> np.ndarray:
        """A⁻¹ of the rows: the same for all fields but a pressure, for modes in time."""
        owners = [owner for owner in self._owner if owner in self._carried]
        there = [each(self._inverses[owner], row) for owner, row in zip(owners, rows, strict=True)]
        modes = np.einsum("...fe,e...->f...", self._factor, np.stack(there))
        return np.stack([each(self._vectors[f], mode) for f, mode in zip(self._carried, modes, strict=True)])

    def form(self, values: np.ndarray) -> LinearForm:
        """The values as coefficients, in time too."""
        tensors, bases = [], []
        for f, coefficients in enumerate(self._coefficients(values)):
            if f in self.pins:
                coefficients[(0,) * len(self.counts)] += self._pin(f, coefficients)
            basis, times = self.time_bases[f], self.times
            if self.started[f]:
                coefficients = np.concatenate([coefficients, self.started[f][0][..., None]], axis=-1)
                times = np.append(times, self.span[0])
            tensors.append(along(np.linalg.inv(basis(times)), coefficients, -1))
            bases.append((*(line.basis for line in self.lines[f]), basis))
        return LinearForm(tuple(tensors), tuple(bases))

    def _pin(self, field: int, coefficients: np.ndarray) -> np.ndarray:
        """What must be added to the constant at every time; the first function of every axis is 1."""
        condition = self.pins[field]
        ((symbol, jet),) = condition.jets.items()
        here = coefficients
        for axis, line in enumerate(self.lines[field]):
            here = np.tensordot(line.basis(np.asarray(self._place(jet, axis))), here, axes=1)
        source = self.problem.value(condition.source / condition.coefficient(symbol))
        return np.asarray(evaluate(source, {self.problem.axes[-1].symbol: self.times}, np) - here)
