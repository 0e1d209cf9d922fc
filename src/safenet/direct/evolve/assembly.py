"""R(t, y) and ∂R/∂y of a weak form on a mesh: R = Σ_β B_βᵀ W g_β(x, t, B y), B_α y the jets ∂^α u at quadrature points.

B and the weights W are computed once; a step costs only the formulas at the points and products with sparse matrices.
At nodes where u is given, the row is 0 = g(t) − y instead.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy
import sympy as sp

from ...fields.triangles import MIDDLES, linear, located, mapped, quadratic
from ...measure.compiled import compiled
from ...problem import Problem
from ...problem.evaluate import evaluate
from ...problem.geometry.mesh import Mesh
from ...problem.jets import along, coordinate
from ...problem.weak_form import Key, Side, weak_form
from ..thresholds import EVOLVE_LARGE
from .linear import factored_lu, linear_to_quadratic, two_levels
from .rules import RULES

Table = tuple[int, tuple[int, ...]]  # functions per cell, derivatives


class Assembly:
    """One problem on one mesh; `sizes` are the nodes of each field, `y` holds them one after another."""

    def __init__(self, problem: Problem, mesh: Mesh) -> None:
        self.problem, self.mesh, self.weak = problem, mesh, weak_form(problem)
        self.names, self.space = problem.unknowns, self.weak.space
        # The derivatives of test functions: v, v_x, v_y, …
        self.tests = tuple(along(axis, self.space) for axis in (None, *range(self.space)))
        self.points, self.weights = RULES[self.space]
        self.linear = self.space + 1  # functions per cell, of a field that is linear in it
        self.few = {
            name: self.linear if self.weak.linear_field(name) else mesh.cells.shape[1] for name in self.names
        }
        self.sizes = [mesh.vertices if self._is_linear(name) else len(mesh.nodes) for name in self.names]
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes)])
        self._tables()
        self._given()
        self.evaluations = 0

    def _is_linear(self, name: str) -> bool:
        return self.few[name] == self.linear

    def part(self, name: str) -> slice:
        k = self.names.index(name)
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))

    # ---- functions at quadrature points

    def _tables(self) -> None:
        cells, count = self.mesh.cells, len(self.points)
        corners = np.repeat(self.mesh.nodes[cells], count, axis=0)
        xi = np.tile(self.points, (len(cells), 1))
        self.x, jacobian = mapped(corners, xi)
        self.w = np.tile(self.weights, len(cells)) * np.abs(np.linalg.det(jacobian))
        inverse = np.linalg.inv(jacobian)
        self.B: dict[Table, scipy.sparse.csr_matrix] = {}
        self._dense: dict[Table, np.ndarray] = {}  # the same, (cells, points, functions)
        for few, functions in ((self.linear, linear), (cells.shape[1], quadratic)):
            if few not in self.few.values():
                continue
            values, slopes = functions(xi)
            gradient = np.einsum("nkj,nji->nki", slopes, inverse)
            for order, entries in zip(self.tests, (values, *np.moveaxis(gradient, 2, 0)), strict=True):
                self._dense[few, order] = entries.reshape(len(cells), count, few)
                self.B[few, order] = self._matrix(entries, np.repeat(cells[:, :few], count, axis=0), few)

    def _matrix(self, entries: np.ndarray, columns: np.ndarray, few: int) -> scipy.sparse.csr_matrix:
        rows = np.repeat(np.arange(len(entries)), entries.shape[1])
        size = self.mesh.vertices if few == self.linear else len(self.mesh.nodes)
        return scipy.sparse.csr_matrix((entries.ravel(), (rows, columns.ravel())), (len(entries), size))

    # ---- formulas

    @cached_property
    def _symbols(self) -> list[sp.Symbol]:
        axes = [axis.symbol for axis in self.problem.axes]
        return [*axes, *self.weak.jets.values()]

    @cached_property
    def _terms(self) -> list[tuple[int, tuple[int, ...], sp.Expr]]:
        """(equation, derivatives of the test function, g) of all nonzero terms."""
        return [
            (k, order, g)
            for k, row in enumerate(self.weak.rows)
            for order, g in zip(self.tests, row, strict=True)
            if g != 0
        ]

    @cached_property
    def _slopes(self) -> list[tuple[int, Key, sp.Expr]]:
        """(term, jet, ∂g/∂jet) of all nonzero slopes."""
        return [
            (i, key, slope)
            for i, (_, _, g) in enumerate(self._terms)
            for key, symbol in self.weak.jets.items()
            if (slope := g.diff(symbol)) != 0
        ]

    @cached_property
    def constant(self) -> bool:
        """Whether ∂R/∂y depends neither on y nor on time."""
        time = {self.problem.axes[-1].symbol} if self.problem.time is not None else set()
        moving = set(self.weak.jets.values()) | time
        sides = (self._a(side) * side.value for side in self._natural)
        slopes = [
            *(s for _, _, s in self._slopes),
            *(h.diff(u) for h in sides for u in self.weak.jets.values()),
        ]
        return not any(slope.free_symbols & moving for slope in slopes)

    @cached_property
    def _g(self) -> Any:
        return compiled([g for _, _, g in self._terms], self._symbols)

    @cached_property
    def _dg(self) -> Any:
        return compiled([slope for _, _, slope in self._slopes], self._symbols)

    def _values(self, t: float, y: np.ndarray) -> list[Any]:
        jets = [self.B[self.few[name], order] @ y[self.part(name)] for name, order in self.weak.jets]
        times = [t] if self.problem.time is not None else []
        return [*self.x.T, *times, *jets]

    # ---- R, its slopes, and the mass

    def residual(self, t: float, y: np.ndarray) -> np.ndarray:
        """R(t, y); the rows of given values are g(t) − y."""
        self.evaluations += 1
        found = np.zeros(len(y))
        with np.errstate(all="ignore"):
            values = self._g(*self._values(t, y))
        for (k, order, _), value in zip(self._terms, values, strict=True):
            name = self.weak.tested[k]
            found[self.part(name)] += self.B[self.few[name], order].T @ (self.w * value)
        for side in self._natural:
            at = self._along[side.piece]
            h = evaluate(self._a(side) * side.value, self._on_side(at, t, y), np)
            name = side.field
            found[self.part(name)] += at["B"][self.few[name]].T @ (at["w"] * np.broadcast_to(h, len(at["w"])))
        return self._imposed(t, y, found)

    def jacobian(self, t: float, y: np.ndarray) -> scipy.sparse.csc_matrix:
        """∂R/∂y: the dense blocks of all cells first, which are then put in their places in one pass."""
        with np.errstate(all="ignore"):
            values = self._dg(*self._values(t, y))
        local: dict[tuple[str, str], Any] = {}
        for (i, (name, order), _), value in zip(self._slopes, values, strict=True):
            k, test, _ = self._terms[i]
            tested = self.weak.tested[k]
            scale = np.broadcast_to(self.w * value, len(self.w)).reshape(-1, len(self.points), 1)
            left, right = self._dense[self.few[tested], test], self._dense[self.few[name], order]
            own = (left * scale).transpose(0, 2, 1) @ right
            local[tested, name] = local[tested, name] + own if (tested, name) in local else own
        entries = [local[pair].ravel() if pair in local else np.zeros(size) for pair, size in self._blocks]
        total = len(y)
        whole = scipy.sparse.coo_matrix((np.concatenate(entries), self._places), (total, total)).tocsr()
        if self._natural:
            whole = whole + self._along_sides(t, y)
        return scipy.sparse.csc_matrix(self._free @ whole - self._fixed)

    @cached_property
    def _blocks(self) -> list[tuple[tuple[str, str], int]]:
        """The pairs of coupled fields, and how many entries their blocks have over all cells."""
        pairs = dict.fromkeys((self.weak.tested[self._terms[i][0]], name) for i, (name, _), _ in self._slopes)
        return [((a, b), len(self.mesh.cells) * self.few[a] * self.few[b]) for a, b in pairs]

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        rows, columns = [], []
        for (a, b), _ in self._blocks:
            own = self.mesh.cells[:, : self.few[a], None] + self.part(a).start
            other = self.mesh.cells[:, None, : self.few[b]] + self.part(b).start
            row, column = np.broadcast_arrays(own, other)
            rows.append(row.ravel())
            columns.append(column.ravel())
        return np.concatenate(rows), np.concatenate(columns)

    def _along_sides(self, t: float, y: np.ndarray) -> scipy.sparse.csr_matrix:
        """The contribution of given slopes that depend on u."""
        blocks: list[list[Any]] = [[None] * len(self.names) for _ in self.names]
        for i, size in enumerate(self.sizes):
            blocks[i][i] = scipy.sparse.csr_matrix((size, size))
        for side in self._natural:
            at = self._along[side.piece]
            known = self._on_side(at, t, y)
            for (name, order), symbol in self.weak.jets.items():
                slope = (self._a(side) * side.value).diff(symbol) if not any(order) else sp.Integer(0)
                if slope != 0:
                    scale = scipy.sparse.diags_array(
                        at["w"] * np.broadcast_to(evaluate(slope, known, np), len(at["w"]))
                    )
                    own = at["B"][self.few[side.field]].T @ (scale @ at["B"][self.few[name]])
                    self._add(blocks, side.field, name, own)
        return scipy.sparse.csr_matrix(scipy.sparse.block_array(blocks))

    def _add(self, blocks: list[list[Any]], row: str, column: str, own: Any) -> None:
        i, j = self.names.index(row), self.names.index(column)
        blocks[i][j] = own if blocks[i][j] is None else blocks[i][j] + own

    @cached_property
    def mass(self) -> scipy.sparse.csc_matrix:
        """∫ c φ_i φ_j, zero where values are given and where an equation has no time derivative."""
        blocks: list[list[Any]] = [[None] * len(self.names) for _ in self.names]
        known = dict(zip(self._symbols, self.x.T, strict=False))
        for i, size in enumerate(self.sizes):
            blocks[i][i] = scipy.sparse.csr_matrix((size, size))
        for name, c in zip(self.weak.tested, self.weak.mass, strict=True):
            if c != 0:
                B = self.B[self.few[name], self.tests[0]]
                weights = self.w * np.broadcast_to(evaluate(c, known, np), len(self.w))
                self._add(blocks, name, name, B.T @ (scipy.sparse.diags_array(weights) @ B))
        return scipy.sparse.csc_matrix(self._free @ scipy.sparse.csr_matrix(scipy.sparse.block_array(blocks)))

    # ---- linear systems

    @property
    def cells(self) -> str:
        return "triangles" if self.space == 2 else "tetrahedra"

    def factored(self, matrix: Any) -> Any:
        """A solver for a matrix M/h − ∂R/∂y, or −∂R/∂y; None if it is singular."""
        if self._up is not None:
            return two_levels(matrix, self._up)
        return factored_lu(matrix)

    @cached_property
    def _up(self) -> scipy.sparse.csr_matrix | None:
        """The matrix from linear to quadratic functions, if there are too many unknowns in space for LU; else None."""
        if self.space == 2 or len(self.mesh.nodes) < EVOLVE_LARGE or any(map(self._is_linear, self.names)):
            return None
        parts = [self.taken[self.part(name)] for name in self.names]
        return scipy.sparse.csr_matrix(
            scipy.sparse.block_diag([linear_to_quadratic(self.mesh, own, MIDDLES[3]) for own in parts])
        )

    # ---- sides

    @property
    def _natural(self) -> list[Side]:
        return [side for side in self.weak.sides if side.slope]

    def _a(self, side: Side) -> sp.Expr:
        return self.weak.diffusion[self.weak.tested.index(side.field)]

    def _ends(self, piece: str) -> np.ndarray:
        return self.mesh.sides[piece]

    @cached_property
    def _along(self) -> dict[str, dict[str, Any]]:
        """Points, normals, weights and functions on the sides where slopes are given."""
        found = {}
        for piece in dict.fromkeys(side.piece for side in self._natural):
            ends = self._ends(piece)
            xi, weights = RULES[self.space - 1]
            shape, slopes = quadratic(xi)
            nodes = self.mesh.nodes[ends]
            points = np.einsum("sk,eki->esi", shape, nodes).reshape(-1, self.space)
            tangents = np.einsum("skj,eki->esji", slopes, nodes).reshape(-1, self.space - 1, self.space)
            normal = _across(tangents)
            size = np.linalg.norm(normal, axis=1)
            columns = np.repeat(ends, len(xi), axis=0)
            whole, straight = (np.tile(values, (len(ends), 1)) for values in (shape, linear(xi)[0]))
            B = {
                self.mesh.cells.shape[1]: self._matrix(whole, columns, self.mesh.cells.shape[1]),
                self.linear: self._matrix(straight, columns[:, : self.space], self.linear),
            }
            w = np.tile(weights, len(ends)) * size
            found[piece] = {"x": points, "n": normal / size[:, None], "w": w, "B": B}
        return found

    def _on_side(self, side: dict[str, Any], t: float, y: np.ndarray) -> dict[Any, Any]:
        axes = [axis.symbol for axis in self.problem.axes]
        known: dict[Any, Any] = dict(zip(axes, side["x"].T, strict=False))
        if self.problem.time is not None:
            known[axes[-1]] = t
        known |= {coordinate(name): side["n"][:, i] for i, name in enumerate(self.problem.normals)}
        for (name, order), symbol in self.weak.jets.items():
            if not any(order):
                known[symbol] = side["B"][self.few[name]] @ y[self.part(name)]
        return known

    # ---- given values

    def _given(self) -> None:
        """Find the rows y = g: those of nodes on sides with given values, and one for each pin."""
        total = int(self.offsets[-1])
        self.given: list[tuple[np.ndarray, np.ndarray, sp.Expr]] = []  # rows, places, value
        taken = np.zeros(total, bool)
        entries: list[tuple[int, int, float]] = []
        for side in self.weak.sides:
            if not side.slope:
                ends = self._ends(side.piece)
                nodes = np.unique(ends[:, : self.space] if self._is_linear(side.field) else ends)
                rows = nodes + self.part(side.field).start
                rows, nodes = rows[~taken[rows]], nodes[~taken[rows]]
                taken[rows] = True
                entries += [(r, r, 1.0) for r in rows.tolist()]
                self.given.append((rows, self.mesh.nodes[nodes], side.value))
        for name, point, value in self.weak.pins:
            row, own = self._pin(name, np.array([point]))
            if not taken[row]:
                taken[row] = True
                entries += own
                self.given.append((np.array([row]), np.array([point]), value))
        self.taken = taken
        self._free = scipy.sparse.diags_array((~taken).astype(float))
        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        self._fixed = scipy.sparse.csr_matrix((values, (rows, columns)), (total, total))

    def _pin(self, name: str, point: np.ndarray) -> tuple[int, list[tuple[int, int, float]]]:
        """u(x₀) = g, as the row of the node whose function is largest at x₀."""
        where, xi = located(self.mesh.nodes, self.mesh.cells, point)
        shape = (linear if self._is_linear(name) else quadratic)(xi)[0][0]
        columns = self.mesh.cells[where[0], : self.few[name]] + self.part(name).start
        row = int(columns[np.argmax(np.abs(shape))])
        return row, [(row, int(c), float(v)) for c, v in zip(columns, shape, strict=True)]

    def _imposed(self, t: float, y: np.ndarray, found: np.ndarray) -> np.ndarray:
        found[self.taken] = -(self._fixed @ y)[self.taken]
        for rows, places, value in self.given:
            found[rows] += self.value(value, places, t)
        return found

    def value(self, expression: sp.Expr, places: np.ndarray, t: float) -> np.ndarray:
        """The values of a formula in space and time at some places."""
        known: dict[Any, Any] = dict(zip([axis.symbol for axis in self.problem.axes], places.T, strict=False))
        if self.problem.time is not None:
            known[self.problem.axes[-1].symbol] = t
        return np.broadcast_to(np.asarray(evaluate(expression, known, np), dtype=float), len(places))

    def start(self, t: float) -> np.ndarray:
        """The initial values at the nodes, zero where there are none."""
        y = np.zeros(int(self.offsets[-1]))
        for name, expression in self.weak.start.items():
            nodes = self.mesh.nodes[: self.sizes[self.names.index(name)]]
            y[self.part(name)] = self.value(expression, nodes, t)
        return y

    def with_sides(self, t: float, y: np.ndarray) -> np.ndarray:
        """y, with the given values on the sides."""
        y = y.copy()
        for rows, places, value in self.given:
            if len(rows) == 1 and (self._fixed[[rows[0]]].nnz > 1):
                continue  # a pin between nodes
            y[rows] = self.value(value, places, t)
        return y


def _across(tangents: np.ndarray) -> np.ndarray:
    """Normals of a side (n, d), as long as its area element: for a line the tangent turned right, else t₁ × t₂."""
    if tangents.shape[1] == 1:
        return np.stack([tangents[:, 0, 1], -tangents[:, 0, 0]], axis=1)
    return np.asarray(np.cross(tangents[:, 0], tangents[:, 1]))
