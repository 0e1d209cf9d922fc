"""∫ (u·∇u)·w + ν ∇u:∇w − p div w − q div u = 0  for all w, q: steady flows by finite elements.

Taylor–Hood elements on a grid of rectangles: velocities of degree k in each variable, pressures of degree
k − 1, both continuous.  Newton's method starts from the Stokes flow.

With ∇u:∇w the natural condition at an outlet x = const is ν u_x − p = 0.  Where v = 0 is imposed there as
well, u_x = −v_y = 0, so that it says p = 0, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sparse
from numpy.polynomial.legendre import Legendre, leggauss, legvander
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from safenet.reference.flow import Flow, Grid, lagrange, lobatto, values
from safenet.reference.reference import Array

Indices = NDArray[np.intp]
VISCOSITY = 1 / 100
# Newton's steps shrink quadratically, so that the one after a step this small would be lost in rounding.
LAST_STEP = 1e-8
MOST_STEPS = 25


@dataclass(frozen=True)
class Case:
    """What is imposed: velocity(x, y) = (u, v), nan where free, and the force f on the right.

    Without an outlet p is known up to a constant, which p = 0 at the point `zero_pressure` settles.

    At an outlet, the last grid line in x where u is free, p = κ min(u, 0): κ = `backflow` holds back inflow.
    """

    velocity: Callable[[Array, Array], tuple[Array, Array]]
    zero_pressure: tuple[float, float] | None = None
    force: Callable[[Array, Array], tuple[Array, Array]] | None = None
    backflow: float = 0.0


def slopes(degree: int, xi: Array) -> Array:
    """ℓ'_a(ξ), one column per Gauss–Lobatto node."""
    legendre = np.stack([Legendre.basis(n).deriv()(xi) for n in range(degree + 1)], axis=-1)
    return legendre @ np.linalg.inv(legvander(lobatto(degree), degree))


def node_lines(lines: Array, degree: int) -> Array:
    """The Gauss–Lobatto nodes of all cells, each line itself among them to the last bit."""
    inner = lines[:-1, None] + np.diff(lines)[:, None] * (lobatto(degree)[:-1] + 1) / 2
    return np.append(inner.ravel(), lines[-1])


def tensor(A: Array, B: Array) -> Array:
    """A_pa B_qb as a matrix with rows pq and columns ab."""
    return np.einsum("pa,qb->pqab", A, B).reshape(len(A) * len(B), -1)


@dataclass(frozen=True)
class Space:
    """The functions of one degree on a grid: the nodes, and which of them belong to each element."""

    grid: Grid
    degree: int

    @cached_property
    def nodes(self) -> tuple[Array, Array]:
        """x and y of all nodes, those without fluid included."""
        lines = (node_lines(axis, self.degree) for axis in (self.grid.x, self.grid.y))
        x, y = np.meshgrid(*lines, indexing="ij")
        return x, y

    @cached_property
    def members(self) -> Indices:
        """The nodes of each element, one row per element."""
        i, j = np.nonzero(self.grid.fluid)
        a, rows = np.arange(self.degree + 1), self.nodes[0].shape[1]
        column = (i[:, None] * self.degree + a)[:, :, None]
        row = (j[:, None] * self.degree + a)[:, None, :]
        return (column * rows + row).reshape(len(i), -1)


class Equations:
    """R(z) = Lz + N(z) − F for z = (u, v, p), and its Jacobian, assembled element by element."""

    def __init__(self, grid: Grid, degree: int, viscosity: float) -> None:
        self.grid, self.degree, self.viscosity = grid, degree, viscosity
        self.velocity, self.pressure = Space(grid, degree), Space(grid, degree - 1)
        self.n, self.m = self.velocity.nodes[0].size, self.pressure.nodes[0].size
        self.of_u = self.velocity.members
        self.of_v, self.of_p = self.of_u + self.n, self.pressure.members + 2 * self.n
        i, j = np.nonzero(grid.fluid)
        self.h_x, self.h_y = np.diff(grid.x)[i, None], np.diff(grid.y)[j, None]
        # Exact for the cubic term, of degree 3k in each variable.
        self.points, weights = leggauss(3 * degree // 2 + 1)
        self.weights = np.outer(weights, weights).ravel()
        value, slope = lagrange(degree, self.points), slopes(degree, self.points)
        self.phi, self.phi_x, self.phi_y = tensor(value, value), tensor(slope, value), tensor(value, slope)
        self.psi = tensor(lagrange(degree - 1, self.points), lagrange(degree - 1, self.points))

    def matrix(self, *blocks: tuple[Array, Indices, Indices]) -> sparse.csr_array:
        """Σ over elements of block[e] at (rows[e], columns[e])."""
        size = 2 * self.n + self.m
        rows = np.concatenate([np.broadcast_to(r[:, :, None], b.shape).ravel() for b, r, _ in blocks])
        columns = np.concatenate([np.broadcast_to(c[:, None, :], b.shape).ravel() for b, _, c in blocks])
        entries = np.concatenate([b.ravel() for b, _, _ in blocks])
        return sparse.csr_array(sparse.coo_array((entries, (rows, columns)), shape=(size, size)))

    def linear(self) -> sparse.csr_array:
        """L: ∫ ν ∇u:∇w − p div w − q div u."""
        weighted_x, weighted_y = (self.weights[:, None] * phi for phi in (self.phi_x, self.phi_y))
        aspect = (self.h_y / self.h_x)[:, :, None]
        viscous = self.viscosity * (
            aspect * (self.phi_x.T @ weighted_x) + (self.phi_y.T @ weighted_y) / aspect
        )
        d_x = -self.h_y[:, :, None] / 2 * (self.psi.T @ weighted_x)
        d_y = -self.h_x[:, :, None] / 2 * (self.psi.T @ weighted_y)
        return self.matrix(
            (viscous, self.of_u, self.of_u),
            (viscous, self.of_v, self.of_v),
            (d_x, self.of_p, self.of_u),
            (d_y, self.of_p, self.of_v),
            (d_x.transpose(0, 2, 1), self.of_u, self.of_p),
            (d_y.transpose(0, 2, 1), self.of_v, self.of_p),
        )

    def convection(self, z: Array) -> tuple[Array, sparse.csr_array]:
        """N(z) = ∫ (u·∇u)·w and its derivative, ∫ (u·∇δ + δ·∇u)·w."""
        area = self.h_x * self.h_y / 4 * self.weights
        u, u_x, u_y = self.at_points(z[self.of_u])
        v, v_x, v_y = self.at_points(z[self.of_v])
        N = np.zeros(z.size)
        np.add.at(N, self.of_u, (area * (u * u_x + v * u_y)) @ self.phi)
        np.add.at(N, self.of_v, (area * (u * v_x + v * v_y)) @ self.phi)

        def against(coefficient: Array, phi: Array) -> Array:
            return self.phi.T @ ((area * coefficient)[:, :, None] * phi)

        carried = against(u * 2 / self.h_x, self.phi_x) + against(v * 2 / self.h_y, self.phi_y)
        return N, self.matrix(
            (carried + against(u_x, self.phi), self.of_u, self.of_u),
            (against(u_y, self.phi), self.of_u, self.of_v),
            (against(v_x, self.phi), self.of_v, self.of_u),
            (carried + against(v_y, self.phi), self.of_v, self.of_v),
        )

    def at_points(self, nodal: Array) -> tuple[Array, Array, Array]:
        """f, f_x and f_y at the quadrature points of each element."""
        return nodal @ self.phi.T, nodal @ self.phi_x.T * 2 / self.h_x, nodal @ self.phi_y.T * 2 / self.h_y

    def outlet(self, z: Array, backflow: float) -> tuple[Array, sparse.csr_array]:
        """∫ κ min(u, 0) w_x dy over the last grid line in x, and its derivative."""
        h = np.diff(self.grid.y)[:, None]
        # min(u, 0) has a kink where the flow turns round; many points make it harmless.
        points, weights = leggauss(8 * self.degree)
        phi, weights = lagrange(self.degree, points), h / 2 * weights * backflow
        first = self.n - self.velocity.nodes[0].shape[1]
        members = first + np.arange(len(h))[:, None] * self.degree + np.arange(self.degree + 1)
        u = z[members] @ phi.T
        R = np.zeros(z.size)
        np.add.at(R, members, (weights * np.minimum(u, 0.0)) @ phi)
        return R, self.matrix((phi.T @ ((weights * (u < 0))[:, :, None] * phi), members, members))

    def load(self, case: Case) -> Array:
        """F = ∫ f·w."""
        F = np.zeros(2 * self.n + self.m)
        if case.force is not None:
            i, j = np.nonzero(self.grid.fluid)
            q = (self.points + 1) / 2
            x = self.grid.x[i, None, None] + self.h_x[:, :, None] * q[:, None] + 0 * q
            y = self.grid.y[j, None, None] + self.h_y[:, :, None] * q + 0 * q[:, None]
            area = self.h_x * self.h_y / 4 * self.weights
            for members, f in zip((self.of_u, self.of_v), case.force(x, y), strict=True):
                np.add.at(F, members, (area * f.reshape(area.shape)) @ self.phi)
        return F

    def imposed(self, case: Case) -> Array:
        """z where it is given, 0 at nodes without fluid, nan where it is to be found."""
        z = np.zeros(2 * self.n + self.m)
        p = np.full(self.m, np.nan)
        if case.zero_pressure is not None:
            # Any node would do in exact arithmetic.  At one of a tiny element rounding would make p jump.
            largest = np.argmax(self.h_x * self.h_y)
            p[self.pressure.members[largest, 0]] = 0.0
        given = np.concatenate([*(f.ravel() for f in case.velocity(*self.velocity.nodes)), p])
        for members in (self.of_u, self.of_v, self.of_p):
            z[members] = given[members]
        return z

    def elimination_order(self) -> Array:
        """A rank per unknown: nested dissection, and within a block velocities before pressures.

        A pressure has no diagonal entry of its own; eliminating the velocities around it provides one.
        """
        cells_x, cells_y = self.grid.fluid.shape
        rank = np.empty((2 * cells_x + 1, 2 * cells_y + 1))
        for order, block in enumerate(dissection(0, 2 * cells_x + 1, 0, 2 * cells_y + 1)):
            rank[block] = order

        def ranks(degree: int) -> Array:
            places = (line_or_cell(cells, degree) for cells in (cells_x, cells_y))
            return rank[np.ix_(*places)].ravel()

        of_velocity = ranks(self.degree)
        return np.concatenate([of_velocity, of_velocity, ranks(self.degree - 1) + 0.5])

    def flow(self, z: Array, case: Case) -> Flow:
        """z as fields, with the constant in p settled."""
        shape = self.velocity.nodes[0].shape
        u, v, p = z[: self.n].reshape(shape), z[self.n : 2 * self.n].reshape(shape), z[2 * self.n :].copy()
        if case.zero_pressure is not None:
            x, y = self.pressure.nodes
            p -= p[np.flatnonzero((x == case.zero_pressure[0]) & (y == case.zero_pressure[1]))]
        return Flow(self.grid, u, v, p.reshape(self.pressure.nodes[0].shape))


def line_or_cell(cells: int, degree: int) -> Indices:
    """For each node along an axis: 2i on the grid line i, 2i + 1 inside the cell i."""
    i, a = np.divmod(np.arange(cells * degree + 1), degree)
    return 2 * i + (a > 0)


def dissection(a: int, b: int, c: int, d: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of [a, b) × [c, d), lines even and cells odd: both sides of a middle line, then the line."""
    if a >= b or c >= d:
        return
    if b - a == 1 == d - c:
        yield slice(a, b), slice(c, d)
    elif b - a >= d - c:
        middle = (a + b) // 4 * 2
        yield from dissection(a, middle, c, d)
        yield from dissection(middle + 1, b, c, d)
        yield slice(middle, middle + 1), slice(c, d)
    else:
        for columns, rows in dissection(c, d, a, b):
            yield rows, columns


def equilibration(L: sparse.csr_array, of_pressure: NDArray[np.bool_]) -> sparse.dia_array:
    """S with a diagonal of ones in SLS for velocities and, roughly, in the Schur complement for pressures.

    The areas of the elements differ by ten orders of magnitude; without S the pivots would be chosen by size
    of element, at ten times the cost and with half the digits.
    """
    diagonal = L.diagonal()
    divergence = L[of_pressure][:, ~of_pressure]
    diagonal[of_pressure] = divergence.multiply(divergence) @ (1 / diagonal[~of_pressure])
    return sparse.dia_array(sparse.diags_array(diagonal**-0.5))


def solve(
    case: Case, grid: Grid, degree: int, viscosity: float = VISCOSITY, start: Flow | None = None
) -> Flow:
    """Newton's method from `start`, or else from the Stokes flow."""
    equations = Equations(grid, degree, viscosity)
    L, F, z = equations.linear(), equations.load(case), equations.imposed(case)
    free = np.flatnonzero(np.isnan(z))
    free = free[np.argsort(equations.elimination_order()[free], kind="stable")]
    of_velocity = free < 2 * equations.n
    scale = equilibration(L[free][:, free], ~of_velocity)

    def correction(residual: Array, jacobian: sparse.csr_array) -> Array:
        matrix = sparse.csc_array(scale @ jacobian[free][:, free] @ scale)
        factors = splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=1e-3, options={"SymmetricMode": True})
        return -(scale @ factors.solve(scale @ residual[free]))

    if start is None:
        z[free] = 0.0
        z[free] += correction(L @ z - F, L)
    else:
        on_velocity, on_pressure = (
            values(start, *equations.velocity.nodes),
            values(start, *equations.pressure.nodes),
        )
        z[free] = np.concatenate([on_velocity["u"], on_velocity["v"], on_pressure["p"]], axis=None)[free]
    for _ in range(MOST_STEPS):
        N, N_z = equations.convection(z)
        P, P_z = equations.outlet(z, case.backflow)
        step = correction(L @ z + N + P - F, L + N_z + P_z)
        z[free] += step
        if np.max(np.abs(step[of_velocity])) < LAST_STEP:
            return equations.flow(z, case)
    raise RuntimeError(
        f"Newton's method did not settle in {MOST_STEPS} steps: try a finer grid or a larger viscosity"
    )


def differences(flow: Flow, finer: Flow) -> dict[str, float]:
    """‖f − f*‖/‖f*‖ for f = u, v, p and for all three together, by quadrature on the finer grid."""
    grid = finer.grid
    degree = (finer.u.shape[0] - 1) // (len(grid.x) - 1)
    points, weights = leggauss(degree + 2)
    half_x, half_y = np.diff(grid.x)[:, None] / 2, np.diff(grid.y)[:, None] / 2
    x = (grid.x[:-1, None] + half_x * (points + 1)).ravel()[:, None]
    y = (grid.y[:-1, None] + half_y * (points + 1)).ravel()
    area = np.outer(half_x * weights, half_y * weights)
    rough, fine = (values(f, *np.broadcast_arrays(x, y)) for f in (flow, finer))
    error = {name: float(np.nansum(area * (rough[name] - fine[name]) ** 2)) for name in fine}
    norm = {name: float(np.nansum(area * fine[name] ** 2)) for name in fine}
    relative = {name: float(np.sqrt(error[name] / norm[name])) for name in fine}
    return {**relative, "pooled": float(np.sqrt(sum(error.values()) / sum(norm.values())))}
