"""When is a linear equation ill-posed? u = v e^{iξ·y + s x}  ⟹  det M(x₀, iξ, s) = 0 with coefficients frozen at x₀.

max Re s grows without bound with |ξ|, and all conditions are at one end of x  →  ill-posed (Hadamard): u_t = −u_xx,
                                   Laplace's equation with two conditions on one side, x u_xx = u_t where x < 0
u_t + b u_x = …  with b > 0 at the lower end, and no condition there          →  what enters is free
                 with b that jumps from below zero to above                   →  what lies between is free
det M(iκ) = 0 for whole waves κ, all axes periodic                            →  that wave is free
                                 in steady equations  →  a wave that every space has to resolve
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import scipy
import sympy as sp

from ...errors import SafeNetError
from ..evaluate import evaluate
from ..jets import along
from ..problem import Problem
from ..relation import Condition
from .fact import fact
from .structure import axis_kinds, kinks, named_frequencies

PLACES = 0.02, 0.35, 0.65, 0.98  # of an axis: where coefficients are frozen
WAVES = 1e2, 1e3, 1e4  # half waves along an axis
RISES = 2.0  # least growth ratio from one wave to the next, ten times shorter: √k gives 3, if bounded 1
LEAST = 10.0  # e-foldings over the axis: less may be rounding of a multiple root
CLOSED = {1: 256, 2: 64, 3: 16}  # axes → waves tested along each: a longer line hardly counts as closed
ROUNDING = 1e-12  # of the terms of a determinant: less is zero
RETURNS, TURNS, RETURNED = 128, 32, 1e-8  # lines followed, most turns, how close they must come back
BESIDE = 1e-9  # of an axis: a place this far from a kink is on one side of it; of a speed: less is no jump
STATES = -1.0, -0.1, 0.3, 1.0, 3.0  # of unknowns and derivatives, on top of which waves are followed
MOST_UNKNOWNS = 4  # a determinant of more is not written out


@fact
def runaway(problem: Problem) -> tuple[str, ...]:
    """One sentence for each axis along which short waves grow without bound; in nonlinear equations those on top of any
    of some constant states, as long as all of them let waves grow."""
    if not _readable(problem, nonlinear=True):
        return ()
    found = []
    for i, axis in enumerate(problem.axes):
        if not _one_sided(problem, i) or not _unbounded(problem, i):
            continue
        if axis.is_time:
            found.append(
                "short waves grow without bound in time: the equations are ill-posed in this direction, like the "
                "backward heat equation, and the smallest error is amplified without bound. Change a sign, or the "
                "direction of time."
            )
        else:
            given, bare = (axis.lower, axis.upper) if _above(problem, i) > 0 else (axis.upper, axis.lower)
            found.append(
                f"all conditions along {axis.name} are at {axis.name} = {given}, none at {bare}, and short waves grow "
                "from there: Cauchy's problem, which amplifies the smallest error without bound. Give one on each side."
            )
    return tuple(found)


def _readable(problem: Problem, nonlinear: bool = False) -> bool:
    linear = nonlinear or _linear(problem)
    return _few(problem) and linear and len(problem.axes) > 1 and problem.region is None and not problem.data


def _few(problem: Problem) -> bool:
    return len(problem.equations) == len(problem.unknowns) <= MOST_UNKNOWNS


def _linear(problem: Problem) -> bool:
    """Whether the equations are, whatever the conditions."""
    return all(equation.linear for equation in problem.equations)


def _one_sided(problem: Problem, i: int) -> bool:
    """Whether all conditions along an axis are at one end, as many as the order asks for; or the axis is time, and no
    condition ties its ends, which asks for an oscillation."""
    axis = problem.axes[i]
    if axis.is_time:
        tied = any(len({place[i] for place in c.places} - {None}) > 1 for c in problem.conditions)
        return problem.time == i and not tied
    ends = [
        sum(i not in c.free and any(place[i] == end for place in c.places) for c in problem.conditions)
        for end in (axis.lower, axis.upper)
    ]
    order = sum(problem.order(i, name) for name in problem.unknowns)
    return min(ends) == 0 and max(ends) >= order > 0


def _unbounded(problem: Problem, i: int) -> bool:
    """Whether max Re s rises with the wave number, at some place and in some direction, on top of all states."""
    states = (0.0,) if _linear(problem) else STATES
    return all(_unbounded_at(problem, i, state) for state in states)


def _unbounded_at(problem: Problem, i: int, state: float) -> bool:
    try:
        (coefficients, symbols), sign = _determinant(problem, i, state), _above(problem, i)
        for at in _frozen(problem, coefficients):
            for j in range(len(problem.axes)):
                if j != i and _rises(problem, i, j, at, coefficients, symbols, sign):
                    return True
    except (SafeNetError, TypeError, ValueError, np.linalg.LinAlgError):
        pass  # nothing is proved
    return False


def _determinant(problem: Problem, i: int, state: float = 0.0) -> tuple[list[sp.Expr], tuple[sp.Symbol, ...]]:
    """The coefficients of det M in s, highest first, and the exponents.

    Nonlinear equations are linearised where the unknowns and all their derivatives have the value `state`.
    """
    exponents = tuple(sp.Symbol(f"kappa_{axis.name}") for axis in problem.axes)
    rows = []
    for equation in problem.equations:
        row = dict.fromkeys(problem.unknowns, sp.Integer(0))
        for symbol, jet in equation.jets.items():
            slope = equation.coefficient(symbol).xreplace(dict.fromkeys(equation.jets, sp.Float(state)))
            row[jet.field] += problem.value(slope) * sp.prod(
                k**n for k, n in zip(exponents, jet.orders, strict=True)
            )
        rows.append(list(row.values()))
    determinant = sp.expand(sp.Matrix(rows).det(method="berkowitz"))
    return sp.Poly(determinant, exponents[i]).all_coeffs(), exponents


def _frozen(problem: Problem, coefficients: list[sp.Expr]) -> Iterator[dict[sp.Symbol, float]]:
    """Places at which coefficients are frozen: one, if they are the same everywhere."""
    varies = any(c.free_symbols & {axis.symbol for axis in problem.axes} for c in coefficients)
    for place in product(PLACES, repeat=len(problem.axes)):
        lines = zip(problem.axes, place, strict=True)
        yield {axis.symbol: axis.lo + share * axis.length for axis, share in lines}
        if not varies:
            return


def _above(problem: Problem, i: int) -> float:
    """−1 where the conditions along an axis are at its upper end, else 1."""
    end = problem.axes[i].upper
    above = any(i not in c.free and any(p[i] == end for p in c.places) for c in problem.conditions)
    return -1.0 if above else 1.0


def _rises(
    problem: Problem,
    i: int,
    j: int,
    at: dict[sp.Symbol, float],
    coefficients: list[sp.Expr],
    exponents: tuple[sp.Symbol, ...],
    sign: float,
) -> bool:
    growth = []
    for waves in WAVES:
        kappa = dict.fromkeys(exponents, 0.0) | {exponents[j]: 1j * np.pi * waves / problem.axes[j].length}
        numbers = [complex(evaluate(c, at | kappa, np)) for c in coefficients]
        scale = max(map(abs, numbers))
        if not np.isfinite(scale) or scale == 0:
            return False
        roots = np.roots(np.array(numbers) / scale)
        growth.append(float(np.max(sign * roots.real, initial=0.0)) * problem.axes[i].length)
    first, second, third = growth
    return first > 0 and second > RISES * first and third > RISES * second and third > LEAST


@fact
def entering(problem: Problem) -> tuple[str, ...]:
    """One linear equation u_t + b u_x = …: the ends of x at which u enters and no condition is given."""
    return tuple(
        f"{problem.unknowns[0]} enters at {end}, and no condition says with what value: it is free there. Add what "
        f"holds at {end}."
        for end, given, inwards in _ends(problem)
        if not given and (inwards > 0).any()
    )


@fact
def leaving(problem: Problem) -> tuple[str, ...]:
    """One linear equation u_t + b u_x = …: the ends of x at which u leaves and a condition is given all the same."""
    return tuple(
        f"{problem.unknowns[0]} leaves at {end}, where it follows from all the rest: the condition there is one too "
        "many, and there is a solution only if it agrees. Leave it out."
        for end, given, inwards in _ends(problem)
        if given and (inwards < 0).all()
    )


def _ends(problem: Problem) -> Iterator[tuple[str, bool, np.ndarray]]:
    """(its name, whether a condition holds there, the speeds into the domain) of each end of x, u_t + b u_x = …"""
    kinds = next(iter(axis_kinds(problem).values()))
    for i, speed in _speeds(problem):
        axis = problem.axes[i]
        if kinds[i] == "periodic":
            continue
        for end, side in ((axis.lower, 1.0), (axis.upper, -1.0)):
            place = float(problem.value(end))
            given = any(_fixes(problem, c, i, place) for c in problem.conditions)
            yield f"{axis.name} = {end}", given, side * _at(problem, speed, i, place)


@fact
def parting(problem: Problem) -> tuple[str, ...]:
    """One linear equation u_t + b u_x = … whose b jumps from b₋ ≤ 0 to b₊ ≥ 0: u is free in the gap between."""
    found = []
    for i, speed in _speeds(problem):
        axis = problem.axes[i]
        for place in kinks(problem, conditions=False)[i]:
            below, above = (_at(problem, speed, i, place + side * BESIDE * axis.length) for side in (-1, 1))
            given = any(_fixes(problem, condition, i, place) for condition in problem.conditions)
            gap = (below <= 0) & (above >= 0) & (above - below > BESIDE * (np.abs(above) + np.abs(below)))
            if gap.any() and not given:
                found.append(
                    f"the characteristics part at {axis.name} = {place:.4g}: no condition says what "
                    f"{problem.unknowns[0]} is between them. Add a condition at {axis.name} = {place:.4g}, or make the "
                    "speed continuous."
                )
    return tuple(found)


@fact
def closed_lines(problem: Problem) -> tuple[str, ...]:
    """det M(i κ) = 0 for a whole wave vector κ ≠ 0, all axes periodic: e^{iκ·x} may be added to u, or there is no u,
    as for u_x + u_y = sin(x − y), whose characteristics are closed lines."""
    kinds = {kind for kinds in axis_kinds(problem).values() for kind in kinds}
    # Neither values at points nor periodicity, which ties two places together, fix the two amplitudes of a wave.
    pinned = all(not condition.free or len(condition.places) > 1 for condition in problem.conditions)
    if problem.time is not None or not _readable(problem) or kinds != {"periodic"} or not pinned:
        return ()
    coefficients, exponents = _determinant(problem, 0)
    if any(c.free_symbols - set(exponents) for c in coefficients):
        return _winding(problem)
    most = CLOSED.get(len(problem.axes), 2)
    lines = [np.arange(-most, most + 1)] * len(problem.axes)
    waves = np.stack([mesh.ravel() for mesh in np.meshgrid(*lines, indexing="ij")])
    waves = waves[:, np.any(waves != 0, axis=0)]
    kappa = {
        exponent: 2j * np.pi * own / axis.length
        for exponent, own, axis in zip(exponents, waves, problem.axes, strict=True)
    }
    powers = [kappa[exponents[0]] ** k for k in reversed(range(len(coefficients)))]
    terms = [
        np.asarray(evaluate(term, kappa, np)) * power
        for c, power in zip(coefficients, powers, strict=True)
        for term in sp.Add.make_args(c)
    ]
    unseen = np.abs(sum(terms)) <= ROUNDING * sum(map(np.abs, terms))
    if not unseen.any():
        return ()
    wave = waves[:, unseen][:, np.argmin(np.abs(waves[:, unseen]).sum(axis=0))]
    periods = " and ".join(
        f"{abs(k)} period{'' if abs(k) == 1 else 's'} along {axis.name}"
        for k, axis in zip(wave, problem.axes, strict=True)
        if k
    )
    return (
        f"no equation restricts a wave with {periods}, and all axes are periodic: it may be added to the "
        "solution, or there is none. Add a little diffusion, or conditions along a line.",
    )


def _winding(problem: Problem) -> tuple[str, ...]:
    """a u_x + b u_y = f on a torus with variable coefficients: dy/dx = b/a, P: y(0) → y(L), and P^q(y) = y + p L′ for
    all y  →  closed lines. If no power of P is the identity, a continuous u is determined up to a constant."""
    (equation, *others), axes = problem.equations, problem.axes
    ways = {jet.orders: problem.value(equation.coefficient(symbol)) for symbol, jet in equation.jets.items()}
    if others or len(problem.unknowns) > 1 or set(ways) != {(1, 0), (0, 1)}:
        return ()
    mesh = np.meshgrid(*(np.linspace(*axis.bounds, 65) for axis in axes), indexing="ij")
    at = {axis.symbol: line for axis, line in zip(axes, mesh, strict=True)}
    signs = {i: np.sign(evaluate(ways[along(i, 2)], at, np)) for i in (0, 1)}
    i = next((i for i, sign in signs.items() if abs(np.mean(sign)) == 1), None)
    if i is None:
        return ()
    x, y = axes[i], axes[1 - i]
    slope = ways[along(1 - i, 2)] / ways[along(i, 2)]
    starts = y.lo + y.length * np.arange(RETURNS) / RETURNS

    def rate(at: float, ys: np.ndarray) -> np.ndarray:
        return np.broadcast_to(evaluate(slope, {x.symbol: np.full_like(ys, at), y.symbol: ys}, np), ys.shape)

    around = scipy.integrate.solve_ivp(rate, x.bounds, starts, "DOP853", rtol=1e-12, atol=1e-12 * y.length)
    waves = np.fft.rfft(around.y[:, -1] - starts, norm="forward")
    waves[1:-1] *= 2
    k, ys = np.arange(len(waves)), starts
    for count in range(1, TURNS + 1):
        phase = np.exp(2j * np.pi * np.outer((ys - y.lo) / y.length, k))
        ys = ys + (phase @ waves).real
        turns = (ys - starts) / y.length
        if np.abs(turns - np.round(turns)).max() < RETURNED:
            return (
                f"the characteristics close after {count} turn{'s' * (count > 1)} around {x.name}: on each of them "
                f"{problem.unknowns[0]} is free up to a constant, or there is no solution. Add a little diffusion, or "
                f"conditions along a line.",
            )
    return ()


@fact
def own_waves(problem: Problem) -> tuple[float, ...]:
    """For each axis the largest wave number κ along it, with coefficients frozen at some places; 0 if there is none.

    They are the waves that steady linear equations carry whatever is asked of them, as u_xx + k² u = f does. A space
    too coarse for them finds u ≈ f/k², which a richer one of its kind confirms: neither residuals nor differences
    between levels show what is missing. So a space has to resolve them. With |Re s| ≥ |Im s| a wave has decayed by
    e^(−2π) when it is one wave length long, and is not counted.
    """
    if problem.time is not None or not _few(problem) or not _linear(problem):
        return (0.0,) * len(problem.axes)
    return tuple(_fastest(problem, i) for i in range(len(problem.axes)))


def fastest_wave(problem: Problem) -> float:
    """On a line: the largest wave number in the formulas, or of the equation's own waves."""
    return max((*named_frequencies(problem)[0], *own_waves(problem)))


def _fastest(problem: Problem, i: int) -> float:
    found = 0.0
    try:
        coefficients, exponents = _determinant(problem, i)
        still = dict.fromkeys(exponents, 0.0)
        for at in _frozen(problem, coefficients):
            numbers = np.array([complex(evaluate(c, at | still, np)) for c in coefficients])
            if np.isfinite(numbers).all() and numbers.any():
                roots = np.roots(numbers / np.abs(numbers).max())
                found = max(found, *np.abs(roots.imag[np.abs(roots.real) < np.abs(roots.imag)]), 0.0)
    except (SafeNetError, TypeError, ValueError, np.linalg.LinAlgError):
        pass  # nothing is known
    return float(found)


def _speeds(problem: Problem) -> Iterator[tuple[int, sp.Expr]]:
    """(i, b) of one linear equation u_t + b ∂_i u = …, for every axis i in which it is of first order."""
    t = problem.time
    if t is None or len(problem.unknowns) != 1 or problem.region is not None or problem.data:
        return
    (equation, *others) = problem.equations
    if others or not equation.linear or problem.order(t) != 1:
        return
    orders = {jet.orders: symbol for symbol, jet in equation.jets.items()}
    for i in range(len(problem.axes)):
        units = [along(n, len(problem.axes)) for n in (t, i)]
        # With u_xt or u_xy in the equation, there is no speed along x.
        mixed = any(orders_[i] and sum(orders_) > 1 for orders_ in orders)
        if i != t and problem.order(i) == 1 and set(units) <= orders.keys() and not mixed:
            rate, slope = (problem.value(equation.coefficient(orders[unit])) for unit in units)
            yield i, slope / rate


def _fixes(problem: Problem, condition: Condition, i: int, at: float) -> bool:
    """Whether a condition holds where axis i is `at` a place."""
    places = [place[i] for place in condition.places]
    return any(place is not None and float(problem.value(place)) == at for place in places)


def _at(problem: Problem, speed: sp.Expr, i: int, place: float) -> np.ndarray:
    """A speed at some points of the plane where axis i is at `place`; nan if it cannot be computed."""
    at = section(problem, i, place)
    shape = at[problem.axes[i].symbol].shape
    try:
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(evaluate(speed, at, np), dtype=float), shape)
    except SafeNetError:
        return np.full(shape, np.nan)


def section(problem: Problem, i: int, place: float) -> dict[sp.Symbol, np.ndarray]:
    """Some points of the plane where axis i is at `place`."""
    lines = [[place] if k == i else np.linspace(*axis.bounds, 9)[1:-1] for k, axis in enumerate(problem.axes)]
    grid = (mesh.ravel() for mesh in np.meshgrid(*lines, indexing="ij"))
    return {axis.symbol: values for axis, values in zip(problem.axes, grid, strict=True)}
