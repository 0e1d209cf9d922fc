"""∫|F| dt along lines of time, beside |u|: does a network follow its equation all the way from the start?

u_t = u² with u(0) = 1 ends at t = 1. A network may switch to another solution within a layer so thin that almost no
training point lies in it. Segments on which a quadrature of u_t is not the difference of u are halved until it is; what
the equation is missed by in the layer is then integrated, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from ...fields.basis import gauss_legendre
from ...fields.field import is_network, values
from ...problem import Problem, Relation
from ...problem.evaluate import evaluate
from ...problem.jets import Jet
from ..added import in_blocks
from ..heldout import jets_at, largest
from ..thresholds import ASTRAY, FAINT, RESOLVED
from ..torn import NODES, Segments, segments_along

PARTS, HALVINGS = 8, 12  # of time; how often a segment is halved


def astray(problem: Problem, field: Any) -> str:
    """A sentence on the first part of time in which a network leaves a nonlinear equation altogether, or ""."""
    if not is_network(field) or problem.time is None or problem.linear:
        return ""
    axis, blocks = problem.axes[problem.time], in_blocks(problem, field)
    for equation in problem.equations:
        rates = [(s, j) for s, j in equation.jets.items() if j.orders[problem.time] > 0 and j.interior]
        if len(rates) != 1 or sum(rates[0][1].orders) != 1:
            continue
        with np.errstate(all="ignore"):
            missed, size, moved, own = _integrals(problem, blocks, equation, *rates[0])
        left = (missed > ASTRAY * size) & (moved > ASTRAY * np.maximum(own, FAINT * own.max()))
        if left.any():
            until = axis.lo + (int(np.argmax(left)) + 1) * axis.length / PARTS
            return (
                f"before {axis.name} = {until:.4g} the network misses its equation by more than half: later values "
                "belong to a different solution, so no error is estimated. The solution may cease to exist; "
                f"try an earlier end of {axis.name}"
            )
    return ""


def _integrals(problem: Problem, field: Any, equation: Relation, symbol: sp.Symbol, jet: Jet) -> np.ndarray:
    """∫|F| dt, ∫ of its largest term, ∫|F/F_(u_t)| dt and the mean of |u|, in each part of time: (4, PARTS)."""
    assert problem.time is not None
    axis, j = problem.axes[problem.time], problem.unknowns.index(jet.field)
    x, weights = gauss_legendre(NODES)
    summands = sp.Add.make_args(sp.expand_mul(problem.value(equation.residual)))
    found, segments = np.zeros((4, PARTS)), segments_along(problem, problem.time)
    for leaf in _leaves(field, segments, j):
        for node, weight in zip(x, weights / 2, strict=True):
            points = leaf.at((1 + node) / 2)
            known = jets_at(problem, field, equation, points)
            terms = [evaluate(term, known, np) for term in summands]
            factor = evaluate(problem.value(equation.coefficient(symbol)), known, np)
            missed = np.abs(sum(terms))
            each = [missed, largest(terms), missed / np.abs(factor), np.abs(values(field, points)[:, j])]
            part = np.minimum((points[:, problem.time] - axis.lo) / axis.length * PARTS, PARTS - 1).astype(
                int
            )
            for row, value in zip(found, each, strict=True):
                np.add.at(row, part, weight * leaf.width * value)
    found[3] *= PARTS / axis.length
    return np.asarray(found * axis.length / np.sum(segments.width))  # the widths add up to the lines' lengths


def _leaves(field: Any, segments: Segments, j: int) -> list[Segments]:
    """The segments, halved where a quadrature of u_t is not the difference of u."""
    value = (0,) * segments.low.shape[1]
    most = RESOLVED * float(np.max(np.abs(values(field, segments.low)[:, j])))
    found = []
    for _ in range(HALVINGS):
        rough = np.abs(segments.missing(field, value)[:, j]) > most
        if not rough.all():
            found.append(segments.only(~rough))
        if not rough.any():
            return found
        segments = segments.only(rough).halves()
    return [*found, segments]
