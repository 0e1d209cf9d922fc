"""What the symbols let a solver assume: fields periodic, odd or even along an axis; frequencies; breaks.

If u vanishes on both faces of an axis and the equations do not change when the axis is reflected there together
with the sign of u, then the odd continuation of u across the faces solves the same equations: u is a sine series.
Likewise even, with normal derivatives zero: a cosine series. If u and its derivatives up to the order of the
equations less one agree on both faces, u is a Fourier series of the axis' length. Otherwise nothing is assumed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import scipy
import sympy as sp

from ..evaluate import KINKS, evaluate
from ..language.tabulated import Tabulated
from ..problem import Problem
from ..relation import Condition, Relation
from .fact import fact
from .narrow import narrow

CLOSEST = 1e-3  # of an axis: zeros that are closer than this may be overlooked
NOTHING = 1e-300  # a place closer to zero than this is zero
Kind = str  # "periodic" | "sine" | "cosine" | "general"


@fact
def axis_kinds(problem: Problem) -> Mapping[str, tuple[Kind, ...]]:
    """For each field, the kind of function it is along each axis."""
    kinds = {field: ["general"] * len(problem.axes) for field in problem.unknowns}
    for index, axis in enumerate(problem.axes):
        if axis.is_time or problem.region is not None:
            continue
        if all(_periodic(problem, index, field) for field in problem.unknowns):
            found: dict[str, Kind] = dict.fromkeys(problem.unknowns, "periodic")
        else:
            found = _parities(problem, index)
        for field, kind in found.items():
            kinds[field][index] = kind
    return MappingProxyType({field: tuple(names) for field, names in kinds.items()})


def _faces(problem: Problem, index: int) -> list[Condition]:
    """The conditions on the two faces of an axis (at every time, along all other axes)."""
    others = tuple(i for i in range(len(problem.axes)) if i != index)
    return [condition for condition in problem.conditions if condition.free == others]


def _periodic(problem: Problem, index: int, field: str) -> bool:
    """u^(k)(lower) = u^(k)(upper) for k below the field's order in this axis, or below all fields' if that is zero.

    An order of zero (a reaction at each point by itself) promises nothing about derivatives: not periodic.
    """
    order = problem.order(index, field) or problem.order(index)
    # The kind «periodic» already says: one derivative of one field, the same on both ends of the axis.
    matching = [next(iter(c.jets.values())) for c in _faces(problem, index) if c.kind == "periodic"]
    matched = {
        jet.orders[index] for jet in matching if jet.field == field and sum(jet.orders) == jet.orders[index]
    }
    return order > 0 and set(range(order)) <= matched


def _parities(problem: Problem, index: int) -> dict[str, Kind]:
    """An odd or even assignment of all fields under which conditions and equations are symmetric, if any."""
    axis = problem.axes[index]
    if problem.order(index) == 0:
        return {}  # each point by itself: nothing smooths the kink that a continuation may have on a face
    options: dict[str, set[int]] = {field: {1, -1} for field in problem.unknowns}
    vanishing: dict[str, set[tuple[int, sp.Expr | None]]] = {field: set() for field in problem.unknowns}
    for condition in _faces(problem, index):
        if len(condition.jets) != 1 or not condition.linear or problem.value(condition.source) != 0:
            return {}
        (jet,) = condition.jets.values()
        # An even derivative that vanishes on the face belongs to an odd function, an odd one to an even.
        options[jet.field] &= {-1 if jet.orders[index] % 2 == 0 else 1}
        if sum(jet.orders) == jet.orders[index]:
            vanishing[jet.field].add((jet.orders[index], jet.place[index]))
    for signs in itertools.product(*(sorted(options[field]) for field in problem.unknowns)):
        parity = dict(zip(problem.unknowns, signs, strict=True))
        promised = all(
            (order, face) in vanishing[field]
            for field, sign in parity.items()
            for order in _zero_on_faces(problem.order(index, field), sign)
            for face in (axis.lower, axis.upper)
        )
        if promised and all(_symmetric(problem, equation, index, parity) for equation in problem.equations):
            return {field: "sine" if sign < 0 else "cosine" for field, sign in parity.items()}
    return {}


def _zero_on_faces(order: int, sign: int) -> range:
    """The derivatives that an odd (sign −1) or even continuation takes to be zero, below `order`; one at least."""
    if order == 0:
        return range(0)
    return range(0, order, 2) if sign < 0 else range(1, max(order, 2), 2)


def _symmetric(problem: Problem, equation: Relation, index: int, parity: dict[str, int]) -> bool:
    """Whether reflecting the axis at both faces maps the equation to plus or minus itself."""
    axis = problem.axes[index]
    residual = problem.value(equation.residual)
    return all(
        _same(_mirrored(problem, equation, index, parity, face), residual)
        for face in (axis.lower, axis.upper)
    )


def _mirrored(
    problem: Problem, relation: Relation, index: int, parity: dict[str, int], at: sp.Expr
) -> sp.Expr:
    """The residual with x → 2·at − x along an axis and u → parity·u, jets on one face moved to the other."""
    axis = problem.axes[index]
    mirror: dict[sp.Basic, sp.Expr] = {axis.symbol: 2 * at - axis.symbol}
    for symbol, jet in relation.jets.items():
        place = tuple(2 * at - v if i == index and v is not None else v for i, v in enumerate(jet.place))
        image = replace(jet, place=place).symbol(problem.axis_names)
        mirror[symbol] = parity[jet.field] * (-1) ** jet.orders[index] * image
    return problem.value(relation.residual.xreplace(mirror))


def _same(image: sp.Expr, original: sp.Expr) -> bool:
    # Conditions on different faces have different symbols, and most pairs of conditions are of that kind.
    return image.free_symbols == original.free_symbols and any(
        _zero(image - sign * original) for sign in (1, -1)
    )


@fact
def middle_parities(problem: Problem) -> Mapping[str, tuple[int, ...]]:
    """For each field and axis +1 or −1 if the solution is even or odd about the middle of the axis, else 0.

    That holds if reflecting the axis there, with that sign, maps every equation to itself and every condition to a
    condition of the problem (each up to sign): then the reflected solution solves the same problem.
    """
    found = {field: [0] * len(problem.axes) for field in problem.unknowns}
    relations = [problem.value(condition.residual) for condition in problem.conditions]
    for index, axis in enumerate(problem.axes):
        if axis.is_time or problem.region is not None:
            continue
        middle = (axis.lower + axis.upper) / 2
        for signs in itertools.product((1, -1), repeat=len(problem.unknowns)):
            parity = dict(zip(problem.unknowns, signs, strict=True))
            symmetric = all(
                _same(_mirrored(problem, equation, index, parity, middle), problem.value(equation.residual))
                for equation in problem.equations
            ) and all(
                any(_same(_mirrored(problem, condition, index, parity, middle), other) for other in relations)
                for condition in problem.conditions
            )
            if symmetric:
                for field, sign in parity.items():
                    found[field][index] = sign
                break
    return MappingProxyType({field: tuple(signs) for field, signs in found.items()})


def _zero(expression: sp.Expr) -> bool:
    """Whether the expression is identically zero. A nonzero value at one point saves the algebra, and exponentials save
    most of the rest: sin 60x expanded by angle sums is a polynomial of degree 60.
    """
    symbols = sorted(expression.free_symbols, key=str)
    values = {symbol: sp.sqrt(sp.prime(i)).evalf(30) % 1 for i, symbol in enumerate(symbols, 2)}
    terms = [term.xreplace(values).evalf(30) for term in sp.Add.make_args(expression)]
    total = sp.Add(*terms)
    if total.is_number and total.is_finite and abs(total) > 1e-12 * sp.Add(*map(abs, terms)):
        return False
    waves = expression.rewrite([sp.sin, sp.cos, sp.sinh, sp.cosh], sp.exp)
    return bool(sp.expand(waves) == 0 or sp.expand(sp.expand_trig(sp.expand(expression))) == 0)


@fact
def named_frequencies(problem: Problem) -> tuple[tuple[float, ...], ...]:
    """For each axis, the frequencies ω of every sin(ωx + …), cos and tan in the data and the coefficients."""
    found: list[set[float]] = [set() for _ in problem.axes]
    for relation in (*problem.equations, *problem.conditions):
        expression = problem.value(relation.residual)
        for wave in expression.atoms(sp.sin, sp.cos, sp.tan):
            for index, axis in enumerate(problem.axes):
                slope = wave.args[0].diff(axis.symbol)
                if slope.is_number and slope != 0:
                    found[index].add(abs(float(slope)))
    return tuple(tuple(sorted(values)) for values in found)


@fact
def breaks(problem: Problem, conditions: bool = True) -> tuple[tuple[float, ...], ...]:
    """`kinks`, and cuts around features that are too narrow to be hit by chance."""
    pairs = zip(kinks(problem, conditions), narrow(problem, conditions).cuts, strict=True)
    return tuple(tuple(sorted({*places, *cuts})) for places, cuts in pairs)


@fact
def kinks(problem: Problem, conditions: bool = True) -> tuple[tuple[float, ...], ...]:
    """For each axis, where the equations (and conditions) may jump or bend: the c of |x − c|, max(t, c),
    where(x < c, …).

    Bends along other lines than x = c, such as those of |x − t|, are not included.
    """
    found: list[set[float]] = [set() for _ in problem.axes]
    for relation in (*problem.equations, *(problem.conditions if conditions else ())):
        for kink in problem.value(relation.residual).atoms(*KINKS):
            several = isinstance(kink, (sp.Max, sp.Min))
            bends = [a - b for a, b in itertools.combinations(kink.args, 2)] if several else kink.args[:1]
            for index, axis in enumerate(problem.axes):
                for bend in bends:
                    if bend.free_symbols == {axis.symbol}:
                        found[index] |= _zeros(bend, axis.symbol, axis.lo, axis.hi)
        for node in relation.residual.atoms(Tabulated):
            for index, axis in enumerate(problem.axes):
                if axis.symbol in node.at:
                    found[index] |= {c for c in node.table.breaks(axis.name) if axis.lo < c < axis.hi}
    return tuple(tuple(sorted(values)) for values in found)


def _zeros(expression: sp.Expr, symbol: sp.Symbol, low: float, high: float) -> set[float]:
    """Where between low and high the expression changes its sign."""

    def value(x: np.ndarray | float) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(evaluate(expression, {symbol: x}, np), dtype=float)

    # Nodes are shifted a little, so that no zero at a simple fraction falls on one.
    nodes = np.linspace(low, high, round(1 / CLOSEST) + 2)[1:-1]
    nodes = np.concatenate([[low], nodes + 1e-3 * np.pi * (nodes[1] - nodes[0]), [high]])
    values = value(nodes)
    turns = np.flatnonzero(values[:-1] * values[1:] < 0)
    # A jump at zero is approached by halves: far more of them than brentq's limit.
    found = (
        float(scipy.optimize.brentq(value, nodes[i], nodes[i + 1], xtol=NOTHING, rtol=1e-15, maxiter=3000))
        for i in turns
    )
    return {x for x in (0.0 if abs(x) < NOTHING else x for x in found) if low < x < high}


@fact
def carried(problem: Problem) -> str | None:
    """A first derivative that an unknown multiplies, such as u_x in u u_x: what transports itself can steepen."""
    for equation in problem.equations:
        for symbol, jet in equation.jets.items():
            fields = {other for other, its in equation.jets.items() if not any(its.orders)}
            if sum(jet.orders) == 1 and equation.coefficient(symbol).free_symbols & fields:
                return jet.text(problem.axis_names)
    return None
