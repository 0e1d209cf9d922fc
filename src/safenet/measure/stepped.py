"""F(u) where one of its terms is narrow in u: did the solution follow the term, or step over it?

As in `narrow`, the range of a term by interval arithmetic is compared with its values at points, here over the ranges
of the unknowns in a solution. Points where u has a value at which the term is narrow are found by bisection; the
equation must be met there, too. For systems without space `orbits.hidden` checks the whole solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from ..problem import Problem, Relation
from ..problem.evaluate import evaluate
from ..problem.facts.narrow import features, slow
from ..problem.jets import Jet
from ..problem.relation import Axis
from ..run.result import SOLVED_BELOW
from .heldout import field_sizes, interior_points, jet_at, jets_at, relative_residual

MOST_SYMBOLS = 3  # in a term that is examined
SHARES = np.linspace(0.05, 0.95, 19)  # places within a feature, as shares of its width
PLACES, SEGMENTS, HALVINGS = 4, 64, 60  # values tried, pairs of points around one, halvings of a pair


@dataclass(frozen=True)
class Ranges:
    """A box whose axes are unknowns and coordinates."""

    axes: tuple[Axis, ...]
    region: None = None


def stepped_over(problem: Problem, field: Any) -> str:
    """A sentence about a value at which a term is too narrow for the solution, or ""."""
    if problem.linear or len(problem.axes) == 1 == problem.time:
        return ""
    points = interior_points(problem)
    sizes = field_sizes(field, points)
    for equation in problem.equations:
        if equation.linear:
            continue
        known = jets_at(problem, field, equation, points)
        for part in _parts(problem, equation):
            for jet, value in _narrow(equation, part, known):
                at = _where(problem, field, jet, value, points)
                missed = relative_residual(problem, field, equation, at, sizes) if len(at) else 0.0
                if missed > SOLVED_BELOW:
                    return (
                        f"{str(part)[:80]} varies so sharply near {jet.field} = {value:.4g} that the solution does not "
                        f"follow it: the residual of {equation.text} is {missed:.0%} there, so no error is given"
                    )
    return ""


def _parts(problem: Problem, equation: Relation) -> Iterator[sp.Expr]:
    """The factors of all terms that contain unknowns and are not polynomials of low degree."""
    for term in sp.Add.make_args(sp.expand_mul(problem.value(equation.residual))):
        for factor in sp.Mul.make_args(term):
            free = factor.free_symbols
            if free & equation.jets.keys() and len(free) <= MOST_SYMBOLS and not slow(factor):
                yield factor


def _narrow(equation: Relation, part: sp.Expr, known: dict[sp.Symbol, Any]) -> Iterator[tuple[Jet, float]]:
    """Pairs of an unknown, or one of its derivatives, and a value of it at which a part is narrow."""
    symbols = sorted(part.free_symbols, key=str)
    ends = [(float(np.nanmin(known[s])), float(np.nanmax(known[s]))) for s in symbols]
    if not np.isfinite(ends).all() or any(low == high for low, high in ends):
        return
    box = Ranges(
        tuple(Axis(s, sp.Float(a), sp.Float(b), a, b) for s, (a, b) in zip(symbols, ends, strict=True))
    )
    with np.errstate(all="ignore"):
        found = features(box, part)
    if found is None or not len(found[0]):
        return
    boxes, _ = found
    widths = np.median((boxes[..., 1] - boxes[..., 0]) / [b - a for a, b in ends], axis=0)
    i = min((i for i, s in enumerate(symbols) if s in equation.jets), key=lambda k: widths[k])
    inside = boxes[..., :1] + (boxes[..., 1:] - boxes[..., :1]) * np.where(
        np.arange(len(symbols))[:, None] == i, SHARES, 0.5
    )
    with np.errstate(all="ignore"):
        usual = np.nanmedian(evaluate(part, known, np))
        values = evaluate(part, dict(zip(symbols, inside.transpose(1, 0, 2), strict=True)), np)
    most = np.argsort(np.ravel(-np.abs(values - usual)))[:PLACES]
    for value in np.unique(np.ravel(inside[:, i])[most]):
        yield equation.jets[symbols[i]], float(value)


def _where(problem: Problem, field: Any, jet: Jet, value: float, points: np.ndarray) -> np.ndarray:
    """Points at which a jet has this value, by bisection between points where it is above and below."""
    others = np.roll(points, 1, axis=0)
    above = jet_at(problem, field, jet, points) > value
    apart = np.flatnonzero(above != np.roll(above, 1))[:SEGMENTS]
    low, high, side = points[apart], others[apart], above[apart]
    if not len(apart):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        same = ((jet_at(problem, field, jet, middle) > value) == side)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.asarray(low[problem.contains(low)])
