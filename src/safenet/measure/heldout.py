"""‖F(u)‖ / ‖terms of F(u)‖ on points no solver has seen: how well a solution satisfies the problem itself.

An equation is measured at every point against its own largest term there, a condition against the size of its
terms and of the field it fixes, so that 1 means «not at all» and 1e-6 «to six digits», whatever the units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sympy as sp

from ..fields.field import InPieces, Orders, jets, values, volume
from ..fields.pieces import TimePieces
from ..problem import Condition, Problem, Relation
from ..problem.evaluate import evaluate
from ..problem.facts.fact import fact
from ..problem.facts.jumping import jumping
from ..problem.facts.narrow import narrow
from ..problem.jets import Jet
from .boxes import box_balances
from .fluxes import imbalance
from .points import coordinates, inside, moved, on_condition
from .relative import TINY
from .thresholds import ALIKE, CLOSE, POINTS, SMOOTH, TRIVIAL
from .weak import balances

SEED = 20_231  # apart from every training seed: these points are never trained on
EVEN = 4  # up to so many axes, multiples of irrational numbers fill the cube evenly


@dataclass(frozen=True)
class HeldOut:
    """Relative root-mean-square residual of each equation and each condition, and the jumps between cells."""

    equations: tuple[float, ...]
    conditions: tuple[float, ...]
    jumps: float = 0.0

    @property
    def worst(self) -> float:
        values = [*self.equations, *self.conditions, self.jumps]
        return float("inf") if not np.isfinite(values).all() else max(values)

    def better(self, other: HeldOut) -> bool:
        """Compare the worst parts or, if these are within a factor of ALIKE, the mean order of magnitude of residuals.

        Where data jump, as in a corner where initial and boundary values disagree, no continuous solution has a small
        worst part, and only the other parts tell two solutions apart. Jumps between cells are not in this mean: a field
        without cells has none, and their zero would outweigh its residuals.
        """
        if not other.worst / ALIKE < self.worst < ALIKE * other.worst:
            return self.worst < other.worst
        return self._order < other._order

    @property
    def _order(self) -> float:
        parts = np.maximum([*self.equations, *self.conditions], np.finfo(float).eps)
        return float(np.mean(np.log10(parts)))


def held_out(
    problem: Problem, field: Any, count: int = POINTS, span: tuple[float, float] | None = None
) -> HeldOut:
    """Measure `field` on `count` scattered points of the box (its time axis cut to `span` where given).

    If the span does not begin at the initial time, initial conditions are not measured. For a field with jumps, whose
    derivatives mean nothing there, and for triangles and tetrahedra, whose second derivatives are poor, balances over
    boxes are measured instead of equations at points.
    """
    if getattr(field, "weak", False):
        return HeldOut(*balances(problem, field))
    if jumping(problem):
        inner = interior_points(problem, count)
        sizes, scales = field_sizes(field, inner), _scales(problem, field, inner)
        met = (
            relative_residual(problem, field, condition, inner, sizes, scales)
            for condition in problem.conditions
        )
        return HeldOut((imbalance(problem, field),), tuple(met))
    points = _interior_points(problem, count).copy()
    started, features = True, _features(problem)
    if span is not None and problem.time is not None:
        axis = problem.axes[problem.time]
        started = span[0] <= axis.lo
        share = (points[:, problem.time] - axis.lo) / axis.length
        points[:, problem.time] = span[0] + (span[1] - span[0]) * share
        times = features[:, problem.time]
        features = features[(span[0] <= times) & (times <= span[1])]
    points = np.concatenate([points, features])
    balanced = getattr(field, "balanced", False)
    seen = _Seen.at(points, field, problem, [*problem.conditions, *(() if balanced else problem.equations)])
    sizes, scales = field_sizes(seen, points), _scales(problem, seen, points)
    if balanced:
        equations = box_balances(problem, field)
    else:
        equations = tuple(relative_residual(problem, seen, one, points, sizes) for one in problem.equations)
    conditions = []
    for condition in problem.conditions:
        if not started and condition.initial:
            continue
        at = points_of(problem, condition, points, len(points))
        conditions.append(relative_residual(problem, seen, condition, at, sizes, scales))
    return HeldOut(equations, tuple(conditions), jumps(problem, field, points, sizes, seen))


@dataclass(frozen=True)
class _Seen:
    """A field with all derivatives that the relations need at some points, computed together."""

    field: Any
    points: np.ndarray
    known: Mapping[Orders, Any]

    @staticmethod
    def at(points: np.ndarray, field: Any, problem: Problem, relations: Sequence[Relation]) -> _Seen:
        orders = {jet.orders for relation in relations for jet in relation.jets.values()}
        return _Seen(field, points, jets(field, points, list(orders | {(0,) * len(problem.axes)})))

    def jets(self, points: np.ndarray, orders: Sequence[Orders]) -> Mapping[Orders, Any]:
        if points is self.points and all(order in self.known for order in orders):
            return self.known
        return jets(self.field, points, orders)


def field_sizes(field: Any, points: np.ndarray) -> np.ndarray:
    """The root mean square of each field, the scale of equations, conditions and jumps."""
    return np.asarray(np.sqrt(np.mean(np.square(values(field, points)), axis=0)))


def _scales(problem: Problem, field: Any, points: np.ndarray) -> dict[Orders, np.ndarray]:
    """For each derivative in a condition, its root mean square over the points, of every field."""
    orders = list({jet.orders for condition in problem.conditions for jet in condition.jets.values()})
    found = jets(field, points, orders) if orders else {}
    return {order: np.array([_rms(one) for one in np.asarray(found[order]).T]) for order in orders}


@dataclass(frozen=True)
class Dwarfed:
    """A relation B u = g: a solution is `times` as large as g and misses it by the share `missed` of ‖g‖."""

    relation: Relation
    times: float
    missed: float


def dwarfed(problem: Problem, field: Any) -> Dwarfed | None:
    """B u = g with the least ‖terms of B u‖ / ‖g‖: the data to which the solution is closest in size.

    They must be met even if the solution is much larger. Residuals that are small compared with a large u do not show
    that. A solution that has grown from its data meets them; one that is large because no solution exists (an
    eigenvalue is hit, time runs backwards) does not.
    """
    points = interior_points(problem)
    fields, found = field_sizes(field, points), []
    for relation in (*problem.equations, *problem.conditions):
        at = points_of(problem, relation, points)
        values = coordinates(problem, at)
        with np.errstate(all="ignore"):
            data = _rms(evaluate(problem.value(relation.source), values, np))
            if data > 0:
                times = _expected(problem, relation, values, fields) / data
                left = evaluate(problem.value(relation.residual), jets_at(problem, field, relation, at), np)
                found.append(Dwarfed(relation, times, _rms(left) / data))
    return min(found, key=lambda one: one.times, default=None)


def interior_points(problem: Problem, count: int = POINTS) -> np.ndarray:
    """At least `count` scattered points of the domain, and some in features too narrow for them; a copy, (n, axes)."""
    return np.concatenate([_interior_points(problem, count), _features(problem)])


def points_of(problem: Problem, relation: Relation, inner: np.ndarray, count: int = POINTS) -> np.ndarray:
    """Where a relation is measured: `inner` points of the domain, or for a named piece `count` points on it."""
    if isinstance(relation, Condition) and relation.piece:
        return on_condition(problem, relation, count, scattered)
    return inner


@fact
def _features(problem: Problem) -> np.ndarray:
    points = narrow(problem).points
    return np.asarray(points[problem.contains(points)])


@fact
def _interior_points(problem: Problem, count: int) -> np.ndarray:
    return inside(problem, range(len(problem.axes)), 2 ** int(np.ceil(np.log2(count))), scattered)


@fact
def driven(problem: Problem) -> float:
    """The largest |source| of any equation, on the points."""
    points = interior_points(problem)
    values = coordinates(problem, points)
    with np.errstate(all="ignore"):
        sizes = [
            np.abs(evaluate(problem.value(equation.source), values, np)) for equation in problem.equations
        ]
    return float(max(np.nanmax(size) for size in sizes))


def scattered(points: int, columns: int) -> np.ndarray:
    """2^m points of the unit cube: x_n = s + nα modulo 1, α_j = φ^−j, φ^(d+1) = φ + 1; Sobol points for many axes."""
    random, count = np.random.default_rng(SEED), 2 ** int(np.ceil(np.log2(points)))
    if columns <= EVEN:
        phi = max(np.roots([1.0, *[0.0] * (columns - 1), -1.0, -1.0]).real) if columns else 1.0
        alpha = phi ** -np.arange(1.0, columns + 1)
        return np.asarray((random.random(columns) + np.arange(count)[:, None] * alpha) % 1.0)
    return np.asarray(scipy.stats.qmc.Sobol(columns, rng=random).random(count))


def jumps(
    problem: Problem, field: Any, points: np.ndarray, sizes: np.ndarray, seen: _Seen | None = None
) -> float:
    """max over fields, axes and k of ∫ |[∂^k u]| dS / ∫ |∂^(k+1) u| dV, k below the order of u along the axis.

    The derivative of a piecewise function has two parts: the one inside the pieces, which the equations see, and the
    jumps between them, which they do not. As measures the two can be compared, however many pieces share the jumps.
    """
    if not isinstance(field, InPieces):
        return 0.0
    size, shares = volume(problem), [0.0]
    for i, axis in enumerate(problem.axes):
        orders = [problem.order(i, name) for name in problem.unknowns]
        totals = field.jump_integrals(problem, i, max(orders), points)
        if totals is None:
            continue
        for k in range(max(orders)):
            slope = tuple(k + 1 if j == i else 0 for j in range(len(problem.axes)))
            inside = np.mean(np.abs(values(seen or field, points, slope)), axis=0)
            if isinstance(field, TimePieces) and not any(field.space):  # points may miss where it moves fast
                inside = np.maximum(inside, field.moved(k) / axis.length)
            expected = SMOOTH * sizes / axis.length ** (k + 1)
            every = totals[k] / np.maximum(size * np.maximum(inside, expected), TINY)
            shares += [share for share, order in zip(every, orders, strict=True) if k < order]
    return float(np.max(shares))  # a nan is a finding: max() would drop it


def relative_residual(
    problem: Problem,
    field: Any,
    relation: Relation,
    points: np.ndarray,
    fields: np.ndarray,
    scales: dict[Orders, np.ndarray] | None = None,
) -> float:
    """The relative residual of one relation at the points; for a condition, also relative to `scales` of its jets."""
    values = jets_at(problem, field, relation, points)
    # A residual that is not finite is a finding, not a warning: np.max keeps the nan that max() would drop.
    with np.errstate(all="ignore"):
        summands = sp.Add.make_args(sp.expand_mul(problem.value(relation.residual)))
        terms = [evaluate(term, values, np) for term in summands]
        if scales is not None:
            sizes = [scales[jet.orders][problem.unknowns.index(jet.field)] for jet in relation.jets.values()]
            # Slopes that are zero throughout are noise: they count relative to those of a field that varies.
            all_alike = np.full_like(fields, fields.max())
            least = max(
                TRIVIAL * _expected(problem, relation, values, all_alike),
                SMOOTH * _expected(problem, relation, values, fields),
            )
            scale = float(np.max([*sizes, *(_rms(term) for term in terms), least]))
            # Near a corner slopes may be infinite; elements meet them in the mean, so the mean counts.
            left = np.mean(np.abs(sum(terms))) if getattr(field, "balanced", False) else _rms(sum(terms))
            return float(left) / scale if scale != 0 else 0.0
        least = SMOOTH * _expected(problem, relation, values, fields)
        return _rms(sum(terms) / np.maximum(local_size(largest(terms)), least))


def jets_at(problem: Problem, field: Any, relation: Relation, points: np.ndarray) -> dict[sp.Symbol, Any]:
    """The coordinates of points, and the jets of a relation there, each at its place."""
    values = coordinates(problem, points)
    for place in dict.fromkeys(jet.place for jet in relation.jets.values()):
        here = {symbol: jet for symbol, jet in relation.jets.items() if jet.place == place}
        found = jets(field, moved(problem, points, place), list({jet.orders for jet in here.values()}))
        for symbol, jet in here.items():
            values[symbol] = np.asarray(found[jet.orders])[:, problem.unknowns.index(jet.field)]
    return values


def jet_at(problem: Problem, field: Any, jet: Jet, points: np.ndarray) -> np.ndarray:
    """A jet at points, moved to its place."""
    found = jets(field, moved(problem, points, jet.place), [jet.orders])[jet.orders]
    return np.asarray(found)[:, problem.unknowns.index(jet.field)]


def _expected(
    problem: Problem, relation: Relation, values: dict[sp.Symbol, Any], fields: np.ndarray
) -> float:
    """max_α |∂F/∂u_α|·‖u‖/L^|α|, the size a term has when its field, of size `fields`, varies over the domain.

    In a relation that holds trivially (the momentum across a straight channel, v = 0 where v is 0 everywhere) all terms
    are rounding, and rounding relative to rounding would suggest that nothing is solved.
    """
    lengths = np.array([axis.length for axis in problem.axes])
    found = []
    for symbol, jet in relation.jets.items():
        slope = _rms(evaluate(problem.value(relation.coefficient(symbol)), values, np))
        size = fields[problem.unknowns.index(jet.field)]
        found.append(slope * size / np.prod(lengths ** np.array(jet.orders)))
    return float(max(found)) if np.isfinite(found).all() else 0.0


def largest(terms: Sequence[Any]) -> np.ndarray:
    """max |term| at every point."""
    return np.asarray(np.max(np.abs(np.broadcast_arrays(*terms)), axis=0))


def local_size(sizes: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """max(m, m̄) with m the size of the terms at a point and m̄ its mean over the points.

    At a front the terms of an equation are many times larger than elsewhere, and so is its residual.
    """
    # The mean, not the median: if u is zero in most of the box, so is the median, and it gives no scale.
    return np.asarray(np.maximum(sizes, max(float(np.average(sizes, weights=weights)), TINY)))


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(values, dtype=float)))))


def grid(problem: Problem, shape: Sequence[int]) -> list[np.ndarray]:
    """Coordinates of a uniform grid over the box, flattened, one array per axis; only points in the region."""
    ticks = [np.linspace(a.lo, a.hi, n) for a, n in zip(problem.axes, shape, strict=True)]
    points = np.stack([mesh.ravel() for mesh in np.meshgrid(*ticks, indexing="ij")], axis=1)
    return list(points[problem.contains(points, CLOSE * problem.axes[0].length)].T)
