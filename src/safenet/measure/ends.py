"""δ = min_j |c_m/c_j|^{1/(m−j)} for c_m u^(m) + … + c_0 u = g: how thin a layer at an end of a line may be.

An equation with convection, such as ε u″ − x u′ = 0, allows a layer at either end. If a quantity of size e^{−1/ε}
decides which end has it, a solution on cells that are small at one end only cannot show the other possibility.
"""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np

from ..fields.cells import CellForm, restricted
from ..problem import Problem
from ..problem.evaluate import evaluate
from .heldout import jets_at

THIN = 0.1  # relative to the line: any cells resolve a wider layer
DEEPEST = 24  # halvings


def with_layers(problem: Problem, form: CellForm) -> CellForm | None:
    """The same function on cells that shrink towards both ends, down to possible layers; None if there are none."""
    if len(problem.axes) > 1 or problem.time is not None:
        return None
    (axis,) = problem.axes
    cuts = {axis.lo, axis.hi, *(end for (span,) in form.cells for end in span)}
    count = len(cuts)
    for end, inwards in ((axis.lo, 1), (axis.hi, -1)):
        width = _layer(problem, form, end)
        for k in range(1, DEEPEST):
            if width < THIN * axis.length and 2.0**-k * axis.length > width / 2:
                cuts.add(end + inwards * 2.0**-k * axis.length)
    ordered = sorted(cuts)
    apart = [a for a, b in itertools.pairwise(ordered) if b - a > 1e-9 * axis.length] + ordered[-1:]
    cells = [(pair,) for pair in itertools.pairwise(apart)]
    return restricted(form, cells) if len(cuts) > count else None


def _layer(problem: Problem, form: CellForm, end: float) -> float:
    """δ at one end, the smallest over the equations; infinite if there is no layer."""
    widths = [np.inf]
    for equation in problem.equations:
        known = jets_at(problem, form, equation, np.array([[end]]))
        sizes: dict[int, float] = defaultdict(float)
        for symbol, jet in equation.jets.items():
            with np.errstate(all="ignore"):
                slope = np.ravel(evaluate(problem.value(equation.coefficient(symbol)), known, np))[0]
            sizes[jet.orders[0]] += abs(float(slope))
        m = max(sizes)
        widths += [
            (sizes[m] / size) ** (1 / (m - j))
            for j, size in sizes.items()
            if j < m and size > 0 and np.isfinite(size)
        ]
    return float(min(widths))
