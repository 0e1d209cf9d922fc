"""∫ c u_t v = ∫ (g v + g_i v_i) + ∮ a u_n v: the equations times test functions v, integrated by parts.

−a u_xx v becomes a u_x v_x + (a)_x u_x v − ∮ a u_x n_x v. On a side where u is given, v = 0; where its slope
u_n = h(x, t, u) is given, the integral along the side is that of a h v.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ..errors import SafeNetError
from .facts.fact import fact
from .jets import Jet, along, coordinate
from .problem import Problem
from .relation import Condition, Relation

Key = tuple[str, tuple[int, ...]]  # a field and its derivatives in space


@dataclass(frozen=True)
class Side:
    """What holds for a field on a part of the boundary: u = value, or u_n = value."""

    piece: str  # a name, or "0", "1", "2", … for x lower, x upper, y lower, … of a box
    field: str
    value: sp.Expr
    slope: bool


@dataclass(frozen=True)
class WeakEquations:
    """`tested[k]` is the field whose basis functions test equation k; `rows[k]` are (g, g_x, g_y, …), `mass[k]` is c
    or 0, `diffusion[k]` is a; `jets` are the symbols in all of them."""

    tested: tuple[str, ...]
    rows: tuple[tuple[sp.Expr, ...], ...]
    mass: tuple[sp.Expr, ...]
    diffusion: tuple[sp.Expr, ...]
    jets: dict[Key, sp.Symbol]
    space: int  # axes of space

    def linear_field(self, name: str) -> bool:
        """Whether a field, like a pressure, has neither second nor time derivatives and so a linear basis."""
        k = self.tested.index(name)
        return bool(self.mass[k] == 0 and self.diffusion[k] == 0)


@dataclass(frozen=True)
class Weak(WeakEquations):
    """The weak equations with the conditions on the boundary, at points and at the start."""

    sides: tuple[Side, ...]
    pins: tuple[tuple[str, tuple[float, ...], sp.Expr], ...]
    start: dict[str, sp.Expr]


@fact
def weak_form(problem: Problem) -> Weak:
    """The problem in this form; raises SafeNetError with the reason if that is impossible."""
    inside = weak_equations(problem)
    for field, c, a in zip(inside.tested, inside.mass, inside.diffusion, strict=True):
        if c != 0 and a == 0:
            raise SafeNetError(f"{field} changes in time and does not diffuse: elements would oscillate")
    diffusion = dict(zip(inside.tested, inside.diffusion, strict=True))
    sides, pins, start = _conditions(problem, inside.jets, diffusion)
    return Weak(**vars(inside), sides=sides, pins=pins, start=start)


@fact
def weak_equations(problem: Problem) -> WeakEquations:
    """The problem's equations in this form, whatever its conditions."""
    space = sum(not axis.is_time for axis in problem.axes)
    if space not in (2, 3):
        raise SafeNetError("it is not a problem in the plane or in space")
    if problem.time is not None and any(problem.time_order(name) > 1 for name in problem.unknowns):
        raise SafeNetError("it has second derivatives in time")
    if len(problem.equations) != len(problem.unknowns):
        raise SafeNetError("it does not have one equation for each unknown")
    jets: dict[Key, sp.Symbol] = {
        (name, order): Jet(name, (*order, 0)[: len(problem.axes)], (None,) * len(problem.axes)).symbol(
            problem.axis_names
        )
        for name in problem.unknowns
        for order in (along(axis, space) for axis in (None, *range(space)))
    }
    tested = _tested(problem)
    parts = [
        _by_parts(problem, equation, field, jets)
        for equation, field in zip(problem.equations, tested, strict=True)
    ]
    rows, mass, diffusion = zip(*parts, strict=True)
    return WeakEquations(tested, rows, mass, diffusion, jets, space)


def _tested(problem: Problem) -> tuple[str, ...]:
    """The field that tests each equation: that with its time derivative, else with its second ones, else one left."""
    found: list[str | None] = []
    for equation in problem.equations:
        timed = {
            jet.field
            for jet in equation.jets.values()
            if problem.time is not None and jet.orders[problem.time]
        }
        second = {jet.field for jet in equation.jets.values() if sum(jet.orders[: problem.time]) > 1}
        for candidates in (timed, second - set(found)):
            if len(candidates) == 1:
                found.append(next(iter(candidates)))
                break
        else:
            if timed:
                raise SafeNetError("an equation has time derivatives of two unknowns")
            found.append(None)
    left = [name for name in problem.unknowns if name not in found]
    if len(set(found) - {None}) + len(left) != len(problem.unknowns) or found.count(None) != len(left):
        raise SafeNetError("its equations cannot be assigned to its unknowns")
    return tuple(one if one is not None else left.pop(0) for one in found)


def _by_parts(
    problem: Problem, equation: Relation, field: str, jets: dict[Key, sp.Symbol]
) -> tuple[tuple[sp.Expr, ...], sp.Expr, sp.Expr]:
    """((g, g_x, g_y, …), c, a) of one equation."""
    residual = sp.expand(problem.value(equation.residual), power_exp=False)
    space = [axis.symbol for axis in problem.axes if not axis.is_time]
    mass, left = sp.Integer(0), residual
    inside = [sp.Integer(0)] * (1 + len(space))
    straight: dict[int, sp.Expr] = {}
    for symbol, jet in equation.jets.items():
        if problem.time is not None and jet.orders[problem.time]:
            if sum(jet.orders) > 1:
                raise SafeNetError(f"{symbol} is a derivative in time and space")
            mass = residual.diff(symbol)
            left = left.xreplace({symbol: sp.Integer(0)})
        elif sum(jet.orders) > 1:
            if sum(jet.orders) > 2:
                raise SafeNetError(f"{symbol} is of higher than second order in space")
            a = residual.diff(symbol)
            left = left.xreplace({symbol: sp.Integer(0)})
            axis = next(i for i, order in enumerate(jet.orders) if order)
            if jet.field != field or jet.orders[axis] != 2:
                raise SafeNetError(f"{symbol} is not a diffusion term of {field}")
            straight[axis] = a
            slope = jets[jet.field, along(axis, len(space))]
            inside[1 + axis] += a * slope
            inside[0] += _total(a, axis, space, jets) * slope
    if mass.free_symbols - set(space) or any(
        (a.free_symbols & set(equation.jets)) - set(jets.values()) for a in straight.values()
    ):
        raise SafeNetError("its highest derivatives do not appear linearly")
    if straight and (
        len(straight) != len(space) or any(sp.expand(a - straight[0]) != 0 for a in straight.values())
    ):
        raise SafeNetError("its diffusion coefficient differs between axes")
    inside[0] -= left
    diffusion = -straight.get(0, sp.Integer(0))
    if mass.could_extract_minus_sign():  # c > 0
        return tuple(-g for g in inside), -mass, -diffusion
    return tuple(inside), mass, diffusion


def _total(a: sp.Expr, axis: int, space: list[sp.Symbol], jets: dict[Key, sp.Symbol]) -> sp.Expr:
    """da/dx = a_x + a_u u_x + …"""
    found = a.diff(space[axis])
    order = along(axis, len(space))
    for (name, own), symbol in jets.items():
        if not any(own):
            found += a.diff(symbol) * jets[name, order]
        elif a.has(symbol):
            raise SafeNetError("its diffusion depends on slopes")
    return found


# ---- conditions


def _conditions(
    problem: Problem, jets: dict[Key, sp.Symbol], diffusion: dict[str, sp.Expr]
) -> tuple[tuple[Side, ...], tuple[tuple[str, tuple[float, ...], sp.Expr], ...], dict[str, sp.Expr]]:
    sides, pins, start = [], [], {}
    space = [i for i in range(len(problem.axes)) if i != problem.time]
    for condition in problem.conditions:
        fixed = [i for i in range(len(problem.axes)) if i not in condition.free]
        if condition.initial:
            field, value = _solved(problem, condition, jets, None)[:2]
            start[field] = value
        elif condition.piece:
            field, value, slope = _solved(problem, condition, jets, problem.normals)
            sides.append(Side(condition.piece, field, value, slope))
        elif len(condition.places) == 1 and fixed == space:
            field, value = _solved(problem, condition, jets, None)[:2]
            pins.append((field, tuple(float(problem.value(condition.places[0][i])) for i in space), value))
        elif len(condition.places) == 1 and len(fixed) == 1 and fixed[0] in space:
            sides.append(_face(problem, condition, jets, fixed[0]))
        else:
            raise SafeNetError(f"the condition {condition.text} does not hold on one side of the domain")
    _check_sides(problem, sides, diffusion)
    return tuple(sides), tuple(pins), start


def _face(problem: Problem, condition: Condition, jets: dict[Key, sp.Symbol], axis: int) -> Side:
    ends = problem.axes[axis].lower, problem.axes[axis].upper
    place = condition.places[0][axis]
    if place not in ends:
        raise SafeNetError(f"the condition {condition.text} is inside the domain")
    end = ends.index(place)
    field, value, slope = _solved(problem, condition, jets, (axis, 2 * end - 1))
    return Side(str(2 * axis + end), field, value, slope)


def _solved(
    problem: Problem, condition: Condition, jets: dict[Key, sp.Symbol], normal: object
) -> tuple[str, sp.Expr, bool]:
    """A condition solved for u, or for u_n if slopes appear: k n_x u_x + k n_y u_y, or on a side of a box k u_x."""
    space = sum(not axis.is_time for axis in problem.axes)
    plain = {s: jets.get((jet.field, _in_space(jet, space)), s) for s, jet in condition.jets.items()}
    residual = sp.expand(problem.value(condition.residual).xreplace(plain), power_exp=False)
    values = {s: key for key, s in jets.items()}
    slopes = [values[s] for s in residual.free_symbols if s in values and any(values[s][1])]
    wrong = SafeNetError(f"the condition {condition.text} is neither one on a value nor on an outward slope")
    if any(s in condition.jets and s not in values for s in residual.free_symbols):
        raise wrong
    if not slopes:
        fields = [values[s][0] for s in residual.free_symbols if s in values]
        if len(fields) != 1:
            raise wrong
        symbol = jets[fields[0], along(None, space)]
        coefficient = residual.diff(symbol)
        if coefficient == 0 or coefficient.has(symbol):
            raise wrong
        return fields[0], -residual.xreplace({symbol: sp.Integer(0)}) / coefficient, False
    if len({field for field, _ in slopes}) != 1 or normal is None:
        raise wrong
    field = slopes[0][0]
    gradient = [jets[field, along(axis, space)] for axis in range(space)]
    shares = [residual.diff(slope) for slope in gradient]
    rest = residual.xreplace(dict.fromkeys(gradient, sp.Integer(0)))
    if isinstance(normal, tuple) and isinstance(normal[0], int):
        axis, sign = normal
        k = shares[axis] * sign
        straight = all(share == 0 for i, share in enumerate(shares) if i != axis)
    else:
        n = [coordinate(name) for name in problem.normals]
        k = sp.cancel(shares[0] / n[0])
        straight = all(sp.expand(share - k * m) == 0 for share, m in zip(shares, n, strict=True))
    if not straight or k == 0 or k.has(*gradient):
        raise wrong
    return field, -rest / k, True


def _in_space(jet: Jet, space: int) -> tuple[int, ...]:
    """A jet's derivatives in space; −1s, which match nothing, if it has one in time."""
    return jet.orders[:space] if not any(jet.orders[space:]) else (-1,) * space


def _check_sides(problem: Problem, sides: list[Side], diffusion: dict[str, sp.Expr]) -> None:
    """Raise unless each diffusing field has one condition on each part of the boundary, a pressure at most one."""
    space = sum(not axis.is_time for axis in problem.axes)
    parts = list(problem.region.pieces) if problem.region is not None else [str(i) for i in range(2 * space)]
    if problem.region is not None and problem.region.nameless:
        raise SafeNetError("a part of its boundary has no condition")
    for field, a in diffusion.items():
        for piece in parts:
            own = [side for side in sides if side.piece == piece and side.field == field]
            if len(own) > 1 or (a != 0 and not own):
                what = "no condition" if not own else "more than one condition"
                raise SafeNetError(f"{field} has {what} on a part of the boundary")
            if a == 0 and any(side.slope for side in own):
                raise SafeNetError(f"{field} does not diffuse and its slope is given")
