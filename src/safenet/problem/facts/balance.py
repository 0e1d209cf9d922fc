"""∫ f dV = ∮ c ∂_n u dS for Σ c_i ∂_i² u = f with slopes on every side: what flows in must equal what is used up."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from ..evaluate import evaluate
from ..jets import along, coordinate
from ..relation import Condition, Relation
from .fact import fact
from .structure import axis_kinds

if TYPE_CHECKING:
    from ..geometry.region import Region
    from ..problem import Problem

NODES = (40, 57)  # Gauss nodes along each axis: if the results of the two differ, neither is trusted
UNBALANCED = 1e-6  # relative to the parts


@fact
def imbalance(problem: Problem) -> tuple[float, float] | None:
    """Both sides of the balance if they differ, so that there is no u; None if they agree or it does not apply."""
    rough, fine = (_sides(problem, nodes) for nodes in NODES)
    if rough is None or fine is None:
        return None
    used, flow, size = fine
    doubt = abs(used - flow - rough[0] + rough[1])
    return (used, flow) if abs(used - flow) > max(UNBALANCED * size, 10 * doubt) else None


def _sides(problem: Problem, nodes: int) -> tuple[float, float, float] | None:
    """∫ f dV, ∮ c ∂_n u dS, and the sum of both with absolute values, by Gauss quadrature."""
    bounded = problem.plane is not None or problem.region is None
    if not bounded or problem.time is not None or len(problem.axes) > 3 or len(problem.unknowns) > 1:
        return None
    (equation, *others), axes = problem.equations, problem.axes
    factors = [_factor(problem, equation, i, 2) for i in range(len(axes))]
    if others or None in factors or len(equation.jets) != len(axes):
        return None
    if problem.plane is not None:
        return _around(problem, problem.plane, problem.value(equation.source), factors, nodes)
    used = _integrals(problem, problem.value(equation.source), list(range(len(axes))), {}, nodes)
    rings = [i for i in range(len(axes)) if axis_kinds(problem)[problem.unknowns[0]][i] == "periodic"]
    # Along a periodic axis, what leaves at one end enters at the other.
    flows = [np.zeros(2) for _ in rings for _ in range(2)]
    faces = set(itertools.product(rings, (-1, 1)))
    for condition in problem.conditions:
        if (len(axes) > 1 and not condition.free) or rings == [0] == list(range(len(axes))):
            continue  # a value at a point fixes a constant, and lets nothing flow
        if len(condition.places) > 1 and any(i not in condition.free for i in rings):
            continue  # the condition that makes the axis periodic
        index = next((i for i in range(len(axes)) if i not in condition.free), 0)
        slope = _factor(problem, condition, index, 1)
        if slope is None or len(condition.jets) != 1 or len(condition.free) != len(axes) - 1:
            return None
        place = next(iter(condition.jets.values())).place[index]
        assert place is not None
        end = float(problem.value(place))
        outwards = -1 if end == axes[index].lo else 1
        data = outwards * problem.value(condition.source) * factors[index] / slope
        flows.append(_integrals(problem, data, list(condition.free), {axes[index].symbol: end}, nodes))
        faces.add((index, outwards))
    if faces != set(itertools.product(range(len(axes)), (-1, 1))) or len(flows) != len(faces):
        return None
    flow, flowing = np.sum(flows, axis=0)
    return float(used[0]), float(flow), float(used[1] + flowing)


def _around(
    problem: Problem, region: Region, source: sp.Expr, factors: list[Any], nodes: int
) -> tuple[float, float, float] | None:
    """The same on a region of the plane: ∫ f dA = ∮ n_x ∫^x f ds by Green's theorem, from the left of its box."""
    slopes = {}
    for condition in (c for c in problem.conditions if c.piece or c.free):
        slope = _through(problem, condition, factors)
        if slope is None or condition.piece in slopes:
            return None
        slopes[condition.piece] = problem.value(condition.source) / slope
    if set(slopes) != set(region.pieces) or region.unnamed:
        return None
    z, w = np.polynomial.legendre.leggauss(nodes)
    (left, _), _ = region.bounds
    x, y = (axis.symbol for axis in problem.axes)
    parts = []
    for name, edges in region.pieces.items():
        for edge in edges:
            points, normals = edge.at((z + 1) / 2)
            reach = (points[:, [0]] - left) / 2
            at = {x: left + reach * (z + 1), y: points[:, [1]]}
            there = {x: points[:, 0], y: points[:, 1]}
            there |= {coordinate(each): normals[:, i] for i, each in enumerate(problem.normals)}
            with np.errstate(all="ignore"):
                f = np.broadcast_to(evaluate(source, at, np), (nodes, nodes))
                flow = np.broadcast_to(evaluate(slopes[name], there, np), nodes)
            inner = normals[:, 0] * ((f * reach) @ w)
            sizes = np.abs(inner) + np.abs(flow)
            parts.append(edge.length / 2 * np.array([inner @ w, flow @ w, sizes @ w]))
    used, flow, size = np.sum(parts, axis=0).tolist()
    return (used, flow, size) if np.isfinite(size) else None


def _through(problem: Problem, condition: Condition, factors: list[Any]) -> sp.Expr | None:
    """k of k (c_x u_x n_x + c_y u_y n_y) = g on a piece; None for any other condition."""
    ways = {jet.orders: symbol for symbol, jet in condition.jets.items()}
    if not condition.piece or set(ways) != {(1, 0), (0, 1)}:
        return None
    found = {
        sp.simplify(problem.value(condition.coefficient(ways[along(i, 2)])) / (coordinate(name) * factors[i]))
        for i, name in enumerate(problem.normals)
    }
    return k if len(found) == 1 and (k := found.pop()).is_number and k != 0 else None


def _factor(problem: Problem, relation: Relation | Condition, axis: int, order: int) -> sp.Expr | None:
    """The coefficient of ∂_axis^order u; None if there is none, or if it is not a number."""
    wanted = tuple(order if i == axis else 0 for i in range(len(problem.axes)))
    for symbol, jet in relation.jets.items():
        if jet.orders == wanted:
            number = problem.value(relation.coefficient(symbol))
            return number if number.is_number and number != 0 else None
    return None


def _integrals(
    problem: Problem, expression: sp.Expr, free: list[int], fixed: dict[sp.Symbol, float], nodes: int
) -> np.ndarray:
    """∫ g and ∫ |g| along the free axes."""
    z, weights = np.polynomial.legendre.leggauss(nodes)
    axes = [problem.axes[i] for i in free]
    mesh = np.meshgrid(*(axis.lo + axis.length * (z + 1) / 2 for axis in axes), indexing="ij")
    at = {axis.symbol: m for axis, m in zip(axes, mesh, strict=True)} | fixed
    with np.errstate(all="ignore"):
        values = np.broadcast_to(evaluate(expression, at, np), (nodes,) * len(axes))
    both = np.stack([values, np.abs(values)])
    for axis in reversed(axes):
        both = both @ (weights * axis.length / 2)
    return both
